"""`python -m benchmarks.proofs`: how many answers are proved, how far from the least cost the others can be, how fast.

Cells: `certified` on local-search's answers to people who were refused. Beside oceanpy (`--peer`): forests of several
sizes, the same people, one thread each; how many get a proved optimum within a time, and people a second where both
prove. Results go to benchmarks/results/proofs.json.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.cells import CACHE, PEERS, RESULTS, SEED
from benchmarks.nobody_left import problem_of

CELLS = tuple(
    f"{data}/{model}" for data in ("german", "adult", "gmsc") for model in ("lr", "mlp", "rf", "gb")
)
FORESTS = ((10, 3), (50, 7))
LIMITS = (1, 10)


def certificates(cell: str, n: int, boxes: int) -> dict[str, Any]:
    """Certify local-search's answers to n people of one cell."""
    import wayforward as wf
    from wayforward.methods.certificates import certified

    problem, people = problem_of(*cell.split("/"))
    got = wf.method("local-search").fit(problem).recommend(people[:n], seed=SEED)
    certified(got[:2], boxes=50)  # warm
    started = time.process_time()
    proofs = certified(got, boxes=boxes)
    seconds = time.process_time() - started
    gap = proofs.gap[got.found[:, 0], 0]
    return {
        "people": int(got.n),
        "found": int(got.found[:, 0].sum()),
        "none_exists": got.outcomes()["NONE_EXISTS"],
        "bounded": float(np.isfinite(gap).mean()),
        "proved": float((gap == 0).mean()),
        "within_1_percent": float((gap <= 0.01).mean()),
        "mean_gap": float(np.nanmean(gap)),
        "most_gap": float(np.nanmax(gap)),
        "ms_a_person": 1000 * seconds / max(len(gap), 1),
        "boxes": boxes,
    }


def beside_ocean(data: str, trees: int, depth: int, many: int) -> dict[str, Any]:
    """One forest: `ocean` here and oceanpy's constraint model, on the same people."""
    import wayforward as wf
    from benchmarks import environments
    from benchmarks.ours import Cell
    from benchmarks.run import run_peer

    class Sized(Cell):
        n = many

    cell, n = Sized(data, "rf"), many
    cell.pipeline[-1].set_params(n_estimators=trees, max_depth=depth)
    cell.pipeline.fit(cell.schema.decode(cell.train_x, like="pandas"), cell.train_y)
    cell.problem = wf.Problem(cell.schema, cell.pipeline, wf.Target(1), data=cell.train_x, least_change=None)
    cell.refused = cell.check[~cell.problem.reached(cell.check)[0]]
    home = CACHE / f"proofs-{data}-{trees}x{depth}"
    cell.exchange(home / "exchange")
    x = cell.people(n)
    method = wf.method("ocean").fit(cell.problem).warm()
    mine = np.array([_seconds(lambda i=i: method.recommend(x[i : i + 1])) for i in range(n)])
    crowd = cell.refused[:200]
    together = _seconds(lambda: method.recommend(crowd)) / len(crowd)
    got = method.recommend(x)
    cost = got.cost[:, 0]
    ends = np.array([outcome.name for outcome in got.outcome[:, 0]])
    ours_proved = np.isin(ends, ("FOUND", "NONE_EXISTS"))
    out: dict[str, Any] = {
        "people": n,
        "ours_proved": float(ours_proved.mean()),
        "ours_ms": 1000 * float(mine.mean()),
        "ours_ms_in_a_crowd": 1000 * together,
    }
    out |= {f"ours_within_{s}_s": float((ours_proved & (mine <= s)).mean()) for s in LIMITS}
    peer = next(p for p in PEERS if p.name == "oceanpy")
    python = environments.ensure(peer)
    if python is None:
        return out
    for limit in LIMITS:
        options = {"seconds": str(limit)}
        asked = replace(
            peer, person_seconds=3.0 * limit + 20, cell_seconds=(limit + 4.0) * n, options=options
        )
        spent = []  # of the whole process: the solver works in a thread of its own
        for people in (1, n):
            before = _children()
            ran = run_peer(python, replace(asked, n=people), home / "exchange", home / f"oceanpy-{limit}")
            spent.append(_children() - before)
        if ran is None:
            continue
        with np.load(home / f"oceanpy-{limit}.npz", allow_pickle=False) as stored:
            words, after = stored["words"].astype(str), stored["after"]
        proved = np.isin(np.resize(words, n)[:n], ("OPTIMAL", "INFEASIBLE")) & (np.arange(n) < len(words))
        out[f"ocean_within_{limit}_s"] = float(proved.mean())
        out[f"ocean_ms_{limit}"] = 1000 * (spent[1] - spent[0]) / (n - 1)
        both = proved & ours_proved & ~np.isnan(after).any(1)
        judged = cell.problem.check(x, np.where(cell.schema.differs(after, x), after, np.nan)[:, None], 1)
        there = both & judged.found[:, 0] & got.found[:, 0]
        out[f"both_{limit}"] = int(both.sum())
        out[f"cheaper_here_{limit}"] = int((cost[there] < judged.cost[there, 0] - 1e-6).sum())
        out[f"cheaper_there_{limit}"] = int((cost[there] > judged.cost[there, 0] + 1e-6).sum())
        out["versions"] = ran["versions"]
    return out


def _children() -> float:
    """Processor seconds of processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _seconds(work: Any) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def main() -> int:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(prog="proofs", description=__doc__)
    parser.add_argument("--n", type=int, default=200)
    parser.add_argument("--boxes", type=int, default=2000)
    parser.add_argument("--cells", nargs="*", default=list(CELLS))
    parser.add_argument("--peer", type=int, default=0, help="people beside oceanpy, for each forest")
    arguments = parser.parse_args()
    file = RESULTS / "proofs.json"
    kept: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {"cells": {}, "forests": {}}

    def keep(part: str, name: str, got: dict[str, Any]) -> None:
        kept[part][name] = got
        file.write_text(json.dumps(kept, indent=1) + "\n")
        print(name, json.dumps(got), flush=True)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for cell in arguments.cells:
            keep("cells", cell, certificates(cell, arguments.n, arguments.boxes))
        for data in ("german", "adult") if arguments.peer else ():
            for trees, depth in FORESTS:
                keep("forests", f"{data} {trees}x{depth}", beside_ocean(data, trees, depth, arguments.peer))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
