"""Every form of the grammar is read, and every slip is pointed at."""

from __future__ import annotations

import numpy as np
import pytest

from wayforward.errors import RuleError
from wayforward.rules import RuleSet


@pytest.mark.parametrize(
    ("text", "canonical", "names"),
    [
        ("after.age >= before.age", "after.age >= before.age", ("age",)),
        ("after.age≥before.age", "after.age >= before.age", ("age",)),
        (
            "before.visa == 'PERMANENT' implies after.credit",
            'before.visa == "PERMANENT" implies after.credit == 1',
            ("visa", "credit"),
        ),
        (
            "if increased(education) then change.age >= 2",
            "increased(education) implies change.age >= 2",
            ("education", "age"),
        ),
        ("0 <= after.income <= 10", "0 <= after.income and after.income <= 10", ("income",)),
        ("after.visa not in {'TEMPORARY'}", 'after.visa not in {"TEMPORARY"}', ("visa",)),
        ("not (after.visa in {'TEMPORARY'})", 'after.visa not in {"TEMPORARY"}', ("visa",)),
        (
            'after["hours-per-week"] + 2*(change.income/3) < -1 - (2 - 3)',
            'after["hours-per-week"] + 2 * (change.income / 3) < -1 - (2 - 3)',
            ("hours-per-week", "income"),
        ),
        ("after.`hours-per-week` > 3", 'after["hours-per-week"] > 3', ("hours-per-week",)),
        ("at most 1 change", "at most 1 change", ()),
        (
            "exactly 2 changes of age, income, `hours-per-week`",
            'exactly 2 changes of age, income, "hours-per-week"',
            ("age", "income", "hours-per-week"),
        ),
        ("at least 1 changes of age and 1 < 2", "at least 1 change of age and 1 < 2", ("age",)),
        ("age drags income by -1.5", "age drags income by -1.5", ("age", "income")),
        ("sum(after.age, 1) <= max(1, 2)", "sum(after.age, 1) <= max(1, 2)", ("age",)),
        ("after.rating >= 2 or after.rating == 5", "after.rating >= 2 or after.rating == 5", ("rating",)),
        ("after.credit == true", "after.credit == 1", ("credit",)),
        ("after.credit in {0, 1}", "after.credit in {0, 1}", ("credit",)),
        ("abs(change.age) <= 1.5e1", "abs(change.age) <= 15", ("age",)),
    ],
)  # fmt: skip
def test_a_rule_is_read_and_written_in_one_spelling(features, text, canonical, names):
    rule = RuleSet.parse([text], features).rules[0]
    assert (str(rule), rule.features, rule.text) == (canonical, names, text)
    assert str(RuleSet.parse([canonical], features).rules[0]) == canonical


@pytest.mark.parametrize(
    ("text", "message", "blamed"),
    [
        ("after.agee > 3", "There is no feature 'agee'. Did you mean 'age'?", "agee"),
        ("after.hours-per-week > 3", "needs quotes here: after[\"hours-per-week\"]", "hours-per-week"),
        ("after.zzz > 3", "The features are: age, income", "zzz"),
        ("afer.age > 3", "Did you mean 'after'?", "afer"),
        ("age > 3", "Say which 'age': before.age or after.age", "age"),
        ("agee > 3", "Did you mean 'after.age'?", "agee"),
        ("after.education == 'bachelr'", "no level 'bachelr'. Did you mean 'bachelor'?", "'bachelr'"),
        ("after.rating == 3", "no level '3'. Its levels are: 1, 2, 5", "3"),
        ("after.visa == PERMANENT", "Put the level in quotes: \"PERMANENT\"", "PERMANENT"),
        ("after.visa in {PERMANENT}", "Put the level in quotes", "PERMANENT"),
        ("after.visa > 'TEMPORARY'", "categorical and has no order, so '>' means nothing", "after.visa"),
        ("after.visa + 1 > 2", "'visa' is categorical and has no size", "after.visa"),
        ("change.visa == 0", "Use changed(visa)", "change.visa"),
        ("increased(visa)", "'visa' is categorical and has no order", "increased(visa)"),
        ("after.rating + 1 > 2", "levels are the numbers 1, 2, 5", "after.rating"),
        ("after.education == after.visa", "have different levels", "after.visa"),
        ("after.age > 'old'", "'age' is a number and cannot be compared with a level", "'old'"),
        ("after.age in {'old'}", "'age' is a number and cannot equal a level", "'old'"),
        ("after.age == true", "'age' is a number", "true"),
        ("after.age > 3 adn after.income < 2", "Did you mean 'and'?", "adn after.income < 2"),
        ("after.age > 3 implis after.income < 2", "Did you mean 'implies'?", "implis after.income < 2"),
        ("after.age", "A condition is needed here; this is a value", "after.age"),
        ("not after.age", "A condition is needed here", "after.age"),
        ("(after.age > 3) + 1 > 2", "A value is needed here; this is a condition", "(after.age > 3)"),
        ("(after.age > 3", "This parenthesis is never closed", "("),
        ("max(after.age, 3 > 2", "Expected ',' or ')' in max(...), not '>'", ">"),
        ("max(after.age, 3", "This parenthesis is never closed", "("),
        ("after.age > 3)", "This ')' closes nothing", ")"),
        ("after['age' > 3", "This bracket is never closed", "["),
        ("after.age in {1, 2", "This brace is never closed", "{"),
        ("after.age = 3", "Use == to compare", "="),
        ("after.age > 3 && after.income > 2", "Write 'and'", "&"),
        ("after.age > '3", "The quote is never closed", "'"),
        ("after.age > 3x", "runs into 'x'", "x"),
        ("after.age > 1e999", "too large", "1e999"),
        ("abs(1, 2) > 1", "takes one value, not 2", "abs("),
        ("min() > 1", "takes at least one value, not 0", "min("),
        ("sqrt(after.age) > 1", "There is no function 'sqrt'", "sqrt"),
        ("increase(age)", "Did you mean 'increased'?", "increase"),
        ("changed age", "Write the feature in parentheses", "changed"),
        ("at mots 3 changes", "Did you mean 'most'?", "mots"),
        ("at most three changes", "Expected a whole number of changes", "three"),
        ("at most 2.5 changes", "Expected a whole number of changes", "2.5"),
        ("at most 2 chnges", "Expected 'changes'", "chnges"),
        ("at most 1 change of age, age", "'age' is listed twice", "age"),
        ("age drag income by 2", "Did you mean 'drags'?", "drag"),
        ("age drags income by two", "Expected a number after 'by'", "two"),
        ("age drags visa by 2", "'visa' is categorical and has no units to drag", "visa"),
        ("age drags age by 2", "'age' cannot drag itself", "age"),
        ("after.age drags income by 2", "A link is written with plain names", "drags"),
        ("after.income / 0 > 1", "This divides by zero", "0"),
        ("if after.age > 3 then", "The text ends where a value is expected", None),
        ("if after.age > 3", "Expected 'then'", None),
        ("after.age >", "The text ends where a value is expected", None),
        ("", "The rule is empty", None),
    ],
)  # fmt: skip
def test_a_slip_is_pointed_at(features, text, message, blamed):
    with pytest.raises(RuleError) as caught:
        RuleSet.parse([text], features)
    assert message in str(caught.value)
    assert caught.value.text == text
    if blamed is not None:
        assert text[caught.value.start : caught.value.end] == blamed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(" * 3000 + "1 > 0" + ")" * 900, "Nested more than"),
        ("not " * 900 + "after.credit", "Nested more than"),
        ("-" * 3000 + "1 > 0", "Nested more than"),
        ("1" + " * 2" * 900 + " > 0", "Nested more than"),
        ("after.credit implies " * 100 + "after.credit", "Nested more than"),
        ("after.age > 3 and " * 1000 + "after.age > 3", "the limit is 4000"),
        ("after.age > " + "9" * 3000, "too large"),
    ],
)  # fmt: skip
def test_hostile_texts_are_refused_at_once(features, text, message):
    with pytest.raises(RuleError, match=message):
        RuleSet.parse([text], features)


def test_a_long_sum_is_no_deep_nesting(features):
    text = "after.age" + " + 1" * 900 + " > 930"
    rules = RuleSet.parse([text], features)
    before = np.zeros(7)
    after = before.copy()
    after[0] = 31
    assert rules.satisfied(before, after)
    after[0] = 30
    assert not rules.satisfied(before, after)


def test_a_rule_is_no_code(features):
    for text in (
        "__import__('os')",
        "after.age.__class__ == 1",
        "(lambda: 1)() > 0",
        "after.age if 1 else 2",
    ):
        with pytest.raises(RuleError):
            RuleSet.parse([text], features)


def test_a_rule_that_is_no_text_is_refused(features):
    with pytest.raises(RuleError, match="A rule is a text, not int"):
        RuleSet.parse([3], features)
