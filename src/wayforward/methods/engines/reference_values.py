"""What a unit is replaced by: nothing, the mean, the mode or the median of people, or somebody typical with a yes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem
    from wayforward.schema import Schema

Reference = Literal["removed", "mean", "mode", "median", "prototype"]


def reference_row(problem: Problem, kind: Reference) -> np.ndarray:
    """Return the row (d,) that units are replaced from.

    'removed': nought, or the end of the range that is nearest to it; of levels the first, of units that choose among
    cells of another image that in their own place. 'mean', 'median', 'mode': of
    the observed people, of categories always the most frequent. 'prototype': the median and the most frequent category
    of those whom the model accepts. NaN where nobody has a value.
    Raises: ProblemError where the problem has no table and needs one.
    """
    schema = problem.schema
    if kind == "removed":
        low, high = np.nan_to_num(schema.low, nan=-np.inf), np.nan_to_num(schema.high, nan=np.inf)
        own = schema.has_levels.cumsum() - 1.0 if choose_alike(schema) else np.zeros(schema.d)
        level = np.minimum(own, np.maximum(schema.n_levels - 2, 0))
        return np.asarray(np.where(schema.has_levels, level, np.clip(0.0, low, high)))
    rows = problem.reference_accepted if kind == "prototype" else problem.require_reference()
    return np.array([_of_column(rows[:, j], bool(schema.is_categorical[j]), kind) for j in range(schema.d)])


def choose_alike(schema: Schema) -> bool:
    """Whether all units are categories with the same levels, as cells that may take any cell of another image."""
    levels = {(feature.kind, feature.levels) for feature in schema.features if feature.has_levels}
    return bool(schema.carried.any()) and {kind for kind, _ in levels} == {"categorical"} and len(levels) == 1


def _of_column(column: np.ndarray, unordered: bool, kind: Reference) -> float:
    seen = column[~np.isnan(column)]
    if not seen.size:
        return np.nan
    if unordered or kind == "mode":
        values, times = np.unique(seen, return_counts=True)
        return float(values[times.argmax()])
    return float(seen.mean() if kind == "mean" else np.quantile(seen, 0.5, method="lower"))


def reference_values(people: Population, row: np.ndarray) -> np.ndarray:
    """Return values (n, d): the row (d,) as near as each person may come to it; NaN where that is no change."""
    value = people.snap(np.arange(people.n), np.tile(row, (people.n, 1)))
    return np.where(people.schema.differs(value, people.x), value, np.nan)
