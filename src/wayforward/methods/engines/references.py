"""Accepted reference people as proposals: evaluated nearest first until enough are usable."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from wayforward.methods.engines.neighbours import NeighbourMetric, Reach, nearest, smallest
from wayforward.problem import batching
from wayforward.problem.batching import tidy
from wayforward.ranks import rank_in_run

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem
    from wayforward.problem.cost import Cost

_FIRST = 16  # neighbours measured before the list is widened
_LISTED = 1 << 19  # person-row pairs in lists at once
_PAIRS = 500_000  # person-row pairs costed at once where the cost is not a plain weighted L1


def l1_metric(cost: Cost) -> NeighbourMetric | None:
    """Return the cost as the neighbour kernel measures it, or None if it is no weighted L1 of scaled changes."""
    changed, size, squared = cost.step_sum() or (0.0, 0.0, 0.0)
    if changed or squared or not size > 0:
        return None
    scales = cost.fitted_scales
    return NeighbourMetric(size / scales.divisor, size * scales.span / scales.divisor, scales.categorical)


def heom(problem: Problem, scale: str) -> NeighbourMetric:
    """Return HEOM: |difference| over the reference's range ('range') or deviation ('std'); categories 0 or 1."""
    reference, schema = problem.require_reference(), problem.schema
    width = np.ones(schema.d)
    for j in np.flatnonzero(schema.ordered):
        known = reference[~np.isnan(reference[:, j]), j]
        if known.size:
            width[j] = np.ptp(known) if scale == "range" else known.std()
    width = np.where(width > 0, width, schema.span)
    return NeighbourMetric(1.0 / width, np.ones(schema.d), schema.is_categorical)


class References:
    """Usable reference rows for people: projected onto what each person may do, or, strictly, unchanged.

    metric: how far a row is; None measures by the problem's own cost, whatever it is. apart: people (m,) -> their
    distances (m, R) from all rows, in place of a metric. ask: who (m,), action (m, d) -> score and usable (m,), in
    place of `batching.ask`.
    """

    def __init__(
        self,
        people: Population,
        rows: np.ndarray,
        metric: NeighbourMetric | None,
        *,
        project: bool,
        apart: Callable[[np.ndarray], np.ndarray] | None = None,
        ask: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]] | None = None,
    ) -> None:
        self.people, self.rows, self.metric, self.project = people, rows, metric, project
        self._ask = partial(batching.ask, people) if ask is None else ask
        self._apart = self._costs if apart is None else apart
        slack = 1e-9 * people.schema.span
        self.reach = Reach(
            people.x, people.free, people.low - slack, people.high + slack, people.weight, people.level_ok
        )

    def usable(self, k: int, limit: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the k nearest rows of each person that reach the decision: action (n, k, d) and distance (n, k).

        NaN and inf where there are fewer. Evaluated nearest first, in lists that grow until k are found, all rows were
        evaluated, or `limit` model rows were spent on the person.
        """
        people = self.people
        action, distance = np.full((people.n, k, people.d), np.nan), np.full((people.n, k), np.inf)
        found = np.zeros(people.n, dtype=np.int64)
        cap = people.rows + limit
        open_ = np.arange(people.n)
        evaluated, length = 0, min(max(_FIRST, 2 * k), len(self.rows))
        while open_.size:
            step = max(1, _LISTED // length)  # long lists are made for a few people at a time
            left = []
            for begin in range(0, len(open_), step):
                some = open_[begin : begin + step]
                left.append(self._in_lots(some, evaluated, length, found, action, distance, k, cap))
            open_ = np.concatenate(left)
            if length >= len(self.rows) or length > limit:
                break
            evaluated, length = length, min(length * 8, len(self.rows), max(limit, length + 1))
        return action, distance

    def _in_lots(
        self,
        who: np.ndarray,
        evaluated: int,
        length: int,
        found: np.ndarray,
        action: np.ndarray,
        distance: np.ndarray,
        k: int,
        cap: np.ndarray,
    ) -> np.ndarray:
        """Evaluate the `length` nearest rows but the first `evaluated`, few at first: the nearest is mostly usable.

        Return of who (m,) those who lack some and may go on.
        """
        people, lot = self.people, max(k, 2)
        index, far = self._ranked(who, length)
        while evaluated < length and who.size:
            some = slice(evaluated, min(evaluated + lot, length))
            self._evaluate(who, index[:, some], far[:, some], found, action, distance, k, cap)
            evaluated, lot = some.stop, lot * 2
            left = (found[who] < k) & (people.rows[who] < cap[who]) & (index[:, evaluated - 1] >= 0)
            who, index, far = who[left], index[left], far[left]
        return who

    def _ranked(self, who: np.ndarray, length: int) -> tuple[np.ndarray, np.ndarray]:
        """Rank the `length` nearest rows of some people: index (m, length), -1 where none, and distance."""
        if self.metric is not None:
            return nearest(self.reach.take(who), self.rows, self.metric, length, strict=not self.project)
        many = len(self.rows)
        index, far = np.full((len(who), length), -1, dtype=np.int64), np.full((len(who), length), np.inf)
        step = max(1, _PAIRS // many)
        for begin in range(0, len(who), step):
            part = slice(begin, begin + step)
            index[part], far[part] = smallest(self._apart(who[part]), length)
        return index, far

    def _costs(self, who: np.ndarray) -> np.ndarray:
        """Return what it costs people (m,) to become like each row (m, R); inf where they may not."""
        owner, row = np.repeat(who, len(self.rows)), np.tile(np.arange(len(self.rows)), len(who))
        action, fits = self.action(owner, row)
        return np.where(fits, self.people.cost(owner, action), np.inf).reshape(len(who), -1)

    def action(self, who: np.ndarray, row: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return what makes people like rows: action (m, d), and fits (m,) bool: nothing forbidden."""
        people, schema = self.people, self.people.schema
        goal = self.rows[row]
        action = tidy(people, who, goal)
        fits = ~np.isnan(action).all(1)
        if not self.project:
            there = np.where(np.isnan(action), people.x[who], action)
            fits &= ~schema.differs(there, goal).any(1)
        return action, fits

    def _evaluate(
        self,
        who: np.ndarray,
        index: np.ndarray,
        far: np.ndarray,
        found: np.ndarray,
        action: np.ndarray,
        distance: np.ndarray,
        k: int,
        cap: np.ndarray,
    ) -> None:
        people = self.people
        room = cap[who] - people.rows[who]
        row, place = np.nonzero((index >= 0) & (np.arange(index.shape[1]) < room[:, None]))
        owner = who[row]
        trial, fits = self.action(owner, index[row, place])
        row, place, owner, trial = row[fits], place[fits], owner[fits], trial[fits]
        _, reached = self._ask(owner, trial)
        owner, trial, away = owner[reached], trial[reached], far[row[reached], place[reached]]
        slot = found[owner] + rank_in_run(owner)
        into = slot < k
        action[owner[into], slot[into]], distance[owner[into], slot[into]] = trial[into], away[into]
        found += np.bincount(owner, minlength=people.n)
        np.minimum(found, k, out=found)
