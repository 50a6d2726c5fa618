"""How many people somebody passes: shifts of the percentile."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from wayforward.errors import ProblemError, is_one_of
from wayforward.problem.cost.base import CHANGED, Cost, Scales, as_plain, require_people
from wayforward.public import public
from wayforward.scaling import present, ranges
from wayforward.shapes import Floats

if TYPE_CHECKING:
    from wayforward.schema import Schema


@dataclass(frozen=True, eq=False)
class Quantiles:
    """Q of one feature as a piecewise linear function: value -> share of the reference at or below it."""

    value: Floats  # (K,) strictly increasing, feature units
    share: Floats  # (K,) non-decreasing in [0, 1]
    least: float  # 1 / (2 n): log shifts clip the shares to [least, 1 - least]

    def of(self, value: Floats) -> Floats:
        """Share of the reference at or below each value; NaN stays."""
        return np.asarray(np.interp(value, self.value, self.share))

    def span_between(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Least and greatest value whose share lies in [low, high]; infinite beyond the ends."""
        return -self._last(-low, -self.value[::-1], -self.share[::-1]), self._last(
            high, self.value, self.share
        )

    @staticmethod
    def _last(level: Floats, value: Floats, share: Floats) -> Floats:
        i = np.searchsorted(share, level, side="right") - 1
        at = np.clip(i, 0, len(value) - 2) if len(value) > 1 else np.zeros_like(i)
        nxt = np.minimum(at + 1, len(value) - 1)
        gap = np.where(share[nxt] > share[at], share[nxt] - share[at], 1.0)
        inside = value[at] + (level - share[at]) / gap * (value[nxt] - value[at])
        return np.where(i >= len(value) - 1, np.inf, np.where(i < 0, value[0], inside))


@public
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
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "percentile-max": {},
        "percentile-total": {"kind": "total"},
        "log-percentile-max": {"log": True},
        "log-percentile-total": {"kind": "total", "log": True},
    }
    kind: Literal["max", "total"] = "max"
    log: bool = False
    mirror: bool = False
    ties: Literal["right", "mid"] = "right"
    categorical: float = 1.0
    quantiles: tuple[Quantiles | None, ...] = field(default=(), repr=False, kw_only=True)

    def __post_init__(self) -> None:
        if not is_one_of(self.kind, ("max", "total")):
            raise ProblemError(f"PercentileShift has kind={self.kind!r}. Choose 'max' or 'total'.")
        if not is_one_of(self.ties, ("right", "mid")):
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

    def _fit(self, schema: Schema, reference: Floats | None) -> Self:
        known = require_people(self, reference)
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
        scales = Scales(schema.names, span.copy(), span, schema.is_categorical, odd)
        return replace(self, scales=scales, quantiles=tuple(quantiles))

    def _place(self, q: Quantiles, share: Floats, *, down: bool = False) -> Floats:
        """Increasing function of the share whose differences are the cost."""
        if not self.log:
            return share
        clipped = np.clip(share, q.least, 1 - q.least)
        return np.asarray(np.log(clipped) if down else -np.log1p(-clipped))

    def _part(self, j: int, before: Floats, value: Floats) -> Floats:
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

    def _total(self, before: Floats, action: Floats, weight: Floats | None) -> Floats:
        parts = self._parts(before, action)
        if weight is not None:
            parts *= weight
        return np.asarray(parts.sum(axis=-1) if self.kind == "total" else parts.max(axis=-1))

    def _reach(self, x: Floats, budget: Floats, weight: Floats) -> tuple[Floats, Floats]:
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
            bottom = np.where(bottom <= q.least * (1 + CHANGED), -1.0, bottom - CHANGED * q.least)
            top = np.where(top >= 1 - q.least * (1 + CHANGED), 2.0, top + CHANGED * q.least)
            low[..., j], high[..., j] = q.span_between(bottom, top)
        return low, high

    def _fitted_fields(self) -> tuple[str, ...]:
        return ("scales", "quantiles")

    def _fitted_to_dict(self) -> dict[str, Any]:
        knots = [
            None if q is None else {"value": as_plain(q.value), "share": as_plain(q.share), "least": q.least}
            for q in self.quantiles
        ]
        return {"scales": self.fitted_scales.to_dict(), "quantiles": knots}

    def with_fitted(self, stored: Mapping[str, Any]) -> Self:
        """See `Cost`."""
        knots = tuple(
            None
            if q is None
            else Quantiles(np.asarray(q["value"], float), np.asarray(q["share"], float), float(q["least"]))
            for q in stored["quantiles"]
        )
        return replace(self, scales=Scales.from_dict(stored["scales"]), quantiles=knots)


def _quantiles(column: Floats, low: float, ties: str) -> Quantiles:
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
