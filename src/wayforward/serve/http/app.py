"""The application: services put together, doors added, headers on every answer, errors in words."""

from __future__ import annotations

import logging
import math
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from anyio.to_thread import current_default_thread_limiter
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wayforward.errors import WayforwardError
from wayforward.language import N_, gettext
from wayforward.serve.case_store import ConsentNeeded
from wayforward.serve.http.languages import Languages
from wayforward.serve.http.pages import Pages, go, show, status_of
from wayforward.serve.jobs import Supervisor
from wayforward.serve.projects import GettingReady
from wayforward.serve.retention import RetentionClock
from wayforward.serve.services import Services
from wayforward.serve.settings import ServeSettings
from wayforward.version import __version__

_LARGE = N_("This is too large to be taken here.")
_MOST_WAITING = 400  # threads: who waits for a search is not to keep out who only wants a page
_MOST_BYTES = 2**20  # of a request, but where files come in
_FILES_COME = {
    f"{side}/{what}" for side in ("/staff", "/api/v1") for what in ("models", "cases", "jobs", "studies")
}
STATIC = Path(__file__).parents[1] / "static"
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; "
        "frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=()",
}


def create_app(settings: ServeSettings | None = None, services: Services | None = None) -> FastAPI:
    """Return the whole application (ASGI), for any server: ``uvicorn.run(create_app(ServeSettings(home=...)))``.

    Raises: DataError for a database that cannot be opened; FileFormatError for a broken key file.
    """
    from wayforward.serve.http import api, applicant, audits, entrance, staff, study, study_task

    if services is None:
        services = Services.at(settings or ServeSettings())

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        current_default_thread_limiter().total_tokens = _MOST_WAITING
        parts = (RetentionClock(services), Supervisor(services.jobs, services.settings.home))
        for part in parts:
            part.start()
        yield
        for part in parts:
            part.stop()
        services.database.close()

    app = FastAPI(
        title="wayforward", version=__version__, lifespan=life, docs_url=None, redoc_url=None,
        openapi_url="/api/v1/openapi.json", debug=services.settings.debug,
    )  # fmt: skip
    app.state.services, app.state.pages = services, Pages(services)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    pages, tasks = (entrance, applicant, staff, audits), (study, study_task)
    for router in (*(one.router for one in pages), *api.routers(), *(one.router for one in tasks)):
        # not `include_router`, which reads all signatures again at each application's first request
        app.router.routes.extend(router.routes)
    _errors(app)

    app.add_middleware(_Safe, services=services)
    app.add_middleware(Languages)
    return app


class _Safe:
    """Around everything: no body beyond its bound, however it is sent; headers on every answer, faults too; and what
    breaks goes no further, for a server writes whole messages into its log, and they may hold values of a person.
    """

    def __init__(self, app: ASGIApp, services: Services) -> None:
        self.app, self.settings = app, services.settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        path, read, begun = scope["path"], 0, False
        most = min(self.settings.upload_bytes, math.inf if path in _FILES_COME else _MOST_BYTES)

        async def bounded() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > most:
                raise HTTPException(413, _LARGE)
            return message

        async def sealed(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                if self.settings.secure:
                    headers["Strict-Transport-Security"] = "max-age=31536000"
                if not path.startswith("/static"):
                    headers["Cache-Control"] = "no-store"
            await send(message)

        request = Request(scope, bounded)
        try:
            length = request.headers.get("content-length", "0")
            if "\0" in path or not length.isdecimal() or len(length) > 15:
                await _answer(request, 400, _failed(), gettext("This request cannot be read."))(
                    scope, receive, sealed
                )
            elif int(length) > most:
                raise HTTPException(413, _LARGE)
            else:
                await self.app(scope, bounded, sealed)
        except Exception as error:
            if begun:
                raise
            large = isinstance(error, HTTPException)
            answer = _answer(request, 413, _failed(), gettext(_LARGE)) if large else _fault(request, error)
            await answer(scope, receive, sealed)


def _failed() -> str:
    return gettext("That did not work")


def _answer(
    request: Request, status: int, title: str, detail: str, headers: Mapping[str, str] | None = None
) -> Response:
    """An error in words: as a page, or as a problem of RFC 9457."""
    if request.url.path.startswith("/api/"):
        detail = detail.encode(errors="replace").decode()  # half a pair of UTF-16, from JSON, is no text
        body = {"type": "about:blank", "title": title, "status": status, "detail": detail}
        usual = {401: {"WWW-Authenticate": "Bearer"}, 429: {"Retry-After": "60"}}
        sent = {**usual.get(status, {}), **(headers or {})}
        return JSONResponse(body, status, sent, "application/problem+json")
    return show(request, "error.html", status, title=title, detail=detail)


def _fault(request: Request, error: Exception) -> Response:
    # The type and the place, never the message: it may hold values of a person.
    number, trace = secrets.token_hex(4), error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = "" if trace is None else f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"
    logging.getLogger("wayforward.serve").error("fault %s: %s at %s", number, type(error).__name__, place)
    return _answer(
        request, 500, gettext("Something went wrong here"),
        gettext(
            "It is not your mistake, and nothing that you said is lost. If you ask us, name the number {number}.",
            number=number,
        ),
    )  # fmt: skip


def _errors(app: FastAPI) -> None:
    @app.exception_handler(WayforwardError)
    def ours(request: Request, error: WayforwardError) -> Response:
        if isinstance(error, ConsentNeeded) and request.url.path.startswith("/case"):
            return go(request, "/case#consent")
        status = status_of(error)
        inside = request.url.path.startswith("/case")
        title = {
            401: gettext("Please open your page again") if inside else gettext("Please log in"),
            403: gettext("This is not for you"),
            404: gettext("Not found"),
            409: gettext("Changed elsewhere"),
            503: gettext("One moment, please"),
        }
        answer = _answer(request, status, title.get(status, _failed()), str(error))
        if isinstance(error, GettingReady):  # a browser looks again by itself
            answer.headers.update({"Refresh": "5", "Retry-After": "5"})
        return answer

    @app.exception_handler(HTTPException)
    def theirs(request: Request, error: HTTPException) -> Response:
        words = {
            404: gettext("There is nothing at this address."),
            405: gettext("This address cannot be used like that."),
            413: gettext(_LARGE),
        }
        return _answer(request, error.status_code, gettext("Not found") if error.status_code == 404 else _failed(),
                      words.get(error.status_code, str(error.detail)), error.headers)  # fmt: skip

    @app.exception_handler(RequestValidationError)
    def unread(request: Request, error: RequestValidationError) -> Response:
        first: dict[str, Any] = dict(error.errors()[0])
        place = ".".join(str(part) for part in first["loc"][1:])
        return _answer(request, 422, _failed(), (place or gettext("The request")) + f": {first['msg']}.")
