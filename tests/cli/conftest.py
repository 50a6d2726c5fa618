"""A small world on disk: past people, people to answer, a schema, and the way to call the command line."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from wayforward.cli.app import app


@dataclass
class Shell:
    """Calls `wayforward` in a folder that holds train.csv, people.csv and schema.yaml."""

    folder: Path

    def __call__(self, line: str, code: int = 0) -> Result:
        got = CliRunner().invoke(app, line.split())
        assert got.exit_code == code, f"{line}\n{got.output}\n{got.exception!r}"
        return got

    def rows(self, name: str) -> list[dict[str, str]]:
        with (self.folder / name).open(encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def write(self, name: str, rows: list[dict]) -> None:
        with (self.folder / name).open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, fieldnames=list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)


SCHEMA = """\
features:
- {name: age, kind: integer, low: 18, high: 90, unit: years, actionability: immutable}
- {name: income, kind: integer, low: 0, high: 9000, step: 10, unit: EUR/month, direction: increase}
- {name: savings, kind: integer, low: 0, high: 60000, unit: EUR}
- {name: housing, kind: categorical, levels: [rent, own, free]}
rules:
- after.savings >= 0.5 * after.income
"""

ASK = "recommend --train train.csv --label y --favourable 1 --schema schema.yaml --model lr"


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.chdir(tmp_path)
    here = Shell(tmp_path)
    rng = np.random.default_rng(5)
    n = 260
    age, income = rng.integers(18, 90, n), rng.integers(60, 500, n) * 10
    savings = income // 2 + rng.integers(0, 9000, n)
    housing = rng.choice(["rent", "own", "free"], n)
    score = income / 1000 + savings / 5000 + 0.5 * (housing == "own") + rng.normal(0, 0.3, n)
    y = (score > np.median(score)).astype(int)
    columns = {"age": age, "income": income, "savings": savings, "housing": housing, "y": y}
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    here.write("train.csv", rows[:200])
    here.write("people.csv", rows[200:])
    (tmp_path / "schema.yaml").write_text(SCHEMA)
    return here
