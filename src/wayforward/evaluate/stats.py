"""Numbers with their uncertainty: rates by Wilson, means and gaps by a seeded bootstrap."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from wayforward.public import public
from wayforward.shapes import Floats, Mask
from wayforward.streams import generator

# Above this many values the percentile bootstrap and the normal interval of a mean agree to three
# digits, and a thousand resamples would cost seconds for nothing.
NORMAL_ABOVE = 20_000


@public
@dataclass(frozen=True)
class Estimate:
    """A number, its 95 % interval and how many values stand behind it.

    `n` is the denominator: people for a rate, finite values for a mean. With n = 0 the value and the
    interval are NaN: there was nothing to measure, which is not the same as zero.
    """

    value: float
    low: float
    high: float
    n: int
    median: float = float("nan")
    std: float = float("nan")

    def to_dict(self) -> dict[str, float | int | None]:
        """Plain values for JSON; NaN and infinity become null."""
        raw = {
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "median": self.median,
            "std": self.std,
        }
        return {name: (v if np.isfinite(v) else None) for name, v in raw.items()} | {"n": self.n}


NOTHING = Estimate(float("nan"), float("nan"), float("nan"), 0)


def wilson(hits: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """The Wilson score interval of a rate, in [0, 1]; it stays honest at 0 and at 1.

    Source: E. B. Wilson (1927), J. Am. Stat. Assoc. 22(158).
    """
    if n <= 0:
        return float("nan"), float("nan")
    z = _normal_quantile(0.5 + level / 2)
    share = hits / n
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    # At 0 and 1 the closed form touches the end exactly; floating point may miss it by one ulp.
    low = 0.0 if hits == 0 else float(middle - half)
    high = 1.0 if hits == n else float(middle + half)
    return low, high


def rate(hit: np.ndarray, among: np.ndarray | None = None, level: float = 0.95) -> Estimate:
    """Share of True in `hit` (n,), over the rows where `among` (n,) holds, with a Wilson interval."""
    hit = np.asarray(hit, dtype=bool)
    chosen = hit if among is None else hit[np.asarray(among, dtype=bool)]
    n = int(chosen.size)
    if n == 0:
        return NOTHING
    hits = int(chosen.sum())
    low, high = wilson(hits, n, level)
    share = hits / n
    return Estimate(share, low, high, n, float(share > 0.5), float(np.sqrt(share * (1 - share))))


def mean(values: np.ndarray, *, seed: int = 0, resamples: int = 1000, level: float = 0.95) -> Estimate:
    """Mean of the finite entries of `values` (n,), with a bootstrap interval; see `means`."""
    return means({"value": values}, seed=seed, resamples=resamples, level=level)["value"]


def means(
    values: Mapping[str, np.ndarray], *, seed: int = 0, resamples: int = 1000, level: float = 0.95
) -> dict[str, Estimate]:
    """Means of many per-person arrays (n,) over their finite entries, from the same resamples.

    One set of resampled people serves every metric, so metrics stay comparable within a resample and
    the random draws are paid once. Above 20,000 people the normal interval is used instead.

    Source: B. Efron & R. Tibshirani (1993), An Introduction to the Bootstrap, chapter 13 (percentile).
    """
    names = list(values)
    if not names:
        return {}
    table = np.stack([np.asarray(values[name], dtype=np.float64) for name in names], axis=1)  # (n, m)
    finite = np.isfinite(table)
    filled = np.where(finite, table, 0.0)
    n = table.shape[0]
    counts = finite.sum(0)
    centre = _divide(filled.sum(0), counts)
    spread = np.sqrt(_divide((np.where(finite, table - centre, 0.0) ** 2).sum(0), counts))
    if n == 0:
        return dict.fromkeys(names, NOTHING)
    if n > NORMAL_ABOVE or resamples <= 0:
        half = _normal_quantile(0.5 + level / 2) * spread / np.sqrt(np.maximum(counts, 1))
        low, high = centre - half, centre + half
    else:
        drawn = _resampled_means(filled, finite, generator(seed), resamples)  # (b, m)
        low, high = _quantiles(drawn, level)
    out = {}
    for j, name in enumerate(names):
        if counts[j] == 0:
            out[name] = NOTHING
            continue
        middle = float(np.median(table[finite[:, j], j]))
        # A resample can only move within the sample: with one value the interval is that value.
        out[name] = Estimate(
            float(centre[j]), float(low[j]), float(high[j]), int(counts[j]), middle, float(spread[j])
        )
    return out


def mean_difference(
    first: np.ndarray,
    second: np.ndarray,
    *,
    seed: int = 0,
    resamples: int = 1000,
    level: float = 0.95,
) -> Estimate:
    """mean(first) - mean(second) over finite entries; both groups are resampled within themselves.

    Shapes: first (n1,), second (n2,). `n` of the result counts both groups together.
    """
    a = np.asarray(first, dtype=np.float64)
    b = np.asarray(second, dtype=np.float64)
    a, b = a[np.isfinite(a)], b[np.isfinite(b)]
    if a.size == 0 or b.size == 0:
        return Estimate(float("nan"), float("nan"), float("nan"), int(a.size + b.size))
    value = float(a.mean() - b.mean())
    if max(a.size, b.size) > NORMAL_ABOVE or resamples <= 0:
        half = _normal_quantile(0.5 + level / 2) * np.sqrt(a.var() / a.size + b.var() / b.size)
        return Estimate(value, value - float(half), value + float(half), int(a.size + b.size))
    rng = generator(seed)
    ones_a, ones_b = np.ones((a.size, 1), dtype=bool), np.ones((b.size, 1), dtype=bool)
    drawn = _resampled_means(a[:, None], ones_a, rng, resamples) - _resampled_means(
        b[:, None], ones_b, rng, resamples
    )
    low, high = _quantiles(drawn, level)
    return Estimate(value, float(low[0]), float(high[0]), int(a.size + b.size))


def _resampled_means(filled: Floats, finite: Mask, rng: np.random.Generator, resamples: int) -> Floats:
    """Means of columns under resampling of rows: (n, m), (n, m) -> (resamples, m)."""
    n, m = filled.shape
    stacked = np.concatenate([filled, finite.astype(np.float64)], axis=1)  # sums and counts in one product
    out = np.empty((resamples, m))
    block = max(1, 2_000_000 // max(n, 1))
    for start in range(0, resamples, block):
        size = min(block, resamples - start)
        drawn = rng.integers(0, n, size=(size, n))
        flat = (drawn + np.arange(size)[:, None] * n).ravel()
        times = np.bincount(flat, minlength=size * n).reshape(size, n).astype(np.float64)
        sums = times @ stacked
        out[start : start + size] = _divide(sums[:, :m], sums[:, m:])
    return out


def _quantiles(drawn: Floats, level: float) -> tuple[Floats, Floats]:
    tail = (1 - level) / 2
    out_low, out_high = np.full(drawn.shape[1], np.nan), np.full(drawn.shape[1], np.nan)
    for j in range(drawn.shape[1]):  # a resample may hold no finite value of a rare metric
        column = drawn[np.isfinite(drawn[:, j]), j]
        if column.size:
            out_low[j], out_high[j] = np.quantile(column, [tail, 1 - tail])
    return out_low, out_high


def _divide(a: np.ndarray, b: np.ndarray) -> Floats:
    top = np.asarray(a, dtype=np.float64)
    bottom = np.broadcast_to(np.asarray(b, dtype=np.float64), top.shape)
    out: Floats = np.divide(top, bottom, out=np.full(top.shape, np.nan), where=bottom > 0)
    return out


def _normal_quantile(p: float) -> float:
    from statistics import NormalDist

    return NormalDist().inv_cdf(p)
