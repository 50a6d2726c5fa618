"""clear: crossings and equations of a line are those of the line, fidelity of right and wrong surrogates; contract."""

from __future__ import annotations

import numpy as np
import pytest

from wayforward import Feature, Schema, evaluate
from wayforward.evaluate.fidelity import counterfactual_fidelity
from wayforward.methods import method
from wayforward.testing import MethodContract, MetricContract

SCHEMA = Schema(
    (
        *(Feature(name=name, kind="real", low=0, high=100) for name in "abc"),
        Feature(name="home", kind="categorical", levels=("rent", "own", "free")),
    )
)
WEIGHTS = {"a": 0.05, "b": -0.1, "c": 0.0, "home": [0, 1, -1]}
SLOPE = np.array([0.05, -0.1, 0.0])


class TestContract(MethodContract):
    method = "clear"
    parameters = {"grid": 10}
    finds = 0.9
    people = 8


@pytest.fixture
def problem(linear):
    """Log-odds 0.05 a - 0.1 b + home - 2."""
    rows = np.random.default_rng(0).uniform(0, 100, (200, 4))
    rows[:, 3] = np.floor(rows[:, 3] / 34)
    return linear(SCHEMA, -2, WEIGHTS, rows)


PEOPLE = np.array([[45.0, 28, 50, 0], [20, 5, 10, 2], [60, 15, 90, 0]])


def score(rows):
    return rows[:, :3] @ SLOPE + np.array([0, 1, -1])[rows[:, 3].astype(int)] - 2


def test_crossings_of_a_line_are_minus_the_log_odds_over_the_slope(problem):
    """A feature alone turns the decision at x_j - logit / w_j, where that lies within its range."""
    fitted = method("clear", complete=False, shrink=False).fit(problem)
    got = fitted.recommend(PEOPLE, k=2, minimal=False)
    for i, x in enumerate(PEOPLE):
        ends = x[:2] - score(x[None])[0] / SLOPE[:2]
        for j, end in enumerate(ends):
            acts = ~np.isnan(got.action[i, :, j])
            assert acts.any() == (0 <= end <= 100)
            np.testing.assert_allclose(got.action[i, acts, j], end, atol=1e-4)


def test_the_equation_of_a_line_is_the_line(problem):
    fitted = method("clear").fit(problem)
    surrogate = fitted.surrogate(PEOPLE)
    rows, who = problem.reference[:40].copy(), np.arange(40) % 3
    rows[:, 3] = np.where(np.arange(40) % 2, 1, PEOPLE[who, 3])  # what is far from a yes was not drawn
    np.testing.assert_allclose(surrogate(who, rows), score(rows), atol=1e-6)
    got = counterfactual_fidelity(problem, PEOPLE, surrogate)
    assert np.nanmax(got.error) < 1e-2 and got.fidelity == 1
    assert surrogate.equation(0).startswith("-2.55 +") and " c" not in surrogate.equation(0)
    np.testing.assert_allclose(got.actual[0, :2], [96, 2.5], atol=1e-4)


def test_fidelity_of_any_surrogate(problem):
    """One that is shifted by half a point of log-odds errs by .5 / slope, one that never turns sees no crossing."""
    std = problem.reference.std(0)
    shifted = counterfactual_fidelity(problem, PEOPLE, lambda who, rows: score(rows) + 0.5)
    there = ~np.isnan(shifted.actual) & np.isfinite(shifted.error)
    assert there.sum() >= 2 and not there[:, 2].any()
    away = 0.5 / np.array([0.05, 0.1, np.inf]) / std[:3]
    np.testing.assert_allclose(shifted.error[there], away[np.nonzero(there)[1]], rtol=1e-3)
    never = counterfactual_fidelity(problem, PEOPLE, lambda who, rows: np.full(len(rows), -1.0))
    assert never.fidelity == 0 and np.isinf(never.error[~np.isnan(never.actual)]).all()
    assert np.isnan(never.right[np.isnan(never.actual).all(1)]).all()


def test_a_square_is_found(linear):
    """A model that is a parabola in a: the equation has its square, and both crossings."""
    from wayforward import Problem, Target, wrap

    schema = Schema(SCHEMA.features[:2])

    def model(rows):
        p = 1 / (1 + np.exp(-(2 - 0.002 * (np.asarray(rows, dtype=float)[:, 0] - 50) ** 2)))
        return np.column_stack([1 - p, p])

    problem = Problem(
        schema, wrap(model, schema), Target(1), data=np.random.default_rng(1).uniform(0, 100, (200, 2))
    )
    x = np.array([[10.0, 40], [95, 3]])
    surrogate = method("clear").fit(problem).surrogate(x)
    assert "a^2" in surrogate.equation(0)
    got = counterfactual_fidelity(problem, x, surrogate)
    np.testing.assert_allclose(got.actual[:, 0], 50 + np.sqrt(1000) * np.array([-1, 1]), atol=1e-3)
    assert np.nanmax(got.error) < 1e-2


class TestFidelityMetric(MetricContract):
    metric = "counterfactual_fidelity"


def test_the_metric_asks_another_model(problem):
    got = method("clear").fit(problem).recommend(PEOPLE)
    same = evaluate(got, problem, other_model=problem.model, metrics="all", bootstrap=0)
    assert same["counterfactual_fidelity"].value == 1
    assert "counterfactual_fidelity" not in evaluate(got, problem, metrics="all", bootstrap=0).totals
