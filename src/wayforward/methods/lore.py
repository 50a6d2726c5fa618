"""lore: a decision tree on rows bred around the person; the paths to a yes with the fewest conditions to meet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from wayforward.methods.engines.population import Values
from wayforward.methods.engines.surrogate.method import LocalTreeMethod
from wayforward.methods.engines.surrogate.neighbourhood import Neighbourhood, bred_around
from wayforward.methods.engines.surrogate.trees import LocalTrees, grow
from wayforward.methods.settings import check_least
from wayforward.model import Access
from wayforward.public import public
from wayforward.shapes import Floats

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem
    from wayforward.streams import Streams


@public
@dataclass
class Lore(LocalTreeMethod):
    """Explain a refusal by a tree fitted around the person, and go where the fewest conditions of a path are unmet.

    A genetic search breeds rows for each person, half of them with the person's own answer and half with the other,
    both as near as can be. A tree on them gives the factual rule, the path that the person is on, and counterfactual
    rules, the paths to leaves that say yes; those with the fewest conditions to be met anew come first, then the
    cheapest. The nearest point of each such leaf is asked about; a point that the model itself refuses is no answer.
    `rules(x)` returns the rules, with the fidelity of the tree. Rows vary what the person may act on, so that rules
    speak about acts; what limits or rules forbid counts as a no.

    samples, generations: of the genetic search; published: 1000 and 10, with trees of any depth. Not part of the
    published method, whose rules may lead nowhere: complete, which takes the nearest row that was bred and accepted,
    and goes on by single changes for whom there is none; shrink, which gives back what the decision does not need.
    Published: samples=1000, generations=10, depth=50, complete=False, shrink=False.
    Default budget: 20,000 model rows a person. Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``print(wf.method("lore").fit(problem).rules(refused)[0])``.
    Source: R. Guidotti, A. Monreale, S. Ruggieri, D. Pedreschi, F. Turini, F. Giannotti (2018), Local Rule-Based
    Explanations of Black Box Decision Systems; arXiv:1805.10820.
    """

    name: ClassVar[str] = "lore"
    summary: ClassVar[str] = (
        "a tree on rows bred around the person; to a yes by the fewest conditions of a path"
    )
    citation: ClassVar[str] = (
        "Guidotti, Monreale, Ruggieri, Pedreschi, Turini & Giannotti (2018), arXiv:1805.10820"
    )
    needs: ClassVar[int] = Access.LABEL

    generations: int = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        check_least(self, generations=0)

    def _fit(self, problem: Problem) -> None:
        super()._fit(problem)
        self.far_ = problem.schema.span

    def _drawn(
        self, people: Population, streams: Streams, values: Values, size: int, limit: int
    ) -> Neighbourhood:
        turns = min(self.generations, limit // (2 * size))
        return bred_around(people, streams, values, size, turns, self.far_)

    def _tree(self, people: Population, near: Neighbourhood) -> LocalTrees:
        even = np.ones(near.reached.shape)
        return grow(people.schema, people.x, near.value, near.reached, even, depth=self.depth, leaf=self.leaf)

    def _price(self, trees: LocalTrees) -> Floats:
        return np.asarray(trees.outside.sum(1), dtype=np.float64)
