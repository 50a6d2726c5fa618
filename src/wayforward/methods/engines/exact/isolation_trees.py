"""A forest that decides and the isolation trees of a plausibility as one: what `forest_boxes` searches over."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from wayforward.model.forms import FlatForest
from wayforward.problem.plausibility import IsolationForest
from wayforward.problem.plausibility.isolation import BITS
from wayforward.shapes import Floats, Ints, People


class Ordinary(NamedTuple):
    """How ordinary an option must be: the isolation trees follow the first `trees` of a joined forest, and a path
    length counts `unit` there for each of its own units."""

    rule: IsolationForest
    trees: int
    unit: int

    @classmethod
    def of(cls, flat: FlatForest, rule: IsolationForest, size: int, unit: float) -> Ordinary:
        """Read it off a forest, the power of two that path lengths have beside it (`joined`), and its unit."""
        return cls(rule, len(flat.roots), 1 << (size + int(np.rint(np.log2(flat.scale / unit))) - BITS))

    def least(self, x: People) -> Ints:
        """(n,) the least sum over the isolation trees that is plausible for each person (n, d)."""
        return self.unit * self.rule.least_sums(x)


def joined(flat: FlatForest, rule: IsolationForest, mix: Floats) -> tuple[FlatForest, int]:
    """Return a forest with the isolation trees behind its own, and the power of two that path lengths have in it: they
    add up to no more than its own leaves, which keep their precision. mix (q,): what its leaves are weighted with."""
    other = rule.forest
    assert other is not None
    at, leaves, sets = len(flat.feature), len(flat.value), len(flat.left_levels)
    own = len(flat.roots) * float(np.abs(flat.value @ mix).max())
    paths = len(other.roots) * float(other.value.max())
    size = int(np.floor(np.log2(own / paths))) if own > 0 and paths > 0 else 0
    value = np.zeros((len(other.value), flat.value.shape[1]))
    main = int(np.abs(mix).argmax())
    value[:, main] = np.ldexp(other.value[:, 0], size) / mix[main]
    width = max(flat.left_levels.shape[1], other.left_levels.shape[1])
    levels = [
        np.pad(part, ((0, 0), (0, width - part.shape[1]))) for part in (flat.left_levels, other.left_levels)
    ]

    def moved(index: Ints, by: int) -> Ints:
        return np.where(index >= 0, index + by, -1)

    return FlatForest(
        np.concatenate([flat.feature, other.feature]), np.concatenate([flat.threshold, other.threshold]),
        np.concatenate([flat.left, moved(other.left, at)]), np.concatenate([flat.right, moved(other.right, at)]),
        np.concatenate([flat.missing_left, other.missing_left]),
        np.concatenate([flat.level_set, moved(other.level_set, sets)]), np.concatenate(levels),
        np.concatenate([flat.leaf, moved(other.leaf, leaves)]), np.concatenate([flat.value, value]),
        np.concatenate([flat.roots, other.roots + at]), flat.base, flat.scale, flat.link,
    ), size  # fmt: skip
