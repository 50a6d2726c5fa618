"""How many options hold a change that can be left out, method by method, before and after the shared last step.

`python -m benchmarks.padded [--people 40] [--methods face dice] [--cells german-mlp] [--json FILE]` asks every method
for three options for refused people of german (forest, logistic regression) and adult (boosting): as it was published
(`minimal=False`), as the library answers, and with `minimal=True`. Padded: the judge says yes without one of the
changes, and that is no dearer. It is counted change by change with `Problem.check`, not with what leaves changes out.
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
WAYS = ("", "_after", "_minimal")  # as published, by default, without anything spare
_COLUMNS = (
    "data",
    "model",
    "method",
    *(f"{name}{way}" for name in ("options", "padded", "cost") for way in WAYS),
)
_SAME = 1e-9


def padded(problem: Any, got: Any) -> int:
    """How many of the options of an answer hold a change that can be left out alone, and nothing gets dearer."""
    who, slot = np.nonzero(got.found)
    option, act = np.nonzero(~np.isnan(got.action[who, slot]))
    many = (~np.isnan(got.action[who, slot])).sum(1)
    option, act = option[many[option] > 1], act[many[option] > 1]
    if not option.size:
        return 0
    less = got.action[who[option], slot[option]]
    less[np.arange(len(less)), act] = np.nan
    wishes = None if got.preferences is None else got.preferences.take(who[option])
    again = problem.check(got.x[who[option]], less[:, None], preferences=wishes, prove=False)
    fewer = again.found[:, 0] & (again.cost[:, 0] <= got.cost[who[option], slot[option]] + _SAME)
    return len(np.unique(option[fewer]))


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
            raw, short = (method.recommend(people, 3, minimal=minimal) for minimal in (False, True))
            plain = short if method._judge_shortens else method.recommend(people, 3)
        except WayforwardError as error:
            print(f"{data} {model} {name}: {str(error).split('. ')[0]}", flush=True)
            continue
        answers = dict(zip(WAYS, (raw, plain, short), strict=True))
        found = raw.found[:, 0] & plain.found[:, 0] & short.found[:, 0]
        row: dict[str, Any] = {"data": data, "model": model, "method": name, "people": len(people)}
        for way, got in answers.items():
            row[f"options{way}"] = int(got.found.sum())
            row[f"padded{way}"] = padded(problem, got) / max(got.found.sum(), 1)
            row[f"cost{way}"] = float(np.median(got.cost[found, 0])) if found.any() else None
        row["seconds"] = time.perf_counter() - started
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
    parser.add_argument("--cells", nargs="*", default=[f"{data}-{model}" for data, model in CELLS])
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    print(*_COLUMNS)
    rows = []
    for name in asked.cells:
        data, _, model = name.rpartition("-")
        rows += cell(data, model, asked.methods, asked.people)
    if asked.json:
        asked.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
