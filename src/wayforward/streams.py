"""Random numbers that belong to a person: the same alone, in any batch and in any order.

A person's stream is keyed by the seed and by the values of that person's own row, and every draw is a hash of
(key, tag, position), so whole populations draw at once without one generator object for each person.
Source of the mixing function: G. L. Steele, D. Lea and C. H. Flood (2014), Fast Splittable Pseudorandom Number
Generators, OOPSLA (SplitMix64).
"""

from __future__ import annotations

from functools import cached_property, lru_cache

import numpy as np

from wayforward.errors import DataError, is_integer, shown

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def _mix(z: np.ndarray) -> np.ndarray:
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)))


def generator(seed: int | None, *tags: int) -> np.random.Generator:
    """Return NumPy's generator of a seed, and of tags for what is drawn beside; of None another one each time.

    Raises: DataError for what is no seed.
    """
    if seed is None and not tags:
        return np.random.default_rng()
    if not (is_integer(seed) and seed >= 0):  # a list within itself would end the process
        raise DataError(f"seed={shown(seed)} is no seed. Give a whole number of 0 or more.")
    return np.random.default_rng([seed, *tags] if tags else seed)


def keys_of(x: np.ndarray, seed: int) -> np.ndarray:
    """(n, d) rows and a seed -> (n,) uint64 keys made of each row's own values."""
    plain = np.where(np.isnan(x), np.nan, x + 0.0)  # one kind of NaN, and 0.0 for -0.0
    bits = np.ascontiguousarray(plain, dtype=np.float64).view(np.uint64)
    with np.errstate(over="ignore"):
        start = np.asarray(np.uint64(seed % 2**64) * _GOLDEN + np.uint64(1))
        key = np.broadcast_to(_mix(start), (x.shape[0],)).copy()
        for j in range(x.shape[1]):
            key = _mix(key + _GOLDEN + bits[:, j])
    return key


class Streams:
    """One stream a person. Shapes: n people; `who` (m,) picks people, with repeats allowed.

    Example: ``Streams.of(x, seed=0).uniform(np.arange(len(x)), 3, tag=1)`` -> (n, 3) numbers in (0, 1).
    """

    def __init__(self, keys: np.ndarray | None, seed: int, x: np.ndarray | None = None) -> None:
        self.seed, self._x = seed, x
        if keys is not None:
            self.keys = keys

    @classmethod
    def of(cls, x: np.ndarray, seed: int) -> Streams:
        """Streams for the people in x (n, d), whose keys are made when somebody draws."""
        return cls(None, seed, x)

    @cached_property
    def keys(self) -> np.ndarray:
        """(n,) uint64 keys."""
        assert self._x is not None
        return keys_of(self._x, self.seed)

    def take(self, who: np.ndarray) -> Streams:
        """The streams of some of the people."""
        return Streams(self.keys[who], self.seed)

    def uniform(self, who: np.ndarray, *shape: int, tag: int = 0) -> np.ndarray:
        """(m, *shape) numbers in (0, 1); the same `tag` gives a person the same numbers again."""
        size = int(np.prod(shape)) if shape else 1
        with np.errstate(over="ignore"):
            base = _mix(self.keys[who] + _mix(np.asarray(np.uint64(tag) + _GOLDEN)))
            place = np.arange(1, size + 1, dtype=np.uint64) * _GOLDEN
            bits = _mix(base[:, None] + place[None, :])
        number = ((bits >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
        return number.reshape(len(who), *shape)

    def normal(self, who: np.ndarray, *shape: int, tag: int = 0) -> np.ndarray:
        """(m, *shape) standard normal numbers."""
        from scipy.special import ndtri

        return np.asarray(ndtri(self.uniform(who, *shape, tag=tag)))

    def generator(self, i: int, tag: int = 0) -> np.random.Generator:
        """A NumPy generator of one person, for work that is done one person at a time."""
        return np.random.default_rng([int(self.keys[i]), tag])


def spread(keys: np.ndarray, m: int, d: int) -> np.ndarray:
    """(q,) keys -> (m, q, d) numbers in (0, 1), evenly spread: m draws for each key, better than m independent ones.

    For every key and each of the d axes the m numbers lie one in each of m equal intervals (a Latin hypercube, in the
    order of a scrambled Sobol sequence), moved on round the circle by an offset that belongs to the key. Each single
    number is uniform, so shares and means over the draws are unbiased, and with one axis a share is exact to 1 / m.
    Source: A. B. Owen (1997), Monte Carlo Variance of Scrambled Net Quadrature, SIAM J. Numer. Anal. 34(5).
    """
    offset = Streams(keys, 0).uniform(np.arange(len(keys)), d, tag=0x5B)
    with np.errstate(over="ignore"):
        number = _places(m, d)[:, None, :] + offset
    number -= np.floor(number)
    return np.asarray(np.clip(number, 2.0**-53, 1 - 2.0**-53))


@lru_cache(maxsize=32)
def _places(m: int, d: int) -> np.ndarray:
    """(m, d): i / m for i = 0, ..., m - 1 along each axis, in the order of a Sobol sequence."""
    from scipy.stats import qmc

    sequence = qmc.Sobol(max(d, 1), scramble=True, seed=2026)
    point = sequence.random_base2(max(int(np.ceil(np.log2(max(m, 2)))), 1))[:m, :d]
    return np.asarray(point.argsort(0).argsort(0) / m)
