"""Counts of what happened with a model, which stay when cases are deleted; and how often it was asked on a day."""

from __future__ import annotations

from datetime import timedelta
from importlib import import_module

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from wayforward.language import N_
from wayforward.serve.storage.tables import Tally, now

MADE, DELETED, EXPIRED = N_("made"), N_("deleted by people"), N_("deleted after their time")
_DAYS = 400  # so long the counts of single days stay


def add_to(session: Session, model_id: str, what: str, count: int = 1, day: str = "") -> None:
    """Count so many more."""
    dialect = import_module(f"sqlalchemy.dialects.{session.get_bind().dialect.name}")
    more = dialect.insert(Tally).values(model_id=model_id, what=what, day=day, count=count)
    key = ["model_id", "what", "day"]
    session.execute(more.on_conflict_do_update(index_elements=key, set_={"count": Tally.count + count}))


def counted(session: Session, model_id: str, what: str, day: str = "") -> int:
    """How many there were."""
    found = session.get(Tally, (model_id, what, day))
    return 0 if found is None else found.count


def totals(session: Session) -> dict[str, dict[str, int]]:
    """Model -> what -> how many, over all days."""
    out: dict[str, dict[str, int]] = {}
    for one in session.scalars(select(Tally).where(Tally.day == "")):
        out.setdefault(one.model_id, {})[one.what] = one.count
    return out


def forget_days(session: Session) -> None:
    """Delete counts of single days that are long over."""
    last = (now() - timedelta(days=_DAYS)).date().isoformat()
    session.execute(delete(Tally).where(Tally.day != "", Tally.day < last))
