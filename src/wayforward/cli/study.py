"""The statistics of evaluation studies: from a table of ratings to the published summary."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from wayforward.cli.console import room_for, save_figure, say, steps, table, write_json, write_text
from wayforward.cli.places import own_files
from wayforward.data.user_tables import read_table
from wayforward.errors import DataError, require
from wayforward.plain_files import name_of

if TYPE_CHECKING:
    from wayforward.study import Analysis, StudyProtocol


def analyse_file(
    source: Path, *, outcomes: tuple[str, ...], quantities: tuple[str, ...], participant: str, impossible: str | None,
    family: str, basis: str, k: int, figure: Path | None, csv: Path | None, json: Path | None,
) -> Analysis:  # fmt: skip
    """Fit the models, show their summary and write what was asked for."""
    from wayforward.study.analysis import HEADS, analyse
    from wayforward.study.records import ratings_file

    room_for(figure, (".png", ".svg", ".pdf"))
    room_for(csv)
    room_for(json)
    if source.is_dir():
        source, impossible = ratings_file(source), impossible or "impossible"
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
        save_figure(got.figure(), figure)
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


def protocol_of(source: str) -> StudyProtocol:
    """A protocol by a file, or one that comes with the package by its name."""
    from wayforward.study import StudyProtocol
    from wayforward.study.ready_made import NAMES, ready_made

    return ready_made(source) if source in NAMES else StudyProtocol.read(source)


def show_protocol(source: str, json: Path | None) -> None:
    """Say what a protocol holds."""
    room_for(json)
    found = protocol_of(source)
    pages = [screen for _, _, screen in found.screens]
    rows = {
        "id": found.id, "sha256": found.hash, "languages": " ".join(found.languages), "arms": " ".join(found.arms),
        "strata": " ".join(found.strata), "participants": found.quota.most, "keep_days": found.keep_days,
        "parts": len(found.parts), "screens": len(pages),
        "items": sum(len(screen.all_items) for screen in pages),
        "attention_checks": sum(
            getattr(item, "expect", None) is not None for screen in pages for item in screen.all_items
        ),
    }  # fmt: skip
    if str(json) != "-":
        table("The protocol is whole", ("", ""), [(name, str(value)) for name, value in rows.items()])
    write_json(rows, json)


def write_preview(source: str, out: Path, language: str) -> None:
    """Write every screen on one page."""
    from wayforward.study.preview import preview

    room_for(out, (".html",))
    write_text(out, preview(protocol_of(source), language))
    say(f"written: {out}")


def write_protocol(name: str, out: Path) -> None:
    """Write a protocol of the package as a file to be edited. Raises: DataError where the file is there already."""
    from wayforward.study.ready_made import ready_made_text

    text = ready_made_text(name)
    if out.exists():
        raise DataError(f"'{name_of(out)}' is there already. Choose another name.")
    write_text(out, text)
    say(f"written: {out}")


def write_rehearsal(
    source: str, out: Path, *, participants: int, seed: int, pool: Path | None = None
) -> None:
    """Write the export of a study with made-up participants."""
    from wayforward.study import rehearse
    from wayforward.study.pool import ProfilePool
    from wayforward.study.records import FILES, export, formats_here

    protocol = protocol_of(source)
    profiles = None if pool is None else ProfilePool.read_file(pool)
    states = rehearse(protocol, participants, seed=seed, pool=profiles)
    with own_files(out, FILES):
        export(protocol, states, out, formats_here(), profiles)
    say(f"written: {out}")


def write_export(home: Path, out: Path, *, study: str, database: str) -> None:
    """Write the answers of a study that `wayforward serve` runs. Raises: DataError where there is no such study."""
    require("sqlalchemy", extra="web")
    from wayforward.serve.services import Services
    from wayforward.serve.settings import ServeSettings
    from wayforward.study.records import FILES, export, formats_here

    if not (home / "keys.json").is_file():
        raise DataError(
            f"'{home}' is no folder of `wayforward serve`: there is no keys.json in it. Check the path."
        )
    services = Services.at(ServeSettings(home=home, database=database))
    try:
        rows = {row.id: protocol for row, protocol, _ in services.studies.rows()}
        found = [
            id for id, protocol in rows.items() if not study or study == protocol.id or id.startswith(study)
        ]
        if len(found) != 1:
            names = ", ".join(f"{protocol.id} ({id[:8]})" for id, protocol in rows.items()) or "none"
            raise DataError(
                f"{'No' if not found else 'More than one'} study fits. There is: {names}. Say --study."
            )
        states = services.studies.states(found[0], "command line")
        with own_files(out, FILES):
            export(rows[found[0]], states, out, formats_here(), services.studies.pool(found[0]))
    finally:
        services.database.close()
    say(f"written: {out}")
