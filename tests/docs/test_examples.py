"""Every Python and shell example in the README, the guide and the docstrings runs as it is written."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

import wayforward

ROOT = Path(__file__).parents[2]
# CONTRIBUTING.md is run by test_contributing.py, contracts and all.
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
FENCE = re.compile(
    r"(<!-- skip: (?P<why>[^>]+) -->\n)?^```(?P<kind>\w+)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL
)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def blocks(page: Path) -> list[tuple[str, str, int]]:
    text = page.read_text(encoding="utf-8")
    return [
        (found["kind"], found["body"], text[: found.start()].count("\n") + 1)
        for found in FENCE.finditer(text)
        if not found["why"] and found["kind"] in ("python", "pycon", "sh")
    ]


def run_python(body: str, names: dict, page: Path, line: int) -> None:
    exec(compile("\n" * line + body, str(page), "exec", dont_inherit=True), names)


def run_session(body: str, names: dict, page: Path, line: int) -> None:
    example = doctest.DocTestParser().get_doctest(body, names, page.name, str(page), line)
    out: list[str] = []
    runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
    runner.run(example, out=out.append, clear_globs=False)
    names.update(example.globs)
    assert not runner.failures, "".join(out)


def run_shell(body: str, page: Path, line: int) -> None:
    from wayforward.cli.app import app

    for command in body.replace("\\\n", " ").splitlines():
        words = shlex.split(command, comments=True)
        if words[:1] != ["wayforward"]:
            continue  # make, pip and the like set up what these tests stand on
        got = CliRunner().invoke(app, words[1:])
        assert got.exit_code == 0, f"{page.name}:{line}: {command}\n{got.output}"


@pytest.mark.filterwarnings("ignore::wayforward.schema.SchemaWarning")  # notes to a reader, not faults
@pytest.mark.parametrize(
    "page", [p for p in PAGES if p.is_file() and blocks(p)], ids=lambda p: str(p.relative_to(ROOT))
)
def test_the_examples_of_a_page_run_in_order(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict = {"__name__": "__example__"}
    for kind, body, line in blocks(page):
        if kind == "python":
            run_python(body, names, page, line)
        elif kind == "pycon":
            run_session(body, names, page, line)
        else:
            run_shell(body, page, line)


def modules() -> list[str]:
    found = pkgutil.walk_packages(wayforward.__path__, "wayforward.")
    return [m.name for m in found if not m.name.split(".")[-1].startswith("__main")]


@pytest.mark.parametrize("name", modules())
def test_the_examples_in_the_docstrings_of_a_module_run(name: str) -> None:
    failed, _ = doctest.testmod(importlib.import_module(name), optionflags=FLAGS)
    assert not failed
