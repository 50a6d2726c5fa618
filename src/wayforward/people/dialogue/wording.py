"""The screens of a conversation in plain words, what was said in words, and the report at the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.answers import words
from wayforward.language import N_, gettext, language
from wayforward.lazy import Renamed
from wayforward.people.dialogue.dead_ends import relaxation_text
from wayforward.people.dialogue.deadlines import deadline_sentence
from wayforward.people.dialogue.plans_beside import plans_beside
from wayforward.people.dialogue.question import Option, Question, Reply, likert_words
from wayforward.people.dialogue.questionnaire import LIMITED
from wayforward.people.dialogue.questionnaire import worded as item_worded
from wayforward.people.dialogue.state import numbers
from wayforward.people.dialogue.wishes import HARD, Wish, limit_sentences
from wayforward.public import public
from wayforward.recourse import Outcome

if TYPE_CHECKING:
    from wayforward.people.dialogue.conversation import Conversation
    from wayforward.people.dialogue.course import Course
    from wayforward.people.dialogue.dead_ends import Relaxation
    from wayforward.people.dialogue.setup import Note, PendingQuestion
    from wayforward.people.dialogue.shown_plans import ShownPlan
    from wayforward.recourse import Recourse

ALSO_PLANS = (
    N_("cannot say"), N_("I cannot do this: ..."), N_("... at most ..."), N_("at most 2 changes"), N_("take 1"),
    N_("keep 1"), N_("what does that mean?"), N_("stop here"),
)  # fmt: skip
ALSO_LIMITS = (N_("cannot say"), N_("what does that mean?"), N_("stop here"))
ALSO_TIMED = (N_("within 6 months"), N_("by March"))  # where the schema says how long changes take
STAGES = {
    "first": "plan",
    "pair": "choices",
    "accept": "accept",
    "last": "choices",
    "final": "accept",
    "recall": "accept",
    "reconsider": "reconsider",
}


@public
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
            blocks.append([gettext("There would also be:"), *_with_steps(self.beside)])
        if self.marked:
            blocks.append([gettext("The plans that you kept:")])
            for option in self.marked:
                blocks[-1] += [f"  - {option.text}"]
        titles = gettext("What you told us:"), gettext("What we learned:")
        for title, lines in zip(titles, (self.limits, self.learned), strict=True):
            if lines:
                blocks.append([title, *(f"  - {line}" for line in lines)])
        if self.give:
            plain = gettext("What would have to give:")
            title = plain if self.how == "none" else gettext("What would have to give for an easier plan:")
            blocks.append([title, *_with_steps(self.give)])
        if self.how in ("rejected", "none"):
            blocks.append([gettext("You can ask for a person to look at your case.")])
        return "\n\n".join("\n".join(block) for block in blocks)


def _with_steps(options: Sequence[Option]) -> list[str]:
    """Lines of a list of options, each with its steps below."""
    return [
        line
        for one in options
        for line in (f"  - {one.text}", *(f"      - {step}" for step in (*one.steps, *one.follows)))
    ]


def plan_option(c: Course, plan: ShownPlan, key: str = "", text: str = "") -> Option:
    """A plan as something to show, its row behind it."""
    plan = c.rounder.translated(plan)
    return Option(
        key, text or " ".join(plan.lines), plan.steps, plan.follows, numbers(plan.action), numbers(plan.after)
    )


def worded(c: Conversation, p: PendingQuestion, mark: str) -> tuple[Question, list[str]]:
    """The question on the table and the codes of its options."""
    left, notes = c.left, tuple(_note_text(c, note) for note in p.notes)
    timed = ALSO_TIMED if c.schema.timed else ()
    also = tuple(gettext(text) for text in (*(ALSO_PLANS if p.item is None else ALSO_LIMITS), *timed))
    if p.item is not None:
        w = item_worded(p.item, c.asking)
        feature = None if p.item.feature < 0 else c.schema.names[p.item.feature]
        question = Question(
            mark, "limits", w.kind, w.text, w.options, notes, w.many, feature, left, also, w.hint
        )  # fmt: skip
        return question, list(w.codes)
    stage = STAGES[p.what]
    if p.what == "reconsider":
        return _reconsider(c, p, mark, notes), []
    if p.what in ("pair", "last"):
        options = _plan_options(c, p)
        lines = [(*option.steps, *option.follows) for option in options]
        common = tuple(line for line in lines[0] if all(line in others for others in lines))
        hint = gettext("If one of them is good enough, type take and its number: take 1.")
        return Question(
            mark, stage, "choice", pair_text(len(options)), options, notes, left=left, also=also, common=common,
            hint=hint,
        ), []  # fmt: skip
    if p.what == "recall":
        options = (*_plan_options(c, p), Option(str(len(p.plans) + 1), no_plan_text(len(p.plans))))
        text = gettext("These are plans that you saw. Would you carry out one of them after all?")
        if len(p.plans) == 1:
            text = gettext("This is the other plan that you saw. Would you carry it out after all?")
        if len(c.seen.plans) == 1:
            text = gettext("We have no other plan to show you. Would you carry out this one after all?")
        return Question(mark, stage, "choice", text, options, notes, left=1, also=also), []
    yes, no = Option("1", gettext("Yes")), Option("2", gettext("No"))
    if p.what == "first":
        text = gettext("This plan would turn the answer into a yes. Is it good enough for you?")
        no = Option("2", gettext("No, look for one that suits me better"))
    elif p.what == "accept":
        text = gettext("By what you chose, this plan should suit you. Is it good enough for you?")
        if not c.seen.compared and any(p.plans[0].name in pair for pair in c.seen.pairs):
            text = gettext("Of the plans that you saw, this one asks for least. Is it good enough for you?")
        elif not c.seen.compared and len(c.seen.plans) > 1:
            text = gettext("Here is another plan. Is it good enough for you?")
        elif not c.seen.compared:
            text = gettext("This plan would turn the answer into a yes. Is it good enough for you?")
        no = Option("2", gettext("No, go on looking"))
    else:
        text = gettext(
            "These were all our questions. This plan suits you best, by what you said. Would you carry it out?"
        )
        if c.seen_beside(p.plans[0]):
            no = Option("2", gettext("No, show me the others that I saw"))
    plan = plan_option(c, p.plans[0])
    return Question(mark, stage, "accept", text, (yes, no), notes, left=left, also=also, plan=plan), []


def _note_text(c: Conversation, note: Note) -> str:
    """What is to be said before a question."""
    if isinstance(note, str):
        return note
    if "turned" in note:
        return gettext(
            "Before, you chose the other way round (directly, or by way of a third plan). That is all right: people "
            "change their minds. We go on with what you said last."
        )
    if "unread" in note:
        parts = [
            one["why"]
            if one["language"] == language()
            else gettext("We could not read '{part}'.", part=one["part"])
            for one in note["unread"]
        ]
        rest = [gettext("Type that once more, another way, or none to leave it out.")] if parts else []
        return " ".join([_noted(c, note["page"]), *parts, *rest])
    return _noted(c, [note["wish"]])


def _noted(c: Conversation, wishes: Sequence[Wish]) -> str:
    hard = [limit_text(wish, c.schema) for wish in wishes if "score" in wish]
    limits = [wish for wish in wishes if "score" not in wish]
    told = limit_sentences(c.schema, limits, c.x[0]) if limits else []
    return " ".join([gettext("Noted."), *told, *hard])


def pair_text(many: int) -> str:
    """The question which of some plans somebody prefers."""
    return gettext("Which of these {number} plans would you rather carry out?", number=words.spelled(many))


def no_plan_text(many: int) -> str:
    """The last option below plans that were seen."""
    return gettext("None of these") if many > 1 else gettext("No")


def plan_name(place: int, favourite: bool = False, marked: bool = False) -> str:
    """How a plan on a screen is called: by its number, and by what is known of it."""
    if favourite:
        name = gettext("Plan {n}, your favourite so far", n=place)
    else:
        name = gettext("Plan {n}", n=place)
    return gettext("{plan} (kept)", plan=name) if marked else name


def _plan_options(c: Conversation, p: PendingQuestion) -> tuple[Option, ...]:
    ahead = c.seen.edges[-1][0] if c.seen.edges else None
    return tuple(
        plan_option(c, plan, str(i), plan_name(i, plan.name == ahead, plan.name in c.seen.marked))
        for i, plan in enumerate(p.plans, 1)
    )


def meaning(c: Conversation, p: PendingQuestion) -> str:
    """What the question on the table means, for somebody who asks."""
    if p.item is not None and p.item.feature >= 0:
        feature = c.schema.features[p.item.feature]
        name = words.label(feature)
        own = f" {words.sentence(feature.text_description)}" if feature.text_description else ""
        if feature.has_levels:
            named = words.join(
                [words.quoted(words.level_words(feature, i)) for i in range(feature.n_levels)], "or"
            )
            values = gettext("It can be {values}.", values=named)
        else:
            j, seen = p.item.feature, c.problem.observed_range
            own_ends = (c.schema.low[j], c.schema.high[j])
            known = [float(e) if np.isfinite(e) else float(s[j]) for e, s in zip(own_ends, seen, strict=True)]
            low, high = (words.own_text(feature, end) for end in known)
            finite = np.isfinite(known).all()
            values = gettext("It goes from {low} to {high}.", low=low, high=high) if finite else ""
        what = gettext("Your {name} is one of the things that the decision looks at.", name=name)
        note = gettext(
            "Say no if a plan must leave it as it is. Nothing that you say here changes the decision."
        )
        return f"{what}{own} {values} {note}"
    if p.item is not None:
        return gettext(
            "These are the things that the decision looks at and that a plan may change. A plan keeps what you say."
        )
    if p.what == "reconsider":
        return gettext(
            "Your limits together leave no way to a yes. Each line names a limit, and the plan if you gave it up."
        )
    return gettext(
        "A plan is what you would have to do. If you do all of it, and everything else stays as it is, the answer is "
        "yes. You promise nothing by choosing one."
    )


def _reconsider(c: Conversation, p: PendingQuestion, mark: str, notes: tuple[str, ...]) -> Question:
    if c.outcome is Outcome.NONE_EXISTS:
        text = gettext(
            "Within your limits there is no plan that turns the answer into a yes; we are sure of that. Something "
            "would have to give. Could you do one of these after all? Below each is a plan that would then do."
        )
    else:
        text = gettext(
            "Within your limits we found no plan that turns the answer into a yes. Something would have to give. "
            "Could you do one of these after all? Below each is a plan that would then do."
        )
    none = Option(str(len(p.relaxations) + 1), gettext("No, none of these."))
    options = (*_relaxation_options(c, p.relaxations), none)
    also = tuple(gettext(one) for one in ALSO_LIMITS)
    return Question(mark, "reconsider", "choice", text, options, notes, left=c.left, also=also)


def _relaxation_options(
    c: Conversation, relaxations: Sequence[Relaxation], sentence: str = ""
) -> tuple[Option, ...]:
    """What could be given up, from 1, each with the plan that it opens; sentence: around {what}, the limits."""
    options = []
    for i, one in enumerate(relaxations, 1):
        plan, text = c.rounder.translated(one.plan), relaxation_text(c, one)
        text = gettext(sentence, what=text) if sentence else text
        options.append(Option(str(i), words.sentence(text), plan.steps, plan.follows))
    return tuple(options)


def reply_text(question: Question, codes: Sequence[str], reply: Reply, schema: Any) -> str:
    """What somebody said, in words, for the report. codes: what each option of the question means."""
    if reply.get("unsure"):
        return gettext("Cannot say.")
    if reply.get("stop"):
        return gettext("Stop here.")
    if "take" in reply:
        return gettext("Take plan {n}.", n=reply["take"] + 1)
    if "keep" in reply:
        return gettext("Keep plan {n}.", n=reply["keep"] + 1)
    if "page" in reply:
        limits = " ".join(limit_text(wish, schema) for wish in reply["page"])
        return limits or gettext("All of it can change.")
    if "wish" in reply:
        return limit_text(reply["wish"], schema)
    if "yes" in reply:
        return gettext("Yes.") if reply["yes"] else gettext("No.")
    if "option" in reply:
        return words.sentence(question.options[reply["option"]].text)
    if "code" in reply:
        return _can_text(question, reply["code"])
    feature = None if question.feature is None else schema[question.feature]
    if "number" in reply:
        assert feature is not None
        return words.sentence(words.limit_value(feature, reply["number"]))
    if "levels" in reply:
        assert feature is not None
        if not reply["levels"]:
            return gettext("None of these.")
        return words.sentence(
            words.join([words.level_words(feature, level) for level in reply["levels"]], "or")
        )
    if "score" in reply:
        return words.sentence(question.options[reply["score"] - 1].text)
    if "rank" in reply:
        return words.sentence(", ".join(words.label(schema[name]) for name in reply["rank"]))
    return ""


def _can_text(question: Question, code: str) -> str:
    """What somebody said they can do, by its code."""
    if code in ("yes", "no"):
        return gettext("Yes.") if code == "yes" else gettext("No.")
    text = gettext(LIMITED[code])
    if any(option.text == text for option in question.options):
        return words.sentence(text)
    return gettext("Yes, within limits.")


def limit_text(wish: dict[str, Any], schema: Any) -> str:
    """A wish as a sentence: "You cannot change your working time."."""
    if "months" in wish:
        return deadline_sentence(wish)
    if "score" in wish:
        return gettext(
            "To change your {name}: {hard}.",
            name=words.label(schema[wish["feature"]]),
            hard=likert_words()[wish["score"] - 1],
        )
    from wayforward.answers import wishes
    from wayforward.people.dialogue.wishes import preferences_of

    return " ".join(wishes(preferences_of(schema, [wish]), 0))


def ending(
    c: Conversation,
    learned: list[str],
    kinds: Sequence[str] = (),
    known: Callable[[], Recourse] | None = None,
) -> Ending:
    """The last screen of a conversation that has ended. kinds, known: of plans to show beside the one that was chosen,
    see `plans_beside`."""
    assert c.ended is not None
    if c.ended == "already":
        return Ending("already", gettext("The answer is yes already. You need not change anything."))
    limits = tuple(limit_sentences(c.schema, c.wishes, c.x[0]))
    plan = None if c.best is None else plan_option(c, c.best)
    give: tuple[Option, ...] = ()
    if c.ended == "accepted":
        text = gettext("This is your plan. It was checked: with it the answer would be yes.")
    elif c.ended == "none":
        text = _none_text(c)
    elif c.ended == "stopped":
        text = gettext(
            "We stop here. This is the best plan so far. It was checked: with it the answer would be yes."
        )
    else:
        text = gettext(
            "We have no plan that you would call good enough. That is all right. This is the best one so far. You can "
            "keep it, and you can come back when something changes."
        )
    if c.ended != "accepted":
        sentence = N_("If you could {what} after all, this would be enough:")
        give = _relaxation_options(c, c.relaxations, sentence)
    marked = tuple(
        plan_option(c, one)
        for one in c.seen.plans
        if one.name in c.seen.marked and (c.best is None or one.name != c.best.name)
    )
    others, sure = plans_beside(c, kinds, known)
    reason = c.reason if c.ended == "none" else ""
    if reason and language() != "en":  # a state holds it in English
        reason = c.difference()
    return Ending(
        c.ended, text, plan, limits, tuple(learned), give, reason, () if plan is None else _assumes(c, sure), marked,
        tuple(plan_option(c, one, text=text) for text, one in others),
    )  # fmt: skip


def _assumes(c: Conversation, sure: Sequence[str]) -> tuple[str, ...]:
    """What the plan takes as it is, how sure it is, and until when. sure: how it fares in models trained again."""
    until, problem = c.setup.until, c.problem
    assert c.best is not None
    out = [
        *c.rounder.slack(c.best, c.wishes),
        gettext("We took everything else about you as it is today, and the model that decides as it is now."),
        gettext("The plan holds until {day}.", day=until)
        if until
        else gettext(
            "If either changes, the answer may change: ask again before you begin something that takes long."
        ),
    ]
    if problem.confidence is not None and problem.world.uncertain:
        out.append(
            gettext(
                "What follows from your steps is not certain: by our estimate the plan {how_often}.",
                how_often=problem.confidence.text(),
            )
        )
    if problem.robust is not None:
        out.append(gettext("It also holds under this: {condition}.", condition=problem.robust.text()))
    return (*out, *sure)


def _none_text(c: Conversation) -> str:
    if c.outcome is Outcome.NONE_EXISTS:
        if not any(key in wish for wish in c.wishes for key in HARD):
            return gettext(
                "Nothing that you can change would turn the answer into a yes. We did not just fail to find a way: it "
                "was proved. What decides here is not in your hands."
            )
        return gettext("Within your limits there is no plan that turns the answer into a yes. It was proved.")
    if c.outcome is Outcome.NOT_FOUND:
        return gettext("We did not find a plan that turns the answer into a yes. There may still be one.")
    return gettext("We have no plan to show you.")
