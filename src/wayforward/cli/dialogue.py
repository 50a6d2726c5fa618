"""The `dialogue` command: one person at a terminal, one question a screen, put away and taken up again."""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wayforward.answers import words
from wayforward.cli.console import room_for, say, tell, write_json, write_text
from wayforward.errors import DataError, DialogueError, FileFormatError, ReplyError, no_person
from wayforward.language import N_, gettext
from wayforward.people.dialogue.reply_parts import asks_meaning

if TYPE_CHECKING:
    from wayforward.cli.inputs import Inputs
    from wayforward.people.dialogue import Dialogue
    from wayforward.people.dialogue.question import Question

_INTRO = (
    N_("The answer was no for now. Together we look for a plan that turns it into a yes and that suits you."),
    N_("First we ask what you can change. Then you choose between plans. You can stop whenever you like."),
)
_HELP = (  # what to type, and what it means; '' where it needs no words
    ("1, 2, ...", N_("the answer with this number (or type its words)")),
    ("?", N_("I cannot say")),
    (N_("x working time"), N_("I cannot do this (name the thing)")),
    (N_("working time up to 45"), N_("I can, but only so far (also: down to 30, only to 25%)")),
    (N_("at most 2 changes"), N_("no plan with more things to change")),
    (N_("within 6 months"), N_("no plan that takes longer (also: by March)")),
    (N_("savings: very hard"), N_("how hard it would be: very easy, easy, hard, very hard")),
    (N_("take 2"), N_("this plan is good enough")),
    (N_("keep 2"), N_("mark this plan, to see it again at the end")),
    (N_("what does that mean?"), ""),
    ("u", N_("take back the last answer")),
    ("s", N_("stop here, with the best plan so far")),
    ("q", N_("put it away and go on another time (with --state FILE)")),
)
_UNDO, _ASK_HELP, _QUIT = (
    ("u", "undo", "zurück", "zurueck"),
    ("h", "help", "hilfe"),
    ("q", "quit", "weglegen"),
)


def _help() -> str:
    lines = [(gettext(key), gettext(text)) for key, text in _HELP]
    shown = (f"  {key:<20} {text}" if len(key) <= 20 else f"  {key}    {text}" for key, text in lines)
    return "".join(line.rstrip() + "\n" for line in shown)


def hold(
    question: Inputs, person: int, *, elicitor: str, base: str | None, questionnaire: str, questions: int | None,
    acts: Path | None, state: Path | None, go_on: bool, replies: Path | None, report: Path | None,
    json: Path | None,
) -> bool:  # fmt: skip
    """Do everything that `wayforward dialogue` does; return False if it ended without a plan."""
    for path in (state, report, json):
        room_for(path)
    lines = _lines(replies)
    dialogue = _ready(
        question, person, elicitor=elicitor, base=base, questionnaire=questionnaire, questions=questions,
        acts=acts, state=state, go_on=go_on,
    )  # fmt: skip
    if lines is not None and str(replies) != "-":
        lines = iter(_rest(list(lines), dialogue.typed))
    quiet = str(json) == "-"
    if not quiet and not dialogue.done:
        intro = "".join(f"{gettext(line)}\n" for line in _INTRO)
        again = gettext("We go on where you stopped.") + "\n"
        tell(f"\n{again if dialogue.answered else intro}")
    finished = _converse(dialogue, lines, strict=replies is not None, quiet=quiet)
    while finished and not quiet:
        end = dialogue.end
        assert end is not None
        tell(f"\n{_RULE}\n{_wrapped(end.show())}\n")
        if not dialogue.can_undo or not _takes_back(lines):
            break
        dialogue.undo()
        finished = _converse(dialogue, lines, strict=replies is not None, quiet=quiet)
    if not finished and not quiet:
        if state is not None:
            tell(gettext("Put away. The same command goes on ({file}).", file=state))
        else:
            tell(gettext("Put away. Nothing was kept: give --state FILE."))
    if report is not None:
        write_text(report, dialogue.export() + "\n")
        say(f"written: {report}")
    write_json(summary(dialogue, person), json)
    return (
        not finished
        or dialogue.plan is not None
        or (dialogue.end is not None and dialogue.end.how == "already")
    )


_RULE = "-" * 72


def _ready(
    question: Inputs, person: int, *, elicitor: str, base: str | None, questionnaire: str, questions: int | None,
    acts: Path | None, state: Path | None, go_on: bool,
) -> Dialogue:  # fmt: skip
    """Return the dialogue with the person, new or from the state file."""
    import numpy as np

    from wayforward.cli.letters import kinds_for_people
    from wayforward.people.dialogue import Dialogue

    ready = question.ready()
    if person >= len(ready.x):
        raise DataError(f"--person: {no_person(person, len(ready.x))}")
    x = ready.x[person]
    if state is not None and state.exists():
        found = Dialogue.load(state, ready.problem, changed="continue" if go_on else "refuse")
        if not np.array_equal(found.x, x, equal_nan=True):
            raise DialogueError(
                f"'{state.name}' is about somebody else than --person {person}. Give their number, or another --state."
            )
        return found
    wishes = None if ready.preferences is None else ready.preferences.take([person])
    return Dialogue(
        ready.problem, x, elicitor=None if elicitor == "none" else elicitor, questionnaire=questionnaire,
        seed=question.seed, preferences=wishes, base=base, budget=questions, file=state,
        kinds=kinds_for_people(ready.problem) or ("cheapest",), acts=acts,
    )  # fmt: skip


def _lines(replies: Path | None) -> Iterator[str] | None:
    """The replies of a script without empty lines and remarks, from the input one at a time; None for a person."""
    if replies is None:
        return None
    lines: Iterable[str] = sys.stdin
    if str(replies) != "-":
        try:
            lines = replies.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise FileFormatError(
                f"'{replies.name}' cannot be read as replies, one a line ({error})."
            ) from None
    return (line.strip() for line in lines if line.strip() and not line.startswith("#"))


def _rest(lines: list[str], typed: list[str | None]) -> list[str]:
    """Return the replies of a script that a stored dialogue has not had: all of them if it was held with others."""
    had: list[str] = []
    for i, line in enumerate(lines):
        if had == typed:
            return lines[i:]
        if line.lower() in _UNDO:
            had = had[:-1]
        elif line.lower() not in _ASK_HELP and not asks_meaning(line):
            had.append("stop here" if line.lower() == "s" else line)
    return [] if had == typed else lines


def _converse(dialogue: Dialogue, lines: Iterator[str] | None, *, strict: bool, quiet: bool) -> bool:
    """Ask until the end (return True), or until it is put away (False)."""
    shown = ""
    while (question := dialogue.ask()) is not None:
        if question.id != shown and not quiet:
            tell(f"\n{_screen(dialogue, question)}")
        shown = question.id
        line = _read(lines)
        if line is None or line.lower() in _QUIT:
            return False
        if lines is not None and not quiet:
            tell(f"> {line}")
        if line.lower() in _ASK_HELP:
            tell(_help())
            continue
        try:
            if line.lower() in _UNDO:
                dialogue.undo()
                shown = ""
            else:
                dialogue.answer("stop here" if line.lower() == "s" else line)
                if strict:
                    _check_whole(dialogue)
                if asks_meaning(line):  # the same question, with what it means
                    shown = ""
        except DialogueError as error:
            if strict:
                raise
            tell(f"{error}\n")
    return True


def _check_whole(dialogue: Dialogue) -> None:
    """Raises: ReplyError where a part of the last line was not read, which a script cannot say again."""
    log = dialogue.to_dict()["log"]
    unread = log[-1]["reply"].get("unread") if log else None
    if unread:
        dialogue.undo()
        raise ReplyError(unread[0]["why"])


def _takes_back(lines: Iterator[str] | None) -> bool:
    """Whether the last answer is taken back although the dialogue has ended."""
    if lines is None:
        tell(gettext("Enter: done   u: take back the last answer"))
    line = _read(lines)
    return line is not None and line.lower() in _UNDO


def _read(lines: Iterator[str] | None) -> str | None:
    """Read one reply; None at the end of the input."""
    if lines is not None:
        return next(lines, None)
    try:
        return input("> ").strip()
    except EOFError:
        return None


def _screen(dialogue: Dialogue, question: Question) -> str:
    number = dialogue.answered + 1
    if question.left > 1:
        head = gettext("Question {number} (at most {n} more)", number=number, n=question.left - 1)
    else:
        head = gettext("Question {number} (the last one)", number=number)
    keys = gettext("?: cannot say   u: take back   s: stop here   q: put away   h: help")
    plans = [
        plan for plan in (*question.options, question.plan) if plan is not None and plan.action is not None
    ]
    acts = [j for plan in plans for j, value in enumerate(plan.action or ()) if value is not None]
    if acts:
        thing = words.label(dialogue.problem.schema.features[acts[0]])
        keys = gettext(
            "?: cannot say   x {name}: I cannot do this   u: take back   s: stop here   q: put away   h: help",
            name=thing,
        )
    return f"{_RULE}\n{head}\n\n{_wrapped(question.show())}\n\n{keys}"


def _wrapped(text: str) -> str:
    """Wrap lines to the width of a screen, with hanging indents."""
    out = []
    for line in text.splitlines():
        lead = re.match(r"\s*(?:- |\d+  )?", line)
        indent = " " * (0 if lead is None else len(lead[0]))
        out += textwrap.wrap(line, 80, subsequent_indent=indent, break_long_words=False) or [""]
    return "\n".join(out)


def summary(dialogue: Dialogue, person: int) -> dict[str, Any]:
    """Return the result as numbers and texts."""
    end, plan = dialogue.end, dialogue.plan
    names = dialogue.problem.schema.names
    found: dict[str, Any] = {
        "person": person,
        "ended": None if end is None else end.how,
        "answered": dialogue.answered,
    }
    if plan is not None:
        act, after = plan.action[0, 0], plan.after[0, 0]
        found["action"] = {name: float(v) for name, v in zip(names, act, strict=True) if v == v}
        found["after"] = {name: float(v) for name, v in zip(names, after, strict=True)}
        found["cost"] = float(plan.cost[0, 0])
    if end is not None:
        found["text"] = end.show()
        found |= {
            "told": end.limits,
            "learned": end.learned,
            "give": [f"{one.text} {' '.join((*one.steps, *one.follows))}" for one in end.give],
            "why": end.why,
            "beside": [f"{one.text} {' '.join((*one.steps, *one.follows))}" for one in end.beside],
        }
    else:
        question = dialogue.ask()
        found["question"] = None if question is None else question.to_dict()
    found["dialogue"] = dialogue.export()
    return found
