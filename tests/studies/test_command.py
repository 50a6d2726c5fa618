"""`wayforward replicate icarma` writes what it says, marks quick looks, goes on from stored stages, checks options."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from wayforward.cli.app import app
from wayforward_studies.checkpoints import Checkpoints
from wayforward_studies.icarma import run as running
from wayforward_studies.icarma.setting import IcarmaSetting
from wayforward_studies.pages import stem


@pytest.fixture(autouse=True)
def _small_setting(small: IcarmaSetting, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(running, "make_setting", lambda dataset, request, show: small)
    monkeypatch.chdir(tmp_path)


def replicate(line: str, code: int = 0) -> Result:
    got = CliRunner().invoke(app, ["replicate", "icarma", *line.split()])
    assert got.exit_code == code, f"{got.output}\n{got.exception!r}"
    return got


QUICK = "--out out --cache kept --n 12 --seeds 1 --epochs 1"


def test_a_quick_table(tmp_path: Path) -> None:
    got = replicate(f"--table 6 {QUICK}")
    assert "quick look" in got.output and "0.876" in got.output
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {f"table-6-loan-quick.{ending}" for ending in ("md", "csv", "json")}
    text = (tmp_path / "out/table-6-loan-quick.md").read_text()
    assert text.startswith("# Table 6.") and "A quick look at 12 people" in text
    with (tmp_path / "out/table-6-loan-quick.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 12 and {row["method"] for row in rows} == {"oracle", "oracle-free"}
    assert rows[0]["validity_paper"] == "0.876" and float(rows[0]["validity"]) <= 1
    data = json.loads((tmp_path / "out/table-6-loan-quick.json").read_text())
    made = data["provenance"]
    assert (
        made["quick look"]
        and made["people asked"] == 12
        and set(made["splits"]) == {"train", "validation", "test"}
    )
    assert {"numpy", "python", "wayforward"} <= set(made["versions"]) and made["seconds"]
    assert sum(data["counts"].values()) == 12
    assert str(tmp_path) not in text + json.dumps(data)  # nothing about this machine

    # a second run asks nobody again and writes the same numbers
    before = {p.name: p.stat().st_mtime_ns for p in (tmp_path / "kept").rglob("*") if p.is_file()}
    content = (tmp_path / "out/table-6-loan-quick.csv").read_text()
    replicate(f"--table 6 {QUICK}")
    after = {p.name: p.stat().st_mtime_ns for p in (tmp_path / "kept").rglob("*") if p.is_file()}
    assert before == after and len(before) == 12
    assert (tmp_path / "out/table-6-loan-quick.csv").read_text() == content


@pytest.mark.slow
def test_amortised_pages(tmp_path: Path) -> None:
    pytest.importorskip("zuko")
    got = replicate(f"--table 1 --figure 3 --figure 4 --dataset loan {QUICK} --json numbers.json")
    assert "findings" not in got.output or got.output
    names = {path.name for path in (tmp_path / "out").iterdir()}
    for page in ("table-1-loan-quick", "figure-3-loan-quick", "figure-4-loan-quick"):
        assert {f"{page}.{e}" for e in ("md", "csv", "json")} <= names
    assert {f"{n}.{e}" for n in ("table-1-loan-quick-trade-off", "figure-3-loan-quick", "figure-4-loan-quick")
            for e in ("svg", "png")} <= names  # fmt: skip
    data = json.loads((tmp_path / "numbers.json").read_text())
    assert [page["title"].split(".")[0] for page in data["pages"]] == ["Table 1", "Figure 3", "Figure 4"]
    assert all((tmp_path / "out" / file).is_file() for page in data["pages"] for file in page["files"])
    assert (tmp_path / "out/table-1-loan-quick.md").read_text().count("```{image}") == 1


@pytest.mark.parametrize(
    "line, message",
    [
        ("--table 4", "has no table 4"),
        ("--figure 1", "has no figure 1"),
        ("--dataset german", "no data set 'german'"),
        ("--table 3 --dataset gmsc", "is not about gmsc"),
        ("--fresh --released", "Give one of them"),
        ("--released --dataset gmsc", "no classifier of GMSC"),
        ("--seed -1", "seed=-1 is no seed"),
        ("--table 6 --out file/out", "cannot be made"),
        ("--table 6 --cache file", "cannot be made"),
    ],
)
def test_wrong_options_are_named(line: str, message: str) -> None:
    Path("file").touch()
    assert message in replicate(line, code=4 if "cannot be made" in message else 2).output


def test_an_unknown_paper() -> None:
    got = CliRunner().invoke(app, ["replicate", "nobody"])
    assert got.exit_code == 2 and "no replication of 'nobody'" in got.output


def test_pages_of_a_request() -> None:
    pages = running.IcarmaRequest().pages
    assert len(pages) == 7 + 5 and "figure-8-gmsc" in pages and "table-3-gmsc" not in pages
    assert running.IcarmaRequest(tables=(1,), datasets=("gmsc",)).pages == ("table-1-gmsc",)
    assert {name.split("-")[2] for name in running.IcarmaRequest(fresh=True).pages} == {"loan"}
    released = running.IcarmaRequest(released=True).pages
    assert released == tuple(f"table-{number}-loan" for number in (1, 2, 5, 6))


def test_a_broken_file_is_made_again(tmp_path: Path) -> None:
    stages, made = Checkpoints(tmp_path), []

    def make() -> dict[str, np.ndarray]:
        made.append(1)
        return {"a": np.arange(3)}

    for _ in range(2):
        np.testing.assert_array_equal(stages.arrays("stage", [1], make)["a"], [0, 1, 2])
    assert len(made) == 1
    (file,) = tmp_path.iterdir()
    file.write_bytes(b"half")
    np.testing.assert_array_equal(stages.arrays("stage", [1], make)["a"], [0, 1, 2])
    stages.arrays("stage", [2], make)
    assert len(made) == 3


def test_pages_that_are_computed_need_nothing(tmp_path: Path) -> None:
    """Budde et al. (2026): two zeros a line are left of Table 4; whole scores give these weights only."""
    replicate("--extra rankings --extra profiles --out out")
    data = json.loads((tmp_path / "out/rankings.json").read_text())
    assert [check["verdict"] for check in data["findings"]] == ["as published"]
    assert sum(row["reverse"] for row in data["lines"]) == pytest.approx(1, abs=1e-5)
    data = json.loads((tmp_path / "out/profiles.json").read_text())
    assert [row["convex"] for row in data["lines"]] == [1, 2, 5, 10]
    assert (tmp_path / "out/profiles.svg").is_file()


def test_other_seeds_have_files_of_their_own() -> None:
    assert running.IcarmaRequest(seed=3).file("table-1-loan") == "table-1-loan-seed-3"
    assert running.IcarmaRequest(seed=3, n=9).file("table-1-loan") == "table-1-loan-seed-3-quick"
    assert stem("table-1-loan-seed-3-quick") == "table-1-loan" and stem("table-1") == "table-1"
