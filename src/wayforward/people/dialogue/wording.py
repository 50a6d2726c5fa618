"""The screens of a conversation in plain words, what was said in words, and the report at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.answers import words
from wayforward.lazy import Renamed
from wayforward.people.dialogue import questionnaire as q
from wayforward.people.dialogue.dead_ends import relaxation_text
from wayforward.people.dialogue.plans_beside import plans_beside
from wayforward.people.dialogue.question import LIKERT, Option, Question, Reply
from wayforward.people.dialogue.state import numbers
from wayforward.people.dialogue.wishes import HARD, limit_sentences
from wayforward.recourse import Outcome

if TYPE_CHECKING:
    from wayforward.people.dialogue.conversation import Conversation
    from wayforward.people.dialogue.dead_ends import Relaxation
    from wayforward.people.dialogue.setup import PendingQuestion
    from wayforward.people.dialogue.shown_plans import ShownPlan

ALSO_PLANS = (
    "cannot say", "I cannot do this: ...", "... at most ...", "at most 2 changes", "take 1", "keep 1",
    "what does that mean?", "stop here",
)  # fmt: skip
ALSO_LIMITS = ("cannot say", "what does that mean?", "stop here")
ALSO_TIMED = ("within 6 months", "by March")  # where the schema says how long changes take
STAGES = {
    "first": "plan",
    "pair": "choices",
    "accept": "accept",
    "last": "choices",
    "final": "accept",
    "recall": "accept",
    "reconsider": "reconsider",
}


@dataclass(frozen=True)
class Ending:
    """How a dialogue ended. how: accepted, rejected, stopped, already (it was a yes before), none (no plan).

    text: what to read. plan: the plan, or the best so far. limits: the person's limits. learned: what their choices say
    about them. give: what would have to give for another plan, or for one at all, each with the plan that it opens.
    why: what made the difference, where no limit did. assumes: what the plan takes as it is, how sure it is and until
    when. beside: other kinds of plans (of least effort, made to last) that differ from it, each with its price. marked:
    the plans that the person kept.
    """

    how: str
    text: str
    plan: Option | None = None
    limits: tuple[str, ...] = ()
    learned: tuple[str, ...] = ()
    give: tuple[Option, ...] = ()
    why: str = ""
    assumes: tuple[str, ...] = ()
    marked: tuple[Option, ...] = ()
    beside: tuple[Option, ...] = ()

    told = Renamed("limits")

    def show(self) -> str:
        """The last screen as plain text."""
        blocks = [[self.text]]
        if self.plan is not None:
            blocks.append([f"  - {line}" for line in (*self.plan.steps, *self.plan.follows)])
        blocks += [[self.why]] if self.why else []
        blocks += [[" ".join(self.assumes)]] if self.assumes else []
        if self.beside:
            blocks.append(["There would also be:", *_with_steps(self.beside)])
        if self.marked:
            blocks.append(["The plans that you kept:"])
            for option in self.marked:
                blocks[-1] += [f"  - {option.text}"]
        for title, lines in (("What you told us", self.limits), ("What we learned", self.learned)):
            if lines:
                blocks.append([f"{title}:", *(f"  - {line}" for line in lines)])
        if self.give:
            easier = "" if self.how == "none" else " for an easier plan"
            blocks.append([f"What would have to give{easier}:", *_with_steps(self.give)])
        if self.how in ("rejected", "none"):
            blocks.append(["You can ask for a person to look at your case."])
        return "\n\n".join("\n".join(block) for block in blocks)


def _with_steps(options: Sequence[Option]) -> list[str]:
    """Lines of a list of options, each with its steps below."""
    return [
        line
        for one in options
        for line in (f"  - {one.text}", *(f"      - {step}" for step in (*one.steps, *one.follows)))
    ]


def plan_option(plan: ShownPlan, key: str = "", text: str = "") -> Option:
    """A plan as something to show, its row behind it."""
    return Option(
        key, text or " ".join(plan.lines), plan.steps, plan.follows, numbers(plan.action), numbers(plan.after)
    )


def worded(c: Conversation, p: PendingQuestion, mark: str) -> tuple[Question, list[str]]:
    """The question on the table and the codes of its options."""
    left, notes = c.left, tuple(p.notes)
    timed = ALSO_TIMED if c.schema.timed else ()
    also = (*ALSO_PLANS, *timed)
    if p.item is not None:
        w = q.worded(p.item, c.asking)
        feature = None if p.item.feature < 0 else c.schema.names[p.item.feature]
        question = Question(
            mark,
            "limits",
            w.kind,
            w.text,
            w.options,
            notes,
            w.many,
            feature,
            left,
            (*ALSO_LIMITS, *timed),
            w.hint,
        )
        return question, list(w.codes)
    stage = STAGES[p.what]
    if p.what == "reconsider":
        return _reconsider(c, p, mark, notes), []
    if p.what in ("pair", "last"):
        many = len(p.plans)
        options = tuple(
            plan_option(plan, str(i), f"Plan {i}{_marks(c, plan)}") for i, plan in enumerate(p.plans, 1)
        )
        text = f"Which of these {words.spelled(many)} plans would you rather carry out?"
        common = tuple(line for line in p.plans[0].lines if all(line in plan.lines for plan in p.plans))
        hint = "If one of them is good enough, type take and its number: take 1."
        return Question(
            mark, stage, "choice", text, options, notes, left=left, also=also, common=common, hint=hint
        ), []
    if p.what == "recall":
        options = (
            *(plan_option(plan, str(i), f"Plan {i}{_marks(c, plan)}") for i, plan in enumerate(p.plans, 1)),
            Option(str(len(p.plans) + 1), "None of these"),
        )
        text = "These are plans that you saw. Would you carry out one of them after all?"
        return Question(mark, stage, "choice", text, options, notes, left=1, also=also), []
    yes, no = Option("1", "Yes"), Option("2", "No")
    if p.what == "first":
        text = "This plan would turn the answer into a yes. Is it good enough for you?"
        no = Option("2", "No, look for one that suits me better")
    elif p.what == "accept":
        text = "By what you chose, this plan should suit you. Is it good enough for you?"
        if not c.seen.compared and any(p.plans[0].name in pair for pair in c.seen.pairs):
            text = "Of the plans that you saw, this one asks for least. Is it good enough for you?"
        elif not c.seen.compared:
            lead = (
                "Here is another plan."
                if len(c.seen.plans) > 1
                else "This plan would turn the answer into a yes."
            )
            text = f"{lead} Is it good enough for you?"
        no = Option("2", "No, go on looking")
    else:
        text = "These were all our questions. This plan suits you best, by what you said. Would you carry it out?"
        if len(c.seen.plans) > 1:
            no = Option("2", "No, show me the others that I saw")
    plan = plan_option(p.plans[0])
    return Question(mark, stage, "accept", text, (yes, no), notes, left=left, also=also, plan=plan), []


def _marks(c: Conversation, plan: ShownPlan) -> str:
    """What is known about a plan on the screen: that it is ahead, that it was kept."""
    ahead = ", your favourite so far" if c.seen.edges and c.seen.edges[-1][0] == plan.name else ""
    return ahead + (" (kept)" if plan.name in c.seen.marked else "")


def meaning(c: Conversation, p: PendingQuestion) -> str:
    """What the question on the table means, for somebody who asks."""
    if p.item is not None and p.item.feature >= 0:
        feature = c.schema.features[p.item.feature]
        name = words.label(feature)
        own = f" {words.sentence(feature.description)}" if feature.description else ""
        if feature.has_levels:
            named = words.join(
                [words.quoted(words.level_words(feature, i)) for i in range(feature.n_levels)], "or"
            )
            values = f"It can be {named}."
        else:
            j, seen = p.item.feature, c.problem.observed_range
            own_ends = (c.schema.low[j], c.schema.high[j])
            known = [float(e) if np.isfinite(e) else float(s[j]) for e, s in zip(own_ends, seen, strict=True)]
            values = f"It goes from {q.now_words(feature, known[0])} to {q.now_words(feature, known[1])}."
            values = values if np.isfinite(known).all() else ""
        return (
            f"Your {name} is one of the things that the decision looks at.{own} {values} "
            "Say no if a plan must leave it as it is. Nothing that you say here changes the decision."
        )
    if p.item is not None:
        return "These are the things that the decision looks at and that a plan may change. A plan keeps what you say."
    if p.what == "reconsider":
        return "Your limits together leave no way to a yes. Each line names a limit, and the plan if you gave it up."
    return (
        "A plan is what you would have to do. If you do all of it, and everything else stays as it is, the answer is "
        "yes. You promise nothing by choosing one."
    )


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
        Option(str(i), words.sentence(text.format(relaxation_text(c, one))), one.plan.steps, one.plan.follows)
        for i, one in enumerate(relaxations, 1)
    )


def reply_text(question: Question, reply: Reply, schema: Any) -> str:
    """What somebody said, in words, for the report."""
    if reply.get("unsure"):
        return "Cannot say."
    if reply.get("stop"):
        return "Stop here."
    if "take" in reply or "keep" in reply:
        key = "take" if "take" in reply else "keep"
        return f"{key.capitalize()} plan {reply[key] + 1}."
    if "page" in reply:
        return " ".join(limit_text(wish, schema) for wish in reply["page"]) or "All of it can change."
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
        if not reply["levels"]:
            return "None of these."
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
    if "months" in wish:
        return f"You want to be done {wish['words']}."
    if "score" in wish:
        return f"To change your {words.label(schema[wish['feature']])}: {LIKERT[wish['score'] - 1]}."
    from wayforward.answers import wishes
    from wayforward.people.dialogue.wishes import preferences_of

    return " ".join(wishes(preferences_of(schema, [wish]), 0))


def ending(c: Conversation, learned: list[str], kinds: Sequence[str] = ()) -> Ending:
    """The last screen of a conversation that has ended. kinds: of plans to show beside the one that was chosen."""
    assert c.ended is not None
    if c.ended == "already":
        return Ending("already", "The answer is yes already. You need not change anything.")
    limits = tuple(limit_sentences(c.schema, c.wishes, c.x[0]))
    plan = None if c.best is None else plan_option(c.best)
    give: tuple[Option, ...] = ()
    if c.ended == "accepted":
        text = "This is your plan. It was checked: with it the answer would be yes."
    elif c.ended == "none":
        text = _none_text(c)
    elif c.ended == "stopped":
        text = "We stop here. This is the best plan so far. It was checked: with it the answer would be yes."
    else:
        text = (
            "We have no plan that you would call good enough. That is all right. This is the best "
            "one so far. You can keep it, and you can come back when something changes."
        )
    if c.ended != "accepted":
        give = _relaxation_options(c, c.relaxations, "If you could {} after all, this would be enough:")
    marked = tuple(
        plan_option(one)
        for one in c.seen.plans
        if one.name in c.seen.marked and (c.best is None or one.name != c.best.name)
    )
    others, sure = plans_beside(c, kinds)
    return Ending(
        c.ended, text, plan, limits, tuple(learned), give, c.reason if c.ended == "none" else "",
        () if plan is None else _assumes(c, sure), marked, tuple(plan_option(one, text=text) for text, one in others),
    )  # fmt: skip


def _assumes(c: Conversation, sure: Sequence[str]) -> tuple[str, ...]:
    """What the plan takes as it is, how sure it is, and until when. sure: how it fares in models trained again."""
    out = ["We took everything else about you as it is today, and the model that decides as it is now."]
    until = c.setup.until
    out.append(
        f"The plan holds until {until}."
        if until
        else "If either changes, the answer may change: ask again before you begin something that takes long."
    )
    problem = c.problem
    if problem.confidence is not None and problem.world.uncertain:
        out.append(
            f"What follows from your steps is not certain: by our estimate the plan {problem.confidence.describe()}."
        )
    if problem.robust is not None:
        out.append(f"It also holds under this: {problem.robust.describe()}.")
    return (*out, *sure)


def _none_text(c: Conversation) -> str:
    if c.outcome is Outcome.NONE_EXISTS:
        if not any(key in wish for wish in c.wishes for key in HARD):
            return (
                "Nothing that you can change would turn the answer into a yes. We did not just fail "
                "to find a way: it was "
                "proved. What decides here is not in your hands."
            )
        return "Within your limits there is no plan that turns the answer into a yes. It was proved."
    if c.outcome is Outcome.NOT_FOUND:
        return "We did not find a plan that turns the answer into a yes. There may still be one."
    return "We have no plan to show you."
