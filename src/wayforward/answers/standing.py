"""Where somebody stands before a decision: how far a yes is, in numbers that people have."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from wayforward.answers import words
from wayforward.language import gettext
from wayforward.problem.target import gain_text

if TYPE_CHECKING:
    from wayforward.recourse import Recourse

CLOSE = 0.05  # a probability short of a yes by no more than this is a close decision


def needed(recourse: Recourse) -> dict[str, Any]:
    """Return what a yes takes (`BoundTarget.needed`), as the answer's problem or its file says; {} if nobody does."""
    if recourse.problem is not None:
        return dict(recourse.problem.bound_target.needed())
    return dict(recourse.meta.get("needed") or {})


def score_text(takes: dict[str, Any], was: float, now: float) -> str:
    """The score after acting, beside the one before and the one that a yes takes; '' where no score is known.

    Example: "with a score of 67 of 100 (now 41; a yes takes 50)".
    """
    if not math.isfinite(was) or not math.isfinite(now):
        return ""
    if "level" in takes:
        level = takes["level"]
        return gettext(
            "with a score of {then} of 100 (now {now}; a yes takes {takes})",
            then=points(now, level), now=points(was, level), takes=points(level),
        )  # fmt: skip
    if takes.get("gain"):
        return gettext(
            "with a prediction about {gain} (a yes takes {takes})",
            gain=_gain(takes, now), takes=range_text(takes),
        )  # fmt: skip
    if "low" in takes:
        return gettext(
            "with a predicted {then} (now {now}; a yes takes {takes})",
            then=number_text(takes, now), now=number_text(takes, was), takes=range_text(takes),
        )  # fmt: skip
    return gettext("with a score of {then} (now {now})", then=words.number(now, 2), now=words.number(was, 2))


def near_text(takes: dict[str, Any], was: float) -> str:
    """How near a decision it was, for the person: one to three short sentences; '' where no score is known."""
    if not math.isfinite(was):
        return ""
    if "level" in takes:
        level = takes["level"]
        if was >= level:  # the model's own label said no all the same
            return gettext("It was a close decision.")
        text = gettext(
            "On a scale from 0 to 100 you are at {now} now. A yes takes {takes}.",
            now=points(was, level), takes=points(level),
        )  # fmt: skip
        close = gettext("That is close.")
        return f"{text} {close}" if level - was <= CLOSE else text
    if takes.get("gain"):
        return gettext("A yes takes {takes}, by what the model expects for you.", takes=range_text(takes))
    if "low" in takes:
        return gettext(
            "The model puts you at {now} now. A yes takes {takes}.",
            now=number_text(takes, was), takes=range_text(takes),
        )  # fmt: skip
    return ""


def then_text(takes: dict[str, Any], score: float) -> str:
    """Where a plan leads before the decision, in one short sentence; '' where no score is known."""
    if not math.isfinite(score):
        return ""
    if "level" in takes:
        return gettext("You would then be at {value}.", value=points(score, takes["level"]))
    if takes.get("gain"):
        return gettext("The model would then expect about {gain}.", gain=_gain(takes, score))
    if "low" in takes:
        return gettext("The model would then put you at {value}.", value=number_text(takes, score))
    return ""


def _gain(takes: dict[str, Any], value: float) -> str:
    low, high = (None if takes[end] is None else abs(takes[end]) for end in ("low", "high"))
    amount = number_text({"low": low, "high": high, "unit": takes.get("unit", "")}, abs(value))
    return gain_text(amount, value, takes.get("unit", ""))


def points(p: float, level: float | None = None) -> str:
    """A probability as points of 100, with as many digits as tell it apart from `level`: 0.496 is 49.6 beside 0.5."""
    decimals = words.decimals_of(100 * p, 2) if level is None else 0
    while level is not None and decimals < 6 and (p < level) != (round(100 * p, decimals) < 100 * level):
        decimals += 1
    return words.number(100 * p, decimals)


def number_text(takes: dict[str, Any], value: float) -> str:
    """A predicted number with its unit, with as many digits as tell on which side of the ends it lies."""
    ends = [end for end in (takes["low"], takes["high"]) if end is not None]
    decimals = words.about(value)
    while decimals < 9 and any((value < end) != (round(value, decimals) < end) for end in ends):
        decimals += 1
    return words.in_unit(words.number(value, decimals), takes.get("unit", ""), value)


def range_text(takes: dict[str, Any]) -> str:
    """What a prediction must be: "150 EUR or more", "10 to 20 years"."""
    low, high, unit = takes["low"], takes["high"], takes.get("unit", "")
    end = low if high is None else high if low is None else None
    if takes.get("gain") and end and (end > 0) == (high is None):
        amount = words.in_unit(words.number(abs(end)), unit, abs(end))
        return gettext("at least {gain}", gain=gain_text(amount, end, unit))
    if high is None:
        return gettext("{value} or more", value=words.in_unit(words.number(low), unit, low))
    if low is None:
        return gettext("{value} or less", value=words.in_unit(words.number(high), unit, high))
    most = words.in_unit(words.number(high), unit, high)
    return gettext("{low} to {high}", low=words.number(low), high=most)
