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


@pytest.mark.filterwarnings("ignore")
def test_who_is_left_without_anything_is_looked_for_in_boxes():
    """A yes within .0001 of one place between three numbers, and a flat no everywhere else."""
    from sklearn.neural_network import MLPClassifier

    names, place = ("x1", "x2", "x3"), np.array([1.234, -0.567, 0.345])
    schema = wf.Schema(tuple(wf.Feature(name=n, kind="real", low=-2, high=2) for n in names))
    data = np.random.default_rng(0).uniform(-2, 2, (60, 3))
    net = MLPClassifier((6, 1), max_iter=1).fit(data, np.arange(60) % 2)
    sides = np.tile([1.0, -1.0], 3)
    net.coefs_ = [np.repeat(np.eye(3), 2, axis=1) * sides, np.full((6, 1), -1e4), np.ones((1, 1))]
    net.intercepts_ = [-np.repeat(place, 2) * sides, np.ones(1), np.array([-1e-3])]
    problem = wf.Problem(schema, net, wf.Target(1), data=data, cost=COSTS["l1"])
    x = np.array([[0.0, 0.0, 0.0], [1.5, 1.5, 1.5]])
    got = wf.recommend(problem, x, "local-search", budget=500)
    assert got.found.all()
    np.testing.assert_allclose(got.cost[:, 0] * 4, np.abs(x - place).sum(1), atol=1e-4)
