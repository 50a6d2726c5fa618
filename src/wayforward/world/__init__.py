"""Worlds: what else changes when a person acts. `Independent` says nothing, `SCM` says equations."""

from typing import TYPE_CHECKING

from wayforward.lazy import face
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


__getattr__ = face(__name__, _HOME)
