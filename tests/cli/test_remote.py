"""`wayforward remote`: every act of the client is a command, and asks the server for the same."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import UnionType
from typing import Any, get_args

import pytest
import typer

from wayforward.cli.remote import remote_app
from wayforward.serve.client import Client

ACTS = {name: act for name, act in inspect.getmembers(Client, inspect.isfunction) if not name.startswith("_")}
ROWS = [{"age": 30, "home": "rent", "debt": None}, {"age": 61, "home": "own", "debt": 2.5}]


@pytest.fixture
def asked(monkeypatch):
    """What is sent, in place of sending it."""
    sent: list[Any] = []

    def ask(self, *what, **more):
        sent.append((self.url, self.key, self.language, what, more))
        return [] if what[1].endswith("/codes") else {"text": "words", "token": "t", "ed25519": "k"}

    monkeypatch.setattr(Client, "_ask", ask)
    return sent


@pytest.fixture(scope="module")
def command():
    return typer.main.get_command(remote_app())


EXAMPLES: dict[Any, Any] = {
    str: "some words", bool: True, int: 3, float: 0.5, Any: "by March", Sequence[str]: ["a", "b"],
    Mapping[str, Any]: {"home": False, "debt": {"high": 20}}, Sequence[float | None]: [1.5, None],
    Sequence[Sequence[str]]: [["1"], ["x"]], Sequence[Mapping[str, Any]]: ROWS,
}  # fmt: skip


def _example(hint: Any, folder: Path) -> tuple[Any, list[str]]:
    """A value of a kind, and what stands for it at a shell."""
    kinds = (
        [kind for kind in get_args(hint) if kind is not type(None)] if isinstance(hint, UnionType) else [hint]
    )
    if Path in kinds:
        file = folder / "file.yaml"
        file.write_text("a: 1\n")
        return file, [str(file)]
    value = EXAMPLES[kinds[-1]]
    if value is ROWS:
        table = folder / "people.csv"
        table.write_text("age,home,debt\n30,rent,\n61,own,2.5\n")
        return ROWS, [str(table)]
    if kinds == [Sequence[str]]:
        return value, value
    return value, [json.dumps(value) if isinstance(value, list | dict) else str(value)]


def test_every_act_is_a_command(command):
    assert set(command.commands) == {name.replace("_", "-") for name in ACTS} and len(ACTS) > 60
    assert all(
        command.commands[name.replace("_", "-")].help == inspect.getdoc(act) for name, act in ACTS.items()
    )


@pytest.mark.parametrize("name", ACTS)
def test_a_command_asks_what_the_method_asks(name, command, asked, tmp_path, monkeypatch):
    monkeypatch.setenv("WAYFORWARD_TOKEN", "of-the-environment")
    given, places, options = {}, [], []
    for one in list(inspect.signature(ACTS[name], eval_str=True).parameters.values())[1:]:
        value, words = _example(one.annotation, tmp_path)
        given[one.name] = value
        if one.name == "password":
            monkeypatch.setenv("WAYFORWARD_PASSWORD", value)
        elif one.default is one.empty and one.kind is not one.KEYWORD_ONLY:
            places += words
        elif value is True:
            options.append(f"--{one.name.replace('_', '-')}")
        else:
            options += [part for word in words for part in (f"--{one.name.replace('_', '-')}", word)]
    line = ["--url", "http://here", "--language", "de", name.replace("_", "-"), *options, "--", *places]
    command.main(line, standalone_mode=False)
    getattr(Client("http://here", "of-the-environment", language="de"), name)(**given)
    assert len(asked) == 2 and asked[0] == asked[1]


def test_json_comes_from_a_file_and_what_is_none_is_refused(command, asked, tmp_path, capsys):
    (tmp_path / "limits.json").write_text('{"home": false}')
    command.main(["limits", f"@{tmp_path / 'limits.json'}", "--within", "6"], standalone_mode=False)
    body = asked[0][3][2]
    assert body["limits"] == {"home": False} and body["within"] == 6
    assert command.main(["limits", "{home: no}"], standalone_mode=False) == 2
    assert "limits is no JSON" in capsys.readouterr().err
    assert command.main(["--url", "plans.example.org", "case"], standalone_mode=False) == 2
    assert len(asked) == 1
