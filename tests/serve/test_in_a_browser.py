"""The application in a real browser: every screen without a fault of accessibility, and with a keyboard alone."""

from __future__ import annotations

import shutil
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.routing import APIRoute

from wayforward.serve.http import applicant, audits, entrance, staff, study, study_task
from wayforward.serve.jobs import DONE, RUNNING
from wayforward.serve.storage.tables import Job

from .conftest import PASSWORD, deployed, published
from .test_audits import audited, table

playwright = pytest.importorskip("playwright.sync_api", reason="a browser is driven by playwright")
axe = pytest.importorskip("axe_playwright_python.base", reason="screens are looked over by axe")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium here: install Debian's"),
    # what playwright leaves open when it ends is its own
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
LOOKS = {"en": (("dark", 320), ("light", 1200)), "de": (("light", 320), ("dark", 1200))}
#: What axe finds wrong, and nothing of what it finds right: that is much, and would be sent for nothing.
VIOLATIONS = """async asked => [
    (await axe.run(document, asked)).violations.map(one => [one.id, one.nodes[0]?.html.slice(0, 200)]),
    document.documentElement.scrollWidth - document.documentElement.clientWidth,
]"""
#: What each test below and in test_study_in_a_browser.py looks over, in both languages.
LOOKED_OVER = {
    "applicant": {
        "/", "/try/{model_id}", "/verify", "/case", "/case/limits", "/case/plans", "/case/compare", "/case/choices",
        "/case/what-if", "/case/letter", "/case/delete",
    },
    "staff": {"/login", "/staff", "/staff/models", "/staff/cases", "/staff/jobs", "/staff/tokens", "/staff/log",
              "/staff/users", "/staff/desk/{model_id}"},
    "audits": {"/staff/audits", "/staff/audits/{id}/cases", "/staff/audits/{id}/cases/{name}"},
    "study": {"/s/{link}", "/study", "/study/withdraw", "/staff/studies", "/staff/studies/{id}/preview.html"},
    "task": {"/study/task", "/study/task/what-if"},
}  # fmt: skip
#: Pages that the library writes, which its own tests look over; files; and doors that lead on to a page.
NO_SCREENS = {
    "/staff/jobs/{id}/audit.html", "/case/letter.txt", "/key", "/staff/jobs/{id}/answers.csv", "/w/{code}", "/p/{code}",
    "/staff/audits.csv", "/staff/audits/{id}/numbers.json",
    "/staff/studies/{id}/export.zip", "/staff/studies/{id}/codes.txt", "/staff/studies/ready-made/{name}.yaml",
}  # fmt: skip
both_languages = pytest.mark.parametrize("language", ["en", "de"])
with_and_without_scripts = pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])


@pytest.fixture
def database(tmp_path):
    """One kind of database will do."""
    return f"sqlite:///{tmp_path / 'wayforward.db'}"


@pytest.fixture
def screens() -> set[str]:
    """The routes that answered somebody's browser with a page."""
    return set()


@pytest.fixture
def address(services, screens) -> Iterator[str]:
    """A real server on this machine's loopback."""
    import uvicorn

    from wayforward.serve.http.app import create_app

    app = create_app(services=services)

    async def noting(scope: Any, receive: Any, send: Any) -> None:
        async def sent(message: Any) -> None:
            kinds = [value for name, value in message.get("headers", ()) if name == b"content-type"]
            if "route" in scope and any(kind.startswith(b"text/html") for kind in kinds):
                screens.add(scope["route"].path)
            await send(message)

        await app(scope, receive, sent)

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config(noting, port=port, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.05)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join()


@pytest.fixture
def language() -> str:
    """What the browser asks for."""
    return "en"


@pytest.fixture
def scripts() -> bool:
    """Does the browser run scripts?"""
    return True


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A browser, started once for the tests of a file; each has a context, and so cookies, of its own."""
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield started
        started.close()


@pytest.fixture
def page(chromium, address, language, scripts) -> Iterator[Any]:
    """A page of chromium that keeps what its console says."""
    with chromium.new_context(
        viewport={"width": 1200, "height": 900}, locale=language, java_script_enabled=scripts
    ) as context:
        one = context.new_page()
        one.set_default_timeout(120_000)  # a loaded machine is slow, which is no fault of a page
        one.complaints = []
        one.on("console", lambda said: one.complaints.append(said.text) if said.type == "error" else None)
        one.on("pageerror", lambda error: one.complaints.append(str(error)))
        yield one


def look_over(page: Any) -> None:
    """No violation of WCAG 2.2 AA, and nothing wider than the page: light and dark, wide and at 320 pixels, each with
    each in the two languages."""
    asked = {"runOnly": {"type": "tag", "values": TAGS}, "resultTypes": ["violations"]}
    if not page.evaluate("'axe' in window"):  # put into a page once
        page.evaluate(axe.AXE_SCRIPT)
    for scheme, width in LOOKS[page.evaluate("document.documentElement.lang")]:
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 900})
        found, too_wide = page.evaluate(VIOLATIONS, asked)
        assert found == [] and too_wide <= 0


def follow(page: Any, link: Any) -> None:
    """Click, and wait until the page behind it is there: what is filled in before is filled in on the page before."""
    with page.expect_navigation(wait_until="load"):
        link.click()


def send(page: Any, action: str, button: str = "button") -> None:
    """Press the first button of the form that goes to an address, whatever the language."""
    follow(page, page.locator(f"main form[action='{action}'] {button}").first)


def submit(page: Any) -> None:
    """Press the button of the form that goes to the page itself."""
    follow(page, page.locator("main form:not([action]) button").last)


def log_in(page: Any, address: str, role: str) -> None:
    """Log in as a role."""
    page.context.clear_cookies()
    page.goto(f"{address}/login")
    page.fill("#name", role)
    page.fill("#password", PASSWORD)
    submit(page)


def faults(page: Any) -> list[str]:
    """What the console complained of, but that a page was refused on purpose."""
    return [said for said in page.complaints if "the server responded with a status of 4" not in said]


def test_every_route_that_answers_with_a_page_is_looked_over():
    """A new screen needs its name in one of the tables above, and the test of that name has to meet it."""
    routers = tuple(one.router for one in (entrance, applicant, staff, audits, study, study_task))
    gets = {
        route.path
        for router in routers
        for route in router.routes
        if isinstance(route, APIRoute) and "GET" in route.methods
    }
    assert gets == set().union(*LOOKED_OVER.values()) | NO_SCREENS


@both_languages
def test_every_screen_of_an_applicant(page, address, fresh_code, model, screens):
    page.goto(address)
    look_over(page)
    page.goto(f"{address}/try/{model}")
    look_over(page)
    submit(page)  # nothing filled in: the list of problems
    look_over(page)
    for field, value in (("#f0", "30"), ("#f1", "1718"), ("#f2", "1500")):
        page.fill(field, value)
    page.select_option("#f3", "0")
    submit(page)
    look_over(page)  # the code, once
    page.context.clear_cookies()
    page.goto(address)
    page.fill("#code", fresh_code)
    send(page, "/open")
    look_over(page)
    send(page, "/case/consent")
    look_over(page)
    page.fill("#high-0", "plenty")
    submit(page)
    look_over(page)
    page.fill("#high-0", "up to 8000 EUR")
    submit(page)
    page.go_back()  # to the page that answered a form: it is there, and nobody is asked to send it again
    assert "8000" in page.locator("#high-0").input_value() and page.url.endswith("/case/limits")
    page.locator("input[name=can-1][value=no]").check()
    submit(page)
    look_over(page)
    send(page, "/case/keep")
    look_over(page)
    for tick in page.locator("input[name=plan]").all()[:2]:
        tick.check()
    send(page, "/case/compare")
    look_over(page)
    page.goto(f"{address}/case/plans")
    send(page, "/case/receipt")
    look_over(page)
    receipt = page.locator("#receipt").input_value()
    page.goto(f"{address}/verify")
    look_over(page)
    for text in (receipt, receipt.replace('"no"', '"yes"'), "{"):
        page.fill("#text", text)
        submit(page)
        look_over(page)
    page.goto(f"{address}/case/choices")
    look_over(page)
    page.fill("#typed", "purple")
    follow(page, page.locator("form:has(#typed) button"))
    look_over(page)
    send(page, "/case/reply", "button[value='stop here']")
    look_over(page)
    page.goto(f"{address}/case/limits")
    for place in range(page.locator("fieldset").count()):
        page.locator(f"input[name=can-{place}][value=no]").check()
    submit(page)
    look_over(page)  # no plan, and which limits stand in the way
    page.goto(f"{address}/case/choices")
    look_over(page)
    page.goto(f"{address}/case/letter")
    look_over(page)
    page.goto(f"{address}/case/what-if")
    page.locator("input[type=range]").first.fill("8000")  # the script asks while somebody moves a slider
    page.locator("#result strong").wait_for()
    look_over(page)
    for path in ("/case/delete", "/nothing"):
        page.goto(address + path)
        look_over(page)
    page.goto(f"{address}/case/delete")
    submit(page)
    look_over(page)
    page.goto(f"{address}/case")  # there is nothing any more
    look_over(page)
    assert screens >= LOOKED_OVER["applicant"] and not faults(page)


class Keyboard:
    """Somebody with a keyboard alone; focus is always seen."""

    def __init__(self, page: Any) -> None:
        self.page, self.keys = page, page.keyboard

    def to(self, wanted: str) -> None:
        """Press Tab until the focus is on what a selector finds first."""
        place = self.page.locator(wanted).first
        for _ in range(150):
            if place.evaluate("node => node === document.activeElement"):
                seen = self.page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
                assert seen != "none", wanted
                return
            self.keys.press("Tab")
        raise AssertionError(f"Tab never comes to {wanted}")

    def enter(self, wanted: str) -> None:
        """Go to a button or link, and press Enter."""
        self.to(wanted)
        with self.page.expect_navigation(wait_until="load"):
            self.keys.press("Enter")


@with_and_without_scripts
def test_an_applicant_at_the_keyboard(page, address, fresh_code):
    """From the code by limits, plans, a comparison and choices to a receipt and a letter, and to the end of it all."""
    someone, keys = Keyboard(page), page.keyboard
    page.goto(f"{address}/")
    someone.to("#code")
    keys.type(fresh_code)
    with page.expect_navigation(wait_until="load"):
        keys.press("Enter")
    someone.enter("form[action='/case/consent'] button")
    someone.to("input[name=can-1]")
    keys.press("ArrowDown")
    assert page.locator("input[name=can-1][value=no]").is_checked()
    someone.to("#hard-0")
    keys.type("very hard")
    someone.to("#changes")
    keys.type("2")
    someone.enter("main form button")
    someone.enter("form[action='/case/keep'] button")
    assert page.get_by_text("Kept plan 1").first.is_visible()
    for place in (0, 1):
        someone.to(f"input[name=plan] >> nth={place}")
        keys.press("Space")
    someone.enter("#compare button")
    assert page.get_by_role("heading", name="Plans side by side").is_visible()
    someone.enter("main a.button")
    someone.enter("form[action='/case/receipt'] button")
    assert page.locator("#receipt").input_value().startswith("{")
    someone.enter("nav a[href='/case/choices']")
    someone.enter("form[action='/case/reply'] button[name=reply]")
    someone.enter("form[action='/case/undo'] button")
    someone.enter("button[value='stop here']")
    someone.enter("nav a[href='/case/what-if']")
    someone.to("#value-0")
    keys.press("Control+a")
    keys.type("8000")
    someone.enter("#what-if button")
    assert page.get_by_text("The answer would be yes.").is_visible()
    someone.enter("nav a[href='/case']")
    someone.enter("main a[href='/case/letter']")
    assert page.get_by_role("heading", name="Your letter").is_visible()
    someone.enter("nav a[href='/case']")
    someone.enter("main a[href='/case/delete']")
    someone.enter("button.danger")
    assert page.get_by_role("heading", name="Everything was deleted").is_visible() and not faults(page)


@both_languages
def test_every_screen_of_the_staff(page, address, screens, services, model):
    with services.database.session() as session:
        for id, status in (("done", DONE), ("open", RUNNING)):
            session.add(Job(id=id, kind="plans", model_id=model, given={}, status=status, done=5, total=9))
    pages = {
        "operator": ("models", "cases", "jobs", "tokens"),
        "approver": ("models",),
        "auditor": ("log", "jobs"),
        "admin": ("users",),
    }
    page.goto(f"{address}/login")
    look_over(page)
    page.fill("#name", "operator")
    page.fill("#password", "wrong")
    submit(page)
    look_over(page)
    for role, places in pages.items():
        log_in(page, address, role)
        look_over(page)
        for place in places:
            page.goto(f"{address}/staff/{place}")
            look_over(page)
            if (role, place) == ("operator", "jobs"):
                renewed(page, services)
        if role == "operator":
            page.goto(f"{address}/staff/desk/{model}")
            look_over(page)
    page.goto(f"{address}/staff/cases")  # not for them
    look_over(page)
    assert screens >= LOOKED_OVER["staff"] and not faults(page)


class TestAudits:
    """Two audits, made once for both languages: looking at them changes nothing of theirs."""

    @pytest.fixture(scope="class")
    @classmethod
    def services(cls, tmp_path_factory, empty, warm):
        """One deployment for all that look."""
        folder = tmp_path_factory.mktemp("audits")
        with deployed(f"sqlite:///{folder / 'wayforward.db'}", folder, empty, warm) as found:
            yield found

    @pytest.fixture(scope="class")
    @classmethod
    def ids(cls, services, tmp_path_factory):
        people = table(tmp_path_factory.mktemp("people") / "people.csv")
        return [audited(services, published(services), people, threshold=one) for one in (None, 0.9)]

    @both_languages
    def test_every_screen(self, page, address, screens, ids):
        log_in(page, address, "auditor")
        page.goto(f"{address}/staff/audits")
        look_over(page)
        for tick in page.locator("input[name=audit]").all():
            tick.check()
        send(page, "/staff/audits")
        look_over(page)
        page.goto(f"{address}/staff/audits/{ids[0]}/cases")
        look_over(page)
        follow(page, page.locator("tbody a").first)
        look_over(page)
        assert screens >= LOOKED_OVER["audits"] and not faults(page)


def renewed(page: Any, services: Any) -> None:
    """The list of jobs is renewed by itself, what somebody types stays, and the renewing ends with the last job."""
    page.clock.install()
    page.reload()
    page.fill("#groups", "home")
    with services.database.session() as session:
        session.get(Job, "open").status = DONE
    page.clock.fast_forward(21_000)
    page.locator("#jobs:not([data-open])").wait_for()
    assert page.locator("#groups").input_value() == "home"
