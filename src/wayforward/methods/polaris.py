"""polaris: small changes of numbers against a network of rectified units that hold even if they are a little missed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from wayforward.deadline import look
from wayforward.methods.base import Budget, Method
from wayforward.methods.engines.exact.linear_pieces import LinearPieces, Walk
from wayforward.methods.engines.exact.relaxed_boxes import RelaxedBoxes
from wayforward.methods.engines.finish import farther
from wayforward.methods.local_search import LocalSearch
from wayforward.methods.settings import check_least, check_whole
from wayforward.model import Access
from wayforward.problem.batching import distinct_changes
from wayforward.problem.growing_boxes import Growing
from wayforward.problem.nearest_no import certifiable, nearest_no
from wayforward.public import public
from wayforward.shapes import Actions, Floats, Mask

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem
    from wayforward.streams import Streams

_BEYOND = (
    0.0,
    1e-9,
    1e-7,
    1e-5,
    1e-3,
    0.01,
    0.05,
    0.2,
    0.5,
    1.0,
)  # of its way: so much farther a row is tried
_SAME = 1e-12  # costs this close are equal
_KEPT = 4  # answers of programs a person and seed that are tried


@public
@dataclass
class Polaris(Method):
    """Walk through the linear pieces of a network to the least change around which a whole box turns the decision.

    `local-search` gives seeds; on a seed's linear piece a linear program asks for the least sum of changes with which
    the score suffices, even if each number that is set is missed by `stable` of its range; facets of the piece that
    hold the answer back lead to the next ones. Levels stay as in the seed. Of what is found, a little farther if need
    be, an option is kept where branch and bound proves that every legal point of its box, `stable` of a range to either
    side, is a yes and keeps the rules. `Recourse.regions()` grows the box as far as it goes: the symbolic correction.

    In worlds where something follows, and where a problem asks for plausibility, robustness or confidence, boxes are
    not proved, and the answer is that of the seeds. The programs minimise the sum of changes whatever the cost is.

    stable: of a range; 0 asks for a single point. programs: linear programs a person and seed. seeds: a person. Default
    budget: 20,000 model rows a person. Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.recommend(problem, refused, method="polaris").regions()``.
    Raises: UnsupportedModel for models other than lines and networks of rectified units; ProblemError for a cost that
    is no sum or greatest of steps and no Euclidean norm, or several outputs.
    Source: X. Zhang, A. Solar-Lezama, R. Singh (2018), Interpreting Neural Network Judgments via Minimal, Stable, and
    Symbolic Corrections, NeurIPS; arXiv:1802.07384.
    """

    name: ClassVar[str] = "polaris"
    summary: ClassVar[str] = (
        "networks of rectified units: small changes that hold even if a little missed, proved"
    )
    citation: ClassVar[str] = "Zhang, Solar-Lezama & Singh (2018), NeurIPS, arXiv:1802.07384"
    needs: ClassVar[int] = Access.LABEL

    stable: float = 0.01
    programs: int = 12
    seeds: int = 2

    def __post_init__(self) -> None:
        check_least(self, stable=0.0)
        check_whole(self, programs=1, seeds=1)

    @property
    def _keeps_more(self) -> bool:
        return True  # the judge knows no box around an option

    def _fit(self, problem: Problem) -> None:
        self.boxes_ = RelaxedBoxes.of_method(
            problem,
            self.name,
            "walks through the linear pieces of a network of rectified units or a linear model",
            "ocean takes trees",
        )
        self.first_ = LocalSearch().fit(problem)

    def _recommend(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        seeds = self.first_.unjudged_actions(people, max(k, self.seeds), streams, budget)
        proved = certifiable(people)
        if self.boxes_ is None or not proved.any():
            return seeds[:, :k]
        owners, rows = [np.zeros(0, np.int64)], [np.zeros((0, people.d))]
        for i in np.flatnonzero(proved):  # programs of their own
            look()
            for seed in seeds[i][~np.isnan(seeds[i]).all(1)]:
                found = self._walked(people, int(i), seed)
                owners.append(np.full(len(found), i))
                rows.append(found)
        who, row = farther(people, np.concatenate(owners), np.concatenate(rows), _BEYOND)
        action = np.where(people.schema.differs(row, people.x[who]), row, np.nan)
        some = np.flatnonzero(~np.isnan(action).all(1))
        who, action = who[some], action[some]
        good = np.flatnonzero(people.evaluate(who, action).reached)
        who, action = who[good], action[good]
        holds = self._first_that_hold(people, who, action, k)
        action = action[holds]
        if self.minimal_ is not False:
            action = self._shortened(people, who[holds], action)
        out = distinct_changes(people, who[holds], action, k)
        return np.where(proved[:, None, None], out, seeds[:, :k])

    def _walked(self, people: Population, i: int, seed: Floats) -> Floats:
        """(m, d) rows of person i from one seed (d,) on, itself the last."""
        assert self.boxes_ is not None
        schema, x, boxes = people.schema, people.x[i], self.boxes_
        row = np.where(np.isnan(seed), x, seed)
        may = people.free[i] & ~schema.has_levels & ~np.isnan(x) & boxes.net.used
        if may.sum() + (~np.isnan(seed) & ~may).sum() > people.max_changes[i]:
            may &= ~np.isnan(seed)
        free = np.flatnonzero(may)
        if not free.size:
            return row[None]
        weight = (boxes.line if boxes.line.any() else 1.0 / schema.span)[free] * people.weight[i, free]
        low, high = people.low[i, free], people.high[i, free]
        walk = Walk(
            LinearPieces(boxes.net, row, free), x[free], weight, low, high,
            boxes.need, self.stable * schema.span[free],
        )  # fmt: skip
        answers = walk.run([row[free], x[free]], self.programs)[:_KEPT]
        rows = np.tile(row, (len(answers) + 1, 1))
        if answers:
            rows[:-1, free] = answers
        return np.asarray(people.snap(np.full(len(rows), i), rows))

    def _first_that_hold(self, people: Population, who: np.ndarray, action: Actions, k: int) -> np.ndarray:
        """Of options who (m,), action (m, d) the positions of those whose box is all options: each person's k cheapest
        that change different features."""
        if not len(who):
            return np.zeros(0, dtype=np.int64)
        sets = np.concatenate([who[:, None], ~np.isnan(action)], axis=1)
        kind = np.unique(sets, axis=0, return_inverse=True)[1].ravel()
        done = np.zeros(len(who), dtype=bool)
        order = np.lexsort((people.cost(who, action), who))
        rank = np.arange(len(order)) - np.searchsorted(who[order], who[order])
        count, holds = np.zeros(people.n, dtype=np.int64), []
        for place in range(int(rank.max()) + 1):
            at = order[(rank == place) & (count[who[order]] < k) & ~done[kind[order]]]
            if at.size:
                some = at[self._holds(people.take(who[at]), action[at])]
                holds.append(some)
                np.add.at(count, who[some], 1)
                done[kind[some]] = True
        return np.concatenate(holds)

    def _shortened(self, people: Population, who: np.ndarray, action: Actions) -> Actions:
        """Leave out acts of options who (m,), action (m, d), the dearest first, as long as the box is proved without
        and nothing gets dearer."""
        action = action.copy()
        live = np.flatnonzero((~np.isnan(action)).sum(1) > 1)
        while live.size:
            row, act = np.nonzero(~np.isnan(action[live]))
            row = live[row]
            less = action[row]
            less[np.arange(len(row)), act] = np.nan
            cost = people.cost(who[row], less)
            at = np.flatnonzero(cost <= people.cost(who[row], action[row]) + _SAME)
            at = at[people.evaluate(who[row[at]], less[at]).reached]
            at = at[self._holds(people.take(who[row[at]]), less[at])] if at.size else at
            at = at[np.lexsort((cost[at], row[at]))]
            at = at[np.diff(row[at], prepend=-1) != 0]
            live = row[at]
            action[live] = less[at]
            live = live[(~np.isnan(action[live])).sum(1) > 1]
        return action

    def _holds(self, people: Population, action: Actions) -> Mask:
        """(m,) bool: every legal point within `stable` of a range of action (m, d), of person i each, is an option."""
        if not self.stable:
            return np.ones(people.n, dtype=bool)
        box, every = Growing.around(people, action), np.arange(people.n)
        near = np.where(people.schema.has_levels, 0.0, self.stable * people.schema.span)
        box.low = np.where(box.acts, np.maximum(action - near, box.least), box.low)
        box.high = np.where(box.acts, np.minimum(action + near, box.greatest), box.high)
        found = nearest_no(people, box.boxes(every), np.zeros(people.n, dtype=np.int64), np.zeros(people.n))
        return np.asarray(np.isinf(found.at))
