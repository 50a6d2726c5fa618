"""How the training of an amortised engine went."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Report:
    """How a training went. checks: epoch, seed, share of checked answers, share plausible, mean cost of the checked.

    The plausible share is NaN where the training does not value plausibility.
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
        """Return plain data for JSON (NaN as None)."""
        return {**asdict(self), "checks": plain_checks(self.checks)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Report:
        """Read what `to_dict` returns."""
        return cls(**{**data, "checks": tuple(read_checks(data["checks"]))})

    @property
    def best(self) -> tuple[float, ...]:
        """The check of the chosen networks."""
        return next(row for row in self.checks if row[0] == self.epoch and row[1] == self.seed)


def plain_checks(checks: Iterable[Sequence[float]]) -> list[list[float | None]]:
    """Write checks as plain data, NaN as None."""
    return [[None if v != v else v for v in row] for row in checks]


def read_checks(rows: Iterable[Sequence[float | None]]) -> list[tuple[float, ...]]:
    """Read what `plain_checks` returns."""
    return [tuple(np.nan if v is None else float(v) for v in row) for row in rows]
