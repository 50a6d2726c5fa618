"""The same work on several threads, processes or machines: bounded, in any order, and stopped cleanly.

What is worked out does not depend on how many work at it; only the order of completion does, so results come with the
number of their piece.
"""

from __future__ import annotations

import contextvars
import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.connection import wait as wait_for
from multiprocessing.context import SpawnContext
from typing import Any, Literal, TypeVar

from wayforward.errors import WorkerError, is_one_of, is_whole, shown

R = TypeVar("R")
Kind = Literal["threads", "processes", "ray"]

_PIECES_A_WORKER = 2  # pieces in flight for each worker: one in work, one waiting


def check_workers(workers: Any, on: Any = None) -> None:
    """Raise WorkerError for what is no number of workers or no kind of them."""
    if not is_whole(workers, 1):
        raise WorkerError(f"workers={shown(workers)} is no number of workers. Give 1 or more.")
    if on is not None and not is_one_of(on, ("threads", "processes", "ray")):
        raise WorkerError(f"on={shown(on)} is not known. Choose 'threads', 'processes' or 'ray'.")


def as_done(
    function: Callable[..., R], pieces: Iterable[tuple[Any, ...]], *, workers: int, on: Kind
) -> Iterator[tuple[int, R]]:
    """Call the function with each piece; yield (number of the piece, result) as they get ready.

    The pieces are taken from their iterable as workers become free, so that few of them are in memory. Processes are
    given the function once, by pickle; each computes with one thread unless OMP_NUM_THREADS says otherwise. Whoever
    stops listening, or interrupts, stops the workers. On 'ray' see `cluster.on_ray`.
    Raises: what the function raises; WorkerError if it cannot be sent or a process dies.
    """
    check_workers(workers, on)
    if on == "ray":
        from wayforward.cluster import on_ray

        yield from on_ray(function, pieces, workers)
        return
    if workers == 1:
        for i, piece in enumerate(pieces):
            yield i, function(*piece)
        return
    with _threads(workers, function) if on == "threads" else _processes(workers, function) as (pool, call):
        numbers: dict[Future[R], int] = {}
        left = enumerate(pieces)
        while True:
            for i, piece in left:
                numbers[pool.submit(call, *piece)] = i
                if len(numbers) >= _PIECES_A_WORKER * workers:
                    break
            if not numbers:
                return
            for future in wait(numbers, return_when=FIRST_COMPLETED).done:
                yield numbers.pop(future), future.result()


@contextmanager
def _threads(workers: int, function: Callable[..., R]) -> Iterator[tuple[Executor, Callable[..., R]]]:
    pool, context = ThreadPoolExecutor(workers, thread_name_prefix="wayforward"), contextvars.copy_context()

    def call(*piece: Any) -> R:
        return context.copy().run(function, *piece)  # a new thread knows no language

    try:
        yield pool, call
    finally:
        pool.shutdown(wait=True, cancel_futures=True)  # what runs is finished: a thread cannot be stopped


@contextmanager
def _processes(workers: int, function: Callable[..., R]) -> Iterator[tuple[Executor, Callable[..., R]]]:
    try:
        packed = pickle.dumps(function)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise WorkerError(
            f"Other processes cannot be given this work: {error}. Define functions and classes at the top of a module "
            "with def and class, or use on='threads'."
        ) from None
    context = _Watched()
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_begin, initargs=(packed,))
    try:
        yield pool, _call
    except BrokenProcessPool:
        raise WorkerError(
            "A worker process ended without an answer: it was killed, or ran out of memory, or could not start (a "
            "script that starts workers needs `if __name__ == '__main__':` around its work). Use fewer workers, or "
            "on='threads'."
        ) from None
    except BaseException:
        for process in context.started:
            if process.is_alive():  # the last may have been interrupted before it was there
                process.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


class _Watched(SpawnContext):
    """Starts fresh processes, and knows which, so that they can be ended."""

    def __init__(self) -> None:
        super().__init__()
        self.started: list[Any] = []

    def Process(self, *args: Any, **given: Any) -> Any:  # type: ignore[override]
        process = SpawnContext.Process(*args, **given)
        self.started.append(process)
        return process


_work: Callable[..., Any]


def _begin(packed: bytes) -> None:
    """Make this process a worker: one thread, deaf to Ctrl-C (its parent hears it), gone when its parent is gone."""
    global _work
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        _work = pickle.loads(packed)
    except Exception as error:
        _work = _Failed(f"{type(error).__name__}: {error}")


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait_for([parent.sentinel])
        os._exit(1)


def _call(*piece: Any) -> Any:
    return _work(*piece)


class _Failed:
    """Work that could not be read: whoever calls it hears why."""

    def __init__(self, why: str) -> None:
        self.why = why

    def __call__(self, *piece: Any) -> Any:
        raise WorkerError(
            f"A worker process could not read its work ({self.why}). Install the same packages for it, or use "
            "on='threads'."
        )
