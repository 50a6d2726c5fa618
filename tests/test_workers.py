"""The same work by several workers: the same bits, one clear error, and nobody left behind."""

from __future__ import annotations

import multiprocessing
import operator
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from multiprocessing.context import SpawnProcess
from types import SimpleNamespace

import numpy as np
import pytest

import wayforward as wf
from wayforward.errors import WorkerError
from wayforward.methods import method
from wayforward.problem import Problem, Target
from wayforward.testing import case
from wayforward.workers import as_done


def _ended(piece: int) -> int:
    if piece == 3:
        os._exit(7)
    return piece


def test_every_kind_of_worker_gives_the_same_bits() -> None:
    """People in pieces, by threads and by processes, repeated people among them; queries are counted."""
    it = case("forest", "independent", 0, 70)
    x = np.concatenate([it.x, it.x[:9]])
    fitted = method("local-search").fit(it.problem)
    wish = wf.Preferences.none(it.problem.schema, len(x)).limit("income", high=6000.0)
    one = fitted.recommend(x, 2, preferences=wish, seed=3)
    done: list[int] = []
    for on in ("threads", "processes"):
        before = it.problem.model.counter.rows
        done.clear()
        two = fitted.recommend(
            x, 2, preferences=wish, seed=3, workers=2, on=on, progress=lambda n, _: done.append(n)
        )
        for name in ("x", "action", "after", "cost", "plain_cost", "score", "score_before", "chance"):
            np.testing.assert_array_equal(getattr(two, name), getattr(one, name), err_msg=f"{name} by {on}")
        assert (two.outcome == one.outcome).all()
        assert it.problem.model.counter.rows - before == two.meta["model_rows"] > 0
        assert two.meta["different_people"] == one.meta["different_people"] == 70
        assert two.problem is it.problem
        assert done == sorted(done) and done[-1] == len(x) and len(done) > 2
    assert not multiprocessing.active_children()


def test_pieces_come_with_their_number_and_only_few_are_taken_at_once() -> None:
    """A long iterable is never read far ahead."""
    taken = []

    def pieces():  # type: ignore[no-untyped-def]
        for i in range(40):
            taken.append(i)
            yield (i, 10)

    found = {}
    for i, result in as_done(operator.add, pieces(), workers=2, on="threads"):
        assert len(taken) <= len(found) + 2 * 2 + 2
        found[i] = result
    assert found == {i: i + 10 for i in range(40)}


def test_errors_of_the_work_arrive_as_they_are_and_end_it() -> None:
    """In threads and in processes."""
    for on in ("threads", "processes"):
        with pytest.raises(ZeroDivisionError):
            list(as_done(operator.floordiv, [(1, 1), (1, 0)], workers=2, on=on))
    assert not multiprocessing.active_children()


def test_a_worker_that_dies_is_reported() -> None:
    """Not a wait for ever."""
    with pytest.raises(WorkerError, match="ended without an answer.*Use fewer workers"):
        list(as_done(_ended, [(i,) for i in range(6)], workers=2, on="processes"))
    assert not multiprocessing.active_children()


def test_a_local_cluster_that_is_slow_to_start_is_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray gives its parts half a minute; on a busy machine that is too little. RAY_ADDRESS is not joined unasked."""
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")

    class Ray:
        cloudpickle = pickle

        def __init__(self, failures: int) -> None:
            self.failures, self.asked, self.stopped = failures, [], 0

        def is_initialized(self) -> bool:
            return False

        def init(self, **given: object) -> None:
            self.asked.append((given["address"], given["num_cpus"]))
            if len(self.asked) <= self.failures:
                raise Exception("The current node timed out during startup.")  # noqa: TRY002, as Ray does

        def shutdown(self) -> None:
            self.stopped += 1

        def put(self, thing: object) -> object:
            return thing

        def remote(self, **_: object) -> Callable[[object], object]:
            return lambda function: SimpleNamespace(remote=function)

    for failures in (0, 2, 3):
        ray = Ray(failures)
        monkeypatch.setitem(sys.modules, "ray", ray)
        if failures < 3:
            assert list(as_done(operator.add, [], workers=2, on="ray")) == []
        else:
            with pytest.raises(WorkerError, match="did not start here.*timed out.*on='processes'"):
                list(as_done(operator.add, [], workers=2, on="ray"))
        assert ray.asked == [("local", 2)] * min(failures + 1, 3)
        assert ray.stopped == min(failures + 1, 3)


def test_what_cannot_be_sent_is_named() -> None:
    """A model that is a lambda works in threads, and says why it does not work in processes."""
    it = case("linear")
    problem = Problem(
        it.problem.schema,
        wf.wrap(lambda x: x[:, 1] / 9000.0, it.problem.schema),
        Target(favourable=1),
        data=it.x,
    )
    fitted = method("growing-spheres", samples=50).fit(problem)
    assert fitted.recommend(it.x, workers=2, on="threads").n == len(it.x)
    with pytest.raises(
        WorkerError, match="<lambda>.*Define functions .* at the top of a module.*on='threads'"
    ):
        wf.recommend(
            problem, case("linear", n=60).x, "growing-spheres", samples=50, workers=2, on="processes"
        )
    with pytest.raises(WorkerError, match="cannot be given this work.*on='threads'"):
        list(as_done(lambda: 1, [()] * 3, workers=2, on="processes"))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"workers": 0}, "workers=0 is no number of workers"),
        ({"workers": True}, "workers=True"),
        ({"workers": 2, "on": "dask"}, "on='dask' is not known. Choose 'threads', 'processes' or 'ray'"),
    ],
)
def test_a_wrong_number_or_kind_of_workers_is_refused(given: dict[str, object], message: str) -> None:
    """Before any work."""
    it = case("linear")
    with pytest.raises(WorkerError, match=message):
        wf.recommend(it.problem, it.x, **given)  # type: ignore[arg-type]


_SCRIPT = """
import time
from wayforward.workers import as_done

if __name__ == "__main__":
    print("go", flush=True)
    for i, _ in as_done(time.sleep, [(0.01,)] * 2 + [(60,)] * 9, workers=2, on="processes"):
        print("done", i, flush=True)
"""


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGKILL])
def test_nobody_works_on_when_the_parent_is_interrupted_or_killed(by: signal.Signals, tmp_path) -> None:  # type: ignore[no-untyped-def]
    """Ctrl-C ends everything within moments, and so does the parent's own end."""
    script = tmp_path / "work.py"
    script.write_text(_SCRIPT)
    parent = subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert parent.stdout is not None
    for _ in range(3):
        parent.stdout.readline()  # both workers are at work now
    started = time.monotonic()
    (os.killpg if by == signal.SIGINT else os.kill)(parent.pid, by)
    parent.wait(timeout=20)
    while time.monotonic() - started < 20:
        try:
            os.killpg(parent.pid, 0)  # anybody left in the group?
        except ProcessLookupError:
            break
        time.sleep(0.05)
    else:
        os.killpg(parent.pid, signal.SIGKILL)
        pytest.fail("a worker lives on")
    assert "Traceback" not in (
        parent.stderr.read().split("KeyboardInterrupt")[1] if by == signal.SIGINT else ""
    )
    parent.stdout.close()
    parent.stderr.close()


def test_an_interruption_while_a_worker_starts_ends_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """One worker is at work, the next one has no process yet when Ctrl-C comes."""
    start, begun = SpawnProcess.start, []

    def interrupted(process: SpawnProcess) -> None:
        begun.append(process)
        if len(begun) == 2:
            raise KeyboardInterrupt
        start(process)

    monkeypatch.setattr(SpawnProcess, "start", interrupted)
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        list(as_done(time.sleep, [(40,)] * 4, workers=2, on="processes"))
    assert time.monotonic() - started < 20
    assert not begun[0].is_alive()
