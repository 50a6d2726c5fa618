"""Fast evaluation of models that could be read: a linear score, a dense network, or any head on encoded
columns.

Each class answers `outputs` on raw (m, d) rows and gives the views that its kind has. Forests have their own
file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from wayforward.model import kernels
from wayforward.model.affine_net import AffineNet, NetBoxes
from wayforward.model.base import Access, Scorer, single_valued
from wayforward.model.encoder import MONOTONE, Column, Encoder
from wayforward.model.forms import BoxBounds, DenseForm, FlatForest, LinearForm, Link, Network, Rivals
from wayforward.model.network import dense_network
from wayforward.model.records import DenseArrays
from wayforward.model.rounding import DOUBLE_UNIT, OPERATIONS, roundoff
from wayforward.shapes import Floats, Ints, Mask

_ROWS = 64  # boxes of one matrix product: constant, so that a box always meets the same code path
_HUGE = 1e300  # an endless margin in numbers that can be subtracted


def apply_link(margin: Floats, link: Link) -> Floats:
    """(m, q) margins -> (m, c) outputs.

    logistic: one margin, two classes. ovr: one sigmoid a class, normalised. probability: q = 1 is the
    probability of the second class. identity: as is.
    """
    if link == "logistic":
        p = kernels.sigmoid(margin[:, 0])
        return np.stack([1.0 - p, p], axis=1)
    if link == "softmax":
        return kernels.softmax(margin)
    if link == "ovr":
        p = kernels.sigmoid(margin)
        total = p[:, 0].copy()
        for k in range(1, p.shape[1]):
            total += p[:, k]
        out: Floats = p / total[:, None]
        return out
    if link == "probability" and margin.shape[1] == 1:
        return np.stack([1.0 - margin[:, 0], margin[:, 0]], axis=1)
    return margin


def link_bounds(low: Floats, high: Floats, link: Link, unit: float = DOUBLE_UNIT) -> tuple[Floats, Floats]:
    """Bounds on margins (n, q) -> bounds on outputs (n, c).

    Sound because every link is monotone in each margin; wider by the roundoff of a link computed with this unit.
    """
    low, high = np.clip(low, -_HUGE, _HUGE), np.clip(high, -_HUGE, _HUGE)
    if link == "logistic" or (link == "probability" and low.shape[1] == 1):
        below, above = apply_link(low, link), apply_link(high, link)
        least = np.stack([above[:, 0], below[:, 1]], axis=1)
        most = np.stack([below[:, 0], above[:, 1]], axis=1)
    elif link in ("softmax", "ovr"):
        least, most = np.empty_like(low), np.empty_like(high)
        for k in range(low.shape[1]):
            worst, best = high.copy(), low.copy()
            worst[:, k], best[:, k] = low[:, k], high[:, k]
            least[:, k] = apply_link(worst, link)[:, k]
            most[:, k] = apply_link(best, link)[:, k]
    else:
        least, most = low, high
    slack = (least.shape[1] + OPERATIONS) * unit
    if link == "identity":
        return least - slack * np.abs(least), most + slack * np.abs(most)
    return least - slack, most + slack


class Fast:
    """A model that could be read. outputs: (m, d) raw rows -> (m, c). kind: what it was read as, for notes."""

    kind = "generic"
    access = Access.PROBABILITY  # what it shows

    def outputs(self, x: Floats) -> Floats:
        """(m, d) -> (m, c)."""
        raise NotImplementedError

    @property
    def first_steps(self) -> Encoder | None:
        """What the object's first steps were read as, over its own schema; None where nothing was."""
        found: Encoder | None = getattr(self, "encoder", None)
        return found

    def specialise(self, x: Floats, free: Mask, default: Scorer) -> Scorer:
        """A Scorer narrowed to people; the default asks the whole model."""
        return default

    def thresholds(self) -> list[Floats] | None:
        """See Model.thresholds."""
        return None

    @property
    def bounded(self) -> bool:
        """True where there are bounds."""
        return type(self).bounds is not Fast.bounds

    @property
    def listed(self) -> Ints:
        """See Model.listed."""
        return np.empty(0, np.int64)

    def bounds(self, low: Floats, high: Floats, levels: Mapping[int, Mask], unit: float) -> BoxBounds | None:
        """Bounds on what an object gives that computes the same with this roundoff; see Model.box_bounds."""
        return None

    def linear(self) -> LinearForm | None:
        """See Model.linear."""
        return None

    def single_index(self) -> LinearForm | None:
        """See Model.single_index."""
        form = self.linear()
        return form if form is not None and len(form.bias) == 1 else None

    def rivals(self, x: Floats, value: Floats) -> Rivals | None:
        """See Model.rivals."""
        form = self.linear()
        if form is None or self.access == Access.LABEL:
            return None
        now = form.margin(x)
        change = np.where(np.isnan(value)[:, :, None], 0.0, form.parts(value) - form.parts(x))
        if now.shape[1] > 1:
            return Rivals(now, change)
        return Rivals(np.pad(now, ((0, 0), (1, 0))), np.pad(change, ((0, 0), (0, 0), (1, 0))))

    def dense(self) -> DenseForm | None:
        """See Model.dense."""
        return None

    def around(self, low: Floats, high: Floats, unit: float) -> tuple[Floats, Floats] | None:
        """Return bounds on the object's own outputs, computed with this unit, where exact margins lie between `low` and
        `high` (m, q); None unless `forest` is the model."""
        return None

    def forest(self) -> FlatForest | None:
        """See Model.forest."""
        return None

    def forget(self) -> None:
        """Free what only a look inside takes, such as `forest`; it is read again for whoever looks."""

    def network(self) -> Network | None:
        """See Model.network."""
        form = self.dense()
        return None if form is None else dense_network(form)


@dataclass
class GenericFast(Fast):
    """Any estimator on encoded columns: the encoding is ours, the head is the estimator's own."""

    encoder: Encoder
    predict: Callable[[Floats], Floats]

    def outputs(self, x: Floats) -> Floats:
        """(m, d) -> (m, c), asked in padded chunks of one size."""
        return padded(lambda rows: self.predict(self.encoder.encode(rows)), x)


_CHUNK = 512


def take(x: Any, rows: Ints) -> Any:
    """Return rows (m,) of an array, row after row in memory, of a sparse matrix, or of a table of pandas."""
    if hasattr(x, "iloc"):
        return x.iloc[rows]
    return x.tocsr()[rows] if hasattr(x, "tocsr") else np.take(x, rows, axis=0)


def padded(
    ask: Callable[[Any], Any], x: Any, size: int = _CHUNK, places: np.ndarray | None = None
) -> np.ndarray:
    """Ask about x (m, e), see `take`, in chunks of one fixed size, the last one filled up with its first row.

    BLAS picks its code path by the shape, so a row alone and in a batch may differ in the last bit; one shape
    for all calls removes that. places (p,): rows stand at these positions of a chunk only (see `steady_places`).
    """
    parts = []
    per_chunk = size if places is None else len(places)
    for start in range(0, x.shape[0], per_chunk):
        m = min(per_chunk, x.shape[0] - start)
        at = np.arange(m) if places is None else places[:m]
        chosen = np.full(size, start)
        chosen[at] += np.arange(m)
        parts.append(np.asarray(ask(take(x, chosen)))[at])
    return np.concatenate(parts)


def steady_places(ask: Callable[[Floats], Any], x: Floats, size: int = _CHUNK) -> np.ndarray | None:
    """Positions of a chunk at which any row gets the bits that it gets at the first; None where these are all.

    On some processors a matrix product rounds a row by where it starts in memory, so that rows of an odd width come out
    otherwise at every second or fourth position. x (m, d): rows to find that out with.
    """
    same = np.ones(size, dtype=bool)
    for row in x:
        got = np.asarray(ask(np.repeat(row[None], size, axis=0))).reshape(size, -1)
        same &= ((got == got[:1]) | (np.isnan(got) & np.isnan(got[:1]))).all(axis=1)
    return None if same.all() else np.flatnonzero(same)


class LinearFast(Fast):
    """A linear score of encoded columns, folded back to raw features.

    coef (q, e), intercept (q,).
    """

    kind = "linear"
    access = Access.WHITE_BOX

    def __init__(self, encoder: Encoder, coef: Floats, intercept: Floats, link: Link) -> None:
        schema = encoder.schema
        q, d = len(coef), schema.d
        self.encoder, self.link = encoder, link
        self.coef, self.intercept = coef, intercept
        self._used = _used(encoder, coef.T)
        bias = np.array(intercept, dtype=np.float64)
        weight, gone = np.zeros((d, q)), np.zeros((d, q))
        self._size, self._reach = (
            np.abs(bias),
            np.zeros((d, q)),
        )  # sizes of what is summed: fixed, and a unit of x
        tables: dict[int, Floats] = {}
        for e, column in enumerate(encoder.columns):
            w, j = coef[:, e], column.feature
            per_unit, fixed = _sizes(column)
            self._size = self._size + np.abs(w) * fixed
            self._reach[max(j, 0)] += np.abs(w) * per_unit
            if column.table is not None:
                if j < 0:
                    bias += w * column.table[0]
                else:
                    tables[j] = tables.get(j, np.zeros((len(column.table), q))) + column.table[:, None] * w
                continue
            slope = column.factor / column.divisor
            shift = column.shift - column.centre * slope
            weight[j] += w * slope
            bias += w * shift
            gone[j] += w * (column.missing - shift)
        self.form = LinearForm(
            schema,
            bias,
            weight,
            {j: t[:-1] for j, t in tables.items()},
            np.array([tables[j][-1] if j in tables else gone[j] for j in range(d)]),
        )
        # kernel layout: for a level feature the first entry of `missing` holds the number of its levels
        self._offset = np.full(d, -1, np.int64)
        self._missing = gone.copy()
        rows: list[Floats] = []
        at = 0
        for j, table in tables.items():
            self._offset[j] = at
            self._missing[j, 0] = len(table) - 1
            rows.append(table)
            at += len(table)
        self._table = np.concatenate(rows) if rows else np.zeros((1, q))

    def margin(self, x: Floats) -> Floats:
        """(m, d) -> (m, q)."""
        return kernels.linear(x, self.form.bias, self.form.weight, self._missing, self._offset, self._table)

    def outputs(self, x: Floats) -> Floats:
        """(m, d) -> (m, c)."""
        return apply_link(self.margin(x), self.link)

    def linear(self) -> LinearForm:
        """See Model.linear."""
        return self.form

    def dense(self) -> DenseForm:
        """See Model.dense."""
        return DenseForm(self.encoder, [self.coef.T], [self.intercept], ["identity"], self.link, self.margin)

    def bounds(self, low: Floats, high: Floats, levels: Mapping[int, Mask], unit: float) -> BoxBounds:
        """Exact up to rounding; see Fast.bounds."""
        form = self.form
        n = len(low)
        least, most = np.tile(form.bias, (n, 1)), np.tile(form.bias, (n, 1))
        size, reach = np.tile(self._size, (n, 1)), _farthest(low, high)
        for j in range(form.schema.d):
            gone = np.isnan(low[:, j])
            if j in form.tables:
                a, b = level_range(form.tables[j], form.missing[j], low[:, j], high[:, j], levels.get(j))
            elif not form.weight[j].any() and not np.nan_to_num(form.missing[j]).any():
                continue
            else:
                with np.errstate(invalid="ignore"):
                    ends = np.stack([low[:, j, None] * form.weight[j], high[:, j, None] * form.weight[j]])
                ends = np.where(form.weight[j] == 0, 0.0, ends)
                a = np.where(gone[:, None], form.missing[j], ends.min(axis=0))
                b = np.where(gone[:, None], form.missing[j], ends.max(axis=0))
            least, most = least + a, most + b
            size = size + reach[:, j, None] * self._reach[j]
        slack = roundoff(self.coef.shape[1] + form.schema.d, unit) * size + 1e-300
        bounds = link_bounds(least - slack, most + slack, self.link, unit)
        return BoxBounds(*bounds, np.all(single_valued(low, high, levels) | ~self._used, axis=1))


def _sizes(column: Column) -> tuple[float, float]:
    """What an encoded column adds to the size of a sum: for each unit of |f(x)|, and fixed."""
    if column.table is not None:
        return 0.0, float(np.abs(np.nan_to_num(column.table)).max(initial=0.0))
    per_unit, fixed = column.magnitude
    return per_unit, fixed + abs(float(np.nan_to_num(column.missing)))


def _farthest(low: Floats, high: Floats) -> Floats:
    """(n, d) the largest |x| of each box among its finite ends.

    Towards an endless side the sum itself moves away faster than its roundoff grows.
    """
    ends = np.stack([low, high])
    farthest: Floats = np.where(np.isfinite(ends), np.abs(ends), 0.0).max(axis=0)
    return farthest


def _used(encoder: Encoder, first: Floats) -> Mask:
    """(d,) bool: features that have some weight in `first` (columns, h); the object's answer hangs on no other."""
    used = np.zeros(encoder.schema.d, dtype=bool)
    for e, column in enumerate(encoder.columns):
        if column.feature >= 0 and first[e].any():
            used[column.feature] = True
    return used


def level_range(
    table: Floats, gone: Floats, low: Floats, high: Floats, allowed: Mask | None
) -> tuple[Floats, Floats]:
    """Least and greatest table row (L, q) over the allowed levels of each person -> two (n, q)."""
    n, count = len(low), len(table)
    if allowed is None:
        index = np.arange(count)
        with np.errstate(invalid="ignore"):
            allowed = (index >= low[:, None]) & (index <= high[:, None])
    allowed = allowed & ~np.isnan(low)[:, None]
    many = allowed.sum(axis=1)
    flat = table.reshape(count, -1)
    # Most people have one level only (what they may not change); the others are few enough to go level by level.
    a = flat[allowed.argmax(axis=1)] if count else np.zeros((n, flat.shape[1]))
    a[many == 0] = np.nan_to_num(gone)
    b = a.copy()
    rows = np.flatnonzero(many > 1)
    if rows.size:
        some, least = allowed[rows], np.full((rows.size, flat.shape[1]), np.inf)
        most = -least
        for level in np.flatnonzero(some.any(axis=0)):
            has = np.flatnonzero(some[:, level])
            least[has] = np.minimum(least[has], flat[level])
            most[has] = np.maximum(most[has], flat[level])
        a[rows], b[rows] = least, most
    return a, b


class DenseFast(Fast):
    """A dense network on encoded columns.

    weights: list of (in, out); biases: list of (out,); activations: one name a layer, the last one
    'identity'.
    """

    kind = "dense"
    access = Access.WHITE_BOX

    def __init__(
        self,
        encoder: Encoder,
        weights: list[Floats],
        biases: list[Floats],
        activations: list[str],
        link: Link,
    ) -> None:
        self.encoder, self.link = encoder, link
        self.weights = [np.ascontiguousarray(w, dtype=np.float64) for w in weights]
        self.biases = [np.ascontiguousarray(b, dtype=np.float64) for b in biases]
        self.activations = activations
        width = encoder.schema.d + len(encoder.ufuncs)
        first, rest = self.weights[0], self.weights[1:]
        bias = self.biases[0].copy()
        offset, levels = np.full(width, -1, np.int64), np.zeros(width, np.int64)
        tables: dict[int, Floats] = {}
        for e in encoder.tables:
            column = encoder.columns[e]
            if column.feature < 0:
                bias += column.table[0] * first[e]
            else:
                part = column.table[:, None] * first[e]
                tables[column.feature] = tables[column.feature] + part if column.feature in tables else part
        at = 0
        for j, table in tables.items():
            offset[j], levels[j] = at, len(table) - 1
            at += len(table)
        self.tables = tables
        self._used = _used(encoder, first)
        self._nets: dict[float, AffineNet | None] = {}
        self._size = np.abs(self.biases[0])  # of what is summed in the first layer, whatever the numbers are
        for e, column in enumerate(encoder.columns):
            self._size = self._size + _sizes(column)[1] * np.abs(first[e])
        columns = [encoder.columns[e] for e in encoder.numeric]
        parts = [(c.centre, c.divisor, c.factor, c.shift, c.missing, _sizes(c)[0]) for c in columns]
        self._affine = np.array(parts, dtype=np.float64).reshape(-1, 6).T
        self._sources = np.array([column.feature for column in columns], np.int64)
        self._curved = [(e, MONOTONE[column.ufunc]) for e, column in enumerate(columns) if column.ufunc]
        self._signed = [
            (np.maximum(w, 0.0), np.minimum(w, 0.0), np.abs(w)) for w in (first[encoder.numeric], *rest)
        ]
        self._arrays = DenseArrays(
            encoder.source,
            encoder.affine,
            np.ascontiguousarray(first[encoder.numeric]),
            offset,
            levels,
            np.concatenate([np.zeros((0, first.shape[1])), *tables.values()]),
            bias,
            np.concatenate([np.zeros(0), *(w.ravel() for w in rest)]),
            np.concatenate([np.zeros(0), *self.biases[1:]]),
            np.array([w.shape[1] for w in self.weights], np.int64),
            np.array([kernels.ACTIVATIONS[a] for a in activations], np.int64),
        )

    def margin(self, x: Floats) -> Floats:
        """(m, d) -> (m, q) before the link."""
        return kernels.dense(self.encoder.extend(x), self._arrays, self.weights[1:], self.biases[1:])

    def outputs(self, x: Floats) -> Floats:
        """(m, d) -> (m, c)."""
        return apply_link(self.margin(x), self.link)

    def dense(self) -> DenseForm:
        """See Model.dense."""
        return DenseForm(self.encoder, self.weights, self.biases, self.activations, self.link, self.margin)

    def bounds(self, low: Floats, high: Floats, levels: Mapping[int, Mask], unit: float) -> BoxBounds:
        """Interval arithmetic through the layers; sound, not tight. See Fast.bounds."""
        enc, first = self.encoder, self.weights[0]
        least, most, farthest = self._encoded(low, high)
        up, down, sizes = self._signed[0]
        a = _product(least, up) + _product(most, down) + self._arrays.bias
        b = _product(most, up) + _product(least, down) + self._arrays.bias
        size = _product(farthest, sizes) + self._size
        for j, table in self.tables.items():
            c, d = level_range(table[:-1], table[-1], low[:, j], high[:, j], levels.get(j))
            a, b = a + c, b + d
        slack = roundoff(len(first) + enc.schema.d, unit) * size
        a, b = _activated(a - slack, b + slack, self.activations[0], unit)
        for (up, down, sizes), bias, name in zip(
            self._signed[1:], self.biases[1:], self.activations[1:], strict=True
        ):
            with np.errstate(over="ignore", invalid="ignore"):
                size = _product(np.maximum(np.abs(a), np.abs(b)), sizes) + np.abs(bias)
                slack = roundoff(2 * len(sizes), unit) * size
                a, b = (
                    _product(a, up) + _product(b, down) + bias - slack,
                    _product(b, up) + _product(a, down) + bias + slack,
                )
            a, b = np.nan_to_num(a, nan=-np.inf), np.nan_to_num(b, nan=np.inf)
            a, b = _activated(a, b, name, unit)
        bounds = link_bounds(a, b, self.link, unit)
        found = BoxBounds(*bounds, np.all(single_valued(low, high, levels) | ~self._used, axis=1))
        return self._tightened(found, low, high, levels, unit)

    def _tightened(
        self, bounds: BoxBounds, low: Floats, high: Floats, levels: Mapping[int, Mask], unit: float
    ) -> BoxBounds:
        """Narrow bounds by affine functions, where there are several rows in a box (see `AffineNet`)."""
        if unit not in self._nets:
            self._nets[unit] = self._relaxed(unit)
        net = self._nets[unit]
        first, last = self.encoder.extend(low), self.encoder.extend(high)
        gone = np.isnan(low)[:, [*range(low.shape[1]), *(j for j, _ in self.encoder.ufuncs)]]
        known = (gone | (np.isfinite(first) & np.isfinite(last))).all(1)
        at = np.flatnonzero(known & ~bounds.constant)
        if net is None or not at.size:
            return bounds
        ok = np.zeros((at.size, len(net.table)), dtype=bool)
        for j, place in net.places.items():
            index = np.arange(place.stop - place.start)
            inside = (index >= low[at, j, None]) & (index <= high[at, j, None])
            ok[:, place] = levels[j][at] & ~gone[at, j, None] if j in levels else inside
        base, hidden = net.base_of(first[at]), (gone | net.levelled)[at]
        first, last = np.where(hidden, 0.0, first[at]), np.where(hidden, 0.0, last[at])
        least, most, loose = net.ends(NetBoxes(first, last, ok, base))
        if self._pair:  # how far the second is above the first
            least, most = (np.concatenate([np.zeros_like(end), end], axis=1) for end in (least, most))
        least, most = link_bounds(least, most, self.link, unit)
        hangs = np.full((len(low), self.encoder.schema.d), np.nan)
        hangs[at], bounds = loose, BoxBounds(bounds.least.copy(), bounds.most.copy(), bounds.constant, hangs)
        bounds.least[at] = np.maximum(bounds.least[at], least)
        bounds.most[at] = np.minimum(bounds.most[at], most)
        return bounds

    @property
    def _pair(self) -> bool:
        """Two margins of which only the difference counts."""
        return self.link == "softmax" and self.weights[-1].shape[1] == 2

    def _relaxed(self, unit: float) -> AffineNet | None:
        starts = np.cumsum([0] + [len(table) - 1 for table in self.tables.values()])
        places = {j: slice(a, b) for j, a, b in zip(self.tables, starts[:-1], starts[1:], strict=True)}
        return AffineNet.of(self.dense(), places, np.array([[-1.0], [1.0]]) if self._pair else None, unit)

    def _encoded(self, low: Floats, high: Floats) -> tuple[Floats, Floats, Floats]:
        """(n, e) least and greatest of the affine columns over boxes, and the size of what is summed for each."""
        source, (centre, divisor, factor, shift, missing, per_unit) = self._sources, self._affine
        gone = np.isnan(low[:, source])
        with np.errstate(invalid="ignore", divide="ignore"):
            ends = np.stack([low[:, source], high[:, source]])
            for e, curve in self._curved:
                ends[:, :, e] = curve(ends[:, :, e])
            farthest = per_unit * _farthest(*ends)
            ends = ((ends - centre) / divisor) * factor + shift
        ends = np.where(factor == 0.0, shift, np.nan_to_num(ends, nan=0.0, posinf=_HUGE, neginf=-_HUGE))
        ends = np.where(gone, missing, ends)
        return ends.min(axis=0), ends.max(axis=0), farthest


def _product(h: Floats, w: Floats) -> Floats:
    """(n, k) @ (k, h), each row the same bits in any batch."""
    if w.shape[1] == 1:
        return np.asarray((h * w[:, 0]).sum(axis=1, keepdims=True))
    return padded(lambda rows: rows @ w, h, _ROWS) if len(h) else h @ w


def _activated(a: Floats, b: Floats, name: str, unit: float) -> tuple[Floats, Floats]:
    if name == "relu":
        return np.maximum(a, 0.0), np.maximum(b, 0.0)
    if name in ("tanh", "logistic"):
        curve = np.tanh if name == "tanh" else kernels.sigmoid
        return curve(a) - OPERATIONS * unit, curve(b) + OPERATIONS * unit
    return a, b
