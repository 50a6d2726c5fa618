"""The numba kernels behind `wayforward.model.kernels`; imported only where numba is present."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np

F = TypeVar("F", bound=Callable[..., Any])


def _kernel(function: F) -> F:
    try:
        return cast(F, numba.njit(cache=True, nogil=True, fastmath=False)(function))
    except RuntimeError:  # no folder can be written to: compile anew in each process
        return cast(F, numba.njit(nogil=True, fastmath=False)(function))


@_kernel
def linear(x: Any, bias: Any, weight: Any, missing: Any, offset: Any, table: Any, out: Any) -> None:
    m, d = x.shape
    q = bias.shape[0]
    if q == 1:
        for i in range(m):
            total = bias[0]
            for j in range(d):
                v = x[i, j]
                if offset[j] >= 0:
                    total += table[offset[j] + (np.int64(missing[j, 0]) if np.isnan(v) else np.int64(v)), 0]
                elif np.isnan(v):
                    total += missing[j, 0]
                else:
                    total += v * weight[j, 0]
            out[i, 0] = total
        return
    for i in range(m):
        for k in range(q):
            out[i, k] = bias[k]
        for j in range(d):
            v = x[i, j]
            if offset[j] >= 0:
                row = offset[j] + (np.int64(missing[j, 0]) if np.isnan(v) else np.int64(v))
                for k in range(q):
                    out[i, k] += table[row, k]
            elif np.isnan(v):
                for k in range(q):
                    out[i, k] += missing[j, k]
            else:
                for k in range(q):
                    out[i, k] += v * weight[j, k]


@_kernel
def _activate(h: Any, n: int, kind: int) -> None:
    if kind == 1:
        for i in range(n):
            h[i] = max(h[i], 0.0)
    elif kind == 2:
        for i in range(n):
            h[i] = np.tanh(h[i])
    elif kind == 3:
        for i in range(n):
            if h[i] >= 0:
                h[i] = 1.0 / (1.0 + np.exp(-h[i]))
            else:
                e = np.exp(h[i])
                h[i] = e / (1.0 + e)


@_kernel
def dense(
    x: Any,
    source: Any,
    affine: Any,
    first: Any,
    offset: Any,
    levels: Any,
    table: Any,
    bias: Any,
    flat: Any,
    shift: Any,
    shapes: Any,
    activation: Any,
    out: Any,
) -> None:
    m, d = x.shape
    a = source.shape[0]
    layers = shapes.shape[0] - 1
    widest = shapes.max()
    h = np.empty(widest)
    g = np.empty(widest)
    live = np.empty(widest, np.int64)
    for i in range(m):
        n = shapes[0]
        for t in range(n):
            h[t] = bias[t]
        for e in range(a):
            v = x[i, source[e]]
            if np.isnan(v):
                v = affine[e, 4]
            else:
                v = ((v - affine[e, 0]) / affine[e, 1]) * affine[e, 2] + affine[e, 3]
            if v != 0.0:
                w = first[e]
                for t in range(n):
                    h[t] += v * w[t]
        for j in range(d):
            if offset[j] >= 0:
                v = x[i, j]
                w = table[offset[j] + (levels[j] if np.isnan(v) else np.int64(v))]
                for t in range(n):
                    h[t] += w[t]
        _activate(h, n, activation[0])
        at = 0
        base = 0
        for layer in range(layers):
            n_out = shapes[layer + 1]
            count = 0
            for t in range(n):  # units that are off add nothing: skip their weights
                live[count] = t
                count += 1 if h[t] != 0.0 else 0
            if n_out == 1:
                s0 = 0.0
                s1 = 0.0
                s2 = 0.0
                s3 = 0.0
                c = 0
                while c + 4 <= n:
                    s0 += h[c] * flat[at + c]
                    s1 += h[c + 1] * flat[at + c + 1]
                    s2 += h[c + 2] * flat[at + c + 2]
                    s3 += h[c + 3] * flat[at + c + 3]
                    c += 4
                while c < n:
                    s0 += h[c] * flat[at + c]
                    c += 1
                g[0] = ((s0 + s1) + (s2 + s3)) + shift[base]
            else:
                for t in range(n_out):
                    g[t] = shift[base + t]
                for c in range(count):
                    u = live[c]
                    v = h[u]
                    w = flat[at + u * n_out : at + (u + 1) * n_out]
                    for t in range(n_out):
                        g[t] += v * w[t]
            _activate(g, n_out, activation[layer + 1])
            at += n * n_out
            base += n_out
            n = n_out
            swap = h
            h = g
            g = swap
        for t in range(n):
            out[i, t] = h[t]


@_kernel
def _space(
    row: Any,
    numeric_feature: Any,
    numeric_missing: Any,
    level_feature: Any,
    level_count: Any,
    level_columns: Any,
    level_offset: Any,
    level_start: Any,
    level_table: Any,
    z: Any,
) -> None:
    for c in range(numeric_feature.shape[0]):
        v = row[numeric_feature[c]]
        z[c] = numeric_missing[c] if np.isnan(v) else v
    for i in range(level_feature.shape[0]):
        v = row[level_feature[i]]
        k = level_count[i] if np.isnan(v) else np.int64(v)
        at = level_offset[i] + k * level_columns[i]
        start = level_start[i]
        for c in range(level_columns[i]):
            z[start + c] = level_table[at + c]


@_kernel
def forest(
    x: Any,
    numeric_feature: Any,
    numeric_missing: Any,
    level_feature: Any,
    level_count: Any,
    level_columns: Any,
    level_offset: Any,
    level_start: Any,
    level_table: Any,
    width: int,
    roots: Any,
    depth: Any,
    feature: Any,
    threshold: Any,
    left: Any,
    row: Any,
    leaf: Any,
    out: Any,
) -> None:
    m = x.shape[0]
    q = leaf.shape[1]
    trees = roots.shape[0]
    block = 32  # rows that go through one tree together: the tree stays in the first cache level
    z = np.zeros((block, max(width, 1)))
    node = np.empty(block, np.int64)
    for start in range(0, m, block):
        n = min(block, m - start)
        for r in range(n):
            _space(
                x[start + r],
                numeric_feature,
                numeric_missing,
                level_feature,
                level_count,
                level_columns,
                level_offset,
                level_start,
                level_table,
                z[r],
            )
        for t in range(trees):
            for r in range(n):
                node[r] = roots[t]
            for _ in range(
                depth[t]
            ):  # leaves lead to themselves: no branch, so that rows overlap in the processor
                for r in range(n):
                    k = node[r]
                    node[r] = left[k] + np.int64(z[r, feature[k]] > threshold[k])
            if q == 1:
                for r in range(n):
                    out[start + r, 0] += leaf[row[node[r]], 0]
            else:
                for r in range(n):
                    value = row[node[r]]
                    for k in range(q):
                        out[start + r, k] += leaf[value, k]


@_kernel
def prune(
    x: Any,
    free: Any,
    owner: Any,
    numeric_feature: Any,
    numeric_missing: Any,
    level_feature: Any,
    level_count: Any,
    level_columns: Any,
    level_offset: Any,
    level_start: Any,
    level_table: Any,
    width: int,
    roots: Any,
    feature: Any,
    threshold: Any,
    left: Any,
    row: Any,
    leaf: Any,
    base: Any,
    tree_start: Any,
    node_start: Any,
    new_roots: Any,
    new_depth: Any,
    new_feature: Any,
    new_threshold: Any,
    new_left: Any,
    new_row: Any,
    write: bool,
) -> None:
    """Resolve each person's frozen splits. First call (write False) counts, second call fills."""
    n = x.shape[0]
    q = leaf.shape[1]
    z = np.zeros(max(width, 1))
    stack_old = np.empty(feature.shape[0] + 1, np.int64)
    stack_new = np.empty(feature.shape[0] + 1, np.int64)
    stack_deep = np.empty(feature.shape[0] + 1, np.int64)
    fixed = np.empty(max(width, 1), np.bool_)
    for i in range(n):
        _space(
            x[i],
            numeric_feature,
            numeric_missing,
            level_feature,
            level_count,
            level_columns,
            level_offset,
            level_start,
            level_table,
            z,
        )
        for c in range(width):
            fixed[c] = not free[i, owner[c]]
        at = node_start[i] if write else 0
        tree = tree_start[i] if write else 0
        for t in range(roots.shape[0]):
            node = roots[t]
            while row[node] < 0 and fixed[feature[node]]:
                node = left[node] + np.int64(z[feature[node]] > threshold[node])
            if row[node] >= 0:
                if write:
                    for k in range(q):
                        base[i, k] += leaf[row[node], k]
                continue
            first = at
            deepest = 0
            stack_old[0] = node
            stack_new[0] = at
            stack_deep[0] = 0
            at += 1
            depth = 1
            while depth > 0:
                depth -= 1
                node = stack_old[depth]
                here = stack_new[depth]
                deep = stack_deep[depth]
                if row[node] >= 0:
                    deepest = max(deepest, deep)
                    if write:
                        new_feature[here] = 0
                        new_threshold[here] = np.inf
                        new_left[here] = here
                        new_row[here] = row[node]
                    continue
                if write:
                    new_feature[here] = feature[node]
                    new_threshold[here] = threshold[node]
                    new_left[here] = at
                    new_row[here] = -1
                for side in range(2):
                    child = left[node] + side
                    while row[child] < 0 and fixed[feature[child]]:
                        child = left[child] + np.int64(z[feature[child]] > threshold[child])
                    stack_old[depth] = child
                    stack_new[depth] = at
                    stack_deep[depth] = deep + 1
                    at += 1
                    depth += 1
            if write:  # trees of a person in order of depth: neighbours go down together
                spot = tree
                while spot > tree_start[i] and new_depth[spot - 1] > deepest:
                    new_depth[spot] = new_depth[spot - 1]
                    new_roots[spot] = new_roots[spot - 1]
                    spot -= 1
                new_depth[spot] = deepest
                new_roots[spot] = first
            tree += 1
        if not write:
            tree_start[i + 1] = tree
            node_start[i + 1] = at


@_kernel
def pruned(
    who: Any,
    x: Any,
    numeric_feature: Any,
    numeric_missing: Any,
    level_feature: Any,
    level_count: Any,
    level_columns: Any,
    level_offset: Any,
    level_start: Any,
    level_table: Any,
    width: int,
    base: Any,
    tree_start: Any,
    roots: Any,
    depth: Any,
    feature: Any,
    threshold: Any,
    left: Any,
    row: Any,
    leaf: Any,
    out: Any,
) -> None:
    m = x.shape[0]
    q = leaf.shape[1]
    block = 32
    z = np.zeros((block, max(width, 1)))
    node = np.empty(block, np.int64)
    start = 0
    while start < m:
        i = who[start]
        n = 1
        while n < block and start + n < m and who[start + n] == i:
            n += 1
        for r in range(n):
            _space(
                x[start + r],
                numeric_feature,
                numeric_missing,
                level_feature,
                level_count,
                level_columns,
                level_offset,
                level_start,
                level_table,
                z[r],
            )
            for k in range(q):
                out[start + r, k] = base[i, k]
        t = tree_start[i]
        end = tree_start[i + 1]
        if n >= 6:  # rows of one person go down a tree together
            while t < end:
                for r in range(n):
                    node[r] = roots[t]
                for _ in range(depth[t]):
                    for r in range(n):
                        k = node[r]
                        node[r] = left[k] + np.int64(z[r, feature[k]] > threshold[k])
                for r in range(n):
                    value = row[node[r]]
                    for k in range(q):
                        out[start + r, k] += leaf[value, k]
                t += 1
            start += n
            continue
        for r in range(n):  # few rows: four trees of like depth go down together
            s = z[r]
            t = tree_start[i]
            while t < end:
                a = roots[t]
                b = roots[min(t + 1, end - 1)]
                c = roots[min(t + 2, end - 1)]
                d = roots[min(t + 3, end - 1)]
                for _ in range(depth[min(t + 3, end - 1)]):
                    a = left[a] + np.int64(s[feature[a]] > threshold[a])
                    b = left[b] + np.int64(s[feature[b]] > threshold[b])
                    c = left[c] + np.int64(s[feature[c]] > threshold[c])
                    d = left[d] + np.int64(s[feature[d]] > threshold[d])
                for k in range(q):
                    out[start + r, k] += leaf[row[a], k]
                    if t + 1 < end:
                        out[start + r, k] += leaf[row[b], k]
                    if t + 2 < end:
                        out[start + r, k] += leaf[row[c], k]
                    if t + 3 < end:
                        out[start + r, k] += leaf[row[d], k]
                t += 4
        start += n


@_kernel
def check(x: Any, levels: Any, may_miss: Any) -> Any:
    """Position (flat) of the first value that no model may see, or -1. levels (d,) 0 for numeric."""
    m, d = x.shape
    for i in range(m):
        for j in range(d):
            v = x[i, j]
            if np.isnan(v):
                if not may_miss[j]:
                    return i * d + j
            elif levels[j] > 0:
                if not (v >= 0.0 and v < levels[j] and v == np.floor(v)):
                    return i * d + j
            elif np.isinf(v):
                return i * d + j
    return -1


@_kernel
def reach(
    low: Any,
    high: Any,
    roots: Any,
    feature: Any,
    threshold: Any,
    left: Any,
    row: Any,
    leaf: Any,
    smallest: Any,
    largest: Any,
) -> None:
    """Least and greatest leaf sums over boxes: low, high (n, width) in split space."""
    n = low.shape[0]
    q = leaf.shape[1]
    stack = np.empty(feature.shape[0] + 1, np.int64)
    least = np.empty(q, np.int64)
    most = np.empty(q, np.int64)
    for i in range(n):
        for t in range(roots.shape[0]):
            stack[0] = roots[t]
            depth = 1
            first = True
            while depth > 0:
                depth -= 1
                node = stack[depth]
                f = feature[node]
                if row[node] >= 0:
                    for k in range(q):
                        v = leaf[row[node], k]
                        least[k] = v if first or v < least[k] else least[k]
                        most[k] = v if first or v > most[k] else most[k]
                    first = False
                    continue
                if low[i, f] <= threshold[node]:
                    stack[depth] = left[node]
                    depth += 1
                if high[i, f] > threshold[node]:
                    stack[depth] = left[node] + 1
                    depth += 1
            for k in range(q):
                smallest[i, k] += least[k]
                largest[i, k] += most[k]
