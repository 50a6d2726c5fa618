"""Who beats whom in several objectives, for many people at once: fronts, crowding, and archives that only get better.

Source: K. Deb, A. Pratap, S. Agarwal, T. Meyarivan (2002), A Fast and Elitist Multiobjective Genetic Algorithm:
NSGA-II, IEEE TEC 6(2).
"""

from __future__ import annotations

import numpy as np

from wayforward.methods.engines.population import Individuals, repeated
from wayforward.shapes import Floats, Ints, Mask


def beats(value: Floats) -> Mask:
    """(n, P, P) bool: the first is as good in every objective (n, P, o), less is better, and better in one."""
    n, p, _ = value.shape
    as_good, better = np.ones((n, p, p), dtype=bool), np.zeros((n, p, p), dtype=bool)
    for one in np.moveaxis(value, 2, 0):
        as_good &= one[:, :, None] <= one[:, None, :]
        better |= one[:, :, None] < one[:, None, :]
    return np.asarray(as_good & better)


def fronts(value: Floats, there: Mask) -> Ints:
    """(n, P) the front of each place that is there (n, P): 0 where nobody beats it, 1 where only front 0 does, ..."""
    beaten = beats(value) & there[:, :, None]
    rank, left = np.full(there.shape, value.shape[1]), there.copy()
    for front in range(value.shape[1]):
        if not left.any():
            break
        first = left & ~(beaten & left[:, :, None]).any(1)
        rank[first] = front
        left &= ~first
    return rank


def crowding(value: Floats, rank: Ints) -> Floats:
    """(n, P) how far the neighbours in its front lie apart in all objectives (n, P, o) together; inf at the ends."""
    far = np.zeros(rank.shape)
    for one in np.moveaxis(value, 2, 0):
        order = np.lexsort((one, rank), axis=1)
        ranked, front = np.take_along_axis(one, order, 1), np.take_along_axis(rank, order, 1)
        inner = (front[:, 2:] == front[:, 1:-1]) & (front[:, :-2] == front[:, 1:-1])
        with np.errstate(invalid="ignore"):
            wide = np.nanmax(np.where(np.isfinite(one), one, -np.inf), 1) - one.min(1)
            gap = (ranked[:, 2:] - ranked[:, :-2]) / np.where(wide > 0, wide, 1.0)[:, None]
        part = np.full(rank.shape, np.inf)
        part[:, 1:-1] = np.where(inner, gap, np.inf)
        np.put_along_axis(far, order, np.take_along_axis(far, order, 1) + part, 1)
    return far


def best_first(herd: Individuals, value: Floats, gap: Floats) -> Ints:
    """(q, P) places of candidates, best first: by fronts and crowding, then those that do not turn the decision, whose
    objectives value (q, P, o) are inf, by what they lack, gap (q, P)."""
    there = herd.there & ~repeated(herd.key, np.zeros(herd.key.shape))
    good = np.isfinite(value).all(2) & there
    rank = fronts(np.where(good[:, :, None], value, np.inf), good)
    far = crowding(value, np.where(good, rank, -1))
    key = np.where(good, -np.nan_to_num(far, posinf=1e9, nan=0.0), gap)
    late = np.where(there, np.where(good, rank, rank.shape[1] + 1), rank.shape[1] + 2)
    return np.lexsort((key, late), axis=1)


class Front:
    """Of each person, up to so many different options that none of those seen beats.

    What is in stays until something beats it, and what beats it comes in its place, so that the volume that the
    options dominate never falls. found: the options; value (n, size, o): their objectives, inf in empty places.
    """

    def __init__(self, n: int, size: int, d: int, objectives: int) -> None:
        none = np.full((n, size), np.inf)
        nothing = np.full((n, size, d), np.nan)
        self.found = Individuals(
            nothing, -none, none, np.zeros((n, size), bool), np.zeros((n, size), np.int64)
        )
        self.value = np.full((n, size, objectives), np.inf)

    def add(self, at: Ints, found: Individuals, value: Floats) -> None:
        """Let candidates (q, P) of people at (q,) in, by their objectives (q, P, o); inf where they are no options."""
        size = self.value.shape[1]
        both = self.found.take(at).and_also(found)
        worth = np.concatenate([self.value[at], value], axis=1)
        place = np.arange(worth.shape[1])
        old, there = place < size, np.isfinite(worth).all(2)
        there &= ~repeated(np.where(there, both.key, -1 - place), np.where(there, 0.0, 1.0))
        wins = beats(np.where(there[:, :, None], worth, np.inf)) & there[:, :, None]
        stays = there & ~wins.any(1)
        heir = (wins[:, :, :size] & there[:, None, :size]).any(2) & stays & ~old
        spread = crowding(np.where(stays[:, :, None], worth, np.inf), np.where(stays, 0, 1))
        sure = stays & (old | heir)
        key = np.where(sure, -np.inf, np.where(stays, -np.nan_to_num(spread, posinf=1e9), np.inf))
        place = np.argsort(key, axis=1, kind="stable")[:, :size]
        full = sure.sum(1) > size  # more heirs than places: as it was, which loses nothing
        place[full] = np.arange(size)
        out, worth = both.at(place), np.take_along_axis(worth, place[:, :, None], 1)
        gone = ~np.take_along_axis(stays, place, 1) & ~full[:, None]
        out.action[gone], worth[gone] = np.nan, np.inf
        out.reached[gone] = False
        for whole, part in zip(self.found, out, strict=True):
            whole[at] = part
        self.value[at] = worth

    def options(self, k: int) -> Floats:
        """(n, k, d) the cheapest option of each person; with k above 1 those that lie far apart, the ends first."""
        cost = np.where(self.there, self.found.cost, np.inf)
        apart = -crowding(self.value, np.where(self.there, 0, 1))
        best = np.where(self.there, apart, np.inf) if k > 1 else cost
        order = np.lexsort((cost, best), axis=1)[:, :k]
        out = np.full((len(order), k, self.found.action.shape[2]), np.nan)
        out[:, : order.shape[1]] = self.found.at(order).action
        return out

    @property
    def there(self) -> Mask:
        """(n, size) bool: places that hold an option."""
        return np.asarray(np.isfinite(self.value).all(2))
