"""trex: move an option on towards observed people until the model is stable all around it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from wayforward.methods.base import Budget, Method
from wayforward.methods.engines.robust_search import Otherwise, same_people
from wayforward.methods.engines.tighten import polish
from wayforward.methods.nearest_observable import thinned
from wayforward.methods.roar import check_otherwise
from wayforward.methods.settings import check_choices, check_least
from wayforward.model import Access
from wayforward.problem.batching import ask, distinct_changes, tidy
from wayforward.problem.robust import Stable, with_robust
from wayforward.public import public
from wayforward.ranks import rank_in_run
from wayforward.shapes import Actions

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem
    from wayforward.streams import Streams


@public
@dataclass
class Trex(Method):
    """Take options of a base method and move each towards stable accepted people until it is stable itself.

    Stability of a row: the mean probability of a yes over Gaussian draws around it (`sigma` x each range), less the
    mean absolute difference from the row's own (kind='trex'), or less the standard deviation ('robx'). It must be
    `tau` or more. Options of `base` that are stable stay. From the others a line goes to each of the `neighbours`
    nearest accepted observed people who are stable; numbers go along it in `steps`, levels change over half-way, as
    far as the person may act; the cheapest stable row is kept, and, shrink=True (not part of the published method),
    moved back as far as it stays stable. Any model with probabilities; made for trees, whose decisions jump.
    otherwise: as in `roar`.

    pool: accepted people looked at, at most. Each row asked about costs up to `draws` model rows.
    Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.recommend(problem, refused, method="trex", tau=0.5)``.
    Raises: MethodError for settings that make no sense; ProblemError for a regression.
    Source: F. Hamman, E. Noorani, S. Mishra, D. Magazzeni, S. Dutta (2023), ICML, arXiv:2305.11997 (stability); S.
    Dutta, J. Long, S. Mishra, C. Tilli, D. Magazzeni (2022), ICML, arXiv:2207.02739 (RobX, the walk).
    """

    name: ClassVar[str] = "trex"
    summary: ClassVar[str] = "options of another method, moved on to where trees are stable"
    citation: ClassVar[str] = (
        "Hamman et al. (2023), ICML, arXiv:2305.11997; Dutta et al. (2022), ICML, arXiv:2207.02739"
    )
    needs: ClassVar[int] = Access.PROBABILITY
    needs_data: ClassVar[bool] = True

    tau: float = 0.5
    sigma: float = 0.02
    kind: Literal["trex", "robx"] = "trex"
    base: str = "local-search"
    neighbours: int = 5
    steps: int = 10
    draws: int = 50
    pool: int = 1000
    otherwise: Otherwise = "plain"
    shrink: bool = True

    def __post_init__(self) -> None:
        check_least(self, neighbours=1, steps=1, pool=1, draws=1)
        check_choices(self, kind=("trex", "robx"))
        check_otherwise(self)

    def _fit(self, problem: Problem) -> None:
        from wayforward.methods import method
        from wayforward.neighbours import NeighbourIndex

        self.twin_ = with_robust(problem, Stable(self.tau, self.sigma, self.kind, draws=self.draws))
        self.base_ = method(self.base).fit(problem)
        rows = thinned(np.unique(problem.reference_accepted, axis=0), self.pool)
        stable = self.twin_.population(rows).score(np.arange(len(rows)), rows) > problem.slack
        self.rows_ = rows[stable] if stable.any() else rows
        self.index_ = NeighbourIndex(problem.schema, self.rows_)

    def _recommend(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        limit = budget.rows_or(20_000)
        base = self.base_.unjudged_actions(people, k, streams, budget)
        wider = same_people(people, self.twin_)
        who, slot = np.nonzero(~np.isnan(base).all(2))
        action = base[who, slot]
        stable = ask(wider, who, action)[1]
        owner, rows_found = [who[stable]], [action[stable]]
        left = np.flatnonzero(~stable)
        if left.size:
            room = wider.rows[who[left]] + self.steps * self.neighbours <= (k + 1) * limit
            moved = self._walk(wider, who[left[room]], action[left[room]])
            at = np.flatnonzero(~np.isnan(moved).all(1))
            owner.append(who[left[room]][at])
            rows_found.append(moved[at])
        who_found, rows = np.concatenate(owner), np.concatenate(rows_found)
        if self.shrink and len(rows):
            rows = polish(wider, who_found, rows)
        out = distinct_changes(people, who_found, rows, k)
        if self.otherwise == "plain":
            none = np.isnan(out).all((1, 2))
            out[none] = base[none, :k]
        return out

    def _walk(self, people: Population, who: np.ndarray, action: np.ndarray) -> np.ndarray:
        """Return the cheapest stable row (m, d) on the lines to stable people; NaN where there is none."""
        best = np.full(action.shape, np.nan)
        if not len(who):
            return best
        start = people.after(who, action)
        near = self.rows_[self.index_.query(start, k=min(self.neighbours, len(self.rows_))).row]  # (m, b, d)
        share = np.arange(1, self.steps + 1) / self.steps
        m, b, d = near.shape
        line = start[:, None, None] + share[:, None] * (near - start[:, None])[:, :, None]  # (m, b, steps, d)
        half = np.where(share[:, None] >= 0.5, near[:, :, None], start[:, None, None])
        line = np.where(people.schema.has_levels | np.isnan(line), half, line)
        owner = np.repeat(who, b * self.steps)
        origin = np.repeat(np.arange(m), b * self.steps)
        trial = tidy(people, owner, line.reshape(-1, d))
        there = np.flatnonzero(~np.isnan(trial).all(1))
        if not people.problem.independent:  # what follows is not set, unless the option held it
            trial = np.where(people.free[owner], trial, np.nan)
        reached = np.zeros(len(owner), dtype=bool)
        reached[there] = ask(people, owner[there], trial[there])[1]
        at = np.flatnonzero(reached)
        cost = people.cost(owner[at], trial[at]).round(12)
        order = np.lexsort((at, cost, origin[at]))
        first = order[rank_in_run(origin[at][order]) == 0]
        best[origin[at[first]]] = trial[at[first]]
        return best
