"""The statistics of evaluation studies: from a table of ratings to the published summary."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from wayforward.cli.console import room_for, say, steps, table, write_json, write_text
from wayforward.data.user_tables import read_table

if TYPE_CHECKING:
    from wayforward.study import Analysis


def analyse_file(
    source: Path, *, outcomes: tuple[str, ...], quantities: tuple[str, ...], participant: str, impossible: str | None,
    family: str, basis: str, k: int, figure: Path | None, csv: Path | None, json: Path | None,
) -> Analysis:  # fmt: skip
    """Fit the models, show their summary and write what was asked for."""
    from wayforward.study.analysis import HEADS, analyse

    room_for(figure, (".png", ".svg", ".pdf"))
    room_for(csv)
    room_for(json)
    got = analyse(
        read_table(source), outcomes, quantities, participant,
        impossible=impossible, family=family, basis=basis, k=k,
    )  # fmt: skip
    some = next(iter(got.models.values()))
    if str(json) != "-":
        title = (
            f"{source.name}: {some.n:,} ratings of {len(some.people):,} participants, {family}, {basis} basis"
        )
        table(title, HEADS, got.rows())
    if got.left_out:
        say(f"note: {got.left_out:,} rows were left out, without a number or marked as impossible.")
    if figure is not None:
        got.figure().savefig(figure)
    if csv is not None:
        lines = (
            ",".join(f'"{cell}"' if "," in cell else cell for cell in row) for row in (HEADS, *got.rows())
        )
        write_text(csv, "\n".join(lines) + "\n")
    write_json(got.to_dict(), json)
    return got


def show_power(
    sizes: tuple[int, ...], *, height: float | None, x: str, studies: int, alpha: float, seed: int, json: Path | None
) -> None:  # fmt: skip
    """Simulate studies of each size, show the shares and write them."""
    from dataclasses import replace

    from wayforward.study import power
    from wayforward.study.participants import ACTION

    rater = ACTION if height is None else replace(ACTION, height=height)
    room_for(json)
    rows = []
    for size in sizes:
        with steps(f"{size:,} participants", studies) as shown:
            rows.append(power(size, rater, x=x, studies=studies, alpha=alpha, seed=seed, progress=shown))
    if str(json) != "-":
        table(
            f"action ~ {x}, curve of {rater.height:g} points, {studies} studies of each size, p < {alpha:g}",
            ("participants", "found", "95 % interval", "EDF"),
            [(f"{r.participants:,}", r.share, "{:.2f} to {:.2f}".format(*r.interval), r.edf) for r in rows],
        )
    write_json([vars(r) | {"share": r.share, "interval": r.interval} for r in rows], json)


def write_simulated(out: Path, *, participants: int, seed: int) -> None:
    """Write the ratings of a simulated study."""
    from wayforward.study import simulate_study

    columns = simulate_study(participants, seed=seed)
    lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    text = "\n".join(lines) + "\n"
    if str(out) == "-":
        typer.echo(text, nl=False)
    else:
        write_text(out, text)
        say(f"written: {out}")
