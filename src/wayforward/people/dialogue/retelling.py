"""What was asked and answered: an entry of the log, in English whatever was in use, and its words in a language."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wayforward.answers import words
from wayforward.language import gettext, language, use_language
from wayforward.people.dialogue.question import Option, Question, Reply
from wayforward.people.dialogue.questionnaire import QuestionnaireItem
from wayforward.people.dialogue.questionnaire import worded as item_worded
from wayforward.people.dialogue.shown_plans import ShownPlan
from wayforward.people.dialogue.state import numbers
from wayforward.people.dialogue.wishes import given_up
from wayforward.people.dialogue.wording import no_plan_text, pair_text, plan_name, reply_text

if TYPE_CHECKING:
    from wayforward.people.dialogue.conversation import Conversation


@dataclass(frozen=True)
class Retold:
    """One question and its reply, in words; plans: what each plan on the screen asks for."""

    text: str
    plans: tuple[str, ...]
    reply: str


def entry_of(
    c: Conversation, question: Question, codes: Sequence[str], reply: Reply, typed: Any
) -> dict[str, Any]:
    """Return the log's entry of a reply to the question on the table, which is given in English."""
    p = c.on_table
    plans = [
        {
            "name": plan.name, "action": numbers(plan.action), "after": numbers(plan.after),
            "steps": list(plan.lines), **({} if plan.order is None else {"order": list(plan.order)}),
        }
        for plan in p.plans
    ]  # fmt: skip
    gives = [[c.wishes[i] for i in one.wishes] for one in p.relaxations]
    return {
        "id": question.id,
        "what": p.what,
        "shown": p.mark,
        "text": question.text,
        "reply": reply,
        "typed": typed if isinstance(typed, str) else None,
        "said": reply_text(question, codes, reply, c.schema),
        **({"plans": plans} if plans else {}),
        **({"gives": gives} if gives else {}),
        **({} if p.item is None else {"item": p.item.key}),
    }


def retold(c: Conversation, entry: Mapping[str, Any]) -> Retold:
    """Return an entry in the language in use. What older releases stored without the means to do so stays English."""
    stored = Retold(
        entry["text"], tuple(" ".join(plan["steps"]) for plan in entry.get("plans", ())), entry["said"]
    )
    if language() == "en":
        return stored
    plans = tuple(" ".join(_translated(c, plan).lines) for plan in entry.get("plans", ()))
    question, codes = _question(c, entry)
    if question is None:
        return Retold(stored.text, plans, stored.reply)
    return Retold(question.text, plans, reply_text(question, codes, entry["reply"], c.schema))


def _translated(c: Conversation, plan: Mapping[str, Any]) -> ShownPlan:
    return c.rounder.translated(ShownPlan.of({**plan, "cost": 0.0, "follows": ()}))


def _question(c: Conversation, entry: Mapping[str, Any]) -> tuple[Question | None, Sequence[str]]:
    """The question of an entry as far as a report needs it, and the codes of its options; None if nobody knows."""
    what, plans = entry["what"], entry.get("plans", ())
    if "item" in entry:
        item = QuestionnaireItem(*entry["item"])
        everything = c.problem.population(c.x)
        with use_language("en"):
            known = item_worded(item, everything).text == entry["text"]
        people = everything if known or c.asking_wishes is None else c.asking
        w = item_worded(item, people)
        feature = None if item.feature < 0 else c.schema.names[item.feature]
        return Question("", "limits", w.kind, w.text, w.options, feature=feature), w.codes
    if what == "reconsider":
        options = [
            Option("", words.sentence(words.join([given_up(c.schema, [wish], c.x[0]) for wish in one])))
            for one in entry.get("gives", ())
        ]
        options.append(Option("", gettext("No, none of these.")))
    elif what in ("pair", "last", "recall"):
        options = [Option("", plan_name(i)) for i in range(1, len(plans) + 1)]
        options.append(Option("", no_plan_text(len(plans))))
    elif what in ("first", "accept", "final"):
        options = []
    else:
        return None, ()
    if "option" in entry["reply"] and entry["reply"]["option"] >= len(options):
        return None, ()
    english: str = entry["text"]
    text = pair_text(len(plans)) if what in ("pair", "last") else gettext(english)
    return Question("", "", "choice", text, tuple(options)), ()
