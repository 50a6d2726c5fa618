"""What attackers try: code in texts, formulas in tables, lines in headers, other paths, planted sessions, guessing."""

from __future__ import annotations

import csv
import io
import re
from types import SimpleNamespace

import numpy as np
import pytest

from wayforward.answers import write_csv
from wayforward.serve import accounts
from wayforward.serve.http import guard
from wayforward.serve.limits import RateLimits
from wayforward.serve.permissions import Act, Role, may
from wayforward.serve.projects import Project
from wayforward.serve.storage.tables import Event, ModelVersion, User
from wayforward.study.preview import preview
from wayforward.study.protocol import StudyProtocol
from wayforward.study.ready_made import ready_made_text

from .conftest import PASSWORD, schema
from .test_guard import doors

HTML = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"
SQL = ("' OR '1'='1", '\'; DROP TABLE "user"; --', "admin'--", "1 UNION SELECT password FROM user", "%", "\\")


@pytest.fixture
def database(tmp_path):
    """These tests need no second kind of database."""
    return f"sqlite:///{tmp_path / 'wayforward.db'}"


@pytest.fixture
def free(monkeypatch):
    """No limit of rates."""
    monkeypatch.setattr(RateLimits, "spend", lambda *_: None)


def unsafe():
    """Every route of a page that changes something, and its guards."""
    return [
        (route, found)
        for route, found in doors()
        if route.methods - {"GET", "HEAD"} and not route.path.startswith("/api/")
    ]


@pytest.mark.parametrize("n", [150, 200, 399, 400, 2000])
def test_nobody_finds_a_single_past_person_by_asking_with_many_numbers_of_their_own(n):
    """Between two shares that differ lie about ten people or more, and before the first of them, too."""
    incomes = np.sort(np.random.default_rng(n).permutation(9000)[:n]).astype(float)
    rows = np.tile(incomes[:, None], (1, schema().d))
    one = Project("a", "b", SimpleNamespace(schema=schema(), reference=rows))
    told = [one.others("income", income + 0.5) for income in incomes]  # after each person a new question
    if n < 200:
        assert set(told) == {""}
        return
    for shares in zip(*(re.findall(r"about (\d+)", text) for text in told), strict=True):
        changes = [i + 1 for i in range(n - 1) if shares[i] != shares[i + 1]]
        assert len(changes) > 9 and changes[0] >= 9 and min(np.diff(changes)) >= 9


@pytest.mark.parametrize("route, guards", unsafe(), ids=lambda one: getattr(one, "path", ""))
def test_no_form_from_elsewhere_on_any_route(route, guards, browser, code, services, free):
    """Without the token of our own page, or with that of another browser, nothing happens, whoever is logged in."""
    one, other = browser(), browser()
    acts = [found.act for found in guards if hasattr(found, "act")]
    if acts:
        one.log_in(next(role for role in Role if may(role, acts[0])))
    elif guard.applicant in guards:
        one.get_page(f"/w/{code}")
    else:
        one.get_page("/")
    other.get_page("/")
    path = re.sub(r"\{\w+\}", "9", route.path)
    with services.database.session(write=False) as session:
        before = session.query(Event).count()
    for token in ("", "x", other.value("token")):
        answer = one.post(path, data={"token": token}, headers={"origin": "https://elsewhere.example"})
        assert answer.status_code == 403, (path, answer.status_code)
    with services.database.session(write=False) as session:
        assert session.query(Event).count() == before
    if path == "/case/delete":  # a program's way takes no cookie at all
        assert one.delete("/api/v1/case").status_code == 401


def test_every_way_in_gives_a_cookie_of_its_own(browser, code, model):
    """Whoever knows the cookie from before knows nothing of the session after."""

    def by_login(one):
        one.get_page("/login")
        one.submit("/login", name="operator", password=PASSWORD)

    def by_typed_code(one):
        one.get_page("/")
        one.submit("/open", code=code)

    def by_own_row(one):
        one.get_page(f"/try/{model}")
        one.submit(f"/try/{model}", f0="30", f1="1,900", f2="1,500", f3="0")

    for enter in (by_login, lambda one: one.get_page(f"/w/{code}"), by_typed_code, by_own_row):
        one, thief = browser(), browser()
        for each in (one, thief):
            each.cookies.set(guard.COOKIE, "planted", domain="127.0.0.1")
        enter(one)
        after = [cookie.value for cookie in one.cookies.jar if cookie.name == guard.COOKIE]
        assert "planted" not in after and len(after[-1]) >= 43
        for path in ("/staff", "/case"):
            assert thief.get(path).status_code == 401


def test_code_in_texts_is_text(browser, services, model, free):
    with services.database.session() as session:
        accounts.add_user(session, HTML[:60], "auditor", PASSWORD)
        accounts.make_token(
            session, session.query(User).filter_by(name="operator").one(), HTML, [Act.SEE_MODELS]
        )
        version = session.query(ModelVersion).one()
        version.title = HTML
    admin, operator, anyone = browser().log_in("admin"), browser().log_in("operator"), browser()
    seen = 0
    for one, paths in (
        (admin, ("/staff/users", "/staff/log", "/staff/models")),
        (operator, ("/staff/models", "/staff/cases", "/staff/jobs", "/staff/tokens")),
        (anyone, ("/", f"/try/{model}")),
    ):
        for path in paths:
            text = one.get_page(path)
            assert "<script>alert" not in text and "<img src=x" not in text, path
            seen += "&lt;script&gt;alert" in text
    assert seen >= 7
    for path in (f"/w/{HTML}", f"/try/{HTML}", f"/{HTML}"):
        assert "<script>alert" not in anyone.get(path).text
    anyone.get_page("/verify")
    text = anyone.submit("/verify", 422, text="</textarea>" + HTML)
    assert "<script>alert" not in text and "&lt;script&gt;" in text
    assert "<b>&other" not in anyone.get_page(f"/try/{model}")  # the text of a level


def test_code_in_a_protocol_is_text():
    """Also the ends of a scale, which are looked up in the catalog."""
    text = ready_made_text("point-or-region").replace("not at all", "<b>not</b> at all")
    shown = preview(StudyProtocol.parse(text), "en")
    assert "&lt;b&gt;not&lt;/b&gt;" in shown and "<b>not</b>" not in shown


@pytest.mark.parametrize("text", SQL)
def test_texts_are_no_commands_of_the_database(text, browser, services, code, free):
    one = browser()
    one.get_page("/login")
    one.submit("/login", 401, name=text, password=text)
    one.get_page("/")
    one.submit("/open", 404, code=text)
    for path in ("/w/{}", "/p/{}", "/s/{}", "/try/{}"):
        assert one.get(path.format(text.replace("%", "%25"))).status_code in (403, 404), path
    for key in (text, code + text):
        one.headers["Authorization"] = f"Bearer {key}"
        assert one.get("/api/v1/case/decision").status_code in (200, 401)  # letters of a code alone count
        assert one.get("/api/v1/models").status_code == 401
    with services.database.session(write=False) as session:
        assert session.query(User).count() == len(Role)


def test_no_cell_of_a_table_is_a_formula(tmp_path, browser, services, model):
    """Neither in results nor in links; a name of a file that came in goes nowhere."""
    texts = ["=1+1", "+1", "-1+2", "@SUM(A1)", "\t=1", "\r=1", "=cmd|' /C calc'!A0"]
    write_csv([{"text": text, "=number": 1.0} for text in texts], tmp_path / "out.csv")
    with (tmp_path / "out.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert all(row[0].startswith("'") for row in rows[1:])
    operator = browser().log_in("operator")
    operator.get_page("/staff/cases")
    people = "age,income,debt,home\n30,1500,900,rent\n"
    answer = operator.post(
        "/staff/cases",
        data={"token": operator.value("token"), "model": model},
        files={"people": ("=cmd|'.csv", people)},
    )
    cells = [cell for row in csv.reader(io.StringIO(answer.text)) for cell in row]
    assert cells and not any(cell[:1] in "=+-@\t\r" for cell in cells)


def test_no_line_comes_into_a_header(browser, code, services, free):
    broken = "x\r\nset-cookie: wayforward=planted"
    one = browser()
    paths = ["/w/%0d%0aset-cookie:%20a=b", "/static/%0d%0aset-cookie:%20a=b", "/s/%0d%0aset-cookie:%20a=b"]
    for path in paths:
        answer = one.get(path, follow_redirects=False)
        assert "a=b" not in str(answer.headers)
    one.get_page("/")
    token = one.value("token")
    for field in ("back", "language", "code"):
        for path in ("/language", "/open"):
            answer = one.post(path, data={"token": token, field: broken}, follow_redirects=False)
            assert "planted" not in str(answer.headers), (path, field)
    one.get_page(f"/w/{code}")
    answer = one.post(
        "/case/keep", data={"token": one.value("token"), "back": broken}, follow_redirects=False
    )
    assert "planted" not in str(answer.headers)


def test_links_do_not_follow_the_host_of_a_request(browser, model):
    """Else a planted Host would send people's codes elsewhere."""
    operator = browser().log_in("operator")
    operator.get_page("/staff/cases")
    answer = operator.post(
        "/staff/cases",
        data={"token": operator.value("token"), "model": model},
        files={"people": ("people.csv", "age,income,debt,home\n30,1500,900,rent\n")},
        headers={"host": "elsewhere.example", "x-forwarded-host": "elsewhere.example"},
    )
    assert answer.status_code == 200 and "elsewhere" not in answer.text + str(answer.headers)


def test_no_path_leads_out(browser, services, free):
    operator = browser().log_in("operator")
    secret = (services.settings.home / "keys.json").read_text()
    for path in (
        "/static/../keys.json", "/static/%2e%2e/keys.json", "/static/..%2f..%2fkeys.json", "/static/%5c..%5ckeys.json",
        "/staff/jobs/..%2f..%2fkeys.json/answers.csv", "/staff/jobs/%2e%2e/answers.csv", "/try/..%2fkeys.json",
        "/staff/jobs/....%2f%2fkeys/audit.html", "/staff/models/..%2f..%2fkeys.json/publish",
    ):  # fmt: skip
        answer = operator.get(path)
        assert answer.status_code in (403, 404, 405) and secret[:20] not in answer.text, (
            path,
            answer.status_code,
        )


@pytest.mark.parametrize(
    "what, most",
    [
        ("login", 20),
        ("typed code", 30),
        ("link", 30),
        ("way back", 30),
        ("code of a program", 300),
        ("token", 600),
    ],
)
def test_guessing_ends_at_a_limit(what, most, browser):
    """One address may try so often in a minute, by each door."""
    one = browser()
    one.get_page("/login" if what == "login" else "/")
    token = one.value("token")

    def guess(i):
        if what == "login":
            return one.post("/login", data={"token": token, "name": f"name {i}", "password": "guess"})
        if what == "typed code":
            return one.post("/open", data={"token": token, "code": f"AAAA-{i:04d}"})
        if what in ("link", "way back"):
            return one.get(f"/{'w' if what == 'link' else 'p'}/AAAA-{i:04d}")
        path = "models" if what == "token" else "case"
        return one.get(f"/api/v1/{path}", headers={"Authorization": f"Bearer wf_{i}"})

    answers = [guess(i).status_code for i in range(most + 1)]
    assert set(answers[:-1]) <= {401, 404} and answers[-1] == 429
