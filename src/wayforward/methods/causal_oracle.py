"""causal-oracle: the cheapest point of a grid over what a person may do, in the world as it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, get_args

from wayforward.methods.base import Budget, Method
from wayforward.methods.engines.exact.causal_grid import (
    Grid,
    GridOptions,
    cheapest,
    grid_ends,
    grid_values,
    refined,
)
from wayforward.methods.settings import check_choices, require_setting
from wayforward.shapes import Actions

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem
    from wayforward.streams import Streams

_ROWS = 2_000_000


@dataclass
class CausalOracle(Method):
    """Try every set of the features that a person may act on, with every combination of a few values for each.

    The cheapest combination that the model accepts, that no rule, limit or wish forbids, and that is plausible where
    the problem asks for it, is the answer: exact on the grid, for any model and in any world. Costs are the person's
    own, weights included. Combinations are asked about in order of cost, so most are never looked at; where the world
    tells densities feature by feature, those that are less likely than the person was are cut off before.

    The grid holds `bins` values for each feature. "range": evenly spaced from the least to the greatest value among
    the people of the problem's data whom the model refuses, the same for everybody. "around": evenly spaced from
    x - 2 (x - least) to x + 2 (greatest - x), each person's own. Values are moved to what the person may do (bounds,
    direction, limits), rounded to integers and steps, and kept once; a feature with levels has all of them that are
    allowed. In a causal world a value may also be the one that the person has: the feature is then held while its
    causes move. A grid proves nothing about what lies between its values: where it holds no answer, the outcome is
    NOT_FOUND.

    With k > 1, each option moves another set of features, and is the cheapest of its set; a person with fewer
    feasible sets gets fewer options.

    bins: values of a feature. grid: "range" or "around". most: features acted on at once, at most; left out, all of
    them (fewer for somebody whose combinations exceed 400 million). finer: rounds of ever finer grids around each
    answer, which never make it dearer and never leave what was checked.
    Default budget: 2,000,000 model rows a person; where it ends, the outcome is NOT_FOUND.
    Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.recommend(problem, refused, method="causal-oracle", bins=25, finer=3)``.
    Raises: MethodError for a feature without bounds and without data.
    Source: P. Majumdar, I. Valera (2024), CARMA, FAccT, doi:10.1145/3630106.3659003; Budde et al. (2026), iCARMA,
    section 5, for personal limits and weights and for plausibility as a hard constraint.
    """

    name: ClassVar[str] = "causal-oracle"
    summary: ClassVar[str] = "the cheapest point of a grid over all sets of features, in any causal world"
    citation: ClassVar[str] = (
        "Majumdar & Valera (2024), FAccT, doi:10.1145/3630106.3659003; Budde et al. (2026)"
    )

    bins: int = 25
    grid: Grid = "range"
    most: int | None = None
    finer: int = 0

    def __post_init__(self) -> None:
        for name, low in (("bins", 2), ("finer", 0), ("most", 1)):
            value = getattr(self, name)
            whole = value is None or not (isinstance(value, bool) or value != int(value) or value < low)
            require_setting(self, name, whole, f"Use a whole number, {low} or more.")
        check_choices(self, grid=get_args(Grid))

    def _fit(self, problem: Problem) -> None:
        self.ends_ = grid_ends(problem)

    def _recommend(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        rows = budget.rows_or(_ROWS)
        options = GridOptions.of(people, grid_values(people, self.ends_, self.bins, self.grid))
        found = cheapest(people, options, k, most=self.most, rows=rows)
        if self.finer:
            found = refined(people, options, found, self.finer, most=self.most, rows=rows)
        return found.action
