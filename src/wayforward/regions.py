"""Regions as data: for each option a box of what else works just as well. `wayforward.problem.regions` finds them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.shapes import Actions, Mask, OptionMask, Rows

if TYPE_CHECKING:
    from wayforward.schema import Schema

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

    def any_holds(self, i: int, action: Rows) -> Mask:
        """(m,) bool: actions (m, d) of person i that lie in some region: all that is known to be enough, as a union of
        boxes (of `k` options that change different features, as many boxes).

        Source of regions as answers: FACET (P. VanNostrand and others, 2023); rules for many people: T-CREx (T. Bewley
        and others, 2024), which this is not.
        """
        every = [self.holds(i, option, action) for option in np.flatnonzero(self.known[i] != "").tolist()]
        return np.asarray(np.any(every, axis=0) if every else np.zeros(len(action), dtype=bool))

    def to_plain(self, schema: Schema) -> dict[str, Any]:
        """Return it as files hold it: of each region person, option, how it is known, and its sides by feature."""
        of = []
        for i, option in np.argwhere(self.known != "").tolist():
            sides: dict[str, Any] = {}
            for j in np.flatnonzero(~np.isnan(self.low[i, option])).tolist():
                ends = [
                    v if np.isfinite(v) else None for v in (self.low[i, option, j], self.high[i, option, j])
                ]
                side: dict[str, Any] = {"from": ends[0], "to": ends[1]}
                if j in self.levels:
                    side = {"levels": np.flatnonzero(self.levels[j][i, option]).tolist(), **side}
                for name, end in (("open_low", self.open_low), ("open_high", self.open_high)):
                    if end[i, option, j]:
                        side[name] = True
                sides[schema.names[j]] = side
            of.append([i, option, str(self.known[i, option]), sides])
        return {"share": self.share, "confidence": self.confidence, "of": of}

    @classmethod
    def from_plain(cls, data: Any, schema: Schema, n: int, k: int) -> Regions:
        """Read what `to_plain` wrote about n people and k options. Raises: ValueError, KeyError, TypeError."""
        low, high = np.full((2, n, k, schema.d), np.nan)
        open_low, open_high = np.zeros((2, n, k, schema.d), dtype=bool)
        levels = {
            j: np.zeros((n, k, int(schema.n_levels[j])), dtype=bool)
            for j in np.flatnonzero(schema.has_levels).tolist()
        }
        known, place = np.full((n, k), "", dtype=object), {name: j for j, name in enumerate(schema.names)}
        for i, option, how, sides in data["of"]:
            if how not in (EXACT, CERTIFIED, SAMPLED) or not (0 <= i < n and 0 <= option < k):
                raise ValueError("regions")
            known[i, option] = how
            for name, side in sides.items():
                j = place[name]
                low[i, option, j] = -np.inf if side["from"] is None else float(side["from"])
                high[i, option, j] = np.inf if side["to"] is None else float(side["to"])
                open_low[i, option, j] = bool(side.get("open_low", False))
                open_high[i, option, j] = bool(side.get("open_high", False))
                for level in side.get("levels", ()):
                    if not 0 <= level < levels[j].shape[2]:
                        raise ValueError("level")
                    levels[j][i, option, level] = True
        share, confidence = float(data["share"]), float(data["confidence"])
        return cls(low, high, levels, known, open_low, open_high, share, confidence)
