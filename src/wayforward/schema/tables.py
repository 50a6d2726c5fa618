"""Tables of pandas, polars and pyarrow, mappings and arrays -> numbers of features, and back."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.errors import DataError, did_you_mean, suggest
from wayforward.schema import carried
from wayforward.schema.feature import Feature

if TYPE_CHECKING:
    from wayforward.schema.schema import Schema

_SPELLED = re.compile(
    r"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*", re.ASCII
)  # a number as text, in plain digits
_FEW = 8  # people in a table that is read row by row


class SchemaWarning(UserWarning):
    """Something about a table that a careful user would want to know, and that does not stop the work."""


def encode(schema: Schema, table: Any, what: str) -> np.ndarray:
    """Return (n, d) numbers in feature units, checked; arguments and errors as of `Schema.encode`."""
    given = isinstance(table, np.ndarray)
    x = numbers_of(schema.d, table, what) if given else _encode_table(schema.features, table, what)
    # all at once first: only where something is amiss, feature by feature to say what
    if not all_inside(schema, x):
        for j, feature in enumerate(schema.features):
            check_values(x[:, j], feature, what)
        warn_of_wider(schema, x, what)
    return x


def all_inside(schema: Schema, x: np.ndarray) -> bool:
    """True if every value is there or may be missing, within its bounds, and a whole number where it is a level."""
    gone = np.isnan(x)
    with np.errstate(invalid="ignore"):
        good = (x >= schema.low) & (x <= schema.high) & ((x == np.round(x)) | ~schema.has_levels)
    good &= x != np.inf  # an open bound lets it through
    good &= x != -np.inf
    return bool((good | (gone & schema.missing)).all())


def _encode_table(features: Sequence[Feature], table: Any, what: str) -> np.ndarray:
    columns, n = columns_of(features, table, what)
    x = np.empty((n, len(features)))
    for j, feature in enumerate(features):
        x[:, j] = encode_column(columns[feature.name], feature, what)
    return x


def columns_of(features: Sequence[Feature], table: Any, what: str) -> tuple[Any, int]:
    """Return the columns of a table by name, and its number of rows. Raises: DataError for another table."""
    if isinstance(table, Mapping):
        table = {k: v if isinstance(v, (list, tuple, np.ndarray)) else [v] for k, v in table.items()}
        columns: Any = table
        names = list(table)
        n = len(next(iter(table.values()), []))
    else:
        frame = read_frame(as_table(table, [feature.name for feature in features]), what)
        columns, names, n = frame, frame.columns, len(frame)
        if 0 < n <= _FEW:  # row by row costs a tenth of one column object after the other
            rows = _rows_of(frame.to_native(), n) or frame.rows()
            columns = {
                name: list(values) for name, values in zip(names, zip(*rows, strict=True), strict=True)
            }
    there = set(names)
    absent = [feature.name for feature in features if feature.name not in there]
    if absent:
        raise DataError(
            f"The {what} table has no column '{absent[0]}'"
            + (f" (nor {len(absent) - 1} more: {', '.join(absent[1:6])})" if absent[1:] else "")
            + f".{suggest(absent[0], names)} Add the column, or drop the feature with schema.drop."
        )
    if n == 0:
        raise DataError(f"The {what} table has no rows. Give at least one person.")
    return columns, n


def numbers_of(d: int, array: np.ndarray, what: str) -> np.ndarray:
    """Return a copy of an array (n, d) as numbers. Raises: DataError for another shape or type."""
    if array.ndim != 2 or array.shape[1] != d:
        raise DataError(
            f"The {what} array has shape {array.shape}; the schema has {d} features, so it must be "
            f"(n, {d}), in feature units with level indices."
        )
    if array.shape[0] == 0:
        raise DataError(f"The {what} array has no rows. Give at least one person.")
    try:
        return np.array(array, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"The {what} array holds {array.dtype} values. Give numbers, or a table.") from error


def encode_column(column: Any, feature: Feature, what: str) -> np.ndarray:
    """Return the numbers (n,) of a column. Raises: DataError for the first value that is none."""
    if not (feature.has_levels or feature.carried):
        return _numbers(column, feature, what)
    if isinstance(column, (list, tuple)):
        values = column
    else:
        values = column.to_list() if hasattr(column, "to_list") else list(column)
    if feature.carried:
        return carried.keys_of(values, feature, what)
    code = _codes(feature.levels)
    try:
        found = [code.get(value, -1.0) for value in values]
    except TypeError as error:
        raise DataError(f"Column '{feature.name}' of the {what} table holds lists or objects.") from error
    if -1.0 in found:  # usually not: float NaN, pandas NA, numpy scalars and text that spells a number
        found = [
            _level_of(value, feature, code) if index == -1.0 else index
            for value, index in zip(values, found, strict=True)
        ]
    if -1.0 in found:
        i = found.index(-1.0)
        known = ", ".join(repr(level) for level in feature.levels[:8])
        known += ", ..." if feature.n_levels > 8 else ""
        hint = did_you_mean(str(values[i]), [str(level) for level in feature.levels])
        raise DataError(
            f"Column '{feature.name}' of the {what} table has the value {values[i]!r} in row {i}, which is not "
            f"one of its levels ({known}).{hint} Correct it, or add the level to the schema and refit the model."
        )
    return np.array(found, dtype=np.float64)


def _rows_of(table: Any, n: int) -> list[list[Any]] | None:
    """The rows of a pandas table of values of several kinds; None for any other table."""
    if not hasattr(table, "iloc"):
        return None
    rows = [table.iloc[i] for i in range(n)]
    return [row.to_list() for row in rows] if rows[0].dtype == object else None


@lru_cache(maxsize=4096)
def _codes(levels: tuple[Any, ...]) -> dict[Any, float]:
    """Each level and its index, NaN for None; not to be changed. Equal levels share one: (0, 1) and (False, True)."""
    return {level: float(i) for i, level in enumerate(levels)} | {None: math.nan}


def faults(value: np.ndarray, feature: Feature) -> np.ndarray:
    """(n,) bool: values of a feature that cannot be: missing where none may be, no level, outside declared bounds."""
    gone = np.isnan(value)
    wrong = np.isinf(value) | (gone & (not feature.missing))
    if feature.has_levels:
        return np.asarray(
            wrong | (~gone & ((value < 0) | (value >= feature.n_levels) | (value != np.round(value))))
        )
    return np.asarray(wrong | (_outside(value, feature) if feature.bounds == "declared" else False))


def _bounds(feature: Feature) -> tuple[float, float]:
    return (
        -math.inf if feature.low is None else feature.low,
        math.inf if feature.high is None else feature.high,
    )


def _outside(value: np.ndarray, feature: Feature) -> np.ndarray:
    """(n,) bool: beyond the bounds of a number, rounding aside."""
    low, high = _bounds(feature)
    slack = 1e-9 * feature.span
    outside = (value < low - slack) | (value > high + slack)
    return np.asarray(outside & ~np.isin(value, list(feature.special_words)) if feature.special else outside)


def _edge(feature: Feature) -> str:
    low, high = _bounds(feature)
    return f"{low:g} to {high:g} {feature.unit}".strip()


def check_values(value: np.ndarray, feature: Feature, what: str) -> None:
    """Raise DataError for the first value (n,) that cannot be."""
    wrong = faults(value, feature)
    if not wrong.any():
        return
    i = int(np.argmax(wrong))
    column = f"Column '{feature.name}' of the {what} table"
    if np.isnan(value[i]):
        raise DataError(
            f"{column} has a missing value in row {i}. Fill it in, or, if the model accepts missing values, "
            f"revise the schema: {feature.name}={{'missing': 'stays'}}."
        )
    if np.isinf(value[i]):
        raise DataError(f"{column} has an infinite value in row {i}. Replace it with a number.")
    if feature.has_levels:
        raise DataError(
            f"{column} has {value[i]:g} in row {i}; a level index must be a whole number from 0 to "
            f"{feature.n_levels - 1}. Give the table itself to use level names."
        )
    raise DataError(
        f"{column} has the value {value[i]:g} in row {i}, outside {_edge(feature)}. Correct the value, or widen the "
        "schema with revise."
    )


def warn_of_wider(schema: Schema, x: np.ndarray, what: str) -> None:
    """Warn of values (n, d) beyond bounds that were only seen in a table: they widen for whoever stands there."""
    for j, feature in enumerate(schema.features):
        if feature.has_levels or feature.bounds == "declared":
            continue
        value = x[:, j]
        outside = _outside(value, feature)
        if not outside.any():
            continue
        far = np.maximum(schema.low[j] - value, value - schema.high[j]) > feature.span
        unit = " Some are far outside: check the unit." if far[outside].any() else ""
        warnings.warn(
            f"Column '{feature.name}' of the {what} table has {int(outside.sum())} value(s) outside what was observed "
            f"({_edge(feature)}). They are kept; no advice leads outside.{unit} Widen the schema with revise if it "
            "may.",
            SchemaWarning,
            stacklevel=5,
        )


def as_table(table: Any, names: Sequence[str] = ()) -> Any:
    """Return a row of a pandas table (a Series over its columns) as a table, and numbered columns as texts.

    names: the columns of a row; one over numbers is a row only if these are they, as it may be a column as well.
    """
    row = type(table).__name__ == "Series" and hasattr(table, "to_frame") and hasattr(table, "index")
    if row and (
        _named_by_text(table.index)
        or (len(table) == len(names) and {str(name) for name in table.index} == set(names))
    ):
        table = table.to_frame().T.infer_objects()
    if not (hasattr(table, "iloc") and hasattr(table, "columns")) or _named_by_text(table.columns):
        return table
    plain = all(isinstance(name, (int, str, np.integer)) for name in table.columns)
    return table.rename(columns=str) if plain else table


def _named_by_text(index: Any) -> bool:
    return all(isinstance(name, str) for name in index)


def read_frame(table: Any, what: str) -> Any:
    """Return a narwhals frame of any table whose columns have one text name each. Raises: DataError."""
    import narwhals.stable.v2 as nw

    table = as_table(table)
    try:
        frame = nw.from_native(table, eager_only=True)
    except TypeError:
        if type(table).__name__ == "Series":
            raise DataError(
                f"The {what} table is a Series, which is no table. For one person, give a dict (series.to_dict()) or a "
                "table of one row, such as table.iloc[[3]]."
            ) from None
        raise DataError(
            f"The {what} table is a {type(table).__name__}. Give a pandas, polars or pyarrow table, or an array."
        ) from None
    except Exception as error:  # narwhals refuses double names with an error of the table library
        raise DataError(f"The {what} table cannot be read: {error}") from None
    names = list(frame.columns)
    unnamed = [name for name in names if not isinstance(name, str)]
    if unnamed:
        raise DataError(
            f"The {what} table has a column named {unnamed[0]!r}, which is not a text. Give every column a text name, "
            "for example with table.rename(columns=str)."
        )
    double = [name for name in names if names.count(name) > 1]
    if double:
        raise DataError(f"The {what} table has the column '{double[0]}' twice. Rename or drop one of them.")
    return frame


def _numbers(column: Any, feature: Feature, what: str) -> np.ndarray:
    raw = np.asarray(column if isinstance(column, (list, tuple, np.ndarray)) else column.to_numpy())
    if raw.dtype.kind in "fiub":
        return raw.astype(np.float64)
    if isinstance(column, (list, tuple)):  # as it was given: NumPy makes texts of all where one is a text
        raw = np.array(column, dtype=object)
    out = np.empty(len(raw))
    for i, value in enumerate(raw):
        if value is None or value is np.ma.masked or type(value).__name__ in ("NAType", "NaTType"):
            out[i] = np.nan
            continue
        try:
            if isinstance(value, str) and not _SPELLED.fullmatch(value):
                raise ValueError
            out[i] = float(value)
        except (TypeError, ValueError):
            raise DataError(
                f"Column '{feature.name}' of the {what} table has {value!r} in row {i}; it must be a number"
                + (f" ({feature.unit})" if feature.unit else "")
                + ". Correct it, or revise the feature to kind='categorical'."
            ) from None
    return out


def _level_of(value: Any, feature: Feature, code: dict[Any, float]) -> float:
    """Index of a value that a plain look-up missed; NaN for a missing value, -1 for an unknown one."""
    if type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and math.isnan(value)):
        return math.nan
    if isinstance(value, np.generic):
        return code.get(value.item(), -1.0)
    if isinstance(value, str):  # a column of a file is text as soon as one of its cells is
        spelled = [
            str(level) for level in feature.levels
        ]  # not those of `code`: it may be that of equal levels
        if value.strip() in spelled:
            return float(spelled.index(value.strip()))
        return code.get(float(value), -1.0) if _SPELLED.fullmatch(value) else -1.0
    return -1.0


def table_library(like: Any) -> str:
    """Return the name of the library that `like` names or comes from; None: the first installed, or 'dict'."""
    if like is None:
        return _first_library()
    return like if isinstance(like, str) else str(type(like).__module__.split(".")[0])


@cache
def _first_library() -> str:
    from importlib.util import find_spec

    return next((lib for lib in ("pandas", "polars", "pyarrow") if find_spec(lib)), "dict")


def native_table(columns: dict[str, Any], like: Any, *, copy: bool = True) -> Any:
    """Columns -> a table of the library that `like` names or comes from; None: of the first installed.

    copy=False: a pandas table takes the columns as they are.
    """
    like = table_library(like)
    if like == "pandas":
        import pandas as pd

        return pd.DataFrame(columns, copy=copy)
    if like == "polars":
        import polars as pl

        return pl.DataFrame(
            {k: v.tolist() if v.dtype == object else v for k, v in columns.items()}, nan_to_null=True
        )
    if like == "pyarrow":
        import pyarrow as pa

        return pa.table({k: pa.array(v, from_pandas=True) for k, v in columns.items()})
    if like == "dict":
        return columns
    raise DataError(f"decode knows 'pandas', 'polars', 'pyarrow' and 'dict'; got {like!r}.")


def all_whole(value: np.ndarray) -> bool:
    """Return whether every number is a whole one of 64 bits, none missing: a fraction that somebody has stays."""
    return bool(((value == np.trunc(value)) & (np.abs(value) < 2.0**63)).all())


def decode_column(value: np.ndarray, feature: Feature) -> np.ndarray:
    """Return (n,) values as the table holds them: levels for indices, None for missing ones."""
    if feature.carried:
        return carried.array_of(value, feature)
    gone = np.isnan(value)
    if not feature.has_levels:
        return value.astype(np.int64) if feature.kind == "integer" and all_whole(value) else value
    kinds = {type(level) for level in feature.levels}
    plain = len(kinds) == 1 and kinds <= {bool, int, float}
    index = np.where(gone, 0, value).astype(np.int64)
    if plain and not gone.any():
        return np.array(feature.levels)[index]
    out = np.array(feature.levels, dtype=object)[index]
    if gone.any():
        out[gone] = None
    return out
