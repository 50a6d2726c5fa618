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
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from wayforward.errors import ProblemError, numbers_in
from wayforward.public import public
from wayforward.scaling import checked_rows
from wayforward.shapes import Floats, Mask

if TYPE_CHECKING:
    from wayforward.schema import Schema

_ROWS_AT_ONCE = 4096  # temporaries of a block stay in the cache: 3x faster than whole arrays at 1e6 rows
CHANGED = 1e-9  # share of the range below which two values are the same (as Schema.differs)


@dataclass(frozen=True, eq=False)
class Scales:
    """What a cost knows of each feature after fitting; (d,) arrays in feature units."""

    names: tuple[str, ...]
    divisor: Floats  # a change of this size costs 1
    span: Floats  # width of the range, the size of a full change
    categorical: Mask  # any change counts as one unit, whatever the level indices
    fallback: Mask  # the divisor could not be read off the reference (see each cost)

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, for JSON."""
        return {f.name: as_plain(getattr(self, f.name)) for f in fields(self)}

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


@public
@dataclass(frozen=True, eq=False)
class Cost(ABC):
    """Effort of an action. `fit` returns a fitted copy; the other methods need one.

    Attributes: `unit`, the words after the number; `separable`, True if the total is the weighted sum of
    `parts`; `symmetric`, True if the way back costs the same.
    """

    name: ClassVar[str] = ""
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}  # short name -> parameters; none: `name`
    scales: Scales | None = field(default=None, repr=False, kw_only=True)

    # -- for everyone --------------------------------------------------------------------------------------

    def fit(self, schema: Schema, reference: Floats | None = None) -> Self:
        """A copy that knows the ranges of `schema` and the people of `reference` (N, d), feature units.

        Raises: ProblemError if the reference does not fit the schema, or is needed and missing.
        """
        known = None if reference is None else checked_rows(schema, reference, "reference")
        return self._fit(schema, known)

    def parts(self, before: npt.ArrayLike, action: npt.ArrayLike) -> Floats:
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
    ) -> Floats:
        """(...) cost of each row, `weight` (..., d) above zero applied; shapes as in `parts`."""
        b, a, w = self._align(before, action, weight)
        out = np.empty(a.shape[:-1])
        for rows in _blocks(a.shape[:-1]):
            out[rows] = self._total(b[rows], a[rows], None if w is None else w[rows])
        return out

    def part(self, feature: int, before: npt.ArrayLike, value: npt.ArrayLike) -> Floats:
        """Cost of setting one feature (its position) from `before` to `value`; any shapes that broadcast.

        The separable table of an exact solver is ``cost.part(j, x[:, j, None], grid[None, :])``.
        """
        b, a = np.broadcast_arrays(np.asarray(before, dtype=np.float64), np.asarray(value, dtype=np.float64))
        return self._part(feature, b, a)

    def reach_for(
        self, before: npt.ArrayLike, budget: npt.ArrayLike, weight: npt.ArrayLike | None = None
    ) -> tuple[Floats, Floats]:
        """Low and high (..., d): no action within `budget` (...) can set a feature outside this box.

        The box is tight for a separable cost; for the others it is a valid bound. Unlimited sides are
        infinite. A categorical feature whose change costs too much gets low = high = its value, else an
        unlimited box. Where the value before is missing and a full change costs too much, low is +inf and
        high is -inf: leave it alone.
        """
        x = np.asarray(before, dtype=np.float64)
        scales = self.fitted_scales
        room = np.broadcast_to(np.asarray(budget, dtype=np.float64)[..., None], x.shape)
        w = (
            np.ones(x.shape)
            if weight is None
            else np.broadcast_to(with_option_axis(_checked(weight), x.ndim), x.shape)
        )
        with np.errstate(invalid="ignore", divide="ignore"):
            low, high = self._reach(x, room, w)
        slack = CHANGED * scales.span  # a bound must not cut off the optimum by a rounding error
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
            can = whole <= room * (1 + CHANGED)
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
        scales = self.fitted_scales
        return tuple(name for name, odd in zip(scales.names, scales.fallback, strict=True) if odd)

    def step_sum(self) -> tuple[float, float, float] | None:
        """Return (a, b, c) where the cost is the sum of a [changed] + b |step| + c step^2, else None.

        A step is a change over the feature's divisor (`fitted_scales`).
        """
        return None

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
    def _fit(self, schema: Schema, reference: Floats | None) -> Self: ...

    @abstractmethod
    def _part(self, j: int, before: Floats, value: Floats) -> Floats:
        """Cost of one feature's change by itself, 0 where `value` is NaN."""

    @abstractmethod
    def _reach(self, x: Floats, budget: Floats, weight: Floats) -> tuple[Floats, Floats]:
        """Bounds for ordered features; entries that are categorical or missing are overwritten."""

    def _parts(self, before: Floats, action: Floats) -> Floats:
        out = np.empty(action.shape)
        for j in range(action.shape[-1]):
            out[..., j] = self._part(j, before[..., j], action[..., j])
        return out

    def _total(self, before: Floats, action: Floats, weight: Floats | None) -> Floats:
        parts = self._parts(before, action)
        if weight is not None:
            parts *= weight
        return np.asarray(parts.sum(axis=-1))

    def _part_bound(self, j: int, before: Floats, value: Floats, weight: Floats) -> Floats:
        """Least total of any action that makes this change (for `reach_for`)."""
        return np.asarray(weight * self._part(j, before, value))

    def _fitted_fields(self) -> tuple[str, ...]:
        return ("scales",)

    def _fitted_to_dict(self) -> dict[str, Any]:
        return {"scales": self.fitted_scales.to_dict()}

    def with_fitted(self, stored: Mapping[str, Any]) -> Self:
        """Return a fitted copy from what `to_dict` wrote under "fitted"."""
        return replace(self, scales=Scales.from_dict(stored["scales"]))

    # -- shared --------------------------------------------------------------------------------------------

    @property
    def fitted_scales(self) -> Scales:
        """The scales of a fitted cost. Raises: ProblemError before `fit`."""
        if self.scales is None:
            raise ProblemError(f"{type(self).__name__} is not fitted. Call fit(schema, reference) first.")
        return self.scales

    def _align(
        self, before: npt.ArrayLike, action: npt.ArrayLike, weight: npt.ArrayLike | None
    ) -> tuple[Floats, Floats, Floats | None]:
        a = numbers_in(action, "action", ProblemError)
        b = with_option_axis(numbers_in(before, "before", ProblemError), a.ndim)
        d = len(self.fitted_scales.names)
        if a.ndim == 0 or a.shape[-1] != d or b.ndim == 0 or b.shape[-1] != d:
            raise ProblemError(
                f"This cost was fitted on {d} features and got before {b.shape} and action {a.shape}. Give "
                f"arrays whose last axis has {d} entries."
            )
        w = None if weight is None else with_option_axis(_checked(weight), a.ndim)
        if a.shape == b.shape and w is None:
            return b, a, None
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

    def _steps(self, before: Floats, action: Floats) -> Floats:
        """(..., d) size of each change over its divisor, without sign; 0 where left alone."""
        scales = self.fitted_scales
        step = np.subtract(action, before, out=np.empty(action.shape))
        np.abs(step, out=step)
        np.fmax(step, 0.0, out=step)  # NaN (left alone, or missing before) becomes 0
        np.minimum(step, np.where(scales.categorical, 1.0, np.inf), out=step)
        np.divide(step, scales.divisor, out=step)
        missing = np.isnan(before)
        if missing.any():
            np.copyto(step, scales.span / scales.divisor, where=missing & ~np.isnan(action))
        return np.asarray(step)

    def _step(self, j: int, before: Floats, value: Floats) -> Floats:
        """`_steps` of one feature."""
        scales = self.fitted_scales
        step = np.fmax(np.abs(value - before), 0.0)
        if scales.categorical[j]:
            step = np.minimum(step, 1.0)
        step = np.where(np.isnan(before) & ~np.isnan(value), scales.span[j], step)
        return np.asarray(step / scales.divisor[j])


def as_plain(value: Any) -> Any:
    """Return lists for arrays and tuples, for JSON."""
    return (
        value.tolist()
        if isinstance(value, np.ndarray)
        else list(value)
        if isinstance(value, tuple)
        else value
    )


def with_option_axis(array: Floats, ndim: int) -> Floats:
    """Give an (n, d) array the option axis of an (n, k, d) one."""
    return array[..., None, :] if array.ndim == ndim - 1 and array.ndim >= 1 else array


def _checked(weight: npt.ArrayLike) -> Floats:
    w = numbers_in(weight, "weight", ProblemError)
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


def require_people(cost: Cost, reference: Floats | None) -> Floats:
    """Return the reference people that a cost measures against. Raises: ProblemError without any."""
    if reference is None or not len(reference):
        raise ProblemError(
            f"{type(cost).__name__} measures against a population and has none. Give data: Problem(..., "
            "data=train)."
        )
    return reference
