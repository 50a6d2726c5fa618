"""efficient-search: the cheapest option of a linear model at MAD costs, then others in other states."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from wayforward.methods.actionable_recourse import ActionableRecourse
from wayforward.methods.actionable_recourse.prepared import SearchCost
from wayforward.methods.base import Budget
from wayforward.public import public
from wayforward.shapes import Actions, Mask

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem
    from wayforward.streams import Streams


@public
@dataclass
class EfficientSearch(ActionableRecourse):
    """Solve for the cheapest option of a linear model; forbid the states that it took, and solve again, k times.

    Every feature is a number or one of its states (levels). A number's change costs its size over the median absolute
    deviation, another state one. After each option the states that it set are closed, so that later ones differ in a
    discrete part, while numbers may move again; after an option without a new state the dearest number that it moved
    stays. A person's options end where nothing is left.

    scale: 'mad' as published (a deviation of 0 falls back to the range), or 'problem' for the problem's own cost, which
    is what options are ranked by. The search, its grid, workers, solves, nodes and what is exact are as in
    `actionable-recourse`. Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.recommend(problem, refused, method="efficient-search", k=4)``.
    Raises: UnsupportedModel for a model that is not linear, ProblemError for a target that is not linear.
    Source: C. Russell (2019), Efficient Search for Diverse Coherent Explanations, FAT*; arXiv:1901.04909.
    """

    name: ClassVar[str] = "efficient-search"
    summary: ClassVar[str] = "linear models: the cheapest option by MAD, then others in other states"
    citation: ClassVar[str] = "Russell (2019), FAT*, arXiv:1901.04909"

    scale: str = "mad"

    def __post_init__(self) -> None:
        from wayforward.methods.settings import check_choices

        super().__post_init__()
        check_choices(self, scale=("mad", "problem"))

    def _fit(self, problem: Problem) -> None:
        from wayforward.problem import MadL1

        super()._fit(problem)
        if self.scale == "mad":
            mad = MadL1().fit(problem.schema, problem.reference)
            self.prepared_ = replace(self.prepared_, effort=SearchCost("sum", mad, None, 0.0, True, True))

    def _recommend(
        self, people: Population, k: int, streams: Streams, budget: Budget
    ) -> tuple[Actions, Mask]:
        out, proved = np.full((people.n, k, people.d), np.nan), np.zeros(people.n, dtype=bool)
        some, at = people.take(np.arange(people.n)), np.arange(people.n)
        some.levels, some.free = some.levels.copy(), some.free.copy()
        for option in range(k):
            got = super()._recommend(some, 1, streams.take(at), budget)
            action, none = got if isinstance(got, tuple) else (got, np.zeros(at.size, dtype=bool))
            best = action[:, 0]
            out[at, option] = best
            if not option:
                proved[at] = none
            there = np.flatnonzero(~np.isnan(best).all(1))
            if not there.size or option + 1 == k:
                break
            at, best = at[there], best[there]
            levels, free = some.levels[there], some.free[there]
            some = people.take(at)
            some.levels, some.free = levels, free
            self._close(some, best)
        return out, proved

    @staticmethod
    def _close(people: Population, action: np.ndarray) -> None:
        """Close the states (levels) that actions (n, d) set; where they set none, the dearest number that they move."""
        schema, acted = people.schema, ~np.isnan(action)
        for j, columns in schema.level_columns.items():
            row = np.flatnonzero(acted[:, j])
            people.levels[row, columns.start + action[row, j].astype(np.int64)] = False
            others = people.levels[:, columns] & (np.arange(columns.stop - columns.start) != people.x[:, [j]])
            people.free[:, j] &= others.any(1)
        numbers = np.flatnonzero(~acted[:, schema.has_levels].any(1))
        if numbers.size:
            parts = np.nan_to_num(people.parts(numbers, action[numbers]))
            people.free[numbers, parts.argmax(1)] = False
