"""revise: likely profiles by a latent search; Wachter's solution with an identity autoencoder."""

from __future__ import annotations

import numpy as np
import pytest

import wayforward as wf
from wayforward import Feature, Schema
from wayforward.errors import MethodError, ProblemError
from wayforward.testing import MethodContract, case

torch = pytest.importorskip("torch")

from wayforward.density.generative import Identity  # noqa: E402
from wayforward.methods.revise import Revise  # noqa: E402
from wayforward.methods.wachter import Wachter  # noqa: E402


class TestContract(MethodContract):
    method = "revise"
    parameters = {"steps": 10, "rounds": 2, "epochs": 3}
    finds = 0.6


def plane(d=3, **more):
    return Schema(tuple(Feature(name=f"x{j}", kind="real", low=-50, high=50, **more) for j in range(d)))


@pytest.mark.parametrize("loss", ["bce", "hinge", "squared"])
def test_an_identity_autoencoder_finds_what_wachter_finds(linear, loss):
    """G = E = id: the same feature moves, as far as the boundary (Joshi et al. 2019 is Wachter et al. 2018 in z)."""
    x = np.random.default_rng(0).normal(size=(6, 3))
    problem = linear(
        plane(), -4, {"x0": 1.0, "x1": -2.0, "x2": 0.5}, data=np.random.default_rng(1).normal(size=(50, 3))
    )
    ours = Revise(loss=loss, generator=Identity(problem.schema, unit=1.0), rate=0.1).fit(problem).recommend(x)
    theirs = Wachter().fit(problem).recommend(x)
    np.testing.assert_array_equal(np.isnan(ours.action), np.isnan(theirs.action))
    np.testing.assert_allclose(ours.cost[:, 0], theirs.cost[:, 0], rtol=0.02)


def test_categories_ordinals_and_integers_come_back_whole(linear):
    schema = Schema(
        (
            Feature(name="c", kind="categorical", levels=("x", "y", "z")),
            Feature(name="o", kind="ordinal", levels=("l", "m", "h"), direction="increase"),
            Feature(name="i", kind="integer", low=0, high=10),
            Feature(name="r", kind="real", low=0, high=10, step=0.5),
        )
    )
    rng = np.random.default_rng(0)
    data = np.column_stack(
        [
            rng.integers(0, 3, 300),
            rng.integers(0, 3, 300),
            rng.integers(0, 11, 300),
            rng.integers(0, 21, 300) / 2.0,
        ]
    )
    problem = linear(schema, -3.3, {"c": [0, 2, 0.5], "o": [0, 0.4, 0.8], "i": 0.1, "r": 0.1}, data=data)
    x = data[~problem.reached(data)[0]][:40]
    got = Revise(steps=30).fit(problem).recommend(x)
    assert got.found[:, 0].mean() > 0.95
    after = got.after[got.found[:, 0], 0]
    assert (after[:, :3] == np.round(after[:, :3])).all()
    assert (after[:, 3] * 2 == np.round(after[:, 3] * 2)).all()
    assert (after[:, 1] >= x[got.found[:, 0], 1]).all()


@pytest.mark.parametrize("kind", ["network", "forest"])
def test_partial_adoption_is_cheaper_than_the_whole_row(kind):
    """adopt='part' changes fewer features at less cost, and helps at least as many under "at most 4 changes"."""
    it = case(kind, "independent", 0, 40)
    part = Revise(steps=20, epochs=3).fit(it.problem).recommend(it.x)
    whole = Revise(steps=20, epochs=3, adopt="all").fit(it.problem).recommend(it.x)
    assert part.found[:, 0].sum() >= whole.found[:, 0].sum()
    both = part.found[:, 0] & whole.found[:, 0]
    if both.any():
        assert part.cost[both, 0].mean() <= whole.cost[both, 0].mean() + 1e-9
    assert part.found[it.refused, 0].mean() > 0.7


def test_later_options_leave_out_the_dearest_change():
    it = case("network", "independent", 0, 24)
    got = Revise(steps=20, epochs=3).fit(it.problem).recommend(it.x, 3)
    both = got.found[:, 0] & got.found[:, 1]
    assert both.mean() > 0.3
    acted = ~np.isnan(got.action)
    assert (acted[both, 0] != acted[both, 1]).any(1).mean() > 0.8


def test_it_says_what_it_cannot_use(linear):
    with pytest.raises(ProblemError):
        Revise().fit(linear(plane(), -4, {"x0": 1.0}))
    for wrong in (
        {"steps": 0},
        {"rate": 0.0},
        {"loss": "cubic"},
        {"adopt": "some"},
        {"lam": -1.0},
        {"latent": 0},
    ):
        with pytest.raises(MethodError, match=next(iter(wrong))):
            Revise(**wrong)


def test_where_nothing_may_ever_change_fitting_is_no_error(linear):
    problem = linear(plane(actionability="immutable"), -4, {"x0": 1.0}, data=np.eye(3) * 9)
    got = wf.recommend(problem, np.zeros((2, 3)), method="revise")
    assert (got.outcome == wf.Outcome.NONE_EXISTS).all()
