"""The arrays that the seeker's kernels read, one record a structure; numba takes a NamedTuple as it is.

Machine code is kept on disk by the kernels' own file: after a change here, touch `_jit.py`.
"""

from __future__ import annotations

from typing import NamedTuple

from wayforward.shapes import Floats, Ints, Mask


class Terrain(NamedTuple):
    """What everybody shares but the model.

    feature (13, d): kind (0 numeric, 1 ordered levels, 2 categories); origin, step (NaN: any real number) and steps per
    unit, as in `Schema.lattice`; tiny, values nearer than this are the same; near, values nearer than this go equally
    far; span; one over the divisor of the cost; the scaled size of a full change; levels; first column of its levels in
    `Wishes.level`; 1 where the model looks at it; the least change that is worth an effort.
    number: the cost of a change is fixed + slope * size + square * size^2; the score is min(margin - lowest,
    highest - margin), in units of the margin; gap: how far above 0 a score must be to be a yes in every precision;
    the margin of a forest is base + unit * sum of leaves.
    line (r, 2 d + 1): rules that are sums of numbers: what the values after the change count, what those before it
    count, and what both may come to at most. A rule that hangs on a missing value holds.
    """

    feature: Floats
    number: Floats
    line: Floats


class Wishes(NamedTuple):
    """What each of n people may do: x, low, high, weight (n, d); free (n, d); level (n, all levels); most (n,) changes;
    limit (n,) rows. far (n,): the plan of whom a forest refuses by far is rebuilt; everyone (n,): who has nothing tries
    to become like any reference."""

    x: Floats
    low: Floats
    high: Floats
    weight: Floats
    free: Mask
    level: Mask
    most: Ints
    limit: Ints
    far: Mask
    everyone: Mask


class CellForest(NamedTuple):
    """An additive forest whose splits are ranks, and room to walk it.

    nodes (N, 4): feature (-1 at a leaf), rank, left (right is left + 1), 1 where a missing number goes left. The values
    of a numeric feature j fall into cells, numbered from 0: cell r holds the values above cut[r - 1] up to cut[r] of
    those from places[0, j] on; cells (2, all cells): its least and its greatest legal value, from places[1, j] on. A
    split on it goes left for cells up to rank; on a feature with levels where the bit of the level is set in
    sides[rank] (a missing value has the bit after the last level). value (N,): of a leaf. add (all cells), stack,
    touched, run: room.
    few (3,): trees, sum of single leaves and nodes of what of it is left for one person, -1: all; few_nodes, few_value,
    few_roots: that.
    """

    nodes: Ints
    value: Ints
    sides: Ints
    roots: Ints
    places: Ints
    cut: Floats
    cells: Floats
    add: Ints
    stack: Ints
    few: Ints
    few_nodes: Ints
    few_value: Ints
    few_roots: Ints
    touched: Ints
    run: Ints


class LayeredNet(NamedTuple):
    """A dense network with one output, and room to walk it.

    Columns from places[0, j] to places[0, j + 1] belong to numeric feature j: code (centre, divisor, factor, shift,
    value if missing, function), first (columns, h) its weights into the first layer. table (rows, h): first the biases,
    then what each level adds to the first layer, from places[1, j] on (-1 for none), the last row for a missing value.
    flat, shift: weights and biases of the further layers; shapes (2, layers): units and activations. room (2, widest),
    rest (d + 1, h), bracket (2 d, 5), live, tried (3, values): room.
    """

    places: Ints
    code: Floats
    first: Floats
    table: Floats
    flat: Floats
    shift: Floats
    shapes: Ints
    room: Floats
    rest: Floats
    bracket: Floats
    live: Ints
    tried: Floats


class Hints(NamedTuple):
    """Where searches start: accepted reference people (N, d), and an even thinning of them."""

    all: Floats
    few: Floats


class Room(NamedTuple):
    """Room for a search; see `_jit`."""

    per: Floats
    mark: Ints
    one: Floats
    pool: Floats
    ok: Mask
