"""Tables of users: CSV, TSV and Parquet files by the first table library that is installed; the label column apart."""

from __future__ import annotations

import csv
import gzip
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from wayforward.errors import DataError, FileFormatError, MissingExtra, did_you_mean, require
from wayforward.model.zoo import label_gaps
from wayforward.plain_files import as_path, bounded_lines, no_file, require_once

MOST_VALUES = 200_000_000  # rows times columns of a table that is read whole: 1.6 GB of numbers


def read_table(path: Path) -> Any:
    """A CSV (also .gz), TSV or Parquet file as a frame of the first table library that is installed.

    Raises: DataError for an absent or empty file, a column that is there twice, or more than MOST_VALUES values;
    FileFormatError for one that cannot be read, or has a line of millions of characters; MissingExtra.
    """
    if as_path(path).is_dir():
        raise DataError(f"'{path}' is a folder. Name a file in it.")
    if not path.is_file():
        raise DataError(no_file(path))
    name = path.name.lower().removesuffix(".gz")
    kind = next((k for k in ("csv", "tsv", "parquet") if name.endswith(f".{k}")), None)
    if kind is None:
        raise FileFormatError(
            f"'{path.name}' is not read: tables are .csv, .tsv (also .gz) or .parquet. Convert it."
        )
    library = _table_library()
    try:
        frame = _read(library, path, kind)
    except (DataError, FileFormatError, MemoryError):
        raise
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        with path.open("rb") as file:
            code = "utf-16" if file.read(2) in (b"\xff\xfe", b"\xfe\xff") else "latin1"
        raise FileFormatError(
            f"'{path.name}' is not UTF-8: it has the byte 0x{byte:02x}. Save it as UTF-8 (iconv -f {code} -t utf-8)."
        ) from None
    except Exception as error:  # polars and pyarrow have error trees of their own
        why = _first_line(error, path)
        if isinstance(error, ValueError | OSError) and ("empty" in why.lower() or "No columns" in why):
            raise DataError(
                f"'{path.name}' is empty. A table needs a first line with the names of its columns."
            ) from None
        raise FileFormatError(
            f"'{path.name}' cannot be read as {kind.upper()}: {why.rstrip('.')}. Save the table again."
        ) from None
    if not len(frame):
        raise DataError(f"'{path.name}' has no rows.")
    return frame


def _first_line(error: Exception, path: Path) -> str:
    """The first line of an error, the file by its name alone: whoever sent it learns nothing of folders."""
    line = (str(error).splitlines() or [type(error).__name__])[0]
    return line.replace(str(path.resolve()), path.name).replace(str(path), path.name)[:200]


def _table_library() -> Any:
    for name in ("pandas", "polars"):
        try:
            return require(name, extra="frames")
        except MissingExtra:
            continue
    raise MissingExtra(
        "Reading a table needs pandas or polars. Install one with: pip install 'wayforward[frames]'"
    )


def _read(library: Any, path: Path, kind: str) -> Any:
    if kind == "parquet":
        with suppress(MissingExtra):  # without pyarrow another library reads it
            _look_at_parquet(path)
        try:
            return library.read_parquet(path)
        except MemoryError:
            raise
        except Exception:  # notes of pandas in a file, about its index, may be about another table
            if library.__name__ != "pandas":
                raise
            with require("pyarrow.parquet", extra="frames").ParquetFile(path) as file:
                return file.read().replace_schema_metadata(None).to_pandas()
    separator = "," if kind == "csv" else "\t"
    require_once(_header(path, separator), path)
    if library.__name__ == "pandas":
        return library.read_csv(path, sep=separator)
    return library.read_csv(path, separator=separator, infer_schema_length=None)


def _look_at_parquet(path: Path) -> None:
    """Read the end of a file, where its size is. Raises: DataError for a column that is there twice, or more values
    than are read at once: one of a few bytes can stand for millions of equal rows.
    """
    with require("pyarrow.parquet", extra="frames").ParquetFile(path) as about:
        names, rows = about.schema_arrow.names, about.metadata.num_rows
    require_once(names, path)
    require_few(path.name, rows, len(names))


def require_few(name: str, rows: int, columns: int) -> None:
    """Raise DataError for a table of more values than are read into memory at once."""
    if rows * columns > MOST_VALUES:
        raise DataError(
            f"'{name}' has {rows:,} rows of {columns:,} columns; at most {MOST_VALUES:,} values are read at once. Give "
            "fewer rows or columns, or answer --people shard by shard: --out FOLDER, or recommend_table in Python."
        )


def _header(path: Path, separator: str) -> list[str]:
    """The names in the first line that has any, as they stand there: readers of tables rename those that repeat."""
    opened = gzip.open if path.suffix.lower() == ".gz" else open
    with opened(path, "rt", encoding="utf-8-sig", errors="replace", newline="") as file:
        lines = bounded_lines(file, path.name, in_all=True)  # a row may have many
        return next((row for row in csv.reader(lines, delimiter=separator) if row), [])


def features_of(table: Any, label: str | None, source: str) -> Any:
    """The table without its label column. Raises: DataError if there is no such column."""
    if label is None:
        return table
    columns = list(table.columns)
    if label not in columns:
        hint = did_you_mean(label, columns) or f" It has {', '.join(columns[:12])}."
        raise DataError(f"'{source}' has no column '{label}'.{hint}")
    return without_label(table, label)


def without_label(table: Any, label: str | None) -> Any:
    """Return the table without its label column, if it has one."""
    import narwhals as nw

    if label is None or label not in list(table.columns):
        return table
    return nw.to_native(nw.from_native(table, eager_only=True).drop(label))


def labels_of(table: Any, label: str, favourable: tuple[str, ...], source: str) -> np.ndarray:
    """(n,) the decisions of past people, both of which must be there. Raises: DataError that names the column."""
    import narwhals as nw

    column = nw.from_native(table, eager_only=True)[label]
    y = np.asarray(column.to_numpy())
    gaps = label_gaps(y)
    if len(gaps):
        raise DataError(
            f"'{label}' in '{source}' has {len(gaps)} missing values, the first in row {gaps[0]}, from 0. "
            "Every past person needs a decision; leave those rows out."
        )
    if y.dtype.kind == "f" and np.array_equal(y, np.round(y)):
        y = y.astype(np.int64)  # 1.0 and 1 are the same decision to people
    classes = np.unique(y.astype(str))
    if len(classes) < 2:
        raise DataError(
            f"'{label}' in '{source}' has one value only ({classes[0]}). A model needs both decisions."
        )
    for value in favourable:
        if value not in classes:
            shown = ", ".join(classes[:8])
            raise DataError(
                f"'{label}' in '{source}' is never {value!r}; its values are {shown}. Change --favourable."
            )
    return y
