"""What the search minimises, and what it prepares for everybody."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from wayforward.methods.actionable_recourse.linear_target import LinearTarget

if TYPE_CHECKING:
    from wayforward.problem import Cost, Problem

Preset = Literal["problem", "total", "local", "max"]
Options = Literal["distinct", "different", "exclusive", "exact"]


@dataclass(frozen=True)
class PreparedPrograms:
    """The model, the cost and the settings of a fitted `ActionableRecourse`, as its searches need them."""

    scores: LinearTarget
    effort: SearchCost
    quantiles: list[np.ndarray]
    options: Options
    grid: int
    workers: int
    solves: int
    nodes: int


@dataclass(frozen=True)
class SearchCost:
    """What the search minimises. kind: 'sum'; 'peak' (then sum); 'mix' (sum + peak); 'square' (root of a sum).

    linear: along a numeric feature, sum and peak grow linearly with the change. ranks: the order of totals is the
    order of this measure.
    """

    kind: Literal["sum", "peak", "mix", "square"]
    total: Cost  # whose parts add up
    peak: Cost | None
    peak_weight: float
    linear: bool
    ranks: bool

    @classmethod
    def of(cls, problem: Problem, preset: Preset) -> SearchCost:
        """Return what is minimised for a problem's cost, or for a preset of the method."""
        from wayforward.problem import LpMix, MadL1, PercentileShift

        cost = problem.cost
        if preset != "problem":
            shift = PercentileShift(kind="total", log=preset == "local", mirror=preset == "local")
            fitted = shift.fit(problem.schema, problem.reference)
            peak = fitted if preset == "max" else None
            return cls("peak" if peak is not None else "sum", fitted, peak, 1.0, False, True)
        if isinstance(cost, MadL1):
            return cls("sum", cost, None, 0.0, True, True)
        if isinstance(cost, PercentileShift):
            return cls(
                "sum" if cost.kind == "total" else "peak",
                cost,
                cost if cost.kind == "max" else None,
                1.0,
                False,
                True,
            )
        if not isinstance(cost, LpMix):
            return cls("sum", cost, None, 0.0, False, cost.separable)
        plain = cost.l0 or cost.l1 or cost.l2_squared
        steps = replace(cost, l0=0.0, l1=1.0, l2=0.0, linf=0.0, l2_squared=0.0, per_feature=False)
        if cost.l2 and not plain and not cost.linf:
            return cls("square", steps, None, 0.0, False, True)
        if cost.linf and not plain and not cost.l2:
            return cls("peak", steps, steps, 1.0, True, True)
        added = replace(cost, l2=0.0, linf=0.0, l1=cost.l1 if plain else 1.0)
        return cls(
            "mix" if cost.linf else "sum",
            added,
            steps if cost.linf else None,
            cost.linf,
            not cost.l2_squared,
            not cost.l2,
        )

    def added(self, j: int, before: np.ndarray, value: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Return what setting feature j adds to the sum; arrays broadcast."""
        part = np.asarray(self.total.part(j, before, value) * weight)
        return np.asarray(part**2) if self.kind == "square" else part

    def peaks(self, j: int, before: np.ndarray, value: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Return what setting feature j makes of the maximum."""
        if self.peak is None:
            return np.zeros(np.broadcast_shapes(before.shape, value.shape))
        return np.asarray(self.peak.part(j, before, value) * weight)


def reference_values(problem: Problem, grid: int) -> list[np.ndarray]:
    """Return values of each feature: at even ranks of the reference, or between the schema's bounds."""
    out = []
    schema = problem.schema
    for j in range(schema.d):
        known = np.empty(0)
        if problem.reference is not None:
            known = problem.reference[~np.isnan(problem.reference[:, j]), j]
        if known.size:
            out.append(np.unique(np.quantile(known, np.linspace(0, 1, grid), method="inverted_cdf")))
        elif np.isfinite(schema.low[j]) and np.isfinite(schema.high[j]):
            out.append(np.linspace(schema.low[j], schema.high[j], grid))
        else:
            out.append(np.empty(0))
    return out
