"""Tables of pandas, polars and pyarrow, mappings and arrays -> numbers of features, and back."""

from __future__ import annotations

import math
import re
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.errors import DataError, did_you_mean, shown, suggest
from wayforward.schema.carried import array_of, keys_of
from wayforward.schema.feature import Feature

if TYPE_CHECKING:
    from wayforward.schema.schema import Schema

_SPELLED = re.compile(
    r"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*", re.ASCII
)  # a number as text, in plain digits
_NO_NUMBERS = (complex, np.complexfloating, np.datetime64, np.timedelta64, bytes, bytearray, np.ndarray)
_FEW = 8  # people in a table that is read row by row


class SchemaWarning(UserWarning):
    """Something about a table that a careful user would want to know, and that does not stop the work."""


def encode(schema: Schema, table: Any, what: str) -> np.ndarray:
    """Return (n, d) numbers in feature units, checked; arguments and errors as of `Schema.encode`."""
    if isinstance(table, np.ndarray) and table.dtype != object:
        x = numbers_of(schema.d, table, what)
    else:
        columns, n, read = columns_and_reader(schema.features, table, what)
        x = np.empty((n, schema.d))
        for j, feature in enumerate(schema.features):
            x[:, j] = read(columns[feature.name], feature, what)
    # all at once first: only where something is amiss, feature by feature to say what
    if not all_inside(schema, x):
        for j, feature in enumerate(schema.features):
            check_values(x[:, j], feature, what)
        warn_of_odd_values(schema, x, what)
    return x


def all_inside(schema: Schema, x: np.ndarray) -> bool:
    """True if every value is there or may be missing, within its bounds, and whole where it must be."""
    gone = np.isnan(x)
    with np.errstate(invalid="ignore"):
        good = (x >= schema.low) & (x <= schema.high) & ((x == np.round(x)) | ~schema.integral)
    good &= x != np.inf  # an open bound lets it through
    good &= x != -np.inf
    return bool((good | (gone & schema.missing)).all())


Reader = Callable[[Any, Feature, str], np.ndarray]  # a column of a table -> (n,) numbers


def columns_and_reader(features: Sequence[Feature], table: Any, what: str) -> tuple[Any, int, Reader]:
    """Return the columns of a table by name, its number of rows, and what reads a column.

    An array of objects has numbers and level indices, as any array. Raises: DataError for another table.
    """
    if not isinstance(table, np.ndarray):
        return *columns_of(features, table, what), encode_column
    check_shape(len(features), table, what)
    return (
        {feature.name: column for feature, column in zip(features, table.T, strict=True)},
        len(table),
        _numbers,
    )


def columns_of(features: Sequence[Feature], table: Any, what: str) -> tuple[Any, int]:
    """Return the columns of a table by name, and its number of rows. Raises: DataError for another table."""
    if isinstance(table, Mapping):
        columns, n = _of_mapping(features, table, what)
        names = list(table)
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


def _of_mapping(
    features: Sequence[Feature], table: Mapping[Any, Any], what: str
) -> tuple[dict[Any, Any], int]:
    """The columns of a mapping that features have, and how many people; values alone are those of one person.

    Raises: DataError for columns of unlike lengths: nobody's value is repeated for others.
    """
    columns = {name: _as_column(table[name]) for name in (f.name for f in features) if name in table}
    alone = [name for name, column in columns.items() if column is None]
    counts = {name: len(column) for name, column in columns.items() if column is not None}
    n = max(counts.values(), default=1 if table else 0)
    if alone and n != 1:
        first = next(iter(counts))
        raise DataError(
            f"Column '{alone[0]}' of the {what} table has one value, {shown(table[alone[0]])}, beside "
            f"{counts[first]} of '{first}'. Give one value a person."
        )
    short = next((name for name, count in counts.items() if count != n), None)
    if short is not None:
        longest = next(name for name, count in counts.items() if count == n)
        raise DataError(
            f"Column '{short}' of the {what} table has {counts[short]} values; '{longest}' has {n}. Give one value a "
            "person in each."
        )
    return columns | {name: [table[name]] for name in alone}, n


def _as_column(value: Any) -> Any:
    """A list, tuple or array of cells; None for a value that is no column. Masked cells are missing ones."""
    if isinstance(value, (list, tuple)):
        return value
    if isinstance(value, np.ndarray):
        if value.ndim == 0:
            return None
        if isinstance(value, np.ma.MaskedArray):
            return _filled(value) if value.dtype.kind in "fiub" else value.tolist()
        return value
    if type(value).__name__ in ("Series", "Index") and hasattr(value, "to_list"):
        return value.to_list()
    return value.to_pylist() if hasattr(value, "to_pylist") else None


def _filled(array: np.ndarray) -> np.ndarray:
    """Numbers as floats; masked ones are missing."""
    return np.ma.filled(np.ma.asarray(array, dtype=np.float64), np.nan)


def check_shape(d: int, array: np.ndarray, what: str) -> None:
    """Raises: DataError unless the array has d columns and some rows."""
    if array.ndim != 2 or array.shape[1] != d:
        raise DataError(
            f"The {what} array has shape {array.shape}; the schema has {d} features, so it must be "
            f"(n, {d}), in feature units with level indices."
        )
    if array.shape[0] == 0:
        raise DataError(f"The {what} array has no rows. Give at least one person.")


def numbers_of(d: int, array: np.ndarray, what: str) -> np.ndarray:
    """Return a copy of an array (n, d) as numbers, NaN where masked. Raises: DataError for another shape or type."""
    check_shape(d, array, what)
    try:
        if array.dtype.kind in "cmMV":  # NumPy would drop a part, or count seconds
            raise TypeError
        return _filled(array) if isinstance(array, np.ma.MaskedArray) else np.array(array, dtype=np.float64)
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
        return keys_of(values, feature, what)
    code = _codes(feature.levels)
    try:
        found = [code.get(value, -1.0) for value in values]
    except (TypeError, ValueError):  # so says a time difference of NumPy without a unit
        i = next(i for i, value in enumerate(values) if not _hashable(value))
        raise DataError(
            f"Column '{feature.name}' of the {what} table has {shown(values[i])} in row {i}, which is no value of one "
            "cell. Give one of its levels."
        ) from None
    if -1.0 in found:  # usually not: float NaN, pandas NA, numpy scalars and text that spells a number
        found = [
            _level_of(value, feature, code) if index == -1.0 else index
            for value, index in zip(values, found, strict=True)
        ]
    if -1.0 in found:
        i = found.index(-1.0)
        known = ", ".join(repr(level) for level in feature.levels[:8])
        known += ", ..." if feature.n_levels > 8 else ""
        word = values[i] if isinstance(values[i], str) else shown(values[i])
        hint = did_you_mean(word, [str(level) for level in feature.levels]) if len(word) < 80 else ""
        raise DataError(
            f"Column '{feature.name}' of the {what} table has the value {shown(values[i])} in row {i}, which is not "
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


def warn_of_odd_values(schema: Schema, x: np.ndarray, what: str) -> None:
    """Warn of values (n, d) that are kept as they are: beyond bounds that were only seen, and parts of an integer."""
    for j, feature in enumerate(schema.features):
        if feature.kind == "integer":
            value = x[:, j]
            parts = np.flatnonzero(np.isfinite(value) & (value != np.round(value)))
            if parts.size:
                warnings.warn(
                    f"Column '{feature.name}' of the {what} table has {parts.size} value(s) with a fraction, such as "
                    f"{value[parts[0]]:g}, where the schema has whole numbers. They are kept; advice leads to whole "
                    f"ones. Correct them, or revise the schema: {feature.name}={{'kind': 'real'}}.",
                    SchemaWarning,
                    stacklevel=5,
                )
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


def legible(table: Any) -> Any:
    """Return an Arrow table whose texts are UTF-8, any other table as it is.

    What is no UTF-8 is replaced, so that it is no level: one odd cell stops nobody else. Raises: DataError for a broken
    column.
    """
    if not (type(table).__module__.startswith("pyarrow") and hasattr(table, "set_column")):
        return table
    for i, name in enumerate(table.column_names):
        column = table.column(i)
        if (fixed := legible_column(column, name)) is not column:
            table = table.set_column(i, name, fixed)
    return table


def legible_column(column: Any, name: str) -> Any:
    """Return an Arrow column whose texts are UTF-8; see `legible`."""
    import pyarrow as pa

    try:
        column.validate(full=True)
        return column
    except pa.ArrowInvalid:
        pass
    try:
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        raw = column.cast(pa.large_binary() if pa.types.is_large_string(column.type) else pa.binary())
        raw.validate(full=True)
    except (pa.ArrowException, ValueError) as error:
        raise DataError(f"Column '{name}' cannot be read: {error}. Write the table anew.") from None
    return pa.array(
        [None if v is None else v.decode("utf-8", "replace") for v in raw.to_pylist()], pa.string()
    )


def read_frame(table: Any, what: str) -> Any:
    """Return a narwhals frame of any table whose columns have one text name each. Raises: DataError."""
    import narwhals.stable.v2 as nw

    table = legible(as_table(table))
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
        several = isinstance(unnamed[0], tuple)  # of a MultiIndex, whose names `rename` leaves tuples
        way = (
            'table.columns = [" ".join(map(str, name)) for name in table.columns]'
            if several
            else "table.rename(columns=str)"
        )
        raise DataError(
            f"The {what} table has a column named {unnamed[0]!r}, which is not a text. Give every column a text name, "
            f"for example with {way}."
        )
    double = [name for name, count in Counter(names).items() if count > 1]
    if double:
        raise DataError(f"The {what} table has the column '{double[0]}' twice. Rename or drop one of them.")
    return frame


def _numbers(column: Any, feature: Feature, what: str) -> np.ndarray:
    if isinstance(column, np.ndarray):
        raw = column
    elif isinstance(column, (list, tuple)):
        if any(value is np.ma.masked for value in column):  # NumPy would take its hidden nought
            column = [None if value is np.ma.masked else value for value in column]
        try:
            raw = np.asarray(column)
        except ValueError:  # lists of unlike lengths
            raw = np.empty(0, dtype=object)
    else:
        raw = np.asarray(column.to_numpy())
    if raw.dtype.kind in "fiub" and raw.ndim == 1:
        return raw.astype(np.float64)
    if raw.ndim != 1 and not isinstance(column, (list, tuple, np.ndarray)):
        column = column.to_list()
    cells = column if isinstance(column, (list, tuple)) else list(raw if raw.ndim == 1 else column)
    out = np.empty(
        len(cells)
    )  # cell by cell, as they were given: NumPy makes texts of all where one is a text
    for i, value in enumerate(cells):
        if value is None or type(value).__name__ in ("NAType", "NaTType"):
            out[i] = np.nan
            continue
        try:
            if isinstance(value, _NO_NUMBERS) or (isinstance(value, str) and not _SPELLED.fullmatch(value)):
                raise ValueError
            out[i] = float(value)
        except (TypeError, ValueError, OverflowError) as error:
            large = ", below 1.8e308" if isinstance(error, OverflowError) else ""
            unit = f" ({feature.unit})" if feature.unit else ""
            step = (
                "Give the index of a level, or the table itself."
                if feature.has_levels
                else ("Correct it, or revise the feature to kind='categorical'.")
            )
            raise DataError(
                f"Column '{feature.name}' of the {what} table has {shown(value)} in row {i}; it must be a number{large}"
                f"{unit}. {step}"
            ) from None
    return out


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except (TypeError, ValueError):
        return False
    return True


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
        return array_of(value, feature)
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
