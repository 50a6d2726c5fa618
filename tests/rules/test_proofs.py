"""Proofs over boxes, the normal form, and the sentences about contradictions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from wayforward.rules import RuleSet
from wayforward.rules.normal_form import Levels, Linear, Moved

LOW = np.array([18.0, 0, 0, 0, 0, 0, 0])
HIGH = np.array([90.0, 10_000, 3, 1, 1, 99, 2])


def verdict(features, text, before=None, after=None, **levels):
    box = [LOW.copy(), HIGH.copy(), LOW.copy(), HIGH.copy()]
    for (low, high), changes in zip(((0, 1), (2, 3)), (before or {}, after or {}), strict=True):
        for j, (a, b) in changes.items():
            box[low][j], box[high][j] = a, b
    return RuleSet.parse([text], features).interval(*box, **levels).tolist()


def test_boxes_that_prove_something(features):
    assert verdict(features, "after.age >= before.age") == [0]
    assert verdict(features, "after.age >= before.age", {0: (20, 30)}, {0: (30, 40)}) == [1]
    assert verdict(features, "after.age >= before.age", {0: (30, 40)}, {0: (20, 29)}) == [-1]
    assert verdict(features, "after.age * after.income <= 900000") == [1]
    assert verdict(features, "after.age - after.age == 0") == [1]  # linear terms cancel
    assert verdict(features, "abs(change.age) <= 72") == [1]
    assert verdict(features, "after.income / after.age <= 600") == [1]
    assert verdict(features, "after.age / after.income <= 600") == [0]  # the divisor may be zero
    assert verdict(features, "1 / change.age <= 1", {0: (30, 30)}, {0: (29, 32)}) == [0]
    assert verdict(features, "1 / change.age <= 1", {0: (30, 30)}, {0: (31, 32)}) == [1]
    assert verdict(features, "after.education >= 'school'", after={2: (1, 3)}) == [1]
    assert verdict(features, "after.education in {'none', 'master'}", after={2: (1, 2)}) == [-1]
    assert verdict(features, "at most 1 change of age, rating", after={0: (18, 18)}) == [0]
    assert verdict(features, "at most 1 change of age, rating", {0: (18, 18)}, {0: (18, 18)}) == [1]
    assert verdict(features, "changed(age)", {0: (20, 30)}, {0: (31, 40)}) == [1]


def test_level_sets_see_what_intervals_cannot(features):
    holes = {2: np.array([True, False, False, True])}
    assert verdict(features, "after.education in {'none', 'master'}") == [0]
    assert verdict(features, "after.education in {'none', 'master'}", after_levels=holes) == [1]
    assert verdict(features, "after.education == 'school'", after_levels=holes) == [-1]
    other = {2: np.array([False, True, True, False])}
    assert verdict(features, "changed(education)", after_levels=holes, before_levels=other) == [1]


def test_a_value_that_may_be_missing_leaves_everything_open(features):
    assert verdict(features, "after.age <= 1000", after={0: (np.nan, np.nan)}) == [0]
    assert verdict(features, "after.age <= 1000 or before.age > 1", after={0: (np.nan, np.nan)}) == [1]


def test_boxes_of_many_people_at_once(features):
    rules = RuleSet.parse(["after.age >= 21", "after.income >= 0"], features)
    low = np.stack([LOW, LOW])
    low[1, 0] = 25
    assert rules.interval(low, HIGH, low, HIGH).tolist() == [[0, 1], [1, 1]]


def test_unbounded_boxes(features):
    infinite = np.full(7, np.inf)
    rules = RuleSet.parse(["abs(after.age) >= 0", "after.age - before.age <= 5", "after.age <= 5"], features)
    assert rules.interval(-infinite, infinite, -infinite, infinite).tolist() == [1, 0, 0]


def test_the_normal_form_of_the_usual_rules(features):
    forms = RuleSet.parse(
        [
            "after.age >= before.age",
            "before.visa == 'PERMANENT' or not after.credit",
            "at most 2 changes of age, visa",
            "changed(visa) implies increased(age)",
            "abs(change.income) < 10",
            "after.age * after.income > 3",
        ],
        features,
    ).normal_form()
    assert forms[0].clauses == ((Linear((("after", 0, -1.0), ("before", 0, 1.0)), (), 0.0, False),),)
    assert forms[1].clauses == ((Levels("before", 3, frozenset({1})), Levels("after", 4, frozenset({0}))),)
    assert forms[2].clauses == ((Linear((), ((0, 1.0), (3, 1.0)), 2.0, False),),)
    assert forms[3].clauses == (
        (Moved(3, False), Linear((("after", 0, -1.0), ("before", 0, 1.0)), (), 0.0, True)),
    )
    assert [clause[0].bound for clause in forms[4].clauses] == [10.0, 10.0]
    assert forms[5] is None  # a product of two features is not linear


@pytest.mark.parametrize(
    ("texts", "named"),
    [
        (["after.age > 95"], ["after.age > 95"]),
        (["after.age >= 0", "2 * after.age == 41"], ["2 * after.age == 41"]),
        (["after.age > before.age", "after.income > 1", "after.age < before.age"], [0, 2]),
        (["increased(age)", "not changed(age)"], [0, 1]),
        (["after.visa == 'PERMANENT'", "after.visa != 'PERMANENT'"], [0, 1]),
        (["changed(visa)", "changed(credit)", "changed(age)", "at most 2 changes"], [0, 1, 2, 3]),
        (["after.credit implies after.visa == 'PERMANENT'", "after.credit", "not changed(visa)",
          "before.visa == 'TEMPORARY'"], [0, 1, 2, 3]),
        (["after.age >= 80", "after.income >= 100 * after.age", "after.income < 7999"], [0, 1, 2]),
        (["after.age * after.age >= 8200"], [0]),
        (["after.income > 5", "after.income <= 5"], [0, 1]),
    ],
)  # fmt: skip
def test_contradictions_are_found_and_name_their_rules(features, texts, named):
    sentence = RuleSet.parse(texts, features).contradiction()
    named = [texts[i] if isinstance(i, int) else i for i in named]
    assert sentence is not None
    assert [f"'{text}'" in sentence for text in texts] == [text in named for text in texts]


@pytest.mark.parametrize(
    "texts",
    [
        ["after.age >= before.age", "at most 2 changes", "after.credit implies after.visa == 'PERMANENT'"],
        ["after.age >= 89.5"],
        ["after.income > 9999.999"],
        ["after.age > before.age", "before.age > 88"],
        ["exactly 7 changes", "after.education > before.education", "after.rating > before.rating"],
        ["after.income == 3.5 * after.age", "after.income + after.age == 90"],
    ],
)
def test_rules_that_agree_are_left_in_peace(features, texts):
    assert RuleSet.parse(texts, features).contradiction() is None


def test_observed_bounds_and_missing_values_prove_nothing(features):
    texts = ["after.age > 95"]
    observed = (replace(features[0], bounds="observed"), *features[1:])
    missing = (replace(features[0], missing=True), *features[1:])
    assert RuleSet.parse(texts, features).contradiction() is not None
    assert RuleSet.parse(texts, observed).contradiction() is None
    assert RuleSet.parse(texts, missing).contradiction() is None


def test_the_search_for_contradictions_has_a_budget(features):
    """Pigeons that a case distinction cannot finish quickly: no answer, but no hang either."""
    many = tuple(replace(features[2], name=f"f{i}", levels=tuple("abcdefgh")) for i in range(9))
    texts = [f"after.f{i} != after.f{j}" for i in range(9) for j in range(i)]
    assert RuleSet.parse(texts, many).contradiction() is None


def test_what_cancels_out_contradicts_nothing(features):
    """0 <= 0 holds and 0 < 0 does not, also beside a rule that no sample of people meets."""
    rare = "after.income == 7213"
    for text, holds in {
        "after.age - after.age <= 0": True,
        "after.age - after.age < 0": False,
        "after.age - after.age <= -1": False,
    }.items():
        verdict_in_words = RuleSet.parse([rare, text], features).contradiction()
        assert (verdict_in_words is None) == holds, verdict_in_words
