"""Regions in sentences: the plan's own number on the near side, a number inside the region on the far side."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

import wayforward as wf
from wayforward.answers import letter
from wayforward.answers.region_text import region_text
from wayforward.problem import Problem, Target
from wayforward.schema import Feature, Schema
from wayforward.testing.problems import case

pytest.importorskip("sklearn")
SCHEMA = Schema(
    (
        Feature(name="savings", kind="integer", low=0, high=50_000, unit="EUR", direction="increase"),
        Feature(name="loan", kind="integer", low=0, high=50_000, unit="EUR", direction="decrease"),
        Feature(name="housing", kind="categorical", levels=("rent", "own", "free")),
    )
)


def problem_of(yes):
    """A tree that is taught the rule `yes` on a grid."""
    from sklearn.pipeline import make_pipeline
    from sklearn.tree import DecisionTreeClassifier

    from wayforward.model.zoo import table_encoder

    grid = np.array(
        [(s, loan, h) for s in range(0, 50_001, 1000) for loan in range(0, 50_001, 2000) for h in range(3)],
        float,
    )
    tree = make_pipeline(
        table_encoder(SCHEMA, scale=False, impute=False), DecisionTreeClassifier(random_state=0)
    )
    tree.fit(SCHEMA.decode(grid), np.array([yes(*row) for row in grid], dtype=int))
    return Problem(SCHEMA, tree, Target(favourable=1), data=grid)


def told(yes, action, language="en"):
    from wayforward.language import use_language

    problem = problem_of(yes)
    found = problem.check(np.array([[2000.0, 30_000.0, 0.0]]), np.array([[action]]), 1)
    assert found.found.all()
    with use_language(language):
        return region_text(found.rounded, 0)


NONE = np.nan


@pytest.mark.parametrize(
    "yes, action, english, german",
    [
        (
            lambda s, loan, h: s >= 20_000, (19_600, NONE, NONE),
            "This is enough: savings at least 19,600 EUR.", "Das genügt: „savings“ mindestens 19.600 EUR.",
        ),
        (lambda s, loan, h: loan <= 0 and s <= 2500, (NONE, 0, NONE), "", ""),  # no loan is less than none
        (
            lambda s, loan, h: 20_000 <= s <= 30_000, (19_600, NONE, NONE),
            "This is enough: savings at least 19,600 EUR (checked up to 30,500 EUR).",
            "Das genügt: „savings“ mindestens 19.600 EUR (geprüft bis 30.500 EUR).",
        ),
        (
            lambda s, loan, h: s >= 20_000 and loan <= 10_000, (20_000, 10_000, NONE),
            "This is enough, in any combination: savings at least 20,000 EUR; loan at most 10,000 EUR.",
            "Das genügt, in jeder Verbindung: „savings“ mindestens 20.000 EUR; „loan“ höchstens 10.000 EUR.",
        ),
        (
            lambda s, loan, h: h > 0, (NONE, NONE, 1),
            "This is enough: housing own, or free.", "Das genügt: „housing“ own oder free.",
        ),
        (lambda s, loan, h: h == 1, (NONE, NONE, 1), "", ""),
    ],
)  # fmt: skip
def test_what_is_enough_reads_as_an_applicant_would_say_it(yes, action, english, german):
    pytest.importorskip("babel")
    assert told(yes, action) == english
    assert told(yes, action, "de") == german


@pytest.mark.parametrize(
    "of_feature, ends, value, text",
    [
        (
            {"unit": "EUR/month"},
            (1960, 1973.4),
            1960,
            "income at least 1,960 EUR/month (checked up to 1,973 EUR/month)",
        ),
        (
            {"unit": "EUR/month", "least_change": 10},
            (1960, 1973.4),
            1960,
            "income at least 1,960 EUR/month (checked up to 1,970 EUR/month)",
        ),
        (
            {"unit": "EUR/month", "least_change": 50},
            (1960, 1973.4),
            1960,
            "income at least 1,960 EUR/month (checked up to 1,970 EUR/month)",
        ),
        (
            {"unit": "EUR/month", "step": 0.2},
            (1960, 1973.5),
            1960,
            "income at least 1,960 EUR/month (checked up to 1,973.4 EUR/month)",
        ),
        (
            {"label": "Share of income"},
            (0.1, 0.31234),
            0.1,
            "share of income at least 10\u202f% (checked up to 31.2\u202f%)",
        ),
        ({"unit": "m"}, (0.1, 0.51234), 0.1, "income at least 0.1 m (checked up to 0.512 m)"),
    ],
)
def test_the_far_end_has_the_digits_that_the_feature_is_told_in(of_feature, ends, value, text):
    pytest.importorskip("babel")
    from sklearn.tree import DecisionTreeClassifier

    from wayforward.language import use_language

    schema = Schema(
        (Feature(name="income", kind="real", low=0, high=5000 if value > 1 else 1, **of_feature),)
    )
    low, high = ends
    gap = (high - low) / 10
    rows = np.array([low - 1.1 * gap, low + gap, high - gap, high + gap])[:, None]
    tree = DecisionTreeClassifier(random_state=0).fit(rows, [0, 1, 1, 0])
    problem = Problem(schema, wf.wrap(tree, schema), Target(favourable=1), data=rows)
    found = problem.check(np.array([[0.9 * value]]), np.array([[[float(value)]]]), 1)
    assert region_text(replace(found, meta=found.meta | {"rounded": True}), 0) == f"This is enough: {text}."
    with use_language("de"):
        told = region_text(found, 0)
        assert (
            told.startswith("Das gen")
            and text.split("up to ")[1].split()[0].translate(str.maketrans(",.\u202f", ".,\u202f")) in told
        )


FROM_TO = r"(\w+ (?:at least|at most) [\d,]+)(?:[^;(]*\(checked (?:up|down) to ([\d,]+))?"


def test_letters_tell_one_number_and_both_ends_of_a_range_are_a_yes():
    it = case("forest", seed=1)
    x = it.x[~it.problem.reached(it.x)[0]][:10]
    found = wf.recommend(it.problem, x, k=1, seed=0)
    ranges = 0
    for i in range(len(x)):
        text = region_text(found.rounded[i], 0)
        assert text in letter(it.problem, found, i)
        assert text in found.explain(i)
        for low, high in re.findall(FROM_TO, text):
            name, _, value = low.rpartition(" ")
            name, near = name.split()[0], float(value.replace(",", ""))
            j = it.problem.schema.index(name)
            ends = {near} | ({float(high.replace(",", ""))} if high else set())
            assert found.rounded.action[i, 0, j] in ends
            for end in ends:
                action = found.rounded.action[i].copy()
                action[0, j] = end
                assert it.problem.check(x[[i]], action[None], 1).found.all()
                ranges += 1
    assert ranges >= 10


def test_nothing_is_told_where_nothing_is_proved():
    it = case("label", seed=0)
    found = wf.recommend(it.problem, it.x[~it.problem.reached(it.x)[0]][:2], seed=0)
    assert region_text(found.rounded, 0) == ""
    it = case("forest", "causal", seed=1)
    found = wf.recommend(it.problem, it.x[~it.problem.reached(it.x)[0]][:2], seed=0)
    assert region_text(found.rounded, 0) == ""


def test_what_is_enough_is_not_said_of_a_plan_that_lasts_since_less_is_enough():
    problem = problem_of(lambda s, loan, h: s >= 20_000)
    got = problem.check(
        np.array([[2000.0, 30_000.0, 0.0]]), np.array([[[19_600, NONE, NONE], [30_000, NONE, NONE]]]), 2
    )
    kinds = replace(got, kind=np.array([["cheapest", "lasting"]], dtype=object)).rounded
    assert region_text(kinds, 0) == "This is enough: savings at least 19,600 EUR."
    assert region_text(kinds, 1) == "Today it is also a yes with this: savings at least 30,000 EUR."
