"""A dialogue in German: replies as people type them, no English on its screens, and states that hang on no language."""

from __future__ import annotations

import copy
import json
import re
import sys
from datetime import date
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

import wayforward as wf
from wayforward.data import everyday
from wayforward.errors import ReplyError
from wayforward.language import language, use_language
from wayforward.people.dialogue import Dialogue
from wayforward.people.dialogue.german_replies import english_digits, in_english
from wayforward.people.dialogue.reply_parts import NO, NONE, STOP, YES, asks_meaning, number
from wayforward.people.dialogue.wording import meaning
from wayforward.schema import Feature

pytest.importorskip("babel")
sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))
make_messages = pytest.importorskip("make_messages")

TODAY = date(2026, 11, 24)


@lru_cache
def loans() -> tuple[wf.Problem, np.ndarray]:
    """The loan world of the demonstration, with a plain model, and somebody whom it refuses."""
    schema = everyday.schema().revise(savings={"pace": 300.0}, income={"delay": 2.0})
    rng = np.random.default_rng(0)
    columns = {
        "gender": rng.integers(0, 2, 200), "age": rng.integers(20, 70, 200), "education": rng.integers(8, 17, 200),
        "loan_amount": rng.integers(1000, 37_000, 200), "loan_duration": rng.integers(6, 80, 200),
        "income": rng.integers(1500, 5000, 200), "savings": rng.integers(0, 30_000, 200),
    }  # fmt: skip
    rows = schema.encode({name: columns[name] for name in schema.names})
    weight = np.array(
        [{"income": 2.0, "savings": 0.2, "loan_amount": -0.1}.get(n, 0.0) for n in schema.names]
    )
    model = wf.wrap(lambda x: (x @ weight >= 8000).astype(int), schema, output="label", classes=(0, 1))
    problem = wf.Problem(schema, model, wf.Target(favourable=1), data=rows, world=everyday.world())
    own = {"gender": 0, "age": 40, "education": 12, "loan_amount": 20_000, "loan_duration": 50}
    person = schema.encode({**own, "income": 2600, "savings": 9000})
    return problem, person[0]


def talk(**more) -> Dialogue:
    """A dialogue before its first question. One without settings of its own is opened once a language, and copied."""
    problem, x = loans()
    if not more:
        return copy.deepcopy(opened(language()), {id(problem): problem})
    return Dialogue(problem, x, today=TODAY, **{"elicitor": None, **more})


@lru_cache
def opened(code: str) -> Dialogue:
    """In this language, which is the one in use."""
    return talk(elicitor=None)


@pytest.mark.parametrize("code", ["de", "en"])
@pytest.mark.parametrize(
    ("reply", "ends"),
    [
        ("ja", (np.nan, np.nan)),
        ("nein", "no"),
        ("das kann ich nicht", "no"),
        ("kann ich leider nicht ändern", "no"),
        ("geht nicht", "no"),
        ("nein, ich verdiene, was ich verdiene", "no"),
        ("vielleicht ein bisschen, höchstens bis 22.500", (-np.inf, 22_500)),
        ("weiß nicht", (np.nan, np.nan)),
        ("weiter", (np.nan, np.nan)),
        ("keine Ahnung", (np.nan, np.nan)),
        ("nur bis 22.500", (-np.inf, 22_500)),
        ("bis 22.500 Euro", (-np.inf, 22_500)),
        ("ja, aber nur bis 22.500 EUR", (-np.inf, 22_500)),
        ("hoechstens 25 Tsd.", (-np.inf, 25_000)),
        ("höchstens 10 % mehr", (-np.inf, 22_000)),
        ("höchstens 2.000 mehr", (-np.inf, 22_000)),
        ("mindestens 15.000", (15_000, np.inf)),
        ("nur bis 15.000", (15_000, np.inf)),
        ("bis 25 Prozent weniger", (15_000, np.inf)),
        ("nur nach oben", (20_000, np.inf)),
        ("es kann nur sinken", (-np.inf, 20_000)),
    ],
)
def test_limits_as_people_type_them_in_german_whatever_is_in_use(reply, ends, code):
    with use_language(code):
        d = talk()
        while d.ask().feature != "loan_amount":
            d.answer("yes")
        d.answer(reply)
    own, j = d.preferences, d.problem.schema.index("loan_amount")
    if ends == "no":
        assert own.frozen[0, j]
    else:
        expected = [
            end if np.isfinite(end) else wide for end, wide in zip(ends, (-np.inf, np.inf), strict=True)
        ]
        np.testing.assert_allclose([own.low[0, j], own.high[0, j]], expected)
        assert not own.frozen[0, j]


@pytest.mark.parametrize(
    "reply",
    [
        "egal", "Ist mir egal.", "das spielt keine Rolle", "beides geht", "Suchen Sie aus", "keine Grenze",
        "so weit wie nötig", "whatever", "I don't mind", "It doesn't matter", "no preference", "either is fine",
        "you choose", "no limit", "as much as it takes",
    ],
)  # fmt: skip
def test_who_does_not_mind_has_no_limit_and_no_preference(reply):
    """A plan is nothing that somebody takes because they do not mind: there it is asked back."""
    d = talk()
    asked = d.ask().feature
    assert d.answer(reply).feature != asked and not d.preferences.frozen.any()
    d.undo()
    d.answer(next(o.key for o in d.ask().options if "limit" in o.text))
    assert d.ask().kind == "number"
    d.answer(reply)
    assert np.isinf([d.preferences.low, d.preferences.high]).all()
    page = talk(questionnaire="page")
    page.answer(f"Ersparnisse {reply}; Kreditbetrag: nein")
    assert page.preferences.frozen[0].sum() == 1 and np.isinf(page.preferences.high).all()
    with pytest.raises(ReplyError):
        page.answer(reply)
    with pytest.raises(ReplyError, match="No plan changes your age"):
        talk(questionnaire="page").answer("age: no")
    pair = choosing()
    question = pair.ask()
    assert question.stage == "choices"
    pair.answer(reply)
    assert pair.typed[-1] == reply and "Cannot say." in pair.export().replace(
        "Kann ich nicht sagen.", "Cannot say."
    )
    pair.undo()
    assert pair.ask().id == question.id


@lru_cache
def choosing() -> Dialogue:
    """A dialogue at its first choice of plans; `undo` brings it back there."""
    d = talk(elicitor="favourite", questionnaire=None)
    while d.ask().stage != "choices":
        d.answer("no")
    return d


@pytest.mark.parametrize(
    ("reply", "means"),
    [
        ("vielleicht", None), ("it depends", None), ("kommt drauf an", None), ("eher nicht", False),
        ("rather not", False), ("zu teuer", False), ("not really", False), ("von mir aus", True), ("warum nicht", True),
        ("kein Problem", True), ("absolutely", True), ("I suppose so", True), ("unchanged", False),
        ("bleibt so", False),
    ],
)  # fmt: skip
def test_everyday_words_for_yes_no_and_not_now(reply, means):
    d = talk()
    j = d.problem.schema.index(d.ask().feature)
    d.answer(reply)
    assert d.preferences.frozen[0, j] == (means is False)
    plan = talk(questionnaire=None)
    if means is None:  # to take a plan or leave it takes an answer
        with pytest.raises(ReplyError):
            plan.answer(reply)
    elif reply not in ("unchanged", "bleibt so"):
        plan.answer(reply)
        assert plan.done == means


@pytest.mark.parametrize("code", ["de", "en"])
@pytest.mark.parametrize(
    ("reply", "wish"),
    [
        ("kann ich nicht: Ersparnisse", {"feature": "savings", "can": False}),
        ("Ich kann mein Einkommen nicht erhöhen", {"feature": "income", "can": False}),
        ("Ersparnisse: nein", {"feature": "savings", "can": False}),
        ("Kreditbetrag bleibt", {"feature": "loan_amount", "can": False}),
        ("x „Ersparnisse“", {"feature": "savings", "can": False}),
        ("Ersparnisse bis 12.500", {"feature": "savings", "high": 12_500.0}),
        ("savings up to 12500", {"feature": "savings", "high": 12_500.0}),
        ("Ersparnisse: sehr schwer", {"feature": "savings", "score": 5, "of": 5}),
        ("Einkommen ist leicht für mich", {"feature": "income", "score": 2, "of": 5}),
        ("höchstens zwei Änderungen", {"max_changes": 2}),
        ("bis März", {"months": 3.19, "words": "by 1 March 2027"}),
        ("bis zum 15. März 2027", {"months": 3.65, "words": "by 15 March 2027"}),
        ("bis 15.3.2027", {"months": 3.65, "words": "by 15 March 2027"}),
        ("bis Ende des Jahres", {"months": 1.22, "words": "by 31 December 2026"}),
        ("bis morgen", {"months": 0.03, "words": "by 25 November 2026"}),
        ("bis nächsten Monat", {"months": 0.23, "words": "by 1 December 2026"}),
        ("in 6 Monaten", {"months": 6.0, "words": "within 6 months"}),
        ("innerhalb von einem halben Jahr", {"months": 6.0, "words": "within 0.5 years"}),
    ],
)
def test_wishes_as_people_type_them_in_german(reply, wish, code):
    with use_language(code):
        d = talk()
        d.answer(reply)
    assert d.to_dict()["now"]["wishes"][-1] == wish


@pytest.mark.parametrize(
    ("typed", "now", "means"),
    [
        ("0,25", 0.1, 0.25), ("1.500", 1200.0, 1500.0), ("1.500", 850.0, 1500.0), ("1.500,50", 850.0, 1500.5),
        ("37,5", 20.0, 37.5), ("1500", 20.0, 1500.0), ("2.5", 1.0, 2.5), ("1.500.000", 9.0, 1_500_000.0),
        ("1,500.50", 9.0, 1500.5), ("12 tsd", 9.0, 12_000.0), ("0,500", 0.2, 0.5), ("2,125", 2.0, 2.125),
        ("ungefähr 1.500,50", 9.0, 1500.5), ("ca. 12 tsd", 9.0, 12_000.0), ("etwa zweitausend", 9.0, 2000.0),
    ],
)  # fmt: skip
def test_numbers_with_german_marks(typed, now, means):
    amount = Feature(name="x", kind="real", low=0, high=1e7)
    with use_language("de"):
        assert number(typed, amount, now) == means


@pytest.mark.parametrize(("typed", "now"), [("1,500", 1200.0), ("2.125", 2.5)])
def test_a_number_that_may_be_meant_in_two_ways_is_questioned(typed, now):
    amount = Feature(name="x", kind="real", low=0, high=1e7)
    with use_language("de"), pytest.raises(ReplyError, match="kann .* oder .* heißen"):
        number(typed, amount, now)
    assert number(typed, amount, now) == {"1,500": 1500.0, "2.125": 2.125}[typed]  # plain in English


def test_english_replies_are_read_as_before():
    """What the English tables hold is no German, so nothing in them means something else now."""
    for text in (
        *YES,
        *NO,
        *NONE,
        "whatever",
        "both",
        "it depends",
        *STOP,
        "up to 45",
        "max 5",
        "min 5",
        "an hour more",
        "take 2",
        "x income",
    ):
        assert in_english(text) == text
    assert english_digits("up to 6500.5") == "up to 6500.5"
    assert (
        asks_meaning("Was heißt das?") and asks_meaning("what does that mean?") and not asks_meaning("was 5")
    )


def _english() -> list[re.Pattern[str]]:
    """Texts of the catalogs of at least three words, with anything in their fields."""
    found = []
    for package in make_messages.packages():
        for message in make_messages.read("de", package):
            ids = [message.id] if isinstance(message.id, str) else list(message.id)
            texts = [message.string] if isinstance(message.string, str) else list(message.string)
            for text in ids:
                words = re.sub(r"\{\w*\}|%\(\w+\)s", " ", text)
                if len(re.findall(r"[A-Za-z]{2,}", words)) >= 3 and text not in texts:
                    parts = re.split(r"\{\w*\}|%\(\w+\)s", " ".join(text.split()))
                    found.append(re.compile(".{0,200}?".join(re.escape(part) for part in parts)))
    return found


def _screens(d: Dialogue, replies: list[str]) -> list[str]:
    """Every screen of a dialogue, and what each question means."""
    out = []
    for reply in replies:
        question = d.ask()
        if question is None:
            break
        out += [question.show(), " ".join(question.also), meaning(d._conversation, d._conversation.pending)]
        try:
            d.answer(reply)
        except ReplyError as error:
            out.append(str(error))
    return [*out, "" if d.end is None else d.end.show(), d.export()]


SCRIPTS = {
    "limits": [
        "was?", "vielleicht", "3", "5", "17", "höchstens 2 Änderungen", "nein", "5", "1.000", "90.000", "3", "2.800",
        "3", "12.000", "merke 1", "2", "1", "2", "nehme 9", "1", "nehme 1",
    ],
    "page": ["1, Einkommen bis 2.700; Ersparnisse: schwer und bis März", "1", "2", "1", "hier aufhören"],
    "ranking": ["3, 1", "2", "1", "nein", "2", "2", "nein", "keiner davon", "nein", "2", "nein"],
    "likert": ["6", "6", "6", "1", "Einkommen: sehr schwer", "6", "6", "3", "5"],
}  # fmt: skip


@pytest.mark.parametrize("questionnaire", SCRIPTS)
def test_no_english_text_of_the_catalogs_is_on_a_german_screen(questionnaire):
    patterns = _english()
    elicitor = "favourite" if questionnaire == "limits" else None
    with use_language("de"):
        d = talk(questionnaire=questionnaire, elicitor=elicitor, until="31. März 2027")
        screens = [" ".join(screen.split()) for screen in _screens(d, SCRIPTS[questionnaire])]
    found = {pattern.pattern for pattern in patterns for screen in screens if pattern.search(screen)}
    assert not found
    assert len(screens) > 8 and any("„Einkommen“" in screen for screen in screens)


@pytest.mark.parametrize("questionnaire", SCRIPTS)
def test_a_state_is_the_same_in_every_language(questionnaire):
    """The same replies give the same state: numbers, plans, and the texts of the log."""
    states = {}
    for code in ("en", "de"):
        with use_language(code):
            d = talk(questionnaire=questionnaire)
            for reply in SCRIPTS[questionnaire]:
                if d.ask() is not None and not re.search(r"\.\d", reply):  # marks are those of the language
                    try:
                        d.answer(reply)
                    except ReplyError:
                        continue
            states[code] = json.loads(json.dumps(d.to_dict()))
    assert states["en"] == states["de"]
    assert len(states["en"]["log"]) > 1


def test_another_language_goes_on_with_a_state():
    replies = ["ja", "kann ich nicht: Kreditbetrag", "Einkommen: schwer", "in 30 Monaten", "ja", "ja"]
    with use_language("de"):
        d = talk(elicitor="favourite")
        for reply in replies:
            if d.ask() is not None and d.ask().stage == "limits":
                d.answer(reply)
        german, at = d.ask(), d.export()
        assert "Notiert." in " ".join(entry for q, _ in d.replay() for entry in q.notes)
        assert "Sie möchten nicht länger als 30 Monate brauchen." in at and "Your " not in at
    again = Dialogue.from_dict(d.problem, d.to_dict())
    english = again.ask()
    assert language() == "en" and english.id == german.id
    assert [option.action for option in english.options] == [option.action for option in german.options]
    assert english.text != german.text and "Monate" not in again.export()
    assert "You want to be done within 30 months." in again.export()
    while again.ask() is not None:
        again.answer("1")
    with use_language("de"):
        assert again.end.text == "Das ist Ihr Plan. Er wurde geprüft: Mit ihm wäre die Antwort Ja."
        assert again.export().startswith("Ihr Gespräch über einen Plan") and "You said" not in again.export()
    assert again.end.text == "This is your plan. It was checked: with it the answer would be yes."
