"""Who pays more: gaps in cost, validity and burden between groups, with intervals.

A group is any label per person, `groups` (n,). Gaps compare means over people who have a value; the rates
beside them say how many have none, because a group that is mostly left without recourse can look cheap.

Sources: burden from S. Sharma, J. Henderson & J. Ghosh (2020), AIES (CERTIFAI); group gaps from V. Gupta et
al. (2019), "Equalizing recourse across groups", and J. von Kuegelgen et al. (2022), AAAI.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from wayforward.errors import DataError
from wayforward.evaluate.stats import Estimate, mean_difference
from wayforward.evaluate.stats import mean as mean_of
from wayforward.shapes import Floats


@dataclass(frozen=True)
class GroupGaps:
    """Differences of one metric between groups.

    `pairwise[a][b]` is mean(a) - mean(b) with its interval; `largest` is the greatest absolute difference,
    and `mean` each group's own mean.
    """

    groups: tuple[str, ...]
    mean: dict[str, Estimate]
    pairwise: dict[str, dict[str, Estimate]]
    largest: Estimate
    largest_pair: tuple[str, str] | None

    def matrix(self) -> Floats:
        """Signed mean differences as (groups, groups), row minus column."""
        return np.array([[self.pairwise[a][b].value for b in self.groups] for a in self.groups])


def as_groups(groups: Any, n: int) -> np.ndarray:
    """One text label per person from any column; missing labels become "(not stated)".

    Raises: DataError if there is not one label per person.
    """
    labels = [
        "(not stated)" if g is None or (isinstance(g, float) and np.isnan(g)) else str(g)
        for g in np.asarray(groups, dtype=object).ravel().tolist()
    ]
    if len(labels) != n:
        raise DataError(
            f"groups has {len(labels)} labels for {n} people. Pass one label per person, in the same order."
        )
    return np.asarray(labels, dtype=object)


def group_gaps(values: np.ndarray, groups: np.ndarray, *, seed: int = 0, resamples: int = 1000) -> GroupGaps:
    """Means of `values` (n,) by group and every pairwise difference, each with a bootstrap interval."""
    values = np.asarray(values, dtype=np.float64)
    labels = as_groups(groups, len(values))
    names = tuple(sorted(set(labels.tolist())))
    by = {g: values[labels == g] for g in names}
    mean = {g: mean_of(by[g], seed=seed, resamples=resamples) for g in names}
    zero = Estimate(0.0, 0.0, 0.0, 0)
    pairwise: dict[str, dict[str, Estimate]] = {g: {} for g in names}
    for i, a in enumerate(names):
        pairwise[a][a] = zero
        for b in names[i + 1 :]:
            gap = mean_difference(by[a], by[b], seed=seed, resamples=resamples)
            pairwise[a][b] = gap
            pairwise[b][a] = Estimate(-gap.value, -gap.high, -gap.low, gap.n)
    best: tuple[str, str] | None = None
    largest = Estimate(float("nan"), float("nan"), float("nan"), 0)
    for a in names:
        for b in names:
            gap = pairwise[a][b]
            higher = a != b and np.isfinite(gap.value) and gap.value >= 0
            if higher and (best is None or gap.value > largest.value):
                best, largest = (a, b), gap
    return GroupGaps(names, mean, pairwise, largest, best)


def burden(
    distance: np.ndarray, groups: np.ndarray | None = None, *, seed: int = 0, resamples: int = 1000
) -> dict[str, Estimate]:
    """Mean distance from each refused person to their counterfactual, by group and "everybody".

    `distance` (n,) is NaN or infinite for people without one; they are left out of the mean, and `n` says
    how many remain. The value for everybody is the robustness score of CERTIFAI.
    """
    distance = np.asarray(distance, dtype=np.float64)
    out = {"everybody": mean_of(distance, seed=seed, resamples=resamples)}
    if groups is not None:
        labels = as_groups(groups, len(distance))
        for g in sorted(set(labels.tolist())):
            out[g] = mean_of(distance[labels == g], seed=seed, resamples=resamples)
    return out


def agreement(acted: np.ndarray, groups: np.ndarray) -> dict[str, Floats]:
    """Share of each group's recommendations that act on each feature: group -> (d,).

    `acted` (n, d) bool; rows without any act are left out.
    """
    acted = np.asarray(acted, dtype=bool)
    labels = as_groups(groups, len(acted))
    some = acted.any(-1)
    return {
        g: acted[(labels == g) & some].mean(0)
        if ((labels == g) & some).any()
        else np.full(acted.shape[1], np.nan)
        for g in sorted(set(labels.tolist()))
    }
