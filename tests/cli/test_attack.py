"""`wayforward attack`: findings on the screen, the page and the numbers; `recommend --crowd`."""

from __future__ import annotations

import json

TABLES = "--train train.csv --label y --favourable 1 --schema schema.yaml --model lr"


def test_numbers_page_and_findings(shell):
    got = shell(
        f"attack {TABLES} --people train.csv --n 30 --queries 15 --seeds 1 --crowd 3 --grid 0.1 --json a.json "
        "--html a.html"
    )
    numbers = json.loads((shell.folder / "a.json").read_text())
    assert [one["name"] for one in numbers["exposures"]] == ["without a defence", "this defence"]
    assert "held by 3 people" in numbers["exposures"][1]["keeps"]
    assert {one["queries"] for one in numbers["exposures"][0]["extraction"]} == {15}
    assert "refused people get an option" in got.output
    assert (shell.folder / "a.html").read_text().count("<svg") == 4


def test_people_whom_the_model_has_not_seen_are_needed(shell):
    got = shell(f"attack {TABLES} --no-defences", code=2)
    assert "--people" in got.output


def test_recommend_keeps_to_a_crowd(shell):
    shell(f"recommend {TABLES} --n 12 --crowd 4 --grid 0.1 --out a.json --json b.json")
    assert json.loads((shell.folder / "b.json").read_text())
    told = (shell.folder / "a.json").read_text()
    assert "each value held by 4 people or more" in told
