"""What answers give away, measured: cells are measured once, and the page is that of its files."""

from __future__ import annotations

import io
import sys

import pytest
from benchmarks.disclosure_page import figure_copies, figure_defences, page

from benchmarks import disclosure
from wayforward.impact.disclosure.attack import PLAIN

MADE = {"refused": 30, "settings": disclosure.of_settings()}


def test_the_page_holds_every_number_that_is_there():
    """Of two made-up cells: the rows, the sentences with their numbers, and what is missing."""
    cells = {cell: one_cell(copied) for cell, copied in zip(disclosure.CELLS, (0.9, 0.7), strict=False)}
    told = page(cells)
    assert f"2 of {len(disclosure.CELLS)} cells." in told and disclosure.CELLS[2] in told
    assert "agrees for 60% after 20 queries and 80% after the most" in told
    assert (
        "as many decisions 50% and 60%. After the most queries options copied better in 2 of 2 cells." in told
    )
    assert "guesses are right 20 percentage points more often" in told
    assert (
        "**crowd of 5** (2 cells): -10 percentage points with an option, +30% cost in the median cell" in told
    )
    assert "rare values 40% before and 0% after" in told
    assert (
        "| `local-search` | plain | 95 | – | 60 | 90 | 90 | 0.55 (0.45 to 0.65) | 90 / 70 | 40 | 5 | 2 |"
        in told
    )
    first = figure_copies(cells).axes[0]
    drawn = [line.get_ydata().tolist() for line in first.lines if line.get_label() in disclosure.METHODS]
    assert drawn == [[0.6, 0.9], [0.6, 0.7]]
    figure_defences(cells).savefig(io.BytesIO(), dpi=30)


def one_cell(copied):
    """A cell with and without a crowd."""
    curve = [[20, 0.6, 0.5, 0.7, "both", "net"], [100, copied, 0.5, 1.0, "both", "net"]]
    known = [[20, 0.5, 0.4, 0.6, "labels", "net"], [100, 0.6, 0.5, 0.7, "labels", "net"]]
    plain = {
        "name": PLAIN, "usable": [0.95, 0.9, 1.0], "cost": [1.0, 0.9, 1.1], "dearer": [None] * 3,
        "copies": {"decisions": known, "both": curve, "options": curve},
        "membership": {"cost": [0.55, 0.45, 0.65, 0.0, 0.0, 0.1]},
        "attributes": {"sex": [0.9, 0.8, 1.0, 0.7, 0.6, 0.8]},
        "reconstruction": {"rare": [0.4, 0.3, 0.5, 0.05, 0.0, 0.1], "rows": [0.02, 0.0, 0.1, 0.0, 0.0, 0.1]},
    }  # fmt: skip
    crowd = plain | {
        "name": "crowd of 5", "usable": [0.85, 0.8, 0.9], "dearer": [0.3, 0.2, 0.4],
        "reconstruction": {"rare": [0.0, 0.0, 0.1, 0.0, 0.0, 0.1], "rows": [0.0, 0.0, 0.1, 0.0, 0.0, 0.1]},
    }  # fmt: skip
    return {"refused": 30, "exposures": [plain, crowd]}


def test_stopped_work_goes_on(monkeypatch, tmp_path, capsys):
    """A cell that has a result is not measured again, but where the settings are others, or it is asked for."""
    monkeypatch.setattr(disclosure, "FOLDER", tmp_path)
    measured = []

    def measure(cell):
        if len(measured) == 2:
            raise KeyboardInterrupt
        measured.append(cell)
        return MADE

    monkeypatch.setattr(disclosure, "measure", measure)
    three = disclosure.CELLS[:3]

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["disclosure", "--cells", *three, *words])
        disclosure.main()

    with pytest.raises(KeyboardInterrupt):
        run()
    assert sorted(disclosure.found()) == sorted(three[:2])
    measured.clear()
    run()
    assert measured == [three[2]] and set(disclosure.found()) == set(three)
    measured.clear()
    disclosure.file_of(three[1]).write_text('{"settings": "others"}')
    run()
    assert measured == [three[1]]
    measured.clear()
    with pytest.raises(KeyboardInterrupt):
        run("--anew")
    assert measured == list(three[:2])
