"""A linear score, or a network of rectified units, from above: an affine function of the features over each box.

Source: H. Zhang, T.-W. Weng, P.-Y. Chen, C.-J. Hsieh, L. Daniel (2018), Efficient Neural Network Robustness
Certification with General Activation Functions (CROWN), NeurIPS; arXiv:1811.00866. A unit that may be on or off in a
box is bounded by the line through its ends from above, and by 0 or by its input from below.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from wayforward.model.fast import DOUBLE_UNIT, SINGLE_UNIT, roundoff
from wayforward.shapes import Floats, Mask, Rows

if TYPE_CHECKING:
    from wayforward.model.forms import DenseForm
    from wayforward.schema import Schema

Bounds = tuple[Floats, Floats]


class Above(NamedTuple):
    """An affine bound over each of b boxes: const (b,), slope (b, d) a unit, table (b, L) of levels; loose (b, d): how
    much of what the bound is too high by hangs on each feature's range."""

    const: Floats
    slope: Floats
    table: Floats
    loose: Floats


class AffineNet:
    """One output of dense layers of rectified units on affine columns. Make it with `AffineNet.of`.

    Boxes: low, high (b, d), ok (b, L) bool levels in the order of `Schema.level_owner`, base (b, h): what is fixed of
    the person in the first layer (`base_of`).
    """

    def __init__(self, form: DenseForm, schema: Schema, mix: Floats, *, single: bool) -> None:
        weights = [np.asarray(w, dtype=np.float64) for w in form.weights]
        biases = [np.asarray(b, dtype=np.float64) for b in form.biases]
        weights[-1], biases[-1] = weights[-1] @ mix[:, None], np.atleast_1d(biases[-1] @ mix)
        first, h = weights[0], weights[0].shape[1]
        self.schema, self.bias, d = schema, biases[0].copy(), schema.d
        self.slope, self.offset, self.gone = np.zeros((d, h)), np.zeros((d, h)), np.zeros((d, h))
        self.table = np.zeros((len(schema.level_owner), h))
        for e, column in enumerate(form.encoder.columns):
            j = column.feature
            if column.table is None:
                slope = column.factor / column.divisor
                self.slope[j] += slope * first[e]
                self.offset[j] += (column.shift - column.centre * slope) * first[e]
                self.gone[j] += np.nan_to_num(column.missing) * first[e]
            elif j < 0:
                self.bias += column.table[0] * first[e]
            else:
                part = column.table[:, None] * first[e]
                self.table[schema.level_columns[j]] += part[:-1]
                self.gone[j] += np.nan_to_num(part[-1])
        self.layers = list(zip(weights[1:], biases[1:], strict=True))
        self.rectified = [activation == "relu" for activation in form.activations[:-1]]
        self.starts = np.array([at.start for at in schema.level_columns.values()], dtype=np.int64)
        self.levelled = np.array(list(schema.level_columns), dtype=np.int64)
        terms = sum(len(w) for w in weights)
        self.error = 4.0 * roundoff(terms, SINGLE_UNIT if single else DOUBLE_UNIT)
        self.used = (self.slope != 0).any(1)
        spread = np.ptp(self.table, axis=1) if not len(self.table) else np.abs(self.table).sum(1)
        np.logical_or.at(self.used, schema.level_owner, spread > 0)

    @classmethod
    def of(cls, form: DenseForm, schema: Schema, mix: Floats, *, single: bool) -> AffineNet | None:
        """Read a form; None for units of another kind, and for columns that are no affine function of a feature."""
        if not set(form.activations) <= {"relu", "identity"}:
            return None
        if any(column.ufunc or column.own is not None for column in form.encoder.columns):
            return None
        return cls(form, schema, mix, single=single)

    def base_of(self, x: Rows) -> Floats:
        """(n, d) people -> (n, h): what does not hang on the values of features; a missing value's share is fixed."""
        gone = np.isnan(x)[:, :, None]
        levels = self.schema.has_levels[None, :, None]
        return np.asarray(self.bias + np.where(gone, self.gone, np.where(levels, 0.0, self.offset)).sum(1))

    def margin(self, base: Floats, value: Rows) -> Floats:
        """(b,) the output at rows (b, d) without missing values; base: of whose they are."""
        z = base + np.einsum("bd,dh->bh", np.where(self.schema.has_levels, 0.0, value), self.slope)
        for j, at in self.schema.level_columns.items():
            here = ~np.isnan(value[:, j])
            z[here] += self.table[at][value[here, j].astype(np.int64)]
        for rectified, (weight, bias) in zip(self.rectified, self.layers, strict=True):
            z = np.einsum("bh,ho->bo", np.maximum(z, 0.0) if rectified else z, weight) + bias
        return np.asarray(z[:, 0])

    def room(self, low: Floats, high: Floats, ok: Mask, base: Floats) -> Floats:
        """(b,) how far the model's own arithmetic may be from ours anywhere in a box."""
        far = np.maximum(np.abs(low), np.abs(high))
        size = np.abs(base) + np.einsum("bd,dh->bh", far, np.abs(self.slope)) + np.abs(self.offset).sum(0)
        if len(self.starts):
            size = size + self._best(np.abs(self.table)[None], ok[:, :, None], -1.0).clip(0).sum(1)
        for weight, bias in self.layers:
            size = np.einsum("bh,ho->bo", size, np.abs(weight)) + np.abs(bias)
        return np.asarray(self.error * size[:, 0])

    def _best(self, value: Floats, ok: Mask, empty: float) -> Floats:
        """(b, L, ...) -> (b, features with levels, ...): the greatest among the levels in a box."""
        return np.asarray(np.maximum.reduceat(np.where(ok, value, empty), self.starts, axis=1))

    def above(self, low: Floats, high: Floats, ok: Mask, base: Floats) -> Above:
        """Bound the output over boxes from above."""
        up, down = np.maximum(self.slope, 0.0), np.minimum(self.slope, 0.0)
        most = base + np.einsum("bd,dh->bh", high, up) + np.einsum("bd,dh->bh", low, down)
        least = base + np.einsum("bd,dh->bh", low, up) + np.einsum("bd,dh->bh", high, down)
        spread = np.zeros((len(low), 0, self.slope.shape[1]))
        if len(self.starts):
            best = self._best(self.table[None], ok[:, :, None], -np.inf)
            worst = -self._best(-self.table[None], ok[:, :, None], -np.inf)
            spread = np.where(np.isfinite(best), best - worst, 0.0)
            most = most + np.where(np.isfinite(best), best, 0.0).sum(1)
            least = least + np.where(np.isfinite(worst), worst, 0.0).sum(1)
        known: list[Bounds] = [(least, most)]
        for k in range(1, len(self.layers)):  # of the last layer only what is above is asked for
            width = self.layers[k - 1][0].shape[1]
            eye = np.broadcast_to(np.eye(width), (len(low), width, width))
            ends = []
            for side in (-1.0, 1.0):
                coefficient, const, _ = self._back(side * eye, k, known)
                ends.append(side * self._greatest(coefficient, const, low, high, ok, base))
            known.append((ends[0], ends[1]))
        coefficient, const, slack = self._back(np.ones((len(low), 1, 1)), len(self.layers), known)
        first = coefficient[:, 0]
        loose = np.abs(first) * (slack[:, 0] > 0) + 0.1 * np.abs(first) * (slack.sum() > 0)
        hangs = np.einsum("bh,dh->bd", loose, np.abs(self.slope)) * (high - low)
        if len(self.starts):
            hangs[:, self.levelled] = (loose[:, None] * spread).sum(2)
        return Above(
            const[:, 0] + (first * base).sum(1),
            np.einsum("bh,dh->bd", first, self.slope),
            np.einsum("bh,lh->bl", first, self.table),
            hangs,
        )

    def _back(self, coefficient: Floats, k: int, known: list[Bounds]) -> tuple[Floats, Floats, Floats]:
        """Lead coefficients (b, o, width) of layer k's inputs to units back to the first layer; return them, constants
        (b, o) and (b, 1, h) how much the bounds of the first layer's units are too high by."""
        const = np.zeros(coefficient.shape[:2])
        slack = np.zeros((len(coefficient), 1, self.slope.shape[1]))
        for i in range(k, 0, -1):
            weight, bias = self.layers[i - 1]
            const = const + coefficient @ bias
            coefficient = coefficient @ weight.T
            if not self.rectified[i - 1]:
                continue
            least, most = (ends[:, None] for ends in known[i - 1])
            with np.errstate(divide="ignore", invalid="ignore"):
                chord = np.where(least >= 0, 1.0, np.where(most <= 0, 0.0, most / (most - least)))
            lift = np.where((least < 0) & (most > 0), -least * chord, 0.0)
            under = np.where(least >= 0, 1.0, np.where(most <= 0, 0.0, (most > -least) * 1.0))
            positive = np.maximum(coefficient, 0.0)
            const = const + (positive * lift).sum(2)
            if i == 1:
                under_it = np.minimum(coefficient, 0.0) * ((least < 0) & (most > 0))
                slack = (positive * lift - under_it).sum(1)[:, None]
            coefficient = positive * chord + np.minimum(coefficient, 0.0) * under
        return coefficient, const, slack

    def _greatest(
        self, coefficient: Floats, const: Floats, low: Floats, high: Floats, ok: Mask, base: Floats
    ) -> Floats:
        """(b, o) the greatest values over boxes of affine functions of the first layer."""
        slope = coefficient @ self.slope.T  # (b, o, d)
        total = const + (coefficient * base[:, None]).sum(2)
        total = total + (np.maximum(slope, 0.0) * high[:, None] + np.minimum(slope, 0.0) * low[:, None]).sum(
            2
        )
        if len(self.starts):
            table = np.where(ok[:, None], coefficient @ self.table.T, -np.inf)
            best = np.maximum.reduceat(table, self.starts, axis=2)
            total = total + np.where(np.isfinite(best), best, 0.0).sum(2)
        return np.asarray(total)
