"""Closed forms for the Euclidean norm on continuous features."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wayforward.methods.engines.exact import selection
from wayforward.problem.batching import tidy

if TYPE_CHECKING:
    from wayforward.methods.actionable_recourse.prepared import PreparedPrograms
    from wayforward.problem import Population


class EuclideanSearch:
    """Find options by cost in closed form; each leaves out a feature of every cheaper one (Lawler's split)."""

    def __init__(self, prepared: PreparedPrograms, people: Population, k: int) -> None:
        from wayforward.problem import LpMix

        self.people, self.k = people, k
        cost = people.problem.cost
        assert isinstance(cost, LpMix)
        slope = prepared.scores.weight[0]
        low, high = np.minimum(people.low - people.x, 0.0), np.maximum(people.high - people.x, 0.0)
        self.room = np.where(people.free, np.where(slope > 0, high, -low), 0.0)
        self.sign = np.sign(slope)
        self.slope = np.broadcast_to(np.abs(slope), self.room.shape)
        self.effort = people.weight / cost.fitted_scales.divisor
        self.need = -prepared.scores.total(people.x)[0]
        self.size = np.abs(self.need) + (self.slope * self.room).sum(1)

    def _solve(self, who: np.ndarray, banned: np.ndarray, extra: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the cheapest actions (m, d) without banned (m, d) features, and their cost (m,); inf where none."""
        room = np.where(banned, 0.0, self.room[who])
        need = self.need[who] + extra * self.size[who]
        step, found = selection.water_filling(self.slope[who], self.effort[who], room, need)
        action = np.where(step > 0, self.people.x[who] + self.sign * step, np.nan)
        cost = np.where(found, np.sqrt(np.square(step * self.effort[who]).sum(1)), np.inf)
        return tidy(self.people, who, action), cost

    def run(self) -> tuple[np.ndarray, np.ndarray]:
        """Return actions (n, k, d) and (n,) bool: none exists, as even the far corner of the box falls short."""
        people = self.people
        n, d, k = people.n, people.d, self.k
        everyone = np.arange(n)
        out = np.full((n, k, d), np.nan)
        proved = (self.slope * self.room).sum(1) < self.need - 1e-9 * self.size
        extra = np.zeros(n)
        action, _ = self._solve(everyone, np.zeros((n, d), dtype=bool), 0.0)
        yes, _ = people.problem.reached(np.where(np.isnan(action), people.x, action))
        extra[~yes] = 1e-9  # the boundary itself is a no
        for level in (0.0, 1e-9):
            at = np.flatnonzero(extra == level)
            if at.size:
                self._enumerate(at, level, k, out)
        return out, proved

    def _enumerate(self, who: np.ndarray, extra: float, k: int, out: np.ndarray) -> None:
        """Fill in k options (n, k, d) of some people, cheapest first."""
        d, m = self.people.d, len(who)
        banned = np.zeros((m, 1, d), dtype=bool)
        action, cost = self._solve(who, banned[:, 0], extra)
        actions, costs = action[:, None], cost[:, None]
        rows = np.arange(m)
        for option in range(k):
            best = costs.argmin(1)
            there = np.isfinite(costs[rows, best])
            out[who[there], option] = actions[rows, best][there]
            if option + 1 == k or not there.any():
                return
            used = ~np.isnan(actions[rows, best])
            children = banned[rows, best][:, None] | np.eye(d, dtype=bool)[None]
            child_action, child_cost = self._solve(np.repeat(who, d), children.reshape(-1, d), extra)
            child_cost = np.where(used & there[:, None], child_cost.reshape(m, d), np.inf)
            costs[rows, best] = np.inf
            # The same set of changes can be reached through two branches: keep it once.
            banned = np.concatenate([banned, children], axis=1)
            actions = np.concatenate([actions, child_action.reshape(m, d, d)], axis=1)
            costs = np.concatenate([costs, child_cost], axis=1)
            taken = ~np.isnan(out[who, : option + 1])
            same = (~np.isnan(actions)[:, :, None] == taken[:, None]).all(3).any(2)
            costs = np.where(same, np.inf, costs)
