"""Profiles that are as hard to single out as accepted people: the mean path length of an isolation forest."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from wayforward.model.forms import FlatForest
from wayforward.model.trees import CompiledForest, compile_forest
from wayforward.problem.plausibility.base import TOLERANCE, Plausibility, share_of_one, whole
from wayforward.shapes import Floats, Ints, People, Rows
from wayforward.streams import generator

if TYPE_CHECKING:
    from wayforward.schema import Schema

BITS = 12  # path lengths are whole multiples of 2**-BITS, so that sums of them are exact


@dataclass(frozen=True, eq=False)
class IsolationForest(Plausibility):
    """No outlier: random splits among accepted people take as long to single a profile out as they do for most of them.

    The score is the mean path length over trees that are grown on `sample` accepted people each: at every node a random
    feature in which these differ, and a random value between their least and their greatest (a random part of the
    levels of a category). Paths end at the depth log2(sample); a leaf of several people counts as deep as a tree of
    so many is on average. The threshold is the `quantile` of the accepted people's own. `ocean` and `local-search`
    know these trees: against forests their answers are the cheapest that are plausible, proved.

    Source: F. T. Liu, K. M. Ting, Z.-H. Zhou (2008), Isolation Forest, ICDM; as a constraint: A. Parmentier, T. Vidal
    (2021), Optimal Counterfactual Explanations in Tree Ensembles, ICML, arXiv:2106.06631, whose outliers are a tenth.
    """

    name: ClassVar[str] = "isolation-forest"
    quantile: float = 0.1
    trees: int = 100
    sample: int = 256
    forest: FlatForest | None = field(default=None, init=False, repr=False)
    _compiled: CompiledForest | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        share_of_one(self, "quantile")
        whole(self, "trees", 1)
        whole(self, "sample", 2)

    def describe(self) -> str:
        """The rule in words."""
        return (
            f"as hard to single out by random splits as {1 - self.quantile:.0%} of accepted people, or at least as the "
            "person today"
        )

    def least_sums(self, x: People) -> Ints:
        """(n,) the least sum of path lengths over trees, in units of 2**-BITS, that is plausible for each person."""
        floor = self.floor(x)
        return np.asarray(np.ceil((floor - TOLERANCE * np.abs(floor)) * np.ldexp(self.trees, BITS)), np.int64)

    def _learn(self, schema: Schema, known: Floats) -> None:
        forest = grow(schema, known, self.trees, self.sample, self.seed)
        self._set(forest=forest, _compiled=compile_forest(forest, schema, BITS))
        self._set(threshold=float(np.quantile(self._score(known), self.quantile, method="inverted_cdf")))

    def _score(self, rows: Floats) -> Floats:
        assert self._compiled is not None
        return np.asarray(self._compiled.sums(rows)[:, 0] / np.ldexp(self.trees, BITS))


def grow(schema: Schema, known: Rows, trees: int, sample: int, seed: int) -> FlatForest:
    """Grow isolation trees on people known (N, d), all trees at once, one depth after another; the value of a leaf is
    the path length that it stands for, a multiple of 2**-BITS."""
    rng, size = generator(seed), min(sample, len(known))
    pick = np.concatenate([rng.choice(len(known), size, replace=False) for _ in range(trees)])
    rows, at = (
        known[pick],
        np.repeat(np.arange(trees), size),
    )  # (m, d) the people still walking, and their nodes
    tree, n_levels = np.arange(trees), schema.n_levels.astype(np.int64)
    widest = int(n_levels.max(initial=0)) + 1
    feature, threshold = [np.full(trees, -1, np.int64)], [np.full(trees, np.nan)]
    left, gone_left = [np.full(trees, -1, np.int64)], [np.zeros(trees, dtype=bool)]
    length, tree_of, sides = [np.zeros(trees)], [tree], [np.zeros((trees, widest), dtype=bool)]
    limit, begin = int(np.ceil(np.log2(max(size, 2)))), 0
    for depth in range(limit + 1):
        here = len(feature[-1])  # nodes of this depth, numbered from `begin`; every one holds people
        order = np.argsort(at, kind="stable")
        rows, at = rows[order], at[order] - begin
        starts = np.searchsorted(at, np.arange(here))
        length[-1][:] = depth + _average_depth(np.bincount(at, minlength=here))
        least, most = np.fmin.reduceat(rows, starts), np.fmax.reduceat(rows, starts)
        can = (most > least) & ~schema.carried
        split = can.any(1) & (depth < limit)
        if not split.any():
            break
        rank = np.floor(rng.random(here) * can.sum(1)).astype(np.int64)
        j = np.where(split, (can.cumsum(1) > rank[:, None]).argmax(1), 0)
        value = rows[np.arange(len(rows)), j[at]]
        keys = np.where(schema.is_categorical[j, None], rng.random((here, widest)), np.arange(widest))
        category = schema.is_categorical[j][at] & ~np.isnan(value)
        value[category] = keys[at[category], value[category].astype(np.int64)]
        low, high = np.fmin.reduceat(value, starts), np.fmax.reduceat(value, starts)
        cut = np.minimum(low + rng.random(here) * (high - low), np.nextafter(high, -np.inf))
        side = rng.random(here) < 0.5  # of who has no value there
        feature[-1] = np.where(split, j, -1)
        threshold[-1], gone_left[-1] = np.where(schema.has_levels[j], np.nan, cut), side
        sides[-1] = keys <= cut[:, None]
        sides[-1][np.arange(here), np.minimum(n_levels[j], widest - 1)] = side
        child = begin + here + 2 * (np.cumsum(split) - 1)
        left[-1] = np.where(split, child, -1)
        goes_left = np.where(np.isnan(value), side[at], value <= cut[at])
        stays = split[at]
        rows, at = rows[stays], (child[at] + ~goes_left)[stays]
        begin, new = begin + here, 2 * int(split.sum())
        for part, empty in ((feature, -1), (left, -1), (threshold, np.nan), (length, 0.0)):
            part.append(np.full(new, empty))
        gone_left.append(np.zeros(new, dtype=bool))
        sides.append(np.zeros((new, widest), dtype=bool))
        tree_of.append(np.repeat(tree_of[-1][split], 2))
    return _forest(schema, feature, threshold, left, gone_left, sides, length, np.concatenate(tree_of))


def _forest(
    schema: Schema, feature: list[Ints], threshold: list[Floats], left: list[Ints], gone_left: list[np.ndarray],
    sides: list[np.ndarray], length: list[Floats], tree_of: Ints,
) -> FlatForest:  # fmt: skip
    """Put the nodes of all depths in the order of trees, siblings next to each other."""
    order = np.argsort(tree_of, kind="stable")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    split = np.concatenate(feature)[order].astype(np.int64)
    child = np.concatenate(left)[order].astype(np.int64)
    child = np.where(split >= 0, place[np.maximum(child, 0)], -1)
    inner = split >= 0
    level = inner & schema.has_levels[split]
    return FlatForest(
        split, np.concatenate(threshold)[order], child, np.where(inner, child + 1, -1),
        np.concatenate(gone_left)[order], np.where(level, np.cumsum(level) - 1, -1),
        np.concatenate(sides)[order][level], np.where(inner, -1, np.cumsum(~inner) - 1),
        np.rint(np.ldexp(np.concatenate(length)[order][~inner], BITS))[:, None] / 2.0**BITS,
        np.flatnonzero(np.diff(tree_of[order], prepend=-1)), np.zeros(1), 1.0, "identity",
    )  # fmt: skip


def _average_depth(n: Ints) -> Floats:
    """Mean depth at which a random tree of n people ends: 0 for one, 2 H(n - 1) - 2 (n - 1) / n."""
    harmonic = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, max(int(n.max(initial=1)), 2)))])
    return np.where(n > 1, 2.0 * harmonic[np.maximum(n - 1, 0)] - 2.0 * (n - 1) / np.maximum(n, 1), 0.0)
