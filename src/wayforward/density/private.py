"""Made-up people in the place of observed ones, by differentially private clusters.

Two things are read off the table, with Gaussian noise: how many people lie in public bins of each feature, which turns
values into ranks, and, in ranks, counts and sums of clusters, a few rounds of Lloyd's algorithm. People are drawn
around the centres from what was released, which costs no more privacy. Neighbours are tables with one person more.

Sources: J. Dong, A. Roth, W. J. Su (2022), Gaussian differential privacy, J. R. Stat. Soc. B 84(1); B. Balle, Y.-X.
Wang (2018), Improving the Gaussian mechanism for differential privacy, ICML; D. Su, J. Cao, N. Li, E. Bertino, H. Jin
(2016), Differentially private k-means clustering, CODASPY.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr

from wayforward.errors import ProblemError, is_number, is_whole, require_kind, shown, suggest
from wayforward.schema import Schema
from wayforward.shapes import Floats, People, Rows
from wayforward.streams import generator

_BINS, _NARROWEST = (
    32,
    1e-4,
)  # bins of a number; the first one's width as a share of the range, by and by wider
_MOST = {"n": 1_000_000, "clusters": 10_000, "rounds": 1_000}
_OF_RANKS, _OF_COUNTS = 0.25, 0.2  # shares of the budget: of the bins; of a round, of its counts


def delta_of(mu: float, epsilon: float) -> float:
    """Return the least delta at which Gaussian noise of `mu` (sensitivity by sigma) is (epsilon, delta)-private."""
    a, b = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
    return float(np.exp(log_ndtr(a)) - np.exp(epsilon + log_ndtr(b)))


def mu_of(epsilon: float, delta: float) -> float:
    """Return the greatest `mu` that is (epsilon, delta)-private."""
    return float(brentq(lambda mu: delta_of(mu, epsilon) - delta, 1e-9, 100.0, xtol=1e-13, rtol=1e-13))


@dataclass
class Accountant:
    """A budget of privacy, in squares of `mu`, which add up exactly for one Gaussian release after another.

    Raises: ProblemError for no budget, and for a release beyond it.
    """

    epsilon: float
    delta: float
    spent: float = field(default=0.0, init=False)  # of the whole, from 0 to 1

    def __post_init__(self) -> None:
        for name, value, least, most in (("epsilon", self.epsilon, 0, 50), ("delta", self.delta, 0, 0.5)):
            if not is_number(value) or not least < value <= most:
                raise ProblemError(
                    f"{name}={shown(value)} is no budget of privacy. Use above {least}, up to {most}."
                )
        self.mu = mu_of(self.epsilon, self.delta)

    def sigma(self, sensitivity: float, share: float) -> float:
        """Spend a share of the budget; return the deviation of the noise for a release of this sensitivity (L2)."""
        if not 0 < share <= 1 - self.spent + 1e-9:
            raise ProblemError(
                f"A release would spend {share:.3g} of a budget of privacy of which {1 - self.spent:.3g} is left."
            )
        self.spent += share
        return float(sensitivity / (self.mu * np.sqrt(share)))


def private_people(
    schema: Schema, rows: People, epsilon: float, *, delta: float = 1e-6, n: int = 1000, clusters: int = 16,
    rounds: int = 4, width: float = 0.1, bounds: Mapping[str, tuple[float, float]] | None = None,
    seed: int | None = None,
) -> Rows:  # fmt: skip
    """Observed people (N, d) -> n made-up people (n, d), (epsilon, delta)-differentially private towards the table.

    clusters, rounds: of Lloyd's algorithm. width: how far people lie from a centre, in ranks from 0 to 1. bounds:
    public {name: (low, high)} of numbers whose bounds the schema read off the table. seed: of the noise; whoever knows
    it can take the noise away, so leave it out but in tests. Each call spends the budget again: call it once.
    Raises: ProblemError for bounds that are not public.
    """
    check_noise_seed(seed)
    for name, value in (("n", n), ("clusters", clusters), ("rounds", rounds)):
        if not is_whole(value, 1, _MOST[name]):
            raise ProblemError(
                f"{name}={shown(value)} cannot be used. Give a whole number from 1 to {_MOST[name]:,}."
            )
    require_kind(schema, Schema, "schema", ProblemError)
    check_bounds(bounds, schema)
    if not is_number(width) or not 0 <= width <= 1:
        raise ProblemError(f"width={shown(width)} is no distance in ranks. Use 0 to 1, such as 0.1.")
    if (
        not isinstance(rows, np.ndarray)
        or rows.ndim != 2
        or rows.shape[1] != schema.d
        or rows.dtype != np.float64
    ):
        rows = schema.read(rows)[0]
    budget, rng = Accountant(epsilon, delta), generator(seed)
    low, high = _public(schema, bounds or {})
    number, d = ~schema.has_levels, schema.d
    edges = [
        _edges(low[j], high[j]) if number[j] else np.arange(schema.n_levels[j] + 1) - 0.5 for j in range(d)
    ]
    x = np.where(number, np.clip(rows, low, high), rows)
    noise = budget.sigma(np.sqrt(d), _OF_RANKS)  # a person stands in one bin of each feature
    counts = [
        np.maximum(
            np.histogram(x[:, j][~np.isnan(x[:, j])], edges[j])[0] + rng.normal(0, noise, len(edges[j]) - 1),
            1,
        )
        for j in range(d)
    ]
    ranks = [np.append(0.0, np.cumsum(c) / c.sum()) for c in counts]
    points, own = _ranked(x, edges, ranks, number)
    centre, size = _clusters(points, own, number, clusters, rounds, budget, rng, counts)
    return _drawn(schema, centre, size, own, number, edges, ranks, low, high, n, width, rng)


def check_bounds(bounds: object, schema: Schema | None = None) -> None:
    """Raise ProblemError for what is no {name: (low, high)} of numbers (of a schema); None is left out."""
    if bounds is None:
        return
    if not isinstance(bounds, Mapping):
        raise ProblemError(f"bounds={shown(bounds)} are none. Give {{name: (low, high)}}.")
    for name, ends in bounds.items():
        pair = isinstance(ends, (tuple, list)) and len(ends) == 2 and all(is_number(end) for end in ends)
        if not isinstance(name, str) or not pair:
            raise ProblemError(
                f"bounds holds {shown(name)}: {shown(ends)}, no numbers (low, high) of a feature."
            )
        if schema is not None and (name not in schema.names or schema[name].has_levels):
            raise ProblemError(
                f"bounds has an entry for '{name}', which is no number of the schema.{suggest(name, schema.names)}"
            )


def check_noise_seed(seed: object) -> None:
    """Raise ProblemError for what is no seed of the noise; None: new noise each time."""
    if seed is not None and not is_whole(seed, most=2**128):
        raise ProblemError(
            f"The seed of the noise, {shown(seed)}, is no whole number of 0 or more. Leave it out for new noise."
        )


def _public(schema: Schema, bounds: Mapping[str, tuple[float, float]]) -> tuple[Floats, Floats]:
    low, high = schema.low.astype(float).copy(), schema.high.astype(float).copy()
    for j, feature in enumerate(schema.features):
        if feature.has_levels:
            low[j], high[j] = 0, feature.n_levels - 1
        elif feature.name in bounds:
            low[j], high[j] = bounds[feature.name]
        elif feature.bounds == "observed" or feature.carried or not np.isfinite(high[j] - low[j]):
            raise ProblemError(
                f"The bounds of '{feature.name}' were read off the table, so they are not public. Declare them "
                f"(schema.revise({feature.name}={{'bounds': 'declared', 'low': ..., 'high': ...}})), or give bounds."
            )
        if not low[j] <= high[j]:
            raise ProblemError(f"'{feature.name}' has the bounds {low[j]:g} and {high[j]:g}. Swap the two.")
    return low, high


def _edges(low: float, high: float) -> Floats:
    """Public bins of a number, by and by wider: most of what people have and owe lies near the low end."""
    grown = np.expm1(np.linspace(0, np.log1p(1 / _NARROWEST), _BINS + 1)) * _NARROWEST
    return np.asarray(low + (high - low if high > low else 1.0) * grown)


def _ranked(
    x: Rows, edges: list[Floats], ranks: list[Floats], number: np.ndarray
) -> tuple[Floats, list[slice]]:
    """(N, D) points of which each feature adds at most 1/4 to the square of the length, and each feature's columns."""
    columns: list[Floats] = []
    own: list[slice] = []
    for j in range(len(number)):
        start = sum(c.shape[1] for c in columns)
        if number[j]:
            part = np.nan_to_num(np.interp(x[:, j], edges[j], ranks[j]) - 0.5)[:, None]
        else:
            part = 0.5 * (x[:, j][:, None] == np.arange(len(edges[j]) - 1))
        columns.append(part)
        own.append(slice(start, start + part.shape[1]))
    return np.concatenate(columns, axis=1), own


def _clusters(
    points: Floats, own: list[slice], number: np.ndarray, k: int, rounds: int, budget: Accountant,
    rng: np.random.Generator, counts: list[Floats],
) -> tuple[Floats, Floats]:  # fmt: skip
    """(k, D) centres and (k,) sizes, both noisy."""
    reach = 0.5 * np.sqrt(len(own))  # L2 sensitivity of the sums
    centre = np.empty((k, points.shape[1]))
    for j, at in enumerate(own):
        centre[:, at] = rng.uniform(-0.5, 0.5, (k, 1)) if number[j] else 0.5 * counts[j] / counts[j].sum()
    share, size = (1 - _OF_RANKS) / rounds, np.ones(k)
    for _ in range(rounds):
        near = ((centre**2).sum(1) - 2 * points @ centre.T).argmin(1)
        sums = np.zeros_like(centre)
        np.add.at(sums, near, points)
        size = np.bincount(near, minlength=k) + rng.normal(0, budget.sigma(1.0, _OF_COUNTS * share), k)
        sigma = budget.sigma(reach, (1 - _OF_COUNTS) * share)
        sums += rng.normal(0, sigma, sums.shape)
        large = size > 2 * sigma  # a smaller cluster's centre would be noise: it stays where it was
        centre[large] = np.clip(sums[large] / size[large, None], -0.5, 0.5)
    return centre, np.maximum(size, 0)


def _drawn(
    schema: Schema, centre: Floats, size: Floats, own: list[slice], number: np.ndarray, edges: list[Floats],
    ranks: list[Floats], low: Floats, high: Floats, n: int, width: float, rng: np.random.Generator,
) -> Rows:  # fmt: skip
    weight = size if size.sum() > 0 else np.ones(len(size))
    which = rng.choice(len(centre), n, p=weight / weight.sum())
    out = np.empty((n, len(own)))
    for j, at in enumerate(own):
        part = centre[which][:, at]
        if number[j]:
            rank = np.clip(part[:, 0] + rng.normal(0, abs(width), n) + 0.5, 0, 1)
            out[:, j] = np.interp(rank, ranks[j], edges[j])
        else:
            chance = np.cumsum(np.maximum(part, 1e-9), axis=1)
            out[:, j] = (rng.uniform(size=(n, 1)) * chance[:, -1:] > chance).sum(1)
    return np.asarray(np.clip(schema.round(np.clip(out, low, high)), low, high))


__all__ = ["Accountant", "delta_of", "mu_of", "private_people"]
