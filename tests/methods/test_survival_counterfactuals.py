"""survival-counterfactuals: the projection of the paper, a swarm within one per cent of it, levels as brute force."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import wayforward as wf
from wayforward.errors import MethodError
from wayforward.methods.survival_counterfactuals import SurvivalCounterfactuals
from wayforward.modalities.survival import Cox, SurvivalProblem
from wayforward.problem import Problem, Target
from wayforward.problem.cost import LpMix
from wayforward.schema import Feature, Schema
from wayforward.testing import MethodContract


class TestSurvivalCounterfactuals(MethodContract):
    method = SurvivalCounterfactuals(particles=20, generations=25)
    finds = 0.9
    people = 24


PLANE = Schema(tuple(Feature(name=name, kind="real", low=-4, high=4) for name in "ab"))
MONTHS = np.arange(1.0, 41.0)
COX = Cox({"a": 1.0, "b": 2.0}, MONTHS, np.exp(-0.02 * MONTHS))
SHAPES = {"cost": LpMix(l1=0.0, l2=1.0)}


def lifetime(index):
    """Expected months where the weights add up to index: curves hold from one month to the next."""
    left = np.exp(-0.02 * MONTHS[:-1] * np.exp(np.asarray(index)[..., None]))
    return 1.0 + left.sum(-1)


def test_a_cox_model_is_projected():
    """Weights (1, 2), a person at (1, 1), a sum of 1 needed: (.6, .2), the foot of the perpendicular."""
    asked = SurvivalProblem(
        PLANE, COX, np.array([[1.0, 1.0], [0.0, 0.0]]), lifetime=float(lifetime(1.0)), **SHAPES
    )
    got = asked.recommend(np.array([[1.0, 1.0]]), wf.method("survival-counterfactuals", shrink=False))
    np.testing.assert_allclose(got.after[0, 0], [0.6, 0.2], atol=1e-5)
    assert got.score[0, 0] >= lifetime(1.0)


def test_within_a_box_the_projection_bends():
    """b may not fall below .5, so a alone goes on: 1 = a + 2 b leaves a = 0."""
    asked = SurvivalProblem(
        PLANE, COX, np.array([[1.0, 1.0], [0.0, 0.0]]), lifetime=float(lifetime(1.0)), **SHAPES
    )
    wish = wf.Preferences.none(asked.problem.schema, 1).limit("b", low=0.5)
    got = asked.recommend(
        np.array([[1.0, 1.0]]), wf.method("survival-counterfactuals", shrink=False), preferences=wish
    )
    np.testing.assert_allclose(got.after[0, 0], [0.0, 0.5], atol=1e-5)


def test_a_swarm_comes_within_one_per_cent_of_it():
    """The same model as a black box of predictions, which nothing can be read of."""
    box = wf.wrap(lambda rows: lifetime(rows @ np.array([1.0, 2.0])), PLANE, task="regression")
    assert box.single_index is None
    problem = Problem(PLANE, box, Target(interval=(float(lifetime(1.0)), None)), **SHAPES)
    start = np.random.default_rng(0).uniform(0.6, 3.0, (20, 2))
    method = wf.method("survival-counterfactuals", shrink=False, generations=100, patience=40)
    got = method.fit(problem).recommend(start)
    nearest = (start @ [1.0, 2.0] - 1.0) / np.sqrt(5.0)
    far = np.linalg.norm(got.after[:, 0] - start, axis=1)
    assert got.found.all()
    assert (far >= nearest - 1e-9).all()
    assert (far <= 1.01 * nearest).all()


def test_levels_and_numbers_together_are_as_near_as_brute_force():
    """Two levels and a number, each cheaper for somebody: the least distance over every choice of levels."""
    schema = Schema(
        (
            Feature(name="a", kind="real", low=0, high=10),
            Feature(name="p", kind="binary", levels=("no", "yes")),
            Feature(name="q", kind="categorical", levels=("x", "y", "z")),
        )
    )
    cox = Cox({"a": -0.2, "p": {"yes": 0.6}, "q": {"y": -0.4, "z": 0.3}}, MONTHS, np.exp(-0.02 * MONTHS))
    rows = np.random.default_rng(1).uniform(0, 4, (12, 3))
    rows[:, 1], rows[:, 2] = np.arange(12) % 2, np.arange(12) % 3
    asked = SurvivalProblem(schema, cox, rows, longer=3.0)
    got = asked.recommend(rows, wf.method("survival-counterfactuals", shrink=False), k=2)
    weight = {1: np.array([0.0, 0.6]), 2: np.array([0.0, -0.4, 0.3])}
    for i, x in enumerate(rows):
        own = -0.2 * x[0] + weight[1][int(x[1])] + weight[2][int(x[2])]
        low, high = -60.0, own  # the sum at which three months more are reached
        for _ in range(80):
            middle = (low + high) / 2
            low, high = (middle, high) if lifetime(middle) >= lifetime(own) + 3 else (low, middle)
        costs = []
        for p, q in product(range(2), range(3)):
            a = max((weight[1][p] + weight[2][q] - low) / 0.2, x[0])
            if a <= 10:
                costs.append((a - x[0]) / 10 + (p != x[1]) + (q != x[2]))
        assert got.cost[i, 0] == pytest.approx(min(costs), abs=1e-5)


def test_settings_that_are_none_are_named():
    with pytest.raises(MethodError, match="'survival-counterfactuals' has particles=1"):
        wf.method("survival-counterfactuals", particles=1)
