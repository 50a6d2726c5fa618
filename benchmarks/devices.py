"""What a device does for the engines that work with torch: the same work on the CPU and there, in one run.

`python -m benchmarks.devices [--device auto] [--people 2000] [--width 256] [--only NAME ...] [--json FILE]` prints wall
seconds of fitting and of answering, after a first call that is not counted, on both devices in turn, and
the share found and the mean cost of both. Wall time, since a device works beside the processor: nothing
else may run on the machine. Without an accelerator both sides are the CPU, and only the script itself is tried.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

REPEATS = 3
Work = Callable[[str], dict[str, float]]


def question(width: int, most: int, causal: bool = False) -> tuple[Any, np.ndarray]:
    """Return a problem whose model is a net of two layers of this width, and at most so many refused people."""
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    import wayforward as wf
    from wayforward.model import wrap

    table = wf.datasets.load("loan" if causal else "gmsc")
    past, held = table.split(test=0.3, seed=0)
    x, y = past.x[:20_000], past.y[:20_000]
    net = MLPClassifier((width, width), max_iter=20, random_state=0)
    filled = np.where(np.isnan(x), np.nanmedian(x, axis=0), x)
    net = make_pipeline(StandardScaler(), net).fit(filled, y)
    world = wf.world.loan.loan() if causal else None
    schema = table.schema
    if not causal:
        from dataclasses import replace

        known = tuple(replace(f, missing=False) for f in schema.features)
        schema = replace(schema, features=known)
    problem = wf.Problem(schema, wrap(net, schema), wf.Target(1), data=filled, world=world)
    people = np.where(np.isnan(held.x), np.nanmedian(x, axis=0), held.x)
    return problem, people[~problem.reached(people)[0]][:most]


def method_work(name: str, problem: Any, people: np.ndarray, more: dict[str, Any]) -> Work:
    """Return the work of fitting a method and answering people; on the CPU, `local-search` chooses its own way."""
    import wayforward as wf

    def work(device: str) -> dict[str, float]:
        fresh = wf.Problem(  # nothing is learnt already
            problem.schema, problem.model, problem.target, data=problem.reference, world=problem.world
        )
        own = name == "local-search" and device == "cpu"
        started = time.perf_counter()
        method = wf.method(name, **more, device=None if own else device).fit(fresh)
        fitted = time.perf_counter()
        got = method.recommend(people)
        done = time.perf_counter()
        found = got.found[:, 0]
        return {
            "fit": fitted - started, "answer": done - fitted, "found": float(found.mean()),
            "cost": float(got.cost[found, 0].mean()) if found.any() else float("nan"),
        }  # fmt: skip

    return work


def rows_work(problem: Any, rows: np.ndarray) -> Work:
    """Return the work of evaluating the net on rows."""

    def work(device: str) -> dict[str, float]:
        model = problem.model.on(device)
        model.outputs(rows[:1])
        started = time.perf_counter()
        out = model.outputs(rows)
        return {"answer": time.perf_counter() - started, "cost": float(out[:, 1].mean())}

    return work


def flow_work() -> Work:
    """Return the work of fitting a flow."""
    import wayforward as wf
    from wayforward.world.flow import CausalFlow

    data = wf.datasets.load("loan")

    def work(device: str) -> dict[str, float]:
        started = time.perf_counter()
        flow = CausalFlow.fit(data.graph, data.x, data.schema, epochs=100, device=device)
        return {"fit": time.perf_counter() - started, "cost": -flow.report.held_out}

    return work


def works(people: int, width: int) -> dict[str, Callable[[], Work]]:
    """Return the engines by name; their problems are made when they are asked for."""
    from wayforward.groups import Groups

    def plain(name: str, some: int = people, **more: Any) -> Callable[[], Work]:
        return lambda: method_work(name, *question(width, some), more)

    def causal(name: str, **more: Any) -> Callable[[], Work]:
        return lambda: method_work(name, *question(width, people, causal=True), more)

    def by_age(name: str, some: int, **more: Any) -> Callable[[], Work]:
        def make() -> Work:
            problem, x = question(width, some)
            groups = Groups.of("age", problem.reference, problem.schema, cut=[51])
            return method_work(name, problem, x, {"groups": groups, **more})

        return make

    def rows() -> Work:
        problem, x = question(width, people)
        return rows_work(problem, np.resize(x, (1 << 20, x.shape[1])))

    return {
        "rows of a net": rows,
        "local-search": plain("local-search"),
        "wachter": plain("wachter", block=4096),
        "c-chvae": plain("c-chvae", epochs=10),
        "ibr": by_age("ibr", people, epochs=10),
        "ebr": by_age("ebr", max(people // 10, 1)),
        "carma": causal("carma", epochs=20),
        "icarma": causal("icarma", epochs=20),
        "flow": flow_work,
    }


def main() -> None:
    """Measure and print."""
    from wayforward.devices import device_of

    read = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    read.add_argument("--device", default="auto")
    read.add_argument("--people", type=int, default=2000)
    read.add_argument("--width", type=int, default=256)
    read.add_argument("--only", nargs="*")
    read.add_argument("--repeats", type=int, default=REPEATS)
    read.add_argument("--json", type=Path)
    asked = read.parse_args()
    warnings.simplefilter("ignore")
    device = str(device_of(asked.device))
    lines = []
    for name, make in works(asked.people, asked.width).items():
        if asked.only and name not in asked.only:
            continue
        work = make()
        for where in ("cpu", device):
            work(where)
        for repeat in range(asked.repeats):
            lines += [
                {"engine": name, "device": where, "repeat": repeat, **work(where)}
                for where in ("cpu", device)
            ]
            for line in lines[-2:]:
                print(", ".join(f"{k} {v:.4g}" if isinstance(v, float) else f"{v}" for k, v in line.items()))
    if asked.json:
        asked.json.write_text(json.dumps(lines, indent=1))


if __name__ == "__main__":
    main()
