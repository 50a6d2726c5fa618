"""How a series is cut into units, and what may take a unit's place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wayforward.errors import ProblemError, is_whole, shown
from wayforward.lazy import cached_property
from wayforward.modalities.arrays import nearest
from wayforward.public import public


@public
@dataclass(frozen=True)
class Stretches:
    """Stretches of time of about equal length, of each channel by itself. parts: how many a channel has."""

    parts: int = 4

    def __post_init__(self) -> None:
        if not is_whole(self.parts, 1):
            raise ProblemError(
                f"parts={shown(self.parts)}: so many stretches are none. Use 1 (whole channels) or more."
            )

    def __call__(self, series: np.ndarray) -> np.ndarray:
        """(c, t) -> (c, t), channel by channel. Raises: ProblemError for more stretches than times."""
        channels, times = series.shape
        if self.parts > times:
            raise ProblemError(f"{self.parts} stretches are more than the {times} times that a series has.")
        return np.asarray(np.arange(channels)[:, None] * self.parts + np.arange(times) * self.parts // times)


@dataclass(frozen=True)
class ChannelMean:
    """The mean of each channel over time."""

    def __call__(self, series: np.ndarray) -> np.ndarray:
        """(c, t) -> the same shape."""
        return np.broadcast_to(series.mean(1, keepdims=True), series.shape)


@dataclass(frozen=True, eq=False)
class NearestFill:
    """The nearest of other series (R, c, t), which have the answer that is wanted, the nearest first.

    Distances are Euclidean, each channel divided by its spread among them, so that no unit of measurement decides.
    """

    others: np.ndarray
    many: int

    def __call__(self, series: np.ndarray) -> np.ndarray:
        """(c, t) -> (L, c, t)."""
        return nearest(self.others, series, self.many, self._spread)

    @cached_property
    def _spread(self) -> np.ndarray:
        spread = self.others.std((0, 2))[:, None]
        return np.where(spread > 0, spread, 1.0)
