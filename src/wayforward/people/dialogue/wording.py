"""The screens of a conversation in plain words, what was said in words, and the report at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.answers import words
from wayforward.lazy import Renamed
from wayforward.people.dialogue import questionnaire as q
from wayforward.people.dialogue.question import Option, Question, Reply
from wayforward.people.dialogue.wishes import limit_sentences
from wayforward.recourse import Outcome

if TYPE_CHECKING:
    from wayforward.people.dialogue.conversation import Conversation, PendingQuestion, Relaxation
    from wayforward.people.dialogue.shown_plans import ShownPlan

ALSO_PLANS = ("cannot say", "I cannot do this: ...", "... at most ...", "stop here")
ALSO_LIMITS = ("cannot say", "stop here")
STAGES = {
    "first": "plan",
    "pair": "choices",
    "accept": "accept",
    "final": "accept",
    "reconsider": "reconsider",
}


@dataclass(frozen=True)
class Ending:
    """How a dialogue ended. how: accepted, rejected, stopped, already (it was a yes before), none (no plan).

    text: what to read. plan: the plan, or the best so far. limits: the person's limits. learned: what their choices say
    about them. give: what would have to give for another plan, or for one at all, each with the plan that it opens.
    why: what made the difference, where no limit did.
    """

    how: str
    text: str
    plan: Option | None = None
    limits: tuple[str, ...] = ()
    learned: tuple[str, ...] = ()
    give: tuple[Option, ...] = ()
    why: str = ""

    told = Renamed("limits")

    def show(self) -> str:
        """The last screen as plain text."""
        blocks = [[self.text]]
        if self.plan is not None:
            blocks.append([f"  - {line}" for line in (*self.plan.steps, *self.plan.follows)])
        blocks += [[self.why]] if self.why else []
        for title, lines in (("What you told us", self.limits), ("What we learned", self.learned)):
            if lines:
                blocks.append([f"{title}:", *(f"  - {line}" for line in lines)])
        if self.give:
            easier = "" if self.how == "none" else " for an easier plan"
            blocks.append([f"What would have to give{easier}:"])
            for option in self.give:
                blocks[-1].append(f"  - {option.text}")
                blocks[-1] += [f"      - {line}" for line in (*option.steps, *option.follows)]
        if self.how in ("rejected", "none"):
            blocks.append(["You can ask for a person to look at your case."])
        return "\n\n".join("\n".join(block) for block in blocks)


def numbers(row: np.ndarray) -> tuple[float | None, ...]:
    """A row as plain data: None for NaN."""
    return tuple(None if np.isnan(value) else float(value) for value in row)


def plan_option(plan: ShownPlan, key: str = "", text: str = "") -> Option:
    """A plan as something to show, its row behind it."""
    return Option(
        key, text or " ".join(plan.lines), plan.steps, plan.follows, numbers(plan.action), numbers(plan.after)
    )


def worded(c: Conversation, p: PendingQuestion, mark: str) -> tuple[Question, list[str]]:
    """The question on the table and the codes of its options."""
    left, notes = c.left, tuple(p.notes)
    if p.item is not None:
        w = q.worded(p.item, c.asking)
        feature = None if p.item.feature < 0 else c.schema.names[p.item.feature]
        question = Question(
            mark, "limits", w.kind, w.text, w.options, notes, w.many, feature, left, ALSO_LIMITS, w.hint
        )
        return question, list(w.codes)
    stage = STAGES[p.what]
    if p.what == "reconsider":
        return _reconsider(c, p, mark, notes), []
    if p.what == "pair":
        many = len(p.plans)
        options = tuple(plan_option(plan, str(i), f"Plan {i}") for i, plan in enumerate(p.plans, 1))
        text = (
            f"Which of these {'two' if many == 2 else words.number(many)} plans would you rather carry out?"
        )
        common = tuple(line for line in p.plans[0].lines if all(line in plan.lines for plan in p.plans))
        return Question(
            mark, stage, "choice", text, options, notes, left=left, also=ALSO_PLANS, common=common
        ), []
    yes, no = Option("1", "Yes"), Option("2", "No")
    if p.what == "first":
        text = "This plan would turn the answer into a yes. Is it good enough for you?"
        no = Option("2", "No, look for one that suits me better")
    elif p.what == "accept":
        text = "By what you chose, this plan should suit you. Is it good enough for you?"
        if not c.compared:
            text = "Here is another plan. Is it good enough for you?"
        no = Option("2", "No, go on looking")
    else:
        text = "These were all our questions. This plan suits you best, by what you said. Would you carry it out?"
    plan = plan_option(p.plans[0])
    return Question(mark, stage, "accept", text, (yes, no), notes, left=left, also=ALSO_PLANS, plan=plan), []


def _reconsider(c: Conversation, p: PendingQuestion, mark: str, notes: tuple[str, ...]) -> Question:
    proved = c.outcome is Outcome.NONE_EXISTS
    text = "Within your limits " + (
        "there is no plan that turns the answer into a yes; we are sure of that. "
        if proved
        else "we found no plan that turns the answer into a yes. "
    )
    text += "Something would have to give. Could you do one of these after all? "
    text += "Below each is a plan that would then do."
    none = Option(str(len(p.relaxations) + 1), "No, none of these.")
    options = (*_relaxation_options(c, p.relaxations, "{}"), none)
    return Question(mark, "reconsider", "choice", text, options, notes, left=c.left, also=ALSO_LIMITS)


def _relaxation_options(c: Conversation, relaxations: Sequence[Relaxation], text: str) -> tuple[Option, ...]:
    """What could be given up, numbered from 1, each with the plan that it opens; text: with {} for the limits."""
    return tuple(
        Option(str(i), words.sentence(text.format(c.relaxation_text(one))), one.plan.steps, one.plan.follows)
        for i, one in enumerate(relaxations, 1)
    )


def reply_text(question: Question, reply: Reply, schema: Any) -> str:
    """What somebody said, in words, for the report."""
    if reply.get("unsure"):
        return "Cannot say."
    if reply.get("stop"):
        return "Stop here."
    if "wish" in reply:
        return limit_text(reply["wish"], schema)
    if "yes" in reply:
        return "Yes." if reply["yes"] else "No."
    if "option" in reply:
        return words.sentence(question.options[reply["option"]].text)
    if "code" in reply:
        return {"yes": "Yes.", "no": "No."}.get(reply["code"], "") or next(
            (words.sentence(o.text) for o in question.options if _code_of(o.text) == reply["code"]),
            "Yes, within limits.",
        )
    feature = None if question.feature is None else schema[question.feature]
    if "number" in reply:
        assert feature is not None
        return words.sentence(words.limit_value(feature, reply["number"]))
    if "levels" in reply:
        assert feature is not None
        return words.sentence(
            words.join([words.level_words(feature, level) for level in reply["levels"]], "or")
        )
    if "score" in reply:
        return words.sentence(question.options[reply["score"] - 1].text)
    if "rank" in reply:
        return words.sentence(", ".join(words.label(schema[name]) for name in reply["rank"]))
    return ""


def _code_of(text: str) -> str:
    for part, code in (
        ("go up", "up"),
        ("go down", "down"),
        ("up to", "high"),
        ("down to", "low"),
        ("within", "both"),
        ("to some", "levels"),
    ):
        if part in text:
            return code
    return ""


def limit_text(wish: dict[str, Any], schema: Any) -> str:
    """A wish as a sentence: "You cannot change your working time."."""
    from wayforward.answers import wishes
    from wayforward.people.dialogue.wishes import preferences_of

    return " ".join(wishes(preferences_of(schema, [wish]), 0))


def ending(c: Conversation, learned: list[str]) -> Ending:
    """The last screen of a conversation that has ended."""
    assert c.ended is not None
    if c.ended == "already":
        return Ending("already", "The answer is yes already. You need not change anything.")
    limits = tuple(limit_sentences(c.schema, c.wishes, c.x[0]))
    plan = None if c.best is None else plan_option(c.best)
    if c.ended == "accepted":
        return Ending(
            "accepted",
            "This is your plan. It was checked: with it the answer would be yes.",
            plan,
            limits,
            tuple(learned),
        )
    give = _relaxation_options(c, c.relaxations, "If you could {} after all, this would be enough:")
    if c.ended == "none":
        return Ending("none", _none_text(c), None, limits, tuple(learned), give, c.reason)
    if c.ended == "stopped":
        text = "We stop here. This is the best plan so far. It was checked: with it the answer would be yes."
    else:
        text = (
            "We have no plan that you would call good enough. That is all right. This is the best "
            "one so far. You can keep "
            "it, and you can come back when something changes."
        )
    return Ending(c.ended, text, plan, limits, tuple(learned), give)


def _none_text(c: Conversation) -> str:
    if c.outcome is Outcome.NONE_EXISTS:
        if not any(
            key in wish for wish in c.wishes for key in ("can", "low", "high", "levels", "max_changes")
        ):
            return (
                "Nothing that you can change would turn the answer into a yes. We did not just fail "
                "to find a way: it was "
                "proved. What decides here is not in your hands."
            )
        return "Within your limits there is no plan that turns the answer into a yes. It was proved."
    if c.outcome is Outcome.NOT_FOUND:
        return "We did not find a plan that turns the answer into a yes. There may still be one."
    return "We have no plan to show you."
