"""Simulated participants of the published study, whose ratings have the statistics of its Table S2."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wayforward.errors import DataError
from wayforward.public import public
from wayforward.streams import generator
from wayforward.study.car_loan import PLANS, distances
from wayforward.study.population import PARTICIPANTS, draw_shown

Values = NDArray[np.float64]

LOW, HIGH = 1, 7  # of the rating scale
IMPOSSIBLE = 72 / 1810  # share of plans that hold a change which the participant marked as impossible


@public
@dataclass(frozen=True)
class Rater:
    """How a rating comes about: a curve over sparsity and a participant's own intercept and slope, in hidden points.

    The sum with a normal error is rounded and cut to 1 to 7. curve: `height * exp(-(sparsity - 1) / fall)`, about its
    mean. The slope is per item, from no items on, as in the model that is fitted.
    """

    mean: float
    height: float
    intercept: float  # standard deviation between participants
    slope: float  # the same, per item
    error: float
    fall: float = 1.2

    def __post_init__(self) -> None:
        for name in ("intercept", "slope", "error", "fall"):
            value = getattr(self, name)
            if not (value > 0 or (value == 0 and name != "fall")):
                raise DataError(f"{name}={value} is no spread. Use a number above 0.")

    def rate(self, sparsity: ArrayLike, rng: np.random.Generator) -> Values:
        """Ratings (n, j) of plans with so many changed items (n, j)."""
        x = np.asarray(sparsity, float)
        curve = np.exp(-(x - 1) / self.fall)
        own = rng.normal(0, 1, (2, len(x), 1)) * np.array([self.intercept, self.slope])[:, None, None]
        hidden = self.mean + self.height * (curve - curve.mean()) + own[0] + own[1] * x
        rating = np.round(hidden + rng.normal(0, 1, x.shape) * self.error)
        return np.asarray(np.clip(rating, LOW, HIGH))


#: Found by matching intercept, its error, EDF of all terms and AIC of models 1 and 3 over simulated studies.
ACCEPTANCE = Rater(mean=3.3, height=0.0, intercept=1.15, slope=0.195, error=1.15)
ACTION = Rater(mean=2.44, height=1.2, intercept=1.37, slope=0.175, error=1.15)


@public
def simulate_study(
    participants: int = PARTICIPANTS,
    *,
    seed: int = 0,
    acceptance: Rater = ACCEPTANCE,
    action: Rater = ACTION,
) -> dict[str, NDArray[np.generic]]:
    """A whole simulated study as columns, a row for each rated plan: five for each participant.

    Columns: participant, plan (1 to 5), sparsity, proximity, acceptance, action (1 to 7) and impossible (1 where the
    plan holds a change that was marked so; drawn by chance, apart from everything else).

    >>> from wayforward.study import analyse, simulate_study
    >>> table = simulate_study(60, seed=1)
    >>> sorted(set(table["plan"].tolist())), len(table["action"])
    ([1, 2, 3, 4, 5], 300)
    """
    if participants < 2:
        raise DataError(f"participants={participants} is no study. Use 2 or more.")
    rng = generator(seed)
    shown = draw_shown(participants, rng)
    sparsity, proximity = distances(shown.profile[:, None, :], shown.pool[shown.plan])
    rated = {"acceptance": acceptance.rate(sparsity, rng), "action": action.rate(sparsity, rng)}
    return {
        "participant": np.repeat([f"S{i + 1:04d}" for i in range(participants)], PLANS),
        "plan": np.tile(np.arange(1, PLANS + 1), participants),
        "sparsity": sparsity.ravel(),
        "proximity": proximity.ravel().round(4),
        **{name: values.ravel().astype(int) for name, values in rated.items()},
        "impossible": (rng.random(sparsity.size) < IMPOSSIBLE).astype(int),
    }


def without_effect(rater: Rater) -> Rater:
    """The same rater, to whom distance means nothing."""
    return replace(rater, height=0.0)
