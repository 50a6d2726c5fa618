"""Summarisers by name."""

from __future__ import annotations

from importlib import import_module

from wayforward.errors import DataError, did_you_mean
from wayforward.impact.summaries.base import Summariser

_HERE = "wayforward.impact.summaries"

#: Name -> "module:Class"; a new summariser adds one line.
SUMMARISERS: dict[str, str] = {
    "tree": f"{_HERE}.tree:Tree",
    "ares": f"{_HERE}.ares:Ares",
    "globe-ce": f"{_HERE}.globe_ce:GlobeCe",
}


def register(name: str, where: str) -> None:
    """Make a summariser known by name for as long as the program runs. where: "module:Class", imported on first use.

    Raises: DataError for a name that is taken, or a place that is none.
    """
    module, colon, kind = where.partition(":")
    if not (colon and module and kind):
        raise DataError(f"where={where!r} names no class. Write it as 'package.module:Class'.")
    if SUMMARISERS.get(name, where) != where:
        raise DataError(f"There is a summariser '{name}' already ({SUMMARISERS[name]}). Choose another name.")
    SUMMARISERS[name] = where


def summariser(name: str) -> Summariser:
    """Return a summariser with its usual settings. Raises: DataError for an unknown one."""
    if name not in SUMMARISERS:
        raise DataError(
            f"There is no summariser '{name}'.{did_you_mean(name, list(SUMMARISERS))} "
            f"Known: {', '.join(SUMMARISERS)}."
        )
    module, kind = SUMMARISERS[name].split(":")
    made: Summariser = getattr(import_module(module), kind)()
    return made
