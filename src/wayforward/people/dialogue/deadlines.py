"""Deadlines as people type them: "by March", "within 6 months", "by the end of the year", "before 15 March 2027"."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from typing import Any

from wayforward.answers import words
from wayforward.errors import ReplyError
from wayforward.language import day_text, gettext, use_language
from wayforward.people.dialogue.reply_parts import as_typed

_MONTH_DAYS = 365.25 / 12
_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_UNITS = {"day": 1 / _MONTH_DAYS, "week": 7 / _MONTH_DAYS, "month": 1.0, "year": 12.0}
_NUMBERS = {"a": 1.0, "an": 1.0, "half a": 0.5, "one": 1.0, "two": 2.0, "three": 3.0, "four": 4.0, "six": 6.0}
_LEAD = r"(?:i (?:want|need|have|must)(?: to)? )?(?:be |it |have it )?(?:all )?(?:done |finished |ready )?"
_WITHIN = re.compile(
    _LEAD + r"(?:within|in|in at most|no longer than|not longer than) (?:the next )?"
    r"(?P<many>\d+(?:[.,]\d+)?|half a|an?|one|two|three|four|six) (?P<unit>day|week|month|year)s?(?: at most)?"
)
_BY = re.compile(_LEAD + r"(?:by|before|until|till) (?P<when>.+)")
_DAY = re.compile(
    r"(?P<end>(?:the )?end of )?(?:the )?(?:(?P<day>\d{1,2})(?:st|nd|rd|th)?\.? (?:of )?)?(?P<month>[a-z]{3,9})\.?"
    r"(?: (?P<after>\d{1,2})(?:st|nd|rd|th)?)?(?:,? (?P<year>\d{4}))?"
)
_DIGITS = re.compile(
    r"(?:(?P<y>\d{4})-(?P<m>\d{1,2})-(?P<d>\d{1,2})|(?P<d2>\d{1,2})\.(?P<m2>\d{1,2})\.(?P<y2>\d{4}))"
)
_NEAR: dict[str, Callable[[date], date]] = {  # what is next means its first day
    "today": lambda today: today,
    "tomorrow": lambda today: today + timedelta(1),
    "next week": lambda today: today + timedelta(7 - today.weekday()),
    "next month": lambda today: date(today.year + today.month // 12, today.month % 12 + 1, 1),
    "next year": lambda today: date(today.year + 1, 1, 1),
}
_YEAR = re.compile(r"(?:the )?end of (?:the|this) year|(?:the )?year'?s end")


def read_deadline(text: str, today: date, typed: str = "") -> dict[str, Any] | None:
    """Return the wish that a reply in lower case tells: months from today, and the words for it; None if it tells none.

    typed: the reply as it was typed, to be quoted.

    A month alone means its first day, so that a plan is done before it begins; the running month means its end.
    Raises: ReplyError for a day that is past, is none, or is called as we do not know.
    """
    found = _WITHIN.fullmatch(text)
    if found is not None:
        many = _NUMBERS.get(found["many"]) or float(found["many"].replace(",", "."))
        return {
            "months": round(many * _UNITS[found["unit"]], 2),
            "words": f"within {_spoken(many, found['unit'])}",
        }
    by = _BY.fullmatch(text)
    day = None if by is None else _day(by["when"].strip(), today)
    if day is None and by is not None and not text.startswith(("until", "till")):  # "until 45" is a limit
        raise ReplyError(
            gettext(
                "We cannot count to '{day}'. Type a day as in: by 15 March 2027, within 6 months.",
                day=as_typed(by["when"], typed)[:40],
            )
        )
    if day is None:
        return None
    if day <= today:
        raise ReplyError(
            gettext(
                "{day} is not ahead of us. Type a day that is, such as: by the end of the year.",
                day=day_text(day),
            )
        )
    shown = f"{day.day} {_MONTHS[day.month - 1].capitalize()} {day.year}"
    return {"months": round((day - today).days / _MONTH_DAYS, 2), "words": f"by {shown}"}


def within_words(months: float) -> str:
    """ "within 6 months": a deadline of which nobody told the words."""
    return f"within {_spoken(months, 'month')}"


def deadline_sentence(wish: Mapping[str, Any]) -> str:
    """A deadline as a sentence: "You want to be done by 1 March 2027."."""
    day, span = _parts(str(wish["words"]))
    if day is None:
        return gettext("You want to be done within {time}.", time=span)
    return gettext("You want to be done by {day}.", day=day_text(day))


def later_words(wish: Mapping[str, Any]) -> str:
    """A deadline as something to give up, after "if you could": "finish after 1 March 2027", "take longer than ..."."""
    day, span = _parts(str(wish["words"]))
    if day is None:
        return gettext("take longer than {time}", time=span)
    return gettext("finish after {day}", day=day_text(day))


def _parts(english: str) -> tuple[date | None, str]:
    """The day that the words of a stored deadline name, or None and how long it is in the language in use."""
    by = re.fullmatch(r"by (\d+) ([A-Z][a-z]+) (\d{4})", english)
    if by is not None:
        return date(int(by[3]), _MONTHS.index(by[2].lower()) + 1, int(by[1])), ""
    within = re.fullmatch(r"within ([\d.,]+) (day|week|month|year)s?", english)
    assert within is not None, "the words of a deadline are those of `read_deadline`"
    many = float(within[1].replace(",", ""))
    return None, words.in_unit(words.number(many, words.decimals_of(many)), f"{within[2]}s", many)


def _spoken(many: float, unit: str) -> str:
    """In English, as a state holds it, whatever language is in use."""
    with use_language("en"):
        return f"{words.number(many, words.decimals_of(many))} {unit}{'' if many == 1 else 's'}"


def _day(text: str, today: date) -> date | None:
    """The day that somebody means; None for what names none. Raises: ReplyError for the 31st of June."""
    if _YEAR.fullmatch(text):
        return date(today.year, 12, 31)
    if text in _NEAR:
        return _NEAR[text](today)
    digits, named = _DIGITS.fullmatch(text), _DAY.fullmatch(text)
    try:
        if digits is not None:
            return date(*(int(digits[key] or digits[f"{key}2"]) for key in "ymd"))
        months = [] if named is None else [m for m in _MONTHS if m.startswith(named["month"])]
        if named is None or len(months) != 1:
            return None
        month, number = _MONTHS.index(months[0]) + 1, named["day"] or named["after"]
        year = int(named["year"] or today.year)
        end = monthrange(year, month)[1]
        running = (year, month) == (today.year, today.month)
        day = date(year, month, int(number) if number else end if named["end"] or running else 1)
        return day if named["year"] or day > today else date(year + 1, month, day.day)
    except ValueError:
        raise ReplyError(
            gettext("There is no such day as {day}. Type one as in: by 15 March 2027.", day=text)
        ) from None
