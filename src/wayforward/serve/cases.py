"""An applicant's case: opened by its code, sealed at rest, asked and answered through the library's dialogue.

What is stored is one sealed text: the person's row, their limits, the dialogue, the plans that they keep. A reply is
worked out first and stored then, in one unit of work that stands only if nobody else changed the case in between.
"""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import delete, select, update

from wayforward.answers.receipt import Receipt
from wayforward.errors import DataError, ReplyError, WayforwardError
from wayforward.serve.accounts import digest
from wayforward.serve.events import record
from wayforward.serve.keys import Keys, seal_plain, unseal_plain
from wayforward.serve.projects import Project, ProjectError, Projects
from wayforward.serve.storage.database import Database
from wayforward.serve.storage.tables import ApplicantCase, ModelVersion, now

if TYPE_CHECKING:
    from wayforward.people.dialogue import Dialogue
    from wayforward.people.dialogue.question import Question
    from wayforward.preferences import Preferences
    from wayforward.problem import Problem
    from wayforward.recourse import Recourse

KINDS = ("cheapest", "fewest", "lasting")
MOST_KEPT = 12
VALID_DAYS = 90  # of a receipt
_HELD = 256  # dialogues in memory
_COSTS = {
    "what-if": 1,
    "plans": 4,
    "reply": 2,
}  # answers of the model that an act may show, for the query budget
_SEED = 0
_ROOM = 0.05  # at most so much dearer, to bear small errors


class CaseError(WayforwardError):
    """A case cannot do this now. The message is for the applicant."""


class CaseGone(CaseError):
    """There is no such case (any more), or this is not the way to it."""


class CaseChanged(CaseError):
    """The case was changed elsewhere since this page was shown."""


@dataclass(frozen=True)
class PlanText:
    """A plan as a page shows it. key: its place in the list, as text. table: rows of now and then."""

    key: str
    name: str
    steps: tuple[str, ...]
    follows: tuple[str, ...]
    notes: tuple[str, ...]
    table: tuple[dict[str, str], ...]
    action: tuple[float | None, ...]
    holds: bool = True
    is_kept: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            name: list(value) if isinstance(value, tuple) else value for name, value in vars(self).items()
        }


@dataclass(frozen=True)
class WhatIf:
    """What the model says to other values. accepted: would the answer be yes? text: how near a yes. broken: why nobody
    could have these values, in sentences; [] if they are possible."""

    accepted: bool
    text: str
    broken: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"accepted": self.accepted, "text": self.text, "broken": list(self.broken)}


@dataclass
class Applicant:
    """A case that is open: what is stored (`case`, `state`), and its model (`project`)."""

    case: ApplicantCase
    project: Project
    state: dict[str, Any]
    dialogue: Dialogue | None = field(default=None, repr=False)
    queries: int = 0

    @property
    def x(self) -> np.ndarray:
        """(1, d) the person."""
        return _row(self.state["x"])[None]

    @property
    def preferences(self) -> Preferences | None:
        """Their limits so far."""
        return None if self.dialogue is None else self.dialogue.preferences


class Cases:
    """The cases of a database. Every method is one act of an applicant; those that change something take the revision
    that the applicant saw, and raise CaseChanged where it is another one now.
    """

    def __init__(self, database: Database, keys: Keys, projects: Projects, *, budget: int = 2000) -> None:
        self.database, self.keys, self.projects, self.budget = database, keys, projects, budget
        self._held: OrderedDict[tuple[str, int], Dialogue] = OrderedDict()
        self._plans: OrderedDict[tuple[str, int], Recourse] = OrderedDict()
        self._lock = threading.Lock()

    # -- making, opening, forgetting -----------------------------------------------------------------------

    def make(self, model_id: str, people: Any, by: str = "") -> list[tuple[str, str]]:
        """Make a case for each person of a table or list of rows; return (case id, code) of each: the only way in.

        Raises: ProjectError where nobody has published the model; DataError that names the column and the value.
        """
        with self.database.session(write=False) as session:
            version = session.get(ModelVersion, model_id)
            if version is None or version.published is None:
                raise ProjectError("Applicants can only meet a model that was published.")
        project = self.projects.project(model_id)
        rows = project.schema.encode(_columns(people) if isinstance(people, list) else people)
        made = []
        with self.database.session() as session:
            for row in rows:
                id, code = (
                    secrets.token_hex(11),
                    new_code(),
                )  # an id that starts with "-" is a formula to a spreadsheet
                key = self.keys.new_case_key()
                state: dict[str, Any] = {"x": _plain(row), "limits": {}, "dialogue": None, "kept": []}
                session.add(
                    ApplicantCase(
                        id=id,
                        code=digest(code),
                        model_id=model_id,
                        key=key,
                        state=seal_plain(self.keys.case_key(key), state, id),
                    )
                )
                made.append((id, code))
            record(session, by or "applicant", "cases made", str(len(made)))
        return made

    def by_code(self, code: str) -> str:
        """Return the id of the case that a code opens. Raises: CaseGone."""
        with self.database.session(write=False) as session:
            found = session.scalars(
                select(ApplicantCase.id).where(ApplicantCase.code == digest(clean_code(code)))
            ).first()
        if found is None:
            raise CaseGone("This code opens nothing. Check every letter, or ask for a new link.")
        return found

    def open(self, id: str) -> Applicant:
        """Read a case. Raises: CaseGone, SealError."""
        with self.database.session(write=False) as session:
            case = session.get(ApplicantCase, id)
        if case is None:
            raise CaseGone("There is nothing here (any more). It was deleted, or the time was up.")
        project = self.projects.project(case.model_id)
        state = unseal_plain(self.keys.case_key(case.key), case.state, id)
        return Applicant(case, project, state, self._dialogue(case, project, state), case.queries)

    def _dialogue(self, case: ApplicantCase, project: Project, state: Mapping[str, Any]) -> Dialogue | None:
        if state["dialogue"] is None:
            return None
        place = (case.id, case.revision)
        with self._lock:
            if (held := self._held.get(place)) is not None:
                self._held.move_to_end(place)
                return held
        found = self._read_dialogue(project, state)
        self._hold(self._held, place, found)
        return found

    @staticmethod
    def _read_dialogue(project: Project, state: Mapping[str, Any]) -> Dialogue:
        from wayforward.people.dialogue import Dialogue

        with project.turn:
            return Dialogue.from_dict(project.problem, state["dialogue"], changed="continue")

    def _hold(self, where: OrderedDict[Any, Any], place: Any, thing: Any) -> None:
        with self._lock:
            where[place] = thing
            while len(where) > _HELD:
                where.popitem(last=False)

    def delete(self, id: str) -> None:
        """Forget a case: its row, what was said, its key, its sessions. That there was one stays in the log."""
        with self.database.session() as session:
            session.execute(delete(ApplicantCase).where(ApplicantCase.id == id))  # its sessions go with it
            record(session, "applicant", "case deleted", id)
        with self._lock:
            for held in (self._held, self._plans):
                for place in [place for place in held if place[0] == id]:
                    del held[place]

    def forget_old(self, days: int) -> int:
        """Delete cases that nobody opened for so many days; return how many."""
        with self.database.session() as session:
            late = ApplicantCase.seen < now() - timedelta(days=days)
            old = list(session.scalars(delete(ApplicantCase).where(late).returning(ApplicantCase.id)))
            if old:
                record(session, "clock", "cases deleted after their time", str(len(old)))
        return len(old)

    @contextmanager
    def _changing(self, id: str, revision: int | None, act: str = "") -> Iterator[Applicant]:
        """Open a case, let it be changed, store it. Raises: CaseChanged; CaseError where the budget is spent."""
        one = self.open(id)
        if revision is not None and revision != one.case.revision:
            raise CaseChanged("Something was changed in another window. Here is how it stands now.")
        self._afford(one, act)
        with self._lock:
            mine = one.dialogue is None or self._held.pop((id, one.case.revision), None) is one.dialogue
        if not mine:  # another window is changing the one in memory
            one.dialogue = self._read_dialogue(one.project, one.state)
        begun = _answered(one)
        with one.project.turn:
            yield one
            stored = None if one.dialogue is None else one.dialogue.to_dict()
        one.state["dialogue"] = stored
        after = one.case.revision + 1
        one.state["wishes"] = one.state.get("wishes", 0) + (act == "reply" or begun != _answered(one))
        sealed = seal_plain(self.keys.case_key(one.case.key), one.state, id)
        with self.database.session() as session:
            found = session.execute(
                update(ApplicantCase)
                .where(ApplicantCase.id == id, ApplicantCase.revision == one.case.revision)
                .values(
                    state=sealed,
                    revision=after,
                    seen=now(),
                    queries=ApplicantCase.queries + _COSTS.get(act, 0),
                )
            )
            stale = found.rowcount != 1  # type: ignore[attr-defined]
        if stale:
            raise CaseChanged("Something was changed in another window. Here is how it stands now.")
        one.case.revision = after
        if one.dialogue is not None:
            self._hold(self._held, (id, after), one.dialogue)

    def _afford(self, one: Applicant, act: str) -> None:
        if one.queries + _COSTS.get(act, 0) > self.budget:
            raise CaseError(
                "This case has asked the model very often, so that it answers no more here. Your plans stay. "
                "Please ask us, and a person will look at it."
            )

    def _count(self, id: str, act: str) -> None:
        with self.database.session() as session:
            session.execute(
                update(ApplicantCase)
                .where(ApplicantCase.id == id)
                .values(queries=ApplicantCase.queries + _COSTS[act], seen=now())
            )

    # -- the applicant's acts ------------------------------------------------------------------------------

    def consent(self, id: str) -> None:
        """Note that the person agrees to go on."""
        with self.database.session() as session:
            session.execute(
                update(ApplicantCase)
                .where(ApplicantCase.id == id, ApplicantCase.consent.is_(None))
                .values(consent=now())
            )

    def limits(
        self, id: str, limits: Mapping[str, Any], changes: Any = None, revision: int | None = None
    ) -> Applicant:
        """Take all limits at once, as `Dialogue.form` asks for them; plans kept before stay in the list.

        Raises: ReplyError that names the feature.
        """
        from wayforward.people.dialogue import Dialogue

        with self._changing(id, revision, "reply") as one:
            dialogue = Dialogue(one.project.problem, one.x[0], questionnaire="page", seed=_SEED)
            if dialogue.ask() is None:
                raise CaseError("The answer is a yes already. There is nothing to change.")
            given = {name: value for name, value in limits.items() if value not in (None, "", {})}
            dialogue.answer({"limits": given, "changes": changes})
            one.state["limits"] = {"limits": given, "changes": changes}
            one.dialogue = dialogue
        return one

    def reply(self, id: str, question_id: str, reply: Any, revision: int | None = None) -> Applicant:
        """Answer the question on the table. Raises: ReplyError for what fits no answer; CaseChanged for another one."""
        with self._changing(id, revision, "reply") as one:
            question = None if one.dialogue is None else one.dialogue.ask()
            if question is None or one.dialogue is None:
                raise CaseError("There is no question open.")
            if question.id != question_id:
                raise CaseChanged("This question was answered already. Here is how it stands now.")
            one.dialogue.answer(reply, question_id)
        return one

    def undo(self, id: str, revision: int | None = None) -> Applicant:
        """Take back the last reply; before the first one the limits are open again."""
        with self._changing(id, revision) as one:
            if one.dialogue is None:
                raise CaseError("There is nothing to take back.")
            if one.dialogue.answered <= 1:
                one.dialogue = None
                one.state["limits"] = {}
            else:
                one.dialogue.undo()
        return one

    def question(self, one: Applicant) -> Question | None:
        """Return the question on the table; None before the limits and at the end."""
        if one.dialogue is None:
            return None
        with one.project.turn:
            return one.dialogue.ask()

    def form(self, one: Applicant) -> list[dict[str, Any]]:
        """Return one entry for each feature that the person may change, with help and what others have."""
        from wayforward.people.dialogue.questionnaire import form_entry

        problem = one.project.problem
        with one.project.turn:
            people = problem.population(one.x)
            entries = [form_entry(people, int(j)) for j in np.flatnonzero(people.may[0])]
        for entry in entries:
            feature = problem.schema[entry["feature"]]
            entry["help"] = feature.description
            entry["step"] = feature.step or (1 if feature.kind == "integer" else None)
            entry["spread"] = one.project.spread[feature.name]
        return entries

    # -- answers -------------------------------------------------------------------------------------------

    def decision(self, one: Applicant) -> dict[str, Any]:
        """Return the answer, how near it was, and the principal reasons, in sentences."""
        from wayforward.answers import reasons
        from wayforward.answers.standing import near_text

        problem = one.project.problem
        with one.project.turn:
            accepted, value = problem.reached(one.x)
            takes = problem.bound_target.needed()
            found: list[str] = []
            if not accepted[0]:
                plans: Recourse = self._cheapest(one)
                found = [reason.text(problem.schema, plans.x[0]) for reason in reasons(problem, plans, 0)]
        return {
            "accepted": bool(accepted[0]),
            "near": near_text(takes, float(value[0])),
            "reasons": [text[:1].upper() + text[1:] + "." for text in found],
            "yes": one.project.yes,
        }

    def _cheapest(self, one: Applicant) -> Recourse:
        from wayforward.methods import recommend

        return recommend(one.project.problem, one.x, k=1, preferences=one.preferences, seed=_SEED)

    def options(self, one: Applicant) -> Recourse:
        """Return the plans under the person's limits: one of each kind. Worked out once."""
        place = (one.case.id, one.state.get("wishes", 0))
        with self._lock:
            if (held := self._plans.get(place)) is not None:
                return held
        self._afford(one, "plans")
        with one.project.turn:
            found = plans_of(one.project.problem, one.x, one.preferences)
        self._count(one.case.id, "plans")
        self._hold(self._plans, place, found)
        return found

    def plans(self, one: Applicant) -> list[PlanText]:
        """Return the plans under the person's limits, in words."""
        found = self.options(one)
        marked = {tuple(entry["action"]) for entry in one.state["kept"]}
        return texts(found, marked)

    def no_plan(self, one: Applicant) -> str:
        """Say why there is no plan, as far as it is known; '' where there is one."""
        from wayforward.answers import outcome_text

        found = self.options(one)
        return "" if found.found[0].any() else outcome_text(found.outcome[0, 0])

    def keep(self, id: str, action: Sequence[float | None], revision: int | None = None) -> Applicant:
        """Keep a plan, so that it is not lost. Raises: CaseError for what is no plan of this person, or too many."""
        with self._changing(id, revision) as one:
            plain = _plain(_row(action))
            if not self._judged(one, [plain]).found[0].any():
                raise CaseError("That is no plan of this case.")
            if len(one.state["kept"]) >= MOST_KEPT:
                raise CaseError(f"At most {MOST_KEPT} plans can be kept. Let one go first.")
            if plain not in [entry["action"] for entry in one.state["kept"]]:
                one.state["kept"].append({"action": plain, "at": now().isoformat(timespec="seconds")})
        return one

    def let_go(self, id: str, place: int, revision: int | None = None) -> Applicant:
        """Keep a plan no longer."""
        with self._changing(id, revision) as one:
            if not 0 <= place < len(one.state["kept"]):
                raise CaseError("That plan is not in the list (any more).")
            del one.state["kept"][place]
        return one

    def bookmarks(self, one: Applicant) -> list[PlanText]:
        """Return the plans that were kept, judged again now: by this model and this person's limits."""
        out = []
        for place, entry in enumerate(one.state["kept"]):
            with one.project.turn:
                judged = self._judged(one, [entry["action"]])
            if judged.found[0].any():
                plan = texts(judged, set())[0]
            else:
                plan = PlanText(
                    "", "", ("This plan no longer holds.",), (), (), (), tuple(entry["action"]), False
                )
            day = datetime.fromisoformat(entry["at"]).astimezone(UTC).date()
            name = f"Kept on {day.day} {day:%B %Y}"
            out.append(PlanText(**{**vars(plan), "key": str(place), "name": name, "is_kept": True}))
        return out

    def _judged(self, one: Applicant, actions: Sequence[Sequence[float | None]]) -> Recourse:
        rows = [_row(action) for action in actions]
        if any(row.shape != one.x[0].shape for row in rows):
            raise CaseError("That is no plan of this case.")
        return one.project.problem.check(
            one.x, np.stack(rows)[None], len(actions), preferences=one.preferences
        )

    def what_if(self, one: Applicant, values: Mapping[str, Any]) -> WhatIf:
        """Ask the model about the person with other values of what they may change; what follows from it is worked out.

        Raises: DataError that names the column and the value; CaseError where the budget is spent.
        """
        self._afford(one, "what-if")
        problem, schema = one.project.problem, one.project.schema
        with one.project.turn:
            people = problem.population(one.x)
            may = {schema.names[j] for j in np.flatnonzero(people.may[0])}
            if set(values) - may:
                raise DataError(f"'{sorted(set(values) - may)[0]}' is nothing that can be changed here.")
            before = {name: cells[0] for name, cells in schema.decode(one.x, like="dict").items()}
            profile = schema.encode(_columns([{**before, **values}]))
            action = np.where(profile != one.x, profile, np.nan)
            judged = problem.check(one.x, action[None], 1)
            after = judged.after[0, 0] if judged.found[0, 0] else problem.consequences(one.x, action)[0]
            yes, value = problem.reached(after[None])
            from wayforward.answers.standing import near_text

            broken = (
                () if judged.found[0, 0] or not yes[0] else ("Nobody in your place could do exactly this.",)
            )
            text = "" if yes[0] else near_text(problem.bound_target.needed(), float(value[0]))
        self._count(one.case.id, "what-if")
        return WhatIf(bool(yes[0]), text, broken)

    # -- what they take along ------------------------------------------------------------------------------

    def letter(self, one: Applicant, *, contact: str = "", day: date | None = None) -> str:
        """Return the letter: answer, reasons, limits, plans, what to keep in mind."""
        from wayforward.answers import Letterhead, letter

        head = Letterhead(day=day or date.today(), case=one.case.id[:8], contact=contact)
        with one.project.turn:
            return letter(one.project.problem, self.options(one), 0, head=head)

    def receipt(
        self, one: Applicant, action: Sequence[float | None], lender: str, day: date | None = None
    ) -> Receipt:
        """Return a signed receipt of a plan that holds now. Raises: CaseError for one that does not."""
        with one.project.turn:
            judged = self._judged(one, [list(action)])
            accepted = bool(one.project.problem.reached(one.x)[0][0])
        if accepted:
            raise CaseError("The answer is a yes already. There is nothing to change.")
        if not judged.found[0].any():
            raise CaseError("This plan does not hold (any more), so that no receipt can be given for it.")
        plan, today = texts(judged, set())[0], day or date.today()
        content = {
            "lender": lender,
            "case": one.case.id[:8],
            "model": one.case.model_id,
            "issued": today.isoformat(),
            "valid_until": (today + timedelta(days=VALID_DAYS)).isoformat(),
            "answer_before": "no",
            "answer_after": "yes",
            "plan": list(plan.steps),
            "follows": list(plan.follows),
        }
        return self.keys.signer.sign(content)


def plans_of(problem: Problem, x: np.ndarray, preferences: Preferences | None = None) -> Recourse:
    """One option of each kind, with room where it costs little, in the numbers that people are told."""
    from wayforward.methods import recommend
    from wayforward.problem import with_room

    found = recommend(problem, x, kinds=KINDS, preferences=preferences, seed=_SEED)
    if problem.model.has_fast_path:  # an opaque model would be asked hundreds of times
        found = with_room(found, most=_ROOM)
    return found.rounded


def texts(found: Recourse, marked: set[tuple[float | None, ...]]) -> list[PlanText]:
    """The options of the first person in words."""
    from wayforward.answers import consequences, options_table, steps
    from wayforward.answers.kinds_text import kind_name, kind_notes, margin_text
    from wayforward.answers.time_text import time_text

    out = []
    table = options_table(found, 0)
    for place, option in enumerate(np.flatnonzero(found.found[0]).tolist()):
        column = f"option {place + 1}"
        action = tuple(_plain(found.action[0, option]))
        notes = (time_text(found, option), margin_text(found, option), *kind_notes(found, option))
        out.append(
            PlanText(
                key=str(place),
                name=(kind_name(found, option) or f"plan {place + 1}").capitalize(),
                steps=tuple(steps(found, 0, option)),
                follows=tuple(consequences(found, 0, option)),
                notes=tuple(note for note in notes if note),
                table=tuple(
                    {"feature": row["feature"], "now": row["now"], "then": row[column]}
                    for row in table
                    if row[column] not in ("", "–", "same")
                ),
                action=action,
                is_kept=action in marked,
            )
        )
    return out


def _answered(one: Applicant) -> int:
    return -1 if one.dialogue is None else one.dialogue.answered


def new_code() -> str:
    """Draw a code for a letter: 16 letters and digits that are not mistaken for each other, about 79 bits."""
    letters = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"
    drawn = "".join(secrets.choice(letters) for _ in range(16))
    return "-".join(drawn[i : i + 4] for i in range(0, 16, 4))


def clean_code(code: str) -> str:
    """A code as somebody types it, as it was drawn."""
    letters = "".join(one for one in code.upper() if one.isalnum())[:64]
    return "-".join(letters[i : i + 4] for i in range(0, len(letters), 4))


def _columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Rows as a table; every row must have the same cells. Raises: DataError."""
    names = list(rows[0])
    for i, row in enumerate(rows):
        if set(row) != set(names):
            odd = sorted(set(row) ^ set(names))[0]
            raise DataError(
                f"Row {i} and row 0 do not have the same columns: '{odd}' is in one of them only."
            )
    return {name: [row[name] for row in rows] for name in names}


def _plain(row: np.ndarray) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in row]


def _row(values: Sequence[float | None]) -> np.ndarray:
    try:
        row = np.array([np.nan if value is None else float(value) for value in values], dtype=np.float64)
    except (TypeError, ValueError):
        raise CaseError("That is no plan of this case.") from None
    if np.isinf(row).any():
        raise CaseError("That is no plan of this case.")
    return row


__all__ = [
    "Applicant",
    "CaseChanged",
    "CaseError",
    "CaseGone",
    "Cases",
    "PlanText",
    "ReplyError",
    "WhatIf",
    "clean_code",
]
