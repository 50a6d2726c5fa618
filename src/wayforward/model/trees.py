"""Tree ensembles in raw feature units: evaluated, pruned to a person, bounded over boxes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from wayforward.lazy import cached_property
from wayforward.model import kernels
from wayforward.model.base import Access, Scorer
from wayforward.model.encoder import Encoder
from wayforward.model.fast import Fast, apply_link, link_bounds
from wayforward.model.forms import BoxBounds, FlatForest
from wayforward.model.raw_splits import flatten
from wayforward.model.records import LeafMasks, PrunedTrees, SplitSpace, Trees
from wayforward.model.rounding import roundoff
from wayforward.model.tree_readers import EncodedTrees
from wayforward.schema import Schema
from wayforward.shapes import Floats, Ints, Mask, Who

_BLOCK = 512  # people pruned together
_PRUNED_BYTES = 384 * 2**20  # room for pruned forests
_FEW = 16  # leaves of a tree that is scored by masks; larger ones are walked
_MASK_BYTES = 4 * 2**20  # room for the tables of `_jit.masked`
_WORTH_ROWS = 48  # rows asked for each person before pruning pays
_WORTH = 0.8  # of the whole forest's cost for a row, else the whole forest will do


@dataclass(eq=False)
class CompiledForest:
    """A forest as the kernels read it."""

    space: SplitSpace
    trees: Trees

    @cached_property
    def masks(self) -> LeafMasks | None:
        """Its trees as masks; None for trees of more than 64 leaves, or tables that leave the cache."""
        return _masks(self.space, self.trees)

    def sums(self, x: Floats) -> Ints:
        """(m, d) raw rows -> (m, q) fixed-point sums of the leaves that they reach."""
        return kernels.forest(x, self.space, self.trees, self.masks)


class ForestFast(Fast):
    """A tree ensemble in raw units."""

    kind = "forest"
    access = Access.WHITE_BOX

    def __init__(self, encoder: Encoder, trees: EncodedTrees, read: Callable[[], EncodedTrees]) -> None:
        """trees: what `read` gives, which is asked again after `forget`."""
        self.schema, self.encoder, self.link, self._read = encoder.schema, encoder, trees.link, read
        self.base, self.divisor = trees.base, trees.divisor
        self.flat = flatten(encoder, trees)
        leaf = self.flat.leaf >= 0
        tree_of = np.cumsum(np.isin(np.arange(len(leaf)), self.flat.roots)) - 1
        largest = np.zeros(len(self.flat.roots))
        np.maximum.at(largest, tree_of[leaf], np.abs(self.flat.value[self.flat.leaf[leaf]]).max(axis=1))
        self._total = total = float(largest.sum())
        self.bits = int(np.floor(60 - np.log2(total))) if total > 0 else 0
        self.compiled = compile_forest(self.flat, self.schema, self.bits)
        whole = self.compiled.trees.leaf
        # leaves that fixed point tells apart as the object itself does: equal sums then mean equal bits
        self._exact = bool((np.ldexp(whole.astype(np.float64), -self.bits) == self.flat.value).all())

    @cached_property
    def flat(self) -> FlatForest:
        """The forest as others look into it; after `forget` read anew."""
        return flatten(self.encoder, self._read())

    def forget(self) -> None:
        """See Fast.forget."""
        vars(self).pop("flat", None)

    def finish(self, sums: Ints) -> Floats:
        """Fixed-point leaf sums (m, q) -> outputs (m, c)."""
        return apply_link(self._margin(sums), self.link)

    def _margin(self, sums: Ints) -> Floats:
        margin: Floats = self.base + np.ldexp(sums.astype(np.float64), -self.bits) / self.divisor
        return margin

    def margin(self, x: Floats) -> Floats:
        """(m, d) -> (m, q) what the link is applied to."""
        return self._margin(self.compiled.sums(x))

    def outputs(self, x: Floats) -> Floats:
        """(m, d) -> (m, c)."""
        return self.finish(self.compiled.sums(x))

    def specialise(self, x: Floats, free: Mask, default: Scorer) -> Scorer:
        """Resolve the splits on frozen features for each person; needs numba and large trees, else the default."""
        if kernels.jit() is None or bool(free.all()) or self.compiled.masks is not None:
            return default
        return PrunedScorer(default, self, x, free)

    def forest(self) -> FlatForest:
        """See Model.forest."""
        return self.flat

    def thresholds(self) -> list[Floats]:
        """See Model.thresholds."""
        flat = self.flat
        numeric = (flat.feature >= 0) & (flat.level_set < 0) & np.isfinite(flat.threshold)
        return [np.unique(flat.threshold[numeric & (flat.feature == j)]) for j in range(self.schema.d)]

    def bounds(self, low: Floats, high: Floats, levels: Mapping[int, Mask], unit: float) -> BoxBounds:
        """Per tree the least and the greatest reachable leaf; exact for one tree. See Fast.bounds.

        A box in which each tree can reach leaves of one value alone is constant.
        """
        trees = self.compiled.trees
        smallest = np.zeros((len(low), trees.leaf.shape[1]), np.int64)
        largest = np.zeros_like(smallest)
        jit = kernels.jit()
        reach = _reach if jit is None else jit.reach
        reach(*_split_boxes(low, high, levels, self.compiled.space), trees, smallest, largest)
        scale = np.ldexp(1.0, -self.bits) / self.divisor
        same = (smallest == largest).all(axis=1) & self._exact
        return BoxBounds(*self.around(self.base + smallest * scale, self.base + largest * scale, unit), same)

    def around(self, low: Floats, high: Floats, unit: float) -> tuple[Floats, Floats]:
        """See Fast.around."""
        size = np.abs(self.base) + self._total / self.divisor
        slack = roundoff(len(self.compiled.trees.roots), unit) * size
        if self.link == "logistic":  # a starting probability near 1 loses digits when it becomes log-odds
            slack = slack + roundoff(0, unit) * np.exp(np.minimum(np.abs(self.base), 700.0))
        return link_bounds(low - slack, high + slack, self.link, unit)


def compile_forest(flat: FlatForest, schema: Schema, bits: int) -> CompiledForest:
    """Arrays for the kernels; leaf values as whole multiples of 2**-bits."""
    inner = flat.feature >= 0
    numeric, level = inner & (flat.level_set < 0), inner & (flat.level_set >= 0)
    side = flat.missing_left & np.append(schema.missing, False)[flat.feature]  # never asked for elsewhere
    pairs = np.unique(np.stack([flat.feature[numeric], side[numeric]], axis=1), axis=0).reshape(-1, 2)
    column = np.full(len(flat.feature), -1, np.int64)
    for k, (j, left) in enumerate(pairs):
        column[numeric & (flat.feature == j) & (side == bool(left))] = k
    owner = [int(j) for j in pairs[:, 0]]
    features = np.unique(flat.feature[level])
    columns, start, tables = [], [], [np.zeros(0)]
    for j in features:
        chosen = level & (flat.feature == j)
        sets, which = np.unique(flat.level_set[chosen], return_inverse=True)
        columns.append(len(sets))
        start.append(len(owner))
        tables.append((~flat.left_levels[sets, : int(schema.n_levels[j]) + 1]).T.astype(np.float64).ravel())
        column[chosen] = len(owner) + which
        owner += [int(j)] * len(sets)
    space = SplitSpace(
        np.asarray(pairs[:, 0], np.int64),
        np.where(pairs[:, 1] > 0, -np.inf, np.inf),
        features,
        schema.n_levels[features].astype(np.int64),
        np.array(columns, np.int64),
        np.cumsum([len(table) for table in tables])[:-1],
        np.array(start, np.int64),
        np.concatenate(tables),
        np.array(owner, np.int64),
    )
    # a split that all finite values pass on the left still sends a missing value, +inf here, right
    finite = np.minimum(flat.threshold, np.finfo(np.float64).max)
    threshold = np.where(level, 0.5, np.where(inner, finite, np.inf))
    rank = np.empty(len(inner), np.int64)
    rank[np.lexsort((threshold, column))] = np.arange(len(inner))
    trees = Trees(
        flat.roots,
        _depths(flat),
        np.maximum(column, 0).astype(np.int32),
        threshold,
        np.where(inner, flat.left, np.arange(len(inner))).astype(np.int32),
        flat.leaf.astype(np.int32),
        np.rint(np.ldexp(flat.value, bits)).astype(np.int64),
        rank,
    )
    return CompiledForest(space, trees)


def _split_boxes(
    low: Floats, high: Floats, levels: Mapping[int, Mask], space: SplitSpace
) -> tuple[Floats, Floats]:
    """Boxes over raw features (n, d) -> boxes in the space of splits (n, width)."""
    least, most = (
        np.empty((len(low), max(len(space.owner), 1))),
        np.empty((len(low), max(len(space.owner), 1))),
    )
    for k, j in enumerate(space.numeric_feature):
        gone = np.isnan(low[:, j])
        least[:, k] = np.where(gone, space.numeric_missing[k], low[:, j])
        most[:, k] = np.where(gone, space.numeric_missing[k], high[:, j])
    for i, j in enumerate(space.level_feature):
        table = level_table(space, i)
        index = np.arange(len(table) - 1)
        with np.errstate(invalid="ignore"):
            allowed = levels.get(int(j), (index >= low[:, j, None]) & (index <= high[:, j, None]))
        many = allowed.sum(axis=1)[:, None]
        gone = np.isnan(low[:, j])[:, None] | (many == 0)
        within = slice(space.level_start[i], space.level_start[i] + table.shape[1])
        ones = allowed.astype(np.float64) @ table[:-1]  # whole numbers: exact in any order
        least[:, within] = np.where(gone, table[-1], ones == many)
        most[:, within] = np.where(gone, table[-1], ones > 0)
    return least, most


def level_table(space: SplitSpace, i: int) -> Floats:
    """(L + 1, columns) the 0/1 columns of the i-th level feature for each level; the last row for a missing value."""
    count, columns = space.level_count[i] + 1, space.level_columns[i]
    return space.level_table[space.level_offset[i] :][: count * columns].reshape(count, columns)


def _reach(low: Floats, high: Floats, trees: Trees, smallest: Ints, largest: Ints) -> None:
    """NumPy twin of the kernel: all people at once, one node after another, children before parents."""
    row, leaf = trees.row, trees.leaf
    ends = np.append(trees.roots[1:], len(row))
    for root, end in zip(trees.roots, ends, strict=True):
        least = np.empty((end - root, len(low), leaf.shape[1]), np.int64)
        most = np.empty_like(least)
        for node in reversed(_parents_first(root, trees)):
            at = node - root
            if row[node] >= 0:
                least[at] = most[at] = leaf[row[node]]
                continue
            f, c = trees.feature[node], trees.left[node] - root
            goes = (low[:, f] <= trees.threshold[node])[:, None]
            both = goes & (high[:, f] > trees.threshold[node])[:, None]
            for ends_of, pick in ((least, np.minimum), (most, np.maximum)):
                one = np.where(goes, ends_of[c], ends_of[c + 1])
                ends_of[at] = np.where(both, pick(ends_of[c], ends_of[c + 1]), one)
        smallest += least[0]
        largest += most[0]


def _depths(flat: FlatForest) -> Ints:
    """Depth of each tree."""
    depth = np.zeros(len(flat.roots), np.int64)
    node, tree = flat.roots, np.arange(len(flat.roots))
    level = 0
    while True:
        inner = flat.feature[node] >= 0
        if not inner.any():
            return depth
        node, tree = node[inner], tree[inner]
        level += 1
        depth[tree] = level
        node, tree = np.concatenate([flat.left[node], flat.right[node]]), np.concatenate([tree, tree])


def _parents_first(root: int, trees: Trees) -> list[int]:
    order, stack = [], [int(root)]
    while stack:
        node = stack.pop()
        order.append(node)
        if trees.row[node] < 0:
            stack += [int(trees.left[node]), int(trees.left[node]) + 1]
    return order


class PrunedScorer(Scorer):
    """Forests of people whose frozen splits are resolved: fewer nodes, the same fixed-point sums.

    Forests are pruned in blocks of people once enough rows were asked for. Before that, where little can be
    resolved, and when the room is used up, rows go through the whole forest: the same numbers, bit for bit.
    """

    def __init__(self, default: Scorer, fast: ForestFast, x: Floats, free: Mask) -> None:
        super().__init__(default.model)
        self.fast = fast
        self.x = np.ascontiguousarray(x, dtype=np.float64)
        self.free = np.ascontiguousarray(free, dtype=np.bool_)
        self._blocks: dict[int, PrunedTrees | None] = {}
        self._rows_seen: dict[int, int] = {}
        self._bytes = 0

    def outputs(self, who: Who, rows: Floats) -> Floats:
        """who (m,), rows (m, d) -> (m, c): the same numbers as the model's outputs."""
        rows = self.model.as_rows(rows)
        self.model.counter.add(len(rows))
        people: Ints = np.asarray(who, np.int64)
        if kernels.jit() is None:  # switched off since
            return self.fast.outputs(rows)
        if (
            len(people) > 1 and (people[1:] < people[:-1]).any()
        ):  # one person after another: their nodes stay in the cache
            order = np.argsort(people, kind="stable")
            sums = np.empty((len(rows), self.fast.compiled.trees.leaf.shape[1]), np.int64)
            sums[order] = self._sums(people[order], rows[order])
        else:
            sums = self._sums(people, rows)
        return self.fast.finish(sums)

    def _sums(self, who: Ints, rows: Floats) -> Ints:
        forest = self.fast.compiled
        leaf = forest.trees.leaf
        sums = np.empty((len(rows), leaf.shape[1]), np.int64)
        if not len(rows):
            return sums
        first, last = int(who[0]) // _BLOCK, int(who[-1]) // _BLOCK
        edges = np.searchsorted(who, np.arange(first, last + 2) * _BLOCK)
        for block, start, end in zip(range(first, last + 1), edges[:-1], edges[1:], strict=True):
            if start == end:
                continue
            part = slice(int(start), int(end))
            data = self._block(block, int(end - start))
            if data is None:
                sums[part] = forest.sums(rows[part])
            else:
                people = who[part] - block * _BLOCK
                kernels.compiled().pruned(
                    people, rows[part], forest.space, data, leaf, kernels.BITS, sums[part]
                )
        return sums

    def _block(self, block: int, rows: int) -> PrunedTrees | None:
        """The resolved forests of a block; None while, or where, the whole forest is as good."""
        if block in self._blocks:
            return self._blocks[block]
        if self._bytes > _PRUNED_BYTES:
            self._blocks[block] = None
            return None
        x, free = self.x[block * _BLOCK :][:_BLOCK], self.free[block * _BLOCK :][:_BLOCK]
        self._rows_seen[block] = self._rows_seen.get(block, 0) + rows
        if self._rows_seen[block] < _WORTH_ROWS * len(x):
            return None
        data = None
        some = slice(None, None, max(1, len(x) // 8))
        forest = self.fast.compiled
        if _relative_cost(forest.trees, _reachable_leaves(forest, x[some], free[some])) < _WORTH:
            data = _prune(forest, x, free)
            self._bytes += sum(a.nbytes for a in data)
        self._blocks[block] = data
        return data


def _reachable_leaves(forest: CompiledForest, x: Floats, free: Mask) -> Ints:
    """(n, trees) leaves that rows of each person can reach."""
    leaves = np.empty((len(x), len(forest.trees.roots)), np.int32)
    kernels.compiled().prune_count(x, free, forest.space, forest.trees, leaves)
    return leaves


def _masks(space: SplitSpace, forest: Trees) -> LeafMasks | None:
    """See `CompiledForest.masks`."""
    inner, trees = forest.row < 0, len(forest.roots)
    leaves = np.add.reduceat((~inner).astype(np.int64), forest.roots) if trees else np.zeros(0, np.int64)
    most = int(leaves.max(initial=0))
    kind = np.uint16 if most <= 16 else np.uint32 if most <= 32 else np.uint64
    values = inner.sum() + len(space.owner) + (space.level_count + 1).sum()
    if most > 64 or values * trees * np.dtype(kind).itemsize > _MASK_BYTES:
        return None
    order, gone_left = _leaves_in_order(forest)
    tree = np.repeat(np.arange(trees), np.diff(np.append(forest.roots, len(forest.row))))
    edges, gone = [np.empty(0)], []
    for c in range(len(space.owner)):
        at = np.flatnonzero(inner & (forest.feature == c))
        edge = np.unique(forest.threshold[at])
        out = np.zeros((len(edge) + 1, trees), np.uint64)
        np.bitwise_or.at(out, (np.searchsorted(edge, forest.threshold[at]) + 1, tree[at]), gone_left[at])
        edges.append(edge)
        gone.append(np.bitwise_or.accumulate(out, axis=0))
    numbers = len(space.numeric_feature)
    tables = [np.zeros((1, trees), np.uint64), *gone[:numbers]]
    for i, first in enumerate(space.level_start):  # a level is on one side of each of its feature's sets
        side = level_table(space, i) > 0.5
        rows = [np.where(side[:, [c]], gone[first + c][1], gone[first + c][0]) for c in range(side.shape[1])]
        tables.append(np.bitwise_or.reduce(rows, axis=0))
    ends = np.cumsum([len(table) for table in tables])[numbers:]
    return LeafMasks(
        space.numeric_feature,
        space.numeric_missing,
        np.concatenate(edges[: numbers + 1]),
        np.cumsum([len(edge) for edge in edges[: numbers + 1]]),
        space.level_feature,
        space.level_count,
        ends[:-1],
        (~np.concatenate(tables)).astype(kind),
        np.cumsum(leaves) - leaves,
        forest.leaf[order],
    )


def _leaves_in_order(forest: Trees) -> tuple[Ints, Ints]:
    """Rows of `leaf` from left to right, tree by tree; for each inner node the mask of the leaves on its left."""
    on_left = np.zeros(len(forest.row), np.uint64)
    order: list[int] = []
    left, row = forest.left.tolist(), forest.row.tolist()
    for root in forest.roots.tolist():
        count, stack = 0, [(root, -1, 0)]
        while stack:
            node, parent, before = stack.pop()
            if parent >= 0:  # a right child: the leaves since its parent are the parent's left ones
                on_left[parent] = (1 << count) - (1 << before)
            if row[node] >= 0:
                order.append(row[node])
                count += 1
                continue
            stack += [(left[node] + 1, node, count), (left[node], -1, 0)]
    return np.array(order, np.int64), on_left


def _relative_cost(trees: Trees, leaves: Ints) -> float:
    """Expected time of a row in the resolved forests, as a share of that in the whole one.

    In units of one step down a tree; the constants are measured: half a step a leaf of a small tree, two steps to
    begin and end any tree, and depths that grow as 1.6 log2 of the leaves.
    """
    whole = trees.depth + 2.0
    walked = np.minimum(trees.depth, 1.6 * np.log2(np.maximum(leaves, 2)) + 1.0) + 2.0
    part = np.where(leaves <= 1, 0.0, np.where(leaves <= _FEW, 0.5 * leaves + 1.5, walked))
    return float(part.mean(axis=0).sum() / whole.sum())


def _prune(forest: CompiledForest, x: Floats, free: Mask) -> PrunedTrees:
    """The resolved forests of a block of people."""
    n, width = len(x), len(forest.space.owner)
    leaves = _reachable_leaves(forest, x, free)
    small, big = (leaves > 1) & (leaves <= _FEW), leaves > _FEW

    def starts(counts: Ints) -> Ints:
        return np.concatenate([[0], np.cumsum(counts.sum(axis=1))]).astype(np.int64)

    small_start, leaf_start = starts(small), starts(np.where(small, leaves, 0))
    entry_start, big_start = starts(np.where(small, leaves - 1, 0)), starts(big)
    node_start = starts(np.where(big, 2 * leaves - 1, 0))
    entries, bigs, nodes = int(entry_start[-1]), int(big_start[-1]), int(node_start[-1])
    groups = min(entries, n * max(width, 1))
    made = PrunedTrees(
        base=np.zeros((n, forest.trees.leaf.shape[1]), np.int64),
        small_start=small_start,
        leaf_start=leaf_start,
        entry_start=entry_start,
        group_start=np.zeros(n + 1, np.int64),
        big_start=big_start,
        node_start=node_start,
        small_leaf=np.empty(int(small_start[-1]), np.int32),
        leaf_row=np.empty(int(leaf_start[-1]), np.int32),
        entry_threshold=np.empty(entries),
        entry_mask=np.empty(entries, np.uint64),
        entry_tree=np.empty(entries, np.int32),
        group_column=np.empty(groups, np.int32),
        group_end=np.empty(groups, np.int32),
        big_root=np.empty(bigs, np.int32),
        big_depth=np.empty(bigs, np.int32),
        feature=np.empty(nodes, np.int32),
        threshold=np.empty(nodes),
        left=np.empty(nodes, np.int32),
        row=np.empty(nodes, np.int32),
    )
    kernels.compiled().prune(x, free, forest.space, forest.trees, _FEW, leaves, made)
    return made
