"""The promise of the first second: `import wayforward` is quick and brings no optional or heavy library."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = (
    "catboost", "highspy", "joblib", "lightgbm", "matplotlib", "networkx", "numba", "onnxruntime", "pandas",
    "plotly", "polars", "pyarrow", "rich", "scipy.stats", "sklearn", "skops", "torch", "typer", "xgboost",
)  # fmt: skip


def run(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.mark.parametrize(
    "statement",
    ["import wayforward", "from wayforward import Schema, Feature", "import wayforward.cli"],
)
def test_importing_brings_nothing_heavy(statement: str) -> None:
    code = f"import sys; {statement}; print(' '.join(m for m in {HEAVY!r} if m in sys.modules))"
    assert run(code) == ""


def test_importing_takes_less_than_a_second() -> None:
    code = "import time; a = time.perf_counter(); import wayforward; print(time.perf_counter() - a)"
    assert min(float(run(code)) for _ in range(3)) < 1.0


def test_every_public_name_can_be_reached() -> None:
    code = "import wayforward as wf; print([n for n in wf.__all__ if getattr(wf, n, None) is None])"
    assert run(code) == "[]"


def test_the_version_is_the_one_of_the_package() -> None:
    from importlib.metadata import version

    assert run("import wayforward; print(wayforward.__version__)") == version("wayforward")


def test_the_package_runs_as_a_module() -> None:
    """`python -m wayforward` is the command."""
    got = subprocess.run(
        [sys.executable, "-m", "wayforward", "--version"], capture_output=True, text=True, check=True
    )
    assert got.stdout.startswith("wayforward ")
