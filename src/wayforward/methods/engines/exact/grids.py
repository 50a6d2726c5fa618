"""Values that each person may set each feature to: all of them where they are few, else some where people are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wayforward.scaling import present
from wayforward.shapes import Floats, Ints, Rows

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem


def grids_of(problem: Problem, most: int, rows: Rows) -> list[Floats]:
    """Return values of each feature, sorted: its levels, its lattice, or at most `most` values: quantiles of rows
    (N, d), and evenly between the least and the greatest.

    Where trees decide, and a feature is a number of no such lattice: the values next to their thresholds as well.
    """
    schema, flat, out = problem.schema, problem.model.forest, []
    low, high = problem.reach.low, problem.reach.high
    for j in range(schema.d):
        if schema.has_levels[j]:
            out.append(np.arange(float(schema.n_levels[j])))
            continue
        step, seen = float(schema.step[j]), present(rows[:, j])
        if np.isfinite(low[j]) and np.isfinite(high[j]) and (high[j] - low[j]) / step < most:
            value = low[j] + step * np.arange(int((high[j] - low[j]) / step + 1e-9) + 1)
        else:
            even = np.linspace(0, 1, most // 2)
            value = np.quantile(seen, even) if seen.size else np.empty(0)
            value = np.append(value, value.min(initial=np.inf) + even * np.ptp(value) if seen.size else value)
            if flat is not None:
                cuts = np.unique(flat.threshold[(flat.feature == j) & (flat.level_set < 0)])
                cuts = cuts[np.unique(np.linspace(0, len(cuts) - 1, min(most, len(cuts))).astype(int))]
                beyond = np.nextafter(cuts, np.inf) if np.isnan(step) else cuts + step
                value = np.concatenate([cuts, beyond, value[:: 1 + (len(cuts) > most // 4)]])
        value = schema.snap(value, columns=j)
        out.append(np.unique(value[np.isfinite(value)]))
    return out


def options_of(people: Population, grids: list[Floats]) -> tuple[Ints, Ints, Floats]:
    """Return person (o,), feature (o,), value (o,): what each person may do with one feature, on grids a feature."""
    person, feature, value = [], [], []
    for j, grid in enumerate(grids):
        free = np.flatnonzero(people.free[:, j])
        who, v = np.repeat(free, len(grid)), np.tile(grid, len(free))
        action = np.full((len(who), people.d), np.nan)
        action[:, j] = v
        put = people.snap(who, action)
        good = ~np.isnan(put[:, j]) & people.schema.differs(put, people.x[who])[:, j]
        who, put = who[good], put[good, j]
        once = np.unique(np.column_stack([who, put]), axis=0) if len(who) else np.empty((0, 2))
        person.append(once[:, 0].astype(np.int64))
        feature.append(np.full(len(once), j))
        value.append(once[:, 1])
    return np.concatenate(person), np.concatenate(feature), np.concatenate(value)
