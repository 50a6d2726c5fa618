"""ordce: the matrix of effects, orders that cost 1 and 2, every order tried, and its contract."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from wayforward import Feature, Problem, Schema, Target
from wayforward.methods import method
from wayforward.methods.ordce import best_order, order_cost, total_effects
from wayforward.problem import LpMix
from wayforward.testing import MethodContract

DIRECT = np.zeros((5, 5))  # x1 -> x2 1, x2 -> x3 6, x4 -> x3 4, x4 -> x5 -0.5
DIRECT[1, 0], DIRECT[2, 1], DIRECT[2, 3], DIRECT[4, 3] = 1.0, 6.0, 4.0, -0.5


class TestContract(MethodContract):
    method = "ordce"
    parameters = {"base": "nearest-observable", "candidates": 3}
    finds = 0.9
    people = 12


def test_effects_along_all_paths():
    """The example of the paper: C is the sum of the powers of B."""
    rows = [[0, 0, 0, 0, 0], [1, 0, 0, 0, 0], [6, 6, 0, 4, 0], [0, 0, 0, 0, 0], [0, 0, 0, -0.5, 0]]
    np.testing.assert_allclose(total_effects(DIRECT), rows)


def test_the_cause_first_costs_less():
    """x1 and x2 by one each: x1 first costs 1, as x2 follows; x2 first costs 2. Without effects all are equal."""
    far, price = np.array([[1.0, 1.0, 0, 0, 0]]), np.ones((1, 5))
    induced = total_effects(DIRECT)
    assert order_cost(far, np.array([[0, 1]]), induced, price) == 1.0
    assert order_cost(far, np.array([[1, 0]]), induced, price) == 2.0
    order, cost = best_order(far, far != 0, induced, price, 4)
    np.testing.assert_array_equal(order, [[0, 1, -1, -1, -1]])
    assert cost == 1.0
    assert order_cost(far, np.array([[1, 0]]), 0 * induced, price) == 2.0


def test_the_best_order_is_the_best_of_all():
    rng = np.random.default_rng(0)
    far = np.where(rng.random((60, 5)) < 0.6, rng.normal(size=(60, 5)), 0.0)
    far[(far != 0).sum(1) > 4, 0] = 0.0
    price, induced = rng.uniform(0.5, 2, (60, 5)), total_effects(DIRECT * 0.3)
    order, cost = best_order(far, far != 0, induced, price, 4)
    for i in range(60):
        acts = np.flatnonzero(far[i])
        tried = {}
        for way in permutations(acts):
            own, paid = np.zeros(5), 0.0
            for j in way:
                own[j] = far[i, j] - induced[j] @ own
                paid += price[i, j] * abs(own[j])
            tried[way] = paid
        assert cost[i] == pytest.approx(min(tried.values()), abs=1e-12)
        assert tried[tuple(order[i][order[i] >= 0])] == pytest.approx(cost[i], abs=1e-12)


def test_the_path_goes_in_order_and_effects_choose_the_option(linear):
    """Either b and c or a alone; that b moves c makes the pair cheaper, b first."""
    schema = Schema(tuple(Feature(name=n, kind="real", low=0, high=10) for n in "abc"))
    table = np.random.default_rng(0).uniform(0, 10, (60, 3))
    problem = linear(schema, -8.0, {"a": 0.2, "b": 1.0, "c": 1.0}, table, cost=LpMix())
    wish = {"effects": {"c": {"b": 1.0}}, "base": "nearest-observable"}
    got = method("ordce", **wish).fit(problem).recommend(np.array([[5.0, 0.0, 0.0]]), minimal=False)
    path = got.path[0, 0][~np.isnan(got.path[0, 0]).any(1)]
    np.testing.assert_allclose(path[-1], got.after[0, 0])
    acts = [
        int(np.flatnonzero(now != then)[0]) for then, now in zip([got.x[0], *path[:-1]], path, strict=True)
    ]
    assert acts.index(1) < acts.index(2)


def test_a_causal_world_tells_its_own_effects():
    from wayforward.model import train
    from wayforward.world import SCM

    schema = Schema(tuple(Feature(name=n, kind="real", low=0, high=10) for n in ("income", "savings")))
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 10, (200, 2))
    model = train("lr", schema, x, (x.sum(1) > 10).astype(int), seed=0)
    world = SCM(
        {"income": "u", "savings": "0.3 * income + u"}, {"income": "Normal(5, 2)", "savings": "Normal(2, 1)"}
    )
    problem = Problem(schema, model, Target(1), data=x, world=world)
    fitted = method("ordce").fit(problem)
    np.testing.assert_allclose(fitted.induced_, [[0, 0], [0.3, 0]], atol=1e-6)
