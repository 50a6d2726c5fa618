"""The page of the survey's Table 1: every system has a name here or a reason, every method was asked."""

from __future__ import annotations

import importlib
import json
import runpy
from pathlib import Path

import pytest

from wayforward.errors import DataError
from wayforward.methods import names
from wayforward.methods.survey import SURVEYED, beyond, systems_of

DOCS = Path(__file__).parents[2] / "docs"


def test_every_system_has_a_name_here_or_a_reason() -> None:
    """Karimi et al. (2022), Table 1: sixty systems, from SEDC to PARE."""
    assert len(SURVEYED) == len({row.name for row in SURVEYED}) == 60
    assert [row.when for row in SURVEYED] == sorted(row.when for row in SURVEYED)
    assert all(row.ours or row.remark for row in SURVEYED)
    assert {name for row in SURVEYED for name in row.ours} | set(beyond()) == set(names())
    assert systems_of("c-chvae") == (
        "C-CHVAE (Pawelczyk, Haug et al.)",
        "C-CHVAE (Pawelczyk, Broelemann et al.)",
    )
    trained = [part for row in SURVEYED for part in row.remark.split() if part.startswith("wayforward.")]
    assert len(trained) == 4
    for place in trained:  # what trains another model is where the remark says
        module, _, name = place.rpartition(".")
        assert hasattr(importlib.import_module(module), name)
    with pytest.raises(DataError, match="no method 'sedcc'"):
        systems_of("sedcc")


def test_the_page_is_that_of_its_numbers_and_of_every_method() -> None:
    made = runpy.run_path(str(DOCS / "make_table.py"))
    found = json.loads((DOCS / "guide/table-1.json").read_text(encoding="utf-8"))
    assert set(found) == set(names()), "python docs/make_table.py"
    assert made["page"](found) == (DOCS / "guide/table-1.md").read_text(encoding="utf-8")
    served = {name: sum(one.get("served", 0) for one in cells.values()) for name, cells in found.items()}
    assert [name for name, many in served.items() if not many] == []
    assert made["asked"]("nice", "linear", "independent") == found["nice"]["linear independent"]
