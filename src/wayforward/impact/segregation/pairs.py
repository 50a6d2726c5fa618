"""Sums and ranks over all pairs of people, in tiles: exact, and no array grows with the square of the population.

Points are rows (n, e) and the distance is Euclidean. Memory is some tens of MiB for any number of people; time grows
with the number of pairs. Squared distances come from one matrix product a tile, which rounds at about 1e-15 of the
squared size of the whole set: people nearer than a millionth of it count as standing in the same place.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from scipy.spatial import cKDTree

from wayforward.public import public
from wayforward.shapes import Floats, Mask

_ROWS, _COLUMNS = 64, 2048  # a tile of distances is 1 MiB: it stays in the cache
_BINS = 1 << 16
_KEEP = 2_000_000  # so many distances are sorted at once
# Distances that are equal on paper differ in their last bits with the order of the features; a radius that is itself
# one of the distances must not tell them apart.
_SAME = 1e-9


class _Tiles:
    """Squared distances between the rows of x (n, e) and y (q, e), tile by tile."""

    def __init__(self, x: Floats, y: Floats) -> None:
        middle = x.mean(0)
        a, b = x - middle, y - middle
        a2, b2 = (a * a).sum(1), (b * b).sum(1)
        # |a - b|^2 = |a|^2 - 2 ab + |b|^2, all of it as one product.
        self.left = np.column_stack([-2 * a, a2, np.ones(len(a))])
        self.right = np.ascontiguousarray(np.column_stack([b, np.ones(len(b)), b2]).T)
        self.zero = 1e-12 * max(float(a2.max()), float(b2.max()))

    def __iter__(self) -> Iterator[tuple[slice, slice, Floats]]:
        """Rows, columns, (r, c) squared distances; the array is used again for the next tile."""
        for start in range(0, len(self.left), _ROWS):
            rows = slice(start, min(start + _ROWS, len(self.left)))
            yield from self.row(rows, 0)

    def row(self, rows: slice, first: int) -> Iterator[tuple[slice, slice, Floats]]:
        """Yield the tiles of some rows, from one column on."""
        for at in range(first, self.right.shape[1], _COLUMNS):
            columns = slice(at, min(at + _COLUMNS, self.right.shape[1]))
            square = self.left[rows] @ self.right[:, columns]
            square[square < self.zero] = 0.0
            yield rows, columns, square


def _each_pair_once(x: Floats) -> Iterator[Floats]:
    """Yield the squared distances of all pairs i < j of x (n, e), in parts."""
    tiles = _Tiles(x, x)
    for start in range(0, len(x), _ROWS):
        rows = slice(start, min(start + _ROWS, len(x)))
        for _, columns, square in tiles.row(rows, start):
            if columns.start == start:  # the diagonal runs through the first tile only
                yield square[np.triu_indices(len(square), 1, square.shape[1])]
            else:
                yield square.ravel()


def quantile_of_pairs(x: Floats, q: float) -> float:
    """Return the q-quantile of the distances of all pairs of x (n, e), as ``numpy.quantile`` gives it; NaN with n < 2.

    Exact: histograms narrow the rank down until what lies between fits into memory.
    """
    n = len(x)
    count = n * (n - 1) // 2
    if not count:
        return float("nan")
    at = (count - 1) * q
    rank = min(int(at), count - 1)
    first, second = np.sqrt(_neighbouring_ranks(x, rank))
    return float(first if at == rank else first + (at - rank) * (second - first))


def _neighbouring_ranks(x: Floats, rank: int) -> tuple[float, float]:
    """Return the squared distance with `rank` smaller or equal ones before it over all pairs, and the next one."""
    whole = float(((x.max(0) - x.min(0)) ** 2).sum()) * (1 + _SAME) + 1e-300
    low, high = _bracket(x, rank, whole)
    while True:
        below, count = 0, 0  # smaller than `low`; from `low` to `high`
        least, most = np.inf, -np.inf
        histogram = np.zeros(_BINS + 1, dtype=np.int64)
        scale = _BINS / (high - low)
        parts: list[Floats] = []
        for part in _each_pair_once(x):
            if low > 0.0 or high < whole:
                under = part < low
                below += int(np.count_nonzero(under))
                part = part[~under & (part <= high)]
            if not len(part):
                continue
            count += len(part)
            least, most = min(least, float(part.min())), max(most, float(part.max()))
            histogram += np.bincount(((part - low) * scale).astype(np.int64), minlength=_BINS + 1)
            if count <= _KEEP:
                parts.append(part)
        place = rank - below
        if not 0 <= place < count:  # the bracket was a guess
            low, high = 0.0, whole
        elif most - least <= 1e-14 * whole:  # one value, many times, but for rounding
            return least, most if place + 1 < count else _next_beyond(x, high, most)
        elif count <= _KEEP:
            values = np.sort(np.concatenate(parts))
            return float(values[place]), (
                float(values[place + 1]) if place + 1 < count else _next_beyond(x, high, most)
            )
        else:
            bin_ = int(np.searchsorted(np.cumsum(histogram), place, side="right"))
            # A little more than the bin: its ends are rounded, and ranks are counted anew in the next pass.
            slack = 1e-15 * whole
            low, high = max(0.0, low + bin_ / scale - slack), min(whole, low + (bin_ + 1) / scale + slack)


def _bracket(x: Floats, rank: int, whole: float) -> tuple[float, float]:
    """Return between which squared distances a rank lies for all but certain; the same people give the same bracket."""
    n, drawn = len(x), 2_000_000
    count = n * (n - 1) // 2
    if count < 10 * drawn:
        return 0.0, whole
    rng = np.random.default_rng(0)
    first, second = rng.integers(0, n, drawn), rng.integers(0, n - 1, drawn)
    second += second >= first
    square = np.zeros(drawn)
    for j in range(x.shape[1]):
        square += (x[first, j] - x[second, j]) ** 2
    share = (rank + 0.5) / count
    far = 5 * np.sqrt(share * (1 - share) / drawn) + 5 / drawn
    low, high = np.quantile(square, np.clip([share - far, share + far], 0, 1))
    return max(0.0, float(low) - 1e-12 * whole), min(whole, float(high) + 1e-12 * whole)


def _next_beyond(x: Floats, high: float, otherwise: float) -> float:
    """Return the smallest squared distance above `high`, or `otherwise` where there is none."""
    found = min(
        (float(part.min(initial=np.inf, where=part > high)) for part in _each_pair_once(x)), default=np.inf
    )
    return found if np.isfinite(found) else otherwise


def same_around(x: Floats, others: Floats, radius: float) -> Mask:
    """Return who of x (m, e) has more of x (themselves included) than of others (q, e) within a radius: (m,)."""
    score = np.zeros(len(x), dtype=np.int64)
    for points, sign in ((x, 1), (others, -1)):
        tiles = _Tiles(x, points)
        edge = (radius * (1 + _SAME)) ** 2 + tiles.zero
        for rows, _, square in tiles:
            score[rows] += sign * np.count_nonzero(square <= edge, axis=1)
    return np.asarray(score > 0)


def mean_of_pairs(x: Floats, y: Floats, of: Literal["distance", "closeness"] = "distance") -> float:
    """Return the mean distance, or exp(-distance), over all pairs of x (n, e) and y (q, e); NaN if one is empty."""
    if not len(x) or not len(y):
        return float("nan")
    total = np.zeros(len(x))
    for rows, _, square in _Tiles(x, y):
        distance = np.sqrt(square, out=square)
        if of == "closeness":
            np.exp(np.negative(distance, out=distance), out=distance)
        total[rows] += distance.sum(1)
    return float(total.sum() / (len(x) * len(y)))


@public
def hausdorff(x: Any, y: Any) -> float:
    """Return the Hausdorff distance of x (n, e) and y (q, e): how far the worst point is from the other set."""
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    return float(max(cKDTree(b).query(a)[0].max(), cKDTree(a).query(b)[0].max()))
