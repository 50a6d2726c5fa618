"""Where a decision changes as one feature alone moves away from where a person is: a scan, then bisection."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from wayforward.shapes import Floats, Ints, Mask

if TYPE_CHECKING:
    from wayforward.schema import Schema

_HALVINGS = 30

#: Is the decision another one? people (m,), features (m,), values (m,) -> (m,) bool.
Turned = Callable[[Ints, Ints, Floats], Mask]


class Crossings(NamedTuple):
    """Of features alone, downwards and upwards.

    before (n, d, 2): the last value that keeps the decision, NaN where there is no way. after (n, d, 2): the first
    beyond it that turns it, NaN where none was seen, and before is then the end of the way. levels (n, all levels)
    bool: another level that turns it.
    """

    before: Floats
    after: Floats
    levels: Mask

    def nearest(self, x: Floats) -> Floats:
        """(n, d) the value of a number nearest to x that turns the decision; NaN where there is none."""
        gap = np.abs(self.after - x[..., None])
        side = np.where(np.isnan(gap), np.inf, gap).argmin(2)
        return np.asarray(np.take_along_axis(self.after, side[..., None], 2)[..., 0])


def crossings(
    schema: Schema, x: Floats, low: Floats, high: Floats, free: Mask, levels: Mask, turned: Turned, grid: int
) -> Crossings:
    """Look from x (n, d) to low and to high (n, d) where free (n, d), at grid values each way, evenly spread; between
    the last that keeps the decision and the first that turns it bisection narrows down. levels (n, all levels): those
    to ask about. Nothing is assumed monotone: what turns between two values of the grid and back is not seen.
    """
    n, d = x.shape
    before, after = np.full((n, d, 2), np.nan), np.full((n, d, 2), np.nan)
    other = levels & (schema.level_index != x[:, schema.level_owner]) & free[:, schema.level_owner]
    who, column = np.nonzero(other)
    if who.size:
        other[who, column] = turned(who, schema.level_owner[column], schema.level_index[column].astype(float))
    number = free & ~schema.has_levels & ~np.isnan(x)
    for side, end in enumerate((low, high)):
        with np.errstate(invalid="ignore"):
            way = number & np.isfinite(end) & ((end < x) if side == 0 else (end > x))
        who, j = np.nonzero(way)
        if not who.size:
            continue
        share = np.arange(1, grid + 1) / grid
        start, stop = x[who, j], end[who, j]
        value = _legal(schema, start[:, None] + share * (stop - start)[:, None], j)
        hit = turned(np.repeat(who, grid), np.repeat(j, grid), value.ravel()).reshape(value.shape)
        first, there = hit.argmax(1), hit.any(1)
        each = np.arange(len(who))
        keeps = np.where(first > 0, value[each, first - 1], start)
        turns = value[each, first]
        at = np.flatnonzero(there)
        for _ in range(_HALVINGS):
            middle = _legal(schema, ((keeps[at] + turns[at]) / 2)[:, None], j[at])[:, 0]
            new = (middle != keeps[at]) & (middle != turns[at])
            at, middle = at[new], middle[new]
            if not at.size:
                break
            yes = turned(who[at], j[at], middle)
            turns[at] = np.where(yes, middle, turns[at])
            keeps[at] = np.where(yes, keeps[at], middle)
        before[who, j, side] = np.where(there, keeps, value[:, -1])
        after[who, j, side] = np.where(there, turns, np.nan)
    return Crossings(before, after, other)


def _legal(schema: Schema, value: Floats, j: Ints) -> Floats:
    """The nearest legal values to value (m, g) of features (m,)."""
    return np.asarray(schema.snap(value.T, columns=j).T)
