"""The applicant's own pages: from the answer to a plan to take along. Every page works without JavaScript."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import JSONResponse, Response

from wayforward.errors import ReplyError, WayforwardError
from wayforward.language import gettext
from wayforward.serve import accounts
from wayforward.serve.case_store import Applicant, CaseChanged, CaseError
from wayforward.serve.consent import CURRENT, consent_text
from wayforward.serve.http.entrance import cell
from wayforward.serve.http.guard import Given, Visitor, applicant, whole
from wayforward.serve.http.numbers import typed_number
from wayforward.serve.http.pages import attached, go, show, status_of
from wayforward.serve.plans import WhatIf
from wayforward.serve.projects import GettingReady
from wayforward.serve.services import Services
from wayforward.serve.storage.tables import ApplicantCase

router = APIRouter(include_in_schema=False)
CaseId = Annotated[str, Depends(applicant)]


def when_ready(to: Given, id: CaseId) -> None:
    """Say at once that a model is being warmed, in place of waiting for it. Raises: GettingReady."""
    with to.database.session(write=False) as session:
        case = session.get(ApplicantCase, id)
    if case is not None and case.model_id in to.projects.getting_ready:
        raise GettingReady(
            gettext(
                "The model is being got ready, which takes a minute or two after an installation. This page looks "
                "again by itself every five seconds."
            )
        )


READY = [Depends(when_ready)]


def _page(request: Request, one: Applicant, template: str, status: int = 200, **given: Any) -> Response:
    shown = {"one": one, "revision": one.case.revision, "project": one.project, "problem_text": "", **given}
    return show(request, f"case/{template}", status, **shown)


@router.get("/case", dependencies=READY)
def decision(request: Request, to: Given, id: CaseId) -> Response:
    """The answer, why, and what this page can do."""
    one = to.cases.open(id, before_consent=True)
    return _page(
        request, one, "decision.html", decision=to.cases.decision(one),
        text=consent_text(to.settings.days_kept), version=CURRENT,
    )  # fmt: skip


@router.post("/case/consent")
def consent(request: Request, to: Given, id: CaseId) -> Response:
    """The person agrees to go on."""
    at: Visitor = request.state.visitor
    to.cases.consent(id, whole(at.form.get("version", "")))
    return go(request, "/case/limits")


@router.post("/case/consent/withdraw")
def withdraw(request: Request, to: Given, id: CaseId) -> Response:
    """The person agrees no longer."""
    to.cases.withdraw(id)
    return go(request, "/case")


@router.get("/case/limits")
def limits(request: Request, to: Given, id: CaseId) -> Response:
    """What can you change? All on one page."""
    one = to.cases.open(id)
    return _page(request, one, "limits.html", form=to.cases.form(one), stored=one.state["limits"], errors={})


@router.post("/case/limits")
def limits_sent(request: Request, to: Given, id: CaseId) -> Response:
    """Take the page of limits."""
    at: Visitor = request.state.visitor
    one = to.cases.open(id)
    form = to.cases.form(one)
    given, changes = read_limits(form, at.form)
    typed = str(at.form.get("within", "")).strip()
    months = typed_number(typed)
    within = (typed if months is None else months) or None
    try:
        to.cases.limits(id, given, changes, _revision(at), within)
    except (ReplyError, CaseChanged) as error:
        stored = {"limits": given, "changes": changes, "within": within}
        errors = {getattr(error, "feature", ""): str(error)}
        if isinstance(error, CaseChanged):  # what they typed stays on the page; sent once more, it counts
            one = to.cases.open(id)
            errors[""] = gettext(
                "Something was changed in another window. Here is what you typed: send it again if it should count."
            )
        return _page(request, one, "limits.html", status_of(error), form=form, stored=stored, errors=errors)
    return go(request, "/case/plans")


def read_limits(form: list[dict[str, Any]], sent: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
    """The fields of the page of limits as the dialogue takes them: for each feature can, low, high, level, hard."""
    limits: dict[str, Any] = {}
    for place, entry in enumerate(form):
        if str(sent.get(f"can-{place}", "yes")) == "no":
            limits[entry["feature"]] = False
            continue
        parts: dict[str, Any] = {}
        if "levels" in entry:
            ticked = [at for i, at in enumerate(entry["places"]) if sent.get(f"level-{place}-{i}") == "on"]
            if not ticked and f"can-{place}" in sent:  # none of the others is "no", said otherwise
                limits[entry["feature"]] = False
                continue
            if ticked and len(ticked) < len(entry["levels"]):
                parts["levels"] = ticked
        else:
            for side in ("low", "high"):
                typed = str(sent.get(f"{side}-{place}", "")).strip()
                value = typed_number(typed)  # "25 %" is for the dialogue to read
                if typed and (value is None or value != entry[side]):
                    parts[side] = typed if value is None else value
        if hard := str(sent.get(f"hard-{place}", "")):
            parts["hard"] = hard
        if parts:
            limits[entry["feature"]] = parts
    changes = str(sent.get("changes", "")).strip()
    return limits, changes or None


def _revision(at: Visitor) -> int | None:
    return whole(at.form.get("revision", ""))


@router.get("/case/plans", dependencies=READY)
def plans(request: Request, to: Given, id: CaseId) -> Response:
    """Plans side by side, and those that were kept."""
    return _plans(request, to, to.cases.open(id))


def _plans(
    request: Request, to: Services, one: Applicant, status: int = 200, problem_text: str = ""
) -> Response:
    found, why_not = [], ""
    try:
        found, why_not = to.cases.plans(one), to.cases.no_plan(one)
    except CaseError as error:  # the case may ask no more: what was kept is still theirs
        status, problem_text = (status if problem_text else 422), problem_text or str(error)
    question = to.cases.question(one)
    end = to.cases.end(one)
    return _page(
        request, one, "plans.html", status, plans=found, kept=to.cases.bookmarks(one), why_not=why_not,
        question=question, end=end, problem_text=problem_text, json=json,
        plan_name=to.cases.plan_name,
    )  # fmt: skip


@router.get("/case/compare", dependencies=READY)
def compare(request: Request, to: Given, id: CaseId) -> Response:
    """Plans side by side in one table, as the address says: ?plan=p0&plan=k1."""
    one = to.cases.open(id)
    try:
        found = to.cases.compare(one, request.query_params.getlist("plan"))
    except CaseError as error:
        return _plans(request, to, one, status_of(error), str(error))
    return _page(request, one, "compare.html", found=found)


@router.post("/case/keep")
def keep(request: Request, to: Given, id: CaseId) -> Response:
    """Keep a plan."""
    at: Visitor = request.state.visitor
    try:
        to.cases.keep(id, _action(at), _revision(at))
    except CaseError as error:
        return _plans(request, to, to.cases.open(id), status_of(error), str(error))
    return go(request, str((at.form.get("back") == "choices" and "/case/choices") or "/case/plans#kept"))


@router.post("/case/let-go")
def let_go(request: Request, to: Given, id: CaseId) -> Response:
    """Keep a plan no longer."""
    at: Visitor = request.state.visitor
    place = whole(at.form.get("place", ""))
    try:
        to.cases.let_go(id, -1 if place is None else place, _revision(at))
    except CaseError as error:
        return _plans(request, to, to.cases.open(id), status_of(error), str(error))
    return go(request, "/case/plans#kept")


def _action(at: Visitor) -> list[float | None]:
    try:
        found = json.loads(str(at.form.get("action", "")))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, list) or len(found) > 10_000:
        raise CaseError(gettext("That is no plan of this case."))
    return found


@router.get("/case/choices", dependencies=READY)
def choices(request: Request, to: Given, id: CaseId) -> Response:
    """The question on the table, or how it ended."""
    one = to.cases.open(id)
    return _choices(request, to, one)


def _choices(
    request: Request, to: Services, one: Applicant, status: int = 200, problem_text: str = ""
) -> Response:
    if one.dialogue is None:
        return go(request, "/case/limits")
    question = to.cases.question(one)
    if question is None:
        return _page(request, one, "end.html", end=to.cases.end(one), plan=to.cases.chosen(one), json=json)
    return _page(
        request, one, "choices.html", status, question=question, learned=to.cases.learned(one),
        problem_text=problem_text, json=json,
    )  # fmt: skip


@router.post("/case/reply")
def reply(request: Request, to: Given, id: CaseId) -> Response:
    """Answer the question."""
    at: Visitor = request.state.visitor
    given = str(at.form.get("typed", "")).strip() or str(at.form.get("reply", ""))
    try:
        to.cases.reply(id, str(at.form.get("question", "")), given, _revision(at))
    except (ReplyError, CaseChanged) as error:
        return _choices(request, to, to.cases.open(id), status_of(error), str(error))
    return go(request, "/case/choices")


@router.post("/case/undo")
def undo(request: Request, to: Given, id: CaseId) -> Response:
    """Take back the last answer."""
    try:
        one = to.cases.undo(id, _revision(request.state.visitor))
    except CaseError as error:
        return _choices(request, to, to.cases.open(id), status_of(error), str(error))
    return go(request, "/case/limits" if one.dialogue is None else "/case/choices")


@router.get("/case/what-if")
def what_if(request: Request, to: Given, id: CaseId) -> Response:
    """Other numbers, and what the model would say."""
    one = to.cases.open(id)
    return _page(request, one, "what_if.html", form=to.cases.form(one), given={}, found=None, errors={})


@router.post("/case/what-if")
def what_if_sent(request: Request, to: Given, id: CaseId) -> Response:
    """Ask the model about other numbers; for the page, or as JSON for its script."""
    one = to.cases.open(id)
    answer, shown = tried(request, to, one, lambda values: to.cases.what_if(one, values))
    return answer or _page(request, one, "what_if.html", 422 if shown["errors"] else 200, **shown)


def tried(
    request: Request, to: Services, one: Applicant, ask: Callable[[dict[str, Any]], WhatIf]
) -> tuple[Response | None, dict[str, Any]]:
    """Ask about the numbers that were sent; return the answer to a script, and what a page shows otherwise."""
    at: Visitor = request.state.visitor
    form = to.cases.form(one)
    values, errors = {}, {}
    for place, entry in enumerate(form):
        typed = str(at.form.get(f"value-{place}", "")).strip()
        if not typed:
            continue
        try:
            values[entry["feature"]] = cell(one.project.schema[entry["feature"]], typed)
        except ReplyError as error:
            errors[entry["feature"]] = str(error)
    found = None
    if not errors:
        try:
            found = ask(values)
        except WayforwardError as error:
            errors[""] = str(error)
    answer = None
    if wants_json(request):
        labels = {entry["feature"]: f"{entry['title'][:1].upper()}{entry['title'][1:]}:" for entry in form}
        errors = {labels.get(name, ""): text for name, text in errors.items()}
        answer = JSONResponse(
            {"errors": errors} if found is None else found.to_dict(), 422 if errors else 200
        )
    given = {
        name: str(at.form.get(f"value-{i}", "")) for i, name in enumerate(entry["feature"] for entry in form)
    }
    return answer, {"form": form, "given": given, "found": found, "errors": errors}


def wants_json(request: Request) -> bool:
    """Is it a script of ours that asks?"""
    return "application/json" in request.headers.get("accept", "")


@router.get("/case/letter", dependencies=READY)
def letter(request: Request, to: Given, id: CaseId) -> Response:
    """The letter, to print."""
    one = to.cases.open(id)
    return _page(request, one, "letter.html", letter=to.cases.letter(one, contact=to.settings.contact))


@router.get("/case/letter.txt")
def letter_text(request: Request, to: Given, id: CaseId) -> Response:
    """The letter as a file."""
    text = to.cases.letter(to.cases.open(id), contact=to.settings.contact)
    return attached(text, "letter.txt", "text/plain; charset=utf-8")


@router.post("/case/receipt")
def receipt(request: Request, to: Given, id: CaseId) -> Response:
    """A signed receipt of one plan."""
    at: Visitor = request.state.visitor
    one = to.cases.open(id)
    found = to.cases.receipt(one, _action(at), to.settings.lender)
    text = json.dumps(found.to_dict(), indent=2, ensure_ascii=False)
    if at.form.get("as") == "file":
        return attached(text, "receipt.json", "application/json")
    return _page(request, one, "receipt.html", receipt=found, text=text, back="/case/plans")


@router.post("/case/leave")
def leave(request: Request, to: Given, id: CaseId) -> Response:
    """End the visit. The case stays."""
    at: Visitor = request.state.visitor
    with to.database.session() as session:
        accounts.close_login(session, at.cookie)
    at.login, at.ended = None, True
    return go(request, "/")


@router.get("/case/delete")
def delete_asked(request: Request, to: Given, id: CaseId) -> Response:
    """Ask once more before everything is deleted."""
    return _page(request, to.cases.open(id, before_consent=True), "delete.html")


@router.post("/case/delete")
def delete(request: Request, to: Given, id: CaseId) -> Response:
    """Delete everything."""
    to.cases.delete(id)
    at: Visitor = request.state.visitor
    at.login, at.ended = None, True
    return show(request, "deleted.html")
