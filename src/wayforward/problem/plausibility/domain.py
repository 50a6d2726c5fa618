"""Every legal profile is plausible."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from wayforward.problem.plausibility.base import (
    Plausibility,
)
from wayforward.public import public
from wayforward.shapes import Floats

if TYPE_CHECKING:
    from wayforward.schema import Schema


@public
@dataclass(frozen=True, eq=False)
class Domain(Plausibility):
    """Every value exists: in bounds, on its step, a known level. The score is minus the number of others."""

    name: ClassVar[str] = "domain"
    _needs_people: ClassVar[bool] = False

    def describe(self) -> str:
        """The rule in words."""
        return "every value lies in the domain of its feature"

    def _learn(self, schema: Schema, known: Floats) -> None:
        self._set(threshold=0.0)

    def _score(self, rows: Floats) -> Floats:
        assert self._schema is not None
        return -np.asarray((~np.asarray(self._schema.legal(rows))).sum(axis=-1), dtype=np.float64)
