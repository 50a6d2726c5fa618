"""vice: move features bin by bin, the best step first, until the decision turns; few features, few bins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from wayforward.errors import ProblemError
from wayforward.methods.base import Budget, Method
from wayforward.methods.engines.edits import EditSearch
from wayforward.methods.settings import check_least
from wayforward.model import Access
from wayforward.public import public
from wayforward.shapes import Actions

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem
    from wayforward.streams import Streams


@dataclass
class BinSteps:
    """One bin up or down of any feature: edges (d, B + 1), NaN behind the last. reach: bins away from the own one."""

    people: Population
    edges: np.ndarray
    reach: int
    again: bool = True

    @property
    def unit(self) -> np.ndarray:
        """(2 d,) the feature of each step: up, then down."""
        return np.tile(np.arange(self.people.d), 2)

    def values(self, who: np.ndarray, action: np.ndarray) -> np.ndarray:
        """See `Edits`: the middle of the next bin, as near as the person may come to it."""
        people = self.people
        own, now = self._bins(people.x[who]), self._bins(np.where(np.isnan(action), people.x[who], action))
        out = []
        for side in (1, -1):
            to = now + side
            inside = (to >= 0) & (to < self._many) & (np.abs(to - own) <= self.reach) & people.free[who]
            at = np.where(inside, to, 0).astype(np.int64)  # no bin is next to a missing value
            column = np.arange(people.d)
            middle = (self.edges[column, at] + self.edges[column, at + 1]) / 2
            value = people.snap(who, np.where(inside, middle, np.nan))
            stays = np.where(np.isnan(action), people.x[who], action)
            moves = ((value - stays) * side > 0) & people.schema.differs(value, people.x[who])
            out.append(np.where(moves, value, np.nan))
        return np.concatenate(out, axis=1)

    @property
    def _many(self) -> np.ndarray:
        """(d,) bins of each feature; nought where it has none."""
        return np.asarray(np.maximum((~np.isnan(self.edges)).sum(1) - 1, 0))

    def _bins(self, x: np.ndarray) -> np.ndarray:
        """(m, d) the bin of each value; a value outside belongs to the bin at the end."""
        inner = np.where(np.arange(self.edges.shape[1]) < self._many[:, None], self.edges, np.inf)[:, 1:]
        at = (x[:, :, None] >= inner).sum(2).astype(np.float64)
        return np.where(np.isnan(x), np.nan, at)


@public
@dataclass
class Vice(Method):
    """Move features by one bin up or down, each time the step with the highest score, until the decision turns.

    Numbers are cut into bins of equal width over what people have, and a step goes to the middle of the next one;
    ordinal and binary features go one level; categories stay. Locks are limits of the person (`Preferences.freeze`).
    The search is best first, so that it also goes on from the second-best step where the best one leads nowhere.

    bins: of each number. most: features of an option. reach: bins that a feature moves. expansions: profiles that are
    looked at. Default budget: 5,000 model rows a person.
    Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.recommend(problem, refused, method="vice", most=3)``.
    Raises: ProblemError where no feature can be cut into bins.
    Source: O. Gomez, S. Holter, J. Yuan, E. Bertini (2020), ViCE: Visual Counterfactual Explanations for Machine
    Learning Models, IUI; arXiv:2003.02428.
    """

    name: ClassVar[str] = "vice"
    summary: ClassVar[str] = "moves few features by few bins, the best step first"
    citation: ClassVar[str] = "Gomez, Holter, Yuan & Bertini (2020), IUI, arXiv:2003.02428"
    needs: ClassVar[int] = Access.PROBABILITY
    chunk: ClassVar[int] = 512

    bins: int = 10
    most: int = 5
    reach: int = 5
    expansions: int = 60

    def __post_init__(self) -> None:
        check_least(self, bins=2, most=1, reach=1, expansions=1)

    def _fit(self, problem: Problem) -> None:
        schema = problem.schema
        low, high = problem.observed_range
        many = max(self.bins, int(schema.n_levels.max(initial=0)))
        self.edges_ = np.full((schema.d, many + 1), np.nan)
        for j in np.flatnonzero(schema.actionable & ~schema.is_categorical):
            if schema.has_levels[j]:
                count = int(schema.n_levels[j])
                self.edges_[j, : count + 1] = np.arange(count + 1) - 0.5
            elif np.isfinite(low[j]) and high[j] > low[j]:
                self.edges_[j, : self.bins + 1] = np.linspace(low[j], high[j], self.bins + 1)
        if np.isnan(self.edges_).all():
            raise ProblemError(
                f"'{self.name}' moves numbers and levels in order, and nobody can act on any here. Use 'sedc'."
            )

    def _recommend(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        cap = people.rows + budget.rows_or(5000)
        steps = BinSteps(people, self.edges_, self.reach)
        return EditSearch(people, steps, "score", self.most, self.expansions).run(k, cap)
