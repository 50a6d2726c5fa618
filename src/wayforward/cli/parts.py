"""Long work in parts: what is finished is kept beside the output, and the same command goes on from there.

A person's answer does not depend on who else is in the batch, so parts of any size give what one run gives.
Each part is a recourse file; the manifest holds a hash of everything that decides the answers. If the hash
differs, the parts belong to another question and are thrown away.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

import numpy as np

from wayforward.cli.console import plain, write_text
from wayforward.cli.places import LOCK, OURS, hold, is_held
from wayforward.errors import FileFormatError
from wayforward.recourse import Recourse

_FORMAT = "wayforward.parts/1"


def fingerprint(*things: Any) -> str:
    """A hash of arrays, bytes, texts and JSON-like settings, in this order."""
    digest = hashlib.sha256()
    for thing in things:
        if isinstance(thing, np.ndarray):
            digest.update(str(thing.shape).encode() + np.ascontiguousarray(thing).tobytes())
        elif isinstance(thing, bytes):
            digest.update(thing)
        else:
            digest.update(json.dumps(plain(thing), sort_keys=True).encode())
        digest.update(b"\0")
    return digest.hexdigest()


class Parts:
    """The folder of finished parts of one question. `None` as folder stores nothing."""

    def __init__(self, folder: Path | None, key: str, size: int) -> None:
        self.folder, self.key, self.size = folder, key, size
        self._held: int | None = None
        if folder is None:
            return
        self._held = None if is_held(folder) else hold(folder)
        if self._manifest() != self._wanted():
            _empty(folder)
            write_text(folder / "manifest.json", json.dumps(self._wanted(), indent=2))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._held is not None:
            os.close(self._held)
            self._held = None

    def _wanted(self) -> dict[str, Any]:
        return {"format": _FORMAT, "question": self.key, "people_a_part": self.size}

    def _manifest(self) -> Any:
        try:
            return (
                json.loads((self.folder / "manifest.json").read_text(encoding="utf-8"))
                if self.folder
                else None
            )
        except (OSError, ValueError, RecursionError):
            return None

    def _file(self, start: int) -> Path | None:
        ending = "parquet" if find_spec("pyarrow") else "json"  # quicker for many people, the same values
        return None if self.folder is None else self.folder / f"people-{start:09d}.{ending}"

    def load(self, start: int, x: np.ndarray) -> Recourse | None:
        """Return the finished part that begins with person `start`, or None; a broken file is not finished."""
        file = self._file(start)
        if file is None or not file.is_file():
            return None
        try:
            part = Recourse.load(file)
        except FileFormatError:
            return None
        return part if np.array_equal(part.x, x, equal_nan=True) else None

    def save(self, start: int, part: Recourse) -> None:
        """Store a finished part; it appears under its name only when it is whole."""
        file = self._file(start)
        if file is not None:
            part.save(file)


def forget(folder: Path | None) -> None:
    """Delete the parts, once everything is written elsewhere."""
    if folder is not None:
        _empty(folder)
        with suppress(OSError):
            (folder / LOCK).unlink(missing_ok=True)
            folder.rmdir()


def _empty(folder: Path) -> None:
    """Delete the parts in a folder, and nothing else."""
    for file in [file for file in folder.iterdir() if OURS.fullmatch(file.name) and file.name != LOCK]:
        with suppress(OSError):
            file.unlink()


def in_parts(
    x: np.ndarray,
    answer: Callable[[np.ndarray, np.ndarray], Recourse],
    parts: Parts,
    progress: Callable[[int], None],
) -> tuple[Recourse, int]:
    """Answer people x (n, d) part by part: (the recourse of all, how many people came from stored parts).

    `answer(rows, who)` gets the rows of a part and their numbers.
    """
    done: list[Recourse] = []
    n_loaded = 0
    for start in range(0, len(x), parts.size):
        who = np.arange(start, min(start + parts.size, len(x)))
        part = parts.load(start, x[who])
        if part is None:
            part = answer(x[who], who)
            parts.save(start, part)
        else:
            n_loaded += len(who)
        done.append(part)
        progress(int(who[-1]) + 1)
    return Recourse.concat(done), n_loaded
