"""The state of many relaxed searches in one set of arrays. NumPy only; slopes come from `slopes` or `descent`.

A row of the state is one search (a person may have several): one number for each numeric feature, in widths of the
feature's range from the person's own value, and one point on the simplex for each feature with levels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wayforward.portable import Portable
from wayforward.problem.batching import tidy
from wayforward.shapes import Ints, Mask, PerFeature, Rows, Who

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem
    from wayforward.schema import Schema

_BEGUN = 0.02  # a level with this share has begun to grow


@dataclass
class RelaxedState:
    """Where m searches are. who (m,); move (m, d) in ranges; free (m, d) bool: what the search may move.

    share (m, f, l): level coordinates of the f features with levels.
    """

    who: np.ndarray
    move: np.ndarray
    share: np.ndarray
    free: np.ndarray

    def take(self, rows: np.ndarray) -> RelaxedState:
        """Copy some of the rows."""
        return RelaxedState(self.who[rows], self.move[rows], self.share[rows], self.free[rows])

    def put(self, rows: np.ndarray, other: RelaxedState) -> None:
        """Write some of the rows back."""
        self.move[rows], self.share[rows] = other.move, other.share


def range_widths(problem: Problem) -> PerFeature:
    """Return the width (d,) of each feature's range, as the problem's `LpMix` distance measures it."""
    return problem.range_widths


def range_costs(problem: Problem, span: PerFeature) -> PerFeature:
    """Return the effort (d,) of a whole range, or of another category, in units of the problem's cost."""
    return np.asarray(np.where(problem.schema.is_categorical, 1.0, span) / problem.cost.fitted_scales.divisor)


class Layout(Portable):
    """Which coordinates of a `RelaxedState` belong to which feature. span (d,): width of each feature's range.

    numeric (p,), level (f,): feature numbers; size (f,): coordinates of each block, the last of which is a missing
    value where there may be one; wide: the most of them; exists (f, wide) bool. by_move (d,) bool: features whose place
    is their move; all others have a block.
    """

    exact: bool
    runs_itself = False

    def __init__(self, schema: Schema, span: np.ndarray, by_move: np.ndarray | None = None) -> None:
        self.schema, self.span = schema, np.asarray(span, dtype=np.float64)
        self.by_move = ~schema.has_levels if by_move is None else by_move
        self.numeric = np.flatnonzero(~schema.has_levels)
        self.level = np.flatnonzero(~self.by_move)
        self.size = schema.n_levels[self.level] + np.asarray(schema.missing, dtype=np.int64)[self.level]
        self.wide = int(self.size.max(initial=1))
        self.exists = np.arange(self.wide) < self.size[:, None]  # (f, l)

    def start(self, people: Population, who: np.ndarray, free: np.ndarray) -> RelaxedState:
        """Start searches at the people who (m,); free (m, d) may move. A missing number stays missing."""
        free = free & ~(np.isnan(people.x[who]) & ~self.schema.has_levels)
        return RelaxedState(
            who, np.zeros((len(who), people.d)), self.own(people.x[who]).astype(np.float64), free
        )

    def own_place(self, x: Rows) -> Ints:
        """Return the coordinate (m, f) of each own level; the last of a block is a missing value."""
        value = x[:, self.level]
        return np.where(np.isnan(value), self.size - 1, np.nan_to_num(value)).astype(np.int64)

    def own(self, x: Rows) -> Mask:
        """Mark the own level of each block: (m, d) rows -> (m, f, l) bool."""
        return np.asarray(np.arange(self.wide) == self.own_place(x)[..., None])

    def levels(self, people: Population, who: Who) -> Mask:
        """Mark the levels that people may have, their own included: (m, f, l) bool."""
        may = self.own(people.x[who])
        for f, j in enumerate(self.level):
            ok = people.level_ok[int(j)][who]
            may[:, f, : ok.shape[1]] |= ok
        return may

    def bounds(self, people: Population, who: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the least and the greatest move (m, d), and the level coordinates that may be used (m, f, l)."""
        x = people.x[who]
        with np.errstate(invalid="ignore"):
            low = np.nan_to_num(np.minimum((people.low[who] - x) / self.span, 0.0))
            high = np.nan_to_num(np.maximum((people.high[who] - x) / self.span, 0.0))
        return low, high, self.levels(people, who)

    def put(self, people: Population, state: RelaxedState, action: np.ndarray) -> None:
        """Set searches to the values of actions (m, d), in place; NaN leaves a feature where it is."""
        x = people.x[state.who]
        acted = ~np.isnan(action) & state.free
        number = acted & ~self.schema.has_levels
        state.move[:] = np.where(number, (action - x) / self.span, state.move)
        level = np.nan_to_num(action[:, self.level])[..., None]
        state.share[:] = np.where(acted[:, self.level, None], np.arange(self.wide) == level, state.share)

    def hard(self, people: Population, state: RelaxedState) -> np.ndarray:
        """Return the values (m, d) that searches set: numbers as they are, largest levels; NaN where nothing moved."""
        x = people.x[state.who]
        value = np.where(state.free & (state.move != 0), x + state.move * self.span, np.nan)
        self.put_levels(people, state, value)
        return value

    def put_levels(
        self, people: Population, state: RelaxedState, value: np.ndarray, *, eager: bool = False
    ) -> None:
        """Write the levels that searches set into value (m, d), in place; NaN where they are the person's own."""
        own = self.own_place(people.x[state.who])
        share = state.share
        if eager:
            other = np.where(np.arange(self.wide) == own[..., None], 0.0, share)
            share = np.where((other.max(2) > _BEGUN)[..., None], other, share)
        chosen = share.argmax(2)
        moved = state.free[:, self.level] & (chosen != own)
        known = chosen < self.schema.n_levels[self.level]  # nobody acts to make a value missing
        value[:, self.level] = np.where(moved & known, chosen, np.nan)

    def harden(self, people: Population, state: RelaxedState, *, eager: bool = False) -> np.ndarray:
        """Return legal actions (m, d): snapped values, the largest level of each block; NaN where nothing moves.

        eager: a level that has begun to grow counts as chosen, and whole numbers round away from the person's own
        value. A relaxed optimum needs only part of a level or of a step where a whole one does more than enough, so
        the nearest row alone might never turn the decision.
        """
        x = people.x[state.who]
        value = np.where(state.move != 0, x + state.move * self.span, np.nan)
        if eager:
            value = value + np.sign(state.move) * 0.499 * np.nan_to_num(self.schema.step)
        self.put_levels(people, state, value, eager=eager)
        return tidy(people, state.who, np.where(state.free, value, np.nan))

    def begun(self, state: RelaxedState, action: np.ndarray) -> np.ndarray:
        """Return how far the descent went with each change of an action (m, d): a level's share, 1 for a number."""
        out = np.where(np.isnan(action), 0.0, 1.0)
        level = np.nan_to_num(action[:, self.level]).astype(np.int64)
        share = np.take_along_axis(state.share, level[..., None], axis=2)[..., 0]
        out[:, self.level] = np.where(np.isnan(action[:, self.level]), 0.0, share)
        return out

    def away(self, own: np.ndarray) -> np.ndarray:
        """Return the effort (m, f, l) of levels, given the own ones: 1 for categories, range shares if ordered."""
        here = own.argmax(2)[..., None]
        place = np.arange(self.wide)
        steps = np.abs(place - here) / np.maximum(self.schema.n_levels[self.level] - 1, 1)[:, None]
        ordered = self.schema.ordered[self.level][:, None]
        return np.asarray(np.where(ordered, np.minimum(steps, 1.0), 1.0) * (place != here))
