"""Worlds: what else changes when a person acts. `Independent` says nothing, `SCM` says equations."""

from typing import TYPE_CHECKING, Any

from wayforward.world.base import World
from wayforward.world.independent import Independent

if TYPE_CHECKING:
    from wayforward.world.scm import SCM

__all__ = ["SCM", "Independent", "World"]


def __getattr__(name: str) -> Any:
    if name == "SCM":
        from wayforward.world.scm import SCM

        return SCM
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
