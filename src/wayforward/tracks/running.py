"""Run a submission on a task in a process of its own, under limits, and judge what it leaves."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from wayforward.errors import WayforwardError, require_whole
from wayforward.tracks.entries import TrackEntry
from wayforward.tracks.judging import judge
from wayforward.tracks.rows import read_rows
from wayforward.tracks.submission import Submission
from wayforward.tracks.tasks import BuiltTask
from wayforward.version import __version__

# What a submission's process sees of ours: no more than it needs to start.
_ENVIRONMENT = (
    "PATH",
    "HOME",
    "LANG",
    "PYTHONPATH",
    "WAYFORWARD_DATA",
    "VIRTUAL_ENV",
    "TMPDIR",
    "SYSTEMROOT",
)
_MOST_FAULT = 10_000  # bytes of a line about what went wrong that are read


class Failed(Exception):
    """A submission left no actions; the line says why. unfit: it does not take such a task."""

    def __init__(self, why: str, unfit: bool = False) -> None:
        super().__init__(why)
        self.unfit = unfit


@dataclass(frozen=True)
class RunLimits:
    """What a submission may use on one task. seconds: of the clock, the start included. megabytes: of addresses.

    Raises: DataError.
    """

    seconds: int = 120
    megabytes: int = 6_000

    def __post_init__(self) -> None:
        require_whole(least=1, seconds=self.seconds, megabytes=self.megabytes)


def submit(submission: Submission, ready: BuiltTask, limits: RunLimits | None = None) -> TrackEntry | None:
    """Judge a submission on a task that was built; None where it has no rows for it.

    Whatever it does (it crashes, never ends, returns nonsense), its entry has a line about it, and others go on.
    Raises: DataError for a file that is too large.
    """
    content = submission.content(ready.task.name)
    if content is None:
        return None
    started = time.perf_counter()
    notes: tuple[str, ...] = ()
    about = {
        "name": submission.name,
        "kind": submission.kind,
        "code": submission.digest(content),
        "version": __version__,
        "task": ready.task.name,
        "task_digest": ready.digest,
        "model_digest": ready.model_digest,
    }
    try:
        if submission.kind == "rows":
            action, notes = read_rows(ready, content)
        else:
            action = _run(submission, content, ready, limits or RunLimits())
        served, cost = judge(ready, action)
        state, why = "judged", "; ".join(notes)
    except Failed as failure:
        state, why = ("not taken" if failure.unfit else "failed"), str(failure)
    except WayforwardError as error:
        state, why = "failed", str(error)
    except Exception as error:  # nobody's rows, however odd, stop the judging of others
        state, why = "failed", f"what it returned could not be judged ({type(error).__name__})"
    if state != "judged":
        served, cost = np.zeros(len(ready.x), dtype=bool), np.full(len(ready.x), np.nan)
    return TrackEntry.made(about, served, cost, state, why, time.perf_counter() - started)


def _run(submission: Submission, content: bytes, ready: BuiltTask, limits: RunLimits) -> np.ndarray:
    """The actions (n, k, d) that a process of its own left. Raises: Failed."""
    with tempfile.TemporaryDirectory(prefix="wayforward-") as place:
        folder = Path(place).resolve()
        (folder / "model.skops").write_bytes(ready.model_file)
        own = submission.kind == "code"
        if own:
            (folder / "submission.py").write_bytes(content)
        ask = {
            "task": ready.task.name,
            "method": "" if own else submission.place,
            "attribute": submission.attribute,
            "megabytes": limits.megabytes,
            "seconds": limits.seconds,
        }
        (folder / "ask.json").write_text(json.dumps(ask), encoding="utf-8")
        code = _ended(folder, limits.seconds)
        if code is None:
            raise Failed(f"it had not ended after {limits.seconds} s")
        fault = folder / "fault.json"
        if fault.is_file() and not fault.is_symlink():
            raise _fault(fault)
        if code:
            raise Failed(
                f"its process was ended by signal {-code}, as for too much memory"
                if code < 0
                else f"its process ended with code {code}"
            )
        return _actions(folder / "action.npy", ready)


def _ended(folder: Path, seconds: int) -> int | None:
    """Run the process and all that it starts; its exit code, None where time was up."""
    environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "wayforward.tracks.child", str(folder)],
        cwd=folder, env=environment | {"OMP_NUM_THREADS": "1"}, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return None
    finally:
        # What it started goes with it. (A process that made a session of its own does not: see the guide.)
        with suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
        process.wait()


def _fault(file: Path) -> Failed:
    """The line that the process wrote; it is the submission's process, so the line is checked like any input."""
    try:
        found = json.loads(file.read_bytes()[:_MOST_FAULT])
        return Failed(str(found["why"])[:300], found["unfit"] is True)
    except (ValueError, KeyError, TypeError, RecursionError):
        return Failed("it left a line about a fault that cannot be read")


def _actions(file: Path, ready: BuiltTask) -> np.ndarray:
    """Read (n, k, d). Raises: Failed for anything else."""
    n, k, d = len(ready.x), ready.task.k, ready.problem.schema.d
    if not file.is_file() or file.is_symlink():
        raise Failed("it left no actions")
    if file.stat().st_size > 8 * n * k * d + 4_096:
        raise Failed(f"it left more than {n} people x {k} options x {d} features")
    try:
        with file.open("rb") as opened:
            found = np.load(opened, allow_pickle=False)
        if not isinstance(found, np.ndarray):
            raise Failed("it left an archive, and no array of numbers")
        if found.dtype.kind not in "fiub":
            raise Failed(f"it left an array of {found.dtype}, and no numbers")
        if found.ndim != 3 or found.shape != (n, found.shape[1], d) or not 1 <= found.shape[1] <= k:
            raise Failed(f"it left an array of shape {found.shape}; wanted is ({n}, {k}, {d})")
        return np.asarray(found, dtype=np.float64)
    except Failed:
        raise
    except Exception:  # whatever a broken file makes its reader say
        raise Failed("it left actions that cannot be read as an array of numbers") from None


__all__ = ["Failed", "RunLimits", "submit"]
