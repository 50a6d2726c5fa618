"""Entries as JSON, one file for a submission and a task: what was judged, and the digests of what it hangs on."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from wayforward.errors import FileFormatError
from wayforward.evaluate import stats
from wayforward.plain_files import make_folder, read_json, write_text
from wayforward.tracks.tasks import TASKS, BuiltTask

STATES = ("judged", "failed", "not taken")
_TASKS = "tasks.json"


@dataclass(frozen=True)
class TrackEntry:
    """How a submission fared on a task. served: '1' and '0', one a person. cost: one a person, None where not served.

    code, task_digest, model_digest, version: of what was judged, on what, by which version of the library. seconds: of
    the clock, with start and judging. why: what went wrong, or what was left out.
    """

    name: str
    kind: str
    code: str
    version: str
    task: str
    task_digest: str
    model_digest: str
    state: str
    why: str
    served: str
    cost: tuple[float | None, ...]
    seconds: float

    @classmethod
    def made(
        cls, about: Mapping[str, str], served: np.ndarray, cost: np.ndarray, state: str, why: str, seconds: float
    ) -> TrackEntry:  # fmt: skip
        """From arrays (n,): served bool, cost."""
        return cls(
            **about, state=state, why=why, served="".join("01"[int(one)] for one in served),
            cost=tuple(round(float(c), 9) if np.isfinite(c) else None for c in cost), seconds=round(seconds, 2),
        )  # fmt: skip

    @property
    def n(self) -> int:
        """Number of people."""
        return len(self.served)

    def serves(self) -> np.ndarray:
        """(n,) bool."""
        return np.array([one == "1" for one in self.served], dtype=bool)

    def costs(self) -> np.ndarray:
        """(n,) NaN where not served."""
        return np.array([np.nan if one is None else one for one in self.cost], dtype=np.float64)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, with the share served and the mean cost and their 95 % intervals."""
        return asdict(self) | {
            "share": stats.rate(self.serves()).to_dict(),
            "mean_cost": stats.mean(self.costs()).to_dict(),
        }

    @classmethod
    def from_dict(cls, given: Any) -> TrackEntry:
        """Read plain values again; shares are worked out anew. Raises: ValueError for what is no entry."""
        if not isinstance(given, Mapping):
            raise ValueError("it is no entry")
        own: dict[str, Any] = {field.name: given.get(field.name) for field in fields(cls)}
        texts = [name for name in own if name not in ("cost", "seconds") and not isinstance(own[name], str)]
        cost = own["cost"]
        if texts or own["state"] not in STATES or not isinstance(own["seconds"], (int, float)):
            raise ValueError(f"'{texts[0] if texts else 'state'}' is not what it must be")
        if not re.fullmatch("[01]*", own["served"]):
            raise ValueError("'served' must be of 0 and 1")
        numbers = isinstance(cost, list) and all(
            one is None or (isinstance(one, (int, float)) and np.isfinite(one) and one >= 0) for one in cost
        )
        if not numbers or [one is not None for one in cost] != [one == "1" for one in own["served"]]:
            raise ValueError("'cost' must have a number for each person served, and null for the others")
        return cls(**own | {"cost": tuple(cost)})


@dataclass(frozen=True)
class Store:
    """A folder: `tasks.json`, and `<entry>/<task>.json`. Files are written whole; what is there is not judged again."""

    folder: Path

    def place(self, name: str, task: str) -> Path:
        """The file of an entry."""
        return self.folder / name / f"{task}.json"

    def has(self, name: str, code: str, ready: BuiltTask) -> bool:
        """Is there an entry of this very code on this very task?"""
        try:
            found = TrackEntry.from_dict(read_json(self.place(name, ready.task.name)))
        except (OSError, ValueError):
            return False
        return (found.code, found.task_digest, found.model_digest) == (
            code,
            ready.digest,
            ready.model_digest,
        )

    def add(self, entry: TrackEntry) -> None:
        """Write an entry, in the place of an earlier one. Raises: WriteError."""
        make_folder(self.folder / entry.name)
        self._write(self.place(entry.name, entry.task), entry.to_dict())

    def note(self, ready: BuiltTask) -> None:
        """Keep what the page needs to know about a task, so that it is made without the data. Raises: WriteError."""
        make_folder(self.folder)
        about = {
            "digest": ready.digest, "model_digest": ready.model_digest, "n": len(ready.x),
            "groups": ready.groups.tolist() if ready.task.groups else [],
        }  # fmt: skip
        known = self.tasks()
        if known.get(ready.task.name) != about:
            known[ready.task.name] = about
            self._write(self.folder / _TASKS, {name: known[name] for name in TASKS if name in known})

    def tasks(self) -> dict[str, dict[str, Any]]:
        """What is known of each task that was built once. Raises: FileFormatError."""
        try:
            found = read_json(self.folder / _TASKS)
            for about in found.values():
                n, groups = about["n"], about["groups"]
                texts = [about["digest"], about["model_digest"], *groups]
                if type(n) is not int or n < 1 or not isinstance(groups, list) or len(groups) not in (0, n):
                    raise ValueError("groups and n do not fit")
                if not all(isinstance(text, str) for text in texts):
                    raise ValueError("a digest or a group is no text")
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise FileFormatError(
                f"'{_TASKS}' of the entries cannot be read ({error}). Delete it and make the leaderboard again."
            ) from None
        return {name: about for name, about in found.items() if name in TASKS}

    def entries(self) -> tuple[list[TrackEntry], list[str]]:
        """All entries about known tasks as they are now, and a line about each file that counts for nothing."""
        found, notes, known = [], [], self.tasks()
        for file in sorted(self.folder.glob("*/*.json")):
            called = f"{file.parent.name}/{file.stem}"
            try:
                one = TrackEntry.from_dict(read_json(file))
            except (OSError, ValueError) as error:
                notes.append(f"{called} is no entry: {error}")
                continue
            about = known.get(one.task)
            if (one.name, one.task) != (file.parent.name, file.stem) or about is None:
                notes.append(f"{called} is about something else than its name says")
            elif (one.task_digest, one.model_digest, one.n) != (
                about["digest"],
                about["model_digest"],
                about["n"],
            ):
                notes.append(f"{called} is about an earlier form of the task; judge it again")
            else:
                found.append(one)
        return found, notes

    @staticmethod
    def _write(place: Path, value: Mapping[str, Any]) -> None:
        lines = (f" {json.dumps(name)}: {json.dumps(one, allow_nan=False)}" for name, one in value.items())
        write_text(place, "{\n" + ",\n".join(lines) + "\n}\n")
