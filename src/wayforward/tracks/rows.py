"""Rows that somebody hands in as Parquet: each names a person by the key of the task and says what they set."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import numpy as np

from wayforward.errors import DataError, FileFormatError, did_you_mean, require
from wayforward.evaluate.foreign import read_rows as read_values
from wayforward.plain_files import make_folder, written
from wayforward.shapes import Actions
from wayforward.tracks.tasks import BuiltTask

PERSON, OPTION = "person", "option"
_INDEX = re.compile(r"__index_level_\d+__")  # of a pandas table that was filtered or put together
_MOST = 50  # rows for each one that is wanted: beyond, a file is not opened


def read_rows(ready: BuiltTask, content: bytes) -> tuple[Actions, tuple[str, ...]]:
    """Parquet bytes -> actions (n, k, d) in feature units, and notes about rows that were left out.

    A feature that is missing, or whose column is, is left alone. Rows of strangers, and a second row for the same
    person and option, are left out and counted. Values that cannot be read are kept as illegal ones.
    Raises: DataError that names a column; FileFormatError for what is no Parquet file.
    """
    schema, k = ready.problem.schema, ready.task.k
    table = _table(content, _MOST * len(ready.x) * k)
    table = table.drop_columns([one for one in table.column_names if _INDEX.fullmatch(one)])
    for name in table.column_names:
        if name not in (PERSON, OPTION, *schema.names):
            raise DataError(
                f"The rows have a column '{name}', which is no feature.{did_you_mean(name, schema.names)}"
                f" Use '{PERSON}', '{OPTION}' and features of the task."
            )
    if PERSON not in table.column_names:
        raise DataError(f"The rows have no column '{PERSON}'. Copy it from the task's people: it names them.")
    for name in schema.names:
        if name not in table.column_names:
            table = table.append_column(name, require("pyarrow", extra="frames").nulls(len(table)))
    values = read_values(schema, table, "submitted")
    place = {key: i for i, key in enumerate(ready.keys)}
    action = np.full((len(ready.x), k, schema.d), np.nan)
    taken, counts = set(), {"strangers": 0, "beyond": 0, "again": 0}
    next_slot = [0] * len(ready.x)
    slots = table[OPTION].to_pylist() if OPTION in table.column_names else [None] * len(table)
    for row, (key, slot) in enumerate(zip(table[PERSON].to_pylist(), slots, strict=True)):
        who = place.get(key) if isinstance(key, str) else None
        if who is None:
            counts["strangers"] += 1
            continue
        at = next_slot[who] if slot is None else slot
        next_slot[who] += 1
        if not isinstance(at, int) or not 0 <= at < k:
            counts["beyond"] += 1
        elif (who, at) in taken:
            counts["again"] += 1
        else:
            taken.add((who, at))
            action[who, at] = values[row]
    words = {
        "strangers": "about people who are not in this task",
        "beyond": f"beyond the {k} that a person may have",
        "again": "a second one for the same person and option",
    }
    notes = tuple(f"rows left out, {words[why]}: {count}" for why, count in counts.items() if count)
    return action, notes


def write_tables(ready: BuiltTask, folder: Path) -> None:
    """Write `people.parquet`, whom to answer with their keys, and `train.parquet`, what the classifier learnt.

    The column `label` of the latter is 1 for a yes. Raises: WriteError; MissingExtra.
    """
    pq = require("pyarrow.parquet", extra="frames")
    pa, schema = require("pyarrow", extra="frames"), ready.problem.schema
    people = schema.decode(ready.x, "pyarrow").add_column(0, PERSON, [ready.keys])
    past = schema.decode(ready.problem.require_reference(), "pyarrow")
    past = past.append_column("label", pa.array(ready.labels))
    for name, table in (("people", people), ("train", past)):
        with written(folder / f"{name}.parquet") as half:
            pq.write_table(table, half)


def write_answers(ready: BuiltTask, action: Actions, file: Path) -> None:
    """Write actions (n, k, d) as rows for `read_rows`, levels by their names. Raises: WriteError; MissingExtra."""
    pq = require("pyarrow.parquet", extra="frames")
    pa, schema = require("pyarrow", extra="frames"), ready.problem.schema
    who, slot = np.nonzero(~np.isnan(action).all(2))
    columns: dict[str, list[Any]] = {PERSON: [ready.keys[i] for i in who], OPTION: slot.tolist()}
    for j, feature in enumerate(schema.features):
        own = action[who, slot, j].tolist()
        columns[feature.name] = [
            None if np.isnan(v) else feature.levels[int(v)] if feature.has_levels else v for v in own
        ]
    make_folder(file.parent)
    with written(file) as half:
        pq.write_table(pa.table(columns), half)


def _table(content: bytes, most: int) -> Any:
    require("pyarrow", extra="frames")
    from pyarrow import ArrowException, parquet

    try:
        file = parquet.ParquetFile(io.BytesIO(content))
        if file.metadata.num_rows > most:
            raise DataError(f"The rows are {file.metadata.num_rows:,}; at most {most:,} are read.")
        table = file.read()
        table.validate(
            full=True
        )  # texts that are no UTF-8, and what else would be found out while it is read
        return table
    except (ArrowException, OSError, ValueError, RuntimeError) as error:
        if isinstance(error, DataError):
            raise
        raise FileFormatError(
            "The rows cannot be read as Parquet. Write them with pandas, polars or pyarrow."
        ) from None
