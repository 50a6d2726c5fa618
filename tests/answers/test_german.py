"""Letters in German: every text is translated, numbers and days are those of the language, and none differs."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from datetime import date
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import wayforward as wf
from wayforward.answers import Letterhead, explain, letter, options_table, report, why, wishes, words
from wayforward.answers.causes import side_by_side
from wayforward.errors import DataError
from wayforward.language import use_language
from wayforward.preferences import Preferences
from wayforward.problem import Confidence, Problem, Stable, Target, UnderNoise, WithinDelta
from wayforward.recourse import Outcome
from wayforward.schema import Feature, Schema

pytest.importorskip("babel")
sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))
make_messages = pytest.importorskip("make_messages")

HEAD = Letterhead(date(2026, 11, 24), "A-17", "kredit@bank.example", until=date(2027, 5, 31))
GERMAN = {
    "age": {"label": "Alter"},
    "savings": {"label": "Ersparnisse"},
    "housing": {"label": "Wohnen", "level_labels": ["Miete", "Eigentum", "bei den Eltern"]},
    "debt_share": {"label": "Anteil der Schulden"},
    "education": {"label": "Ausbildung", "level_labels": ["Schule", "Bachelorgrad", "Mastergrad"]},
    "phone": {"label": "eigenes Telefon"},
    "rating": {"label": "Punktestand"},
}


@pytest.fixture
def german(make_problem, make_schema):
    return make_problem(
        make_schema().revise({name: {"translations": {"de": own}} for name, own in GERMAN.items()})
    )


@cache
def english() -> tuple[set[str], str]:
    """What only an English text has: pieces of messages between their fields; and all German texts, joined."""
    pieces, german = set(), []
    for package in ("answers", "problem", "schema"):
        for message in make_messages.read("de", package):
            ids = [message.id] if isinstance(message.id, str) else list(message.id)
            german += [message.string] if isinstance(message.string, str) else list(message.string)
            for text in ids:
                pieces |= {piece.strip(" .:;,()") for piece in re.split(r"\{\w*\}|%\(\w+\)s", text)}
    everything = "\n".join(german)
    return {p for p in pieces if len(p) > 2 and not re.search(rf"\b{re.escape(p)}\b", everything)}, everything


def assert_german(text: str) -> None:
    left = [piece for piece in english()[0] if re.search(rf"\b{re.escape(piece)}\b", text)]
    assert not left, (left, text)


def numbers(text: str, code: str) -> list[str]:
    """The numbers of a text, without those in letters, in the order of their size as texts."""
    if code == "de":
        text = text.translate({ord("."): ",", ord(","): "."})
    return sorted(re.findall(r"\d+(?:,\d{3})*(?:\.\d+)?", text))


def both(make) -> str:
    """The German text; its numbers are checked to be those of the English one, which is as it was."""
    plain = make(None)
    with use_language("de"):
        german, again = make(None), make("en")
    assert again == plain and make("de") == german
    assert numbers(german, "de") == numbers(plain, "en"), (plain, german)
    assert_german(german)
    return german


def test_the_check_sees_what_is_english():
    with pytest.raises(AssertionError, match="What you can do"):
        assert_german("Die Antwort\n\nWhat you can do\n")


@pytest.mark.parametrize("outcome", list(Outcome))
def test_the_letter_of_each_outcome(german, x, empty, answer, outcome):
    if outcome is Outcome.FOUND:
        got = answer(german, x, {"savings": 2500.37}, {"housing": 1, "phone": 1, "education": 2})
    else:
        x[0, 1] = 9000 if outcome is Outcome.ACCEPTED else x[0, 1]
        got = empty(german, x, outcome)
    if outcome is Outcome.NOT_ASKED:
        got = replace(got, reasons=np.array(["'savings' has no value"], dtype=object))
    text = both(lambda code: letter(german, got, 0, head=HEAD, language=code))
    assert text.startswith("Datum: 24. November 2026\nFall: A-17\nKontakt: kredit@bank.example\n\n")
    both(lambda code: explain(got, 0, language=code))
    assert both(lambda code: got.explain(0, language=code)) == explain(got, 0, None, got.problem, "de")
    expected = {
        Outcome.FOUND: "- Erhöhen Sie „Ersparnisse“ von 1.200 auf 2.510 EUR.\nDann steigt auch „Punktestand“ auf",
        Outcome.NONE_EXISTS: "Es ist bewiesen.",
        Outcome.NOT_FOUND: "Es kann trotzdem einen geben.",
        Outcome.ACCEPTED: "Die Antwort ist Ja. Sie müssen nichts ändern.",
        Outcome.NOT_ASKED: "Bitte prüfen Sie „Ersparnisse“:",
    }
    assert expected[outcome] in text
    if outcome is Outcome.FOUND:
        assert "- Ändern Sie „Ausbildung“ von Bachelorgrad zu Mastergrad (eine Stufe höher)." in text
        assert "- Ändern Sie „eigenes Telefon“ von Nein zu Ja." in text
        assert "Die Pläne gelten bis zum 31. Mai 2027." in text


def test_kinds_prices_margins_and_chances(german, answer):
    x = np.array([[40, 2000.0, 0, 0.2, 0, 0, 4.0]])
    two = answer(german, x, {"savings": 5000}, {"savings": 5600})
    two = replace(
        two, kind=np.array([["cheapest+fewest", "lasting"]], dtype=object), lasts=np.array([[0.4, 0.9]]),
        chance=np.array([[0.958, 0.99]]),
        meta={
            "kinds": ["cheapest", "lasting"], "retraining": {"judged": 10},
            "room": {"moved": 2, "most": 0.05, "price": 0.01},
        },
    )  # fmt: skip
    for margin in (0.0, 0.3, 0.7, 1.0):
        got = replace(two, known_margin=np.full((1, 2), margin))
        text = both(lambda code, got=got: letter(german, got, 0, head=HEAD, language=code))
        both(lambda code, got=got: explain(got, 0, language=code))
    assert "Plan 1 (am leichtesten und mit den wenigsten Änderungen)\n" in text
    assert "Plan 2 (haltbar)\n" in text
    assert "Das verlangt etwa 20 % mehr Aufwand als Plan 1." in text.replace(words.THIN, " ")
    assert "In demselben Test war dieser Plan für 9 von 10 Modellen ein Ja." in text
    assert "Er wirkt in etwa 95 von 100 Fällen wie Ihrem." in text
    alone = replace(two, kind=np.array([["cheapest", ""]], dtype=object))
    assert "keinen Plan gefunden, der wahrscheinlich auch dann gilt" in both(
        lambda code: letter(german, alone, 0, head=HEAD, language=code)
    )


def test_wishes_and_limits(german, make_problem):
    timed = make_problem(german.schema.revise(savings={"pace": 2000}))
    wish = (
        Preferences.none(timed.schema, 2)
        .freeze("housing", "education", who=0)
        .limit("savings", high=4000.5, who=0)
        .limit("education", low="bachelor", who=1)
        .forbid("housing", "own", "with_parents", who=1)
        .weigh(savings=3.0, who=1)
        .at_most(1, who=1)
        .within([5, 1])
    )
    with use_language("de"):
        assert wishes(wish, 0) == [
            "Sie können „Wohnen“ oder „Ausbildung“ nicht ändern.",
            "„Ersparnisse“ kann höchstens 4.000,5 EUR sein.",
            "Sie möchten in 5 Monaten fertig sein.",
        ]
        assert wishes(wish, 1) == [
            "„Wohnen“ kann nur Miete werden.",
            "„Ausbildung“ muss mindestens Bachelorgrad sein.",
            "Sie möchten höchstens 1 Sache ändern.",
            "Sie möchten in 1 Monat fertig sein.",
            "Am schwersten ändern können Sie: „Ersparnisse“.",
        ]
    x = timed.reference[~timed.reference_reached][:2]
    got = wf.recommend(timed, x, k=2, preferences=wish)
    for i in range(2):
        both(lambda code, i=i: letter(timed, got, i, head=HEAD, language=code))


def test_time_special_values_and_what_is_carried():
    schema = Schema(
        (
            Feature(name="sparen", kind="integer", low=0, high=9000, unit="EUR", pace=300),
            Feature(name="schule", kind="ordinal", levels=("keine", "etwas"), pace=0.1, delay=2),
            Feature(
                name="arrears", kind="integer", low=0, high=40, unit="months", special={-7: "no such event"},
                translations={"de": {"label": "Rückstand", "special": {-7: "nie im Rückstand"}}},
            ),
            Feature(name="einkommen", kind="integer", low=0, high=9000, unit="EUR/month", missing=True),
            Feature(name="stunden", kind="integer", low=0, high=60, unit="hours/week", missing="does not apply"),
            Feature(name="notiz", kind="carried"),
        )
    )  # fmt: skip

    def approve(rows):
        return (rows["sparen"] / 3000 + (rows["schule"] == "etwas") > 1.4).to_numpy(dtype=float)

    pytest.importorskip("pandas")
    problem = Problem(schema, wf.wrap(approve, schema, takes="frame"), Target(1))
    person = {
        "sparen": [900], "schule": ["keine"], "arrears": [-7], "einkommen": [float("nan")],
        "stunden": [float("nan")], "notiz": ["x"],
    }  # fmt: skip
    x = schema.encode(person)
    action = np.full((1, 2, 6), np.nan)
    action[0, 0, 0], action[0, 1, :2], action[0, 1, 3] = 4500, (1500, 1), 6000
    got = problem.check(x, action, 2)
    assert got.found.all()
    text = both(lambda code: letter(problem, got, 0, head=HEAD, reasons=False, language=code))
    assert "Das dauert etwa 12 Monate, bis November 2027." in text
    assert "Alle diese Pläne gelten nur bis zum 31. Mai 2027 und sind bis dahin nicht fertig." in text
    assert "Bitten Sie uns um mehr Zeit, bevor Sie beginnen." in text
    longer = replace(HEAD, until=date(2027, 12, 31))
    assert "before you begin" not in letter(problem, got, 0, head=longer, reasons=False)
    assert "- Geben Sie „einkommen“ an, falls 6.000 EUR/Monat zutrifft." in text
    with use_language("de"):
        cells = {row["feature"]: row["now"] for row in options_table(got, 0, changed_only=False)}
    assert (cells["Rückstand"], cells["stunden"], cells["notiz"]) == (
        "nie im Rückstand",
        "trifft nicht zu",
        "wie angegeben",
    )


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    savings=st.floats(0, 8000), share=st.floats(0, 0.6), housing=st.integers(0, 2), level=st.integers(0, 2),
    steps=st.lists(
        st.fixed_dictionaries({}, optional={
            "savings": st.floats(0, 20_000), "housing": st.integers(0, 2), "education": st.integers(0, 2),
            "debt_share": st.floats(0, 0.6), "phone": st.integers(0, 1),
        }), min_size=1, max_size=3,
    ),
)  # fmt: skip
def test_no_number_differs(german, answer, savings, share, housing, level, steps):
    x = np.array([[35.0, savings, housing, share, level, 0, 40.0]])
    got = answer(german, x, *steps)
    both(lambda code: letter(german, got, 0, head=HEAD, reasons=False, language=code))
    both(lambda code: explain(got, 0, language=code))


def test_the_nearest_profile_and_plans_side_by_side(german, x):
    with use_language("de"):
        text = why(german, x).text(0)
        pair = side_by_side(german, wf.recommend(german, x))[0]
    assert text == (
        "Die Antwort wäre Ja gewesen mit einem Unterschied: „Ersparnisse“ 2.500 EUR statt 1.200 EUR. "
        "Das erklärt die Antwort. Es ist kein Rat."
    )
    assert pair.name == "Person 1" and pair.without[0].startswith("Erhöhen Sie „Ersparnisse“")
    for line in (*pair.without, pair.played_out, *pair.within, pair.verdict, *pair.table[0]):
        assert_german(line)


def test_the_report_is_german_and_says_so(german, tmp_path):
    pytest.importorskip("matplotlib")
    refused = german.reference[~german.reference_reached][:12]
    got = wf.recommend(german, refused, k=2, seed=0)
    page = report(german, got, tmp_path / "bericht.html", language="de").read_text(encoding="utf-8")
    assert '<html lang="de">' in page and "<title>Wege nach vorn</title>" in page
    shown = re.sub(r"<style>.*?</style>|<[^>]*>", " ", page, flags=re.S)
    assert_german(" ".join(shown.split()))
    assert "Das Ziel ist die Entscheidung „yes“." in page
    plain = report(german, got, tmp_path / "report.html").read_text(encoding="utf-8")
    assert '<html lang="en">' in plain and "<title>Ways forward</title>" in plain


def test_an_unknown_language_is_refused(german, x, answer):
    got = answer(german, x, {"housing": 1})
    with pytest.raises(DataError, match="'fr'"):
        letter(german, got, 0, language="fr")
    with pytest.raises(DataError, match="'fr'"):
        got.explain(0, language="fr")


@pytest.mark.parametrize(
    "part",
    [
        Target(favourable=1, threshold=0.75), Target(interval=(None, 12.5), unit="years"),
        Confidence(share=0.95, gamma=2.5), Stable(0.5), UnderNoise(0.025, share=0.9), WithinDelta(0.05),
    ],
)  # fmt: skip
def test_demands_have_words_for_people_and_one_english_name_for_files(part):
    name = part.describe()
    assert part.text() == name
    with use_language("de"):
        assert part.describe() == name != part.text()
        assert numbers(part.text(), "de") == numbers(name, "en")
        assert_german(part.text())
