"""What is there, for those who work here: versions, cases by their numbers, jobs, accounts, lines of the log."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from wayforward.serve.accounts import Somebody
from wayforward.serve.permissions import Act
from wayforward.serve.storage.tables import ApplicantCase, Event, Job, ModelVersion, User
from wayforward.serve.tallies import totals

MOST_LINES = 200


@dataclass(frozen=True)
class CaseCounts:
    """Cases of a model. ever: counts that stay when cases are gone."""

    model: str
    cases: int = 0
    agreed: int = 0
    seen: datetime | None = None
    ever: tuple[tuple[str, int], ...] = ()


def versions(session: Session) -> list[ModelVersion]:
    """Return every version of a model, the newest first."""
    return list(session.scalars(select(ModelVersion).order_by(ModelVersion.made.desc(), ModelVersion.id)))


def case_counts(session: Session) -> dict[str, CaseCounts]:
    """Model -> its cases in numbers, without what is in them."""
    per = (
        select(
            ApplicantCase.model_id,
            func.count(),
            func.count(ApplicantCase.consent),
            func.max(ApplicantCase.seen),
        )
        .where(ApplicantCase.participant_id.is_(None))  # no made-up person of a study
        .group_by(ApplicantCase.model_id)
    )
    now = {id: CaseCounts(id, cases, agreed, seen) for id, cases, agreed, seen in session.execute(per)}
    ever = totals(session)
    return {
        id: replace(now.get(id) or CaseCounts(id), ever=tuple(sorted(ever.get(id, {}).items())))
        for id in sorted({*now, *ever})
    }


def kinds_for(who: Somebody) -> tuple[str, ...]:
    """Return the kinds of jobs that somebody may start and see: plans of people are for those who may fetch them."""
    return ("plans", "audit") if who.may(Act.FETCH_RESULTS) else ("audit",)


def jobs_for(session: Session, who: Somebody) -> list[Job]:
    """Return the jobs that somebody may see, the newest first."""
    chosen = select(Job).where(Job.kind.in_(kinds_for(who))).order_by(Job.made.desc()).limit(MOST_LINES)
    return list(session.scalars(chosen))


def log_lines(session: Session, before: int | None = None) -> list[Event]:
    """Return lines of the log, the newest first; before: those older than this line."""
    chosen = select(Event).order_by(Event.id.desc()).limit(MOST_LINES)
    return list(session.scalars(chosen if before is None else chosen.where(Event.id < before)))


def users(session: Session) -> list[User]:
    """Return the accounts, by name."""
    return list(session.scalars(select(User).order_by(User.name)))
