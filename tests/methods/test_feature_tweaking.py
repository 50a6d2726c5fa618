"""feature-tweaking on three stumps, against brute force over leaves, and its contract."""

from __future__ import annotations

import numpy as np
import pytest

from wayforward.methods import method
from wayforward.methods.engines.tree_regions import TreeRegions
from wayforward.testing import MethodContract, case


class TestContract(MethodContract):
    method = "feature-tweaking"
    kinds = ("forest",)
    finds = 0.9


@pytest.mark.parametrize("eps", [0.0, 0.05])
def test_three_stumps_from_the_paper_s_rule(three_stumps, eps):
    """F-FOR3: (4.5 + eps, 0) turns two trees; (2 + eps, 0) turns one and is no answer, though it is nearer."""
    problem = three_stumps()
    published = {"complete": False, "shrink": False, "violated_only": False}
    got = (
        method("feature-tweaking", eps=eps, **published)
        .fit(problem)
        .recommend(np.zeros((1, 2)), minimal=False)
    )
    np.testing.assert_allclose(got.after[0, 0], [4.5 + 10 * eps, 0.0], atol=1e-6)  # a float32 beyond 4.5
    assert not problem.reached(np.array([[2.5, 0.0]]))[0][0]


def test_leaves_are_where_the_trees_send_rows():
    it = case("forest", "independent", 0, 300)
    flat, schema = it.problem.model.forest, it.problem.schema
    regions = TreeRegions(flat, schema)
    leaf = regions.leaf_of(it.x)
    total = flat.base + flat.scale * flat.value[leaf].sum(1)
    np.testing.assert_allclose(total[:, -1], it.problem.model.outputs(it.x)[:, -1], atol=1e-12)
    np.testing.assert_array_equal(regions.tree[leaf], np.broadcast_to(np.arange(len(flat.roots)), leaf.shape))
    numbers = ~schema.has_levels
    for t in range(leaf.shape[1]):  # a row lies in the box of its leaf of each tree, and in no other one
        box = regions.leaves.take(np.flatnonzero(regions.tree == t))
        inside = ((it.x[:, None] >= box.low) & (it.x[:, None] <= box.high))[:, :, numbers].all(2)
        for j, columns in schema.level_columns.items():
            inside &= box.levels[:, columns][:, it.x[:, j].astype(int)].T
        np.testing.assert_array_equal(inside.sum(1), 1)
        np.testing.assert_array_equal(np.flatnonzero(regions.tree == t)[inside.argmax(1)], leaf[:, t])


def test_it_is_the_cheapest_leaf_that_the_ensemble_accepts():
    it = case("forest", "independent", 1, 40)
    problem = it.problem
    x = it.x[it.refused][:8]
    got = method("feature-tweaking", complete=False, shrink=False).fit(problem).recommend(x, minimal=False)
    people, flat = problem.population(x), problem.model.forest
    regions = TreeRegions(flat, problem.schema)
    for i in range(len(x)):
        best = np.inf
        for leaf in np.flatnonzero(flat.value[:, -1] > 0.5):
            goal = x[i].copy()
            for j in range(problem.schema.d):
                if problem.schema.has_levels[j]:
                    ok = np.flatnonzero(regions.leaves.levels[leaf, problem.schema.level_columns[j]])
                    goal[j] = goal[j] if goal[j] in ok else min(ok, key=lambda v: (abs(v - x[i, j]), v))  # noqa: B023
                else:
                    goal[j] = np.clip(goal[j], regions.leaves.low[leaf, j], regions.leaves.high[leaf, j])
                    edge = problem.schema.round(goal[[j]], columns=np.array([j]))[0]
                    if edge < regions.leaves.low[leaf, j]:
                        edge += problem.schema.step[j]
                    elif edge > regions.leaves.high[leaf, j]:
                        edge -= problem.schema.step[j]
                    goal[j] = edge if goal[j] != x[i, j] else goal[j]
            action = np.where(problem.schema.differs(goal, x[i]), goal, np.nan)[None]
            if np.isnan(action).all():
                continue
            seen = people.evaluate(np.array([i]), action)
            if seen.reached[0]:
                best = min(best, seen.cost[0])
        assert got.found[i, 0] == np.isfinite(best)
        if np.isfinite(best):
            assert got.cost[i, 0] == pytest.approx(best, rel=1e-9)
