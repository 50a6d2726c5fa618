"""gradient-boosted-counterfactuals: accepted people whom the trees of the model hardly tell from the person."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from wayforward.methods.base import Budget, Method
from wayforward.methods.engines.finish import finished
from wayforward.methods.engines.references import References
from wayforward.methods.engines.tree_regions import TreeRegions, forest_of
from wayforward.methods.nearest_observable import thinned
from wayforward.methods.settings import check_choices, check_least, check_switches
from wayforward.model import Access
from wayforward.public import public
from wayforward.shapes import Actions, Floats, Ints

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem
    from wayforward.streams import Streams


@public
@dataclass
class GradientBoosted(Method):
    """Propose accepted people who share most leaves with the person: whom the model takes for nearly the same.

    Two rows are as far apart as the share of trees in which they fall into different leaves: 0 for rows that the model
    cannot tell apart, 1 where every tree separates them. So the distance is learnt with the model, in which features
    count as much as they matter to its decision. Rows are moved onto what the person may do, as by
    `nearest-observable`.

    weights: 'spread' lets a tree count as much as its leaves differ for the people of the table, 'equal' lets all count
    the same. neighbours: how many to look at; the cheapest of them are the options. pool: at most this many accepted
    rows, evenly taken from the table; None for all. Not part of the published method: complete, which goes on by single
    changes for whom no row does; shrink, which gives back what the decision does not need.
    Default budget: 20,000 model rows a person. Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.recommend(problem, refused, method="gradient-boosted-counterfactuals", k=3)``.
    Raises: UnsupportedModel for a model that shows no trees; ProblemError without observed people.
    Source: C. Aguilar-Palacios, S. Munoz-Romero, J. L. Rojo-Alvarez (2020), Cold-Start Promotional Sales Forecasting
    through Gradient Boosted-based Contrastive Explanations, IEEE Access 8.
    """

    name: ClassVar[str] = "gradient-boosted-counterfactuals"
    summary: ClassVar[str] = "accepted people who share the most leaves of the model's trees with the person"
    citation: ClassVar[str] = "Aguilar-Palacios, Munoz-Romero & Rojo-Alvarez (2020), IEEE Access 8"
    needs: ClassVar[int] = Access.LABEL
    needs_data: ClassVar[bool] = True
    copies_people: ClassVar[bool] = True

    weights: Literal["spread", "equal"] = "spread"
    neighbours: int = 10
    pool: int | None = 5_000
    complete: bool = True
    shrink: bool = True

    def __post_init__(self) -> None:
        check_choices(self, weights=("spread", "equal"))
        check_least(self, neighbours=1, pool=1)
        check_switches(self, "complete", "shrink")

    def _fit(self, problem: Problem) -> None:
        flat = forest_of(problem, self.name)
        self.trees_ = TreeRegions(flat, problem.schema)
        self.rows_ = thinned(np.unique(problem.reference_accepted, axis=0), self.pool)
        self.leaves_ = self.trees_.leaf_of(self.rows_)
        self.weight_ = np.ones(self.leaves_.shape[1])
        if self.weights == "spread":
            seen = self.trees_.leaf_of(thinned(problem.require_reference(), self.pool))
            self.weight_ = flat.value[seen].std(0).sum(1)  # (trees,)
        self.weight_ = self.weight_ / self.weight_.sum()

    def _recommend(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        limit = budget.rows_or(20_000)
        cap = people.rows + limit
        apart = partial(self._apart, self.trees_.leaf_of(people.x))
        references = References(people, self.rows_, None, project=True, apart=apart)
        found, _ = references.usable(max(k, self.neighbours), limit)
        who, slot = np.nonzero(~np.isnan(found).all(2))
        return finished(people, who, found[who, slot], k, cap=cap, go_on=self.complete, shrink=self.shrink)

    def _apart(self, leaves: Ints, who: Ints) -> Floats:
        return leaf_distance(leaves[who], self.leaves_, self.weight_)


@public
def leaf_distance(one: Ints, other: Ints, weight: Floats) -> Floats:
    """(m, trees) and (R, trees) leaves -> (m, R) the share of trees, by weight (trees,), that separate two rows."""
    out = np.zeros((len(one), len(other)))
    for tree, share in enumerate(weight):
        out += share * (one[:, tree, None] != other[None, :, tree])
    return out
