"""What every peer script shares: read an exchange folder, rebuild the classifier, time people, write answers.

Runs inside a peer's own virtual environment, so it imports numpy, pandas, scikit-learn and skops only, never
wayforward. An exchange folder holds

    task.json    features (name, kind, levels, low, high, step), index of the favourable class, seed
    rows.npz     train (N, d), label (N,) 1 = favourable, people (n, d), warm (w, d), check (c, d) and
                 check_score (c,) the probability of the favourable class that the owner's process computed;
                 free (d,) bool; low, high (n, d) reach of each person; levels_<j> (n, L) bool levels each
                 may take
    model.skops  the fitted scikit-learn pipeline on raw frames

with values in feature units and level indices for binary, ordinal and categorical features.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from skops import io as skops_io

SAME = 1e-6  # share of a feature's range below which a returned number counts as untouched (favours the peer)


class OutOfTime(Exception):
    """One person took longer than the limit."""


class Task:
    """One cell of the benchmark: a data set, a classifier and the refused people."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.meta: dict[str, Any] = json.loads((folder / "task.json").read_text())
        self.features: list[dict[str, Any]] = self.meta["features"]
        self.names: list[str] = [f["name"] for f in self.features]
        with np.load(folder / "rows.npz", allow_pickle=False) as rows:
            self.rows = {key: rows[key] for key in rows.files}
        self.train, self.label = self.rows["train"], self.rows["label"]
        self.people, self.warm = self.rows["people"], self.rows["warm"]
        self.free = self.rows["free"]
        self.has_levels = np.array([bool(f["levels"]) for f in self.features])
        self.span = np.array(
            [
                max(len(f["levels"]) - 1, 1) if f["levels"] else (f["high"] - f["low"]) or 1.0
                for f in self.features
            ],
            dtype=float,
        )
        self.words: list[str] = []
        self.model = Bridge(self)

    def reach(self, i: int, warm: bool = False) -> tuple[np.ndarray, np.ndarray, dict[int, np.ndarray]]:
        """Least and greatest value of each numeric feature, and the levels, that a person may move to."""
        tag = "warm_" if warm else ""
        levels = {j: self.rows[f"{tag}levels_{j}"][i] for j in np.flatnonzero(self.has_levels)}
        return self.rows[f"{tag}low"][i], self.rows[f"{tag}high"][i], levels

    def frame(self, codes: np.ndarray, as_text: bool = False) -> pd.DataFrame:
        """(m, d) codes -> the raw frame that the pipeline was trained on (levels as text where asked)."""
        columns: dict[str, Any] = {}
        for j, feature in enumerate(self.features):
            column = codes[:, j].astype(float)
            if feature["levels"]:
                values = [str(v) for v in feature["levels"]] if as_text else feature["levels"]
                columns[feature["name"]] = np.array(values, dtype=object)[column.astype(int)]
            elif feature["kind"] == "integer" and not np.isnan(column).any():
                columns[feature["name"]] = np.round(column).astype(np.int64)
            else:
                columns[feature["name"]] = column
        return pd.DataFrame(columns)

    def codes(self, frame: pd.DataFrame) -> np.ndarray:
        """The reverse, from a frame whose levels are text; NaN where a level is unknown."""
        out = np.empty((len(frame), len(self.names)))
        for j, feature in enumerate(self.features):
            column = frame[feature["name"]]
            if feature["levels"]:
                index = {str(v): float(i) for i, v in enumerate(feature["levels"])}
                out[:, j] = [index.get(str(v), np.nan) for v in column]
            else:
                out[:, j] = pd.to_numeric(column)
        return out

    def clean(self, x: np.ndarray, after: np.ndarray) -> np.ndarray:
        """Undo float32 round trips: a number that moved less than SAME of its range did not move."""
        still = np.abs(after - x) <= SAME * self.span
        return np.where(still, x, after)


class Bridge:
    """The classifier as peers call it, counted: codes or frames in, (unfavourable, favourable) out."""

    def __init__(self, task: Task) -> None:
        self.task = task
        path = task.folder / "model.skops"
        self.pipeline = skops_io.load(path, trusted=skops_io.get_untrusted_types(file=path))
        favourable = int(task.meta["favourable_index"])
        self.order = [1 - favourable, favourable]
        self.array: Callable[[np.ndarray], np.ndarray] | None = None  # codes (m, d) -> (m, 2), without frames
        self.rows = self.calls = 0
        self.seconds = 0.0
        self.text_levels = {
            f["name"]: {str(v): v for v in f["levels"]}
            for f in task.features
            if any(not isinstance(v, str) for v in f["levels"])
        }
        self.numeric = [f["name"] for f in task.features if not f["levels"]]

    def reset(self) -> None:
        """Forget the counts (after a warm-up)."""
        self.rows = self.calls = 0
        self.seconds = 0.0

    def _proba(self, frame: pd.DataFrame) -> np.ndarray:
        start = time.thread_time()
        out = self.pipeline.predict_proba(frame)[:, self.order]
        self.seconds += time.thread_time() - start
        self.rows += len(frame)
        self.calls += 1
        return out

    def as_array(self) -> None:
        """Answer by an array function from now on: the same model, without frames and checks of its input."""
        self.array = ArrayModel(self.task, self.pipeline)

    def on_codes(self, codes: np.ndarray) -> np.ndarray:
        """(m, d) codes -> (m, 2)."""
        if self.array is not None:
            codes = np.atleast_2d(np.asarray(codes, dtype=float))
            start = time.thread_time()
            out = self.array(codes)[:, self.order]
            self.seconds += time.thread_time() - start
            self.rows += len(codes)
            self.calls += 1
            return out
        return self._proba(self.task.frame(np.atleast_2d(codes)))

    def predict_proba(self, frame: pd.DataFrame) -> np.ndarray:
        """A frame whose levels are text -> (m, 2)."""
        if self.array is not None:
            return self.on_codes(self.task.codes(frame))
        frame = frame[self.task.names].copy()
        for name in self.numeric:
            if frame[name].dtype == object:
                frame[name] = frame[name].astype(float)
        for name, values in self.text_levels.items():
            frame[name] = [values[str(v)] for v in frame[name]]
        return self._proba(frame)

    def predict(self, frame: pd.DataFrame) -> np.ndarray:
        """A frame whose levels are text -> (m,) 0 or 1 (1 = favourable)."""
        return self.predict_proba(frame).argmax(axis=1)

    def agreement(self) -> dict[str, Any]:
        """How far this process's probabilities are from the owner's, on the check rows."""
        check, expected = self.task.rows["check"], self.task.rows["check_score"]
        got = self.on_codes(check)[:, 1]
        text = self.predict_proba(self.task.frame(check, as_text=True))[:, 1]
        return {
            "rows": len(check),
            "largest_difference": float(np.abs(got - expected).max()),
            "decisions_differ": int(((got > 0.5) != (expected > 0.5)).sum()),
            "largest_difference_text_frames": float(np.abs(text - expected).max()),
        }


class ArrayModel:
    """A fitted pipeline of the benchmark as a function of arrays: codes (m, d) -> probabilities (m, 2)."""

    def __init__(self, task: Task, pipeline: Any) -> None:
        place = {name: j for j, name in enumerate(task.names)}
        self.parts: list[Callable[[np.ndarray], np.ndarray]] = []
        for _, made, columns in pipeline.named_steps["encode"].transformers_:
            at = [place[name] for name in columns]
            if hasattr(made, "categories_"):
                for j, known in zip(at, made.categories_, strict=True):
                    levels = task.features[j]["levels"]
                    table = np.array([[float(v == level) for v in known] for level in levels])
                    self.parts.append(lambda x, j=j, table=table: table[x[:, j].astype(int)])
            else:
                steps = [step for _, step in getattr(made, "steps", [])]
                self.parts.append(lambda x, at=at, steps=steps: _scaled(x[:, at], steps))
        self.head = _head(pipeline.named_steps["model"])

    def __call__(self, codes: np.ndarray) -> np.ndarray:
        """Encode and ask."""
        return self.head(np.concatenate([part(codes) for part in self.parts], axis=1))


def _scaled(x: np.ndarray, steps: list[Any]) -> np.ndarray:
    for step in steps:
        if hasattr(step, "scale_") and hasattr(step, "mean_"):
            x = (x - step.mean_) / step.scale_
        else:
            x = step.transform(x)
    return x


def _head(model: Any) -> Callable[[np.ndarray], np.ndarray]:
    """The last step in plain arrays: linear, a network, a forest; else its own predict_proba."""
    pair = lambda p: np.stack([1 - p, p], axis=1)
    if type(model).__name__ == "LogisticRegression":
        return lambda x: pair(1 / (1 + np.exp(-(x @ model.coef_[0] + model.intercept_[0]))))
    if type(model).__name__ == "MLPClassifier" and model.activation == "relu":

        def net(x: np.ndarray) -> np.ndarray:
            for weight, bias in zip(model.coefs_[:-1], model.intercepts_[:-1], strict=True):
                x = np.maximum(x @ weight + bias, 0)
            return pair(1 / (1 + np.exp(-(x @ model.coefs_[-1] + model.intercepts_[-1])[:, 0])))

        return net
    if type(model).__name__ == "RandomForestClassifier":

        def forest(x: np.ndarray) -> np.ndarray:
            rows = np.ascontiguousarray(x, dtype=np.float32)
            return np.mean([tree.tree_.predict(rows) for tree in model.estimators_], axis=0)

        return forest
    return model.predict_proba


@contextmanager
def limit(seconds: float) -> Iterator[None]:
    """Raise OutOfTime in the block after `seconds` of processor time, so that a busy machine is no excuse."""

    def ring(signum: int, frame: object) -> None:
        raise OutOfTime

    old = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, old)


def peak_megabytes() -> float:
    """Peak resident memory of this process (the high-water mark starts anew at exec, unlike ru_maxrss)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return float(line.split()[1]) / 1024
    return float("nan")


def run(name: str, packages: tuple[str, ...], build: Callable[[Task, dict[str, Any]], Any]) -> None:
    """Drive one peer over the people of one exchange folder.

    `build(task, options)` fits the peer and returns `answer(x (d,), low, high, levels) -> (d,) or None`,
    which may leave one word about each person in `task.words`, such as a solver's status.
    Seconds are processor seconds of this thread, the only one: what an idle machine would take. (The clock of the whole
    process counts in ticks of some milliseconds while a limit is set.)
    Writes after (n, d), NaN where nothing was found or the limit was hit, and a JSON file beside it.
    """
    arguments = _arguments(name)
    options = dict(text.split("=", 1) for text in arguments.option)
    task = Task(arguments.folder)
    if options.get("model") == "array":
        task.model.as_array()
    agreement = task.model.agreement()
    random.seed(task.meta["seed"])
    np.random.seed(task.meta["seed"])  # noqa: NPY002 - dice-ml draws from the global generators
    task.model.reset()
    started = time.thread_time()
    answer = build(task, options)
    fit_seconds = time.thread_time() - started
    for i, x in enumerate(task.warm):
        try:
            with limit(arguments.person_seconds):
                answer(x.copy(), *task.reach(i, warm=True))
        except Exception as error:  # a peer may fail on one person; the people below are counted properly
            print(f"warm-up: {type(error).__name__}", file=sys.stderr)
    task.model.reset()
    task.words.clear()
    n = min(arguments.n, len(task.people))
    after, seconds, measured = _people(task, answer, n, arguments, name)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(f"{arguments.out}.npz", after=after, seconds=seconds, words=np.array(task.words))
    measured |= {
        "peer": name,
        "n_asked": n,
        "fit_seconds": fit_seconds,
        "model_seconds": task.model.seconds,
        "model_rows": task.model.rows,
        "model_calls": task.model.calls,
        "peak_mb": peak_megabytes(),
        "words": {word: task.words.count(word) for word in sorted(set(task.words))},
        "agreement": agreement,
        "options": options,
        "person_seconds": arguments.person_seconds,
        "cell_seconds": arguments.cell_seconds,
        "versions": {
            "python": ".".join(map(str, sys.version_info[:3])),
            **{package: version(package) for package in (*packages, "scikit-learn", "numpy", "pandas")},
        },
    }
    Path(f"{arguments.out}.json").write_text(json.dumps(measured, indent=1))


def _arguments(name: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=name)
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--n", type=int, default=200)
    parser.add_argument("--person-seconds", type=float, default=20.0)
    parser.add_argument("--cell-seconds", type=float, default=120.0)
    parser.add_argument("--option", action="append", default=[])
    return parser.parse_args()


def _people(
    task: Task, answer: Callable[..., Any], n: int, arguments: argparse.Namespace, name: str
) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """Ask for the first n people: where each is led (done, d), seconds of each (done,), and totals."""
    after = np.full((n, len(task.names)), np.nan)
    seconds = np.full(n, np.nan)
    failures: dict[str, int] = {}
    began, spent = time.perf_counter(), time.thread_time()
    done = 0
    for i in range(n):
        # A cell that runs out of time keeps the people it did: they are the first of a shuffled order.
        if time.perf_counter() - began > arguments.cell_seconds:
            break
        x, tick = task.people[i], time.thread_time()
        try:
            with limit(arguments.person_seconds):
                found = answer(x.copy(), *task.reach(i))
        except OutOfTime:
            found = None
            failures["out of time"] = failures.get("out of time", 0) + 1
        except Exception as error:  # peers raise many kinds; each counts as not found and is reported by kind
            found = None
            kind = type(error).__name__
            failures[kind] = failures.get(kind, 0) + 1
            if failures[kind] == 1:
                print(f"{name}: {kind}: {str(error)[:300]}", file=sys.stderr)
        seconds[i] = time.thread_time() - tick
        done += 1
        if found is not None:
            after[i] = task.clean(x, np.asarray(found, dtype=float))
    totals = {
        "n": done,
        "generate_seconds": time.thread_time() - spent,
        "wall_seconds": time.perf_counter() - began,
        "failures": failures,
    }
    return after[:done], seconds[:done], totals
