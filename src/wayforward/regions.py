"""Regions as data: for each option a box of what else works just as well. `wayforward.problem.regions` finds them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from wayforward.shapes import Actions, Mask, OptionMask, Rows

EXACT, CERTIFIED, SAMPLED = "exact", "certified", "sampled"


@dataclass(frozen=True, eq=False)
class Regions:
    """A region for each of n people's k options; what an option does not act on is NaN.

    low, high (n, k, d): the ends of what may be set, infinite where nothing ends it; for levels the first and the last.
    levels j -> (n, k, L) bool: the levels that may be chosen. known (n, k): how it is known that all of it is a yes:
    'exact' (proved, and no side can be moved out by a step), 'certified' (proved; a larger one may exist), 'sampled'
    (every one of many drawn points was a yes; see share and confidence), '' in empty slots.
    open_low, open_high (n, k, d) bool: the region ends there only because nothing is legal beyond.
    share, confidence: what 'sampled' says: at least this share of the region is a yes, with this confidence.
    """

    low: Actions
    high: Actions
    levels: dict[int, np.ndarray]
    known: np.ndarray
    open_low: np.ndarray
    open_high: np.ndarray
    share: float = 1.0
    confidence: float = 1.0

    def take(self, who: Any) -> Regions:
        """Return the regions of some of the people."""
        return replace(
            self, low=self.low[who], high=self.high[who], known=self.known[who], open_low=self.open_low[who],
            open_high=self.open_high[who], levels={j: ok[who] for j, ok in self.levels.items()},
        )  # fmt: skip

    @property
    def proved(self) -> OptionMask:
        """(n, k) bool: all of the region is a yes for certain."""
        return np.asarray((self.known == EXACT) | (self.known == CERTIFIED))

    def holds(self, i: int, option: int, action: Rows) -> Mask:
        """(m,) bool: actions (m, d) of person i that lie in the region of an option and act on nothing else."""
        acts = ~np.isnan(self.low[i, option])
        with np.errstate(invalid="ignore"):
            inside = (action >= self.low[i, option]) & (action <= self.high[i, option])
        for j, ok in self.levels.items():
            if acts[j]:
                level = np.nan_to_num(action[:, j], nan=-1.0).astype(np.int64)
                known = (level >= 0) & (level < ok.shape[2])
                inside[:, j] = known & ok[i, option, np.where(known, level, 0)]
        return np.asarray(np.where(acts, inside, np.isnan(action)).all(1))
