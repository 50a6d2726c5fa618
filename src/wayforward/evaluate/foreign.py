"""Rows from other tools, read leniently: what they return is judged, never refused."""

from __future__ import annotations

from typing import Any

import numpy as np

from wayforward.errors import DataError, numbers_in
from wayforward.schema import Feature, Schema, carried, read_frame
from wayforward.shapes import Floats


def read_rows(schema: Schema, table: Any, what: str) -> Floats:
    """A table or (n, d) array of profiles from anywhere -> (n, d) in feature units.

    A level that the schema does not know becomes -1 and a value that is no number becomes infinity, so that
    they are judged illegal later; a missing value becomes NaN. Numbers that came as text are read.

    Raises: DataError if a column is absent or an array has another width.
    """
    if isinstance(table, np.ma.MaskedArray):
        table = numbers_in(table, what)
    if isinstance(table, np.ndarray) and table.dtype.kind in "fiub":
        if table.ndim != 2 or table.shape[1] != schema.d:
            raise DataError(
                f"The {what} array has shape {table.shape}; it must be (n, {schema.d}), in feature units "
                "with level indices. Pass a table to use level names."
            )
        return table.astype(np.float64)
    frame = read_frame(table, what)
    absent = [name for name in schema.names if name not in frame.columns]
    if absent:
        raise DataError(f"The {what} table has no column '{absent[0]}'. Add it: a profile has every feature.")
    return np.stack([_column(frame[f.name].to_list(), f) for f in schema.features], axis=1)


def read_options(schema: Schema, after: Any, n: int) -> Floats:
    """Profiles for n people, one or several each -> (n, k, d).

    Takes an (n, d) or (n, k, d) array, a table with n rows, or a list of k such tables or arrays.
    """
    if isinstance(after, np.ndarray) and after.ndim == 3 and after.dtype.kind in "fiub":
        if after.shape[0] != n or after.shape[2] != schema.d:
            raise DataError(f"after has shape {after.shape}; it must be ({n}, k, {schema.d}).")
        return after.astype(np.float64)
    parts = list(after) if isinstance(after, (list, tuple)) else [after]
    if not parts:
        raise DataError(
            "after is an empty list. Give at least one table of profiles, NaN rows where not found."
        )
    rows = [read_rows(schema, part, "counterfactual") for part in parts]
    for part in rows:
        if len(part) != n:
            raise DataError(
                f"The counterfactual table has {len(part)} rows for {n} people. Give one row a person, in "
                "the same order, all missing where the tool found nothing."
            )
    return np.stack(rows, axis=1)


def inferred_action(schema: Schema, x: Floats, after: Floats) -> Floats:
    """The acts that profiles (n, k, d) stand for: each feature that differs is set; empty where not found.

    A row with a missing value where the schema allows none counts as not found, as tools mark it.
    """
    gone = np.isnan(after)
    not_found = gone.all(-1, keepdims=True) | (gone & ~schema.missing).any(-1, keepdims=True)
    moved = schema.differs(after, x[:, None, :])
    return np.where(moved & ~not_found, after, np.nan)


def _column(values: list[Any], feature: Feature) -> Floats:
    if feature.carried:
        return carried.keys_of(values, feature, "counterfactual", again=True)
    known: dict[Any, float] = {}  # each distinct value is looked up once
    out = np.empty(len(values))
    for i, value in enumerate(values):
        key = (type(value), value) if isinstance(value, (str, int, float, np.generic)) else None
        if key is None or key not in known:
            number = _one(value, feature)
            if key is not None:
                known[key] = number
            out[i] = number
        else:
            out[i] = known[key]
    return out


def _one(value: Any, feature: Feature) -> float:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return np.nan
    if isinstance(value, (float, np.floating)) and np.isnan(value):
        return np.nan
    if not feature.has_levels:
        try:
            return float(value)
        except (TypeError, ValueError):
            return np.inf
    for i, level in enumerate(feature.levels):
        if value == level:
            return float(i)
    # Tools hand numbers back as floats or as text.
    for i, level in enumerate(feature.levels):
        if str(value) == str(level) or _number(value) == _number(level):
            return float(i)
    return -1.0


def _number(value: Any) -> float:
    """A number for comparison; NaN, which equals nothing, for what is none."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return np.nan
