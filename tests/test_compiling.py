"""Where machine code is kept, and what happens where nothing can be."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("numba")

# No folder of any locator can be written to, as for a user without a home and a package that an administrator owns.
READ_ONLY = """
import sys, warnings
import numba.core.caching as caching
def refuse(self): raise OSError("read-only")
for part in list(vars(caching).values()):
    if isinstance(part, type) and hasattr(part, "ensure_cache_path"):
        part.ensure_cache_path = refuse
"""
LINEAR = """
import numpy as np
from wayforward.compiling import CompilationWarning, kept_in
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    from wayforward.model import kernels
    import wayforward.neighbours, wayforward.methods.engines.neighbours
    from wayforward import _neighbours_jit
    from wayforward.methods.engines import _neighbours_jit as second
    from wayforward.density import _kernel_jit
    from wayforward.methods.engines.exact import _grid_jit
    zero, one = np.zeros((2, 1)), np.ones((2, 1))
    out = kernels.linear(one.T, zero[0], one, zero, np.full(2, -1), zero[:1])
print(float(out[0, 0]), sum(w.category is CompilationWarning for w in caught), kept_in())
"""


def run(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=os.environ | environment
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_without_a_folder_everything_is_compiled_anew_and_said_once() -> None:
    assert run(READ_ONLY + LINEAR) == "2.0 1 None"


def test_a_folder_of_the_users_own_keeps_the_code(tmp_path: Path) -> None:
    got = run("import warnings\n" + LINEAR, NUMBA_CACHE_DIR=str(tmp_path))
    assert got.startswith("2.0 0 ") and str(tmp_path) in got
    assert list(tmp_path.rglob("*.nbc"))


@pytest.mark.slow
def test_once_warmed_a_new_process_compiles_nothing() -> None:
    """Of everything that searches on the six bundled models use; `make test` begins with this (tests/conftest.py)."""
    command = [sys.executable, "-m", "wayforward", "warm"]
    first, second = (
        subprocess.run(
            command, capture_output=True, text=True, env=os.environ | {"NUMBA_DEBUG_CACHE": wanted}
        )
        for wanted in ("", "1")
    )
    assert first.returncode == second.returncode == 0, first.stderr + second.stderr
    assert "data loaded" in second.stdout and "saved" not in second.stdout
