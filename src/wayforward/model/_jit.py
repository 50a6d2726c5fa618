"""The numba kernels behind `wayforward.model.kernels`; imported only where numba is present."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile without fast-math; keep the machine code on disk where a folder can be written to."""
    try:
        return cast(F, numba.njit(cache=True, nogil=True, fastmath=False)(function))
    except RuntimeError:  # no folder can be written to: compile anew in each process
        return cast(F, numba.njit(nogil=True, fastmath=False)(function))


@kernel
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


@kernel
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


@kernel
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


@kernel
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


@kernel
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


@kernel
def masked(
    x: Any,
    numeric_feature: Any,
    numeric_missing: Any,
    edges: Any,
    start: Any,
    level_feature: Any,
    level_count: Any,
    level_at: Any,
    masks: Any,
    first: Any,
    leaf: Any,
    bit: Any,
    out: Any,
) -> None:
    """As `forest`, for trees of at most 64 leaves: what a feature's value rules out is looked up for all trees at once.

    masks (values, trees): the leaves that stay where a number lies between two thresholds, or for a level. The leftmost
    leaf that stays for all features is the one reached. After C. Lucchese et al. (2015), QuickScorer, SIGIR.
    """
    q = leaf.shape[1]
    trees = first.shape[0]
    alive = np.empty(trees, masks.dtype)
    one = np.uint64(1)
    shift = np.uint64(58)
    magic = np.uint64(0x03F79D71B4CB0A89)
    for i in range(x.shape[0]):
        for t in range(trees):
            alive[t] = masks[0, t]  # the first row rules out nothing
        for c in range(numeric_feature.shape[0]):
            v = x[i, numeric_feature[c]]
            if np.isnan(v):
                v = numeric_missing[c]
            low = start[c]
            count = start[c + 1] - low
            while count > 0:
                half = count >> 1
                if edges[low + half] < v:
                    low += half + 1
                    count -= half + 1
                else:
                    count = half
            stay = masks[low + c + 1]  # a number has one interval more than thresholds
            for t in range(trees):
                alive[t] &= stay[t]
        for c in range(level_feature.shape[0]):
            v = x[i, level_feature[c]]
            stay = masks[level_at[c] + (level_count[c] if np.isnan(v) else np.int64(v))]
            for t in range(trees):
                alive[t] &= stay[t]
        for t in range(trees):
            left = np.uint64(alive[t])
            reached = first[t] + bit[((left & (~left + one)) * magic) >> shift]
            for k in range(q):
                out[i, k] += leaf[reached, k]


@kernel
def _resolve(node: Any, z: Any, fixed: Any, feature: Any, threshold: Any, left: Any, row: Any) -> Any:
    """Follow frozen splits down to a split that is free, or a leaf."""
    while row[node] < 0 and fixed[feature[node]]:
        node = left[node] + np.int64(z[feature[node]] > threshold[node])
    return node


@kernel
def prune_count(
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
    leaves: Any,
) -> None:
    """Leaves that each person's rows can reach: leaves (n, trees); 1 where nothing is left to decide."""
    z = np.zeros(max(width, 1))
    fixed = np.empty(max(width, 1), np.bool_)
    stack = np.empty(feature.shape[0] + 1, np.int64)
    for i in range(x.shape[0]):
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
        for t in range(roots.shape[0]):
            count = 0
            stack[0] = _resolve(roots[t], z, fixed, feature, threshold, left, row)
            depth = 1
            while depth > 0:
                depth -= 1
                node = stack[depth]
                if row[node] >= 0:
                    count += 1
                    continue
                stack[depth] = _resolve(left[node], z, fixed, feature, threshold, left, row)
                stack[depth + 1] = _resolve(left[node] + 1, z, fixed, feature, threshold, left, row)
                depth += 2
            leaves[i, t] = count


@kernel
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
    rank: Any,
    leaf: Any,
    few: int,
    leaves: Any,
    base: Any,
    small_start: Any,
    leaf_start: Any,
    entry_start: Any,
    group_start: Any,
    big_start: Any,
    node_start: Any,
    small_leaf: Any,
    leaf_row: Any,
    entry_threshold: Any,
    entry_mask: Any,
    entry_tree: Any,
    group_column: Any,
    group_end: Any,
    big_root: Any,
    big_depth: Any,
    new_feature: Any,
    new_threshold: Any,
    new_left: Any,
    new_row: Any,
) -> None:
    """Write each person's resolved forest.

    Trees of at most `few` (up to 64) leaves become entries (threshold, tree, mask of the leaves that stay
    when the value lies beyond), sorted by column and threshold; the leftmost leaf that stays is the one
    reached. After C. Lucchese et al. (2015), QuickScorer, SIGIR. Larger trees are written out as nodes.
    """
    n = x.shape[0]
    q = leaf.shape[1]
    z = np.zeros(max(width, 1))
    fixed = np.empty(max(width, 1), np.bool_)
    stack_old = np.empty(feature.shape[0] + 1, np.int64)
    stack_new = np.empty(feature.shape[0] + 1, np.int64)
    stack_deep = np.empty(feature.shape[0] + 1, np.int64)
    most = 1
    for i in range(n):
        most = max(most, entry_start[i + 1] - entry_start[i])
    made_rank = np.empty(most, np.int64)
    made_node = np.empty(most, np.int64)
    made_tree = np.empty(most, np.int64)
    made_first = np.empty(most, np.int64)
    made_mask = np.empty(most, np.uint64)
    one = np.uint64(1)
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
        at = node_start[i]
        small = small_start[i]
        big = big_start[i]
        leaf_at = leaf_start[i]
        entries = 0
        for t in range(roots.shape[0]):
            node = _resolve(roots[t], z, fixed, feature, threshold, left, row)
            if leaves[i, t] == 1:
                for k in range(q):
                    base[i, k] += leaf[row[node], k]
                continue
            if leaves[i, t] <= few:
                small_leaf[small] = leaf_at
                count = 0
                stack_old[0] = node
                stack_new[0] = -1
                depth = 1
                while depth > 0:
                    depth -= 1
                    node = stack_old[depth]
                    parent = stack_new[depth]
                    if parent >= 0:  # a right child: the leaves since its parent are the parent's left ones
                        bits = np.uint64(0)
                        for b in range(made_first[parent], count):
                            bits |= one << np.uint64(b)
                        made_mask[parent] = ~bits
                    if row[node] >= 0:
                        leaf_row[leaf_at] = row[node]
                        leaf_at += 1
                        count += 1
                        continue
                    made_rank[entries] = rank[node]
                    made_node[entries] = node
                    made_tree[entries] = small - small_start[i]
                    made_first[entries] = count
                    stack_old[depth] = _resolve(left[node] + 1, z, fixed, feature, threshold, left, row)
                    stack_new[depth] = entries
                    stack_old[depth + 1] = _resolve(left[node], z, fixed, feature, threshold, left, row)
                    stack_new[depth + 1] = -1
                    depth += 2
                    entries += 1
                small += 1
                continue
            deepest = 0
            big_root[big] = at
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
                    new_feature[here] = 0
                    new_threshold[here] = np.inf
                    new_left[here] = here
                    new_row[here] = row[node]
                    continue
                new_feature[here] = feature[node]
                new_threshold[here] = threshold[node]
                new_left[here] = at
                new_row[here] = -1
                for side in range(2):
                    stack_old[depth] = _resolve(left[node] + side, z, fixed, feature, threshold, left, row)
                    stack_new[depth] = at
                    stack_deep[depth] = deep + 1
                    at += 1
                    depth += 1
            big_depth[big] = deepest
            big += 1
        order = np.argsort(made_rank[:entries])
        put = entry_start[i]
        group = group_start[i]
        column = -1
        for e in range(entries):
            source = order[e]
            node = made_node[source]
            if feature[node] != column:
                if column >= 0:
                    group_end[group] = put
                    group += 1
                column = feature[node]
                group_column[group] = column
            entry_threshold[put] = threshold[node]
            entry_mask[put] = made_mask[source]
            entry_tree[put] = made_tree[source]
            put += 1
        if column >= 0:
            group_end[group] = put
            group += 1
        group_start[i + 1] = group


@kernel
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
    small_start: Any,
    entry_start: Any,
    group_start: Any,
    big_start: Any,
    small_leaf: Any,
    leaf_row: Any,
    entry_threshold: Any,
    entry_mask: Any,
    entry_tree: Any,
    group_column: Any,
    group_end: Any,
    big_root: Any,
    big_depth: Any,
    feature: Any,
    threshold: Any,
    left: Any,
    row: Any,
    leaf: Any,
    bit: Any,
    out: Any,
) -> None:
    m = x.shape[0]
    q = leaf.shape[1]
    block = 32
    z = np.zeros((block, max(width, 1)))
    node = np.empty(block, np.int64)
    most = 1
    for i in range(small_start.shape[0] - 1):
        most = max(most, small_start[i + 1] - small_start[i])
    alive = np.empty(most, np.uint64)
    every = ~np.uint64(0)
    one = np.uint64(1)
    shift = np.uint64(58)
    magic = np.uint64(0x03F79D71B4CB0A89)
    start = 0
    while start < m:
        i = who[start]
        n = 1
        while n < block and start + n < m and who[start + n] == i:
            n += 1
        first = small_start[i]
        trees = small_start[i + 1] - first
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
            for t in range(trees):
                alive[t] = every
            e = entry_start[i]
            for g in range(group_start[i], group_start[i + 1]):
                value = z[r, group_column[g]]
                end = group_end[g]
                while e < end and entry_threshold[e] < value:
                    alive[entry_tree[e]] &= entry_mask[e]
                    e += 1
                e = end
            for t in range(trees):
                v = alive[t]
                lowest = bit[((v & (~v + one)) * magic) >> shift]
                reached = leaf_row[small_leaf[first + t] + lowest]
                for k in range(q):
                    out[start + r, k] += leaf[reached, k]
        for t in range(big_start[i], big_start[i + 1]):  # rows of one person go down a large tree together
            for r in range(n):
                node[r] = big_root[t]
            for _ in range(big_depth[t]):
                for r in range(n):
                    k = node[r]
                    node[r] = left[k] + np.int64(z[r, feature[k]] > threshold[k])
            for r in range(n):
                value_row = row[node[r]]
                for k in range(q):
                    out[start + r, k] += leaf[value_row, k]
        start += n


@kernel
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


@kernel
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
