"""Outputs of all commands: at places of their own, never an input's, and one command at a time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from wayforward.cli import console
from wayforward.cli.app import app
from wayforward.cli.places import (
    USES,
    Use,
    apart,
    folder_beside,
    hold,
    is_path,
    own_files,
    require_own_files,
    require_parts,
    use_of,
)
from wayforward.cli.remote import remote_app
from wayforward.errors import FileFormatError, WriteError
from wayforward.plain_files import write_text, written

from .conftest import ASK, Shell


def commands(command: Any, name: str = "wayforward") -> Iterator[tuple[str, Any]]:
    """Every command below one, itself included, with its name as typed."""
    yield name, command
    for word, below in getattr(command, "commands", {}).items():
        yield from commands(below, f"{name} {word}")


def every() -> dict[str, Any]:
    found = dict(commands(typer.main.get_command(app)))
    found |= dict(commands(typer.main.get_command(remote_app()), "wayforward remote"))
    try:
        from wayforward_studies.commands import app as studies
    except ImportError:
        return found
    return found | {"wayforward replicate": typer.main.get_command(studies)}


EVERY = every()
OUTPUTS = {
    name: [p for p in one.params if use_of(p, name) not in (None, Use.READ)] for name, one in EVERY.items()
}
INPUTS = {name: [p for p in one.params if use_of(p, name) is Use.READ] for name, one in EVERY.items()}


def context(name: str, **given: Any) -> Any:
    one = EVERY[name]
    made = typer.Context(one, info_name=name)
    made.params = {p.name: given.get(p.name) for p in one.params}
    return made


def test_every_option_that_takes_a_path_has_a_use_of():
    """An option that is added names what it does with its file, or this test names the option."""
    unknown = {
        f"{name} --{p.name}"
        for name, one in EVERY.items()
        for p in one.params
        if is_path(p) and p.name not in USES and "remote" not in name  # there all but --out is read
    }
    assert not unknown
    used = {p.name for one in EVERY.values() for p in one.params}
    assert used >= set(USES)
    assert sum(map(len, OUTPUTS.values())) > 60


def test_every_command_holds_its_outputs():
    own = (console.Command, console.Commands)
    passed_on = ("wayforward remote", "wayforward replicate")
    assert {
        name for name, one in EVERY.items() if not isinstance(one, own) and name not in passed_on
    } == set()


@pytest.mark.parametrize("name", [name for name in EVERY if OUTPUTS[name]])
def test_no_two_outputs_at_one_place_and_none_at_an_input(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.json").write_text("mine")
    Path("link.json").symlink_to("a.json")
    os.link("a.json", "hard.json")
    Path("folder").mkdir()
    for i, output in enumerate(OUTPUTS[name]):
        for other in OUTPUTS[name][:i]:
            for place in ("./a.json", "link.json", "hard.json", "new.json"):
                first = "new.json" if place == "new.json" else "a.json"
                with pytest.raises(FileFormatError, match="both name") as told:
                    apart(context(name, **{output.name: place, other.name: first})).__enter__()
                assert all(
                    p.opts[0] in str(told.value) or p.name in str(told.value).lower() for p in (output, other)
                )
        for source in INPUTS[name]:
            for read in (
                "a.json",
                ["b.json", "a.json"] if source.multiple or source.nargs == -1 else "a.json",
            ):
                for place in ("a.json", "link.json", "hard.json"):
                    with pytest.raises(FileFormatError, match="reads: it would be overwritten"):
                        apart(context(name, **{output.name: place, source.name: read})).__enter__()
            if is_path(source):
                with pytest.raises(FileFormatError, match="in the folder 'folder'"):
                    apart(context(name, **{output.name: "folder/x.json", source.name: "folder"})).__enter__()
    assert Path("a.json").read_text() == "mine"
    assert {file.name for file in tmp_path.iterdir()} == {"a.json", "link.json", "hard.json", "folder"}


def test_a_folder_of_parts_that_its_command_takes_away_just_now_is_no_trouble(tmp_path, monkeypatch):
    """Another command that ended at this moment made this one end with a traceback."""
    folder = tmp_path / "a.json.parts"
    folder.mkdir()
    look = Path.iterdir

    def gone(self: Path) -> Iterator[Path]:
        folder.rmdir()
        return look(self)

    monkeypatch.setattr(Path, "iterdir", gone)
    require_parts(folder)
    assert not folder.exists()


@pytest.mark.parametrize("name", [name for name in EVERY if OUTPUTS[name]])
def test_one_command_at_a_time_writes_a_place(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for output in OUTPUTS[name]:
        with apart(context(name, **{output.name: "new.json"})):
            shared = use_of(output, name) is Use.SHARED
            for second in (output,) if shared else OUTPUTS[name]:
                if shared:
                    with apart(context(name, **{second.name: "new.json"})):
                        continue
                if use_of(second, name) is not Use.SHARED:
                    with pytest.raises(FileFormatError, match="Another command writes to 'new.json'"):
                        apart(context(name, **{second.name: "new.json"})).__enter__()
        assert not list(tmp_path.iterdir())


def test_a_lock_that_was_taken_away_meanwhile_is_none(tmp_path):
    """Whoever waited for the lock of a command that is done holds nothing that anybody else sees."""
    folder = tmp_path / "a.json.parts"
    held = hold(folder)
    won: list[int] = []

    def try_often() -> None:
        for _ in range(200):
            try:
                won.append(hold(folder))
            except FileFormatError:
                continue
            return

    other = threading.Thread(target=try_often)
    other.start()
    (folder / "lock").unlink()
    os.close(held)
    other.join()
    assert len(won) == 1
    with pytest.raises(FileFormatError, match="Another command"):
        hold(folder)
    os.close(won[0])


def test_commands_refuse_before_any_work(shell: Shell):
    before = {file.name: file.read_bytes() for file in shell.folder.iterdir()}
    for line in (
        f"{ASK} --out a.json --json a.json",
        f"{ASK} --people people.csv --csv people.csv",
        f"{ASK} --csv train.csv",
        f"{ASK} --n 3 --letters people.csv",
        f"{ASK} --n 3 --json schema.yaml",
        "audit --data loan --html a.html --csv a.html",
        "society loan --checkpoint a.npz --json a.npz",
        "bench --data loan --html a.html --json a.html",
        "schema infer train.csv --out train.csv",
    ):
        said = shell(line, code=2).output
        assert said.startswith("wayforward: --"), said
        assert {file.name: file.read_bytes() for file in shell.folder.iterdir()} == before


@pytest.mark.parametrize("option", ["--profile concave", "--form compact --out a.json", "--fresh"])
def test_an_option_that_says_nothing_here_is_told(shell: Shell, option: str):
    said = shell(f"{ASK} --n 3 {option}", code=2).output
    assert said.startswith("wayforward: --") and option.split()[0] in said and "eave" in said


def test_a_saved_answer_and_what_it_was_about_are_not_overwritten(shell: Shell):
    shell(f"{ASK} --n 3 --out b.json")
    kept = Path("b.json").read_bytes(), Path("train.csv").read_bytes()
    assert (
        "--json names 'b.json', which RECOURSE reads" in shell("evaluate b.json --json b.json", code=2).output
    )
    for line in ("evaluate b.json --json train.csv", "recheck b.json --csv train.csv"):
        assert "which the saved answer (--train) reads" in shell(line, code=2).output
    assert kept == (Path("b.json").read_bytes(), Path("train.csv").read_bytes())
    shell("evaluate b.json --json ok.json")
    shell("evaluate b.json --json ok.json")  # an output of before is replaced


def test_what_goes_on_in_its_own_file_still_does(shell: Shell):
    Path("my.yaml").write_text("data: loan\nmodel: lr\nrounds: 1\npeople: 60\nmeasure: 0\nworld: known\n")
    shell("society my.yaml --checkpoint my.npz --json a.json")
    shell("society my.yaml --checkpoint my.npz --json a.json --rounds 2")
    assert json.loads(Path("a.json").read_text())["scenario"]["rounds"] == 2


ODD = (".", "./", "..", "~", "/")


@pytest.mark.parametrize("name", [name for name in EVERY if OUTPUTS[name]])
def test_a_place_without_a_name_is_taken_or_told(name, tmp_path, monkeypatch):
    """'.' and '/' have no last part: whatever a command makes of them, it is no defect, and is called as typed."""
    here = tmp_path / "in" / "here"
    here.mkdir(parents=True)
    monkeypatch.chdir(here)
    for output in OUTPUTS[name]:
        for place in ODD:
            try:
                with apart(context(name, **{output.name: Path(place)})):
                    assert (
                        place != "/" and use_of(output, name) not in (Use.FILE, Use.GOES_ON) or place == "~"
                    )
                    assert folder_beside(Path(place)).name == Path(place).resolve().name + ".parts"
            except FileFormatError as told:
                assert place != "~" and f"'{Path(place)}'" in str(told) and "''" not in str(told)
    assert not list(here.iterdir())


@pytest.mark.parametrize("name", [name for name, one in EVERY.items() if isinstance(one, console.Command)])
def test_an_empty_path_is_not_the_current_folder(name):
    """As of a variable that is not set: `--out "$WHERE"`."""
    one = EVERY[name]
    for p in filter(is_path, one.params):
        before = [q for q in one.params[: one.params.index(p)] if not q.opts[0].startswith("-")]
        line = [p.opts[0], ""] if p.opts[0].startswith("-") else ["x"] * len(before) + [""]
        with pytest.raises(FileFormatError, match="is empty. Name a file or a folder"):
            one.parse_args(typer.Context(one, info_name=name), line)


def test_what_has_no_name_is_called_as_typed(shell: Shell):
    Path("here").mkdir()
    for line, said in (
        (f"{ASK} --n 3 --csv .", "'.' is a folder; name a file in it."),
        (f"{ASK} --preferences .", "There is no file '.'."),
        (f"{ASK} --n 3 --letters /", "--letters names '/', the root of the disk."),
        ("study new .", "'.' is there already."),
        ("study analyse .", "The folder '.' has no plans.csv"),
        ("society .", "There is no scenario '.'."),
        ("series --train . --favourable 1", "'.' ends in none of"),
        ("explain .", "There is no file '.'."),
        ("demo --out=", "--out is empty."),
    ):
        assert said in " ".join(shell(line, code=2).output.split()), line
    assert "--out is empty." in CliRunner().invoke(app, [*f"{ASK} --n 3 --out".split(), ""]).output


def test_letters_into_the_folder_where_one_is(shell: Shell):
    shell(f"{ASK} --people people.csv --n 3 --letters .")
    written = sorted(Path().glob("person-*.txt"))
    assert written and not list(shell.folder.parent.glob("*.parts"))
    shell(f"{ASK} --people people.csv --n 3 --letters ./")  # its own are written again
    written[0].write_text("and a word by hand")
    assert written[0].name in shell(f"{ASK} --people people.csv --n 3 --letters .", code=2).output
    assert written[0].read_text() == "and a word by hand"


def test_a_folder_of_several_files_takes_the_place_of_nobodys(shell: Shell):
    """A demo in the current folder destroyed files that are called as its own, with code 0."""
    for name in ("report.html", "participants.csv"):
        Path(name).write_text("my only copy")
    before = {file.name: file.read_bytes() for file in shell.folder.iterdir()}
    told = shell("demo --out . --n 3", code=2).output
    assert "'.' holds train.csv, schema.yaml, report.html, which would be overwritten" in " ".join(
        told.split()
    )
    told = shell("study rehearse car-loan --participants 2 --out .", code=2).output
    assert "'.' holds participants.csv, which" in told
    assert {file.name: file.read_bytes() for file in shell.folder.iterdir()} == before


def test_what_a_command_wrote_it_writes_again(tmp_path):
    out, names = tmp_path / "out", ("a.txt", "below/*.txt")

    def write(**content: str) -> None:
        with own_files(out, names):
            (out / "below").mkdir(exist_ok=True)
            for name, text in content.items():
                (out / name.replace("_", "/")).with_suffix(".txt").write_text(text)

    write(a="1", below_b="1")
    write(a="2")
    with pytest.raises(KeyError), own_files(out, names):  # what was begun is its own, too
        (out / "below" / "c.txt").write_text("1")
        raise KeyError
    write(a="3", below_b="2", below_c="2")
    (out / "mine.txt").write_text("in nobody's way")
    (out / "below" / "mine.txt").write_text("mine")
    with pytest.raises(FileFormatError, match=r"'out' holds below/mine.txt, which would be overwritten"):
        write(a="4")
    (out / "below" / "mine.txt").unlink()
    (out / "a.txt").unlink()
    (out / "a.txt").symlink_to(out / "mine.txt")
    with pytest.raises(FileFormatError, match=r"holds a.txt, which"):
        require_own_files(out, names)
    (out / "a.txt").unlink()
    (note,) = out.glob(".*")
    note.write_text("{}")
    with pytest.raises(FileFormatError, match=r"holds below/b.txt, below/c.txt, .written"):
        require_own_files(out, names)
    assert (out / "mine.txt").read_text() == "in nobody's way"


def test_what_a_killed_command_wrote_is_written_again(tmp_path):
    """Killed at any moment: with a file there, or told and not yet there; what somebody else put there is kept."""
    out, names = tmp_path / "out", ("a.txt", "below/*.txt")

    def killed(at: str) -> None:
        child = os.fork()
        if not child:
            with own_files(out, names):
                (out / "below").mkdir(exist_ok=True)
                write_text(out / "a.txt", f"first {at}")
                with written(out / "below" / "b.txt") as half:
                    half.write_text("whole")
                    if at == "before":
                        os._exit(0)
                os._exit(0)
        assert os.waitpid(child, 0)[1] == 0

    for at in ("after", "before", "after"):
        killed(at)
        require_own_files(out, names)
    with (out / ".begun-by-wayforward").open("a") as file:
        file.write("half a li")
    with own_files(out, names):
        write_text(out / "a.txt", "second")
    assert [one.name for one in out.rglob(".*")] == [".written-by-wayforward.json"]
    killed("after")
    (out / "a.txt").write_text("somebody's")
    with pytest.raises(FileFormatError, match=r"'out' holds a.txt, which"):
        require_own_files(out, names)
    (out / ".begun-by-wayforward").unlink()
    (out / ".begun-by-wayforward").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileFormatError, match=r"'out' holds a.txt, .begun-by-wayforward, which"):
        require_own_files(out, names)


def test_what_a_killed_command_left_half_beside_its_output_does_not_stay(shell: Shell):
    """The plans of people in a hidden file that nothing took away."""
    left = [
        shell.folder / f".{name}" for name in ("n.e113f47a648d86fb.json", "my-table.v2.e113f47a648d86fb.csv")
    ]
    other = [
        shell.folder / f".{name}"
        for name in ("n.mine.json", "m.e113f47a648d86fb.json", "n.e113f47a648d86fb.csv")
    ]
    for file in left + other:
        file.write_text("half")
    shell(f"{ASK} --n 3 --json n.json --csv my-table.v2.csv")
    assert not any(file.exists() for file in left) and all(file.exists() for file in other)


def test_a_pipe_that_nobody_reads_is_told_before_the_work(tmp_path, monkeypatch):
    monkeypatch.setattr("wayforward.cli.places._PATIENCE", 0.1)
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    with pytest.raises(WriteError, match="nobody reads"):
        apart(context("wayforward methods", json="pipe")).__enter__()


def test_the_output_by_its_name_in_a_pipe(tmp_path):
    """/dev/stdout is '-': the numbers and nothing else, and a table of people too where it is a pipe."""
    run = [sys.executable, "-m", "wayforward", "methods", "--json", "/dev/stdout"]
    got = subprocess.run(run, cwd=tmp_path, capture_output=True, check=True)
    assert len(json.loads(got.stdout)) > 20
    code = "from wayforward.plain_files import write_text; write_text('/dev/stdout', 'all of it')"
    got = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, check=True)
    assert got.stdout == b"all of it"


def test_too_little_memory_has_a_code_of_its_own(shell: Shell, monkeypatch):
    def eats(*_: Any, **__: Any) -> None:
        raise MemoryError

    monkeypatch.setattr("wayforward.data.user_tables.read_table", eats)
    assert "not enough memory" in shell("schema infer train.csv", code=5).output


def test_a_defect_is_not_told_as_done(monkeypatch, capsys):
    from wayforward.cli import DEFECT, main

    def fails(**_: Any) -> None:
        raise RuntimeError("unforeseen")

    monkeypatch.setattr("wayforward.cli.datasets.listing", lambda *_: fails())
    with pytest.raises(SystemExit) as left:
        main(["datasets"])
    assert left.value.code == DEFECT
    assert "unforeseen" in capsys.readouterr().err
