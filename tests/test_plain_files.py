"""One reader of YAML and JSON that is strict, one writer that leaves no half of a file."""

from __future__ import annotations

import os

import pytest

from wayforward.errors import FileFormatError
from wayforward.plain_files import dump_yaml, parse_yaml, read_json, read_text, write_text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: [", "The plan is no valid YAML in line 1"),
        ("a: 1\nb: *x\n", "alias in line 2"),
        ("a: 1\nb: 2\na: 3\n", r"'a' twice \(line 3\)"),
        ("a: 1\nb: .inf\n", "number .inf in line 2"),
        ("- .nan\n", "number .nan in line 1"),
        ("a: 1.0e+999\n", "number 1.0e\\+999 in line 1"),
        ("a: !!python/object/apply:os.system ['true']\n", "no valid YAML in line 1"),
        ("a: " + "[" * 5000, "no valid YAML"),
        ("a: 2020-99-99\n", "cannot be read"),
        ("#" * 101, "101 characters; at most 100"),
    ],
)
def test_yaml_that_is_refused(text, words):
    with pytest.raises(FileFormatError, match=words):
        parse_yaml(text, "plan", most=100 if text[0] == "#" else 10_000)


def test_yaml_both_ways(tmp_path):
    data = {"b": [1, 2.5, None], "a": {"ü": "yes"}}
    text = dump_yaml(data, tmp_path / "plan.yaml")
    assert parse_yaml(text, "plan") == parse_yaml(read_text(tmp_path / "plan.yaml", "plan"), "plan") == data


def test_files_that_cannot_be_read(tmp_path):
    (tmp_path / "large.yaml").write_text("#" * 50)
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    for name, words in (
        ("none", "No such file.*Check the path"), ("large", "50 bytes"), ("binary", "not a text file")
    ):  # fmt: skip
        with pytest.raises(FileFormatError, match=f"'{name}.yaml' .*{words}"):
            read_text(tmp_path / f"{name}.yaml", "plan", most=12)


@pytest.mark.parametrize("text", ['{"a": NaN}', "[Infinity]", "{", "[" * 100_000])
def test_json_that_is_refused(tmp_path, text):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(ValueError):  # noqa: PT011, whatever the words: callers name the file
        read_json(tmp_path / "a.json")


def test_a_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    place, link = tmp_path / "a.txt", tmp_path / "link.txt"
    link.symlink_to(place)
    write_text(place, "old")
    place.chmod(0o600)
    write_text(link, "new")
    assert place.read_text() == "new" and link.is_symlink() and place.stat().st_mode & 0o777 == 0o600
    monkeypatch.setattr(
        "pathlib.Path.replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left"))
    )
    with pytest.raises(FileFormatError, match=r"'a.txt' cannot be written: No space left"):
        write_text(place, "newer")
    assert place.read_text() == "new" and sorted(os.listdir(tmp_path)) == ["a.txt", "link.txt"]


def test_a_place_that_there_is_not(tmp_path):
    with pytest.raises(FileFormatError, match=r"'a.txt' cannot be written: No such file"):
        write_text(tmp_path / "none" / "a.txt", "text")
