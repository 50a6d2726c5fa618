"""The statistics of evaluation studies: from a table of ratings to the published summary."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from wayforward.cli.console import room_for, say, table, write_json, write_text
from wayforward.cli.inputs import read_table

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
