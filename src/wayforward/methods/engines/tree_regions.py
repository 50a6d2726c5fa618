"""Boxes of rows in which a tree, or a whole forest, gives one value: of leaves, and of where observed people lie."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from wayforward.errors import UnsupportedModel
from wayforward.methods.engines.neighbours import smallest
from wayforward.methods.engines.references import References
from wayforward.problem.batching import tidy
from wayforward.problem.reach import lattice_ends
from wayforward.shapes import Floats, Ints, Mask, Rows

if TYPE_CHECKING:
    from wayforward.model import FlatForest
    from wayforward.problem import Population, Problem
    from wayforward.schema import Schema

_CELLS = 1 << 22  # numbers in one piece of work


class LeafBoxes(NamedTuple):
    """Boxes of raw rows. low, high (b, d): least and greatest number inside; levels (b, all levels) bool, one feature
    after the other; missing (b, d) bool: a missing value is inside."""

    low: Floats
    high: Floats
    levels: Mask
    missing: Mask

    def take(self, some: np.ndarray) -> LeafBoxes:
        """Some of the boxes."""
        return LeafBoxes(*(part[some] for part in self))

    def within(self, other: LeafBoxes) -> LeafBoxes:
        """The common part of each box with its fellow."""
        return LeafBoxes(
            np.maximum(self.low, other.low),
            np.minimum(self.high, other.high),
            self.levels & other.levels,
            self.missing & other.missing,
        )

    def holds(self, schema: Schema, feature: Ints, value: Floats) -> Mask:
        """(b, o) bool: which boxes hold values (o,) of the features (o,) that they are of."""
        out = np.empty((len(self.low), len(feature)), dtype=bool)
        for j in np.unique(feature).tolist():
            at = np.flatnonzero(feature == j)
            here, columns = value[at], schema.level_columns.get(j)
            if columns is not None:
                held = self.levels[:, columns.start + np.nan_to_num(here).astype(np.int64)]
            else:
                held = (here >= self.low[:, [j]]) & (here <= self.high[:, [j]])
            held[:, np.isnan(here)] = self.missing[:, [j]]
            out[:, at] = held
        return out


def forest_of(problem: Problem, name: str) -> FlatForest:
    """Return the trees of a problem's model; name: of the method that asks. Raises: UnsupportedModel."""
    flat = problem.model.forest
    if flat is None:
        raise UnsupportedModel(
            f"'{name}' walks through trees, and {problem.model.name} shows none. local-search takes any model; "
            "nearest-observable, nice and growing-spheres would do as well."
        )
    return flat


class TreeRegions:
    """The leaves of a forest as boxes, and the boxes in which all trees stay in their leaves.

    leaves: boxes of the rows of `flat.value`; tree (l,): which tree each is of.
    """

    def __init__(self, flat: FlatForest, schema: Schema) -> None:
        self.flat, self.schema = flat, schema
        self.leaves, self.tree = _leaf_boxes(flat, schema)

    def leaf_of(self, rows: Rows) -> Ints:
        """(m, d) rows -> (m, trees): the leaf that each row falls into."""
        flat = self.flat
        out = np.empty((len(rows), len(flat.roots)), np.int64)
        step = max(1, _CELLS // max(len(flat.roots), 1))
        for begin in range(0, len(rows), step):
            x = rows[begin : begin + step]
            node = np.broadcast_to(flat.roots, (len(x), len(flat.roots))).copy()
            at, tree = np.nonzero(flat.feature[node] >= 0)
            while at.size:
                here = node[at, tree]
                node[at, tree] = np.where(
                    self._left(here, x[at, flat.feature[here]]), flat.left[here], flat.right[here]
                )
                inner = flat.feature[node[at, tree]] >= 0
                at, tree = at[inner], tree[inner]
            out[begin : begin + step] = flat.leaf[node]
        return out

    def _left(self, node: Ints, value: Floats) -> Mask:
        """(q,) bool: a value goes left at a node."""
        flat, gone = self.flat, np.isnan(value)
        left = np.where(gone, flat.missing_left[node], value <= flat.threshold[node])
        at = np.flatnonzero(flat.level_set[node] >= 0)
        if at.size:
            last = self.schema.n_levels[flat.feature[node[at]]]
            level = np.where(gone[at], last, np.nan_to_num(value[at])).astype(np.int64)
            left[at] = flat.left_levels[flat.level_set[node[at]], level]
        return np.asarray(left)

    def around(self, leaf: Ints) -> LeafBoxes:
        """Return the boxes in which every tree stays in its leaf, of rows whose leaves (m, trees) these are."""
        out = self.leaves.take(leaf[:, 0])
        for tree in range(1, leaf.shape[1]):
            out = out.within(self.leaves.take(leaf[:, tree]))
        return out


def _leaf_boxes(flat: FlatForest, schema: Schema) -> tuple[LeafBoxes, Ints]:
    """Return the boxes of all leaves, and the tree (l,) of each, level by level from the roots."""
    owner = schema.level_owner
    many, d = len(flat.value), schema.d
    done = LeafBoxes(
        np.empty((many, d)),
        np.empty((many, d)),
        np.empty((many, len(owner)), bool),
        np.empty((many, d), bool),
    )
    tree_of = np.empty(many, np.int64)
    node, tree = flat.roots, np.arange(len(flat.roots))
    trees = len(node)
    box = LeafBoxes(
        np.full((trees, d), -np.inf),
        np.full((trees, d), np.inf),
        np.ones((trees, len(owner)), bool),
        np.ones((trees, d), bool),
    )
    while node.size:
        end = flat.feature[node] < 0
        for whole, part in zip(done, box, strict=True):
            whole[flat.leaf[node[end]]] = part[end]
        tree_of[flat.leaf[node[end]]] = tree[end]
        go = np.flatnonzero(~end)
        sides = [_side(flat, schema, node[go], box.take(go), left) for left in (True, False)]
        box = LeafBoxes(*(np.concatenate(parts) for parts in zip(*sides, strict=True)))
        node = np.concatenate([flat.left[node[go]], flat.right[node[go]]])
        tree = np.concatenate([tree[go], tree[go]])
    return done, tree_of


def _side(flat: FlatForest, schema: Schema, node: Ints, box: LeafBoxes, left: bool) -> LeafBoxes:
    """Return what is left of boxes on one side of the splits of nodes (q,); box is changed in place."""
    row, j, level = np.arange(len(node)), flat.feature[node], flat.level_set[node] >= 0
    number = np.flatnonzero(~level)
    cut = flat.threshold[node[number]]
    at = (row[number], j[number])
    if left:
        box.high[at] = np.minimum(box.high[at], cut)
        box.missing[at] &= flat.missing_left[node[number]]
    else:
        box.low[at] = np.maximum(box.low[at], np.nextafter(cut, np.inf))
        box.missing[at] &= ~flat.missing_left[node[number]]
    if level.any():
        sets = flat.left_levels[flat.level_set[node[level]]]
        goes = sets if left else ~sets
        row, j = row[level], j[level]
        box.missing[row, j] &= goes[np.arange(len(j)), schema.n_levels[j]]
        inside = goes[:, schema.level_index]  # (q, levels of all features)
        box.levels[row] &= np.where(schema.level_owner == j[:, None], inside, True)
    return box


class NearestInBoxes(References):
    """Boxes as proposals, each person's nearest point of each, nearest first, asked about until enough are usable.

    boxes: of rows. further: how far beyond an edge that is crossed a point lies, in widths of the feature's range, as
    far as the box goes. every: what a box bounds is moved to that edge though it is inside already.
    """

    def __init__(
        self, people: Population, boxes: LeafBoxes, *, further: float = 0.0, every: bool = False
    ) -> None:
        super().__init__(people, np.empty((len(boxes.low), 0)), None, project=True)
        self.boxes, self.further, self.every = boxes, further, every
        schema = people.schema
        self.lattice = np.flatnonzero(~np.isnan(schema.step) & ~schema.has_levels)
        self.first, self.last = self._ends(boxes.low, boxes.high)
        self.least, self.most = self._ends(people.low, people.high)

    def _ends(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Return the least and the greatest legal numbers between edges (m, d)."""
        low, high, j = low.copy(), high.copy(), self.lattice
        if j.size:
            low[:, j], high[:, j] = lattice_ends(self.people.schema, low[:, j], high[:, j], j)
        return low, high

    def _ranked(self, who: np.ndarray, length: int) -> tuple[np.ndarray, np.ndarray]:
        """See `References`; of a separable cost the points of many boxes are measured feature by feature."""
        people, many = self.people, len(self.rows)
        if not people.problem.cost.separable:
            return super()._ranked(who, length)
        index, far = np.full((len(who), length), -1, dtype=np.int64), np.full((len(who), length), np.inf)
        step = max(1, _CELLS // max(many, 1))
        for begin in range(0, len(who), step):
            some = who[begin : begin + step]
            cost = self._distance(some[:, None], np.arange(many)[None])
            index[begin : begin + step], far[begin : begin + step] = smallest(cost, length)
        return index, far

    def _distance(self, who: np.ndarray, row: np.ndarray) -> np.ndarray:
        """(n, 1), (1, b) -> (n, b): what it costs people to go to boxes; inf where they may not, or are there."""
        people = self.people
        total = np.zeros(np.broadcast_shapes(who.shape, row.shape))
        fits, there = np.ones(total.shape, dtype=bool), np.ones(total.shape, dtype=bool)
        for j in range(people.d):
            value, inside, ok = self._point(j, who, row)
            fits &= ok
            if value is None:
                continue
            there &= inside
            part = people.problem.cost.part(j, people.x[who, j], np.where(inside, np.nan, value))
            total += part if people.plain_weight else part * people.weight[who, j]
        return np.asarray(np.where(fits & ~there, total, np.inf))

    def action(self, who: np.ndarray, row: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return what moves people into boxes: action (m, d), and fits (m,) bool: they may, and have to move."""
        people = self.people
        action, fits = np.full((len(who), people.d), np.nan), np.ones(len(who), dtype=bool)
        for j in range(people.d):
            value, inside, ok = self._point(j, who, row)
            fits &= ok
            if value is not None:
                action[:, j] = np.where(inside, np.nan, value)
        fits &= ~np.isnan(action).all(1)
        return tidy(people, who, np.where(fits[:, None], action, np.nan)), fits

    def _point(self, j: int, who: np.ndarray, row: np.ndarray) -> tuple[np.ndarray | None, Mask, Mask]:
        """Return the nearest value of feature j in boxes row (...) for people who (...), whether they are inside, and
        whether they are or may go there; no value where nobody can act on the feature."""
        people, boxes = self.people, self.boxes
        x, free = people.x[who, j], people.free[who, j]
        columns = people.schema.level_columns.get(j)
        if columns is not None:
            own = boxes.levels[row, columns.start + np.nan_to_num(x).astype(np.int64)]
            inside = np.where(np.isnan(x), boxes.missing[row, j], own)
            if not free.any():
                return None, inside, inside
            value, can = self._level(j, columns, who, row)
            return value, inside, inside | (can & free)
        with np.errstate(invalid="ignore"):
            inside = (x >= boxes.low[row, j]) & (x <= boxes.high[row, j])
        inside |= np.isnan(x) & boxes.missing[row, j]
        if not free.any():
            return None, inside, inside
        low = np.maximum(self.first[row, j], self.least[who, j])
        high = np.minimum(self.last[row, j], self.most[who, j])
        with np.errstate(invalid="ignore"):
            value, can = np.clip(x, low, high), (low <= high) & free
        value = np.where(np.isnan(x), low, value)
        if self.every:
            above = np.isfinite(boxes.high[row, j])
            edge = inside & can & ~np.isnan(x) & (above | np.isfinite(boxes.low[row, j]))
            x = np.where(edge, np.where(above, np.inf, -np.inf), x)
            value, inside = np.where(edge, np.clip(x, low, high), value), inside & ~edge
        return self._beyond(j, x, value, low, high), inside, inside | can

    def _level(self, j: int, columns: slice, who: np.ndarray, row: np.ndarray) -> tuple[np.ndarray, Mask]:
        """Return the level of boxes that is nearest to people's own, and whether there is one that they may choose."""
        x, ok = np.nan_to_num(self.people.x[who, j]), self.people.level_ok[j]
        best = np.full(np.broadcast_shapes(who.shape, row.shape), np.inf)
        value = np.zeros(best.shape)
        for level in range(columns.stop - columns.start):
            gap = np.where(
                ok[who, level], 1.0 if self.people.schema.is_categorical[j] else np.abs(level - x), np.inf
            )
            gap = np.where(self.boxes.levels[row, columns.start + level], gap, np.inf)
            better = gap < best
            best, value = np.where(better, gap, best), np.where(better, level, value)
        return value, np.isfinite(best)

    def _beyond(self, j: int, x: Floats, value: Floats, low: Floats, high: Floats) -> Floats:
        """Move values of feature j that crossed an edge on, away from x, within what is legal."""
        if not self.further:
            return value
        with np.errstate(invalid="ignore"):
            side = np.where(np.isnan(x), 0.0, np.sign(value - x))
            return np.asarray(np.clip(value + side * self.further * self.people.schema.span[j], low, high))
