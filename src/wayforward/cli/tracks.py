"""The commands of `bench` around the leaderboard: tasks, export, submit, leaderboard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from wayforward.cli.console import room_for, say, steps, table, write_json, write_text
from wayforward.cli.places import own_files
from wayforward.errors import DataError
from wayforward.tracks import TASKS, TRACKS, RunLimits, Store, Submission, board, submit, task
from wayforward.tracks.leaderboard import Board

#: The files of an exported task.
FILES = ("people.parquet", "train.parquet", "schema.yaml", "model.skops", "wishes.json", "task.json")
#: Methods of the library that are judged first, and on which tracks; (): on all.
FIRST: Mapping[str, tuple[str, ...]] = {
    "local-search": (),
    "nearest-observable": (),
    "nice": (),
    "growing-spheres": (),
    "dice": (),
    "geco": (),
    "causal-oracle": ("consequential",),
    "roar": ("robust",),
}


def tasks(json: Path | None) -> None:
    """List the tasks."""
    rows = [
        {
            "task": one.name, "track": one.track, "data": one.data, "model": one.model, "people": one.n,
            "options": one.k, "here": not one.absent, "why_not": one.absent,
        }
        for one in TASKS.values()
    ]  # fmt: skip
    write_json(rows, json)
    if str(json) != "-":
        heads = ("task", "track", "data", "model", "people", "options")
        table("", (*heads, "here"), [(*(row[h] for h in heads), row["why_not"] or "yes") for row in rows])


def export(folder: Path, names: Sequence[str] | None) -> None:
    """Write tasks as tables: people with their keys, the table with its label, the schema, the classifier."""
    from wayforward.plain_files import write_bytes
    from wayforward.tracks.rows import write_tables

    for name in _here(names):
        ready = task(name).build()
        place = folder / name
        with own_files(place, FILES):
            write_tables(ready, place)
            ready.problem.schema.to_yaml(place / "schema.yaml")
            write_bytes(place / "model.skops", ready.model_file)
            if ready.wishes is not None:
                ready.wishes.save(place / "wishes.json")
            write_json(
                {
                    "task": name, "track": ready.task.track, "served": TRACKS[ready.task.track].served,
                    "k": ready.task.k, "task_digest": ready.digest, "model_digest": ready.model_digest,
                },
                place / "task.json",
            )  # fmt: skip
        say(f"written: {place}")


def submit_one(
    what: str, entries: Path, *, name: str, names: Sequence[str] | None, seconds: int, memory: int
) -> None:
    """Judge one submission on tasks, whatever is there of it already."""
    store, one, limits = Store(entries), Submission.of(what, name), RunLimits(seconds, memory)
    rows = []
    for called in _here(names):
        ready = task(called).build()
        store.note(ready)
        entry = submit(one, ready, limits)
        if entry is None:
            say(f"no rows for {called}")
            continue
        store.add(entry)
        cost = entry.to_dict()["mean_cost"]["value"]
        rows.append(
            (called, entry.state, f"{entry.serves().mean():.0%}", "–" if cost is None else cost, entry.why)
        )
    table(one.name, ("task", "state", "served", "mean cost", "why"), rows)


def leaderboard(
    entries: Path, methods: Sequence[str] | None, names: Sequence[str] | None, *, markdown: Path | None,
    html: Path | None, render: bool, seconds: int, memory: int,
) -> Board:  # fmt: skip
    """Judge methods of the library where they have no entry, and write the pages from all entries."""
    room_for(markdown, (".md",))
    room_for(html, (".html",))
    store, limits = Store(entries), RunLimits(seconds, memory)
    wanted = {Submission.of(name): () for name in methods} if methods else _first()
    if not render:
        here = _here(names)
        with steps("bench: entries", len(here) * len(wanted)) as shown:
            for called in here:
                ready = task(called).build()
                store.note(ready)
                for one, tracks in wanted.items():
                    shown(shown.done + 1)
                    if tracks and ready.task.track not in tracks:
                        continue
                    content = one.content(called)
                    if content is None or store.has(one.name, one.digest(content), ready):
                        continue
                    entry = submit(one, ready, limits)
                    assert entry is not None
                    store.add(entry)
                    if entry.state == "failed":
                        say(f"failed: {one.name} on {called}: {entry.why}")
    found = board(store)
    for file, text in ((markdown, found.markdown), (html, found.html)):
        if file is not None:
            write_text(file, text())
            say(f"written: {file}")
    for track in found.tracks:
        rows = [
            (one.tier, one.name, f"{one.served.value:.0%}", one.cost.value, ", ".join(one.beaten))
            for one in track.lines
        ]
        table(track.track.title, ("tier", "submission", "served", "cost, times the least", "beaten by"), rows)
    for note in found.notes:
        say(f"note: {note}")
    return found


def _first() -> dict[Submission, tuple[str, ...]]:
    return {Submission.of(name): tracks for name, tracks in FIRST.items()}


def _here(names: Sequence[str] | None) -> list[str]:
    """Those of the tasks that can be built here; the others are named. Raises: DataError where none can."""
    chosen = [task(name) for name in names] if names else list(TASKS.values())
    for one in chosen:
        if one.absent:
            say(f"left out: {one.name}: {one.absent}")
    here = [one.name for one in chosen if not one.absent]
    if not here:
        raise DataError("None of these tasks can be built here. Leave --task out: 'loan' needs no files.")
    return here
