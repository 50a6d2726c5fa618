"""Endpoints of auditors: finished audits, figures side by side, every number, the report, single cases."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query
from fastapi.responses import HTMLResponse, Response

from wayforward.serve import audits
from wayforward.serve.accounts import Somebody
from wayforward.serve.http.api.shown import AuditCaseOut, AuditOut, AuditViewOut, problems
from wayforward.serve.http.guard import Given, only_described, program
from wayforward.serve.permissions import Act

router = APIRouter(
    prefix="/api/v1", dependencies=[Depends(only_described)], tags=["audits"], responses=problems(401, 403)
)
See = Annotated[Somebody, Depends(program(Act.SEE_AUDITS))]
AuditPlace = Annotated[str, Path(pattern="^[A-Za-z0-9_-]{22}$")]
Ids = Annotated[
    list[Annotated[str, Query(pattern="^[A-Za-z0-9_-]{22}$")]],
    Query(min_length=1, max_length=audits.MOST_AUDITS, description="Ids of finished audits."),
]
Name = Annotated[
    str, Query(max_length=200, description="An attribute, or where two meet; left out, the first.")
]


@router.get("/audits", response_model=list[AuditOut])
def finished(to: Given, who: See) -> list[dict[str, Any]]:
    """The finished audits, the newest first."""
    with to.database.session(write=False) as session:
        return [vars(one) for one in audits.finished(session, to.jobs.folder)]


@router.get("/audits/figures", response_model=AuditViewOut, responses=problems(404))
def figures(
    to: Given, who: See, audit: Ids, by: Name = "",
    measure: Annotated[str, Query(pattern=f"^({'|'.join(audits.MEASURES)})$")] = "usable",
) -> dict[str, Any]:  # fmt: skip
    """One measure by group of several audits side by side, with intervals; nothing of fewer than ten people."""
    with to.database.session(write=False) as session:
        return audits.view(to.jobs, session, audit, by, measure).to_dict()


@router.get("/audits/{id}", responses=problems(404))
def numbers(to: Given, id: AuditPlace, who: See) -> dict[str, Any]:
    """Every number of an audit."""
    with to.database.session(write=False) as session:
        return audits.numbers(to.jobs, session, id)


@router.get(
    "/audits/{id}/report",
    response_class=HTMLResponse,
    responses=problems(404) | {200: {"content": {"text/html": {"schema": {"type": "string"}}}}},
)
def report(to: Given, id: AuditPlace, who: See) -> Response:
    """The report of an audit as one file, in the language that Accept-Language asks for."""
    with to.database.session(write=False) as session:
        return HTMLResponse(audits.report_text(to.jobs, session, id))


@router.get("/audits/{id}/cases", response_model=list[AuditCaseOut], responses=problems(404))
def cases(to: Given, id: AuditPlace, who: See) -> list[dict[str, Any]]:
    """Single cases under names that were drawn, without a value of anybody."""
    with to.database.session(write=False) as session:
        return audits.cases(to.jobs, session, id)


@router.get("/audits/{id}/cases/{name}", response_model=AuditCaseOut, responses=problems(404))
def case(
    to: Given, id: AuditPlace, name: Annotated[str, Path(pattern="^[0-9a-f]{12}$")], who: See
) -> dict[str, Any]:
    """How one of them fared."""
    with to.database.session(write=False) as session:
        return audits.case(to.jobs, session, id, name)
