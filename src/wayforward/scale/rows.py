"""People of a shard as numbers: whoever cannot be read is set aside with the reason, and the others go on."""

from __future__ import annotations

from typing import Any

import numpy as np

from wayforward.scale.sources import PROBLEM
from wayforward.schema import Feature, Schema, carried
from wayforward.schema.tables import legible

_MISSING = frozenset(("", "NA", "N/A", "n/a", "NaN", "nan", "-nan", "NULL", "null", "None", "<NA>", "#N/A"))
_YES_NO = {True: ("True", "true", "TRUE"), False: ("False", "false", "FALSE")}


def encode_shard(schema: Schema, table: Any, *, text: bool) -> tuple[np.ndarray, dict[int, str]]:
    """Return the rows (n, d) of an Arrow table, NaN where one cannot be read, and why: row number -> reason.

    text: the values are as a CSV file has them. A reason names the column and the value at fault, nothing else.
    """
    n, table = table.num_rows, legible(table)
    reasons: dict[int, str] = {}
    if PROBLEM in table.column_names:
        given = table.column(PROBLEM).to_pylist()
        reasons = {i: reason for i, reason in enumerate(given) if reason is not None}
    good = np.array([i for i in range(n) if i not in reasons], dtype=np.int64)
    x = np.full((n, schema.d), np.nan)
    if good.size:
        columns = {f.name: _values(table.column(f.name).take(good), f, text) for f in schema.features}
        x[good], odd = schema.read(columns)
        reasons |= {int(good[i]): reason for i, reason in odd.items()}
    return x, reasons


def encode_column(feature: Feature, column: Any) -> np.ndarray:
    """(n,) numbers of a feature from an Arrow column that `Schema.decode` made; NaN where it is null."""
    if feature.carried:
        return carried.keys_of(column.to_pylist(), feature, "saved", again=True)
    if not feature.has_levels:
        return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)
    code: dict[Any, float] = {level: float(i) for i, level in enumerate(feature.levels)}
    code |= {str(level): float(i) for i, level in enumerate(feature.levels)} | {None: np.nan}
    return np.array([code[value] for value in column.to_pylist()], dtype=np.float64)


def _values(column: Any, feature: Feature, text: bool) -> Any:
    """Return the column as `Schema.encode` takes it: numbers, or a list of levels, None where missing."""
    if not text:
        if feature.has_levels or feature.carried:
            return column.to_pylist()
        kind = str(column.type)
        plain = kind.startswith(("int", "uint", "float", "double", "bool", "half"))
        return column.to_numpy(zero_copy_only=False) if plain else np.array(column.to_pylist(), dtype=object)
    texts = [value.strip() for value in column.to_pylist()]
    if feature.carried:
        return [None if value in _MISSING else value for value in texts]
    if feature.has_levels:
        known = _level_texts(feature)
        return [known.get(value, None if value in _MISSING else value) for value in texts]
    try:
        return np.array([np.nan if value in _MISSING else float(value) for value in texts])
    except ValueError:
        return np.array([_number(value) for value in texts], dtype=object)


def _number(text: str) -> Any:
    try:
        return np.nan if text in _MISSING else float(text)
    except ValueError:
        return text


def _level_texts(feature: Feature) -> dict[str, Any]:
    """How each level may be written in a file."""
    known: dict[str, Any] = {}
    for level in feature.levels:
        if isinstance(level, bool):
            known |= dict.fromkeys(_YES_NO[level], level)
        elif isinstance(level, (int, float)):
            known |= dict.fromkeys((f"{float(level)}", f"{float(level):g}"), level)
        known[str(level)] = level
    return known
