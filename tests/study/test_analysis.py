"""From a table of ratings to the summary, by function and by command."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from wayforward.cli.app import app
from wayforward.errors import DataError
from wayforward.study import Gamm, analyse

from . import reference

pandas = pytest.importorskip("pandas")


def ratings() -> pandas.DataFrame:
    data = reference.read("steps")
    table = pandas.DataFrame({
        "participant": [f"P{u:.0f}" for u in data["uid"]], "sparsity": data["x"],
        "action": data["gaussian"], "level": data["ordered"], "impossible": 0,
    })  # fmt: skip
    table.loc[3, "impossible"] = 2
    table.loc[7, "action"] = np.nan
    return table


def test_rows_that_cannot_count_are_left_out() -> None:
    table = ratings()
    got = analyse(table, ["action"], ["sparsity"], impossible="impossible")
    left = table.drop([3, 7])
    alone = Gamm.fit(left["action"], left["sparsity"], left["participant"].tolist())
    assert got.left_out == 2
    assert got.models["action", "sparsity"].aic == pytest.approx(alone.aic)


def test_a_coarse_quantity_gets_a_smaller_basis() -> None:
    table = ratings().assign(half=lambda t: (t["sparsity"] > 6) + (t["sparsity"] > 9) * 1.0)
    model = analyse(table, ["action"], ["half"]).models["action", "half"]
    assert model.smooth.design(np.array([0.0])).shape == (1, 2)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((["care"], ["sparsity"]), "no column 'care'"),
        ((["participant"], ["sparsity"]), "holds texts"),
        ((["action"], ["sparsity"], "uid"), "no column 'uid'"),
        ((["impossible"], ["sparsity"]), "impossible ~ sparsity: "),
    ],
)
def test_mistakes_are_named(arguments: tuple, says: str) -> None:
    table = ratings().assign(impossible=1)
    with pytest.raises(DataError, match=says):
        analyse(table, *arguments)


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ratings().to_csv("ratings.csv", index=False)
    line = "study analyse ratings.csv --outcome action --x sparsity --impossible impossible"
    got = CliRunner().invoke(app, [*line.split(), "--csv", "s.csv", "--json", "s.json", "--figure", "s.svg"])
    assert got.exit_code == 0, got.output
    assert "2 rows were left out" in got.output and "action ~ sparsity" in got.output
    told = json.loads(Path("s.json").read_text())
    (model,) = told["models"]
    assert model["participants"] == 90 and len(model["curve"]["x"]) == 50
    assert "P1" not in Path("s.json").read_text()
    assert Path("s.csv").read_text().splitlines()[0].startswith("model,term,coefficient")
    assert "<svg" in Path("s.svg").read_text()
    wrong = CliRunner().invoke(app, ["study", "analyse", "ratings.csv"])
    assert wrong.exit_code == 2 and "no column 'acceptance'" in wrong.output


def test_a_simulated_study_can_be_analysed_and_planned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for line in (
        "study simulate --participants 40 --out ratings.csv",
        "study analyse ratings.csv --outcome action --x sparsity --impossible impossible",
        "study power --participants 20 --studies 2 --height 0 --json power.json",
    ):
        got = CliRunner().invoke(app, line.split())
        assert got.exit_code == 0, got.output
    (row,) = json.loads(Path("power.json").read_text())
    assert row["participants"] == 20 and 0 <= row["interval"][0] <= row["share"] <= row["interval"][1] <= 1
    assert len(pandas.read_csv("ratings.csv")) == 200
