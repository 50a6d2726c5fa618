"""The `evaluate` command: a second opinion on saved answers, with the model as it is now."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from wayforward.cli.console import room_for, say, steps, table, write_json
from wayforward.cli.inputs import Inputs, density_of
from wayforward.errors import DataError


def judge(
    path: Path, *, changes: dict[str, Any], groups: str | None, metrics: Any, json: Path | None
) -> None:
    """Read answers, rebuild their problem (with the changes given), and measure."""
    from wayforward.evaluate import evaluate
    from wayforward.evaluate.robustness import keeps
    from wayforward.recourse import Recourse

    room_for(json)
    got = Recourse.load(path)
    given = {name: value for name, value in changes.items() if value is not None}
    stored = got.meta.get("question") or {}
    if not stored and not {"data", "train"} & set(given):
        raise DataError(
            f"'{path.name}' does not name its data and model. Give --data or --train, and --model."
        )
    if "data" in given:  # another source replaces what belonged to the old one
        stored = {
            name: v for name, v in stored.items() if name not in ("train", "label", "favourable", "schema")
        }
    if "train" in given:
        stored = {name: v for name, v in stored.items() if name != "data"}
    if given.get("robust") == ("none",):
        given["robust"] = ()
    question = replace(Inputs.from_plain(stored), **given)
    problem = question.prepare(got.schema).problem
    with steps("judging", 1) as progress:
        found = evaluate(got, problem, groups=groups, metrics=metrics, density=density_of(problem, got.x))
        progress(1)
    lasting = None if problem.robust is None else keeps(got, problem)
    numbers = found.to_dict()
    if lasting is not None and problem.robust is not None:
        numbers["robust"] = {"condition": problem.robust.describe(), "kept": lasting.to_dict()}
    write_json(numbers, json)
    if str(json) == "-":
        return
    rows = [
        (r["metric"], r["value"], f"{_short(r['low'])} to {_short(r['high'])}", r["n"], r["meaning"])
        for r in found.table()
    ]
    ends = ", ".join(
        f"{count:,} {name.lower().replace('_', ' ')}" for name, count in found.outcomes.items() if count
    )
    table(
        f"{found.method}: {found.n:,} people, {ends}", ("metric", "value", "95 % interval", "n", "over"), rows
    )
    if lasting is not None and problem.robust is not None:
        say(f"of {lasting.n:,} first options {lasting.value:.1%} are {problem.robust.describe()}")
    if groups is not None:
        wide = [
            (r["group"], r["metric"], r["value"], f"{_short(r['low'])} to {_short(r['high'])}", r["n"])
            for r in found.by_group()
        ]
        table(f"by {groups}", ("group", "metric", "value", "95 % interval", "n"), wide)
    if found.refuted:
        typer.echo(f"{found.refuted} people's stated outcome was refuted by the model.")
    for note in found.notes:
        say(f"note: {note}")


def _short(value: float) -> str:
    return f"{value:.4g}" if value == value else "–"
