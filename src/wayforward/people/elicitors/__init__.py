"""Ways of asking people what they want, and the table that names them."""

from __future__ import annotations

import difflib
from importlib import import_module
from typing import Any

from wayforward.errors import MethodError
from wayforward.people.elicitor import Elicitor
from wayforward.registry import parameters_of

_ELICITORS: dict[str, str] = {}


def register(name: str, place: str) -> None:
    """Add a way of asking: ``register("mine", "my_package.mine:Mine")``. The module is imported on first use.

    Raises: MethodError for a name that is taken, or a place without a class.
    """
    if name in _ELICITORS:
        raise MethodError(f"There is an elicitor '{name}' already. Choose another name.")
    if place.count(":") != 1:
        raise MethodError(f"'{place}' names no class. Give 'module:Class'.")
    _ELICITORS[name] = place


# A new elicitor adds one line.
register("favourite", "wayforward.people.elicitors.favourite:Favourite")
register("hare", "wayforward.people.elicitors.hare:Hare")
register("learned", "wayforward.people.elicitors.learned:Learned")
register("multi-hare", "wayforward.people.elicitors.hare:MultiHare")
register("pear", "wayforward.people.elicitors.pear:Pear")


def names() -> tuple[str, ...]:
    """Names of all ways of asking."""
    return tuple(_ELICITORS)


def elicitor(name: str, **parameters: Any) -> Elicitor:
    """Make a way of asking by name, with its parameters. Raises: MethodError for an unknown name or parameter."""
    if name not in _ELICITORS:
        near = difflib.get_close_matches(str(name), _ELICITORS, 1)
        hint = f" Did you mean '{near[0]}'?" if near else ""
        raise MethodError(f"There is no elicitor '{name}'.{hint} Known: {', '.join(_ELICITORS)}.")
    module, kind = _ELICITORS[name].split(":")
    found: type[Elicitor] = getattr(import_module(module), kind)
    try:
        return found(**parameters)
    except TypeError as error:
        known = parameters_of(found) or "none"
        raise MethodError(f"'{name}' does not take these parameters ({error}). It takes: {known}.") from None


__all__ = ["elicitor", "names", "register"]
