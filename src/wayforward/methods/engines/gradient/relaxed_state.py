"""Lanes: relaxed searches of many people in one set of arrays. NumPy only; gradients come from `slopes` or `descent`.

A *lane* is one search (a person may have several). Its state is one number for each numeric feature, in widths of
the feature's range from where the person stands, and one point on the simplex for each feature with levels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from wayforward.problem import Population
    from wayforward.schema import Schema

_BEGUN = 0.02  # a level with this share has begun to grow


@dataclass
class Lanes:
    """State of m lanes. who (m,); move (m, d) in ranges; free (m, d) bool: what the lane may move.

    share (m, f, l): level coordinates of the f features with levels.
    """

    who: np.ndarray
    move: np.ndarray
    share: np.ndarray
    free: np.ndarray

    def take(self, rows: np.ndarray) -> Lanes:
        """Some of the lanes."""
        return Lanes(self.who[rows], self.move[rows], self.share[rows], self.free[rows])

    def put(self, rows: np.ndarray, other: Lanes) -> None:
        """Write the state of some of the lanes back."""
        self.move[rows], self.share[rows] = other.move, other.share


class Layout:
    """Where the coordinates of a schema's features are in lanes. span (d,): width of each feature's range.

    numeric (p,), level (f,): feature numbers; size (f,): coordinates of each block, the last of which stands for a
    missing value where there may be one; wide: the most of them; exists (f, wide) bool.
    """

    def __init__(self, schema: Schema, span: np.ndarray) -> None:
        self.schema, self.span = schema, np.asarray(span, dtype=np.float64)
        self.numeric = np.flatnonzero(~schema.has_levels)
        self.level = np.flatnonzero(schema.has_levels)
        self.size = schema.n_levels[self.level] + np.asarray(schema.missing, dtype=np.int64)[self.level]
        self.wide = int(self.size.max(initial=1))
        self.exists = np.arange(self.wide) < self.size[:, None]  # (f, l)

    def start(self, people: Population, who: np.ndarray, free: np.ndarray) -> Lanes:
        """Lanes where the people stand, m = len(who); free (m, d). A missing number stays missing."""
        free = free & ~(np.isnan(people.x[who]) & ~self.schema.has_levels)
        own = self._own(people.x[who])
        share = (np.arange(self.wide) == own[..., None]).astype(np.float64)
        return Lanes(who, np.zeros((len(who), people.d)), share, free)

    def _own(self, x: np.ndarray) -> np.ndarray:
        """(m, f) coordinate of each own level; the last of a block is a missing value."""
        value = x[:, self.level]
        return np.where(np.isnan(value), self.size - 1, np.nan_to_num(value)).astype(np.int64)

    def bounds(self, people: Population, who: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Least and greatest move (m, d), and the level coordinates that a lane may use (m, f, l)."""
        x = people.x[who]
        with np.errstate(invalid="ignore"):
            low = np.nan_to_num(np.minimum((people.low[who] - x) / self.span, 0.0))
            high = np.nan_to_num(np.maximum((people.high[who] - x) / self.span, 0.0))
        may = np.arange(self.wide) == self._own(x)[..., None]
        for f, j in enumerate(self.level):
            ok = people.level_ok[int(j)][who]
            may[:, f, : ok.shape[1]] |= ok
        return low, high, may

    def put(self, people: Population, lanes: Lanes, action: np.ndarray) -> None:
        """Set lanes to where actions (m, d) lead; NaN leaves a feature where it is. In place."""
        x = people.x[lanes.who]
        acted = ~np.isnan(action) & lanes.free
        number = acted & ~self.schema.has_levels
        lanes.move[:] = np.where(number, (action - x) / self.span, lanes.move)
        level = np.nan_to_num(action[:, self.level])[..., None]
        lanes.share[:] = np.where(acted[:, self.level, None], np.arange(self.wide) == level, lanes.share)

    def hard(self, people: Population, lanes: Lanes) -> np.ndarray:
        """(m, d) what lanes set: numbers as they are, the largest level of each block; NaN where nothing moved."""
        x = people.x[lanes.who]
        value = np.where(lanes.free & (lanes.move != 0), x + lanes.move * self.span, np.nan)
        chosen = lanes.share.argmax(2)
        moved = lanes.free[:, self.level] & (chosen != self._own(x))
        known = chosen < self.schema.n_levels[self.level]  # nobody acts to make a value missing
        value[:, self.level] = np.where(moved & known, chosen, np.nan)
        return value

    def harden(self, people: Population, lanes: Lanes, *, eager: bool = False) -> np.ndarray:
        """(m, d) legal actions: snapped values, the largest level of each block; NaN where nothing moves.

        eager: a level that has begun to grow counts as chosen, and whole numbers round away from where the person
        stands. A relaxed optimum needs only part of a level or of a step where a whole one does more than enough, so
        the nearest row alone might never turn the decision.
        """
        x = people.x[lanes.who]
        value = np.where(lanes.move != 0, x + lanes.move * self.span, np.nan)
        share = lanes.share
        if eager:
            own = np.arange(self.wide) == self._own(x)[..., None]
            other = np.where(own, 0.0, share)
            share = np.where((other.max(2) > _BEGUN)[..., None], other, share)
            value = value + np.sign(lanes.move) * 0.499 * np.nan_to_num(self.schema.step)
        chosen = share.argmax(2).astype(np.float64)
        value[:, self.level] = np.where(chosen < self.schema.n_levels[self.level], chosen, np.nan)
        out = people.snap(lanes.who, np.where(lanes.free, value, np.nan))
        return np.where(self.schema.differs(out, x), out, np.nan)

    def begun(self, lanes: Lanes, action: np.ndarray) -> np.ndarray:
        """(m, d) how far the descent went with each change of an action: the share of a level, 1 for a number."""
        out = np.where(np.isnan(action), 0.0, 1.0)
        level = np.nan_to_num(action[:, self.level]).astype(np.int64)
        share = np.take_along_axis(lanes.share, level[..., None], axis=2)[..., 0]
        out[:, self.level] = np.where(np.isnan(action[:, self.level]), 0.0, share)
        return out

    def away(self, own: np.ndarray) -> np.ndarray:
        """(m, f, l) own levels -> effort of each level: 1 for another category, the share of the range if ordered."""
        here = own.argmax(2)[..., None]
        place = np.arange(self.wide)
        steps = np.abs(place - here) / np.maximum(self.schema.n_levels[self.level] - 1, 1)[:, None]
        ordered = self.schema.ordered[self.level][:, None]
        return np.asarray(np.where(ordered, np.minimum(steps, 1.0), 1.0) * (place != here))
