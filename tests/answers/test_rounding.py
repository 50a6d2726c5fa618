"""Rounding goes the safe way, stays on the lattice, and is taken back where the decision would be lost."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wayforward.answers.rounding import coarsest, round_away, rounded
from wayforward.evaluate import evaluate
from wayforward.schema import Feature, Schema

FREE = Schema(
    (Feature(name="a", kind="real", low=-1e6, high=1e6), Feature(name="b", kind="real", low=0, high=1))
)


@pytest.mark.parametrize(
    ("before", "value", "want"),
    [
        (1200, 2049.37, 2050),
        (2049.37, 1200.4, 1200),
        (0, 849.37, 850),
        (100, 100.1234, 100.125),
        (0, -3.31, -3.35),
        (1200, 2500.001, 2500),  # a hair beyond: the round number is tried and judged
    ],
)
def test_the_issues_example_and_others(before, value, want):
    got = round_away(FREE, np.array([[before, 0.5]]), np.array([[value, 0.5]]), 0.02)
    assert got[0, 0] == pytest.approx(want, rel=1e-12) and got[0, 1] == 0.5


@given(
    st.floats(-1e5, 1e5, allow_nan=False),
    st.floats(1e-4, 1e5),
    st.booleans(),
    st.sampled_from([0.05, 0.005, 1e-4]),
)
def test_never_back_and_never_far(before, size, up, generosity):
    value = before + size if up else before - size
    got = round_away(FREE, np.array([[before, 0.5]]), np.array([[value, 0.5]]), generosity)[0, 0]
    beyond = (got - value) * (1 if up else -1)
    assert beyond >= -0.005 * generosity * size - 1e-9 * max(1, abs(value))
    assert beyond <= generosity * size + 1e-9 * max(1, abs(value))


def test_steps_bounds_levels_and_missing_values_are_kept():
    schema = Schema(
        (
            Feature(name="a", kind="real", low=0, high=10, step=0.25),
            Feature(name="b", kind="real", low=0, high=9.97),
            Feature(name="c", kind="categorical", levels=("x", "y")),
            Feature(name="d", kind="real", low=0, high=10),
        )
    )
    before = np.array([[0.0, 0.0, 0, 5.0]])
    got = round_away(schema, before, np.array([[7.25, 9.96, 1, np.nan]]), 0.05)
    assert schema.legal(got, before)[0, :3].all() and got[0, 0] >= 7.25 and 9.96 <= got[0, 1] <= 9.97
    assert got[0, 2] == 1 and np.isnan(got[0, 3])


def test_a_decision_that_would_be_lost_keeps_more_digits():
    """Yes only between .4137 and .4138: every rounder number fails, the exact one is returned."""
    before, value = np.array([[0.0, 0.1], [0.0, 0.1]]), np.array([[0.0, 0.413712345], [0.0, 0.3217]])

    def check(rows, candidate):
        narrow = (candidate[:, 1] >= 0.4137) & (candidate[:, 1] <= 0.41372)
        return np.where(rows == 0, narrow, candidate[:, 1] > 0.3)

    got = coarsest(FREE, before, value, check)
    assert got[0, 1] == pytest.approx(0.41372) and got[1, 1] == pytest.approx(0.325)
    never = coarsest(FREE, before, value, lambda rows, candidate: np.zeros(len(rows), bool))
    np.testing.assert_array_equal(never, value)


def test_rounded_options_are_still_usable_and_cost_and_score_follow(problem, answer):
    rng = np.random.default_rng(1)
    x = problem.reference[~problem.reference_reached][:60]
    need = 3 - (x[:, 1] / 1000 - 10 * x[:, 3] + 2 * (x[:, 2] == 1) + x[:, 4])
    action = np.full((60, 2, 7), np.nan)
    action[:, 0, 1] = x[:, 1] + 1000 * need * (1 + 1e-9)
    action[:, 1, 1] = x[:, 1] + 600 * need + 1e-6
    action[:, 1, 3] = (x[:, 3] - 0.04 * need).clip(0, 1) + rng.uniform(-1e-9, 0, 60)
    recourse = problem.check(x, action.clip(0), k=2)
    assert recourse.found.sum() > 80
    short = rounded(problem, recourse)
    before, after = (
        evaluate(recourse, problem, metrics="headline"),
        evaluate(short, problem, metrics="headline"),
    )
    np.testing.assert_array_equal(after.options["usable"], before.options["usable"])
    digits = [len(f"{v:.12g}") for v in short.action[recourse.found][:, 1]]
    assert np.mean(digits) < 6 < np.mean([len(f"{v:.12g}") for v in recourse.action[recourse.found][:, 1]])
    found = recourse.found
    assert (short.cost[found] >= recourse.cost[found] * (1 - 1e-4)).all()
    assert (short.cost[found] <= recourse.cost[found] * 1.021).all()
    value = problem.reached(short.after[found])[1]
    np.testing.assert_allclose(short.score[found], value)
    np.testing.assert_array_equal(short.outcome, recourse.outcome)


def test_nothing_found_is_nothing_to_round(problem, empty, x):
    recourse = empty(problem, x, empty.outcomes.NOT_FOUND)
    assert rounded(problem, recourse) is recourse
