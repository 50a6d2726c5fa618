"""The language of a request: chosen, of the case, of the browser; on pages, errors, letters and in jobs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import wayforward
from wayforward.language import language, use_language
from wayforward.serve.http.languages import COOKIE, accepted, own_path
from wayforward.workers import as_done

PERSON = {"age": 30, "income": 1718, "debt": 1500, "home": "rent"}


@pytest.fixture
def database(tmp_path):
    """These tests need no second kind of database."""
    return f"sqlite:///{tmp_path / 'wayforward.db'}"


@pytest.mark.parametrize(
    ("header", "code"),
    [
        ("", "en"), ("de", "de"), ("de-CH, en;q=0.9", "de"), ("en, de;q=0.9", "en"), ("fr, de;q=0.1", "de"),
        ("de;q=0, en", "en"), ("de;q=0", "en"), ("*", "en"), ("de;q=x", "en"), (",,;;q", "en"), ("DE", "de"),
    ],
)  # fmt: skip
def test_what_a_browser_asks_for(header, code):
    assert accepted(header) == code


@pytest.mark.parametrize(
    "path", ["//x.example", "https://x.example", "/\\x.example", "/a\r\nb", "", "javascript:x"]
)
def test_nobody_is_led_to_another_site(path):
    assert own_path(path) == "/"


def test_a_choice_beats_the_case_and_that_what_the_browser_asks_for(browser, services, model):
    code = services.cases.make(model, [PERSON], "operator", "de")[0][1]
    one = browser()
    one.headers["Accept-Language"] = "en"
    assert '<html lang="en">' in one.get_page("/")
    assert '<html lang="de">' in one.get_page(f"/w/{code}")
    one.submit("/language", language="en", back="/case")
    assert '<html lang="en">' in one.text and one.cookies[COOKIE] == "en"
    assert '<html lang="en">' in one.get_page(f"/w/{code}")
    one.submit("/language", language="xx", back="//x.example")
    assert str(one.get("/").url).endswith(":8000/") and one.cookies[COOKIE] == "en"
    other = browser()
    other.headers["Accept-Language"] = "de-AT"
    for path, status in (("/nothing", 404), ("/staff", 401), ("/case", 401), ("/a%00b", 400)):
        assert '<html lang="de">' in other.get_page(path, status)


def test_a_case_of_ones_own_begins_in_the_language_of_its_page(browser, services, model):
    one = browser()
    one.headers["Accept-Language"] = "de"
    one.get_page(f"/try/{model}")
    one.submit(f"/try/{model}", f0="30", f1="1718", f2="1500", f3="0")
    assert '<html lang="de">' in one.text and 'action="/language"' not in one.text  # the code is shown once
    with services.database.session(write=False) as session:
        from wayforward.serve.storage.tables import ApplicantCase

        assert services.cases.language_of(session.query(ApplicantCase).one().id) == "de"


def test_the_way_back_from_a_page_that_a_form_led_to(browser, code):
    one = browser()
    one.get_page(f"/w/{code}")
    one.get_page("/case/limits")
    one.submit("/case/limits", 422, changes="many")
    assert one.value("back") == "/case/limits"
    one.submit("/case/limits")
    action = one.value("action")
    one.submit("/case/receipt", action=action)
    assert one.value("back") == "/case/plans"
    one.submit("/language", language="de", back=one.value("back"))
    assert '<html lang="de">' in one.text


def test_links_and_programs_say_a_language(browser, services, model):
    operator = browser().log_in("operator")
    operator.get_page("/staff/cases")
    sent = {"data": {"token": operator.value("token"), "model": model, "language": "de"}}
    sent["files"] = {"people": ("p.csv", b"age,income,debt,home\n30,1718,1500,rent\n")}
    code = operator.post("/staff/cases", **sent).text.splitlines()[1].split(",")[2]
    assert services.cases.language_of(services.cases.by_code(code)) == "de"
    sent["data"]["language"] = "xx"
    assert operator.post("/staff/cases", **sent).status_code == 422
    program = browser()
    program.headers["Authorization"] = f"Bearer {code}"
    assert program.get("/api/v1/case/decision").status_code == 200
    program.post("/api/v1/case/consent", json={"version": 1})
    assert program.get("/api/v1/case").json()["language"] == "de"


def _language_of(_: int) -> str:
    return language()


def test_threads_work_in_the_language_of_who_gave_them_work():
    with use_language("de"):
        assert {
            code for _, code in as_done(_language_of, [(i,) for i in range(8)], workers=3, on="threads")
        } == {"de"}


def test_what_is_looked_up_by_a_variable_is_no_html():
    """`_()` gives HTML as it stands in the catalog, and its argument where the catalog has none: constants alone."""
    folder = Path(wayforward.__file__).parent
    found = [
        f"{file.name}: {call[:40]}"
        for file in sorted([*folder.rglob("*.html"), *folder.rglob("*.j2")])
        for call in re.findall(r"\b(?:_|n?gettext|pgettext)\(\s*[^\"'\s].*", file.read_text(encoding="utf-8"))
        if ").unescape()" not in call  # which makes a text of it again
    ]
    assert not found
