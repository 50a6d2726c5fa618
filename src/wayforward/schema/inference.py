"""A feature read off a column of a table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from typing import Any

import numpy as np

from wayforward.errors import SchemaError, is_real, numbers_in
from wayforward.schema.feature import Feature, Kind

_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_MAX_LEVELS = 500
_PART = 50  # a least change is at most this part of the range in which the middle half of the different values lie
_MANY = 50  # different texts
_SENTENCE = 4  # words of a text that is no level
_SHARED = 3  # people who have a text that the schema may hold
_FEWEST = 20  # different values by which a spread can be told
_OFTEN = 20  # rows for each different value by which the values are known to be all that there are


def infer_feature(series: Any) -> Feature:
    """Return the feature that a narwhals column seems to be. Raises: SchemaError for one that cannot be a feature."""
    import narwhals.stable.v2 as nw

    name, dtype = series.name, series.dtype
    try:
        values = [v for v in series.drop_nulls().unique(maintain_order=False).to_list() if v == v]
    except TypeError:  # cells that nothing can be compared with, such as lists
        raise SchemaError(
            f"Column '{name}' holds cells that are no single values. Use text or numbers."
        ) from None
    gone = bool(series.is_null().any()) or (dtype.is_float() and bool(series.is_nan().any()))
    if not values:
        raise SchemaError(f"Column '{name}' has only missing values. Drop it.")
    if dtype.is_temporal() or all(isinstance(v, (date, time, timedelta)) for v in values):
        return _dates(series, values, gone)
    if dtype == nw.Boolean or all(isinstance(v, (bool, np.bool_)) for v in values):
        return Feature(name=name, kind="binary", levels=(False, True), missing=gone)
    if dtype.is_numeric():
        return _infer_number(name, np.asarray(values, dtype=np.float64), gone, len(series))
    kind: Kind = "categorical"
    levels: list[Any]
    if dtype in (nw.Enum, nw.Categorical):
        levels = list(series.cat.get_categories().to_list())
        native = nw.to_native(series)
        if getattr(getattr(native, "dtype", None), "ordered", False):
            kind = "ordinal"
    else:
        if not all(isinstance(v, (str, int, float, bool, np.generic)) for v in values):
            raise SchemaError(
                f"Column '{name}' holds {type(values[0]).__name__} objects. Use text or numbers."
            )
        if all(is_real(v) for v in values):
            return _infer_number(name, numbers_in(values, f"column '{name}'", SchemaError), gone, len(series))
        mixed = {type(v) for v in values}
        if len(mixed) > 1:
            raise SchemaError(
                f"Column '{name}' mixes {', '.join(sorted(t.__name__ for t in mixed))}. Make it one type."
            )
        levels = sorted(values)
    if dtype not in (nw.Enum, nw.Categorical) and (days := days_in(levels)):
        return replace(as_text(series, gone), example=_between(days).isoformat()[:10])
    if all(isinstance(level, str) for level in levels) and _are_own(levels, len(series)):
        return as_text(series, gone)
    if len(levels) > _MAX_LEVELS:
        raise SchemaError(
            f"Column '{name}' has {len(levels)} different levels. Group its values, or make them texts: then the "
            "model is given each person's own, and nobody acts on it."
        )
    if len(levels) == 2 and kind == "categorical":
        kind = "binary"
    return Feature(name=name, kind=kind, levels=tuple(levels), missing=gone)


def days_in(values: Iterable[Any]) -> list[date]:
    """Return the days that texts such as 2024-05-31 mean, as a table without types holds dates; [] if any is none."""
    try:
        days = [date.fromisoformat(text) if _DAY.fullmatch(text) else None for text in values]
    except (TypeError, ValueError):
        return []
    return [day for day in days if day is not None] if None not in days else []


def _between(days: Sequence[date]) -> date:
    """A day between the first and the last, which is nobody's in particular."""
    least, most = min(days), max(days)
    return least + (most - least) / 2


def _are_own(texts: list[str], rows: int) -> bool:
    """True for so many different texts, or such long ones, that they are names or sentences and no levels."""
    if len(texts) > _MAX_LEVELS or (len(texts) > _MANY and len(texts) > 0.9 * rows):
        return True
    sentences = sum(len(text.split()) for text in texts) >= _SENTENCE * len(texts)
    return sentences and (len(texts) > rows / 2 or len(texts) > _MANY)


def as_text(series: Any, gone: bool) -> Feature:
    """Return a column of texts as one that is carried; its example is a text of several people, or none."""
    kind = getattr(series.to_native(), "dtype", None)
    dtype = str(kind) if str(kind) in ("object", "str", "string") else ""
    common = series.drop_nulls().value_counts(sort=True).rows()[0]
    example = str(common[0]) if common[1] >= _SHARED else None
    return Feature(name=series.name, kind="carried", missing=gone, dtype=dtype, example=example)


def _dates(series: Any, values: list[Any], gone: bool) -> Feature:
    dtype, first = series.dtype, values[0]
    unit, zone = getattr(dtype, "time_unit", "us"), getattr(dtype, "time_zone", None)
    kind = "date" if isinstance(first, date) else "time"
    if isinstance(first, datetime):
        zone = zone or (str(first.tzinfo) if first.tzinfo else None)
        kind = f"datetime64[{unit}, {zone}]" if zone else f"datetime64[{unit}]"
    elif isinstance(first, timedelta):
        kind = f"timedelta64[{unit}]"
    example = None
    if isinstance(first, date):
        example = _between(values).isoformat()[:10]
    return Feature(name=series.name, kind="carried", missing=gone, dtype=kind, example=example)


def _infer_number(name: str, values: np.ndarray, gone: bool, rows: int) -> Feature:
    if np.isinf(values).any():
        raise SchemaError(f"Column '{name}' has an infinite value. Replace it with a number.")
    low, high = float(values.min()), float(values.max())
    if set(values.tolist()) <= {0.0, 1.0} and len(values) == 2:
        return Feature(name=name, kind="binary", levels=(0, 1), missing=gone)
    if (values == np.round(values)).all() and max(abs(low), abs(high)) < 2**52:
        least = least_change_of(values, 1.0, rows)
        return Feature(
            name=name, kind="integer", low=low, high=high, least_change=least, missing=gone, bounds="observed"
        )
    for decimals in range(1, 5):
        scaled = values * 10**decimals
        within = low == high or 10.0**-decimals <= (high - low) * (1 + 1e-9)  # else all would be one point
        if within and (np.abs(scaled - np.round(scaled)) < 1e-6).all():
            step: float | None = 10.0**-decimals
            break
    else:
        step = None
    least = least_change_of(values, step, rows)
    return Feature(
        name=name,
        kind="real",
        low=low,
        high=high,
        step=step,
        least_change=least,
        missing=gone,
        bounds="observed",
    )


def least_change_of(values: np.ndarray, step: float | None, rows: int) -> float | None:
    """Return a least change that people find worth an effort: a round number, a fiftieth of the middle half at most.

    values: the different ones among so many rows. Few of them that many people have are what there is: then it is at
    most the least gap between two of them. 1, 2 or 5 times a power of ten; None where a step is as much, or where the
    values are too few or too alike to say.
    """
    spread = 0.0
    if len(values) >= _FEWEST:
        spread = float(np.subtract(*np.quantile(values, (0.75, 0.25)))) / _PART
    elif len(values) > 2 and rows >= _OFTEN * len(values):
        spread = float(np.diff(np.sort(values)).min())
    if spread <= 0.0:
        return None
    tens = 10.0 ** np.floor(np.log10(spread))
    least = float(max(share for share in (1.0, 2.0, 5.0) if share <= spread / tens * (1 + 1e-9)) * tens)
    least = float(f"{least:.6g}")
    if step is None:
        return least
    least = round(least / step) * step
    return float(f"{least:.12g}") if least > step * (1 + 1e-9) else None
