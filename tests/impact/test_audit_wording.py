"""How figures of audits and societies read: costs in per cent as in letters, one number of decimals, rules in words."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from wayforward.answers.figure_style import percent_ticks
from wayforward.evaluate.stats import NOTHING, Estimate
from wayforward.groups import Groups
from wayforward.impact.audit.proved import sentence
from wayforward.impact.audit.wording import measure_name, rule_in_words, telling
from wayforward.impact.society.figures import in_words
from wayforward.schema import Feature, Schema

RANGES, DEVIATIONS = "range widths", "standard deviations"


@pytest.mark.parametrize(
    ("metric", "unit", "value", "more"),
    [
        ("usable", RANGES, "12.4\u202f%", "12.4 points"),
        ("cost", RANGES, "12.4\u202f%", "12.4 points"),
        ("cost", DEVIATIONS, "0.12", "0.12"),
        ("burden", DEVIATIONS, "12.4\u202f%", "12.4 points"),  # of ranges, whatever the problem's cost is
        ("cost_all", DEVIATIONS, "12.4\u202f%", "12.4 points"),
        ("density_gain", RANGES, "0.12", "0.12"),
        ("extra tree", RANGES, "12.4 points", "12.4 points"),  # itself a difference of two costs
    ],
)
def test_every_figure_is_told_in_what_it_counts(metric: str, unit: str, value: str, more: str):
    how = telling(metric, unit)
    assert how.value(0.1237) == value and how.more(0.1237) == more


def test_an_estimate_and_its_interval_have_the_same_decimals():
    cost = telling("cost", RANGES)
    assert cost.estimate(Estimate(0.116, 0.0101, 0.287, 9)) == "11.6\u202f% (1.0\u202f% to 28.7\u202f%)"
    assert cost.estimate(Estimate(0.0055, 0.0048, 0.0063, 9)) == "0.55\u202f% (0.48\u202f% to 0.63\u202f%)"
    assert cost.difference(Estimate(0.00084, -0.08, 0.071, 9)) == "0.1 points (−8.0 to 7.1)"
    assert cost.difference(Estimate(0.01, -0.004, 0.02, 9)) == "1 point (−0.4 to 2.0)"
    assert cost.estimate(NOTHING) == "nobody" and cost.value(np.inf) == "never"


def test_rules_are_read_with_titles_of_features_and_levels():
    debtors = Feature(
        name="debtors", kind="categorical", levels=("A101", "A103"), level_labels=("none", "guarantor")
    )
    schema = Schema([debtors])
    rule = rule_in_words(schema, "after.debtors == before.debtors or after.debtors == 'A103'")
    assert rule == "“debtors” after acting is “debtors” before or “debtors” after acting is “guarantor”"


def test_parts_of_two_attributes_name_what_a_bare_yes_is_of():
    both = Groups.of("sex", ["f", "m", "f"]).cross(Groups.of("foreign_worker", ["yes", "no", "no"]))
    assert both.names == ("f and foreign worker: no", "f and foreign worker: yes") + (
        "m and foreign worker: no", "m and foreign worker: yes",
    )  # fmt: skip


def test_ways_of_making_rules_have_one_name():
    assert measure_name("lines tree") == "served by few rules (a tree of groups)"


@pytest.mark.parametrize(
    ("figure", "value", "text"),
    [
        ("cost", 0.1237, "12.4\u202f%"),
        ("holds", 1.0, "100.0\u202f%"),
        ("profit", 12.345, "12.35"),
        ("cost", np.nan, "–"),
    ],
)
def test_figures_of_societies_read_as_those_of_letters(figure: str, value: float, text: str):
    assert in_words(figure, value) == text


def test_ticks_say_where_they_are():
    axis = pytest.importorskip("matplotlib.figure").Figure().subplots().xaxis
    percent_ticks(axis, share=True)
    told = [axis.get_major_formatter()(v, 0) for v in (0.0, 0.125, 0.3, 1.0, 1.2)]
    assert told == ["0\u202f%", "12.5\u202f%", "30\u202f%", "100\u202f%", ""]


@pytest.mark.parametrize(
    ("cheapest", "plans", "text"),
    [
        (1, 1, "The one plan that was set beside a proved bound is the cheapest possible."),
        (40, 40, "All 40 plans that were set beside a proved bound are the cheapest possible."),
        (30, 40, "75.0\u202f% are the cheapest possible, and 100.0\u202f% cost at most"),
    ],
)
def test_what_holds_of_all_plans_is_said_once(cheapest: int, plans: int, text: str):
    whole = {"plans": plans, "cheapest": cheapest, "within_1": plans - cheapest, "within_5": 0, "without": 0}
    audit: Any = SimpleNamespace(proved={"groups": [whole]})
    assert text in sentence(audit)
