"""explanations-with-shap: change only what speaks against the answer by Shapley values, to values that people have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from wayforward.methods.base import Budget, Method
from wayforward.methods.engines.edits import EditSearch, Replacements
from wayforward.methods.engines.rankings import shapley_values
from wayforward.methods.engines.reference_values import reference_row, reference_values
from wayforward.methods.settings import check_least
from wayforward.model import Access
from wayforward.public import public
from wayforward.shapes import Actions

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem
    from wayforward.streams import Streams


@public
@dataclass
class ExplanationsWithShap(Method):
    """Change the features whose Shapley value speaks against the decision wanted, to values that people have.

    Shapley values are against people of the table, another one in each order in which features are set. Features below
    nought are the mutation set; each may take values of accepted people, alone and then together, from the set with the
    highest score.

    values: tried of a feature, evenly among the different ones that accepted people have (of levels all). orders: of
    the Shapley values, and people that they are against. most: features of a set.
    expansions: sets that are expanded. Default budget: 20,000 model rows a person.
    Without a table, as for texts, a unit is removed or stays.
    Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.recommend(problem, refused, method="explanations-with-shap")``.
    Source: S. Rathi (2019), Generating Counterfactual and Contrastive Explanations using SHAP, arXiv:1906.09293.
    """

    name: ClassVar[str] = "explanations-with-shap"
    summary: ClassVar[str] = "changes what speaks against a yes by Shapley values, to values that people have"
    citation: ClassVar[str] = "Rathi (2019), arXiv:1906.09293"
    needs: ClassVar[int] = Access.PROBABILITY
    chunk: ClassVar[int] = 512

    values: int = 10
    orders: int = 32
    most: int = 10
    expansions: int = 30

    def __post_init__(self) -> None:
        check_least(self, values=1, orders=1, most=1, expansions=1)

    def _fit(self, problem: Problem) -> None:
        if problem.reference is None:
            self.background_ = self.tried_ = reference_row(problem, "removed")[None]
            return
        rows = problem.reference
        self.background_ = rows[np.linspace(0, len(rows) - 1, self.orders).astype(np.int64)]
        self.tried_ = self._tried(problem)

    def _tried(self, problem: Problem) -> np.ndarray:
        """(V, d) values that a feature may take, of levels all; NaN where there are fewer."""
        schema, rows = problem.schema, problem.reference_accepted
        many = max(self.values, int(schema.n_levels.max(initial=0)))
        out = np.full((many, schema.d), np.nan)
        for j in np.flatnonzero(schema.actionable):
            if schema.has_levels[j]:
                found = np.arange(float(schema.n_levels[j]))
            else:
                seen = np.unique(rows[~np.isnan(rows[:, j]), j])
                share = (np.arange(self.values) + 0.5) / self.values
                found = (
                    np.unique(schema.snap(np.quantile(seen, share), columns=int(j))) if seen.size else seen
                )
            out[: len(found), j] = found
        return out

    def mutation_set(self, people: Population, streams: Streams) -> np.ndarray:
        """Return (n, d) bool: features whose Shapley value against the background speaks against the decision."""
        value = np.where(people.free[:, None], self.background_, np.nan)
        value = np.where(people.schema.differs(value, people.x[:, None]), value, np.nan)
        return np.asarray(shapley_values(people, value, streams, self.orders).round(9) > 0)

    def _recommend(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        cap = people.rows + budget.rows_or(20_000)
        against = self.mutation_set(people, streams)
        value = np.stack([reference_values(people, row) for row in self.tried_], axis=1)  # (n, V, d)
        value = np.where(against[:, None], value, np.nan)
        for later in range(1, value.shape[1]):  # limits bring several to one value: each is tried once
            value[:, later][(value[:, :later] == value[:, later, None]).any(1)] = np.nan
        edits = Replacements(value.reshape(people.n, -1), np.tile(np.arange(people.d), value.shape[1]))
        return EditSearch(people, edits, "score", self.most, self.expansions).run(k, cap)
