"""How many options hold a change that can be left out, method by method, before and after the shared last step.

`python -m benchmarks.padded [--people 40] [--methods face dice] [--json FILE]` asks every method for three options for
refused people of german (forest and logistic regression) and adult (boosting), as it was published (`minimal=False`)
and as the library answers. Padded: the judge says yes without one of the changes, and that is no dearer.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

CELLS = (("german", "rf"), ("german", "lr"), ("adult", "gb"))
_COLUMNS = (
    "data",
    "model",
    "method",
    "options",
    "padded",
    "options_after",
    "padded_after",
    "cost",
    "cost_after",
)


def padded(problem: Any, got: Any) -> int:
    """How many of the options of an answer are shorter once nothing spare is left."""
    from wayforward.problem import minimal_actions

    short = minimal_actions(problem.population(got.x, got.preferences), got.action)
    fewer = (np.isnan(short) & ~np.isnan(got.action)).any(2)
    return int((fewer & got.found).sum())


def cell(data: str, model: str, names: list[str], n: int) -> list[dict[str, Any]]:
    """Measure methods on one data set and classifier; a method that cannot use it has no line."""
    import wayforward as wf
    from wayforward.errors import WayforwardError
    from wayforward.model import train

    table = wf.datasets.load(data, variant="recommended")
    past, held = table.split(test=0.3, seed=0)
    pipeline = train(model, table.schema, past.x, past.y, seed=0)
    problem = wf.Problem(table.schema, pipeline, wf.Target(favourable=1), data=past.x, least_change=None)
    people = held.x[~problem.reached(held.x)[0]][:n]
    rows = []
    for name in names:
        started = time.perf_counter()
        try:
            method = wf.method(name).fit(problem)
            raw, got = (method.recommend(people, 3, minimal=minimal) for minimal in (False, True))
        except WayforwardError as error:
            print(f"{data} {model} {name}: {str(error).split('. ')[0]}", flush=True)
            continue
        both = raw.found[:, 0] & got.found[:, 0]
        row = {
            "data": data, "model": model, "method": name,
            "options": int(raw.found.sum()), "padded": padded(problem, raw) / max(raw.found.sum(), 1),
            "options_after": int(got.found.sum()), "padded_after": padded(problem, got) / max(got.found.sum(), 1),
            "cost": float(np.median(raw.cost[both, 0])) if both.any() else None,
            "cost_after": float(np.median(got.cost[both, 0])) if both.any() else None,
            "seconds": time.perf_counter() - started,
        }  # fmt: skip
        rows.append(row)
        print(" ".join(str(_short(row[column])) for column in _COLUMNS), flush=True)
    return rows


def _short(value: Any) -> Any:
    return round(value, 3) if isinstance(value, float) else value


def main() -> None:
    """Run the cells that were asked for."""
    from wayforward.methods import names

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=40)
    parser.add_argument("--methods", nargs="*", default=list(names()))
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    print(*_COLUMNS)
    rows = [row for data, model in CELLS for row in cell(data, model, asked.methods, asked.people)]
    if asked.json:
        asked.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
