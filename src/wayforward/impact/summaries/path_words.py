"""The conditions on the way to a leaf in as few words as they need: "below 5" and "below 3" is "below 3"."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wayforward.answers import words
from wayforward.impact.conditions import Condition, condition_text
from wayforward.language import gettext
from wayforward.schema import Feature, Schema

_NAMED = 3  # levels that are named one by one


def path_words(schema: Schema, path: Sequence[tuple[Condition, bool]]) -> tuple[str, ...]:
    """Return one phrase a feature, in the language in use, for conditions that hold or (False) do not, in the order
    of the path."""
    by_feature: dict[int, list[tuple[Condition, bool]]] = {}
    for condition, holds in path:
        by_feature.setdefault(condition.feature, []).append((condition, holds))
    return tuple(_phrase(schema.features[j], parts) for j, parts in by_feature.items())


def _phrase(feature: Feature, parts: list[tuple[Condition, bool]]) -> str:
    stated = any((c.kind == "missing") != holds for c, holds in parts)  # a missing value meets 'missing' only
    name = words.label(feature)
    if any(c.kind == "missing" and holds for c, holds in parts):
        return gettext("{name} not stated", name=name)
    text = _levels(feature, name, parts) if feature.has_levels else _range(feature, name, parts)
    if not text:
        return gettext("{name} stated", name=name) if stated else name
    return text if stated or not feature.missing else gettext("{text}, or not stated", text=text)


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
            return gettext("{name} exactly {value}", name=name, value=words.value_text(feature, least))
    if np.isfinite(low) and np.isfinite(high):
        return gettext(
            "{name} from {low} to below {high}",
            name=name, low=words.value_text(feature, low, unit=False), high=words.value_text(feature, high),
        )  # fmt: skip
    if np.isfinite(high):
        return condition_text(feature, "below", high)
    return condition_text(feature, "at least", low) if np.isfinite(low) else ""


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
        if len(shown) < 2:
            return "".join(shown)
        return gettext("{first} or {last}", first=", ".join(shown[:-1]), last=shown[-1])

    if len(yes) <= min(_NAMED, max(len(no), 1)):
        return gettext("{name} is {value}", name=name, value=named(yes))
    if feature.ordered and no.max() < yes.min():
        return gettext("{name} is {value} or higher", name=name, value=named(yes[:1]))
    if feature.ordered and no.min() > yes.max():
        return gettext("{name} is {value} or lower", name=name, value=named(yes[-1:]))
    if len(no) <= len(yes):
        return gettext("{name} is not {value}", name=name, value=named(no))
    return gettext("{name} is {value}", name=name, value=named(yes))
