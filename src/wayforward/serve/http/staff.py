"""The pages of those who work here: models, links for applicants, the log, accounts and tokens."""

from __future__ import annotations

import csv
import io
from typing import Annotated, Any

from fastapi import APIRouter, BackgroundTasks, Depends, Request
from fastapi.responses import FileResponse, Response
from sqlalchemy import select

from wayforward.data.user_tables import read_table
from wayforward.errors import DataError
from wayforward.language import check_language, gettext, language
from wayforward.serve import accounts, overview
from wayforward.serve.accounts import Somebody
from wayforward.serve.events import first_broken, record
from wayforward.serve.http.guard import Given, NotAllowed, NotKnown, Visitor, anybody, may_not, staff, whole
from wayforward.serve.http.pages import CSV, attached, go, show
from wayforward.serve.http.uploads import model_files, names_in, people_file
from wayforward.serve.jobs import OPEN
from wayforward.serve.permissions import Act, Role
from wayforward.serve.projects import MODEL_ENDINGS
from wayforward.serve.retention import clock_state
from wayforward.serve.services import Services
from wayforward.serve.start import add_version, warm_version
from wayforward.serve.storage.tables import ModelVersion, User
from wayforward.serve.tallies import DELETED, EXPIRED, MADE

router = APIRouter(include_in_schema=False)
Anybody = Annotated[Visitor, Depends(anybody)]


@router.get("/login")
def login(request: Request, to: Given, at: Anybody) -> Response:
    """The form of name and password."""
    return show(request, "staff/login.html", problem_text="")


@router.post("/login")
def login_sent(request: Request, to: Given, at: Anybody) -> Response:
    """Log in, with a new cookie."""
    to.limits.spend("login", request.client.host if request.client else "", 20)
    name, password = str(at.form.get("name", "")), str(at.form.get("password", ""))
    user = accounts.log_in(to.database, name, password)
    if user is None:
        wrong = gettext(
            "This name and this password do not open an account now. After several tries, wait some minutes."
        )
        return show(request, "staff/login.html", 401, problem_text=wrong)
    with to.database.session() as session:
        at.renew(session, to.settings.session_hours, user=user)
    return go(request, "/staff")


@router.post("/logout")
def logout(request: Request, to: Given, at: Anybody) -> Response:
    """End the session."""
    with to.database.session() as session:
        accounts.close_login(session, at.cookie)
    at.login = at.somebody = None
    at.ended = True
    return go(request, "/")


@router.get("/staff")
def desk(request: Request, to: Given, at: Anybody) -> Response:
    """Where somebody of the staff begins: what their account may do."""
    if at.somebody is None:
        raise NotKnown(gettext("Please log in."))
    return show(request, "staff/desk.html", who=at.somebody)


# -- models ------------------------------------------------------------------------------------------------


@router.get("/staff/models")
def models(request: Request, to: Given, who: Annotated[Somebody, Depends(staff(Act.SEE_MODELS))]) -> Response:
    """Every version, and how many cases it has."""
    with to.database.session(write=False) as session:
        counts = {id: one.cases for id, one in overview.case_counts(session).items()}
        found = overview.versions(session)
    return show(
        request,
        "staff/models.html",
        who=who,
        models=found,
        counts=counts,
        endings=MODEL_ENDINGS,
        problem_text="",
    )


@router.post("/staff/models")
def add_model(
    request: Request, to: Given, who: Annotated[Somebody, Depends(staff(Act.ADD_MODEL))]
) -> Response:
    """Take a model with its schema and past people."""
    form = request.state.visitor.form
    threshold = str(form.get("threshold", "")).strip()
    with model_files(
        {name: form.get(name) for name in ("model", "schema", "train", "world")},
        title=str(form.get("title", "")), label=str(form.get("label", "")), favourable=str(form.get("favourable", "")),
        threshold=_share(threshold) if threshold else None, open_to_all=form.get("open") == "on",
    ) as given:  # fmt: skip
        add_version(to, given, who)
    return go(request, "/staff/models")


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value <= 1e7:
        raise DataError(
            gettext(
                "The time {typed} is no number of seconds above 0. Use one like 600, or leave it out.",
                typed=repr(text[:20]),
            )
        )
    return value


def _share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value < 1:
        raise DataError(
            gettext(
                "The threshold {typed} is no number between 0 and 1. Use one like 0.5, or leave it out.",
                typed=repr(text[:20]),
            )
        )
    return value


@router.post("/staff/models/{id}/publish")
def publish(
    request: Request,
    id: str,
    to: Given,
    who: Annotated[Somebody, Depends(staff(Act.PUBLISH_MODEL))],
    afterwards: BackgroundTasks,
) -> Response:
    """Let applicants meet a version; what is worked out once for it is worked out before most of them come."""
    with to.database.session() as session:
        to.projects.publish(session, id, session.get(User, who.user_id))
    afterwards.add_task(warm_version, to, id)
    return go(request, "/staff/models")


# -- cases -------------------------------------------------------------------------------------------------


@router.get("/staff/cases")
def cases(request: Request, to: Given, who: Annotated[Somebody, Depends(staff(Act.SEE_CASES))]) -> Response:
    """How many cases there are, without what is in them; and the form for more."""
    with to.database.session(write=False) as session:
        chosen = (
            select(ModelVersion).where(ModelVersion.published.is_not(None)).order_by(ModelVersion.made.desc())
        )
        found = list(session.scalars(chosen))
        counts = overview.case_counts(session)
        clock = clock_state(session, to.settings.days_kept)
    rows = {id: (one.cases, one.agreed, one.seen) for id, one in counts.items() if one.cases}
    ever = {id: dict(one.ever) for id, one in counts.items()}
    return show(
        request, "staff/cases.html", who=who, models=found, rows=rows, ever=ever, clock=clock,
        columns=(MADE, DELETED, EXPIRED), problem_text="",
    )  # fmt: skip


@router.post("/staff/cases")
def make_cases(
    request: Request, to: Given, who: Annotated[Somebody, Depends(staff(Act.MAKE_CASES))]
) -> Response:
    """A table of people in, a table of their links out. The links are shown this once."""
    form = request.state.visitor.form
    with people_file(form.get("people")) as file:
        table = read_table(file)
    made = to.cases.make(str(form.get("model", "")), table, who.name, str(form.get("language", "")))
    text = io.StringIO()
    rows = csv.writer(text)
    rows.writerow(("row", "case", "code", "link"))
    url = to.settings.public_url.rstrip("/")
    rows.writerows((i, id[:8], code, f"{url}/w/{code}") for i, (id, code) in enumerate(made))
    return attached(text.getvalue(), "links.csv", CSV)


# -- jobs --------------------------------------------------------------------------------------------------


@router.get("/staff/jobs")
def jobs(request: Request, to: Given, who: Annotated[Somebody, Depends(staff(Act.SEE_JOBS))]) -> Response:
    """The jobs: how far they are, and how they ended."""
    with to.database.session(write=False) as session:
        chosen = (
            select(ModelVersion).where(ModelVersion.published.is_not(None)).order_by(ModelVersion.made.desc())
        )
        found, kinds = list(session.scalars(chosen)), overview.kinds_for(who)
        titles = {version.id: version.title for version in overview.versions(session)}
        every = overview.jobs_for(session, who)
    return show(
        request, "staff/jobs.html", who=who, jobs=every, models=found, titles=titles, kinds=kinds,
        open=any(job.status in OPEN for job in every),
    )  # fmt: skip


@router.post("/staff/jobs")
def start_job(
    request: Request, to: Given, who: Annotated[Somebody, Depends(staff(Act.RUN_JOBS))]
) -> Response:
    """Put a job in the queue. Plans of people are for those who may fetch them."""
    form = request.state.visitor.form
    kind = str(form.get("kind", ""))
    if kind == "plans" and not who.may(Act.FETCH_RESULTS):
        raise NotAllowed(may_not(who, Act.FETCH_RESULTS))
    given: dict[str, Any] = {"groups": list(names_in(str(form.get("groups", ""))))}
    if kind == "audit" and (threshold := str(form.get("threshold", "")).strip()):
        given["threshold"] = _share(threshold)
    if kind == "plans" and (seconds := str(form.get("deadline", "")).strip()):
        given["deadline"] = _seconds(seconds)
    if code := str(form.get("language", "")):
        check_language(code)
    given["language"] = code or language()
    with people_file(form.get("people")) as file:
        to.jobs.start(kind, str(form.get("model", "")), given, file, who)
    return go(request, "/staff/jobs")


@router.post("/staff/jobs/{id}/stop")
def stop_job(
    request: Request, id: str, to: Given, who: Annotated[Somebody, Depends(staff(Act.RUN_JOBS))]
) -> Response:
    """Stop a job."""
    to.jobs.stop(id, who)
    return go(request, "/staff/jobs")


@router.get("/staff/jobs/{id}/answers.csv")
def answers(
    request: Request, id: str, to: Given, who: Annotated[Somebody, Depends(staff(Act.FETCH_RESULTS))]
) -> Response:
    """The plans of a population job, a row each."""
    with to.database.session() as session:
        file = to.jobs.result(session, id, "plans")
        record(session, who.name, "results fetched", id)
    return FileResponse(file, media_type="text/csv; charset=utf-8", filename="answers.csv")


# -- log, accounts, tokens ---------------------------------------------------------------------------------


@router.get("/staff/log")
def log(request: Request, to: Given, who: Annotated[Somebody, Depends(staff(Act.SEE_EVENTS))]) -> Response:
    """The last lines of the log, and whether the whole chain holds."""
    with to.database.session(write=False) as session:
        lines = overview.log_lines(session)
        broken = first_broken(session)
    return show(request, "staff/log.html", who=who, lines=lines, broken=broken)


@router.get("/staff/users")
def users(
    request: Request, to: Given, who: Annotated[Somebody, Depends(staff(Act.MANAGE_USERS))]
) -> Response:
    """The accounts."""
    return _users(request, to, who)


def _users(
    request: Request, to: Services, who: Somebody, status: int = 200, problem_text: str = ""
) -> Response:
    with to.database.session(write=False) as session:
        found = overview.users(session)
    return show(
        request, "staff/users.html", status, who=who, users=found, roles=list(Role), problem_text=problem_text
    )


@router.post("/staff/users")
def add_user(
    request: Request, to: Given, who: Annotated[Somebody, Depends(staff(Act.MANAGE_USERS))]
) -> Response:
    """A new account."""
    form = request.state.visitor.form
    name, role, password = (str(form.get(one, "")) for one in ("name", "role", "password"))
    try:
        with to.database.session() as session:
            accounts.add_user(session, name, role, password, by=who.name)
    except accounts.AccountError as error:
        return _users(request, to, who, 422, str(error))
    return go(request, "/staff/users")


@router.post("/staff/users/{id}/off")
def switch_off(
    request: Request, id: int, to: Given, who: Annotated[Somebody, Depends(staff(Act.MANAGE_USERS))]
) -> Response:
    """Close an account; one's own stays."""
    with to.database.session() as session:
        accounts.close_user(session, who, id)
    return go(request, "/staff/users")


@router.get("/staff/tokens")
def tokens(
    request: Request, to: Given, who: Annotated[Somebody, Depends(staff(Act.HAVE_TOKENS))]
) -> Response:
    """The tokens of the account, and the form for one more."""
    return _tokens(request, to, who)


def _tokens(
    request: Request, to: Services, who: Somebody, status: int = 200, made: str = "", problem_text: str = ""
) -> Response:
    with to.database.session(write=False) as session:
        found = accounts.tokens_of(session, who)
    able = [act for act in Act if who.may(act)]
    return show(
        request,
        "staff/tokens.html",
        status,
        who=who,
        acts=able,
        tokens=found,
        made=made,
        problem_text=problem_text,
    )


@router.post("/staff/tokens")
def make_token(
    request: Request, to: Given, who: Annotated[Somebody, Depends(staff(Act.HAVE_TOKENS))]
) -> Response:
    """A new token, shown once."""
    form = request.state.visitor.form
    days, acts = whole(form.get("days", "90")) or 0, [str(one) for one in form.getlist("act")]
    try:
        with to.database.session() as session:
            user = session.get(User, who.user_id)
            assert user is not None
            made = accounts.make_token(session, user, str(form.get("name", "")), acts, days)
    except accounts.AccountError as error:
        return _tokens(request, to, who, 422, problem_text=str(error))
    return _tokens(request, to, who, made=made)


@router.post("/staff/tokens/{id}/revoke")
def revoke_token(
    request: Request, id: str, to: Given, who: Annotated[Somebody, Depends(staff(Act.HAVE_TOKENS))]
) -> Response:
    """End a token at once."""
    with to.database.session() as session:
        accounts.revoke_token(session, who, id)
    return go(request, "/staff/tokens")
