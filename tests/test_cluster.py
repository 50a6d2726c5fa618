"""Work on Ray with two workers: the same bits, also when a worker is killed in the middle.

The first test has its cluster started and stopped for it; the others join one, which stays as it is.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wayforward as wf
from wayforward.cluster import on_ray, start_local
from wayforward.groups import Groups
from wayforward.impact.audit import audit
from wayforward.methods import method
from wayforward.methods.local_search import LocalSearch
from wayforward.testing import case

ray = pytest.importorskip("ray", reason="ray is not installed: pip install 'wayforward[ray]'")

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def joined() -> Iterator[None]:
    """A cluster that was there before, and still is after."""
    start_local(ray, 2)
    yield
    assert ray.is_initialized()
    ray.shutdown()


def _files(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted((folder / "answers").iterdir())}


def test_two_workers_of_a_cluster_give_the_bits_of_one_process(tmp_path: Path) -> None:
    """To the last byte of every file."""
    it = case("forest", "independent", 0, 60)
    fitted = method("local-search").fit(it.problem)
    table = it.problem.schema.decode(it.x, like="pyarrow")
    one = wf.recommend_table(fitted, table, tmp_path / "one", k=2, rows_per_shard=15)
    two = wf.recommend_table(fitted, table, tmp_path / "two", k=2, rows_per_shard=15, workers=2, on="ray")
    assert _files(two.folder) == _files(one.folder)
    assert not ray.is_initialized()


@pytest.mark.usefixtures("joined")
def test_a_table_is_answered_to_the_last_byte_although_a_worker_is_killed(tmp_path: Path) -> None:
    """In the middle of a shard of `recommend_table`, as kill -9; another worker answers it again."""
    mark = tmp_path / "killed"

    class Mortal(LocalSearch):
        def _recommend(self, people: Any, *rest: Any) -> Any:
            if not mark.exists():
                mark.touch()
                os._exit(9)
            return super()._recommend(people, *rest)

    it = case("forest", "independent", 0, 60)
    table = it.problem.schema.decode(it.x, like="pyarrow")
    fitted = Mortal().fit(it.problem)
    two = wf.recommend_table(fitted, table, tmp_path / "two", rows_per_shard=15, workers=2, on="ray")
    assert mark.exists()  # from here on nobody dies
    one = wf.recommend_table(fitted, table, tmp_path / "one", rows_per_shard=15)
    assert _files(two.folder) == _files(one.folder)


@pytest.mark.usefixtures("joined")
def test_a_worker_that_is_killed_changes_nothing(tmp_path: Path) -> None:
    """Its shard is answered again by another; an error of the work itself arrives as it is."""
    mark = tmp_path / "killed"

    def work(i: int, values: np.ndarray) -> Any:
        if i == 2 and not mark.exists():
            mark.touch()
            os._exit(9)  # as kill -9, in the middle of its shard
        values[0] += 1  # what is sent may be written to, as in a process
        if i == 99:
            raise wf.WayforwardError("no such shard")
        return 10 * i + values

    found = dict(on_ray(work, [(i, np.zeros(1)) for i in range(5)], 2))
    assert {i: value.tolist() for i, value in found.items()} == {i: [10 * i + 1] for i in range(5)}
    found[0][0] = 7  # what comes back, too
    assert mark.exists()
    with pytest.raises(wf.WayforwardError, match="no such shard"):
        list(on_ray(work, [(99, np.zeros(1))], 2))


@pytest.mark.usefixtures("joined")
def test_a_method_and_an_audit_work_on_a_cluster() -> None:
    """Same actions, outcomes and counts as in one process."""
    it = case("forest", "independent", 0, 60)
    fitted = method("local-search").fit(it.problem)
    alone = fitted.recommend(it.x, 2)
    for workers in (1, 2):
        shared = fitted.recommend(it.x, 2, workers=workers, on="ray")
        np.testing.assert_array_equal(shared.action, alone.action)
        assert (shared.outcome == alone.outcome).all()
        assert shared.meta["model_rows"] == alone.meta["model_rows"]
    kinds = Groups.of("kind", ["a", "b"] * 30)
    settings: dict[str, Any] = {"society": False, "beside": None, "summaries": ()}
    one = audit(it.problem, it.x, kinds, **settings)
    two = audit(it.problem, it.x, kinds, workers=2, on="ray", **settings)
    figures = [found.to_dict() for found in (one, two)]
    for found in figures:
        found["meta"].pop("seconds_recommend")
    assert repr(figures[1]) == repr(figures[0])  # NaN where nobody is to be compared
