"""Where a model that is made of trees can change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from wayforward.problem import Problem


def tree_crossings(problem: Problem) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """Return where a tree model can change: for each numeric feature the least legal values above its thresholds, and
    the greatest at or below them; empty for models that change anywhere."""
    thresholds = problem.model.thresholds()
    if thresholds is None:
        return {}
    schema, out = problem.schema, {}
    for j in np.flatnonzero(~schema.has_levels).tolist():
        cut = np.asarray(thresholds[j], dtype=np.float64)
        if not len(cut):
            continue
        above, below, step = np.nextafter(cut, np.inf), cut, schema.step[j]
        if not np.isnan(step):
            above, below = schema.round(cut, columns=j), schema.round(cut, columns=j)
            above = np.where(above > cut, above, schema.round(above + step, columns=j))
            below = np.where(below <= cut, below, schema.round(below - step, columns=j))
        out[j] = (np.unique(above), np.unique(below))
    return out
