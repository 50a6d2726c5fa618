"""The log of who did what, one line after another, each with the hash of the one before: a changed line shows, and a
missing one that others follow. Whoever writes the database can write the hashes anew, too.

A line names an account, an act and a subject's id. Values of people never stand in it.
"""

from __future__ import annotations

import hashlib
import json
import re
from datetime import datetime

from sqlalchemy import select, text
from sqlalchemy.orm import Session

from wayforward.language import N_, gettext, ngettext
from wayforward.serve.storage.tables import Event, now

_FIRST = "0" * 64
_LOCK = 0x7761796C6F67  # any number that nobody else locks

#: What lines say, as it is stored: before a colon, where something follows that has words of its own.
LINES = (
    N_("account closed"), N_("account locked"), N_("account made"), N_("case deleted"), N_("cases made"),
    N_("completion codes fetched"), N_("consent given to text"), N_("consent withdrawn"), N_("job started"),
    N_("job stopped"), N_("logged in"), N_("model added"), N_("model published"), N_("results fetched"),
    N_("participations deleted"), N_("pool added"), N_("retention sweep"), N_("study added"), N_("study closed"),
    N_("study exported"), N_("study opened"), N_("token made"), N_("token revoked"), N_("plans"), N_("audit"),
)  # fmt: skip


def event_words(what: str) -> str:
    """What a line says, for people: "job started: audit", "consent given to text 1"."""
    found = re.fullmatch(r"(.+?)(: | (?=\d))(.*)", what)
    return gettext(found[1]) + found[2] + gettext(found[3]) if found else gettext(what)


_ACTORS = (N_("setup"), N_("applicant"), N_("clock"))


def actor_words(actor: str) -> str:
    """Who did it, for people: the name of an account, or what is nobody's account in words."""
    return gettext(actor) if actor in _ACTORS else actor


def subject_words(subject: str) -> str:
    """What a line is about, for people: what a sweep did ("3 cases, 1 job"), else the subject's id as it is."""
    if not (found := re.fullmatch(r"(\d+) cases?, (\d+) jobs?", subject)):
        return subject
    cases, jobs = int(found[1]), int(found[2])
    return ngettext("{n} case", "{n} cases", cases) + ", " + ngettext("{n} job", "{n} jobs", jobs)


def record(session: Session, actor: str, what: str, subject: str = "") -> None:
    """Add a line. It stands if the session's unit of work does."""
    if session.get_bind().dialect.name == "postgresql":  # SQLite has one writer anyway
        session.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
    session.flush()
    last = session.scalars(select(Event.hash).order_by(Event.id.desc()).limit(1)).first() or _FIRST
    at = now()
    session.add(
        Event(
            at=at,
            actor=actor,
            what=what,
            subject=subject,
            before=last,
            hash=_hash(last, at, actor, what, subject),
        )
    )
    session.flush()


def first_broken(session: Session) -> int | None:
    """Return the id of the first line that does not follow from the one before; None if the whole log holds."""
    last = _FIRST
    for line in session.scalars(select(Event).order_by(Event.id)).yield_per(1000):
        if line.before != last or line.hash != _hash(last, line.at, line.actor, line.what, line.subject):
            return line.id
        last = line.hash
    return None


def _hash(before: str, at: datetime, *parts: str) -> str:
    return hashlib.sha256(json.dumps([before, at.isoformat(), *parts]).encode()).hexdigest()
