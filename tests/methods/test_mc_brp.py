"""mc-brp: the fence of errors, the safe interval of one feature, the problem of large errors; contract."""

from __future__ import annotations

import numpy as np
import pytest

from wayforward import Feature, Problem, Schema, Target, wrap
from wayforward.errors import ProblemError
from wayforward.methods import method
from wayforward.methods.mc_brp import large_errors, tukey_fences
from wayforward.testing import MethodContract

SCHEMA = Schema(tuple(Feature(name=n, kind="real", low=0, high=10) for n in ("stock", "price", "staff")))


class TestContract(MethodContract):
    method = "mc-brp"
    parameters = {"draws": 80}
    finds = 0.9
    people = 8


def test_the_fence_of_errors_from_1_to_9_is_13():
    """Quartiles 3 and 7: 7 + 1.5 x 4."""
    assert tukey_fences(np.arange(1.0, 10))[1] == 13


def test_an_error_that_hangs_on_one_feature_has_its_interval():
    """Reasonable for stock from 3 to 6: all kept draws lie there and fill it, and other features are as drawn."""
    rows = np.random.default_rng(0).uniform(0, 10, (300, 3))
    model = wrap(lambda rows: np.abs(np.asarray(rows, dtype=float)[:, 0] - 4.5), SCHEMA, task="regression")
    problem = Problem(SCHEMA, model, Target(interval=(None, 1.5)), data=rows)
    x = np.array([[9.0, 1, 1], [0.5, 5, 9]])
    fitted = method("mc-brp", draws=2000, complete=False, shrink=False).fit(problem)
    got = fitted.ranges(x)
    np.testing.assert_allclose(got.low[:, 0], 3, atol=0.05)
    np.testing.assert_allclose(got.high[:, 0], 6, atol=0.05)
    assert (got.low[:, 1:] < 0.5).all() and (got.high[:, 1:] > 9.5).all()
    np.testing.assert_allclose(got.mean[:, 0], 4.5, atol=0.1)
    np.testing.assert_allclose(got.share, 0.3, atol=0.05)
    assert got.lines(0)[0].startswith("stock: 3.6") and "(now 9" in got.lines(0)[0]
    assert fitted.recommend(x).found.all()


def test_more_helps_where_more_helps():
    rows = np.random.default_rng(0).uniform(0, 10, (300, 3))
    model = wrap(lambda rows: np.asarray(rows, dtype=float) @ [1, 0, -2.0], SCHEMA, task="regression")
    problem = Problem(SCHEMA, model, Target(interval=(2.0, None)), data=rows)
    got = method("mc-brp", features=2).fit(problem).ranges(np.array([[1.0, 5, 5]]))
    assert got.trend[0, 0] == 1 and got.trend[0, 2] == -1 and np.isnan(got.mean[0, 1])


def test_large_errors_are_a_problem_of_their_own():
    """Predictions are twice the stock; one row of fifty was sold out, and its error lies beyond the fence."""
    rng = np.random.default_rng(3)
    rows = rng.uniform(0, 10, (50, 3))
    sold = 2 * rows[:, 0] + rng.uniform(-1, 1, 50)
    rows[7, 0], sold[7] = 9, 2
    model = wrap(lambda rows: 2 * np.asarray(rows, dtype=float)[:, 0], SCHEMA, task="regression")
    problem, odd = large_errors(SCHEMA, model, rows, sold)
    np.testing.assert_array_equal(odd, [[*rows[7], 2]])
    got = method("mc-brp").fit(problem).recommend(odd)
    fence = problem.target.interval[1]
    assert got.found.all() and np.isnan(got.action[0, 0, 3])
    assert got.after[0, 0, 0] == pytest.approx((2 + fence) / 2, abs=1e-3)
    with pytest.raises(ProblemError, match="50 rows and 3 outcomes"):
        large_errors(SCHEMA, model, rows, [1, 2, 3])
