"""Endpoints of those who look after models, links and jobs."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, BackgroundTasks, Depends, File, Form, Path, UploadFile
from fastapi.responses import FileResponse, Response

from wayforward.language import LANGUAGES
from wayforward.language import language as spoken
from wayforward.serve import overview
from wayforward.serve.accounts import Somebody
from wayforward.serve.events import record
from wayforward.serve.http.api.given import PeopleIn
from wayforward.serve.http.api.shown import CaseCountsOut, CodeOut, JobOut, ModelOut, OpenModelOut, problems
from wayforward.serve.http.guard import Given, NotAllowed, only_described, program
from wayforward.serve.http.uploads import model_files, names_in, people_file
from wayforward.serve.jobs import NoSuchJob
from wayforward.serve.permissions import Act
from wayforward.serve.projects import NoSuchVersion
from wayforward.serve.start import add_version, warm_version
from wayforward.serve.storage.tables import Job, ModelVersion, User

router = APIRouter(
    prefix="/api/v1", dependencies=[Depends(only_described)], tags=["lender"], responses=problems(401, 403)
)
ModelPlace = Annotated[str, Path(pattern="^[0-9a-f]{64}$")]
JobPlace = Annotated[str, Path(pattern="^[A-Za-z0-9_-]{22}$")]
Text = Annotated[str, Form(max_length=200)]
Upload = Annotated[UploadFile, File()]


@router.get("/models", response_model=list[ModelOut])
def models(to: Given, who: Annotated[Somebody, Depends(program(Act.SEE_MODELS))]) -> list[dict[str, Any]]:
    """Every version of a model, the newest first, and how many cases it has."""
    with to.database.session(write=False) as session:
        found, counts = overview.versions(session), overview.case_counts(session)
    return [_model(one, counts) for one in found]


def _model(one: ModelVersion, counts: dict[str, overview.CaseCounts]) -> dict[str, Any]:
    shown = {name: getattr(one, name) for name in ("id", "title", "published", "made", "open_to_all")}
    return shown | {"cases": counts[one.id].cases if one.id in counts else 0}


@router.post("/models", status_code=201, response_model=ModelOut)
def add_model(
    to: Given, who: Annotated[Somebody, Depends(program(Act.ADD_MODEL))],
    model: Upload, schema_file: Annotated[UploadFile, File(alias="schema")], train: Upload,
    label: Text, favourable: Text, title: Text = "A model", world: Annotated[UploadFile | None, File()] = None,
    threshold: Annotated[float | None, Form(gt=0, lt=1)] = None, open_to_all: Annotated[bool, Form()] = False,
) -> dict[str, Any]:  # fmt: skip
    """Add a version: the files of model, schema, past people and world. The same files twice are the same version."""
    files = {"model": model, "schema": schema_file, "train": train, "world": world}
    with model_files(
        files, title=title, label=label, favourable=favourable, threshold=threshold, open_to_all=open_to_all
    ) as given:
        id = add_version(to, given, who)
    return _one_model(to, id)


def _one_model(to: Given, id: str) -> dict[str, Any]:
    with to.database.session(write=False) as session:
        found, counts = session.get(ModelVersion, id), overview.case_counts(session)
    if found is None:
        raise NoSuchVersion("There is no such version of a model.")
    return _model(found, counts)


@router.post("/models/{id}/publish", response_model=ModelOut, responses=problems(404))
def publish(
    to: Given, id: ModelPlace, who: Annotated[Somebody, Depends(program(Act.PUBLISH_MODEL))],
    afterwards: BackgroundTasks,
) -> dict[str, Any]:  # fmt: skip
    """Let applicants meet a version that somebody else added."""
    with to.database.session() as session:
        to.projects.publish(session, id, session.get(User, who.user_id))
    afterwards.add_task(warm_version, to, id)
    return _one_model(to, id)


@router.get("/models/{id}/form", response_model=OpenModelOut, responses=problems(404))
def form(
    to: Given, id: ModelPlace, who: Annotated[Somebody, Depends(program(Act.MAKE_CASES))]
) -> dict[str, Any]:
    """What a published model wants to know of a person, for a case that is made at a desk."""
    with to.database.session(write=False) as session:
        found = session.get(ModelVersion, id)
    if found is None or found.published is None:
        raise NoSuchVersion("There is no such version of a model.")
    features = to.projects.project(id).schema.to_dict()["features"]
    return {"id": id, "title": found.title, "features": features}


@router.get("/cases", response_model=list[CaseCountsOut])
def cases(to: Given, who: Annotated[Somebody, Depends(program(Act.SEE_CASES))]) -> list[dict[str, Any]]:
    """Cases of each model in numbers. What is in a case opens by its code alone."""
    with to.database.session(write=False) as session:
        counts = overview.case_counts(session)
    return [vars(one) | {"ever": dict(one.ever)} for one in counts.values()]


@router.post("/cases", status_code=201, response_model=list[CodeOut])
def make_cases(
    to: Given, given: PeopleIn, who: Annotated[Somebody, Depends(program(Act.MAKE_CASES))]
) -> list[dict[str, str]]:
    """Make cases of people; their codes are shown this once."""
    url = to.settings.public_url.rstrip("/")
    made = to.cases.make(given.model, given.people, who.name, given.language)
    return [{"case": id[:8], "code": code, "link": f"{url}/w/{code}"} for id, code in made]


@router.get("/jobs", response_model=list[JobOut])
def jobs(to: Given, who: Annotated[Somebody, Depends(program(Act.SEE_JOBS))]) -> list[dict[str, Any]]:
    """The jobs that the account may see, the newest first."""
    with to.database.session(write=False) as session:
        return [_job(one) for one in overview.jobs_for(session, who)]


def _job(one: Job) -> dict[str, Any]:
    names = ("id", "kind", "status", "done", "total", "note", "made", "ended")
    return {name: getattr(one, name) for name in names} | {"model": one.model_id}


@router.get("/jobs/{id}", response_model=JobOut, responses=problems(404))
def job(to: Given, id: JobPlace, who: Annotated[Somebody, Depends(program(Act.SEE_JOBS))]) -> dict[str, Any]:
    """How far a job is."""
    with to.database.session(write=False) as session:
        found = session.get(Job, id)
    if found is None or found.kind not in overview.kinds_for(who):
        raise NoSuchJob("There is no such job (any more).")
    return _job(found)


@router.post("/jobs", status_code=201, response_model=JobOut)
def start_job(
    to: Given, who: Annotated[Somebody, Depends(program(Act.RUN_JOBS))], people: Upload,
    kind: Annotated[str, Form(pattern="^(plans|audit)$")], model: Annotated[str, Form(pattern="^[0-9a-f]{64}$")],
    groups: Annotated[str, Form(max_length=2000, description="Features to compare along, with commas between.")] = "",
    language: Annotated[str, Form(pattern=f"^({'|'.join(LANGUAGES)})?$")] = "",
    threshold: Annotated[float | None, Form(gt=0, lt=1, description="Of an audit, in place of the model's.")] = None,
    deadline: Annotated[float | None, Form(gt=0, le=1e7, description="Of plans: seconds for their search.")] = None,
) -> dict[str, Any]:  # fmt: skip
    """Put a job in the queue: plans for a table of people, or an audit of everybody in it."""
    if kind not in overview.kinds_for(who):
        raise NotAllowed(f"This token may not {Act.FETCH_RESULTS}.")
    wanted: dict[str, Any] = {"groups": list(names_in(groups)), "language": language or spoken()}
    if kind == "audit" and threshold is not None:
        wanted["threshold"] = threshold
    if kind == "plans" and deadline is not None:
        wanted["deadline"] = deadline
    with people_file(people) as file:
        id = to.jobs.start(kind, model, wanted, file, who)
    return job(to, id, who)


@router.post("/jobs/{id}/stop", response_model=JobOut, responses=problems(404))
def stop_job(
    to: Given, id: JobPlace, who: Annotated[Somebody, Depends(program(Act.RUN_JOBS))]
) -> dict[str, Any]:
    """Stop a job that waits or runs."""
    to.jobs.stop(id, who)
    return job(to, id, who)


@router.get(
    "/jobs/{id}/answers",
    response_class=FileResponse,
    responses=problems(404) | {200: {"content": {"text/csv": {"schema": {"type": "string"}}}}},
)
def answers(
    to: Given, id: JobPlace, who: Annotated[Somebody, Depends(program(Act.FETCH_RESULTS))]
) -> Response:
    """The plans of a job, a row each, as CSV."""
    with to.database.session() as session:
        file = to.jobs.result(session, id, "plans")
        record(session, who.name, "results fetched", id)
    return FileResponse(file, media_type="text/csv; charset=utf-8", filename="answers.csv")
