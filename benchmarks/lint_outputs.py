"""Look over every output of many people as a reader would: `python -m benchmarks.lint_outputs --n 500`.

For every person and option, what `explain`, the letter, the tables, the frame and the saved file say is compared: the
same number everywhere, with its unit, no raw floats, and no change below the least that means something.
"""

from __future__ import annotations

import argparse
import re
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import wayforward as wf
from wayforward.answers import letter, options_table, plans_table, words

CELLS = ("gmsc:gb", "german:rf", "adult:gb", "compas:lr", "loan:gb")
_NUMBER = re.compile(r"\d[\d,]*\.\d+")
_MOST_DIGITS = 6  # significant, in a number with decimals: more is a raw float


def findings(problem: wf.Problem, recourse: wf.Recourse, letters: int = 20) -> Iterator[tuple[str, str]]:
    """Yield (kind, what) for everything a reader would stop at. letters: how many with reasons, which take a search."""
    short = recourse.rounded
    with tempfile.TemporaryDirectory() as folder:
        again = wf.Recourse.load(recourse.save(Path(folder) / "answers.json"))
    frame = recourse.to_frame("dict")
    plans: dict[int, list[str]] = {}
    for row in plans_table(recourse):
        plans.setdefault(row["person"], []).append(row["plan"])
    for i in range(recourse.n):
        found = np.flatnonzero(short.found[i])
        texts = {
            "explain": recourse.explain(i),
            "loaded": again.explain(i),
            "letter": letter(problem, recourse, i, reasons=i < letters),
            "plans": " ".join(plans.get(i, ())),
            "table": " ".join(value for row in options_table(recourse, i) for value in row.values()),
        }
        if texts["explain"] != texts["loaded"]:
            yield "unequal", f"person {i}: explain of the saved file differs"
        for name, text in texts.items():
            for number in _NUMBER.findall(text):
                if len(number.replace(",", "").replace(".", "").lstrip("0")) > _MOST_DIGITS:
                    yield "raw float", f"person {i}, {name}: {number}"
        for option in found:
            for j in np.flatnonzero(short.acted[i, option]):
                yield from _value(short, frame, texts, i, int(option), int(j))


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
    given = parser.parse_args()
    for cell in given.cells:
        source, model = cell.rsplit(":", 1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ready = Inputs(data=source, model=model, n=given.n, seed=0).ready()
            got = wf.recommend(ready.problem, ready.x, k=given.k)
            seen = list(findings(ready.problem, got))
        count = Counter(kind for kind, _ in seen)
        total = int(got.rounded.found.sum())
        print(f"{cell}: {got.n} people, {total} plans, found: {dict(count) or 'nothing'}")
        for kind in count:
            for what in [text for other, text in seen if other == kind][:5]:
                print(f"  {kind}: {what}")


if __name__ == "__main__":
    main()
