"""Nobody reaches into another's state: private names, `__dict__` and object's own setters stay with their owner."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "wayforward"
_SETTERS = ("object.__new__", "object.__setattr__")
_THIRD_PARTY = (
    "estimator",
    "transform",
)  # what scikit-learn and zuko keep to themselves, and no public way tells


@cache
def _trees() -> dict[str, ast.Module]:
    return {
        file.relative_to(SOURCE).as_posix(): ast.parse(file.read_text(encoding="utf-8"))
        for file in SOURCE.rglob("*.py")
    }


def _private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def _defined(tree: ast.Module) -> set[str]:
    """Private names that a file defines: functions, classes, variables, fields, and attributes of self."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and _self(node.value):
            found.add(node.attr)
    return {name for name in found if _private(name)}


def _self(value: ast.expr) -> bool:
    return isinstance(value, ast.Name) and value.id in ("self", "cls")


def _own(value: ast.expr) -> bool:
    """self, cls, super(), type(self): what a class may ask of itself and of the classes that it extends."""
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
        return value.func.id in ("super", "type")
    return isinstance(value, ast.Name) and value.id in ("self", "cls", *_THIRD_PARTY)


def test_private_names_stay_with_their_owner() -> None:
    """A name with a leading underscore is used where it is defined, and by classes that inherit it."""
    elsewhere = {file: _defined(tree) for file, tree in _trees().items()}
    everywhere = set().union(*elsewhere.values())
    others = {file: everywhere - own for file, own in elsewhere.items()}
    strangers = [
        f"{file}:{node.lineno} {ast.unparse(node)}"
        for file, tree in _trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in others[file] and not _own(node.value)
    ]
    strangers += [
        f"{file}:{node.lineno} {node.module}.{alias.name}"
        for file, tree in _trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("wayforward")
        for alias in node.names
        if _private(alias.name) and not alias.name.endswith("_jit")
    ]
    assert not strangers


def test_nobody_writes_into_another_object_behind_its_back() -> None:
    """`__dict__`, `object.__new__` and `object.__setattr__` are for the object itself, or for a copy that it makes."""
    behind = []
    for file, tree in _trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr == "__dict__" and not _own(node.value):
                behind.append(f"{file}:{node.lineno} {ast.unparse(node)}")
            if isinstance(node, ast.Call) and ast.unparse(node.func) in _SETTERS:
                behind += [] if ast.unparse(node.args[0]) in ("self", "other") else [f"{file}:{node.lineno}"]
    assert not behind
