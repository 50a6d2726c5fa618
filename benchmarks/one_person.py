"""What one person costs who asks alone, and what the first answer of a new process costs.

`python -m benchmarks.one_person [--method local-search] [--json FILE]` prints medians over 100 refused people, in
processor time, of everything that is not the estimator: encoding, what the person may do, search, judging, result. The
estimator's own time is taken out as it passes: its `predict_proba` and `predict` are timed in the same run. The line
`stub` is a method that knows the actions already, so that what is left is the cost of the doors around a search.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

CELLS = tuple((data, model) for data in ("german", "adult") for model in ("lr", "mlp", "rf", "gb"))
PEOPLE = 100
STUB = "stub"


class Estimator:
    """Times an estimator from inside: processor seconds, and calls of `predict_proba` and `predict`.

    A pipeline is also asked step by step, its last step about rows already encoded: each step is watched, and what
    a watched one asks of another counts once.
    """

    def __init__(self, estimator: Any) -> None:
        self.seconds, self.calls, self._inside = 0.0, 0, False
        for part in (estimator, *(step for _, step in getattr(estimator, "steps", ()))):
            for name in ("transform", "predict_proba", "predict"):
                if hasattr(part, name):
                    setattr(part, name, self._timed(getattr(part, name), name != "transform"))

    def _timed(self, ask: Any, decides: bool) -> Any:
        def timed(*given: Any, **named: Any) -> Any:
            if self._inside:
                return ask(*given, **named)
            self._inside = True
            started = time.process_time()
            try:
                return ask(*given, **named)
            finally:
                self.seconds += time.process_time() - started
                self.calls += decides
                self._inside = False

        return timed

    def take(self) -> tuple[float, int]:
        """Return seconds and calls since the last time."""
        out = self.seconds, self.calls
        self.seconds, self.calls = 0.0, 0
        return out


def stub_of(problem: Any, people: np.ndarray, action: np.ndarray) -> Any:
    """Return a fitted method that knows the actions (n, k, d) of these people and looks for none."""
    from wayforward.methods.base import Method

    known = {row.tobytes(): i for i, row in enumerate(people)}

    class Stub(Method):
        name, summary = STUB, "knows the answers"

        def _recommend(self, people: Any, k: int, streams: Any, budget: Any) -> np.ndarray:
            return np.asarray(action[[known[row.tobytes()] for row in people.x], :k])

    return Stub().fit(problem)


def given(schema: Any, row: np.ndarray, kind: str) -> Any:
    """One person (1, d) as an array, a mapping or a pandas table."""
    if kind == "array":
        return row
    table = schema.decode(row, like="pandas")
    return table if kind == "table" else {name: table[name].iloc[0] for name in schema.names}


def alone(method: Any, watch: Estimator, asked: list[Any], k: int) -> dict[str, float]:
    """Medians over people who are asked one after the other, in processor milliseconds."""
    ours, own, calls = [], [], []
    watch.take()
    for one in asked:
        started = time.process_time()
        method.recommend(one, k)
        whole = time.process_time() - started
        seconds, count = watch.take()
        ours.append(1e3 * (whole - seconds))
        own.append(1e3 * seconds)
        calls.append(count)
    return {
        "ms": statistics.median(ours), "ms_90": float(np.quantile(ours, 0.9)),
        "ms_estimator": statistics.median(own), "native_calls": statistics.median(calls),
        "native_calls_most": max(calls),
    }  # fmt: skip


def cell(data: str, model: str, name: str, n: int) -> list[dict[str, Any]]:
    """Measure one data set and classifier; return one row for each way of asking."""
    import wayforward as wf
    from wayforward.model import train

    table = wf.datasets.load(data, variant="recommended")
    past, held = table.split(test=0.3, seed=0)
    schema = table.schema
    pipeline = train(model, schema, past.x, past.y, seed=0)
    watch = Estimator(pipeline)
    problem = wf.Problem(schema, pipeline, wf.Target(favourable=1), data=past.x, least_change=None)
    everybody = np.concatenate([held.x, past.x])
    refused = everybody[~problem.reached(everybody)[0]][: n + 2]
    method = wf.method(name).fit(problem)
    rows = []
    for k in (1, 3):
        got = method.recommend(refused, k)
        stub = stub_of(problem, refused, got.action)
        for label, asks in ((STUB, stub), (name, method)):
            for kind in ("array", "mapping", "table") if label == STUB and k == 1 else ("array",):
                asked = [given(schema, row[None], kind) for row in refused]
                for one in asked[-2:]:
                    asks.recommend(one, k)
                rows.append(
                    {"data": data, "model": model, "k": k, "method": label, "given": kind}
                    | alone(asks, watch, asked[:-2], k)
                )
    return rows


FIRST = """
import os, sys, time
a = time.perf_counter()
import pickle
with open(sys.argv[1], "rb") as file:
    pipeline, schema, past, person = pickle.load(file)
pipeline.predict_proba(person)
b = time.perf_counter()
import wayforward as wf
model = wf.wrap(pipeline, schema)
c = time.perf_counter()
problem = wf.Problem(schema, model, wf.Target(favourable=1), data=past, least_change=None)
method = wf.method(sys.argv[2]).fit(problem)
d = time.perf_counter()
got = method.recommend(person)
e = time.perf_counter()
assert got.found.any()
print(b - a, c - b, d - c, e - d, time.process_time())
"""


def first(data: str, model: str, name: str, repeats: int = 5) -> dict[str, Any]:
    """Measure the first answer of new processes with warm kernels, in seconds (least of `repeats`)."""
    import pickle

    import wayforward as wf
    from wayforward.model import train

    table = wf.datasets.load(data, variant="recommended")
    past, held = table.split(test=0.3, seed=0)
    pipeline = train(model, table.schema, past.x, past.y, seed=0)
    problem = wf.Problem(table.schema, pipeline, wf.Target(favourable=1), data=past.x, least_change=None)
    person = held.x[~problem.reached(held.x)[0]][:40]
    person = person[wf.method(name).fit(problem).recommend(person).found[:, 0]][:1]
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory() as folder:
        stored = Path(folder) / "model.pickle"
        frame = table.schema.decode(person, like="pandas")
        stored.write_bytes(pickle.dumps((pipeline, table.schema, past.frame, frame)))
        runs = []
        for _ in range(repeats):
            started = time.perf_counter()
            done = subprocess.run(
                [sys.executable, "-c", FIRST, str(stored), name],
                capture_output=True, text=True, check=True, env=env | {"OMP_NUM_THREADS": "1"},
            )  # fmt: skip
            whole = time.perf_counter() - started
            runs.append([whole, *map(float, done.stdout.split())])
    best = min(runs, key=lambda run: run[0])
    names = (
        "whole",
        "estimator_and_its_libraries",
        "import_and_wrap",
        "problem_and_fit",
        "answer",
        "processor",
    )
    return {"data": data, "model": model, "method": name} | dict(zip(names, best, strict=True))


def main() -> int:
    """Measure, print a table, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--method", default="local-search")
    parser.add_argument("--n", type=int, default=PEOPLE)
    parser.add_argument("--cells", default="", help="such as german-lr,adult-rf; left out: all")
    parser.add_argument(
        "--no-first", action="store_true", help="leave the first answers of new processes out"
    )
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    chosen = [c for c in CELLS if not options.cells or "-".join(c) in options.cells.split(",")]
    out: dict[str, Any] = {"people": options.n, "alone": [], "first": []}
    head = f"{'cell':12} {'k':>2} {'method':14} {'given':8} {'ms':>8} {'90 %':>8} {'estimator ms':>13} {'calls':>6}"
    print(head)
    for data, model in chosen:
        for row in cell(data, model, options.method, options.n):
            out["alone"].append(row)
            print(
                f"{data + '-' + model:12} {row['k']:2d} {row['method']:14} {row['given']:8} {row['ms']:8.3f} "
                f"{row['ms_90']:8.3f} {row['ms_estimator']:13.3f} {row['native_calls_most']:6d}",
                flush=True,
            )
    if not options.no_first:
        parts = (
            "whole",
            "estimator_and_its_libraries",
            "import_and_wrap",
            "problem_and_fit",
            "answer",
            "processor",
        )
        print("\nfirst answer, s  " + " ".join(f"{part[:9]:>9}" for part in parts))
        for data, model in chosen:
            row = first(data, model, options.method)
            out["first"].append(row)
            print(f"{data + '-' + model:16} " + " ".join(f"{row[part]:9.2f}" for part in parts), flush=True)
    if options.json:
        options.json.write_text(json.dumps(out, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
