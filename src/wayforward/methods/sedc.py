"""sedc: take out as few words, or set as few features to a reference value, as turn the decision, best first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, get_args

from wayforward.methods.base import Budget, Method
from wayforward.methods.engines.edits import EditSearch, Order, Replacements
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
class Sedc(Method):
    """Set units to a reference value, best first: expand the set with the highest score by one unit more.

    A unit is a word of a text (`wf.TextProblem`) or a feature of a table. Sets that hold one that was found are passed
    over, so that an explanation holds no other one, and the judge takes out what it does not need. For a linear score
    the first set found is a smallest one.

    reference: what a unit becomes: 'removed' as published (nought, or the nearest value to it), or the 'mean', 'mode'
    or 'median' of people, or a 'prototype', what is typical of accepted people. most: units of a set. expansions:
    states that are expanded. Both default as in the published code. Default budget: 50,000 model rows a person.
    The method is covered by US patent 9,836,455 B2: look into it before you use it in a product.
    Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.TextProblem(pipeline, texts, favourable="yes").recommend(texts, method="sedc", k=3)``.
    Source: D. Martens, F. Provost (2014), Explaining Data-Driven Document Classifications, MIS Quarterly 38(1).
    """

    name: ClassVar[str] = "sedc"
    summary: ClassVar[str] = "takes out as few words or values as turn the decision, best first"
    citation: ClassVar[str] = "Martens & Provost (2014), MIS Quarterly 38(1)"
    needs: ClassVar[int] = Access.PROBABILITY
    order: ClassVar[Order] = "score"
    chunk: ClassVar[int] = 512

    reference: Reference = "removed"
    most: int = 30
    expansions: int = 50

    def __post_init__(self) -> None:
        check_choices(self, reference=get_args(Reference))
        check_least(self, most=1, expansions=1)

    def _fit(self, problem: Problem) -> None:
        self.row_ = reference_row(problem, self.reference)

    def _recommend(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        cap = people.rows + budget.rows_or(50_000)
        edits = Replacements.of(reference_values(people, self.row_))
        return EditSearch(people, edits, self.order, self.most, self.expansions).run(k, cap)
