"""What is stored. What people said is sealed with a key of their case; only ids, times and counts are readable."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import JSON, DateTime, ForeignKey, LargeBinary, String, Text, TypeDecorator
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column


def now() -> datetime:
    """The time, with its zone."""
    return datetime.now(UTC)


class Moment(TypeDecorator[datetime]):
    """A time with its zone: SQLite forgets the zone, so that all are kept in UTC and come back in UTC."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Any) -> datetime | None:
        """To UTC. A time without a zone is a mistake of ours."""
        if value is not None and value.tzinfo is None:
            raise ValueError("a time without a zone")
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Any) -> datetime | None:
        """From UTC."""
        return (
            None
            if value is None
            else value.replace(tzinfo=UTC)
            if value.tzinfo is None
            else value.astimezone(UTC)
        )


class Base(DeclarativeBase):
    """All tables."""


class User(Base):
    """Somebody who works here. `failures` since the last right password; none is taken before `locked_until`."""

    __tablename__ = "user"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(80), unique=True)
    role: Mapped[str] = mapped_column(String(20))
    password: Mapped[str] = mapped_column(String(200))
    failures: Mapped[int] = mapped_column(default=0)
    locked_until: Mapped[datetime | None] = mapped_column(Moment)
    disabled: Mapped[bool] = mapped_column(default=False)
    made: Mapped[datetime] = mapped_column(Moment, default=now)


class Login(Base):
    """A session of an account or of an applicant's case. The cookie's hash is kept, never the cookie."""

    __tablename__ = "login"
    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    user_id: Mapped[int | None] = mapped_column(ForeignKey("user.id", ondelete="CASCADE"))
    case_id: Mapped[str | None] = mapped_column(ForeignKey("case.id", ondelete="CASCADE"))
    participant_id: Mapped[str | None] = mapped_column(ForeignKey("participant.id", ondelete="CASCADE"))
    made: Mapped[datetime] = mapped_column(Moment, default=now)
    until: Mapped[datetime] = mapped_column(Moment)


class ApiToken(Base):
    """A token of a program; its hash."""

    __tablename__ = "token"
    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("user.id", ondelete="CASCADE"))
    name: Mapped[str] = mapped_column(String(80))
    acts: Mapped[list[str]] = mapped_column(JSON)
    made: Mapped[datetime] = mapped_column(Moment, default=now)
    until: Mapped[datetime] = mapped_column(Moment)


class ModelVersion(Base):
    """A model with its schema, past people, world and target; its id is the hash of all of them."""

    __tablename__ = "model_version"
    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    title: Mapped[str] = mapped_column(String(200))
    question: Mapped[dict[str, Any]] = mapped_column(JSON)
    published: Mapped[datetime | None] = mapped_column(Moment)
    published_by: Mapped[int | None] = mapped_column(ForeignKey("user.id", ondelete="SET NULL"))
    added_by: Mapped[int | None] = mapped_column(ForeignKey("user.id", ondelete="SET NULL"))
    open_to_all: Mapped[bool] = mapped_column(default=False)
    made: Mapped[datetime] = mapped_column(Moment, default=now)


class ApplicantCase(Base):
    """An applicant. code: the hash of what opens it. key: sealed with the master key; without it `state` is noise.
    own: made by the person, without a letter. participant_id: of a made-up person in a study: who looks for a plan."""

    __tablename__ = "case"
    id: Mapped[str] = mapped_column(String(22), primary_key=True)
    code: Mapped[str] = mapped_column(String(64), unique=True)
    model_id: Mapped[str] = mapped_column(ForeignKey("model_version.id"))
    key: Mapped[bytes] = mapped_column(LargeBinary)
    state: Mapped[bytes] = mapped_column(LargeBinary)
    revision: Mapped[int] = mapped_column(default=0)
    queries: Mapped[int] = mapped_column(default=0)
    consent: Mapped[datetime | None] = mapped_column(Moment)
    consent_version: Mapped[int | None]
    own: Mapped[bool] = mapped_column(default=False)
    participant_id: Mapped[str | None] = mapped_column(
        ForeignKey("participant.id", ondelete="CASCADE"), index=True
    )
    made: Mapped[datetime] = mapped_column(Moment, default=now)
    seen: Mapped[datetime] = mapped_column(Moment, default=now, index=True)


class Tally(Base):
    """How many of something a model has had: over all days (day ""), or on one. It stays when cases are deleted."""

    __tablename__ = "tally"
    model_id: Mapped[str] = mapped_column(
        ForeignKey("model_version.id", ondelete="CASCADE"), primary_key=True
    )
    what: Mapped[str] = mapped_column(String(30), primary_key=True)
    day: Mapped[str] = mapped_column(String(10), primary_key=True, default="")
    count: Mapped[int] = mapped_column(default=0)


class StudyRow(Base):
    """A study; its id is the hash of its protocol. link: the recruiting link. admitted: numbers given so far.
    model_id: of the model that tasks are about. pool: profiles that plans come from, sealed, where they came by a file.
    strata: keyed hash of a stratum -> numbers given in it so far. closed: since when; expired: participations that the
    clock deleted after that."""

    __tablename__ = "study"
    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    protocol: Mapped[str] = mapped_column(Text)
    link: Mapped[str] = mapped_column(String(22), unique=True)
    model_id: Mapped[str | None] = mapped_column(ForeignKey("model_version.id"))
    pool: Mapped[bytes | None] = mapped_column(LargeBinary)
    strata: Mapped[dict[str, int]] = mapped_column(JSON, default=dict)
    closed: Mapped[datetime | None] = mapped_column(Moment)
    expired: Mapped[int] = mapped_column(default=0)
    open: Mapped[bool] = mapped_column(default=False)
    admitted: Mapped[int] = mapped_column(default=0)
    withdrawn: Mapped[int] = mapped_column(default=0)
    made: Mapped[datetime] = mapped_column(Moment, default=now)


class Participant(Base):
    """A participation, sealed like a case. Neither an address nor a time. cell: of the quota, as a keyed hash."""

    __tablename__ = "participant"
    id: Mapped[str] = mapped_column(String(22), primary_key=True)
    study_id: Mapped[str] = mapped_column(ForeignKey("study.id"), index=True)
    code: Mapped[str] = mapped_column(String(64), unique=True)
    key: Mapped[bytes] = mapped_column(LargeBinary)
    state: Mapped[bytes] = mapped_column(LargeBinary)
    revision: Mapped[int] = mapped_column(default=0)
    standing: Mapped[str] = mapped_column(String(10))
    cell: Mapped[str] = mapped_column(String(32), default="")


class CompletionCode(Base):
    """What somebody who finished shows to who recruited them; it leads to no participant."""

    __tablename__ = "completion"
    code: Mapped[str] = mapped_column(String(20), primary_key=True)
    study_id: Mapped[str] = mapped_column(ForeignKey("study.id"))


class Event(Base):
    """One line of the log, chained: `hash` is over the line and the hash before it, so that a change shows."""

    __tablename__ = "event"
    id: Mapped[int] = mapped_column(primary_key=True)
    at: Mapped[datetime] = mapped_column(Moment)
    actor: Mapped[str] = mapped_column(String(100))
    what: Mapped[str] = mapped_column(String(60))
    subject: Mapped[str] = mapped_column(String(100))
    before: Mapped[str] = mapped_column(String(64), unique=True)
    hash: Mapped[str] = mapped_column(String(64))


class Job(Base):
    """Long work. A worker takes one that waits, tells that it lives, and resumes what a dead one left."""

    __tablename__ = "job"
    id: Mapped[str] = mapped_column(String(22), primary_key=True)
    kind: Mapped[str] = mapped_column(String(20))
    model_id: Mapped[str] = mapped_column(ForeignKey("model_version.id"))
    user_id: Mapped[int | None] = mapped_column(ForeignKey("user.id", ondelete="SET NULL"))
    given: Mapped[dict[str, Any]] = mapped_column(JSON)
    status: Mapped[str] = mapped_column(String(10), default="waiting", index=True)
    done: Mapped[int] = mapped_column(default=0)
    total: Mapped[int] = mapped_column(default=0)
    note: Mapped[str] = mapped_column(String(500), default="")
    attempts: Mapped[int] = mapped_column(default=0)
    worker: Mapped[str] = mapped_column(String(60), default="")
    beat: Mapped[datetime | None] = mapped_column(Moment)
    made: Mapped[datetime] = mapped_column(Moment, default=now)
    ended: Mapped[datetime | None] = mapped_column(Moment)
