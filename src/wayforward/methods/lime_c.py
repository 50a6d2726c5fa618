"""lime-c: rank words or features by a line fitted around the person, and take the shortest prefix that is a yes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, get_args

import numpy as np

from wayforward.methods.base import Budget, Method
from wayforward.methods.engines.rankings import line_weights, ranked_prefixes
from wayforward.methods.engines.reference_values import Reference, reference_row, reference_values
from wayforward.methods.settings import check_choices, check_least
from wayforward.model import Access
from wayforward.public import public
from wayforward.shapes import Actions

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem
    from wayforward.streams import Streams


@public
@dataclass
class LimeC(Method):
    """Rank units by a line fitted to the score around the person; edit along the ranking until the decision turns.

    One ranking a person, and all its prefixes are asked about in one call; further options leave out one of its first
    units. Where the line is wrong a prefix may hold what it does not need, which the judge takes out, or none may do.

    reference: what a unit becomes, as of `sedc`. samples: rows that the line is fitted to (twice the units at least,
    as far as the budget goes). most: units of a set. Default budget: 5,000 model rows a person.
    Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.TextProblem(pipeline, texts, favourable="yes").recommend(texts, method="lime-c")``.
    Source: Y. Ramon, D. Martens, F. Provost, T. Evgeniou (2020), A comparison of instance-level counterfactual
    explanation algorithms for behavioral and textual data, ADAC 14; arXiv:1912.01819.
    """

    name: ClassVar[str] = "lime-c"
    summary: ClassVar[str] = "takes out words or values along the ranking of a line fitted around the person"
    citation: ClassVar[str] = "Ramon, Martens, Provost & Evgeniou (2020), ADAC 14, arXiv:1912.01819"
    needs: ClassVar[int] = Access.PROBABILITY
    chunk: ClassVar[int] = 256

    reference: Reference = "removed"
    samples: int = 1000
    most: int = 30

    def __post_init__(self) -> None:
        check_choices(self, reference=get_args(Reference))
        check_least(self, samples=1, most=1)

    def _fit(self, problem: Problem) -> None:
        self.row_ = reference_row(problem, self.reference)

    def _recommend(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        value = reference_values(people, self.row_)
        worth = self._worth(people, value, streams, budget.rows_or(5000))
        return ranked_prefixes(people, value, worth, k, self.most)

    def _worth(self, people: Population, value: np.ndarray, streams: Streams, rows: int) -> np.ndarray:
        """(n, d) what each edit adds to the score."""
        return line_weights(people, value, streams, min(max(self.samples, 2 * people.d), rows))
