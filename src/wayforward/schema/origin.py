"""Where the rows of an answer come from: the table as it was given, and how its rows are called."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any
from uuid import UUID

import numpy as np

from wayforward.errors import DataError, is_integer, shown, suggest
from wayforward.schema.proposals import is_identifier
from wayforward.schema.tables import decode_column, read_frame

_MIDNIGHT = re.compile(r"^(\d{4}-\d\d-\d\d)[ T]00:00:00(\.0+)?$")
_HALF = re.compile("[\ud800-\udfff]")  # of a character: no file can hold it


@dataclass(frozen=True, eq=False)
class Origin:
    """n rows of a table and their names.

    names: of the id column, or of the levels of the index. values: one (n,) array a name; they may repeat. table: as it
    was given, in memory only; rows (n,): which of its rows these are.
    """

    names: tuple[str, ...] = ()
    values: tuple[np.ndarray, ...] = ()
    table: Any = None
    rows: np.ndarray | None = None

    @classmethod
    def of(
        cls, table: Any, n: int, id: str | None = None, kinds: Mapping[str, Any] | None = None
    ) -> Origin | None:
        """Return the origin of n people: named by the column `id`, else by an index that somebody chose.

        None where there is nothing to remember: an array, or a mapping without ids. kinds: types of columns for a
        single row of a table, which has none of its own. Raises: DataError for an id that is no column, or one with
        anything but texts, whole numbers, days and UUIDs in it; where a name is missing it is None.
        """
        names: tuple[str, ...] = ()
        values: tuple[np.ndarray, ...] = ()
        if type(table).__name__ == "Series":  # one person, who was read
            table = _of_one_row(table, kinds or {}) if hasattr(table, "iloc") else table
        known = None if isinstance(table, np.ndarray) else columns_in(table)
        if id is not None:
            column = next((name for name in known or () if str(name) == str(id)), None)
            if column is None:
                near = "" if known is None else suggest(str(id), [str(name) for name in known])
                raise DataError(f"The people table has no column '{id}' to name people by.{near}")
            names, values = (str(id),), (_names_in(_plain_values(table[column]), str(id)),)
        elif hasattr(table, "iloc") and hasattr(table, "columns") and not _default(table.index):
            index = table.index
            names = tuple(
                str(name) if name is not None else ("index" if index.nlevels == 1 else f"index_{i}")
                for i, name in enumerate(index.names)
            )
            values = tuple(_plain_values(index.get_level_values(i)) for i in range(index.nlevels))
        elif known is None or isinstance(table, dict):
            return None
        return cls(names, values, None if isinstance(table, dict) else table, np.arange(n))

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"table": None, "rows": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)

    def take(self, who: Any) -> Origin:
        """Some of the rows."""
        rows = None if self.rows is None else self.rows[who]
        return replace(self, values=tuple(value[who] for value in self.values), rows=rows)

    @classmethod
    def concat(cls, parts: Sequence[Origin | None]) -> Origin | None:
        """Rows of several answers, one after the other; None where one has no names of the same kind."""
        first = parts[0]
        if first is None or any(p is None or p.names != first.names for p in parts) or not first.names:
            return None
        values = [np.concatenate(v) for v in zip(*(p.values for p in parts if p is not None), strict=True)]
        return cls(first.names, tuple(values))

    @property
    def shared(self) -> int:
        """How many names stand for more than one row."""
        rows = zip(*(value.tolist() for value in self.values), strict=True)
        return sum(many > 1 for many in Counter(tuple(map(str, row)) for row in rows).values())

    def columns(self, taken: Sequence[str] = ()) -> dict[str, np.ndarray]:
        """The names of the rows as columns; one called as a column that is taken is 'id.' and its name."""
        return {
            (f"id.{name}" if name in taken else name): value
            for name, value in zip(self.names, self.values, strict=True)
        }

    def find(self, key: Any) -> np.ndarray:
        """Return the rows called `key`, a tuple where the index has several levels. Raises: DataError for none."""
        wanted = key if isinstance(key, tuple) and len(self.names) > 1 else (key,)
        if not self.names or len(wanted) != len(self.names):
            raise DataError(
                f"People have no names such as {key!r}: they are numbered from 0. Name the column that names them: "
                "wf.recommend(..., id='customer'), or recommend --id customer in a shell."
                if not self.names
                else f"People are named by {', '.join(self.names)}. Give one value for each, as a tuple."
            )
        found = np.ones(len(self.values[0]), dtype=bool)
        for value, one in zip(self.values, wanted, strict=True):
            name = name_text(one)
            found &= np.array([_is(v, one) or name_text(v) == name for v in value.tolist()], dtype=bool)
        if not found.any():
            raise DataError(f"Nobody is called {key!r} (by {', '.join(self.names)}). Check the spelling.")
        return np.flatnonzero(found)

    def with_values(self, features: Sequence[Any], x: np.ndarray, changed: np.ndarray) -> Any:
        """Return the rows as the table had them (types, order, index), with x (n, d) where changed (n, d)."""
        if hasattr(self.table, "iloc"):
            out = self.table.iloc[self.rows].copy()
            for j in np.flatnonzero(changed.any(0)).tolist():
                at = np.flatnonzero(changed[:, j])
                place = [str(name) for name in out.columns].index(features[j].name)
                values = decode_column(x[at, j], features[j])
                out.isetitem(place, _filled(out.iloc[:, place], at, values, features[j].levels))
            return out
        import narwhals.stable.v2 as nw

        frame = read_frame(self.table, "people")[self.rows]
        new = []
        for j in np.flatnonzero(changed.any(0)).tolist():
            series = frame[features[j].name]
            values = series.to_list()
            at = np.flatnonzero(changed[:, j])
            for i, value in zip(at.tolist(), decode_column(x[at, j], features[j]).tolist(), strict=True):
                values[i] = value
            kind = series.dtype
            there = [v for v in values if v is not None]
            if kind.is_integer():
                whole = all(float(v).is_integer() for v in there)
                kind = kind if whole and _fits(str(kind), there) else nw.Int64() if whole else nw.Float64()
            elif isinstance(kind, nw.Enum) and not set(there) <= set(kind.categories):
                kind = nw.Enum(dict.fromkeys([*kind.categories, *features[j].levels]))
            new.append(nw.new_series(features[j].name, values, kind, backend=nw.get_native_namespace(frame)))
        return nw.to_native(frame.with_columns(*new) if new else frame)


def find_own(features: Sequence[Any], x: np.ndarray, key: Any) -> np.ndarray:
    """Return the rows of x (n, d) that have `key` in a carried column, or in one that is called an identifier."""
    text, found = name_text(key), np.zeros(len(x), dtype=bool)
    for j, feature in enumerate(features):
        if feature.carried or is_identifier(feature):
            there = np.flatnonzero(~np.isnan(x[:, j]))
            values = decode_column(x[there, j], feature).tolist()
            found[there] |= np.array([name_text(value) == text for value in values], dtype=bool)
    return np.flatnonzero(found)


def _is(value: Any, other: Any) -> bool:
    """True where two values are the same; what compares to an array, or to what is not known, is not."""
    same = value == other
    return isinstance(same, (bool, np.bool_)) and bool(same)


def name_text(value: Any) -> str:
    """How a row's name is written: a day without its midnight, "2024-01-03"."""
    return _MIDNIGHT.sub(r"\1", str(value))


def pandas_types(table: Any) -> dict[str, Any]:
    """Column -> type of a pandas table; {} for any other."""
    is_pandas = hasattr(table, "iloc") and hasattr(table, "columns")
    return {str(name): kind for name, kind in table.dtypes.items()} if is_pandas else {}


def columns_in(table: Any) -> list[Any]:
    """The names of a table's columns, as it holds them."""
    if isinstance(table, dict) or not hasattr(table, "columns"):
        return list(table) if isinstance(table, dict) else []
    names = table.column_names if hasattr(table, "column_names") else table.columns
    return list(names)


def _default(index: Any) -> bool:
    """True if nobody chose this index: 0, 1, 2 ... without a name."""
    return (
        type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1 and index.name is None
    )


def _plain_values(column: Any) -> np.ndarray:
    values = (
        column.to_list()
        if hasattr(column, "to_list")
        else column.to_pylist()
        if hasattr(column, "to_pylist")
        else column
    )
    out = np.empty(len(values), dtype=object)
    out[:] = [v.item() if isinstance(v, np.generic) else v for v in values]
    return out


def _names_in(values: np.ndarray, column: str) -> np.ndarray:
    """Names as files hold them: 3 for the 3.0 that pandas makes of it beside a missing one. Raises: DataError."""
    out = values.copy()
    for i, value in enumerate(values.tolist()):
        if isinstance(value, str) and not _HALF.search(value):
            continue
        if value is None or type(value).__name__ in ("NAType", "NaTType"):
            out[i] = None
        elif isinstance(value, float) and math.isnan(value):
            out[i] = None
        elif isinstance(value, float) and value.is_integer():
            out[i] = int(value)
        elif not is_integer(value) and not isinstance(value, (date, UUID)):
            raise DataError(
                f"Column '{column}' names people, and has {shown(value)} in row {i}. Names are texts, whole numbers or "
                "days: make texts of them, or name people by another column."
            )
    return out


def _of_one_row(series: Any, kinds: Mapping[str, Any]) -> Any:
    """A row of a pandas table as a table of one row, with the types that are known and can hold its values."""
    table = series.to_frame().T.infer_objects()
    for place, name in enumerate(table.columns):
        if str(name) in kinds:
            column = table.iloc[:, place]
            table.isetitem(place, _typed(column, kinds[str(name)], ()))
    return table


def _filled(series: Any, at: np.ndarray, values: np.ndarray, levels: Sequence[Any]) -> Any:
    """A pandas column with values at some positions, of its own type, or of a wider one of its sort that holds them."""
    import pandas as pd

    whole = series.astype(object).to_numpy(copy=True)
    whole[at] = values
    return _typed(pd.Series(whole, index=series.index, name=series.name), series.dtype, levels)


def _typed(column: Any, kind: Any, levels: Sequence[Any]) -> Any:
    """A pandas column of objects as that type: categories grow by the levels, whole numbers are made wider."""
    import pandas as pd

    there = [v for v in column.tolist() if not pd.isna(v)]
    try:
        if isinstance(kind, pd.CategoricalDtype) and not set(there) <= set(kind.categories):
            grown = dict.fromkeys(
                [*levels, *kind.categories] if kind.ordered else [*kind.categories, *levels]
            )
            kind = pd.CategoricalDtype(
                [*grown, *(v for v in dict.fromkeys(there) if v not in grown)], kind.ordered
            )
        elif pd.api.types.is_integer_dtype(kind):
            if not all(float(v).is_integer() for v in there):
                kind = float
            elif not _fits(str(kind), there):
                kind = "Int64" if pd.api.types.is_extension_array_dtype(kind) else "int64"
        return column.astype(kind)
    except (TypeError, ValueError):
        return column


def _fits(kind: str, values: Sequence[Any]) -> bool:
    """True if whole numbers lie within an integer type, called as numpy, pandas, polars or pyarrow call it."""
    room = np.iinfo(kind.split("[")[0].lower())
    return all(room.min <= v <= room.max for v in values)
