"""relu-milp: the cheapest option against a network of rectified units, or a linear score, with a proved bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from wayforward.methods.base import Budget, Method
from wayforward.methods.engines.exact.relaxed_boxes import RelaxedBoxes
from wayforward.methods.engines.exact.relaxed_search import cheapest_in_boxes
from wayforward.methods.local_search import LocalSearch
from wayforward.methods.settings import check_least
from wayforward.model import Access
from wayforward.public import public
from wayforward.shapes import Actions, Mask

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem
    from wayforward.streams import Streams


@public
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
        if self.boxes_ is None:
            return found, np.zeros(people.n, dtype=bool)
        return cheapest_in_boxes(self.boxes_, people, found, budget.rows_or(20_000), self.boxes, self.rounds)
