"""No page shows a text that nobody looked up: each that was is in marks here, and what is outside of them is data.

So a sentence that stands in a template or a module without `_()` or `gettext` is found, in every language at once.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from gettext import NullTranslations
from html.parser import HTMLParser
from typing import Any

import pytest

from wayforward import language
from wayforward.answers import page as answers_page
from wayforward.serve.events import LINES
from wayforward.serve.http import entrance
from wayforward.serve.http.app import STATIC
from wayforward.serve.jobs import DONE, FAILED, RUNNING, WAITING
from wayforward.serve.permissions import Role
from wayforward.serve.storage.tables import Job
from wayforward.study.ready_made import NAMES, ready_made, ready_made_text

from .conftest import schema

SHOWN = {"aria-label", "alt", "title", "placeholder", "data-label", "data-yes", "data-no", "data-slider"}
NOT_SHOWN = {"script", "style", "code", "textarea"}  # a receipt is signed data
DATA = [
    *schema().names, "rent", "own", "<b>&other", "EUR/month", "EUR", "years", "A small loan", "Ms Roe, room 3",
    "wayforward", *language.LANGUAGES.values(), *Role, "setup", "applicant", "clock", "CSV", "Parquet", "JSON", "UTC",
    "(YAML)", "http://127.0.0.1:8000", "kim", "a table of mine",
]  # fmt: skip
CODE = re.compile(
    r"\b\d+ [A-Z][a-z]+ \d{4}\b|"  # a day
    r"\b[0-9a-f]{12,}\b|\b\w{4}(-\w{4}){3}\b|/[sp]/\S+|\bwf_\S+|\b[A-Z2-7]{10}\b|\b\d+[\d.e-]*\b"
)


class Marked(NullTranslations):
    """A catalog that knows every text, and says so."""

    def gettext(self, message: str) -> str:
        return f"⟦{message}⟧"

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        return f"⟦{msgid1 if n == 1 else msgid2}⟧"

    def pgettext(self, context: str, message: str) -> str:
        return f"⟦{message}⟧"


class Reader(HTMLParser):
    """Every text of a page that somebody sees or hears."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.attributes: list[str] = []
        self.texts: list[str] = []
        self._inside: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in NOT_SHOWN:
            self._inside.append(tag)
        self.attributes += [value for name, value in attrs if name in SHOWN and value]

    def handle_endtag(self, tag: str) -> None:
        if tag in NOT_SHOWN and self._inside:
            self._inside.pop()

    def handle_data(self, data: str) -> None:
        if not self._inside:
            self.texts.append(data)


def not_looked_up(page: str, data: list[str]) -> list[str]:
    """What a page shows that was not looked up, and is no data."""
    read = Reader(page)
    rest, before = "\n".join([*read.attributes, *read.texts]), ""
    while rest != before:  # marks stand in marks, and a marked text may hold a link
        rest, before = re.sub(r"⟦[^⟦⟧]*⟧", " ", rest), rest
    found = []
    for text in filter(None, (" ".join(line.split()) for line in rest.splitlines())):
        bare = text
        for one in data:
            bare = bare.replace(one, " ").replace(one[:1].upper() + one[1:], " ")
        if re.search(r"[^\W\d_]{2}", CODE.sub(" ", bare)):
            found.append(text)
    return found


def strings(given: Any) -> Iterator[str]:
    """Every text of plain data."""
    if isinstance(given, str):
        yield given
    elif isinstance(given, dict | list | tuple):
        for part in given.values() if isinstance(given, dict) else given:
            yield from strings(part)


@pytest.fixture
def database(tmp_path):
    """These tests need no second kind of database."""
    return f"sqlite:///{tmp_path / 'wayforward.db'}"


@pytest.fixture(autouse=True)
def marked(monkeypatch):
    catalog = Marked()
    for module in (language, answers_page):
        monkeypatch.setattr(module, "catalog", lambda code: catalog)


def everybody(browser, services, model, code):
    one = browser()
    for path in ("/", "/verify", "/login"):
        yield one.get_page(path)
    for path, status in (("/nothing", 404), ("/open", 405), ("/case", 401), ("/study", 401), ("/staff", 401)):
        yield one.get_page(path, status)
    one.get_page("/verify")
    yield one.submit("/verify", 422, text="x")
    yield one.post("/open", data={"code": "x"}).text
    one.get_page("/login")
    yield one.submit("/login", 401, name="operator", password="wrong")
    yield one.get_page(f"/try/{model}")
    yield one.submit(f"/try/{model}", 422, f0="200", f1="1.5", f2="x", f3="9")
    yield one.submit(f"/try/{model}", f0="30", f1="1718", f2="1500", f3="0")


def applicant(browser, services, model, code):
    one = browser()
    yield one.get_page(f"/w/{code}")
    yield one.submit("/case/consent", 409, version="9")
    one.get_page("/case")
    yield one.submit("/case/consent")
    yield one.submit("/case/limits", 422, changes="many")
    yield one.submit("/case/limits")
    action = one.value("action")
    yield one.submit("/case/keep", action=action)
    yield one.submit("/case/keep", 422, action="[1]")
    yield one.submit("/case/receipt", action=action)
    yield one.get_page("/case/what-if")
    yield one.submit("/case/what-if", 422, **{"value-0": "x"})
    yield one.submit("/case/what-if", **{"value-0": "8000"})
    yield one.get_page("/case/choices")
    yield one.submit("/case/reply", question=one.value("question"), reply="stop here")
    for path in ("/case/plans", "/case/letter", "/case/delete"):
        yield one.get_page(path)
    yield one.submit("/case/delete")


def operator(browser, services, model, code):
    with services.database.session() as session:
        for place, status in enumerate((WAITING, RUNNING, DONE, FAILED)):
            for kind in ("plans", "audit"):
                session.add(
                    Job(
                        id=f"{kind}{place}",
                        kind=kind,
                        model_id=model,
                        given={},
                        status=status,
                        done=5,
                        total=9,
                    )
                )
    one = browser().log_in("operator")
    for place in ("", "/models", "/cases", f"/desk/{model}", "/jobs", "/tokens"):
        yield one.get_page(f"/staff{place}")
    yield one.submit("/staff/tokens", 422, name="kim", days="900", act=["see models"])
    yield one.submit("/staff/tokens", name="kim", days="9", act=["see models"])
    for path in ("/staff/models", "/staff/jobs", "/staff/cases"):
        yield one.submit(path, 422)
    yield one.get_page("/staff/users", 403)
    yield one.submit("/staff/jobs/none/stop", 404)


def audits(services, model):
    """Pages of a finished audit, with a group of which nothing is told."""
    few = {"group": "rent", "people": 4, "figures": {}}
    usable = {"value": 0.5, "low": 0.4, "high": 0.6, "n": 90}
    many = {"group": "own", "people": 90, "figures": {"usable": usable}}
    found = {
        "attributes": [{"name": "home", "groups": [few, many]}],
        "overall": {"figures": {"usable": usable}},
    }
    ends = ("FOUND", "NONE_EXISTS", "NOT_FOUND")
    cases = [
        {"case": f"{i:012x}", "outcome": end, "cost": None if i else 1.5, "dearer_than": None if i else 0.5,
         "groups": {"home": "own"} if i else {}, "changes": [] if i else [
             {"feature": "income", "direction": "up"}, {"feature": "debt", "direction": "down"},
             {"feature": "home", "direction": "other"}]}
        for i, end in enumerate(ends)
    ]  # fmt: skip
    ids = ("a" * 22, "b" * 22)
    with services.database.session() as session:
        for id, given in zip(ids, ({}, {"threshold": 0.9}), strict=True):
            session.add(Job(id=id, kind="audit", model_id=model, given=given, status=DONE))
    for id in ids:
        folder = services.jobs.folder / id
        folder.mkdir(parents=True)
        (folder / "audit.html").write_text("")
        (folder / "audit.json").write_text(json.dumps(found))
        (folder / "cases.json").write_text(json.dumps(cases))
    cases_page = f"/audits/{ids[0]}/cases"
    singles = (f"{cases_page}/{one['case']}" for one in cases)
    return "/audits?" + "&".join(f"audit={id}" for id in ids), cases_page, *singles


def oversight(browser, services, model, code):
    for role, places in {
        "auditor": ("", "/log", "/jobs", "/audits", *audits(services, model)),
        "approver": ("", "/models"),
        "admin": ("", "/users"),
    }.items():
        one = browser().log_in(role)
        for place in places:
            yield one.get_page(f"/staff{place}")
    yield one.submit("/staff/users", 422, name="k", role="auditor", password="x")
    yield one.submit("/staff/users", 422, name="kim", role="auditor", password="x")
    yield one.submit("/staff/users", name="kim", role="auditor", password="five words for a door")


def participant(browser, services, model, code):
    for name in ("point-or-region", "car-loan"):
        services.studies.switch(services.studies.add(ready_made_text(name), "setup"), True, "setup")
    one = browser()
    for row, protocol, _counts in services.studies.rows():
        yield one.get_page(f"/s/{row.link}")
        yield one.submit(f"/s/{row.link}", language="en")
        yield one.get_page("/study")
        yield one.submit("/study/consent")
        yield one.submit("/study/page", 422)
        yield one.submit("/study/page", later="1", f0="x")
        yield one.get_page("/study/withdraw")
        one.get_page("/study")
        if protocol.id == "car-loan":
            yield one.submit("/study/page", f0="40", f1="1", f2="1", f3="3", f4="1", f5=["8"])
            yield one.submit("/study/page", **{f"f{i}": "1" for i in range(16)})
        else:
            yield one.submit("/study/page", f0="17")
            one.get_page("/study/withdraw")
            yield one.submit("/study/withdraw")
    researcher = browser().log_in("researcher")
    for place in ("", "/studies", f"/studies/{row.id}/preview.html"):
        yield researcher.get_page(f"/staff{place}")


def first_load(page):
    """Compressed bytes that come before somebody new can read a page: what it names of ours, and itself."""
    files = {STATIC / name for name in re.findall(r'(?:href|src)="/static/([^"]+)"', page)}
    return sum(len(gzip.compress(text)) for text in (page.encode(), *(file.read_bytes() for file in files)))


@pytest.mark.parametrize("way", [everybody, applicant, operator, oversight, participant])
def test_every_text_of_a_page_is_looked_up(way, browser, services, model, fresh_code):
    protocols = [ready_made(name) for name in NAMES]
    known = (
        [text for one in protocols for text in strings(one.model_dump(mode="json"))]
        if way is participant
        else []
    )
    if way is participant:  # what one protocol asks in all languages, and the other one in one
        known += [part for text in known for part in text.splitlines()]
        known += [text for one in protocols for _, _, screen in one.screens for item in screen.all_items
                  for text in strings(item.model_dump(mode="json"))]  # fmt: skip
    data = sorted({*DATA, *(text.strip() for text in known if len(text.strip()) > 1)}, key=len, reverse=True)
    pages = list(way(browser, services, model, fresh_code))
    assert len(pages) > 9
    assert max(first_load(page) for page in pages) < 60_000
    assert [(place, found) for place, page in enumerate(pages) if (found := not_looked_up(page, data))] == []


def test_a_text_that_nobody_looked_up_is_found(monkeypatch):
    shown = '<p aria-label="⟦Plan ⟦two⟧⟧">⟦Answer⟧: income, 2,050 EUR <code>abc</code></p>'
    assert not_looked_up(shown, DATA) == []
    assert not_looked_up(shown.replace("⟦Answer⟧", "Answer"), DATA) == ["Answer: income, 2,050 EUR"]
    assert not_looked_up("<p>⟦See <a>this</a>⟧ or <b>that</b></p>", DATA) == ["or", "that"]
    assert not_looked_up('<nav aria-label="Your case"></nav>', DATA) == ["Your case"]


def test_every_line_of_the_log_has_words():
    """What is recorded stands in the table that translators are given."""
    import ast
    from pathlib import Path

    for path in Path(entrance.__file__).parents[1].rglob("*.py"):
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "record" and len(call.args) > 2:
                for text in ast.walk(call.args[2]):
                    if isinstance(text, ast.Constant) and isinstance(text.value, str) and text.value != ": ":
                        assert text.value.strip(": ") in LINES, (path.name, call.lineno, text.value)
