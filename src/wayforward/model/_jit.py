"""The numba kernels behind `wayforward.model.kernels`; imported only where numba is present."""

from __future__ import annotations

from typing import Any

import numpy as np

from wayforward.compiling import kernel as kernel
from wayforward.model.records import DenseArrays, LeafMasks, PrunedTrees, SplitSpace, Trees


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
def dense(x: Any, net: DenseArrays, out: Any) -> None:
    """Write the margins of a dense network to out (m, q)."""
    source, affine, first, offset, table = net.source, net.affine, net.first, net.offset, net.table
    flat, shift, shapes, activation = net.flat, net.shift, net.shapes, net.activation
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
            h[t] = net.bias[t]
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
                w = table[offset[j] + (net.levels[j] if np.isnan(v) else np.int64(v))]
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
def _split_row(row: Any, space: SplitSpace, z: Any) -> None:
    """Write one raw row in the space of splits to z (width,)."""
    for c in range(space.numeric_feature.shape[0]):
        v = row[space.numeric_feature[c]]
        z[c] = space.numeric_missing[c] if np.isnan(v) else v
    for i in range(space.level_feature.shape[0]):
        v = row[space.level_feature[i]]
        k = space.level_count[i] if np.isnan(v) else np.int64(v)
        at = space.level_offset[i] + k * space.level_columns[i]
        start = space.level_start[i]
        for c in range(space.level_columns[i]):
            z[start + c] = space.level_table[at + c]


@kernel
def forest(x: Any, space: SplitSpace, trees: Trees, out: Any) -> None:
    """Add the leaves that each row reaches to out (m, q)."""
    roots, depth, leaf = trees.roots, trees.depth, trees.leaf
    feature, threshold, left, row = trees.feature, trees.threshold, trees.left, trees.row
    m = x.shape[0]
    q = leaf.shape[1]
    block = 32  # rows that go through one tree together: the tree stays in the first cache level
    z = np.zeros((block, max(space.owner.shape[0], 1)))
    node = np.empty(block, np.int64)
    for start in range(0, m, block):
        n = min(block, m - start)
        for r in range(n):
            _split_row(x[start + r], space, z[r])
        for t in range(roots.shape[0]):
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
def masked(x: Any, masks: LeafMasks, bit: Any, out: Any) -> None:
    """As `forest`, for trees of at most 64 leaves: what a feature's value rules out is looked up for all trees at once.

    masks (values, trees): the leaves that stay where a number lies between two thresholds, or for a level. The leftmost
    leaf that stays for all features is the one reached. After C. Lucchese et al. (2015), QuickScorer, SIGIR.
    """
    numeric_feature, numeric_missing = masks.numeric_feature, masks.numeric_missing
    edges, start, stays = masks.edges, masks.start, masks.stays
    level_feature, level_count, level_at = masks.level_feature, masks.level_count, masks.level_at
    first, leaf = masks.first, masks.leaf
    q = leaf.shape[1]
    trees = first.shape[0]
    alive = np.empty(trees, stays.dtype)
    one = np.uint64(1)
    shift = np.uint64(58)
    magic = np.uint64(0x03F79D71B4CB0A89)
    for i in range(x.shape[0]):
        for t in range(trees):
            alive[t] = stays[0, t]  # the first row rules out nothing
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
            stay = stays[low + c + 1]  # a number has one interval more than thresholds
            for t in range(trees):
                alive[t] &= stay[t]
        for c in range(level_feature.shape[0]):
            v = x[i, level_feature[c]]
            stay = stays[level_at[c] + (level_count[c] if np.isnan(v) else np.int64(v))]
            for t in range(trees):
                alive[t] &= stay[t]
        for t in range(trees):
            left = np.uint64(alive[t])
            reached = first[t] + bit[((left & (~left + one)) * magic) >> shift]
            for k in range(q):
                out[i, k] += leaf[reached, k]


@kernel
def _resolve(node: Any, z: Any, fixed: Any, trees: Trees) -> Any:
    """Follow frozen splits down to a split that is free, or a leaf."""
    while trees.row[node] < 0 and fixed[trees.feature[node]]:
        node = trees.left[node] + np.int64(z[trees.feature[node]] > trees.threshold[node])
    return node


@kernel
def prune_count(x: Any, free: Any, space: SplitSpace, trees: Trees, leaves: Any) -> None:
    """Leaves that each person's rows can reach: leaves (n, trees); 1 where nothing is left to decide."""
    roots, feature, left, row = trees.roots, trees.feature, trees.left, trees.row
    owner, width = space.owner, space.owner.shape[0]
    z = np.zeros(max(width, 1))
    fixed = np.empty(max(width, 1), np.bool_)
    stack = np.empty(feature.shape[0] + 1, np.int64)
    for i in range(x.shape[0]):
        _split_row(x[i], space, z)
        for c in range(width):
            fixed[c] = not free[i, owner[c]]
        for t in range(roots.shape[0]):
            count = 0
            stack[0] = _resolve(roots[t], z, fixed, trees)
            depth = 1
            while depth > 0:
                depth -= 1
                node = stack[depth]
                if row[node] >= 0:
                    count += 1
                    continue
                stack[depth] = _resolve(left[node], z, fixed, trees)
                stack[depth + 1] = _resolve(left[node] + 1, z, fixed, trees)
                depth += 2
            leaves[i, t] = count


@kernel
def prune(
    x: Any, free: Any, space: SplitSpace, trees: Trees, few: int, leaves: Any, out: PrunedTrees
) -> None:
    """Write each person's resolved forest.

    Trees of at most `few` (up to 64) leaves become entries (threshold, tree, mask of the leaves that stay
    when the value lies beyond), sorted by column and threshold; the leftmost leaf that stays is the one
    reached. After C. Lucchese et al. (2015), QuickScorer, SIGIR. Larger trees are written out as nodes.
    """
    roots, feature, threshold, left, row = trees.roots, trees.feature, trees.threshold, trees.left, trees.row
    owner, width = space.owner, space.owner.shape[0]
    n = x.shape[0]
    q = trees.leaf.shape[1]
    z = np.zeros(max(width, 1))
    fixed = np.empty(max(width, 1), np.bool_)
    stack_old = np.empty(feature.shape[0] + 1, np.int64)
    stack_new = np.empty(feature.shape[0] + 1, np.int64)
    stack_deep = np.empty(feature.shape[0] + 1, np.int64)
    most = 1
    for i in range(n):
        most = max(most, out.entry_start[i + 1] - out.entry_start[i])
    made_rank = np.empty(most, np.int64)
    made_node = np.empty(most, np.int64)
    made_tree = np.empty(most, np.int64)
    made_first = np.empty(most, np.int64)
    made_mask = np.empty(most, np.uint64)
    one = np.uint64(1)
    for i in range(n):
        _split_row(x[i], space, z)
        for c in range(width):
            fixed[c] = not free[i, owner[c]]
        at = out.node_start[i]
        small = out.small_start[i]
        big = out.big_start[i]
        leaf_at = out.leaf_start[i]
        entries = 0
        for t in range(roots.shape[0]):
            node = _resolve(roots[t], z, fixed, trees)
            if leaves[i, t] == 1:
                for k in range(q):
                    out.base[i, k] += trees.leaf[row[node], k]
                continue
            if leaves[i, t] <= few:
                out.small_leaf[small] = leaf_at
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
                        out.leaf_row[leaf_at] = row[node]
                        leaf_at += 1
                        count += 1
                        continue
                    made_rank[entries] = trees.rank[node]
                    made_node[entries] = node
                    made_tree[entries] = small - out.small_start[i]
                    made_first[entries] = count
                    stack_old[depth] = _resolve(left[node] + 1, z, fixed, trees)
                    stack_new[depth] = entries
                    stack_old[depth + 1] = _resolve(left[node], z, fixed, trees)
                    stack_new[depth + 1] = -1
                    depth += 2
                    entries += 1
                small += 1
                continue
            deepest = 0
            out.big_root[big] = at
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
                    out.feature[here] = 0
                    out.threshold[here] = np.inf
                    out.left[here] = here
                    out.row[here] = row[node]
                    continue
                out.feature[here] = feature[node]
                out.threshold[here] = threshold[node]
                out.left[here] = at
                out.row[here] = -1
                for side in range(2):
                    stack_old[depth] = _resolve(left[node] + side, z, fixed, trees)
                    stack_new[depth] = at
                    stack_deep[depth] = deep + 1
                    at += 1
                    depth += 1
            out.big_depth[big] = deepest
            big += 1
        order = np.argsort(made_rank[:entries])
        put = out.entry_start[i]
        group = out.group_start[i]
        column = -1
        for e in range(entries):
            source = order[e]
            node = made_node[source]
            if feature[node] != column:
                if column >= 0:
                    out.group_end[group] = put
                    group += 1
                column = feature[node]
                out.group_column[group] = column
            out.entry_threshold[put] = threshold[node]
            out.entry_mask[put] = made_mask[source]
            out.entry_tree[put] = made_tree[source]
            put += 1
        if column >= 0:
            out.group_end[group] = put
            group += 1
        out.group_start[i + 1] = group


@kernel
def pruned(who: Any, x: Any, space: SplitSpace, trees: PrunedTrees, leaf: Any, bit: Any, out: Any) -> None:
    """Write the leaf sums of each row in its person's forest to out (m, q); rows of a person stand together."""
    small_start, small_leaf, leaf_row = trees.small_start, trees.small_leaf, trees.leaf_row
    entry_threshold, entry_mask, entry_tree = trees.entry_threshold, trees.entry_mask, trees.entry_tree
    feature, threshold, left, row = trees.feature, trees.threshold, trees.left, trees.row
    m = x.shape[0]
    q = leaf.shape[1]
    block = 32
    z = np.zeros((block, max(space.owner.shape[0], 1)))
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
        count = small_start[i + 1] - first
        for r in range(n):
            _split_row(x[start + r], space, z[r])
            for k in range(q):
                out[start + r, k] = trees.base[i, k]
            for t in range(count):
                alive[t] = every
            e = trees.entry_start[i]
            for g in range(trees.group_start[i], trees.group_start[i + 1]):
                value = z[r, trees.group_column[g]]
                end = trees.group_end[g]
                while e < end and entry_threshold[e] < value:
                    alive[entry_tree[e]] &= entry_mask[e]
                    e += 1
                e = end
            for t in range(count):
                v = alive[t]
                lowest = bit[((v & (~v + one)) * magic) >> shift]
                reached = leaf_row[small_leaf[first + t] + lowest]
                for k in range(q):
                    out[start + r, k] += leaf[reached, k]
        for t in range(
            trees.big_start[i], trees.big_start[i + 1]
        ):  # rows of one person go down a large tree together
            for r in range(n):
                node[r] = trees.big_root[t]
            for _ in range(trees.big_depth[t]):
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
def reach(low: Any, high: Any, trees: Trees, smallest: Any, largest: Any) -> None:
    """Least and greatest leaf sums over boxes: low, high (n, width) in split space."""
    roots, leaf = trees.roots, trees.leaf
    feature, threshold, left, row = trees.feature, trees.threshold, trees.left, trees.row
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
