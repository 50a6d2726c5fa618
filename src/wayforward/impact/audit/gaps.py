"""Differences between two groups, each with its interval, its p-value, and care for how many were looked at.

Rates: R. G. Newcombe (1998), Statist. Med. 17 (interval, method 10), Fisher's exact test where a cell is thin and
Pearson's otherwise. Means: bootstrap interval, B. L. Welch (1947), Biometrika 34. Correction: S. Holm (1979), Scand. J.
Stat. 6, or Y. Benjamini & Y. Hochberg (1995), J. R. Stat. Soc. B 57.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from wayforward.errors import DataError, is_one_of, shown
from wayforward.evaluate import stats
from wayforward.evaluate.stats import Estimate
from wayforward.lazy import Renamed
from wayforward.public import public
from wayforward.shapes import Floats, Mask, PerRow, PersonMask

Correction = Literal["holm", "benjamini-hochberg"]
LEVEL = 0.05


@public
@dataclass(frozen=True)
class Gap:
    """One difference: `first` minus `second` in one measure.

    estimate: the difference, 95 % interval, people behind both together. values, counts: of both groups. p: chance of
    a difference at least so large if the groups were alike; corrected: the same with care for all comparisons of the
    audit, NaN until `correct` has seen them.
    """

    attribute: str
    metric: str
    first: str
    second: str
    estimate: Estimate
    values: tuple[float, float]
    counts: tuple[int, int]
    p: float
    corrected: float = float("nan")

    stands = Renamed("significant")

    @property
    def significant(self) -> bool:
        """The difference is larger than chance would make one among all those that were looked at."""
        return bool(self.corrected < LEVEL)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "attribute": self.attribute,
            "metric": self.metric,
            "first": self.first,
            "second": self.second,
            "difference": self.estimate.to_dict(),
            "values": [plain_number(v) for v in self.values],
            "n": list(self.counts),
            "p": plain_number(self.p),
            "p_corrected": plain_number(self.corrected),
            "stands": self.significant,
        }


@public
def rate_gap(hit: PersonMask, one: PersonMask, two: PersonMask) -> tuple[Estimate, float]:
    """Return the difference of two rates with its interval, and the p-value; one and two (n,) are the groups.

    Example: ``rate_gap(usable, age < 30, age >= 60)``.
    """
    a, b = np.asarray(hit, dtype=bool)[one], np.asarray(hit, dtype=bool)[two]
    if not a.size or not b.size:
        return Estimate(math.nan, math.nan, math.nan, int(a.size + b.size)), math.nan
    p, q = float(a.mean()), float(b.mean())
    (p_low, p_high), (q_low, q_high) = (stats.wilson(int(g.sum()), g.size) for g in (a, b))
    low = p - q - math.hypot(p - p_low, q_high - q)
    high = p - q + math.hypot(p_high - p, q - q_low)
    return Estimate(p - q, low, high, int(a.size + b.size)), _rate_p(a, b)


@public
def mean_gap(values: Floats, one: PersonMask, two: PersonMask, seed: int = 0) -> tuple[Estimate, float]:
    """Return the difference of two means over finite values (n,) with its interval, and the p-value."""
    a, b = (np.asarray(values, dtype=np.float64)[g] for g in (one, two))
    a, b = a[np.isfinite(a)], b[np.isfinite(b)]
    return stats.mean_difference(a, b, seed=seed), _mean_p(a, b)


@public
def correct(gaps: Sequence[Gap], how: Correction = "holm") -> list[Gap]:
    """Return the same gaps with corrected p-values. Those without a p-value (nobody to compare) do not count.

    Raises: DataError for an unknown correction.
    """
    tested = [i for i, gap in enumerate(gaps) if math.isfinite(gap.p)]
    fixed = corrected(np.array([gaps[i].p for i in tested]), how)
    out = list(gaps)
    for i, p in zip(tested, fixed, strict=True):
        out[i] = replace(out[i], corrected=float(p))
    return out


@public
def corrected(p: PerRow, how: Correction = "holm") -> Floats:
    """Return p-values (m,) corrected for how many there are.

    holm: the chance of even one false alarm stays below the level. benjamini-hochberg: the share of false alarms
    among those raised does. Raises: DataError for an unknown correction.
    """
    if not is_one_of(how, ("holm", "benjamini-hochberg")):
        raise DataError(f"correction={shown(how)}; it must be 'holm' or 'benjamini-hochberg'.")
    p = np.asarray(p, dtype=np.float64)
    m = len(p)
    order = np.argsort(p, kind="stable")
    out = np.empty(m)
    if how == "holm":
        out[order] = np.maximum.accumulate(p[order] * np.arange(m, 0, -1))
    else:
        out[order] = np.minimum.accumulate((p[order] * m / np.arange(1, m + 1))[::-1])[::-1]
    return np.minimum(out, 1.0)


def _rate_p(a: Mask, b: Mask) -> float:
    from scipy.stats import fisher_exact, norm

    table = np.array([[a.sum(), (~a).sum()], [b.sum(), (~b).sum()]], dtype=np.float64)
    expected = table.sum(1, keepdims=True) * table.sum(0, keepdims=True) / table.sum()
    if expected.min() < 5:
        return float(fisher_exact(table.astype(np.int64)).pvalue)
    share = (a.sum() + b.sum()) / (a.size + b.size)
    spread = math.sqrt(share * (1 - share) * (1 / a.size + 1 / b.size))
    return float(2 * norm.sf(abs(a.mean() - b.mean()) / spread))


def _mean_p(a: Floats, b: Floats) -> float:
    from scipy.stats import t

    if a.size < 2 or b.size < 2:
        return math.nan
    va, vb = float(a.var(ddof=1)) / a.size, float(b.var(ddof=1)) / b.size
    if va + vb < 1e-24:  # everybody in either group has one value: as rare as such a split of the two
        return 1.0 if abs(a.mean() - b.mean()) < 1e-12 else min(1.0, 2 / math.comb(a.size + b.size, a.size))
    freedom = (va + vb) ** 2 / (va**2 / (a.size - 1) + vb**2 / (b.size - 1))
    return float(2 * t.sf(abs(a.mean() - b.mean()) / math.sqrt(va + vb), freedom))


def plain_number(value: float) -> float | None:
    """Return the value for JSON: None where it is not finite."""
    return float(value) if math.isfinite(value) else None
