"""A dialogue at the shell: with a script or a keyboard, put away and taken up again; mistakes end in one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from wayforward.cli.app import app

from .conftest import Shell

ASK = (
    "dialogue --train train.csv --label y --favourable 1 --schema schema.yaml --model lr --people people.csv"
)
ASK += " --elicitor none --person"


def refused(shell: Shell) -> int:
    """The number of somebody with a plan."""
    shell(f"{ASK.replace('dialogue', 'recommend').replace(' --elicitor none --person', '')} --csv all.csv")
    return next(int(row["person"]) for row in shell.rows("all.csv") if row["outcome"] == "FOUND")


def typed(line: str, keys: str, code: int = 0) -> str:
    got = CliRunner().invoke(app, line.split(), input=keys)
    assert got.exit_code == code, f"{got.output}\n{got.exception!r}"
    return got.output


def test_a_script_of_replies_ends_with_a_plan(shell: Shell):
    i = refused(shell)
    Path("said.txt").write_text("# income, savings, housing\nno\nyes\n\nno\nyes\n")
    got = shell(f"{ASK} {i} --replies said.txt --json out.json --report talk.txt")
    out = json.loads(Path("out.json").read_text())
    assert out["ended"] == "accepted" and out["person"] == i and out["answered"] == 4
    assert set(out["action"]) == {"savings"}
    assert out["told"] == ["You cannot change your income, or your housing."]
    assert "This is your plan" in got.output and "Question 1 (at most" in got.output
    talk = Path("talk.txt").read_text()
    assert talk.count("You said:") == 4 and "Raise your savings" in talk


def test_replies_from_the_input_are_answered_one_at_a_time(shell: Shell, monkeypatch: pytest.MonkeyPatch):
    """Whoever writes into a pipe sees the next question before the next reply."""
    from wayforward.cli import dialogue

    written = iter(["# limits\n", "no\n", "\n"])
    monkeypatch.setattr(dialogue.sys, "stdin", written)
    lines = dialogue._lines(Path("-"))
    assert lines is not None and next(lines) == "no" and list(written) == ["\n"]


def test_keys_at_a_terminal(shell: Shell):
    i = refused(shell)
    out = typed(f"{ASK} {i}", "h\nperhabs\n2\nu\n?\ny\nx housing\nno\ns\n")
    assert "take back the last answer" in out  # help
    assert "'perhabs' is none of the answers. Type a number from 1 to 3." in out
    assert out.count("Question 1 ") == 2 and "We stop here." in out
    assert "You cannot change your housing." in out


def test_all_of_it_in_german(shell: Shell):
    """Prompts, help and mistakes, and the keys as people call them; the state goes on in English."""
    pytest.importorskip("babel")
    i = refused(shell)
    out = typed(
        f"{ASK} {i} --language de --state s.json", "hilfe\nvieleicht so\nnein\nzurück\n?\nja\nweglegen\n"
    )
    assert "Die Antwort war vorerst Nein." in out and "x Arbeitszeit        das kann ich nicht" in out
    assert "„vieleicht so“ ist keine der Antworten. Geben Sie eine Zahl von 1 bis 3 ein." in out
    assert out.count("Frage 1 (danach höchstens") == 2 and "Weggelegt. Derselbe Befehl macht weiter" in out
    assert not {"Question", "Your", "Could", "answer"} & set(out.split())
    out = typed(f"{ASK} {i} --state s.json", "no\ns\n")
    assert "We go on where you stopped." in out and "We stop here." in out and "Frage" not in out
    assert "there is no language 'fr'" in shell(f"{ASK} {i} --language fr", code=2).output.lower()


def test_the_last_answer_is_taken_back_after_the_end(shell: Shell):
    i = refused(shell)
    out = typed(f"{ASK} {i} --state s.json", "no\nyes\nno\nyes\nu\ns\n")
    assert out.count("This is your plan") == 1 and out.count("We stop here.") == 1
    assert out.count("u: take back the last answer") == 2  # asked at both ends
    assert [entry["said"] for entry in json.loads(Path("s.json").read_text())["log"]][-1] == "Stop here."
    out = typed(f"{ASK} {i} --state s.json", "u\nyes\n")
    assert "We stop here." in out and "This is your plan" in out


def test_put_away_and_taken_up_again(shell: Shell):
    i = refused(shell)
    out = typed(f"{ASK} {i} --state s.json", "no\nq\n")
    assert "Put away. The same command goes on (s.json)." in out
    assert len(json.loads(Path("s.json").read_text())["log"]) == 1
    out = typed(f"{ASK} {i} --state s.json", "yes\n")  # the input ends in the middle
    assert "We go on where you stopped." in out and "Question 2" in out
    out = typed(f"{ASK} {i} --state s.json --replies - --json -", "no\nyes\n")
    assert json.loads(out)["ended"] == "accepted" and json.loads(out)["answered"] == 4
    assert "Nothing was kept" in typed(f"{ASK} {i}", "q\n")


def test_a_script_goes_on_with_the_reply_that_comes_next(shell: Shell):
    i = refused(shell)
    typed(f"{ASK} {i} --state s.json", "no\nno\nu\nq\n")
    Path("said.txt").write_text("no\nno\nu\nyes\nno\nyes\n")  # the same, and more
    out = typed(f"{ASK} {i} --state s.json --replies said.txt --json -", "")
    assert json.loads(out)["ended"] == "accepted" and json.loads(out)["answered"] == 4
    assert json.loads(out)["told"] == ["You cannot change your income, or your housing."]


def test_a_page_of_which_a_part_is_not_read_goes_on_at_a_keyboard_and_ends_a_script(shell: Shell):
    i, page = refused(shell), "--questionnaire page --state s.json"
    out = typed(f"{ASK} {i} {page} --replies -", "1, Whatsit\nnone\n", code=2)
    assert "'Whatsit' is not read" in out and json.loads(Path("s.json").read_text())["log"] == []
    out = typed(f"{ASK} {i} {page}", "1, Whatsit\nnone\nq\n")
    assert "'Whatsit' is not read" in out and "Question 2 " in out and "Question 3 " in out
    assert len(json.loads(Path("s.json").read_text())["log"]) == 2


def test_another_model_needs_to_be_said(shell: Shell):
    i = refused(shell)
    typed(f"{ASK} {i} --state s.json", "no\nyes\nyes\nq\n")
    other = f"{ASK} {i} --state s.json --model rf".replace("--model lr ", "")
    assert "the model (it answers differently" in typed(other, "", code=2)
    assert "was changed in the meantime" in typed(f"{other} --go-on", "q\n")


def test_everything_impossible_is_an_answer_with_exit_code_1(shell: Shell):
    i = refused(shell)
    out = typed(f"{ASK} {i}", "no\nno\nno\nno\n", code=1)
    assert "What would have to give" in out and "You can ask for a person to look at your case." in out


WRONG = {
    "a person nobody is": ("999", "", "--person: There is no person 999"),
    "a way of asking nobody knows": ("{i} --elicitor mind-reader", "", "no elicitor 'mind-reader'"),
    "a questionnaire nobody knows": ("{i} --questionnaire riddles", "", "no questionnaire 'riddles'"),
    "a reply in a script": ("{i} --replies -", "perhabs\n", "'perhabs' is none of the answers"),
    "a script that is not there": ("{i} --replies gone.txt", "", "cannot be read as replies"),
    "a state that is none": ("{i} --state none.json", "", "cannot be read as a dialogue"),
    "somebody else's state": ("{other} --state s.json", "", "about somebody else than --person"),
    "taking back nothing": ("{i} --replies -", "u\n", "no answer to take back"),
}


@pytest.mark.parametrize("name", sorted(WRONG))
def test_a_mistake_ends_in_one_line(shell: Shell, name: str):
    i = refused(shell)
    typed(f"{ASK} {i} --state s.json", "no\nq\n")
    (shell.folder / "none.json").write_text("no state")
    line, keys, words = WRONG[name]
    got = typed(f"{ASK} {line.format(i=i, other=i + 1)}", keys, code=2)
    assert words in got and "Traceback" not in got
