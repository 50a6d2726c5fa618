"""The loops that cost time, compiled by numba where it is present; NumPy twins give the same semantics.

Every loop works on one row at a time and in a fixed order, without fast-math, so a row's result never depends
on the rows beside it. Forest sums are kept in fixed-point integers, whose addition is associative: a pruned
forest and a full one, numba and NumPy, then agree to the last bit.

Set the environment variable ``WAYFORWARD_NO_NUMBA=1`` to use the NumPy twins everywhere.
"""

from __future__ import annotations

import functools
import importlib.util
import os
from collections.abc import Sequence
from types import ModuleType

import numpy as np

from wayforward.errors import MissingExtra
from wayforward.model.records import DenseArrays, LeafMasks, SplitSpace, Trees
from wayforward.shapes import Floats, Ints

IDENTITY, RELU, TANH, LOGISTIC = 0, 1, 2, 3
ACTIVATIONS = {"identity": IDENTITY, "relu": RELU, "tanh": TANH, "logistic": LOGISTIC}
CHUNK = (
    1024  # rows of one BLAS call in the NumPy twins: constant, so that a row always meets the same code path
)


def _bit_table() -> Ints:
    """Position of a lone bit from the top six bits of its product with a de Bruijn number."""
    magic, mask = 0x03F79D71B4CB0A89, 2**64 - 1
    table = np.zeros(64, np.int64)
    for position in range(64):
        table[(((1 << position) * magic) & mask) >> 58] = position
    return table


BITS = _bit_table()


@functools.cache
def _present() -> bool:
    return importlib.util.find_spec("numba") is not None


@functools.cache
def compiled() -> ModuleType:
    """The compiled kernels, whether or not they are switched off."""
    from wayforward.model import _jit

    return _jit


def jit() -> ModuleType | None:
    """The compiled kernels, or None when numba is absent or switched off."""
    if os.environ.get("WAYFORWARD_NO_NUMBA", "") not in ("", "0"):
        return None
    return compiled() if _present() else None


def require_jit(what: str) -> None:
    """Say how to get the compiled kernels, for what there is no other way to do. Raises: MissingExtra."""
    if jit() is not None:
        return
    if _present():
        raise MissingExtra(
            f"{what} needs numba, which WAYFORWARD_NO_NUMBA switches off. Unset this environment variable."
        )
    raise MissingExtra(f"{what} needs numba. Install it with: pip install 'wayforward[fast]'")


def linear(x: Floats, bias: Floats, weight: Floats, missing: Floats, offset: Ints, table: Floats) -> Floats:
    """Sum of one part a feature: (m, d) -> (m, q).

    weight (d, q) per unit of a numeric feature; missing (d, q) its part when the value is NaN; for a level
    feature offset[j] >= 0 is the first row in table (rows, q), one row a level and a last one for NaN.
    """
    fast = jit()
    out = np.empty((len(x), len(bias)))
    if fast is not None:
        fast.linear(x, bias, weight, missing, offset, table, out)
        return out
    out[:] = bias
    for j in range(x.shape[1]):
        value = np.ascontiguousarray(x[:, j])
        gone = np.isnan(value)
        if offset[j] >= 0:
            levels = int(missing[j, 0])
            out += table[offset[j] + np.where(gone, levels, np.where(gone, 0.0, value)).astype(np.int64)]
        elif weight[j].any() or missing[j].any():
            part = np.where(gone, 0.0, value)[:, None] * weight[j]
            part[gone] = missing[j]
            out += part
    return out


def dense(x: Floats, net: DenseArrays, weights: Sequence[Floats], biases: Sequence[Floats]) -> Floats:
    """A dense network on raw rows: (m, d) -> (m, q) before the output's link; the layers after the first, again."""
    fast = jit()
    out = np.empty((len(x), net.shapes[-1]))
    if fast is not None:
        fast.dense(x, net, out)
        return out
    buffer = np.zeros((CHUNK, x.shape[1]))
    for start in range(0, len(x), CHUNK):
        part = x[start : start + CHUNK]
        buffer[: len(part)] = part  # the rest holds old rows: padding, never read
        h = np.zeros((CHUNK, len(net.bias)))
        if len(net.source):
            h = affine_columns(buffer, net.source, net.affine) @ net.first
        h += net.bias
        for j in np.flatnonzero(net.offset >= 0):
            value = buffer[:, j]
            gone = np.isnan(value)
            level = np.where(gone, net.levels[j], np.where(gone, 0.0, value)).astype(np.int64)
            h += net.table[net.offset[j] + level]
        _activate(h, net.activation[0])
        for w, b, a in zip(weights, biases, net.activation[1:], strict=True):
            # a (CHUNK, 1) product would go through gemv, whose blocking is another one
            h = h @ w if w.shape[1] > 1 else (h * w[:, 0]).sum(axis=1, keepdims=True)
            h += b
            _activate(h, a)
        out[start : start + CHUNK] = h[: len(part)]
    return out


def affine_columns(x: Floats, source: Ints, affine: Floats) -> Floats:
    """Affine encoded columns of raw rows: ((value - centre) / divisor) * factor + shift, NaN to its own
    value.
    """
    value = x[:, source]
    with np.errstate(invalid="ignore", over="ignore"):
        out: Floats = ((value - affine[:, 0]) / affine[:, 1]) * affine[:, 2] + affine[:, 3]
    gone = np.isnan(value)
    if gone.any():
        out = np.where(gone, affine[:, 4], out)
    return out


def _activate(h: Floats, kind: int) -> None:
    if kind == RELU:
        np.maximum(h, 0.0, out=h)
    elif kind == TANH:
        np.tanh(h, out=h)
    elif kind == LOGISTIC:
        h[:] = sigmoid(h)


def sigmoid(z: Floats) -> Floats:
    """1 / (1 + exp(-z)) without overflow, row by row the same in any batch."""
    from scipy.special import expit

    return np.asarray(expit(z), dtype=np.float64)


def softmax(z: Floats) -> Floats:
    """Softmax over the last axis."""
    shifted = np.exp(z - z.max(axis=1, keepdims=True))
    total = shifted[:, 0].copy()
    for k in range(1, z.shape[1]):  # a fixed order whatever the batch
        total += shifted[:, k]
    out: Floats = shifted / total[:, None]
    return out


def split_rows(x: Floats, space: SplitSpace) -> Floats:
    """Rows in the space of splits: raw numeric values (NaN to -inf or +inf) and 0/1 level memberships."""
    z = np.zeros((len(x), max(len(space.owner), 1)))
    for column, (j, gone) in enumerate(zip(space.numeric_feature, space.numeric_missing, strict=True)):
        value = x[:, j]
        z[:, column] = np.where(np.isnan(value), gone, value)
    for i, j in enumerate(space.level_feature):
        value = x[:, j]
        gone_level = np.isnan(value)
        count, columns, start = space.level_count[i], space.level_columns[i], space.level_start[i]
        row = np.where(gone_level, count, np.where(gone_level, 0.0, value)).astype(np.int64)
        at = space.level_offset[i] + row * columns
        z[:, start : start + columns] = space.level_table[at[:, None] + np.arange(columns)]
    return z


def forest(x: Floats, space: SplitSpace, trees: Trees, masks: LeafMasks | None) -> Ints:
    """Fixed-point sums of the leaf values that each row reaches: (m, d) -> (m, q) int64."""
    fast = jit()
    out = np.zeros((len(x), trees.leaf.shape[1]), np.int64)
    if fast is not None:
        if masks is not None:
            fast.masked(x, masks, BITS, out)
        else:
            fast.forest(x, space, trees, out)
        return out
    for start in range(0, len(x), 2048):
        z = split_rows(x[start : start + 2048], space)
        m = len(z)
        node = np.broadcast_to(trees.roots, (m, len(trees.roots))).copy()
        rows = np.arange(m)[:, None]
        for _ in range(int(trees.depth.max(initial=0))):
            node = trees.left[node] + (z[rows, trees.feature[node]] > trees.threshold[node])
        out[start : start + m] = trees.leaf[trees.row[node]].sum(axis=1)
    return out
