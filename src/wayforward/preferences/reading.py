"""Answers of people in arrays, mappings, tables and CSV files -> numbers, checked."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.errors import (
    FileFormatError,
    PreferencesError,
    did_you_mean,
    is_one_of,
    numbers_in,
    shown,
    suggest,
)
from wayforward.plain_files import as_path, require_once, require_regular
from wayforward.shapes import Floats, Mask

if TYPE_CHECKING:
    from wayforward.schema import Schema

_BLANK, _BLANK_EACH = (
    1 << 24,
    64,
)  # cells (people times columns) of a file: without a wish, and more for each wish
_YES, _NO = ("yes", "y", "true", "1", "can"), ("no", "n", "false", "0", "cannot")


def feature_index(schema: Schema, name: Any, what: str) -> int:
    """Return the position of a feature. Raises: PreferencesError ("{what} 'name', which is not a feature")."""
    if str(name) not in schema.names:
        hint = did_you_mean(str(name), schema.names) or " Leave it out."
        raise PreferencesError(f"{what} '{name}', which is not a feature.{hint}")
    return schema.names.index(str(name))


def _frame(table: Any, what: str) -> Any:
    """A data frame as narwhals reads it. Raises: PreferencesError for a column that is there twice; TypeError for what
    is no data frame."""
    import narwhals as nw
    from narwhals.exceptions import DuplicateError

    try:
        return nw.from_native(table, eager_only=True)
    except DuplicateError as error:
        raise PreferencesError(f"The table of {what} cannot be read: {error}") from None


def read_answers(schema: Schema, answers: Any, what: str, *, yes_no: bool = False) -> tuple[Floats, Mask]:
    """Return (n, d) numbers, NaN where there is no answer, and which entries were queried."""
    if hasattr(answers, "columns") and not isinstance(answers, np.ndarray):
        frame = _frame(answers, what)
        answers = {name: frame[name].to_list() for name in frame.columns}
    if isinstance(answers, Mapping):
        columns = {}
        for name, column in answers.items():
            j = feature_index(schema, name, f"The {what} are about")
            columns[j] = _as_numbers(column, name, yes_no)
        sizes = {len(column) for column in columns.values()}
        if len(sizes) != 1:
            raise PreferencesError(
                f"The {what} have columns of {sorted(sizes)} people. Give one answer a person."
            )
        grid = np.full((sizes.pop(), schema.d), np.nan)
        for j, column in columns.items():
            grid[:, j] = column
        queried = np.zeros(grid.shape, dtype=np.bool_)
        queried[:, list(columns)] = True
        return grid, queried
    try:
        array = numbers_in(answers, what, PreferencesError)  # NaN where masked: not asked
    except PreferencesError:
        raise PreferencesError(
            f"The {what} are no table of numbers: {answers!s:.80}. Give one row a person, also for one "
            "person, or a table with named columns."
        ) from None
    act = np.flatnonzero(schema.actionable)
    if array.ndim != 2 or array.shape[1] not in (schema.d, len(act)):
        raise PreferencesError(
            f"The {what} have shape {array.shape}. Give (n, {schema.d}), one column a feature, or (n, "
            f"{len(act)}), one column an actionable feature, or a table with named columns."
        )
    if array.shape[1] == schema.d:
        return array, np.broadcast_to(schema.actionable, array.shape)
    grid = np.full((len(array), schema.d), np.nan)
    grid[:, act] = array
    return grid, np.broadcast_to(schema.actionable, grid.shape)


def named_features(schema: Schema, answers: Any) -> Mask:
    """(d,) bool: the features that answers name; none where they come as a bare array."""
    keys = answers.keys() if isinstance(answers, Mapping) else getattr(answers, "columns", ())
    known = {str(name) for name in keys}
    return np.array([name in known for name in schema.names], dtype=np.bool_)


def _as_numbers(column: Any, name: str, yes_no: bool) -> Floats:
    values = np.atleast_1d(cells_of(column))
    out = np.empty(len(values))
    for i, value in enumerate(values):
        if value is None:
            out[i] = np.nan
        elif yes_no and isinstance(value, str):
            out[i] = float(_truth(value, name, f"for person {i}"))
        else:
            try:
                if isinstance(value, (bool, np.bool_)) and not yes_no:
                    raise TypeError
                out[i] = float(value)
            except (TypeError, ValueError):
                raise PreferencesError(
                    f"'{name}' has the answer {value!r} for person {i}. Give a number."
                ) from None
    return out


def cells_of(column: Any) -> np.ndarray:
    """Return a column as an array of what it holds, None where masked."""
    cells = np.array(column, dtype=object)
    if np.ma.is_masked(column):
        cells[np.ma.getmaskarray(column)] = None
    return cells


def typed_number(text: Any) -> float:
    """Return a number that somebody typed. Raises: ValueError for other digits, and for those with _ between them."""
    if isinstance(text, str) and ("_" in text or not text.isascii()):
        raise ValueError
    return float(text)


def check_ranks(schema: Schema, ranks: Floats, top: int) -> None:
    """Raise for a tie or a gap in (n, d) ranks; NaN was not asked, `top` + 1 says "cannot"."""
    ranked = np.where((ranks >= 1) & (ranks <= top), ranks, np.inf)
    order = np.argsort(ranked, axis=1, kind="stable")
    placed = np.take_along_axis(ranked, order, axis=1)
    expected = np.where(np.isfinite(placed), np.arange(1.0, schema.d + 1), np.inf)
    for i, place in np.argwhere(placed != expected)[:1]:
        rank, name = placed[i, place], schema.names[order[i, place]]
        if place and placed[i, place - 1] == rank:
            raise PreferencesError(
                f"Person {i} gives the same rank twice: {rank:g} for '{schema.names[order[i, place - 1]]}' and "
                f"for '{name}'. Use each rank once."
            )
        raise PreferencesError(
            f"'{name}' has rank {rank:g} for person {i}, and rank {expected[i, place]:g} is missing. Use each "
            f"whole number from 1 to {int(np.isfinite(placed[i]).sum())} once."
        )


def are_orders(ranks: Any) -> bool:
    """Tell lists of names from numbers."""
    return isinstance(ranks, Sequence) and any(
        isinstance(one, (list, tuple)) and any(isinstance(name, str) for name in one) for one in ranks
    )


def read_orders(schema: Schema, orders: Sequence[Sequence[str]], top: int) -> Floats:
    """Lists of names, easiest first -> (n, d) ranks."""
    grid = np.where(np.broadcast_to(schema.actionable, (len(orders), schema.d)), top + 1.0, np.nan)
    for i, order in enumerate(orders):
        for rank, name in enumerate(order, start=1):
            j = feature_index(schema, name, f"Person {i} ranks")
            if not schema.actionable[j]:
                raise PreferencesError(
                    f"Person {i} ranks '{name}', which is {schema.features[j].actionability} in the "
                    "schema. Leave it out."
                )
            if grid[i, j] != top + 1:
                raise PreferencesError(f"Person {i} ranks '{name}' twice. Name each feature once.")
            grid[i, j] = rank
    return grid


_CELLS = (
    "person",
    "feature",
    "can",
    "low",
    "high",
    "allow",
    "forbid",
    "weight",
    "score",
    "rank",
    "max_changes",
    "within",
)
_OF_NOTHING = ("max_changes", "within")  # wishes that are about no feature
WISH_ABOUT = "There is a wish about"


def table_rows(table: Any) -> list[dict[str, Any]]:
    """Rows of a table or a CSV file without their empty cells."""
    if isinstance(table, (str, Path)):
        try:
            require_regular(as_path(table))
            with as_path(table).open(encoding="utf-8-sig", newline="") as file:
                reader = csv.DictReader(file)
                require_once(reader.fieldnames or (), as_path(table))
                rows: list[dict[str, Any]] = list(reader)
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise FileFormatError(f"'{table}' cannot be read as a CSV file of wishes ({error}).") from error
        if not rows:
            raise FileFormatError(
                f"'{as_path(table).name}' has no row, so nobody wishes anything. Give a row for each wish."
            )
    elif isinstance(table, Sequence) and all(isinstance(row, Mapping) for row in table):
        rows = [dict(row) for row in table]
    else:
        try:
            rows = list(_frame(table, "wishes").iter_rows(named=True))
        except TypeError:
            raise PreferencesError(
                f"{shown(table)} is no table of wishes. Give a CSV file, a table, or a list of rows, each "
                "{column: value}."
            ) from None
    return [{k: v for k, v in row.items() if not _empty(v)} for row in rows]


def _empty(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip()) or bool(value != value)


def gather_wishes(
    schema: Schema, rows: list[dict[str, Any]], people: list[int], n: int
) -> dict[tuple[str, str, str], tuple[list[int], list[Any]]]:
    """Rows of a table of wishes -> (column, feature, text) -> the people and their values.

    Wishes of one sort about one feature come together, so that the work does not grow with rows times people.
    """
    gathered: dict[tuple[str, str, str], tuple[list[int], list[Any]]] = {}
    for line, (row, i) in enumerate(zip(rows, people, strict=True)):
        if not 0 <= i < n:
            raise PreferencesError(
                f"Row {line} of the wishes is about person {i}, but there are {n} people, numbered from 0."
            )
        name = str(row.get("feature", ""))
        for cell, value in row.items():
            if not is_one_of(cell, _CELLS):
                raise PreferencesError(
                    f"The table of wishes has the column '{cell}', which is not known.{suggest(cell, _CELLS)}"
                )
            if cell in ("person", "feature"):
                continue
            if cell not in _OF_NOTHING:
                feature_index(schema, name, WISH_ABOUT)
            wish = _cell_value(cell, value, name, line)
            text = wish if isinstance(wish, str) else ""
            who, values = gathered.setdefault((cell, "" if cell in _OF_NOTHING else name, text), ([], []))
            who.append(i)
            values.append(wish)
    return gathered


def _cell_value(cell: str, value: Any, name: str, line: int) -> Any:
    """The value of a cell: a truth, a number, or text (levels and relative limits)."""
    if cell == "can":
        return _truth(value, name, f"in row {line} of the wishes")
    if cell in ("weight", "score", "rank", *_OF_NOTHING):
        return _number(value, name or cell, line)
    if cell in ("low", "high"):
        return _maybe_number(value)
    return value


def people_numbers(rows: list[dict[str, Any]], people: Sequence[Any] | None) -> list[int]:
    """Return the row number of the person that each row is about; `people` lists what the table calls them."""
    known = None if people is None else {str(person): i for i, person in enumerate(people)}
    twice = {name for name, count in Counter(map(str, () if people is None else people)).items() if count > 1}
    numbers = []
    for line, row in enumerate(rows):
        person = row.get("person")
        if person is None:
            raise PreferencesError(
                f"Row {line} of the wishes has no 'person'. Give their row number, from 0."
            )
        if known is not None:
            if str(person) not in known:
                raise PreferencesError(f"Row {line} of the wishes is about a person who is not in `people`.")
            if str(person) in twice:
                raise PreferencesError(
                    f"Row {line} of the wishes is about {shown(person)}, and several people are called that. Leave "
                    "`people` out and give row numbers, from 0."
                )
            numbers.append(known[str(person)])
            continue
        value = _number(person, "person", line)
        if value != int(value):
            raise PreferencesError(
                f"Row {line} of the wishes has person {person!r}. Give a row number, from 0."
            )
        numbers.append(int(value))
    return numbers


def _number(value: Any, name: str, line: int) -> float:
    try:
        return typed_number(value)
    except (TypeError, ValueError):
        raise PreferencesError(
            f"Row {line} of the wishes has {value!r} for '{name}'. Give a number."
        ) from None


def _maybe_number(value: Any) -> Any:
    """A plain number where the text is one; a signed text such as '+500' stays relative."""
    if not isinstance(value, str) or value.strip()[:1] == "+" or value.strip().endswith("%"):
        return value
    try:
        return typed_number(value)
    except ValueError:
        return value


def _truth(value: Any, name: str, where: str) -> bool:
    text = str(value).strip().lower()
    if text in _YES or text == "1.0":
        return True
    if text in _NO or text == "0.0":
        return False
    raise PreferencesError(f"'{name}' has the answer {value!r} {where}. Give yes or no.")


def split_levels(value: Any) -> list[Any]:
    """Return the levels of a cell, which has | between them."""
    return [part.strip() for part in value.split("|")] if isinstance(value, str) else [value]


def stored_people(schema: Schema, stored: Mapping[str, Any], people: int | None) -> int:
    """Return of how many people a file's wishes are. One number in it would ask for any amount of memory: without
    `people`, the number that is asked about, it needs wishes enough for so many, or a sign for each of them.

    Raises: PreferencesError for another number of people; FileFormatError; ValueError and the like if it is broken.
    """
    n = stored["n"]
    if isinstance(n, bool) or not isinstance(n, int) or n < 0:
        raise ValueError(f"n={shown(n)} is no number of people")
    if people is not None:
        if n != people:
            raise PreferencesError(
                f"The stored preferences are those of {shown(n)} people, and {people} are asked about. Give the wishes "
                "of the same people."
            )
        return n
    crowd = stored.get("crowd")
    if isinstance(crowd, str) and len(crowd) == n:
        return n
    if too_sparse(schema, stored):
        raise FileFormatError(
            f"The stored preferences are said to be those of {shown(n)} people, and hold few wishes. If there are so "
            "many people, load them with people=their number; else save them again with save()."
        )
    return n


def too_sparse(schema: Schema, stored: Mapping[str, Any]) -> bool:
    """Whether a file names far more people than it has wishes for."""
    wishes, width = 0, schema.d
    for name, entry in stored["features"].items():
        columns = [rows if key == "frozen" else rows[0] for key, rows in entry.items()]
        wishes += sum(map(len, columns))
        if "levels" in entry and name in schema.names:
            width += schema[name].n_levels
    wishes += sum(len(stored[key][0]) for key in ("max_changes", "months") if key in stored)
    refused = stored.get("refused", {})
    wishes, width = wishes + sum(map(len, refused.values())), width + len(refused)
    return bool(stored["n"] * width > _BLANK + _BLANK_EACH * wishes)


def stored_rows(rows: Any, n: int) -> list[int]:
    """Return the people of a file's column. Raises: ValueError for what is no person's number among n."""
    if not isinstance(rows, list) or not all(type(row) is int and 0 <= row < n for row in rows):
        raise ValueError(f"a row is not that of one of {n} people")
    return rows
