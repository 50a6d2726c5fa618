"""Regions in words: what is enough for a yes, told by the plan's own number: "savings at least 2,050 EUR"."""

from __future__ import annotations

import math

import numpy as np

from wayforward.answers import words
from wayforward.language import gettext, ngettext
from wayforward.recourse import Recourse
from wayforward.regions import Regions

_FINE = 0.02  # of its width: by so much a region may be told smaller than it is


def regions_told(recourse: Recourse) -> Regions:
    """Return the regions that sentences tell, of everybody at once: texts about one person take theirs."""
    return recourse.regions(sample=False, leeway=_FINE / 2)


def region_text(one: Recourse, option: int, i: int = 0) -> str:
    """What is enough for a yes, in a sentence: "This is enough: savings at least 2,050 EUR."; '' where the plan leaves
    no room, and where nothing is proved about what lies around it.

    Each act is told, also one without room, by the plan's number on the near side.
    """
    if one.problem is None or not one.found[i, option]:
        return ""
    found = regions_told(one if one.n == 1 else one[i])  # worked out once for all options
    if not found.proved[0, option]:
        return ""
    acts = np.flatnonzero(~np.isnan(found.low[0, option])).tolist()
    bounds = [_bound(one, found, i, option, j) for j in acts]
    if not any(room for text, room in bounds):
        return ""
    listed = "; ".join(text for text, room in bounds)
    if (
        one.kind[i, option] == "lasting"
    ):  # less is enough for a yes: what lies around is a yes, and may not last
        return ngettext(
            "Today it is also a yes with this: {bounds}.",
            "Today it is also a yes with this, in any combination: {bounds}.",
            len(bounds),
            bounds=listed,
        )
    return ngettext(
        "This is enough: {bounds}.",
        "This is enough, in any combination: {bounds}.",
        len(bounds),
        bounds=listed,
    )


def _bound(one: Recourse, found: Regions, i: int, option: int, j: int) -> tuple[str, bool]:
    """One act in words, and whether it has room."""
    feature, value, before = one.schema.features[j], float(one.action[i, option, j]), float(one.x[i, j])
    name = words.label(feature)
    if feature.has_levels:
        levels = np.flatnonzero(found.levels[j][0, option]).tolist()
        text = words.join([words.quoted(words.level_words(feature, level)) for level in levels], "or")
        return gettext("{name} {value}", name=name, value=text), len(levels) > 1
    up = value > before
    end = float(found.high[0, option, j] if up else found.low[0, option, j])
    limit = feature.high if up else feature.low
    last = np.nan if limit is None else float(one.schema.snap(np.array([limit]), columns=j)[0])
    if value == last:  # nothing legal lies beyond: "at most 0 %" says no more than 0 %
        return gettext("{name} {value}", name=name, value=words.value_text(feature, value)), False
    if math.isinf(end) or end == last:
        text = words.value_text(feature, value)
        if up:
            return gettext("{name} at least {value}", name=name, value=text), True
        return gettext("{name} at most {value}", name=name, value=text), True
    end = _rounded_inside(one, j, value, end)
    if abs(end - value) <= max(float(one.schema.slack[j]), _FINE * abs(value - before)):
        return gettext("{name} {value}", name=name, value=words.value_text(feature, value)), False
    near, far = words.value_text(feature, value), words.value_text(feature, end)
    if up:
        return gettext("{name} at least {value} (checked up to {end})", name=name, value=near, end=far), True
    return gettext("{name} at most {value} (checked down to {end})", name=name, value=near, end=far), True


def _rounded_inside(one: Recourse, j: int, value: float, end: float) -> float:
    """A number a little nearer to the plan's own value, as round as the feature's least change, its step and the width
    let it be, with no more digits than the feature is told in; the plan's own value where none is inside and legal."""
    size, feature = abs(end - value), one.schema.features[j]
    if size == 0:
        return end
    least = max(_FINE * size, feature.least_change or feature.step or 0.0)
    decimals = max(words.told_decimals(feature, end), words.decimals_of(value))
    for power in range(max(math.floor(math.log10(least)), -decimals), -decimals - 1, -1):
        scale = 10.0**-power if power < 0 else 1 / 10.0**power
        steps = math.floor(end * scale) if end > value else math.ceil(end * scale)
        short = float(one.schema.round(np.array([steps / scale]), columns=j)[0])
        if abs(short - value) > 0 and min(value, end) <= short <= max(value, end):
            return short
    return value
