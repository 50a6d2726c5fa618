"""The `society` command: a scenario played, its table, its figure and its numbers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wayforward.cli.console import room_for, say, steps, table, write_json, write_text
from wayforward.impact.segregation.dimensions import DIMENSIONS
from wayforward.impact.society.history import FLOWS

if TYPE_CHECKING:
    from wayforward.impact.society import History

_SHOWN = ("acceptance", "cost", "default", "holds", "improvement", "gaming")


def play(
    scenario: str, *, rounds: int | None, people: int | None, seed: int | None, checkpoint: Path | None,
    figure: Path | None, csv: Path | None, json: Path | None, workers: int = 1, on: Any = None,
) -> History:  # fmt: skip
    """Do everything that `wayforward society` does; return the history."""
    from wayforward.impact.society import Scenario, figure_society, simulate

    given: dict[str, Any] = {"rounds": rounds, "people": people, "seed": seed}
    played = replace(Scenario.from_yaml(scenario), **{k: v for k, v in given.items() if v is not None})
    for file, endings in ((figure, (".png", ".svg", ".pdf")), (csv, (".csv",)), (json, ())):
        room_for(file, endings)
    with steps(f"{played.name}: rounds", played.rounds) as shown:
        got = simulate(
            played, checkpoint=checkpoint, progress=lambda done, _: shown(done), workers=workers, on=on
        )
    if csv is not None:
        write_text(csv, _csv(got))
    if figure is not None:
        figure_society(got).savefig(figure)
    write_json(got.to_dict() | {"rows": got.rows()}, json)
    if str(json) != "-":
        _show(got)
        for written in (checkpoint, figure, csv, json):
            if written is not None:
                say(f"written: {written}")
    return got


def _csv(got: History) -> str:
    rows = got.rows()
    lines = [",".join(rows[0] if rows else ("round", "group", *FLOWS))]
    for row in rows:
        cells = ("" if v != v else f'"{v}"' if isinstance(v, str) else f"{v:.10g}" for v in row.values())
        lines.append(",".join(cells))
    return "\n".join(lines) + "\n"


def _show(got: History) -> None:
    """Print one line a round for everybody, then each group over all rounds."""
    heads = ("round", "applied", "granted", *_SHOWN)
    lines = [
        (
            str(t + 1), f"{int(got.total('applied')[t]):,}", f"{int(got.total('given')[t]):,}",
            *(float(got.figure(name)[t]) for name in _SHOWN),
        )
        for t in range(got.rounds)
    ]  # fmt: skip
    table(got.scenario.name, heads, lines)
    by = [
        (
            name, f"{int(got.flows['applied'][:, i].sum()):,}", f"{int(got.flows['given'][:, i].sum()):,}",
            *(float(got.figure(f, group=name, over=True)[0]) for f in _SHOWN),
        )
        for i, name in enumerate(got.names)
    ]  # fmt: skip
    table(f"over all rounds, by {got.attribute}", ("group", "applied", "granted", *_SHOWN), by)
    moved = []
    for name, sign in DIMENSIONS.items():
        value = got.figure(name)
        value = value[value == value]
        if len(value):
            way = "higher" if sign > 0 else "lower"
            moved.append((name, float(value[0]), float(value[-1]), way))
    if moved:
        table("segregation of the smallest group", ("dimension", "start", "end", "more segregated"), moved)
