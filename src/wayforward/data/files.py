"""Find the raw files, check that they are the ones we know, and read them without any table library."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from wayforward.errors import DataError

ENV = "WAYFORWARD_DATA"
OFFLINE = "WAYFORWARD_OFFLINE"


@dataclass(frozen=True)
class Known:
    """A raw file: its sha256 (any of several), the addresses to fetch it from, its home page.

    The sha256 is that of the uncompressed content. urls is empty where the terms leave it to the user to
    fetch the file, or where the content was converted.
    """

    sha256: tuple[str, ...]
    page: str
    urls: tuple[str, ...] = ()


_RAW = "https://raw.githubusercontent.com"
_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"
_CARMA = "https://github.com/ayanmaj92/carma-recourse (tensors, to be converted to .npz)"

KNOWN: dict[str, Known] = {
    "german/german.data": Known(
        ("b21f3d81db8071257d5ff1deaeba1fd4303b62712e6fcc9715c7a86202cb5871",),
        "https://doi.org/10.24432/C5NC77",
        (f"{_UCI}/statlog/german/german.data", f"{_RAW}/amirhk/mace/01e6a405/_data_other/uci_german.csv"),
    ),
    "adult/adult.data": Known(
        ("5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",),
        "https://doi.org/10.24432/C5XW20",
        (f"{_UCI}/adult/adult.data", f"{_RAW}/amirhk/mace/01e6a405/_data_main/adult.data"),
    ),
    "adult/adult.test": Known(
        ("a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",),
        "https://doi.org/10.24432/C5XW20",
        (f"{_UCI}/adult/adult.test", f"{_RAW}/amirhk/mace/01e6a405/_data_main/adult.test"),
    ),
    "compas/compas-scores-two-years.csv": Known(
        (
            "a5e5c34bfd2d1f065bb12a44c0323421baf74b98b97d585915a0c2e1513ecaba",  # personal columns removed
            "c451db85908b2f7fef1d83203bedf6b71ecda0d5af468d82ae62178f91d0cc7d",  # as published
        ),
        "https://github.com/propublica/compas-analysis",
        (f"{_RAW}/propublica/compas-analysis/bafff5da/compas-scores-two-years.csv",),
    ),
    "gmsc/cs-training.csv": Known(
        ("1bd46da486a5708c58c7b01a034fae2a13b327f6f7b62ea7ba4fe3b5824b24ac",),
        "https://www.kaggle.com/c/GiveMeSomeCredit/data (accept the competition rules there)",
    ),
    "law/law_data.csv": Known(
        ("cbf494af5e0ac317015cf64945a20587c08ec77118e183d3ddb0026719956d88",),
        "https://github.com/osu-srml/CF_Representation_Learning (data/law_data.csv, commit 8d9a9e50)",
    ),
    "law/bar_pass_prediction.csv": Known(
        ("76ebfdb0427ce8db038d53fa5943180ac77096bffb8264f000ed21e9f0ec82f2",),
        "https://github.com/TheRohanVerma/CMPUT622_FairSMOTE_vs_FairClassBal "
        "(data/bar_pass_prediction.csv, commit a895803f)",
    ),
    "default_credit/credit_card.csv": Known(
        ("4edce6da569b2c30788a85fd98a9bafb1a983e8ca1a7aac875dd7ff853cbd0bb",),
        "https://doi.org/10.24432/C55S3H",
        (f"{_RAW}/ofurman/counterfactuals/3587f943/data/credit_card.csv",),
    ),
    **{
        f"carma_loan/{part}.npz": Known((sha256,), _CARMA)
        for part, sha256 in {
            "causal_estimator/0_20000": "56538b0a19c258fb41396e346abe84dfe5fd277199ba33c58f2814f09f8bff16",
            "causal_estimator/1_2500": "1b9fcf0fadd47291a3f97215b681127a24fbd2f101c61f1e00894e0bd932d85c",
            "causal_estimator/2_2500": "08fd73e2f1575edf182cd9ca1684be8df1582059edce2df52ba1655257312579",
            "clf/0_10000": "e204c4189d66b17632f2333cc1c7d370fe148dadfe7a7cf2b9137fe014231029",
            "clf/1_5000": "bbc8882e924bd248ce0f3cec4180ec4f93fda913ffb12a47e2f8d35e3fd01f3d",
            "clf/2_5000": "f94218d4f69e6806e8912a20fa6d07d18ac4569870151ce015f808232ebc6f5c",
            "recourse/0_10000": "841cd52894b41d30a30544624df8802772c2564362d67912f4d27e800081d970",
            "recourse/1_5000": "c7c8ef99d6b646a3c5a7bc19bec9fd988a7aebd5f40221206835e3888348b57c",
            "recourse/2_5000": "d1e8bc52dc6645516653f7ed97012fa0f911f6bb7a84d6d3d043b4df17fb4534",
        }.items()
    },
}


def cache_folder() -> Path:
    """Where fetched files are kept for this user."""
    import pooch

    return Path(pooch.os_cache("wayforward"))


@dataclass(frozen=True)
class Files:
    """The raw files of one data set. `path`: a folder or a file that the user named, or None."""

    name: str
    path: str | os.PathLike[str] | None = None

    def folders(self) -> list[Path]:
        """Where to look, in order: the argument, the environment, shared/data in or beside the working folder (where
        a checkout has it), the user's cache. Whatever is found, its content is checked."""
        if self.path is not None:
            return [Path(self.path).expanduser()]
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
                if folder.name in (plain, plain + ".gz") or len(_files_of(key)) == 1:
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
        known = KNOWN[key]
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
        known = KNOWN[key]
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


def _files_of(key: str) -> list[str]:
    return [other for other in KNOWN if other.split("/")[0] == key.split("/")[0]]


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
