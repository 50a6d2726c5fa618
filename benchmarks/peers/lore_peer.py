"""lore-sa (LORE, genetic neighbourhoods) on the people of an exchange folder, with its defaults.

LORE answers with rules and with the rows of its neighbourhood that get the other answer. The row that is taken here is
the nearest of these (in ranges, another category counting as one) within the person's reach, numbers on their steps.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from common import Task, run
from lore_sa.bbox import AbstractBBox
from lore_sa.dataset import TabularDataset
from lore_sa.lore import TabularGeneticGeneratorLore
from part import Part

ANSWER = "answer__"


def build(task: Task, options: dict[str, Any]) -> Callable[..., np.ndarray | None]:
    """Describe the free columns of the training rows."""
    warnings.filterwarnings("ignore")
    part = Part(task)
    frame = part.frame(part.train)
    frame[ANSWER] = np.where(part.label == 1, "yes", "no")
    data = TabularDataset(frame, class_name=ANSWER, categorial_columns=[
        *(f["name"] for f in part.features if f["levels"]), ANSWER,
    ])  # fmt: skip

    class Asked(AbstractBBox):
        """The classifier on free columns."""

        def predict(self, rows: Any) -> np.ndarray:
            return np.where(self.predict_proba(rows)[:, 1] > 0.5, "yes", "no")

        def predict_proba(self, rows: Any) -> np.ndarray:
            return part.ask(part.codes(pd.DataFrame(np.asarray(rows, dtype=object), columns=part.names)))

    explainer = TabularGeneticGeneratorLore(Asked(task.model), data)

    def answer(
        x: np.ndarray, low: np.ndarray, high: np.ndarray, levels: dict[int, np.ndarray]
    ) -> np.ndarray | None:
        part.x = x
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            found = explainer.explain_instance(part.frame(x[None, :]).iloc[0])["counterfactual_samples"]
        if not found:
            return None
        after = part.stepped(part.codes(pd.DataFrame(found, columns=part.names)))
        far = np.where(task.has_levels, after != x, np.abs(after - x) / task.span)
        within = ((after >= low) & (after <= high)) | task.has_levels | (after == x)
        for j, ok in levels.items():
            within[:, j] &= ok[np.nan_to_num(after[:, j]).astype(int)]
        good = within[:, part.columns].all(axis=1) & (part.ask(after)[:, 1] > 0.5)
        cost = np.where(good, far[:, part.columns].sum(axis=1), np.inf)
        best = int(cost.argmin())
        return after[best] if np.isfinite(cost[best]) else None

    return answer


if __name__ == "__main__":
    run("lore-sa", ("lore-sa",), build)
