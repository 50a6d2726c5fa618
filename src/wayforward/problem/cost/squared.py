"""Squared changes over a standard deviation."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from wayforward.problem.cost.base import Cost, Scales, require_people
from wayforward.scaling import present, ranges
from wayforward.shapes import Floats

if TYPE_CHECKING:
    from wayforward.schema import Schema


@dataclass(frozen=True, eq=False)
class SquaredShift(Cost):
    """Mean over the actionable features of the squared standardised change over the standardised range.

    (1/|A|) sum_j w_j (v_j - x_j)^2 / (std_j * range_j), acted features only, with the standard deviation and the
    range of the reference: the cost that CARMA and iCARMA minimise and report. Another category counts as 1.

    Source: Majumdar & Valera (2024), CARMA, FAccT, eq. 7; Budde et al. (2026), iCARMA, eq. 10.
    """

    name: ClassVar[str] = "squared"
    actionable: int = 0  # |A|; 0 until fitted, then that of the schema

    @property
    def separable(self) -> bool:
        """Always: a sum over features."""
        return True

    @property
    def unit(self) -> str:
        """Squared standard deviations, for want of a name."""
        return "mean squared standardised changes over the range"

    def step_sum(self) -> tuple[float, float, float] | None:
        """See `Cost`."""
        return 0.0, 0.0, 1.0 / self.actionable

    def describe(self) -> str:
        """The scaling in words."""
        return "mean of the squared standardised change over the standardised range"

    def _fit(self, schema: Schema, reference: Floats | None) -> Self:
        known = require_people(self, reference)
        span, _ = ranges(schema, known)
        categorical = schema.is_categorical
        divisor, odd = np.ones(schema.d), np.zeros(schema.d, dtype=np.bool_)
        for j in np.flatnonzero(~categorical):
            column = present(known[:, j])
            square = float(column.std() * np.ptp(column)) if column.size else 0.0
            odd[j] = square <= 0
            divisor[j] = math.sqrt(square) if square > 0 else float(span[j])
        return replace(
            self,
            scales=Scales(schema.names, divisor, span, categorical, odd),
            actionable=self.actionable or max(1, int(schema.actionable.sum())),
        )

    def _parts(self, before: Floats, action: Floats) -> Floats:
        step = self._steps(before, action)
        np.square(step, out=step)
        np.divide(step, self.actionable, out=step)
        return step

    def _part(self, j: int, before: Floats, value: Floats) -> Floats:
        return np.asarray(self._step(j, before, value) ** 2 / self.actionable)

    def _reach(self, x: Floats, budget: Floats, weight: Floats) -> tuple[Floats, Floats]:
        far = np.sqrt(np.maximum(budget, 0) * self.actionable / weight) * self.fitted_scales.divisor
        return x - far, x + far
