"""One word for one thing: names that explain themselves, and a class name for one module only."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "wayforward"
DIALECT = {"told", "asked", "kept", "stands", "said"}
# A public parameter, and old names that answer for one release, with a warning.
PUBLIC = {
    ("answers/causes.py", "told"),
    ("evaluate/evaluation.py", "asked"),
    ("impact/audit/agreement.py", "stands"),
    ("impact/audit/gaps.py", "stands"),
    ("impact/audit/result.py", "stands"),
    ("impact/audit/worst_off.py", "stands"),
    ("impact/segregation/change.py", "asked"),
    ("impact/summaries/summary.py", "told"),
    ("impact/summaries/tree.py", "asked"),
    ("methods/cruds.py", "kept"),
    ("people/dialogue/wording.py", "told"),
    ("people/elicitor.py", "asked"),
    ("rules/ruleset.py", "kept"),
}


def _names(tree: ast.Module) -> set[str]:
    """Names of variables, attributes that are set, parameters, functions and classes."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.add(node.attr)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
    return found


def test_no_name_is_dialect() -> None:
    """Variables say what they hold: n_reported, queries, valid, significant, note."""
    found = {
        (file.relative_to(SOURCE).as_posix(), name)
        for file in SOURCE.rglob("*.py")
        for name in _names(ast.parse(file.read_text(encoding="utf-8")))
        if name.strip("_") in DIALECT
    }
    assert not found - PUBLIC


def test_a_class_name_belongs_to_one_module() -> None:
    """Nobody has to ask which Plan is meant."""
    places: dict[str, set[str]] = defaultdict(set)
    for file in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].add(file.relative_to(SOURCE).as_posix())
    assert {name: where for name, where in places.items() if len(where) > 1} == {}
