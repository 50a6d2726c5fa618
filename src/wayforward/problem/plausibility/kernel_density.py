"""Profiles where accepted people are dense."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from wayforward.errors import ProblemError
from wayforward.problem.plausibility.base import (
    PAIRS_AT_ONCE,
    Plausibility,
    share_of_one,
    whole,
)
from wayforward.public import public
from wayforward.scaling import present, ranges, thinned
from wayforward.shapes import Floats, Mask

if TYPE_CHECKING:
    from wayforward.schema import Schema


@public
@dataclass(frozen=True, eq=False)
class KernelDensity(Plausibility):
    """Likely among accepted people: the log-density of a product kernel estimate.

    Gaussian kernels on numbers and ordinal levels, range-scaled, with Scott's bandwidth times `bandwidth`;
    for categories (and for missing or present) the kernel of Aitchison and Aitken, which gives 1 - h to the
    same level and shares h among the others. The threshold is the `quantile` of the reference people's own
    log-density, each without themselves. Density is relative to range-scaled values. More than `most`
    reference people are thinned.

    Source: D. W. Scott (1992), Multivariate Density Estimation; Aitchison & Aitken (1976), Biometrika 63(3).
    """

    name: ClassVar[str] = "kernel-density"
    quantile: float = 0.05
    bandwidth: float = 1.0
    most: int = 2000
    _rows_scaled: Floats | None = field(default=None, init=False, repr=False)  # (R, d) reference, scaled
    _width: Floats | None = field(default=None, init=False, repr=False)  # (d,) bandwidths, scaled
    _span: Floats | None = field(default=None, init=False, repr=False)
    _gaps: Mask | None = field(default=None, init=False, repr=False)  # (d,) values may be missing

    def __post_init__(self) -> None:
        share_of_one(self, "quantile")
        whole(self, "most", 2)
        if not 0 < self.bandwidth < math.inf:
            raise ProblemError(f"KernelDensity has bandwidth={self.bandwidth!r}. Give a factor above 0.")

    def describe(self) -> str:
        """The rule in words."""
        return (
            f"a density that {1 - self.quantile:.0%} of accepted people reach, or at least the person's own"
        )

    def _learn(self, schema: Schema, known: Floats) -> None:
        span, _ = ranges(schema, known)
        span = np.where(schema.is_categorical, 1.0, span)
        known_rows = known[thinned(len(known), self.most, self.seed)] / span
        n, numeric = len(known_rows), ~np.asarray(schema.is_categorical)
        shrink = self.bandwidth * n ** (-1 / (int((numeric & ~schema.carried).sum()) + 4))
        width = np.zeros(schema.d)
        for j in range(schema.d):
            column = present(known_rows[:, j])
            if not numeric[j]:
                width[j] = min(shrink, 1 - 1 / max(int(schema.n_levels[j]), 2)) * 0.5
                continue
            spread = float(column.std()) if column.size else 0.0
            width[j] = max(spread, 0.01) * shrink  # a feature on which all agree: a hundredth of its range
        gaps = np.asarray(schema.missing) | np.isnan(known_rows).any(axis=0)
        self._set(_rows_scaled=known_rows, _width=width, _span=span, _gaps=gaps)
        own = self._log_density(known_rows, leave_one_out=True) if n > 1 else np.zeros(1)
        self._set(threshold=float(np.quantile(own, self.quantile)))

    def _score(self, rows: Floats) -> Floats:
        assert self._span is not None
        return self._log_density(rows / self._span)

    def _log_density(self, q: Floats, *, leave_one_out: bool = False) -> Floats:
        assert self._rows_scaled is not None
        out, step = np.empty(len(q)), max(1, PAIRS_AT_ONCE // len(self._rows_scaled))
        for first in range(0, len(q), step):
            part = slice(first, first + step)
            log = self._log_kernels(q[part])
            if leave_one_out:
                at = np.arange(len(log))
                log[at, at + first] = -np.inf
            top = log.max(axis=1, keepdims=True)
            mass = np.exp(log - top).sum(axis=1)
            out[part] = np.log(mass) + top[:, 0] - math.log(len(self._rows_scaled) - leave_one_out)
        return out

    def _log_kernels(self, q: Floats) -> Floats:
        """(m, R) sum of the log kernels, feature after feature."""
        assert self._schema is not None and self._rows_scaled is not None
        assert self._width is not None and self._gaps is not None
        out = np.zeros((len(q), len(self._rows_scaled)))
        for j in range(q.shape[1]):
            here, there, h = q[:, j, None], self._rows_scaled[None, :, j], self._width[j]
            if self._schema.is_categorical[j]:
                levels = max(int(self._schema.n_levels[j]), 2)
                term = np.where(here == there, math.log(1 - h), math.log(h / (levels - 1)))
            else:
                term = -0.5 * np.square((here - there) / h) - math.log(h * math.sqrt(2 * math.pi))
            if self._gaps[j]:
                gone, lost = np.isnan(here), np.isnan(there)
                term = np.where(gone | lost, 0.0, term) + np.where(
                    gone == lost, math.log(0.95), math.log(0.05)
                )
            out += term
        return out
