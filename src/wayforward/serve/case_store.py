"""Cases at rest and in memory: opened by a code, sealed with a key of their own, changed by one window at a time.

What is stored is one sealed text: the person's row, their limits, the dialogue, the plans that they keep. A reply is
worked out first and stored then, in one unit of work that stands only if nobody else changed the case in between.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import threading
from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np
from sqlalchemy import delete, select, update

from wayforward.errors import DataError, WayforwardError
from wayforward.language import check_language, gettext, language
from wayforward.serve.accounts import digest
from wayforward.serve.budget import QueryBudget
from wayforward.serve.consent import CURRENT
from wayforward.serve.events import record
from wayforward.serve.keys import Keys, seal_plain, unseal_plain
from wayforward.serve.plans import SEED, PlanText, plain_row
from wayforward.serve.projects import Project, ProjectError, Projects
from wayforward.serve.storage.database import Database
from wayforward.serve.storage.tables import ApplicantCase, ModelVersion, now
from wayforward.serve.tallies import DELETED, EXPIRED, MADE, add_to
from wayforward.serve.turns import Rank

if TYPE_CHECKING:
    from wayforward.answers.refusal import Reason
    from wayforward.people.dialogue import Dialogue
    from wayforward.preferences import Preferences
    from wayforward.recourse import Recourse

_HELD = 256  # dialogues in memory


class CaseError(WayforwardError):
    """A case cannot do this now. The message is for the applicant."""


class CaseGone(CaseError):
    """There is no such case (any more), or this is not the way to it."""


class ConsentNeeded(CaseError):
    """The person has not agreed to the text as it is now, or took it back."""


class CaseChanged(CaseError):
    """The case was changed elsewhere since this page was shown."""


@dataclass
class Applicant:
    """A case that is open: what is stored (`case`, `state`), and its model (`project`)."""

    case: ApplicantCase
    project: Project
    state: dict[str, Any]
    dialogue: Dialogue | None = field(default=None, repr=False)
    queries: int = 0
    lock: threading.RLock = field(
        default_factory=threading.RLock, repr=False
    )  # of the dialogue: taken before a turn

    @property
    def x(self) -> np.ndarray:
        """(1, d) the person."""
        return action_row(self.state["x"])[None]

    @property
    def preferences(self) -> Preferences | None:
        """Their limits so far."""
        return None if self.dialogue is None else self.dialogue.preferences

    @property
    def wishes(self) -> str:
        """A short hash of these limits."""
        from wayforward.people.dialogue.wishes import wishes_of

        found = [] if self.preferences is None else wishes_of(self.preferences)
        return hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()


class CaseStore:
    """The cases of a database. Whoever changes one names the revision that they saw, and gets CaseChanged where it is
    another one now.
    """

    def __init__(self, database: Database, keys: Keys, projects: Projects, budget: QueryBudget) -> None:
        self.database, self.keys, self.projects, self.budget = database, keys, projects, budget
        self._held: OrderedDict[tuple[str, int, str], Dialogue] = OrderedDict()  # each in a language
        self._plans: OrderedDict[tuple[str, str], Recourse] = OrderedDict()
        self._texts: OrderedDict[tuple[str, str, str, date], list[PlanText]] = OrderedDict()
        self._why: OrderedDict[tuple[str, int], list[Reason]] = OrderedDict()
        self._lock = threading.Lock()
        self._locks: WeakValueDictionary[str, threading.RLock] = (
            WeakValueDictionary()
        )  # of cases that are open

    # -- making, opening, forgetting -----------------------------------------------------------------------

    def make(self, model_id: str, people: Any, by: str = "", language: str = "") -> list[tuple[str, str]]:
        """Make a case for each person of a table or list of rows; return (case id, code) of each: the only way in.

        by: the account; "" for people who came by themselves, and type in their own row. language: that their pages
        begin in; "" for what their browsers would like.
        Raises: ProjectError where nobody has published the model; CaseError where it was asked too often today;
        DataError that names the column and the value, and for a language that is not complete.
        """
        if language:
            check_language(language)
        with self.database.session(write=False) as session:
            version = session.get(ModelVersion, model_id)
            if version is None or version.published is None:
                raise ProjectError(gettext("Applicants can only meet a model that was published."))
            if not by and (why := self.budget.refusal(session, model_id, True, 0, "own row")):
                raise CaseError(why)
        project = self.projects.project(model_id)
        rows = project.problem.encode(table_of(people) if isinstance(people, list) else people)
        made = []
        with self.database.session() as session:
            for row in rows:
                id, code = (
                    secrets.token_hex(11),
                    new_code(),
                )  # an id that starts with "-" is a formula to a spreadsheet
                key = self.keys.new_case_key()
                state: dict[str, Any] = {"x": plain_row(row), "limits": {}, "dialogue": None, "kept": []}
                state |= {"language": language} if language else {}
                session.add(
                    ApplicantCase(
                        id=id,
                        code=digest(code),
                        model_id=model_id,
                        key=key,
                        own=not by,
                        state=seal_plain(self.keys.case_key(key), state, id),
                    )
                )
                made.append((id, code))
            add_to(session, model_id, MADE, len(made))
            if not by:
                self.budget.spend(session, model_id, True, "own row")
            record(session, by or "applicant", "cases made", str(len(made)))
        return made

    def make_up(
        self,
        model_id: str,
        row: Mapping[str, Any],
        participant_id: str,
        dialogue: str | None,
        questions: int | None,
    ) -> str:
        """Make the case of a made-up person, about whom a participant of a study looks for a plan; return its id.

        No code opens it, no consent is needed, nothing counts it; it goes with the participation. dialogue: the
        elicitor of one that begins at once, with so many questions at most; None: it begins with limits.
        """
        from wayforward.people.dialogue import Dialogue

        project, id, key = self.projects.project(model_id), secrets.token_hex(11), self.keys.new_case_key()
        x = project.problem.encode(table_of([row]))[0]
        state: dict[str, Any] = {"x": plain_row(x), "limits": {}, "dialogue": None, "kept": []}
        if dialogue is not None:
            with project.turn.of(Rank.STEP):
                begun = Dialogue(
                    project.problem, x, elicitor=dialogue, questionnaire=None, seed=SEED, budget=questions
                )
                state["dialogue"] = begun.to_dict()
        sealed = seal_plain(self.keys.case_key(key), state, id)
        case = ApplicantCase(
            id=id, code=digest(new_code()), model_id=model_id, key=key, own=True, state=sealed,
            participant_id=participant_id,
        )  # fmt: skip
        with self.database.session() as session:
            session.add(case)
        return id

    def drop_made_up(self, id: str) -> None:
        """Delete the case of a made-up person."""
        with self.database.session() as session:
            mine = ApplicantCase.id == id, ApplicantCase.participant_id.is_not(None)
            session.execute(delete(ApplicantCase).where(*mine))
        self._drop(id)

    def by_code(self, code: str) -> str:
        """Return the id of the case that a code opens. Raises: CaseGone."""
        with self.database.session(write=False) as session:
            found = session.scalars(
                select(ApplicantCase.id).where(ApplicantCase.code == digest(clean_code(code)))
            ).first()
        if found is None:
            raise CaseGone(gettext("This code opens nothing. Check every letter, or ask for a new link."))
        return found

    def visited(self, id: str) -> None:
        """Note that somebody looked at a case, at most once an hour, so that it is not deleted meanwhile."""
        moment = now()
        late = ApplicantCase.id == id, ApplicantCase.seen < moment - timedelta(hours=1)
        with self.database.session(write=False) as session:  # which most requests end with
            if session.scalars(select(ApplicantCase.id).where(*late)).first() is None:
                return
        with self.database.session() as session:
            session.execute(update(ApplicantCase).where(*late).values(seen=moment))

    def open(self, id: str, *, before_consent: bool = False) -> Applicant:
        """Read a case. before_consent: also where the person has not agreed (any more): for the answer, to delete.

        Raises: CaseGone, ConsentNeeded, SealError.
        """
        with self.database.session(write=False) as session:
            case = session.get(ApplicantCase, id)
        if case is None:
            raise CaseGone(gettext("There is nothing here (any more). It was deleted, or the time was up."))
        if not before_consent and case.participant_id is None and case.consent_version != CURRENT:
            raise ConsentNeeded(
                gettext("First read on the page of your answer what is done here, and agree to it.")
            )
        project = self.projects.project(case.model_id)
        state = unseal_plain(self.keys.case_key(case.key), case.state, id)
        dialogue = self._dialogue(case, project, state)
        with self._lock:
            lock = self._locks.setdefault(id, threading.RLock())
        return Applicant(case, project, state, dialogue, case.queries, lock)

    def language_of(self, id: str) -> str:
        """Return the language that a case was made for; "" for none. Raises: CaseGone, SealError."""
        with self.database.session(write=False) as session:
            case = session.get(ApplicantCase, id)
        if case is None:
            raise CaseGone(gettext("There is nothing here (any more). It was deleted, or the time was up."))
        state: dict[str, str] = unseal_plain(self.keys.case_key(case.key), case.state, id)
        return state.get("language", "")

    def _dialogue(self, case: ApplicantCase, project: Project, state: Mapping[str, Any]) -> Dialogue | None:
        if state["dialogue"] is None:
            return None
        place = (case.id, case.revision, language())
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

        with project.turn.of(Rank.STEP):
            return Dialogue.from_dict(project.problem, state["dialogue"], changed="continue")

    def _hold(self, where: OrderedDict[Any, Any], place: Any, thing: Any) -> None:
        with self._lock:
            where[place] = thing
            while len(where) > _HELD:
                where.popitem(last=False)

    def delete(self, id: str) -> None:
        """Forget a case: its row, what was said, its key, its sessions. That there was one stays in the log."""
        with self.database.session() as session:
            case = session.get(ApplicantCase, id)
            if case is not None:
                session.delete(case)  # its sessions go with it
                add_to(session, case.model_id, DELETED)
            record(session, "applicant", "case deleted", id)
        self.database.wipe()
        self._drop(id)

    def _drop(self, id: str) -> None:
        """Let go of what is in memory of a case."""
        with self._lock:
            every: tuple[OrderedDict[Any, Any], ...] = (self._held, self._plans, self._texts, self._why)
            for held in every:
                for place in [place for place in held if place[0] == id]:
                    del held[place]

    def expire(self, days: int) -> int:
        """Delete cases that nobody opened for so many days, with their sealed keys; return how many."""
        late = ApplicantCase.seen < now() - timedelta(days=days), ApplicantCase.participant_id.is_(None)
        with self.database.session() as session:
            gone = delete(ApplicantCase).where(*late).returning(ApplicantCase.id, ApplicantCase.model_id)
            old = session.execute(gone).all()
            for model_id, count in Counter(model_id for _, model_id in old).items():
                add_to(session, model_id, EXPIRED, count)
        for id, _ in old:
            self._drop(id)
        return len(old)

    @contextmanager
    def _changing(
        self, id: str, revision: int | None, act: str = "", rank: Rank = Rank.STEP
    ) -> Iterator[Applicant]:
        """Open a case, let it be changed, store it.

        Raises: CaseChanged; CaseError where the budget is spent.
        """
        one = self.open(id)
        if revision is not None and revision != one.case.revision:
            raise CaseChanged(gettext("Something was changed in another window. Here is how it stands now."))
        self._afford(one, act)
        with self._lock:
            mine = (
                one.dialogue is None
                or self._held.pop((id, one.case.revision, language()), None) is one.dialogue
            )
        if not mine:  # another window is changing the one in memory
            one.dialogue = self._read_dialogue(one.project, one.state)
        with one.lock, one.project.turn.of(rank):
            yield one
            stored = None if one.dialogue is None else one.dialogue.to_dict()
        one.state["dialogue"] = stored
        after = one.case.revision + 1
        sealed = seal_plain(self.keys.case_key(one.case.key), one.state, id)
        with self.database.session() as session:
            found = session.execute(
                update(ApplicantCase)
                .where(ApplicantCase.id == id, ApplicantCase.revision == one.case.revision)
                .values(
                    state=sealed,
                    revision=after,
                    seen=now(),
                )
            )
            stale = found.rowcount != 1  # type: ignore[attr-defined]
            if not stale:
                self.budget.spend(session, one.case.model_id, one.case.own, act, id)
        if stale:
            raise CaseChanged(gettext("Something was changed in another window. Here is how it stands now."))
        one.case.revision = after
        if one.dialogue is not None:
            self._hold(self._held, (id, after, language()), one.dialogue)

    def _afford(self, one: Applicant, act: str) -> None:
        case = one.case
        with self.database.session(write=False) as session:
            why = self.budget.refusal(session, case.model_id, case.own, one.queries, act)
        if why:
            raise CaseError(why)

    def _spend(self, one: Applicant, act: str) -> None:
        """Count an act before it is done, at once with the look at what is left. Raises: CaseError for one too many."""
        case = one.case
        with self.database.session() as session:
            so_far = select(ApplicantCase.queries).where(ApplicantCase.id == case.id).with_for_update()
            spent = session.execute(so_far).scalar() or 0
            if not (why := self.budget.refusal(session, case.model_id, case.own, spent, act)):
                self.budget.spend(session, case.model_id, case.own, act, case.id)
        if why:
            raise CaseError(why)


def new_code() -> str:
    """Draw a code for a letter: 16 letters and digits that are not mistaken for each other, about 79 bits."""
    letters = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"
    drawn = "".join(secrets.choice(letters) for _ in range(16))
    return "-".join(drawn[i : i + 4] for i in range(0, 16, 4))


def clean_code(code: str) -> str:
    """A code as somebody types it, as it was drawn."""
    letters = "".join(one for one in code.upper() if one.isalnum())[:64]
    return "-".join(letters[i : i + 4] for i in range(0, len(letters), 4))


def table_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Rows as a table; every row must have the same cells. Raises: DataError."""
    names = list(rows[0])
    for i, row in enumerate(rows):
        if set(row) != set(names):
            odd = sorted(set(row) ^ set(names))[0]
            raise DataError(
                f"Row {i} and row 0 do not have the same columns: '{odd}' is in one of them only."
            )
    return {name: [row[name] for row in rows] for name in names}


def action_row(values: Sequence[float | None]) -> np.ndarray:
    """An action as JSON has it, as an array (d,). Raises: CaseError."""
    try:
        row = np.array([np.nan if value is None else float(value) for value in values], dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise CaseError(gettext("That is no plan of this case.")) from None
    if np.isinf(row).any():
        raise CaseError(gettext("That is no plan of this case."))
    return row
