"""Tables for tests, benchmarks and first steps, each with its schema, its traps handled and a data card.

`load("german")` reads one, `names()` lists them, `catalogue()` says what is known before anything is read.
`loan` is drawn from its structural equations and needs no file.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

from wayforward.data.dataset import Acts, Dataset, Entry, Source, Step
from wayforward.data.files import Files
from wayforward.errors import DataError

__all__ = ["Acts", "Dataset", "Entry", "Source", "Step", "available", "catalogue", "load", "names"]

_NAMES = ("loan", "german", "adult", "compas", "gmsc", "law", "default_credit")


def names() -> tuple[str, ...]:
    """The data sets that `load` knows."""
    return _NAMES


def catalogue() -> tuple[Entry, ...]:
    """What is known about each data set before it is read: title, size, terms, variants, who may act."""
    return tuple(_module(name).ENTRY for name in _NAMES)


def available(name: str, path: str | os.PathLike[str] | None = None) -> bool:
    """Can the data set be loaded from this machine alone, without a download?"""
    entry: Entry = _module(_known(name)).ENTRY
    files = Files(name, path)
    return name == "loan" or all(files.find(key) is not None for key in entry.files)


def load(name: str, path: str | os.PathLike[str] | None = None, variant: str | None = None) -> Dataset:
    """Load a data set.

    name: one of `names()`, or 'name:variant'. path: a folder (or file) to read instead of the usual places.
    variant: words joined by '+', each a variant of the table or the name of an actionability set, such as
    'missing+carla'; 'recommended' is the default and 'benchmark' the convention of the literature.
    Files are looked for in `path`, in the folders of the environment variable WAYFORWARD_DATA and in the
    user's cache, then fetched from their public home where the terms allow it; each is checked (sha256).
    Raises: DataError for an unknown name or variant, for a file that is absent or is not the known one.
    Example: ``train, test = load("loan").split(test=0.3, seed=0)``.
    """
    name, _, inline = name.partition(":")
    module = _module(_known(name))
    entry: Entry = module.ENTRY
    words = [
        word.strip().lower() for text in (inline, variant or "") for word in text.split("+") if word.strip()
    ]
    acts = [word for word in words if word in entry.acts]
    chosen = [word for word in words if word in entry.variants]
    for word in words:
        if word not in entry.acts and word not in entry.variants:
            raise DataError(
                f"'{name}' has no variant '{word}'. "
                f"Variants of the table: {', '.join(entry.variants) or 'none'}; "
                f"actionability sets: {', '.join(entry.acts)}. Join several with '+'."
            )
    if len(set(acts)) > 1:
        raise DataError(
            f"variant names two actionability sets, {' and '.join(sorted(set(acts)))}. Choose one."
        )
    for group in entry.exclusive:
        clash = sorted(set(group) & set(chosen))
        if len(clash) > 1:
            raise DataError(f"The variants {' and '.join(clash)} of '{name}' exclude each other. Choose one.")
    data: Dataset = module.build(Files(name, path), frozenset(chosen))
    return data.with_actionability(acts[0]) if acts and acts[0] != "recommended" else data


def _known(name: str) -> str:
    if name not in _NAMES:
        import difflib

        near = difflib.get_close_matches(str(name), _NAMES, 1)
        hint = f" Did you mean '{near[0]}'?" if near else ""
        raise DataError(f"There is no data set '{name}'.{hint} Known: {', '.join(_NAMES)}.")
    return name


def _module(name: str) -> Any:
    """The module of a data set: it has ENTRY and build."""
    return import_module(f"wayforward.data.{name}")
