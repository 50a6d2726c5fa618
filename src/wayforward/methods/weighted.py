"""weighted-counterfactuals: the cheapest change where what separates people costs less; and what a yes can bear."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import numpy as np

from wayforward.errors import MethodError, require_whole
from wayforward.methods.base import Budget, Method
from wayforward.methods.engines.robust_search import same_people
from wayforward.methods.engines.surrogate.crossings import crossings
from wayforward.methods.settings import check_choices, check_least
from wayforward.neighbours import NeighbourIndex
from wayforward.public import public
from wayforward.scaling import scales
from wayforward.shapes import Actions, Floats, Ints, Mask

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem
    from wayforward.schema import Schema
    from wayforward.streams import Streams

Weights = Literal["neighbours", "importance", "uniform"]


@public
@dataclass(frozen=True, eq=False)
class Margins:
    """How far each feature alone may move while the decision stays a yes, for n people whom the model accepts.

    who (n,): their places among the people asked about. low, high (n, d): the ends, the person's own value where
    nothing may be lost, the end of the feature's range where all may. levels (n, all levels) bool: levels that keep the
    yes.
    """

    schema: Schema
    who: Ints
    x: Floats
    low: Floats
    high: Floats
    levels: Mask

    def lines(self, i: int) -> list[str]:
        """Person i's margins as lines of text: "savings: 1200 to 50000 (now 2000)"."""
        out = []
        for j, feature in enumerate(self.schema.features):
            columns = self.schema.level_columns.get(j)
            if columns is not None:
                keep = [feature.levels[index] for index in np.flatnonzero(self.levels[i, columns])]
                out.append(f"{feature.name}: {', '.join(map(str, keep))}")
            elif not np.isnan(self.x[i, j]):
                ends = f"{self.low[i, j]:.6g} to {self.high[i, j]:.6g} (now {self.x[i, j]:.6g})"
                out.append(f"{feature.name}: {ends}")
        return out


@public
@dataclass
class WeightedCounterfactuals(Method):
    """Search with another method under costs in which features that separate the accepted from the refused are cheap.

    weights: 'neighbours', per person: the share of the accepted people nearest to them who differ from them in a
    feature; 'importance', for all: how strongly a feature goes with the decision among people of the table (the root
    of the share of its variance that it explains); 'uniform': the base method's own answers. What counts more is
    cheaper: the cost of a feature is divided by its weight in units of the mean weight, at most by `spread` and at
    least by 1 / spread. A person's own weights (`Preferences.weigh`) count besides; options are judged and ordered by
    the problem's cost. `margins(x)` returns positive counterfactuals: what people whom the model accepts could lose.

    base: the method that searches. neighbours: accepted people looked at; numbers within tolerance standard deviations
    are the same. Published: a penalty minimised from random
    starts in place of base, its weights from an analysis of variance and from nearest neighbours.
    Budget: that of base. Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.method("weighted-counterfactuals").fit(problem).margins(people).lines(0)``.
    Source: R. Mc Grath, L. Costabello, C. Le Van, P. Sweeney, F. Kamiab, Z. Shen, F. Lecue (2018), Interpretable Credit
    Application Predictions With Counterfactual Explanations; arXiv:1811.05245.
    """

    name: ClassVar[str] = "weighted-counterfactuals"
    summary: ClassVar[str] = "another method's search, with what separates accepted people made cheaper"
    citation: ClassVar[str] = (
        "Mc Grath, Costabello, Le Van, Sweeney, Kamiab, Shen & Lecue (2018), arXiv:1811.05245"
    )
    needs_data: ClassVar[bool] = True

    base: str = "local-search"
    weights: Weights = "neighbours"
    neighbours: int = 20
    tolerance: float = 0.2
    spread: float = 10.0

    def __post_init__(self) -> None:
        check_choices(self, weights=get_args(Weights))
        check_least(self, neighbours=1, spread=1.0)

    def _fit(self, problem: Problem) -> None:
        from wayforward.methods.registry import METHODS

        self.base_: Method = METHODS.find(self.base)().fit(problem)
        self.rows_ = np.unique(problem.reference_accepted, axis=0)
        self.index_ = NeighbourIndex(problem.schema, self.rows_)
        level = problem.schema.is_categorical
        deviation = scales(problem.schema, problem.require_reference(), "std")
        self.slack_ = np.where(level, 0.0, self.tolerance * deviation)
        self.importance_ = explained(problem.schema, problem.require_reference(), problem.reference_reached)

    def _recommend(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        if self.weights == "uniform":
            return self.base_.unjudged_actions(people, k, streams, budget)
        some = same_people(people, people.problem)
        some.weight, some.plain_weight = people.weight * self.costs(people.x), False
        return self.base_.unjudged_actions(some, k, streams, budget)

    def costs(self, x: Floats) -> Floats:
        """(n, d) what the cost of each feature is multiplied by for people x (n, d)."""
        if self.weights == "uniform":
            return np.ones(x.shape)
        weight = np.tile(self.importance_, (len(x), 1))
        if self.weights == "neighbours":
            near = self.index_.query(x, min(self.neighbours, len(self.rows_))).row
            with np.errstate(invalid="ignore"):
                alike = np.abs(self.rows_[near] - x[:, None]) <= self.slack_
            weight = 1 - alike.mean(1)
        act = self.problem_.schema.actionable
        mean = weight[:, act].mean(1, keepdims=True)
        share = np.where(mean > 0, weight / np.where(mean > 0, mean, 1.0), 1.0)
        return 1 / np.clip(share, 1 / self.spread, self.spread)

    def margins(self, x: Any, *, grid: int = 50) -> Margins:
        """Return how far each feature alone may move while people whom the model accepts stay accepted.

        Numbers are looked at to both ends of their range, at grid values each way, in steps of the schema; consequences
        follow in a causal world. What turns the decision between two of these and back is not seen. x: a table of
        people or an (n, d) array; whom the model refuses is left out. Raises: MethodError before `fit` or for a grid
        that is no whole number of 1 or more; DataError.
        """
        problem = self._fitted_problem()
        require_whole(MethodError, 1, grid=grid)
        schema = problem.schema
        x = schema.encode(x)
        who = np.flatnonzero(problem.reached(x)[0])
        x = x[who]

        def turned(owner: Ints, j: Ints, value: Floats) -> Mask:
            action = np.full((len(owner), schema.d), np.nan)
            action[np.arange(len(owner)), j] = value
            led = problem.consequences(x[owner], action)
            return np.asarray(~problem.reached(problem.standing(x[owner], led))[0])

        seen = problem.observed_range
        low, high = (np.broadcast_to(np.where(np.isfinite(end), end, far), x.shape)
                     for end, far in zip((schema.low, schema.high), seen, strict=True))  # fmt: skip
        every = np.ones((len(x), len(schema.level_owner)), dtype=bool)
        found = crossings(schema, x, low, high, np.ones(x.shape, bool), every, turned, grid)
        down, up = (
            np.where(np.isnan(found.before[..., side]), x, found.before[..., side]) for side in (0, 1)
        )
        return Margins(schema, who, x, down, up, ~found.levels)


@public
def explained(schema: Schema, rows: Floats, yes: Mask) -> Floats:
    """(d,): how strongly each feature of rows (m, d) goes with the decision yes (m,), from 0 to 1.

    The root of the share of the decision's variance that a line of its numbers, or the means of its levels, explain.
    """
    out = np.zeros(schema.d)
    for j in range(schema.d):
        there = ~np.isnan(rows[:, j])
        value, answer = rows[there, j], yes[there].astype(np.float64)
        if not answer.size or np.ptp(answer) == 0 or np.ptp(value) == 0:
            continue
        if schema.is_categorical[j]:
            level = value.astype(np.int64)
            count = np.maximum(np.bincount(level), 1)
            value = (np.bincount(level, answer) / count)[level]
            if np.ptp(value) == 0:
                continue
        out[j] = abs(np.corrcoef(value, answer)[0, 1])
    return out
