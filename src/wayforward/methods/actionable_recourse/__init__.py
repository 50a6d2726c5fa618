"""actionable-recourse: the cheapest actions against a linear model, exactly, or a proof that none exist."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, get_args

import numpy as np

from wayforward.methods.actionable_recourse.additive import additive_guesses
from wayforward.methods.actionable_recourse.euclidean import EuclideanSearch
from wayforward.methods.actionable_recourse.linear_target import LinearTarget
from wayforward.methods.actionable_recourse.prepared import (
    Options,
    PreparedPrograms,
    Preset,
    SearchCost,
    reference_values,
)
from wayforward.methods.actionable_recourse.programs import ProgramSearch
from wayforward.methods.base import Budget, Method
from wayforward.methods.settings import check_choices, check_least
from wayforward.model import Access
from wayforward.public import public
from wayforward.shapes import Actions, Mask

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem
    from wayforward.streams import Streams


@public
@dataclass
class ActionableRecourse(Method):
    """Find the cheapest actions that turn a linear model's decision, in order of cost, or prove that there are none.

    Exact on this action set: every level, every value of an integer or stepped feature, and for a real feature without
    a step every value where the cost is linear in it (L0, L1, L-infinity, MAD), else `grid` quantiles of the reference
    and the ends of the person's reach, with the last value moved back to what exactly suffices. So costs are optimal on
    that set, and `NONE_EXISTS` is a proof for all actions. Direction, personal limits, the number of changes and the
    schema's rules are part of the search: rules that are linear or logical enter the program, others are cut off one
    by one. Where nothing couples features the optimum comes from closed forms for all people at once (fractional
    knapsack for L1, sorted water-filling for L2, bisection on the level for maxima, a Lagrangian bound for tables);
    a mixed-integer program (HiGHS) answers for whom the bound stays open.

    In a causal world, or with linkage rules, effects are taken as additive, every guess is judged in the world, and
    nothing is claimed: the method is then a heuristic. So are costs that are no sum or maximum over features
    (Mahalanobis, L2 mixed with others): the search ranks by the sum of the parts; proofs still hold.

    cost: 'problem', or 'total', 'local' (log, towards the top), 'max' (then total) percentile shift to search by.
    options: what later options may not do: 'distinct' change the same features as an earlier one; 'different' change
    all features of an earlier one, and more (used for continuous features, where tiny extra changes are no new
    option); 'exclusive' change any feature of an earlier one; 'exact' be the same. grid: see above. workers: processes
    for the programs. solves: programs a person at most. nodes: of branch and bound, a program.
    Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.recommend(problem, refused, method="actionable-recourse", k=3)``.
    Raises: UnsupportedModel from `fit` for a model that is not linear, ProblemError for a target that is not linear.
    Source: B. Ustun, A. Spangher, Y. Liu (2019), Actionable Recourse in Linear Classification, FAT*; arXiv:1809.06514.
    """

    name: ClassVar[str] = "actionable-recourse"
    summary: ClassVar[str] = (
        "linear models: the cheapest actions in order of cost, exactly, or a proof that none exist"
    )
    citation: ClassVar[str] = "Ustun, Spangher & Liu (2019), FAT*, arXiv:1809.06514"
    needs: ClassVar[int] = Access.WHITE_BOX
    exact: ClassVar[bool] = True

    cost: Preset = "problem"
    options: Options = "distinct"
    grid: int = 100
    workers: int = 1
    solves: int = 40
    nodes: int = 100_000

    def __post_init__(self) -> None:
        check_choices(self, cost=get_args(Preset), options=get_args(Options))
        check_least(self, grid=1, workers=1, solves=1, nodes=1)

    def _fit(self, problem: Problem) -> None:
        self.prepared_ = PreparedPrograms(
            LinearTarget.of(problem, self.name),
            SearchCost.of(problem, self.cost),
            reference_values(problem, self.grid),
            self.options,
            self.grid,
            self.workers,
            self.solves,
            self.nodes,
        )

    def _recommend(
        self, people: Population, k: int, streams: Streams, budget: Budget
    ) -> Actions | tuple[Actions, Mask]:
        if not people.problem.independent or people.problem.robust is not None:
            return additive_guesses(self.prepared_, people, k)
        smooth = self._is_smooth(people)
        action, proved = np.full((people.n, k, people.d), np.nan), np.zeros(people.n, dtype=bool)
        for some, search in (
            (np.flatnonzero(smooth), EuclideanSearch),
            (np.flatnonzero(~smooth), ProgramSearch),
        ):
            if some.size:
                part = people if some.size == people.n else people.take(some)
                action[some], proved[some] = search(self.prepared_, part, k).run()
        return action, proved

    def _is_smooth(self, people: Population) -> np.ndarray:
        """Return (n,) bool: the person's problem is a hyperplane, a box and the Euclidean norm, and nothing else."""
        schema, problem = people.schema, people.problem
        real = np.isnan(schema.step) & ~schema.missing
        if (
            self.prepared_.effort.kind != "square"
            or self.prepared_.scores.rows > 1
            or schema.rules
            or problem.plausibility is not None
        ):
            return np.zeros(people.n, dtype=bool)
        inside = (people.x >= people.low) & (people.x <= people.high)
        return np.asarray(
            ((real & inside) | ~people.free).all(1) & (people.max_changes >= people.free.sum(1))
        )
