"""Society at the shell: an example, a file of one's own, going on, and mistakes in one line; and the figure."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from wayforward.cli.app import app
from wayforward.errors import DataError
from wayforward.impact.society import FIGURES, History, Scenario, examples, figure_society

FILE = """
rounds: 1
people: 80
data: loan
model: lr
measure: 0
compliance: {share: 0.5}
"""


def ran(line: str, code: int = 0) -> str:
    got = CliRunner().invoke(app, line.split())
    assert got.exit_code == code, f"{got.output}\n{got.exception!r}"
    return got.output


def test_a_scenario_is_played_written_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Path("my.yaml").write_text(FILE)
    out = ran("society my.yaml --checkpoint my.npz --csv my.csv --json my.json --figure my.svg")
    assert "over all rounds" in out
    stored = json.loads(Path("my.json").read_text())
    first = History.from_dict({k: v for k, v in stored.items() if k != "rows"})
    lines = Path("my.csv").read_text().splitlines()
    assert len(lines) == len(stored["rows"]) + 1 == 4 and lines[0].startswith("round,group,")
    assert Path("my.svg").read_text().count("<svg") == 1
    ran("society my.yaml --rounds 2 --checkpoint my.npz --json more.json")
    more = json.loads(Path("more.json").read_text())
    assert more["flows"]["applied"][:1] == stored["flows"]["applied"] and len(more["flows"]["applied"]) == 2
    assert first.people[-1].sum() == 80
    assert "another scenario" in ran("society my.yaml --seed 9 --checkpoint my.npz", 2)
    sheet = figure_society({"one": first, "again": first}, tuple(FIGURES))
    assert len(sheet.axes) >= len(FIGURES)
    with pytest.raises(DataError):
        figure_society({})


@pytest.mark.parametrize(
    ("text", "word"), [("rounds: [", "YAML"), ("roundz: 3\n", "rounds"), ("data: moon\n", "moon")]
)
def test_mistakes_end_in_one_line(tmp_path: Path, text: str, word: str):
    (tmp_path / "bad.yaml").write_text(text)
    out = ran(f"society {tmp_path}/bad.yaml", 2)
    assert word in out and "Traceback" not in out
    assert "loan" in ran(f"society {tmp_path}/none.yaml", 2)


@pytest.mark.slow
def test_a_killed_run_goes_on_as_if_nothing_had_been(tmp_path: Path):
    """The process is killed (no chance to tidy up) each time a round is saved; the end is that of a whole run."""
    (tmp_path / "my.yaml").write_text(
        "rounds: 3\npeople: 300\narrivals: 30\nworld: known\nlender: {capacity: 0.5, retrain: 2}\n"
        "compliance: {kind: willing, error: 0.01, delay: [1, 2], leave: 0.05}\nsample: 100\n"
    )
    state = tmp_path / "my.npz"

    def start(*more: str) -> subprocess.Popen[bytes]:
        line = ["-c", "from wayforward.cli.app import app; app()", "society", "my.yaml", *more]
        return subprocess.Popen(
            [sys.executable, *line], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    killed = 0
    for _ in range(8):
        before = state.stat().st_mtime_ns if state.exists() else 0
        run = start("--checkpoint", "my.npz", "--json", "parts.json")
        while run.poll() is None and (state.stat().st_mtime_ns if state.exists() else 0) == before:
            time.sleep(0.005)
        if run.poll() is not None:
            break
        run.kill()
        run.wait()
        killed += 1
    assert run.wait() == 0 and killed >= 2
    assert start("--json", "whole.json").wait() == 0
    parts, whole = (json.loads((tmp_path / f"{name}.json").read_text()) for name in ("parts", "whole"))
    assert [parts.pop("seconds"), whole.pop("seconds")] and parts == whole


def test_a_run_without_rounds_and_without_measures(tmp_path: Path):
    (tmp_path / "none.yaml").write_text("rounds: 0\npeople: 50\nmeasure: 0\n")
    out = ran(
        f"society {tmp_path}/none.yaml --csv {tmp_path}/a.csv --json {tmp_path}/a.json --figure {tmp_path}/a.svg"
    )
    assert " nan" not in out.lower() and (tmp_path / "a.csv").read_text().startswith("round,group,")


def test_the_examples_are_scenarios():
    assert set(examples()) == {"loan", "balanced", "lasting"}
    assert Scenario.from_yaml("lasting").advice.robust == "noise:0.02"
    assert Scenario.from_yaml("balanced").advice.balanced == 0.3
    assert Scenario.from_yaml("loan").lender.learns_from == "accepted"
