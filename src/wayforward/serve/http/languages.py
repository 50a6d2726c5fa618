"""The language of a request: what the visitor chose, else that of their case, else what the browser would like."""

from __future__ import annotations

import re

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import ASGIApp, Receive, Scope, Send

from wayforward.language import LANGUAGES, set_language, use_language

COOKIE = "wayforward-language"
_OF_CASE = "case-"  # before the code: the language came with a case, and nobody chose it
_YEAR = 365 * 24 * 3600


class Languages:
    """Around everything: texts are made in the language of the request, by whatever thread, those of faults too."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request in its language."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        with use_language(wanted(Request(scope))):  # threads get a copy of the context
            await self.app(scope, receive, send)


def wanted(request: Request) -> str:
    """Return the language that a request is answered in."""
    code = request.cookies.get(COOKIE, "").removeprefix(_OF_CASE)
    return code if code in LANGUAGES else accepted(request.headers.get("accept-language", ""))


def speak(code: str) -> None:
    """Go on in the language of a study or a case, to the end of the request; in English where it is not complete."""
    set_language(code if code in LANGUAGES else "en")


def accepted(header: str) -> str:
    """Return the language that a browser likes most of those that are complete; English where it likes none.

    >>> accepted("fr, de-AT;q=0.8, en;q=0.7"), accepted("de;q=0"), accepted("")
    ('de', 'en', 'en')
    """
    liked: dict[str, float] = {}
    for part in header[:1000].split(","):
        found = re.fullmatch(r"\s*([a-zA-Z]{2,8})(?:-[\w-]+)?\s*(?:;\s*q=([01](?:\.\d{0,3})?))?\s*", part)
        code = found[1].lower() if found else ""
        if found and code in LANGUAGES:
            liked[code] = max(liked.get(code, 0.0), float(found[2] or 1))
    best = max(liked, key=lambda code: liked[code], default="en")
    return best if liked.get(best) else "en"


def chosen(request: Request) -> bool:
    """Did the visitor choose a language themselves?"""
    return request.cookies.get(COOKIE) in LANGUAGES


def remember(answer: Response, code: str, *, secure: bool, of_case: bool = False) -> None:
    """Store a language with the browser: a choice for a year, that of a case until the browser is closed."""
    answer.set_cookie(
        COOKIE, f"{_OF_CASE if of_case else ''}{code}", httponly=True, samesite="lax", secure=secure, path="/",
        max_age=None if of_case else _YEAR,
    )  # fmt: skip


def way_back(request: Request) -> str:
    """Return the address at which what is shown now, or what stands above it, can be shown in another language."""
    path = request.url.path
    if request.method == "GET":
        return f"{path}?{request.url.query}" if request.url.query else path
    while len(path) > 1:
        scope = {**request.scope, "method": "GET", "path": path, "root_path": ""}
        if any(route.matches(scope)[0] is Match.FULL for route in request.app.routes):
            return path
        path = path.rpartition("/")[0]
    return "/"


def own_path(path: str) -> str:
    """Return a path of ours that a form names, or the start page: nobody is led to another site.

    >>> own_path("/case/plans"), own_path("//elsewhere.example"), own_path("https://elsewhere.example")
    ('/case/plans', '/', '/')
    """
    return path if re.fullmatch(r"/(?![/\\])[!-\[\]-~]{0,1000}", path) else "/"
