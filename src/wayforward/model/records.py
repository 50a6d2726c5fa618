"""The arrays that the kernels read, one record a structure; numba takes a NamedTuple as it is.

A kernel's machine code is kept on disk by its own file: after a change here, touch `_jit.py`.
"""

from __future__ import annotations

from typing import NamedTuple

from wayforward.shapes import Floats, Ints


class DenseArrays(NamedTuple):
    """A dense network on raw rows (m, d).

    source (a,) raw feature of each affine column; affine (a, 5) centre, divisor, factor, shift, value if NaN;
    first (a, h) its weights into the first layer; offset (d,) row of table (rows, h) where a level feature's
    contributions start, -1 for none; levels (d,) its number of levels; bias (h,) of the first layer. The remaining
    layers: weights in one row, biases in another, units of each layer with the first, code of each activation.
    """

    source: Ints
    affine: Floats
    first: Floats
    offset: Ints
    levels: Ints
    table: Floats
    bias: Floats
    flat: Floats
    shift: Floats
    shapes: Ints
    activation: Ints


class SplitSpace(NamedTuple):
    """What raw rows become before trees are walked: a column for each raw numeric feature (NaN to -inf or to +inf)
    and one 0/1 column for each set of levels that some split sends left.

    level_count, level_columns: levels and columns of a level feature; level_offset: where its rows start in
    level_table; level_start: its first column. owner (width,): the raw feature of each column.
    """

    numeric_feature: Ints
    numeric_missing: Floats
    level_feature: Ints
    level_count: Ints
    level_columns: Ints
    level_offset: Ints
    level_start: Ints
    level_table: Floats
    owner: Ints


class Trees(NamedTuple):
    """A forest over columns of the space of splits; right is left + 1, a leaf leads to itself."""

    roots: Ints
    depth: Ints  # of each tree
    feature: Ints  # int32: column of the space of splits
    threshold: Floats  # +inf at a leaf
    left: Ints  # int32
    row: Ints  # int32: row of `leaf` at a leaf, -1 elsewhere
    leaf: Ints  # (leaves, q) fixed point
    rank: Ints  # order of the splits by column and threshold


class LeafMasks(NamedTuple):
    """Trees of at most 64 leaves as masks of the leaves that stay for a value.

    edges: thresholds of all numeric columns, those of column c from start[c] on; level_at: first row of each level
    feature; stays (values, trees); first: first leaf of each tree; leaf (leaves, q) from left to right.
    """

    numeric_feature: Ints
    numeric_missing: Floats
    edges: Floats
    start: Ints
    level_feature: Ints
    level_count: Ints
    level_at: Ints
    stays: Ints  # as many unsigned bits as the largest tree has leaves
    first: Ints
    leaf: Ints


class PrunedTrees(NamedTuple):
    """Forests of n people whose splits on frozen features are resolved.

    base (n, q): leaf sums of the trees with nothing left to decide. Each `start` (n + 1,): where a person's small
    trees, leaves, entries, groups, large trees and nodes begin. A small tree has its first leaf in small_leaf, leaves
    have rows of the forest's `leaf` in leaf_row; an entry holds a threshold, the mask of the leaves that stay beyond
    it, and its tree; a group is the entries of one column, up to group_end. Large trees: root, depth, and nodes as in
    `Trees`.
    """

    base: Ints
    small_start: Ints
    leaf_start: Ints
    entry_start: Ints
    group_start: Ints
    big_start: Ints
    node_start: Ints
    small_leaf: Ints
    leaf_row: Ints
    entry_threshold: Floats
    entry_mask: Ints
    entry_tree: Ints
    group_column: Ints
    group_end: Ints
    big_root: Ints
    big_depth: Ints
    feature: Ints
    threshold: Floats
    left: Ints
    row: Ints
