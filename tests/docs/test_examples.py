"""Every Python and shell example in the README, the guide and the docstrings runs, and prints what the page shows.

A transcript is a text block right after a Python block that prints last, or a comment behind a print: `# "Your ..."`;
both may leave out parts with three dots.
"""

from __future__ import annotations

import doctest
import functools
import importlib
import json
import pkgutil
import re
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import wayforward
from wayforward.recourse import Recourse

ROOT = Path(__file__).parents[2]
# CONTRIBUTING.md is run by test_contributing.py, contracts and all.
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
FENCE = re.compile(
    r"(<!-- skip: (?P<why>[^>]+) -->\n)?^```(?P<kind>\w+)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL
)
SHOWN = re.compile(r'^ *print\(.*\)  # "(?P<text>.+)"$')
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


def shell(line: str) -> str:
    """Call `wayforward` and return what it says."""
    from wayforward.cli.app import app

    got = CliRunner().invoke(app, shlex.split(line, comments=True)[1:])
    assert got.exit_code == 0, f"{line}\n{got.output}\n{got.exception!r}"
    return got.output


def run_shell(body: str, demonstration: Callable[[], tuple[Path, str]]) -> None:
    for command in body.replace("\\\n", " ").splitlines():
        words = shlex.split(command, comments=True)
        if words[:1] != ["wayforward"]:
            continue  # make, pip and the like set up what these tests stand on
        if words[1:] == ["demo", "--out", "demo/"]:
            shutil.copytree(demonstration()[0], "demo", dirs_exist_ok=True)
        else:
            shell(command)


@pytest.fixture(scope="module")
def demonstration(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], tuple[Path, str]]:
    """The folder and the words of the README's first command, of fewer people: made once, when it is asked for."""

    @functools.cache
    def made() -> tuple[Path, str]:
        folder = tmp_path_factory.mktemp("demonstration")
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder)
            said = shell("wayforward demo --out demo/ --n 16")
        return folder / "demo", said

    return made


@pytest.mark.slow
def test_the_demo_tells_the_whole_story(demonstration, tmp_path, monkeypatch):
    out, said = demonstration()
    monkeypatch.chdir(tmp_path)
    shutil.copytree(out, "demo")
    out = Path("demo")
    noted = json.loads((out / ".written-by-wayforward.json").read_text())["sha256"]
    there = {file.relative_to(out).as_posix() for file in out.rglob("*") if file.is_file()}
    assert there - set(noted) == {".written-by-wayforward.json"}  # all else it may write again
    for name in ("report.html", "recourse.json", "options.csv", "summary.json", "schema.yaml", "world.yaml"):
        assert (out / name).stat().st_size > 200, name
    assert len(list((out / "letters").glob("person-*.txt"))) == 3
    # and one for each of the three who state their limits
    assert len(list((out / "letters").glob("*.txt"))) == 6
    assert (
        "- You cannot change your education, your income, or your savings."
        in (out / "letters/ana.txt").read_text()
    )
    assert len(list((out / "figures").glob("*.svg"))) == 6
    assert "EUR" in said and "What you can do" in said
    told = (
        "".join(path.read_text() for path in (out / "letters").glob("person-*.txt"))
        + (out / "report.html").read_text()
    )
    for words in (
        "Plan 1 (least effort)",
        "Plan 2 (made to last)",
        "Option 2 (made to last",
        "renewed models said yes to this plan",
    ):
        assert words in told, words
    assert json.loads((out / "summary.json").read_text())["usable"] == 1.0
    answers = Recourse.load(out / "recourse.json")
    assert answers.changed[:, :, answers.schema.index("loan_duration")].any()
    shell("wayforward evaluate demo/recourse.json --metrics headline --json again.json")
    assert json.loads(Path("again.json").read_text())["refuted"] == 0
    page = (out / "report.html").read_text()
    for words in ("I cannot change my income.", "Without causes", "With causes", "What would really happen."):
        assert words in page and (words in said or words.startswith("What")), words
    assert [row["asked"] for row in json.loads((out / "summary.json").read_text())["limits"]] == [16, 16, 16]
    shell(
        "wayforward recommend --train demo/train.csv --label granted --favourable 1 --schema demo/schema.yaml "
        "--model gb --world demo/world.yaml --people demo/three.csv --preferences demo/wishes.csv --out three.json"
    )
    three = Recourse.load("three.json")
    ana, income = three[0], three.schema.index("income")
    assert np.isnan(ana.action[0, :, income]).all() and three.found[:, 0].all()


@pytest.mark.filterwarnings("ignore::wayforward.schema.SchemaWarning")  # notes to a reader, not faults
@pytest.mark.parametrize(
    "page", [p for p in PAGES if p.is_file() and blocks(p)], ids=lambda p: str(p.relative_to(ROOT))
)
def test_the_examples_of_a_page_run_in_order(
    page: Path, demonstration: Callable[[], tuple[Path, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict = {"__name__": "__example__"}
    for kind, body, line, shown in blocks(page):
        if kind == "python":
            run_python(body, names, page, line, shown)
        elif kind == "pycon":
            run_session(body, names, page, line)
        else:
            run_shell(body, demonstration)


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
