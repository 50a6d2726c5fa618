"""How many participants does a study need? Power by simulated studies, analysed as the real one would be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.stats import binomtest

from wayforward.errors import DataError, is_one_of
from wayforward.public import public
from wayforward.study.gamm import Gamm
from wayforward.study.participants import ACTION, Rater, simulate_study


@public
@dataclass(frozen=True)
class Power:
    """The share of simulated studies that find the curve, with its 95 % interval (Wilson)."""

    participants: int
    studies: int
    found: int
    edf: float  # of the curve, mean over the studies

    @property
    def share(self) -> float:
        """Studies with a significant curve, of all."""
        return self.found / self.studies

    @property
    def interval(self) -> tuple[float, float]:
        """Of the share."""
        got = binomtest(self.found, self.studies).proportion_ci(0.95, "wilson")
        return float(got.low), float(got.high)


@public
def power(
    participants: int,
    rater: Rater = ACTION,
    *,
    x: str = "sparsity",
    studies: int = 50,
    alpha: float = 0.05,
    seed: int = 0,
    progress: Callable[[int], None] = lambda done: None,
) -> Power:
    """Simulate studies of so many participants who rate as `rater`, and count those whose curve over x has p < alpha.

    x: 'sparsity' or 'proximity'. Participants rate five plans each, and plans marked as impossible are left out.
    With a rater of height 0 the share is the rate of false alarms.

    Raises: DataError for another x, fewer than 10 participants, no study, or alpha outside 0 to 1.
    """
    if not is_one_of(x, ("sparsity", "proximity")):
        raise DataError(f"There is no distance '{x}'. Choose sparsity or proximity.")
    if participants < 10 or studies < 1 or not 0 < alpha < 1:
        raise DataError(
            f"participants={participants}, studies={studies}, alpha={alpha}: use 10 participants or more, one study or "
            "more, and an alpha between 0 and 1."
        )
    found, edf = 0, []
    for i in range(studies):
        table = simulate_study(participants, seed=seed + i, action=rater)
        keep = table["impossible"] == 0
        distance = table[x][keep].astype(float)
        size = min(10, len(np.unique(distance)))
        term = Gamm.fit(table["action"][keep], distance, table["participant"][keep], k=size).curve_term
        found += term.p < alpha
        edf.append(term.edf)
        progress(i + 1)
    return Power(participants, studies, int(found), float(np.mean(edf)))
