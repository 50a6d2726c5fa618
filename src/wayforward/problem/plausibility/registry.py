"""The table of plausibilities: names, and where their classes are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wayforward.errors import FileFormatError, ProblemError
from wayforward.problem.plausibility.base import Plausibility
from wayforward.registry import Registry

PLAUSIBILITIES = Registry(
    "plausibility",
    "wayforward.problem.plausibility",
    ProblemError,
    {
        "domain": "domain:Domain",
        "neighbours": "neighbours:Neighbours",
        "lof": "lof:Lof",
        "isolation-forest": "isolation:IsolationForest",
        "kernel-density": "kernel_density:KernelDensity",
        "prototype": "prototype:Prototype",
        "balanced": "balanced:Balanced",
    },
)

register_plausibility = PLAUSIBILITIES.register


def plausibility_named(name: str) -> Plausibility:
    """Return an unfitted plausibility by its short name. Raises: ProblemError that lists the names."""
    found: Plausibility = PLAUSIBILITIES.find(name)()
    return found


def plausibility_from_dict(stored: Mapping[str, Any]) -> Plausibility:
    """Reverse `to_dict`, unfitted. Raises: FileFormatError if it is not such a dictionary."""
    name = str(stored.get("plausibility")) if isinstance(stored, Mapping) else ""
    if name not in PLAUSIBILITIES:
        seen = stored.get("plausibility") if isinstance(stored, Mapping) else type(stored).__name__
        raise FileFormatError(
            f"This is not a stored plausibility: plausibility={seen!r}. It must be one of "
            f"{', '.join(PLAUSIBILITIES)}."
        )
    try:
        found: Plausibility = PLAUSIBILITIES.find(name)(**stored.get("parameters", {}))
    except TypeError as error:
        raise FileFormatError(
            f"The stored plausibility '{name}' is broken: {error}. Write it again with to_dict."
        ) from error
    return found
