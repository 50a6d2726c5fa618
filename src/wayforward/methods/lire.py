"""lire: the nearest point of a live region: one that holds an observed person whom the forest accepts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from wayforward.methods.base import Budget, Method
from wayforward.methods.engines.finish import finished
from wayforward.methods.engines.references import References, l1_metric
from wayforward.methods.engines.tree_regions import NearestInBoxes, TreeRegions, forest_of
from wayforward.methods.nearest_observable import thinned
from wayforward.methods.settings import check_least, check_switches
from wayforward.model import Access
from wayforward.problem.batching import ask
from wayforward.public import public
from wayforward.shapes import Actions

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem
    from wayforward.streams import Streams


@public
@dataclass
class Lire(Method):
    """Propose the nearest points of the boxes that hold accepted people of the table, under the problem's cost.

    Where every tree stays in its leaf a forest stays at its answer. The box of an accepted person is what all their
    leaves have in common; a box that holds somebody is live. The nearest point of the nearest live box is the answer,
    so it lies where people are. Each person's nearest accepted row, moved onto what they may do, has a box of its own,
    which is looked at as well: an answer is never dearer than `nearest-observable`'s. Of a single tree whose leaves
    all hold people the answer is the cheapest there is.

    pool: boxes of at most this many accepted people, evenly taken from the table; None for all. Not part of the
    published method: own_rows, the boxes of what each person's nearest rows become for them; complete, which goes on
    by single changes for whom no box is within reach; shrink, which gives back what the decision does not need and so
    may leave the box. Published: own_rows=False, complete=False, shrink=False.
    Default budget: 20,000 model rows a person. Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.recommend(problem, refused, method="lire", k=3)``.
    Raises: UnsupportedModel for a model that shows no trees; ProblemError without observed people.
    Source: M. A. Carreira-Perpinan, S. S. Hada (2023), Very Fast, Approximate Counterfactual Explanations for Decision
    Forests, AAAI; arXiv:2303.02883.
    """

    name: ClassVar[str] = "lire"
    summary: ClassVar[str] = "the nearest box of a forest in which observed people are accepted"
    citation: ClassVar[str] = "Carreira-Perpinan & Hada (2023), AAAI, arXiv:2303.02883"
    needs: ClassVar[int] = Access.LABEL
    needs_data: ClassVar[bool] = True

    pool: int | None = 20_000
    own_rows: bool = True
    complete: bool = True
    shrink: bool = True

    def __post_init__(self) -> None:
        check_least(self, pool=1)
        check_switches(self, "own_rows", "complete", "shrink")

    def _fit(self, problem: Problem) -> None:
        self.trees_ = TreeRegions(forest_of(problem, self.name), problem.schema)
        self.rows_ = np.unique(problem.reference_accepted, axis=0)
        leaves = np.unique(self.trees_.leaf_of(thinned(self.rows_, self.pool)), axis=0)
        self.boxes_ = self.trees_.around(leaves)
        self.metric_ = l1_metric(problem.cost)

    def _recommend(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        limit = budget.rows_or(20_000)
        cap = people.rows + limit
        found, _ = NearestInBoxes(people, self.boxes_).usable(2 * k, limit)
        who, slot = np.nonzero(~np.isnan(found).all(2))
        options = found[who, slot]
        if self.own_rows:
            own, rows = self._from_rows(people, k, limit)
            who, options = np.concatenate([who, own]), np.concatenate([options, rows])
        return finished(people, who, options, k, cap=cap, go_on=self.complete, shrink=self.shrink)

    def _from_rows(self, people: Population, k: int, limit: int) -> tuple[np.ndarray, np.ndarray]:
        """Return what people's nearest rows become for them, as near as their boxes go: who (m,), action (m, d)."""
        found, _ = References(people, self.rows_, self.metric_, project=True).usable(k, limit)
        who, slot = np.nonzero(~np.isnan(found).all(2))
        action = found[who, slot]
        if not len(who):
            return who, action
        boxes = self.trees_.around(self.trees_.leaf_of(people.after(who, action)))
        nearer, _ = NearestInBoxes(people, boxes).action(who, np.arange(len(who)))
        some = np.flatnonzero(~np.isnan(nearer).all(1))
        better = some[ask(people, who[some], nearer[some])[1]]
        return np.concatenate([who, who[better]]), np.concatenate([action, nearer[better]])
