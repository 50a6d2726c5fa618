"""Settings that every test shares; fixtures live beside the tests that use them."""

from __future__ import annotations

import gc
import os
import re
from collections.abc import Generator, Iterator

# One thread a worker, decided before numpy, torch or numba are imported anywhere. Boosters ask for one a core, and
# where another worker is busy theirs wait for each other in a loop, six times as long as the training takes.
for variable in (
    "OMP_NUM_THREADS",
    "OMP_THREAD_LIMIT",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
):
    os.environ.setdefault(variable, "1")
os.environ.setdefault("MPLBACKEND", "Agg")
# As the command does: each look for garbage, which is usual at every 700 objects, goes through all that tests keep.
gc.set_threshold(50_000)

import pytest  # noqa: E402  (after the threads are set)
from hypothesis import HealthCheck, settings  # noqa: E402

from . import shape_checks  # noqa: E402

shape_checks.install()  # before anything of the package is imported

settings.register_profile(
    "wayforward",
    deadline=None,  # the first call of a compiled kernel takes seconds
    derandomize=True,  # a red build is the same red build everywhere
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile(
    "explore",
    parent=settings.get_profile("wayforward"),
    derandomize=False,
    max_examples=500,
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "wayforward"))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for garbage once, at the end, and never again among the thousands of tests: it took a fifth of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


def pytest_runtest_setup() -> None:
    """Each test checks the shapes of its own first calls."""
    shape_checks.start_test()


@pytest.fixture
def unchecked_shapes() -> Iterator[None]:
    """No shapes are checked in this test, which asks what the package itself says of wrong ones."""
    with shape_checks.unchecked():
        yield


#: What compiles no kernel of ours, and takes together about as long as compiling them all does after mypy has ended.
_WITHOUT_KERNELS = (
    "test_style",
    "test_gamm",
    "test_language",
    "test_strangers",
    "test_vocabulary",
    "test_floors",
)
_CITES = re.compile(r"arXiv:|doi:|\bet al\.|\bF-[A-Z]{2,}|\bE\d+\.\d+|\(\d{4}\)|released tensors|published")


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    """A test whose docstring cites a source asserts a number from it; `make replicate` runs these.

    The longest test comes first: begun last, it would leave the other worker idle. That one begins in the middle, with
    the test that compiles everything, which each process that starts before would do for itself; so the first goes on
    with what needs no kernel.
    """
    for item in items:
        if _CITES.search(getattr(getattr(item, "function", None), "__doc__", None) or ""):
            item.add_marker(pytest.mark.published)
    yield  # what was not asked for is taken out
    items.sort(key=lambda item: (item.name != "test_types", item.path.stem not in _WITHOUT_KERNELS))
    warming = [item for item in items if item.name == "test_once_warmed_a_new_process_compiles_nothing"]
    for item in warming:
        items.remove(item)
        items.insert((len(items) + 1) // 2, item)
