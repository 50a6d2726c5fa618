"""Pieces of work as tasks of Ray: on a cluster that was joined, or on a local one that is started and stopped.

Work, pieces and results go as bytes: arrays that Ray itself sends cannot be written to, so that what works in one
process could fail there, and compiled code would be compiled again for them.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any

from wayforward.errors import WorkerError, require

_RETRIES = 3  # of a task whose worker died: it is answered again elsewhere, with the same bits
_STARTS = (
    3  # of a local cluster: Ray gives its parts half a minute to start, which a busy machine may not keep
)


def on_ray(
    work: Callable[..., Any], pieces: Iterable[tuple[Any, ...]], workers: int
) -> Iterator[tuple[int, Any]]:
    """Call the work with each piece as a task; yield (number of the piece, result) as they get ready.

    workers: pieces at work, of which as many wait. A cluster that `ray.init` has joined is used as it is; else one is
    started here, with so many processors, and stopped in the end, whatever RAY_ADDRESS says. Raises: what the work
    raises; WorkerError where workers die again and again, or the local cluster does not start; MissingExtra.
    """
    ray = require("ray", extra="ray")
    own = not ray.is_initialized()
    if own:
        start_local(ray, workers)
    try:
        task = ray.remote(max_retries=_RETRIES, num_cpus=1)(_do)
        packed = ray.cloudpickle.dumps
        shared = ray.put(packed(work))
        numbers: dict[Any, int] = {}
        left = enumerate(pieces)
        while True:
            for i, piece in left:
                numbers[task.remote(shared, packed(piece))] = i
                if len(numbers) >= 2 * workers:
                    break
            if not numbers:
                return
            ready, _ = ray.wait(list(numbers), num_returns=1)
            for one in ready:
                yield numbers.pop(one), _result(ray, one)
    finally:
        if own:
            ray.shutdown()


def start_local(ray: Any, workers: int) -> None:
    """Start a local cluster with so many processors; once more where its parts were too slow. Raises: WorkerError."""
    for attempt in range(1, _STARTS + 1):
        try:
            ray.init(
                address="local", num_cpus=workers, include_dashboard=False, log_to_driver=False,
                configure_logging=False,
            )  # fmt: skip
            return
        except Exception as error:
            ray.shutdown()  # what has started of it
            if attempt == _STARTS:
                first = (str(error).splitlines() or [type(error).__name__])[0]
                raise WorkerError(
                    f"Ray did not start here, {_STARTS} times: {first} Use fewer workers or on='processes', or join "
                    "a cluster that runs with ray.init(address=...) before."
                ) from error


def _do(work: bytes, piece: bytes) -> bytes:
    return pickle.dumps(_read(work)(*pickle.loads(piece)))


@lru_cache(maxsize=1)
def _read(work: bytes) -> Callable[..., Any]:
    """Return the work: of the same bytes the same, once a worker."""
    read: Callable[..., Any] = pickle.loads(work)
    return read


def _result(ray: Any, one: Any) -> Any:
    try:
        return pickle.loads(ray.get(one))
    except ray.exceptions.RayTaskError as error:
        raise (error.cause or error) from None
    except ray.exceptions.RayError as error:
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise WorkerError(
            f"A worker of the cluster ended without an answer: {first}. Look at its log, or use smaller pieces "
            "(rows_per_shard); a folder of answers goes on with the shards that are missing."
        ) from None
