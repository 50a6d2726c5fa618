"""Photograph every screen of the web application: `python docs/make_screens.py` writes docs/_static/screens/NAME.webp.

`--german FOLDER` walks the same ways in German, too, and puts its pictures there, to be looked at.

It serves the demonstration on this machine's loopback from an empty folder, and walks through it as an applicant, an
operator, an approver, an auditor and an administrator would, in Debian's chromium. Needs the extra web, playwright
and Pillow.
"""

from __future__ import annotations

import argparse
import io
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

from wayforward.language import gettext, use_language

OUT = Path(__file__).parent / "_static" / "screens"
WIDE, NARROW = 1000, 320
STAFF = {
    "operator": ("", "models", "cases", "jobs", "tokens"),
    "approver": ("models",),
    "auditor": ("log",),
    "researcher": (),
    "admin": ("users",),
}
STUDY = "point-or-region"


@contextmanager
def demonstration() -> Iterator[tuple[str, list[str], dict[str, str]]]:
    """Serve; give the address, the links of applicants, and the password of each role."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-u", "-m", "wayforward", "serve", "--port", str(port)]
    with tempfile.TemporaryDirectory() as home:
        out = Path(home) / "out.txt"
        with out.open("w") as file:
            server = subprocess.Popen(
                [*command, "--home", f"{home}/home"], stdout=file, stderr=subprocess.STDOUT
            )
        try:
            address = f"http://127.0.0.1:{port}"
            _wait(server, address, out)
            text = out.read_text()
            links = re.findall(rf"{address}/w/\S+", text)
            found = re.findall(
                r"^\s+(operator|approver|auditor|researcher|admin)\s+([0-9a-f-]{19})", text, re.M
            )
            yield address, links, dict(found)
        finally:
            server.terminate()
            server.wait(30)


def _wait(server: subprocess.Popen[bytes], address: str, out: Path) -> None:
    for _ in range(600):
        try:
            urllib.request.urlopen(address, timeout=1).close()
            return
        except OSError:
            if server.poll() is not None:
                break
            time.sleep(0.5)
    raise RuntimeError(f"The server did not start:\n{out.read_text()}")


class Camera:
    """A browser that stores what it sees; at most `high` pixels of a page, which has most of what matters. Texts are
    given in English and looked for in the language in use."""

    def __init__(self, page: Any, address: str, out: Path) -> None:
        self.page, self.address, self.out = page, address, out
        page.set_default_timeout(180_000)  # right after a first start much is compiled

    def take(self, name: str, high: int = 1400) -> None:
        """Write the page as it is now, as NAME.webp."""
        shown = self.page.screenshot(full_page=True)
        image = Image.open(io.BytesIO(shown)).convert("RGB")
        image = image.crop((0, 0, image.width, min(high, image.height)))
        image.save(self.out / f"{name}.webp", quality=70, method=6)
        print(f"{name}: {image.width} x {image.height}")

    def go(self, path: str) -> None:
        """Open a page."""
        self.page.goto(self.address + path)

    def button(self, text: str, **values: int) -> Any:
        """The first button whose name has this text."""
        return self.page.get_by_role("button", name=gettext(text) % values).first

    def press(self, text: str, **values: int) -> None:
        """Press a button and wait for what it opens."""
        with self.page.expect_navigation():
            self.button(text, **values).click()

    def look(self, scheme: str = "light", width: int = WIDE) -> None:
        """Change light and width."""
        self.page.emulate_media(color_scheme=scheme)
        self.page.set_viewport_size({"width": width, "height": 700})


def applicant(camera: Camera, link: str) -> None:
    """From the letter to the receipt; two screens also in the dark and on a small phone."""
    camera.go("/")
    camera.take("start")
    camera.page.goto(link)
    if camera.page.locator("h1").inner_text() == gettext("One moment, please"):  # right after the start
        camera.take("warming")
        camera.button("I agree. Go on").wait_for(timeout=600_000)
    camera.take("decision")
    camera.press("I agree. Go on")
    camera.take("limits")
    camera.press("Show plans")
    camera.take("plans")
    for name, scheme, width in (("plans-dark", "dark", WIDE), ("plans-narrow", "light", NARROW)):
        camera.look(scheme, width)
        camera.take(name)
    camera.look()
    for tick in camera.page.locator("input[name=plan]").all()[:2]:
        tick.check()
    camera.press("Compare")
    camera.take("compare")
    camera.go("/case/plans")
    camera.press("Keep plan %(n)s", n=1)
    camera.press("Take a receipt of plan %(n)s", n=1)
    camera.take("receipt")
    for name in ("choices", "what-if", "letter", "delete"):
        camera.go(f"/case/{name}")
        camera.take(name)
    camera.go("/verify")
    camera.take("verify")
    camera.go("/case/limits")
    for no in camera.page.locator("input[value=no]").all():
        no.check()
    camera.press("Show plans")
    camera.go("/case/choices")
    camera.take("conflict")


def staff(camera: Camera, role: str, password: str) -> None:
    """Log in as a role and see each of its places."""
    camera.page.context.clear_cookies()
    camera.go("/login")
    if role == "operator":
        camera.take("login")
    camera.page.fill("#name", role)
    camera.page.fill("#password", password)
    camera.press("Log in")
    for place in STAFF[role]:
        camera.go(f"/staff/{place}" if place else "/staff")
        camera.take(f"{role}-{place or 'desk'}")


def operator(camera: Camera) -> None:
    """Two audits, each of other made-up people, where they are not there yet; what is seen of a case on the desk."""
    from wayforward.answers import write_csv
    from wayforward.data import everyday, load

    camera.go("/staff/jobs")
    read = camera.page.get_by_role("link", name=gettext("Read the audit"))
    people = [] if read.count() else everyday.people(load("loan").split(test=0.3, seed=0)[1])
    with tempfile.TemporaryDirectory() as folder:
        for half in (people[:500], people[500:1000]) if len(people) else ():
            columns = everyday.schema().decode(half, like="dict")
            rows = zip(*(values.tolist() for values in columns.values()), strict=True)
            file = Path(folder) / "people.csv"
            write_csv([dict(zip(columns, row, strict=True)) for row in rows], file)
            camera.go("/staff/jobs")
            camera.page.select_option("#kind", "audit")
            camera.page.set_input_files("#people", file)
            camera.press("Start")
    desk(camera)


def auditor(camera: Camera) -> None:
    """The two audits of the operator side by side; a case; the report."""
    read = camera.page.get_by_role("link", name=gettext("Read the audit"))
    for _ in range(200):
        camera.go("/staff/jobs")
        if read.count() == 2:
            break
        time.sleep(3)
    camera.take("auditor-jobs")
    camera.go("/staff/audits")
    for tick in camera.page.locator("input[name=audit]").all():
        tick.check()
    camera.press("Show")
    camera.take("auditor-compare", 1900)
    camera.go("/staff/jobs")
    report = read.first.get_attribute("href") or ""
    camera.go(report)
    camera.take("auditor-report", 1900)
    camera.go(report.replace("/jobs/", "/audits/").replace("/audit.html", "/cases"))
    camera.take("auditor-cases")
    with camera.page.expect_navigation():
        camera.page.locator("main table a").first.click()
    camera.take("auditor-case")


def desk(camera: Camera) -> None:
    """What somebody of the staff sees of a case on the desk of a model."""
    camera.go("/staff/cases")
    with camera.page.expect_navigation():
        camera.page.locator("main a[href^='/staff/desk/']").first.click()
    camera.take("operator-one-case")


def researcher(camera: Camera) -> None:
    """Add a ready-made study and open it; its screens on one page, as its preview writes them; then take part."""
    camera.go("/staff/studies")
    if not camera.page.locator("code.link").count():
        with camera.page.expect_navigation():
            camera.page.locator(f"button[value={STUDY}]").click()
        camera.press("Open")
    camera.take("researcher-studies")
    link = camera.page.locator("code.link").first.inner_text()
    camera.page.context.clear_cookies()
    camera.page.goto(link)
    camera.take("participant-welcome")
    camera.press("Begin in English")
    camera.take("participant-way-back")
    camera.go("/study")
    camera.take("participant-consent")
    camera.press("I agree, begin")
    camera.page.fill("#f0", "40")
    camera.press("Continue")
    camera.take("participant-screen")
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "screens.html"
        command = [sys.executable, "-m", "wayforward", "study", "preview", "car-loan", "--out", str(page)]
        subprocess.run(command, check=True)
        camera.page.goto(page.as_uri())
        camera.take("study-preview", 1300)


def walk(camera: Camera, link: str, passwords: dict[str, str]) -> None:
    """Go everybody's way."""
    camera.look()
    applicant(camera, link)
    for role in STAFF:
        staff(camera, role, passwords[role])
        more = {"researcher": researcher, "auditor": auditor, "operator": operator}.get(role)
        if more is not None:
            more(camera)


def main() -> None:
    """Take them all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--german", type=Path, metavar="FOLDER")
    german = parser.parse_args().german
    places = {"en": OUT} | ({} if german is None else {"de": german})
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    with demonstration() as (address, links, passwords), sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        # the second of the three has one plan alone
        for link, (language, out) in zip(links[::2], places.items(), strict=False):
            out.mkdir(parents=True, exist_ok=True)
            page = browser.new_context(locale=language).new_page()
            with use_language(language):
                walk(Camera(page, address, out), link, passwords)
        browser.close()


if __name__ == "__main__":
    main()
