"""Look over every output of many people as a reader would: `python -m benchmarks.lint_outputs --n 500`.

For every person and option, what `explain`, the letter, the tables, the frame and the saved file say is compared: the
same number everywhere, with its unit, no raw floats, and no change below the least that means something.
"""

from __future__ import annotations

import argparse
import csv
import html
import io
import re
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import wayforward as wf
from wayforward.answers import letter, options_table, plans_table, report, words
from wayforward.answers.region_text import regions_told
from wayforward.answers.tables import csv_text
from wayforward.evaluate import evaluate
from wayforward.language import use_language

CELLS = ("gmsc:gb", "german:rf", "adult:gb", "compas:benchmark:lr", "default_credit:lr", "loan:gb")
_NUMBER = {"en": re.compile(r"\d[\d,]*\.\d+"), "de": re.compile(r"\d[\d.]*,\d+")}
_MOST_DIGITS = 6  # significant, in a number with decimals: more is a raw float


def findings(
    problem: wf.Problem,
    recourse: wf.Recourse,
    letters: int = 20,
    languages: Sequence[str] = ("en",),
    pages: int = 3,
) -> Iterator[tuple[str, str]]:
    """Yield (kind, what) for everything a reader would stop at. letters: how many with reasons, which take a search;
    pages: of how many people a report is read."""
    short = recourse.rounded
    if short.problem is not None:  # together: everybody's texts take their own from there
        regions_told(short)
    with tempfile.TemporaryDirectory() as folder:
        again = wf.Recourse.load(recourse.save(Path(folder) / "answers.json"), problem=problem)
    regions_told(again.rounded)
    if not np.array_equal(again.rounded.action, short.action, equal_nan=True):
        yield "unequal", "the saved file holds other numbers"
    judged = evaluate(recourse, problem) if pages else None
    for language in languages:
        with use_language(language):
            plans = _by_person(plans_table(recourse))
            cells = _by_person(
                list(csv.DictReader(io.StringIO(csv_text(plans_table(recourse)).lstrip("\ufeff"))))
            )
            page = ""
            if pages:
                with tempfile.TemporaryDirectory() as folder:
                    made = report(
                        problem, recourse, Path(folder) / "page.html", judged, people=list(range(pages))
                    )
                    page = _text(made.read_text(encoding="utf-8"))
            frame = recourse.to_frame("dict")
            for i in range(recourse.n):
                texts = {
                    "explain": recourse.explain(i),
                    "loaded": again.explain(i),
                    "letter": letter(problem, recourse, i, reasons=i < letters),
                    "plans": plans.get(i, ""),
                    "CSV": cells.get(i, ""),
                    "table": " ".join(value for row in options_table(recourse, i) for value in row.values()),
                }
                if i < pages:
                    texts["report"] = page
                if texts["explain"] != texts["loaded"]:
                    yield "unequal", f"person {i}: explain of the saved file differs"
                for name, text in texts.items():
                    for number in _NUMBER[language].findall(text):
                        if len(re.sub(r"\D", "", number).lstrip("0")) > _MOST_DIGITS:
                            yield "raw float", f"person {i}, {name} ({language}): {number}"
                for option in np.flatnonzero(short.found[i]):
                    for j in np.flatnonzero(short.acted[i, option]):
                        yield from _value(short, frame, texts, i, int(option), int(j))


def _by_person(rows: list[dict[str, Any]]) -> dict[int, str]:
    plans: dict[int, list[str]] = {}
    for row in rows:
        plans.setdefault(int(row["person"]), []).append(row["plan"])
    return {i: " ".join(texts) for i, texts in plans.items()}


def _text(page: str) -> str:
    """The words of a page, without its figures."""
    page = re.sub(r"(?s)<(style|svg|head).*?</\1>", " ", page)
    return html.unescape(re.sub(r"<[^>]+>", " ", page))


def _value(
    short: wf.Recourse, frame: dict[str, Any], texts: dict[str, str], i: int, option: int, j: int
) -> Iterator[tuple[str, str]]:
    feature, value, before = short.schema.features[j], short.action[i, option, j], short.x[i, j]
    shown = words.value_text(feature, value)
    for name, text in texts.items():
        if shown not in text:
            bare = words.value_text(feature, value, unit=False)
            yield ("no unit" if bare in text else "unequal"), f"person {i}, {name}: {feature.name} {shown}"
    cell = frame[f"action.{feature.name}"][i * short.k + option]
    if not feature.has_levels and cell != value:
        yield "unequal", f"person {i}, frame: {feature.name} {cell} beside {shown}"
    least = getattr(feature, "least_change", None)
    if not feature.has_levels and least and abs(value - before) < least * (1 - 1e-9):
        yield "too small", f"person {i}: {feature.name} from {before:g} to {value:g}"


def main() -> None:
    """Print how often each kind was found, and some of each."""
    from wayforward.cli.inputs import Inputs

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cells", nargs="*", default=list(CELLS), help="data:model")
    parser.add_argument("--n", type=int, default=500)
    parser.add_argument("--k", type=int, default=3)
    parser.add_argument(
        "--kinds", default="", help="such as cheapest,lasting: one option of each, in place of k"
    )
    parser.add_argument("--language", action="append", help="en (left out) or de; repeat it for both")
    parser.add_argument("--letters", type=int, default=20, help="how many with reasons, which take a search")
    given = parser.parse_args()
    for cell in given.cells:
        source, model = cell.rsplit(":", 1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ready = Inputs(data=source, model=model, n=given.n, seed=0).ready()
            asked = {"kinds": tuple(given.kinds.split(","))} if given.kinds else {"k": given.k}
            got = wf.recommend(ready.problem, ready.x, **asked)
            seen = list(findings(ready.problem, got, given.letters, given.language or ["en"]))
        count = Counter(kind for kind, _ in seen)
        total = int(got.rounded.found.sum())
        print(f"{cell}: {got.n} people, {total} plans, found: {dict(count) or 'nothing'}")
        for kind in count:
            for what in [text for other, text in seen if other == kind][:5]:
                print(f"  {kind}: {what}")


if __name__ == "__main__":
    main()
