"""Rounding goes the safe way, stays on the lattice, and is taken back where the decision would be lost."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

import wayforward as wf
from wayforward.evaluate.judge import second_opinion
from wayforward.problem.rounding import coarsest, round_away, rounded
from wayforward.recourse import Outcome
from wayforward.schema import Feature, Schema
from wayforward.testing import case

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


def test_a_small_change_may_go_half_of_the_least_change_further():
    schema = Schema((Feature(name="debt", kind="real", low=0, high=20_000, unit="EUR", least_change=10.0),))
    got = round_away(schema, np.array([[8369.739]]), np.array([[8358.2]]), 0.02)
    assert got[0, 0] == 8355


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


def test_a_narrow_yes_is_told_in_the_fewest_digits_that_lie_in_it():
    """A yes as narrow as two millionths: .41372 lies outside of the first and inside of the second; `a` is free."""
    before, value = np.array([[0.0, 0.1], [0.0, 0.1]]), np.array([[3.7, 0.41371523], [3.7, 0.41372009]])

    def check(rows, candidate):
        low = np.where(rows == 0, 0.4137141, 0.41371993)
        return (candidate[:, 1] >= low) & (candidate[:, 1] <= low + 2e-6) & (candidate[:, 0] >= 3.69)

    got = coarsest(FREE, before, value, check)
    np.testing.assert_allclose(got, [[3.7, 0.413716], [3.7, 0.41372]], rtol=1e-12)


@pytest.mark.parametrize(("kind", "world"), [("linear", "independent"), ("forest", "causal")])
def test_rounded_options_are_still_usable_and_cost_and_score_follow(kind, world):
    it = case(kind, world, n=120)
    exact = wf.recommend(it.problem, it.x, k=3)
    short = exact.rounded
    found = short.found
    np.testing.assert_array_equal(found[:, 0], exact.found[:, 0])
    assert second_opinion(it.problem, short).usable[found].all() and found.sum() > 60
    np.testing.assert_allclose(short.score[found], it.problem.reached(short.after[found])[1])
    np.testing.assert_allclose(
        short.cost[found],
        it.problem.cost.total(np.repeat(it.x[:, None], 3, 1)[found], short.action[found], None),
    )
    assert (short.cost[found[:, 0], 0] <= exact.cost[found[:, 0], 0] * 1.021).all()
    assert (np.diff(np.where(found, short.cost, 1e9), axis=1) >= 0).all()  # the cheapest still first
    digits = [np.mean([len(f"{v:.12g}") for v in got.action[got.acted]]) for got in (exact, short)]
    assert digits[1] <= digits[0]
    for led in np.nan_to_num(short.after, nan=-1.0)[found.all(1)]:
        assert len(np.unique(led, axis=0)) == 3  # no plan twice


def test_what_was_rounded_stays_as_it_is_also_from_a_file(tmp_path):
    it = case("linear", n=80)
    exact = wf.recommend(it.problem, it.x, k=2)
    short = exact.rounded
    assert short.rounded is short and exact.rounded is short
    again = rounded(it.problem, wf.Recourse.load(exact.save(tmp_path / "answers.json")))
    np.testing.assert_array_equal(again.action, short.action)
    who = int(np.flatnonzero(short.found[:, 0])[0])
    assert again.explain(who) == short.explain(who) == exact.explain(who)
    for name, column in exact.to_frame("dict").items():
        np.testing.assert_array_equal(column, short.to_frame("dict", exact=True)[name])
    last = wf.Recourse.load(exact.save(tmp_path / "exact.json", exact=True))
    np.testing.assert_array_equal(last.action, exact.action)
    assert rounded(it.problem, short[3]).action.tobytes() == short.action[3:4].tobytes()


def test_two_plans_that_become_one_are_told_once():
    """A change and the same and a hundred-thousandth more: one round number, and the second slot is empty."""
    it = case("linear", n=40)
    one = wf.recommend(it.problem, it.x, k=1)
    real = np.array([f.kind == "real" and f.step is None for f in it.problem.schema.features])
    i, j = np.argwhere(one.acted[:, 0] & real)[0]
    twice = np.repeat(one.action[[i]], 2, axis=1)
    twice[0, 1, j] += 1e-5 * (twice[0, 1, j] - it.x[i, j])
    asked = it.problem.check(one.x[[i]], twice, k=2)
    assert asked.found.all()
    short = rounded(it.problem, asked)
    assert short.found[0].tolist() == [True, False] and short.outcome[0, 1] is Outcome.NOT_FOUND
    assert np.isinf(short.cost[0, 1]) and np.isnan(short.after[0, 1]).all()


def test_nothing_found_is_nothing_to_round():
    it = case("linear", n=20)
    nothing = it.problem.check(it.x, np.full((len(it.x), 1, it.x.shape[1]), np.nan), k=1)
    assert not nothing.found.any() and rounded(it.problem, nothing) is nothing


def test_plans_that_rounding_made_equally_dear_keep_their_order_in_a_file(tmp_path):
    """Found on adult with boosted trees: some of 500 people were told plan 2 as plan 3 when they were read again."""
    schema = Schema(tuple(Feature(name=name, kind="real", low=0, high=100) for name in "abcd"))
    rows = np.random.default_rng(0).random((400, 4)) * 100
    model = DecisionTreeClassifier(random_state=0).fit(rows, rows.max(1) >= 50)
    problem = wf.Problem(schema, model, wf.Target(favourable=True), data=rows)
    x = np.arange(1.0, 25)[:, None] + np.zeros(4)
    action = np.full((24, 4, 4), np.nan)
    for slot in range(4):
        action[:, slot, slot] = 60 - slot * 1e-5  # each is told as 60
    told = problem.check(x, action, k=4).rounded
    assert told.found.all() and np.ptp(told.cost, axis=1).max() < 1e-12
    again = wf.Recourse.load(told.save(tmp_path / "told.json"), problem=problem)
    np.testing.assert_array_equal(again.action, told.action)


def test_what_was_worked_out_for_everybody_is_not_worked_out_again_for_one(monkeypatch):
    it = case("linear", n=30)
    found = wf.recommend(it.problem, it.x, k=2)
    alone = [found[i].rounded.action for i in range(found.n)]
    assert found.rounded is not found
    monkeypatch.setattr("wayforward.problem.rounding.coarsest", None)  # nothing is rounded any more
    for i in range(found.n):
        np.testing.assert_array_equal(rounded(it.problem, found[i]).action, alone[i])
        np.testing.assert_array_equal(found[i].rounded.action, alone[i])
