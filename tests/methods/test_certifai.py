"""certifai: two closed forms (a line, and the burden of two groups), and its contract."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtri

from wayforward import Feature, Schema
from wayforward.errors import MethodError
from wayforward.methods import method
from wayforward.problem import LpMix
from wayforward.testing import MethodContract

AS_PUBLISHED = {"complete": False, "shrink": False}


class TestContract(MethodContract):
    method = "certifai"
    parameters = {"population": 24, "generations": 10, "patience": 4}
    finds = 0.8
    people = 8


@pytest.mark.parametrize("seed", range(3))
def test_the_nearest_point_beyond_a_line(linear, seed):
    """F-LIN: 2 x1 + x2 >= 4 on [0, 5] from the origin; the least l1 distance is 2."""
    schema = Schema(tuple(Feature(name=n, kind="real", low=0, high=5) for n in ("x1", "x2")))
    problem = linear(schema, -4, {"x1": 2, "x2": 1}, cost=LpMix())
    fitted = method("certifai", population=256, generations=120, patience=120, **AS_PUBLISHED).fit(problem)
    got = fitted.recommend(np.zeros((1, 2)), seed=seed, budget=40_000, minimal=False)
    assert 2 <= np.nansum(got.action[0, 0]) <= 2 * 1.02


def test_the_burden_of_two_groups(linear):
    """Mean distance to a boundary at 0 of the refused half of N(0, 1) and of N(0, 10): .798 and 2.523."""
    schema = Schema((Feature(name="x", kind="real", low=-12, high=12),))
    problem = linear(schema, 0, {"x": 1})
    fitted = method("certifai", population=128, patience=60, **AS_PUBLISHED).fit(problem)
    refused = ndtri((np.arange(24) + 0.5) / 48)[:, None]
    for wide, burden in ((1.0, 0.798), (np.sqrt(10), 2.523)):
        x = wide * refused
        got = fitted.recommend(x, minimal=False)
        assert np.abs(got.after[:, 0] - x).mean() == pytest.approx(burden, rel=0.05)


def test_shares_are_checked():
    with pytest.raises(MethodError, match="mutate=2"):
        method("certifai", mutate=2.0)
