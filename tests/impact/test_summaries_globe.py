"""GLOBE-CE: scales by hand and by brute force, categories as rules, and nobody asked for what they may not do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from wayforward.errors import DataError
from wayforward.impact.summaries import summarize
from wayforward.impact.summaries.globe_ce import GlobeCe, GlobeRules, Translation, _greedy, first_step
from wayforward.model import wrap
from wayforward.preferences import Preferences
from wayforward.problem import Population, Problem, Target
from wayforward.schema import Feature, Schema
from wayforward.testing import SummariserContract
from wayforward.testing.problems import case

PLANE = Schema(tuple(Feature(name=name, kind="real", low=-10, high=10, unit="EUR") for name in "ab"))
LOAN = Schema(
    (
        Feature(name="savings", kind="integer", low=0, high=40, unit="EUR"),
        Feature(name="debt", kind="integer", low=0, high=20, unit="points"),
        Feature(name="housing", kind="categorical", levels=("rent", "own")),
        Feature(name="age", kind="integer", low=18, high=80, actionability="immutable"),
    )
)


def lender(schema: Schema, score: Any, data: np.ndarray | None = None) -> Problem:
    """Yes where score (m, d) -> (m,) is at least 0."""
    model = wrap(lambda x: (score(x) >= 0).astype(float), schema, takes="array", classes=(0, 1), fast=False)
    return Problem(schema, model, Target(favourable=1), data=data)


def simple(x: np.ndarray) -> np.ndarray:
    return np.asarray(x[:, 0] - 2 * x[:, 1] + 6 * (x[:, 2] == 1) - 12)


def actions_of(people: Population, *lines: Translation, steps: int = 20) -> np.ndarray:
    """Actions (n, lines, d) of made-up lines."""
    rules = GlobeRules(lines, steps, people.schema, np.empty((0, steps, 2)))
    action, line = rules.actions(people)
    assert (line == np.arange(len(lines))).all()  # every line speaks to everybody
    return action


def test_scales_of_a_linear_score_by_hand():
    """k = -(w.x + b) / (w.delta), section E9.2 of the methods' notes; Ley et al. (2023), section 4."""
    problem = lender(PLANE, lambda x: 2 * x[:, 0] + x[:, 1] - 4)
    x = np.array([[0, 0], [1, 0], [0, 2], [1, 1]], dtype=float)
    people = problem.population(x)
    first, cost = first_step(people, [Translation((0.125, 0.0))], range(1, 40))
    np.testing.assert_array_equal(first[0] * 0.125, [2, 1, 1, 0.5])
    np.testing.assert_allclose(cost[0], first[0] * 0.125 / 20)  # shares of a range of 20
    action = actions_of(people, Translation((0.125, 0.0)), steps=39)
    np.testing.assert_allclose(action[:, 0, 0], x[:, 0] + [2, 1, 1, 0.5])
    assert np.isnan(action[:, 0, 1]).all()


def test_a_yes_that_goes_away_again_is_not_missed():
    """Between 3 and 4 the answer is yes, beyond it no: halving an interval would never look there."""
    problem = lender(PLANE, lambda x: np.where((x[:, 0] >= 3) & (x[:, 0] < 4), 1.0, -1.0))
    people = problem.population(np.array([[0.0, 0.0], [2.5, 0.0], [5.0, 0.0]]))
    first, _ = first_step(people, [Translation((1.0, 0.0))], range(1, 11))
    np.testing.assert_array_equal(first, [[3, 1, 0]])


def test_a_category_changes_at_once_or_after_some_steps():
    people = lender(LOAN, simple).population(np.array([[4.0, 0, 0, 30], [4.0, 0, 1, 30], [9.0, 0, 0, 30]]))
    alone = Translation((0.0,) * 4, ((2, 1.0, 1),))
    late = Translation((1.0, 0, 0, 0), ((2, 1.0, 3),))
    got = actions_of(people, alone, late)
    assert np.isnan(got[:2, 0]).all() and got[2, 0, 2] == 1  # 9 + 6 is enough, 4 + 6 is not
    # 4 + k + 6 from the third step on; who owns already saves 2; who has 9 gets there by saving 3, in the third step
    np.testing.assert_array_equal(got[:, 1, 0], [7, 6, 12])
    np.testing.assert_array_equal(got[:, 1, 2], [1, np.nan, 1])
    assert alone.words(LOAN, 20) == ("change housing to own",)
    assert late.words(LOAN, 20)[1] == "change housing to own if 2 times are not enough"


def test_every_level_that_a_line_sets_is_told():
    """Two levels that are set from the same step on are two things to do."""
    phone = Feature(name="phone", kind="binary", levels=("no", "yes"))
    schema = Schema((*LOAN.features, phone))
    at_once = Translation((0.0,) * 5, ((2, 1.0, 1), (4, 1.0, 1)))
    assert at_once.words(schema, 20) == ("change housing to own", "change phone to yes")
    late = Translation((1.0, 0, 0, 0, 0), ((2, 1.0, 3), (4, 1.0, 3)))
    assert len(late.words(schema, 20)) == 3 and "phone to yes if 2 times" in late.words(schema, 20)[2]


def test_who_is_at_the_end_of_one_thing_goes_on_in_the_others():
    people = lender(LOAN, simple).population(np.array([[8.0, 1, 0, 30], [8.0, 0, 0, 30], [0.0, 20, 0, 30]]))
    got = actions_of(people, Translation((2.0, -1.0, 0, 0)))[:, 0]
    np.testing.assert_array_equal(got[0], [12, 0, np.nan, np.nan])  # 12 EUR, no debt: two steps, one in debt
    np.testing.assert_array_equal(got[1], [12, np.nan, np.nan, np.nan])
    np.testing.assert_array_equal(got[2], [26, 7, np.nan, np.nan])  # 26 - 14 = 12, in the thirteenth


def test_nobody_is_asked_against_their_wishes():
    problem = lender(LOAN, simple)
    x = np.tile([[8.0, 1, 0, 30]], (4, 1))
    wish = Preferences.none(LOAN, 4).freeze("debt", who=[1]).limit("savings", high=10, x=x, who=[2])
    wish = wish.at_most(1, who=[3])
    got = actions_of(problem.population(x, wish), Translation((2.0, -1.0, 0, 0)))[:, 0]
    assert (
        got[0, 0] == 12 and np.isnan(got[1:]).all()
    )  # may not act on one part; 10 is too little; two changes
    one = actions_of(problem.population(x, wish), Translation((3.0, 0, 0, 0)))[:, 0]
    np.testing.assert_array_equal(one[:, 0], [14, 14, np.nan, 14])


def crowd(n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.column_stack(
        [rng.integers(0, 12, n), rng.integers(0, 20, n), rng.integers(0, 2, n), rng.integers(18, 81, n)]
    ).astype(float)


def test_the_choice_is_the_best_of_its_candidates():
    """One line, by plain loops over candidates, people and steps."""
    data = crowd(300, 0)
    problem = lender(LOAN, simple, data)
    x = data[~problem.reached(data)[0]][:25]
    maker = GlobeCe(lines=1, steps=6, width=2)
    people = problem.population(x)
    pool = maker.candidates(people, 60, np.random.default_rng(3))
    assert len(pool) == len(set(pool)) > 30 and all(one.width <= 2 and one.amount[3] == 0 for one in pool)
    cost = np.full((len(pool), len(x)), np.inf)
    for c, one in enumerate(pool):
        for i, row in enumerate(x):
            for k in range(1, 7):
                to = row.copy()
                to[:2] = np.clip(row[:2] + k * np.array(one.amount[:2]), 0, [40, 20])
                for j, level, since in one.sets:
                    to[j] = level if k >= since else to[j]
                if simple(to[None])[0] >= 0:
                    cost[c, i] = abs(to[0] - row[0]) / 40 + abs(to[1] - row[1]) / 20 + (to[2] != row[2])
                    break
    np.testing.assert_allclose(first_step(people, pool, range(1, 7))[1], cost)
    ceiling = cost[np.isfinite(cost)].max() + 1
    saved = np.maximum(ceiling - cost, 0).sum(1)
    near = saved >= 0.99 * saved.max()
    best = min(np.flatnonzero(near), key=lambda c: (pool[c].width, -saved[c]))
    assert _greedy(cost, pool, 1, ceiling) == [best]


def test_two_kinds_of_people_get_two_directions():
    """Half are helped by savings only, half by less debt only; lines must serve both, and move nothing else."""

    def score(x: np.ndarray) -> np.ndarray:
        return np.asarray(np.where(x[:, 3] < 50, x[:, 0] - 20, 5 - x[:, 1]))

    data = crowd(400, 1)
    data[:, 1] = 6 + data[:, 1] % 14
    got = summarize(lender(LOAN, score, data), data, GlobeCe(budget=400_000), beside=None)
    assert got.everybody.served.value == 1.0
    changes = [one.change[0] for one in got.lines]
    assert any("raise savings" in text and "debt" not in text for text in changes)
    assert any("lower debt" in text and "savings" not in text for text in changes)
    assert not any("age" in text or "housing" in text for text in changes)


def test_how_much_is_told_of_the_others():
    data = crowd(400, 2)
    got = summarize(lender(LOAN, lambda x: x[:, 0] - 20, data), data, GlobeCe(lines=1), beside=None)
    one = got.lines[0]
    moved = got.recourse.action[got.line == 0, 0, 0] - got.recourse.x[got.line == 0, 0]
    step = int(one.change[0].split("by ")[1].split()[0])
    half = int(np.quantile(np.ceil(moved / step), 0.5, method="inverted_cdf"))
    assert f"half need it at most {half} times ({half * step} EUR in all)" in one.how_much
    assert one.how_much in one.text


@pytest.mark.parametrize("world", ["independent", "causal"])
def test_a_person_alone_gets_the_same_and_the_seed_decides(world):
    made = case("forest", world, seed=3, n=300)
    maker = GlobeCe(budget=150_000)
    x = made.x[~made.problem.reached(made.x)[0]]
    people = made.problem.population(x)
    rules = maker.learn(people, 0)
    assert rules.words == maker.learn(made.problem.population(x), 0).words
    action, _ = rules.actions(people)
    for i in (0, 7):
        np.testing.assert_array_equal(rules.actions(made.problem.population(x[[i]]))[0][0], action[i])
    who, slot = np.nonzero(~np.isnan(action).all(2))
    got = people.evaluate(who, action[who, slot])
    assert got.reached.all() and len(who) > 10
    assert (rules.curve[:, 1:, 0] >= rules.curve[:, :-1, 0]).all()  # more steps never serve fewer


def test_the_budget_counts_model_rows():
    made = case("linear", seed=1, n=300)
    people = made.problem.population(made.x[~made.problem.reached(made.x)[0]])
    for budget in (30_000, 200_000):
        people.rows[:] = 0
        GlobeCe(budget=budget).learn(people, 0)
        assert people.rows.sum() <= budget


def test_nothing_helps():
    data = crowd(200, 4)
    got = summarize(lender(LOAN, lambda x: x[:, 3] - 70, data), data, "globe-ce", beside=None)
    assert got.lines == () and got.everybody.served.value == 0.0


@pytest.mark.parametrize(
    "wrong", [{"lines": 0}, {"width": 0}, {"steps": 0}, {"budget": 0}, {"unserved": 0.0}]
)
def test_settings_that_make_no_lines(wrong):
    with pytest.raises(DataError, match=next(iter(wrong))):
        GlobeCe(**wrong)


class TestGlobeCe(SummariserContract):
    """What every summariser promises."""

    summariser, parameters, serves = "globe-ce", {"lines": 3, "budget": 150_000}, 0.3
