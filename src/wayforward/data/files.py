"""Find the raw files, check that they are the ones we know, and read them without any table library."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from wayforward.errors import DataError
from wayforward.plain_files import as_path
from wayforward.public import public

ENV = "WAYFORWARD_DATA"
OFFLINE = "WAYFORWARD_OFFLINE"


@public
@dataclass(frozen=True)
class Known:
    """A raw file that a data set reads: its sha256 (any of several), the addresses to fetch it from, its home page.

    The sha256 is that of the uncompressed content. urls is empty where the terms leave it to the user to
    fetch the file, or where the content was converted.
    """

    sha256: tuple[str, ...]
    page: str
    urls: tuple[str, ...] = ()


GITHUB = "https://raw.githubusercontent.com"
UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"


def cache_folder() -> Path:
    """Where fetched files are kept for this user."""
    import pooch

    return Path(pooch.os_cache("wayforward"))


@public
@dataclass(frozen=True)
class Files:
    """The raw files of one data set.

    path: a folder or a file that the user named, or None. known: 'folder/file' -> what is known of it.
    """

    name: str
    path: str | os.PathLike[str] | None = None
    known: Mapping[str, Known] = field(default_factory=dict)

    def folders(self) -> list[Path]:
        """Where to look, in order: the argument, the environment, shared/data in or beside the working folder (where
        a checkout has it), the user's cache. Whatever is found, its content is checked."""
        if self.path is not None:
            return [as_path(self.path).expanduser()]
        named = [Path(part).expanduser() for part in os.environ.get(ENV, "").split(os.pathsep) if part]
        here = Path.cwd()
        beside = [folder for folder in (here / "shared/data", here.parent / "shared/data") if folder.is_dir()]
        return [*named, *beside, cache_folder()]

    def find(self, key: str) -> Path | None:
        """The file for a key such as 'adult/adult.test', compressed or not; None where there is none."""
        short = key.split("/", 1)[1]
        plain = Path(key).name
        for folder in self.folders():
            if folder.is_file():
                if folder.name in (plain, plain + ".gz") or len(self.known) == 1:
                    return folder
                folder = folder.parent
            for part in (key, short, plain):
                for suffix in ("", ".gz"):
                    candidate = folder / (part + suffix)
                    if candidate.is_file():
                        return candidate
        return None

    def read(self, key: str) -> bytes:
        """The content of a raw file, unpacked and checked against its known sha256.

        Raises: DataError if it is not found and cannot be fetched, cannot be unpacked, or is another file.
        """
        found = self.find(key) or self._fetch(key)
        try:
            content = found.read_bytes()
            if content[:2] == b"\x1f\x8b":
                content = gzip.decompress(content)
        except (OSError, EOFError) as error:
            raise DataError(
                f"The file '{found.name}' of the data set '{self.name}' in {found.parent} cannot be read: "
                f"{error}. "
                "Replace it with a fresh copy."
            ) from error
        known = self.known[key]
        got = hashlib.sha256(content).hexdigest()
        if got not in known.sha256:
            raise DataError(
                f"The file '{found.name}' of the data set '{self.name}' in {found.parent} is not the one "
                "we know: "
                f"sha256 of its content is {got}, expected {' or '.join(known.sha256)}. "
                f"Replace it with the original from {known.page}."
            )
        return content

    def _fetch(self, key: str) -> Path:
        known = self.known[key]
        reason = "its terms or its form leave the download to you"
        if self.path is None and known.urls:
            if os.environ.get(OFFLINE):
                reason = f"{OFFLINE} forbids a download"
            else:
                target = cache_folder() / Path(key).parent
                for url in known.urls:
                    fetched, reason = _download(url, target, Path(key).name, known.sha256)
                    if fetched is not None:
                        return fetched
        elif self.path is not None:
            reason = "a path was given, so nothing was downloaded"
        looked = "; ".join(str(folder) for folder in self.folders())
        raise DataError(
            f"The data set '{self.name}' needs the file '{Path(key).name}', which is not in: {looked} "
            f"({reason}). "
            f"Put '{key}' (or '{key}.gz') into a folder and set {ENV} to that folder; the original is at "
            f"{known.page}."
        )


def _download(url: str, folder: Path, name: str, sha256: Sequence[str]) -> tuple[Path | None, str]:
    """Fetch one file into the cache, or say why not."""
    import pooch

    why = ""
    for known in reversed(sha256):  # the published form last in the registry is the one on the web
        try:
            return Path(pooch.retrieve(url, f"sha256:{known}", fname=name, path=folder)), ""
        except (
            Exception
        ) as error:  # no network, a moved file, another content: the next address, then an error
            why = f"a download failed: {type(error).__name__} at {url.split('/')[2]}"
            if not isinstance(error, ValueError):
                break
    return None, why


# -- reading ----------------------------------------------------------------------------------------------


def rows_of(content: bytes, *, delimiter: str = ",", space: bool = False) -> list[list[str]]:
    """Lines of fields; empty lines are left out. `space`: blanks after a delimiter do not count."""
    text = io.StringIO(content.decode("utf-8-sig"), newline="")
    return [row for row in csv.reader(text, delimiter=delimiter, skipinitialspace=space) if row]


def columns_of(rows: list[list[str]], names: Sequence[str]) -> dict[str, np.ndarray]:
    """Fields -> text columns. A name that stands twice keeps its first column (the copies were compared)."""
    columns: dict[str, np.ndarray] = {}
    for name, values in zip(names, zip(*rows, strict=True), strict=True):
        if name not in columns:
            columns[name] = np.array(values, dtype=object)
        elif not np.array_equal(columns[name], np.array(values, dtype=object)):
            raise DataError(
                f"The column '{name}' is there twice with different values. Use the original file."
            )
    return columns


def numbers(column: np.ndarray, missing: Sequence[str] = ("", "NA", "?")) -> np.ndarray:
    """Text -> float64, NaN for a text that means missing."""
    gone = np.isin(column.astype(str), missing)
    return np.where(gone, "nan", column).astype(np.float64)


def whole(column: np.ndarray) -> list[int | None]:
    """Text or numbers -> Python ints for level look-ups, None where missing."""
    values = numbers(column) if column.dtype == object else column
    return [None if value != value else int(value) for value in values.tolist()]
