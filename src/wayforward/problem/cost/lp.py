"""Mixes of norms of the range-scaled change."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from wayforward.errors import ProblemError
from wayforward.problem.cost.base import CHANGED, Cost, Scales
from wayforward.public import public
from wayforward.scaling import ranges
from wayforward.shapes import Floats

if TYPE_CHECKING:
    from wayforward.schema import Schema


@public
@dataclass(frozen=True, eq=False)
class LpMix(Cost):
    """Weighted mix of norms of the range-scaled change: l0 L0 + l1 L1 + l2 L2 + linf L-infinity.

    The change of a feature is scaled to [0, 1] by its range in the schema (or in the reference, where the
    schema gives none): |difference| over the range for numbers, |index difference| / (L - 1) for ordinal
    levels, 1 for another category. A person who stands outside the range can have a change above 1.
    `l2_squared` adds the square of L2, which some published benchmarks report under the name L2. With
    `per_feature` the L0 and the L1 terms are divided by the number of features. Weights scale the changes
    inside every norm.

    Source: Karimi, Barthe, Balle & Valera (2020), AISTATS; survey of algorithmic recourse, eq. 4.
    Raises: ProblemError for a negative or infinite coefficient, or for none at all.
    """

    name: ClassVar[str] = "lp"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "l0": {"l0": 1, "l1": 0},
        "l1": {},
        "l2": {"l1": 0, "l2": 1},
        "linf": {"l1": 0, "linf": 1},
    }
    l0: float = 0.0
    l1: float = 1.0
    l2: float = 0.0
    linf: float = 0.0
    l2_squared: float = 0.0
    per_feature: bool = False

    def __post_init__(self) -> None:
        terms = {key: getattr(self, key) for key in ("l0", "l1", "l2", "linf", "l2_squared")}
        for key, value in terms.items():
            if not (isinstance(value, (int, float)) and math.isfinite(value) and value >= 0):
                raise ProblemError(f"LpMix has {key}={value!r}. Give a number of at least 0.")
        if not any(terms.values()):
            raise ProblemError(
                "LpMix has every coefficient at 0, so that all actions are free. Set l1=1, or another."
            )

    @property
    def separable(self) -> bool:
        """True without the L2 and the L-infinity term."""
        return self.l2 == 0 and self.linf == 0

    @property
    def unit(self) -> str:
        """Changed features, or range widths."""
        counts = self.l0 > 0 and not (self.l1 or self.l2 or self.linf or self.l2_squared)
        return "features changed" if counts and self.l0 == 1 else "range widths"

    def step_sum(self) -> tuple[float, float, float] | None:
        """See `Cost`."""
        return (*self._linear(), self.l2_squared) if self.separable else None

    def describe(self) -> str:
        """The mix in words."""
        names = {"l0": "L0", "l1": "L1", "l2": "L2", "linf": "L-infinity", "l2_squared": "squared L2"}
        terms = [
            text if getattr(self, key) == 1 else f"{getattr(self, key):g} {text}"
            for key, text in names.items()
            if getattr(self, key)
        ]
        per = ", L0 and L1 divided by the number of features" if self.per_feature else ""
        return f"{' + '.join(terms)} of the range-scaled change{per}"

    def _fit(self, schema: Schema, reference: Floats | None) -> Self:
        span, fallback = ranges(schema, reference)
        return replace(
            self,
            scales=Scales(schema.names, span.copy(), span, schema.is_categorical, fallback),
        )

    def _linear(self) -> tuple[float, float]:
        """Coefficients of the L0 and the L1 term after the division."""
        p = len(self.fitted_scales.names) if self.per_feature else 1
        return self.l0 / p, self.l1 / p

    def _parts(self, before: Floats, action: Floats) -> Floats:
        return self._alone(self._steps(before, action))

    def _part(self, j: int, before: Floats, value: Floats) -> Floats:
        return self._alone(self._step(j, before, value))

    def _alone(self, step: Floats) -> Floats:
        l0, l1 = self._linear()
        slope = l1 + self.l2 + self.linf
        out = step * slope if slope != 1 else step.copy()
        if l0:
            out += l0 * (step > CHANGED)
        if self.l2_squared:
            out += self.l2_squared * step**2
        return out

    def _total(self, before: Floats, action: Floats, weight: Floats | None) -> Floats:
        l0, l1 = self._linear()
        step = self._steps(before, action)
        out = np.zeros(step.shape[:-1])
        if l0:
            changed = (step > CHANGED).astype(np.float64)
            out += l0 * (changed if weight is None else changed * weight).sum(axis=-1)
        if self.l2_squared:
            square = step**2 if weight is None else step**2 * weight
            out += self.l2_squared * square.sum(axis=-1)
        if l1 or self.l2 or self.linf:
            if weight is not None:
                step *= weight
            if l1:
                out += l1 * step.sum(axis=-1)
            if self.linf:
                out += self.linf * step.max(axis=-1)
            if self.l2:
                out += self.l2 * np.sqrt(np.square(step, out=step).sum(axis=-1))
        return out

    def _reach(self, x: Floats, budget: Floats, weight: Floats) -> tuple[Floats, Floats]:
        l0, l1 = self._linear()
        left = budget / weight - l0
        slope = l1 + self.l2 + self.linf
        if self.l2_squared:  # slope s + square s^2 = left
            far = (np.sqrt(slope**2 + 4 * self.l2_squared * np.maximum(left, 0)) - slope) / (
                2 * self.l2_squared
            )
        elif slope:
            far = np.maximum(left, 0) / slope
        else:
            far = np.full(x.shape, np.inf)
        far = np.where(left < -CHANGED, 0.0, far) * self.fitted_scales.divisor
        return x - far, x + far
