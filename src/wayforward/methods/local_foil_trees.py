"""local-foil-trees: why no rather than yes: what separates the person's leaf of a local tree from a leaf of yes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

import numpy as np

from wayforward.methods.engines.population import Values
from wayforward.methods.engines.surrogate.method import LocalTreeMethod
from wayforward.methods.engines.surrogate.neighbourhood import Neighbourhood, drawn_around
from wayforward.methods.engines.surrogate.trees import LocalTrees, Toll, edges, grow
from wayforward.methods.settings import check_choices, check_positive
from wayforward.model import Access
from wayforward.public import public
from wayforward.shapes import Floats, Ints

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem
    from wayforward.streams import Streams

Strategy = Literal["informativeness", "closest", "size", "impurity"]
_LEAST = 1e-6  # a change of impurity that counts as one


@public
@dataclass
class LocalFoilTrees(LocalTreeMethod):
    """Ask "why no rather than yes": the conditions between the person's leaf of a local tree and a leaf of yes.

    Rows are drawn around each person, weighed by how near they are and so that both answers weigh the same, and a tree
    is fitted to them. Of its leaves that say yes the one is taken that the shortest way through the tree leads to; the
    conditions there that the person does not meet are the answer, their nearest point the option, if the model itself
    accepts it. `rules(x)` returns the conditions, with confidence and fidelity. Rows vary what the person may act on.

    strategy: how long an edge is: 'informativeness' (the less it lowers the impurity and the fewer rows it leads to,
    the longer), 'closest' (all alike), 'size', 'impurity'. width: of the kernel, in deviations a feature. Not part of
    the published method: complete, which takes the nearest row that was drawn and accepted, and goes on by single
    changes for whom there is none; shrink, which gives back what the decision does not need.
    Published: complete=False, shrink=False, depth=50.
    Default budget: 20,000 model rows a person. Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``print(wf.method("local-foil-trees").fit(problem).rules(refused)[0])``.
    Source: J. van der Waa, M. Robeer, J. van Diggelen, M. Brinkhuis, M. Neerincx (2018), Contrastive Explanations with
    Local Foil Trees, WHI at ICML; arXiv:1806.07470.
    """

    name: ClassVar[str] = "local-foil-trees"
    summary: ClassVar[str] = (
        "what separates the person's leaf of a local tree from the best leaf that says yes"
    )
    citation: ClassVar[str] = (
        "van der Waa, Robeer, van Diggelen, Brinkhuis & Neerincx (2018), WHI, arXiv:1806.07470"
    )
    needs: ClassVar[int] = Access.LABEL

    strategy: Strategy = "informativeness"
    width: float = 0.25

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choices(self, strategy=get_args(Strategy))
        check_positive(self, "width")

    def _fit(self, problem: Problem) -> None:
        super()._fit(problem)
        span = problem.schema.span
        spread = span / 4 if problem.reference is None else np.nanstd(problem.reference, axis=0)
        self.spread_ = np.where(spread > 0, spread, span / 4)

    def _drawn(
        self, people: Population, streams: Streams, values: Values, size: int, limit: int
    ) -> Neighbourhood:
        return drawn_around(people, streams, values, size, self.spread_)

    def _tree(self, people: Population, near: Neighbourhood) -> LocalTrees:
        return grow(
            people.schema, people.x, near.value, near.reached, self._weight(people, near), depth=self.depth,
            leaf=self.leaf, toll=_TOLLS[self.strategy],
        )  # fmt: skip

    def _weight(self, people: Population, near: Neighbourhood) -> Floats:
        """(n, S): a kernel on the distance in deviations, and as much weight for a yes as for a no."""
        own, schema = people.x[:, None], people.schema
        gap = np.where(schema.has_levels, schema.differs(near.value, own), (near.value - own) / self.spread_)
        far = np.sqrt((np.nan_to_num(gap) ** 2).sum(2)) / (self.width * np.sqrt(people.d))
        weight = np.exp(-((far - far.min(1, keepdims=True)) ** 2) / 2) + 1e-9
        for side in (near.reached, ~near.reached):
            total = np.where(side, weight, 0.0).sum(1, keepdims=True)
            weight = np.where(side, weight / np.maximum(total, 1e-300), weight)
        return np.asarray(weight)

    def _price(self, trees: LocalTrees) -> Floats:
        return trees.way


def _by_size(parent: Floats, child: Floats, rows: Ints, total: int) -> Floats:
    return np.asarray(1 - rows / total)


def _by_impurity(parent: Floats, child: Floats, rows: Ints, total: int) -> Floats:
    return np.asarray(1 - np.abs(parent - child))


def _by_informativeness(parent: Floats, child: Floats, rows: Ints, total: int) -> Floats:
    return np.asarray(1 / np.maximum(np.abs(parent - child), _LEAST) + 1 / rows)


_TOLLS: dict[str, Toll] = {
    "informativeness": _by_informativeness,
    "closest": edges,
    "size": _by_size,
    "impurity": _by_impurity,
}
