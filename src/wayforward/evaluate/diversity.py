"""How different one person's options are from each other, and how a whole set of them does.

Options are (n, k, d) in feature units, empty slots all NaN. Every result is (n,); a set with fewer than two
options has no diversity to speak of and gives NaN.

Source: R. Mothilal, A. Sharma & C. Tan (2020), FAT*, "Explaining ML classifiers through diverse
counterfactual explanations", sections 3 and 4; the dist is theirs, MAD-scaled for numbers.
"""

from __future__ import annotations

import numpy as np

from wayforward.evaluate.distance import TOLERANCE, ReferenceScale, changed
from wayforward.schema import Schema
from wayforward.shapes import Floats, Mask


def diversity(
    schema: Schema, x: np.ndarray, options: np.ndarray, valid: np.ndarray, scale: ReferenceScale
) -> dict[str, Floats]:
    """Diversity of each person's set of options: each (n,).

    - dist: mean over pairs of (mean |gap| / MAD over numbers + mean mismatch over categories);
    - count: mean over pairs of the share of features that differ;
    - dpp: det(K) with K = 1 / (1 + dist), 0 for twins, towards 1 for far-apart options;
    - set_validity: distinct valid options / k, so empty slots, failures and copies all cost;
    - set_proximity: -(mean MAD distance to x) over numbers;
    - set_proximity_categorical: 1 - mean share of categories changed;
    - set_sparsity: 1 - mean share of features changed.

    Shapes: x (n, d), options (n, k, d), valid (n, k) bool.
    """
    options = np.asarray(options, dtype=np.float64)
    k = options.shape[1]
    filled = ~np.isnan(options).all(-1)  # (n, k)
    there = filled.sum(1)
    dist = _dist(schema, options[:, :, None, :], options[:, None, :, :], scale)  # (n, k, k)
    differs = changed(schema, options[:, :, None, :], options[:, None, :, :]).mean(-1)
    pair = np.triu(np.ones((k, k), dtype=bool), 1) & filled[:, :, None] & filled[:, None, :]
    pairs = pair.sum((1, 2))
    few = there < 2

    kernel = np.where(pair | pair.swapaxes(1, 2), 1 / (1 + np.where(pair.any(), dist, 0.0)), 0.0)
    kernel = np.where(np.isnan(kernel), 0.0, kernel)
    kernel[:, np.arange(k), np.arange(k)] = 1.0  # an empty slot is a row of its own and leaves det unchanged

    number, category = ~schema.is_categorical, schema.is_categorical
    own = np.abs(options - np.asarray(x, dtype=np.float64)[:, None, :]) / scale.mad
    # Numbers only; a number that is missing on one side has no distance and counts as none.
    far = np.nan_to_num(own[..., number]).mean(-1) if number.any() else None
    moved = changed(schema, np.asarray(x, dtype=np.float64)[:, None, :], options)
    out = {
        "dist": _over(np.where(pair, dist, 0.0).sum((1, 2)), pairs, few),
        "count": _over(np.where(pair, differs, 0.0).sum((1, 2)), pairs, few),
        "dpp": np.where(few, np.nan, np.linalg.det(kernel).clip(0, 1)),
        "set_validity": _distinct(schema, options, np.asarray(valid, dtype=bool)) / k,
        "set_sparsity": 1 - _over(np.where(filled, moved.mean(-1), 0.0).sum(1), there, there < 1),
    }
    if far is not None:
        out["set_proximity"] = -_over(np.where(filled, far, 0.0).sum(1), there, there < 1)
    if category.any():
        mismatch = moved[..., category].mean(-1)
        out["set_proximity_categorical"] = 1 - _over(np.where(filled, mismatch, 0.0).sum(1), there, there < 1)
    return out


def _dist(schema: Schema, a: Floats, b: Floats, scale: ReferenceScale) -> Floats:
    number, category = ~schema.is_categorical, schema.is_categorical
    gap = np.where(np.isnan(a) & np.isnan(b), 0.0, np.abs(a - b) / scale.mad)
    gap = np.where(np.isnan(gap), 1.0, gap)  # missing on one side only
    total = np.zeros(gap.shape[:-1])
    if number.any():
        total = total + gap[..., number].mean(-1)
    if category.any():
        total = total + (gap[..., category] > TOLERANCE).mean(-1)
    return total


def _distinct(schema: Schema, options: Floats, valid: Mask) -> Floats:
    """Number of valid options that no earlier valid option of the same person repeats: (n,)."""
    same = ~changed(schema, options[:, :, None, :], options[:, None, :, :]).any(-1)  # (n, k, k)
    earlier = np.tril(np.ones(same.shape[1:], dtype=bool), -1)
    repeated = (same & earlier & valid[:, None, :]).any(-1)
    distinct: Floats = (valid & ~repeated).sum(1).astype(np.float64)
    return distinct


def _over(total: Floats, count: np.ndarray, undefined: np.ndarray) -> Floats:
    return np.where(undefined, np.nan, total / np.maximum(count, 1))
