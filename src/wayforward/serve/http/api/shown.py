"""What programs get, as models: the answers of the interface, and its problems, as OpenAPI describes them."""

from __future__ import annotations

from datetime import datetime
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel, Field


class ApiProblem(BaseModel):
    """A problem of RFC 9457: title says what kind it is, detail what to do."""

    type: str
    title: str
    status: int
    detail: str


_USUAL = (400, 413, 422, 429)


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the documentation of these statuses, and of those that every endpoint can answer with."""
    shape = {"application/problem+json": {"schema": ApiProblem.model_json_schema()}}
    return {
        status: {"description": HTTPStatus(status).phrase, "content": shape}
        for status in sorted({*_USUAL, *statuses})
    }


class PlanOut(BaseModel):
    """A plan in words, and its action as `keep` and `receipt` take it. holds: does it lead to a yes now?"""

    key: str
    name: str
    steps: list[str]
    follows: list[str]
    notes: list[str]
    table: list[dict[str, str]]
    action: list[float | None]
    holds: bool
    is_kept: bool


class CaseOut(BaseModel):
    """How a case stands. revision: send it with a change, and a change made elsewhere is noticed."""

    case: str
    model: str
    revision: int
    language: str
    limits: dict[str, Any]
    question: dict[str, Any] | None
    ended: str | None
    bookmarks: list[PlanOut] = Field(alias="kept")


class DecisionOut(BaseModel):
    """The answer, how near it was, and why, in sentences."""

    accepted: bool
    near: str
    reasons: list[str]
    yes: str


class ConsentOut(BaseModel):
    """What a person agrees to, and when they did."""

    version: int
    text: Any
    given: datetime | None


class PlansOut(BaseModel):
    """Plans side by side; why_not: in sentences, where there is none."""

    plans: list[PlanOut]
    why_not: Any


class ComparisonOut(BaseModel):
    """Plans side by side. rows: what differs, `then` a text for each plan; same: what all of them have."""

    names: list[str]
    rows: list[dict[str, Any]]
    same: list[str]
    effort: list[str]
    notes: list[list[str]]


class WhatIfOut(BaseModel):
    """What the model would say. broken: why nobody could have these values."""

    accepted: bool
    text: str
    broken: list[str]


class TextOut(BaseModel):
    """A text."""

    text: str


class ReceiptOut(BaseModel):
    """A signed receipt."""

    format: str
    version: int
    content: dict[str, Any]
    signature: str
    public_key: str


class VerifiedOut(BaseModel):
    """holds: is it ours and unchanged? code: what a telephone call compares."""

    holds: bool
    code: str


class KeyOut(BaseModel):
    """The public key of receipts, base64."""

    ed25519: str


class OpenModelOut(BaseModel):
    """A model that people may try with their own numbers. features: what to give, as the schema says it."""

    id: str
    title: str
    features: list[dict[str, Any]]


class CodeOut(BaseModel):
    """The code of a new case; it is shown this once."""

    case: str
    code: str
    link: str


class ModelOut(BaseModel):
    """A version of a model. published: since when applicants meet it."""

    id: str
    title: str
    published: datetime | None
    made: datetime
    open_to_all: bool
    cases: int


class CaseCountsOut(BaseModel):
    """Cases of a model: now, those who agreed, the last visit; made and deleted stay when cases are gone."""

    model: str
    cases: int
    agreed: int
    seen: datetime | None
    ever: dict[str, int]


class JobOut(BaseModel):
    """A job: how far it is, and how it ended."""

    id: str
    kind: str
    model: str
    status: str
    done: int
    total: int
    note: str
    made: datetime
    ended: datetime | None


class AuditOut(BaseModel):
    """A finished audit. threshold: null where it was the model's own."""

    id: str
    model: str
    title: str
    made: datetime
    threshold: float | None


class CellOut(BaseModel):
    """A figure, its 95 % interval, the people behind it; null where it is withheld or unknown."""

    value: float | None
    low: float | None
    high: float | None
    n: int | None


class AuditRowOut(BaseModel):
    """A group, and its figure in each audit."""

    group: str
    cells: list[CellOut]


class AuditViewOut(BaseModel):
    """Audits side by side, the oldest first. last_less_first: differences, a cell for each row."""

    by: str
    measure: str
    meaning: str
    audits: list[AuditOut]
    rows: list[AuditRowOut]
    last_less_first: list[CellOut]


class AuditChangeOut(BaseModel):
    """What a plan changes, and whereto: up, down, other."""

    feature: str
    direction: str


class AuditCaseOut(BaseModel):
    """How somebody fared. dearer_than: share of the plans that cost less. groups: {} where few are in all of them."""

    case: str
    groups: dict[str, str]
    outcome: str
    cost: float | None
    dearer_than: float | None
    changes: list[AuditChangeOut]


class LogLineOut(BaseModel):
    """A line of the log."""

    id: int
    at: datetime
    actor: str
    what: str
    subject: str


class LogOut(BaseModel):
    """holds: does the whole chain hold? first_broken: else the line where it breaks. lines: the newest first."""

    holds: bool
    first_broken: int | None
    lines: list[LogLineOut]


class UserOut(BaseModel):
    """An account."""

    id: int
    name: str
    role: str
    disabled: bool
    made: datetime


class TokenOut(BaseModel):
    """A token; never the token itself."""

    id: str
    name: str
    acts: list[str]
    made: datetime
    until: datetime


class NewTokenOut(BaseModel):
    """The token itself, shown this once."""

    token: str
