"""Open any saved world: equations in YAML, or a world that was fitted and saved."""

from __future__ import annotations

import json
import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wayforward.errors import FileFormatError, require

if TYPE_CHECKING:
    from wayforward.schema import Schema
    from wayforward.world.base import World

KINDS = {  # what `fit` is asked for -> class and module
    "linear": ("LinearWorld", "linear"),
    "flow": ("CausalFlow", "flow"),
    "gp": ("GaussianProcessWorld", "gaussian_process"),
}


def world_class(kind: str) -> Any:
    """The class of a kind of fitted world. Raises: FileFormatError for another kind."""
    if kind not in KINDS:
        raise FileFormatError(f"There is no kind of world '{kind}'. Use one of {', '.join(KINDS)}.")
    name, module = KINDS[kind]
    return getattr(import_module(f"wayforward.world.{module}"), name)


def load_world(path: str | os.PathLike[str], schema: Schema | None = None) -> World:
    """A world from its file, whatever its kind; with a schema, bound to it.

    YAML holds an `SCM`; safetensors a `LinearWorld`, `CausalFlow` or `GaussianProcessWorld`. An SCM without a
    schema comes back unbound. Nothing in the file is run.
    Raises: FileFormatError for a file that is missing, broken or no world; WorldError if the schema does not fit.
    Example: ``load_world("world.safetensors", schema)``.
    """
    file = Path(path)
    if not file.is_file():
        raise FileFormatError(f"There is no world file '{file.name}'. Check the path.")
    if file.suffix.lower() in (".yaml", ".yml"):
        from wayforward.world.scm import SCM

        world = SCM.from_yaml(file)
        return world if schema is None else world.bind(schema)
    safetensors = require("safetensors", extra="torch")
    try:
        with safetensors.safe_open(os.fspath(file), framework="numpy") as stream:
            head = json.loads((stream.metadata() or {})["wayforward"])
        said = str(head.get("world") or head.get("kind"))
    except Exception as error:
        raise FileFormatError(
            f"'{file.name}' is no saved world ({error!s:.120}). Give an SCM as .yaml, or what world.save wrote."
        ) from None
    for name, module in KINDS.values():
        if said in (name, module.replace("_", "-")):
            found: World = getattr(import_module(f"wayforward.world.{module}"), name).load(file, schema)
            return found
    raise FileFormatError(f"'{file.name}' holds {said!r:.60}, which is no world. Give what world.save wrote.")
