"""Deadlines as people type them: "by March", "within 6 months", "by the end of the year", "before 15 March 2027"."""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import date
from typing import Any

from wayforward.answers import words
from wayforward.errors import ReplyError

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
_YEAR = re.compile(r"(?:the )?end of (?:the|this) year|(?:the )?year'?s end")


def read_deadline(text: str, today: date) -> dict[str, Any] | None:
    """Return the wish that a reply in lower case tells: months from today, and the words for it; None if it tells none.

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
            f"We cannot count to '{by['when'][:40]}'. Type a day as in: by 15 March 2027, within 6 months."
        )
    if day is None:
        return None
    shown = f"{day.day} {_MONTHS[day.month - 1].capitalize()} {day.year}"
    if day <= today:
        raise ReplyError(f"{shown} is not ahead of us. Type a day that is, such as: by the end of the year.")
    return {"months": round((day - today).days / _MONTH_DAYS, 2), "words": f"by {shown}"}


def within_words(months: float) -> str:
    """ "within 6 months": a deadline of which nobody told the words."""
    return f"within {_spoken(months, 'month')}"


def later_words(wish: dict[str, Any]) -> str:
    """A deadline as something to give up, after "if you could": "finish after 1 March 2027", "take longer than ..."."""
    text = str(wish["words"])
    if text.startswith("by "):
        return f"finish after {text[3:]}"
    return f"take longer than {text.removeprefix('within ')}"


def _spoken(many: float, unit: str) -> str:
    return f"{words.number(many, words.decimals_of(many))} {unit}{'' if many == 1 else 's'}"


def _day(text: str, today: date) -> date | None:
    """The day that somebody means; None for what names none. Raises: ReplyError for the 31st of June."""
    if _YEAR.fullmatch(text):
        return date(today.year, 12, 31)
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
        raise ReplyError(f"There is no such day as {text}. Type one as in: by 15 March 2027.") from None
