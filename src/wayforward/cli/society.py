"""The `society` command: scenarios played, one by itself or several side by side; tables, figures, a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wayforward.cli.console import room_for, save_figure, say, steps, table, write_json, write_text
from wayforward.errors import DataError
from wayforward.impact.segregation.dimensions import DIMENSIONS
from wayforward.impact.society.history import FLOWS
from wayforward.language import gettext, ngettext

if TYPE_CHECKING:
    from wayforward.impact.society import Comparison, History, Scenario

_SHOWN = ("acceptance", "cost", "default", "holds", "improvement", "gaming", "profit")


def play(
    scenarios: Sequence[str], *, rounds: int | None, people: int | None, seed: int | None, seeds: int,
    checkpoint: Path | None, figure: Path | None, html: Path | None, csv: Path | None, json: Path | None,
    workers: int = 1, on: Any = None,
) -> History | Comparison:  # fmt: skip
    """Do everything that `wayforward society` does; return the history, or the comparison of several."""
    from wayforward.impact.society import Scenario

    overrides: dict[str, Any] = {"rounds": rounds, "people": people, "seed": seed}
    given = {name: value for name, value in overrides.items() if value is not None}
    read = [replace(Scenario.from_yaml(source), **given) for source in scenarios]
    for file, endings in (
        (figure, (".png", ".svg", ".pdf")), (html, (".html",)), (csv, (".csv",)), (json, ()),
    ):  # fmt: skip
        room_for(file, endings)
    if len(read) == 1 and seeds == 1 and html is None:
        return _one(read[0], checkpoint, figure, csv, json, workers, on)
    if checkpoint is not None:
        raise DataError(
            "--checkpoint is for one scenario and one seed, and without --html, whose page compares. Leave it out."
        )
    return _several(read, scenarios, seeds, figure, html, csv, json, workers, on)


def _several(
    read: Sequence[Scenario], sources: Sequence[str], seeds: int, figure: Path | None, html: Path | None,
    csv: Path | None, json: Path | None, workers: int, on: Any,
) -> Comparison:  # fmt: skip
    from wayforward.answers import write_csv
    from wayforward.impact.society import compare

    named = {one.name: one for one in read}
    if len(named) < len(read):  # two files of one name are called after their files
        named = {Path(source).stem: one for source, one in zip(sources, read, strict=True)}
    if len(named) < len(read):
        raise DataError("Two of these scenarios have one name. Give each its own entry `name`.")
    with steps("rounds", sum(one.rounds for one in read) * seeds) as shown:
        got = compare(named, seeds, progress=lambda done, _: shown(done), workers=workers, on=on)
    if csv is not None:
        write_csv(got.rows(), csv)
    if figure is not None:
        save_figure(got.figure(), figure)
    if html is not None:
        got.report(html)
    write_json(got.to_dict(), json)
    if str(json) != "-":
        rows = got.table()
        title = ngettext("{n} seed, means over all rounds", "{n} seeds, means over all rounds", seeds)
        table(title, list(rows[0]) if rows else (gettext("Figure"),), [list(row.values()) for row in rows])
        for note in got.notes():
            say(gettext("note: {note}", note=note))
        for written in (figure, html, csv, json):
            if written is not None:
                say(f"written: {written}")
    return got


def _one(
    played: Scenario, checkpoint: Path | None, figure: Path | None, csv: Path | None, json: Path | None,
    workers: int, on: Any,
) -> History:  # fmt: skip
    from wayforward.impact.society import figure_society, simulate

    with steps(f"{played.name}: rounds", played.rounds) as shown:
        got = simulate(
            played, checkpoint=checkpoint, progress=lambda done, _: shown(done), workers=workers, on=on
        )
    if csv is not None:
        write_text(csv, _csv(got))
    if figure is not None:
        save_figure(figure_society(got), figure)
    write_json(got.to_dict() | {"rows": got.rows()}, json)
    if str(json) != "-":
        _show(got)
        for note in got.notes():
            say(gettext("note: {note}", note=note))
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
    from wayforward.impact.society.figures import in_words

    heads = ("round", "applied", "granted", *_SHOWN)
    lines = [
        (
            str(t + 1), f"{int(got.total('applied')[t]):,}", f"{int(got.total('given')[t]):,}",
            *(in_words(name, float(got.figure(name)[t])) for name in _SHOWN),
        )
        for t in range(got.rounds)
    ]  # fmt: skip
    table(got.scenario.name, heads, lines)
    by = [
        (
            got.title(name), f"{int(got.flows['applied'][:, i].sum()):,}", f"{int(got.flows['given'][:, i].sum()):,}",
            *(in_words(f, float(got.figure(f, group=name, over=True)[0])) for f in _SHOWN),
        )
        for i, name in enumerate(got.names)
    ]  # fmt: skip
    table(f"over all rounds, by {got.attribute}", ("group", *heads[1:]), by)
    moved = []
    for name, sign in DIMENSIONS.items():
        value = got.figure(name)
        value = value[value == value]
        if len(value):
            way = "higher" if sign > 0 else "lower"
            moved.append((name, float(value[0]), float(value[-1]), way))
    if moved:
        table("segregation of the smallest group", ("dimension", "start", "end", "more segregated"), moved)
