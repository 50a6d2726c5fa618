"""One question on one screen."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from wayforward.language import N_, gettext
from wayforward.public import public

AnswerKind = Literal["yes-no", "number", "choice", "rank", "likert", "accept", "page"]
Reply = dict[str, Any]  # plain data: what was said, as the log keeps it

LIKERT = (N_("very easy"), N_("easy"), N_("neither easy nor hard"), N_("hard"), N_("very hard"))
IMPOSSIBLE = N_("I cannot do this")


@public
@dataclass(frozen=True)
class Option:
    """One answer to choose. key: what to type. text: in plain words. For a plan: steps, what to do; follows, what
    comes of it by itself; action and after (d,), the row behind it (None in action: left alone).
    """

    key: str
    text: str
    steps: tuple[str, ...] = ()
    follows: tuple[str, ...] = ()
    action: tuple[float | None, ...] | None = None
    after: tuple[float | None, ...] | None = None


@public
@dataclass(frozen=True)
class Question:
    """What a person is asked now, complete on its own screen.

    id: hand it back with the answer, and an answer to another question is noticed. stage: limits, plan, choices,
    accept or reconsider. kind: yes-no, number, choice, rank, likert, accept or page (all limits in one reply). text:
    the question. options: what can be answered, if it can be listed. notes: what to say before the question. many:
    several options may be named. left: how many questions there are at most from here, this one included. also: what
    may be said instead.
    plan: the plan that the question is about, where it is about one. common: what all the plans to choose from ask for.
    """

    id: str
    stage: str
    kind: AnswerKind
    text: str
    options: tuple[Option, ...] = ()
    notes: tuple[str, ...] = ()
    many: bool = False
    feature: str | None = None
    left: int = 1
    also: tuple[str, ...] = ()
    hint: str = ""
    plan: Option | None = None
    common: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON, for a page that shows it."""
        return asdict(self)

    def show(self) -> str:
        """The screen as plain text."""
        blocks = [[note] for note in self.notes]
        if self.plan is not None:
            blocks += [[self.text], [f"  - {line}" for line in (*self.plan.steps, *self.plan.follows)]]
        else:
            blocks.append([self.text])
        if self.common:
            both = len(self.options) == 2
            lead = gettext("Both ask you to do this:") if both else gettext("All ask you to do this:")
            blocks.append([lead, *(f"  - {line}" for line in self.common)])
        answers = []
        for option in self.options:
            own = [line for line in (*option.steps, *option.follows) if line not in self.common]
            text = option.text
            if self.common and own:
                text = gettext("{plan}, and besides:", plan=option.text)
            elif self.common:
                text = gettext("{plan}, and nothing else.", plan=option.text)
            answers.append(f"  {option.key}  {text}")
            answers += [f"     - {line}" for line in own]
        blocks += [answers] if answers else []
        blocks += [[self.hint]] if self.hint else []
        return "\n\n".join("\n".join(block) for block in blocks)


def likert_words() -> tuple[str, ...]:
    """How hard something is, in the language in use, the easiest first; the sixth is that it cannot be done."""
    return tuple(gettext(text) for text in (*LIKERT, IMPOSSIBLE))
