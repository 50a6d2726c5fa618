"""What a search has found so far, for whoever has to stop it: the cheapest actions of each person that turned it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wayforward.ranks import rank_in_run
from wayforward.shapes import Actions, PerRow, Rows, Who

if TYPE_CHECKING:
    from wayforward.problem.population import Population

_SPARE = 1  # actions kept beyond those asked for: the judge may refuse one


class BestSoFar:
    """The cheapest allowed actions of people that the fast model said yes to, at most k + 1 each.

    action (n, k + 1, d): NaN where there is none yet; cost (n, k + 1): as the people themselves weigh it.
    """

    def __init__(self, people: Population, k: int) -> None:
        self.people = people
        self.action: Actions = np.full((people.n, k + _SPARE, people.d), np.nan)
        self.cost = np.full((people.n, k + _SPARE), np.inf)

    def add(self, who: Who, action: Rows, score: PerRow) -> None:
        """Look at rows of these people and keep the better ones. score (m,): of the fast model, above zero is a yes."""
        people = self.people
        at = np.flatnonzero((score >= -people.problem.slack) & ~np.isnan(action).all(1))
        if not at.size:
            return
        who, action = who[at], action[at]
        cost = people.cost(who, action)
        better = (cost < self.cost[who, -1]) & ~(np.abs(cost[:, None] - self.cost[who]) <= 1e-12).any(1)
        who, action, cost = who[better], action[better], cost[better]
        after = people.after(who, action)
        good = people.allowed(who, action, after)
        good[good] = people.plausible(who[good], after[good])
        who, action, cost = who[good], action[good], cost[good]
        if not who.size:
            return
        order = np.lexsort((cost, who))
        order = order[(np.diff(who[order], prepend=-1) != 0) | (np.diff(cost[order], prepend=-1.0) > 1e-12)]
        rank = rank_in_run(who[order])
        few = rank < self.cost.shape[1]
        order, rank = order[few], rank[few]
        some, place = np.unique(who[order], return_inverse=True)
        width = self.cost.shape[1]
        price = np.concatenate([self.cost[some], np.full((len(some), width), np.inf)], axis=1)
        acts = np.concatenate(
            [self.action[some], np.full((len(some), width, action.shape[1]), np.nan)], axis=1
        )
        price[place, width + rank], acts[place, width + rank] = cost[order], action[order]
        best = np.argsort(price, axis=1, kind="stable")[:, :width]
        self.cost[some] = np.take_along_axis(price, best, 1)
        self.action[some] = np.take_along_axis(acts, best[:, :, None], 1)


class Shared:
    """The same for some of its people: number i here is person whose[i] there."""

    def __init__(self, best: BestSoFar, whose: Who) -> None:
        self.best, self.whose = best, whose

    def add(self, who: Who, action: Rows, score: PerRow) -> None:
        """See `BestSoFar.add`."""
        self.best.add(self.whose[who], action, score)

    def take(self, who: np.ndarray) -> Shared:
        """For some of them."""
        return Shared(self.best, self.whose[who])
