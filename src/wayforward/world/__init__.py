"""Worlds: what else changes when a person acts. `Independent` says nothing, `SCM` says equations."""

from typing import TYPE_CHECKING

from wayforward.lazy import face
from wayforward.world.base import World
from wayforward.world.independent import Independent
from wayforward.world.registry import WORLDS, register

if TYPE_CHECKING:
    from wayforward.world.files import load_world
    from wayforward.world.flow import CausalFlow
    from wayforward.world.gaussian_process import GaussianProcessWorld
    from wayforward.world.graph import CausalGraph
    from wayforward.world.linear import LinearWorld
    from wayforward.world.partial_graph import orientations
    from wayforward.world.scm import SCM
    from wayforward.world.sub_population import SubPopulation

_PLACES = [place.removeprefix(f"{__name__}.").split(":") for place in WORLDS.values()]
_HOME = {name: module for module, name in _PLACES} | {
    "CausalGraph": "graph",
    "load_world": "files",
    "orientations": "partial_graph",
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
    "orientations",
    "register",
]


__getattr__ = face(__name__, _HOME)  # names are imported on first use
