"""Every Python and shell example in the README, the guide and the docstrings runs, and prints what the page shows.

A transcript is a text block right after a Python block that prints last, or a comment behind a print: `# "Your ..."`;
both may leave out parts with three dots.
"""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import shlex
import sys
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
SHOWN = re.compile(r'^ *print\(.*\)  # "(?P<text>.+)"$')
# Of these commands, settings that make the same files of fewer people.
FEWER = {"demo": ["--n", "16"]}
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def blocks(page: Path) -> list[tuple[str, str, int, str]]:
    """Kind, text and line of each example, and the transcript that follows it, '' for none."""
    text = page.read_text(encoding="utf-8")
    found = [one for one in FENCE.finditer(text) if not one["why"]]
    out = []
    for i, one in enumerate(found):
        after = found[i + 1] if i + 1 < len(found) else None
        follows = (
            after is not None and after["kind"] == "text" and not text[one.end() : after.start()].strip()
        )
        prints = one["body"].rstrip().rpartition("\n")[2].startswith("print(")
        if one["kind"] in ("python", "pycon", "sh"):
            shown = after["body"] if after is not None and follows and prints else ""
            out.append((one["kind"], one["body"], text[: one.start()].count("\n") + 1, shown))
    return out


def alike(shown: str, printed: str) -> bool:
    """Return whether a transcript is what was printed, but for white space and what three dots stand for."""
    parts = (re.escape(" ".join(part.split())) for part in shown.split("..."))
    return re.fullmatch(".*".join(parts), " ".join(printed.split()), re.DOTALL) is not None


def run_python(body: str, names: dict, page: Path, line: int, shown: str = "") -> None:
    """Run a block; each print is compared with the comment behind it, the last one with the transcript."""
    printed: dict[int, str] = {}

    def record(*values: object, sep: str = " ", **_: object) -> None:
        printed[sys._getframe(1).f_lineno - line] = sep.join(map(str, values))

    names["print"] = record
    exec(compile("\n" * line + body, str(page), "exec", dont_inherit=True), names)
    del names["print"]
    for at, text in enumerate(body.splitlines(), start=1):
        comment = SHOWN.match(text)
        if comment:
            assert alike(f"...{comment['text']}...", printed[at]), (
                f"{page.name}:{line + at} prints\n{printed[at]}"
            )
    if shown:
        last = printed[max(printed)]
        assert alike(shown, last), f"{page.name}:{line}: what is printed is not what the page shows\n{last}"


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
        words += FEWER.get(words[1], [])
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
    for kind, body, line, shown in blocks(page):
        if kind == "python":
            run_python(body, names, page, line, shown)
        elif kind == "pycon":
            run_session(body, names, page, line)
        else:
            run_shell(body, page, line)


def test_a_transcript_that_is_not_true_is_seen() -> None:
    page = Path("page.md")
    run_python(
        'print("Your income now: 12 EUR. Could you raise this?")  # "income now: ... Could"\n', {}, page, 3
    )
    with pytest.raises(AssertionError, match="page.md:4 prints"):
        run_python('print("Your education now")  # "Your income now"\n', {}, page, 3)
    with pytest.raises(AssertionError, match="not what the page shows"):
        run_python("x = 1\nprint(x)\n", {}, page, 1, shown="2\n")


def modules() -> list[str]:
    found = pkgutil.walk_packages(wayforward.__path__, "wayforward.")
    return [m.name for m in found if not m.name.split(".")[-1].startswith("__main")]


@pytest.mark.parametrize("name", modules())
def test_the_examples_in_the_docstrings_of_a_module_run(name: str) -> None:
    module = importlib.import_module(name)
    source = Path(module.__file__).read_text(encoding="utf-8")
    if ">>>" in source:  # to look for examples in all modules takes longer than to run them
        failed, _ = doctest.testmod(module, optionflags=FLAGS)
        assert not failed
