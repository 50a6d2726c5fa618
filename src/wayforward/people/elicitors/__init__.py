"""Ways of asking people what they want, and the table that names them."""

from __future__ import annotations

from typing import Any

from wayforward.errors import MethodError
from wayforward.people.elicitor import Elicitor
from wayforward.public import public
from wayforward.registry import Registry, parameters_of

# A new elicitor adds one line.
ELICITORS = Registry(
    "elicitor",
    "wayforward.people.elicitors",
    MethodError,
    {
        "favourite": "favourite:Favourite",
        "hare": "hare:Hare",
        "learned": "learned:Learned",
        "multi-hare": "hare:MultiHare",
        "pear": "pear:Pear",
    },
)

register = ELICITORS.register


def names() -> tuple[str, ...]:
    """Names of all ways of asking."""
    return tuple(ELICITORS)


@public
def elicitor(name: str, **parameters: Any) -> Elicitor:
    """Make a way of asking by name, with its parameters. Raises: MethodError for an unknown name or parameter."""
    found: type[Elicitor] = ELICITORS.find(name)
    try:
        return found(**parameters)
    except TypeError as error:
        known = parameters_of(found) or "none"
        raise MethodError(f"'{name}' does not take these parameters ({error}). It takes: {known}.") from None


__all__ = ["elicitor", "names", "register"]
