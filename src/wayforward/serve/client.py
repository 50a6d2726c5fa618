"""A client of the interface under /api/v1, on the standard library alone: one method for each act.

``Client("https://plans.example.org", code).plans()`` for an applicant's case; a token of an account opens the rest.
"""

from __future__ import annotations

import json
import secrets
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from wayforward.errors import WayforwardError
from wayforward.plain_files import read_text

Plain = dict[str, Any]


class ServerProblem(WayforwardError):
    """What the server refused, in its own words. status: of HTTP, 0 for no answer; title: what kind of problem."""

    def __init__(self, detail: str, status: int = 0, title: str = "") -> None:
        super().__init__(detail)
        self.status, self.title = status, title


class Client:
    """A program that talks to a wayforward server.

    Args:
        url: where the server is, such as https://plans.example.org.
        key: the code of a case, or a token of an account; left out, what is open to everybody.
        timeout: seconds to wait for an answer.
        language: of texts, such as plans, letters and reports: "en" or "de".
    Raises: ServerProblem from every method, with the server's words.
    """

    def __init__(self, url: str, key: str = "", *, timeout: float = 60.0, language: str = "en") -> None:
        if not url.startswith(("https://", "http://")):
            raise ServerProblem(f"'{url}' is no web address. Give one like https://plans.example.org.")
        self.url, self.key, self.timeout, self.language = url.rstrip("/"), key, timeout, language

    # -- everybody -----------------------------------------------------------------------------------------

    def open_models(self) -> list[Plain]:
        """Return the models that people may try, and what each wants to know."""
        return self._many("GET", "/open-models")

    def own_case(self, model: str, person: Mapping[str, Any]) -> Plain:
        """Make a case of one's own numbers; return its code."""
        return self._one("POST", f"/open-models/{quote(model)}/cases", {"person": dict(person)})

    def verify(self, receipt: Mapping[str, Any]) -> Plain:
        """Is a receipt the server's, and unchanged?"""
        return self._one("POST", "/receipts/verify", dict(receipt))

    def public_key(self) -> str:
        """Return the public key of receipts."""
        return str(self._ask("GET", "/receipts/key")["ed25519"])

    # -- an applicant --------------------------------------------------------------------------------------

    def case(self) -> Plain:
        """Return how the case stands: limits, the question on the table, plans in the list."""
        return self._one("GET", "/case")

    def decision(self) -> Plain:
        """Return the answer, how near it was, and the principal reasons."""
        return self._one("GET", "/case/decision")

    def consent_text(self) -> Plain:
        """Return what is to be agreed to, and its version."""
        return self._one("GET", "/case/consent")

    def consent(self, version: int) -> Plain:
        """Agree to this version of the text."""
        return self._one("POST", "/case/consent", {"version": version})

    def withdraw(self) -> Plain:
        """Agree no longer."""
        return self._one("DELETE", "/case/consent")

    def form(self) -> list[Plain]:
        """Return one entry for each feature that the person may change."""
        return self._many("GET", "/case/form")

    def limits(
        self,
        limits: Mapping[str, Any],
        changes: int | None = None,
        revision: int | None = None,
        within: float | str | None = None,
    ) -> Plain:
        """Say all limits at once; changes: at most so many; within: months, or "by March"."""
        given = {"limits": dict(limits), "changes": changes, "revision": revision, "within": within}
        return self._one("POST", "/case/limits", given)

    def plans(self) -> Plain:
        """Return plans side by side, and why there is none where there is none."""
        return self._one("GET", "/case/plans")

    def compare(self, plans: Sequence[str]) -> Plain:
        """Return plans side by side: p0, p1, ... of `plans()`, k0, k1, ... of those that were kept."""
        return self._one("GET", "/case/compare", query={"plan": list(plans)})

    def reply(self, question: str, reply: Any, revision: int | None = None) -> Plain:
        """Answer the question on the table."""
        return self._one("POST", "/case/reply", {"question": question, "reply": reply, "revision": revision})

    def undo(self, revision: int | None = None) -> Plain:
        """Take back the last answer."""
        return self._one("POST", "/case/undo", query={"revision": revision})

    def what_if(self, values: Mapping[str, Any]) -> Plain:
        """Ask the model about other values."""
        return self._one("POST", "/case/what-if", {"values": dict(values)})

    def keep(self, action: Sequence[float | None], revision: int | None = None) -> Plain:
        """Keep a plan."""
        return self._one("POST", "/case/keep", {"action": list(action), "revision": revision})

    def let_go(self, place: int, revision: int | None = None) -> Plain:
        """Keep a plan no longer."""
        return self._one("DELETE", f"/case/kept/{place}", query={"revision": revision})

    def letter(self) -> str:
        """Return the letter."""
        return str(self._ask("GET", "/case/letter")["text"])

    def receipt(self, action: Sequence[float | None]) -> Plain:
        """Return a signed receipt of a plan."""
        return self._one("POST", "/case/receipt", {"action": list(action)})

    def delete(self) -> None:
        """Delete the case and all that was said."""
        self._ask("DELETE", "/case")

    # -- studies -------------------------------------------------------------------------------------------

    def studies(self) -> list[Plain]:
        """Return every study, and how many participants stand where."""
        return self._many("GET", "/studies")

    def study(self, id: str) -> Plain:
        """Return a study with its protocol."""
        return self._one("GET", f"/studies/{quote(id)}")

    def add_study(self, protocol: str | Path, pool: Sequence[Mapping[str, Any]] | None = None) -> Plain:
        """Take a protocol (YAML text, or the Path of its file), closed; pool: profiles, a row each."""
        if isinstance(protocol, Path):
            protocol = read_text(protocol, "protocol")
        return self._one(
            "POST", "/studies", {"protocol": protocol, "pool": pool and [dict(one) for one in pool]}
        )

    def preview(self, id: str, language: str = "") -> str:
        """Return every screen of a study as one page."""
        return str(self._ask("GET", f"/studies/{quote(id)}/preview", query={"language": language}))

    def open_study(self, id: str) -> Plain:
        """Let participants come."""
        return self._one("POST", f"/studies/{quote(id)}/open")

    def close_study(self, id: str) -> Plain:
        """Let nobody new come."""
        return self._one("POST", f"/studies/{quote(id)}/close")

    def export_study(self, id: str) -> Plain:
        """Return every table of a study, and its codebook."""
        return self._one("GET", f"/studies/{quote(id)}/export")

    def completion_codes(self, id: str) -> list[str]:
        """Return the completion codes of who finished."""
        return [str(one) for one in self._ask("GET", f"/studies/{quote(id)}/codes")]

    def join(self, link: str, language: str = "") -> Plain:
        """Begin a participation by a recruiting link; its code opens the methods below."""
        return self._one("POST", "/studies/join", {"link": link, "language": language})

    def participation(self) -> Plain:
        """Return where the participant is: a page, a wait, an end."""
        return self._one("GET", "/participation")

    def agree_to_study(self, revision: int) -> Plain:
        """Agree to take part."""
        return self._one("POST", "/participation/consent", {"revision": revision})

    def answer_page(
        self, answers: Sequence[Sequence[str]], revision: int, seconds: float = 0, later: bool = False
    ) -> Plain:
        """Answer the page on the table, or save it for later."""
        given = {
            "answers": [list(one) for one in answers],
            "revision": revision,
            "seconds": seconds,
            "later": later,
        }
        return self._one("POST", "/participation/answers", given)

    def page_before(self, revision: int, answers: Sequence[Sequence[str]] = ()) -> Plain:
        """Open the page before once more; answers: what was typed on this one."""
        given = {"revision": revision, "answers": [list(one) for one in answers]}
        return self._one("POST", "/participation/back", given)

    def leave_study(self) -> None:
        """Stop, and delete every answer."""
        self._ask("DELETE", "/participation")

    def task(self) -> Plain:
        """Return the task on the table."""
        return self._one("GET", "/participation/task")

    def task_reply(self, question: str, reply: str, revision: int) -> Plain:
        """Answer the question of the task."""
        given = {"question": question, "reply": reply, "revision": revision}
        return self._one("POST", "/participation/task/reply", given)

    def task_undo(self, revision: int) -> Plain:
        """Take back the last answer of the task."""
        return self._one("POST", "/participation/task/undo", {"revision": revision})

    def task_limits(self, limits: Mapping[str, Any], revision: int, changes: int | None = None) -> Plain:
        """Say all limits of the task at once."""
        given = {"limits": dict(limits), "revision": revision, "changes": changes}
        return self._one("POST", "/participation/task/limits", given)

    def task_what_if(self, values: Mapping[str, Any]) -> Plain:
        """Ask the model of the task about other values."""
        return self._one("POST", "/participation/task/what-if", {"values": dict(values)})

    def task_finish(self, action: Sequence[float | None] | None, revision: int) -> Plain:
        """Take a plan of the task; None: go on without one."""
        given = {"action": None if action is None else list(action), "revision": revision}
        return self._one("POST", "/participation/task/finish", given)

    # -- models, links, jobs -------------------------------------------------------------------------------

    def models(self) -> list[Plain]:
        """Return every version of a model."""
        return self._many("GET", "/models")

    def add_model(
        self, model: str | Path, schema: str | Path, train: str | Path, *, label: str, favourable: str,
        world: str | Path | None = None, title: str = "A model", threshold: float | None = None,
        open_to_all: bool = False,
    ) -> Plain:  # fmt: skip
        """Add a version, from files; somebody else publishes it."""
        files = {"model": model, "schema": schema, "train": train, "world": world}
        fields = {
            "label": label, "favourable": favourable, "title": title, "threshold": threshold,
            "open_to_all": str(open_to_all).lower(),
        }  # fmt: skip
        return self._one("POST", "/models", fields=fields, files=files)

    def publish(self, model: str) -> Plain:
        """Let applicants meet a version that somebody else added."""
        return self._one("POST", f"/models/{quote(model)}/publish")

    def person_form(self, model: str) -> Plain:
        """Return what a published model wants to know of a person."""
        return self._one("GET", f"/models/{quote(model)}/form")

    def cases(self) -> list[Plain]:
        """Return the cases of each model in numbers."""
        return self._many("GET", "/cases")

    def make_cases(self, model: str, people: Sequence[Mapping[str, Any]], language: str = "") -> list[Plain]:
        """Make a case for each person; return their codes and links. language: that their pages begin in."""
        return self._many(
            "POST", "/cases", {"model": model, "people": [dict(one) for one in people], "language": language}
        )

    def jobs(self) -> list[Plain]:
        """Return the jobs."""
        return self._many("GET", "/jobs")

    def job(self, id: str) -> Plain:
        """Return how far a job is."""
        return self._one("GET", f"/jobs/{quote(id)}")

    def start_job(
        self, kind: str, model: str, people: str | Path, groups: Sequence[str] = (),
        threshold: float | None = None, deadline: float | None = None,
    ) -> Plain:  # fmt: skip
        """Start a job on a table of people: kind "plans" or "audit"; groups: features to compare along; threshold: of
        an audit, in place of the model's; deadline: of plans, seconds that their search may take."""
        fields: dict[str, Any] = {"kind": kind, "model": model, "groups": ",".join(groups)}
        fields |= {"threshold": threshold, "deadline": deadline}
        return self._one("POST", "/jobs", fields=fields, files={"people": people})

    def stop_job(self, id: str) -> Plain:
        """Stop a job."""
        return self._one("POST", f"/jobs/{quote(id)}/stop")

    def answers(self, id: str) -> str:
        """Return the plans of a job as CSV."""
        return str(self._ask("GET", f"/jobs/{quote(id)}/answers"))

    # -- audits --------------------------------------------------------------------------------------------

    def audits(self) -> list[Plain]:
        """Return the finished audits, the newest first."""
        return self._many("GET", "/audits")

    def audit(self, id: str) -> Plain:
        """Return every number of an audit."""
        return self._one("GET", f"/audits/{quote(id)}")

    def audit_figures(self, ids: Sequence[str], by: str = "", measure: str = "usable") -> Plain:
        """Return one measure by group of several audits side by side: over time, of two models or thresholds."""
        return self._one("GET", "/audits/figures", query={"audit": list(ids), "by": by, "measure": measure})

    def audit_report(self, id: str) -> str:
        """Return the report of an audit, a page that stands alone."""
        return str(self._ask("GET", f"/audits/{quote(id)}/report"))

    def audit_cases(self, id: str) -> list[Plain]:
        """Return single cases under names that were drawn."""
        return self._many("GET", f"/audits/{quote(id)}/cases")

    def audit_case(self, id: str, case: str) -> Plain:
        """Return how one of them fared."""
        return self._one("GET", f"/audits/{quote(id)}/cases/{quote(case)}")

    # -- the log, accounts, tokens -------------------------------------------------------------------------

    def log(self, before: int | None = None) -> Plain:
        """Return lines of the log, and whether its chain holds; before: lines older than this one."""
        return self._one("GET", "/log", query={"before": before})

    def users(self) -> list[Plain]:
        """Return the accounts."""
        return self._many("GET", "/users")

    def add_user(self, name: str, role: str, password: str) -> Plain:
        """Make an account."""
        return self._one("POST", "/users", {"name": name, "role": role, "password": password})

    def close_user(self, id: int) -> None:
        """Close an account."""
        self._ask("POST", f"/users/{id}/close")

    def tokens(self) -> list[Plain]:
        """Return the tokens of the account."""
        return self._many("GET", "/tokens")

    def make_token(self, name: str, acts: Sequence[str], days: int = 90) -> str:
        """Return a new token, which may do no more than this one."""
        return str(self._ask("POST", "/tokens", {"name": name, "acts": list(acts), "days": days})["token"])

    def revoke(self, id: str) -> None:
        """End a token at once."""
        self._ask("DELETE", f"/tokens/{quote(id)}")

    # -- how -----------------------------------------------------------------------------------------------

    def _one(self, method: str, path: str, body: Any = None, **more: Any) -> Plain:
        found: Plain = self._ask(method, path, body, **more)
        return found

    def _many(self, method: str, path: str, body: Any = None, **more: Any) -> list[Plain]:
        found: list[Plain] = self._ask(method, path, body, **more)
        return found

    def _ask(
        self, method: str, path: str, body: Any = None, *, query: Mapping[str, Any] | None = None,
        fields: Mapping[str, Any] | None = None, files: Mapping[str, str | Path | None] | None = None,
    ) -> Any:  # fmt: skip
        """Send one request; return what came back, plain data or text. Raises: ServerProblem."""
        wanted = urlencode(
            {name: value for name, value in (query or {}).items() if value is not None}, doseq=True
        )
        headers = {"Accept": "application/json", "Accept-Language": self.language}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        content = None
        if files is not None:
            content, headers["Content-Type"] = _multipart(fields or {}, files)
        elif body is not None:
            given = {k: v for k, v in body.items() if v is not None or k in ("reply", "action")}
            content, headers["Content-Type"] = json.dumps(given, allow_nan=False).encode(), "application/json"
        address = f"{self.url}/api/v1{path}{'?' + wanted if wanted else ''}"
        request = urllib.request.Request(address, content, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=self.timeout) as answer:
                text, kind = answer.read().decode(), answer.headers.get_content_type()
        except urllib.error.HTTPError as error:
            raise _problem(error) from None
        except (OSError, ValueError) as error:
            raise ServerProblem(
                f"The server at {self.url} does not answer ({error}). Is it running?"
            ) from None
        return json.loads(text) if text and kind == "application/json" else text


def _problem(error: urllib.error.HTTPError) -> ServerProblem:
    with error:
        text = error.read().decode(errors="replace")
    try:
        found = json.loads(text)
        return ServerProblem(str(found["detail"]), error.code, str(found["title"]))
    except (ValueError, KeyError, TypeError):
        return ServerProblem(f"The server answered with {error.code} {error.reason}.", error.code)


def _multipart(fields: Mapping[str, Any], files: Mapping[str, str | Path | None]) -> tuple[bytes, str]:
    """Return a form with files as a body, and its content type (RFC 7578)."""
    edge, parts = secrets.token_hex(16), []
    for name, value in fields.items():
        if value is not None:
            head = f'--{edge}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n'
            parts.append(head.encode() + str(value).encode() + b"\r\n")
    for name, file in files.items():
        if file is not None:
            ending = "".join(one for one in Path(file).suffix if one.isalnum())
            head = (
                f'--{edge}\r\nContent-Disposition: form-data; name="{name}"; filename="{name}.{ending}"\r\n'
                "Content-Type: application/octet-stream\r\n\r\n"
            )
            parts.append(head.encode() + Path(file).read_bytes() + b"\r\n")
    return b"".join(parts) + f"--{edge}--\r\n".encode(), f"multipart/form-data; boundary={edge}"
