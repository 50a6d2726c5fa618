"""The pages of auditors: audits side by side and over time, with their tables; pseudonymous cases; the report."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse, Response

from wayforward.answers import words
from wayforward.answers.tables import csv_text
from wayforward.serve import audits
from wayforward.serve.accounts import Somebody
from wayforward.serve.http.guard import Given, staff
from wayforward.serve.http.pages import CSV, attached, show
from wayforward.serve.permissions import Act
from wayforward.serve.services import Services
from wayforward.serve.storage.tables import Job

router = APIRouter(include_in_schema=False)
See = Annotated[Somebody, Depends(staff(Act.SEE_AUDITS))]
Ids = Annotated[list[str], Query(default_factory=list, max_length=audits.MOST_AUDITS)]


@router.get("/staff/audits")
def side_by_side(
    request: Request,
    to: Given,
    who: See,
    audit: Ids,
    by: str = "",
    measure: str = "",
) -> Response:
    """What there is to choose from; figures of what was chosen, all of which stands in the address."""
    with to.database.session(write=False) as session:
        every = audits.finished(session, to.jobs.folder)
        found = audits.view(to.jobs, session, audit, by, measure) if audit else None
        names = audits.group_names(to.jobs, session, *audit) if found else {}
    labels = {} if found is None else labels_of(to, *(one.model for one in found.audits))
    axis = [] if found is None else [(place, place / 100 * highest(found)) for place in (0, 50, 100)]
    return show(
        request, "staff/audits.html", who=who, audits=every, view=found, measures=audits.MEASURES, axis=axis,
        bars=[] if found is None else bars(found), query=request.url.query,
        called=lambda name: called(name, labels), group_called=lambda name: names.get(name, name),
    )  # fmt: skip


def labels_of(to: Services, *model_ids: str) -> dict[str, str]:
    """What features of these versions are called in the language of the page."""
    schemas = [to.projects.schema(id) for id in dict.fromkeys(model_ids)]
    return {feature.name: words.label(feature) for schema in schemas for feature in schema.features}


def called(name: str, labels: dict[str, str]) -> str:
    """A feature, or where two meet ("sex and age"), as a page calls it; what is none as it is."""
    if name in labels or " and " not in name:
        return labels.get(name, name)
    first, _, second = name.partition(" and ")
    return words.join([labels[first], labels[second]], "and") if {first, second} <= labels.keys() else name


def highest(view: audits.View) -> float:
    """The figure at the right end of the chart: all of a share; of costs the greatest end of an interval."""
    ends = [cell.high for _, cells in view.rows for cell in cells if cell.high is not None]
    return 1.0 if view.is_share else max(ends, default=1.0) or 1.0


def bars(view: audits.View) -> list[dict[str, Any]]:
    """Return what a chart draws: for each group and audit a line of its interval and a place, from 0 to 100."""
    top, out = highest(view), []
    for group, cells in view.rows:
        for place, cell in enumerate(cells):
            known = cell.value is not None
            at = [
                round(100 * min(max(end or 0.0, 0.0) / top, 1.0), 2)
                for end in (cell.low, cell.value, cell.high)
            ]
            out.append({"group": group if place == 0 else "", "place": place, "known": known, "at": at})
    return out


@router.get("/staff/audits.csv")
def side_by_side_table(
    to: Given,
    who: See,
    audit: Ids,
    by: str = "",
    measure: str = "",
) -> Response:
    """The same figures as a table."""
    with to.database.session(write=False) as session:
        found = audits.view(to.jobs, session, audit, by, measure)
    return attached(csv_text(found.table()), "audits.csv", CSV)


@router.get("/staff/audits/{id}/cases")
def cases(request: Request, id: str, to: Given, who: See) -> Response:
    """Single cases under names that were drawn."""
    with to.database.session(write=False) as session:
        found = audits.cases(to.jobs, session, id)
    return show(request, "staff/audit_cases.html", who=who, id=id, cases=found)


@router.get("/staff/audits/{id}/cases/{name}")
def case(request: Request, id: str, name: str, to: Given, who: See) -> Response:
    """How one of them fared."""
    with to.database.session(write=False) as session:
        one = audits.case(to.jobs, session, id, name)
        total, job = len(audits.cases(to.jobs, session, id)), session.get(Job, id)
        names = audits.group_names(to.jobs, session, id)
    labels = {} if job is None else labels_of(to, job.model_id)
    return show(
        request, "staff/audit_case.html", who=who, id=id, one=one, total=total,
        called=lambda name: called(name, labels), group_called=lambda name: names.get(name, name),
    )  # fmt: skip


@router.get("/staff/audits/{id}/numbers.json")
def numbers(id: str, to: Given, who: See) -> Response:
    """Every number of an audit."""
    with to.database.session(write=False) as session:
        text = audits.text_of(to.jobs, session, id)
    return attached(text, "audit.json", "application/json")


@router.get("/staff/jobs/{id}/audit.html")
def report(request: Request, id: str, to: Given, who: See) -> Response:
    """The page of an audit, in the language of the visitor: it stands alone and has styles of its own."""
    with to.database.session(write=False) as session:
        text = audits.report_text(to.jobs, session, id)
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'"
    return HTMLResponse(text, headers={"Content-Security-Policy": policy})
