"""What no page of ours would send: never a fault of the server, and nothing of it in the log."""

from __future__ import annotations

import html
import re
import threading

import pytest
from typer.testing import CliRunner

from wayforward.cli.app import app
from wayforward.errors import WayforwardError, WriteError
from wayforward.serve.events import record
from wayforward.serve.keys import Keys
from wayforward.serve.limits import RateLimits
from wayforward.serve.start import first_come
from wayforward.serve.storage.database import Database

from .test_staff import files

DEEP = "[" * 900 + "]" * 900
ODD = [
    "NaN", "1e999", "1" + "0" * 400, "123456789012345678901234567890", DEEP, "[" * 100_000 + "]" * 100_000,
    '"\\ud800"', '"\\u0000"', '{"\\ud800": 1}', '"²"', '{"low": NaN}', '{"low": "x", "high": []}', "[[1]]", "1e308",
]  # fmt: skip


@pytest.fixture
def database(tmp_path):
    """These tests need no second kind of database."""
    return f"sqlite:///{tmp_path / 'wayforward.db'}"


@pytest.fixture
def api(browser, code, monkeypatch):
    """A program that holds the code of a case, and may ask as often as it likes."""
    monkeypatch.setattr(RateLimits, "spend", lambda *_: None)
    one = browser()
    one.headers["Authorization"] = f"Bearer {code}"
    return one


def bodies(raw):
    """(path, body) with the odd value in every place of every endpoint of a case."""
    for name in ("income", "home", "nothing", "\\ud800"):
        yield "/api/v1/case/limits", f'{{"limits": {{"{name}": {raw}}}}}'
        yield "/api/v1/case/what-if", f'{{"values": {{"{name}": {raw}}}}}'
    for name in ("limits", "changes", "revision", "other"):
        yield "/api/v1/case/limits", f'{{"{name}": {raw}}}'
    for path in ("/api/v1/case/keep", "/api/v1/case/receipt"):
        yield path, f'{{"action": {raw}}}'
        yield path, f'{{"action": [{raw}, null, null, null]}}'
        yield path, f'{{"action": [null, {raw}, null, null]}}'
    yield "/api/v1/case/reply", f'{{"question": {raw}, "reply": 1}}'
    yield "/api/v1/cases", raw
    receipt = '{{"format": {}, "version": {}, "content": {}, "signature": {}, "public_key": {}}}'
    known = ('"wayforward/receipt"', "1", '{"a": 1}', '"AA=="', '"AA=="')
    for place in range(5):
        yield "/api/v1/receipts/verify", receipt.format(*known[:place], raw, *known[place + 1 :])
    yield "/api/v1/receipts/verify", receipt.format(*known[:2], f'{{"a": {raw}}}', *known[3:])
    for path in ("limits", "reply", "what-if", "keep", "receipt"):
        yield f"/api/v1/case/{path}", raw


@pytest.mark.parametrize("raw", ODD, ids=lambda raw: raw[:12])
def test_odd_values_in_every_place(raw, api):
    failed = []
    for path, body in bodies(raw):
        answer = api.post(path, content=body, headers={"content-type": "application/json"})
        if answer.status_code >= 500:
            failed.append((path, body[:80]))
    question = api.post("/api/v1/case/limits", json={}).json()["question"]
    body = f'{{"question": "{question["id"]}", "reply": {raw}}}'
    answer = api.post("/api/v1/case/reply", content=body, headers={"content-type": "application/json"})
    assert not failed and answer.status_code < 500, (failed, answer.text)
    assert api.get("/api/v1/case").status_code == 200


def test_odd_fields_and_paths(browser, code, monkeypatch):
    monkeypatch.setattr(RateLimits, "spend", lambda *_: None)
    one = browser()
    for path in ("/w/%00", "/try/%00", "/try/%ff", "/w/" + "A" * 5000, "/case/%2e%2e/staff"):
        assert one.get(path).status_code < 500, path
    one.get_page(f"/w/{code}")
    one.get_page("/case/limits")
    token = one.value("token")
    assert one.post("/case/limits", data={"token": "ü"}).status_code == 403
    assert one.post("/case/limits", headers={"x-form-token": b"\xfc"}).status_code == 403
    assert one.post("/case/limits", data={"token": token, "changes": "\0"}).status_code == 403
    for odd in ("²", "-1", "1" * 5000, "0x1", "", "\u0661"):
        assert (
            one.post("/case/let-go", data={"token": token, "place": odd, "revision": odd}).status_code == 422
        ), odd
        assert one.post("/case/undo", data={"token": token, "revision": odd}).status_code < 500, odd
    for odd in ("[" * 50_000, "[" * 50_000 + "]" * 50_000, f"[{'9' * 400}]"):
        for path in ("/case/keep", "/case/receipt"):
            given = {"token": token, "revision": "0", "action": odd}
            assert one.post(path, data=given).status_code < 500, (path, odd[:5])
    admin = browser().log_in("admin")
    admin.get_page("/staff/users")
    assert admin.post(f"/staff/users/{10**30}/off", data={"token": admin.value("token")}).status_code == 404
    operator = browser().log_in("operator")
    operator.get_page("/staff/tokens")
    operator.submit("/staff/tokens", 422, name="x", act="see models", days="²")


def test_no_body_beyond_its_bound_however_it_is_sent(browser):
    one = browser()
    for content in (b"a" * (1 << 21), iter([b"a" * (1 << 19)] * 4)):
        answer = one.post("/api/v1/receipts/verify", content=content)
        assert answer.status_code == 413 and answer.headers["content-security-policy"]
        assert answer.headers["content-type"] == "application/problem+json"


def test_a_fault_tells_nothing_and_goes_no_further(browser, code, services, monkeypatch, logged):
    """The server under us would write the whole message into its log."""

    def broken(*_):
        raise RuntimeError("income 1718")

    one = browser()
    one.get_page(f"/w/{code}")
    monkeypatch.setattr(services.cases, "decision", broken)
    answer = one.get("/case")  # the client raises what reaches the server
    assert answer.status_code == 500 and "1718" not in answer.text + logged() and "RuntimeError" in logged()
    assert answer.headers["cache-control"] == "no-store" and answer.headers["content-security-policy"]


def test_two_who_undo_at_once_undo_once(code, services):
    """What is in memory is what is stored, whoever came second."""
    cases = services.cases
    id = cases.by_code(code)
    one = cases.limits(id, {})
    one = cases.reply(id, cases.question(one).id, "1")
    before, revision = one.dialogue.answered, one.case.revision
    first, second = cases.open(id), cases.open(id)  # two windows
    assert first.dialogue is second.dialogue
    cases.undo(id, revision)
    cases.open = lambda _: second
    with pytest.raises(Exception, match="another window"):
        cases.undo(id)
    del cases.open
    now = cases.open(id)
    cases._held.clear()
    assert now.dialogue.answered == cases.open(id).dialogue.answered == before - 1


def test_an_accepted_person_gets_no_receipt(services, model):
    code = services.cases.make(model, [{"age": 50, "income": 8000, "debt": 1000, "home": "own"}])[0][1]
    one = services.cases.open(services.cases.by_code(code), before_consent=True)
    assert services.cases.decision(one)["accepted"]
    with pytest.raises(WayforwardError, match="a yes already"):
        services.cases.receipt(one, [None, 8500.0, None, None], "The bank")


def test_what_was_kept_stays_when_the_questions_are_spent(browser, code, services):
    one = browser()
    one.get_page(f"/w/{code}")
    one.get_page("/case/plans")
    one.submit("/case/keep", action=html.unescape(one.value("action")))
    services.cases.budget.per_case = 1
    services.cases._plans.clear()  # as after a restart
    text = one.get_page("/case/plans", 422)
    assert "Kept plan 1" in text and "a person will look at it" in text


def test_what_a_stale_window_typed_is_not_lost(browser, code):
    one, two = browser(), browser()
    for window in (one, two):
        window.get_page(f"/w/{code}")
        window.get_page("/case/limits")
    one.submit("/case/limits", changes="1")
    text = two.submit("/case/limits", 409, **{"high-0": "4,567"})
    assert 'value="4567"' in text
    two.submit("/case/limits", **{"high-0": "4,567"})  # sent once more, from the page as it is
    assert 'value="4567"' in two.get_page("/case/limits")


def test_who_starts_at_the_same_time_waits(tmp_path):
    url, failed = f"sqlite:///{tmp_path / 'new.db'}", []

    def start():
        try:
            Database(url).close()
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=start) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not failed


@pytest.mark.parametrize(
    "made",
    [
        lambda place: first_come(place).__enter__(),
        lambda place: Keys.at(place),
        lambda place: Database(f"sqlite:///{place}/a.db"),
    ],
)
def test_a_home_where_no_folder_can_be_is_told_as_what_cannot_be_written(tmp_path, made):
    """Raw errors of the system before."""
    (tmp_path / "file").touch()
    with pytest.raises(WriteError, match="cannot be (made|written): Not a directory"):
        made(tmp_path / "file" / "home")


def test_nothing_in_the_links_is_a_formula(services, model):
    person = {"age": 30, "income": 1, "debt": 1, "home": "own"}
    made = services.cases.make(model, [person] * 200)
    assert all(re.fullmatch("[0-9a-f]{22}", id) and code[0].isalnum() for id, code in made)


def test_every_address_of_a_machine_is_not_this_machine():
    result = CliRunner().invoke(app, ["serve", "--host", "0.0.0.0", "--check"])
    assert result.exit_code != 0 and "plain HTTP" in " ".join(result.output.split())


def test_no_level_is_a_no(browser, code):
    one = browser()
    one.get_page(f"/w/{code}")
    one.get_page("/case/limits")
    one.submit("/case/limits", **{"can-0": "yes", "can-1": "yes", "can-2": "yes", "level-2-0": "on"})
    assert 'name="can-2" value="no">' in one.get_page("/case/limits")
    one.submit("/case/limits", **{"can-0": "yes", "can-1": "yes", "can-2": "yes"})
    assert 'name="can-2" value="no" checked>' in one.get_page("/case/limits")


def test_applicants_do_not_wait_for_a_model_that_comes(browser, services, given, model, monkeypatch):
    """Reading a model takes as long as it takes; the one writer of SQLite is free meanwhile."""
    from wayforward.serve import projects

    read, wrote = projects._read, []

    def slow(*given):
        with services.database.session() as session:
            record(session, "applicant", "wrote meanwhile")
            wrote.append(True)
        return read(*given)

    monkeypatch.setattr(projects, "_read", slow)
    operator = browser().log_in("operator")
    operator.get_page("/staff/models")
    sent = {"token": operator.value("token"), "title": "Slow", "label": "granted", "favourable": "1"}
    answer = operator.post("/staff/models", data=sent, files=files(given, services, model))
    assert answer.status_code == 200 and wrote


def test_a_visit_counts_even_if_nothing_is_said(browser, code, services):
    from datetime import timedelta

    from wayforward.serve.storage.tables import ApplicantCase, now

    with services.database.session() as session:
        session.query(ApplicantCase).one().seen = now() - timedelta(days=89)
    browser().get_page(f"/w/{code}")
    with services.database.session(write=False) as session:
        assert now() - session.query(ApplicantCase).one().seen < timedelta(minutes=5)
