"""Ways of asking people what they want, and the table that names them."""

from __future__ import annotations

import difflib
from importlib import import_module
from typing import Any

from wayforward.errors import MethodError
from wayforward.people.elicitor import Elicitor

# name -> "file:Class"; files are imported on first use, because some need torch. A new one adds one line.
_ELICITORS: dict[str, str] = {
    "hare": "hare:Hare",
    "learned": "learned:Learned",
    "multi-hare": "hare:MultiHare",
    "pear": "pear:Pear",
}


def names() -> tuple[str, ...]:
    """Names of all ways of asking."""
    return tuple(_ELICITORS)


def elicitor(name: str, **parameters: Any) -> Elicitor:
    """A way of asking by name, with its parameters. Raises: MethodError for an unknown name or parameter."""
    if name not in _ELICITORS:
        near = difflib.get_close_matches(str(name), _ELICITORS, 1)
        hint = f" Did you mean '{near[0]}'?" if near else ""
        raise MethodError(f"There is no elicitor '{name}'.{hint} Known: {', '.join(_ELICITORS)}.")
    file, klass = _ELICITORS[name].split(":")
    module = import_module(f"wayforward.people.elicitors.{file}")
    found: type[Elicitor] = getattr(module, klass)
    try:
        return found(**parameters)
    except TypeError as error:
        known = ", ".join(getattr(found, "__dataclass_fields__", {})) or "none"
        raise MethodError(f"'{name}' does not take these parameters ({error}). It takes: {known}.") from None


__all__ = ["elicitor", "names"]
