"""Studies under /api/v1: a researcher's acts by a token, a participant's by the code of their participation."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse
from pydantic import Field

from wayforward.language import gettext, language
from wayforward.serve.accounts import Somebody
from wayforward.serve.case_store import table_of
from wayforward.serve.http.api.given import ApiIn, Value
from wayforward.serve.http.api.shown import problems
from wayforward.serve.http.guard import Given, by_participant_code, only_described, program
from wayforward.serve.permissions import Act
from wayforward.serve.services import Services
from wayforward.serve.storage.tables import StudyRow, now
from wayforward.serve.studies import Participation
from wayforward.study import ParticipantCourse, StudyProtocol
from wayforward.study.course import AnswersError, CourseError, Standing, StudyStep
from wayforward.study.items import in_language
from wayforward.study.pool import MOST_PROFILES, ProfilePool
from wayforward.study.preview import preview
from wayforward.study.records import about_export, codebook, tables

router = APIRouter(
    prefix="/api/v1", tags=["studies"], dependencies=[Depends(only_described)],
    responses=problems(401, 403, 404, 409),
)  # fmt: skip
Researcher = Annotated[Somebody, Depends(program(Act.RUN_STUDIES))]
ParticipationId = Annotated[str, Depends(by_participant_code)]
Typed = Annotated[list[Annotated[str, Field(max_length=20_000)]], Field(max_length=100)]


class StudyIn(ApiIn):
    """protocol: its YAML text. pool: a row for each profile, item-1 to item-16 and income, for `pool: table`."""

    protocol: str = Field(max_length=2**20)
    pool: list[dict[str, Value]] | None = Field(None, min_length=1, max_length=MOST_PROFILES)


class JoinIn(ApiIn):
    """link: the last part of the recruiting link. language: one of the protocol; left out, its first one."""

    link: str = Field(max_length=40)
    language: str = Field("", max_length=2)


class RevisionIn(ApiIn):
    """revision: of the page that was shown."""

    revision: int = Field(ge=0)


class AnswersIn(RevisionIn):
    """answers: for each item of the page, in its order, what was typed; [] for nothing. later: only save it."""

    answers: list[Typed] = Field(max_length=1000)
    seconds: float = Field(0, ge=0, le=1e9)
    later: bool = False


class BackIn(RevisionIn):
    """answers: what was typed on the page that is left."""

    answers: list[Typed] = Field(default_factory=list, max_length=1000)


class TaskReplyIn(RevisionIn):
    """reply: the key of an option, "take KEY", "cannot say" or "stop here". revision: of the task."""

    question: str = Field(max_length=100)
    reply: str = Field(max_length=100)


class TaskLimitsIn(RevisionIn):
    """limits, changes: as for a case. revision: of the task."""

    limits: dict[str, Any] = Field(default_factory=dict, max_length=1000)
    changes: int | None = Field(None, ge=1, le=1000)


class TaskValuesIn(ApiIn):
    """values: FEATURE: another value."""

    values: dict[str, Value] = Field(max_length=1000)


class TaskPlanIn(RevisionIn):
    """action (d,): of the plan that is taken; null to go on without one. revision: of the participation."""

    action: Annotated[list[float | None], Field(max_length=10_000)] | None


# -- the researcher ----------------------------------------------------------------------------------------


def _study(to: Services, row: StudyRow, protocol: StudyProtocol, counts: dict[str, int]) -> dict[str, Any]:
    return {
        "id": row.id, "name": protocol.id, "title": in_language(protocol.title, language()),
        "languages": protocol.languages, "open": row.open, "made": row.made, "most": protocol.quota.most,
        "link": f"{to.settings.public_url.rstrip('/')}/s/{row.link}" if row.open else None,
        "standing": counts, "withdrawn": row.withdrawn,
        "closed": row.closed, "expired": row.expired,
        "keep_days": protocol.keep_days, "model": row.model_id, "has_pool": row.pool is not None,
    }  # fmt: skip


def _one(to: Services, id: str) -> dict[str, Any]:
    to.studies.protocol(id)  # complains where there is none
    return next(_study(to, *found) for found in to.studies.rows() if found[0].id == id)


@router.get("/studies")
def studies(to: Given, who: Researcher) -> list[dict[str, Any]]:
    """Every study, and how many participants stand where."""
    return [_study(to, *found) for found in to.studies.rows()]


@router.post("/studies", status_code=201)
def add_study(to: Given, given: StudyIn, who: Researcher) -> dict[str, Any]:
    """Take a protocol, closed; what it says never changes from here on."""
    pool = None if given.pool is None else ProfilePool.read(table_of(given.pool))
    return _one(to, to.studies.add(given.protocol, who.name, pool))


@router.get("/studies/{id}")
def study(to: Given, id: str, who: Researcher) -> dict[str, Any]:
    """A study with its protocol."""
    plain = to.studies.protocol(id).model_dump(mode="json", exclude_defaults=True)
    return _one(to, id) | {"protocol": plain}


@router.get("/studies/{id}/preview", response_class=HTMLResponse)
def preview_page(to: Given, id: str, who: Researcher, language: str = "") -> HTMLResponse:
    """Every screen on one page that stands alone."""
    return HTMLResponse(preview(to.studies.protocol(id), language))


@router.post("/studies/{id}/open")
def open_study(to: Given, id: str, who: Researcher) -> dict[str, Any]:
    """Let participants come."""
    to.studies.switch(id, True, who.name)
    return _one(to, id)


@router.post("/studies/{id}/close")
def close_study(to: Given, id: str, who: Researcher) -> dict[str, Any]:
    """Let nobody new come; who takes part goes on."""
    to.studies.switch(id, False, who.name)
    return _one(to, id)


@router.get("/studies/{id}/export")
def export_study(to: Given, id: str, who: Researcher) -> dict[str, Any]:
    """Every table, the codebook, and what they are of. Completion codes are elsewhere."""
    protocol = to.studies.protocol(id)
    states = to.studies.states(id, who.name)
    about = about_export(protocol, states, to.studies.pool(id))
    return {"about": about, "codebook": codebook(protocol), **tables(protocol, states)}


@router.get("/studies/{id}/codes")
def codes(to: Given, id: str, who: Researcher) -> list[str]:
    """The completion codes of who finished, in alphabetical order."""
    return to.studies.completion_codes(id, who.name)


# -- the participant ---------------------------------------------------------------------------------------


def _item(item: Any, course: ParticipantCourse) -> dict[str, Any]:
    """A question as a program may show it: neither its name nor that it is an attention check."""
    plain = item.model_dump(
        mode="json", exclude={"id", "expect", "exclude", "exclude_below", "exclude_above"}
    )
    found = {
        name: course.words(value)
        if name in ("text", "help", "low", "high", "unit") and _is_text(value)
        else value
        for name, value in plain.items()
    }
    if "options" in found:
        found["options"] = [course.words(option) for option in item.options]
    return found


def _is_text(value: Any) -> bool:
    return isinstance(value, str | dict)


def _standing(to: Services, one: Participation) -> dict[str, Any]:
    course, page = one.course, None
    step, until = course.step(), course.waits_until()
    waits = until is not None and now() < until
    if step is not None and not waits:
        page = _shown(course, step)
    finished = course.standing is Standing.FINISHED
    text = {Standing.CONSENT: course.protocol.consent, Standing.FINISHED: course.protocol.debrief,
            Standing.EXCLUDED: course.protocol.excluded, Standing.FULL: course.protocol.excluded}  # fmt: skip
    return {
        "revision": one.revision, "language": course.state["language"], "standing": course.standing.value,
        "text": course.words(text.get(course.standing, "")), "page": page, "progress": course.progress(),
        "waits_until": until if waits else None,
        "completion_code": to.studies.completion_code(one.id) if finished else None,
    }  # fmt: skip


def _shown(course: ParticipantCourse, step: StudyStep) -> dict[str, Any]:
    return {
        "title": course.words(step.screen.title), "text": course.words(step.screen.text), "plan": step.plan,
        "items": [_item(item, course) for item in step.items], "is_task": step.screen.task is not None,
        "draft": course.draft(step), "can_go_back": course.before() is not None,
    }  # fmt: skip


def _now(to: Services, id: str) -> dict[str, Any]:
    return _standing(to, to.studies.open(id))


@router.post("/studies/join", status_code=201)
def join(request: Request, to: Given, given: JoinIn) -> dict[str, Any]:
    """Begin a participation by a recruiting link, while the study is open. The code is told this once."""
    to.limits.spend("enrol", request.client.host if request.client else "", 20)
    id, code = to.studies.enrol(given.link, given.language)
    return {"code": code, "link": f"{to.settings.public_url.rstrip('/')}/p/{code}", **_now(to, id)}


@router.get("/participation")
def participation(to: Given, id: ParticipationId) -> dict[str, Any]:
    """Where a participant is: a page, a wait, an end."""
    return _now(to, id)


@router.post("/participation/consent")
def consent(to: Given, id: ParticipationId, given: RevisionIn) -> dict[str, Any]:
    """The participant agrees."""
    return _standing(to, to.studies.change(id, given.revision, lambda course: course.consent(now())))


@router.post("/participation/answers")
def answers(to: Given, id: ParticipationId, given: AnswersIn) -> dict[str, Any]:
    """Answer the page on the table, or save it for later."""
    raw = dict(enumerate(given.answers))

    def take(course: ParticipantCourse, at: datetime) -> None:
        step = course.step()
        if step is None:
            raise CourseError(gettext("There is no page open."))
        if given.later:
            course.save(step.key, raw)
        else:
            course.answer(step.key, raw, at, given.seconds)

    try:
        return _standing(to, to.studies.change(id, given.revision, lambda course: take(course, now())))
    except AnswersError as error:
        each = "; ".join(f"answers[{place}]: {text}" for place, text in error.problems.items())
        raise CourseError(each) from None


@router.post("/participation/back")
def back(to: Given, id: ParticipationId, given: BackIn) -> dict[str, Any]:
    """Open the page before once more; what is typed on this one is not lost."""
    raw = dict(enumerate(given.answers))

    def turn(course: ParticipantCourse) -> None:
        step = course.step()
        course.back("" if step is None else step.key, raw)

    return _standing(to, to.studies.change(id, given.revision, turn))


@router.delete("/participation", status_code=204)
def withdraw(to: Given, id: ParticipationId) -> None:
    """Stop, and delete every answer."""
    to.studies.withdraw(id)


# -- their task --------------------------------------------------------------------------------------------


@router.get("/participation/task")
def task(to: Given, id: ParticipationId) -> dict[str, Any]:
    """The task on the table: the made-up person, and either a question or limits with the plans under them."""
    found = to.tasks.open(id)
    to.tasks.seen(found)
    shown: dict[str, Any] = {"revision": found.case.case.revision, "person": dict(to.tasks.person(found))}
    question = to.tasks.question(found) if found.is_dialogue else None
    if not found.is_dialogue:
        shown |= {"form": to.cases.form(found.case), "limits": found.case.state["limits"]}
    if question is not None:
        return shown | {"question": question.to_dict()}
    plans, why_not = to.tasks.plans(found)
    return shown | {"plans": [plan.to_dict() for plan in plans], "why_not": why_not}


@router.post("/participation/task/reply")
def reply(to: Given, id: ParticipationId, given: TaskReplyIn) -> dict[str, Any]:
    """Answer the question on the table."""
    to.tasks.reply(id, given.question, given.reply, given.revision)
    return task(to, id)


@router.post("/participation/task/undo")
def undo(to: Given, id: ParticipationId, given: RevisionIn) -> dict[str, Any]:
    """Take back the last answer."""
    to.tasks.undo(id, given.revision)
    return task(to, id)


@router.post("/participation/task/limits")
def limits(to: Given, id: ParticipationId, given: TaskLimitsIn) -> dict[str, Any]:
    """Say all limits at once."""
    to.tasks.limits(id, given.limits, given.changes, given.revision)
    return task(to, id)


@router.post("/participation/task/what-if")
def what_if(to: Given, id: ParticipationId, given: TaskValuesIn) -> dict[str, Any]:
    """Ask the model about other values."""
    return to.tasks.what_if(to.tasks.open(id), given.values).to_dict()


@router.post("/participation/task/finish")
def finish(to: Given, id: ParticipationId, given: TaskPlanIn) -> dict[str, Any]:
    """Take a plan, or go on without one."""
    to.tasks.finish(id, given.action, given.revision)
    return _now(to, id)
