"""relu-milp on an absolute value and a line, against brute force over every row, and its contract."""

from __future__ import annotations

import numpy as np
import pytest

import wayforward as wf
from wayforward.errors import UnsupportedModel
from wayforward.problem import LpMix
from wayforward.testing import MethodContract
from wayforward.testing.small_forests import RULES, least_cost, refused, wished

pytest.importorskip("sklearn")

COSTS = {"l1": LpMix(l1=1.0), "l2": LpMix(l1=0.0, l2=1.0), "linf": LpMix(l1=0.0, linf=1.0)}


class TestContract(MethodContract):
    method = "relu-milp"
    parameters = {"boxes": 200, "rounds": 1}
    kinds = ("linear", "network")
    finds = 0.9
    people = 12


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("cost", "least"), [("l1", 0.5), ("l2", 0.125**0.5), ("linf", 0.25)])
def test_two_units_that_make_an_absolute_value(absolute_value, cost, least):
    """F-RELU: .5, .354, .25; ranges are 4 wide."""
    problem = absolute_value(COSTS[cost])
    got = wf.recommend(problem, np.zeros((1, 2)), "relu-milp", certify=True)
    assert 4 * got.cost[0, 0] == pytest.approx(least, rel=1e-4)
    assert got.gap[0, 0] < 1e-4


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("model", ["lr", "mlp"])
def test_it_finds_what_trying_everything_finds(model, cost):
    seed = list(COSTS).index(cost)
    problem, x = refused(model, seed, RULES[3 - seed], cost=COSTS[cost])
    wishes = wished(problem.schema, x, seed)
    got = wf.recommend(problem, x, "relu-milp", preferences=wishes)
    best = least_cost(problem, problem.population(x, wishes))
    np.testing.assert_allclose(got.cost[:, 0], best, rtol=1e-9)
    none = [outcome.name == "NONE_EXISTS" for outcome in got.outcome[:, 0]]
    np.testing.assert_array_equal(none, np.isinf(best))


def test_it_says_what_it_is_not_for():
    with pytest.raises(UnsupportedModel, match="rectified units"):
        wf.method("relu-milp").fit(refused("rf", 0, ())[0])
