"""relu-milp: the cheapest option against a network of rectified units, or a linear score, with a proved bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from wayforward.methods.base import Budget, Method
from wayforward.methods.engines.exact.relaxed_boxes import RelaxedBoxes
from wayforward.methods.engines.finish import farther, finished
from wayforward.methods.local_search import LocalSearch
from wayforward.methods.settings import check_least
from wayforward.model import Access
from wayforward.shapes import Actions, Mask

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem
    from wayforward.streams import Streams

_BEYOND = (0.0, 1e-9, 1e-7, 1e-5, 1e-3, 0.02)  # of its way: so much farther a row is tried, too


@dataclass
class ReluMilp(Method):
    """Search boxes of rows, the one that can be cheapest first, until nothing can be cheaper than what was found.

    The question is that of the mixed-integer program with a binary a unit and bounds tightened in the incumbent's box;
    it is answered without a solver, by affine bounds of the network over boxes (see `RelaxedBoxes`). The first
    incumbent comes from `local-search`; every round, the row at which the box of least bound would be cheapest is
    polished against the real model. `NONE_EXISTS` is a proof. Exact to what the boxes prove: `certify=True` of
    `wf.recommend` tells the bound. Later options are those of the incumbent's search.

    The cost is a sum of steps (L0, L1, squared L2, and mixes of them), the greatest step, or the Euclidean norm. Where
    something follows from an act, or the problem asks for more than the decision, the answer is that of the first
    search. boxes: looked at for a person in each of `rounds`. Default budget: 20,000 model rows a person.
    Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.recommend(problem, refused, method="relu-milp", certify=True)``.
    Raises: UnsupportedModel for a model that is neither; ProblemError for another cost, or several outputs.
    Source: M. Fischetti, J. Jo (2018), Deep neural networks and mixed integer linear optimization, Constraints 23;
    K. Mohammadi, A.-H. Karimi, G. Barthe, I. Valera (2021), Scaling Guarantees for Nearest Counterfactual
    Explanations, AIES; arXiv:2010.04965.
    """

    name: ClassVar[str] = "relu-milp"
    summary: ClassVar[str] = (
        "networks of rectified units, linear models: the cheapest option, with a proved bound"
    )
    citation: ClassVar[str] = (
        "Fischetti & Jo (2018), Constraints 23; Mohammadi et al. (2021), AIES, arXiv:2010.04965"
    )
    needs: ClassVar[int] = Access.LABEL
    exact: ClassVar[bool] = True
    least_cost: ClassVar[bool] = True

    boxes: int = 2_000
    rounds: int = 3

    def __post_init__(self) -> None:
        check_least(self, boxes=1, rounds=0)

    def _fit(self, problem: Problem) -> None:
        self.boxes_ = RelaxedBoxes.of_method(
            problem,
            self.name,
            "needs a linear model or a network of rectified units",
            "nearest-observable, nice and growing-spheres would do as well",
        )
        self.first_ = LocalSearch().fit(problem)

    def _recommend(
        self, people: Population, k: int, streams: Streams, budget: Budget
    ) -> tuple[Actions, Mask]:
        found = self.first_.unjudged_actions(people, k, streams, budget)
        none = np.zeros(people.n, dtype=bool)
        if (
            self.boxes_ is None
            or people.problem.robust is not None
            or people.problem.plausibility is not None
        ):
            return found, none
        open_, limit = np.arange(people.n), budget.rows_or(20_000)
        for round_ in range(self.rounds):
            some = people.take(open_)
            has = ~np.isnan(found[open_, 0]).all(1)
            cutoff = np.full(open_.size, np.inf)
            cutoff[has] = some.cost(np.flatnonzero(has), found[open_[has], 0])
            least, points = self.boxes_.search(some, cutoff, self.boxes * (round_ + 1))
            none[open_] = ~has & np.isposinf(least)
            better = self._polished(some, points, limit)
            price = np.full(open_.size, np.inf)
            there = np.flatnonzero(~np.isnan(better).all(1))
            price[there] = some.cost(there, better[there])
            gain = np.flatnonzero(price < cutoff - 1e-12)
            found[open_[gain]] = np.concatenate([better[gain, None], found[open_[gain], : k - 1]], axis=1)
            open_ = open_[(np.minimum(price, cutoff) > least * (1 + 1e-6)) & np.isfinite(least)]
            if not open_.size:
                break
        return found, none

    def _polished(self, people: Population, points: Actions, limit: int) -> np.ndarray:
        """(n, d) the best option near the rows (n, c, d) at which boxes would be cheapest; NaN where there is none."""
        who, place = np.nonzero(~np.isnan(points).all(2))
        who, row = farther(people, who, points[who, place], _BEYOND)
        row = np.where(people.schema.differs(row, people.x[who]), row, np.nan)
        some = np.flatnonzero(~np.isnan(row).all(1))
        who, row = who[some], row[some]
        good = np.flatnonzero(people.evaluate(who, row).reached)
        cap = people.rows + limit
        return finished(people, who[good], row[good], 1, cap=cap, go_on=False, shrink=True)[:, 0]
