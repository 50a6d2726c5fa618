"""visual-counterfactuals: for an additive score as few swaps as brute force over all sets of cells needs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import wayforward as wf
from wayforward.errors import ProblemError
from wayforward.modalities.image import Grid
from wayforward.testing import MethodContract


class TestVisualCounterfactuals(MethodContract):
    method = "visual-counterfactuals"
    kinds = ("linear", "forest", "network")
    finds = 0.9
    people = 12


def additive(seed):
    """A logistic score of 10 pixels, 2 by 5, and images with their answers."""
    rng = np.random.default_rng(seed)
    weight, images = rng.normal(size=10), rng.random((60, 2, 5))
    bar = float(np.median(images.reshape(60, -1) @ weight))

    def probability(given):
        return 1 / (1 + np.exp(-4 * (given.reshape(len(given), -1) @ weight - bar)))

    return probability, images


@pytest.mark.parametrize("seed", range(3))
def test_as_few_swaps_as_brute_force_needs(seed):
    """Cells in their own place, ten of them: all 1,024 sets."""
    probability, images = additive(seed)
    asked = wf.ImageProblem(probability, images, favourable=1, units=Grid(2, 5), replace="distractor")
    got = asked.recommend(images, "visual-counterfactuals")
    sets = np.array(list(itertools.product((False, True), repeat=10)))
    assert asked.distractors is not None
    for i in np.flatnonzero(got.recourse.refused):
        gap = ((asked.distractors[..., 0] - images[i]) ** 2).sum((1, 2))
        other = asked.distractors[gap.argmin(), ..., 0].reshape(-1)
        mixed = np.where(sets, other, images[i].reshape(-1))
        smallest = sets.sum(1)[probability(mixed) > 0.5].min()
        assert len(got.changed(i)) == smallest


def test_any_cell_may_take_any_place_but_each_only_once():
    """A score that is a sum of brightness: the brightest cells of the distractor go where the image is darkest."""
    bright = np.array([[0.9, 0.8], [0.1, 0.0]])
    asked = wf.ImageProblem(
        lambda images: np.clip(images.sum((1, 2)) / 3.4, 0, 1), [bright, 0 * bright + 0.5], favourable=1,
        units=Grid(2, 2), replace="cells", span=(0, 1),
    )  # fmt: skip
    dark = np.array([[0.4, 0.0], [0.3, 0.05]])
    got = asked.recommend([dark], "visual-counterfactuals")
    np.testing.assert_allclose(
        got.after(0), [[0.4, 0.5], [0.5, 0.5]]
    )  # the distractor's four cells are alike
    levels = got.recourse.action[0, 0][got.changed(0)[0] + 1 :]
    levels = levels[~np.isnan(levels)]
    assert len(levels) == len(set(levels)) == 3


def test_without_people_and_without_units_there_is_nothing_to_copy():
    schema = wf.Schema((wf.Feature(name="a", kind="real", low=0, high=1),))
    problem = wf.Problem(schema, wf.wrap(lambda x: x[:, 0], schema), wf.Target(1))
    with pytest.raises(ProblemError, match="data"):
        wf.method("visual-counterfactuals").fit(problem)
