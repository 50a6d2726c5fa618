"""What an action costs a person: weighted norms, MAD-scaled L1, percentile shifts, Mahalanobis.

Every cost is fitted once on a reference population and then works on any number of rows. It compares where
a person stands (`before`) with the values that they set (`action`; NaN leaves a feature alone). All costs
agree on four points:

- a feature that is left alone, or set to the value that it already has, costs nothing;
- a value that was missing before counts as a full change, the widest that the feature's range allows;
- a personal weight scales the change of its feature: twice the weight, twice as hard;
- a row's cost never depends on the other rows, to the last bit.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from wayforward.errors import FileFormatError, ProblemError
from wayforward.scaling import checked_rows, present, ranges

if TYPE_CHECKING:
    from wayforward.schema import Schema

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

_ROWS_AT_ONCE = 4096  # temporaries of a block stay in the cache: 3x faster than whole arrays at 1e6 rows
_CHANGED = 1e-9  # share of the range below which two values are the same (as Schema.differs)


@dataclass(frozen=True, eq=False)
class Scales:
    """What a cost knows of each feature after fitting; (d,) arrays in feature units."""

    names: tuple[str, ...]
    divisor: Array  # a change of this size costs 1
    span: Array  # width of the range, the size of a full change
    categorical: Flags  # any change counts as one unit, whatever the level indices
    fallback: Flags  # the divisor could not be read off the reference (see each cost)

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, for JSON."""
        return {f.name: _plain(getattr(self, f.name)) for f in fields(self)}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Scales:
        """The reverse of `to_dict`."""
        return cls(
            names=tuple(str(name) for name in stored["names"]),
            divisor=np.asarray(stored["divisor"], dtype=np.float64),
            span=np.asarray(stored["span"], dtype=np.float64),
            categorical=np.asarray(stored["categorical"], dtype=np.bool_),
            fallback=np.asarray(stored["fallback"], dtype=np.bool_),
        )


@dataclass(frozen=True, eq=False)
class Cost(ABC):
    """Effort of an action. `fit` returns a fitted copy; the other methods need one.

    Attributes: `unit`, the words after the number; `separable`, True if the total is the weighted sum of
    `parts`; `symmetric`, True if the way back costs the same.
    """

    name: ClassVar[str] = ""
    scales: Scales | None = field(default=None, repr=False, kw_only=True)

    # -- for everyone --------------------------------------------------------------------------------------

    def fit(self, schema: Schema, reference: Array | None = None) -> Self:
        """A copy that knows the ranges of `schema` and the people of `reference` (N, d), feature units.

        Raises: ProblemError if the reference does not fit the schema, or is needed and missing.
        """
        known = None if reference is None else checked_rows(schema, reference, "reference")
        return self._fit(schema, known)

    def parts(self, before: npt.ArrayLike, action: npt.ArrayLike) -> Array:
        """(..., d) unweighted cost of each feature's change by itself; 0 where the feature is left alone.

        `before` is (..., d), or lacks the option axis: (n, d) goes with an action (n, k, d).
        For a separable cost the parts add up to the total.
        """
        b, a, _ = self._align(before, action, None)
        out = np.empty(a.shape)
        for rows in _blocks(a.shape[:-1]):
            out[rows] = self._parts(b[rows], a[rows])
        return out

    def total(
        self, before: npt.ArrayLike, action: npt.ArrayLike, weight: npt.ArrayLike | None = None
    ) -> Array:
        """(...) cost of each row, `weight` (..., d) above zero applied; shapes as in `parts`."""
        b, a, w = self._align(before, action, weight)
        out = np.empty(a.shape[:-1])
        for rows in _blocks(a.shape[:-1]):
            out[rows] = self._total(b[rows], a[rows], None if w is None else w[rows])
        return out

    def part(self, feature: int, before: npt.ArrayLike, value: npt.ArrayLike) -> Array:
        """Cost of setting one feature (its position) from `before` to `value`; any shapes that broadcast.

        The separable table of an exact solver is ``cost.part(j, x[:, j, None], grid[None, :])``.
        """
        b, a = np.broadcast_arrays(np.asarray(before, dtype=np.float64), np.asarray(value, dtype=np.float64))
        return self._part(feature, b, a)

    def reach_for(
        self, before: npt.ArrayLike, budget: npt.ArrayLike, weight: npt.ArrayLike | None = None
    ) -> tuple[Array, Array]:
        """Low and high (..., d): no action within `budget` (...) can set a feature outside this box.

        The box is tight for a separable cost; for the others it is a valid bound. Unlimited sides are
        infinite. A categorical feature whose change costs too much gets low = high = its value, else an
        unlimited box. Where the value before is missing and a full change costs too much, low is +inf and
        high is -inf: leave it alone.
        """
        x = np.asarray(before, dtype=np.float64)
        scales = self._scales
        room = np.broadcast_to(np.asarray(budget, dtype=np.float64)[..., None], x.shape)
        w = (
            np.ones(x.shape)
            if weight is None
            else np.broadcast_to(_expand(_checked(weight), x.ndim), x.shape)
        )
        with np.errstate(invalid="ignore", divide="ignore"):
            low, high = self._reach(x, room, w)
        slack = _CHANGED * scales.span  # a bound must not cut off the optimum by a rounding error
        low, high = low - slack, high + slack
        missing = np.isnan(x)
        if missing.any() or scales.categorical.any():
            whole = np.empty(x.shape)  # cost of a full change of this one feature
            for j in range(x.shape[-1]):
                b = (
                    np.where(missing[..., j], np.nan, 0.0)
                    if scales.categorical[j]
                    else np.full(x.shape[:-1], np.nan)
                )
                whole[..., j] = self._part_bound(j, b, np.ones(x.shape[:-1]), w[..., j])
            all_or_none = missing | scales.categorical
            can = whole <= room * (1 + _CHANGED)
            low = np.where(all_or_none, np.where(can, -np.inf, np.where(missing, np.inf, x)), low)
            high = np.where(all_or_none, np.where(can, np.inf, np.where(missing, -np.inf, x)), high)
        return low, high

    @property
    @abstractmethod
    def unit(self) -> str:
        """What the number counts, for people."""

    @property
    @abstractmethod
    def separable(self) -> bool:
        """True if the total is the weighted sum of `parts`."""

    @property
    def symmetric(self) -> bool:
        """True if the way back costs the same."""
        return True

    @property
    def fallbacks(self) -> tuple[str, ...]:
        """Names of the features whose scale could not be read off the reference and was replaced."""
        scales = self._scales
        return tuple(name for name, odd in zip(scales.names, scales.fallback, strict=True) if odd)

    @abstractmethod
    def describe(self) -> str:
        """One sentence that says what is measured."""

    def to_dict(self) -> dict[str, Any]:
        """Parameters and what was fitted, ready for JSON; `cost_from_dict` reads it back."""
        own = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in self._fitted_fields()}
        stored: dict[str, Any] = {"cost": self.name, "parameters": own, "fitted": None}
        if self.scales is not None:
            stored["fitted"] = self._fitted_to_dict()
        return stored

    # -- for each cost -------------------------------------------------------------------------------------

    @abstractmethod
    def _fit(self, schema: Schema, reference: Array | None) -> Self: ...

    @abstractmethod
    def _part(self, j: int, before: Array, value: Array) -> Array:
        """Cost of one feature's change by itself, 0 where `value` is NaN."""

    @abstractmethod
    def _reach(self, x: Array, budget: Array, weight: Array) -> tuple[Array, Array]:
        """Bounds for ordered features; entries that are categorical or missing are overwritten."""

    def _parts(self, before: Array, action: Array) -> Array:
        out = np.empty(action.shape)
        for j in range(action.shape[-1]):
            out[..., j] = self._part(j, before[..., j], action[..., j])
        return out

    def _total(self, before: Array, action: Array, weight: Array | None) -> Array:
        parts = self._parts(before, action)
        if weight is not None:
            parts *= weight
        return np.asarray(parts.sum(axis=-1))

    def _part_bound(self, j: int, before: Array, value: Array, weight: Array) -> Array:
        """Least total of any action that makes this change (for `reach_for`)."""
        return weight * self._part(j, before, value)

    def _fitted_fields(self) -> tuple[str, ...]:
        return ("scales",)

    def _fitted_to_dict(self) -> dict[str, Any]:
        return {"scales": self._scales.to_dict()}

    def _with_fitted(self, stored: Mapping[str, Any]) -> Self:
        return replace(self, scales=Scales.from_dict(stored["scales"]))

    # -- shared --------------------------------------------------------------------------------------------

    @property
    def _scales(self) -> Scales:
        if self.scales is None:
            raise ProblemError(f"{type(self).__name__} is not fitted. Call fit(schema, reference) first.")
        return self.scales

    def _align(
        self, before: npt.ArrayLike, action: npt.ArrayLike, weight: npt.ArrayLike | None
    ) -> tuple[Array, Array, Array | None]:
        a = np.asarray(action, dtype=np.float64)
        b = _expand(np.asarray(before, dtype=np.float64), a.ndim)
        d = len(self._scales.names)
        if a.ndim == 0 or a.shape[-1] != d or b.ndim == 0 or b.shape[-1] != d:
            raise ProblemError(
                f"This cost was fitted on {d} features and got before {b.shape} and action {a.shape}. Give "
                f"arrays whose last axis has {d} entries."
            )
        w = None if weight is None else _expand(_checked(weight), a.ndim)
        try:
            shape = np.broadcast_shapes(a.shape, b.shape, () if w is None else w.shape)
        except ValueError:
            seen = f"before {b.shape}, action {a.shape}" + ("" if w is None else f", weight {w.shape}")
            raise ProblemError(
                f"The shapes do not go together: {seen}. Give before (n, d) with an action (n, k, d), or "
                "equal rows."
            ) from None
        a, b = np.broadcast_to(a, shape), np.broadcast_to(b, shape)
        return b, a, None if w is None else np.broadcast_to(w, shape)

    def _steps(self, before: Array, action: Array) -> Array:
        """(..., d) size of each change over its divisor, without sign; 0 where left alone."""
        scales = self._scales
        step = np.subtract(action, before, out=np.empty(action.shape))
        np.abs(step, out=step)
        np.fmax(step, 0.0, out=step)  # NaN (left alone, or missing before) becomes 0
        np.minimum(step, np.where(scales.categorical, 1.0, np.inf), out=step)
        np.divide(step, scales.divisor, out=step)
        missing = np.isnan(before)
        if missing.any():
            np.copyto(step, scales.span / scales.divisor, where=missing & ~np.isnan(action))
        return step

    def _step(self, j: int, before: Array, value: Array) -> Array:
        """`_steps` of one feature."""
        scales = self._scales
        step = np.fmax(np.abs(value - before), 0.0)
        if scales.categorical[j]:
            step = np.minimum(step, 1.0)
        step = np.where(np.isnan(before) & ~np.isnan(value), scales.span[j], step)
        return np.asarray(step / scales.divisor[j])


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

    def _fit(self, schema: Schema, reference: Array | None) -> Self:
        span, fallback = ranges(schema, reference)
        return replace(self, scales=Scales(schema.names, span.copy(), span, _categorical(schema), fallback))

    def _linear(self) -> tuple[float, float]:
        """Coefficients of the L0 and the L1 term after the division."""
        p = len(self._scales.names) if self.per_feature else 1
        return self.l0 / p, self.l1 / p

    def _parts(self, before: Array, action: Array) -> Array:
        return self._alone(self._steps(before, action))

    def _part(self, j: int, before: Array, value: Array) -> Array:
        return self._alone(self._step(j, before, value))

    def _alone(self, step: Array) -> Array:
        l0, l1 = self._linear()
        slope = l1 + self.l2 + self.linf
        out = step * slope if slope != 1 else step.copy()
        if l0:
            out += l0 * (step > _CHANGED)
        if self.l2_squared:
            out += self.l2_squared * step**2
        return out

    def _total(self, before: Array, action: Array, weight: Array | None) -> Array:
        l0, l1 = self._linear()
        step = self._steps(before, action)
        out = np.zeros(step.shape[:-1])
        if l0:
            changed = (step > _CHANGED).astype(np.float64)
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

    def _reach(self, x: Array, budget: Array, weight: Array) -> tuple[Array, Array]:
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
        far = np.where(left < -_CHANGED, 0.0, far) * self._scales.divisor
        return x - far, x + far


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
        if self.fallback not in ("range", "std", "one"):
            raise ProblemError(f"MadL1 has fallback={self.fallback!r}. Choose 'range', 'std' or 'one'.")

    @property
    def separable(self) -> bool:
        """Always: a sum over features."""
        return True

    @property
    def unit(self) -> str:
        """Median absolute deviations."""
        return "median absolute deviations"

    def describe(self) -> str:
        """The scaling in words."""
        return "L1 of the change, each feature divided by its median absolute deviation"

    def _fit(self, schema: Schema, reference: Array | None) -> Self:
        known = _needed(self, reference)
        span, _ = ranges(schema, known)
        divisor, odd = np.ones(schema.d), np.zeros(schema.d, dtype=np.bool_)
        for j, feature in enumerate(schema.features):
            if feature.kind in ("binary", "categorical"):
                continue
            column = present(known[:, j])
            mad = float(np.median(np.abs(column - np.median(column)))) if column.size else 0.0
            if mad <= _CHANGED * span[j]:
                odd[j] = True
                std = float(column.std()) if column.size else 0.0
                spare = {"range": float(span[j]), "std": std or float(span[j]), "one": 1.0}
                mad = spare[self.fallback]
            divisor[j] = mad
        return replace(self, scales=Scales(schema.names, divisor, span, _categorical(schema), odd))

    def _parts(self, before: Array, action: Array) -> Array:
        return self._steps(before, action)

    def _part(self, j: int, before: Array, value: Array) -> Array:
        return self._step(j, before, value)

    def _reach(self, x: Array, budget: Array, weight: Array) -> tuple[Array, Array]:
        far = np.maximum(budget, 0) / weight * self._scales.divisor
        return x - far, x + far


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

    def describe(self) -> str:
        """The scaling in words."""
        return "mean of the squared standardised change over the standardised range"

    def _fit(self, schema: Schema, reference: Array | None) -> Self:
        known = _needed(self, reference)
        span, _ = ranges(schema, known)
        categorical = _categorical(schema)
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

    def _parts(self, before: Array, action: Array) -> Array:
        step = self._steps(before, action)
        np.square(step, out=step)
        np.divide(step, self.actionable, out=step)
        return step

    def _part(self, j: int, before: Array, value: Array) -> Array:
        return np.asarray(self._step(j, before, value) ** 2 / self.actionable)

    def _reach(self, x: Array, budget: Array, weight: Array) -> tuple[Array, Array]:
        far = np.sqrt(np.maximum(budget, 0) * self.actionable / weight) * self._scales.divisor
        return x - far, x + far


@dataclass(frozen=True, eq=False)
class Quantiles:
    """Q of one feature as a piecewise linear function: value -> share of the reference at or below it."""

    value: Array  # (K,) strictly increasing, feature units
    share: Array  # (K,) non-decreasing in [0, 1]
    least: float  # 1 / (2 n): log shifts clip the shares to [least, 1 - least]

    def of(self, value: Array) -> Array:
        """Share of the reference at or below each value; NaN stays."""
        return np.asarray(np.interp(value, self.value, self.share))

    def span_between(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Least and greatest value whose share lies in [low, high]; infinite beyond the ends."""
        return -self._last(-low, -self.value[::-1], -self.share[::-1]), self._last(
            high, self.value, self.share
        )

    @staticmethod
    def _last(level: Array, value: Array, share: Array) -> Array:
        i = np.searchsorted(share, level, side="right") - 1
        at = np.clip(i, 0, len(value) - 2) if len(value) > 1 else np.zeros_like(i)
        nxt = np.minimum(at + 1, len(value) - 1)
        gap = np.where(share[nxt] > share[at], share[nxt] - share[at], 1.0)
        inside = value[at] + (level - share[at]) / gap * (value[nxt] - value[at])
        return np.where(i >= len(value) - 1, np.inf, np.where(i < 0, value[0], inside))


@dataclass(frozen=True, eq=False)
class PercentileShift(Cost):
    """How many places in the population a person has to pass: the maximum or the total percentile shift.

    Q is the distribution function of the reference, exact at the observed values and linear between them
    (from 0 at the feature's lower bound), so that no change inside the observed range is free. `log=True`
    measures ``|log((1 - Q(after)) / (1 - Q(before)))|`` with Q clipped to [1/2n, 1 - 1/2n]: the last places
    at the top are dear. With `mirror` a downward move is measured from its own side, ``log(Q(before) /
    Q(after))``; the way back then costs something else. `ties='mid'` counts half of the people at a value
    itself, which suits features with few levels. A change of category costs `categorical` (0 is the
    published form and makes it free).

    Source: Ustun, Spangher & Liu (2019), FAT*, arXiv:1809.06514; survey, eq. 5.
    """

    name: ClassVar[str] = "percentile"
    kind: Literal["max", "total"] = "max"
    log: bool = False
    mirror: bool = False
    ties: Literal["right", "mid"] = "right"
    categorical: float = 1.0
    quantiles: tuple[Quantiles | None, ...] = field(default=(), repr=False, kw_only=True)

    def __post_init__(self) -> None:
        if self.kind not in ("max", "total"):
            raise ProblemError(f"PercentileShift has kind={self.kind!r}. Choose 'max' or 'total'.")
        if self.ties not in ("right", "mid"):
            raise ProblemError(f"PercentileShift has ties={self.ties!r}. Choose 'right' or 'mid'.")
        if not (isinstance(self.categorical, (int, float)) and 0 <= self.categorical < math.inf):
            raise ProblemError(
                f"PercentileShift has categorical={self.categorical!r}. Give a number of at least 0."
            )

    @property
    def separable(self) -> bool:
        """True for the total."""
        return self.kind == "total"

    @property
    def symmetric(self) -> bool:
        """False only for mirrored log shifts."""
        return not (self.log and self.mirror)

    @property
    def unit(self) -> str:
        """Share of the population, or its logarithm."""
        return "log share of the population" if self.log else "share of the population"

    def describe(self) -> str:
        """The measure in words."""
        how = "log percentile shift" if self.log else "percentile shift"
        return f"{'largest' if self.kind == 'max' else 'total'} {how} in the reference population"

    def _fit(self, schema: Schema, reference: Array | None) -> Self:
        known = _needed(self, reference)
        span, _ = ranges(schema, known)
        quantiles: list[Quantiles | None] = []
        odd = np.zeros(schema.d, dtype=np.bool_)
        for j in range(schema.d):
            if schema.is_categorical[j]:
                quantiles.append(None)
                continue
            column = present(known[:, j])
            if column.size == 0:
                raise ProblemError(
                    f"'{schema.names[j]}' is missing for everyone in the reference, so it has no "
                    "percentiles. Give a reference with values, or use another cost."
                )
            quantiles.append(_quantiles(column, float(schema.low[j]), self.ties))
            odd[j] = bool(np.ptp(column) == 0)
        scales = Scales(schema.names, span.copy(), span, _categorical(schema), odd)
        return replace(self, scales=scales, quantiles=tuple(quantiles))

    def _place(self, q: Quantiles, share: Array, *, down: bool = False) -> Array:
        """Increasing function of the share whose differences are the cost."""
        if not self.log:
            return share
        clipped = np.clip(share, q.least, 1 - q.least)
        return np.log(clipped) if down else -np.log1p(-clipped)

    def _part(self, j: int, before: Array, value: Array) -> Array:
        q = self.quantiles[j]
        if q is None:
            step = self._step(j, before, value) > 0
            return self.categorical * step.astype(np.float64)
        old, new = q.of(before), q.of(value)
        shift = np.abs(self._place(q, new) - self._place(q, old))
        if self.log and self.mirror:
            shift = np.where(
                new < old, np.abs(self._place(q, new, down=True) - self._place(q, old, down=True)), shift
            )
        shift = np.where(np.isnan(before), self._full(q), shift)
        return np.where(np.isnan(value), 0.0, shift)

    def _full(self, q: Quantiles) -> float:
        return math.log((1 - q.least) / q.least) if self.log else 1.0

    def _total(self, before: Array, action: Array, weight: Array | None) -> Array:
        parts = self._parts(before, action)
        if weight is not None:
            parts *= weight
        return np.asarray(parts.sum(axis=-1) if self.kind == "total" else parts.max(axis=-1))

    def _reach(self, x: Array, budget: Array, weight: Array) -> tuple[Array, Array]:
        low, high = np.full(x.shape, -np.inf), np.full(x.shape, np.inf)
        room = np.maximum(budget, 0) / weight
        for j, q in enumerate(self.quantiles):
            if q is None:
                continue
            share, r = q.of(x[..., j]), room[..., j]
            if not self.log:
                low[..., j], high[..., j] = q.span_between(share - r, share + r)
                continue
            top = 1 - np.exp(-(self._place(q, share) + r))
            if self.mirror:
                bottom = np.exp(self._place(q, share, down=True) - r)
            else:
                bottom = 1 - np.exp(-(self._place(q, share) - r))
            # beyond the clipped ends every further step is free
            bottom = np.where(bottom <= q.least * (1 + _CHANGED), -1.0, bottom - _CHANGED * q.least)
            top = np.where(top >= 1 - q.least * (1 + _CHANGED), 2.0, top + _CHANGED * q.least)
            low[..., j], high[..., j] = q.span_between(bottom, top)
        return low, high

    def _fitted_fields(self) -> tuple[str, ...]:
        return ("scales", "quantiles")

    def _fitted_to_dict(self) -> dict[str, Any]:
        knots = [
            None if q is None else {"value": _plain(q.value), "share": _plain(q.share), "least": q.least}
            for q in self.quantiles
        ]
        return {"scales": self._scales.to_dict(), "quantiles": knots}

    def _with_fitted(self, stored: Mapping[str, Any]) -> Self:
        knots = tuple(
            None
            if q is None
            else Quantiles(np.asarray(q["value"], float), np.asarray(q["share"], float), float(q["least"]))
            for q in stored["quantiles"]
        )
        return replace(self, scales=Scales.from_dict(stored["scales"]), quantiles=knots)


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
    root: Array | None = field(
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

    def _fit(self, schema: Schema, reference: Array | None) -> Self:
        known = _needed(self, reference)
        span, _ = ranges(schema, known)
        categorical = _categorical(schema)
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
            odd[j] = std <= _CHANGED * span[j]
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

    def _part(self, j: int, before: Array, value: Array) -> Array:
        return self._step(j, before, value) * math.sqrt(float(np.square(self._root[:, j]).sum()))

    def _part_bound(self, j: int, before: Array, value: Array, weight: Array) -> Array:
        return weight * self._step(
            j, before, value
        )  # moves elsewhere help, down to one feature's own deviations

    def _total(self, before: Array, action: Array, weight: Array | None) -> Array:
        step, root = self._steps(before, action), self._root
        step *= np.where((action < before) & ~self._scales.categorical, -1.0, 1.0)
        if weight is not None:
            step *= weight
        # one feature after another instead of a matrix product, whose rounding depends on the number of rows
        turned = np.zeros(step.shape)
        for j in range(step.shape[-1]):
            turned += step[..., j, None] * root[:, j]
        return np.asarray(np.sqrt(np.square(turned, out=turned).sum(axis=-1)))

    def _reach(self, x: Array, budget: Array, weight: Array) -> tuple[Array, Array]:
        far = np.maximum(budget, 0) / weight * self._scales.divisor
        return x - far, x + far

    @property
    def _root(self) -> Array:
        if self.root is None:
            raise ProblemError("Mahalanobis is not fitted. Call fit(schema, reference) first.")
        return self.root

    def _fitted_fields(self) -> tuple[str, ...]:
        return ("scales", "root")

    def _fitted_to_dict(self) -> dict[str, Any]:
        return {"scales": self._scales.to_dict(), "root": _plain(self._root)}

    def _with_fitted(self, stored: Mapping[str, Any]) -> Self:
        return replace(
            self, scales=Scales.from_dict(stored["scales"]), root=np.asarray(stored["root"], float)
        )


_KINDS: dict[str, type[Cost]] = {
    kind.name: kind for kind in (LpMix, MadL1, SquaredShift, PercentileShift, Mahalanobis)
}

#: Costs by the names that the command line takes.
NAMED: dict[str, Cost] = {
    "l0": LpMix(l0=1, l1=0),
    "l1": LpMix(),
    "l2": LpMix(l1=0, l2=1),
    "linf": LpMix(l1=0, linf=1),
    "mad": MadL1(),
    "squared": SquaredShift(),
    "percentile-max": PercentileShift(),
    "percentile-total": PercentileShift(kind="total"),
    "log-percentile-max": PercentileShift(log=True),
    "log-percentile-total": PercentileShift(kind="total", log=True),
    "mahalanobis": Mahalanobis(),
}


def cost_named(name: str) -> Cost:
    """An unfitted cost by its short name. Raises: ProblemError that lists the names."""
    if name not in NAMED:
        raise ProblemError(f"There is no cost '{name}'. Choose one of {', '.join(NAMED)}.")
    return NAMED[name]


def cost_from_dict(stored: Mapping[str, Any]) -> Cost:
    """The reverse of `Cost.to_dict`. Raises: FileFormatError if it is not such a dictionary."""
    kind = _KINDS.get(str(stored.get("cost"))) if isinstance(stored, Mapping) else None
    if kind is None:
        seen = stored.get("cost") if isinstance(stored, Mapping) else type(stored).__name__
        raise FileFormatError(
            f"This is not a stored cost: cost={seen!r}. It must be one of {', '.join(_KINDS)}."
        )
    try:
        cost = kind(**stored.get("parameters", {}))
        fitted = stored.get("fitted")
        return cost if fitted is None else cost._with_fitted(fitted)
    except (TypeError, KeyError, ValueError) as error:
        raise FileFormatError(
            f"The stored cost '{kind.name}' is broken: {error}. Write it again with to_dict."
        ) from error


# -- helpers -----------------------------------------------------------------------------------------------


def _plain(value: Any) -> Any:
    return (
        value.tolist()
        if isinstance(value, np.ndarray)
        else list(value)
        if isinstance(value, tuple)
        else value
    )


def _expand(array: Array, ndim: int) -> Array:
    """Give an (n, d) array the option axis of an (n, k, d) one."""
    return array[..., None, :] if array.ndim == ndim - 1 and array.ndim >= 1 else array


def _checked(weight: npt.ArrayLike) -> Array:
    w = np.asarray(weight, dtype=np.float64)
    if w.ndim == 0 or not (w > 0).all():
        worst = w if w.ndim == 0 else w[~(w > 0)].flat[0]
        raise ProblemError(
            f"A weight is {worst}. Give an array of weights above 0; freeze a feature to forbid it."
        )
    return w


def _blocks(shape: tuple[int, ...]) -> Iterator[tuple[slice, ...]]:
    """Cut rows of this leading shape into blocks of bounded size, along the longest axis."""
    if math.prod(shape) <= _ROWS_AT_ONCE:
        yield (slice(None),) * len(shape)
        return
    axis = int(np.argmax(shape))
    others = math.prod(shape) // shape[axis]
    step = max(1, _ROWS_AT_ONCE // max(others, 1))
    for start in range(0, shape[axis], step):
        yield tuple(slice(start, start + step) if i == axis else slice(None) for i in range(len(shape)))


def _needed(cost: Cost, reference: Array | None) -> Array:
    if reference is None or not len(reference):
        raise ProblemError(
            f"{type(cost).__name__} measures against a population and has none. Give data: Problem(..., "
            "data=train)."
        )
    return reference


def _categorical(schema: Schema) -> Flags:
    return np.asarray(schema.is_categorical, dtype=np.bool_)


def _quantiles(column: Array, low: float, ties: str) -> Quantiles:
    value, count = np.unique(column, return_counts=True)
    n = column.size
    share = np.cumsum(count) / n
    if ties == "mid":
        share = share - count / (2 * n)
    if low < value[0] and math.isfinite(low):
        value, share = np.append(low, value), np.append(0.0, share)
    elif low == -math.inf:
        value, share = np.append(np.nextafter(value[0], -math.inf), value), np.append(0.0, share)
    return Quantiles(value.astype(np.float64), share.astype(np.float64), 1 / (2 * n))


def _shrunk_correlation(z: Array, shrinkage: float | None) -> Array:
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
