"""L1 over the median absolute deviation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import numpy as np

from wayforward.errors import ProblemError, is_one_of
from wayforward.problem.cost.base import CHANGED, Cost, Scales, require_people
from wayforward.public import public
from wayforward.scaling import present, ranges
from wayforward.shapes import Floats

if TYPE_CHECKING:
    from wayforward.schema import Schema


@public
@dataclass(frozen=True, eq=False)
class MadL1(Cost):
    """L1 distance with each feature scaled by its median absolute deviation in the reference.

    Binary and categorical features cost 1 for any change. Where the deviation is 0 (more than half of the
    people share one value) `fallback` takes its place, and `fallbacks` names the feature: 'range' is 1 on
    the range-scaled axis, as published implementations do after min-max scaling; 'std' the standard
    deviation; 'one' one raw unit.

    Source: Wachter, Mittelstadt & Russell (2017), Harvard J. Law Technol. 31(2); survey, eq. 3.
    """

    name: ClassVar[str] = "mad"
    fallback: Literal["range", "std", "one"] = "range"

    def __post_init__(self) -> None:
        if not is_one_of(self.fallback, ("range", "std", "one")):
            raise ProblemError(f"MadL1 has fallback={self.fallback!r}. Choose 'range', 'std' or 'one'.")

    @property
    def separable(self) -> bool:
        """Always: a sum over features."""
        return True

    @property
    def unit(self) -> str:
        """Median absolute deviations."""
        return "median absolute deviations"

    def step_sum(self) -> tuple[float, float, float] | None:
        """See `Cost`."""
        return 0.0, 1.0, 0.0

    def describe(self) -> str:
        """The scaling in words."""
        return "L1 of the change, each feature divided by its median absolute deviation"

    def _fit(self, schema: Schema, reference: Floats | None) -> Self:
        known = require_people(self, reference)
        span, _ = ranges(schema, known)
        divisor, odd = np.ones(schema.d), np.zeros(schema.d, dtype=np.bool_)
        for j, feature in enumerate(schema.features):
            if feature.kind in ("binary", "categorical"):
                continue
            column = present(known[:, j])
            mad = float(np.median(np.abs(column - np.median(column)))) if column.size else 0.0
            if mad <= CHANGED * span[j]:
                odd[j] = True
                std = float(column.std()) if column.size else 0.0
                spare = {"range": float(span[j]), "std": std or float(span[j]), "one": 1.0}
                mad = spare[self.fallback]
            divisor[j] = mad
        return replace(
            self,
            scales=Scales(schema.names, divisor, span, schema.is_categorical, odd),
        )

    def _parts(self, before: Floats, action: Floats) -> Floats:
        return self._steps(before, action)

    def _part(self, j: int, before: Floats, value: Floats) -> Floats:
        return self._step(j, before, value)

    def _reach(self, x: Floats, budget: Floats, weight: Floats) -> tuple[Floats, Floats]:
        far = np.maximum(budget, 0) / weight * self.fitted_scales.divisor
        return x - far, x + far
