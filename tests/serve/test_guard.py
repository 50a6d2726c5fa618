"""Who may do what, over every route and role; forms from elsewhere; guessing; what is readable where."""

from __future__ import annotations

import re
import threading
import time
from datetime import timedelta

import pytest
from fastapi.routing import APIRoute

from wayforward.serve import accounts
from wayforward.serve.events import first_broken, record
from wayforward.serve.http import api, applicant, audits, entrance, guard, staff, study, study_task
from wayforward.serve.keys import SealError, seal_plain, unseal_plain
from wayforward.serve.limits import RateLimits, TooOften
from wayforward.serve.permissions import ALLOWED, Act, Role, may
from wayforward.serve.storage.tables import ApiToken, ApplicantCase, Event, Login, User, now

from .conftest import PASSWORD, PLANTED

OPEN = {
    "/language",
    "/",
    "/w/{code}",
    "/open",
    "/try/{model_id}",
    "/verify",
    "/key",
    "/login",
    "/logout",
    "/staff",
    "/s/{link}",
    "/p/{code}",
}
OPEN_API = {
    f"/api/v1/{path}"
    for path in ("receipts/verify", "receipts/key", "open-models", "open-models/{id}/cases", "studies/join")
}


def doors():
    """(route, its guards) of every route of ours."""

    def guards(dependant):
        for one in dependant.dependencies:
            yield one.call
            yield from guards(one)

    return [
        (route, set(guards(route.dependant)))
        for router in (
            entrance.router,
            applicant.router,
            staff.router,
            audits.router,
            *api.routers(),
            study.router,
            study_task.router,
        )
        for route in router.routes
        if isinstance(route, APIRoute)
    ]


@pytest.fixture
def database(tmp_path):
    """These tests need no second kind of database."""
    return f"sqlite:///{tmp_path / 'wayforward.db'}"


def test_every_route_has_one_guard():
    found = doors()
    assert len(found) > 40
    for route, guards in found:
        acts = [one.act for one in guards if hasattr(one, "act")]
        kinds = (
            len(acts)
            + (guard.applicant in guards)
            + (guard.participant in guards)
            + (guard.by_code in guards)
            + (guard.by_participant_code in guards)
        )
        if kinds == 0:
            assert route.path in OPEN | OPEN_API, f"{route.path} is open to everybody"
        else:
            assert kinds == 1, route.path


@pytest.mark.parametrize("role", [None, "applicant", *Role])
def test_the_table_of_permissions_is_what_happens(role, browser, code, services):
    """Every page of the staff, for every role: exactly those whose act is in the table are let in."""
    one = browser()
    if role == "applicant":
        one.get_page(f"/w/{code}")
    elif role is not None:
        one.log_in(role)
    for route, guards in doors():
        acts = [
            found.act for found in guards if hasattr(found, "act") and found.__qualname__.startswith("staff")
        ]
        if not acts:
            continue
        able = isinstance(role, Role) and may(role, acts[0])
        path = re.sub(r"\{\w+\}", "999999", route.path)
        for method in route.methods & {"GET", "POST"}:
            one.get("/login")
            token = guard.form_token(services, one.cookies.get(guard.COOKIE))
            answer = one.request(method, path, data={"token": token} if method == "POST" else None)
            assert (answer.status_code in (401, 403)) != able, (role, method, path, answer.status_code)


@pytest.mark.parametrize("role", [None, "applicant", *Role])
def test_the_table_of_permissions_is_what_programs_meet(role, browser, code, services):
    """Every endpoint, for a token of every role with all that its account may do: the same table."""
    one = browser()
    if role == "applicant":
        one.headers["Authorization"] = f"Bearer {code}"
    elif role is not None:
        with services.database.session() as session:
            user = session.query(User).filter_by(name=role).one()
            acts = [act for act in Act if may(role, act)]
            one.headers["Authorization"] = f"Bearer {accounts.make_token(session, user, 'all', acts)}"
    seen = 0
    for route, guards in doors():
        acts = [found.act for found in guards if getattr(found, "__qualname__", "").startswith("program")]
        if not acts and guard.by_code not in guards:
            continue
        able = isinstance(role, Role) and may(role, acts[0]) if acts else role == "applicant"
        path = route.path.replace("{place}", "0")
        ids = dict.fromkeys(("models", "tokens", "studies"), "f" * 64) | {"jobs": "j" * 22, "users": "999999"}
        for name, id in ids.items():
            path = path.replace(f"{name}/{{id}}", f"{name}/{id}")
        for method in route.methods:
            if method == "DELETE" and path in ("/api/v1/case", "/api/v1/case/consent"):
                continue  # the code would open less afterwards
            seen += 1
            answer = one.request(method, path, json={} if method == "POST" else None)
            assert (answer.status_code in (401, 403)) != able, (role, method, path, answer.text)
    assert seen > 35


def test_every_act_of_a_page_is_an_endpoint():
    """What the staff can do by hand a program can do, too, with the same permission."""
    by_page, by_program = set(), set()
    for route, guards in doors():
        for found in guards:
            kind = getattr(found, "__qualname__", "").partition(".")[0]
            if kind in ("staff", "program"):
                (by_page if kind == "staff" else by_program).add((found.act, "GET" in route.methods))
    assert by_page <= by_program


def test_every_act_is_somebodys_and_none_is_everybodys():
    assert set(ALLOWED) == set(Act)
    assert all(roles and roles < set(Role) for roles in ALLOWED.values())
    assert not any(may(None, act) for act in Act)
    assert not may(Role.AUDITOR, Act.ADD_MODEL) and not may(Role.AUDITOR, Act.FETCH_RESULTS)


def test_a_form_from_elsewhere_is_refused(browser, code, services):
    one = browser()
    one.get_page(f"/w/{code}")
    other = browser()
    other.get_page("/")
    for token in ("", "x", other.value("token")):
        assert one.post("/case/delete", data={"token": token}).status_code == 403
    assert one.get("/case").status_code == 200


def test_a_planted_cookie_is_worth_nothing(browser, code):
    """Whoever plants a cookie does not share the session that is opened with it."""
    one = browser()
    one.cookies.set(guard.COOKIE, "planted")
    one.get_page("/login")
    one.submit("/login", name="operator", password=PASSWORD)
    thief = browser()
    thief.cookies.set(guard.COOKIE, "planted")
    assert thief.get("/staff").status_code == 401
    applicant = browser()
    applicant.cookies.set(guard.COOKIE, "planted")
    applicant.get_page(f"/w/{code}")
    assert thief.get("/case").status_code == 401


def test_one_applicant_never_sees_another(browser, services, model, code):
    other = services.cases.make(model, [{"age": 50, "income": 1000, "debt": 10, "home": "own"}])[0][1]
    one, two = browser(), browser()
    one.get_page(f"/w/{code}")
    two.get_page(f"/w/{other}")
    two.submit("/case/consent")
    two.cookies.set(guard.COOKIE, two.cookies[guard.COOKIE])
    two.get_page("/case/limits")
    two.submit("/case/limits", changes="1")
    assert "1,718" in one.get_page("/case/limits") and "1,718" not in two.get_page("/case/limits")
    assert 'value="1"' not in re.search(r'name="changes".*?>', one.text)[0]


def test_wrong_passwords_lock_longer_and_longer(services):
    database = services.database
    for _ in range(5):
        assert accounts.log_in(database, "admin", "wrong") is None
    assert accounts.log_in(database, "admin", PASSWORD) is None
    with database.session() as session:
        session.query(User).filter_by(name="admin").one().locked_until = None
    assert accounts.log_in(database, "admin", PASSWORD).failures == 0


def test_a_locked_account_takes_no_guess(services):
    """While the account is locked the right password is no better than a wrong one."""
    guesses = [f"guess {i}" for i in range(100)]
    guesses[50:50] = [PASSWORD] * 5
    assert not any(accounts.log_in(services.database, "admin", guess) for guess in guesses[:5])
    with services.database.session() as session:
        session.query(User).filter_by(name="admin").one().locked_until = now() + timedelta(minutes=5)
    assert not any(accounts.log_in(services.database, "admin", guess) for guess in guesses)


def test_a_minute_is_a_minute_whoever_sets_the_clock(monkeypatch):
    """Within any sixty seconds so many; a try that is refused does not count, and others have tries of their own."""
    clock = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    limits, allowed = RateLimits(), []
    monkeypatch.setattr(time, "time", lambda: 1e9)
    for second in range(0, 130, 10):
        clock[0] = 1000.0 + second
        if second == 50:
            monkeypatch.setattr(time, "time", lambda: 1e9 - 3600)
        try:
            limits.spend("login", "somebody", 3)
            allowed.append(second)
        except TooOften:
            limits.spend("login", f"other {second}", 3)
    assert allowed == [0, 10, 20, 60, 70, 80, 120]
    assert len(limits._times) < 6  # of those whose minute is over nothing is kept


def test_guesses_sent_at_once_are_all_counted(services):
    threads = [
        threading.Thread(target=accounts.log_in, args=(services.database, "admin", "x")) for _ in range(4)
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    with services.database.session(write=False) as session:
        assert session.query(User).filter_by(name="admin").one().failures == 4


def test_no_answer_tells_an_unknown_name_from_a_wrong_or_a_locked_one(browser, services, monkeypatch):
    hashed = []
    verified = accounts._verified
    monkeypatch.setattr(accounts, "_verified", lambda *given: hashed.append(1) or verified(*given))
    with services.database.session() as session:
        session.query(User).filter_by(name="auditor").one().locked_until = now() + timedelta(minutes=5)
        session.query(User).filter_by(name="approver").one().disabled = True
    one, seen = browser(), set()
    for name, password in (
        ("nobody", "x"), ("admin", "x"), ("auditor", "x"), ("auditor", PASSWORD), ("approver", PASSWORD),
    ):  # fmt: skip
        one.get_page("/login")
        answer = one.post("/login", data={"token": one.value("token"), "name": name, "password": password})
        seen.add((answer.status_code, answer.text))
    assert len(seen) == 1 and seen.pop()[0] == 401
    assert len(hashed) == 5  # the slow part is done for each of them


def test_codes_cannot_be_tried_out(browser, services):
    one = browser()
    one.get_page("/")
    answers = [one.get(f"/w/AAAA-BBBB-CCCC-{i:04d}").status_code for i in range(40)]
    assert answers[0] == 404 and answers[-1] == 429


def test_cookies_headers_and_secrets(browser, services, code):
    one = browser()
    answer = one.get("/", follow_redirects=False)
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=lax" in cookie
    assert "default-src 'self'" in answer.headers["content-security-policy"]
    assert (
        answer.headers["x-content-type-options"] == "nosniff"
        and answer.headers["cache-control"] == "no-store"
    )
    assert "unsafe" not in answer.headers["content-security-policy"]
    with services.database.session(write=False) as session:
        stored = {login.id for login in session.query(Login)} | {
            user.password for user in session.query(User)
        }
        stored |= {case.code for case in session.query(ApplicantCase)}
    one.get_page(f"/w/{code}")
    assert code not in stored and one.cookies[guard.COOKIE] not in stored


def test_nothing_of_a_person_is_readable_at_rest(browser, code, services, tmp_path, logged):
    one = browser()
    one.get_page(f"/w/{code}")
    one.get_page("/case/limits")
    one.submit("/case/limits", **{"high-0": "4,321"})
    one.submit("/case/limits", 422, **{"high-0": "9876 parrots"})
    services.database.close()
    # models, and those trained again, are of the table alone; their files number objects by where they lay in memory
    files = b"".join(
        path.read_bytes()
        for path in tmp_path.rglob("*")
        if path.is_file() and not {"models", "retrained"} & set(path.parts)
    )
    for value in (str(PLANTED - 1000), "4321", "4,321", "parrots", code, code.replace("-", "")):
        assert value.encode() not in files and value not in logged()
    assert b"sqlite" in files.lower()


def test_what_was_sealed_is_opened_only_whole_and_in_its_place():
    key, other = b"k" * 32, b"o" * 32
    sealed = seal_plain(key, {"x": [1.0, None]}, "case")
    assert unseal_plain(key, sealed, "case") == {"x": [1.0, None]}
    for wrong in (
        (other, sealed, "case"),
        (key, sealed, "another"),
        (key, sealed[:-1] + b"!", "case"),
        (key, b"", ""),
    ):
        with pytest.raises(SealError):
            unseal_plain(*wrong)


def test_the_log_shows_what_was_changed_in_it(services):
    with services.database.session() as session:
        for i in range(5):
            record(session, "admin", "tried", str(i))
        assert first_broken(session) is None
        line = session.query(Event).filter_by(what="tried", subject="2").one()
        line.subject = "3"
        session.flush()
        assert first_broken(session) == line.id
        line.subject = "2"
        session.flush()
        assert first_broken(session) is None
        session.delete(line)
        session.flush()
        assert first_broken(session) == line.id + 1


def test_a_token_may_do_what_it_was_made_for(browser, services, model):
    with services.database.session() as session:
        user = session.query(User).filter_by(name="operator").one()
        token = accounts.make_token(session, user, "nightly", [Act.SEE_MODELS])
        with pytest.raises(accounts.AccountError, match="manage accounts"):
            accounts.make_token(session, user, "more", [Act.MANAGE_USERS])
    api = browser()
    api.headers["Authorization"] = f"Bearer {token}"
    assert api.get("/api/v1/models").json()[0]["id"] == model
    people = {"model": model, "people": [{"age": 30, "income": 1, "debt": 1, "home": "own"}]}
    assert api.post("/api/v1/cases", json=people).status_code == 403
    with services.database.session() as session:
        session.query(User).filter_by(name="operator").one().disabled = True
        assert session.query(ApiToken).count() == 1
    assert api.get("/api/v1/models").status_code == 401


def test_a_token_ends_none_that_may_more(browser, services):
    with services.database.session() as session:
        operator = session.query(User).filter_by(name="operator").one()
        less = accounts.make_token(session, operator, "less", [Act.HAVE_TOKENS])
        accounts.make_token(session, operator, "more", [Act.HAVE_TOKENS, Act.SEE_MODELS])
        accounts.make_token(session, operator, "like", [Act.HAVE_TOKENS])
        ids = {one.name: one.id for one in session.query(ApiToken)}
    api = browser()
    api.headers["Authorization"] = f"Bearer {less}"
    assert api.delete(f"/api/v1/tokens/{ids['more']}").status_code == 404
    assert api.delete(f"/api/v1/tokens/{ids['like']}").status_code < 300
    with services.database.session(write=False) as session:
        assert {one.name for one in session.query(ApiToken)} == {"less", "more"}


def test_tokens_are_listed_and_revoked_by_their_account_alone(browser, services):
    with services.database.session() as session:
        of = {name: session.query(User).filter_by(name=name).one() for name in ("operator", "auditor")}
        mine = accounts.make_token(session, of["operator"], "nightly", [Act.SEE_MODELS, Act.HAVE_TOKENS])
        accounts.make_token(session, of["auditor"], "theirs", [Act.SEE_EVENTS])
        theirs = session.query(ApiToken).filter_by(name="theirs").one().id
    api = browser()
    api.headers["Authorization"] = f"Bearer {mine}"
    listed = api.get("/api/v1/tokens")
    assert [one["name"] for one in listed.json()] == ["nightly"] and mine not in listed.text
    assert api.delete(f"/api/v1/tokens/{theirs}").status_code == 404
    operator = browser().log_in("operator")
    text = operator.get_page("/staff/tokens")
    assert "nightly" in text and "theirs" not in text and mine not in text
    assert (
        operator.post(f"/staff/tokens/{theirs}/revoke", data={"token": operator.value("token")}).status_code
        == 404
    )
    operator.submit(f"/staff/tokens/{listed.json()[0]['id']}/revoke")
    assert "nightly" not in operator.text and api.get("/api/v1/models").status_code == 401
    with services.database.session(write=False) as session:
        assert session.query(Event).filter_by(what="token revoked", subject="nightly").one()
        assert session.get(ApiToken, theirs) is not None
