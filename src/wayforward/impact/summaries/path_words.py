"""The conditions on the way to a leaf in as few words as they need: "below 5" and "below 3" is "below 3"."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wayforward.answers import words
from wayforward.impact.conditions import Condition
from wayforward.schema import Feature, Schema

_NAMED = 3  # levels that are named one by one


def path_words(schema: Schema, path: Sequence[tuple[Condition, bool]]) -> tuple[str, ...]:
    """Return one phrase a feature for conditions that hold or (False) do not, in the order of the path."""
    by_feature: dict[int, list[tuple[Condition, bool]]] = {}
    for condition, holds in path:
        by_feature.setdefault(condition.feature, []).append((condition, holds))
    return tuple(_phrase(schema.features[j], parts) for j, parts in by_feature.items())


def _phrase(feature: Feature, parts: list[tuple[Condition, bool]]) -> str:
    stated = any((c.kind == "missing") != holds for c, holds in parts)  # a missing value meets 'missing' only
    name = words.label(feature)
    if any(c.kind == "missing" and holds for c, holds in parts):
        return f"{name} not stated"
    text = _levels(feature, name, parts) if feature.has_levels else _range(feature, name, parts)
    if not text:
        return f"{name} stated" if stated else name
    return text if stated or not feature.missing else f"{text}, or not stated"


def _range(feature: Feature, name: str, parts: list[tuple[Condition, bool]]) -> str:
    low, high = -np.inf, np.inf
    for c, holds in parts:
        if c.kind != "missing":
            if (c.kind == "below") == holds:
                high = min(high, c.value)
            else:
                low = max(low, c.value)
    if feature.kind == "integer" and np.isfinite(high):
        least = low if np.isfinite(low) else (-np.inf if feature.low is None else feature.low)
        if high - least <= (feature.step or 1.0):
            return f"{name} exactly {words.value_text(feature, least)}"
    if np.isfinite(low) and np.isfinite(high):
        return f"{name} from {words.value_text(feature, low, unit=False)} to below {words.value_text(feature, high)}"
    if np.isfinite(high):
        return f"{name} below {words.value_text(feature, high)}"
    return f"{name} at least {words.value_text(feature, low)}" if np.isfinite(low) else ""


def _levels(feature: Feature, name: str, parts: list[tuple[Condition, bool]]) -> str:
    index = np.arange(feature.n_levels, dtype=np.float64)
    left = np.ones(feature.n_levels, dtype=bool)
    for c, holds in parts:
        if c.kind != "missing":
            meets = index == c.value if c.kind == "is" else index < c.value
            if c.kind == "at least":
                meets = ~meets
            left &= meets == holds
    yes, no = np.flatnonzero(left), np.flatnonzero(~left)
    if not len(no):
        return ""

    def named(some: np.ndarray) -> str:
        shown = [words.quoted(words.level_words(feature, int(i))) for i in some]
        return " or ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)

    if len(yes) <= min(_NAMED, max(len(no), 1)):
        return f"{name} is {named(yes)}"
    if feature.ordered and no.max() < yes.min():
        return f"{name} is {named(yes[:1])} or higher"
    if feature.ordered and no.min() > yes.max():
        return f"{name} is {named(yes[-1:])} or lower"
    return f"{name} is not {named(no)}" if len(no) <= len(yes) else f"{name} is {named(yes)}"
