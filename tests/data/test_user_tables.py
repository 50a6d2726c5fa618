"""Tables that users give, and that somebody made to break their readers: bounded before they are read."""

from __future__ import annotations

import gzip
import json
import time
from pathlib import Path

import numpy as np
import pytest

from wayforward.data.user_tables import read_table
from wayforward.errors import DataError, FileFormatError, WayforwardError
from wayforward.scale.sources import open_source

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def equal_rows(path: Path, rows: int, columns: int = 1) -> Path:
    """A file of a few kilobytes: one value a column, many times, as runs of one length."""
    block = pa.table({f"c{i}": pa.array(np.zeros(10_000_000)) for i in range(columns)})
    with pq.ParquetWriter(path, block.schema, compression="zstd") as file:
        for _ in range(rows // 10_000_000):
            file.write_table(block)
        if rows % 10_000_000:
            file.write_table(block.slice(0, rows % 10_000_000))
    return path


def test_a_small_file_of_very_many_equal_rows_is_refused_by_its_end(tmp_path: Path, monkeypatch):
    monkeypatch.setattr("wayforward.data.user_tables.MOST_VALUES", 20_000_000)
    file = equal_rows(tmp_path / "p.parquet", 10_000_001, 2)
    assert file.stat().st_size < 1_000_000
    monkeypatch.setattr(pd, "read_parquet", None)
    with pytest.raises(DataError, match=r"'p.parquet' has 10,000,001 rows of 2 columns; .* --out FOLDER"):
        read_table(file)
    assert open_source(file).people() == 10_000_001  # shard by shard it can be answered


def test_a_million_rows_are_read(tmp_path: Path):
    assert read_table(equal_rows(tmp_path / "p.parquet", 1_000_000)).shape == (1_000_000, 1)


@pytest.mark.parametrize("name", ["line.csv", "line.tsv.gz"])
@pytest.mark.parametrize(
    "content", [b"a" * 20_000_000, b'x,"1\n",' * 2_000_000], ids=["a line", "a row of lines"]
)
def test_a_first_line_without_an_end_is_not_read_whole(tmp_path: Path, name: str, content: bytes):
    file = tmp_path / name
    content = content.replace(b",", b"\t") if "tsv" in name else content
    file.write_bytes(gzip.compress(content, 1) if name.endswith("gz") else content)
    for read in (read_table, open_source):
        with pytest.raises(FileFormatError, match=f"'{name}' has a line of more than 4,000,000"):
            read(file)


def test_a_column_that_is_there_twice_is_named_in_every_kind_of_file(tmp_path: Path):
    columns = [pa.array([1.0, 2.0])] * 3
    pq.write_table(pa.Table.from_arrays(columns, names=["inc", "a", "inc"]), tmp_path / "p.parquet")
    (tmp_path / "p.csv").write_text("inc,a,inc\n1,2,3\n")
    for name in ("p.parquet", "p.csv"):
        with pytest.raises(DataError, match="has the column 'inc' twice. Rename"):
            read_table(tmp_path / name)


def test_notes_of_pandas_about_another_table_stop_nothing(tmp_path: Path):
    table = pa.table({"inc": [1.0, 2.0], "a": [3.0, 4.0]})
    for i, notes in enumerate((
        {"index_columns": ["inc"], "columns": [], "pandas_version": "1"}, {"index_columns": ["gone"]}, ["odd"],
    )):  # fmt: skip
        file = tmp_path / f"{i}.parquet"
        pq.write_table(table.replace_schema_metadata({b"pandas": json.dumps(notes).encode()}), file)
        assert list(read_table(file).columns) == ["inc", "a"]
    pq.write_table(table.replace_schema_metadata({b"pandas": b"{" * 100_000}), file)
    assert list(read_table(file).columns) == ["inc", "a"]


def test_what_a_reader_says_of_a_broken_file_ends_with_a_next_step(tmp_path: Path):
    file = tmp_path / "p.parquet"
    pq.write_table(pa.table({"a": [1.0] * 99}), file)
    file.write_bytes(file.read_bytes()[:-30])
    with pytest.raises(
        WayforwardError, match=r"'p.parquet' cannot be read as PARQUET: .*\. Save the table again\.$"
    ):
        read_table(file)


def test_very_many_columns_are_looked_at_once_each(tmp_path: Path):
    """Their names were counted once for each: eight seconds for 20,000 columns."""
    file = tmp_path / "wide.csv"
    names = ",".join(f"column_{i}" for i in range(20_000))
    file.write_text(f"{names}\n{','.join('1' for _ in range(20_000))}\n")
    started = time.process_time()
    assert read_table(file).shape == (1, 20_000)
    open_source(file)
    assert time.process_time() - started < 4
