"""`python -m benchmarks.nobody_left`: is anybody told NOT_FOUND for whom some method of the library has a way?

For each data set and model, local-search answers for everybody who is refused. Whoever it leaves is handed to the other
methods, the cheapest first, until one finds something. On a sample, its costs are held against the best known: several
settings of its own, and other methods. Finished cells are kept in benchmarks/.cache for one state of the library's
source; results go to benchmarks/results/nobody_left.json.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cells import CACHE, RESULTS, SEED, digest, source_digest

LEAD = "local-search"
DATA = ("adult", "german", "compas:benchmark", "gmsc", "default_credit", "special-codes")
MODELS = ("lr", "mlp", "rf", "gb", "xgb", "lgbm")
# Who is asked about those left over, cheapest first: method, settings, k, budget.
OTHERS: tuple[tuple[str, dict[str, Any], int, int | None], ...] = (
    ("nearest-observable", {}, 1, None),
    ("nice", {}, 1, None),
    (LEAD, {}, 3, None),
    ("wachter", {}, 1, None),
    ("growing-spheres", {}, 1, None),
    ("actionable-recourse", {}, 1, None),
    ("dice", {}, 1, None),
    ("lowprofool", {}, 1, None),
    (LEAD, {"grid": 32, "starts": 32, "beam": 8, "rounds": 3}, 1, 100_000),
    ("face", {}, 1, None),
    ("cem", {}, 1, None),
)
# What the best known cost is the best of.
BEST: tuple[tuple[str, dict[str, Any], int], ...] = (
    (LEAD, {"grid": 16}, 1),
    (LEAD, {"grid": 32}, 1),
    (LEAD, {"starts": 32}, 1),
    (LEAD, {"beam": 8}, 1),
    (LEAD, {"rounds": 3}, 1),
    (LEAD, {"grid": 32, "starts": 32, "beam": 6}, 1),
    (LEAD, {}, 3),
    ("nice", {}, 1),
    ("nearest-observable", {}, 1),
    ("wachter", {}, 1),
    ("growing-spheres", {}, 1),
    ("actionable-recourse", {}, 1),
)
DEARER = 0.01


def problem_of(data: str, model: str) -> tuple[Any, np.ndarray]:
    """A cell's problem and the people whom its model refuses: those held out first, then the others."""
    import wayforward as wf
    from wayforward.model import train

    if data == "special-codes":
        from benchmarks.special_codes import problem

        return problem(model)
    name, _, variant = data.partition(":")
    table = wf.datasets.load(name, variant=variant) if variant else wf.datasets.load(name)
    past, held = table.split(test=0.3, seed=SEED)
    fitted = train(model, table.schema, past.x, past.y, seed=SEED)
    problem = wf.Problem(table.schema, fitted, wf.Target(favourable=1), data=past.x, least_change=None)
    rng = np.random.default_rng(SEED)
    pools = [rng.permutation(part.x[~problem.reached(part.x)[0]]) for part in (held, past)]
    return problem, np.concatenate(pools)


def label_of(method: str, settings: dict[str, Any], k: int) -> str:
    """A method and its settings in a few words."""
    words = [f"{key}={value}" for key, value in settings.items()] + ([f"k={k}"] if k > 1 else [])
    return " ".join([method, *words])


def fitted_method(problem: Any, name: str, settings: dict[str, Any]) -> Any | None:
    """A fitted method, or None where it does not fit the problem or knows no such setting."""
    import wayforward as wf
    from wayforward.errors import MissingExtra, WayforwardError

    try:
        return wf.method(name, **settings).fit(problem)
    except (WayforwardError, MissingExtra, TypeError):
        return None


def left_over(problem: Any, people: np.ndarray, others: Any = OTHERS) -> dict[str, Any]:
    """local-search on everybody, the others on whom it leaves; counts, and who found what."""
    from wayforward.evaluate.judge import judge
    from wayforward.recourse import Outcome

    lead = fitted_method(problem, LEAD, {})
    lead.recommend(people[-2:], 1, seed=SEED)  # warm
    started = time.process_time()
    got = lead.recommend(people, 1, seed=SEED)
    seconds = time.process_time() - started
    usable = judge(problem, people, got.action, got.after, all_refused=True).usable[:, 0]
    outcome = got.outcome[:, 0]
    left = np.flatnonzero(outcome == Outcome.NOT_FOUND)
    found_by: Counter[str] = Counter()
    false_proofs = 0
    proved_by: Counter[str] = Counter()
    missed = 0
    for name, settings, k, budget in others:
        if not left.size:
            break
        method = fitted_method(problem, name, settings)
        if method is None:
            continue
        answer = method.recommend(people[left], k, seed=SEED, budget=budget)
        at = answer.found[:, 0]
        found_by[label_of(name, settings, k)] += int(at.sum())
        missed += int(at.sum())
        proof = answer.outcome[:, 0] == Outcome.NONE_EXISTS
        proved_by[label_of(name, settings, k)] += int(proof.sum())
        left = left[~at & ~proof]
    # a proof of local-search is held against the two cheapest methods, on a few of those proved
    proved = np.flatnonzero(outcome == Outcome.NONE_EXISTS)[:40]
    for name in ("nearest-observable", "nice") if proved.size else ():
        method = fitted_method(problem, name, {})
        if method is not None:
            false_proofs += int(method.recommend(people[proved], 1, seed=SEED).found[:, 0].sum())
    counts = Counter(end.name for end in outcome)
    not_proved = len(people) - counts["NONE_EXISTS"]
    return {
        "people": len(people),
        "outcomes": dict(counts),
        "missed": missed,
        "found by": {name: n for name, n in found_by.items() if n},
        "proved by others": {name: n for name, n in proved_by.items() if n},
        "nobody finds or proves": int(left.size),
        "found and not usable": int((got.found[:, 0] & ~usable).sum()),
        "false proofs": false_proofs,
        "usable of those not proved": float(usable.sum() / not_proved) if not_proved else 1.0,
        "usable of those for whom a way is known": float(usable.sum() / max(usable.sum() + missed, 1)),
        "seconds": seconds,
        "model rows a person": got.meta["model_rows"] / len(people),
    }


def cost_to_best(
    problem: Any, people: np.ndarray, best: Any = BEST, old: np.ndarray | None = None
) -> tuple[dict[str, Any], np.ndarray]:
    """Costs of local-search to the best known of several settings and methods; and (n,) its own, inf where none.

    old (n,): costs of another state of the library for the same people.
    """
    runs: dict[str, np.ndarray] = {}
    seconds: dict[str, float] = {}
    for name, settings, k in ((LEAD, {}, 1), *best):
        method = fitted_method(problem, name, settings)
        if method is None:
            continue
        started = time.process_time()
        runs[label_of(name, settings, k)] = method.recommend(people, k, seed=SEED).cost[:, 0]
        seconds[label_of(name, settings, k)] = time.process_time() - started
    mine = runs[LEAD]
    if old is not None and old.shape != mine.shape:
        old = None
    if old is not None:
        runs["as stored"] = old
    least = np.min(list(runs.values()), axis=0)
    both = np.isfinite(mine) & (least > 1e-12)
    over = mine[both] / least[both]
    out: dict[str, Any] = {
        "people": len(people),
        "compared": int(both.sum()),
        "mean": float(mine[both].mean()) if both.any() else None,
        "over the best": float(mine[both].mean() / least[both].mean() - 1) if both.any() else None,
        "dearer": int((over > 1 + DEARER).sum()),
        "worst": float(over.max()) if both.any() else None,
        "best is from": {
            name: int(
                ((cost[both] <= least[both] * (1 + 1e-9)) & (mine[both] > least[both] * (1 + 1e-9))).sum()
            )
            for name, cost in runs.items()
            if name != LEAD
        },
        "seconds": seconds,
    }
    if old is not None:
        pair = np.isfinite(mine) & np.isfinite(old) & (old > 1e-12)
        out["as stored"] = {
            "mean ratio": float(mine[pair].mean() / old[pair].mean()) if pair.any() else None,
            "dearer": int((mine[pair] > old[pair] * (1 + DEARER)).sum()),
            "cheaper": int((mine[pair] < old[pair] * (1 - DEARER)).sum()),
            "lost": int((np.isfinite(old) & ~np.isfinite(mine)).sum()),
            "won": int((np.isfinite(mine) & ~np.isfinite(old)).sum()),
        }
    return out, mine


def main(argv: list[str] | None = None) -> int:
    """Measure what is missing, write the results."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.nobody_left", description=__doc__)
    parser.add_argument("--data", nargs="*", default=list(DATA), choices=DATA)
    parser.add_argument("--models", nargs="*", default=list(MODELS), choices=MODELS)
    parser.add_argument("--people", type=int, help="at most so many refused people a cell; default all")
    parser.add_argument("--sample", type=int, default=200, help="people whose costs are compared; 0 for none")
    parser.add_argument("--save", type=Path, help="a folder for the costs of this state of the library")
    parser.add_argument(
        "--against", type=Path, help="a folder of such costs of another state, to compare with"
    )
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--out", type=Path, default=RESULTS / "nobody_left.json")
    arguments = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    home = CACHE / "nobody_left"
    home.mkdir(parents=True, exist_ok=True)
    cells = {}
    for data in arguments.data:
        for model in ("rf",) if data == "special-codes" else arguments.models:
            name = f"{data.replace(':', '-')}-{model}"
            file = home / f"{name}.json"
            key = digest(
                source_digest(), Path(__file__), arguments.people, arguments.sample, str(arguments.against)
            )
            cell = json.loads(file.read_text()) if file.exists() and not arguments.fresh else {}
            if cell.get("key") != key:
                cell = {
                    "key": key,
                    "source": source_digest(),
                    "data": data,
                    "model": model,
                    "when": time.strftime("%Y-%m-%d"),
                }
                problem, people = problem_of(data, model)
                cell["refused"] = len(people)
                cell |= left_over(problem, people[: arguments.people])
                if arguments.sample:
                    stored = None if arguments.against is None else arguments.against / f"{name}.npy"
                    old = np.load(stored) if stored is not None and stored.exists() else None
                    cell["cost"], mine = cost_to_best(problem, people[: arguments.sample], old=old)
                    if arguments.save is not None:
                        arguments.save.mkdir(parents=True, exist_ok=True)
                        np.save(arguments.save / f"{name}.npy", mine)
                file.write_text(json.dumps(cell, indent=1) + "\n")
            cells[name] = cell
            print(_line(name, cell), flush=True)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    known = (
        json.loads(arguments.out.read_text()) if arguments.out.exists() else {}
    )  # other cells keep their state
    arguments.out.write_text(json.dumps(known | cells, indent=1) + "\n")
    return 0


def _line(name: str, cell: dict[str, Any]) -> str:
    cost, ends = cell.get("cost") or {}, cell["outcomes"]
    over = cost.get("over the best")
    return (
        f"{name:26s} people {cell['people']:6d}  not found {ends.get('NOT_FOUND', 0):5d}  missed {cell['missed']:4d}"
        f"  proved {ends.get('NONE_EXISTS', 0):5d}  usable {cell['usable of those not proved']:.4f}"
        f"  {1000 * cell['seconds'] / cell['people']:7.2f} ms"
        + ("" if over is None else f"  over best {over:.3%}, {cost['dearer']} of {cost['compared']} dearer")
        + (f"  found by {cell['found by']}" if cell["found by"] else "")
    )


if __name__ == "__main__":
    raise SystemExit(main())
