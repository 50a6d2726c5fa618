"""Deadlines as people type them, and what they do to the plans of a dialogue."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest

import wayforward as wf
from wayforward.errors import ReplyError
from wayforward.people.dialogue import Dialogue
from wayforward.people.dialogue.deadlines import later_words, read_deadline
from wayforward.schema import Feature, Schema

TODAY = date(2026, 11, 23)


@pytest.mark.parametrize(
    ("typed", "until", "words"),
    [
        ("by march", date(2027, 3, 1), "by 1 March 2027"),
        ("before mar 2028", date(2028, 3, 1), "by 1 March 2028"),
        ("i want to be done by the end of march", date(2027, 3, 31), "by 31 March 2027"),
        ("by november", date(2026, 11, 30), "by 30 November 2026"),
        ("until 15 march", date(2027, 3, 15), "by 15 March 2027"),
        ("by march 15th, 2027", date(2027, 3, 15), "by 15 March 2027"),
        ("by 2027-03-15", date(2027, 3, 15), "by 15 March 2027"),
        ("by 15.3.2027", date(2027, 3, 15), "by 15 March 2027"),
        ("i need it by june", date(2027, 6, 1), "by 1 June 2027"),
        ("by the end of the year", date(2026, 12, 31), "by 31 December 2026"),
        ("by tomorrow", date(2026, 11, 24), "by 24 November 2026"),
        ("until next week", date(2026, 11, 30), "by 30 November 2026"),
        ("by next month", date(2026, 12, 1), "by 1 December 2026"),
        ("before next year", date(2027, 1, 1), "by 1 January 2027"),
    ],
)
def test_days_as_people_type_them(typed, until, words):
    found = read_deadline(typed, TODAY)
    assert found["words"] == words
    assert found["months"] == pytest.approx((until - TODAY).days * 12 / 365.25, abs=0.006)


@pytest.mark.parametrize(
    ("typed", "months", "words"),
    [
        ("within 6 months", 6, "within 6 months"),
        ("in half a year", 6, "within 0.5 years"),
        ("in a year", 12, "within 1 year"),
        ("finished within the next 3 weeks", 21 * 12 / 365.25, "within 3 weeks"),
        ("in 1,5 months at most", 1.5, "within 1.5 months"),
    ],
)
def test_spans_as_people_type_them(typed, months, words):
    found = read_deadline(typed, TODAY)
    assert found["words"] == words and found["months"] == pytest.approx(months, abs=0.006)


@pytest.mark.parametrize("typed", ["up to 6", "march", "in debt", "until 5,000", "by"])
def test_other_replies_are_no_deadlines(typed):
    assert read_deadline(typed, TODAY) is None


def test_days_that_are_none_or_past_are_said():
    with pytest.raises(ReplyError, match="no such day as 31 june"):
        read_deadline("by 31 june", TODAY)
    with pytest.raises(ReplyError, match="1 March 2020 is not ahead of us"):
        read_deadline("by march 2020", TODAY)
    with pytest.raises(ReplyError, match="cannot count to 'next summer'. Type a day as in: by 15 March 2027"):
        read_deadline("by next summer", TODAY)


def test_what_gives_a_deadline_up():
    assert later_words({"months": 3.2, "words": "by 1 March 2027"}) == "finish after 1 March 2027"
    assert later_words({"months": 6, "words": "within 6 months"}) == "take longer than 6 months"


def saver(**more) -> Dialogue:
    """Somebody who needs 3,000 more of savings (300 a month), or 300 more of pay (at once)."""
    schema = Schema(
        [
            Feature(name="savings", kind="integer", low=0, high=9000, unit="EUR", pace=more.pop("pace", 300)),
            Feature(
                name="pay",
                kind="integer",
                low=0,
                high=9000,
                unit="EUR/month",
                direction=more.pop("pay", "any"),
            ),
        ]
    )
    weight = np.array([0.1, 1.0])
    model = wf.wrap(lambda x: (x @ weight >= 2300).astype(int), schema, output="label", classes=(0, 1))
    rows = np.random.default_rng(0).integers(0, 9000, (80, 2)).astype(float)
    problem = wf.Problem(schema, model, wf.Target(favourable=1), data=rows)
    return Dialogue(problem, np.array([3000.0, 1700.0]), elicitor=None, today=TODAY, **more)


def test_a_deadline_on_the_page_bounds_every_plan_and_is_told():
    d = saver(questionnaire="page")
    question = d.ask()
    assert "within 6 months" in question.also and "within 6 months" in question.hint
    d.answer("2; within 10 months")
    assert d.preferences.time[0] == 10 and d.preferences.frozen[0, 1]
    assert "This takes about 10 months." in d.ask().plan.follows
    d.answer("yes")
    assert "You want to be done within 10 months." in d.end.limits
    assert d.plan.months[0, 0] <= 10
    assert "You want to be done within 10 months." in d.export()


def test_a_deadline_too_soon_is_named_as_what_would_have_to_give():
    d = saver(questionnaire="page")
    question = d.answer({"limits": {"pay": "up to 1,800"}, "within": "by March"})
    assert question.stage == "reconsider" and d.preferences.time[0] == pytest.approx(3.22)
    assert any("Finish after 1 March 2027" in option.text for option in question.options)
    at = next(option.key for option in question.options if "Finish after" in option.text)
    d.answer(at)
    assert np.isinf(d.preferences.time[0]) and d.ask().plan is not None


def test_by_tomorrow_is_understood_and_the_deadline_named_where_nothing_meets_it():
    d = saver(questionnaire="page")
    question = d.answer("2; by Tomorrow")
    assert question.stage == "reconsider"
    assert any("Finish after 24 November 2026" in option.text for option in question.options)


def test_a_deadline_said_on_the_way_is_noted_and_kept():
    d = saver()
    first = d.ask()
    question = d.answer("by the end of March")
    assert (
        question.notes[0] == "Noted. You want to be done by 31 March 2027."
        and question.feature == first.feature
    )
    again = Dialogue.from_dict(d.problem, d.to_dict())
    assert again.preferences.time[0] == d.preferences.time[0] == pytest.approx(4.21)
    assert again.undo().id == first.id and np.isinf(again.preferences.time[0])


def test_the_last_deadline_counts():
    d = saver()
    d.answer("within 3 months")
    d.answer("I need it by June")
    assert d.preferences.time[0] == pytest.approx(6.24)
    d.answer("stop here")
    assert d.end.limits[-1] == "You want to be done by 1 June 2027."


def test_where_nobody_knows_the_pace_a_deadline_is_refused_in_words():
    d = saver(pace=None)
    assert "within 6 months" not in d.ask().also
    with pytest.raises(ReplyError, match="how long these changes take"):
        d.answer("within 6 months")
    with pytest.raises(ReplyError, match="no deadline"):
        saver(questionnaire="page").answer({"limits": {}, "within": "soon"})
