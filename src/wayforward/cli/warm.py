"""The `warm` command: compile kernels before anybody waits for them."""

from __future__ import annotations

from wayforward import compiling
from wayforward.cli.console import say
from wayforward.errors import require
from wayforward.methods import warming


def compile_everything() -> None:
    """Compile and keep what everyday methods need, and say where. Raises: MissingExtra without numba."""
    require("numba", extra="fast")
    for model, seconds in warming.compile_everything():
        say(f"{model}: ready after {seconds:.1f} s")
    where = compiling.kept_in()
    if where is None:
        say(
            "Nothing could be kept: set NUMBA_CACHE_DIR to a folder that can be written to, and run this again."
        )
    else:
        say(f"Compiled code is kept in {where} and folders beside it; later processes load it.")
