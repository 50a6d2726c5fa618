"""`wayforward recommend` into a folder: shard by shard, with workers, and on from where it stopped."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd

from wayforward.recourse import Recourse
from wayforward.scale import Answers

from .conftest import ASK, Shell


def test_a_folder_gets_the_bits_of_one_file(shell: Shell) -> None:
    """The label of people.csv stays behind; an odd row is set aside; the same command goes on."""
    line = f"{ASK} --people people.csv --k 2"
    shell(f"{line} --out r.parquet --workers 2 --on threads")
    got = shell(f"{line} --out answers --rows-per-shard 25 --workers 2 --on threads --json out.json")
    whole, answers = Recourse.load("r.parquet"), Answers.open("answers")
    parts = Recourse.concat(list(answers.parts()))
    np.testing.assert_array_equal(parts.after, whole.after)
    assert "written: answers/answers (3 files)" in got.output
    assert json.loads(Path("out.json").read_text())["outcomes"] == whole.outcomes()
    (Path("answers") / "answers" / "part-000001.parquet").unlink()
    shell(f"{line} --out answers --rows-per-shard 25")
    assert len(pd.read_parquet("answers/answers")) == 120
    got = shell(f"{line} --out answers --rows-per-shard 25 --seed 3", code=2)
    assert "What differs:" in got.output and "--fresh" in got.output
    shell(f"{line} --out answers --rows-per-shard 25 --seed 3 --fresh --form compact")
    assert Answers.open("answers").manifest["question"]["form"] == "compact"


def test_proofs_are_kept_in_a_folder_as_in_one_file(shell: Shell) -> None:
    """The same bounds, counted in the manifest; without --certify there is no such column."""
    line = f"{ASK} --people people.csv --certify --room 0"
    shell(f"{line} --out r.parquet")
    got = shell(f"{line} --out answers --rows-per-shard 60")
    whole, answers = Recourse.load("r.parquet"), Answers.open("answers")
    parts = Recourse.concat(list(answers.parts()))
    np.testing.assert_array_equal(parts.bound, whole.bound)
    assert np.isfinite(parts.bound[parts.found]).any()
    assert answers.counts()["proved_cheapest"] == parts.proved_cheapest.sum() > 0
    assert "proved the cheapest" in got.output
    again = shell(f"{ASK} --people people.csv --out answers --rows-per-shard 60", code=2)
    assert "--fresh" in again.output


def test_odd_people_are_counted_and_the_others_answered(shell: Shell) -> None:
    """The id says who it was."""
    rows = shell.rows("people.csv")
    rows = [row | {"who": f"p{i}"} for i, row in enumerate(rows)]
    rows[7]["housing"] = "castle"
    shell.write("people.csv", rows)
    got = shell(f"{ASK} --people people.csv --out answers --id who")
    assert "could not be read" in got.output
    assert [row["id"] for row in Answers.open("answers").problems()] == ["p7"]


def test_what_a_folder_does_not_take_is_said(shell: Shell) -> None:
    """One line, before the work."""
    for line, words in (
        (f"{ASK} --out answers", "Name the table with --people"),
        (
            f"{ASK} --people people.csv --out answers --csv r.csv",
            "--csv, --report, --letters, --kind and --acts are for answers in one file",
        ),
        (
            f"{ASK} --people people.csv --out answers --n 5",
            "--n and --preferences are for answers in one file",
        ),
        (f"{ASK} --people people.csv --out answers --on dask", "on='dask' is not known"),
        (f"{ASK} --people people.csv --out r.json --on dask --workers 2", "on='dask' is not known"),
    ):
        assert words in shell(line, code=2).output.replace("\n", " ")
    assert not Path("answers").exists()


def test_a_folder_is_judged_again_shard_by_shard(shell: Shell) -> None:
    """The same numbers as of one file."""
    line = f"{ASK} --people people.csv"
    shell(f"{line} --out r.json")
    shell(f"{line} --out answers --rows-per-shard 25")
    got = shell("evaluate answers --json folder.json --groups housing")
    assert "local-search: 60 people" in got.output and "by housing" in got.output
    shell("evaluate r.json --json file.json")
    folder, file = (json.loads(Path(name).read_text()) for name in ("folder.json", "file.json"))
    assert folder["outcomes"] == file["outcomes"] and folder["asked"] == file["asked"]
    for name, found in file["metrics"].items():
        assert folder["metrics"][name]["n"] == found["n"], name
        if found["value"] is not None:
            assert abs(folder["metrics"][name]["value"] - found["value"]) < 1e-9, name
