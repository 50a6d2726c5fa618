"""Tables of pandas, polars and pyarrow, and arrays, column by column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def as_dense(values: Any) -> Any:
    """A SciPy sparse matrix as an array; anything else as it is."""
    return values.toarray() if hasattr(values, "toarray") else values


def is_table(values: Any) -> bool:
    """Does it have named columns?"""
    return hasattr(values, "columns")


def columns_at(table: Any, positions: Sequence[int]) -> Any:
    """The table with the columns at these positions only."""
    if hasattr(table, "iloc"):
        return table.iloc[:, list(positions)]
    if is_table(table):  # polars, pyarrow
        names = list(table.column_names) if hasattr(table, "column_names") else list(table.columns)
        return table.select([names[i] for i in positions])
    return np.asarray(table)[:, list(positions)]


def column_values(table: Any, i: int) -> np.ndarray:
    """(m,) values of a column as the table holds them."""
    if hasattr(table, "iloc"):
        return np.asarray(table.iloc[:, i], dtype=object)
    if hasattr(table, "column_names"):
        return np.array(table.column(i).to_pylist(), dtype=object)
    if is_table(table):
        return np.array(table[table.columns[i]].to_list(), dtype=object)
    return np.asarray(table)[:, i]


def all_values(table: Any) -> np.ndarray:
    """(m, columns) values of the whole table."""
    table = as_dense(table)
    if hasattr(table, "column_names"):
        return np.column_stack([np.asarray(table.column(name)) for name in table.column_names])
    return np.asarray(table.to_numpy() if hasattr(table, "to_numpy") else table)


def first_row_repeated(table: Any, rows: int) -> Any:
    """A table that holds the first row so many times."""
    if hasattr(table, "iloc"):
        return table.iloc[[0] * rows].reset_index(drop=True)
    if hasattr(table, "gather_every"):  # polars
        return table[[0] * rows]
    if hasattr(table, "column_names"):
        return table.take([0] * rows)
    return np.repeat(np.asarray(table)[:1], rows, axis=0)


def with_column(table: Any, other: Any, i: int) -> Any:
    """A table with its i-th column taken from another one of as many rows."""
    if hasattr(table, "gather_every"):
        return table.with_columns(other[other.columns[i]])
    if hasattr(table, "column_names"):
        return table.set_column(i, other.column_names[i], other.column(i))
    out = table.copy()
    if hasattr(table, "iloc"):
        column = other.iloc[:, i]
        out.isetitem(i, column.to_numpy() if column.dtype.kind == "O" else column.reset_index(drop=True))
    else:
        out[:, i] = np.asarray(other)[:, i]
    return out
