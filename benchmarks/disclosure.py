"""What answers give away, before and after each defence: three data sets, three models, five methods.

``python -m benchmarks.disclosure`` measures the cells that have no file in ``results/disclosure`` yet, one file a cell,
so that whoever stops it goes on with the same command; ``--cells gmsc-lr-face`` chooses some, ``--anew`` measures them
again. ``--render`` writes the page and its figures from the files that are there.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import wayforward as wf
from benchmarks.cells import RESULTS, ROOT, digest
from wayforward.evaluate.stats import Estimate
from wayforward.impact.disclosure.attack import DEFENCES, Attack, Exposure
from wayforward.impact.disclosure.charts import best_copies
from wayforward.impact.disclosure.extraction import Fidelity
from wayforward.model import train
from wayforward.plain_files import read_json, write_text

FOLDER = RESULTS / "disclosure"
PAGE = ROOT / "docs" / "guide" / "disclosure-measured.md"
FIGURES = ROOT / "docs" / "_static"
DATA = ("gmsc", "adult", "german")
MODELS = ("lr", "mlp", "rf")
METHODS = ("local-search", "nearest-observable", "nice", "face", "growing-spheres")
CELLS = tuple(f"{data}-{model}-{method}" for data in DATA for model in MODELS for method in METHODS)
# Half of the people train the model; half of the others ask, of whom so many are answered, and the rest test copies.
SETTINGS: dict[str, Any] = {"people": 6000, "most": 100, "queries": [20, 50, 100], "seeds": 2, "seed": 0}
# Where nothing but the table told a bound: round numbers that anybody could name without having seen it.
BOUNDS: dict[str, dict[str, tuple[float, float]]] = {
    "gmsc": {
        "RevolvingUtilizationOfUnsecuredLines": (0, 10), "age": (18, 110), "DebtRatio": (0, 10),
        "MonthlyIncome": (0, 100_000), "NumberOfOpenCreditLinesAndLoans": (0, 60),
        "NumberRealEstateLoansOrLines": (0, 60), "NumberOfTime30_59DaysPastDueNotWorse": (0, 20),
        "NumberOfTime60_89DaysPastDueNotWorse": (0, 20), "NumberOfTimes90DaysLate": (0, 20),
        "NumberOfDependents": (0, 20),
    },
    "adult": {"age": (17, 100), "capital_loss": (0, 5000)},
    "german": {"duration_months": (1, 120), "credit_amount": (100, 20_000), "age": (18, 100)},
}  # fmt: skip


def measure(cell: str, only: Sequence[str] = tuple(DEFENCES)) -> dict[str, Any]:
    """One cell: what a service with this model and method gives away, plain and with each defence; plain values."""
    name, model, method = cell.split("-", 2)
    data = wf.datasets.load(name)
    rng = np.random.default_rng(SETTINGS["seed"])
    some = data.take(np.sort(rng.permutation(data.n)[: SETTINGS["people"]]))
    past, new = some.split(test=0.5, seed=SETTINGS["seed"])
    fitted = train(model, past.schema, past.x, past.y, seed=SETTINGS["seed"])
    problem = wf.Problem(past.schema, fitted, wf.Target(favourable=1), data=past.x)
    starts = wf.method(method).needs_data  # made-up people matter to what starts from people
    defences = {
        title: replace(one, bounds=BOUNDS[name]) if one.epsilon else one
        for title, one in DEFENCES.items()
        if title in only and (starts or not one.epsilon)
    }
    asked = {key: SETTINGS[key] for key in ("most", "queries", "seeds", "seed")}
    got = wf.attack(problem, method, new.x, defences=defences, **asked)
    return {"settings": of_settings(), **summary(got)}


def of_settings() -> str:
    """A short name for all that a result hangs on beside the code."""
    return digest(SETTINGS, BOUNDS, {name: one.describe() for name, one in DEFENCES.items()})


def summary(got: Attack) -> dict[str, Any]:
    """What the page tells of an attack."""
    return {
        "people": got.people, "refused": got.refused, "members": got.members, "accepts": round(got.accepts, 4),
        "exposures": [_exposure(one) for one in got.exposures],
    }  # fmt: skip


def _exposure(one: Exposure) -> dict[str, Any]:
    curves: dict[str, Any] = {}
    for title, attacks in (("decisions", ("labels",)), ("both", ("both",)), ("options", _FROM_OPTIONS)):
        some = replace(one, extraction=tuple(f for f in one.extraction if f.attack in attacks))
        curves[title] = [
            [f.queries, *_short(f.balanced), f.attack, f.family] for f in _best(some, title == "decisions")
        ]
    return {
        "name": one.name, "queries": one.queries, "usable": _short(one.usable), "cost": _short(one.cost),
        "dearer": _short(one.dearer), "copies": curves,
        "membership": {m.score: [*_short(m.auc), *_short(m.found)] for m in one.membership},
        "attributes": {a.name: [*_short(a.with_plan), *_short(a.without)] for a in one.attributes},
        "reconstruction": {
            key: [*_short(getattr(one.reconstruction, key)[0]), *_short(getattr(one.reconstruction, key)[1])]
            for key in ("values", "rare", "options", "rows")
        },
    }  # fmt: skip


_FROM_OPTIONS = ("options", "boundary", "balls", "plane")


def _best(one: Exposure, decisions: bool) -> list[Fidelity]:
    """The best copy of each size."""
    if not decisions:
        return best_copies(one)
    sizes = sorted({f.queries for f in one.extraction})
    return [max((f for f in one.extraction if f.queries == m), key=lambda f: f.balanced.value) for m in sizes]


def _short(e: Estimate) -> list[float | None]:
    return [round(v, 4) if np.isfinite(v) else None for v in (e.value, e.low, e.high)]


def file_of(cell: str) -> Path:
    """Where a cell's result is."""
    return FOLDER / f"{cell}.json"


def again(cell: str, only: Sequence[str]) -> dict[str, Any]:
    """A cell with some defences measured anew, the others as they were; raises where it is another without any."""
    old, new = read_json(file_of(cell)), measure(cell, only)
    fresh = {one["name"]: one for one in new["exposures"]}
    for one in old["exposures"]:
        if one["name"] not in only and one["name"] in fresh and one != fresh[one["name"]]:
            raise SystemExit(
                f"{cell}: '{one['name']}' is not what it was. Measure the whole cell with --anew."
            )
    return {**old, "exposures": [fresh.get(one["name"], one) for one in old["exposures"]]}


def found() -> dict[str, dict[str, Any]]:
    """The cells that were measured with the settings as they are, in their order."""
    kept = {cell: read_json(file_of(cell)) for cell in CELLS if file_of(cell).is_file()}
    return {cell: one for cell, one in kept.items() if one["settings"] == of_settings()}


def main() -> None:
    """Measure what is missing, or write the page."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--cells", nargs="*", default=list(CELLS), choices=CELLS, metavar="CELL")
    options.add_argument("--anew", action="store_true", help="measure cells again that have a result")
    options.add_argument(
        "--defences", nargs="*", default=[], choices=tuple(DEFENCES), help="only these, again"
    )
    options.add_argument(
        "--render", action="store_true", help="write the page and its figures, measure nothing"
    )
    given = options.parse_args()
    if given.render:
        from benchmarks.disclosure_page import write

        write(found())
        return
    FOLDER.mkdir(exist_ok=True)
    done = set() if given.anew or given.defences else set(found())
    for cell in given.cells:
        if cell in done:
            continue
        started = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of methods that copy people, which is what is measured
            got = again(cell, given.defences) if given.defences else measure(cell)
        write_text(file_of(cell), json.dumps(got) + "\n")
        print(f"{cell}: {time.process_time() - started:.0f} s, refused {got['refused']}", flush=True)


if __name__ == "__main__":
    main()
