"""How far two profiles lie apart, per row: norms, MAD and percentile shifts, at feature level.

Every function takes `before` and `after` (..., d) in feature units and gives (...). Differences are
scaled by the range that the schema declares (`Feature.span`); a changed category counts 1 and an ordinal
step 1/(L-1). Rows that are all NaN (not found) give NaN.

Sources: section numbers of the survey of A.-H. Karimi, G. Barthe, B. Schoelkopf & I. Valera (2022), ACM
Comput. Surv. 55(5), equations 3 to 5; percentile costs of B. Ustun, A. Spangher & Y. Liu (2019), FAT*.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from wayforward.schema import Schema
from wayforward.shapes import Floats, Mask

Level = Literal["feature", "column"]

TOLERANCE = 1e-5  # a numeric change below this share of the range does not count, as in published scorers


def scaled_change(schema: Schema, before: np.ndarray, after: np.ndarray) -> Floats:
    """Signed change in units of each feature's range: (..., d) -> (..., d).

    A changed category is +1. A value that appears or disappears (NaN on one side, in a feature that may be
    missing) is +1 as well: leaving the measured scale is as far as a feature can go.
    """
    before, after = np.broadcast_arrays(
        np.asarray(before, dtype=np.float64), np.asarray(after, dtype=np.float64)
    )
    delta = (after - before) / schema.span
    delta = np.where(schema.is_categorical, (after != before).astype(np.float64), delta)
    one_missing = np.isnan(before) != np.isnan(after)
    delta = np.where(np.isnan(before) & np.isnan(after), 0.0, np.where(one_missing, 1.0, delta))
    empty = np.isnan(after).all(-1, keepdims=True)  # an empty slot, not a person without any value
    return np.asarray(np.where(empty, np.nan, delta), dtype=np.float64)


def changed(schema: Schema, before: np.ndarray, after: np.ndarray) -> Mask:
    """Which features changed, by more than the tolerance: (..., d) -> (..., d); not found = nothing."""
    return np.asarray(np.abs(scaled_change(schema, before, after)) > TOLERANCE)


def norms(
    schema: Schema, before: np.ndarray, after: np.ndarray, level: Level = "feature"
) -> dict[str, Floats]:
    """l0, l1, l2, l2_squared and linf of the scaled change: each (...).

    `level="column"` counts as scorers do that look at one-hot columns: a changed category then changes two
    columns by one each. Published tables under the name L2 often hold the square: compare `l2_squared`.
    """
    delta = scaled_change(schema, before, after)
    size = np.abs(delta)
    moved = np.where(np.isnan(size), np.nan, size > TOLERANCE)
    twice = np.where(schema.is_categorical, 2.0, 1.0) if level == "column" else np.ones(schema.d)
    squared = (twice * delta**2).sum(-1)
    return {
        "l0": (twice * moved).sum(-1),
        "l1": (twice * size).sum(-1),
        "l2": np.sqrt(squared),
        "l2_squared": squared,
        "linf": size.max(-1),
    }


def mix(
    schema: Schema,
    before: np.ndarray,
    after: np.ndarray,
    *,
    alpha: float = 0.0,
    beta: float = 1.0,
    gamma: float = 0.0,
    zeta: float = 0.0,
    per_feature: bool = False,
) -> Floats:
    """alpha*l0 + beta*l1 + gamma*l2 + zeta*linf (survey eq. 4); `per_feature` divides l0 and l1 by d."""
    got = norms(schema, before, after)
    share = schema.d if per_feature else 1
    return np.asarray(
        alpha * got["l0"] / share + beta * got["l1"] / share + gamma * got["l2"] + zeta * got["linf"]
    )


@dataclass(frozen=True)
class ReferenceScale:
    """What the reference population says about each feature: its MAD and its empirical distribution.

    Fitted once per evaluation and shared by every metric that needs it.
    """

    schema: Schema
    mad: Floats  # (d,) median absolute deviation; 1 where it was 0
    mad_was_zero: Mask  # (d,) True where a MAD of 0 was replaced by 1
    std: Floats  # (d,) standard deviation; 1 where it was 0
    spread: Floats  # (d,) max - min; 1 where it was 0
    ordered_values: tuple[Floats, ...]  # d sorted arrays of observed values

    @classmethod
    def fit(cls, schema: Schema, reference: np.ndarray) -> ReferenceScale:
        """Learn from `reference` (N, d); missing values are left out feature by feature."""
        reference = np.asarray(reference, dtype=np.float64)
        columns = [reference[:, j][~np.isnan(reference[:, j])] for j in range(schema.d)]
        mad = np.array([np.median(np.abs(c - np.median(c))) if c.size else 0.0 for c in columns])
        std = np.array([c.std() if c.size else 0.0 for c in columns])
        spread = np.array([np.ptp(c) if c.size else 0.0 for c in columns])
        zero = ~(mad > 0)
        return cls(
            schema,
            np.where(zero, 1.0, mad),
            zero & ~schema.is_categorical,
            np.where(std > 0, std, 1.0),
            np.where(spread > 0, spread, 1.0),
            tuple(np.sort(c) for c in columns),
        )

    def mad_l1(self, before: np.ndarray, after: np.ndarray) -> Floats:
        """Sum of |change| / MAD over features, 1 per changed category (survey eq. 3): (...)."""
        scaled = np.abs(scaled_change(self.schema, before, after))
        weight = np.where(self.schema.is_categorical, 1.0, self.schema.span / self.mad)
        return np.asarray((scaled * weight).sum(-1))

    def percentile(self, values: np.ndarray) -> Floats:
        """Share of the reference at or below each value (..., d), kept inside [1/2N, 1 - 1/2N]."""
        values = np.asarray(values, dtype=np.float64)
        out = np.full(values.shape, np.nan)
        for j, known in enumerate(self.ordered_values):
            if not known.size:
                continue
            # Halving the ends keeps the logarithms of the shifts finite.
            share = np.searchsorted(known, values[..., j], side="right") / known.size
            edge = 0.5 / known.size
            out[..., j] = np.where(np.isnan(values[..., j]), np.nan, share.clip(edge, 1 - edge))
        return out

    def percentile_shift(
        self,
        before: np.ndarray,
        after: np.ndarray,
        *,
        kind: Literal["max", "total"] = "max",
        log: bool = False,
    ) -> Floats:
        """Largest or summed percentile shift of a row, or of its log((1-Q')/(1-Q)): (...).

        Categories have no percentile and contribute 0. Survey eq. 5 is kind="max", log=False; the cost of
        Ustun et al. is kind="total", log=True.
        """
        was, now = np.broadcast_arrays(self.percentile(before), self.percentile(after))
        shift = np.abs(np.log((1 - now) / (1 - was)) if log else now - was)
        moved = scaled_change(self.schema, before, after)
        ignored = self.schema.is_categorical | (moved == 0)
        shift = np.where(ignored, 0.0, shift)
        shift = np.where(np.isnan(shift) & ~np.isnan(moved), 0.0, shift)  # a value that went missing
        empty = np.isnan(moved).any(-1)
        return np.asarray(np.where(empty, np.nan, shift.max(-1) if kind == "max" else shift.sum(-1)))

    def carma_cost(self, before: np.ndarray, action: np.ndarray, weight: np.ndarray | None = None) -> Floats:
        """(1/|A|) sum over acted features of (standardised change)^2 / range: (...).

        A is the set of actionable features. Source: A. Majumdar & I. Valera (2024), CARMA; with `weight`
        (n, d) or (n, 1, d) the weighted cost of its interactive successor.
        """
        before, action = np.broadcast_arrays(
            np.asarray(before, dtype=np.float64), np.asarray(action, dtype=np.float64)
        )
        acted = ~np.isnan(action)
        part = (action - before) ** 2 / (self.std * self.spread)
        part = np.where(self.schema.is_categorical, (action != before).astype(np.float64), part)
        if weight is not None:
            part = part * weight
        total = np.where(acted, part, 0.0).sum(-1) / max(1, int(self.schema.actionable.sum()))
        return np.asarray(np.where(acted.any(-1), total, np.nan))


def euclidean_columns(schema: Schema, rows: np.ndarray) -> Floats:
    """Rows (..., d) as columns in which Euclidean distance is fair to every kind of feature: (..., e).

    Ranges become one; a category is a one-hot block scaled so that two different levels lie one apart; a
    feature that may be missing gets the middle of its range and a column of its own for being missing.
    """
    rows = np.asarray(rows, dtype=np.float64)
    low = np.where(np.isfinite(schema.low), schema.low, 0.0)
    parts: list[Floats] = []
    for j, feature in enumerate(schema.features):
        column = rows[..., j]
        absent = np.isnan(column)
        if feature.kind == "categorical":
            levels = np.arange(feature.n_levels)
            parts.append((column[..., None] == levels) / np.sqrt(2.0))
        else:
            scaled = (column - low[j]) / schema.span[j]
            parts.append(np.where(absent, 0.5, scaled)[..., None])
        if feature.missing:
            parts.append(absent[..., None].astype(np.float64))
    return np.concatenate(parts, axis=-1)
