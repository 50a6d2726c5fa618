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


def one_at_a_time(table: Any, columns: Sequence[int]) -> Any:
    """The first row of a table of m rows, m times for each of the columns; there that column is as in the table."""
    m = len(table)
    first = np.zeros(m * len(columns), np.int64)
    taken = {i: first.copy() for i in columns}
    for b, i in enumerate(columns):
        taken[i][b * m : b * m + m] = np.arange(m)
    if hasattr(table, "gather_every"):  # polars
        series = [table[table.columns[i]].gather(index) for i, index in taken.items()]
        return table[first].with_columns(series)
    if hasattr(table, "column_names"):
        out = table.take(first)
        for i, index in taken.items():
            out = out.set_column(i, table.column_names[i], table.column(i).take(index))
        return out
    if hasattr(table, "iloc"):
        out = table.iloc[first].reset_index(drop=True)
        for i, index in taken.items():
            column = table.iloc[:, i].iloc[index]
            out.isetitem(i, column.to_numpy() if column.dtype.kind == "O" else column.reset_index(drop=True))
        return out
    values = np.asarray(table)
    out = values[first]
    for i, index in taken.items():
        out[:, i] = values[index, i]
    return out
