"""focus: the soft forest becomes the forest, its slopes are those of its score, and its contract."""

from __future__ import annotations

import numpy as np

from wayforward.methods import method
from wayforward.methods.engines.gradient import soft_trees
from wayforward.methods.engines.gradient.relaxed_state import range_widths
from wayforward.methods.engines.gradient.soft_trees import SoftTrees
from wayforward.testing import MethodContract, case


class TestContract(MethodContract):
    method = "focus"
    parameters = {"steps": 40, "rate": 0.05}
    kinds = ("forest",)
    finds = 0.9
    people = 20


def soft(problem, sharpness):
    return SoftTrees(problem, problem.model.forest, range_widths(problem), sharpness)


def test_sharp_splits_give_the_forest_itself():
    it = case("forest", "independent", 0, 40)
    trees = soft(it.problem, 1e7)
    x = it.x + np.where(it.problem.schema.has_levels, 0.0, 1e-3)  # off the thresholds
    got = trees.margins(x, np.ones(x.shape, bool), trees.own(x).astype(float))
    np.testing.assert_allclose(got[:, -1], it.problem.model.outputs(x)[:, -1], atol=1e-9)
    blunt = soft(it.problem, 5.0).margins(x, np.ones(x.shape, bool), trees.own(x).astype(float))
    assert np.abs(blunt - got).max() > 0.05


def searches(kind="forest"):
    it = case(kind, "independent", 0, 40)
    people = it.problem.population(it.x[it.refused][:5])
    trees = soft(it.problem, 8.0)
    state = trees.start(people, np.arange(5), people.free)
    move = np.random.default_rng(0).uniform(0.01, 0.1, state.move.shape)
    state.move += np.where(state.free & ~it.problem.schema.has_levels, move, 0.0)
    return people, trees, state


def test_slopes_are_those_of_the_score(monkeypatch):
    monkeypatch.setattr(soft_trees, "_LEAST", 1e-6)
    people, trees, state = searches()
    score, slope, share = trees(people, state)
    for j in np.flatnonzero(state.free.any(0) & ~people.schema.has_levels):
        more = state.take(state.who)
        more.move[:, j] += 1e-6 * state.free[:, j]
        np.testing.assert_allclose((trees(people, more)[0] - score) / 1e-6, slope[:, j], rtol=1e-2, atol=1e-3)
    own = trees.own_place(people.x)
    for f in range(share.shape[1]):  # part of the own level given to another one
        for level in range(int(trees.size[f])):
            more, step = state.take(state.who), 1e-3 * state.free[:, trees.level[f]]
            more.share[:, f, level] += step
            more.share[np.arange(5), f, own[:, f]] -= step
            rise = (trees(people, more)[0] - score) / 1e-3
            steep = share[:, f, level] - share[np.arange(5), f, own[:, f]]
            np.testing.assert_allclose(rise, steep, rtol=2e-2, atol=2e-3)


def test_the_kernels_and_their_twin_agree(monkeypatch):
    people, trees, state = searches()
    fast = trees(people, state)
    monkeypatch.setattr(soft_trees.kernels, "jit", lambda: None)
    for one, other in zip(trees(people, state), fast, strict=True):
        np.testing.assert_allclose(one, other, atol=0.1 * np.abs(other).max(), rtol=0)
    monkeypatch.undo()
    monkeypatch.setattr(soft_trees, "_LEAST", -1.0)  # to the last bit of a row
    exact = trees(people, state)
    monkeypatch.setattr(soft_trees.kernels, "jit", lambda: None)
    for one, other in zip(trees(people, state), exact, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-10)


def test_three_stumps(three_stumps):
    """F-FOR3: what is found turns two of three trees and costs 4.5 (l1) or more, as nothing cheaper does."""
    problem = three_stumps()
    published = {"project": False, "complete": False, "shrink": False}
    got = (
        method("focus", beta=0.01, rate=0.01, sigma=10.0, steps=200, **published)
        .fit(problem)
        .recommend(np.zeros((1, 2)))
    )
    assert got.found[0, 0]
    raw = got.after[0, 0].sum()
    assert 4.5 <= raw < 7.0
    near = method("focus").fit(problem).recommend(np.zeros((1, 2)))
    assert 4.5 <= near.after[0, 0].sum() <= raw + 1e-9
