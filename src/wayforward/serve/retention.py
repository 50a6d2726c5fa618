"""The retention clock: once a day, and at each start, what nobody needs any more is deleted. Counts stay."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from sqlalchemy import func, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from wayforward.serve.accounts import forget_ended
from wayforward.serve.events import record, subject_words
from wayforward.serve.storage.tables import ApplicantCase, Event
from wayforward.serve.tallies import forget_days

if TYPE_CHECKING:
    from wayforward.serve.services import Services

_ACTOR, _WHAT = "clock", "retention sweep"
_EVERY, _AGAIN = 86_400.0, 600.0  # seconds: a day; sooner after a sweep that could not be done


def sweep(services: Services) -> str:
    """Delete cases with their sealed keys, results and tables of jobs, participations of studies that were closed,
    sessions and tokens whose time is over; return what the log says of cases and jobs: "3 cases, 1 job".
    """
    days = services.settings.days_kept
    cases, jobs = services.cases.expire(days), services.jobs.sweep(days)
    services.studies.expire()
    with services.database.session() as session:
        forget_ended(session)
        forget_days(session)
        done = f"{cases} case{'' if cases == 1 else 's'}, {jobs} job{'' if jobs == 1 else 's'}"
        record(session, _ACTOR, _WHAT, done)
    services.database.wipe()
    return done


@dataclass(frozen=True)
class ClockState:
    """days: of the organisation. last, done: when the clock last swept, and what. next: when a case is due next, if
    nobody opens it before; None where there is none."""

    days: int
    last: datetime | None
    done: str
    next: datetime | None


def clock_state(session: Session, days: int) -> ClockState:
    """Return how the clock stands."""
    line = session.scalars(
        select(Event).where(Event.actor == _ACTOR, Event.what == _WHAT).order_by(Event.id.desc()).limit(1)
    ).first()
    oldest = session.scalar(
        select(func.min(ApplicantCase.seen)).where(ApplicantCase.participant_id.is_(None))
    )
    due = None if oldest is None else oldest + timedelta(days=days)
    return ClockState(
        days, None if line is None else line.at, "" if line is None else subject_words(line.subject), due
    )


class RetentionClock:
    """Sweeps once a day, from a thread of the server."""

    def __init__(self, services: Services) -> None:
        self.services = services
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Sweep now, then every day."""
        sweep(self.services)
        self._thread.start()

    def stop(self) -> None:
        """End."""
        self._over.set()
        self._thread.join(timeout=10)

    def _run(self) -> None:
        wait = _EVERY
        while not self._over.wait(wait):
            try:
                sweep(self.services)
                wait = _EVERY
            except (SQLAlchemyError, OSError) as error:  # the database or the disk may be away for a while
                logging.getLogger("wayforward.serve").error("retention: %s", type(error).__name__)
                wait = _AGAIN
