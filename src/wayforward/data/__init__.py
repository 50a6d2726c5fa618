"""Tables for tests, benchmarks and first steps, each with its schema, its traps handled and a data card.

`load("german")` reads one, `names()` lists them, `catalogue()` says what is known before anything is read.
`loan` is drawn from its structural equations and needs no file.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from typing import TypeAlias

from wayforward.data.columns import levels, number, parsed
from wayforward.data.dataset import Acts, Dataset, Entry, Source, Step, made
from wayforward.data.files import Files, Known
from wayforward.errors import DataError, require_kind
from wayforward.public import public
from wayforward.registry import Registry

Build: TypeAlias = Callable[[Files, frozenset[str]], Dataset]

__all__ = [
    "Acts",
    "Dataset",
    "Entry",
    "Files",
    "Known",
    "Source",
    "Step",
    "available",
    "catalogue",
    "levels",
    "load",
    "made",
    "names",
    "number",
    "parsed",
    "register",
]

#: name -> where the function is that builds it; its module also holds the `Entry`, as ENTRY
DATASETS = Registry(
    "data set",
    "wayforward.data",
    DataError,
    {
        "loan": "loan:build",
        "german": "german:build",
        "adult": "adult:build",
        "compas": "compas:build",
        "gmsc": "gmsc:build",
        "law": "law:build",
        "default_credit": "default_credit:build",
    },
)


@public
def register(name: str, place: str) -> None:
    """Add a data set of another package: ``register("mine", "my_package.mine:build")``.

    The function takes its raw `Files` and the set of variants that were chosen, and returns a `Dataset` (see `made`);
    its module has the `Entry` as ENTRY. `wayforward.testing.DatasetContract` tests what any data set promises.
    Raises: DataError if the name is taken or the place is not 'module:function'.
    """
    DATASETS.register(name, place)


@public
def names() -> tuple[str, ...]:
    """The data sets that `load` knows."""
    return tuple(DATASETS)


@public
def catalogue() -> tuple[Entry, ...]:
    """What is known about each data set before it is read: title, size, terms, variants, who may act."""
    return tuple(_find(name)[0] for name in DATASETS)


@public
def available(name: str, path: str | os.PathLike[str] | None = None) -> bool:
    """Can the data set be loaded from this machine alone, without a download?"""
    entry, _ = _find(name)
    files = Files(name, path, entry.files)
    return not entry.needs_files or all(files.find(key) is not None for key in entry.files)


@public
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
    require_kind(name, str, "name")
    name, _, inline = name.partition(":")
    entry, build = _find(name)
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
    data = build(Files(name, path, entry.files), frozenset(chosen))
    return data.with_actionability(acts[0]) if acts and acts[0] != "recommended" else data


def _find(name: str) -> tuple[Entry, Build]:
    """Return the entry of a data set and the function that builds it."""
    build: Build = DATASETS.find(name)
    return import_module(build.__module__).ENTRY, build
