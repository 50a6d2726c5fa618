"""The nearest reference rows for everybody at once, measured after projecting them onto what a person may do.

The distance is a weighted sum over features: |difference| x scale for ordered features, scale for another
category (HEOM with the Manhattan aggregation). A feature that the person may not act on keeps its own value and
so adds nothing; an ordered value is clipped into the person's reach. With `strict` a row that would need such a
projection is left out instead.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wayforward.model.kernels import jit

_SHORT = 128  # longer lists are sorted, not inserted into
_CHUNK = 2_000_000  # person-row pairs that the NumPy twin holds at once: 16 MB an array


@dataclass(frozen=True)
class Reach:
    """What each person may do, as the kernels read it.

    x, low, high, weight (n, d); free (n, d) bool; level_ok: feature -> (n, L) bool.
    """

    x: np.ndarray
    free: np.ndarray
    low: np.ndarray
    high: np.ndarray
    weight: np.ndarray
    level_ok: dict[int, np.ndarray]

    def take(self, who: np.ndarray) -> Reach:
        """Copy the part of some of the people."""
        levels = {j: ok[who] for j, ok in self.level_ok.items()}
        return Reach(self.x[who], self.free[who], self.low[who], self.high[who], self.weight[who], levels)


@dataclass(frozen=True)
class NeighbourMetric:
    """scale (d,): effort of one unit; full (d,): effort from a missing value; categorical (d,) bool."""

    scale: np.ndarray
    full: np.ndarray
    categorical: np.ndarray


def nearest(
    reach: Reach, reference: np.ndarray, metric: NeighbourMetric, k: int, *, strict: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Find the exact k nearest rows of `reference` (R, d) for each of n people: index and distance, each (n, k).

    Rows come nearest first, ties by index; where fewer than k rows qualify the index is -1 and the distance inf.
    A person's answer depends on nobody else's.
    """
    n, rows = reach.x.shape[0], reference.shape[0]
    k = min(k, rows)
    index, distance = np.full((n, k), -1, dtype=np.int64), np.full((n, k), np.inf)
    if n == 0 or k == 0:
        return index, distance
    # Features on which the reference differs most come first: the compiled scan then gives up on a row early.
    spread = np.array(
        [np.std(column[~np.isnan(column)]) if (~np.isnan(column)).any() else 0 for column in reference.T]
    )
    order = np.argsort(-np.where(metric.categorical, 0.5, 1.0) * spread * metric.scale, kind="stable")
    columns = np.ascontiguousarray(reference[:, order])
    own, low, high = (np.ascontiguousarray(part[:, order]) for part in (reach.x, reach.low, reach.high))
    free = np.ascontiguousarray(reach.free[:, order])
    effort = np.ascontiguousarray((reach.weight * metric.scale)[:, order])
    absent_effort = np.ascontiguousarray((reach.weight * metric.full)[:, order])
    categorical = metric.categorical[order]
    level_ok, start = _side_by_side(reach, order)
    parts = (own, free, low, high, absent_effort, effort)
    if jit() is not None and k <= _SHORT:
        from wayforward.methods.engines._neighbours_jit import scan

        scan(*parts, categorical, level_ok, start, columns, strict, index, distance)
        return index, distance
    chunk = max(1, _CHUNK // rows)
    for begin in range(0, n, chunk):
        some = slice(begin, begin + chunk)
        apart = _distances(
            [part[some] for part in parts], categorical, level_ok[some], start, columns, strict
        )
        index[some], distance[some] = smallest(apart, k)
    return index, distance


def smallest(apart: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return index and value (m, k) of the k smallest of (m, R), in order, ties by index; -1 where it is infinite."""
    m, rows = apart.shape
    k = min(k, rows)
    chosen = np.broadcast_to(np.arange(rows), (m, rows))
    if k < rows:
        # argpartition breaks ties arbitrarily: take all below the k-th value, then the first of those equal to it.
        kth = np.partition(apart, k - 1, axis=1)[:, k - 1 : k]
        below, equal = apart < kth, apart == kth
        equal &= np.cumsum(equal, axis=1) <= k - below.sum(1, keepdims=True)
        chosen = np.nonzero(below | equal)[1].reshape(m, k)
    value = np.take_along_axis(apart, chosen, axis=1)
    order = np.argsort(value, axis=1, kind="stable")
    chosen, value = np.take_along_axis(chosen, order, axis=1), np.take_along_axis(value, order, axis=1)
    return np.where(np.isfinite(value), chosen, -1), value


def _side_by_side(reach: Reach, order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Join the allowed levels of all level features (n, sum L); return where each block starts (-1: no levels)."""
    start = np.full(len(order), -1, dtype=np.int64)
    blocks, width = [], 0
    for place, j in enumerate(order):
        ok = reach.level_ok.get(int(j))
        if ok is not None:
            start[place] = width
            width += ok.shape[1]
            blocks.append(ok)
    none = np.ones((reach.x.shape[0], 1), dtype=bool)
    return np.ascontiguousarray(np.concatenate(blocks, axis=1)) if blocks else none, start


def _distances(
    parts: list[np.ndarray],
    categorical: np.ndarray,
    level_ok: np.ndarray,
    start: np.ndarray,
    columns: np.ndarray,
    strict: bool,
) -> np.ndarray:
    """Measure distances (m, R), inf where `strict` forbids, in the order of the compiled scan, to the last bit."""
    own_all, free_all, low_all, high_all, absent_all, effort_all = parts
    total = np.zeros((len(own_all), len(columns)))
    for j in range(columns.shape[1]):
        own, free, low, high = (part[:, j, None] for part in (own_all, free_all, low_all, high_all))
        value = columns[None, :, j]
        absent = np.isnan(value)
        ok = np.broadcast_to(free, total.shape)
        if start[j] >= 0:
            level = np.where(absent, 0, value)[0].astype(np.int64)
            ok = ok & level_ok[:, start[j] + level]
        with np.errstate(invalid="ignore"):
            if strict:
                moves = ~((own == value) | (np.isnan(own) & absent))
                total[moves & ~(ok & (value >= low) & (value <= high))] = np.inf
                goal = value
            else:
                moves = ok & ~absent
                goal = np.clip(value, low, high)
            if categorical[j]:
                gap = np.where(goal != own, effort_all[:, j, None], 0.0)
            else:
                gap = np.abs(goal - own) * effort_all[:, j, None]
        gap = np.where(np.isnan(own), absent_all[:, j, None], gap)
        total += np.where(moves, gap, 0.0)
    return total
