"""Answer a table of any size: shard by shard, on several workers, and on from where it stopped."""

from __future__ import annotations

import json
import re
import shutil
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.deadline import Deadline, now
from wayforward.errors import (
    DataError,
    FileFormatError,
    MethodError,
    PreferencesError,
    require,
    require_function,
    require_kind,
    require_switch,
    require_whole,
    shown,
)
from wayforward.methods import Method, chosen_method
from wayforward.methods.base import versions
from wayforward.plain_files import as_path, make_folder, name_of, sweep, write_text, written
from wayforward.public import public
from wayforward.scale.answers import MANIFEST, Answers
from wayforward.scale.identity import digest, method_digest
from wayforward.scale.shard import (
    ANSWERS,
    ENTRIES,
    FORMAT,
    PEOPLE,
    PROBLEMS,
    Form,
    ShardSettings,
    answer_shard,
)
from wayforward.scale.sources import TableSource, open_source
from wayforward.workers import Kind, as_done, check_workers

if TYPE_CHECKING:
    from wayforward.preferences import Preferences
    from wayforward.problem import Problem

_SHARD = re.compile(r"part-\d+\.(parquet|json)")
Progress = Callable[[int, int | None], None]  # (people done, people in all or None where nobody knows)


@dataclass(frozen=True)
class ShardWork:
    """What a worker does with a piece: answer a shard from its Parquet file."""

    method: Method
    out: Path
    settings: ShardSettings
    text: bool

    def __call__(
        self,
        people: Path,
        shard: int,
        first: int,
        wishes: Preferences | None,
        deadline: Deadline | None = None,
    ) -> dict[str, Any]:
        """Return the entry of the shard. deadline: its own part of the time."""
        settings = self.settings if deadline is None else replace(self.settings, deadline=deadline)
        return answer_shard(
            self.method, people, self.out, settings, shard=shard, first=first, preferences=wishes,
            text=self.text,
        )  # fmt: skip


@public
def recommend_table(
    problem: Problem | Method,
    people: Any,
    out: str | Path,
    method: str | Method = "local-search",
    k: int = 1,
    *,
    seed: int = 0,
    budget: int | None = None,
    deadline: Deadline | float | None = None,
    preferences: Preferences | None = None,
    id: str | None = None,
    form: Form = "long",
    room: float = 0.0,
    certify: bool = False,
    rows_per_shard: int = 20_000,
    workers: int = 1,
    on: Kind | None = None,
    fresh: bool = False,
    progress: Progress | None = None,
    note: dict[str, Any] | None = None,
    **parameters: Any,
) -> Answers:
    """Answer a table of any size in bounded memory, and leave Parquet files and a manifest in the folder `out`.

    problem: a problem, for which `method` is fitted, or a fitted method. people: a path to CSV, TSV (also .gz) or
    Parquet, a folder of Parquet files, or a table in memory; columns that nobody needs are left out. k, seed,
    budget, preferences: as of `wf.recommend`; the answers are its bits, whatever the shards and the workers.
    deadline: as of `wf.recommend`, of the whole run; shards that are answered with it hang on the machine. id: a
    column that names people, carried through. form: 'long' or 'compact', see `ShardSettings`. room: options
    go farther where that makes them at most this share dearer (`with_room`). rows_per_shard: people
    in memory at once for each worker. certify: prove what any option must cost at least (`bound`). on: 'threads',
    'processes' or 'ray' (a cluster, if one was joined; `out` must be a folder that all its machines see). Whoever
    cannot be read is NOT_ASKED, stands in `out/problems` with the reason, and the others go on. A run that was stopped
    goes on with the shards that are missing; fresh=True begins again. progress: called with (people done, people in all
    or None). note: plain data for the manifest (its `note`), for whoever reads it later.
    Raises: FileFormatError where `out` holds answers to another question; DataError, MethodError, WorkerError.
    Example: ``wf.recommend_table(problem, "people.csv", "answers", k=3, id="customer", workers=2)``.
    """
    chosen = _fitted(problem, method, parameters)
    check_workers(workers, on)
    require_function(progress, "progress")
    for name, switch in (("certify", certify), ("fresh", fresh)):
        require_switch(switch, name, MethodError)
    require_whole(least=1, rows_per_shard=rows_per_shard)
    if id is not None:
        require_kind(id, str, "id")
    _check_note(note)
    source = open_source(people)
    columns = [*chosen.problem_.schema.names]
    if id is not None:
        if id in (
            *chosen.problem_.schema.without_carried.names,
            "person",
            "option",
            "outcome",
            "cost",
            "plain_cost",
            "score",
            "chance",
            "id",
            "reason",
            "ended_by",
            "bound",
        ):
            raise DataError(f"id='{id}' is a column that answers have anyway. Rename it in the table.")
        columns += [] if id in columns else [id]
    source.check(columns)
    engine: Kind = on or ("threads" if chosen.frees_interpreter else "processes")
    settings = ShardSettings(
        k, seed, budget, id, form, room=room, deadline=Deadline.of(deadline), certify=certify
    )
    folder = as_path(out)
    question = {
        "people": source.fingerprint(), "preferences": digest(preferences and preferences.to_dict()),
        **method_digest(chosen), **settings.plain(), "rows_per_shard": rows_per_shard, "versions": versions(),
    }  # fmt: skip
    about = {"source": source.name, "schema": chosen.problem_.schema.to_dict(), "note": note or {}}
    answers, done = _begin(folder, question | {"method": chosen.name}, about, fresh)
    settings = replace(settings, question=answers.manifest["hash"])
    work = ShardWork(chosen, folder, settings, source.text)
    pieces = _pieces(source, columns, folder, rows_per_shard, done, preferences)
    total, ready = source.people(), sum(done.values())
    if settings.deadline is not None:
        pieces = _timed(
            pieces, settings.deadline, None if total is None else total - ready, rows_per_shard, workers
        )
    with warnings.catch_warnings():  # threads would mix up each other's filters
        for _, entry in as_done(work, pieces, workers=workers, on=engine):
            _staged(folder, entry["shard"]).unlink(missing_ok=True)
            ready += entry["people"]
            if progress is not None:
                progress(ready, total)
    shutil.rmtree(folder / PEOPLE, ignore_errors=True)
    if preferences is not None and preferences.frozen.shape[0] != ready:
        raise PreferencesError(
            f"The preferences are for {preferences.frozen.shape[0]} people; there are {ready}. Give one row a person."
        )
    write_text(
        folder / MANIFEST, json.dumps({**answers.manifest, "finished": True, **answers.counts()}, indent=2)
    )
    return Answers.open(folder)


def _timed(
    pieces: Iterable[tuple[Any, ...]], given: Deadline, people: int | None, rows: int, workers: int
) -> Iterator[tuple[Any, ...]]:
    """Add to each piece its part of the time that is left: in equal parts where it is known how many there are.

    people: who are not answered yet, in all.
    """
    started = now()
    for i, piece in enumerate(pieces):
        own = given
        if given.total is not None:
            left = given.total - (now() - started)
            rounds = 1 if people is None else -(-max(people - i * rows, 1) // (rows * workers))
            own = replace(given, total=max(left / rounds, 1e-3))
        yield (*piece, own)


def _check_note(note: Any) -> None:
    """Raises: DataError for what a manifest cannot hold."""
    try:
        json.dumps(note, allow_nan=False)
        plain = note is None or isinstance(note, dict)
    except (TypeError, ValueError, RecursionError):
        plain = False
    if not plain:
        raise DataError(
            f"note={shown(note)} is no plain data. Give a dict of texts, finite numbers and lists."
        )


def _fitted(problem: Any, method: str | Method, parameters: dict[str, Any]) -> Method:
    if isinstance(problem, Method):
        if not hasattr(problem, "problem_"):
            raise MethodError(
                f"'{problem.name}' is not fitted. Call fit with the problem first, or give the problem."
            )
        return problem
    return chosen_method(method, **parameters).fit(problem)


def _begin(
    folder: Path, question: dict[str, Any], about: dict[str, Any], fresh: bool
) -> tuple[Answers, dict[int, int]]:
    """Make the folder ready; return it, and the finished shards with their people."""
    file = folder / MANIFEST
    if fresh and file.is_file():
        for part in (ANSWERS, PROBLEMS, ENTRIES, PEOPLE):
            shutil.rmtree(folder / part, ignore_errors=True)
        file.unlink()
    sweep(folder, {MANIFEST}.__contains__)
    for part in (ANSWERS, PROBLEMS, ENTRIES):
        sweep(folder / part, _SHARD.fullmatch)
    if file.is_file():
        answers = Answers.open(folder)
        _compare(answers.manifest["question"], question, folder)
        whole = [one for one in answers.entries() if answers.as_written(one["shard"])]
        return answers, {entry["shard"]: entry["people"] for entry in whole}
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FileFormatError(
            f"'{name_of(folder)}' is there already and is no folder of answers. Choose a new or an empty folder."
        )
    make_folder(folder)
    manifest = {"format": FORMAT, "hash": digest(question), "question": question, **about, "finished": False}
    write_text(file, json.dumps(manifest, indent=2))
    return Answers.open(folder), {}


def _compare(before: dict[str, Any], now: dict[str, Any], folder: Path) -> None:
    """Raise FileFormatError that names what differs between two questions."""
    names = sorted(before.keys() | now.keys())
    other = []
    for name in names:
        old, new = before.get(name), now.get(name)
        if old == new:
            continue
        if isinstance(old, dict) and isinstance(new, dict):
            packages = sorted(p for p in old.keys() | new.keys() if old.get(p) != new.get(p))
            other += [
                f"the version of {p} ({old.get(p, 'none')}, now {new.get(p, 'none')})" for p in packages
            ]
        elif isinstance(new, str) and len(new) == 64:
            other.append(f"the {name}")
        else:
            other.append(f"{name} ({old}, now {new})")
    if other:
        raise FileFormatError(
            f"'{name_of(folder)}' holds answers to another question. What differs: {', '.join(other)}. Choose another "
            "folder, or begin again with fresh=True (--fresh), which deletes those answers."
        )


def _staged(folder: Path, shard: int) -> Path:
    return folder / PEOPLE / f"part-{shard:06d}.parquet"


def _pieces(
    source: TableSource,
    columns: list[str],
    folder: Path,
    rows: int,
    done: dict[int, int],
    wishes: Preferences | None,
) -> Iterator[tuple[Path, int, int, Preferences | None]]:
    """Write each shard that is missing as a Parquet file; yield (file, number, number of its first person, wishes)."""
    pq = require("pyarrow.parquet", extra="frames")
    make_folder(folder / PEOPLE)
    first = 0
    for shard, table in enumerate(source.shards(columns, rows)):
        if shard not in done:
            file = _staged(folder, shard)
            with written(file) as half:
                pq.write_table(table, half)
            own = None
            if wishes is not None:
                who = np.arange(first, first + table.num_rows)
                if who[-1] >= wishes.frozen.shape[0]:
                    raise PreferencesError(
                        f"The preferences are for {wishes.frozen.shape[0]} people; there are more. Give one row "
                        "a person."
                    )
                own = wishes.take(who)
            yield file, shard, first, own
        first += table.num_rows
    if not first:
        raise DataError(f"'{source.name}' has no rows. Give at least one person.")


__all__ = ["ShardWork", "recommend_table"]
