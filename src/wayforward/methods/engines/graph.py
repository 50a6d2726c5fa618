"""Walks among observed people: sparse neighbour graphs, and the shortest way from everywhere to accepted people.

Rows (N, d) are nodes. A step joins neighbours only, so a walk never leaves what people look like; it weighs
distance times f(density), so that walks go where people are. All data rows are served by one search backwards from
the targets; a new person enters by the steps to their own neighbours. Neighbours are exact, and there is never an
N x N matrix.
Source: R. Poyiadzi, K. Sokol, R. Santos-Rodriguez, T. De Bie, P. Flach (2020), FACE: Feasible and Actionable
Counterfactual Explanations, AIES; arXiv:1909.09369.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components, dijkstra
from scipy.special import gammaln

from wayforward.compiling import kernel
from wayforward.errors import MethodError
from wayforward.neighbours import NeighbourIndex
from wayforward.scaling import scales, thinned

if TYPE_CHECKING:
    from wayforward.schema import Schema

Mode = Literal["knn", "epsilon", "kernel"]
Weighting = Literal["log", "inverse"]

_ROWS = 4096  # rows whose neighbours are searched at once
_ROUNDS = 8  # of bridges between pieces
_CENTRES = 1000  # rows that stand for all of them in the kernel density
_DENSEST = 30.0  # log-density beyond which more of it changes nothing: f stays above 0 in floating point
_BLOCK = 2048  # points whose kernel density is worked out at once; always as many, so that bits agree


# -- weights ---------------------------------------------------------------------------------------------------


class Weights:
    """Weight of a step: distance times f(density), f decreasing.

    density z of a step of length s among N rows in d dimensions: 'knn' r / s with r = k / (N volume of the unit
    ball); 'epsilon' radius^d / s; 'kernel' the kernel density at the midpoint, 1 where everybody is. weighting:
    'log' f = -log(z / (1 + z)), which is -log z wherever z is small; the plain -log z turns negative where z exceeds
    1, and no shortest path exists then. 'inverse' f = 1 / z, up to a constant factor.
    """

    def __init__(
        self,
        mode: Mode,
        weighting: Weighting,
        *,
        n: int,
        d: int,
        k: int,
        radius: float,
        density: Density | None,
    ) -> None:
        self.mode, self.weighting, self.density = mode, weighting, density
        ball = 0.5 * d * np.log(np.pi) - gammaln(0.5 * d + 1)
        self.log_reach = d * np.log(radius) if mode == "epsilon" else np.log(k) - np.log(max(n, 1)) - ball

    def __call__(self, length: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        """Weigh steps by length (m,), start and end (m, d): (m,), above zero for lengths above zero."""
        with np.errstate(divide="ignore"):
            if self.density is not None:
                log_z = self.density.midway(start, end)
            else:
                log_z = np.minimum(self.log_reach - np.log(length), _DENSEST)
        if self.weighting == "log":
            return np.asarray(np.where(length > 0, length * np.logaddexp(0.0, -log_z), 0.0))
        # the constant is left out: radius^d has no place in floating point for large d
        return np.asarray(length * (np.exp(-log_z) if self.density is not None else length))


class Density:
    """Gaussian kernel density of mixed rows, 1 where everybody is: range-scaled numbers, one-hot categories.

    At most 1,000 rows, evenly taken, stand for all. The width is Scott's, of the mean spread.
    """

    def __init__(self, schema: Schema, rows: np.ndarray, scale: np.ndarray, columns: np.ndarray) -> None:
        self.schema, self.scale, self.columns = schema, scale, columns
        points = self._points(rows[thinned(len(rows), _CENTRES, 0)])
        self.centres = points
        self.norm = np.square(points).sum(1)
        spread = max(float(np.sqrt(points.var(0).mean())), 1e-3)
        self.width = spread * len(rows) ** (-1.0 / (int(columns.sum()) + 4))

    def _points(self, rows: np.ndarray) -> np.ndarray:
        """Return coordinates (m, e) in which distances are the graph's and midpoints exist; missing values are 0."""
        parts = []
        for j in np.flatnonzero(self.columns):
            if self.schema.is_categorical[j]:
                parts.append(np.sqrt(0.5) * (rows[:, j, None] == np.arange(self.schema.n_levels[j])))
            else:
                parts.append(np.nan_to_num(rows[:, j, None] / self.scale[j]))
        return np.ascontiguousarray(np.concatenate(parts, axis=1))

    def midway(self, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        """Return the log-density (m,) at the middle of each step."""
        out = np.empty(len(start))
        block = np.zeros((_BLOCK, self.centres.shape[1]))
        for begin in range(0, len(start), _BLOCK):
            some = slice(begin, begin + _BLOCK)
            middle = 0.5 * (self._points(start[some]) + self._points(end[some]))
            block[: len(middle)] = middle
            apart = np.square(block).sum(1)[:, None] + self.norm - 2.0 * (block @ self.centres.T)
            kernel = np.exp(-0.5 * np.maximum(apart, 0.0) / self.width**2).mean(1)
            out[some] = np.log(np.maximum(kernel, 1e-300))[: len(middle)]
        return out


# -- the graph -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Entries:
    """How people step into the graph: node (n, m), -1 where none, and weight (n, m), inf where none."""

    node: np.ndarray
    weight: np.ndarray

    def take(self, who: np.ndarray) -> Entries:
        """Copy the part of some of the people."""
        return Entries(self.node[who], self.weight[who])


class NeighbourGraph:
    """Observed rows joined to their nearest neighbours; `step` (N, N) sparse holds the weight from row to column.

    rows (N, d), distinct on `columns` (d,) bool, which alone count for distances. mode: 'knn' and 'kernel' join the
    k nearest, 'epsilon' those of the k nearest that are within `radius` (ranges; Euclidean, another category is 1
    away). direction (d,): +1 or -1 where steps may only go up or down; the k nearest are then looked for among the
    rows that may be walked to. A step may be walked back where that breaks no direction. stratum (N,): steps stay
    inside it. bridges: join the pieces of a stratum by their nearest rows.
    """

    def __init__(
        self,
        schema: Schema,
        rows: np.ndarray,
        *,
        columns: np.ndarray,
        mode: Mode,
        k: int,
        radius: float,
        weighting: Weighting,
        direction: np.ndarray | None = None,
        stratum: np.ndarray | None = None,
        bridges: bool = False,
    ) -> None:
        self.schema, self.rows, self.columns = schema, rows, columns
        self.mode, self.k, self.radius = mode, k, radius
        self.direction = np.zeros(schema.d) if direction is None else np.where(columns, direction, 0)
        self.stratum = np.zeros(len(rows), dtype=np.int64) if stratum is None else stratum
        self.members = [
            np.flatnonzero(self.stratum == s) for s in range(int(self.stratum.max(initial=0)) + 1)
        ]
        counts, scale = columns.astype(np.float64), scales(schema, rows, "range")
        self.index = [
            NeighbourIndex(schema, rows[part], metric="l2", scale=scale, weight=counts)
            for part in self.members
        ]
        density = Density(schema, rows, self.index[0].scale, columns) if mode == "kernel" else None
        self.weights = Weights(
            mode, weighting, n=len(rows), d=int(columns.sum()), k=k, radius=radius, density=density
        )
        self.step = self._steps()
        for _ in range(_ROUNDS if bridges and mode != "epsilon" else 0):
            more = self._bridges()
            if more is None:
                break
            self.step = more

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.rows)

    def _steps(self) -> sparse.csr_matrix:
        starts, ends, lengths = [], [], []
        for s, members in enumerate(self.members):
            for begin in range(0, len(members), _ROWS):
                some = members[begin : begin + _ROWS]
                x = self.rows[some]
                low = np.where((self.direction > 0) & ~np.isnan(x), x, -np.inf)
                high = np.where((self.direction < 0) & ~np.isnan(x), x, np.inf)
                box = {"low": low, "high": high} if self.direction.any() else {}
                near = self.index[s].query(x, self.k, leave_out=np.arange(begin, begin + len(some)), **box)
                there = (near.row >= 0) & (near.distance > 0)
                if self.mode == "epsilon":
                    there &= near.distance <= self.radius
                place, slot = np.nonzero(there)
                starts.append(some[place])
                ends.append(members[near.row[place, slot]])
                lengths.append(near.distance[place, slot])
        return self._joined(np.concatenate(starts), np.concatenate(ends), np.concatenate(lengths))

    def _bridges(self) -> sparse.csr_matrix | None:
        """Add steps from each piece but a stratum's greatest to the nearest rows outside it; None without any."""
        piece = self.component()
        starts, ends, lengths = [], [], []
        for s, members in enumerate(self.members):
            label, size = np.unique(piece[members], return_counts=True)
            for one in label[np.argsort(-size, kind="stable")[1:]]:
                inside = piece[members] == one
                some = members[inside]
                some = some[np.linspace(0, len(some) - 1, min(len(some), _ROWS)).astype(np.int64)]
                near = self.index[s].query(self.rows[some], 1, allowed=~inside)
                best = np.argsort(near.distance[:, 0], kind="stable")[: self.k]
                starts.append(some[best])
                ends.append(members[near.row[best, 0]])
                lengths.append(near.distance[best, 0])
        if not starts:
            return None
        start, end, length = np.concatenate(starts), np.concatenate(ends), np.concatenate(lengths)
        start, end, length = np.concatenate([start, end]), np.concatenate([end, start]), np.tile(length, 2)
        good = self._walkable(start, end) & (length > 0) & np.isfinite(length)
        more = self._joined(start[good], end[good], length[good])
        return self.step.maximum(more)  # a step that is there already weighs the same

    def _joined(self, start: np.ndarray, end: np.ndarray, length: np.ndarray) -> sparse.csr_matrix:
        # the way back, where nothing forbids it
        back = self._walkable(end, start)
        start, end = np.concatenate([start, end[back]]), np.concatenate([end, start[back]])
        length = np.concatenate([length, length[back]])
        _, first = np.unique(start * len(self.rows) + end, return_index=True)
        start, end, length = start[first], end[first], length[first]
        weight = self.weights(length, self.rows[start], self.rows[end])
        if not (weight > 0).all() or not np.isfinite(weight).all():
            raise MethodError(
                "A step between two observed people weighs nothing or too much, so no shortest path is known. "
                "Use weighting='log', or leave out features that hardly differ."
            )
        shape = (len(self.rows), len(self.rows))
        return sparse.csr_matrix((weight, (start, end)), shape=shape)

    def _walkable(self, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        good = np.ones(len(start), dtype=bool)
        for j in np.flatnonzero(self.direction):
            with np.errstate(invalid="ignore"):
                good &= ~((self.rows[end, j] - self.rows[start, j]) * self.direction[j] < 0)
        return good

    def enter(
        self, x: np.ndarray, weight: np.ndarray, stratum: np.ndarray, *, k: int | None = None
    ) -> Entries:
        """Step people into the graph at their nearest rows, with their own weights (n, d) of the features."""
        k = self.k if k is None else k
        node, cost = np.full((len(x), k), -1, dtype=np.int64), np.full((len(x), k), np.inf)
        for s, members in enumerate(self.members):
            who = np.flatnonzero(stratum == s)
            if not who.size:
                continue
            near = self.index[s].query(x[who], k, weight=weight[who])
            there = near.row >= 0
            if self.mode == "epsilon":
                there &= near.distance <= self.radius
            place, slot = np.nonzero(there)
            row = members[near.row[place, slot]]
            node[who[place], slot] = row
            cost[who[place], slot] = self.weights(near.distance[place, slot], x[who[place]], self.rows[row])
        return Entries(node, cost)

    def component(self) -> np.ndarray:
        """Label the piece of the graph that each row lies in, (N,), walked in either direction."""
        return np.asarray(connected_components(self.step, directed=True, connection="weak")[1])


# -- shortest paths -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ToTargets:
    """The shortest path from every row to its nearest target: length (N,), inf where none; next row and target (N,)."""

    length: np.ndarray
    next: np.ndarray
    target: np.ndarray


def to_targets(step: sparse.csr_matrix, targets: np.ndarray) -> ToTargets:
    """Search backwards from all targets (row numbers) once for every row. next and target: -1 where none."""
    n = step.shape[0]
    _require_positive(step)
    if not len(targets):
        none = np.full(n, -1, dtype=np.int64)
        return ToTargets(np.full(n, np.inf), none, none.copy())
    length, following, source = dijkstra(
        step.T.tocsr(), indices=targets, min_only=True, return_predecessors=True
    )
    good = np.isfinite(length)
    return ToTargets(
        length,
        np.where(good & (following >= 0), following, -1).astype(np.int64),
        np.where(good, source, -1).astype(np.int64),
    )


@dataclass(frozen=True)
class NearestTargets:
    """The K nearest targets of every row, nearest first, ties by row number: length, target (N, K); inf, -1: none.

    next, slot (N, K): the row that the path goes on to, and which of that row's own paths it then follows.
    """

    length: np.ndarray
    target: np.ndarray
    next: np.ndarray
    slot: np.ndarray


def nearest_targets(
    step: sparse.csr_matrix, targets: np.ndarray, many: int, *, compiled: bool | None = None
) -> NearestTargets:
    """Search as `to_targets` does, for the `many` nearest targets of every row. numba changes no bit."""
    n = step.shape[0]
    _require_positive(step)
    length, target = np.full((n, many), np.inf), np.full((n, many), -1, dtype=np.int64)
    following, slot = np.full((n, many), -1, dtype=np.int64), np.full((n, many), -1, dtype=np.int64)
    back = step.T.tocsr()
    back.sort_indices()
    search = _settle_compiled() if compiled in (None, True) else None
    (search or _settle)(
        back.indptr.astype(np.int64),
        back.indices.astype(np.int64),
        np.asarray(back.data),
        np.asarray(targets, dtype=np.int64),
        *(length, target, following, slot),
    )
    return NearestTargets(length, target, following, slot)


def _settle(
    start: Any, node: Any, weight: Any, targets: Any, length: Any, target: Any, following: Any, slot: Any
) -> None:
    """Dijkstra backwards, settling each row up to K times, by different targets.

    A row's K best paths so far are in order; the first `done` of them are final. A path that is not among the K best
    can never come among them, so it is not followed.
    """
    many = length.shape[1]
    done = np.zeros(len(start) - 1, dtype=np.int64)
    size = np.zeros(len(start) - 1, dtype=np.int64)
    heap = [(0.0, targets[i], targets[i]) for i in range(len(targets))]
    heapq.heapify(heap)
    for t in targets:
        length[t, 0], target[t, 0], size[t] = 0.0, t, 1
    while len(heap) > 0:
        far, end, at = heapq.heappop(heap)
        have = done[at]
        if have == many or target[at, have] != end or length[at, have] != far:
            continue  # a shorter path, or K of them, came in between
        done[at] = have + 1
        for e in range(start[at], start[at + 1]):
            other, total = node[e], far + weight[e]
            place = size[other]
            for i in range(size[other]):
                if target[other, i] == end:
                    place = i
                    break
            if place < size[other] and length[other, place] <= total:
                continue
            if place == many:  # another target takes the last place, or none
                place = many - 1
                last = length[other, place]
                if done[other] == many or last < total or (last == total and target[other, place] < end):
                    continue
            elif place == size[other]:
                size[other] = place + 1
            while place > done[other] and (
                length[other, place - 1] > total
                or (length[other, place - 1] == total and target[other, place - 1] > end)
            ):
                prior = place - 1
                length[other, place], target[other, place] = length[other, prior], target[other, prior]
                following[other, place], slot[other, place] = following[other, prior], slot[other, prior]
                place = prior
            length[other, place], target[other, place] = total, end
            following[other, place], slot[other, place] = at, have
            heapq.heappush(heap, (total, end, other))


@cache
def _settle_compiled() -> Callable[..., None] | None:
    from wayforward.model.kernels import jit

    if jit() is None:
        return None
    return kernel(_settle)


def follow(paths: NearestTargets, node: np.ndarray, slot: np.ndarray) -> np.ndarray:
    """Return the rows (m, s) on the paths from node, slot (m,) to their targets, both included; -1 after the end."""
    at, its, out = node.copy(), slot.copy(), []
    while (at >= 0).any():
        out.append(at)
        live = at >= 0
        on = np.where(live, paths.next[at, its], -1)
        its = np.where(on >= 0, paths.slot[at, its], 0)
        at = on
    return np.stack(out, axis=1) if out else np.empty((len(node), 0), dtype=np.int64)


def _require_positive(step: sparse.csr_matrix) -> None:
    if step.nnz and not (step.data > 0).all():
        raise MethodError("A step weighs nothing or less, so no shortest path exists. Give positive weights.")
