"""Features and random rules for the tests of this folder."""

from __future__ import annotations

from dataclasses import dataclass

import pytest


@dataclass(frozen=True)
class Plain:
    """The least a feature must offer to be written about."""

    name: str
    kind: str = "real"
    low: float | None = None
    high: float | None = None
    levels: tuple = ()
    missing: bool = False
    bounds: str = "declared"

    @property
    def has_levels(self):
        return self.kind in ("binary", "ordinal", "categorical")


@pytest.fixture
def features():
    return (
        Plain("age", "integer", 18, 90),
        Plain("income", "real", 0, 10_000),
        Plain("education", "ordinal", levels=("none", "school", "bachelor", "master")),
        Plain("visa", "categorical", levels=("TEMPORARY", "PERMANENT")),
        Plain("credit", "binary", levels=(0, 1)),
        Plain("hours-per-week", "integer", 0, 99),
        Plain("rating", "ordinal", levels=(1, 2, 5)),
    )
