"""sedc-t: the lead over today's class decides the order, and one decisive patch is what is returned."""

from __future__ import annotations

import numpy as np
import pytest

import wayforward as wf
from wayforward.modalities.image.sets import shapes
from wayforward.problem.cost import LpMix
from wayforward.testing import MethodContract


class TestSedcT(MethodContract):
    method = "sedc-t"
    parameters = {"reference": "prototype"}
    kinds = ("linear", "forest", "network")
    worlds = ("independent",)
    finds = 0.5
    people = 12


def three_classes(gain):
    """Softmax of sums over four units: what taking out unit j adds to each of three classes, gain (4, 3)."""
    schema = wf.Schema(tuple(wf.Feature(name=f"u{j}", kind="binary", levels=(0, 1)) for j in range(4)))

    def probability(rows):
        e = np.exp(np.array([2.0, 0.0, 0.0]) + (1 - rows) @ gain)
        return e / e.sum(1, keepdims=True)

    return wf.Problem(schema, wf.wrap(probability, schema), wf.Target(1), cost=LpMix(l0=1, l1=0))


def test_the_lead_over_the_class_of_today_decides_and_not_that_over_the_best_other():
    """Unit 0 hurts today's class and helps a third one; units 1 and 2 help the wanted one, and are the smallest set."""
    gain = np.array([[-4.0, 0.0, 3.0], [0.0, 1.2, 0.0], [0.0, 1.2, 0.0], [0.0, 0.1, 0.0]])
    it, x = three_classes(gain), np.ones((1, 4))
    lead = wf.recommend(it, x, "sedc-t", expansions=1, complete=False)
    assert not lead.found.any()  # after the first expansion nothing is a yes
    got = wf.recommend(it, x, "sedc-t", k=2)
    assert set(np.flatnonzero(~np.isnan(got.action[0, 0]))) == {1, 2}


def test_a_third_class_in_between_is_left_by_the_score():
    """The lead grows by units that make a third class win; who is stuck goes on by the score."""
    gain = np.array([[-9.0, 0.3, 9.0], [-9.0, 0.3, 9.0], [0.0, 3.0, 0.0], [0.0, 0.0, 0.0]])
    it, x = three_classes(gain), np.ones((1, 4))
    assert wf.recommend(it, x, "sedc-t").found.all()


def test_the_segment_that_decides_is_returned():
    """A model that sees nothing but the mark: one segment, which is the mark's cross."""
    made = shapes(60, seed=1)

    def marked(images):
        return np.clip((images.reshape(len(images), -1).max(1) - 0.85) * 5, 0.01, 0.99)

    some = made.marks[:, 0] >= 0
    asked = wf.ImageProblem(marked, made.images, favourable=0, units="quickshift", span=made.span)
    got = asked.recommend(made.images[some][:12], "sedc-t")
    assert got.recourse.found[:, 0].all()
    for i, (row, column) in enumerate(made.marks[some][:12]):
        cross = np.zeros((24, 24), dtype=bool)
        cross[row + 1, column : column + 3] = cross[row : row + 3, column + 1] = True
        assert len(got.changed(i)) == 1 and (got.mask(i) == cross).all()


@pytest.mark.parametrize("reference", ["mean", "median"])
def test_of_two_classes_it_is_sedc(reference):
    from wayforward.testing import case

    it = case("linear", "independent", 0, 20)
    ours, theirs = (wf.recommend(it.problem, it.x, m, reference=reference) for m in ("sedc-t", "sedc"))
    np.testing.assert_array_equal(ours.action, theirs.action)
