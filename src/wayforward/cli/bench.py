"""The `bench` command: our methods side by side on the same refused people."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from wayforward.cli.console import say, table, write_json
from wayforward.cli.inputs import Inputs
from wayforward.cli.recommend import choose, run, summarise
from wayforward.errors import MissingExtra, UnsupportedModel

_SHOWN = (
    "usable",
    "usable_plausible",
    "cost_l1_range",
    "cost_l0",
    "seconds_fit",
    "people_per_second",
    "model_rows",
)


def compare(
    data: Sequence[str],
    model: Sequence[str],
    method: Sequence[str] | None,
    *,
    n: int,
    k: int,
    seed: int,
    json: Path | None,
) -> None:
    """Every method on every data set and model; what does not fit is named and left out."""
    from wayforward.evaluate import evaluate
    from wayforward.methods import names

    chosen = list(method) if method else list(names())
    for name in chosen:
        choose(name, None)  # a typing error ends here, before any training
    rows: list[dict[str, Any]] = []
    for source in data:
        for kind in model:
            ready = Inputs(data=source, model=kind, n=n, seed=seed).ready()
            for name in chosen:
                try:
                    got = run(ready, choose(name, None), k=k, seed=seed, rounding=False)
                except (UnsupportedModel, MissingExtra) as why:
                    if method:
                        say(f"left out: {name} on {source} {kind}: {why}")
                    continue
                summary = summarise(got, ready, evaluate(got, ready.problem, metrics="headline"))
                rows.append({"data": source, "model": kind, **summary})
    write_json(rows, json)
    if str(json) != "-":
        cells = [
            (r["data"], r["model"], r["method"], r["n"], *(_cell(r[name]) for name in _SHOWN)) for r in rows
        ]
        table(
            f"k = {k}, seed {seed}",
            ("data", "model", "method", "n", *(name.replace("_", " ") for name in _SHOWN)),
            cells,
        )


def _cell(value: Any) -> Any:
    return "–" if value is None else value
