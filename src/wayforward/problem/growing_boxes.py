"""Boxes around options that grow, side by side: what a search for regions moves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wayforward.problem.branching import ActionBoxes
from wayforward.problem.reach import lattice_ends
from wayforward.shapes import Floats, Ints, Mask, Rows

if TYPE_CHECKING:
    from wayforward.problem.population import Population


@dataclass
class Growing:
    """Boxes of m options that grow: low, high (m, d), levels j -> (m, L); see `wayforward.regions.Regions`.

    acts (m, d) bool: what the option acts on. up, down (m, d) bool: the value set is above, or below, the person's own.
    least, greatest (m, d): how far the judge lets each act go in its direction.
    """

    action: Rows
    acts: Mask
    up: Mask
    down: Mask
    least: Rows
    greatest: Rows
    low: Rows
    high: Rows
    levels: dict[int, np.ndarray]
    choice: dict[int, np.ndarray]

    @classmethod
    def around(cls, people: Population, action: Rows) -> Growing:
        """Begin with the options (m, d) themselves, of person i each."""
        schema, x = people.schema, people.x
        acts = ~np.isnan(action) & schema.differs(action, x)
        up, down = acts & (action > x), acts & (action < x)
        step = np.where(np.isnan(schema.step), 0.0, schema.step / 2)  # the next value of a lattice is farther
        apart = np.maximum(people.problem.least_change, step)
        above = np.where(apart > 0, x + apart, np.nextafter(x, np.inf))
        below = np.where(apart > 0, x - apart, np.nextafter(x, -np.inf))
        least = np.where(up, np.fmax(people.least, above), people.least)
        greatest = np.where(down, np.fmin(people.greatest, below), people.greatest)
        least, greatest = _legal_ends(people, least, greatest)
        least, greatest = np.fmin(least, action), np.fmax(greatest, action)
        value = np.where(acts, action, x)
        levels, choice = {}, {}
        for j, ok in people.level_ok.items():
            index = np.arange(ok.shape[1])
            levels[j] = index == value[:, j, None]
            allowed = ok & (index != x[:, j, None])
            if schema.features[j].kind == "ordinal":
                gone = np.isnan(x[:, j, None])
                allowed &= gone | ((index > x[:, j, None]) == (value[:, j, None] > x[:, j, None]))
            choice[j] = (allowed | levels[j]) & acts[:, j, None]
            mine = acts[:, j]
            if mine.any():
                least[mine, j] = choice[j][mine].argmax(1)
                greatest[mine, j] = ok.shape[1] - 1 - choice[j][mine][:, ::-1].argmax(1)
        return cls(action, acts, up, down, least, greatest, value.copy(), value.copy(), levels, choice)

    def boxes(self, rows: Ints) -> ActionBoxes:
        """Return copies of some of them as boxes of the branch and bound, each with an owner of its own."""
        acts, m = self.acts[rows], len(rows)
        levels = {j: ok[rows] for j, ok in self.levels.items()}
        return ActionBoxes(
            np.arange(m), self.low[rows], self.high[rows], levels, acts, ~acts, np.zeros_like(acts), np.zeros(m, bool)
        )  # fmt: skip

    def turns(self, numbers: Mask) -> int:
        """How many features somebody acts on, of numbers or of levels."""
        return int((self.acts & numbers).sum(1).max(initial=0))

    def nth(self, rows: Ints, numbers: Mask, turn: int) -> tuple[Ints, Ints]:
        """Return which of the rows act on more than `turn` such features, and the one whose turn it is."""
        mine = self.acts[rows] & numbers
        at = np.flatnonzero(mine.sum(1) > turn)
        place = mine[at].cumsum(1) == turn + 1
        return at, np.asarray(place.argmax(1)) if at.size else at

    def put(self, rows: Ints, column: Ints, side: Floats, value: Floats) -> None:
        """Move the ends on one side of a feature of rows: 1 the upper, -1 the lower."""
        over = side > 0
        self.high[rows[over], column[over]] = value[over]
        self.low[rows[~over], column[~over]] = value[~over]

    def hull(self, j: int, rows: Ints) -> None:
        """Set the ends of a feature with levels to the first and the last of those that are left."""
        ok = self.levels[j][rows]
        self.low[rows, j], self.high[rows, j] = ok.argmax(1), ok.shape[1] - 1 - ok[:, ::-1].argmax(1)

    def contiguous(self, j: int, rows: Ints, good: np.ndarray) -> np.ndarray:
        """Of levels (r, L) that are good, those that a row may be told: of ranks, all between them are good, too."""
        start = self.action[rows, j].astype(np.int64)
        out = good.copy()
        for step in (1, -1):
            alive, at = np.ones(len(rows), dtype=bool), start.copy()
            for _ in range(good.shape[1]):
                at = at + step
                inside = (at >= 0) & (at < good.shape[1])
                alive &= inside & good[np.arange(len(rows)), np.clip(at, 0, good.shape[1] - 1)]
                here = np.flatnonzero(inside & ~alive)
                out[here, at[here]] = False
        return out


def _legal_ends(people: Population, least: Rows, greatest: Rows) -> tuple[Rows, Rows]:
    """Move ends of lattices to legal values inside; what is not finite stays."""
    j = people.schema.on_lattice
    least, greatest = least.copy(), greatest.copy()
    if j.size:
        first, last = lattice_ends(
            people.schema,
            np.where(np.isfinite(least[:, j]), least[:, j], 0.0),
            np.where(np.isfinite(greatest[:, j]), greatest[:, j], 0.0),
            j,
        )
        least[:, j] = np.where(np.isfinite(least[:, j]), first, least[:, j])
        greatest[:, j] = np.where(np.isfinite(greatest[:, j]), last, greatest[:, j])
    return least, greatest
