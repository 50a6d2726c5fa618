"""NICEx on the people of an exchange folder, with its defaults (HEOM, sparsity, justified neighbours).

NICE knows no immutable features and no directions: it is given the whole training table and judged like all.
Levels travel as indices; categorical and binary features are declared as categories, ordinal ones as numbers.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from common import Task, run
from nice import NICE


def build(task: Task, options: dict[str, Any]) -> Callable[..., np.ndarray | None]:
    """Fit on the training rows without missing values."""
    warnings.filterwarnings("ignore")
    rows = ~np.isnan(task.train).any(axis=1)
    categories = [j for j, f in enumerate(task.features) if f["kind"] in ("binary", "categorical")]
    explainer = NICE(
        predict_fn=task.model.on_codes,
        X_train=task.train[rows].copy(),
        y_train=task.label[rows].astype(int),
        cat_feat=categories,
        num_feat=[j for j in range(len(task.names)) if j not in categories],
        optimization=options.get("optimization", "sparsity"),
    )

    def answer(
        x: np.ndarray, low: np.ndarray, high: np.ndarray, levels: dict[int, np.ndarray]
    ) -> np.ndarray | None:
        return np.asarray(explainer.explain(x[None, :]))[0]

    return answer


if __name__ == "__main__":
    run("NICEx", ("NICEx",), build)
