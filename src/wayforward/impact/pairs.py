"""Sums and ranks over all pairs of people, in tiles: exact, and no array grows with the square of the population.

Points are rows (n, e) and the distance is Euclidean. Memory is some tens of MiB for any number of people; time grows
with the number of pairs, about 10 ns each with ten columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

Array = NDArray[np.float64]

_ROWS, _COLUMNS = 128, 4096  # a tile of distances is 4 MiB: it stays in the cache
_BINS = 1 << 16
_KEEP = 2_000_000  # so many distances are sorted at once
# Distances that are equal on paper differ in their last bits with the order of the features; a radius that is itself
# one of the distances must not tell them apart.
_SAME = 1e-9


def tiles(x: Array, y: Array) -> Iterator[tuple[slice, slice, Array]]:
    """Distances between the rows of x (n, e) and y (q, e), tile by tile: rows, columns, (r, c)."""
    for start in range(0, len(x), _ROWS):
        rows = slice(start, min(start + _ROWS, len(x)))
        for left in range(0, len(y), _COLUMNS):
            columns = slice(left, min(left + _COLUMNS, len(y)))
            yield rows, columns, cdist(x[rows], y[columns])


def _each_pair_once(x: Array) -> Iterator[Array]:
    """The distances of all pairs i < j of x (n, e), in parts."""
    for start in range(0, len(x), _ROWS):
        block = x[start : start + _ROWS]
        own = cdist(block, block)
        yield own[np.triu_indices(len(block), 1)]
        for left in range(start + len(block), len(x), _COLUMNS):
            yield cdist(block, x[left : left + _COLUMNS]).ravel()


def quantile_of_pairs(x: Array, q: float) -> float:
    """The q-quantile of the distances of all pairs of x (n, e), as ``numpy.quantile`` gives it; NaN with n < 2.

    Exact: histograms narrow the rank down until what lies between fits into memory.
    """
    n = len(x)
    count = n * (n - 1) // 2
    if not count:
        return float("nan")
    at = (count - 1) * q
    rank = min(int(at), count - 1)
    first, second = _neighbouring_ranks(x, rank)
    return first if at == rank else first + (at - rank) * (second - first)


def _neighbouring_ranks(x: Array, rank: int) -> tuple[float, float]:
    """The distance with `rank` smaller or equal ones before it over all pairs, and the next one."""
    low, high = 0.0, float(np.linalg.norm(x.max(0) - x.min(0))) * (1 + _SAME)
    while True:
        below, count, above = 0, 0, np.inf  # smaller than `low`; from `low` to `high`; the first one beyond
        least, most = np.inf, -np.inf
        histogram = np.zeros(_BINS + 1, dtype=np.int64)
        scale = _BINS / max(high - low, 1e-300)
        kept: list[Array] = []
        for part in _each_pair_once(x):
            beyond = part > high
            if beyond.any():
                above = min(above, float(part[beyond].min()))
                part = part[~beyond]
            before = len(part)
            part = part[part >= low]
            below += before - len(part)
            if not len(part):
                continue
            count += len(part)
            least, most = min(least, float(part.min())), max(most, float(part.max()))
            histogram += np.bincount(((part - low) * scale).astype(np.int64), minlength=_BINS + 1)
            if count <= _KEEP:
                kept.append(part)
        place = rank - below
        if most - least <= 1e-12 * most:  # one value, many times
            return least, (most if place + 1 < count else above)
        if count <= _KEEP:
            values = np.sort(np.concatenate(kept))
            return float(values[place]), float(values[place + 1] if place + 1 < count else above)
        bin_ = int(np.searchsorted(np.cumsum(histogram), place, side="right"))
        # A little more than the bin: its ends are rounded, and ranks are counted anew in the next pass.
        slack = 1e-13 * high
        low, high = max(0.0, low + bin_ / scale - slack), low + (bin_ + 1) / scale + slack


def same_around(x: Array, others: Array, radius: float) -> NDArray[np.bool_]:
    """Which people of x (m, e) have more people of x (themselves included) than others (q, e) within a radius: (m,)."""
    edge = radius * (1 + _SAME) + 1e-12
    score = np.zeros(len(x), dtype=np.int64)
    for points, sign in ((x, 1), (others, -1)):
        for rows, _, distance in tiles(x, points):
            score[rows] += sign * np.count_nonzero(distance <= edge, axis=1)
    return np.asarray(score > 0)


def mean_of_pairs(x: Array, y: Array, of: Literal["distance", "closeness"] = "distance") -> float:
    """The mean over all pairs of x (n, e) and y (q, e) of the distance, or of exp(-distance); NaN if one is empty."""
    if not len(x) or not len(y):
        return float("nan")
    total = np.zeros(len(x))
    for rows, _, distance in tiles(x, y):
        if of == "closeness":
            np.exp(np.negative(distance, out=distance), out=distance)
        total[rows] += distance.sum(1)
    return float(total.sum() / (len(x) * len(y)))


def hausdorff(x: Any, y: Any) -> float:
    """The Hausdorff distance of two finite sets x (n, e), y (q, e): how far the worst point is from the other set."""
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    return float(max(cKDTree(b).query(a)[0].max(), cKDTree(a).query(b)[0].max()))
