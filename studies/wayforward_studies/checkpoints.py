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
from typing import Any, Protocol, TypeVar

import numpy as np

import wayforward
from wayforward.plain_files import file_digest, make_folder, write_text, written

Arrays = dict[str, np.ndarray]
T = TypeVar("T")

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


def _digest(arrays: Mapping[str, np.ndarray]) -> str:
    return fingerprint(
        *(part for key in sorted(arrays) for part in (key, arrays[key].dtype.str, arrays[key]))
    )


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

        Made again is what cannot be read, and what is not what was stored. A file appears only when it is whole.
        """
        file = self.file(name, decides, ".npz")
        if file is not None and file.exists():
            try:
                with file.open("rb") as opened, np.load(opened, allow_pickle=False) as stored:
                    got = {key: stored[key] for key in stored.files}
                # NumPy looks at no checksum of a part whose last byte it has no need to read
                if str(got.pop("digest")) == _digest(got):
                    self.seconds[name] = float(got.pop("seconds"))
                    return got
            except Exception:  # whatever zip, zlib and NumPy raise over a damaged file
                pass
        started = time.perf_counter()
        got = {key: np.asarray(value) for key, value in make().items()}
        self.seconds[name] = time.perf_counter() - started
        if file is not None:
            kept = got | {"seconds": np.array(self.seconds[name])}
            with written(file) as half:
                np.savez_compressed(half, allow_pickle=False, digest=np.array(_digest(kept)), **kept)
        return got

    def numbers(self, name: str, decides: Any, make: Callable[[], Mapping[str, float]]) -> dict[str, float]:
        """As `arrays`, of single numbers."""
        got = self.arrays(name, decides, lambda: {key: np.array(value) for key, value in make().items()})
        return {key: float(value) for key, value in got.items()}

    def file(self, name: str, decides: Any, ending: str) -> Path | None:
        """Where a stage that writes its own file should put it; None: nowhere."""
        if self.folder is None:
            return None
        make_folder(self.folder)
        return self.folder / f"{name}-{self._key(decides)}{ending}"

    def model(
        self,
        name: str,
        decides: Any,
        *,
        read: Callable[[Path], T],
        make: Callable[[Path | None], T],
        write: Callable[[T, Path], object],
    ) -> T:
        """As `arrays`, of what has a file format of its own (.safetensors).

        read, write: the format. make: is given where it may store what it has done so far; None: nowhere. What was
        written has its digest in a file beside it, and is made again where that is another one.
        """
        file = self.file(name, decides, ".safetensors")
        if file is None:
            return make(None)
        seal, part = file.with_suffix(".sha256"), file.with_suffix(".part")
        if file.exists() and seal.exists() and seal.read_text("ascii", "replace") == file_digest(file):
            return read(file)
        made = make(part)
        with written(file) as half:
            write(made, half)
        write_text(seal, file_digest(file))
        part.unlink(missing_ok=True)
        return made

    def _key(self, decides: Any) -> str:
        return fingerprint(code_version(self.own), decides)
