"""`python -m benchmarks.speed`: how long people wait, in one call and one by one, beside peers in the same run.

Every repeat asks local-search for 100 people in one call and one by one, then a peer for people one by one, then
local-search again; a ratio is made of neighbours in time, and the page shows the range over the repeats. Peers get the
classifier as the pipeline and as an array function. Seconds are processor seconds. The section "one person" splits what
one warm answer takes into the native model's own time and the rest, and times the first answer of a new process.
Finished cells are kept in benchmarks/.cache for one state of the source; results go to benchmarks/results/speed.json.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks import environments
from benchmarks.cells import CACHE, HERE, LEAD, PEERS, RESULTS, ROOT, SEED, Peer, digest, source_digest
from benchmarks.ours import Cell
from benchmarks.run import one_thread, run_peer

DATA = ("adult", "german", "compas", "gmsc")
MODELS = ("lr", "mlp", "rf", "gb")
PEER_MODELS = ("lr", "mlp", "rf")  # those that skops hands on and the array function knows
PEOPLE = 100
REPEATS = 3
OPAQUE = ("lr", "rf")  # shown once more as a plain function
TOOLS = ("dice-random", "nicex")
WAYS = ("pipeline", "array")


def peer_of(name: str, way: str, people: int, seconds: float) -> Peer:
    """A peer of the comparison with the classifier given in one of `WAYS`, bounded in time."""
    known = next(peer for peer in PEERS if peer.name == name)
    return replace(known, n=people, cell_seconds=seconds, options=known.options | {"model": way})


# -- ours --------------------------------------------------------------------------------------------------


def one_call(method: Any, people: np.ndarray, k: int = 1) -> float:
    """Processor ms a person, all in one call."""
    started = time.process_time()
    method.recommend(people, k, seed=SEED)
    return 1000 * (time.process_time() - started) / len(people)


def one_by_one(method: Any, people: np.ndarray, k: int = 1) -> np.ndarray:
    """(n,) processor ms of each person, a call for each."""
    out = np.empty(len(people))
    for i in range(len(people)):
        started = time.process_time()
        method.recommend(people[i : i + 1], k, seed=SEED)
        out[i] = 1000 * (time.process_time() - started)
    return out


@contextmanager
def watched(problem: Any) -> Iterator[dict[str, float]]:
    """Seconds and calls of the native model, and seconds of fast scores where Python asks for them."""
    from wayforward.problem import Population

    spent = {"native": 0.0, "native_calls": 0, "scores": 0.0}
    model, scores = problem.model, Population.outputs

    def timed(key: str, ask: Callable[..., Any]) -> Callable[..., Any]:
        def inner(*arguments: Any) -> Any:
            started = time.process_time()
            got = ask(*arguments)
            spent[key] += time.process_time() - started
            spent["native_calls"] += key == "native"
            return got

        return inner

    own = vars(model).get("native")  # somebody else may watch it too
    model.native = timed("native", model.native)
    Population.outputs = timed("scores", scores)  # type: ignore[method-assign]
    try:
        yield spent
    finally:
        if own is None:
            del model.native
        else:
            model.native = own
        Population.outputs = scores  # type: ignore[method-assign]


def one_person(problem: Any, people: np.ndarray, warm: np.ndarray) -> dict[str, Any]:
    """Medians of one warm person for k of 1 and 3: in all, the native model's own time, the rest, and native calls.

    Where the model can only be asked, what it takes to be asked during the search is its own time too.
    """
    import wayforward as wf

    method = wf.method(LEAD).fit(problem)
    asks_only = getattr(problem.model, "fast", None) is None
    out: dict[str, Any] = {"people": len(people)}
    for k in (1, 3):
        for person in warm:
            method.recommend(person[None], k, seed=SEED)
        plain = one_by_one(method, people, k)
        native, scores, calls = (np.empty(len(people)) for _ in range(3))
        for i in range(len(people)):
            with watched(problem) as spent:
                method.recommend(people[i : i + 1], k, seed=SEED)
            native[i], scores[i] = 1000 * spent["native"], 1000 * spent["scores"]
            calls[i] = spent["native_calls"]
        out[f"k={k}"] = {
            "ms": float(np.median(plain)),
            "ms of nine in ten": float(np.quantile(plain, 0.9)),
            "native ms": float(np.median(native)),
            "scores ms": float(np.median(scores)),
            "rest ms": float(np.median(plain) - np.median(native + scores if asks_only else native)),
            "native calls": int(calls.max()),
        }
    with watched(problem) as spent:
        started = time.process_time()
        method.recommend(people, 1, seed=SEED)
        whole = time.process_time() - started
    out["bulk"] = {
        "ms a person": 1000 * whole / len(people),
        "native share": spent["native"] / whole,
        "scores share": spent["scores"] / whole,
    }
    return out


def opaque(cell: Cell) -> Any:
    """The cell's problem with its classifier as a plain function of a table."""
    import wayforward as wf
    from wayforward.model import wrap

    model = wrap(
        cell.pipeline.predict_proba, cell.schema, classes=tuple(cell.pipeline.classes_), output="probability",
        takes="frame", batch_rows=None,
    )  # fmt: skip
    return wf.Problem(cell.schema, model, wf.Target(favourable=1), data=cell.train_x, least_change=None)


FIRST = """
import sys, time, warnings
warnings.simplefilter("ignore")
import numpy as np, pickle
import wayforward as wf
with open(sys.argv[1], "rb") as file:
    schema, pipeline, data, people = pickle.load(file)
problem = wf.Problem(wf.Schema.from_dict(schema), pipeline, wf.Target(favourable=1), data=data, least_change=None)
wf.recommend(problem, people, method="local-search", seed=0)
"""


def first_answer(cell: Cell, folder: Path, repeats: int) -> dict[str, Any]:
    """Seconds of a new process to one person's answer, everything included; kernels are cached after the first one."""
    import pickle

    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "first.pickle"
    with file.open("wb") as out:
        pickle.dump((cell.schema.to_dict(), cell.pipeline, cell.train_x, cell.warm[:1]), out)
    wall, spent = [], []
    for _ in range(repeats + 1):
        command = [sys.executable, "-c", FIRST, str(file)]
        before, started = _children(), time.perf_counter()
        subprocess.run(command, check=True, cwd=ROOT, env=one_thread(), capture_output=True)
        wall.append(time.perf_counter() - started)
        spent.append(_children() - before)
    return {"seconds": spent[1:], "wall seconds": wall[1:], "seconds of the first process": spent[0]}


def _children() -> float:
    """Processor seconds of the processes that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


# -- beside peers ------------------------------------------------------------------------------------------


def beside(cell: Cell, tool: str, way: str, home: Path, python: Path, settings: argparse.Namespace) -> Any:
    """Repeats of ours, the peer, ours; ratios with their range."""
    import wayforward as wf

    method = wf.method(LEAD).fit(cell.problem)
    people = cell.people(min(settings.people, cell.n))
    method.recommend(cell.warm, 1, seed=SEED)
    method.recommend(cell.warm[:1], 1, seed=SEED)
    rows = []
    for repeat in range(settings.repeats):
        before = one_call(method, people), float(one_by_one(method, people).mean())
        peer = peer_of(tool, way, len(people), settings.peer_seconds)
        got = run_peer(python, peer, home / "exchange", home / f"{tool}-{way}-{repeat}")
        if got is None:
            return {"failed": True}
        after = one_call(method, people), float(one_by_one(method, people).mean())
        theirs = 1000 * got["generate_seconds"] / max(got["n"], 1)
        call, single = ((a + b) / 2 for a, b in zip(before, after, strict=True))
        rows.append(
            {
                "peer ms": theirs, "people": got["n"], "ours ms, one call": call, "ours ms, one by one": single,
                "ratio, one call": theirs / call, "ratio, one by one": theirs / single,
                "classifier's share": got["model_seconds"] / max(got["generate_seconds"], 1e-9),
                "decisions differ": got["agreement"]["decisions_differ"], "versions": got["versions"],
            }
        )  # fmt: skip
    return {"repeats": rows} | {
        key: [min(r[key] for r in rows), median(r[key] for r in rows), max(r[key] for r in rows)]
        for key in (
            "peer ms",
            "ours ms, one call",
            "ours ms, one by one",
            "ratio, one call",
            "ratio, one by one",
        )
    }


def measure(
    data: str, model: str, pythons: dict[str, Path | None], settings: argparse.Namespace
) -> dict[str, Any]:
    """One cell: one person, a first answer, and peers where they take the model."""
    cell = Cell(data, model)
    home = CACHE / "speed" / f"{data}-{model}"
    people = cell.people(min(settings.people, cell.n))
    out: dict[str, Any] = {
        "data": data, "model": model, "people": len(people), "when": time.strftime("%Y-%m-%d"),
        "one person": one_person(cell.problem, people, cell.warm),
    }  # fmt: skip
    if model in OPAQUE and settings.opaque_people:
        out["opaque"] = one_person(opaque(cell), people[: settings.opaque_people], cell.warm)
    if settings.first:
        out["first answer"] = first_answer(cell, home, settings.repeats)
    if model in PEER_MODELS and any(pythons.values()):
        cell.exchange(home / "exchange")
        out["peers"] = {
            f"{tool} {way}": beside(cell, tool, way, home, python, settings)
            for tool, python in pythons.items()
            if python is not None
            for way in WAYS
        }
    return out


def main(argv: list[str] | None = None) -> int:
    """Measure what is missing, write the results."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__)
    parser.add_argument("--data", nargs="*", default=list(DATA), choices=DATA)
    parser.add_argument("--models", nargs="*", default=list(MODELS), choices=MODELS)
    parser.add_argument("--peers", nargs="*", default=list(TOOLS), choices=TOOLS)
    parser.add_argument("--people", type=int, default=PEOPLE)
    parser.add_argument("--opaque-people", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--peer-seconds", type=float, default=20.0, help="wall time of a peer in a repeat")
    parser.add_argument("--no-first", dest="first", action="store_false", help="leave new processes out")
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--out", type=Path, default=RESULTS / "speed.json")
    arguments = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    pythons = {
        name: environments.ensure(next(p for p in PEERS if p.name == name)) for name in arguments.peers
    }
    cells = {}
    for data in arguments.data:
        for model in arguments.models:
            file = CACHE / "speed" / f"{data}-{model}.json"
            options = {
                k: str(v) for k, v in vars(arguments).items() if k not in ("data", "models", "fresh", "out")
            }
            key = digest(source_digest(), Path(__file__), HERE / "peers" / "common.py", options)
            cell = json.loads(file.read_text()) if file.exists() and not arguments.fresh else {}
            if cell.get("key") != key:
                file.parent.mkdir(parents=True, exist_ok=True)
                cell = {"key": key, "source": source_digest(), **measure(data, model, pythons, arguments)}
                file.write_text(json.dumps(cell, indent=1) + "\n")
            cells[f"{data}-{model}"] = cell
            print(_line(f"{data} {model}", cell), flush=True)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    known = json.loads(arguments.out.read_text()) if arguments.out.exists() else {}
    for name, cell in cells.items():
        known[name] = kept(known.get(name, {}), cell)
    arguments.out.write_text(json.dumps(known, indent=1) + "\n")
    return 0


def kept(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """A cell with those parts of an older one that were not measured again, and the state and day of each."""
    parts = [part for part in ("opaque", "first answer", "peers") if part in old and part not in new]
    ages = {part: old.get("kept", {}).get(part, [old["source"], old["when"]]) for part in parts}
    return new | {part: old[part] for part in parts} | {"kept": ages}


def _line(name: str, cell: dict[str, Any]) -> str:
    one = cell["one person"]
    words = [f"{name:12s} one call {one['bulk']['ms a person']:.2f} ms a person"]
    for title, got in (("", one), ("opaque ", cell.get("opaque"))):
        for k in ("k=1", "k=3") if got else ():
            words.append(
                f"{title}{k} {got[k]['ms']:.1f} ms ({got[k]['rest ms']:.1f} without the model, "
                f"{got[k]['native calls']} native calls)"
            )
    if "first answer" in cell:
        words.append(f"first answer {median(cell['first answer']['seconds']):.1f} s")
    for peer, got in cell.get("peers", {}).items():
        if "failed" in got:
            words.append(f"{peer} failed")
        else:
            call, single = got["ratio, one call"], got["ratio, one by one"]
            words.append(f"{peer} x{call[1]:.0f} in one call, x{single[1]:.1f} one by one")
    return "; ".join(words)


if __name__ == "__main__":
    raise SystemExit(main())
