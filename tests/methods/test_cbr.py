"""cbr: planted pairs, the pairs that a plain loop finds, and its contract."""

from __future__ import annotations

import numpy as np
import pytest

from wayforward import Feature, Schema
from wayforward.methods import method
from wayforward.methods.cbr import native_pairs
from wayforward.testing import MethodContract

NAN = np.nan
SCHEMA = Schema(tuple(Feature(name=n, kind="integer", low=0, high=100) for n in "abcd"))
WEIGHTS = {"a": 1, "b": 1, "c": 1}


class TestContract(MethodContract):
    method = "cbr"
    parameters = {"cases": 3, "neighbours": 3}
    finds = 0.6
    people = 8


def planted(linear):
    """Yes where a + b + c >= 100; the first refused row and the first accepted one differ in b alone."""
    data = [[20, 30, 10, 50], [20, 80, 10, 50], [90, 90, 90, 0], [0, 0, 0, 99], [60, 5, 60, 20]]
    return linear(SCHEMA, -99.5, WEIGHTS, np.array(data, dtype=float))


def test_a_planted_pair_is_reused(linear):
    """b is set to what the partner has, 80; nothing else changes, and one of two refused rows has a native."""
    fitted = method("cbr", shrink=False, fall_back=False).fit(planted(linear))
    got = fitted.recommend(np.array([[24.0, 31, 12, 49]]), minimal=False)
    np.testing.assert_array_equal(got.action[0, 0], [NAN, 80, NAN, NAN])
    assert got.meta["parameters"]["natives"] == pytest.approx(1 / 2)
    assert got.meta["parameters"]["reusable"] == pytest.approx(1 / 2)


def test_values_of_the_partners_neighbours_are_tried_where_its_own_do_not_do(linear):
    """80 is too little for somebody with a = 2, c = 0; the nearest row to the partner has b = 5, the next 90."""
    fitted = method("cbr", shrink=False, fall_back=False, cases=1).fit(planted(linear))
    got = fitted.recommend(np.array([[13.0, 20, 0, 50]]), minimal=False)
    np.testing.assert_array_equal(got.action[0, 0], [NAN, 90, NAN, NAN])


def test_who_has_no_native_is_answered_by_nice(linear):
    x = np.array([[0.0, 0, 0, 99]])
    data = np.array([[10, 10, 10, 0], [90, 80, 70, 60.0]])
    problem = linear(SCHEMA, -99.5, WEIGHTS, data)
    alone = method("cbr", fall_back=False).fit(problem).recommend(x)
    assert not alone.found.any() and alone.meta["parameters"]["natives"] == 0
    got = method("cbr", shrink=False).fit(problem).recommend(x, minimal=False)
    nice = method("nice").fit(problem).recommend(x, minimal=False)
    np.testing.assert_array_equal(got.action, nice.action)


def test_pairs_are_those_that_a_loop_finds():
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 4, (60, 5)).astype(float)
    rows[rng.random(rows.shape) < 0.1] = NAN
    no, yes, slack, width = rows[:25], rows[25:], np.array([0, 0, 1, 1.5, 0]), np.full(5, 3.0)
    partner, count, act = native_pairs(no, yes, slack, width)
    for i, row in enumerate(no):
        best = []
        for other in yes:
            gap = np.abs(np.nan_to_num(row, nan=1e9) - np.nan_to_num(other, nan=1e9))
            moved = gap > slack
            best.append((int(moved.sum()), float((np.minimum(gap / width, 1) * moved).sum().round(6))))
        least = min(range(len(yes)), key=lambda r: best[r])
        assert (count[i], act[i].sum()) == (best[least][0], best[least][0])
        assert best[partner[i]] == best[least]


def test_differences_in_what_nobody_may_act_on_are_no_case(linear):
    fixed = Feature(name="d", kind="integer", low=0, high=100, actionability="immutable")
    schema = Schema((*SCHEMA.features[:3], fixed))
    data = np.array([[20, 30, 10, 5], [20, 30, 90, 50.0]])
    problem = linear(schema, -99.5, WEIGHTS, data)
    fitted = method("cbr").fit(problem)
    assert fitted.parameters()["natives"] == 1 and fitted.parameters()["reusable"] == 0
