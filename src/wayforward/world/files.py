"""Open any saved world: equations in YAML, or a world that was fitted and saved."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from wayforward.errors import FileFormatError
from wayforward.plain_files import as_path, name_of
from wayforward.public import public
from wayforward.tensor_files import header
from wayforward.world.registry import FITTED, class_at

if TYPE_CHECKING:
    from wayforward.schema import Schema
    from wayforward.world.base import World


@public
def load_world(path: str | os.PathLike[str], schema: Schema | None = None) -> World:
    """A world from its file, whatever its kind; with a schema, bound to it.

    YAML holds an `SCM`; safetensors a `LinearWorld`, `CausalFlow` or `GaussianProcessWorld`. An SCM without a
    schema comes back unbound. Nothing in the file is run.
    Raises: FileFormatError for a file that is missing, broken or no world; WorldError if the schema does not fit.
    Example: ``load_world("world.safetensors", schema)``.
    """
    file = as_path(path)
    if not file.is_file():
        raise FileFormatError(f"There is no world file '{name_of(file)}'. Check the path.")
    if file.suffix.lower() in (".yaml", ".yml"):
        from wayforward.world.scm import SCM

        equations = SCM.from_yaml(file)
        return equations if schema is None else equations.bind(schema)
    try:
        stored = header(file)
        kind = str(stored.get("world") or stored.get("kind"))
    except Exception as error:
        raise FileFormatError(
            f"'{name_of(file)}' is no saved world ({error!s:.120}). Give an SCM as .yaml, or what world.save wrote."
        ) from None
    for place in FITTED.values():
        module, name = place.split(":")
        if kind in (name, module.rpartition(".")[2].replace("_", "-")):  # a class, or the file that it is in
            world: World = class_at(place).load(file, schema)
            return world
    raise FileFormatError(
        f"'{name_of(file)}' holds {kind!r:.60}, which is no world. Give what world.save wrote."
    )
