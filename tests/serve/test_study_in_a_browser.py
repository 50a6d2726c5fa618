"""The pages of a study in a real browser: no fault of accessibility, in both languages."""

from __future__ import annotations

from wayforward.study.ready_made import ready_made_text

from .conftest import PASSWORD
from .test_in_a_browser import address, database, look_over, page, pytestmark

__all__ = ["address", "database", "page", "pytestmark"]


def test_every_screen_of_a_participant_and_of_a_researcher(page, address, services):  # noqa: F811
    for name in ("point-or-region", "car-loan"):
        services.studies.switch(services.studies.add(ready_made_text(name), "r"), True, "r")
    link = {row.link: protocol for row, protocol, _ in services.studies.rows()}
    for path, protocol in link.items():
        page.context.clear_cookies()
        page.goto(f"{address}/s/{path}")
        look_over(page)
        page.locator("main button").last.click()
        look_over(page)
        page.locator("main a.button").click()
        look_over(page)
        page.locator("main button").click()
        look_over(page)
        page.locator("main button").first.click()  # nothing answered: the list of problems
        look_over(page)
        page.fill("#f0", "40")
        if protocol.id == "car-loan":
            for field, value in (("f1", 1), ("f2", 1), ("f3", 3), ("f4", 1), ("f5", 8)):
                page.locator(f"input[name={field}][value='{value}']").check()
        page.locator("main button").first.click()
        look_over(page)
    page.goto(f"{address}/study/withdraw")
    look_over(page)
    page.goto(f"{address}/login")
    page.fill("#name", "researcher")
    page.fill("#password", PASSWORD)
    page.get_by_role("button", name="Log in").click()
    page.goto(f"{address}/staff/studies")
    look_over(page)
