"""Compiled loops: machine code is kept on disk; where no folder can be written to, that is said once."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])


class CompilationWarning(UserWarning):
    """Every process compiles anew what could be kept, which costs seconds to half a minute."""


def kernel(function: F) -> F:
    """Compile a function with numba on its first call, without fast-math and outside the interpreter's lock.

    The machine code is kept beside the package, else in the user's folder for caches, else where NUMBA_CACHE_DIR
    says. Where none of them can be written to it is compiled anew in each process, after one warning.
    """
    import numba

    try:
        return cast(F, numba.njit(cache=True, nogil=True, fastmath=False)(function))
    except RuntimeError:  # no folder can be written to
        _warn_once()
        return cast(F, numba.njit(nogil=True, fastmath=False)(function))


@cache
def _warn_once() -> None:
    warnings.warn(
        "Compiled code cannot be kept: neither the folder of the package nor the user's folder for caches can be "
        "written to, so every process compiles it anew, which takes seconds. Set NUMBA_CACHE_DIR to a folder that can "
        "be written to, and run 'wayforward warm' once.",
        CompilationWarning,
        stacklevel=3,
    )


def kept_in() -> str | None:
    """Return the folder that keeps the machine code of the model's kernels; None where nothing is kept, or no numba."""
    try:
        from numba.core.caching import FunctionCache
    except ImportError:
        return None
    try:
        return str(FunctionCache(kernel).cache_path)
    except RuntimeError:
        return None
