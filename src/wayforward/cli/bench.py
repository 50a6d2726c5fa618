"""The `bench` command: methods side by side on the same refused people; a table, a page, a leaderboard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wayforward.cli.console import room_for, say, steps, table, write_json, write_text
from wayforward.cli.inputs import Inputs
from wayforward.cli.recommend import choose, run, summarise
from wayforward.errors import MissingExtra, UnsupportedModel, WayforwardError

if TYPE_CHECKING:
    from wayforward.methods import Method

_SHOWN = (
    "usable",
    "usable_plausible",
    "cost_l1_range",
    "cost_l0",
    "seconds_fit",
    "people_per_second",
    "model_rows",
)
_SPREAD = ("usable", "usable_plausible", "cost_l1_range")  # told with their 95 % intervals


def compare(
    data: Sequence[str],
    model: Sequence[str],
    method: Sequence[str] | None,
    *,
    n: int,
    k: int,
    seed: int,
    json: Path | None,
    html: Path | None = None,
    own: Inputs | None = None,
) -> None:
    """Every method on every table and model; what does not fit is named and left out.

    method: names, or `file.py:Class` for methods of one's own. own: a table of one's own, beside the data sets.
    """
    from wayforward.evaluate import evaluate
    from wayforward.methods import names

    room_for(json)
    room_for(html, (".html",))
    chosen = list(method) if method else list(names())
    for name in chosen:
        method_of(name)  # a typing error ends here, before any training
    questions = [(source, Inputs(data=source)) for source in data]
    if own is not None and own.train is not None:
        questions.append((own.train.name, own))
    rows: list[dict[str, Any]] = []
    failed: Exception | None = None
    with steps("bench: runs", len(questions) * len(model) * len(chosen)) as shown:
        for source, question in questions:
            for kind in model:
                ready = replace(question, model=kind, n=n, seed=seed).ready()
                for name in chosen:
                    try:
                        got = run(ready, method_of(name), k=k, seed=seed, rounding=False)
                    except (UnsupportedModel, MissingExtra) as why:
                        say(f"left out: {name} on {source} {kind}: {why}")
                        continue
                    except WayforwardError:
                        raise
                    except Exception as why:  # one faulty method takes nobody else's numbers with it
                        say(f"failed: {name} on {source} {kind}: {type(why).__name__}: {why}")
                        failed = why
                        continue
                    finally:
                        shown(shown.done + 1)
                    judged = evaluate(got, ready.problem, metrics="headline")
                    spread = {
                        f"{metric}_{end}": getattr(judged.totals[metric], end)
                        for metric in _SPREAD
                        if metric in judged.totals
                        for end in ("low", "high")
                    }
                    summary = summarise(got, ready, judged)
                    rows.append({"data": source, "model": Path(kind).name, **summary, **spread})
    if failed is not None and not rows:
        raise failed
    write_json(rows, json)
    if html is not None:
        from wayforward.cli.bench_page import render

        write_text(html, render(rows, n=n, k=k, seed=seed))
    if str(json) != "-":
        cells = [
            (
                r["data"],
                r["model"],
                r["method"],
                r["n"],
                *(_cell(r[name], name in _SPREAD) for name in _SHOWN),
            )
            for r in rows
        ]
        table(
            f"k = {k}, seed {seed}",
            ("data", "model", "method", "n", *(name.replace("_", " ") for name in _SHOWN)),
            cells,
        )
        for file in (html, json):
            if file is not None:
                say(f"written: {file}")


def method_of(name: str) -> Method:
    """A method by its name, or of one's own as `file.py:Class`. Raises: MethodError."""
    from wayforward.tracks.submission import method_in

    file, colon, attribute = name.rpartition(":")
    return method_in(file, attribute) if colon and file.endswith(".py") else choose(name, None)


def _cell(value: Any, is_share: bool) -> Any:
    return "–" if value is None else f"{value:.1%}" if is_share else value
