"""The pages of a study in a real browser: no fault of accessibility, in both languages."""

from __future__ import annotations

import re
import time

from wayforward.study.ready_made import ready_made_text

from .test_in_a_browser import (
    LOOKED_OVER,
    address,
    both_languages,
    chromium,
    database,
    faults,
    follow,
    language,
    log_in,
    look_over,
    page,
    pytestmark,
    screens,
    scripts,
    with_and_without_scripts,
)
from .test_study_tasks import PERSON

__all__ = ["address", "chromium", "database", "language", "page", "pytestmark", "screens", "scripts"]


@both_languages
def test_every_screen_of_a_participant_and_of_a_researcher(page, address, services, screens):  # noqa: F811
    for name in ("point-or-region", "car-loan"):
        services.studies.switch(services.studies.add(ready_made_text(name), "r"), True, "r")
    for path in [row.link for row, _, _ in services.studies.rows()]:
        page.context.clear_cookies()
        page.goto(f"{address}/s/{path}")
        look_over(page)
        follow(page, page.locator("main button").first)
        look_over(page)
        follow(page, page.locator("main a.button"))
        look_over(page)
        follow(page, page.locator("main button"))
        look_over(page)
        follow(page, page.locator("main button").first)  # nothing answered: the list of problems
        look_over(page)
        screened(page)
        look_over(page)
    page.goto(f"{address}/study/withdraw")
    look_over(page)
    follow(page, page.locator("button.danger"))
    look_over(page)
    log_in(page, address, "researcher")
    page.goto(f"{address}/staff/studies")
    look_over(page)
    follow(page, page.locator("a[href$='preview.html']").first)
    look_over(page)
    assert screens >= LOOKED_OVER["study"] and not faults(page)


def screened(page) -> None:
    """Fill in the screening of a ready-made study, so that one is let in."""
    page.fill("#f0", "40")
    if page.locator("input[name=f5]").count():
        for field, value in (("f1", 1), ("f2", 1), ("f3", 3), ("f4", 1), ("f5", 8)):
            page.locator(f"input[name={field}][value='{value}']").check()
    follow(page, page.locator("#page button").first)


def begin(page, address, services, text: str) -> None:
    """Somebody comes by the recruiting link of a protocol and agrees."""
    id = services.studies.add(text, "r")
    services.studies.switch(id, True, "r")
    link = next(row.link for row, _, _ in services.studies.rows() if row.id == id)
    page.context.clear_cookies()
    page.goto(f"{address}/s/{link}")
    follow(page, page.locator("main button").first)
    follow(page, page.locator("main a.button"))
    follow(page, page.locator("main button").first)


def fill_in(page) -> None:
    """Answer everything on a page with a mouse; attention checks rightly."""
    for field in page.locator("main fieldset").all():
        radios = field.locator("input[type=radio]")
        right = re.search("third answer|last answer|dritte Antwort|letzte Antwort", field.inner_text())
        if radios.count():
            radios.nth(2 if right else 0).check()
    for number in page.locator("main input[inputmode=decimal]").all():
        number.fill("35")
    follow(page, page.locator("#page button").first)


@both_languages
def test_pages_of_tasks_and_of_ratings(page, address, services, screens):  # noqa: F811
    text = re.sub(r"vignette: .*", f"vignette: {PERSON}", ready_made_text("dialogue-or-sliders"))
    seen: set[str] = set()
    for seed in range(2, 8):
        if len(seen) == 2:
            break
        begin(page, address, services, text.replace("seed: 1\n", f"seed: {seed}\n"))
        fill_in(page)
        fill_in(page)
        kind = "dialogue" if page.locator("form[action='/study/task/reply']").count() else "sliders"
        if kind in seen:
            continue
        seen.add(kind)
        look_over(page)
        if kind == "dialogue":
            follow(page, page.locator("form[action='/study/task/reply'] button").nth(1))
            look_over(page)
            follow(page, page.locator("button[value='stop here']"))
        else:
            follow(page, page.locator("a[href='/study/task/what-if']"))
            look_over(page)
            follow(page, page.locator("main a[href='/study/task']"))
        look_over(page)
        follow(page, page.locator("form[action='/study/task/finish'] button").first)
        if kind == "dialogue":
            continue
        for _ in range(4):  # the rating of the plan, NASA-TLX, SUS, a comment
            look_over(page)
            fill_in(page)
        assert page.locator("main .code").is_visible()
        look_over(page)
    assert len(seen) == 2 and screens >= LOOKED_OVER["task"] and not faults(page)


@both_languages
def test_pages_of_the_wait_and_of_five_plans(page, address, services):  # noqa: F811
    text = ready_made_text("car-loan")
    for days in (14, 0):
        begin(page, address, services, text.replace("wait_days: 14", f"wait_days: {days}"))
        screened(page)
        fill_in(page)
        look_over(page)
    page.locator("input[name=f0][value='2']").check()
    follow(page, page.locator("#page button").first)
    look_over(page)
    assert page.get_by_text("→").count() and not faults(page)


def test_a_page_saves_by_itself_and_goes_on(page, address, services):  # noqa: F811
    begin(page, address, services, ready_made_text("point-or-region"))
    page.fill("#f0", "4")
    page.get_by_text("are saved").wait_for()
    page.fill("#f0", "40")
    page.route("**/study/page", lambda route: (time.sleep(0.3), route.continue_()))
    page.wait_for_timeout(1550)  # it is being saved
    page.locator("#page button").first.click()  # what is saved meanwhile does not make it stale
    page.get_by_text("Page 2").wait_for()
    page.unroute_all()
    page.locator("textarea").first.fill("half a thought")
    page.get_by_text("are saved").wait_for()
    page.reload()
    assert page.locator("textarea").first.input_value() == "half a thought"
    fill_in(page)
    page.get_by_text("Page 3").wait_for()
    assert not faults(page)


@with_and_without_scripts
def test_a_participant_at_the_keyboard(page, address, services):  # noqa: F811
    """From the recruiting link to the completion code with Tab, Space, arrows and Enter alone."""
    id = services.studies.add(ready_made_text("point-or-region"), "r")
    services.studies.switch(id, True, "r")
    page.goto(f"{address}/s/{services.studies.rows()[0][0].link}")
    for _ in range(12):
        if page.get_by_text("Your completion code").count():
            break
        with page.expect_navigation():
            to_the_end_of(page)
    else:
        raise AssertionError("no end")
    assert not faults(page)


FOCUS = """() => {
  const on = document.activeElement, about = on.closest("fieldset")?.textContent ?? "";
  return {tag: on.tagName, kind: on.type ?? "", name: on.name ?? "", inside: !!on.closest("main"),
          checked: about.includes("last answer"), outline: getComputedStyle(on).outlineStyle};
}"""


def to_the_end_of(page) -> None:
    """Fill in what Tab comes to, and press the first button."""
    n_ranked = 0
    for _ in range(120):
        page.keyboard.press("Tab")
        on = page.evaluate(FOCUS)
        if not on["inside"]:
            continue
        assert on["outline"] != "none", on
        if on["tag"] == "BUTTON" or (on["tag"] == "A" and page.locator("main a.button").count()):
            page.keyboard.press("Enter")
            return
        if on["kind"] == "radio":
            page.keyboard.press("Space")
            for _ in range(2 if on["checked"] else 0):
                page.keyboard.press("ArrowDown")
        elif on["tag"] == "SELECT":
            n_ranked += 1
            page.keyboard.type(str(n_ranked))
        elif on["tag"] in ("INPUT", "TEXTAREA"):
            page.keyboard.type("35")
    raise AssertionError("Tab never comes to a button")
