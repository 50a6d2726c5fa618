"""How many people of a table share a value, or several values at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wayforward.schema import Schema
from wayforward.shapes import Mask, People, Rows

_BLOCK = 1 << 24  # comparisons at once


@dataclass(frozen=True, eq=False)
class Crowd:
    """Values that at least so many people share: of each feature in order, with the number of people who have them.

    Values that differ by rounding alone are the same. rows (n, d): the people, kept for `jointly` only.
    """

    schema: Schema
    held: tuple[np.ndarray, ...]
    count: tuple[np.ndarray, ...]
    rows: People | None = None

    @classmethod
    def of(cls, schema: Schema, rows: People, least: int = 1, jointly: bool = False) -> Crowd:
        """Count the values of rows (n, d); what fewer than `least` people have is forgotten."""
        held, count = [], []
        for column, slack in zip(rows.T, schema.slack, strict=True):
            ordered = np.sort(column[~np.isnan(column)])
            first = np.flatnonzero(np.diff(ordered, prepend=-np.inf) > slack)
            size = np.diff(np.append(first, len(ordered)))
            held.append(ordered[first][size >= least])
            count.append(size[size >= least])
        return cls(schema, tuple(held), tuple(count), rows if jointly else None)

    def values(self, points: Rows) -> np.ndarray:
        """(m, d) -> (m, d) how many people have each value; 0 for what was forgotten, and for a missing one."""
        out = np.zeros(points.shape, dtype=np.int64)
        for j, (held, count) in enumerate(zip(self.held, self.count, strict=True)):
            value, slack = points[:, j], self.schema.slack[j]
            at = np.searchsorted(held, value - slack)
            inside = (at < len(held)) & ~np.isnan(value)
            same = np.flatnonzero(inside)[held[at[inside]] <= value[inside] + slack]
            out[same, j] = count[at[same]]
        return out

    def jointly(self, points: Rows, given: Mask | None = None) -> np.ndarray:
        """(m, d) -> (m,) how many people have all the values that are given; 0 where nothing is.

        given (m, d) bool: left out, whatever is not NaN; where it is True and the value is NaN, who misses it, too.
        """
        assert self.rows is not None
        given = ~np.isnan(points) if given is None else given
        out = np.zeros(len(points), dtype=np.int64)
        step = max(1, _BLOCK // max(1, self.rows.size))
        for start in range(0, len(points), step):
            part, some = points[start : start + step], given[start : start + step]
            same = ~self.schema.differs(self.rows[None], part[:, None]) | ~some[:, None]
            out[start : start + step] = same.all(2).sum(1) * some.any(1)
        return out

    def beyond(self, points: Rows, start: Rows) -> Rows:
        """(m, d) the nearest values of the crowd at or behind `points`, as seen from `start`; NaN where none is."""
        out = np.full(points.shape, np.nan)
        for j, held in enumerate(self.held):
            value, slack = points[:, j], self.schema.slack[j]
            up = value >= start[:, j]
            at = np.where(
                up, np.searchsorted(held, value - slack), np.searchsorted(held, value + slack, "right") - 1
            )
            inside = (at >= 0) & (at < len(held)) & ~np.isnan(value)
            out[inside, j] = held[at[inside]]
        return out
