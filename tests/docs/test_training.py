"""The page of models trained for recourse is that of its numbers."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_is_that_of_its_numbers() -> None:
    """And the numbers hold what the page says of them."""
    made = runpy.run_path(str(DOCS / "make_training.py"))
    found = json.loads((DOCS / "guide/training.json").read_text(encoding="utf-8"))
    text = (DOCS / "guide/training.md").read_text(encoding="utf-8")
    assert made["render"](found, text) == text, "python docs/make_training.py --render"
    for way in ("sex seen", "sex left out"):
        plain, trained = (found["Adult"][way]["curve"][at] for at in (0, found["Adult"][way]["chosen"]))
        assert abs(trained["gap"][0]) < 0.1 * abs(plain["gap"][0])
        assert trained["accuracy"] > plain["accuracy"] - 0.006
    wide = found["COMPAS"]["sex seen"]
    halved = [one for one in wide["curve"] if abs(one["gap"][0]) <= 0.5 * abs(wide["curve"][0]["gap"][0])]
    assert max(one["accuracy"] for one in halved) < wide["curve"][0]["accuracy"] - 0.019
    led = found["COMPAS"]["PARE"]
    assert [one["usable"] for one in led] == sorted(one["usable"] for one in led)
