"""lowprofool: where it stops on a linear score, importances, what is tracked, every model."""

from __future__ import annotations

import numpy as np
import pytest

import wayforward as wf
from wayforward import Feature, Preferences, Schema
from wayforward.errors import MethodError
from wayforward.methods.lowprofool import LowProFool, WeightedDescent, correlations
from wayforward.testing import MethodContract, case


class TestContract(MethodContract):
    method = "lowprofool"
    parameters = {"rounds": 4, "steps": 24, "block": 32}
    finds = 0.7


def plane(d=3, **more):
    return Schema(tuple(Feature(name=f"x{j}", kind="real", low=-50, high=50, **more) for j in range(d)))


def stops(problem, x, v, lam, steps=300):
    """Where one descent ends, before anything is made hard: moves in ranges."""
    method = LowProFool(steps=steps).fit(problem)
    people = problem.population(x)
    lanes = method.slopes_.start(people, np.arange(people.n), people.free)
    path = WeightedDescent(method, people, lanes, v, np.full(people.n, lam), np.full(people.n, 10**9))
    path.descend(np.full(x.shape, np.nan), np.full(people.n, np.inf))
    return lanes.move


@pytest.mark.parametrize("lam", [3.0, 10.0])
def test_at_the_end_moves_are_as_weights_over_squared_importances(linear, lam):
    """Linear score, stationarity: r_j / r_k = (w_j / v_j^2) / (w_k / v_k^2) (Ballet et al. 2019, section 2.3)."""
    w = np.array([0.10, -0.20, 0.05])
    problem = linear(plane(), -4, {"x0": w[0], "x1": w[1], "x2": w[2]})
    x = np.random.default_rng(0).normal(size=(4, 3))
    v = np.tile(np.array([0.3, 0.8, 0.5]) / np.linalg.norm([0.3, 0.8, 0.5]), (4, 1))
    got = stops(problem, x, v, lam)
    ideal = w / v**2
    np.testing.assert_allclose(got / got[:, :1], ideal / ideal[:, :1], rtol=0.02)
    # And the length is right, too: p' |w / v| = lam, p' the slope of the log-loss.
    score = (x + got * 100) @ w - 4
    np.testing.assert_allclose(np.linalg.norm(100 * w / v[0]) / (1 + np.exp(score)), lam, rtol=0.02)


def test_what_matters_more_moves_less(linear):
    """An expert's vector: twice the importance, a quarter of the move."""
    problem = linear(plane(2), -4, {"x0": 0.2, "x1": 0.2})
    even = LowProFool(importance={"x0": 1.0, "x1": 2.0}, shrink=False).fit(problem)
    got = even.recommend(np.zeros((1, 2)), minimal=False)
    move = got.after[0, 0]
    assert got.found.all()
    np.testing.assert_allclose(move[0] / move[1], 4.0, rtol=0.1)


def test_the_persons_own_weights_are_importances(linear):
    """Two people, the same but for what is hard for them: each moves the other thing more."""
    problem = linear(plane(2), -4, {"x0": 0.2, "x1": 0.2})
    x = np.zeros((2, 2))
    wish = Preferences.none(problem.schema, 2)
    weight = np.array([[3.0, 1.0], [1.0, 3.0]])
    from dataclasses import replace

    wish = replace(wish, weight=weight)
    got = LowProFool(importance="personal", shrink=False).fit(problem)
    got = got.recommend(x, preferences=wish, minimal=False)
    move = got.after[:, 0]
    assert move[0, 1] > 3 * move[0, 0] and move[1, 0] > 3 * move[1, 1]


def test_importances_are_correlations_with_the_decision(linear):
    """A feature that decides has importance 1, noise nearly none; a category has its correlation ratio."""
    rng = np.random.default_rng(0)
    schema = Schema(
        (
            Feature(name="r", kind="real", low=-5, high=5),
            Feature(name="noise", kind="real", low=-5, high=5),
            Feature(name="c", kind="categorical", levels=("a", "b", "e")),
        )
    )
    data = np.column_stack([rng.normal(size=(800, 2)).clip(-5, 5), rng.integers(0, 3, 800)])
    problem = linear(schema, 0.0, {"r": 1.0, "c": [0.0, 2.0, -2.0]}, data=data)
    v = correlations(problem)
    yes = data[:, 0] + np.array([0, 2, -2.0])[data[:, 2].astype(int)] >= 0
    np.testing.assert_allclose(v[0], abs(np.corrcoef(data[:, 0], yes)[0, 1]), rtol=1e-9)
    assert v[1] < 0.1
    means = np.array([yes[data[:, 2] == c].mean() for c in range(3)])
    share = np.array([(data[:, 2] == c).mean() for c in range(3)])
    np.testing.assert_allclose(v[2] ** 2, (share * (means - yes.mean()) ** 2).sum() / yes.var(), rtol=1e-9)
    method = LowProFool().fit(problem)
    np.testing.assert_allclose((method.importances(problem.population(data[:5])) ** 2).sum(1), 1.0)


def test_categories_come_back_whole(linear):
    schema = Schema(
        (
            Feature(name="c", kind="categorical", levels=("x", "y", "z")),
            Feature(name="r", kind="real", low=0, high=10),
        )
    )
    problem = linear(schema, -1, {"c": [0, 3, 0], "r": 0.01})
    got = LowProFool().fit(problem).recommend(np.array([[0, 5], [2, 0.0]]))
    np.testing.assert_array_equal(got.after[:, 0, 0], 1)


@pytest.mark.parametrize("kind", ["linear", "network", "forest", "label"])
def test_it_finds_a_way_wherever_there_is_one(kind):
    it = case(kind, "independent", 0, 40)
    got, best = LowProFool().fit(it.problem).recommend(it.x), wf.recommend(it.problem, it.x)
    slopes = "gradients" if kind in ("linear", "network") else "estimates"
    assert got.meta["parameters"]["slopes"] == slopes
    both = got.found[:, 0] & best.found[:, 0]
    assert both.sum() >= 0.95 * best.found[:, 0].sum()
    assert got.cost[both, 0].mean() < 2 * best.cost[both, 0].mean()


def test_both_norms_can_be_tracked(linear):
    problem = linear(plane(), -4, {"x0": 0.2, "x1": 0.1, "x2": 0.05})
    for best in ("l1", "l2"):
        assert LowProFool(best=best).fit(problem).recommend(np.zeros((2, 3))).found[:, 0].all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"importance": "mood"}, "importance='mood'"),
        ({"best": "l7"}, "best='l7'"),
        ({"lam": 0.0}, "lam=0"),
        ({"steps": 0}, "steps=0"),
    ],
)
def test_wrong_parameters_are_named(parameters, message):
    with pytest.raises(MethodError, match=message):
        LowProFool(**parameters)


@pytest.mark.parametrize(
    ("importance", "message"),
    [({"x9": 1.0}, "'x9', which is no feature"), ({"x0": -1.0}, "'x0': -1.0}. Use .* 0 or more")],
)
def test_wrong_importances_are_named(linear, importance, message):
    with pytest.raises(MethodError, match=message):
        LowProFool(importance=importance).fit(linear(plane(), -4, {"x0": 1.0}))
