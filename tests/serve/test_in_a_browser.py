"""The application in a real browser: every screen without a fault of accessibility, at the keyboard, with scripts."""

from __future__ import annotations

import shutil
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="a browser is driven by playwright")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="screens are looked over by axe")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium here: install Debian's"),
    # what playwright leaves open when it ends is its own
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]


@pytest.fixture
def database(tmp_path):
    """One kind of database will do."""
    return f"sqlite:///{tmp_path / 'wayforward.db'}"


@pytest.fixture
def address(services) -> Iterator[str]:
    """A real server on this machine's loopback."""
    import uvicorn

    from wayforward.serve.http.app import create_app

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config(create_app(services=services), port=port, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.05)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join()


@pytest.fixture
def page(address) -> Iterator[Any]:
    """A page of chromium that keeps what its console says."""
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        one = chromium.new_context(viewport={"width": 1200, "height": 900}).new_page()
        one.complaints = []
        one.on("console", lambda said: one.complaints.append(said.text) if said.type == "error" else None)
        one.on("pageerror", lambda error: one.complaints.append(str(error)))
        yield one
        chromium.close()


def look_over(page: Any) -> None:
    """No violation of WCAG 2.2 AA, and nothing wider than the page: light and dark, wide and at 320 pixels."""
    for scheme in ("light", "dark"):
        for width in (1200, 320):
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size({"width": width, "height": 900})
            found = (
                axe.Axe()
                .run(page, options={"runOnly": {"type": "tag", "values": TAGS}})
                .response["violations"]
            )
            assert not found, [(one["id"], one["nodes"][0]["html"][:200]) for one in found]
            assert page.evaluate(
                "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
            )
    page.set_viewport_size({"width": 1200, "height": 900})


def test_every_screen_of_an_applicant(page, address, fresh_code):
    page.goto(address)
    look_over(page)
    page.fill("#code", fresh_code)
    page.get_by_role("button", name="Open").click()
    look_over(page)
    page.get_by_role("button", name="I agree").click()
    look_over(page)
    page.locator("input[name=can-1][value=no]").check()
    page.get_by_role("button", name="Show plans").click()
    look_over(page)
    page.get_by_role("button", name="Keep plan 1").click()
    page.get_by_role("button", name="Take a receipt").first.click()
    look_over(page)
    page.goto(f"{address}/case/choices")
    look_over(page)
    page.get_by_role("button", name="Stop here").click()
    look_over(page)
    for path in ("/case/letter", "/case/delete", "/verify", "/case/what-if"):
        page.goto(address + path)
        look_over(page)
    page.locator("input[type=range]").first.fill("8000")  # the script asks while somebody moves a slider
    page.get_by_text("The answer would be yes.").wait_for()
    assert not page.complaints


def test_an_applicant_at_the_keyboard(page, address, fresh_code):
    """From the code to a kept plan with Tab, typing and Enter alone; focus is always seen."""
    page.goto(f"{address}/")

    def to(role: str, name: str) -> None:
        wanted = page.get_by_role(role, name=name).first
        for _ in range(120):
            if wanted.evaluate("node => node === document.activeElement"):
                assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
                return
            page.keyboard.press("Tab")
        raise AssertionError(f"Tab never comes to {name}")

    def enter() -> None:
        with page.expect_navigation():
            page.keyboard.press("Enter")

    to("textbox", "The code in your letter")
    page.keyboard.type(fresh_code)
    enter()
    to("button", "I agree")
    enter()
    to("button", "Show plans")
    enter()
    to("button", "Keep plan 1")
    enter()
    assert page.get_by_text("Kept plan 1").first.is_visible()


def test_every_screen_of_the_staff(page, address):
    from .conftest import PASSWORD

    pages = {
        "operator": ("models", "cases", "jobs", "tokens"),
        "auditor": ("log", "jobs"),
        "admin": ("users",),
    }
    for role, places in pages.items():
        page.context.clear_cookies()
        page.goto(f"{address}/login")
        page.fill("#name", role)
        page.fill("#password", PASSWORD)
        look_over(page)
        page.get_by_role("button", name="Log in").click()
        look_over(page)
        for place in places:
            page.goto(f"{address}/staff/{place}")
            look_over(page)
    assert not page.complaints
