"""The numba twin of `causal_grid._cheapest_numpy`; imported only where numba is present."""

from __future__ import annotations

from typing import Any

import numpy as np

from wayforward.compiling import kernel


@kernel
def _after(cost: Any, index: Any, a: Any, b: Any) -> bool:
    """Whether entry a of the heap is dearer than entry b; ties go by position on the grid."""
    return bool(cost[a] > cost[b] or (cost[a] == cost[b] and index[a] > index[b]))


@kernel
def _sink(cost: Any, index: Any, top: Any, size: Any) -> None:
    while True:
        child = 2 * top + 1
        if child >= size:
            return
        if child + 1 < size and _after(cost, index, child + 1, child):
            child += 1
        if not _after(cost, index, child, top):
            return
        cost[top], cost[child] = cost[child], cost[top]
        index[top], index[child] = index[child], index[top]
        top = child


@kernel
def _heap(cost: Any, index: Any, size: Any) -> None:
    for top in range(size // 2 - 1, -1, -1):
        _sink(cost, index, top, size)


@kernel
def cheapest(
    cost: Any,  # (n, r, O) ascending along O; option 0 leaves the feature alone
    count: Any,  # (n, r) options of each feature, option 0 included
    moves: Any,  # (n, r, O) bool: the option changes the value
    most_acts: Any,  # (n,)
    most_moves: Any,  # (n,)
    radix: Any,  # (r,) options of each feature at most
    cursor_cost: Any,  # (n,) combinations up to this one have been seen
    cursor_index: Any,  # (n,)
    ceiling: Any,  # (n,) nothing dearer is wanted
    skip: Any,  # (n, k) sets of moved features that are not wanted, as bits; 0: none
    row: Any,  # (n,) row of the tables; -1: none for this person
    table: Any,  # (t, T) all factors of each person, one after another
    offset: Any,  # (F,) where a factor begins
    stride: Any,  # (F, r) how far one option further is; 0 for a feature outside the factor
    depth_of: Any,  # (F,) the feature at which a factor is complete
    best: Any,  # (t, r + 1) most that the factors complete at this feature or later can still add
    need: Any,  # (t,) least sum of all factors
    out_cost: Any,  # (n, m)
    out_index: Any,  # (n, m)
    found: Any,  # (n,) how many there are
) -> None:
    """Each person's m cheapest wanted combinations after the cursor, up to the ceiling, in order of (cost, index)."""
    n, r, _ = cost.shape
    m = out_cost.shape[1]
    opt = np.zeros(r, np.int64)
    index = np.zeros(r + 1, np.int64)
    bits = np.zeros(r + 1, np.int64)
    acts = np.zeros(r + 1, np.int64)
    moved = np.zeros(r + 1, np.int64)
    total = np.zeros(r + 1)
    shift = np.zeros(r + 1)
    first = np.zeros(r + 1, np.int64)  # factors in order of the feature at which they are complete
    for f in range(len(depth_of)):
        first[depth_of[f] + 1 :] += 1
    for i in range(n):
        t = row[i]
        size = 0
        heap_cost, heap_index = out_cost[i], out_index[i]
        depth = 0
        opt[0] = -1
        while depth >= 0:
            opt[depth] += 1
            o = opt[depth]
            if o >= count[i, depth]:
                depth -= 1
                continue
            c = total[depth] + cost[i, depth, o]
            if c > ceiling[i] or (size == m and c > heap_cost[0]):
                depth -= 1
                continue
            a = acts[depth] + (1 if o > 0 else 0)
            if a > most_acts[i]:
                depth -= 1
                continue
            v = moved[depth]
            b = bits[depth]
            if moves[i, depth, o]:
                v += 1
                b |= np.int64(1) << depth
                if v > most_moves[i]:
                    continue
            s = shift[depth]
            if t >= 0:
                for f in range(first[depth], first[depth + 1]):
                    at = offset[f]
                    for j in range(depth + 1):
                        at += stride[f, j] * opt[j]
                    s += table[t, at]
                if not s + best[t, depth + 1] >= need[t]:
                    continue
            place = index[depth] * radix[depth] + o
            if depth < r - 1:
                depth += 1
                total[depth], shift[depth], acts[depth] = c, s, a
                moved[depth], bits[depth], index[depth] = v, b, place
                opt[depth] = -1
                continue
            if b == 0 or c < cursor_cost[i] or (c == cursor_cost[i] and place <= cursor_index[i]):
                continue
            known = False
            for q in range(skip.shape[1]):
                if skip[i, q] == b:
                    known = True
            if known:
                continue
            if size < m:
                heap_cost[size], heap_index[size] = c, place
                size += 1
                if size == m:
                    _heap(heap_cost, heap_index, size)
            elif c < heap_cost[0] or (c == heap_cost[0] and place < heap_index[0]):
                heap_cost[0], heap_index[0] = c, place
                _sink(heap_cost, heap_index, 0, m)
        found[i] = size
        if size < m:
            _heap(heap_cost, heap_index, size)
        while size > 1:
            size -= 1
            heap_cost[0], heap_cost[size] = heap_cost[size], heap_cost[0]
            heap_index[0], heap_index[size] = heap_index[size], heap_index[0]
            _sink(heap_cost, heap_index, 0, size)
