"""The table of worlds: a new world adds one line. Modules are imported on first use, because some need torch."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from wayforward.errors import FileFormatError, WorldError, did_you_mean, is_one_of

#: Worlds that are learned from a table, by `fit`: kind -> "module:Class". Their files open with `load_world`.
FITTED = {
    "linear": "wayforward.world.linear:LinearWorld",
    "flow": "wayforward.world.flow:CausalFlow",
    "gp": "wayforward.world.gaussian_process:GaussianProcessWorld",
}
#: All worlds.
WORLDS = {
    "independent": "wayforward.world.independent:Independent",
    "scm": "wayforward.world.scm:SCM",
    "sub-population": "wayforward.world.sub_population:SubPopulation",
    **FITTED,
}


def register(kind: str, place: str, *, fitted: bool = False) -> None:
    """Add a world of another package: ``register("mine", "my_package.mine:Mine")``.

    fitted: it has `fit`, `save` and `load`, and files of it open with `load_world`. Raises: WorldError if the kind is
    taken.
    """
    if kind in WORLDS:
        raise WorldError(f"There is a world '{kind}' already. Choose another name.")
    WORLDS[kind] = place
    if fitted:
        FITTED[kind] = place


def class_at(place: str) -> Any:
    """Import "module:Class"."""
    module, name = place.split(":")
    return getattr(import_module(module), name)


def world_class(kind: str) -> Any:
    """The class of a kind of fitted world. Raises: FileFormatError for another kind."""
    if not is_one_of(kind, FITTED):
        hint = did_you_mean(str(kind), list(FITTED))
        raise FileFormatError(f"There is no kind of world '{kind}'.{hint} Use one of {', '.join(FITTED)}.")
    return class_at(FITTED[kind])
