"""cfnow (`find_tabular`) on the people of an exchange folder, with its defaults: levels one-hot, numbers by tenths.

It knows no directions and no steps: numbers are put on the steps that exist, away from the person, and judged like all.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from typing import Any

import nltk
import numpy as np
import pandas as pd

nltk.download = lambda *names, **how: False  # what it fetches when it is imported is for texts alone

from cfnow import find_tabular  # noqa: E402
from common import Task, run  # noqa: E402
from part import Part  # noqa: E402


def build(task: Task, options: dict[str, Any]) -> Callable[..., np.ndarray | None]:
    """Name the columns: one for a number, one for each level of a category."""
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    part = Part(task)
    places: list[tuple[int, int | None]] = []
    for at, feature in enumerate(part.features):
        many = len(feature["levels"]) if feature["levels"] else 0
        places += [(at, level) for level in range(many)] or [(at, None)]
    kinds = {
        (f"f{at}" if level is None else f"f{at}_{level}"): "num" if level is None else "cat"
        for at, level in places
    }

    def spread(codes: np.ndarray) -> np.ndarray:
        """(f,) codes -> a value of each column."""
        return np.array([codes[at] if level is None else float(codes[at] == level) for at, level in places])

    def gathered(values: np.ndarray) -> np.ndarray:
        """(m, c) values of the columns -> (m, d) codes."""
        out = np.empty((len(values), len(part.columns)))
        for at, feature in enumerate(part.features):
            own = [i for i, (place, _) in enumerate(places) if place == at]
            out[:, at] = values[:, own].argmax(axis=1) if feature["levels"] else values[:, own[0]]
        return part.whole(out)

    def ask(rows: Any) -> np.ndarray:
        return part.ask(gathered(np.asarray(rows, dtype=float)))

    def answer(
        x: np.ndarray, low: np.ndarray, high: np.ndarray, levels: dict[int, np.ndarray]
    ) -> np.ndarray | None:
        part.x = x
        factual = pd.Series(spread(x[part.columns]), index=list(kinds))
        strategy = options.get("strategy", "random")
        found = find_tabular(factual, ask, feat_types=kinds, cf_strategy=strategy, has_ohe=True).cfs
        if not len(found):
            return None
        return part.stepped(gathered(np.asarray(found[:1], dtype=float)))[0]

    return answer


if __name__ == "__main__":
    run("cfnow", ("cfnow",), build)
