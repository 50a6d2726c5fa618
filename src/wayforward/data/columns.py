"""Short declarations of features, for the tables of data sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from wayforward.data.files import numbers, whole
from wayforward.public import public
from wayforward.schema import Bounds, Feature, Level

Words = Mapping[Any, str] | Sequence[Level]


@public
def number(
    name: str,
    label: str,
    low: float,
    high: float,
    *,
    kind: Literal["integer", "real"] = "integer",
    bounds: Bounds = "observed",
    **fields: Any,
) -> Feature:
    """Declare a number whose bounds were read off the rows, unless they are declared."""
    return Feature(name=name, kind=kind, label=label, low=low, high=high, bounds=bounds, **fields)


@public
def levels(
    name: str, label: str, kind: Literal["binary", "ordinal", "categorical"], words: Words, **fields: Any
) -> Feature:
    """Declare a feature with levels: raw value -> words for people, or the raw values alone."""
    texts = tuple(words.values()) if isinstance(words, Mapping) else ()
    return Feature(name=name, kind=kind, label=label, levels=tuple(words), level_labels=texts, **fields)


@public
def parsed(features: Sequence[Feature], raw: Mapping[str, np.ndarray], missing: str = "") -> dict[str, Any]:
    """Text columns of a file -> the values that a schema encodes; `missing` is the text of an unknown level."""

    def column(feature: Feature) -> Any:
        values = raw[feature.name]
        if not feature.has_levels:
            return numbers(values)
        if isinstance(feature.levels[0], str):
            return [None if value == missing else value for value in values.tolist()]
        return whole(values)

    return {feature.name: column(feature) for feature in features}
