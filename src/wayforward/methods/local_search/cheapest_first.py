"""The cheapest option of each person, proved, before a search for what else there is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wayforward.methods.engines.exact.forest_boxes import End, ForestBoxes
from wayforward.methods.local_search.search import fill_slots
from wayforward.shapes import Actions

if TYPE_CHECKING:
    from wayforward.problem import Population

_BOXES = 2_000  # looked at for everybody
_LEAST = 1e-12  # what costs less by less than this is not cheaper


class CheapestFirst:
    """What branch and bound over boxes finds for people: action (n, d), NaN for nothing; none (n,) proved that nothing
    exists; open: row numbers of those for whom it proves neither that nothing exists nor that nothing is cheaper; far
    (n,): of whom the boxes ran out."""

    def __init__(self, boxes: ForestBoxes, people: Population) -> None:
        self.boxes, self.people = boxes, people
        got = boxes.search(people, limit=_BOXES)
        found = got.end == End.FOUND
        if not boxes.complete:  # something else may refuse what it finds
            found &= False
        self.none, self.far = got.proved, got.end == End.OPEN
        self.action = np.full(people.x.shape, np.nan)
        self._take(np.flatnonzero(found), got.after[found])
        found &= ~np.isnan(self.action).all(1)
        who = np.flatnonzero(found)
        refused = who[~people.allowed(who, self.action[who], got.after[who])]  # the judge has the last word
        self.action[refused], found[refused] = np.nan, False
        who = np.flatnonzero(found)
        if boxes.within > 0.0:  # a line: the boxes may have run out on the way to the cheapest
            found[who] = got.bound[who] >= people.cost(who, self.action[who]) * (1.0 - 10.0 * boxes.within)
        self.open = np.flatnonzero(~found & ~self.none)
        people.propose(who, self.action[who])

    def _take(self, who: np.ndarray, after: np.ndarray) -> None:
        self.action[who] = np.where(self.people.schema.differs(after, self.people.x[who]), after, np.nan)

    def beside(self, out: Actions) -> Actions:
        """Put them beside what a search found (n, k, d): the cheapest first, and no option that only asks for more.

        Who has nothing at all by now is searched for ten times as long.
        """
        people = self.people
        if self.boxes.complete:
            lost = np.flatnonzero(np.isnan(out[:, 0]).all(1) & np.isnan(self.action).all(1) & ~self.none)
            if lost.size:
                got = self.boxes.search(people.take(lost), limit=10 * _BOXES)
                self.none[lost] |= got.proved
                found = got.end == End.FOUND
                self._take(lost[found], got.after[found])
        mine = np.flatnonzero(~np.isnan(self.action).all(1))
        there = np.flatnonzero(~np.isnan(out[:, 0]).all(1))
        price, old = np.full((2, people.n), np.inf)
        price[mine] = people.cost(mine, self.action[mine])
        old[there] = people.cost(there, out[there, 0])
        # what is as cheap but for rounding gives way, so that the first option does not hang on k
        better = np.flatnonzero(price < old * (1.0 + self.boxes.within) - _LEAST)
        as_good = price[better] >= old[better] * (1.0 - self.boxes.within)
        first, mine = (np.where(np.isnan(a), people.x, a)[better] for a in (out[:, 0], self.action))
        same = as_good & ~people.schema.differs(first, mine).any(1)
        out[better[same], 0] = self.action[better[same]]  # beside which the others stand already
        better = better[~same]
        if not better.size:
            return out
        others = out[better].copy()
        out[better] = np.nan
        out[better, 0] = self.action[better]
        row, option = np.nonzero(~np.isnan(others).all(2))
        if row.size:
            who, action = better[row], others[row, option]
            fill_slots(
                people, out, [(who, action, people.cost(who, action))], np.where(price < old, price, old)
            )
        return out
