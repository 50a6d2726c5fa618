"""Endpoints for everybody: models that people may try, receipts, the public key."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Request

from wayforward.serve.http.api.given import PersonIn, ReceiptIn
from wayforward.serve.http.api.shown import CodeOut, KeyOut, OpenModelOut, VerifiedOut, problems
from wayforward.serve.http.guard import Given, NotAllowed, only_described
from wayforward.serve.projects import published
from wayforward.serve.storage.tables import ModelVersion

router = APIRouter(
    prefix="/api/v1", dependencies=[Depends(only_described)], tags=["everybody"], responses=problems()
)


@router.get("/open-models", response_model=list[OpenModelOut])
def open_models(to: Given) -> list[dict[str, Any]]:
    """Models that people may try with their own numbers, and what each wants to know."""
    with to.database.session(write=False) as session:
        found = [one for one in published(session) if one.open_to_all]
    return [
        {
            "id": one.id,
            "title": one.title,
            "features": to.projects.project(one.id).schema.to_dict()["features"],
        }
        for one in found
    ]


@router.post("/open-models/{id}/cases", status_code=201, response_model=CodeOut, responses=problems(403))
def own_case(
    request: Request, to: Given, id: Annotated[str, Path(pattern="^[0-9a-f]{64}$")], given: PersonIn
) -> dict[str, str]:
    """Make a case of one's own numbers; its code is shown this once."""
    to.limits.spend("try", request.client.host if request.client else "", 20)
    with to.database.session(write=False) as session:
        version = session.get(ModelVersion, id)
    if version is None or version.published is None or not version.open_to_all:
        raise NotAllowed("Here people come by a link of the lender.")
    case, code = to.cases.make(id, [given.person])[0]
    return {"case": case[:8], "code": code, "link": f"{to.settings.public_url.rstrip('/')}/w/{code}"}


async def _whole(request: Request) -> Any:
    """The receipt as it came: of an entry that stands twice the model of the body would see the last alone."""
    from wayforward.answers.receipt import Receipt

    return Receipt.from_json(await request.body())


@router.post("/receipts/verify", response_model=VerifiedOut)
def verify(to: Given, given: ReceiptIn, found: Annotated[Any, Depends(_whole)]) -> dict[str, Any]:
    """Is a receipt ours, and unchanged?"""
    return {"holds": found.holds(to.keys.signer.public_key), "code": found.code}


@router.get("/receipts/key", response_model=KeyOut)
def key(to: Given) -> dict[str, str]:
    """The public key of receipts."""
    return {"ed25519": to.keys.signer.public_key}
