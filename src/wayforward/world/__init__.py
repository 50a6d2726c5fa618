"""Worlds: what else changes when a person acts. `Independent` says nothing, `SCM` says equations."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from wayforward.world.base import World
from wayforward.world.independent import Independent

if TYPE_CHECKING:
    from wayforward.world.files import load_world
    from wayforward.world.flow import CausalFlow
    from wayforward.world.gaussian_process import GaussianProcessWorld
    from wayforward.world.graph import CausalGraph
    from wayforward.world.linear import LinearWorld
    from wayforward.world.scm import SCM
    from wayforward.world.sub_population import SubPopulation

_HOME = {  # loaded on first use
    "CausalFlow": "flow",
    "CausalGraph": "graph",
    "GaussianProcessWorld": "gaussian_process",
    "LinearWorld": "linear",
    "SCM": "scm",
    "SubPopulation": "sub_population",
    "load_world": "files",
}

__all__ = [
    "SCM",
    "CausalFlow",
    "CausalGraph",
    "GaussianProcessWorld",
    "Independent",
    "LinearWorld",
    "SubPopulation",
    "World",
    "load_world",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"wayforward.world.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
