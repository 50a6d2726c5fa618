"""Where the raw files are: the folders of WAYFORWARD_DATA, else shared/data beside the repository."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import pytest

import wayforward.data as datasets
from wayforward.data.files import ENV, OFFLINE, Files

BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data"


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    """No test fetches anything."""
    monkeypatch.setenv(OFFLINE, "1")
    if not os.environ.get(ENV) and BESIDE.is_dir():
        monkeypatch.setenv(ENV, str(BESIDE))


@cache
def _read(name: str):
    return datasets.load(name)


@pytest.fixture
def read():
    """`load`, read once a run; skips where the raw files are not on this machine."""

    def get(name: str):
        table, _, words = name.partition(":")
        released = table == "loan" and words not in ("", "karimi")
        files = next(entry.files for entry in datasets.catalogue() if entry.name == table)
        if (table != "loan" or released) and any(Files(table).find(key) is None for key in files):
            pytest.skip(f"the raw files of {name} are not here; set {ENV} to the folder that holds them")
        return _read(name)

    return get


@pytest.fixture
def raw_folder():
    """The folder with the raw files, or a skip."""
    for folder in (*filter(None, os.environ.get(ENV, "").split(os.pathsep)), BESIDE):
        if (Path(folder) / "german").is_dir():
            return Path(folder)
    pytest.skip(f"the raw files are not here; set {ENV} to the folder that holds them")
