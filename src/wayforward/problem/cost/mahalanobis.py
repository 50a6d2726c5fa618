"""Changes that go with or against the correlations among people."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from wayforward.errors import ProblemError
from wayforward.problem.cost.base import CHANGED, Cost, Scales, as_plain, require_people
from wayforward.public import public
from wayforward.scaling import present, ranges
from wayforward.shapes import Floats

if TYPE_CHECKING:
    from wayforward.schema import Schema


@public
@dataclass(frozen=True, eq=False)
class Mahalanobis(Cost):
    """Length of the change in standard deviations of the population, along its correlations.

    Numbers, binary and ordinal features enter through the covariance of the reference. Its correlations are
    shrunk towards none, by `shrinkage` in [0, 1] or by the analytic estimate that minimises the expected
    error (None), so it can be inverted whatever the reference. A change of category adds ``2 / v`` to the
    square, v being the chance that two people of the reference differ there: two people taken at random are
    then, on average, as far apart in a category as in a number. A feature without variance is scaled by its
    range and named in `fallbacks`.

    Source: P. C. Mahalanobis (1936); shrinkage: Schaefer & Strimmer (2005), Stat. Appl. Genet. Mol. Biol.
    4(1).
    """

    name: ClassVar[str] = "mahalanobis"
    shrinkage: float | None = None
    root: Floats | None = field(
        default=None, repr=False, kw_only=True
    )  # (d, d) R with inverse correlation R^T R

    def __post_init__(self) -> None:
        s = self.shrinkage
        if s is not None and not (isinstance(s, (int, float)) and 0 <= s <= 1):
            raise ProblemError(f"Mahalanobis has shrinkage={s!r}. Give a number from 0 to 1, or None.")

    @property
    def separable(self) -> bool:
        """Never: features that move together count together."""
        return False

    @property
    def unit(self) -> str:
        """Standard deviations."""
        return "standard deviations"

    def describe(self) -> str:
        """The measure in words."""
        return "Mahalanobis length of the change in the reference population"

    def _fit(self, schema: Schema, reference: Floats | None) -> Self:
        known = require_people(self, reference)
        span, _ = ranges(schema, known)
        categorical = schema.is_categorical
        divisor, odd = np.ones(schema.d), np.zeros(schema.d, dtype=np.bool_)
        z = np.zeros(known.shape)
        for j in range(schema.d):
            column = present(known[:, j])
            if categorical[j]:
                share = np.unique(column, return_counts=True)[1] / max(column.size, 1)
                differ = 1 - float(np.square(share).sum())
                odd[j] = differ <= 0 or column.size == 0
                divisor[j] = 1.0 if odd[j] else math.sqrt(differ / 2)
                continue
            std = float(column.std()) if column.size else 0.0
            odd[j] = std <= CHANGED * span[j]
            divisor[j] = span[j] if odd[j] else std
            # a missing value carries no information on the correlations: it stands at the mean
            z[:, j] = np.nan_to_num((known[:, j] - (column.mean() if column.size else 0.0)) / divisor[j])
        flat = categorical | odd
        root = np.eye(schema.d)
        if (~flat).sum() > 1:
            at = np.ix_(~flat, ~flat)
            inverse = np.linalg.inv(_shrunk_correlation(z[:, ~flat], self.shrinkage))
            root[at] = np.linalg.cholesky((inverse + inverse.T) / 2).T
        return replace(self, scales=Scales(schema.names, divisor, span, categorical, odd), root=root)

    def _part(self, j: int, before: Floats, value: Floats) -> Floats:
        return np.asarray(self._step(j, before, value) * math.sqrt(float(np.square(self._root[:, j]).sum())))

    def _part_bound(self, j: int, before: Floats, value: Floats, weight: Floats) -> Floats:
        # moves elsewhere help, down to one feature's own deviations
        return np.asarray(weight * self._step(j, before, value))

    def _total(self, before: Floats, action: Floats, weight: Floats | None) -> Floats:
        step, root = self._steps(before, action), self._root
        step *= np.where((action < before) & ~self.fitted_scales.categorical, -1.0, 1.0)
        if weight is not None:
            step *= weight
        # one feature after another instead of a matrix product, whose rounding depends on the number of rows
        turned = np.zeros(step.shape)
        for j in range(step.shape[-1]):
            turned += step[..., j, None] * root[:, j]
        return np.asarray(np.sqrt(np.square(turned, out=turned).sum(axis=-1)))

    def _reach(self, x: Floats, budget: Floats, weight: Floats) -> tuple[Floats, Floats]:
        far = np.maximum(budget, 0) / weight * self.fitted_scales.divisor
        return x - far, x + far

    @property
    def _root(self) -> Floats:
        if self.root is None:
            raise ProblemError("Mahalanobis is not fitted. Call fit(schema, reference) first.")
        return self.root

    def _fitted_fields(self) -> tuple[str, ...]:
        return ("scales", "root")

    def _fitted_to_dict(self) -> dict[str, Any]:
        return {"scales": self.fitted_scales.to_dict(), "root": as_plain(self._root)}

    def with_fitted(self, stored: Mapping[str, Any]) -> Self:
        """See `Cost`."""
        return replace(
            self, scales=Scales.from_dict(stored["scales"]), root=np.asarray(stored["root"], float)
        )


def _shrunk_correlation(z: Floats, shrinkage: float | None) -> Floats:
    """Correlations of standardised columns (N, p), pulled towards 0 so that they can be inverted."""
    n, p = z.shape
    r = z.T @ z / n
    if shrinkage is None:
        square = np.square(z)
        spread = (square.T @ square / n - np.square(r)) / max(
            n - 1, 1
        )  # variance of each estimated correlation
        off = ~np.eye(p, dtype=np.bool_)
        size = float(np.square(r[off]).sum())
        shrinkage = 1.0 if size == 0 else float(np.clip(spread[off].sum() / size, 0, 1))
    shrunk = (1 - shrinkage) * r
    np.fill_diagonal(shrunk, 1.0)
    least = float(np.linalg.eigvalsh(shrunk)[0])
    if least < 1e-6:  # columns that copy each other
        extra = (1e-6 - least) / (1 - least)
        shrunk *= 1 - extra
        np.fill_diagonal(shrunk, 1.0)
    return np.asarray(shrunk)
