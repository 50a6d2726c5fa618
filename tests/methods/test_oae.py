"""oae against every product of intervals of small forests, on three stumps, and its contract."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

from wayforward import Feature, Problem, Schema, Target
from wayforward.methods import method
from wayforward.model import kernels
from wayforward.problem import LpMix
from wayforward.testing import MethodContract

pytestmark = pytest.mark.skipif(kernels.jit() is None, reason="needs numba")
COSTS = {
    "l0": (LpMix(l0=1.0, l1=0.0), 1.0, 1.0),
    "l1": (LpMix(), 4.5, 10.0),
    "l2": (LpMix(l1=0.0, l2=1.0), np.sqrt(13.0), 10.0),
    "linf": (LpMix(l1=0.0, linf=1.0), 3.0, 10.0),
}


class TestContract(MethodContract):
    method = "oae"
    kinds = ("forest",)
    finds = 0.8
    people = 16


@pytest.mark.parametrize("cost", COSTS)
def test_three_stumps(three_stumps, cost):
    """F-FOR3: l0 1, l1 4.5, l2 3.60555, linf 3, all of them infima; the cost counts ranges of 10."""
    fitted, least, width = COSTS[cost]
    got = method("oae").fit(three_stumps(cost=fitted)).recommend(np.zeros((1, 2)))
    assert got.cost[0, 0] * width == pytest.approx(least, abs=1e-4)


@pytest.mark.parametrize("cost", ["l1", "l2"])
@pytest.mark.parametrize("boosted", [False, True])
def test_it_is_the_best_product_of_intervals(boosted, cost):
    """25 small forests each: one value for each interval of each feature, all products asked."""
    schema = Schema(tuple(Feature(name=n, kind="real", low=0, high=1) for n in "abc"))
    compared = 0
    for seed in range(25):
        rng = np.random.default_rng([seed, boosted])
        past = rng.random((80, 3))
        y = ((past - 0.5) @ rng.normal(size=3) + 0.2 * rng.normal(size=80) > 0.1).astype(int)
        kind = GradientBoostingClassifier if boosted else RandomForestClassifier
        model = kind(n_estimators=5, max_depth=2, random_state=seed).fit(
            schema.decode(past, like="pandas"), y
        )
        problem = Problem(schema, model, Target(1), data=past, cost=COSTS[cost][0])
        x = past[~problem.reached(past)[0]][:3]
        got = method("oae").fit(problem).recommend(x, minimal=False)
        for i, person in enumerate(x):
            values = []
            for j, cut in enumerate(problem.model.thresholds()):
                low = np.concatenate([[0.0], np.nextafter(cut, 2)])
                high = np.concatenate([cut, [1.0]])
                values.append(np.unique(np.clip(person[j], low, high)))
            rows = np.array(list(product(*values)))
            rows = rows[problem.reached(rows)[0]]
            action = np.where(rows != person, rows, np.nan)
            best = problem.cost.total(np.broadcast_to(person, rows.shape), action).min(initial=np.inf)
            assert got.found[i, 0] == np.isfinite(best)
            if np.isfinite(best):
                assert got.cost[i, 0] == pytest.approx(best, abs=1e-6)
                compared += 1
    assert compared > 50
