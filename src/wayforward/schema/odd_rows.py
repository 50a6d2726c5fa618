"""Tables row by row: whoever cannot be read is set aside with the reason, and the others go on."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.errors import DataError, harmless
from wayforward.schema.tables import (
    Reader,
    all_inside,
    check_values,
    columns_and_reader,
    faults,
    numbers_of,
    warn_of_odd_values,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from wayforward.schema.feature import Feature
    from wayforward.schema.schema import Schema

Reasons = dict[int, str]  # row number -> why it cannot be read
_NOTED = 3  # rows that a note names


def read(schema: Schema, table: Any, what: str) -> tuple[np.ndarray, Reasons]:
    """Return (n, d) numbers, NaN in cells that cannot be read, and why; arguments and errors as of `Schema.read`."""
    reasons: Reasons = {}
    if isinstance(table, np.ndarray) and table.dtype != object:
        x = numbers_of(schema.d, table, what)
    else:
        columns, n, reader = columns_and_reader(schema.features, table, what)
        x = np.empty((n, schema.d))
        for j, feature in enumerate(schema.features):
            x[:, j], odd = _read_column(columns[feature.name], feature, what, reader)
            _add(reasons, odd)
    if reasons or not all_inside(schema, x):
        for j, feature in enumerate(schema.features):
            value = x[:, j]
            check = partial(check_values, feature=feature, what=what)
            odd = {
                i: _reason(check, value[i : i + 1], feature, what)
                for i in np.flatnonzero(faults(value, feature)).tolist()
                if i not in reasons
            }
            _add(reasons, odd)
            value[faults(value, feature)] = np.nan
        good = np.ones(len(x), dtype=bool)
        good[list(reasons)] = False
        warn_of_odd_values(schema, x[good], what)
    return x, reasons


def _add(reasons: Reasons, more: Reasons) -> None:
    for i, reason in more.items():
        reasons.setdefault(i, reason)  # the first of a row's faults is told


def _read_column(column: Any, feature: Feature, what: str, read: Reader) -> tuple[np.ndarray, Reasons]:
    """Return (n,) numbers, NaN in cells that cannot be read, and why."""
    try:
        return read(column, feature, what), {}
    except DataError:
        cells = list(column) if isinstance(column, (list, tuple, np.ndarray)) else column.to_list()
    value, odd = np.full(len(cells), np.nan), {}
    waiting = [(0, len(cells))]
    while waiting:  # halve what fails until the cells at fault are found
        start, end = waiting.pop()
        try:
            value[start:end] = read(cells[start:end], feature, what)
        except DataError:
            if end - start > 1:
                half = (start + end) // 2
                waiting += [(start, half), (half, end)]
                continue
            odd[start] = _reason(lambda one: read(one, feature, what), cells[start:end], feature, what)
    return value, odd


def _reason(ask: Callable[[Any], Any], one: Any, feature: Feature, what: str) -> str:
    """Return what is wrong with one cell, as the error says it, without its row."""
    try:
        ask(one)
    except DataError as error:
        text = str(error).replace(" in row 0", "", 1)
        name = harmless(feature.name)
        return text.replace(f"Column '{name}' of the {what} table", f"'{name}'", 1)
    raise AssertionError("the cell was at fault a moment ago")


def unread_note(reasons: Reasons, n: int, one: str = "row", many: str = "people") -> str:
    """Say how many of n people cannot be read, and why the first of them are not. one, many: what they are called."""
    rows = sorted(reasons)
    them = "it" if len(rows) == 1 else "them"
    more = (
        f" {len(rows) - _NOTED:,} more: see the column 'reason' of the answers." if len(rows) > _NOTED else ""
    )
    return (
        f"{len(rows):,} of {n:,} {many} could not be read, so the model was not asked about {them} (NOT_ASKED). "
        + " ".join(f"{one.capitalize()} {row}: {reasons[row]}" for row in rows[:_NOTED])
        + more
    )
