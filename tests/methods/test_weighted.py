"""weighted-counterfactuals: uniform weights are the base method, dear features stay, margins end with the yes."""

from __future__ import annotations

import numpy as np
import pytest

from wayforward import Feature, Schema
from wayforward.errors import MethodError
from wayforward.methods import method
from wayforward.methods.weighted import explained
from wayforward.testing import MethodContract, case

SCHEMA = Schema(
    (
        *(Feature(name=name, kind="real", low=0, high=100) for name in "ab"),
        Feature(name="c", kind="integer", low=0, high=10, direction="increase"),
        Feature(name="home", kind="categorical", levels=("rent", "own", "free")),
    )
)
DATA = np.array([[90, 10, 1, 0], [80, 10, 2, 0], [95, 10, 3, 0], [10, 10, 1, 0], [20, 10, 2, 0.0]])


class TestContract(MethodContract):
    method = "weighted-counterfactuals"
    parameters = {"neighbours": 3}
    finds = 0.9
    people = 8


def test_the_weights_are_the_same_for_some_of_the_people():
    """Whoever was searched for apart from the batch lost them: another third option, alone and among others."""
    it = case("forest", "independent", 1, 24)
    fitted = method("weighted-counterfactuals", neighbours=3).fit(it.problem)
    who = np.flatnonzero(it.refused)
    among = fitted.recommend(it.x[who], 3, seed=5)
    for i, one in enumerate(who):
        alone = fitted.recommend(it.x[[one]], 3, seed=5)
        np.testing.assert_array_equal(alone.after[0], among.after[i])


@pytest.fixture
def problem(linear):
    """Yes where a + b + 5 c - 20 [free] >= 100; accepted people of the table differ in a and c alone."""
    return linear(SCHEMA, -100, {"a": 1, "b": 1, "c": 5, "home": [0, 0, -20]}, DATA)


def test_uniform_weights_are_the_base_method():
    it = case("linear", n=10)
    got = (
        method("weighted-counterfactuals", weights="uniform", base="nice")
        .fit(it.problem)
        .recommend(it.x, 2, seed=1)
    )
    base = method("nice").fit(it.problem).recommend(it.x, 2, seed=1)
    np.testing.assert_array_equal(got.action, base.action)


@pytest.mark.parametrize("weights", ["neighbours", "importance"])
def test_what_does_not_separate_people_grows_dear_until_it_is_left_alone(problem, weights):
    """b is as cheap as a; nobody accepted has another b than the person, so with any spread a moves alone."""
    x = np.array([[40.0, 10, 1, 0]])
    fitted = method("weighted-counterfactuals", weights=weights, spread=1000.0).fit(problem)
    costs = fitted.costs(x)[0]
    assert costs[1] > 900 * costs[0]
    got = fitted.recommend(x)
    assert got.found.all() and np.isnan(got.action[0, 0, 1])


def test_weights_of_neighbours_are_shares_of_those_who_differ(problem):
    """Of three accepted people all differ from the person in a, two in c, nobody in b and home; mean 5 / 12."""
    x = np.array([[40.0, 10, 1, 0]])
    costs = method("weighted-counterfactuals", spread=5.0).fit(problem).costs(x)
    np.testing.assert_allclose(costs[0], [5 / 12, 5, 5 / 8, 5])


def test_importance_is_the_correlation_with_the_decision(problem):
    yes = problem.reference_reached
    strength = explained(SCHEMA, DATA, yes)
    assert (
        strength[0] == pytest.approx(np.corrcoef(DATA[:, 0], yes)[0, 1]) and strength[1] == strength[3] == 0
    )


def test_margins_end_where_the_line_does(problem):
    """a + b + 5 c = 112: a may fall by 12, c by 2 (steps of one), the home may be rent or own."""
    x = np.array([[20.0, 10, 1, 0], [80.0, 10, 4.4, 0], [70, 17, 5, 1]])
    x[1, 2] = 4
    got = method("weighted-counterfactuals").fit(problem).margins(x)
    np.testing.assert_array_equal(got.who, [1, 2])
    np.testing.assert_allclose(got.low[1], [58, 5, 3, 1], atol=1e-6)
    np.testing.assert_allclose(got.high, [[100, 100, 10, 0], [100, 100, 10, 1]])
    np.testing.assert_array_equal(got.levels[1], [True, True, False])
    assert problem.reached(np.where(np.eye(4, dtype=bool), got.low[1], x[2]))[0].all()
    with pytest.raises(MethodError, match="grid=0"):
        method("weighted-counterfactuals").fit(problem).margins(x, grid=0)
    assert got.lines(1)[0] == "a: 58 to 100 (now 70)" and got.lines(1)[3] == "home: rent, own"
