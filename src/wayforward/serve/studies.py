"""Studies behind the web application: protocols, participants sealed like cases, completion codes apart from answers.

Nothing here knows an address or a browser. A change of a participation is one unit of work; numbers, and with them
arms, are given inside it, so that two who come at once never share one.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session

from wayforward.language import gettext
from wayforward.serve.accounts import digest
from wayforward.serve.case_store import CaseChanged, CaseError, CaseGone, clean_code, new_code
from wayforward.serve.cases import Cases
from wayforward.serve.events import record
from wayforward.serve.keys import Keys, seal, seal_plain, unseal, unseal_plain
from wayforward.serve.storage.database import Database
from wayforward.serve.storage.tables import CompletionCode, Participant, StudyRow, now
from wayforward.serve.study_tasks import model_for
from wayforward.study import ParticipantCourse, StudyProtocol
from wayforward.study.course import Standing
from wayforward.study.pool import ProfilePool


@dataclass(frozen=True)
class Participation:
    """An open participation. revision: of its state, which a page carries along."""

    id: str
    course: ParticipantCourse
    revision: int


class Studies:
    """The studies of a database."""

    def __init__(self, database: Database, keys: Keys, cases: Cases) -> None:
        self.database, self.keys, self.cases = database, keys, cases
        self._held: dict[str, tuple[StudyProtocol, ProfilePool | None]] = {}
        self._lock = threading.Lock()

    # -- the researcher's acts -----------------------------------------------------------------------------

    def add(self, text: str, by: str, pool: ProfilePool | None = None) -> str:
        """Take a protocol, closed; return its id, the hash. What it says never changes from here on.

        pool: the profiles of a protocol whose plans come from a table.

        Raises: FileFormatError naming the place; CaseError for what cannot be run here, such as a task about a made-up
        person whom no published model refuses.
        """
        protocol = StudyProtocol.parse(text)
        by_table = protocol.plans is not None and protocol.plans.pool == "table"
        if by_table and pool is None:
            raise CaseError(
                gettext("This protocol says pool: table. Add the pool, a CSV or Parquet file, with it.")
            )
        if pool is not None and not by_table:
            raise CaseError(
                gettext("This protocol takes no pool. Say pool: table under plans, or leave the file out.")
            )
        model_id = model_for(self.cases, protocol)
        with self.database.session() as session:
            if session.get(StudyRow, protocol.hash) is not None:
                raise CaseError(gettext("This protocol is here already: it has the same hash."))
            row = StudyRow(id=protocol.hash, protocol=text, link=secrets.token_hex(8), model_id=model_id)
            if pool is not None:
                row.pool = seal(self.keys.master, pool.to_bytes(), f"pool {protocol.hash}")
                record(session, by, "pool added", pool.hash)
            session.add(row)
            record(session, by, "study added", protocol.hash)
        return str(protocol.hash)

    def switch(self, id: str, open: bool, by: str) -> None:
        """Open or close a study for new participants; who takes part goes on.

        From the closing on the days count after which participations are deleted. Raises: CaseGone; CaseError for one
        whose pool was deleted with them.
        """
        protocol, pool = self._read(id)
        if open and protocol.plans is not None and pool is None:
            raise CaseError(
                gettext("The pool of this study was deleted after its time. Add it as another study.")
            )
        with self.database.session() as session:
            row = self._row(session, id)
            row.open, row.closed = open, None if open else row.closed or now()
            record(session, by, "study opened" if open else "study closed", id)

    def protocol(self, id: str) -> StudyProtocol:
        """Return the protocol of a study. Raises: CaseGone."""
        return self._read(id)[0]

    def pool(self, id: str) -> ProfilePool | None:
        """Return the pool of a study that shows plans. Raises: CaseGone."""
        return self._read(id)[1]

    def rows(self) -> list[tuple[StudyRow, StudyProtocol, dict[str, int]]]:
        """Every study with its protocol and how many participants stand where."""
        with self.database.session(write=False) as session:
            found = list(session.scalars(select(StudyRow).order_by(StudyRow.made.desc())))
            counts: dict[str, dict[str, int]] = {row.id: {} for row in found}
            per = select(Participant.study_id, Participant.standing, func.count())
            for study, standing, n in session.execute(
                per.group_by(Participant.study_id, Participant.standing)
            ):
                counts[study][standing] = n
        return [(row, self.protocol(row.id), counts[row.id]) for row in found]

    def states(self, id: str, by: str) -> dict[str, dict[str, object]]:
        """Return what every participant answered, by pseudonym. Raises: CaseGone."""
        self._read(id)
        with self.database.session() as session:
            found = list(session.scalars(select(Participant).where(Participant.study_id == id)))
            record(session, by, "study exported", id)
        return {f"P{one.id[:10]}": self._unsealed(one) for one in sorted(found, key=lambda one: one.id)}

    def completion_codes(self, id: str, by: str) -> list[str]:
        """Return the codes of who finished, in alphabetical order, which says nothing about who is who.

        Raises: CaseGone.
        """
        self._read(id)
        with self.database.session() as session:
            record(session, by, "completion codes fetched", id)
            chosen = select(CompletionCode.code).where(CompletionCode.study_id == id)
            return list(session.scalars(chosen.order_by(CompletionCode.code)))

    # -- the participant's acts ----------------------------------------------------------------------------

    def by_link(self, link: str) -> tuple[str, StudyProtocol]:
        """Return the study of a recruiting link, while it is open. Raises: CaseGone."""
        with self.database.session(write=False) as session:
            row = session.scalars(select(StudyRow).where(StudyRow.link == link)).first()
        if row is None or not row.open:
            raise CaseGone(gettext("This study is closed, or the link is not whole. Please check it."))
        return row.id, self.protocol(row.id)

    def enrol(self, link: str, language: str) -> tuple[str, str]:
        """Begin a participation; return (id, code): the code is the way back. Raises: CaseGone."""
        study, _ = self.by_link(link)
        protocol, pool = self._read(study)
        id, code, key = secrets.token_hex(11), new_code(), self.keys.new_case_key()
        course = ParticipantCourse.begin(protocol, language, pool)
        state = seal_plain(self.keys.case_key(key), course.state, id)
        with self.database.session() as session:
            session.add(
                Participant(
                    id=id, study_id=study, code=digest(code), key=key, state=state, standing=course.standing.value
                )
            )  # fmt: skip
        return id, code

    def by_code(self, code: str) -> str:
        """Return the participation that a code opens. Raises: CaseGone."""
        with self.database.session(write=False) as session:
            chosen = select(Participant.id).where(Participant.code == digest(clean_code(code)))
            found = session.scalars(chosen).first()
        if found is None:
            raise CaseGone(gettext("This code opens nothing (any more). Check every letter."))
        return found

    def open(self, id: str) -> Participation:
        """Read a participation. Raises: CaseGone, SealError."""
        with self.database.session(write=False) as session:
            return self._participation(session.get(Participant, id))

    def language_of(self, id: str) -> str:
        """Return the language that a participation was begun in. Raises: CaseGone, SealError."""
        with self.database.session(write=False) as session:
            row = session.get(Participant, id)
            if row is None:
                raise CaseGone(gettext("There is nothing here (any more). It was deleted."))
            return str(self._unsealed(row)["language"])

    def change(
        self,
        id: str,
        revision: int | None,
        act: Callable[[ParticipantCourse], None],
        at: datetime | None = None,
    ) -> Participation:
        """Let `act` change a participation, admit who is through the screening, store it: all of it or nothing.

        Raises: CaseChanged where the page that was sent is not the one on the table; what `act` raises.
        """
        with self.database.session() as session:
            row = session.get(Participant, id, with_for_update=True)
            one = self._participation(row)
            assert row is not None
            if revision != one.revision:
                raise CaseChanged(gettext("This page was answered already. Here is where you are now."))
            before = one.course.standing
            act(one.course)
            if one.course.standing is Standing.ADMISSION:
                self._admit(session, row, one.course, at or now())
            if one.course.standing is Standing.FINISHED and before is not Standing.FINISHED:
                session.add(CompletionCode(code=self.completion_code(id), study_id=row.study_id))
            row.state = seal_plain(self.keys.case_key(row.key), one.course.state, id)
            row.standing, row.revision = one.course.standing.value, one.revision + 1
        return Participation(id, one.course, one.revision + 1)

    def note(self, id: str, act: Callable[[ParticipantCourse], None]) -> None:
        """Let `act` note something that no page shows: the page on the table stays the one that it is."""
        with self.database.session() as session:
            row = session.get(Participant, id, with_for_update=True)
            one = self._participation(row)
            assert row is not None
            act(one.course)
            row.state = seal_plain(self.keys.case_key(row.key), one.course.state, id)

    def model_of(self, id: str) -> str | None:
        """Return the model that the tasks of a participation are about. Raises: CaseGone."""
        with self.database.session(write=False) as session:
            row = session.get(Participant, id)
            if row is None:
                raise CaseGone(gettext("There is nothing here (any more). It was deleted."))
            return self._row(session, row.study_id).model_id

    def withdraw(self, id: str) -> None:
        """Delete a participation: its answers, its key, its sessions. That somebody withdrew is counted."""
        with self.database.session() as session:
            row = session.get(Participant, id)
            if row is not None:
                more = {StudyRow.withdrawn: StudyRow.withdrawn + 1}
                session.execute(update(StudyRow).where(StudyRow.id == row.study_id).values(more))
                session.execute(delete(Participant).where(Participant.id == id))

    def expire(self) -> int:
        """Delete participations of studies that were closed so many days ago as their protocols say, with completion
        codes and pools; return how many. That there were so many stays.
        """
        with self.database.session(write=False) as session:
            closed = list(session.scalars(select(StudyRow).where(StudyRow.closed.is_not(None))))
        n_gone = 0
        for study in closed:
            assert study.closed is not None
            if study.closed + timedelta(days=self.protocol(study.id).keep_days) > now():
                continue
            with self.database.session() as session:
                row = self._row(session, study.id)
                chosen = delete(Participant).where(Participant.study_id == study.id).returning(Participant.id)
                gone = len(session.execute(chosen).all())
                session.execute(delete(CompletionCode).where(CompletionCode.study_id == study.id))
                if gone or row.pool is not None:
                    row.expired, row.pool = row.expired + gone, None
                    record(session, "clock", "participations deleted", study.id)
            n_gone += gone
            with self._lock:
                self._held.pop(study.id, None)
        return n_gone

    def completion_code(self, id: str) -> str:
        """The code of who finishes: worked out with a key outside the database, and stored without the participant."""
        mac = hmac.new(self.keys.link, f"completion {id}".encode(), hashlib.sha256).digest()
        return base64.b32encode(mac)[:10].decode()

    # -- inside --------------------------------------------------------------------------------------------

    def _admit(self, session: Session, row: Participant, course: ParticipantCourse, at: datetime) -> None:
        study = session.get(StudyRow, row.study_id, with_for_update=True)
        assert study is not None
        about = f"cell {row.study_id} {course.cell}".encode()
        row.cell = hmac.new(self.keys.link, about, hashlib.sha256).hexdigest()[:32]
        inside = select(func.count()).where(
            Participant.study_id == row.study_id,
            Participant.standing.in_((Standing.ACTIVE.value, Standing.FINISHED.value)),
        )
        taken = session.scalar(inside) or 0
        alike = session.scalar(inside.where(Participant.cell == row.cell)) or 0
        place, stratum = None, ""
        if course.stratum:
            about = f"stratum {row.study_id} {course.stratum}".encode()
            stratum = hmac.new(self.keys.link, about, hashlib.sha256).hexdigest()[:32]
            place = study.strata.get(stratum, 0)
        course.admit(study.admitted, taken, alike, at, place)
        if course.standing is not Standing.FULL:
            study.admitted += 1
            if place is not None:
                study.strata = study.strata | {stratum: place + 1}

    def _read(self, id: str) -> tuple[StudyProtocol, ProfilePool | None]:
        with self._lock:
            if id not in self._held:
                pool: ProfilePool | None
                with self.database.session(write=False) as session:
                    row = self._row(session, id)
                    protocol, sealed = StudyProtocol.parse(row.protocol), row.pool
                if sealed is not None:
                    pool = ProfilePool.from_bytes(unseal(self.keys.master, sealed, f"pool {id}"))
                else:
                    synthetic = protocol.plans is not None and protocol.plans.pool == "synthetic"
                    pool = ProfilePool.synthetic(protocol.seed) if synthetic else None
                self._held[id] = protocol, pool
            return self._held[id]

    def _row(self, session: Session, id: str) -> StudyRow:
        row = session.get(StudyRow, id)
        if row is None:
            raise CaseGone(gettext("There is no such study."))
        return row

    def _participation(self, row: Participant | None) -> Participation:
        if row is None:
            raise CaseGone(gettext("There is nothing here (any more). It was deleted."))
        protocol, pool = self._read(row.study_id)
        return Participation(row.id, ParticipantCourse(protocol, self._unsealed(row), pool), row.revision)

    def _unsealed(self, row: Participant) -> dict[str, object]:
        found: dict[str, object] = unseal_plain(self.keys.case_key(row.key), row.state, row.id)
        return found
