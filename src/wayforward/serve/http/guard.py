"""Who asks, and whether they may: sessions, roles, tokens, forms that come from our own pages, and how often.

Every route depends on exactly one of `anybody`, `applicant`, `participant`, `staff(act)`, `by_code`,
`by_participant_code` or `program(act)`;
a test walks through all routes and roles.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData

from wayforward.errors import WayforwardError
from wayforward.language import gettext
from wayforward.serve import accounts
from wayforward.serve.accounts import Somebody
from wayforward.serve.case_store import CaseGone
from wayforward.serve.http.languages import speak
from wayforward.serve.permissions import Act, act_words, role_words
from wayforward.serve.services import Services
from wayforward.serve.storage.tables import Login, User

COOKIE = "wayforward"
_MOST_FIELDS = 10_000


class NotKnown(WayforwardError):
    """Nobody knows who asks."""


class NotAllowed(WayforwardError):
    """It is known who asks, and this is not for them; or the form did not come from our page."""


@dataclass
class Visitor:
    """A browser. cookie: what it has, or what it is given with the answer. login: its session, if it has one. language:
    of the case that it has just opened, where nobody chose another."""

    cookie: str
    login: Login | None = None
    somebody: Somebody | None = None
    fresh: bool = False
    ended: bool = False
    language: str = ""
    form: FormData = field(default_factory=FormData)

    def renew(self, session: Session, hours: float, **whose: Any) -> None:
        """Begin a session of an account, a case or a participation, with a new cookie; the old one ends.

        A cookie that somebody else planted is worth nothing. whose: see `accounts.open_login`.
        """
        accounts.close_login(session, self.cookie)
        self.cookie, self.login = accounts.open_login(session, hours, **whose)
        self.fresh = True


def services_of(request: Request) -> Services:
    """The services of the application that a request came to."""
    found: Services = request.app.state.services
    return found


Given = Annotated[Services, Depends(services_of)]


def form_token(services: Services, cookie: str) -> str:
    """What a form of ours carries: bound to the cookie of the browser that it was shown to."""
    return hmac.new(services.keys.link, cookie.encode(), hashlib.sha256).hexdigest()


def _visitor(request: Request) -> Visitor:
    services = services_of(request)
    cookie = request.cookies.get(COOKIE, "")
    found = Visitor(cookie)
    if cookie:
        with services.database.session(write=False) as session:
            found.login = accounts.find_login(session, cookie)
            if found.login is not None and found.login.user_id is not None:
                user = session.get(User, found.login.user_id)
                found.somebody = None if user is None else accounts.somebody(user)
    else:
        found.cookie, found.fresh = secrets.token_urlsafe(32), True
    request.state.visitor = found
    return found


async def visitor(request: Request) -> AsyncIterator[Visitor]:
    """Who is at a page. A form that changes something must carry the token of the page that showed it.

    Raises: NotAllowed for one that does not.
    """
    found = await run_in_threadpool(_visitor, request)
    try:
        if request.method not in ("GET", "HEAD"):
            found.form = await request.form(max_fields=_MOST_FIELDS, max_files=8, max_part_size=2**20)
            given = request.headers.get("x-form-token", "") or str(found.form.get("token", ""))
            mine = form_token(services_of(request), found.cookie)
            if found.fresh or not hmac.compare_digest(mine.encode(), given.encode()):
                raise NotAllowed(
                    gettext(
                        "This page was open for too long, or cookies are off. Go back, load it again, and repeat."
                    )
                )
            if any(
                "\0" in name + value for name, value in found.form.multi_items() if isinstance(value, str)
            ):
                raise NotAllowed(
                    gettext("A field holds a character that nobody types. Go back, and type it again.")
                )
        yield found
    finally:
        await found.form.close()


def whole(text: object, most: int = 2**31 - 1) -> int | None:
    """The whole number in a field of a form, from 0 to `most`; None for anything else."""
    given = str(text)
    number = int(given) if given.isascii() and given.isdecimal() and len(given) < 12 else None
    return number if number is not None and number <= most else None


AtPage = Annotated[Visitor, Depends(visitor)]


def anybody(at: AtPage) -> Visitor:
    """A page for everybody."""
    return at


def applicant(request: Request, at: AtPage) -> str:
    """The id of the case whose session this is. Raises: NotKnown."""
    if at.login is None or at.login.case_id is None:
        raise NotKnown(
            gettext("Open your page by the link or the code in your letter. You were away for some time.")
        )
    services_of(request).limits.spend("case", at.login.case_id, 240)
    return at.login.case_id


async def participant(request: Request, at: AtPage) -> str:
    """The id of the participation whose session this is; pages are in its language. Raises: NotKnown, CaseGone."""
    if at.login is None or at.login.participant_id is None:
        raise NotKnown(
            gettext(
                "Open your page by the link that you noted at the beginning. You were away for some time."
            )
        )
    services, id = services_of(request), at.login.participant_id
    services.limits.spend("participant", id, 240)
    speak(await run_in_threadpool(services.studies.language_of, id))
    return id


ParticipantId = Annotated[str, Depends(participant)]


def may_not(who: Somebody, act: Act) -> str:
    """Why somebody of the staff is not let in."""
    return gettext("Your account ({role}) may not {act}.", role=role_words(who.role), act=act_words(act))


def staff(act: Act) -> Callable[..., Somebody]:
    """A dependency: somebody who is logged in and may do this. Raises: NotKnown, NotAllowed."""

    def check(at: AtPage) -> Somebody:
        if at.somebody is None:
            raise NotKnown(gettext("Please log in."))
        if not at.somebody.may(act):
            raise NotAllowed(may_not(at.somebody, act))
        return at.somebody

    check.act = act  # type: ignore[attr-defined]
    return check


bearer = HTTPBearer(auto_error=False, description="A token of an account, or the code of a case.")
Bearer = Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)]


async def by_code(request: Request, given: Bearer) -> str:
    """The id of the case whose code a program sends. Texts are in its language where no other is asked for.

    Raises: NotKnown.
    """
    services = services_of(request)
    host = request.client.host if request.client else ""
    if given is None:
        raise NotKnown(gettext("Send the code of the case: Authorization: Bearer CODE."))
    services.limits.spend("code", host, 300)
    try:
        id = await run_in_threadpool(services.cases.by_code, given.credentials)
    except CaseGone as gone:
        raise NotKnown(str(gone)) from None
    services.limits.spend("case", id, 240)
    await run_in_threadpool(services.cases.visited, id)
    if "accept-language" not in request.headers:
        speak(await run_in_threadpool(services.cases.language_of, id))
    return id


async def by_participant_code(request: Request, given: Bearer) -> str:
    """The id of the participation whose code a program sends; texts are in its language. Raises: NotKnown."""
    services = services_of(request)
    if given is None:
        raise NotKnown(gettext("Send the code of the participation: Authorization: Bearer CODE."))
    services.limits.spend("code", request.client.host if request.client else "", 300)
    try:
        id = await run_in_threadpool(services.studies.by_code, given.credentials)
    except CaseGone as gone:
        raise NotKnown(str(gone)) from None
    services.limits.spend("participant", id, 240)
    speak(await run_in_threadpool(services.studies.language_of, id))
    return id


def only_described(request: Request) -> None:
    """No parameter that the description does not name. Raises: DataError."""
    from wayforward.errors import DataError

    described = {one.alias for one in request.scope["route"].dependant.query_params}
    unknown = sorted(set(request.query_params) - described)
    if unknown:
        raise DataError(f"There is no parameter {unknown[0][:40]!r} here. Leave it out.")


def program(act: Act) -> Callable[..., Somebody]:
    """A dependency: a program with a token that allows this. Raises: NotKnown, NotAllowed."""

    def check(request: Request, given: Bearer) -> Somebody:
        services = services_of(request)
        if given is None:
            raise NotKnown(gettext("Send a token: Authorization: Bearer TOKEN."))
        services.limits.spend("token", request.client.host if request.client else "", 600)
        with services.database.session(write=False) as session:
            found = accounts.of_token(session, given.credentials)
        if found is None:
            raise NotKnown(gettext("This token is not known (any more). Make another one."))
        if not found.may(act):
            raise NotAllowed(gettext("This token may not {act}.", act=act_words(act)))
        return found

    check.act = act  # type: ignore[attr-defined]
    return check
