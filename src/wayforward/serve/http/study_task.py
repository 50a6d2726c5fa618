"""Pages of a task in a study: the dialogue of choices between plans, or limits with plans and what-ifs."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from wayforward.errors import DialogueError, ReplyError
from wayforward.language import gettext
from wayforward.serve.case_store import CaseChanged, CaseError
from wayforward.serve.http.applicant import read_limits, tried, wants_json
from wayforward.serve.http.guard import Given, ParticipantId, Visitor, whole
from wayforward.serve.http.pages import go, show, status_of
from wayforward.serve.services import Services
from wayforward.serve.study_tasks import OpenTask
from wayforward.study.course import CourseError

router = APIRouter(include_in_schema=False)


def _page(
    request: Request, to: Services, task: OpenTask, template: str, status: int = 200, **given: Any
) -> Response:
    course = task.one.course
    shown = {
        "base": "study/base_task.html", "course": course, "protocol": course.protocol, "words": course.words,
        "step": task.step, "progress": course.progress(),
        "revision": task.case.case.revision, "page_revision": task.one.revision, "project": task.case.project,
        "person": to.tasks.person(task), "is_dialogue": task.is_dialogue, "json": json, "problem_text": "",
    }  # fmt: skip
    return show(request, template, status, **{**shown, **given})


def _on_the_table(
    request: Request, to: Services, id: str, status: int = 200, problem_text: str = "", **given: Any
) -> Response:
    """The page of a task as it is now."""
    task = to.tasks.open(id)
    to.tasks.seen(task)
    question = to.tasks.question(task) if task.is_dialogue else None
    plans, why_not = ([], "") if question is not None else to.tasks.plans(task)
    shown: dict[str, Any] = {"plans": plans, "why_not": why_not}
    if task.is_dialogue:
        shown |= {"question": question, "can_undo": to.tasks.can_undo(task), "problem_text": problem_text}
        return _page(request, to, task, "study/question.html", status, **shown)
    shown |= {
        "form": to.cases.form(task.case), "stored": task.case.state["limits"],
        "errors": {"": problem_text} if problem_text else {},
    }  # fmt: skip
    return _page(request, to, task, "case/limits.html", status, **{**shown, **given})


def _acted(request: Request, to: Services, id: str, act: Callable[[], None], **given: Any) -> Response:
    """Do something, and show what is on the table then; what went wrong is said above it."""
    try:
        act()
    except CourseError:
        return go(request, "/study")  # the task is over, perhaps in another window
    except (CaseError, ReplyError, DialogueError) as error:
        again = {} if isinstance(error, CaseChanged) else given
        if again and isinstance(error, ReplyError):
            again |= {"errors": {error.feature: str(error)}}
        return _on_the_table(request, to, id, status_of(error), str(error), **again)
    return go(request, "/study")


def _form(request: Request) -> Any:
    at: Visitor = request.state.visitor
    return at.form


def _revision(request: Request) -> int | None:
    return whole(_form(request).get("revision", ""))


@router.get("/study/task")
def task_page(request: Request, to: Given, id: ParticipantId) -> Response:
    """The task on the table."""
    try:
        return _on_the_table(request, to, id)
    except CourseError:
        return go(request, "/study")


@router.post("/study/task")
def limits_sent(request: Request, to: Given, id: ParticipantId) -> Response:
    """Take the page of limits."""
    try:
        task = to.tasks.open(id)
    except CourseError:
        return go(request, "/study")
    limits, changes = read_limits(to.cases.form(task.case), _form(request))
    return _acted(
        request, to, id, lambda: to.tasks.limits(id, limits, changes, _revision(request)),
        stored={"limits": limits, "changes": changes},
    )  # fmt: skip


@router.post("/study/task/reply")
def reply(request: Request, to: Given, id: ParticipantId) -> Response:
    """Answer the question: by a button of the page and in no other way."""
    question, given = (str(_form(request).get(name, "")) for name in ("question", "reply"))
    return _acted(request, to, id, lambda: to.tasks.reply(id, question, given, _revision(request)))


@router.post("/study/task/undo")
def undo(request: Request, to: Given, id: ParticipantId) -> Response:
    """Take back the last answer."""
    return _acted(request, to, id, lambda: to.tasks.undo(id, _revision(request)))


@router.get("/study/task/what-if")
def what_if(request: Request, to: Given, id: ParticipantId) -> Response:
    """Other numbers, and what the model would say."""
    task = to.tasks.open(id)
    if task.is_dialogue:
        return go(request, "/study")
    to.tasks.seen(task)
    form = to.cases.form(task.case)
    return _page(request, to, task, "case/what_if.html", form=form, given={}, found=None, errors={})


@router.post("/study/task/what-if")
def what_if_sent(request: Request, to: Given, id: ParticipantId) -> Response:
    """Ask the model about other numbers; for the page, or as JSON for its script."""
    task = to.tasks.open(id)
    if task.is_dialogue:
        return go(request, "/study")
    screen = not wants_json(request)
    answer, shown = tried(request, to, task.case, lambda values: to.tasks.what_if(task, values, screen))
    return answer or _page(request, to, task, "case/what_if.html", 422 if shown["errors"] else 200, **shown)


@router.post("/study/task/finish")
def finish(request: Request, to: Given, id: ParticipantId) -> Response:
    """Take a plan, or go on without one."""

    def act() -> None:
        try:
            action = json.loads(str(_form(request).get("action", "null")))
        except ValueError:
            action = []
        if action is not None and (not isinstance(action, list) or not 0 < len(action) <= 10_000):
            raise CaseError(gettext("That is no plan of this case."))
        to.tasks.finish(id, action, _revision(request))

    return _acted(request, to, id, act)
