"""guided-prototypes: where prototypes are, what they draw, and how far levels lie apart."""

from __future__ import annotations

import numpy as np
import pytest

import wayforward as wf
from wayforward.errors import MethodError
from wayforward.methods.prototypes import GuidedPrototypes, mvdm
from wayforward.testing import MethodContract, case


class TestContract(MethodContract):
    method = "guided-prototypes"
    parameters = {"constants": 4, "steps": 24}
    finds = 0.7


def _nearness(it, got):
    """Mean distance of what was found to the nearest accepted person."""
    from wayforward.neighbours import NeighbourIndex

    index = NeighbourIndex(it.problem.schema, it.problem.reference_accepted, metric="l2")
    return index.query(got.after[got.found[:, 0], 0], 1).distance.mean()


def test_a_stronger_pull_ends_nearer_to_accepted_people():
    """theta 0 against 5, without polish."""
    it = case("network", "independent", 0, 80)
    some = it.x[it.refused]
    near = [
        _nearness(it, wf.recommend(it.problem, some, method="guided-prototypes", theta=t, shrink=False))
        for t in (0.0, 5.0)
    ]
    assert near[1] < near[0]


def test_a_prototype_is_an_accepted_person_near_by():
    """The nearest, or the third nearest, of the accepted reference rows."""
    it = case("linear", "independent", 0, 40)
    some = it.x[it.refused]
    one = GuidedPrototypes().fit(it.problem).prototype(some)
    assert it.problem.reached(one)[0].all()
    third = GuidedPrototypes(k_nearest=3).fit(it.problem)
    far = third.near_.query(some, 3).distance
    assert (far[:, 2] >= far[:, 0]).all()
    assert (one != third.prototype(some)).any()


def test_latent_prototypes_depend_on_nobody_else():
    """A person's prototype alone and among others."""
    pytest.importorskip("torch")
    it = case("network", "independent", 0, 40)
    method = GuidedPrototypes(prototypes="latent", k_nearest=5).fit(it.problem)
    everyone = method.prototype(it.x)
    np.testing.assert_array_equal(everyone[7:8], method.prototype(it.x[7:8]))
    got = method.recommend(it.x)
    assert got.found[it.refused, 0].mean() > 0.7


def test_trust_is_kept_where_it_is_asked_for():
    """Every answer is so many times nearer to accepted than to refused people."""
    it = case("linear", "independent", 0, 60)
    method = GuidedPrototypes(trust=1.0).fit(it.problem)
    got = method.recommend(it.x[it.refused])
    after = got.after[got.found[:, 0], 0]
    assert len(after)
    own = method.near_.query(after, 1).distance[:, 0]
    assert (method.far_.query(after, 1).distance[:, 0] > own).all()


def test_levels_are_as_far_apart_as_their_accepted_shares():
    """Zero to itself, symmetric, at most one; ordered levels keep their order."""
    it = case("linear", "independent", 0, 24)
    table, schema = mvdm(it.problem), it.problem.schema
    assert (np.diagonal(table, axis1=1, axis2=2) == 0).all()
    np.testing.assert_allclose(table, np.swapaxes(table, 1, 2))
    level = np.flatnonzero(schema.has_levels).tolist()
    education = table[level.index(schema.index("education"))]
    assert education[0, 3] == 1.0 and education[0, 1] < education[0, 2]
    housing = table[level.index(schema.index("housing"))][:3, :3]
    assert housing.max() == pytest.approx(1.0)
    rows, yes = it.problem.reference, it.problem.reference_reached
    share = [yes[rows[:, schema.index("housing")] == v].mean() for v in range(3)]
    gap = np.abs(np.subtract.outer(share, share))
    assert np.argmax(gap) == np.argmax(housing)
    assert wf.recommend(it.problem, it.x, method="guided-prototypes", levels="mvdm").found.any()


@pytest.mark.parametrize(
    "wrong", [{"theta": -1.0}, {"k_nearest": 0}, {"prototypes": "mean"}, {"levels": "x"}]
)
def test_parameters_out_of_bounds_are_named(wrong):
    """One error each."""
    with pytest.raises(MethodError, match=next(iter(wrong))):
        GuidedPrototypes(**wrong)
