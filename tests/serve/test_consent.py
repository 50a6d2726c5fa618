"""Nothing is worked out with a person before they agreed to today's text, and nothing more once they took it back."""

from __future__ import annotations

import hashlib

import pytest

from wayforward.serve import case_store, cases, consent
from wayforward.serve.case_store import CaseChanged
from wayforward.serve.http import guard
from wayforward.serve.storage.tables import Event

from .test_guard import doors

BEFORE = {  # what is open to a person who has not agreed
    ("GET", "/case"), ("POST", "/case/consent"), ("POST", "/case/consent/withdraw"), ("POST", "/case/leave"),
    ("GET", "/case/delete"), ("POST", "/case/delete"),
    ("GET", "/api/v1/case/consent"), ("POST", "/api/v1/case/consent"), ("DELETE", "/api/v1/case/consent"),
    ("GET", "/api/v1/case/decision"), ("DELETE", "/api/v1/case"),
}  # fmt: skip
BODIES = {
    "limits": {"limits": {}}, "reply": {"question": "x", "reply": "1"}, "what-if": {"values": {}},
    "keep": {"action": [None] * 4}, "receipt": {"action": [None] * 4},
}  # fmt: skip


@pytest.fixture
def database(tmp_path):
    """These tests need no second kind of database."""
    return f"sqlite:///{tmp_path / 'wayforward.db'}"


def closed():
    """(method, path) of every route of a case that needs consent."""
    for route, guards in doors():
        if guards & {guard.applicant, guard.by_code}:
            for method in route.methods - {"HEAD"}:
                if (method, route.path) not in BEFORE:
                    yield method, route.path.replace("{place}", "0")


def answers(one, path, method):
    """What a browser without redirects, or a program, gets."""
    if path.startswith("/api/"):
        return one.request(
            method, path, json=BODIES.get(path.rsplit("/", 1)[1]) if method == "POST" else None,
            params={"plan": ["p0", "p1"]} if path.endswith("/compare") else None,
        )  # fmt: skip
    one.get_page("/case/delete")
    data = {"token": one.value("token"), "action": "[null,null,null,null]"}
    return one.request(method, path, data=data if method == "POST" else None, follow_redirects=False)


def test_every_route_of_a_case_waits_for_consent(browser, fresh_code):
    routes = list(closed())
    assert len(routes) > 20
    one = browser()
    one.headers["Authorization"] = f"Bearer {fresh_code}"
    one.get_page(f"/w/{fresh_code}")
    for method, path in routes:
        answer = answers(one, path, method)
        if path.startswith("/api/"):
            assert answer.status_code == 403 and "agree" in answer.json()["detail"], path
        else:
            assert (answer.status_code, answer.headers["location"]) == (303, "/case#consent"), path


def test_given_shown_and_taken_back(browser, fresh_code, services):
    one = browser()
    text = one.get_page(f"/w/{fresh_code}")
    assert "Before you go on" in text and "for 90 days" in text and "/case/letter" not in text
    one.submit("/case/consent")
    assert "What can you change?" in one.text
    one.get_page("/case")
    one.submit("/case/consent/withdraw")
    assert "Before you go on" in one.text
    assert one.get("/case/plans", follow_redirects=False).status_code == 303
    with services.database.session(write=False) as session:
        lines = [line.what for line in session.query(Event).filter_by(actor="applicant")]
    assert lines[-2:] == [f"consent given to text {consent.CURRENT}", "consent withdrawn"]


def test_the_same_by_program(browser, fresh_code):
    api = browser()
    api.headers["Authorization"] = f"Bearer {fresh_code}"
    found = api.get("/api/v1/case/consent").json()
    assert found["given"] is None and found["text"]
    assert api.post("/api/v1/case/consent", json={"version": found["version"] + 1}).status_code == 409
    assert api.post("/api/v1/case/consent", json={}).status_code == 422
    assert api.get("/api/v1/case").status_code == 403
    assert api.post("/api/v1/case/consent", json={"version": found["version"]}).json()["given"]
    assert api.get("/api/v1/case").status_code == 200
    assert api.delete("/api/v1/case/consent").json()["given"] is None
    assert api.get("/api/v1/case").status_code == 403
    assert api.delete("/api/v1/case").status_code == 204


def test_a_changed_text_is_agreed_to_anew(services, fresh_code, monkeypatch):
    id = services.cases.by_code(fresh_code)
    services.cases.consent(id, consent.CURRENT)
    services.cases.open(id)
    for module in (case_store, cases):
        monkeypatch.setattr(module, "CURRENT", consent.CURRENT + 1)
    with pytest.raises(case_store.ConsentNeeded):
        services.cases.open(id)
    with pytest.raises(CaseChanged, match="read it again"):
        services.cases.consent(id, consent.CURRENT)
    services.cases.consent(id, consent.CURRENT + 1)
    services.cases.open(id)


def test_a_text_that_people_agreed_to_is_never_changed():
    """Whoever changes one adds a version: these are hashes of the texts as they were published."""
    published = {1: "a4601ae76f105ee2"}
    found = {
        number: hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]
        for number, lines in consent.TEXTS.items()
    }
    assert found == published
    assert all(
        len(line.split()) <= 20 for lines in consent.TEXTS.values() for line in ". ".join(lines).split(". ")
    )
