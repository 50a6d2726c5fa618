"""Where somebody stands before a decision: how far a yes is, in numbers that people have."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from wayforward.answers import words
from wayforward.language import gettext

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
    if "low" in takes:
        return gettext(
            "The model puts you at {now} now. A yes takes {takes}.",
            now=number_text(takes, was), takes=range_text(takes),
        )  # fmt: skip
    return ""


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
    if high is None:
        return gettext("{value} or more", value=words.in_unit(words.number(low), unit, low))
    if low is None:
        return gettext("{value} or less", value=words.in_unit(words.number(high), unit, high))
    most = words.in_unit(words.number(high), unit, high)
    return gettext("{low} to {high}", low=words.number(low), high=most)
