"""The application: services put together, doors added, headers on every answer, errors in words."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from wayforward.errors import WayforwardError
from wayforward.serve.accounts import AccountError, LoginFailed, forget_ended
from wayforward.serve.cases import CaseChanged, CaseGone
from wayforward.serve.http.guard import NotAllowed, NotKnown
from wayforward.serve.http.pages import Pages, show
from wayforward.serve.jobs import Supervisor
from wayforward.serve.services import Services
from wayforward.serve.settings import ServeSettings
from wayforward.version import __version__

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
    from wayforward.serve.http import api, applicant, staff

    if services is None:
        services = Services.at(settings or ServeSettings())

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        with services.database.session() as session:
            forget_ended(session)
        services.cases.forget_old(services.settings.days_kept)
        services.jobs.forget(services.settings.days_kept)
        supervisor = Supervisor(services.jobs, services.settings.home)
        supervisor.start()
        yield
        supervisor.stop()
        services.database.close()

    app = FastAPI(
        title="wayforward", version=__version__, lifespan=life, docs_url=None, redoc_url=None,
        openapi_url="/api/v1/openapi.json", debug=services.settings.debug,
    )  # fmt: skip
    app.state.services, app.state.pages = services, Pages(services)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    app.include_router(applicant.router)
    app.include_router(staff.router)
    app.include_router(api.router)
    _errors(app)

    @app.middleware("http")
    async def safe(request: Request, on: Callable[[Request], Awaitable[Response]]) -> Response:
        length = request.headers.get("content-length", "0")
        if not length.isdigit() or int(length) > services.settings.upload_bytes:
            return Response("Too large.", 413)
        answer = await on(request)
        for name, value in _HEADERS.items():
            answer.headers.setdefault(name, value)
        if services.settings.secure:
            answer.headers["Strict-Transport-Security"] = "max-age=31536000"
        if not request.url.path.startswith("/static"):
            answer.headers["Cache-Control"] = "no-store"
        return answer

    return app


def status_of(error: WayforwardError) -> int:
    """The status that says what kind of mistake an error is."""
    known: tuple[tuple[type[WayforwardError], int], ...] = (
        (NotKnown, 401), (LoginFailed, 429), (NotAllowed, 403), (CaseGone, 404), (CaseChanged, 409),
        (AccountError, 422),
    )  # fmt: skip
    return next((status for kind, status in known if isinstance(error, kind)), 422)


def _errors(app: FastAPI) -> None:
    def answer(request: Request, status: int, title: str, detail: str) -> Response:
        if request.url.path.startswith("/api/"):
            body = {"type": "about:blank", "title": title, "status": status, "detail": detail}
            headers = {"WWW-Authenticate": "Bearer"} if status == 401 else None
            return JSONResponse(body, status, headers, "application/problem+json")
        return show(request, "error.html", status, title=title, detail=detail)

    @app.exception_handler(WayforwardError)
    def ours(request: Request, error: WayforwardError) -> Response:
        status = status_of(error)
        inside = request.url.path.startswith("/case")
        title = {
            401: "Please open your page again" if inside else "Please log in",
            403: "This is not for you",
            404: "Not found",
            409: "Changed elsewhere",
        }
        return answer(request, status, title.get(status, "That did not work"), str(error))

    @app.exception_handler(HTTPException)
    def theirs(request: Request, error: HTTPException) -> Response:
        words = {404: "There is nothing at this address.", 405: "This address cannot be used like that."}
        return answer(request, error.status_code, "Not found" if error.status_code == 404 else "That did not work",
                      words.get(error.status_code, str(error.detail)))  # fmt: skip

    @app.exception_handler(RequestValidationError)
    def unread(request: Request, error: RequestValidationError) -> Response:
        first: dict[str, Any] = dict(error.errors()[0])
        place = ".".join(str(part) for part in first["loc"][1:])
        return answer(request, 422, "That did not work", f"{place or 'The request'}: {first['msg']}.")

    @app.exception_handler(Exception)
    def broken(request: Request, error: Exception) -> Response:
        number = secrets.token_hex(4)
        import logging

        # The type and the place, never the message: it may hold values of a person.
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        place = "" if trace is None else f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"
        logging.getLogger("wayforward.serve").error("fault %s: %s at %s", number, type(error).__name__, place)
        return answer(
            request, 500, "Something went wrong here",
            f"It is not your mistake, and nothing that you said is lost. If you ask us, name the number {number}.",
        )  # fmt: skip
