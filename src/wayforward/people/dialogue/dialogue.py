"""A dialogue with one person: ask, answer, take back, put away, go on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from wayforward.errors import DataError, DialogueError, FileFormatError
from wayforward.people.dialogue import fitting, snapshot
from wayforward.people.dialogue import state as st
from wayforward.people.dialogue.conversation import PLANS, Conversation, DialogueSetup
from wayforward.people.dialogue.lessons import Compared, lessons
from wayforward.people.dialogue.question import Question, Reply, asks_meaning
from wayforward.people.dialogue.questionnaire import form_entry, parts_of
from wayforward.people.dialogue.reply_reading import read
from wayforward.people.dialogue.wishes import preferences_of, wishes_of
from wayforward.people.dialogue.wording import Ending, ending, meaning, numbers, reply_text, worded
from wayforward.people.elicitor import Elicitor

if TYPE_CHECKING:
    from wayforward.methods import Method
    from wayforward.preferences.preferences import Preferences
    from wayforward.problem import Problem
    from wayforward.recourse import Recourse


class Dialogue:
    """One person, one problem, one question at a time, until there is a plan that this person wants.

    x (d,): the person, in feature units; or one row as a mapping or table. elicitor: how plans are compared, by name
    ('favourite', 'hare', 'multi-hare', 'learned', 'pear'; see `wayforward.people.elicitors.names`), an `Elicitor`, or
    None for the base method's plans one after another. questionnaire: what is asked first: 'limits' (what cannot
    change, and how far; at most five screens), 'page' (all of it on one screen), 'yes-no', 'ranking', 'likert', two of
    them such as 'limits+likert', or None. preferences: limits that are known before, with n = 1. base, budget: the
    elicitor's method of first plans, and how many questions about plans at most; None for its own. until: how long the
    lender keeps to a plan ("31 March 2027"). file: the state is written there before any question is shown.

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
    ) -> None:
        row = _one_person(problem, x)
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
            raise DialogueError(f"seed={seed!r} is not a whole number. Use seed=0, for example.")
        if preferences is not None and (
            preferences.n != 1 or preferences.schema.names != problem.schema.names
        ):
            raise DialogueError(
                f"The preferences are for {preferences.n} people of {preferences.d} features. A "
                "dialogue is with one person: "
                "give preferences.take([i])."
            )
        parts = parts_of(questionnaire)
        self.file = None if file is None else Path(file)
        if self.file is not None and self.file.exists():
            raise DialogueError(
                f"'{self.file.name}' is there already. Go on with it by Dialogue.load(path, problem), "
                "or name another file."
            )
        asker, method, description = fitting.fitted_elicitor(problem, elicitor, base, budget)
        self._description = {**description, "questionnaire": questionnaire, "seed": int(seed), "until": until}
        wishes = () if preferences is None else tuple(wishes_of(preferences))
        self._setup = DialogueSetup(problem, row, asker, method, parts, int(seed), wishes, until=until)
        self._prints = st.fingerprints(problem, row)
        self._past: list[dict[str, Any]] = []
        self._log: list[dict[str, Any]] = []
        self._note: dict[str, Any] | None = None  # what to tell before the question at this place of the log
        self._begin()
        self._write()

    def _begin(self) -> None:
        self._found: dict[int, list[Any]] = {}  # session -> the plans that it has found
        self._snaps: list[dict[str, Any]] = []  # before each reply, and now
        self._conversation = Conversation(self._setup)
        self._screen: tuple[Question, list[str]] | None = None
        self._taken = 0  # replies of the log that the conversation has had
        self._keep()
        self._broken = False  # a reply could not be taken: the model failed, or somebody interrupted

    def _keep(self) -> None:
        """Remember where the conversation stands, so that it is there again without a search."""
        snap, found = snapshot.taken(self._conversation)
        self._found[self._conversation.number] = found
        self._snaps.append(snap)

    def _stand(self) -> None:
        """Go to where the last snapshot was taken."""
        snap = self._snaps[-1]
        self._conversation = snapshot.given_back(self._setup, snap, self._found.get(snap["number"], []))
        self._taken, self._screen, self._broken = len(self._snaps) - 1, None, False

    def _mend(self) -> None:
        """Give the replies again after one could not be taken; what stopped it may be over."""
        log, self._log = self._log, []
        try:
            self._begin()
            self._again(log)
        finally:
            self._log = log
            self._broken = self._taken < len(log)

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
        if self._broken:
            self._mend()
        pending = self._conversation.pending
        if pending is None:
            return None
        if self._screen is None:
            name = f"{self.answered + 1}-{pending.mark[:8]}"
            question, codes = worded(self._conversation, pending, name)
            if self._note is not None and self._note["at"] == len(self._log):
                question = replace(question, notes=(self._note["text"], *question.notes))
            self._screen = question, codes
        return self._screen[0]

    def answer(self, reply: Any, question_id: str | None = None) -> Question | None:
        """Take a reply and return the next question, or None at the end.

        reply: text as somebody types it ("y", "2", "6,500", "up to 45", "25%", "I cannot do this: hours", "cannot say",
        "at most 2 changes", "take 2", "keep 2", "stop here"; "what does that mean?" is answered above the same
        question), a number (options count from 1), a bool, a list for a ranking, for buttons {"cannot": FEATURE} and
        {"feature": FEATURE, "high": VALUE}, or all limits at once {"limits": {FEATURE: ...}} (see `form`).
        question_id: the id of the question that is answered, if there is doubt.
        Raises: ReplyError for what fits no answer, saying what would; DialogueError for an answer to a question that
        is not on the table. Then nothing has changed.
        """
        question = self.ask()
        if question is None:
            raise DialogueError(
                "The dialogue has ended, so there is nothing to answer. undo() takes back the last answer."
            )
        if question_id is not None and question_id != question.id:
            raise DialogueError(self._mismatch(question_id, question))
        assert self._screen is not None
        c = self._conversation
        if asks_meaning(reply) and c.pending is not None:  # nothing is answered yet
            self._screen = replace(question, notes=(meaning(c, c.pending),)), self._screen[1]
            return self._screen[0]
        taken = read(c, reply, question, self._screen[1])
        changed = self._model_is_another()
        if c.lost and not changed:
            c = self._searched_again()
        self._log.append(self._entry(question, taken, reply))
        self._write()  # the answer is safe before anything is worked out from it
        self._broken = True
        if changed:
            self._changed(self.problem)
        else:
            c.take(taken)
            self._taken += 1
            self._screen = None
            self._keep()
        self._broken = False
        self._write()
        return self.ask()

    def _searched_again(self) -> Conversation:
        """The conversation with its session, which the elicitor does not store: the replies are given again."""
        mark = None if self._conversation.pending is None else self._conversation.pending.mark
        log, self._log = self._log, []
        self._begin()
        wrong = self._again(log)
        pending = self._conversation.pending
        if wrong is not None or mark != (None if pending is None else pending.mark):
            at = len(log) if wrong is None else wrong
            self._log = log
            raise DialogueError(self._otherwise(at, self._prints))
        return self._conversation

    def _otherwise(self, place: int, before: dict[str, Any]) -> str:
        versions = st.versions_apart(before, st.fingerprints(self.problem, self._setup.x))
        why = f" Versions differ: {'; '.join(versions)}." if versions else ""
        return (
            f"Question {place + 1} does not come out as it was shown.{why} Open the state with what it was made "
            f"with; {_GO_ON}"
        )

    def _model_is_another(self) -> bool:
        """Does the model say something else than at the beginning about the probe, or no to a plan on the screen?"""
        pending = self._conversation.pending
        shown = [plan.after for plan in pending.plans] if pending is not None else []
        now, still = st.answers_of(self.problem, self._setup.x, shown)
        return not (still and st.same_answers(self._prints["model"], now))

    def _mismatch(self, given: str, question: Question) -> str:
        before = [entry["id"] for entry in (*self._past, *self._log)]
        what = "was answered before" if given in before else "was not asked"
        return (
            f"Question '{given}' {what}; on the table is '{question.id}'. Show ask() again, and answer that. "
            "Nothing was changed."
        )

    def _entry(self, question: Question, reply: Reply, typed: Any) -> dict[str, Any]:
        pending = self._conversation.pending
        assert pending is not None
        entry: dict[str, Any] = {
            "id": question.id,
            "what": pending.what,
            "shown": pending.mark,
            "text": question.text,
            "reply": reply,
            "typed": typed if isinstance(typed, str) else None,
            "said": reply_text(question, reply, self.problem.schema),
        }
        if pending.plans:
            entry["plans"] = [
                {
                    "name": plan.name,
                    "action": numbers(plan.action),
                    "after": numbers(plan.after),
                    "steps": [*plan.steps, *plan.follows],
                }
                for plan in pending.plans
            ]
        return entry

    def form(self) -> list[dict[str, Any]]:
        """One entry for each feature that a plan may change, for a page that asks for all limits in one reply.

        The reply is {"limits": {name: ...}, "changes": 2}; for a feature False ("no"), True ("yes"), "up to 3,500",
        {"low": ..., "high": ...}, a list of levels, or how hard it would be (one of 'difficulty').
        """
        people = self.problem.population(self._setup.x, self.preferences)
        return [form_entry(people, int(j)) for j in np.flatnonzero(people.may[0])]

    def undo(self) -> Question | None:
        """Take back the last answer; returns the question that is on the table again.

        Raises: DialogueError if nothing can be taken back.
        """
        if not self._log:
            raise DialogueError(
                _GONE if self._past else "There is no answer to take back: this is the first question."
            )
        if self._model_is_another():
            self._changed(self.problem)
            self._write()
            raise DialogueError(f"{_GONE} Show ask() again.")
        self._log = self._log[:-1]
        self._snaps = self._snaps[: len(self._log) + 1]
        self._stand()
        self._write()
        return self.ask()

    def _again(self, log: list[dict[str, Any]]) -> int | None:
        """Give the replies of a log again; the place of the first question that is not the one
        shown then, or None."""
        for place, entry in enumerate(log):
            pending = self._conversation.pending
            if pending is None or pending.what != entry["what"] or pending.mark != entry["shown"]:
                return place
            self._log.append(entry)
            self._conversation.take(entry["reply"])
            self._taken += 1
            self._screen = None
            self._keep()
        return None

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
            out.append((question, entry["said"]))
            again.take(entry["reply"])
        return out

    # -- the end -------------------------------------------------------------------------------------------

    @property
    def end(self) -> Ending | None:
        """How it ended, with the plan, what was learned and what would have to give; None before the end."""
        return None if self._conversation.ended is None else ending(self._conversation, self.learned())

    @property
    def plan(self) -> Recourse | None:
        """The plan accepted, or the best so far, judged (n = 1, k = 1); None where there is none."""
        best = self._conversation.best
        if best is None:
            return None
        return self.problem.check(self._setup.x, best.action[None, None], 1, preferences=self.preferences)

    def learned(self) -> list[str]:
        """What the choices so far say, in sentences: "You would rather raise your savings than ..."."""
        compared = [*_compared(self._past), *self._conversation.seen.compared]
        if self._conversation.lost and compared:
            self._searched_again()
        session = self._conversation.session
        believed = None if session is None else session.learned()
        own = None if not believed or "reluctance" not in believed else np.asarray(believed["reluctance"])[0]
        if own is not None and not np.isfinite(own).all():
            own = None
        return lessons(self.problem.schema, self.x, compared, own)

    def export(self) -> str:
        """The whole dialogue as plain text, for the person and for the file: questions, replies,
        and what came out."""
        lines = ["Your dialogue about a plan", ""]
        for place, entry in enumerate([*self._past, *self._log], 1):
            lines.append(f"{place}. {entry['text']}")
            for i, plan in enumerate(entry.get("plans", ()), 1):
                lead = f"   Plan {i}: " if len(entry["plans"]) > 1 else "   "
                lines.append(lead + " ".join(plan["steps"]))
            lines += [f"   You said: {entry['said']}", ""]
        last = self.end
        if last is None:
            lines.append("The dialogue has not ended.")
            lines += [f"- {line}" for line in self.learned()]
        else:
            lines.append(last.show())
        return "\n".join(lines)

    # -- state ---------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """The state as plain data for JSON, with a checksum; it holds the person's row and what they said."""
        return st.sealed(self._plain())

    def _content(self) -> dict[str, Any]:
        c, s = self._conversation, self._setup
        return {
            "format": st.FORMAT,
            "version": st.VERSION,
            "setup": self._description,
            "x": numbers(s.x[0]),
            "fingerprints": self._prints,
            "begin": {
                "parts": list(s.parts),
                "wishes": list(s.wishes),
                "start": None if s.start is None else numbers(s.start),
                "spent": s.spent,
                "declined": sorted(s.declined),
                "edges": [list(edge) for edge in s.edges],
            },
            "note": self._note,
            "past": self._past,
            "log": self._log,
            "snapshots": self._snaps,
            "found": {
                str(number): found[:many]
                for number, found in sorted(self._found.items())
                if (many := self._needed(number))
            },
            "now": {
                "taken": self._taken,
                "planning": c.pending is None or c.pending.what in (*PLANS, "reconsider"),
                "limits_asked": c.limits_requested,
                "wishes": list(c.wishes),
                "spent": c.spent,
                "declined": sorted(c.seen.declined),
                "edges": [list(edge) for edge in c.seen.edges],
                "best": None if c.best is None else numbers(c.best.action),
                "ended": c.ended,
            },
        }

    def _needed(self, number: int) -> int:
        """How many of the plans that a session has found the snapshots speak of."""
        sessions = (snap["session"] for snap in self._snaps if snap["number"] == number)
        return max((one["many"] for one in sessions if one is not None), default=0)

    def save(self, path: str | Path) -> Path:
        """Write the state: whole, or as it was before. Raises: FileFormatError if it cannot be written."""
        path = Path(path)
        st.write(path, self._plain())
        return path

    def _plain(self) -> dict[str, Any]:
        import json

        return dict(json.loads(json.dumps(self._content(), allow_nan=False)))

    def _write(self) -> None:
        if self.file is not None:
            st.write(self.file, self._plain())

    @classmethod
    def load(
        cls,
        path: str | Path,
        problem: Problem,
        *,
        changed: str = "refuse",
        elicitor: Elicitor | None = None,
        autosave: bool = True,
    ) -> Self:
        """Go on with what `save` (or `file=`) wrote; with `autosave` the same file is kept up to date.

        Raises: as `from_dict`; FileFormatError for a file that cannot be read.
        """
        out = cls.from_dict(problem, st.sealed(st.read(Path(path))), changed=changed, elicitor=elicitor)
        if autosave:
            out.file = Path(path)
            out._write()
        return out

    @classmethod
    def from_dict(
        cls,
        problem: Problem,
        stored: Mapping[str, Any],
        *,
        changed: str = "refuse",
        elicitor: Elicitor | None = None,
    ) -> Self:
        """Go on with a stored state: the replies are given again, and the same question is on the table.

        changed: what to do if the model or the data are not those of the state: 'refuse' says what differs; 'continue'
        judges the plans that were shown again and goes on from the best that holds; the person is told. elicitor: the
        same object as then, where it was not one known by name.
        Raises: DialogueError for another schema, model or data, for a state that was changed after it was written, and
        for one that does not come out again; FileFormatError for what is no state.
        """
        if changed not in ("refuse", "continue"):
            raise DialogueError(f"changed={changed!r} is neither 'refuse' nor 'continue'.")
        content = st.opened(dict(stored) if isinstance(stored, Mapping) else stored)
        try:
            before, description, begin, now = (
                content[key] for key in ("fingerprints", "setup", "begin", "now")
            )
            log, past, note = list(content["log"]), list(content["past"]), content["note"]
            row = np.array([np.nan if v is None else v for v in content["x"]], dtype=np.float64)[None]
            parts: dict[str, Any] = {
                "parts": tuple(begin["parts"]),
                "seed": int(description["seed"]),
                "wishes": tuple(begin["wishes"]),
                "start": _row(begin["start"]),
                "spent": int(begin["spent"]),
                "declined": tuple(begin["declined"]),
                "edges": tuple((a, b) for a, b in begin["edges"]),
                "until": str(description.get("until", "")),
            }
            _same_schema(before, problem)
        except (KeyError, TypeError, ValueError) as error:
            raise FileFormatError(
                f"The state holds no dialogue ({type(error).__name__}: {error}). Use the copy that was kept before."
            ) from error
        snaps = list(content.get("snapshots", ()))
        pending = snaps[-1]["pending"] if snaps else None
        shown = [_row(snaps[-1]["plans"][name]["after"]) for name in pending["plans"]] if pending else []
        answers, still = st.answers_of(problem, row, [one for one in shown if one is not None])
        prints = st.fingerprints(problem, row, answers)
        apart = st.differences(before, prints)
        if apart and changed == "refuse":
            raise DialogueError(_differs(apart, f"Open it with what it was made with; {_GO_ON}"))
        out = cls.__new__(cls)
        out.file, out._description, out._prints = None, description, prints
        asker, method = fitting.elicitor_again(problem, description, elicitor)
        out._setup = DialogueSetup(problem, row, asker, method, **parts)
        out._past, out._log, out._note = past, [], note
        if apart:
            out._log = log
            out._carry(problem, now)
            return out
        if len(snaps) == len(log) + 1 and still:
            out._log, out._snaps = log, snaps
            out._found = {int(number): list(found) for number, found in content["found"].items()}
            out._stand()
            return out
        out._begin()
        wrong = out._again(log)
        if wrong is not None:
            if changed == "refuse" and content["version"] == st.VERSION:
                raise DialogueError(out._otherwise(wrong, before))
            out._log = log
            out._carry(problem, now, _RENEWED if content["version"] != st.VERSION else _CHANGED)
        return out

    # -- another model -------------------------------------------------------------------------------------

    def continue_with(self, problem: Problem) -> Question | None:
        """Go on under a problem with a new model: plans shown before are judged again, limits and choices are kept.

        The person is told with the next question. Raises: DialogueError if the schema is another.
        """
        _same_schema(self._prints, problem)
        self._changed(problem)
        self._write()
        return self.ask()

    def _changed(self, problem: Problem) -> None:
        now = self._content()["now"]
        self._carry(problem, now)

    def _carry(self, problem: Problem, now: dict[str, Any], what: str = "") -> None:
        """Close what was asked of the old model, judge its plans by the new one, and go on from the
        best that holds."""
        what = what or _CHANGED
        s, log = self._setup, self._log
        last = log[-1] if log else None
        answered = int(now["taken"]) < len(log)  # it was written, and the model changed before it was taken
        if problem is not s.problem:
            asker, method = fitting.refitted(problem, self._description, s.elicitor)
            s = replace(s, problem=problem, elicitor=asker, base=method)
        self._prints = st.fingerprints(problem, s.x)
        if not now["planning"]:  # limits hang on no model: the same questions, the same answers
            self._setup, self._log = s, []
            self._begin()
            wrong = self._again(log)
            if wrong is not None:
                self._past += log[wrong:]
            self._tell(f"{what} What you told us is kept.")
            return
        wishes, spent, declined = list(now["wishes"]), int(now["spent"]), set(now["declined"])
        if answered and last is not None:
            wishes, spent, declined = _taken(last, wishes, spent, declined)
        self._past, self._log = [*self._past, *log], []
        plans = _liked(self._past, now["best"])
        held = self._holding(problem, plans, wishes)
        start = None if not held else held[0]
        parts = s.parts if not now["limits_asked"] else ()
        edges = tuple((a, b) for a, b in now["edges"])
        self._setup = replace(
            s,
            parts=parts,
            wishes=tuple(wishes),
            start=start,
            spent=spent,
            declined=tuple(sorted(declined)),
            edges=edges,
        )
        self._begin()
        if not plans:
            self._tell(f"{what} What you told us is kept.")
        elif held:
            many = (
                f"{len(held)} of the {len(plans)} plans that you saw"
                if len(plans) > 1
                else "The plan that you saw"
            )
            verb = "hold" if len(held) > 1 else "holds"
            self._tell(
                f"{what} We checked again: {many if len(plans) > 1 else many.lower()} still {verb}. We go on from "
                "the one that you liked best."
            )
        else:
            self._tell(
                f"{what} None of the plans that you saw would be enough now, so we looked for a new one. "
                "What you told us about your limits is kept."
            )

    def _tell(self, note: str) -> None:
        self._note = {"text": note, "at": len(self._log)}
        self._screen = None

    def _holding(
        self, problem: Problem, plans: list[np.ndarray], wishes: list[dict[str, Any]]
    ) -> list[np.ndarray]:
        """Those of the plans (d,) that are still a yes and keep the wishes, in the same order."""
        if not plans:
            return []
        x = np.repeat(self._setup.x, len(plans), axis=0)
        own = preferences_of(problem.schema, wishes).take(np.zeros(len(plans), dtype=np.int64))
        got = problem.check(x, np.stack(plans)[:, None], 1, preferences=own)
        return [plan for plan, holds in zip(plans, got.found[:, 0], strict=True) if holds]

    def __repr__(self) -> str:
        ended, name = self._conversation.ended or "open", self._description["elicitor"] or "no elicitor"
        return f"Dialogue({self.answered} answered, {ended}, {name})"


# -- private ---------------------------------------------------------------------------------------------------


def _one_person(problem: Problem, x: Any) -> np.ndarray:
    if isinstance(x, np.ndarray) and x.ndim == 1:
        x = x[None]
    row = problem.schema.encode(x, "person")
    if len(row) != 1:
        raise DataError(f"A dialogue is with one person; got {len(row)} rows. Give one row.")
    return row


def _row(values: Any) -> np.ndarray | None:
    return (
        None if values is None else np.array([np.nan if v is None else v for v in values], dtype=np.float64)
    )


def _compared(entries: list[dict[str, Any]]) -> list[Compared]:
    out = []
    for entry in entries:
        if entry["what"] == "pair" and "option" in entry["reply"]:
            rows = [_row(plan["after"]) for plan in entry["plans"]]
            taken = rows[entry["reply"]["option"]]
            out += [
                Compared(taken, row)
                for row in rows
                if row is not taken and row is not None and taken is not None
            ]
    return out


def _liked(entries: list[dict[str, Any]], best: Any) -> list[np.ndarray]:
    """Plans that were shown, as actions, each once: the best so far, then those chosen last, then
    those seen last."""
    found: dict[str, np.ndarray] = {}
    chosen: list[tuple[str, np.ndarray | None]] = []
    seen: list[tuple[str, np.ndarray | None]] = []
    for entry in reversed(entries):
        for i, plan in enumerate(entry.get("plans", ())):
            taken = entry["reply"].get("option") == i or entry["reply"].get("yes")
            (chosen if taken else seen).append((plan["name"], _row(plan["action"])))
    rows = [(name, row) for name, row in (*chosen, *seen) if row is not None]
    last = entries[-1]["reply"] if entries else {}
    if best is not None and "option" not in last:
        row = _row(best)
        same = [
            name for name, other in rows if row is not None and np.array_equal(other, row, equal_nan=True)
        ]
        if same and row is not None:
            rows.insert(0, (same[0], row))
    for name, row in rows:
        found.setdefault(name, row)
    return list(found.values())


def _taken(
    entry: dict[str, Any], wishes: list[Any], spent: int, declined: set[str]
) -> tuple[list[Any], int, set[str]]:
    """What an answer that came just as the model changed still says: a new limit, a plan that was
    not good enough."""
    reply = entry["reply"]
    if "wish" in reply:
        wishes = [*wishes, reply["wish"]]
    if entry["what"] in PLANS:
        spent += entry["what"] != "final"
        if reply.get("yes") is False:
            declined = {*declined, *(plan["name"] for plan in entry["plans"])}
    return wishes, spent, declined


def _same_schema(before: dict[str, Any], problem: Problem) -> None:
    now = {**before, "features": st.features_of(problem), "rules": list(problem.schema.rules)}
    apart = st.differences(before, now)
    if apart:
        raise DialogueError(_differs(apart, "A dialogue cannot go on under another schema; begin a new one."))


_CHANGED = "The model that decides was changed in the meantime."
_RENEWED = "Our programme was renewed in the meantime."
_GONE = (
    "The model was changed after your last answer, so it cannot be taken back. You can still give new limits: I cannot "
    "do this: ..."
)
_GO_ON = "or go on from the plans that still hold, with changed='continue' (--go-on in a shell)."


def _differs(apart: dict[str, str], then: str) -> str:
    return f"The state is of another problem. What differs: {'; '.join(apart.values())}. {then}"


__all__ = ["Dialogue"]
