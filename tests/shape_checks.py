"""Shapes that are checked: every public function whose signature names a shape of `wayforward.shapes` is held to it.

A module of the package is wrapped when it is imported: its functions, and the methods of its classes. Only parameters
and results that are annotated with a shape are checked (or a shape or None); with jaxtyping, the same letter stands for
the same number within a call. Other annotations are the type checker's. Python integers pass as floats nowhere here:
arrays are checked, not scalars.

A check costs more than many a function that it wraps, so each test checks the first `CALLS` calls of each function.
Which calls those are depends on the test alone, not on what ran before it. Shapes are made of letters alone, so a check
hangs on which sizes are equal and not on the sizes: what was right once is not looked at again (`_form`).
"""

from __future__ import annotations

import functools
import importlib.abc
import importlib.machinery
import inspect
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
from jaxtyping import TypeCheckError, jaxtyped

_PACKAGE = "wayforward."
_OWN = ("wayforward.shapes", "wayforward.lazy")
CALLS = 16  # of a function within a test that are checked
CHECKED: dict[str, int] = {}  # qualified names of what is wrapped, and their places in `left`
left: list[int] = []  # calls yet to be checked in this test: a list, for it is looked up at every call
_LEFT_OUT = type("LeftOut", (), {})()  # an argument that was not given: a default is its author's


@contextmanager
def unchecked() -> Iterator[None]:
    """Check no shapes meanwhile, for a test of what the package itself says of wrong ones."""
    before = left[:]
    left[:] = [0] * len(left)
    try:
        yield
    finally:
        left[: len(before)] = before


def start_test() -> None:
    """Check the first calls of every function again; called before each test."""
    left[:] = [CALLS] * len(left)


def _shapes() -> dict[str, Any]:
    from wayforward import shapes

    return {name: value for name, value in vars(shapes).items() if name[0].isupper()}


@functools.cache
def _shape(annotation: str) -> Any:
    """The shape that an annotation names, perhaps with None; None for any other annotation."""
    found = _shapes()
    name = re.fullmatch(r"(\w+)( \| None)?", annotation)
    if name is None or name[1] not in found or name[1] in ("Any", "Bool", "Float", "Int", "TypeAlias"):
        return None
    return found[name[1]] | None if name[2] else found[name[1]]


def checked(function: FunctionType) -> Callable[..., Any]:
    """The function under a check of its shapes, or the function itself where it names none."""
    own = inspect.unwrap(function).__globals__  # a module may give a name of `shapes` to something else
    notes = {
        name: _shape(note)
        for name, note in function.__annotations__.items()
        if isinstance(note, str)
        and own.get(note.split()[0], _shape(note.split()[0])) is _shape(note.split()[0])
    }
    notes = {name: note for name, note in notes.items() if note is not None}
    if not notes or inspect.isgeneratorfunction(function):
        return function
    full_name = f"{function.__module__}.{function.__qualname__}"
    place = CHECKED.setdefault(full_name, len(left))
    left.extend([CALLS] * (place == len(left)))
    order = list(inspect.signature(function).parameters)
    given = [(order.index(name), name) for name in notes if name != "return"]
    right: set[tuple[Any, ...]] = set()

    def look_at(values: tuple[Any, ...]) -> None:
        form = _form(values)
        if form in right:
            return
        with jaxtyped("context"):  # one letter, one number
            for (name, note), value in zip(shapes, values, strict=False):
                if value is not _LEFT_OUT and not isinstance(value, note):
                    found = f"{value.dtype}{value.shape}" if hasattr(value, "dtype") else type(value).__name__
                    raise TypeCheckError(f"{full_name}: '{name}' is {found}, not {note}. All: {form}")
        right.add(form)

    shapes = [(name, notes[name]) for _, name in given] + [("return", notes.get("return"))]

    @functools.wraps(function)
    def sampled(*args: Any, **kwargs: Any) -> Any:
        if not left[place]:
            return function(*args, **kwargs)
        left[place] -= 1
        values = tuple(args[at] if at < len(args) else kwargs.get(name, _LEFT_OUT) for at, name in given)
        look_at(values)
        result = function(*args, **kwargs)
        if "return" in notes:
            look_at((*values, result))
        return result

    return sampled


def _form(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """All that shapes ask of some values: their types, and which of their sizes are equal."""
    numbers: dict[int, int] = {}
    return tuple(
        (type(value), value.dtype, *[numbers.setdefault(size, len(numbers)) for size in value.shape])
        if isinstance(value, np.ndarray)
        else type(value)
        for value in values
    )


def _wrap(module: ModuleType) -> None:
    """Check the public functions of a module, and the public methods of its classes."""
    for name, value in list(vars(module).items()):
        if getattr(value, "__module__", None) != module.__name__ or name.startswith("_"):
            continue
        if isinstance(value, FunctionType):
            setattr(module, name, checked(value))
        elif isinstance(value, type):
            for part, method in list(vars(value).items()):
                if isinstance(method, FunctionType) and not part.startswith("_"):
                    again = checked(method)
                    if again is not method:
                        setattr(value, part, again)


class _Loader(importlib.abc.Loader):
    def __init__(self, own: importlib.abc.Loader) -> None:
        self.own = own

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self.own.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self.own.exec_module(module)
        _wrap(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.own, name)


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not fullname.startswith(_PACKAGE) or fullname in _OWN:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None and spec.origin and spec.origin.endswith(".py"):
            spec.loader = _Loader(spec.loader)
        return spec


def install() -> None:
    """Check shapes of all modules of the package that are imported from now on."""
    sys.meta_path.insert(0, _Finder())
