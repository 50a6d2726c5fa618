"""How the training of an amortised engine went."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Report:
    """How a training went. checks: epoch, seed, share of checked answers, share plausible, mean cost of the checked.

    The plausible share is NaN where the training did not ask for plausibility.
    """

    seed: int
    epoch: int
    epochs: int
    seconds: float
    trained_on: int
    chosen_on: int
    stand_in: bool
    checks: tuple[tuple[float, ...], ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON (NaN as None)."""
        rows = [[None if v != v else v for v in row] for row in self.checks]
        return {**asdict(self), "checks": rows}

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> Report:
        """The reverse of `to_dict`."""
        rows = tuple(tuple(np.nan if v is None else float(v) for v in row) for row in told["checks"])
        return cls(**{**told, "checks": rows})

    @property
    def best(self) -> tuple[float, ...]:
        """The line of the chosen networks."""
        return next(row for row in self.checks if row[0] == self.epoch and row[1] == self.seed)
