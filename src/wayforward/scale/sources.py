"""Tables that are too large to read whole: CSV, Parquet, folders of Parquet, a few rows at a time."""

from __future__ import annotations

import csv
import gzip
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

from wayforward.errors import DataError, FileFormatError, require, suggest
from wayforward.plain_files import as_path, bounded_lines, name_of, no_file, require_once

PROBLEM = "wayforward.problem"  # a column of a shard: why its row is none
_MEGABYTE = 1 << 20


@dataclass(frozen=True)
class TableSource:
    """A table in one or several files, or in memory. columns: their names, in order. text: values are as written."""

    name: str
    columns: tuple[str, ...]
    files: tuple[Path, ...] = ()
    table: Any = None
    text: bool = False

    def check(self, needed: list[str]) -> None:
        """Raise DataError for a column that is needed and absent."""
        for column in needed:
            if column not in self.columns:
                raise DataError(
                    f"'{self.name}' has no column '{column}'.{suggest(column, self.columns)} Add the column, or name "
                    "the right table."
                )

    def fingerprint(self) -> str:
        """SHA-256 of what the table holds, read once from beginning to end."""
        digest = hashlib.sha256()
        for file in self.files:
            digest.update(f"{file.name} {file.stat().st_size}\0".encode())
            with file.open("rb") as stream:
                while block := stream.read(_MEGABYTE):
                    digest.update(block)
        if self.table is not None:
            pa = require("pyarrow", extra="frames")
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, self.table.schema) as writer:
                writer.write_table(self.table.combine_chunks())
            digest.update(sink.getvalue())
        return digest.hexdigest()

    def people(self) -> int | None:
        """Number of rows, where it is known without reading them."""
        if self.table is not None:
            return int(self.table.num_rows)
        if self.text:
            return None
        pq = require("pyarrow.parquet", extra="frames")
        return sum(int(pq.ParquetFile(file).metadata.num_rows) for file in self.files)

    def shards(self, columns: list[str], rows: int) -> Iterator[Any]:
        """Yield Arrow tables of these columns with `rows` rows each, the last one with what is left.

        Raises: FileFormatError for what cannot be read.
        """
        pa = require("pyarrow", extra="frames")
        waiting: list[Any] = []
        n_waiting = 0
        for block in self._blocks(columns, rows):
            waiting.append(block)
            n_waiting += block.num_rows
            while n_waiting >= rows:
                whole = pa.concat_tables(waiting, promote_options="permissive")
                yield whole.slice(0, rows)
                waiting, n_waiting = [whole.slice(rows)], n_waiting - rows
        if n_waiting:
            yield pa.concat_tables(waiting, promote_options="permissive")

    def _blocks(self, columns: list[str], rows: int) -> Iterator[Any]:
        if self.table is not None:
            for start in range(0, self.table.num_rows, rows):
                yield self.table.select(columns).slice(start, rows)
        elif self.text:
            yield from _text_blocks(self.files[0], columns, rows)
        else:
            pa, pq = require("pyarrow", extra="frames"), require("pyarrow.parquet", extra="frames")
            for file in self.files:
                try:
                    for batch in pq.ParquetFile(file).iter_batches(min(rows, 65_536), columns=columns):
                        yield pa.Table.from_batches([batch])
                except (OSError, pa.ArrowException) as error:
                    raise _unreadable(file, error) from None


def open_source(source: Any) -> TableSource:
    """Look at a path (CSV, TSV, also .gz; Parquet; a folder of Parquet files) or a table in memory.

    Raises: DataError for what is absent or empty; FileFormatError for what is not read.
    """
    if not isinstance(source, (str, Path)):
        return _in_memory(source)
    path = as_path(source)
    if path.is_dir():
        files = tuple(
            sorted(file for file in path.rglob("*.parquet") if not file.name.startswith((".", "_")))
        )
        if not files:
            raise DataError(f"The folder '{name_of(path)}' holds no .parquet file. Check the path.")
        names = [_parquet_columns(file) for file in files]
        for file, columns in zip(files, names, strict=True):
            if set(columns) != set(names[0]):
                raise DataError(
                    f"'{name_of(file)}' has other columns than '{files[0].name}' in the same folder. Put tables "
                    "that differ into folders of their own."
                )
        return TableSource(path.name, names[0], files)
    if not path.is_file():
        raise DataError(no_file(path))
    kind = Path(path.name.lower().removesuffix(".gz")).suffix
    if kind == ".parquet":
        return TableSource(path.name, _parquet_columns(path), (path,))
    if kind in (".csv", ".tsv"):
        with _opened(path) as stream:
            try:
                header = next(_reader(path, stream, first=True), [])
            except (csv.Error, UnicodeDecodeError, OSError) as error:
                raise _unreadable(path, error) from None
        if not header:
            raise DataError(
                f"'{name_of(path)}' is empty. A table needs a first line with the names of its columns."
            )
        require_once(header, path)
        return TableSource(path.name, tuple(header), (path,), text=True)
    raise FileFormatError(
        f"'{name_of(path)}' is not read: tables are .csv, .tsv (also .gz) or .parquet. Convert it."
    )


def _in_memory(table: Any) -> TableSource:
    import narwhals.stable.v2 as nw

    pa = require("pyarrow", extra="frames")
    try:
        frame = nw.from_native(table, eager_only=True)
    except TypeError:
        raise DataError(
            f"People come from a path or a table; got {type(table).__name__}. Give a .csv, a .parquet, a folder of "
            "Parquet files, or a pandas, polars or pyarrow table."
        ) from None
    try:
        arrow = frame.to_arrow()
    except pa.ArrowException as error:
        raise DataError(
            f"A column of the table holds values of several types ({str(error).splitlines()[0][:120]}). Make them one "
            "type, or give a .csv, whose odd rows are set aside."
        ) from None
    return TableSource("the table", tuple(arrow.column_names), table=arrow)


def _parquet_columns(file: Path) -> tuple[str, ...]:
    pa, pq = require("pyarrow", extra="frames"), require("pyarrow.parquet", extra="frames")
    try:
        return tuple(pq.ParquetFile(file).schema_arrow.names)
    except (OSError, pa.ArrowException) as error:
        raise _unreadable(file, error) from None


def _unreadable(file: Path, error: Exception) -> FileFormatError:
    first = (str(error).splitlines() or [type(error).__name__])[0][:200]
    return FileFormatError(f"'{name_of(file)}' cannot be read: {first}")


def _opened(path: Path) -> TextIO:
    if path.suffix.lower() == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def _reader(path: Path, stream: TextIO, first: bool = False) -> Iterator[list[str]]:
    tabs = path.name.lower().removesuffix(".gz").endswith(".tsv")
    lines = bounded_lines(stream, path.name, in_all=first)
    return csv.reader(lines, delimiter="\t" if tabs else ",", strict=True)


def _text_blocks(path: Path, columns: list[str], rows: int) -> Iterator[Any]:
    """Yield tables of texts; a line with too few or too many values is a row of nulls, with the reason beside it."""
    pa = require("pyarrow", extra="frames")
    with _opened(path) as stream:
        reader = _reader(path, stream)
        try:
            header = next(reader)
            place, width = [header.index(name) for name in columns], len(header)
            while block := list(islice(reader, rows)):
                block = [row for row in block if row]  # empty lines are no people
                odd = {i: len(row) for i, row in enumerate(block) if len(row) != width}
                for i in odd:
                    block[i] = [""] * width
                made = {
                    name: pa.array([row[j] for row in block], pa.string())
                    for name, j in zip(columns, place, strict=True)
                }
                reasons = [
                    f"This line has {odd[i]} values; the table has {width} columns." if i in odd else None
                    for i in range(len(block))
                ]
                yield pa.table(made | {PROBLEM: pa.array(reasons, pa.string())})
        except (csv.Error, UnicodeDecodeError, OSError, EOFError) as error:
            raise _unreadable(path, error) from None
