"""Files are found where the user put them, checked before they are read, fetched only where they may be."""

from __future__ import annotations

import gzip
import hashlib
import shutil

import numpy as np
import pytest

import wayforward.data as datasets
from wayforward.data import files
from wayforward.data.files import ENV, OFFLINE, Files, Known
from wayforward.errors import DataError

CONTENT = b"a,b\n1,2\n"
TOY = {
    "toy/t.csv": Known(
        (hashlib.sha256(CONTENT).hexdigest(),), "https://example.org/toy", ("https://example.org/t.csv",)
    )
}


def toy_files(path=None):
    return Files("toy", path, TOY)


def all_known():
    """'folder/file' and what is known of it, of all data sets."""
    return [pair for entry in datasets.catalogue() for pair in entry.files.items()]


@pytest.fixture
def toy(monkeypatch, tmp_path):
    """A data set of one tiny file, and an empty cache."""
    monkeypatch.setattr(files, "cache_folder", lambda: tmp_path / "cache")
    monkeypatch.delenv(ENV, raising=False)
    work = tmp_path / "work" / "folder"
    work.mkdir(parents=True)
    monkeypatch.chdir(work)  # a checkout may have the data beside it
    return tmp_path


def test_a_folder_beside_the_checkout_is_looked_at(toy, monkeypatch):
    target = toy / "work/shared/data/toy/t.csv"
    target.parent.mkdir(parents=True)
    target.write_bytes(CONTENT)
    assert toy_files().read("toy/t.csv") == CONTENT


@pytest.mark.parametrize("place", ["toy/t.csv", "t.csv", "toy/t.csv.gz"])
def test_a_file_is_found_in_the_folder_that_the_environment_names(toy, monkeypatch, place):
    target = toy / "mine" / place
    target.parent.mkdir(parents=True)
    target.write_bytes(gzip.compress(CONTENT) if place.endswith("gz") else CONTENT)
    monkeypatch.setenv(ENV, f"{toy / 'elsewhere'}{files.os.pathsep}{toy / 'mine'}")
    assert toy_files().read("toy/t.csv") == CONTENT
    monkeypatch.delenv(ENV)
    assert toy_files(toy / "mine").read("toy/t.csv") == CONTENT
    assert toy_files(target).read("toy/t.csv") == CONTENT


def test_another_file_is_refused_with_both_checksums(toy):
    (toy / "t.csv").write_bytes(CONTENT + b"3,4\n")
    with pytest.raises(DataError, match=r"'t.csv' of the data set 'toy'.*is not the one we know") as caught:
        toy_files(toy).read("toy/t.csv")
    message = str(caught.value)
    assert hashlib.sha256(CONTENT + b"3,4\n").hexdigest() in message
    assert hashlib.sha256(CONTENT).hexdigest() in message and "https://example.org/toy" in message


def test_a_broken_archive_is_refused(toy):
    (toy / "t.csv.gz").write_bytes(gzip.compress(CONTENT)[:-6])
    with pytest.raises(DataError, match="cannot be read.*fresh copy"):
        toy_files(toy).read("toy/t.csv")


def test_offline_says_where_it_looked_and_what_to_do(toy, monkeypatch):
    monkeypatch.setenv(ENV, str(toy / "mine"))
    with pytest.raises(DataError) as caught:
        toy_files().read("toy/t.csv")
    message = str(caught.value)
    for part in (
        "'toy'",
        "'t.csv'",
        str(toy / "mine"),
        str(toy / "cache"),
        OFFLINE,
        ENV,
        "https://example.org/toy",
    ):
        assert part in message


def test_a_path_is_never_replaced_by_a_download(toy, monkeypatch):
    monkeypatch.delenv(OFFLINE)
    with pytest.raises(DataError, match="a path was given, so nothing was downloaded"):
        toy_files(toy / "nowhere").read("toy/t.csv")


def test_a_download_is_kept_and_checked(toy, monkeypatch):
    pooch = pytest.importorskip("pooch")
    monkeypatch.delenv(OFFLINE)
    asked = []

    def retrieve(url, known_hash, fname, path):
        asked.append((url, known_hash))
        path.mkdir(parents=True)
        (path / fname).write_bytes(CONTENT)
        return str(path / fname)

    monkeypatch.setattr(pooch, "retrieve", retrieve)
    assert toy_files().read("toy/t.csv") == CONTENT
    assert toy_files().read("toy/t.csv") == CONTENT
    sha256 = hashlib.sha256(CONTENT).hexdigest()
    assert asked == [("https://example.org/t.csv", f"sha256:{sha256}")], (
        "fetched once, then read from the cache"
    )


def test_a_download_that_fails_is_one_clear_error(toy, monkeypatch):
    pooch = pytest.importorskip("pooch")
    monkeypatch.delenv(OFFLINE)

    def retrieve(url, known_hash, fname, path):
        raise ConnectionError("no route")

    monkeypatch.setattr(pooch, "retrieve", retrieve)
    with pytest.raises(
        DataError, match=r"a download failed: ConnectionError at example.org.*WAYFORWARD_DATA"
    ):
        toy_files().read("toy/t.csv")


def test_terms_that_forbid_a_download_are_kept(toy, monkeypatch):
    monkeypatch.delenv(OFFLINE)
    with pytest.raises(DataError, match=r"leave the download to you.*kaggle"):
        datasets.load("gmsc")
    for key, known in all_known():
        if key.startswith(("gmsc", "law")):
            assert not known.urls


def test_every_known_file_is_the_one_in_the_folder(raw_folder):
    for key, known in all_known():
        content = Files(key.split("/")[0], raw_folder, {key: known}).read(key)
        assert hashlib.sha256(content).hexdigest() in known.sha256


def test_loan_needs_no_file_and_other_sets_say_whether_they_are_here(toy):
    assert datasets.available("loan") and datasets.load("loan").n == 10_000
    assert not datasets.available("adult")


def test_a_set_of_two_files_is_read_from_a_folder(raw_folder, tmp_path):
    for name in ("adult.data.gz", "adult.test.gz"):
        shutil.copy(raw_folder / "adult" / name, tmp_path / name)
    assert datasets.load("adult", path=tmp_path).n == 45_222
    assert datasets.load("adult", path=tmp_path / "adult.data.gz").n == 45_222


def test_columns_that_stand_twice_must_agree():
    same = files.columns_of([["1", "x", "1"], ["2", "y", "2"]], ["a", "b", "a"])
    assert list(same) == ["a", "b"]
    with pytest.raises(DataError, match="'a' is there twice with different values"):
        files.columns_of([["1", "x", "3"]], ["a", "b", "a"])


def test_numbers_and_levels_from_text():
    column = np.array(["1", "", "NA", "2.5"], dtype=object)
    np.testing.assert_array_equal(files.numbers(column), [1, np.nan, np.nan, 2.5])
    assert files.whole(np.array(["3", "", "4.0"], dtype=object)) == [3, None, 4]
