"""Store finished stages in a folder, so that the same command goes on where it stopped; time each stage."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Protocol
from zipfile import BadZipFile

import numpy as np

import wayforward
from wayforward.plain_files import written

Arrays = dict[str, np.ndarray]

_PACKAGE, _STUDIES = Path(wayforward.__file__).parent, Path(__file__).parent
_DOORS = ("answers", "cli", "testing")  # what is written there changes no number of a stage


class Tick(Protocol):
    """Tells how much of a stage is done."""

    def __call__(self, done: int) -> None:
        """`done` of the total are ready now."""


Show = Callable[[str, int], AbstractContextManager[Tick]]


@contextmanager
def quiet(what: str, total: int) -> Iterator[Tick]:
    """Progress that nobody looks at."""
    yield lambda done: None


def fingerprint(*things: Any) -> str:
    """Sixteen digits that change with any of the things: plain data and arrays."""
    digest = hashlib.sha256()
    for thing in things:
        if isinstance(thing, np.ndarray):
            digest.update(str(thing.shape).encode() + np.ascontiguousarray(thing).tobytes())
        else:
            digest.update(json.dumps(thing, sort_keys=True, default=str).encode())
        digest.update(b"\0")
    return digest.hexdigest()[:16]


@cache
def code_version(own: tuple[str, ...] = (), package: Path = _PACKAGE, studies: Path = _STUDIES) -> str:
    """Sixteen digits of the package's source, read once a process: results of other code are not taken for this one's.

    own: the modules in `studies` that decide as well, such as 'hare/study.py'; those that write pages do not.
    Raises: FileNotFoundError for a module that is not there.
    """
    found = {file.relative_to(package).as_posix(): file for file in package.rglob("*.py")}
    files = {name: file for name, file in found.items() if name.split("/")[0] not in _DOORS}
    files |= {f"studies/{name}": studies / name for name in own}
    digest = hashlib.sha256()
    for name, file in sorted(files.items()):
        digest.update(name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


@dataclass
class Checkpoints:
    """The folder of finished stages; None stores nothing. seconds: the work of each stage that was used.

    own: modules in the studies that decide, see `code_version`. A stage is made again once code that decides changed.
    """

    folder: Path | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    own: tuple[str, ...] = ()

    def arrays(self, name: str, decides: Any, make: Callable[[], Mapping[str, np.ndarray]]) -> Arrays:
        """Return what `make` gives, from the folder where it is there. decides: all that the result depends on.

        A file that cannot be read is made again. A file appears only when it is whole.
        """
        file = self.folder / f"{name}-{self._key(decides)}.npz" if self.folder else None
        if file is not None and file.exists():
            try:
                with file.open("rb") as opened, np.load(opened, allow_pickle=False) as stored:
                    got = {key: stored[key] for key in stored.files}
                self.seconds[name] = float(got.pop("seconds"))
                return got
            except (OSError, ValueError, KeyError, BadZipFile, NotImplementedError):
                pass
        started = time.perf_counter()
        got = {key: np.asarray(value) for key, value in make().items()}
        self.seconds[name] = time.perf_counter() - started
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            with written(file) as half:
                np.savez_compressed(half, seconds=np.array(self.seconds[name]), **got)
        return got

    def numbers(self, name: str, decides: Any, make: Callable[[], Mapping[str, float]]) -> dict[str, float]:
        """As `arrays`, of single numbers."""
        got = self.arrays(name, decides, lambda: {key: np.array(value) for key, value in make().items()})
        return {key: float(value) for key, value in got.items()}

    def file(self, name: str, decides: Any, ending: str) -> Path | None:
        """Where a stage that writes its own file should put it; None: nowhere."""
        if self.folder is None:
            return None
        self.folder.mkdir(parents=True, exist_ok=True)
        return self.folder / f"{name}-{self._key(decides)}{ending}"

    def _key(self, decides: Any) -> str:
        return fingerprint(code_version(self.own), decides)
