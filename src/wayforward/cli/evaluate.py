"""The `evaluate` command: a second opinion on saved answers, with the model as it is now."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from wayforward.cli.console import room_for, say, steps, table, tell, write_json
from wayforward.cli.inputs import Inputs, density_of
from wayforward.errors import DataError


def judge(
    path: Path,
    *,
    changes: dict[str, Any],
    groups: str | None,
    metrics: Any,
    json: Path | None,
    workers: int = 1,
) -> None:
    """Read answers, rebuild their problem (with the changes given), and measure."""
    from wayforward.evaluate import evaluate
    from wayforward.evaluate.robustness import keeps
    from wayforward.recourse import Recourse

    room_for(json)
    given = {name: value for name, value in changes.items() if value is not None}
    if path.is_dir():
        _judge_folder(path, given, groups=groups, metrics=metrics, json=json, workers=workers)
        return
    got = Recourse.load(path)
    stored = got.meta.get("question") or {}
    problem = question_of(path, stored, given).prepare(got.schema).problem
    with steps("judging", 1) as progress:
        found = evaluate(
            got, problem, groups=groups, metrics=metrics, density=density_of(problem, got.x[got.readable])
        )
        progress(1)
    lasting = None if problem.robust is None else keeps(got, problem)
    numbers = found.to_dict()
    if lasting is not None and problem.robust is not None:
        numbers["robust"] = {"condition": problem.robust.describe(), "kept": lasting.to_dict()}
    write_json(numbers, json)
    if str(json) == "-":
        return
    rows = [(r["metric"], *_spread(r), r["n"], r["meaning"]) for r in found.table()]
    ends = ", ".join(
        f"{count:,} {name.lower().replace('_', ' ')}" for name, count in found.outcomes.items() if count
    )
    table(
        f"{found.method}: {found.n:,} people, {ends}", ("metric", "value", "95 % interval", "n", "over"), rows
    )
    if lasting is not None and problem.robust is not None:
        say(f"of {lasting.n:,} first options {lasting.value:.1%} are {problem.robust.describe()}")
    if groups is not None:
        wide = [(r["group"], r["metric"], *_spread(r), r["n"]) for r in found.by_group()]
        table(f"by {groups}", ("group", "metric", "value", "95 % interval", "n"), wide)
    if found.refuted:
        tell(f"{found.refuted} people's stated outcome was refuted by the model.")
    for note in found.notes:
        say(f"note: {note}")


def question_of(path: Path, stored: dict[str, Any], given: dict[str, Any]) -> Inputs:
    """Return what the answers were about, with the changes given. Raises: DataError where nobody says."""
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
    return replace(Inputs.from_plain(stored), **given)


def _judge_folder(
    path: Path, given: dict[str, Any], *, groups: str | None, metrics: Any, json: Path | None, workers: int
) -> None:
    """Judge the shards of a folder, one at a time for each worker."""
    from wayforward.scale import Answers, evaluate_table

    answers = Answers.open(path)
    problem = question_of(path, answers.manifest.get("note") or {}, given).prepare(answers.schema).problem
    with steps("judging: shards", len(answers.entries())) as progress:
        found = evaluate_table(
            answers,
            problem,
            groups,
            metrics=metrics,
            workers=workers,
            progress=lambda done, _: progress(done),
        )
    write_json(found.to_dict(), json)
    if str(json) == "-":
        return
    ends = ", ".join(f"{n:,} {name.lower().replace('_', ' ')}" for name, n in found.outcomes.items() if n)
    for title, first, rows in (
        (f"{answers.manifest['question']['method']}: {found.n:,} people, {ends}", "", found.table()),
        (f"by {groups}", "group", found.by_group()),
    ):
        if rows:
            heads = ((first,) if first else ()) + ("metric", "value", "95 % interval", "n")
            lines = [
                (*((r[first],) if first else ()), r["metric"], *_spread(r), r["n"])
                for r in rows
            ]  # fmt: skip
            table(title, heads, lines)
    for note in found.notes:
        say(f"note: {note}")


def _spread(row: dict[str, Any]) -> tuple[str, str]:
    """The value of a metric and its interval; shares, and changes as shares of their ranges, in per cent."""
    from wayforward.evaluate import METRICS

    unit = METRICS[row["metric"]].unit if row["metric"] in METRICS else ""
    scale, sign = (100, " %") if unit in ("share", "share of people", "ranges") else (1, "")
    value, low, high = (
        f"{scale * row[name]:.4g}" if row[name] == row[name] else "–" for name in ("value", "low", "high")
    )
    return f"{value}{sign}", f"{low} to {high}{sign}"
