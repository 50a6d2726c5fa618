"""The JSON interface under /api/v1: the same services as the pages. Cases by their code, staff by tokens.

Errors are RFC 9457 problems (application/problem+json). Texts are in the language that Accept-Language asks for.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field, model_validator
from sqlalchemy import select

from wayforward.language import LANGUAGES
from wayforward.serve.accounts import Somebody, revoke_token, tokens_of
from wayforward.serve.case_store import Applicant
from wayforward.serve.consent import CURRENT, consent_text
from wayforward.serve.events import first_broken
from wayforward.serve.http.guard import Given, by_code, program
from wayforward.serve.permissions import Act
from wayforward.serve.services import Services
from wayforward.serve.storage.tables import ModelVersion

router = APIRouter(prefix="/api/v1", tags=["v1"])
CaseId = Annotated[str, Depends(by_code)]
Value = float | int | str | bool | None
Action = Annotated[list[float | None], Field(max_length=10_000)]


def _sound(value: Any, depth: int = 0) -> None:
    """Raises: ValueError for what JSON allows and nobody means."""
    if depth > 20:
        raise ValueError("this is nested too deeply")
    if isinstance(value, str) and not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ValueError("a text holds half a character") from None
    elif isinstance(value, int | float) and not -1e300 < value < 1e300:
        raise ValueError("a number is too large, or none")
    elif isinstance(value, Mapping | list):
        for part in chain(value, value.values()) if isinstance(value, Mapping) else value:
            _sound(part, depth + 1)


class ApiIn(BaseModel):
    """What a program sends: nothing unknown, no number without an end, nothing nested too deeply."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _whole(cls, given: Any) -> Any:
        _sound(given)
        return given


class ConsentIn(ApiIn):
    """version: of the text that the person has read."""

    version: int = Field(ge=1, le=10_000)


class LimitsIn(ApiIn):
    """limits: FEATURE: false, "up to 3,500", {"low": ..., "high": ...}, levels, how hard. changes: at most so many."""

    limits: dict[str, Any] = Field(default_factory=dict, max_length=1000)
    changes: int | None = Field(None, ge=1, le=1000)
    revision: int | None = Field(None, ge=0)


class ReplyIn(ApiIn):
    """reply: as `Dialogue.answer` takes it. question: the id of the question."""

    question: str = Field(max_length=100)
    reply: Any
    revision: int | None = Field(None, ge=0)


class ValuesIn(ApiIn):
    """values: FEATURE: another value."""

    values: dict[str, Value] = Field(max_length=1000)


class PlanIn(ApiIn):
    """action (d,): what a plan sets; null where it leaves a feature alone."""

    action: Action
    revision: int | None = Field(None, ge=0)


class PeopleIn(ApiIn):
    """people: a row each, by feature. model: the id of a published version. language: that their pages begin in; left
    out, what their browsers ask for."""

    model: str = Field(pattern="^[0-9a-f]{64}$")
    people: list[dict[str, Value]] = Field(min_length=1, max_length=10_000)
    language: str = Field("", pattern=f"^({'|'.join(LANGUAGES)})?$")


class ReceiptIn(ApiIn):
    """A receipt as it was handed out."""

    format: str
    version: int
    content: dict[str, Any]
    signature: str = Field(max_length=200)
    public_key: str = Field(max_length=200)


def _state(to: Services, one: Applicant) -> dict[str, Any]:
    question = to.cases.question(one)
    end = None if one.dialogue is None else one.dialogue.end
    return {
        "case": one.case.id[:8],
        "model": one.case.model_id,
        "revision": one.case.revision,
        "language": one.state.get("language", ""),
        "limits": one.state["limits"],
        "question": None if question is None else question.to_dict(),
        "ended": None if end is None else end.how,
        "kept": [plan.to_dict() for plan in to.cases.bookmarks(one)],
    }


@router.get("/case")
def case(to: Given, id: CaseId) -> dict[str, Any]:
    """How the case stands: limits, the question on the table, the plans that were kept."""
    return _state(to, to.cases.open(id))


@router.get("/case/decision")
def decision(to: Given, id: CaseId) -> dict[str, Any]:
    """The answer, how near it was, and the principal reasons. This and what follows about consent need none."""
    return to.cases.decision(to.cases.open(id, before_consent=True))


@router.get("/case/consent")
def consent(to: Given, id: CaseId) -> dict[str, Any]:
    """What a person agrees to before anything else is worked out, its version, and when they agreed to it."""
    case = to.cases.open(id, before_consent=True).case
    given = case.consent if case.consent_version == CURRENT else None
    return {"version": CURRENT, "text": consent_text(to.settings.days_kept), "given": given}


@router.post("/case/consent")
def agree(to: Given, id: CaseId, given: ConsentIn) -> dict[str, Any]:
    """The person agrees to this version of the text."""
    to.cases.consent(id, given.version)
    return consent(to, id)


@router.delete("/case/consent")
def withdraw(to: Given, id: CaseId) -> dict[str, Any]:
    """The person agrees no longer: everything but their answer and the deletion is closed until they agree again."""
    to.cases.withdraw(id)
    return consent(to, id)


@router.get("/case/form")
def form(to: Given, id: CaseId) -> list[dict[str, Any]]:
    """One entry for each feature that the person may change."""
    return to.cases.form(to.cases.open(id))


@router.post("/case/limits")
def limits(to: Given, id: CaseId, given: LimitsIn) -> dict[str, Any]:
    """Say all limits at once."""
    return _state(to, to.cases.limits(id, given.limits, given.changes, given.revision))


@router.get("/case/plans")
def plans(to: Given, id: CaseId) -> dict[str, Any]:
    """Plans under these limits: one of each kind; and why there is none, where there is none."""
    one = to.cases.open(id)
    return {"plans": [plan.to_dict() for plan in to.cases.plans(one)], "why_not": to.cases.no_plan(one)}


@router.post("/case/reply")
def reply(to: Given, id: CaseId, given: ReplyIn) -> dict[str, Any]:
    """Answer the question on the table."""
    return _state(to, to.cases.reply(id, given.question, given.reply, given.revision))


@router.post("/case/undo")
def undo(to: Given, id: CaseId, revision: int | None = None) -> dict[str, Any]:
    """Take back the last answer."""
    return _state(to, to.cases.undo(id, revision))


@router.post("/case/what-if")
def what_if(to: Given, id: CaseId, given: ValuesIn) -> dict[str, Any]:
    """Ask the model about other values."""
    return to.cases.what_if(to.cases.open(id), given.values).to_dict()


@router.post("/case/keep")
def keep(to: Given, id: CaseId, given: PlanIn) -> dict[str, Any]:
    """Keep a plan."""
    return _state(to, to.cases.keep(id, given.action, given.revision))


@router.delete("/case/kept/{place}")
def let_go(to: Given, id: CaseId, place: int, revision: int | None = None) -> dict[str, Any]:
    """Keep a plan no longer."""
    return _state(to, to.cases.let_go(id, place, revision))


@router.get("/case/letter")
def letter(to: Given, id: CaseId) -> dict[str, str]:
    """The letter, as text."""
    return {"text": to.cases.letter(to.cases.open(id), contact=to.settings.contact)}


@router.post("/case/receipt")
def receipt(to: Given, id: CaseId, given: PlanIn) -> dict[str, Any]:
    """A signed receipt of a plan."""
    return to.cases.receipt(to.cases.open(id), given.action, to.settings.lender).to_dict()


@router.delete("/case", status_code=204)
def delete(to: Given, id: CaseId) -> None:
    """Delete the case and all that was said."""
    to.cases.delete(id)


@router.post("/receipts/verify")
def verify(to: Given, given: ReceiptIn) -> dict[str, Any]:
    """Is a receipt ours, and unchanged? For everybody."""
    from wayforward.answers.receipt import Receipt

    found = Receipt.from_dict(given.model_dump())
    return {"holds": found.holds(to.keys.signer.public_key), "code": found.code}


@router.get("/models")
def models(to: Given, who: Annotated[Somebody, Depends(program(Act.SEE_MODELS))]) -> list[dict[str, Any]]:
    """Every version of a model."""
    with to.database.session(write=False) as session:
        found = list(session.scalars(select(ModelVersion).order_by(ModelVersion.made.desc())))
    return [{"id": one.id, "title": one.title, "published": one.published, "made": one.made} for one in found]


@router.post("/cases", status_code=201)
def make_cases(
    to: Given, given: PeopleIn, who: Annotated[Somebody, Depends(program(Act.MAKE_CASES))]
) -> list[dict[str, str]]:
    """Make cases of people; their codes are told this once."""
    url = to.settings.public_url.rstrip("/")
    made = to.cases.make(given.model, given.people, who.name, given.language)
    return [{"case": id[:8], "code": code, "link": f"{url}/w/{code}"} for id, code in made]


@router.get("/tokens")
def tokens(to: Given, who: Annotated[Somebody, Depends(program(Act.HAVE_TOKENS))]) -> list[dict[str, Any]]:
    """The tokens of the account that still hold; never the tokens themselves."""
    with to.database.session(write=False) as session:
        found = tokens_of(session, who)
    return [
        {"id": one.id, "name": one.name, "acts": one.acts, "made": one.made, "until": one.until}
        for one in found
    ]


@router.delete("/tokens/{id}", status_code=204)
def revoke(to: Given, id: str, who: Annotated[Somebody, Depends(program(Act.HAVE_TOKENS))]) -> None:
    """End a token of the account at once."""
    with to.database.session() as session:
        revoke_token(session, who, id)


@router.get("/log")
def log(to: Given, who: Annotated[Somebody, Depends(program(Act.SEE_EVENTS))]) -> dict[str, Any]:
    """Does the chain of the log hold?"""
    with to.database.session(write=False) as session:
        broken = first_broken(session)
    return {"holds": broken is None, "first_broken": broken}
