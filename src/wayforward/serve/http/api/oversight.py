"""Endpoints of those who look over shoulders: the log, accounts, tokens."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query

from wayforward.serve import accounts, overview
from wayforward.serve.accounts import Somebody
from wayforward.serve.events import first_broken
from wayforward.serve.http.api.given import TokenIn, UserIn
from wayforward.serve.http.api.shown import LogOut, NewTokenOut, TokenOut, UserOut, problems
from wayforward.serve.http.guard import Given, only_described, program
from wayforward.serve.permissions import Act
from wayforward.serve.storage.tables import User

router = APIRouter(
    prefix="/api/v1", dependencies=[Depends(only_described)], tags=["oversight"], responses=problems(401, 403)
)
HaveTokens = Annotated[Somebody, Depends(program(Act.HAVE_TOKENS))]
ManageUsers = Annotated[Somebody, Depends(program(Act.MANAGE_USERS))]


@router.get("/log", response_model=LogOut)
def log(
    to: Given,
    who: Annotated[Somebody, Depends(program(Act.SEE_EVENTS))],
    before: Annotated[int | None, Query(ge=1, le=2**31 - 1, description="Lines older than this one.")] = None,
) -> dict[str, Any]:
    """Lines of the log, the newest first, and whether the whole chain holds."""
    with to.database.session(write=False) as session:
        lines, broken = overview.log_lines(session, before), first_broken(session)
    shown = [{name: getattr(one, name) for name in ("id", "at", "actor", "what", "subject")} for one in lines]
    return {"holds": broken is None, "first_broken": broken, "lines": shown}


@router.get("/users", response_model=list[UserOut])
def users(to: Given, who: ManageUsers) -> list[dict[str, Any]]:
    """The accounts."""
    with to.database.session(write=False) as session:
        return [_user(one) for one in overview.users(session)]


def _user(one: User) -> dict[str, Any]:
    return {name: getattr(one, name) for name in ("id", "name", "role", "disabled", "made")}


@router.post("/users", status_code=201, response_model=UserOut, responses=problems(409))
def add_user(to: Given, given: UserIn, who: ManageUsers) -> dict[str, Any]:
    """Make an account."""
    with to.database.session() as session:
        return _user(accounts.add_user(session, given.name, given.role, given.password, by=who.name))


@router.post("/users/{id}/close", status_code=204, responses=problems(404))
def close_user(to: Given, id: Annotated[int, Path(ge=0, le=2**31 - 1)], who: ManageUsers) -> None:
    """Close an account; one's own stays."""
    with to.database.session() as session:
        accounts.close_user(session, who, id)


@router.get("/tokens", response_model=list[TokenOut])
def tokens(to: Given, who: HaveTokens) -> list[dict[str, Any]]:
    """The tokens of the account that still hold; never the tokens themselves."""
    with to.database.session(write=False) as session:
        found = accounts.tokens_of(session, who)
    return [{name: getattr(one, name) for name in ("id", "name", "acts", "made", "until")} for one in found]


@router.post("/tokens", status_code=201, response_model=NewTokenOut)
def make_token(to: Given, given: TokenIn, who: HaveTokens) -> dict[str, str]:
    """Make a token of the account, which may do no more than the one that asks for it."""
    with to.database.session() as session:
        user = session.get(User, who.user_id)
        assert user is not None
        return {"token": accounts.make_token(session, user, given.name, given.acts, given.days, by=who)}


@router.delete("/tokens/{id}", status_code=204, responses=problems(404))
def revoke(to: Given, id: Annotated[str, Path(pattern="^[0-9a-f]{64}$")], who: HaveTokens) -> None:
    """End a token of the account at once."""
    with to.database.session() as session:
        accounts.revoke_token(session, who, id)
