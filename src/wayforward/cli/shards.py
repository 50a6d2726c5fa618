"""The `recommend` command on tables of any size: shard by shard into a folder."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wayforward.cli.console import counted, number, say, table, write_json
from wayforward.errors import DataError

if TYPE_CHECKING:
    from wayforward.cli.inputs import Inputs
    from wayforward.deadline import Deadline
    from wayforward.scale import Answers


def is_folder(out: Path | None) -> bool:
    """True if --out names a folder: it ends in no suffix, or it is one already."""
    return out is not None and str(out) != "-" and (out.is_dir() or not out.suffix)


def answer_table(
    question: Inputs, out: Path, *, method: str, k: int, budget: int | None, deadline: Deadline | None,
    device: str | None, workers: int, on: Any, rows_per_shard: int, id: str | None, form: Any, fresh: bool,
    json: Path | None, room: float = 0.0, certify: bool = False,
) -> Answers:  # fmt: skip
    """Answer the table of --people into the folder; print what came out."""
    from wayforward.cli.recommend import choose
    from wayforward.scale import recommend_table

    if question.people is None:
        raise DataError(f"--out {out} is a folder of answers to a table. Name the table with --people.")
    if question.n is not None or question.preferences is not None:
        raise DataError(
            "--n and --preferences are for answers in one file. Leave them out, or end --out in .parquet or .json."
        )
    chosen = choose(method, device).fit(question.prepare().problem)
    started = time.perf_counter()
    with counted(f"{chosen.name}: people") as progress:
        answers = recommend_table(
            chosen, question.people, out, k=k, seed=question.seed, budget=budget, deadline=deadline, id=id, form=form,
            room=room, certify=certify, rows_per_shard=rows_per_shard, workers=workers, on=on, fresh=fresh,
            progress=progress, note=question.plain(),
        )  # fmt: skip
    seconds, counts = time.perf_counter() - started, answers.counts()
    summary = {
        "method": chosen.name, "k": k, "question": question.plain(), "n": counts["people"], **counts,
        "seconds_run": seconds, "workers": workers, "on": on,
    }  # fmt: skip
    write_json(summary, json)
    if str(json) != "-":
        ends = ", ".join(
            f"{n:,} {name.lower().replace('_', ' ')}" for name, n in counts["outcomes"].items() if n
        )
        rows = [
            ("people", f"{counts['people']:,}: {ends}"),
            ("people a second", number(counts["people"] / seconds)),
        ]
        if counts.get("cut_short"):
            rows.append(("ended by the deadline", f"{counts['cut_short']:,}"))
        if certify:
            rows.append(("proved the cheapest", f"{counts['proved_cheapest']:,}"))
        if counts["problems"]:
            rows.append(("could not be read", f"{counts['problems']:,}: the reasons are in {out}/problems"))
        table(f"{chosen.name}", ("", ""), rows)
        say(f"written: {out}/answers ({counts['shards']:,} files), {out}/manifest.json")
    return answers
