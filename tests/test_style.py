"""Style and types hold for the whole tree, with the versions of constraints.txt."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def run(*command: str) -> None:
    got = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True)
    assert got.returncode == 0, got.stdout[-6000:] + got.stderr[-2000:]


def test_style() -> None:
    run("ruff", "check", "--no-cache", ".")


@pytest.mark.slow
def test_types() -> None:
    run("mypy")


def test_no_file_names_this_machine_or_a_registry_host() -> None:
    """Committed text holds no absolute home or work path and no address of a package registry."""
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True).stdout.split()
    wrong = re.compile(r"(?<![\w.])/(?:root|home/\w+|work)/|pypi" + r"\.org|file" + r":///")
    found = []
    for name in tracked:
        path = ROOT / name
        if (
            path.suffix in {".py", ".md", ".toml", ".txt", ".yaml", ".yml", ""}
            and path.is_file()
            and name != "LICENSE"
        ):
            text = path.read_text(encoding="utf-8", errors="replace")
            found += [f"{name}: {hit[0]}" for hit in wrong.finditer(text)]
    assert not found


def test_the_changelog_names_every_method() -> None:
    from wayforward.methods import names

    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert [name for name in names() if f"`{name}`" not in text] == []
