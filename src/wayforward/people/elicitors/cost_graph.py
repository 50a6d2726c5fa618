"""What an act costs a person when it depends on where they stand: a graph of features that make others dearer.

Changing feature v in state s costs max(floor, w_vv |change of v| + sum over the causes u of v of w_uv (offset + s_u)),
on features scaled to [0, 1]. The graph says whose state matters for which act; it is no model of the data, and the
weights w are the person's own. Source: G. De Toni, P. Viappiani, S. Teso, B. Lepri, A. Passerini (2024), Personalized
Algorithmic Recourse with Preference Elicitation, TMLR.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.errors import PreferencesError
from wayforward.lazy import cached_property
from wayforward.people.elicitor import Questions, Session
from wayforward.people.simulated import ReplyNoise, SimulatedPeople
from wayforward.problem import Population
from wayforward.schema import Schema
from wayforward.shapes import PerRow, Points, Rows
from wayforward.streams import generator

if TYPE_CHECKING:
    from wayforward.problem import Problem
    from wayforward.world import CausalGraph


@dataclass(frozen=True)
class CostGraph:
    """The features of a schema and the edges (u, v): the state of u makes a change of v dearer.

    floor, offset: as in the formula; 1 and 1 as published, 0 and 0 for the plain form. low, span (d,): the scale.
    weights: one for each actionable feature, then one for each edge that ends in one, named in `names`.

    Example: ``CostGraph.of(problem, edges=[("age", "income")]).names``.
    Raises: PreferencesError for an edge that names no feature, is a loop, or is told twice.
    """

    schema: Schema
    edges: tuple[tuple[str, str], ...]
    low: np.ndarray = field(repr=False)
    span: np.ndarray = field(repr=False)
    floor: float = 1.0
    offset: float = 1.0

    def __post_init__(self) -> None:
        if len(set(self.edges)) < len(self.edges):
            raise PreferencesError("An edge of the cost graph is told twice. Remove one.")
        for u, v in self.edges:
            for name in (u, v):
                if name not in self.schema.names:
                    raise PreferencesError(
                        f"The cost graph has an edge {u!r} -> {v!r}, and '{name}' is no feature. "
                        f"Known: {', '.join(self.schema.names)}."
                    )
            if u == v:
                raise PreferencesError(f"The cost graph has an edge from '{u}' to itself. Remove it.")
        if self.floor < 0 or self.offset < 0:
            raise PreferencesError(
                f"floor={self.floor} and offset={self.offset}: a cost would be negative. Use 0 or more."
            )

    @classmethod
    def of(
        cls,
        problem: Problem,
        edges: Iterable[tuple[str, str]] | Any = None,
        *,
        floor: float = 1.0,
        offset: float = 1.0,
    ) -> CostGraph:
        """The cost graph of a problem. edges: pairs, or anything that `CausalGraph.read` takes; left out, the graph of
        the problem's world (none in an independent world: every change then has a price of its own).
        """
        from wayforward.world import CausalGraph

        schema = problem.schema
        if edges is None:
            graph = problem.world.graph
            edges = () if graph is None else _pairs(CausalGraph.read(graph))
        else:
            edges = list(edges) if isinstance(edges, (list, tuple)) else edges
            edges = _pairs(CausalGraph.read(edges)) if edges else ()
        low, high = problem.observed_range
        low = np.where(np.isfinite(schema.low), schema.low, low)
        high = np.where(np.isfinite(schema.high), schema.high, high)
        span = np.where(schema.is_categorical, 1.0, high - low)
        return cls(schema, tuple(edges), low, np.where(span > 0, span, 1.0), floor, offset)

    @cached_property
    def own(self) -> np.ndarray:
        """(d,) position of each feature's own weight; -1 where nobody acts on it."""
        out = np.full(self.schema.d, -1)
        at = np.flatnonzero(self.schema.actionable)
        out[at] = np.arange(len(at))
        return out

    @cached_property
    def between(self) -> tuple[np.ndarray, np.ndarray]:
        """Cause and effect (e,), (e,): the edges whose effect somebody may act on."""
        actionable = [(u, v) for u, v in self.edges if self.own[self.schema.index(v)] >= 0]
        pairs = np.array(
            [(self.schema.index(u), self.schema.index(v)) for u, v in actionable], dtype=np.int64
        )
        pairs = pairs.reshape(-1, 2)
        return pairs[:, 0], pairs[:, 1]

    @property
    def width(self) -> int:
        """Number of weights."""
        return int((self.own >= 0).sum()) + len(self.between[0])

    @property
    def names(self) -> tuple[str, ...]:
        """What each weight is about: 'income', or 'age -> income'."""
        own = [name for name, at in zip(self.schema.names, self.own, strict=True) if at >= 0]
        called = self.schema.names
        return (*own, *(f"{called[u]} -> {called[v]}" for u, v in zip(*self.between, strict=True)))

    def state(self, rows: Points) -> np.ndarray:
        """(..., d) -> (..., d) how large each value is, 0 to 1 within its range; a category or a gap counts as 1."""
        scaled = (rows - self.low) / self.span
        return np.where(self.schema.is_categorical | np.isnan(rows), 1.0, np.clip(scaled, 0.0, 1.0))

    def change(self, before: np.ndarray, after: np.ndarray, feature: np.ndarray) -> np.ndarray:
        """How far values of a feature lie apart, all (...): shares of its range, 1 for another category or a gap."""
        apart = np.abs(after - before) / self.span[feature]
        other = (self.schema.is_categorical[feature] & (after != before)) | (
            np.isnan(before) != np.isnan(after)
        )
        return np.where(other, 1.0, np.nan_to_num(apart))

    def standing(self, rows: Points, weight: np.ndarray) -> np.ndarray:
        """(..., d) what the state of its causes adds to an act on each feature. rows (..., d), weight (..., width)."""
        cause, effect = self.between
        out = np.zeros(np.broadcast_shapes(rows.shape[:-1], weight.shape[:-1]) + (self.schema.d,))
        state, first = self.state(rows), int((self.own >= 0).sum())
        for e, (u, v) in enumerate(zip(cause, effect, strict=True)):
            out[..., v] += weight[..., first + e] * (self.offset + state[..., u])
        return out

    def parts(self, before: Rows, feature: np.ndarray, value: np.ndarray) -> np.ndarray:
        """before (m, d), feature (m,), value (m,) -> (m, width): the cost of the act is max(floor, parts . weights)."""
        m = len(before)
        out = np.zeros((m, self.width))
        rows = np.arange(m)
        out[rows, self.own[feature]] = self.change(before[rows, feature], value, feature)
        cause, effect = self.between
        if len(cause):
            first = int((self.own >= 0).sum())
            met = effect[None, :] == feature[:, None]
            out[:, first:] = np.where(met, self.offset + self.state(before)[:, cause], 0.0)
        return out

    def cost(self, parts: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Steps (..., s, width) and weights (..., width) -> (...) cost of the sequence; steps of all 0 are none.

        Weights below zero count as zero: nobody is paid for a change.
        """
        each = np.einsum("...sw,...w->...s", parts, np.maximum(weight, 0.0))
        there = (parts != 0).any(-1)
        return np.asarray(np.where(there, np.maximum(each, self.floor), 0.0).sum(-1))

    def without(self, share: float, seed: int = 0) -> CostGraph:
        """The same graph with a share of its edges forgotten, at random: a lender who knows people less well."""
        if not 0 <= share <= 1:
            raise PreferencesError(f"share={share} of the edges: give a number from 0 to 1.")
        keep = generator(seed).random(len(self.edges)).argsort()
        keep = np.sort(keep[: round((1 - share) * len(self.edges))])
        edges = tuple(self.edges[i] for i in keep)
        return CostGraph(self.schema, edges, self.low, self.span, self.floor, self.offset)


class GraphCost(SimulatedPeople):
    """People whose dislike of a sequence is its cost in a cost graph, under secret weights (n, width)."""

    def __init__(
        self,
        people: Population,
        graph: CostGraph,
        weight: np.ndarray,
        *,
        noise: ReplyNoise | None = None,
        satisfied: float | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(people, noise, satisfied, seed)
        self.graph, self.weight = graph, weight

    def dislike(self, who: np.ndarray, action: Rows, after: Rows) -> PerRow:
        """(m,) cost of plans that come without an order: done in the order of the features."""
        acted = ~np.isnan(action)
        return self._cost(who, action, np.where(acted, np.cumsum(acted, 1) - 1, -1))

    def dislikes(self, questions: Questions) -> np.ndarray:
        """(n, c) cost of every option, in the order in which it is shown."""
        if questions.order is None:
            return super().dislikes(questions)
        n, c, d = questions.after.shape
        who = np.repeat(np.arange(n), c)
        cost = self._cost(who, questions.action.reshape(-1, d), questions.order.reshape(-1, d)).reshape(n, c)
        return np.where(questions.exists, cost, np.inf)

    def pays(self, session: Session) -> PerRow:
        """(n,) what each person's best plan costs them, in the order in which it was found; inf for none."""
        bank = getattr(session, "bank", None)
        if bank is None:
            everyone = np.arange(self.people.n)
            cost = self.dislike(everyone, session.best, self.people.after(everyone, session.best))
            return np.where(np.isnan(session.best).all(1), np.inf, cost)
        at = bank.costs(session.graph, session.estimate).argmin(1)  # type: ignore[attr-defined]
        rows = np.arange(self.people.n)
        action, place = bank.action[rows, at], bank.place[rows, at]
        return np.where(np.isnan(action).all(1), np.inf, self._cost(rows, action, place))

    def _cost(self, who: np.ndarray, action: Rows, place: np.ndarray) -> PerRow:
        depth = int(place.max(initial=-1)) + 1
        parts = steps_of(self.graph, self.people, who, action, place, max(depth, 1))
        return self.graph.cost(parts, self.weight[who])


def _pairs(graph: CausalGraph) -> tuple[tuple[str, str], ...]:
    return tuple((cause, name) for name in graph.names for cause in graph.parents.get(name, ()))


def steps_of(
    graph: CostGraph, people: Population, who: np.ndarray, action: np.ndarray, place: np.ndarray, depth: int
) -> np.ndarray:
    """who (m,), action and place (m, d) -> (m, depth, w) parts of the cost, one step after another."""
    parts = np.zeros((len(who), depth, graph.width))
    so_far = np.full(action.shape, np.nan)
    for turn in range(depth):
        rows = np.flatnonzero((place == turn).any(1))
        if not rows.size:
            break
        feature = (place[rows] == turn).argmax(1)
        value = action[rows, feature]
        state = people.after(who[rows], so_far[rows])
        parts[rows, turn] = graph.parts(state, feature, value)
        so_far[rows, feature] = value
    return parts
