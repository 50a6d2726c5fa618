"""The arrays that the kernels of `forest_boxes` read, one record a structure; numba takes a NamedTuple as it is.

Machine code is kept on disk by the kernels' own file: after a change here, touch `_boxes_jit.py` and `_lines_jit.py`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from wayforward.shapes import Floats, Ints, Mask, Rows


class Clauses(NamedTuple):
    """The rules as clauses of atoms, flat. Atoms of clause c: atom_at[c] to atom_at[c + 1].

    kind: 0 linear, 1 levels, 2 moved. feature: of a set of levels or a move; before: the set is of the value before;
    changed: a move is asked for; allowed: the levels as bits; bound, strict and terms from term_at on: of a linear one,
    each term (feature, 0 before, 1 after or 2 changed) with its weight. reads (d,) bool: a clause reads it.
    """

    atom_at: Ints
    kind: Ints
    feature: Ints
    before: Mask
    changed: Mask
    allowed: np.ndarray
    bound: Floats
    strict: Mask
    term_at: Ints
    term: Ints
    weight: Floats
    reads: Mask


class BoxPeople(NamedTuple):
    """What each of n people may do, as the judge has it; cutoff (n,): nothing as dear as this is of interest.

    fill (n, d): a missing value that is filled in, others stay missing. stays (n, d): the rules about levels let a
    feature keep its level.
    """

    x: Rows
    least: Rows
    greatest: Rows
    weight: Rows
    may: Mask
    fill: Mask
    levels: np.ndarray
    stays: Mask
    most: Ints
    cutoff: Floats
    limit: Ints


class ReachedForest(NamedTuple):
    """Room for what of the forest a person can reach: nodes (N, 4) feature (-1 at a leaf), rank, left (right is
    left + 1), the greatest leaf below; roots."""

    nodes: Ints
    roots: Ints


class BoxRoom(NamedTuple):
    """Room for a search; see `_boxes_jit`."""

    low: Floats
    high: Floats
    bits: np.ndarray
    first: Ints
    last: Ints
    votes: Ints
    splits: Ints
    stack: Ints
    active: Ints
    trial: Floats
    reached: Ints
    known: Ints


class Line(NamedTuple):
    """A linear score: slope and offset (d,) of numbers, gone (d,) of values that stay missing, table (all levels) of
    levels; far (d,): so far from 0 a number may go. dent, centre (d,): so much of the score a number loses for each
    unit that it is away from its centre, at worst within a ball of weights."""

    slope: Floats
    offset: Floats
    gone: Floats
    table: Floats
    far: Floats
    dent: Floats
    centre: Floats


class LineRoom(NamedTuple):
    """Room for a search; see `_lines_jit`. split (boxes, 2): feature and way; cut, mask (boxes,): where."""

    low: Floats
    high: Floats
    bits: np.ndarray
    bound: Floats
    split: Ints
    cut: Floats
    mask: np.ndarray
    rows: Floats
    active: Ints
    left: Floats
    near: Floats
    pay: Floats
