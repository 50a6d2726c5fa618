"""Personalised PageRank asked about rows: whether another item than now would be on top without some actions."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from wayforward.errors import DataError, ModelError, shown
from wayforward.modalities.graph.graph import ActionGraph
from wayforward.modalities.units import things_of
from wayforward.model import Adapted, WrapOptions, register_adapter
from wayforward.model.adapted import DOUBLE, two_columns
from wayforward.model.base import single_valued
from wayforward.model.fast import Fast
from wayforward.model.forms import BoxBounds, Rivals
from wayforward.public import public
from wayforward.schema import Schema
from wayforward.shapes import Floats, Ints, Mask

CLASSES = ("as now", "another recommendation")
_FEW = 1e-14  # of the walk that is left out
_LEAST_RESTART = 0.001  # 32,000 steps until so little is left; with less there would be no end to them
_BLOCK = 128  # walks at once
_AHEAD = 1e-6  # by so much of both a rival must be ahead: what is nearer is a tie, which today's item wins
_REMEMBERED = 1 << 24  # numbers of people that are kept


class PersonScores(NamedTuple):
    """What is known of a person with m actions, among q items. adds (m, q): what each action adds to the score of each
    item; rest (q,): what other edges add; running (q,) bool: items that may be recommended; first: today's item, -1 for
    none; actions (m,) nodes."""

    adds: Floats
    rest: Floats
    running: Mask
    first: int
    actions: Ints


@public
@dataclass(eq=False)
class RecommenderModel:
    """Recommends to a person, among items that they have not acted on, the one where a random walk is most often.

    graph: see `ActionGraph`. restart: probability of each step to begin anew at the person. Walks that come to a node
    without edges begin anew. Source: T. Haveliwala (2003), Topic-Sensitive PageRank, IEEE TKDE 15(4).
    """

    graph: ActionGraph
    restart: float = 0.15

    def __post_init__(self) -> None:
        from scipy.sparse import diags_array

        if not (isinstance(self.restart, (int, float)) and _LEAST_RESTART <= self.restart < 1):
            raise ModelError(
                f"restart={shown(self.restart)} is no probability from {_LEAST_RESTART:g} to below 1, such as 0.15."
            )
        out = self.graph.weights.sum(axis=1)
        chance = diags_array(1 / np.where(out > 0, out, 1.0)) @ self.graph.weights
        self._back = chance.T.tocsr()  # (N, N) into the row from the column
        self._steps = int(np.ceil(np.log(_FEW) / np.log(1 - self.restart)))
        self._known: OrderedDict[str, PersonScores] = OrderedDict()

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_known": OrderedDict()}

    def __repr__(self) -> str:
        return f"RecommenderModel({len(self.graph.names)} nodes, restart={self.restart:g})"

    def walks(
        self, start: Ints, person: Ints, ends: Sequence[Ints] = (), chance: Sequence[Floats] = ()
    ) -> Floats:
        """Return where walks from nodes start (m,) are: (N, m), each column in proportion.

        person (m,): whose own edges are replaced in each walk; by none, where the walk ends, or by edges to ends with
        chances. Columns do not hang on each other.
        """
        n = len(self.graph.names)
        out = np.empty((n, len(start)))
        for begin in range(0, len(start), _BLOCK):
            some = np.arange(begin, min(begin + _BLOCK, len(start)))
            column = np.arange(len(some))
            row = np.concatenate([ends[i] for i in some.tolist()]) if len(ends) else np.empty(0, np.int64)
            of = np.repeat(column, [len(ends[i]) for i in some.tolist()]) if len(ends) else row
            size = np.concatenate([chance[i] for i in some.tolist()]) if len(ends) else np.empty(0)
            here = np.zeros((n, len(some)))
            here[start[some], column] = self.restart
            first = here.copy()
            for _ in range(self._steps):
                own = here[person[some], column]
                here[person[some], column] = 0.0
                here = first + (1 - self.restart) * (self._back @ here)
                if len(row):
                    here[row, of] += (1 - self.restart) * size * own[of]
            out[:, some] = here
        return out

    def known(self, names: Sequence[str]) -> list[PersonScores]:
        """Return what is known of people, worked out together for those who are new. Raises: DataError."""
        graph, items = self.graph, self.graph.item_nodes
        new = [name for name in dict.fromkeys(names) if name not in self._known]
        for name in new:
            if name not in graph.place or name not in graph.people:
                raise DataError(f"{name!r} is no person of the graph. Give one of its people.")
        places = [graph.place[name] for name in new]
        edges = [graph.edges(place) for place in places]
        many = [len(ends) for ends, _ in edges]
        start = np.concatenate([np.empty(0, np.int64), *(ends for ends, _ in edges)])
        # Within a person's own edges a walk's shares in proportion add up: it ends where it comes back to them.
        found = (
            self.walks(start, np.repeat(np.array(places, np.int64), many))[items].T if len(start) else None
        )
        at = 0
        for name, (ends, weight), size in zip(new, edges, many, strict=True):
            adds = np.zeros((size, len(items))) if found is None else found[at : at + size]
            at += size
            adds = adds * (weight / max(weight.sum(), 1e-300))[:, None]
            own = np.isin(ends, items)
            running = ~np.isin(items, ends)
            rest = adds[~own].sum(0)
            total = np.where(running, rest + adds[own].sum(0), -np.inf)
            best = total.max() if running.any() else -np.inf
            first = int(np.flatnonzero(total >= best * (1 - _AHEAD))[0]) if best > 0 else -1
            self._known[name] = PersonScores(adds[own], rest, running, first, ends[own])
        out = [self._known[name] for name in names]
        while sum(one.adds.size for one in self._known.values()) > _REMEMBERED:
            self._known.popitem(last=False)
        return out

    def recommended(self, person: str) -> str | None:
        """Return the item that is recommended to a person; None where there is none. Raises: DataError."""
        known = self.known([person])[0]
        return None if known.first < 0 else self.graph.names[self.graph.item_nodes[known.first]]

    def answer(self, scores: Floats, known: PersonScores) -> Floats:
        """Scores of items (m, q) -> (m,) a number above .5 where another one than today's is ahead."""
        running = known.running.copy()
        if known.first < 0 or running.sum() < 2:
            return np.zeros(len(scores))
        running[known.first] = False
        rival, today = scores[:, running].max(1), scores[:, known.first]
        both = rival + today
        share = np.where(both > 1e-300, rival / np.maximum(both, 1e-300), 0.0)
        return np.asarray(np.maximum(share - _AHEAD, 0.0))

    def scores(self, person: str, there: Mask) -> Floats:
        """Return where walks are without some actions, there (m, actions) bool -> (m, q), each row in proportion: by
        walking anew in each graph."""
        node, known = self.graph.place[person], self.known([person])[0]
        ends, weight = self.graph.edges(node)
        keeps = np.ones((len(there), len(ends)), dtype=bool)
        keeps[:, np.isin(ends, known.actions)] = there
        to = [ends[row] for row in keeps]
        chance = [weight[row] / max(weight[row].sum(), 1e-300) for row in keeps]
        who = np.full(len(there), node)
        return np.asarray(self.walks(who, who, to, chance)[self.graph.item_nodes].T)


class WalkFast(Fast):
    """Recommendations as sums of what each action adds, which is the walk itself up to a factor."""

    kind = "walks"

    def __init__(self, given: RecommenderModel, schema: Schema) -> None:
        self.given, self.schema = given, schema

    def outputs(self, x: Floats) -> Floats:
        """(m, d) -> (m, c)."""
        names, which = things_of(x, self.schema)
        out = np.zeros(len(x))
        for i, known in enumerate(self.given.known(names)):
            rows = np.flatnonzero(which == i)
            there = x[rows, 1 : 1 + len(known.adds)]
            out[rows] = self.given.answer(known.rest + np.einsum("ma,aq->mq", there, known.adds), known)
        return two_columns(out)

    def rivals(self, x: Floats, value: Floats) -> Rivals:
        """See Model.rivals."""
        names, which = things_of(x, self.schema)
        q = len(self.given.graph.item_nodes)
        now, change = np.full((len(x), q), -np.inf), np.zeros((len(x), x.shape[1], q))
        wanted = np.ones((len(x), q), dtype=bool)
        people = self.given.known(names)
        for row, i in enumerate(which.tolist()):
            known = people[i]
            if known.first < 0:
                continue
            many = 1 + len(known.adds)
            step = np.nan_to_num(value[row, 1:many] - x[row, 1:many])
            total = known.rest + np.einsum("a,aq->q", x[row, 1:many], known.adds)
            now[row] = np.where(known.running, total, -np.inf)
            change[row, 1:many] = step[:, None] * known.adds
            wanted[row, known.first] = False
        return Rivals(now, change, wanted)

    def bounds(self, low: Floats, high: Floats, levels: Mapping[int, Mask], unit: float) -> BoxBounds:
        """Whether any rival could be ahead, for sure; see Fast.bounds."""
        names, which = things_of(low, self.schema)
        people = self.given.known(names)
        most = np.ones(len(low))
        for row, i in enumerate(which.tolist()):
            known = people[i]
            many = len(known.adds)
            least, greatest = low[row, 1 : 1 + many].copy(), high[row, 1 : 1 + many].copy()
            for j, allowed in levels.items():
                if 1 <= j <= many and allowed[row].any():
                    places = np.flatnonzero(allowed[row])
                    least[j - 1], greatest[j - 1] = places[0], places[-1]
            if known.first < 0:
                most[row] = 0.0
                continue
            lead = known.adds - known.adds[:, [known.first]]
            top = np.maximum(least[:, None] * lead, greatest[:, None] * lead).sum(0)
            top = top + known.rest - known.rest[known.first]
            top = np.delete(np.where(known.running, top, -np.inf), known.first)
            size = float(known.adds.sum() + known.rest.sum())
            if not top.size or top.max() <= 1e-12 * size:
                most[row] = 0.5 - _AHEAD / 2
        zero = np.zeros(len(low))
        outputs = np.stack([1 - most, zero], axis=1), np.stack([1 - zero, most], axis=1)
        return BoxBounds(*outputs, np.asarray(single_valued(low, high, levels).all(axis=1)))


def adapt(given: RecommenderModel, schema: Schema, options: WrapOptions) -> Adapted:
    """See `RecommenderModel`."""

    def ask(rows: Floats) -> Floats:
        names, which = things_of(rows, schema)
        out = np.zeros(len(rows))
        for i, (name, known) in enumerate(zip(names, given.known(names), strict=True)):
            at = np.flatnonzero(which == i)
            there, back = np.unique(rows[at, 1 : 1 + len(known.adds)] > 0.5, axis=0, return_inverse=True)
            out[at] = given.answer(given.scores(name, there), known)[back.reshape(-1)]
        return two_columns(out)

    made = Adapted.of_probabilities(ask, CLASSES, f"The recommender {given!r}")
    return replace(made, tolerance=DOUBLE, read=lambda: WalkFast(given, schema))


register_adapter(f"{RecommenderModel.__module__}.{RecommenderModel.__qualname__}", adapt)
