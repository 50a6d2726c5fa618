"""A small decision tree for each of many people, fitted at the same time; its leaves as boxes of what may be set.

Splits lower the Gini impurity most. Numbers are cut between neighbouring values of different answers, ordered levels
between two of them, others into one level and the rest.
Source: L. Breiman, J. Friedman, R. Olshen, C. Stone (1984), Classification and Regression Trees, Wadsworth.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wayforward.methods.engines.tree_regions import LeafBoxes, NearestInBoxes
from wayforward.shapes import Floats, Ints, Mask

if TYPE_CHECKING:
    from wayforward.problem import Population
    from wayforward.schema import Schema

_BINS = 64  # places where a number may be cut
_CELLS = 1 << 22  # numbers in one piece of work
_GAIN = 1e-9  # of a node's weight: a split that lowers the impurity by less is none
_AFTER = 1e12  # what is dearer comes first if its price is less

#: What it costs to go along an edge: impurity of parent and child, rows of the child and of all -> (q,).
Toll = Callable[[Floats, Floats, Ints, int], Floats]


class LocalTrees(NamedTuple):
    """The leaves of the trees of n people, one person's after the other's.

    owner (b,). boxes: of what may be set. share (b,): of its rows, by weight, how much is a yes. rows (b,): how many.
    home (b,) bool: the person stands in it. way (b,): the tolls from the person's own leaf. leaf (n, S): of each row.
    outside (b, d) bool: the person has to act on the feature to get in. entry: the boxes from the first value on that
    was drawn behind each edge which the person is outside of: between rows nothing is known.
    """

    owner: Ints
    boxes: LeafBoxes
    share: Floats
    rows: Ints
    home: Mask
    way: Floats
    leaf: Ints
    outside: Mask
    entry: LeafBoxes

    @property
    def yes(self) -> Mask:
        """(b,) bool: most of it is a yes."""
        return np.asarray(self.share.round(9) > 0.5)

    def says(self, schema: Schema, value: Floats) -> Mask:
        """(n, S) bool: of rows value (n, S, d) around each person, whether the person's tree says yes."""
        n, size, d = value.shape
        out = np.zeros((n, size), dtype=bool)
        good = np.flatnonzero(self.yes)
        step = max(1, _CELLS // (size * max(d, len(schema.level_owner))))
        for begin in range(0, len(good), step):
            some = good[begin : begin + step]
            rows = value[self.owner[some]].reshape(-1, d)
            outside = _outside(schema, self.boxes.take(np.repeat(some, size)), rows).any(1)
            np.logical_or.at(out, self.owner[some], ~outside.reshape(len(some), size))
        return out


def edges(parent: Floats, child: Floats, rows: Ints, total: int) -> Floats:
    """Toll: one for each edge."""
    return np.ones(len(rows))


def grow(
    schema: Schema,
    x: Floats,
    value: Floats,
    label: Mask,
    weight: Floats,
    *,
    depth: int,
    leaf: int,
    toll: Toll = edges,
) -> LocalTrees:
    """Fit a tree to the rows value (n, S, d) of each person x (n, d), label and weight (n, S).

    depth: splits one below the other, at most. leaf: rows of a leaf, at least. A tree does not depend on the others.
    """
    n, _, d = value.shape
    step = max(1, _CELLS // (2 ** min(depth, 6) * d * _BINS))
    parts = []
    for begin in range(0, max(n, 1), step):
        some = slice(begin, begin + step)
        parts.append(_grown(schema, x[some], value[some], label[some], weight[some], depth, leaf, toll))
        parts[-1].owner[:] += begin
        parts[-1].leaf[:] += sum(len(part.owner) for part in parts[:-1])
    return LocalTrees(*(_joined(some) for some in zip(*parts, strict=True)))


def _joined(parts: Sequence[Any]) -> Any:
    """Arrays, or boxes, one after the other."""
    if isinstance(parts[0], LeafBoxes):
        return LeafBoxes(*map(np.concatenate, zip(*parts, strict=True)))
    return np.concatenate(parts)


class _Nodes(NamedTuple):
    """Nodes that may still be split: whose they are, their box, whether the person is inside, tolls from the root, and
    tolls of the last node on the way that the person is in. Boxes count parts of numbers (see `_parts`)."""

    owner: Ints
    boxes: LeafBoxes
    home: Mask
    way: Floats
    shared: Floats

    def take(self, some: np.ndarray) -> _Nodes:
        boxes = self.boxes.take(some)
        return self._replace(boxes=boxes, **{n: getattr(self, n)[some] for n in self._fields if n != "boxes"})


def _grown(
    schema: Schema, x: Floats, value: Floats, label: Mask, weight: Floats, depth: int, leaf: int, toll: Toll
) -> LocalTrees:  # fmt: skip
    n, size, d = value.shape
    parts, cuts = _parts(schema, value, label)
    code, own = parts.reshape(-1, d), _part_of(schema, x, cuts.at)
    weight, good = weight.reshape(-1), weight.reshape(-1) * label.reshape(-1)
    nodes = _Nodes(np.arange(n), _everything(schema, n), np.ones(n, bool), np.zeros(n), np.zeros(n))
    at, node = np.arange(n * size), np.repeat(np.arange(n), size)
    of, done, ends = np.empty(n * size, np.int64), [], 0
    for level in range(depth + 1):
        many = len(nodes.owner)
        total, yes = (np.bincount(node, part[at], many) for part in (weight, good))
        rows = np.bincount(node, minlength=many)
        split = np.zeros(many, dtype=bool)
        if level < depth:
            split, j, cut = _best_split(schema, code[at], node, weight[at], good[at], many, leaf)
        end = np.flatnonzero(~split)
        with np.errstate(invalid="ignore"):
            share = yes / total
        done.append((nodes.take(end), share[end], rows[end]))
        number = np.cumsum(~split) - 1 + ends
        stays = ~split[node]
        of[at[stays]] = number[node[stays]]
        ends += len(end)
        go = np.flatnonzero(split)
        if not go.size:
            break
        at, node = at[~stays], (np.cumsum(split) - 1)[node[~stays]]
        j, cut, inner = j[go], cut[go], nodes.take(go)
        left = _goes_left(schema, code[at, j[node]], j[node], cut[node])
        node = np.where(left, node, node + len(go))
        here = _goes_left(schema, own[inner.owner, j], j, cut)
        impurity, after = _gini(share[go]), _children(node, at, weight, good, len(go))
        sides = []
        for right in (False, True):
            home = inner.home & (here != right)
            way = inner.way + toll(impurity, after[0][int(right)], after[1][int(right)], size)
            boxes = _side(schema, inner.boxes, j, cut, right)
            sides.append(_Nodes(inner.owner, boxes, home, way, np.where(home, way, inner.shared)))
        nodes = _Nodes(*(_joined(both) for both in zip(*sides, strict=True)))
    return _collected(schema, x, done, of.reshape(n, size), cuts)


def _children(node: Ints, at: Ints, weight: Floats, good: Floats, half: int) -> tuple[Floats, Ints]:
    """Impurity and number of rows (2, half) of what went left and right."""
    total, yes = (np.bincount(node, part[at], 2 * half) for part in (weight, good))
    return _gini(yes / total).reshape(2, half), np.bincount(node, minlength=2 * half).reshape(2, half)


def _gini(share: Floats) -> Floats:
    return np.asarray(2 * share * (1 - share))


def _collected(schema: Schema, x: Floats, done: list[tuple[Any, ...]], leaf: Ints, cuts: Cuts) -> LocalTrees:
    nodes = _Nodes(*(_joined(some) for some in zip(*(part[0] for part in done), strict=True)))
    share, rows = (np.concatenate([part[i] for part in done]) for i in (1, 2))
    order = np.argsort(nodes.owner, kind="stable")
    nodes, share, rows = nodes.take(order), share[order], rows[order]
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    owner, own = nodes.owner, nodes.way[nodes.home]  # of each person, in order
    boxes, entry = cuts.edges(nodes, x)
    way = nodes.way + own[owner] - 2 * nodes.shared
    return LocalTrees(
        owner, boxes, share, rows, nodes.home, way, place[leaf], _outside(schema, boxes, x[owner]), entry
    )


def _outside(schema: Schema, boxes: LeafBoxes, x: Floats) -> Mask:
    """(b, d) bool: values x (b, d) lie outside of boxes."""
    with np.errstate(invalid="ignore"):
        inside = (x >= boxes.low) & (x <= boxes.high)
    each = np.arange(len(x))
    for j, columns in schema.level_columns.items():
        inside[:, j] = boxes.levels[each, columns.start + np.nan_to_num(x[:, j]).astype(np.int64)]
    return np.asarray(~np.where(np.isnan(x), boxes.missing, inside))


def _everything(schema: Schema, n: int) -> LeafBoxes:
    return LeafBoxes(
        np.zeros((n, schema.d)),
        np.full((n, schema.d), float(_BINS)),
        np.ones((n, len(schema.level_owner)), bool),
        np.ones((n, schema.d), bool),
    )


class Cuts(NamedTuple):
    """below, above (n, d, c): the values that numbers are cut between, in order; inf where they are not cut."""

    below: Floats
    above: Floats

    @property
    def at(self) -> Floats:
        """(n, d, c) the middles."""
        with np.errstate(invalid="ignore"):
            middle = (self.below + self.above) / 2
        return np.asarray(np.where(np.isneginf(self.below), np.nextafter(self.above, -np.inf), middle))

    def edges(self, nodes: _Nodes, x: Floats) -> tuple[LeafBoxes, LeafBoxes]:
        """Return boxes that count parts as boxes of values; and with the first value that was drawn behind each edge
        that the person x (n, d) is outside of."""
        each, j = nodes.owner[:, None], np.arange(x.shape[1])
        own, parts = x[nodes.owner], nodes.boxes
        first, last = (part.astype(np.int64) for part in (parts.low, parts.high))
        middle, none = self.at, self.at.shape[2]
        under, over = np.maximum(first - 1, 0), np.minimum(last, none - 1)
        low = np.where(first > 0, np.nextafter(middle[each, j, under], np.inf), -np.inf)
        high = np.where(last < none, middle[each, j, over], np.inf)
        with np.errstate(invalid="ignore"):
            least = np.where((own < low) & (first > 0), self.above[each, j, under], low)
            most = np.where((own > high) & np.isfinite(high), self.below[each, j, over], high)
        return parts._replace(low=low, high=high), parts._replace(
            low=least, high=np.where(np.isneginf(most), high, most)
        )


def _parts(schema: Schema, value: Floats, label: Mask) -> tuple[Ints, Cuts]:
    """Return in which part of its feature each value (n, S, d) lies, and where numbers are cut.

    Of levels the part is the level, or the one after the last where it is missing; missing numbers lie in the first.
    Only between rows of different answers can a cut be the best one; where these are many, evenly many are.
    """
    n, size, d = value.shape
    code = np.zeros(value.shape, np.int64)
    cuts = Cuts(np.full((n, d, _BINS), np.inf), np.full((n, d, _BINS), np.inf))
    place = np.arange(size)
    for j in range(d):
        column = value[:, :, j]
        if schema.has_levels[j]:
            code[:, :, j] = np.where(np.isnan(column), schema.n_levels[j], np.nan_to_num(column))
            continue
        column = np.where(np.isnan(column), -np.inf, column)
        order = np.argsort(column, axis=1, kind="stable")
        column, answer = np.take_along_axis(column, order, 1), np.take_along_axis(label, order, 1)
        rise = np.zeros((n, size), dtype=bool)  # the next value is another
        rise[:, :-1] = column[:, 1:] > column[:, :-1]
        last = np.minimum.accumulate(np.where(rise, place, size - 1)[:, ::-1], axis=1)[:, ::-1]
        first = np.maximum.accumulate(np.roll(np.where(rise, place + 1, 0), 1, axis=1), axis=1)
        turns = np.cumsum(
            np.concatenate([np.zeros((n, 1), bool), answer[:, 1:] != answer[:, :-1]], 1), axis=1
        )
        after = np.take_along_axis(last, np.minimum(place + 1, size - 1) + np.zeros_like(last), 1)
        mixed = np.take_along_axis(turns, after, 1) > np.take_along_axis(turns, first, 1)
        edge = rise & mixed
        rank, many = np.cumsum(edge, axis=1), edge.sum(1, keepdims=True)
        thin = np.minimum(_BINS / np.maximum(many, 1), 1.0)
        edge &= np.floor(rank * thin + 1e-9) > np.floor((rank - 1) * thin + 1e-9)
        rank = np.cumsum(edge, axis=1)
        np.put_along_axis(code[:, :, j], order, rank - edge, 1)
        row, at = np.nonzero(edge)
        to = row, j, rank[row, at] - 1
        cuts.below[to], cuts.above[to] = column[row, at], column[row, at + 1]
    return code, cuts


def _part_of(schema: Schema, x: Floats, cuts: Floats) -> Ints:
    """(n, d): the part in which the values x (n, d) lie; see `_parts`."""
    with np.errstate(invalid="ignore"):
        number = (x[..., None] > cuts).sum(2)
    level = np.where(np.isnan(x), schema.n_levels, np.nan_to_num(x)).astype(np.int64)
    return np.where(schema.has_levels, level, number)


def _best_split(
    schema: Schema, code: Ints, node: Ints, weight: Floats, good: Floats, many: int, leaf: int
) -> tuple[Mask, Ints, Ints]:
    """Return of nodes (m,) whether there is a split, its feature, and the last part that goes left, or the level."""
    d = code.shape[1]
    bins = int(max(_BINS, schema.n_levels.max()) + 1)
    key = ((node[:, None] * d + np.arange(d)) * bins + code).reshape(-1)
    sums = [np.bincount(key, minlength=many * d * bins)]
    sums += [np.bincount(key, np.repeat(part, d), many * d * bins) for part in (weight, good)]
    ordered = ~schema.is_categorical
    rows, total, yes = (
        np.where(ordered[:, None], np.cumsum(part, axis=2), part)
        for part in (s.reshape(many, d, bins) for s in sums)
    )
    everything = [s.reshape(many, d, bins)[:, :1].sum(2, keepdims=True) for s in sums]
    gain = (
        _impure(*everything[1:]) - _impure(total, yes) - _impure(everything[1] - total, everything[2] - yes)
    )
    few = (rows < leaf) | (everything[0] - rows < leaf)
    gain = np.where(few, -np.inf, (gain / everything[1]).round(12)).reshape(many, -1)
    best = gain.argmax(1)
    each = np.arange(many)
    most, j, cut = gain[each, best], best // bins, best % bins
    # Where no row of the node lies between several cuts, the middle one.
    same = gain.reshape(many, d, bins)[each, j] == most[:, None]
    run = np.minimum.accumulate(same | (np.arange(bins) < cut[:, None]), axis=1)
    last = run.sum(1) - 1
    cut = np.where(schema.has_levels[j], cut, (cut + last) // 2)
    return most > _GAIN, j, cut


def _impure(total: Floats, yes: Floats) -> Floats:
    """The Gini impurity times the weight."""
    return np.asarray(2 * yes * (total - yes) / np.maximum(total, 1e-300))


def _goes_left(schema: Schema, code: Ints, j: Ints, cut: Ints) -> Mask:
    return np.where(schema.is_categorical[j], code == cut, code <= cut)


def _side(schema: Schema, boxes: LeafBoxes, j: Ints, cut: Ints, right: bool) -> LeafBoxes:
    """What is left of boxes (q,) on one side of their splits."""
    low, high, levels, missing = (part.copy() for part in boxes)
    each = np.arange(len(j))
    number = np.flatnonzero(~schema.has_levels[j])
    at = number, j[number]
    if right:
        low[at] = np.maximum(low[at], cut[number] + 1)
    else:
        high[at] = np.minimum(high[at], cut[number])
    if len(schema.level_owner):
        category = schema.is_categorical[j][:, None]
        holds = np.where(category, schema.level_index == cut[:, None], schema.level_index <= cut[:, None])
        levels &= np.where(schema.level_owner == j[:, None], holds != right, True)
    # A missing number is in the first part, a missing level behind the last one.
    missing[each, j] &= np.where(schema.has_levels[j], right, not right)
    return LeafBoxes(low, high, levels, missing)


class OwnBoxes(NearestInBoxes):
    """Leaves as proposals, to each person those of their own tree: least price first, then nearest.

    price (b,): inf for leaves that are none.
    """

    def __init__(self, people: Population, trees: LocalTrees, price: Floats) -> None:
        super().__init__(people, trees.entry)
        self.price = price
        count = np.bincount(trees.owner, minlength=people.n)
        first = np.cumsum(count) - count
        place = np.arange(count.max(initial=1))
        self.table = np.where(place < count[:, None], first[:, None] + place, -1)

    def _ranked(self, who: np.ndarray, length: int) -> tuple[np.ndarray, np.ndarray]:
        row = np.maximum(self.table[who], 0)
        owner = np.repeat(who, row.shape[1])
        action, fits = self.action(owner, row.reshape(-1))
        cost = np.where(fits, self.people.cost(owner, action), np.inf).reshape(row.shape)
        with np.errstate(invalid="ignore"):
            far = np.where(self.table[who] >= 0, self.price[row].round(9) * _AFTER + cost, np.inf)
        far = np.where(np.isfinite(cost), far, np.inf)
        order = np.argsort(far, axis=1, kind="stable")[:, :length]
        far = np.take_along_axis(far, order, 1)
        row = np.where(np.isfinite(far), np.take_along_axis(row, order, 1), -1)
        short = max(length - row.shape[1], 0)
        return np.pad(row, ((0, 0), (0, short)), constant_values=-1), np.pad(
            far, ((0, 0), (0, short)), constant_values=np.inf
        )
