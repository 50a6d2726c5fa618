"""The table of costs: names, and where their classes are; the names that a command line takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wayforward.errors import FileFormatError, ProblemError, is_one_of
from wayforward.problem.cost.base import Cost
from wayforward.registry import Registry

COSTS = Registry(
    "cost",
    "wayforward.problem.cost",
    ProblemError,
    {
        "lp": "lp:LpMix",
        "mad": "mad:MadL1",
        "squared": "squared:SquaredShift",
        "percentile": "percentile:PercentileShift",
        "mahalanobis": "mahalanobis:Mahalanobis",
    },
)

register_cost = COSTS.register


def named_costs() -> dict[str, Cost]:
    """Return the unfitted costs by the names that the command line takes."""
    found = {name: COSTS.find(name) for name in COSTS}
    return {
        short: kind(**parameters)
        for name, kind in found.items()
        for short, parameters in (kind.presets or {name: {}}).items()
    }


def cost_named(name: str) -> Cost:
    """Return an unfitted cost by its short name. Raises: ProblemError that lists the names."""
    known = named_costs()
    if not is_one_of(name, known):
        raise ProblemError(f"There is no cost '{name}'. Choose one of {', '.join(known)}.")
    return known[name]


def cost_from_dict(stored: Mapping[str, Any]) -> Cost:
    """Reverse `Cost.to_dict`. Raises: FileFormatError if it is not such a dictionary."""
    name = str(stored.get("cost")) if isinstance(stored, Mapping) else ""
    if name not in COSTS:
        seen = stored.get("cost") if isinstance(stored, Mapping) else type(stored).__name__
        raise FileFormatError(
            f"This is not a stored cost: cost={seen!r}. It must be one of {', '.join(COSTS)}."
        )
    try:
        cost: Cost = COSTS.find(name)(**stored.get("parameters", {}))
        fitted = stored.get("fitted")
        return cost if fitted is None else cost.with_fitted(fitted)
    except (TypeError, KeyError, ValueError) as error:
        raise FileFormatError(
            f"The stored cost '{name}' is broken: {error}. Write it again with to_dict."
        ) from error
