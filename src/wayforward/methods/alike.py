"""People who are alike: equal rows with equal wishes get equal answers, so one of them is searched."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Int

from wayforward.shapes import People

if TYPE_CHECKING:
    from wayforward.preferences import Preferences
    from wayforward.recourse import Recourse


@dataclass(frozen=True)
class Alike:
    """n people in u groups of the same, in the order in which each appears first.

    first (u,): one person of each group. group (n,): everybody's group. count (u,): people in each.
    """

    first: Int[np.ndarray, " u"]
    group: Int[np.ndarray, " n"]
    count: Int[np.ndarray, " u"]

    @classmethod
    def of(cls, x: People, wishes: Preferences | None) -> Alike:
        """Group people x (n, d) by the bits of their rows and wishes."""
        n = len(x)
        everyone = np.arange(n)
        if n < 2:
            return cls(everyone, everyone, np.ones(n, dtype=np.int64))
        rows = x if wishes is None else np.concatenate([x, wishes.as_rows()], axis=1)
        bits = np.ascontiguousarray(rows, dtype=np.float64)
        whole = bits.view(np.dtype((np.void, bits.shape[1] * bits.itemsize))).ravel()
        _, first, group, count = np.unique(whole, return_index=True, return_inverse=True, return_counts=True)
        order = np.argsort(first)
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        return cls(first[order], place[group.reshape(-1)], count[order])

    @property
    def n(self) -> int:
        """Number of groups."""
        return len(self.first)

    def everybody(self, got: Recourse, x: People, wishes: Preferences | None) -> Recourse:
        """Answers of the u groups -> of all n people; the seconds of a group are shared by its people."""
        if self.n == len(x):
            return got
        every = got[self.group]
        meta = {**got.meta, "different_people": self.n}
        return replace(every, seconds=every.seconds / self.count[self.group], preferences=wishes, meta=meta)
