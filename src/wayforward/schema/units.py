"""Units in words: "1 year", "3 hours/week", in the language in use where it knows the unit."""

from __future__ import annotations

from wayforward.language import NP_, pgettext

#: The units that catalogs know, each alone and before or behind a stroke: "hours/week". Others stay as they are.
KNOWN = (
    NP_("unit", "year"), NP_("unit", "years"), NP_("unit", "month"), NP_("unit", "months"), NP_("unit", "week"),
    NP_("unit", "weeks"), NP_("unit", "day"), NP_("unit", "days"), NP_("unit", "hour"), NP_("unit", "hours"),
    NP_("unit", "minute"), NP_("unit", "minutes"), NP_("unit", "point"), NP_("unit", "points"), NP_("unit", "person"),
    NP_("unit", "people"), NP_("unit", "child"), NP_("unit", "children"), NP_("unit", "times"),
)  # fmt: skip


def unit_text(unit: str, value: float | None = None) -> str:
    """Return a unit in words, in the singular for 1: "EUR/month", "years", "hour/week"."""
    head, slash, rest = unit.strip().partition("/")
    if value == 1 and len(head) > 3 and head.endswith("s") and not head.endswith("ss") and head.islower():
        head = head[:-1]
    return f"{_translated(head)}{slash}{_translated(rest)}"


def _translated(word: str) -> str:
    return pgettext("unit", word) if word in KNOWN else word
