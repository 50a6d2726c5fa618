"""`python -m benchmarks.generators`: every base generator on adult, compas and gmsc.

Writes docs/generators.md and benchmarks/results/generators.json. The people a second of public implementations are
those of the project's notes, measured once on a machine of this kind; ours are measured here, one thread, without the
fit.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.ours import peak_megabytes

SETS = ("adult", "compas", "gmsc")
ACTS = ("benchmark", "hare", "recommended")
# Seconds a person of public implementations (least, greatest) and their usable share; None: not measured.
PUBLIC: dict[str, tuple[float, float] | None] = {
    "wachter": (0.015, 0.022),
    "dice": None,
    "lowprofool": None,
    "cem": None,
    "guided-prototypes": None,
    "revise": (0.7, 1.9),
    "c-chvae": (0.005, 0.018),
    "cruds": (1.0, 1.9),
    "clue": (0.3, 0.5),
    "face": (0.04, 0.42),
    "growing-spheres": (0.007, 0.011),
}


def measure(data: str, acts: str, names: list[str], n: int) -> list[dict[str, Any]]:
    """One data set and actionability set: a row for each generator."""
    import wayforward as wf
    from wayforward.methods import method
    from wayforward.model import train
    from wayforward.recourse import Outcome

    table = wf.datasets.load(data, variant=acts)
    past, held = table.split(test=0.3, seed=0)
    model = train("mlp", table.schema, past.x, past.is_favourable.astype(int), seed=0)
    problem = wf.Problem(table.schema, model, wf.Target(favourable=1), data=past.x, least_change=None)
    refused = held.x[~problem.reached(held.x)[0]]
    people = np.random.default_rng(0).permutation(refused)[:n]
    answers, rows = {}, []
    for name in ["local-search", *names]:
        chosen = method(name).fit(problem)
        chosen.recommend(people[-16:], 1, seed=1)
        peak_megabytes(reset=True)
        started = time.perf_counter()
        got = chosen.recommend(people, 1, seed=0)
        answers[name] = got, time.perf_counter() - started, chosen.seconds_fit_, peak_megabytes()
    found = np.stack([answer[0].found[:, 0] for answer in answers.values()])
    exists = found.any(0)  # somebody found one: a lower bound of who has one
    proved = (answers["local-search"][0].outcome[:, 0] == Outcome.NONE_EXISTS).mean()
    best = answers["local-search"][0].cost[:, 0]
    for name in names:
        got, seconds, fit, peak = answers[name]
        both = got.found[:, 0] & np.isfinite(best)
        judged, public = wf.evaluate(got, problem, metrics="headline"), PUBLIC[name]
        rows.append(
            {
                "data": data,
                "acts": acts,
                "method": name,
                "people": len(people),
                "usable": float(judged.usable),
                "usable where one exists": float(got.found[exists, 0].mean()) if exists.any() else np.nan,
                "proved none": float(proved),
                "cost to local-search": float((got.cost[both, 0] / best[both]).mean())
                if both.any()
                else np.nan,
                "people a second": len(people) / seconds,
                "times public": public and [len(people) / seconds * t for t in public],
                "fit seconds": fit,
                "peak MB": peak,
            }
        )
    return rows


def page(rows: list[dict[str, Any]], made: dict[str, Any]) -> str:
    """The measured table."""
    out = [
        "# Base generators",
        "",
        "Every generator that the field compares with, on the same people: those whom an mlp refuses. *usable where "
        "one exists*: of those for whom any method found a checked option (flips the real model on the exact row, "
        "legal, within rules and what the person may change), the share for whom this one did. *cost*: to the options "
        "of `local-search`, both found. *people a second*: one thread, after the fit. *times public*: against what "
        "public implementations took a person on a machine of this kind (not measured again here).",
        "",
        f"Measured {made['when']} by `python -m benchmarks.generators` on {made['machine']}, "
        f"{made['n']} people a line.",
    ]
    for data in dict.fromkeys(row["data"] for row in rows):
        for acts in dict.fromkeys(row["acts"] for row in rows if row["data"] == data):
            some = [row for row in rows if row["data"] == data and row["acts"] == acts]
            out += [
                "",
                f"## {data}, {acts} ({some[0]['people']} people, {some[0]['proved none']:.1%} proved to have none)",
                "",
            ]
            if np.isnan(some[0]["usable where one exists"]):
                out.append("Nobody has a usable option, so there is nothing to compare.")
                continue
            out += [
                "| method | usable | usable where one exists | cost | people a second | times public | fit, s |",
                "| --- | --- | --- | --- | --- | --- | --- |",
            ]
            for row in some:
                times = row["times public"]
                out.append(
                    f"| `{row['method']}` | {row['usable']:.3f} | {row['usable where one exists']:.3f} | "
                    f"{row['cost to local-search']:.2f} | {row['people a second']:,.0f} | "
                    f"{'' if times is None else f'{times[0]:,.0f} to {times[1]:,.0f}'} | {row['fit seconds']:.1f} |"
                )
    return "\n".join(out) + "\n"


def main(argv: list[str] | None = None) -> int:
    """Measure and write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.generators", description=__doc__)
    parser.add_argument("--data", action="append", choices=SETS)
    parser.add_argument("--acts", action="append", choices=ACTS)
    parser.add_argument("--method", action="append", choices=sorted(PUBLIC))
    parser.add_argument("--n", type=int, default=500)
    parser.add_argument("--out", type=Path, default=Path("docs/generators.md"))
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/generators.json"))
    arguments = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    rows = []
    for data in arguments.data or SETS:
        for acts in arguments.acts or ACTS:
            rows += measure(data, acts, arguments.method or list(PUBLIC), arguments.n)
            for row in rows[-len(arguments.method or PUBLIC) :]:
                print(json.dumps({k: row[k] for k in list(row)[:9]}), flush=True)
    from wayforward.methods.base import versions

    made = {
        "when": time.strftime("%Y-%m-%d"),
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
        "n": arguments.n,
        "versions": versions(),
    }
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    arguments.json.write_text(
        json.dumps({"provenance": made, "rows": rows}, indent=1) + "\n", encoding="utf-8"
    )
    arguments.out.write_text(page(rows, made), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
