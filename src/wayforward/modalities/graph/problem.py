"""What would be recommended without some of a person's own actions, each of which may be undone."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, ClassVar

import numpy as np

from wayforward.errors import DataError, ProblemError, did_you_mean, is_list
from wayforward.methods import Method
from wayforward.modalities.graph.answers import RecommenderRecourse
from wayforward.modalities.graph.graph import ActionGraph
from wayforward.modalities.graph.model import CLASSES, RecommenderModel
from wayforward.modalities.problem import UnitProblem
from wayforward.modalities.units import padded_size, unit_rows, unit_schema
from wayforward.model import wrap
from wayforward.problem import Problem
from wayforward.problem.cost import LpMix
from wayforward.public import public
from wayforward.recourse import Recourse


@public
class RecommenderProblem(UnitProblem[RecommenderRecourse]):
    """A recommender on a graph: which of a person's own actions would have to be undone for another item to be on top?

    graph: an `ActionGraph`. restart: of the random walk, see `RecommenderModel`. keep: items, what anybody did with
    them cannot be undone.

    A unit is one of a person's edges to an item; undoing one costs 1. What the person acted on is never recommended,
    not even when it is undone, and edges back from items stay. What is said was judged by walking anew in the graph
    without those edges, and a rival counts as ahead from a millionth of both scores on.
    In `recommend`, `keep` names further items and `most` says how many actions may be undone.
    Example: ``RecommenderProblem(graph).recommend(["ann"], k=2).sentence(0)``.
    Raises: ProblemError, DataError, ModelError.
    """

    things: ClassVar[str] = "people"
    thing: ClassVar[str] = "person"

    def __init__(self, graph: ActionGraph, *, restart: float = 0.15, keep: Collection[str] = ()) -> None:
        super().__init__(CLASSES[1], None)
        if not isinstance(graph, ActionGraph):
            raise ProblemError(f"graph is a {type(graph).__name__}. Give an ActionGraph.")
        self.graph, self.model = graph, RecommenderModel(graph, restart)
        self._known = frozenset(graph.people)
        self.keep = self._items(keep)

    def recommend(
        self,
        things: Any,
        /,
        method: str | Method = "prince",
        k: int = 1,
        *,
        keep: Any = (),
        most: int | None = None,
        strict: bool = False,
        **how: Any,
    ) -> RecommenderRecourse:
        """Return for each person up to k sets of their actions without which another item would be recommended.

        See `UnitProblem.recommend`.
        """
        return super().recommend(things, method, k, keep=keep, most=most, strict=strict, **how)

    def _content(self, thing: Any) -> str:
        name = str(thing)
        if name not in self._known:
            raise DataError(
                f"{name!r} is no person of the graph. Give some of its {len(self.graph.people)} people."
                f"{did_you_mean(name, self.graph.people)}"
            )
        return name

    def _size(self, content: str) -> int:
        return padded_size(len(self.graph.actions(content)))

    def _rows(self, contents: Sequence[str], problem: Problem) -> np.ndarray:
        return unit_rows(contents, [len(self.graph.actions(one)) for one in contents], problem.schema)

    def _fixed_units(self, content: str, keep: Any) -> list[int]:
        wanted = self.keep | self._items(keep)
        done = self.graph.actions(content)
        return [unit for unit, node in enumerate(done) if self.graph.names[node] in wanted]

    def _answer(self, contents: list[str], recourse: Recourse) -> RecommenderRecourse:
        return RecommenderRecourse(recourse, tuple(contents), self.model)

    def _make(self, size: int) -> Problem:
        fits = [name for name in self.graph.people if self._size(name) <= size]
        schema = unit_schema("person", "action", size, example=fits[0])
        some = unit_rows(fits[:8], [len(self.graph.actions(one)) for one in fits[:8]], schema)
        return Problem(
            schema, wrap(self.model, schema, verify_on=some), self.target, cost=LpMix(l0=1.0, l1=0.0)
        )

    def _items(self, keep: Any) -> frozenset[str]:
        if not is_list(keep):
            raise ProblemError(f"keep={keep!r} is no list of items. Give a list: ['book 3'].")
        found = frozenset(map(str, keep))
        unknown = sorted(found - set(self.graph.items))
        if unknown:
            raise ProblemError(
                f"keep names {unknown[0]!r}, which is no item of the graph.{did_you_mean(unknown[0], self.graph.items)}"
            )
        return found
