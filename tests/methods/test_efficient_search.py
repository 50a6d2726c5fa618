"""efficient-search on lines that can be added up by hand, against trying everything, and its contract."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from wayforward import Feature, Schema
from wayforward.methods import method
from wayforward.problem import MadL1
from wayforward.testing import MethodContract


class TestContract(MethodContract):
    method = "efficient-search"
    kinds = ("linear",)
    finds = 0.9
    people = 16


def test_two_numbers(linear):
    """F-LIN: w = (2, 1), b = -4: of equal deviations the cheapest is (2, 0), with l1 2."""
    schema = Schema(tuple(Feature(name=n, kind="real", low=0, high=5) for n in "ab"))
    table = np.array([[0, 0], [1, 1], [2, 2], [3, 3], [4, 4.0]])  # deviations 1 and 1
    problem = linear(schema, -4.0, {"a": 2.0, "b": 1.0}, table, cost=MadL1())
    got = method("efficient-search").fit(problem).recommend(np.zeros((1, 2)), 2)
    np.testing.assert_allclose(got.after[0, 0], [2.0, 0.0], atol=1e-6)
    assert got.cost[0, 0] == pytest.approx(2.0, abs=1e-6)
    np.testing.assert_allclose(got.after[0, 1], [0.0, 4.0], atol=1e-6)


LEVELS = Schema(
    (
        Feature(name="a", kind="integer", low=0, high=6),
        Feature(name="job", kind="categorical", levels=("none", "part", "full")),
        Feature(name="home", kind="categorical", levels=("rent", "own")),
    )
)


def test_later_options_are_in_other_states(linear):
    """Each option differs from those before in its discrete part: states that were taken are closed."""
    table = np.array(list(product(range(7), range(3), range(2))), dtype=float)
    weights = {"a": 0.7, "job": [0.0, 2.0, 4.0], "home": [0.0, 1.0]}
    problem = linear(LEVELS, -4.0, weights, table, cost=MadL1())
    got = method("efficient-search").fit(problem).recommend(np.zeros((1, 3)), 4, minimal=False)
    np.testing.assert_array_equal(got.after[0, :3], [[0, 2, 0], [3, 1, 0], [6, 0, 0]])
    np.testing.assert_allclose(got.cost[0], [1.0, 2.5, 3.0, np.inf])


def test_the_first_option_is_the_cheapest_of_all(linear):
    every = np.array(list(product(range(7), range(3), range(2))), dtype=float)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        weights = {
            "a": rng.normal(),
            "job": rng.normal(0, 2, 3).tolist(),
            "home": rng.normal(0, 2, 2).tolist(),
        }
        problem = linear(LEVELS, float(rng.normal(-2, 1)), weights, every, cost=MadL1())
        x = every[~problem.reached(every)[0]][:5]
        if not len(x):
            continue
        got = method("efficient-search").fit(problem).recommend(x, minimal=False)
        yes = every[problem.reached(every)[0]]
        for i, person in enumerate(x):
            action = np.where(yes != person, yes, np.nan)
            best = problem.cost.total(np.broadcast_to(person, yes.shape), action).min(initial=np.inf)
            assert got.cost[i, 0] == pytest.approx(best, abs=1e-9)
