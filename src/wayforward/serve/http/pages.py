"""Templates to answers: what every page gets, and the cookie of a visitor who is new."""

from __future__ import annotations

from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from markupsafe import Markup

from wayforward.errors import WayforwardError
from wayforward.language import LANGUAGES, day_text, gettext, language
from wayforward.serve.accounts import NameTaken, NoSuchAccount
from wayforward.serve.case_store import CaseChanged, CaseGone, ConsentNeeded
from wayforward.serve.events import actor_words, event_words, subject_words
from wayforward.serve.http.guard import COOKIE, NotAllowed, NotKnown, Visitor, form_token
from wayforward.serve.http.languages import remember, way_back
from wayforward.serve.jobs import NoSuchJob, TableNotKnown
from wayforward.serve.limits import TooOften
from wayforward.serve.permissions import Act, act_words, role_words, rooms, somebody_words
from wayforward.serve.projects import GettingReady, NoSuchVersion
from wayforward.serve.services import Services

if TYPE_CHECKING:
    from wayforward.answers.receipt import Receipt


CSV = "text/csv; charset=utf-8"


def _day(given: str | date) -> str:
    """A day in words, also of a receipt, where it is a text; what is no day as it is."""
    try:
        return day_text(date.fromisoformat(given) if isinstance(given, str) else given)
    except (TypeError, ValueError):
        return str(given)


def _moment(at: datetime) -> str:
    """A day in words, with hours and minutes as the database tells them (UTC)."""
    return f"{day_text(at.date())}, {at:%H:%M}"


def _lang_of(receipt: Receipt) -> Markup:
    """The attribute for lines of a receipt, which are in the language of whom it was given to."""
    code = receipt.content.get("language")
    return Markup(f' lang="{code}"' if code in LANGUAGES else "")


class Pages:
    """The templates of a deployment."""

    def __init__(self, services: Services) -> None:
        from wayforward.answers.page import template_engine

        self.services, settings = services, services.settings
        self.engine = template_engine("wayforward.serve", "wayforward.study")
        from wayforward.answers.words import level_words, number

        self.engine.filters |= {
            "upper_first": lambda text: text[:1].upper() + text[1:],  # "BMI" stays as it is
            "lower_first": lambda text: text[:1].lower() + text[1:],
            "plain": lambda value: value if isinstance(value, str) else number(value, thousands=""),
            "day": _day, "moment": _moment, "lang_of": _lang_of, "act_words": act_words, "role_words": role_words,
            "event_words": event_words, "looked_up": gettext,  # unlike _(), what comes back is a text, not HTML
            "actor_words": actor_words, "subject_words": subject_words,
        }  # fmt: skip
        self.engine.globals.update(
            lender=settings.lender, contact=settings.contact, Act=Act, number=number,
            level_words=level_words, languages=LANGUAGES, language=language,
            rooms=rooms, somebody_words=somebody_words, decimal_mark=lambda: number(0.5)[1],
        )  # fmt: skip

    def show(self, request: Request, template: str, status: int = 200, **given: Any) -> Response:
        """Return a page."""
        at: Visitor = getattr(request.state, "visitor", None) or Visitor("", fresh=False)
        text = self.engine.get_template(template).render(
            token=form_token(self.services, at.cookie) if at.cookie else "",
            at=at,
            path=request.url.path,
            **{"back": way_back(request), **given},
        )
        return self.with_cookie(HTMLResponse(text, status), at)

    def go(self, request: Request, path: str) -> Response:
        """Return a redirect to another page of ours, after a form."""
        return self.with_cookie(RedirectResponse(path, 303), request.state.visitor)

    def with_cookie(self, answer: Response, at: Visitor) -> Response:
        """Give a visitor their cookie, where it is new; take it where their session ended."""
        if at.ended:
            answer.delete_cookie(COOKIE)
        elif at.fresh and at.cookie:
            answer.set_cookie(
                COOKIE, at.cookie, httponly=True, samesite="lax", secure=self.services.settings.secure, path="/",
                max_age=int(self.services.settings.session_hours * 3600),
            )  # fmt: skip
        if at.language:
            remember(answer, at.language, secure=self.services.settings.secure, of_case=True)
        return answer


def show(request: Request, template: str, status: int = 200, **given: Any) -> Response:
    """Return a page of the application that a request came to."""
    pages: Pages = request.app.state.pages
    return pages.show(request, template, status, **given)


def attached(content: str | bytes, name: str, kind: str) -> Response:
    """A file to be kept under a name; kind: its media type."""
    return Response(
        content, media_type=kind, headers={"Content-Disposition": f'attachment; filename="{name}"'}
    )


def go(request: Request, path: str) -> Response:
    """Return a redirect to another page of ours, after a form."""
    pages: Pages = request.app.state.pages
    return pages.go(request, path)


def status_of(error: WayforwardError) -> int:
    """The status that says what kind of mistake an error is."""
    known: tuple[tuple[type[WayforwardError], int], ...] = (
        (NotKnown, 401), (TooOften, 429), (NotAllowed, 403), (CaseGone, 404), (CaseChanged, 409),
        (ConsentNeeded, 403), (NoSuchAccount, 404), (NoSuchJob, 404), (NoSuchVersion, 404), (NameTaken, 409),
        (GettingReady, 503), (TableNotKnown, 403),
    )  # fmt: skip
    return next((status for kind, status in known if isinstance(error, kind)), 422)
