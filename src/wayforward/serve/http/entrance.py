"""The pages for everybody: the way in by a code, a link or one's own numbers, and the check of a receipt."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import JSONResponse, RedirectResponse, Response
from sqlalchemy import update

from wayforward.answers.receipt import Receipt
from wayforward.errors import FileFormatError, ReplyError
from wayforward.language import LANGUAGES, gettext, language
from wayforward.serve.accounts import Somebody
from wayforward.serve.http.guard import Given, NotAllowed, Visitor, anybody, staff
from wayforward.serve.http.languages import chosen, own_path, remember
from wayforward.serve.http.numbers import typed_number
from wayforward.serve.http.pages import go, show
from wayforward.serve.permissions import Act
from wayforward.serve.projects import NoSuchVersion, published
from wayforward.serve.services import Services
from wayforward.serve.storage.tables import ApplicantCase, ModelVersion, now

router = APIRouter(include_in_schema=False)
Anybody = Annotated[Visitor, Depends(anybody)]


@router.get("/")
def home(request: Request, to: Given, at: Anybody) -> Response:
    """The first page: a code, or one's own numbers where a lender lets people try."""
    with to.database.session(write=False) as session:
        free = [version for version in published(session) if version.open_to_all]
    return show(request, "home.html", free=free)


@router.get("/w/{code}")
def by_link(request: Request, code: str, to: Given, at: Anybody) -> Response:
    """The link in a letter."""
    return _enter(request, to, at, code)


@router.post("/open")
def by_typed_code(request: Request, to: Given, at: Anybody) -> Response:
    """The code, typed."""
    return _enter(request, to, at, str(at.form.get("code", "")))


def _enter(request: Request, to: Services, at: Visitor, code: str) -> Response:
    to.limits.spend("code", request.client.host if request.client else "", 30)
    id = to.cases.by_code(code)
    _session(to, at, id)
    if not chosen(request):
        at.language = to.cases.language_of(id)
    return go(request, "/case")


def _session(to: Services, at: Visitor, case_id: str) -> None:
    """Open a session of a case."""
    with to.database.session() as session:
        at.renew(session, to.settings.session_hours, case_id=case_id)
        session.execute(update(ApplicantCase).where(ApplicantCase.id == case_id).values(seen=now()))


@router.get("/try/{model_id}")
def own_row(request: Request, model_id: str, to: Given, at: Anybody) -> Response:
    """A form of one's own numbers, made from the schema."""
    return show(request, "own_row.html", **_own_row(to, model_id), given={}, errors={})


@router.post("/try/{model_id}")
def own_row_sent(request: Request, model_id: str, to: Given, at: Anybody) -> Response:
    """A case of one's own numbers."""
    to.limits.spend("try", request.client.host if request.client else "", 20)
    return _typed(request, to, at, _own_row(to, model_id))


def _typed(request: Request, to: Services, at: Visitor, shown: dict[str, Any], by: str = "") -> Response:
    """Begin the case of somebody whose values were typed, in this browser. by: the account that was here before."""
    row, errors, given = {}, {}, {}
    for place, feature in enumerate(shown["features"]):
        given[feature.name] = str(at.form.get(f"f{place}", "")).strip()
        try:
            row[feature.name] = cell(feature, given.get(feature.name, ""))
        except ReplyError as error:
            errors[feature.name] = str(error)
    if errors:
        return show(request, "own_row.html", 422, **shown, given=given, errors=errors)
    (case_id, code) = to.cases.make(shown["model_id"], [row], by, language())[0]
    _session(to, at, case_id)
    return show(request, "case/code.html", code=code, link=f"{to.settings.public_url.rstrip('/')}/w/{code}")


@router.get("/staff/desk/{model_id}")
def at_a_desk(
    request: Request, model_id: str, to: Given, who: Annotated[Somebody, Depends(staff(Act.MAKE_CASES))]
) -> Response:
    """The numbers of somebody who sits beside the operator."""
    return show(request, "own_row.html", **_own_row(to, model_id, desk=True), given={}, errors={})


@router.post("/staff/desk/{model_id}")
def begun_at_a_desk(
    request: Request, model_id: str, to: Given, who: Annotated[Somebody, Depends(staff(Act.MAKE_CASES))]
) -> Response:
    """Their case begins in this browser, and the operator's session ends: the person can go on alone."""
    shown = _own_row(to, model_id, desk=True)
    return _typed(request, to, request.state.visitor, shown, who.name)


def _own_row(to: Services, model_id: str, desk: bool = False) -> dict[str, Any]:
    with to.database.session(write=False) as session:
        version = session.get(ModelVersion, model_id)
    if desk and (version is None or version.published is None):
        raise NoSuchVersion(gettext("There is no such version of a model."))
    if version is None or version.published is None or not (version.open_to_all or desk):
        raise NotAllowed(gettext("Here people come by a link of the lender."))
    schema = to.projects.project(model_id).schema
    return {"model_id": model_id, "title": version.title, "features": schema.features, "desk": desk}


def cell(feature: Any, text: str) -> Any:
    """What somebody typed into the field of a feature. Raises: ReplyError."""
    from wayforward.answers import words

    if feature.has_levels:
        for level in range(feature.n_levels):
            if text == str(level):
                return feature.levels[level]
        raise ReplyError(gettext("Choose one of the answers."))
    if not text:
        if feature.missing:
            return None
        raise ReplyError(gettext("Give a number."))
    value = typed_number(text)
    if value is None:
        raise ReplyError(gettext("{typed} is no number. Use digits, like 2500.", typed=repr(text[:20])))
    if not (feature.low is None or feature.low <= value) or not (
        feature.high is None or value <= feature.high
    ):
        raise ReplyError(
            gettext(
                "Give a number from {low} to {high}.",
                low=words.number(feature.low),
                high=words.number(feature.high),
            )
            if feature.low is not None and feature.high is not None
            else gettext("This number is outside what can be.")
        )
    if feature.kind == "integer" and value != int(value):
        raise ReplyError(gettext("Give a whole number."))
    return value


@router.get("/verify")
def verify(request: Request, to: Given, at: Anybody) -> Response:
    """Is a receipt ours?"""
    return show(request, "verify.html", text="", holds=None, receipt=None, detail="")


@router.post("/verify")
def verify_sent(request: Request, to: Given, at: Anybody) -> Response:
    """Check a receipt that was pasted or chosen."""
    text = str(at.form.get("text", ""))[:100_000]
    found, detail = None, ""
    try:
        found = Receipt.from_json(text)
    except FileFormatError as error:
        unread = gettext("This cannot be read. Paste the whole receipt, from the first brace to the last.")
        detail = unread if "cannot be read" in str(error) else str(error)
    holds = None if found is None else found.holds(to.keys.signer.public_key)
    return show(
        request, "verify.html", 422 if detail else 200, text=text, holds=holds, receipt=found, detail=detail
    )


@router.post("/language")
def language_chosen(request: Request, to: Given, at: Anybody) -> Response:
    """The visitor chooses a language, and is led back to where they were."""
    answer = RedirectResponse(own_path(str(at.form.get("back", ""))), 303)
    if (code := str(at.form.get("language", ""))) in LANGUAGES:
        remember(answer, code, secure=to.settings.secure)
    return answer


@router.get("/key")
def key(to: Given, at: Anybody) -> Response:
    """The public key of receipts."""
    return JSONResponse({"ed25519": to.keys.signer.public_key})
