"""hcls: for a line the budget is a fractional knapsack, risk never rises with it, what follows counts; contract."""

from __future__ import annotations

import numpy as np
import pytest

from wayforward import SCM, Feature, Schema
from wayforward.errors import MethodError
from wayforward.methods import method
from wayforward.testing import MethodContract, case

SCHEMA = Schema(tuple(Feature(name=n, kind="real", low=0, high=10) for n in "abc"))
WEIGHTS = np.array([3.0, 2.0, -1.0])
PEOPLE = np.array([[4.0, 5, 6], [9, 1, 10]])


class TestContract(MethodContract):
    method = "hcls"
    parameters = {"rounds": 6, "exchanges": 1}
    finds = 0.9
    people = 8


def problem_of(linear, bias=-40.0, **more):
    data = np.random.default_rng(0).uniform(0, 10, (50, 3))
    return linear(SCHEMA, bias, dict(zip("abc", WEIGHTS, strict=True)), data, **more)


def knapsack(x, spend):
    """The best gain for cost |change| / 10 a feature: most score for its cost first, up to the end of the range."""
    room = np.where(WEIGHTS > 0, 10 - x, x) / 10
    left, gain = spend, 0.0
    for j in np.argsort(-np.abs(WEIGHTS)):
        share = min(room[j], left)
        gain, left = gain + 10 * share * abs(WEIGHTS[j]), left - share
    return gain


def test_for_a_line_the_budget_is_a_fractional_knapsack(linear):
    problem = problem_of(linear)
    budgets = [0.0, 0.1, 0.5, 0.8, 1.2, 3.0]
    got = method("hcls").fit(problem).scores(PEOPLE, budgets)
    wanted = [[x @ WEIGHTS - 40 + knapsack(x, spend) for spend in budgets] for x in PEOPLE]
    np.testing.assert_allclose(got, wanted, atol=1e-4)


def test_a_budget_is_spent_and_not_more(linear):
    problem = problem_of(linear, bias=-27)
    got = method("hcls", spend=0.7).fit(problem).recommend(PEOPLE[:1])
    assert got.found.all() and got.cost[0, 0] == pytest.approx(0.7, abs=1e-6)
    np.testing.assert_allclose(got.action[0, 0, :2], [10, 6], atol=1e-4)
    assert method("hcls", spend=0.05).fit(problem).recommend(PEOPLE[:1]).found.sum() == 0


@pytest.mark.parametrize("kind", ["forest", "network"])
def test_the_risk_never_rises_with_the_budget(kind):
    it = case(kind, n=20)
    got = method("hcls", rounds=6, exchanges=1).fit(it.problem).scores(it.x[it.refused][:6], [0.05, 0.2, 0.6])
    assert (np.diff(got, axis=1) >= 0).all() and (got[:, -1] > got[:, 0]).any()


def test_what_follows_is_part_of_the_gain(linear):
    """b follows a: a unit of a is worth 3 + 2 where it is worth 3 alone."""
    world = SCM({"a": "u", "b": "1 * a + u", "c": "u"}, dict.fromkeys("abc", "Normal(0, 1)"))
    x = np.array([[2.0, 3, 0]])
    alone, causal = (
        method("hcls").fit(problem_of(linear, **more)).scores(x, [0.2])[0, 0]
        for more in ({}, {"world": world})
    )
    assert alone == pytest.approx(12 - 40 + 6, abs=1e-4) and causal == pytest.approx(12 - 40 + 10, abs=1e-4)


def test_budgets_ascend(linear):
    with pytest.raises(MethodError, match="ascending"):
        method("hcls").fit(problem_of(linear)).scores(PEOPLE, [0.5, 0.1])
    with pytest.raises(MethodError, match="ascending"):
        method("hcls").fit(problem_of(linear)).scores(PEOPLE, "a")
