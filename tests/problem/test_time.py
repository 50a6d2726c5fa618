"""Plans in time: durations by hand, deadlines as bounds that methods and proofs obey, the order of steps."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest

import wayforward as wf
from wayforward import Feature, Outcome, Preferences, Schema, Target
from wayforward.answers import Letterhead, letter, steps, wishes
from wayforward.answers.time_text import month_after
from wayforward.errors import PreferencesError, SchemaError
from wayforward.evaluate.judge import second_opinion
from wayforward.problem import Problem
from wayforward.recourse import Recourse
from wayforward.world import SCM

SCHEMA = Schema(
    (
        Feature(name="savings", kind="integer", low=0, high=9000, unit="EUR", pace=300),
        Feature(name="school", kind="ordinal", levels=("none", "some", "full"), pace=0.1, delay=2),
        Feature(name="home", kind="categorical", levels=("rent", "own", "free"), delay=6),
        Feature(name="phone", kind="binary", levels=(0, 1)),
    )
)
WEIGHT = np.array([1 / 3000, 0.5, 0.0, 0.2])


def points(rows):
    return 1 / (1 + np.exp(-8 * (rows @ WEIGHT + 0.9 * (rows[:, 2] == 1) - 1.5)))


def problem(**more):
    return Problem(SCHEMA, wf.wrap(points, SCHEMA), Target(1), **more)


X = np.array([[300.0, 0, 0, 0], [3000.0, 1, 0, 0], [1200.0, 0, 0, 1]])


def test_durations_by_hand():
    """Side by side: the slowest act counts; a level takes ten months, and two months to show."""
    nan = np.nan
    action = np.array([[900.0, nan, nan, 1], [3000.0, 2, nan, nan], [nan, nan, 1, 0]])
    after = np.where(np.isnan(action), X, action)
    np.testing.assert_allclose(SCHEMA.months(X, action), [[2, 0, 0, 0], [0, 12, 0, 0], [0, 0, 6, 0]])
    np.testing.assert_allclose(problem().months(X, action, after), [2, 12, 6])


def test_every_option_says_how_long_it_takes_also_from_files(tmp_path):
    got = wf.recommend(problem(), X, k=3)
    who, slot = np.nonzero(got.found)
    expected = problem().months(got.x[who], got.action[who, slot], got.after[who, slot])
    np.testing.assert_array_equal(got.months[who, slot], expected)
    assert np.isnan(got.months[~got.found]).all() and expected.max() > 1
    np.testing.assert_array_equal(Recourse.load(got.save(tmp_path / "a.json")).months, got.rounded.months)
    assert "months" in got.to_frame("dict")


def test_rounded_and_roomier_options_say_how_long_they_take_themselves():
    smooth = SCHEMA.revise(savings={"kind": "real", "pace": 7.3})
    it = Problem(smooth, wf.wrap(points, smooth), Target(1))
    exact = wf.recommend(it, X, k=3)
    moved = 0
    for got in (exact.rounded, wf.problem.with_room(exact, most=0.5)):
        who, slot = np.nonzero(got.found)
        expected = it.months(got.x[who], got.action[who, slot], got.after[who, slot])
        np.testing.assert_array_equal(got.months[who, slot], expected)
        moved += int((got.months[who, slot] != exact.months[who, slot]).sum())
    assert moved > 1


@pytest.mark.parametrize("method", ["local-search", "growing-spheres", "dice"])
@pytest.mark.parametrize("months", [4, 7, 11.5])
def test_a_deadline_binds_every_method(method, months):
    hurry = Preferences.none(SCHEMA, 3).within(months)
    got = wf.recommend(problem(), X, method=method, k=2, preferences=hurry)
    assert (got.months[got.found] <= months + 1e-6).all()
    assert second_opinion(problem(), got).usable[got.found].all()


def test_a_deadline_is_a_bound_and_what_lies_beyond_is_proved_out_of_reach():
    """Seven months: savings move by 2,100 EUR, a home counts, school does not."""
    it = problem()
    people = it.population(X, Preferences.none(SCHEMA, 3).within([7, 7, 1]))
    np.testing.assert_allclose(people.high[:, 0], [2400, 5100, 1500])
    assert people.free[:, 1].tolist() == [False] * 3
    assert people.free[:, 2].tolist() == [True, True, False]
    got = wf.recommend(it, X, preferences=Preferences.none(SCHEMA, 3).within([7, 7, 1]))
    assert got.outcome[:, 0].tolist() == [Outcome.FOUND, Outcome.FOUND, Outcome.NONE_EXISTS]
    slow = wf.recommend(it, X)
    assert slow.found.all() and (slow.cost[:2, 0] <= got.cost[:2, 0]).all()


def test_the_judges_refuse_what_comes_too_late():
    it, action = problem(), np.full((1, 1, 4), np.nan)
    action[0, 0, 2], action[0, 0, 0] = 1, 3000
    assert it.check(X[:1], action).found.all()
    hurry = Preferences.none(SCHEMA, 1).within(8)
    assert not it.check(X[:1], action, preferences=hurry).found.any()  # 2,700 EUR take nine months
    late = it.check(X[:1], action)
    assert not second_opinion(it, late, hurry).wishes.any()
    assert second_opinion(it, late, hurry.within(9)).wishes.all()


def test_what_follows_waits_for_its_causes_and_steps_come_in_their_order():
    schema = Schema(
        (
            Feature(
                name="savings", kind="real", low=0, high=9000, unit="EUR", direction="increase", pace=100
            ),
            Feature(
                name="income", kind="real", low=0, high=5000, unit="EUR/month", direction="increase", pace=50
            ),
            Feature(name="rating", kind="real", low=-500, high=500, actionability="mutable", delay=3),
        )
    )
    world = SCM({"income": "u", "savings": "0.5 * income + u", "rating": "0.001 * savings + u"})
    model = wf.wrap(lambda rows: 1 / (1 + np.exp(-(rows[:, 0] / 1000 + rows[:, 2] - 3))), schema)
    it = Problem(schema, model, Target(1), world=world)
    x = np.array([[500.0, 1000.0, 0.5]])
    both = np.array([[[2500.0, 1200.0, np.nan]]])
    got = it.check(x, both)
    assert got.found.all() and got.months[0, 0] == pytest.approx(20 + 3)  # savings 20, then the rating's 3
    assert [text.split()[2] for text in steps(got, 0)] == ["income", "savings"]
    assert "in this order" in letter(it, got, 0, reasons=False)
    hurry = Preferences.none(schema, 1).within(22)
    assert not it.check(x, both, preferences=hurry).found.any()
    soon = wf.recommend(it, x, preferences=hurry)
    assert soon.found.all() and soon.months[0, 0] <= 22 + 1e-6


def test_letters_name_the_month():
    got = wf.recommend(problem(), X[:1], preferences=Preferences.none(SCHEMA, 1).within(7))
    months = int(np.ceil(got.months[0, 0] - 0.1))
    text = letter(problem(), got, 0, head=Letterhead(day=date(2026, 11, 23)))
    assert f"about {months} months, until {month_after(date(2026, 11, 23), got.months[0, 0])}." in text
    assert "You want to be done within 7 months." in text
    assert f"about {months} months." in got.explain(0)
    assert (
        month_after(date(2026, 11, 23), 4) == "March 2027"
        and month_after(date(2026, 1, 31), 1) == "March 2026"
    )


def test_a_letter_points_from_a_late_plan_to_one_in_time():
    action = np.full((1, 2, 4), np.nan)
    action[0, 0, 0], action[0, 1, 0], action[0, 1, 2] = 5700, 2700, 1  # 18 months; 8
    got = problem().check(X[:1], action, k=2)
    assert got.found.all() and got.months[0].tolist() == [18, 8]
    head = Letterhead(day=date(2026, 11, 23), until=date(2027, 9, 30))
    text = letter(problem(), got, 0, head=head)
    assert text.count("Plan 2 is done in time.") == 1 == text.count("Ask us before you begin.")
    assert "Plan 2" not in letter(problem(), problem().check(X[:1], action), 0, head=head)


def test_wishes_about_time_are_stored_and_joined(tmp_path):
    hurry = Preferences.none(SCHEMA, 3).within([7, 3.5], who=[0, 2])
    assert hurry.time.tolist() == [7, np.inf, 3.5] and hurry.any_wish and "2 people" in hurry.describe()
    hurry.save(tmp_path / "w.json")
    for again in (
        Preferences.load(tmp_path / "w.json", SCHEMA),
        Preferences.concat([hurry.take([0]), hurry.take([1, 2])]),
        Preferences.from_table(SCHEMA, [{"person": 0, "within": 7}, {"person": 2, "within": "3.5"}], 3),
    ):
        assert again.time.tolist() == hurry.time.tolist()
    assert wishes(hurry, 1) == []


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: Feature(name="a", kind="real", pace=0), "above 0"),
        (lambda: Feature(name="a", kind="real", delay=-1), "at least 0"),
        (lambda: Feature(name="a", kind="real", pace="fast"), "Give a number"),
        (lambda: Feature(name="a", kind="categorical", levels=("x", "y"), pace=1), "no order"),
        (lambda: Preferences.none(SCHEMA, 1).within(-2), "months is -2 for person 0"),
        (lambda: Preferences.none(Schema((Feature(name="a", kind="real"),)), 1).within(2), "how long"),
    ],
)
def test_mistakes_are_named(make, error):
    with pytest.raises((SchemaError, PreferencesError), match=error):
        make()


def test_time_is_kept_in_yaml():
    text = SCHEMA.to_yaml()
    assert "pace: 300" in text and "delay: 6" in text and Schema.from_yaml(text) == SCHEMA
    assert not Schema((Feature(name="a", kind="real"),)).timed


def test_who_cannot_be_read_takes_no_time():
    import pandas as pd

    people = pd.DataFrame(
        {"savings": [300, -5], "school": ["none", "none"], "home": ["rent"] * 2, "phone": [0, 0]}
    )
    with pytest.warns(wf.schema.SchemaWarning):
        got = wf.recommend(problem(), people)
    assert got.outcome[1, 0].name == "NOT_ASKED" and got.months[0, 0] > 0 and np.isnan(got.months[1, 0])


def test_a_letter_of_late_plans_only_says_once_what_would_help():
    """Savings alone take 15 months; with a home of one's own, 6: within 7 months there is a plan, within 3 none."""
    it, nan = problem(), np.nan
    action = np.array([[[4800.0, nan, nan, nan], [2100.0, nan, 1, nan]]])
    day = date(2026, 3, 1)
    got = it.check(X[:1], action, 2)
    assert sorted(got.months[0].tolist()) == [6, 15]
    text = letter(it, got, 0, head=Letterhead(day, until=date(2026, 6, 1)), reasons=False)
    nearest = 1 + int(got.months[0].argmin())
    assert "All of these plans run out on 1 June 2026, before they are done." in text
    assert f"The nearest is plan {nearest}: it would have to hold until 31 August 2026." in text
    assert text.count("Ask us") == 1 and "done in time" not in text
    alone = it.check(X[:1], action[:, :1], 1)
    text = letter(it, alone, 0, head=Letterhead(day, until=date(2026, 10, 1)), reasons=False)
    assert "This plan runs out on 1 October 2026, before it is done." in text
    plan = text[text.index("Another plan is done in time") :]
    assert "from rent to own" in plan and "This takes about 6 months, until August 2026." in plan
