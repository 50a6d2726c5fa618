"""The process that runs a submission: `python -m wayforward.tracks.child FOLDER`, under limits that it sets itself.

It reads `ask.json` and `model.skops` of the folder, and leaves `action.npy` (n, k, d), or `fault.json` with one line
that holds no value of anybody. What it says about itself is not believed: the process that started it judges.
"""

from __future__ import annotations

import json
import sys
import traceback
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from wayforward.errors import MethodError, MissingExtra, UnsupportedModel, WayforwardError
from wayforward.methods import Method
from wayforward.tracks.submission import answerer_in
from wayforward.tracks.tasks import BuiltTask, task

_MOST_WRITTEN = 200_000_000  # bytes a file


def limit(megabytes: int, seconds: int) -> None:
    """Bound this process's memory, time and files for good, where the system can."""
    try:
        import resource
    except ImportError:  # no Unix: the clock of the process that started this one remains
        return
    for kind, most in (
        (resource.RLIMIT_AS, megabytes * 1_000_000),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_FSIZE, _MOST_WRITTEN),
        (resource.RLIMIT_CORE, 0),
    ):
        before = resource.getrlimit(kind)[1]
        most = most if before == resource.RLIM_INFINITY else min(most, before)
        resource.setrlimit(kind, (most, most))


def answer(answerer: Any, ready: BuiltTask) -> np.ndarray:
    """The actions of a method or a function, whatever they are."""
    k = ready.task.k
    if isinstance(answerer, Method):
        return (
            answerer.fit(ready.problem)
            .recommend(ready.x, k, preferences=ready.wishes, seed=ready.task.seed)
            .action
        )
    got = answerer(ready.problem, ready.problem.population(ready.x, ready.wishes), k)
    if got is None:
        raise MethodError("The function `recommend` returned None. Return an array of actions (n, k, d).")
    got = np.asarray(getattr(got, "action", got))
    return got[:, None] if got.ndim == 2 else got


def main(folder: Path) -> None:
    """Do what `ask.json` says."""
    ask = json.loads((folder / "ask.json").read_text(encoding="utf-8"))
    warnings.filterwarnings("ignore")
    ready = task(ask["task"]).build(folder / "model.skops")
    limit(ask["megabytes"], ask["seconds"])
    try:
        if ask["method"]:
            from wayforward.methods import method

            answerer: Any = method(ask["method"])
        else:
            answerer = answerer_in(folder / "submission.py", ask["attribute"])
        np.save(folder / "action.npy", answer(answerer, ready), allow_pickle=False)
    except BaseException as error:  # also SystemExit: whatever a submission does, there is a line about it
        fault = {"why": _line(error, folder), "unfit": isinstance(error, (UnsupportedModel, MissingExtra))}
        (folder / "fault.json").write_text(json.dumps(fault), encoding="utf-8")


def _line(error: BaseException, folder: Path) -> str:
    """What went wrong: errors of the library in their words; others by type and line, as their text may hold rows."""
    if isinstance(error, MemoryError):
        return "it asked for more memory than it may have"
    if isinstance(error, WayforwardError):
        return str(error)
    if isinstance(error, SyntaxError) and error.filename and Path(error.filename).parent == folder:
        return f"it is no Python from line {error.lineno} of the file on"
    own = [
        step.lineno
        for step in traceback.extract_tb(error.__traceback__)
        if Path(step.filename).parent == folder
    ]
    place = f" in line {own[-1]} of the file" if own else ""
    return f"it raised {type(error).__name__}{place}"


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
