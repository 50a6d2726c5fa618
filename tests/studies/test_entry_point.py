"""`wayforward replicate` where the studies are installed, and where they are not."""

from __future__ import annotations

import importlib.metadata

import pytest
from typer.testing import CliRunner, Result

from wayforward.cli.app import app


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def test_the_command_is_listed() -> None:
    got = run("--help")
    assert got.exit_code == 0 and "replicate" in got.output


def test_help_is_that_of_the_studies() -> None:
    got = run("replicate", "--help")
    assert got.exit_code == 0
    assert all(
        word in got.output for word in ("icarma", "hare", "pear", "balanced", "study", "--render", "--table")
    )


def test_a_wrong_option_is_an_error() -> None:
    got = run("replicate", "hare", "--colour", "blue")
    assert got.exit_code == 2 and "No such option: --colour" in got.output


def test_an_unknown_paper_is_answered_with_those_that_are_known() -> None:
    got = run("replicate", "nobody")
    assert got.exit_code == 2
    assert (
        "There is no replication of 'nobody'. Known: icarma, hare, pear, balanced, study, mint, originals, machines."
        in got.output
    )


@pytest.mark.parametrize("arguments", [(), ("hare",), ("--help",), ("hare", "--table", "1")])
def test_without_the_studies_one_line_says_how_to_get_them(
    arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **_: ())
    got = run("replicate", *arguments)
    assert got.exit_code == 2
    (line,) = got.output.splitlines()
    assert "not installed" in line and "pip install ./studies" in line
