"""What a study leaves: tidy tables, a codebook, the protocol; as CSV safe to open, Parquet or JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from wayforward.answers import write_csv
from wayforward.errors import DataError, require
from wayforward.plain_files import as_path, dump_yaml, make_folder, name_of, write_text, written
from wayforward.study.course import ParticipantCourse
from wayforward.study.items import in_language, sus_score, tlx_score
from wayforward.study.pool import ProfilePool
from wayforward.study.protocol import StudyProtocol

FORMATS = ("csv", "parquet", "json")
_TABLES = ("participants", "answers", "plans", "pages", "tasks")
FILES = ("protocol.yaml", "about.json", *(f"{t}.{one}" for t in ("codebook", *_TABLES) for one in FORMATS))
Record = dict[str, Any]


def formats_here() -> list[str]:
    """Return the formats that can be written here: Parquet needs pyarrow."""
    return [one for one in FORMATS if one != "parquet" or find_spec("pyarrow")]


def codebook(protocol: StudyProtocol) -> list[Record]:
    """A row for each item: column, screen, kind, text, codes; in the first language."""
    language = protocol.languages[0]
    rows = []
    for part, block, screen in protocol.screens:
        for item in screen.all_items:
            codes = "; ".join(f"{code} {in_language(text, language)}" for code, text in item.codes.items())
            rows.append(
                {
                    "part": part.id if part else "screening", "block": block.id if block else "", "screen": screen.id,
                    "item": item.id, "kind": item.kind, "text": in_language(item.text, language), "codes": codes,
                    "several": bool(getattr(item, "several", False)), "expect": getattr(item, "expect", None),
                    "arms": " ".join(screen.arms),
                }
            )  # fmt: skip
    return rows


def tables(protocol: StudyProtocol, participants: Mapping[str, Mapping[str, Any]]) -> dict[str, list[Record]]:
    """Tidy tables of participants by their pseudonyms (id -> state of the course).

    participants: one row each. answers: one row for each item. plans: one row for each rated plan, for `analyse`.
    pages: seconds on each page. tasks: what came of each task. Nobody's address or completion code is in any.
    """
    out: dict[str, list[Record]] = {name: [] for name in _TABLES}
    for id, state in participants.items():
        course = ParticipantCourse(protocol, dict(state))
        out["participants"].append(_participant(id, course))
        position = 0
        for step in course.steps():
            given = state["answers"].get(step.key)
            if given is None:
                continue
            position += 1
            where = {
                "participant": id, "arm": state.get("arm", ""), "part": step.part.id if step.part else "screening",
                "screen": step.screen.id, "plan": step.copy or None, "position": position,
            }  # fmt: skip
            out["pages"].append(where | {"seconds": state["seconds"].get(step.key)})
            if step.screen.task:
                out["tasks"].append(where | {name: _cell(value) for name, value in given.items()})
                continue
            for item in step.items:
                out["answers"].append(where | {"item": item.id, "value": _cell(given.get(item.id))})
            if step.copy:
                plan = state["plans"][step.copy - 1]
                shown = {name: plan[name] for name in ("chosen", "sparsity", "proximity")}
                own = {name: _cell(value) for name, value in given.items() if name != "impossible"}
                marked = len(given.get("impossible") or [])
                out["plans"].append(where | shown | own | {"impossible": marked})
    return {name: rows for name, rows in out.items() if rows or name in ("participants", "answers")}


def _participant(id: str, course: ParticipantCourse) -> Record:
    state = course.state
    row: Record = {
        "participant": id, "arm": state.get("arm", ""), "number": state.get("number"), "language": state["language"],
        "standing": state["standing"], "why": state["why"], "failed_checks": len(state["failed"]),
        "went_back": state.get("backs", 0),
        "seconds": round(sum(state["seconds"].values()), 1),
    }  # fmt: skip
    for answers in state["answers"].values():
        for name, score, n in (("sus", sus_score, 10), ("tlx", tlx_score, 6)):
            values = [value for item, value in answers.items() if item.startswith(f"{name}-")]
            if len(values) == n and None not in values:
                row[f"{name}_score"] = score(values)
    return row


def export(
    protocol: StudyProtocol,
    participants: Mapping[str, Mapping[str, Any]],
    folder: str | Path,
    formats: Iterable[str] = FORMATS,
    pool: ProfilePool | None = None,
) -> Path:
    """Write FILES, the tables, the codebook and the protocol, into a folder, and return it. Parquet needs pyarrow.

    pool: what plans came from; its size and hash are noted.

    Raises: DataError for another format; FileFormatError where it cannot be written.
    """
    folder, found = as_path(folder), {"codebook": codebook(protocol), **tables(protocol, participants)}
    wrong = [one for one in formats if one not in FORMATS]
    if wrong:
        raise DataError(f"There is no format '{wrong[0]}'. Use {', '.join(FORMATS)}.")
    make_folder(folder)
    dump_yaml(protocol.model_dump(mode="json", exclude_defaults=True), folder / "protocol.yaml")
    about = about_export(protocol, participants, pool)
    write_text(folder / "about.json", json.dumps(about, indent=2) + "\n")
    for name, rows in found.items():
        rows = [dict.fromkeys(_names(rows)) | row for row in rows]
        for one in formats:
            place = folder / f"{name}.{one}"
            if one == "csv":
                write_csv(rows or [dict.fromkeys(("participant",))], place)
            elif one == "json":
                write_text(place, json.dumps(rows, ensure_ascii=False, indent=1) + "\n")
            else:
                _write_parquet(rows, place)
    return folder


def about_export(
    protocol: StudyProtocol, participants: Mapping[str, Mapping[str, Any]], pool: ProfilePool | None = None
) -> Record:
    """What an export is of: the study, the hash of its protocol and of its pool, how many participants."""
    about: Record = {
        "study": protocol.id,
        "protocol_sha256": protocol.hash,
        "participants": len(participants),
    }
    return about | ({} if pool is None else {"pool_sha256": pool.hash, "pool_profiles": len(pool.income)})


def ratings_file(folder: Path) -> Path:
    """The table of ratings in the folder of an export. Raises: DataError."""
    for ending in ("parquet", "csv"):
        if (place := folder / f"plans.{ending}").is_file():
            return place
    raise DataError(
        f"The folder '{name_of(folder)}' has no plans.csv: the study rated none, or it is no export."
    )


def _names(rows: list[Record]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def _cell(value: Any) -> Any:
    """Lists and objects as texts; codes of several answers with spaces between."""
    if isinstance(value, list):
        return " ".join(str(one) for one in value)
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else value


def _write_parquet(rows: list[Record], place: Path) -> None:
    arrow = require("pyarrow", extra="frames")
    parquet = require("pyarrow.parquet", extra="frames")
    columns = {}
    for name in _names(rows):
        values = [row[name] for row in rows]
        kinds = {type(value) for value in values if value is not None}
        columns[name] = (
            values
            if len(kinds) <= 1 or kinds == {int, float}
            else [None if value is None else str(value) for value in values]
        )
    with written(place) as half:
        parquet.write_table(arrow.table(columns), half)
