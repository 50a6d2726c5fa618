"""A dialogue with one person: ask, answer, take back, put away, go on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.errors import DataError, DialogueError, is_integer, shown
from wayforward.language import N_, gettext, language, use_language
from wayforward.people.dialogue.another_model import news
from wayforward.people.dialogue.conversation import Conversation
from wayforward.people.dialogue.fitting import fitted_elicitor
from wayforward.people.dialogue.lessons import Compared, lessons
from wayforward.people.dialogue.plans_beside import checked_kinds
from wayforward.people.dialogue.question import Question
from wayforward.people.dialogue.questionnaire import form_entry, parts_of
from wayforward.people.dialogue.reply_log import ReplyLog
from wayforward.people.dialogue.reply_parts import asks_meaning
from wayforward.people.dialogue.reply_reading import read
from wayforward.people.dialogue.retelling import entry_of, retold
from wayforward.people.dialogue.setup import DialogueSetup
from wayforward.people.dialogue.state import answers_of, fingerprints, row_of, same_answers
from wayforward.people.dialogue.stored_dialogue import StoredDialogue, same_schema
from wayforward.people.dialogue.wishes import wishes_of
from wayforward.people.dialogue.wording import Ending, ending, meaning, worded
from wayforward.people.elicitor import Elicitor
from wayforward.plain_files import as_path, name_of
from wayforward.public import public

if TYPE_CHECKING:
    from wayforward.methods import Method
    from wayforward.preferences.preferences import Preferences
    from wayforward.problem import Problem
    from wayforward.recourse import Recourse
    from wayforward.schema.acts import ActModel


@public
class Dialogue(StoredDialogue):
    """One person, one problem, one question at a time, until there is a plan that this person wants.

    x (d,): the person, in feature units; or one row as a mapping or table. elicitor: how plans are compared, by name
    ('favourite', 'hare', 'multi-hare', 'learned', 'pear'; see `wayforward.people.elicitors.names`), an `Elicitor`, or
    None for the base method's plans one after another. questionnaire: what is asked first: 'limits' (what cannot
    change, and how far; at most five screens), 'page' (all of it on one screen), 'yes-no', 'ranking', 'likert', two of
    them such as 'limits+likert', or None. preferences: limits that are known before, with n = 1. base, budget: the
    elicitor's method of first plans, and how many questions about plans at most; None for its own. until: how long the
    lender keeps to a plan ("31 March 2027"). today: the day from which deadlines count ("by March"); None: the day on
    which they are said. kinds: of plans that are shown beside the one chosen, at the end only; a lasting one and how
    sure each is need the problem's `Retraining`. acts: what people can do, step by step, as an `ActModel`, the file or
    the list that it is read from; then every plan is a sequence of them in order, with the time that it takes, and the
    person may refuse one ("I cannot do this: get a degree"). The sequences come one after another, as with
    elicitor=None: an elicitor puts together end states to which no acts may lead. file: the state is written there
    before any question is shown.

    Everything that is shown was judged by the problem: it is a yes, and keeps every limit stated so far. The state is
    the setup and a log of replies; the same replies give the same questions.

    Example: ``d = Dialogue(problem, x); print(d.ask().show()); d.answer("no")``.
    Raises: DialogueError, MethodError for an unknown elicitor, DataError for a person who does not fit the schema.
    """

    def __init__(
        self,
        problem: Problem,
        x: Any,
        *,
        elicitor: str | Elicitor | None = "favourite",
        questionnaire: str | None = "limits",
        seed: int = 0,
        preferences: Preferences | None = None,
        base: str | Method | None = None,
        budget: int | None = None,
        file: str | Path | None = None,
        until: str = "",
        today: date | None = None,
        kinds: Sequence[str] = ("cheapest", "lasting"),
        acts: ActModel | list[dict[str, Any]] | str | Path | None = None,
    ) -> None:
        row = _one_person(problem, x)
        if not (is_integer(seed) and seed >= 0):
            raise DialogueError(f"seed={shown(seed)} is no seed. Give a whole number of 0 or more.")
        if today is not None and (not isinstance(today, date) or isinstance(today, datetime)):
            raise DialogueError(f"today={shown(today)} is no day. Give datetime.date(2027, 3, 31).")
        if not isinstance(until, str):
            raise DialogueError(
                f"until={shown(until)} is no text. Give the day in words, such as '31 March 2027'."
            )
        if preferences is not None:
            preferences.schema.require_read_alike(
                problem.schema,
                "The preferences are of another schema",
                "Make them with the problem's.",
                DialogueError,
            )
        if preferences is not None and preferences.n != 1:
            raise DialogueError(
                f"The preferences are for {preferences.n} people of {preferences.d} features. A dialogue is with one "
                "person: give preferences.take([i])."
            )
        parts = parts_of(questionnaire)
        self.file = None if file is None else as_path(file)
        if self.file is not None and self.file.exists():
            raise DialogueError(
                f"'{name_of(self.file)}' is there already. Go on with it by Dialogue.load(path, problem), or name "
                "another file."
            )
        asker, method, description = fitted_elicitor(
            problem, elicitor, base, budget, acts=None if acts is None else _plain_acts(problem, acts)
        )
        own = {"questionnaire": questionnaire, "seed": int(seed), "until": until}
        self._description = {**description, **own, "kinds": list(checked_kinds(kinds))}
        wishes = () if preferences is None else tuple(wishes_of(preferences))
        setup = DialogueSetup(problem, row, asker, method, parts, int(seed), wishes, until=until, today=today)
        self._prints = fingerprints(problem, row)
        self._past, self._note, self._screen, self._ending = [], None, None, None
        self._replies = ReplyLog(setup)
        self._write()

    # -- asking and answering ------------------------------------------------------------------------------

    @property
    def problem(self) -> Problem:
        """The problem that the plans are for."""
        return self._setup.problem

    @property
    def x(self) -> np.ndarray:
        """(d,) the person."""
        return np.asarray(self._setup.x[0])

    @property
    def done(self) -> bool:
        """True if there is nothing more to ask."""
        return self._conversation.pending is None

    @property
    def can_undo(self) -> bool:
        """True if there is an answer that `undo` can take back."""
        return bool(self._log)

    @property
    def answered(self) -> int:
        """How many questions were answered."""
        return len(self._past) + len(self._log)

    @property
    def typed(self) -> list[str | None]:
        """What was typed to each question that was answered; None for what was no text."""
        return [entry.get("typed") for entry in (*self._past, *self._log)]

    @property
    def preferences(self) -> Preferences:
        """The person's limits and weights so far, n = 1."""
        return self._conversation.preferences

    def ask(self) -> Question | None:
        """The question on the table, the same until it is answered; None at the end (see `end`)."""
        if self._replies.taken < len(self._log):  # a reply was not taken: what stopped it may be over
            again = ReplyLog.again(self._setup, self._log)
            if again.taken < len(self._log):
                self._carry(self.problem, self._now())
            else:
                self._replies, self._screen = again, None
        pending = self._conversation.pending
        if pending is None:
            return None
        if self._screen is None or self._screen[0] != language():
            self._screen = language(), *self._worded()
        return self._screen[1]

    def _worded(self) -> tuple[Question, list[str]]:
        """The question on the table in the language in use, and the codes of its options."""
        pending = self._conversation.on_table
        question, codes = worded(self._conversation, pending, f"{self.answered + 1}-{pending.mark[:8]}")
        if self._note is not None and self._note["at"] == len(self._log):
            question = replace(question, notes=(news(self._note), *question.notes))
        return question, codes

    def answer(self, reply: Any, question_id: str | None = None) -> Question | None:
        """Take a reply and return the next question, or None at the end.

        reply: text as somebody types it ("y", "2", "6,500", "up to 45", "25%", "I cannot do this: hours", "cannot say",
        "at most 2 changes", "by March", "take 2", "keep 2", "stop here"; "what does that mean?" is answered above the
        same question), a number (options count from 1), a bool, a list for a ranking, for buttons {"cannot": FEATURE}
        and {"feature": FEATURE, "high": VALUE}, or all limits at once {"limits": {FEATURE: ...}} (see `form`).
        question_id: the id of the question that is answered, if there is doubt.
        Raises: ReplyError for what fits no answer, saying what would; DialogueError for an answer to a question that
        is not on the table. Then nothing has changed.
        """
        question = self.ask()
        if question is None:
            raise DialogueError(
                gettext(
                    "The dialogue has ended, so there is nothing to answer. undo() takes back the last answer."
                )
            )
        if question_id is not None and question_id != question.id:
            raise DialogueError(self._mismatch(question_id, question))
        assert self._screen is not None
        c = self._conversation
        if asks_meaning(reply) and c.pending is not None:  # nothing is answered yet
            self._screen = language(), replace(question, notes=(meaning(c, c.pending),)), self._screen[2]
            return self._screen[1]
        self._require_own()
        taken = read(c, reply, question, self._screen[2])
        changed = self._model_is_another()
        if c.lost and not changed:
            self._search_again()
        with use_language("en"):
            self._log.append(entry_of(self._conversation, *self._worded(), taken, reply))
        self._write()  # the answer is safe before anything is worked out from it
        if changed:
            self._carry(self.problem, self._now())
        else:
            self._replies.take()
            self._screen = None
        self._write()
        return self.ask()

    def _search_again(self) -> None:
        """Bring back a session that the elicitor does not store, by giving the replies again."""
        pending, again = self._conversation.pending, ReplyLog.again(self._setup, self._log)
        there = again.conversation.pending
        if again.taken < len(self._log) or (pending and pending.mark) != (there and there.mark):
            raise DialogueError(self._otherwise(again.taken, self._prints))
        self._replies = again

    def _model_is_another(self) -> bool:
        """Does the model say something else than at the beginning about the probe, or no to a plan on the screen?"""
        pending = self._conversation.pending
        shown = [plan.after for plan in pending.plans] if pending is not None else []
        now, still = answers_of(self.problem, self._setup.x, shown)
        return not (still and same_answers(self._prints["model"], now))

    def _mismatch(self, given: str, question: Question) -> str:
        before = [entry["id"] for entry in (*self._past, *self._log)]
        return gettext(_ANSWERED if given in before else _UNKNOWN, given=given, open=question.id)

    def form(self) -> list[dict[str, Any]]:
        """One entry for each feature that a plan may change, for a page that asks for all limits in one reply.

        The reply is {"limits": {name: ...}, "changes": 2, "within": 6} (months, or "by March"); for a feature False
        ("no"), True ("yes"), "up to 3,500", {"low": ..., "high": ...}, a list of levels, how hard it would be (one
        of 'difficulty'), or several of these: {"high": ..., "levels": [...], "hard": "hard"}.
        """
        people = self.problem.population(self._setup.x, self.preferences)
        return [form_entry(people, int(j)) for j in np.flatnonzero(people.may[0])]

    def undo(self) -> Question | None:
        """Take back the last answer; returns the question that is on the table again.

        Raises: DialogueError if nothing can be taken back.
        """
        self._require_own()
        if not self._log:
            raise DialogueError(
                gettext(_GONE)
                if self._past
                else gettext("There is no answer to take back: this is the first question.")
            )
        if self._model_is_another():
            self._carry(self.problem, self._now())
            self._write()
            raise DialogueError(" ".join([gettext(_GONE), gettext("Show ask() again.")]))
        self._replies.take_back()
        self._screen = None
        self._write()
        return self.ask()

    def continue_with(self, problem: Problem) -> Question | None:
        """Go on under a problem with a new model: plans shown before are judged again, limits and choices are kept.

        The person is told with the next question. Raises: DialogueError if the schema is another.
        """
        same_schema(self._prints, problem)
        self._require_own()
        self._carry(problem, self._now())
        self._write()
        return self.ask()

    def replay(self) -> list[tuple[Question, str]]:
        """Every question since the last change of the model, shown again, and what was said to it.

        Raises: DialogueError if a question does not come out as it was shown.
        """
        again = Conversation(self._setup)
        out = []
        for place, entry in enumerate(self._log):
            pending = again.pending
            if pending is None or pending.mark != entry["shown"]:
                raise DialogueError(
                    f"Question {place + 1} comes out otherwise than it was shown. Was the model changed?"
                )
            question = worded(again, pending, entry["id"])[0]
            out.append((question, retold(again, entry).reply))
            again.take(entry["reply"])
        return out

    # -- the end -------------------------------------------------------------------------------------------

    @property
    def end(self) -> Ending | None:
        """How it ended, with the plan, what was learned and what would have to give; None before the end."""
        return self.end_beside(None)

    def end_beside(self, known: Callable[[], Recourse] | None) -> Ending | None:
        """As `end`. known: returns options of some kinds under the person's limits, so that none is searched again."""
        if self._conversation.ended is None:
            return None
        key = self._conversation, self.answered, language()
        if self._ending is None or self._ending[0] != key:
            found = ending(self._conversation, self.learned(), self._description.get("kinds", ()), known)
            self._ending = key, found
        return self._ending[1]

    @property
    def ended(self) -> str | None:
        """`Ending.how` of the end; None before it."""
        return self._conversation.ended

    @property
    def plan(self) -> Recourse | None:
        """The plan accepted, or the best so far, in the numbers that were told (n = 1, k = 1); None for no plan."""
        best = self._conversation.best
        if best is None:
            return None
        got = self.problem.check(self._setup.x, best.action[None, None], 1, preferences=self.preferences)
        got = got if self._setup.walker is None else self._setup.walker.walked(got)
        return replace(got, meta=got.meta | {"rounded": True})

    def learned(self) -> list[str]:
        """What the choices so far say, in sentences: "You would rather raise your savings than ..."."""
        compared = [*_compared(self._past), *self._conversation.seen.compared]
        if self._conversation.lost and compared:
            self._search_again()
        session = self._conversation.session
        believed = None if session is None else session.learned()
        own = None if not believed or "reluctance" not in believed else np.asarray(believed["reluctance"])[0]
        if own is not None and not np.isfinite(own).all():
            own = None
        return lessons(self.problem.schema, self.x, compared, own)

    def export(self) -> str:
        """The whole dialogue as plain text, for the person and for the file: questions, replies, and what came out."""
        lines = [gettext("Your dialogue about a plan"), ""]
        for place, entry in enumerate([*self._past, *self._log], 1):
            one = retold(self._conversation, entry)
            lines.append(f"{place}. {one.text}")
            for i, plan in enumerate(one.plans, 1):
                text = plan if len(one.plans) == 1 else gettext("Plan {n}: {steps}", n=i, steps=plan)
                lines.append(f"   {text}")
            reply = gettext("You said: {reply}", reply=one.reply)
            lines += [f"   {reply}", ""]
        last = self.end
        if last is None:
            lines.append(gettext("The dialogue has not ended."))
            lines += [f"- {line}" for line in self.learned()]
        else:
            lines.append(last.show())
        return "\n".join(lines)

    def __repr__(self) -> str:
        ended, name = self._conversation.ended or "open", self._description["elicitor"] or "no elicitor"
        return f"Dialogue({self.answered} answered, {ended}, {name})"


# -- private ---------------------------------------------------------------------------------------------------


def _plain_acts(problem: Problem, acts: ActModel | list[dict[str, Any]] | str | Path) -> list[dict[str, Any]]:
    """The acts as a state keeps them. Raises: FileFormatError, SchemaError, RuleError."""
    from wayforward.schema.acts import ActModel

    if isinstance(acts, list):
        return ActModel.from_plain(acts, problem.schema).to_plain()
    known = acts if isinstance(acts, ActModel) else ActModel.from_yaml(acts, problem.schema)
    return known.to_plain()


def _one_person(problem: Problem, x: Any) -> np.ndarray:
    if isinstance(x, np.ndarray) and x.ndim == 1:
        x = x[None]
    row = problem.encode(x, "person")
    if len(row) != 1:
        raise DataError(f"A dialogue is with one person; got {len(row)} rows. Give one row.")
    return row


def _compared(entries: list[dict[str, Any]]) -> list[Compared]:
    """What was chosen over what, in replies under earlier models."""
    out = []
    for entry in entries:
        if entry["what"] == "pair" and "option" in entry["reply"]:
            rows = [row_of(plan["after"]) for plan in entry["plans"]]
            taken = rows[entry["reply"]["option"]]
            out += [Compared(taken, row) for row in rows if row is not taken]
    return out


_GONE = N_(
    "The model was changed after your last answer, so it cannot be taken back. You can still give new limits: I cannot "
    "do this: ..."
)
_ANSWERED = N_(
    "Question '{given}' was answered before; on the table is '{open}'. Show ask() again, and answer that. Nothing was "
    "changed."
)
_UNKNOWN = N_(
    "Question '{given}' was not asked; on the table is '{open}'. Show ask() again, and answer that. Nothing was "
    "changed."
)
__all__ = ["Dialogue"]
