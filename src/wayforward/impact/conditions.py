"""Conditions that people can read, such as: savings below 500 EUR. Found in a table, asked of any rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from wayforward.answers import words
from wayforward.language import N_, Translatable, gettext
from wayforward.schema import Feature, Schema

Kind = Literal["is", "is not", "below", "at least", "missing"]
_LEVELS = 12  # of a category with more levels, the most frequent are tried
_CUTS = (0.2, 0.4, 0.6, 0.8)
_ROUNDING = 1e-12  # six steps of 0.3 are a little less than 1.8, and nobody calls that "below 1.8"


@dataclass(frozen=True)
class Condition:
    """One condition about one feature. feature: its position; value: a cut or the position of a level."""

    feature: int
    kind: Kind
    value: float
    text: str

    def holds(self, x: np.ndarray) -> np.ndarray:
        """Return who meets it, (n, d) -> (n,) bool; a missing value meets 'missing' only."""
        column = x[:, self.feature]
        if self.kind == "missing":
            return np.asarray(np.isnan(column))
        with np.errstate(invalid="ignore"):
            if self.kind == "is":
                return np.asarray(column == self.value)
            if self.kind == "is not":
                return np.asarray((column != self.value) & ~np.isnan(column))
            below = column < self.value - _ROUNDING * abs(self.value)
            return np.asarray(below if self.kind == "below" else ~below & ~np.isnan(column))

    def to_dict(self, schema: Schema) -> dict[str, object]:
        """Plain values for JSON: the feature's name, what is asked of it, and the words."""
        feature = schema.features[self.feature]
        value: object = None if self.kind == "missing" else self.value
        if self.kind in ("is", "is not"):
            value = feature.levels[int(self.value)]
        return {"feature": feature.name, "kind": self.kind, "value": value, "text": self.text}


def conditions_of(
    schema: Schema, x: np.ndarray, *, cuts: tuple[float, ...] = _CUTS, features: np.ndarray | None = None
) -> list[Condition]:
    """Conditions that split the people x (n, d): frequent levels, round cuts near quantiles, and missing values.

    features (d,) bool: only about these. Conditions that nobody or everybody meets are left out.
    """
    out = []
    for j, feature in enumerate(schema.features):
        if feature.carried or (features is not None and not features[j]):
            continue
        column = x[:, j]
        out.append(condition(feature, j, "missing", np.nan))
        seen = column[np.isfinite(column)]
        if not seen.size:
            continue
        if feature.has_levels:
            levels, counts = np.unique(seen, return_counts=True)
            for level in levels[np.argsort(-counts, kind="stable")][:_LEVELS]:
                out.append(condition(feature, j, "is", float(level)))
            continue
        for cut in np.unique(np.quantile(seen, cuts)):
            edge = readable(float(cut), whole=feature.kind == "integer")
            out += [condition(feature, j, "below", edge), condition(feature, j, "at least", edge)]
    return [one for one in out if 0 < int(one.holds(x).sum()) < len(x)]


_WORDS = {
    "is": N_("{name} is {value}"),
    "is not": N_("{name} is not {value}"),
    "below": N_("{name} below {value}"),
    "at least": N_("{name} at least {value}"),
    "missing": N_("{name} not stated"),
}


def condition(feature: Feature, j: int, kind: Kind, value: float) -> Condition:
    """Return a condition about a feature, which is at position j."""
    return Condition(j, kind, value, Translatable(lambda: condition_text(feature, kind, value)))


def condition_text(feature: Feature, kind: Kind, value: float) -> str:
    """Return a condition in words, such as: savings below 500 EUR."""
    shown = "" if kind == "missing" else words.value_text(feature, value)
    if feature.has_levels and shown:
        shown = words.quoted(words.level_words(feature, value))
    return gettext(_WORDS[kind], name=words.label(feature), value=shown)


def readable(value: float, whole: bool) -> float:
    """Return a cut that people can say: about three digits, whole where the feature is."""
    decimals = words.about(value, 3)
    if abs(value) >= 1000:
        size = 10.0 ** (np.floor(np.log10(abs(value))) - 2)
        return float(np.round(value / size) * size)
    return float(np.round(value, 0 if whole else decimals))
