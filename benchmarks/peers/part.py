"""What a person may act on, as a frame of its own: for peers that know no features that stay as they are.

Such a peer sees only the free features, as text frames; the classifier is asked about them beside the person's others.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from common import Task


class Part:
    """The free features of a task. x (d,): the person whose others stand beside them."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.columns = [int(j) for j in np.flatnonzero(task.free)]
        self.features = [task.features[j] for j in self.columns]
        self.names = [f["name"] for f in self.features]
        self.x = task.train[0]
        rows = ~np.isnan(task.train).any(axis=1)
        self.train, self.label = task.train[rows], task.label[rows].astype(int)

    def frame(self, codes: np.ndarray) -> pd.DataFrame:
        """(m, d) codes -> their free columns, levels as text."""
        return self.task.frame(codes, as_text=True)[self.names]

    def whole(self, part: np.ndarray) -> np.ndarray:
        """(m, f) codes of free columns -> (m, d) codes of whole people."""
        out = np.repeat(self.x[None, :], len(part), axis=0)
        out[:, self.columns] = part
        return out

    def codes(self, part: pd.DataFrame) -> np.ndarray:
        """A frame of free columns -> (m, d) codes; NaN where a level is unknown."""
        out = np.empty((len(part), len(self.names)))
        for at, feature in enumerate(self.features):
            column = part[feature["name"]]
            if feature["levels"]:
                index = {str(v): float(i) for i, v in enumerate(feature["levels"])}
                out[:, at] = [index.get(str(v), np.nan) for v in column]
            else:
                out[:, at] = pd.to_numeric(column)
        return self.whole(out)

    def stepped(self, after: np.ndarray) -> np.ndarray:
        """(m, d) numbers on the steps that exist, away from where the person stands."""
        out = after.copy()
        for j, feature in zip(self.columns, self.features, strict=True):
            step = feature["step"] or (1.0 if feature["kind"] == "integer" else None)
            if not feature["levels"] and step and math.isfinite(step):
                moved = (after[:, j] - self.x[j]) / step
                out[:, j] = self.x[j] + np.sign(moved) * np.ceil(np.abs(moved) - 1e-9) * step
        return out

    def ask(self, after: np.ndarray) -> np.ndarray:
        """(m, d) codes -> (m, 2) probabilities; a number that is missing counts as the person's own."""
        return self.task.model.on_codes(np.where(np.isnan(after), self.x, after))
