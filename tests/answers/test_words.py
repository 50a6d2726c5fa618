"""Values in words: thousands, units, levels, directions."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wayforward.answers import words
from wayforward.answers.refusal import Reason
from wayforward.schema import Feature, Schema

SAVINGS = Feature(name="savings", kind="real", low=0, high=20_000, unit="EUR", label="Savings")
HOME = Feature(name="housing", kind="categorical", levels=("rent", "own", "with parents"))
SCHOOL = Feature(name="education", kind="ordinal", levels=("school", "bachelor", "master"))
YEARS = Feature(name="job_years", kind="integer", low=0, high=50, unit="years")
SHARE = Feature(name="debt_share", kind="real", low=0, high=1)
COUNTED = Feature(
    name="late", kind="integer", low=0, high=9, label="late payments", special={-1: "none on file"}
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2050, "2,050"),
        (0.25, "0.25"),
        (1234567.5, "1,234,567.5"),
        (-3, "\u22123"),
        (0, "0"),
        (-0.0, "0"),
        (0.1 + 0.2, "0.3"),
        (1e-4, "0.0001"),
        (math.nan, "not known"),
        (math.inf, "no limit"),
    ],
)
def test_numbers(value, text):
    assert words.number(value) == text


@given(st.integers(-(10**9), 10**9), st.integers(0, 6))
def test_a_decimal_number_is_shown_exactly(count, decimals):
    value = count / 10**decimals
    text = words.number(value).replace(",", "").replace("\u2212", "-")
    assert float(text) == pytest.approx(value, abs=1e-9, rel=1e-9)


@pytest.mark.parametrize(
    ("feature", "before", "after", "text"),
    [
        (SAVINGS, 1200, 2050, "raise your savings from 1,200 to 2,050 EUR"),
        (SAVINGS, 2050, 1200, "lower your savings from 2,050 to 1,200 EUR"),
        (HOME, 0, 1, "change your housing from rent to own"),
        (HOME, 0, 2, "change your housing from \u201crent\u201d to \u201cwith parents\u201d"),
        (SCHOOL, 0, 1, "change your education from school to bachelor (one step up)"),
        (SCHOOL, 2, 0, "change your education from master to school (2 steps down)"),
        (YEARS, 0, 1, "raise your job years from 0 to 1 year"),
        (SAVINGS, math.nan, 500, "tell us your savings, if it is 500 EUR"),
        (SAVINGS, 500, math.nan, "leave your savings unstated"),
        (SAVINGS, 500, 500, "keep your savings at 500 EUR"),
        (SHARE, 0.123456, 0.1, f"lower your debt share from 12.3 to 10{words.THIN}%"),
        (SHARE, 0.0734, 0.0655, f"lower your debt share from 7.34 to 6.55{words.THIN}%"),
        (SHARE, 0.4375826, 0.0009995, f"lower your debt share from 43.8 to 0.09995{words.THIN}%"),
        (SAVINGS, 10.25, 10.75, "raise your savings from 10.25 to 10.75 EUR"),
        (SAVINGS, 1234.567, 1236.25, "raise your savings from 1,234.57 to 1,236.25 EUR"),
        (COUNTED, -1, -1, "keep your late payments at none on file"),
    ],
)
def test_changes(feature, before, after, text):
    assert words.change_text(feature, before, after) == text


def test_a_share_is_told_in_per_cent_and_nothing_else_is():
    assert (
        words.value_text(SHARE, 0.065) == f"6.5{words.THIN}%"
        and words.value_text(SHARE, 1.54, 2) == f"154{words.THIN}%"
    )
    assert words.value_text(SHARE, 0.065, unit=False) == "6.5"
    assert words.now_text(SHARE, 0.0734567) == f"7.346{words.THIN}%"
    assert words.consequence_text(SHARE, 0.2, 0.12).endswith(f"fall to 12{words.THIN}%.")
    for feature in (
        replace(SHARE, label="utilisation"),
        replace(SHARE, unit="points"),
        replace(SHARE, label="shares"),
    ):
        assert "%" not in words.value_text(feature, 0.065)


def test_two_numbers_that_differ_never_read_alike():
    was, now = words.before_after(SHARE, 0.1000004, 0.1)
    assert was != now.split()[0]


@pytest.mark.parametrize(
    ("label", "text"),
    [
        ("Savings", "savings"),
        ("EUR debt", "EUR debt"),
        ("PhD", "PhD"),
        ("", "debt share"),
        ("A level", "A level"),
    ],
)
def test_labels_fit_the_middle_of_a_sentence(label, text):
    assert words.label(Feature(name="debt_share", kind="real", label=label)) == text


@pytest.mark.parametrize(
    ("levels", "index", "text"),
    [((False, True), 1, "yes"), ((0, 1), 0, "no"), (("f", "m"), 0, "f"), ((1, 2), 0, "1")],
)
def test_truth_values_become_yes_and_no(levels, index, text):
    assert words.level_words(Feature(name="a", kind="binary", levels=levels), index) == text


def test_a_level_of_no_text_is_said_to_be_empty():
    remark = Feature(name="remark", kind="categorical", levels=("", "a new engine"))
    assert words.level_words(remark, 0) == remark.level_text(0) == "(empty)"
    assert words.change_text(remark, 1, 0).endswith(" to (empty)")


def test_an_unknown_level_is_said_to_be_one():
    assert words.level_words(HOME, -1) == "an unknown value"
    assert words.level_words(HOME, 0.5) == "an unknown value"


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.5, "50 %"),
        (1, "100 %"),
        (0, "0 %"),
        (0.9999, "99.99 %"),
        (1e-7, "under 0.001 %"),
        (1 - 1e-7, "over 99.999 %"),
    ],
)
def test_percent_never_rounds_to_all_or_nothing(share, text):
    assert words.percent(share).replace(words.THIN, " ") == text


def test_what_only_follows_is_said_to_four_digits_and_where_one_stands_too():
    rate = replace(SHARE, label="debt ratio")
    assert words.before_after(rate, 0.123456789, 0.987654321, exact=False) == ("0.123", "0.9877")
    assert words.now_text(rate, 0.123456789) == "0.1235" and words.now_text(YEARS, 12) == "12 years"


@pytest.mark.parametrize(
    ("feature", "before", "others", "text"),
    [
        (replace(SHARE, least_change=0.002), 0.2579, (0.2504, 0.245, 0.11), "25.8"),
        (replace(SHARE, least_change=0.002), 0.3265, (0.293, 0.2601), "32.6"),
        (replace(SHARE, step=0.0001), 0.2579, (0.2504, 0.11), "25.79"),
        (replace(SAVINGS, least_change=100), 315.88, (994, 2250, 417.5), "316"),
    ],
)
def test_where_one_stands_reads_alike_beside_every_plan(feature, before, others, text):
    told = {words.before_after(feature, before, other)[0] for other in others}
    assert told == {text} and words.own_text(feature, before).startswith(text)
    reasons = {words.difference(feature, before, other)[2] for other in others}
    assert reasons == {words.own_text(feature, before)}


def test_a_state_has_no_unit_in_a_reason():
    late = replace(COUNTED, unit="months")
    assert words.difference(late, -1, 4)[1:] == ("4 months", "none on file")
    schema = Schema((late, replace(SAVINGS, missing="may be told")))
    reason = Reason((0, 1), np.array([4.0, 900.0]))
    said = reason.text(schema, np.array([-1.0, math.nan]))
    assert (
        said
        == "late payments: 4 months (today: none on file); together with savings: 900 EUR (today: not stated)"
    )


def test_consequences_are_about_right():
    assert (
        words.consequence_text(SAVINGS, 1200, 2049.3717)
        == "Your savings would then also rise to about 2,049 EUR."
    )
    assert words.consequence_text(HOME, 0, 1) == "Your housing would then also change to own."


def test_joining():
    assert words.join(["a"]) == "a" and words.join(["a", "b"]) == "a, and b"
    assert words.join(["a", "b", "c"]) == "a, b, and c"


def test_one_of_a_rate_is_said_in_the_singular():
    week = Feature(name="hours", kind="integer", low=0, high=99, unit="hours/week")
    assert words.value_text(week, 1) == "1 hour/week" and words.value_text(week, 2) == "2 hours/week"


@pytest.mark.parametrize(
    ("name", "low", "high", "unit", "shown"),
    [
        ("yr built", 1962, 2024, "", "1984"),
        ("Baujahr", 1900, 2030, "", "1984"),
        ("income a year", 0, 2200, "", "1,984"),
        ("year", 1000, 90_000, "", "1,984"),
        ("hours a year", 1000, 2200, "hours", "1,984 hours"),
    ],
)
def test_a_year_of_the_calendar_has_no_mark_for_thousands(name, low, high, unit, shown):
    feature = Feature(name=name, kind="integer", low=low, high=high, unit=unit)
    assert words.own_text(feature, 1984) == words.value_text(feature, 1984) == shown
    assert words.before_after(feature, 1984, 1990)[1] == shown.replace("84", "90")


@pytest.mark.parametrize(
    ("name", "label"), [("hours.per.week", "hours per week"), ("Boat No.", "boat No."), ("ver2.5", "ver2.5")]
)
def test_dots_between_words_of_a_name_are_spaces(name, label):
    assert words.label(Feature(name=name, kind="real", low=0, high=1)) == label
