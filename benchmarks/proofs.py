"""`python -m benchmarks.proofs`: how many answers are proved, how far from the least cost the others can be, how fast.

Cells: `certified` on local-search's answers to people who were refused. Beside oceanpy (`--peer`): forests of several
sizes, the same people, one thread each; how many get a proved optimum within a time, and how many times as fast where
both prove. Results go to benchmarks/results/proofs.json.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.cells import CACHE, PEERS, RESULTS, SEED, WARM
from benchmarks.nobody_left import problem_of

CELLS = tuple(
    f"{data}/{model}" for data in ("german", "adult", "gmsc") for model in ("lr", "mlp", "rf", "gb")
)
FORESTS = ((10, 3), (20, 5), (50, 7), (100, 8))
TABLES = ("german", "adult", "compas", "gmsc")
LIMITS = (1, 10, 60)
CELL = 240.0  # wall seconds after which oceanpy is given no further person of a forest


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


def beside_ocean(data: str, trees: int, depth: int, many: int, isolation: int = 0) -> dict[str, Any]:
    """One forest: `ocean` here and oceanpy's constraint model, on the same people, in processor seconds.

    isolation: trees of an isolation forest besides, each library's own. The solver's own clock is that of the wall: it
    has twice the longest limit, for a busy machine.
    """
    import wayforward as wf
    from benchmarks import environments
    from benchmarks.ours import Cell
    from benchmarks.run import run_peer

    class Sized(Cell):
        n = many

    cell = Sized(data, "rf")
    cell.pipeline[-1].set_params(n_estimators=trees, max_depth=depth)
    cell.pipeline.fit(cell.schema.decode(cell.train_x, like="pandas"), cell.train_y)
    plausible = {"plausibility": wf.problem.IsolationForest(trees=isolation)} if isolation else {}
    cell.problem = wf.Problem(
        cell.schema, cell.pipeline, wf.Target(1), data=cell.train_x, least_change=None, **plausible
    )
    pools = (part[~cell.problem.reached(part)[0]] for part in (cell.check, cell.train_x))
    cell.refused = np.concatenate(list(pools))[: 200 + WARM]
    home = CACHE / f"proofs-{data}-{trees}x{depth}-{isolation}"
    cell.exchange(home / "exchange")
    x = cell.people(many)
    method = wf.method("ocean").fit(cell.problem).warm()
    mine = np.array([_seconds(lambda i=i: method.recommend(x[i : i + 1])) for i in range(many)])
    together = _seconds(lambda: method.recommend(cell.refused)) / len(cell.refused)
    got = method.recommend(x)
    cost = got.cost[:, 0]
    proved = np.isin([outcome.name for outcome in got.outcome[:, 0]], ("FOUND", "NONE_EXISTS"))
    out: dict[str, Any] = {
        "people": many, "isolation": isolation, "ours_proved": float(proved.mean()),
        "none": int((~got.found[:, 0]).sum()), "ours_ms": 1000 * float(mine.mean()),
        "ours_ms_in_a_crowd": 1000 * together,
    }  # fmt: skip
    out |= {f"ours_within_{s}_s": float((proved & (mine <= s)).mean()) for s in LIMITS}
    peer = next(p for p in PEERS if p.name == "oceanpy")
    python = environments.ensure(peer)
    if python is None:
        return out
    longest = LIMITS[-1]
    options = {"seconds": str(2 * longest), "clock": "1"} | (
        {"isolation": str(isolation)} if isolation else {}
    )
    asked = replace(peer, n=many, person_seconds=longest + 20.0, cell_seconds=CELL, options=options)
    ran = run_peer(python, asked, home / "exchange", home / "oceanpy")
    if ran is None:
        return out
    with np.load(home / "oceanpy.npz", allow_pickle=False) as stored:
        words, after = [word.split() for word in stored["words"].astype(str)], stored["after"]
    done = min(len(words), len(after))
    ended = np.array([word[0] in ("OPTIMAL", "INFEASIBLE") for word in words[:done]], dtype=bool)
    spent = np.array([float(word[-1]) for word in words[:done]])
    out |= {"ocean_people": done, "failures": ran["failures"], "versions": ran["versions"]}
    out |= {f"ocean_within_{s}_s": float((ended & (spent <= s)).mean()) for s in LIMITS}
    both = ended & proved[:done]
    out["ocean_seconds"] = spent.tolist()
    if both.any():
        out["ocean_ms"] = 1000 * float(spent[both].mean())
        out["times_alone"] = float(spent[both].mean() / mine[:done][both].mean())
        out["times_in_a_crowd"] = float(spent[both].mean() / together)
    action = np.where(cell.schema.differs(after[:done], x[:done]), after[:done], np.nan)
    judged = cell.problem.check(x[:done], action[:, None], 1)
    there = both & judged.found[:, 0] & got.found[:done, 0]
    out["both"], out["both_with_a_plan"] = int(both.sum()), int(there.sum())
    out["cheaper_here"] = int((cost[:done][there] < judged.cost[there, 0] - 1e-6).sum())
    out["cheaper_there"] = int((cost[:done][there] > judged.cost[there, 0] + 1e-6).sum())
    return out


def by_solver(data: str, many: int) -> dict[str, Any]:
    """`mace` on people whom a forest of 10 trees of depth 5 refuses: the forests of the times that were published."""
    import wayforward as wf
    from wayforward.model import train

    name, _, variant = data.partition(":")
    table = wf.datasets.load(name, variant=variant) if variant else wf.datasets.load(name)
    past, held = table.split(test=0.3, seed=SEED)
    pipeline = train("rf", table.schema, past.x, past.y, seed=SEED)
    pipeline[-1].set_params(n_estimators=10, max_depth=5)
    pipeline.fit(table.schema.decode(past.x, like="pandas"), past.is_favourable.astype(int))
    problem = wf.Problem(table.schema, pipeline, wf.Target(1), data=past.x, least_change=None)
    x = np.concatenate([part[~problem.reached(part)[0]] for part in (held.x, past.x)])[: many + 1]
    out: dict[str, Any] = {"people": many}
    for name, settings in (("mace", {}), ("mace from nothing", {"incumbent": False}), ("ocean", {})):
        method = wf.method(name.split()[0], **settings).fit(problem)
        method.recommend(x[:1])
        started = time.process_time()
        got = method.recommend(x[1:])
        spent = (time.process_time() - started) / many
        ends = got.outcomes()
        out[name] = {"seconds": spent, "found": ends["FOUND"], "none_exists": ends["NONE_EXISTS"],
                     "mean_cost": float(got.cost[got.found[:, 0], 0].mean())}  # fmt: skip
    return out


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
    parser.add_argument("--tables", nargs="*", default=list(TABLES), help="of the forests beside oceanpy")
    parser.add_argument(
        "--forests", nargs="*", default=[f"{t}x{d}" for t, d in FORESTS], help="of these, such as 10x3"
    )
    parser.add_argument("--mace", nargs="*", default=[], help="tables whose small forests mace is timed on")
    parser.add_argument("--isolation", type=int, default=0, help="trees of an isolation forest besides")
    arguments = parser.parse_args()
    file = RESULTS / "proofs.json"

    def keep(part: str, name: str, got: dict[str, Any]) -> None:
        kept: dict[str, Any] = (
            json.loads(file.read_text()) if file.exists() else {}
        )  # others write to it, too
        kept.setdefault(part, {})[name] = got
        file.write_text(json.dumps(kept, indent=1) + "\n")
        print(name, json.dumps(got), flush=True)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for cell in arguments.cells:
            keep("cells", cell, certificates(cell, arguments.n, arguments.boxes))
        for data in arguments.mace:
            keep("mace", data, by_solver(data, 10))
        for data in arguments.tables if arguments.peer else ():
            for trees, depth in (map(int, size.split("x")) for size in arguments.forests):
                name, isolation = f"{data} {trees}x{depth}", arguments.isolation
                name += f" {isolation} isolation trees" if isolation else ""
                keep("forests", name, beside_ocean(data, trees, depth, arguments.peer, isolation))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
