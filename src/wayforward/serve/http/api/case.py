"""Endpoints of an applicant: every act of their pages, by the code of the case."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query
from pydantic import Field

from wayforward.serve.case_store import Applicant
from wayforward.serve.consent import CURRENT, consent_text
from wayforward.serve.http.api.given import ConsentIn, LimitsIn, PlanIn, ReplyIn, ValuesIn
from wayforward.serve.http.api.shown import (
    CaseOut,
    ComparisonOut,
    ConsentOut,
    DecisionOut,
    PlansOut,
    ReceiptOut,
    TextOut,
    WhatIfOut,
    problems,
)
from wayforward.serve.http.guard import Given, by_code, only_described
from wayforward.serve.services import Services

router = APIRouter(
    prefix="/api/v1",
    dependencies=[Depends(only_described)],
    tags=["applicant"],
    responses=problems(401, 403, 404, 409),
)
CaseId = Annotated[str, Depends(by_code)]
Compared = Annotated[
    list[Annotated[str, Field(pattern="^[pk][0-9]{1,2}$")]], Query(min_length=2, max_length=4)
]
Seen = Annotated[int | None, Query(ge=0, le=2**31 - 1, description="The revision that was seen.")]


def _state(to: Services, one: Applicant) -> dict[str, Any]:
    question = to.cases.question(one)
    return {
        "case": one.case.id[:8],
        "model": one.case.model_id,
        "revision": one.case.revision,
        "language": one.state.get("language", ""),
        "limits": one.state["limits"],
        "question": None if question is None else question.to_dict(),
        "ended": None if one.dialogue is None else one.dialogue.ended,
        "kept": [plan.to_dict() for plan in to.cases.bookmarks(one)],
    }


@router.get("/case", response_model=CaseOut)
def case(to: Given, id: CaseId) -> dict[str, Any]:
    """How the case stands: limits, the question on the table, the plans that were kept."""
    return _state(to, to.cases.open(id))


@router.get("/case/decision", response_model=DecisionOut)
def decision(to: Given, id: CaseId) -> dict[str, Any]:
    """The answer, how near it was, and the principal reasons. This and what follows about consent need none."""
    return to.cases.decision(to.cases.open(id, before_consent=True))


@router.get("/case/consent", response_model=ConsentOut)
def consent(to: Given, id: CaseId) -> dict[str, Any]:
    """What a person agrees to before anything else is worked out, its version, and when they agreed to it."""
    case = to.cases.open(id, before_consent=True).case
    given = case.consent if case.consent_version == CURRENT else None
    return {"version": CURRENT, "text": consent_text(to.settings.days_kept), "given": given}


@router.post("/case/consent", response_model=ConsentOut)
def agree(to: Given, id: CaseId, given: ConsentIn) -> dict[str, Any]:
    """The person agrees to this version of the text."""
    to.cases.consent(id, given.version)
    return consent(to, id)


@router.delete("/case/consent", response_model=ConsentOut)
def withdraw(to: Given, id: CaseId) -> dict[str, Any]:
    """The person agrees no longer: everything but their answer and the deletion is closed until they agree again."""
    to.cases.withdraw(id)
    return consent(to, id)


@router.get("/case/form")
def form(to: Given, id: CaseId) -> list[dict[str, Any]]:
    """One entry for each feature that the person may change."""
    return to.cases.form(to.cases.open(id))


@router.post("/case/limits", response_model=CaseOut)
def limits(to: Given, id: CaseId, given: LimitsIn) -> dict[str, Any]:
    """Say all limits at once."""
    return _state(to, to.cases.limits(id, given.limits, given.changes, given.revision, given.within))


@router.get("/case/plans", response_model=PlansOut)
def plans(to: Given, id: CaseId) -> dict[str, Any]:
    """Plans under these limits: one of each kind; and why there is none, where there is none."""
    one = to.cases.open(id)
    return {"plans": [plan.to_dict() for plan in to.cases.plans(one)], "why_not": to.cases.no_plan(one)}


@router.get("/case/compare", response_model=ComparisonOut)
def compare(to: Given, id: CaseId, plan: Compared) -> dict[str, Any]:
    """Two to four plans side by side: p0, p1 of those under today's limits, k0, k1 of those that were kept."""
    return to.cases.compare(to.cases.open(id), plan).to_dict()


@router.post("/case/reply", response_model=CaseOut)
def reply(to: Given, id: CaseId, given: ReplyIn) -> dict[str, Any]:
    """Answer the question on the table."""
    return _state(to, to.cases.reply(id, given.question, given.reply, given.revision))


@router.post("/case/undo", response_model=CaseOut)
def undo(to: Given, id: CaseId, revision: Seen = None) -> dict[str, Any]:
    """Take back the last answer."""
    return _state(to, to.cases.undo(id, revision))


@router.post("/case/what-if", response_model=WhatIfOut)
def what_if(to: Given, id: CaseId, given: ValuesIn) -> dict[str, Any]:
    """Ask the model about other values."""
    return to.cases.what_if(to.cases.open(id), given.values).to_dict()


@router.post("/case/keep", response_model=CaseOut)
def keep(to: Given, id: CaseId, given: PlanIn) -> dict[str, Any]:
    """Keep a plan."""
    return _state(to, to.cases.keep(id, given.action, given.revision))


@router.delete("/case/kept/{place}", response_model=CaseOut)
def let_go(
    to: Given, id: CaseId, place: Annotated[int, Path(ge=0, le=1000)], revision: Seen = None
) -> dict[str, Any]:
    """Keep a plan no longer."""
    return _state(to, to.cases.let_go(id, place, revision))


@router.get("/case/letter", response_model=TextOut)
def letter(to: Given, id: CaseId) -> dict[str, str]:
    """The letter, as text."""
    return {"text": to.cases.letter(to.cases.open(id), contact=to.settings.contact)}


@router.post("/case/receipt", response_model=ReceiptOut)
def receipt(to: Given, id: CaseId, given: PlanIn) -> dict[str, Any]:
    """A signed receipt of a plan."""
    return to.cases.receipt(to.cases.open(id), given.action, to.settings.lender).to_dict()


@router.delete("/case", status_code=204)
def delete(to: Given, id: CaseId) -> None:
    """Delete the case and all that was said."""
    to.cases.delete(id)
