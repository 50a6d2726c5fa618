"""How often a model may be asked, against reading it out and against finding out who it was trained on.

A case may ask so often in all, and all cases of a model together so often a day; those whom the lender sent a letter
and those who came by themselves are counted apart, so that nobody's curiosity closes the door to the others.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import update
from sqlalchemy.orm import Session

from wayforward.language import gettext
from wayforward.serve.storage.tables import ApplicantCase, now
from wayforward.serve.tallies import add_to, counted

COSTS = {
    "own row": 2,
    "what-if": 1,
    "plan": 1,
    "plans": 4,
    "reply": 2,
}  # answers of the model that an act may show


@dataclass
class QueryBudget:
    """per_case: answers that one case is shown in all. per_day: those that all cases of a model are shown in a day."""

    per_case: int
    per_day: int

    def refusal(self, session: Session, model_id: str, own: bool, spent: int, act: str) -> str:
        """Why an act would be one too many, for the person; "" if it is not. spent: by this case so far."""
        if not (cost := COSTS.get(act, 0)):
            return ""
        if spent + cost > self.per_case:
            return gettext(
                "This case has asked the model very often, so that it answers no more here. Your plans stay. "
                "Please ask us, and a person will look at it."
            )
        if counted(session, model_id, _what(own), _today()) + cost > self.per_day:
            return gettext(
                "Very many people asked this model today. Your plans stay. Please come back tomorrow."
            )
        return ""

    def spend(self, session: Session, model_id: str, own: bool, act: str, case_id: str = "") -> None:
        """Count an act, for its model and its case."""
        if cost := COSTS.get(act, 0):
            add_to(session, model_id, _what(own), cost, _today())
            more = {"queries": ApplicantCase.queries + cost, "seen": now()}
            session.execute(update(ApplicantCase).where(ApplicantCase.id == case_id).values(more))


def _what(own: bool) -> str:
    return "answers to visitors" if own else "answers to applicants"


def _today() -> str:
    return now().date().isoformat()
