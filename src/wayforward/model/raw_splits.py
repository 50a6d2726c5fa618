"""Splits on encoded columns, turned into splits on raw feature values.

Every split becomes, exactly, "raw value <= t" with t the last float64 on the left: encoding, rounding and
comparison are monotone, so t is found by bisection over the float64 numbers themselves.
"""

from __future__ import annotations

import numpy as np

from wayforward.model.encoder import Column, Encoder, NotRead
from wayforward.model.forms import FlatForest
from wayforward.model.tree_readers import EncodedTrees
from wayforward.shapes import Floats, Ints, Mask


def _key(x: Floats) -> Ints:
    """float64 -> int64 in the same order, so that a bisection visits the floats themselves."""
    bits = np.ascontiguousarray(x).view(np.int64)
    return np.where(bits < 0, np.int64(-(2**63)) - bits, bits)


def _unkey(k: Ints) -> Floats:
    bits = np.where(k < 0, np.int64(-(2**63)) - k, k)
    return np.ascontiguousarray(bits).view(np.float64)


def goes_left(value: Floats, threshold: Floats | float, single: bool, strict: bool) -> Mask:
    """The comparison of the model's library on encoded values, in its own precision."""
    if single:
        with np.errstate(over="ignore"):
            value = value.astype(np.float32).astype(np.float64)
    out: Mask = value < threshold if strict else value <= threshold
    return out


def raw_thresholds(
    columns: list[Column], threshold: Floats, single: bool, strict: bool
) -> tuple[Floats, Mask]:
    """Splits on encoded columns -> last raw float64 on the low side, and whether that side is the left."""
    kinds: dict[int, list[int]] = {}
    for at, column in enumerate(columns):
        kinds.setdefault(id(column), []).append(at)
    groups = [(columns[ats[0]], np.array(ats, np.int64)) for ats in kinds.values()]
    rising = np.array([c.divisor * c.factor >= 0 for c in columns])

    def low_side(x: Floats) -> Mask:
        value = np.empty_like(x)
        for column, ats in groups:
            value[ats] = column.value(x[ats])
        # a function such as log has no value below its domain: that is its low end
        value = np.where(np.isnan(value), np.where(rising, -np.inf, np.inf), value)
        low: Mask = goes_left(value, threshold, single, strict) == rising
        return low

    biggest = np.finfo(np.float64).max
    low = _key(np.full(len(columns), -biggest))
    high = _key(np.full(len(columns), biggest))
    none, every = ~low_side(_unkey(low)), low_side(_unkey(high))
    for _ in range(64):  # invariant: low is on the low side, high is not
        middle = (low >> 1) + (high >> 1) + (low & high & 1)
        inside = low_side(_unkey(middle))
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    out = np.where(every, np.inf, np.where(none, -np.inf, _unkey(low)))
    return out, rising


def flatten(encoder: Encoder, trees: EncodedTrees) -> FlatForest:
    """Move every split to raw units and put siblings next to each other."""
    splits = _RawSplits(encoder, trees)
    n, inner = len(trees.column), trees.left >= 0
    left = np.where(splits.swap, trees.right, trees.left)
    right = np.where(splits.swap, trees.left, trees.right)
    # children of the k-th inner node of a tree go to places 1 + 2k and 2 + 2k after its root
    place = np.empty(n, np.int64)
    for root, end in zip(trees.roots, np.append(trees.roots[1:], n), strict=True):
        place[root] = root
        own = np.arange(root, end)[inner[root:end]]
        spots = root + 1 + 2 * np.arange(len(own))
        place[left[own]] = spots
        place[right[own]] = spots + 1
    back = np.empty(n, np.int64)
    back[place] = np.arange(n)
    leaf = np.full(n, -1, np.int64)
    leaf[~inner] = np.arange(int((~inner).sum()))
    return FlatForest(
        splits.feature[back],
        splits.threshold[back],
        np.where(inner, place[np.maximum(left, 0)], -1)[back],
        np.where(inner, place[np.maximum(right, 0)], -1)[back],
        splits.missing_left[back],
        splits.level_set[back],
        np.array(splits.left_levels, bool).reshape(len(splits.left_levels), splits.widest),
        leaf[back],
        trees.value[~inner],
        trees.roots,
        trees.base,
        1.0 / trees.divisor,
        trees.link if trees.link in ("logistic", "softmax") else "identity",
    )


class _RawSplits:
    """Splits on raw features, one entry a node: see `FlatForest`. swap: its children change places."""

    def __init__(self, encoder: Encoder, trees: EncodedTrees) -> None:
        self.encoder, self.trees, n = encoder, trees, len(trees.column)
        self.feature, self.threshold = np.full(n, -1, np.int64), np.full(n, np.nan)
        self.level_set = np.full(n, -1, np.int64)
        self.missing_left, self.swap = np.zeros(n, bool), np.zeros(n, bool)
        self.widest = int(encoder.schema.n_levels.max(initial=0)) + 1
        self.left_levels: list[Mask] = []
        self._known: dict[bytes, int] = {}
        split = np.flatnonzero(trees.left >= 0)
        if trees.column[split].max(initial=-1) >= encoder.width:
            raise NotRead("the trees split on more columns than the preprocessing gives")
        numeric = np.array([c.table is None for c in encoder.columns], bool)[trees.column[split]]
        if numeric.any():
            self._numeric(split[numeric])
        self._levels(split[~numeric])

    def _numeric(self, at: Ints) -> None:
        trees = self.trees
        columns = [self.encoder.columns[e] for e in trees.column[at]]
        raw, rising = raw_thresholds(columns, trees.threshold[at], trees.single, trees.strict)
        self.feature[at] = [c.feature for c in columns]
        filled = np.array([c.missing for c in columns])
        left = np.where(
            np.isnan(filled),
            trees.missing_left[at],
            goes_left(filled, trees.threshold[at], trees.single, trees.strict),
        )
        self.threshold[at], self.swap[at] = raw, ~rising
        self.missing_left[at] = left == rising

    def _levels(self, split: Ints) -> None:
        trees, schema = self.trees, self.encoder.schema
        sides: dict[tuple[int, float, bool], Mask] = {}
        for i in split:
            e, threshold, missing = int(trees.column[i]), trees.threshold[i], bool(trees.missing_left[i])
            column = self.encoder.columns[e]
            key = (e, float(threshold), missing)
            if key not in sides:
                left = goes_left(column.table, threshold, trees.single, trees.strict)
                sides[key] = np.where(np.isnan(column.table), missing, left)
            self.feature[i] = max(column.feature, 0)
            if column.feature >= 0:
                self.level_set[i] = self._set_of(sides[key])
                continue
            self.swap[i] = not sides[key][0]  # always the same way: hang it on a feature and ignore that
            if schema.has_levels[0]:
                self.level_set[i] = self._set_of(np.ones(int(schema.n_levels[0]) + 1, bool))
            else:
                self.threshold[i], self.missing_left[i] = np.inf, True

    def _set_of(self, left: Mask) -> int:
        """Row of `left_levels` for the levels that go left."""
        full = np.zeros(self.widest, bool)
        full[: len(left)] = left
        key = full.tobytes()
        if key not in self._known:
            self._known[key] = len(self.left_levels)
            self.left_levels.append(full)
        return self._known[key]
