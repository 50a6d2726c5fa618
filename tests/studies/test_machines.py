"""Small tables under other kernels: how they are compared, and that a process uses what it is told to use."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from wayforward.errors import MethodError
from wayforward_studies.machines.profiles import PROFILES, Profile
from wayforward_studies.machines.run import MachinesReplication, MachinesRequest, compared
from wayforward_studies.machines.tables import SMALL, Measured, Small
from wayforward_studies.pages import Line, Page, Table
from wayforward_studies.replication import Replication, Request
from wayforward_studies.verdicts import Cell, Check


class Plain(Replication):
    """A page of one number that the paper states as .5, within .1."""

    paper = "plain"
    decides = ("machines/tables.py",)

    def measure(self, name: str) -> Page:
        raise NotImplementedError

    @classmethod
    def laid_out(cls, page: Page) -> Page:
        cell = Cell(page.rows[0]["ours"], 0.5, 0.1)
        return replace(page, tables=(Table(("number",), (Line(("one",), (cell,)),)),))


def one(ours: float, holds: bool = True, **more: object) -> Measured:
    found = (Check("sure", "it is", holds, ""),)
    page = Page("plain", "table-1", "", ({"ours": ours, "name": "x", "none": None},), found, {})
    return replace(Measured(page, {"torch": "AVX2"}, 1.0), **more)


def test_differences_are_counted_and_stated_in_tolerances() -> None:
    same = compared(Plain, one(0.55), one(0.55))
    assert (same["numbers"], same["other_bits"], same["tolerances"], same["same_weights"]) == (
        1,
        0,
        0.0,
        None,
    )
    bit = compared(Plain, one(0.55), one(0.55 + 2**-53))  # a page shows six digits
    assert (bit["other_bits"], bit["other_digits"], bit["tolerances"]) == (1, 0, 0.0)
    assert 0 < bit["relative"] < 1e-15
    other = compared(Plain, one(0.55, refused=9, weights="a"), one(0.65, holds=False, refused=8, weights="b"))
    assert other["tolerances"] == pytest.approx(1.0) and other["same_weights"] is False
    assert (other["verdicts_otherwise"], other["findings_otherwise"]) == (1, 1)
    assert other["which"] == "one: within then better; sure: as published then not as published"


def test_all_bits_are_stored(tmp_path: Path) -> None:
    found = one(0.1 + 0.2, refused=3)
    found.write(tmp_path / "one.json")
    again = Measured.read(tmp_path / "one.json")
    assert again.page.rows == found.page.rows and again.refused == 3 and again.kernels == found.kernels


def test_a_process_uses_the_kernels_that_it_is_told_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """As its libraries say; what the caller's environment says of kernels is left out."""
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    assert "OPENBLAS_CORETYPE" not in PROFILES[0].environment()
    sse = next(profile for profile in PROFILES if profile.name == "SSE")
    ask = (
        "import json; from wayforward_studies.machines.profiles import kernels; print(json.dumps(kernels()))"
    )
    got = subprocess.run([sys.executable, "-c", ask], env=sse.environment(), capture_output=True, check=True)
    kernels = json.loads(got.stdout)
    assert kernels["linear algebra"] == "Nehalem" and kernels["torch"] == "DEFAULT"
    assert kernels["numpy's loops"] == "baseline" and kernels["compiled searches"] == "generic"
    assert kernels["threads"] == "1"


def test_a_table_that_fails_is_named_with_its_profile(tmp_path: Path) -> None:
    small = {"study": SMALL["study"]}
    profile = Profile(
        "broken", "nothing", {"WAYFORWARD_DATA": "", "PYTHONPATH": "", "PYTHONHOME": "/nowhere"}
    )
    work = MachinesReplication(MachinesRequest(cache=tmp_path), profiles=(profile,), small=small)
    with pytest.raises(MethodError, match="under 'broken'"):
        work.page("kernels")


def test_stored_tables_are_compared_without_measuring(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run goes on from what it stored, and a page is written from that."""

    def process(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        for name, _n, _seed, _weights, file in json.loads(command[-1]):
            asked.append(name)
            one(0.5 if len(asked) == 1 else 0.7).write(Path(file))
        return subprocess.CompletedProcess(command, 0)

    def make(n: int, seed: int, weights: Path | None, out: Path) -> Replication:
        return Plain(Request(out=out))

    asked: list[str] = []
    monkeypatch.setattr("wayforward_studies.machines.run.subprocess.run", process)
    small = {"plain": Small("Plain", "table-1", 9, make)}
    profiles = tuple(replace(profile, tables=()) for profile in PROFILES[:2])
    for _ in range(2):
        request = MachinesRequest(cache=tmp_path / "kept", out=tmp_path / "out")
        page = MachinesReplication(request, profiles=profiles, small=small).page("kernels")
    assert asked == ["plain", "plain"]
    assert page.rows[0]["verdicts_otherwise"] == 1 and page.checks[0].verdict == "not met"
    assert "| Plain | 1 | 1 (2); 1 otherwise |" in (tmp_path / "out/kernels.md").read_text()
