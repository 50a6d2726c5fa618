"""The numba kernels of `soft_trees`: one row after another, only where some of it arrives; the batch changes no bit."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from wayforward.compiling import kernel


class SoftNodes(NamedTuple):
    """A forest as the kernels read it: see `FlatForest`. span (d,); block (d,): place among features with levels, -1
    for numbers; least: what arrives at a node in smaller parts than this is left out."""

    feature: Any
    threshold: Any
    left: Any
    right: Any
    missing_left: Any
    level_set: Any
    sides: Any
    leaf: Any
    value: Any
    roots: Any
    span: Any
    block: Any
    sharpness: float
    least: float


@kernel
def _walk(
    x: Any,
    soft: Any,
    share: Any,
    both: Any,
    trees: Any,
    root: int,
    order: Any,
    arrived: Any,
    may: Any,
    gone_left: Any,
) -> int:
    """Send a row down one tree; return how many nodes it arrives at, in `order`, parents first.

    soft (d,) bool: splits of the feature are sigmoids.
    both (f,) bool: of these features with levels the other side is followed as if a tenth arrived there: its slope is
    needed though nothing does.
    """
    count, at = 1, 0
    order[0] = root
    arrived[root], may[root] = 1.0, 1.0
    while at < count:
        node = order[at]
        at += 1
        j = trees.feature[node]
        if j < 0:
            continue
        if trees.level_set[node] >= 0:
            f, sides, p = trees.block[j], trees.sides[trees.level_set[node]], 0.0
            for level in range(share.shape[1]):
                if share[f, level] != 0.0:
                    p += sides[level] * share[f, level]
        elif np.isnan(x[j]):
            p = 1.0 if trees.missing_left[node] else 0.0
        elif not soft[j]:
            p = 1.0 if x[j] <= trees.threshold[node] else 0.0
        else:
            z = trees.sharpness * (trees.threshold[node] - x[j]) / trees.span[j]
            e = np.exp(-abs(z))
            p = (1.0 if z >= 0 else e) / (1.0 + e)
        gone_left[node] = p
        for side in range(2):
            child = trees.left[node] if side == 0 else trees.right[node]
            part = p if side == 0 else 1.0 - p
            arrived[child] = arrived[node] * part
            if trees.level_set[node] >= 0 and both[trees.block[j]]:
                may[child] = may[node] * max(part, 0.1)
            else:
                may[child] = may[node] * part
            if may[child] > trees.least:
                order[count] = child
                count += 1
    return count


@kernel
def margins(
    x: Any, soft: Any, share: Any, trees: Any, order: Any, arrived: Any, may: Any, gone_left: Any, out: Any
) -> None:
    """Sum what arrives at the leaves: rows x (m, d), soft (m, d), share (m, f, l) -> out (m, q)."""
    neither = np.zeros(max(share.shape[1], 1), np.bool_)
    for i in range(x.shape[0]):
        for t in range(trees.roots.shape[0]):
            count = _walk(
                x[i], soft[i], share[i], neither, trees, trees.roots[t], order, arrived, may, gone_left
            )
            for at in range(count):
                node = order[at]
                if trees.leaf[node] >= 0:
                    for c in range(out.shape[1]):
                        out[i, c] += arrived[node] * trees.value[trees.leaf[node], c]


@kernel
def slopes(
    x: Any, soft: Any, share: Any, both: Any, trees: Any, pull: Any, order: Any, arrived: Any, may: Any, gone_left: Any,
    worth: Any, out: Any, out_share: Any,
) -> None:  # fmt: skip
    """Slopes of pull (m, q) . margins by the numbers, out (m, d), and by the shares, out_share (m, f, l)."""
    for i in range(x.shape[0]):
        for t in range(trees.roots.shape[0]):
            count = _walk(
                x[i], soft[i], share[i], both[i], trees, trees.roots[t], order, arrived, may, gone_left
            )
            for back in range(count):
                node = order[count - 1 - back]
                j = trees.feature[node]
                if j < 0:
                    worth[node] = 0.0
                    for c in range(pull.shape[1]):
                        worth[node] += pull[i, c] * trees.value[trees.leaf[node], c]
                    continue
                left, right, p = trees.left[node], trees.right[node], gone_left[node]
                of_left = worth[left] if may[left] > trees.least else 0.0
                of_right = worth[right] if may[right] > trees.least else 0.0
                worth[node] = p * of_left + (1.0 - p) * of_right
                gain = arrived[node] * (of_left - of_right)
                if trees.level_set[node] >= 0:
                    f, sides = trees.block[j], trees.sides[trees.level_set[node]]
                    for level in range(share.shape[2]):
                        out_share[i, f, level] += gain * sides[level]
                elif soft[i, j] and not np.isnan(x[i, j]):
                    out[i, j] -= trees.sharpness / trees.span[j] * gain * p * (1.0 - p)
