"""Numbers in words in a reply, read back from words that a second, plain writer wrote; what may mean two is left."""

from __future__ import annotations

import numpy as np
import pytest

import wayforward as wf
from wayforward.errors import ReplyError
from wayforward.people.dialogue import Dialogue
from wayforward.people.dialogue.number_words import in_digits
from wayforward.schema import Feature, Schema

_SMALL = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_KLEIN = (
    "null", "eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf", "zwölf",
    "dreizehn", "vierzehn", "fünfzehn", "sechzehn", "siebzehn", "achtzehn", "neunzehn",
)  # fmt: skip
_ZEHNER = ("zwanzig", "dreißig", "vierzig", "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig")


def english(n: int) -> str:
    if n < 20:
        return _SMALL[n]
    if n < 100:
        return _TENS[n // 10 - 2] + (f"-{_SMALL[n % 10]}" if n % 10 else "")
    for size, name in ((10**6, "million"), (1000, "thousand"), (100, "hundred")):
        if n >= size:
            rest = f" {'and ' if n % size < 100 else ''}{english(n % size)}" if n % size else ""
            return f"{english(n // size)} {name}{rest}"
    raise AssertionError


def german(n: int, last: bool = True) -> str:
    """last: nothing stands behind it, so that 1 is "eins"."""
    if n == 1 and not last:
        return "ein"
    if n < 20:
        return _KLEIN[n]
    if n < 100:
        return (f"{german(n % 10, False)}und" if n % 10 else "") + _ZEHNER[n // 10 - 2]
    for size, name in ((1000, "tausend"), (100, "hundert")):
        if n >= size:
            return f"{german(n // size, False)}{name}" + (german(n % size, last) if n % size else "")
    raise AssertionError


def test_numbers_in_words_are_read_back():
    some = np.random.default_rng(0).integers(1000, 10**6, 1500).tolist()
    for n in (*range(1100), *some):
        assert in_digits(english(n), alone=True) == str(n)
        assert in_digits(english(n * 1000 + 7).title(), alone=True) == str(n * 1000 + 7)
        assert in_digits(german(n), alone=True) == str(n)
        short = german(n).replace("ü", "ue").replace("ö", "oe").replace("ß", "ss")
        assert in_digits(short, alone=True) == str(n)


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("a hundred", "100"),
        ("fifteen hundred", "1500"),
        ("twenty-five percent", "25 percent"),
        ("half a million", "500000"),
        ("half a percent", "0.5 percent"),
        ("two and a half thousand", "2500"),
        ("zero point twenty-five", "0.25"),
        ("two point one two five", "2.1250"),  # not 2,125
        ("20 thousand", "20k"),
        ("2.5 million", "2.5m"),
        ("zweieinhalb tausend", "2500"),
        ("anderthalb Millionen", "1500000"),
        ("null Komma fünf", "0.5"),
        ("eine halbe Million", "500000"),
        ("savings up to Two Thousand five hundred Euros", "savings up to 2500 Euros"),
        ("Prüfungen bis fünfzehn", "Prüfungen bis 15"),
        ("two, three and one", "2, 3 and 1"),
        ("one; savings: no one decides", "1; savings: no one decides"),
    ],
)
def test_numbers_as_people_say_them(typed, read):
    assert in_digits(typed) == read


@pytest.mark.parametrize(
    "typed",
    [
        "one fifty",  # 150, or 1.50
        "twenty fifteen",
        "eighteen fifty",
        "half",  # of one, or of what it is now
        "two thousand fifteen hundred",
        "no one",
        "the second one",
        "das eine",
        "someone often attended",
        "Wohneigentum",
        "twelve-months",
    ],
)
def test_what_may_mean_something_else_stays(typed):
    assert in_digits(typed) == typed


def test_a_long_reply_is_read_at_once():
    for long in ("einundzwanzig" * 15 + "x", "one " * 49 + "x", "five hundred and " * 11, "zwei-" * 39 + "x"):
        assert in_digits(long, alone=True) is not None


def asked(**more) -> Dialogue:
    """A yes at pay / 100 + 10 (1 - used) + months > 30; pay may rise, used is a share."""
    schema = Schema(
        [
            Feature(name="pay", kind="real", low=0, high=9000, unit="EUR", direction="increase", pace=100.0),
            Feature(
                name="used", kind="real", low=0, high=1, label="share of credit used", direction="decrease"
            ),
            Feature(name="months", kind="integer", low=0, high=72, unit="months", label="months in the job"),
        ]
    )
    model = wf.wrap(
        lambda x: (x[:, 0] / 100 + 10 * (1 - x[:, 1]) + x[:, 2] > 30).astype(int),
        schema, output="label", classes=(0, 1),
    )  # fmt: skip
    rows = np.random.default_rng(0).uniform(size=(80, 3)) * [9000, 1, 72]
    rows[:, 2] = np.floor(rows[:, 2])
    problem = wf.Problem(schema, model, wf.Target(favourable=1), data=rows)
    return Dialogue(problem, np.array([1000.0, 0.8, 2.0]), elicitor=None, **more)


@pytest.mark.parametrize(
    ("reply", "side", "j", "value"),
    [
        ("up to two thousand five hundred", "high", 0, 2500),
        ("up to two and a half thousand euros, please", "high", 0, 2500),
        ("bis zweitausendfünfhundert Euro", "high", 0, 2500),
        ("hoechstens fuenfzehnhundert", "high", 0, 1500),
        ("Yes, but only up to five hundred more", "high", 0, 1500),
        ("two thousand", "high", 0, 2000),
        ("share of credit used down to twenty-five percent", "low", 1, 0.25),
        ("months in the job at most fifteen", "high", 2, 15),
        ("months in the job: up to a year", None, 2, None),
        ("at most two changes", "most", 0, 2),
        ("höchstens zwei Änderungen", "most", 0, 2),
    ],
)
def test_limits_in_words(reply, side, j, value):
    d = asked()
    if side is None:
        with pytest.raises(ReplyError, match="no number"):
            d.answer(reply)
        return
    d.answer(reply)
    held = d.preferences.most if side == "most" else getattr(d.preferences, side)[:, j]
    assert held[0] == value


def test_what_may_be_two_numbers_is_asked_about():
    d = asked()
    before = d.to_dict()
    for reply in ("up to one fifty", "up to two or three thousand", "to half", "up to twenty fifteen"):
        with pytest.raises(ReplyError, match="Type a number, such as"):
            d.answer(reply)
    assert d.to_dict() == before


def test_thousands_are_asked_about_where_thousands_are_counted():
    schema = Schema([Feature(name="pay", kind="real", low=0, high=9000, unit="thousand EUR")])
    from wayforward.people.dialogue.reply_parts import number

    assert number("twenty", schema["pay"], 10.0) == number("20 thousand EUR", schema["pay"], 10.0) == 20
    with pytest.raises(ReplyError, match="is no number"):
        number("two thousand", schema["pay"], 10.0)


@pytest.mark.parametrize(
    "reply",
    [
        "pay up to two thousand five hundred; months in the job up to fifteen",
        "pay up to two thousand and five hundred, months in the job up to fifteen",
        "pay bis zweitausendfünfhundert und months bis fünfzehn",
        {"limits": {"pay": "up to two thousand five hundred", "months": "fifteen"}},
    ],
)
def test_a_page_in_words(reply):
    d = asked(questionnaire="page")
    d.answer(reply)
    assert d.preferences.high[0].tolist() == [2500, np.inf, 15]


def test_numbers_of_options_on_a_page_and_deadlines_in_words():
    d = asked(questionnaire="page")
    d.answer("one, three; within eighteen months")
    assert d.preferences.frozen[0].tolist() == [True, False, True] and d.preferences.time[0] == 18
