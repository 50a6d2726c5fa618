"""What may be published of few people: no mean of one or two, no spread and no order statistic of fewer than ten."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from wayforward.evaluate import stats
from wayforward.evaluate.stats import NOTHING, Estimate
from wayforward.shapes import Floats

FEWEST = 3
# A spread, an interval or a quantile of few values is made of somebody's own: with the mean, the median and the spread
# of three people each of them is known to the last digit, and the ends of a bootstrap interval are the least and the
# greatest. Ten is where the web application begins to tell of a group, and where groups are compared (`smallest`).
FEWEST_SPREAD = 10
_DIGITS = 2  # of a quantile and a spread that are told
_ROUND = np.array([1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0])


def mean_of_enough(values: Floats, seed: int = 0) -> Estimate:
    """Return the mean of the finite values (n,) as it may be told, see `of_enough`."""
    return of_enough(stats.mean(values, seed=seed), values)


def rate_of_enough(hit: np.ndarray, among: np.ndarray | None = None) -> Estimate:
    """Return the share of True in hit (n,) where among (n,) holds, or `NOTHING` where those are fewer than `FEWEST`."""
    found = stats.rate(hit, among)
    return found if found.n >= FEWEST else NOTHING


def of_enough(mean: Estimate, values: Floats) -> Estimate:
    """Return a mean over the finite of values (n,) as it may be told: `NOTHING` of fewer than `FEWEST`, of fewer than
    `FEWEST_SPREAD` the mean alone, else with a rounded spread, and with a median and an interval that are nobody's
    own."""
    if mean.n < FEWEST:
        return NOTHING
    if mean.n < FEWEST_SPREAD:
        return alone(mean)
    ranked = np.sort(values[np.isfinite(values)])
    low, high = _outward(mean.low, mean.high)
    return replace(
        mean, low=low, high=high, std=rounded(mean.std), median=around(ranked, (len(ranked) + 1) // 2)
    )


def alone(mean: Estimate) -> Estimate:
    """Return a mean without its spread, its median and its interval."""
    return Estimate(mean.value, float("nan"), float("nan"), mean.n)


def around(ranked: Floats, rank: int) -> float:
    """Return the mean of the three of rising values (n >= 3,) around the one of this rank (from 1), rounded."""
    start = min(max(rank - 1 - FEWEST // 2, 0), len(ranked) - FEWEST)
    return rounded(float(ranked[start : start + FEWEST].mean()))


def rounded(value: float) -> float:
    """Return a number in two digits."""
    return float(f"{value:.{_DIGITS - 1}e}") if np.isfinite(value) else float(value)


def rounded_up(value: float) -> float:
    """Return the next of ten round numbers a decade that is not below a value."""
    if not np.isfinite(value) or value <= 0:
        return float(value)
    decade = 10.0 ** np.floor(np.log10(value))
    return float(f"{decade * _ROUND[np.searchsorted(_ROUND, value / decade * (1 - 1e-9))]:.3g}")


def steps_of_enough(counts: np.ndarray, total: int) -> Floats:
    """Return counts (c,) of up to `total` people as they may be told: rounded down, in steps of `FEWEST` from `total`.

    One or two people more are seen nowhere.
    """
    steps = total - FEWEST * np.ceil((total - np.asarray(counts, dtype=np.float64)) / FEWEST)
    return np.where(steps < FEWEST, 0.0, steps)


def rate_in_steps(share: Estimate, among: int | None = None) -> Estimate:
    """Return a share of n people with its hits in steps of `FEWEST`, see `steps_of_enough`; n as well where those that
    it is of are known by how they fared, `among` so many. `NOTHING` of fewer than `FEWEST_SPREAD`."""
    n = share.n if among is None else in_steps_of_people(share.n, among)
    if n < FEWEST_SPREAD or not np.isfinite(share.value):
        return NOTHING
    hits = min(in_steps_of_people(round(share.value * share.n), share.n), n)
    return stats.rate(np.arange(n) < hits)


def mean_in_steps(mean: Estimate, among: int) -> Estimate:
    """Return a mean that lies in no equation of an audit as it may be told: in steps that `FEWEST` of its people make,
    see `step_of`; how many they are in steps, too, of `among`. `NOTHING` of fewer than `FEWEST_SPREAD`.

    Whoever knows what all of them but one pay knows that one's to no better than 1.5 standard deviations.
    """
    n = in_steps_of_people(mean.n, max(among, mean.n))
    if n < FEWEST_SPREAD or not np.isfinite([mean.value, mean.std]).all():
        return NOTHING
    step = step_of(1 / mean.n, mean.std)
    if step == 0:  # all are alike
        return replace(mean, n=n)
    low, high = (
        float(f"{way(end / step) * step:.12g}") for way, end in ((np.floor, mean.low), (np.ceil, mean.high))
    )
    return Estimate(in_steps(mean.value, step), low, high, n)


def in_steps_of_people(n: int, total: int) -> int:
    """Return a number of people as `steps_of_enough` tells it."""
    return int(steps_of_enough(np.array(n), total))


def step_of(weight: float, spread: float) -> float:
    """Return a round number: what `FEWEST` people who count `weight` each change by their standard deviation, or more.

    spread: that standard deviation.
    """
    return rounded_up(FEWEST * weight * spread)


def in_steps(value: float, step: float) -> float:
    """Return the multiple of a step that is nearest to a value; the value where the step is 0."""
    return float(f"{np.round(value / step) * step + 0.0:.12g}") if step > 0 else float(value)


def _outward(low: float, high: float) -> tuple[float, float]:
    """Return an interval with its ends moved out to the next hundredth of its width, in round numbers."""
    width = high - low
    if not np.isfinite(width) or width <= 0:
        return low, high
    unit = 10.0 ** (np.floor(np.log10(width)) - 1)
    return float(f"{np.floor(low / unit) * unit:.12g}"), float(f"{np.ceil(high / unit) * unit:.12g}")
