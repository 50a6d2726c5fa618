"""Pages of studies: what a participant sees from the recruiting link to the end, and what a researcher does."""

from __future__ import annotations

import io
import re
import tempfile
import time
import zipfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.datastructures import UploadFile

from wayforward.errors import WayforwardError
from wayforward.language import LANGUAGES, N_, day_text, gettext, language, use_language
from wayforward.serve.accounts import Somebody
from wayforward.serve.case_store import CaseChanged
from wayforward.serve.http.applicant import wants_json
from wayforward.serve.http.guard import Given, ParticipantId, Visitor, anybody, staff, whole
from wayforward.serve.http.languages import speak
from wayforward.serve.http.pages import attached, go, show, status_of
from wayforward.serve.http.uploads import stored
from wayforward.serve.permissions import Act
from wayforward.serve.services import Services
from wayforward.serve.storage.tables import now
from wayforward.serve.studies import Participation
from wayforward.study.course import AnswersError, CourseError, ParticipantCourse, Standing
from wayforward.study.items import in_language
from wayforward.study.pool import ProfilePool
from wayforward.study.preview import preview
from wayforward.study.ready_made import NAMES, ready_made, ready_made_text
from wayforward.study.records import export, formats_here

router = APIRouter(include_in_schema=False)
Anybody = Annotated[Visitor, Depends(anybody)]
_SAVED = N_("Your answers on this page are saved.")
_MOST_TEXT = 2**20  # of a protocol
Researcher = Annotated[Somebody, Depends(staff(Act.RUN_STUDIES))]


# -- the participant ---------------------------------------------------------------------------------------


@router.get("/s/{link}")
def welcome(request: Request, link: str, to: Given, at: Anybody) -> Response:
    """The recruiting link: what the study is called, and its languages."""
    _, protocol = to.studies.by_link(link)
    titles = []
    for code in sorted(protocol.languages, key=lambda code: code != language()):
        with use_language(code if code in LANGUAGES else "en"):
            takes = gettext("It takes about {n} minutes.", n=protocol.minutes)
            titles.append((code, in_language(protocol.title, code), takes, gettext("Begin in English")))
    return show(request, "study/welcome.html", titles=titles)


@router.post("/s/{link}")
def enrol(request: Request, link: str, to: Given, at: Anybody) -> Response:
    """Begin, and show the way back once."""
    to.limits.spend("enrol", request.client.host if request.client else "", 20)
    id, code = to.studies.enrol(link, str(at.form.get("language", "")))
    _session(to, at, id)
    way_back = f"{to.settings.public_url.rstrip('/')}/p/{code}"
    one = to.studies.open(id)
    speak(one.course.state["language"])
    return _page(request, one, "code.html", way_back=way_back)


@router.get("/p/{code}")
def resume(request: Request, code: str, to: Given, at: Anybody) -> Response:
    """The way back."""
    to.limits.spend("code", request.client.host if request.client else "", 30)
    _session(to, at, to.studies.by_code(code))
    return go(request, "/study")


def _session(to: Services, at: Visitor, id: str) -> None:
    """Open a session of a participation."""
    with to.database.session() as session:
        at.renew(session, to.settings.session_hours, participant_id=id)


def _page(request: Request, one: Participation, template: str, status: int = 200, **given: Any) -> Response:
    course = one.course
    shown = {
        "course": course, "protocol": course.protocol, "words": course.words, "revision": one.revision, "problems": {},
        "note": "",
    }  # fmt: skip
    return show(request, f"study/{template}", status, **{**shown, **given})


@router.get("/study")
def where(request: Request, to: Given, id: ParticipantId) -> Response:
    """Where the participant is: consent, a page, a wait, an end."""
    return _where(request, to, to.studies.open(id))


def _where(request: Request, to: Services, one: Participation, status: int = 200, **given: Any) -> Response:
    course = one.course
    if course.standing is Standing.CONSENT:
        return _page(request, one, "consent.html", status, **given)
    step = course.step()
    if step is None:
        done = course.standing is Standing.FINISHED
        code = to.studies.completion_code(one.id) if done else ""
        return _page(request, one, "end.html", status, done=done, completion=code)
    until = course.waits_until()
    if until is not None and now() < until:
        when = f"{day_text(until.date())}, {until:%H:%M} UTC"
        return _page(request, one, "waiting.html", status, until=when)
    if step.screen.task:
        return go(request, "/study/task")
    shown = {
        "step": step,
        "typed": course.draft(step),
        "can_go_back": course.before() is not None,
        "since": int(time.time()),
        "progress": course.progress(),
    }
    return _page(request, one, "screen.html", status, **{**shown, **given})


@router.post("/study/consent")
def consent(request: Request, to: Given, id: ParticipantId) -> Response:
    """The participant agrees."""
    return _changed(request, to, id, lambda course: course.consent(now()))


@router.post("/study/page")
def page_sent(request: Request, to: Given, id: ParticipantId) -> Response:
    """Take a page, or keep it for later."""
    form = request.state.visitor.form
    raw = {
        int(name[1:]): [one for one in form.getlist(name) if isinstance(one, str)]
        for name in form
        if re.fullmatch("f[0-9]{1,3}", name)
    }
    since = whole(form.get("since", ""), 2**40)
    seconds = 0.0 if since is None else time.time() - since

    def take(course: ParticipantCourse) -> None:
        step = course.step()
        if step is None:
            raise CourseError(gettext("This page was answered already. Here is where you are now."))
        if form.get("later"):
            course.save(step.key, raw)
        elif form.get("back"):
            course.back(step.key, raw)
        else:
            course.answer(step.key, raw, now(), seconds)

    if wants_json(request):
        return _saved(request, to, id, take)
    try:
        answer = _changed(request, to, id, take)
    except AnswersError as error:
        one = to.studies.open(id)
        return _where(
            request, to, one, 422, typed=raw, problems=error.problems, since=since or int(time.time())
        )
    if form.get("later"):
        return _where(request, to, to.studies.open(id), note=gettext(_SAVED))
    return answer


def _saved(request: Request, to: Services, id: str, take: Callable[[ParticipantCourse], None]) -> Response:
    """Save for the script of the page, which gets the revision that comes next."""
    form = request.state.visitor.form
    if not form.get("later"):
        raise CourseError(gettext("A script of this page saves, and no more."))
    try:
        one = to.studies.change(id, whole(form.get("revision", "")), take)
    except (CaseChanged, CourseError) as error:
        return JSONResponse({"note": str(error)}, status_of(error))
    return JSONResponse({"revision": one.revision, "note": gettext(_SAVED)})


def _changed(request: Request, to: Services, id: str, act: Any) -> Response:
    try:
        to.studies.change(id, whole(request.state.visitor.form.get("revision", "")), act)
    except (CaseChanged, CourseError) as error:
        return _where(request, to, to.studies.open(id), status_of(error), note=str(error))
    return go(request, "/study")


@router.get("/study/withdraw")
def withdraw_asked(request: Request, to: Given, id: ParticipantId) -> Response:
    """Ask once more before everything is deleted."""
    return _page(request, to.studies.open(id), "withdraw.html")


@router.post("/study/withdraw")
def withdraw(request: Request, to: Given, id: ParticipantId) -> Response:
    """Delete the participation."""
    to.studies.withdraw(id)
    at: Visitor = request.state.visitor
    at.login, at.ended = None, True
    return show(request, "deleted.html")


# -- the researcher ----------------------------------------------------------------------------------------


@router.get("/staff/studies")
def studies(request: Request, to: Given, who: Researcher) -> Response:
    """The studies, how many participants stand where, and the form for another one."""
    return _studies(request, to, who)


def _studies(request: Request, to: Services, who: Somebody, status: int = 200, problem: str = "") -> Response:
    url = to.settings.public_url.rstrip("/")
    return show(
        request, "staff/studies.html", status, who=who, rows=to.studies.rows(), url=url, problem_text=problem,
        in_language=in_language, ready=[ready_made(name) for name in NAMES],
        gone_on=lambda row, protocol: day_text((row.closed + timedelta(days=protocol.keep_days)).date()),
    )  # fmt: skip


@router.post("/staff/studies")
def add_study(request: Request, to: Given, who: Researcher) -> Response:
    """Take a protocol: a file, or one that is ready-made."""
    form = request.state.visitor.form
    upload, name = form.get("protocol"), str(form.get("ready", ""))
    try:
        content = upload.file.read(_MOST_TEXT) if isinstance(upload, UploadFile) else b""
        content = ready_made_text(name).encode() if name else content
        with tempfile.TemporaryDirectory() as folder:
            file = stored(form.get("pool"), Path(folder) / "pool")
            pool = None if file is None else ProfilePool.read_file(file)
        to.studies.add(content.decode("utf-8", errors="replace"), who.name, pool)
    except WayforwardError as error:
        return _studies(request, to, who, 422, str(error))
    return go(request, "/staff/studies")


@router.get("/staff/studies/ready-made/{name}.yaml")
def ready_made_protocol(request: Request, name: str, who: Researcher) -> Response:
    """A ready-made protocol, to be edited."""
    return attached(ready_made_text(name), f"{name}.yaml", "application/yaml")


@router.post("/staff/studies/{id}/open")
def open_study(request: Request, id: str, to: Given, who: Researcher) -> Response:
    """Let participants come."""
    to.studies.switch(id, True, who.name)
    return go(request, "/staff/studies")


@router.post("/staff/studies/{id}/close")
def close_study(request: Request, id: str, to: Given, who: Researcher) -> Response:
    """Let nobody new come."""
    to.studies.switch(id, False, who.name)
    return go(request, "/staff/studies")


@router.get("/staff/studies/{id}/preview.html")
def preview_page(request: Request, id: str, to: Given, who: Researcher) -> Response:
    """Every screen on one page, which stands alone and has styles of its own."""
    policy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"
    protocol = to.studies.protocol(id)
    text = preview(protocol, language() if language() in protocol.languages else "")
    return HTMLResponse(text, headers={"Content-Security-Policy": policy})


@router.get("/staff/studies/{id}/export.zip")
def export_study(request: Request, id: str, to: Given, who: Researcher) -> Response:
    """Every table as CSV, Parquet and JSON, the codebook and the protocol. Completion codes are elsewhere."""
    states, packed = to.studies.states(id, who.name), io.BytesIO()
    with tempfile.TemporaryDirectory() as name, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(
            export(
                to.studies.protocol(id), states, Path(name) / "study", formats_here(), to.studies.pool(id)
            ).iterdir()
        ):
            archive.write(file, file.name)
    return attached(packed.getvalue(), "study.zip", "application/zip")


@router.get("/staff/studies/{id}/codes.txt")
def codes(request: Request, id: str, to: Given, who: Researcher) -> Response:
    """The completion codes of who finished, for who pays them."""
    return PlainTextResponse("".join(f"{code}\n" for code in to.studies.completion_codes(id, who.name)))
