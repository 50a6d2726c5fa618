"""The page of promises names tests; each of them is there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/guide/promises.md"
CONTRACT = ROOT / "src/wayforward/testing/contract.py"


def functions(file: Path) -> set[str]:
    """Names of all tests in a file."""
    nodes = ast.walk(ast.parse(file.read_text(encoding="utf-8")))
    return {
        node.name for node in nodes if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


def test_every_promise_names_tests_that_are_there() -> None:
    page = PAGE.read_text(encoding="utf-8")
    names = re.findall(r"`(tests/[\w/]+\.py|CONTRACT)::(test_\w+)`", page)
    assert len(names) == page.count("::") > 40
    for file, name in names:
        there = CONTRACT if file == "CONTRACT" else ROOT / file
        assert there.is_file(), file
        assert name in functions(there), f"{file}::{name}"


def test_every_promise_has_a_test() -> None:
    rows = [
        row
        for row in PAGE.read_text(encoding="utf-8").splitlines()
        if row.startswith("| ") and "---" not in row
    ]
    promises = [row for row in rows if not row.startswith("| promise")]
    assert len(promises) > 20 and all("::" in row for row in promises)
