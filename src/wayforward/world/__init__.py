"""Worlds: what else changes when a person acts. `Independent` says nothing, `SCM` says equations."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from wayforward.world.base import World
from wayforward.world.independent import Independent

if TYPE_CHECKING:
    from wayforward.world.graph import CausalGraph
    from wayforward.world.scm import SCM

_HOME = {  # loaded on first use
    "CausalGraph": "graph",
    "SCM": "scm",
}

__all__ = ["SCM", "CausalGraph", "Independent", "World"]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"wayforward.world.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
