"""How long options of each kind last when the model is trained again, and what that costs.

For each data set and model: options of every kind for refused people that the model has not learnt from; the share of
models trained again, on resamples that no search has seen, that still say yes; the price beside the cheapest option.

``python -m benchmarks.lasting`` writes ``results/lasting.json``; ``--cells german:gb adult:mlp`` does some cells anew.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

import wayforward as wf
from wayforward.evaluate import stats
from wayforward.impact.audit.robustness import both_ways
from wayforward.model import train
from wayforward.recourse import KINDS, Recourse

CELLS = tuple(f"{data}:{model}" for data in ("german", "gmsc", "adult") for model in ("gb", "mlp"))
RESULTS = Path(__file__).parent / "results" / "lasting.json"


def measure(data: str, model: str, n: int, seed: int = 0) -> dict[str, Any]:
    """One cell: n refused people of a data set, one model, all kinds; plain values."""
    past, new = wf.datasets.load(data).split(test=0.3, seed=seed)
    labels, schema = past.is_favourable.astype(int), past.schema
    made = train(model, schema, past.frame, labels, seed=seed)
    problem = wf.Problem(
        schema, made, wf.Target(favourable=1), data=past.frame,
        retraining=wf.Retraining(labels, fit=lambda x, y, at: train(model, schema, x, y, seed=at)),
    )  # fmt: skip
    assert problem.retraining is not None
    x = schema.encode(new.frame)
    x = x[~problem.reached(x)[0]]
    x = x[np.random.default_rng(seed).permutation(len(x))[:n]]
    started = time.process_time()
    problem.retraining.condition(problem)
    problem.retraining.votes(problem, x[:1])
    trained = time.process_time() - started
    started = time.process_time()
    wf.recommend(problem, x)
    plain = time.process_time() - started
    started = time.process_time()
    got = wf.recommend(problem, x, kinds=KINDS)
    return {
        "n": len(x), "seconds_train": trained, "seconds_plain": plain,
        "seconds_kinds": time.process_time() - started, "retraining": got.meta["retraining"],
        "kinds": {kind: of_kind(problem, got, kind) for kind in KINDS},
    }  # fmt: skip


def of_kind(problem: wf.Problem, got: Recourse, kind: str) -> dict[str, Any]:
    """Survival, price and changes of the options of one kind; plain values."""
    assert problem.retraining is not None
    who, slot = np.nonzero(got.is_kind(kind))
    votes = problem.retraining.votes(problem, got.after[who, slot])
    cheapest = got.cost[who, 0]
    return {
        "found": stats.rate(got.is_kind(kind).any(1)).to_dict(),
        "survive": both_ways(votes).to_dict(),
        "survive_all": float(votes.all(0).mean()),
        "cost": float(got.cost[who, slot].mean()),
        "times": float(got.cost[who, slot].sum() / cheapest.sum()),
        "median_times": float(np.median(got.cost[who, slot] / cheapest)),
        "changes": float(got.acted[who, slot].sum(1).mean()),
        "also_cheapest": float((slot == 0).mean()),
    }


def table(results: dict[str, Any]) -> str:
    """The cells as a table of the documentation."""
    lines = [
        "| | " + " | ".join(KINDS) + " | price of `lasting` | has one |",
        "| --- |" + " --- |" * (len(KINDS) + 2),
    ]
    for cell, got in results.items():
        kinds = got["kinds"]
        shares = ["{value:.2f} ({low:.2f} to {high:.2f})".format(**kinds[kind]["survive"]) for kind in KINDS]
        price = f"{kinds['lasting']['times']:.1f} times (median {kinds['lasting']['median_times']:.1f})"
        has = kinds["lasting"]["found"]["value"] / max(kinds["cheapest"]["found"]["value"], 1e-9)
        lines.append(f"| {cell.replace(':', ' ')} | {' | '.join(shares)} | {price} | {has:.2f} |")
    return "\n".join(lines)


def main() -> None:
    """Measure cells, write them to the file of results, and print the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--cells", nargs="*", default=list(CELLS))
    options.add_argument("--n", type=int, default=60)
    given = options.parse_args()
    results: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.is_file() else {}
    for cell in given.cells:
        results[cell] = measure(*cell.split(":"), given.n)
        ordered = {name: results[name] for name in CELLS if name in results}
        RESULTS.write_text(json.dumps(ordered, indent=1) + "\n")
        print(table({cell: results[cell]}).splitlines()[-1], flush=True)
    print(table({name: results[name] for name in CELLS if name in results}))


if __name__ == "__main__":
    main()
