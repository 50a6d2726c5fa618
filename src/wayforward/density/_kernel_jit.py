"""The numba twin of the sums in `density.Kernel`; imported only where numba is present."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wayforward.compiling import kernel

_BLOCK = 32  # rows side by side
_SMALL = 1e-200  # sums below this are worked out again from logarithms
_FAR = 38.0  # exp(-38) changes no digit of a sum about 1
_MOST = 708.0  # exp(-708) is the least that is not denormal
_LOG2 = 1.4426950408889634
_HIGH, _LOW = 0.693147180369123816490, 1.90821492927058770002e-10  # ln 2 in two parts
_SHIFT = 6755399441055744.0  # 1.5 * 2^52: adding it leaves a whole number in the last bits


@kernel
def _exp_minus(q: Any, room: Any) -> None:
    """q (m,) >= 0 becomes exp(-q), within two units of the last place; loops that compilers vectorise."""
    m = len(q)
    power = room[:m]
    bits = power.view(np.int64)
    for t in range(m):
        v = q[t]
        v = v if v < _MOST else _MOST
        q[t] = v
        power[t] = v * _LOG2 + _SHIFT
    for t in range(m):
        k, v = power[t] - _SHIFT, q[t]
        r = (k * _HIGH - v) + k * _LOW
        p = 1.6059043836821613e-10
        p = p * r + 2.0876756987868099e-09
        p = p * r + 2.5052108385441719e-08
        p = p * r + 2.7557319223985891e-07
        p = p * r + 2.7557319223985893e-06
        p = p * r + 2.4801587301587302e-05
        p = p * r + 1.9841269841269841e-04
        p = p * r + 1.3888888888888889e-03
        p = p * r + 8.3333333333333333e-03
        p = p * r + 4.1666666666666664e-02
        p = p * r + 1.6666666666666666e-01
        p = p * r + 0.5
        p = p * r + 1.0
        q[t] = p * r + 1.0
    for t in range(m):
        bits[t] = (1023 - (bits[t] & 4095)) << 52
    for t in range(m):
        q[t] *= power[t]


@kernel
def _tables(
    value: Any, gone: Any, table: Any, lost: Any, level: Any, cost: Any, start: Any, near: Any
) -> None:
    """near (T, b) = minus the log kernels between rows (b, q) and the values of each column."""
    m = len(value)
    for j in range(len(start) - 1):
        alike, none, other = cost[j, 0], cost[j, 1], cost[j, 2]
        for t in range(start[j], start[j + 1]):
            v = table[t]
            if level[j]:
                for r in range(m):
                    near[t, r] = alike if value[r, j] == v else other
            elif lost[t]:
                for r in range(m):
                    near[t, r] = none if gone[r, j] else other
            else:
                for r in range(m):
                    gap = value[r, j] - v
                    near[t, r] = other if gone[r, j] else 0.5 * gap * gap + alike


@kernel
def _distances(value: Any, gone: Any, own: Any, absent: Any, cost: Any, out: Any) -> None:
    """out (U, b) = minus the log kernels between rows (b, c) and people's own values (c, U), summed over columns."""
    m = len(value)
    out[:] = 0.0
    for c in range(own.shape[0]):
        alike, none, other = cost[c, 0], cost[c, 1], cost[c, 2]
        for u in range(own.shape[1]):
            v = own[c, u]
            if absent[c, u]:
                for r in range(m):
                    out[u, r] += none if gone[r, c] else other
            else:
                for r in range(m):
                    gap = value[r, c] - v
                    out[u, r] += other if gone[r, c] else 0.5 * gap * gap + alike


@kernel
def sums(
    value: Any,  # (m, q) of the rows, in bandwidths or coordinates of levels; rows of one key side by side
    gone: Any,  # (m, q) bool
    key: Any,  # (m,) ascending
    like: Any,  # (K, G) log kernels of x'_I, for the G different x'_I of people
    given: Any,  # (n,) which of the G each person has
    leaf: Any,  # (n,) which of the U different x_f each person has
    level: Any,  # (q,) bool: alike or not, rather than near or far
    cost: Any,  # (q, 3) of both there or alike, of both missing, of one missing or unlike; each >= 0
    table: Any,  # (T,) different values of each column that many people share, side by side
    lost: Any,  # (T,) bool
    start: Any,  # (h + 1,) where the values of each such column begin
    index: Any,  # (N, h) places in the table of the N branches of alike rows, in lexicographic order
    first: Any,  # (N,) the first column that differs from the branch before
    skip: Any,  # (N, h) the next branch that differs in this column or before
    begin: Any,  # (N + 1,) where the U rows of each branch begin
    last: Any,  # (U,) place in the table of the last column, where that is shared too; or empty
    own: Any,  # (q - h, U) values of the columns that few people share
    absent: Any,  # (q - h, U) bool
    out: Any,  # (m,) log of the mean of the kernels of x_f, weighted by those of x'_I
) -> None:
    """Products of factors for some rows at a time; each row's numbers are worked out as if it were alone."""
    m, n_leaf, n_branch, h = value.shape[0], begin[-1], index.shape[0], index.shape[1]
    tabled, size, people = len(last) > 0, start[-1], given.shape[0]
    share, weight = np.empty(like.shape[1]), np.empty(n_leaf)
    flat_near, flat_away = np.empty(size * _BLOCK), np.empty(0 if tabled else n_leaf * _BLOCK)
    room = np.empty(max(len(flat_near), len(flat_away), len(share)))
    prefix, part, total = np.ones((h + 1, _BLOCK)), np.empty(_BLOCK), np.empty(_BLOCK)
    whole, now, i = 0.0, -1, 0
    while i < m:
        if key[i] != now:
            now = key[i]
            best = like[now].max()
            for g in range(len(share)):
                share[g] = best - like[now, g]
            _exp_minus(share, room)
            weight[:] = 0.0
            whole = 0.0
            for r in range(people):
                weight[leaf[r]] += share[given[r]]
                whole += share[given[r]]
        b = 1
        while b < _BLOCK and i + b < m and key[i + b] == now:
            b += 1
        near = flat_near[: size * b].reshape(size, b)
        _tables(value[i : i + b], gone[i : i + b], table, lost, level, cost, start, near)
        _exp_minus(flat_near[: size * b], room)
        away = near
        if not tabled:
            away = flat_away[: n_leaf * b].reshape(n_leaf, b)
            _distances(value[i : i + b, h:], gone[i : i + b, h:], own, absent, cost[h:], away)
            _exp_minus(flat_away[: n_leaf * b], room)
        total[:] = 0.0
        for n in range(n_branch):
            for j in range(first[n], h):
                t = index[n, j]
                for r in range(b):
                    prefix[j + 1, r] = prefix[j, r] * near[t, r]
            part[:] = 0.0
            for u in range(begin[n], begin[n + 1]):
                w = weight[u]
                t = last[u] if tabled else np.uint32(u)
                for r in range(b):
                    part[r] += w * away[t, r]
            for r in range(b):
                total[r] += prefix[h, r] * part[r]
        for r in range(b):
            out[i + r] = math.log(total[r] / whole) if total[r] > _SMALL else np.nan
        i += b


@kernel
def far_sums(
    # the arguments of `sums`
    value: Any,
    gone: Any,
    key: Any,
    like: Any,
    given: Any,
    leaf: Any,
    level: Any,
    cost: Any,
    table: Any,
    lost: Any,
    start: Any,
    index: Any,
    first: Any,
    skip: Any,
    begin: Any,
    last: Any,
    own: Any,
    absent: Any,
    out: Any,
) -> None:
    """The same by logarithms, about the greatest term, for rows where `out` is NaN: they are far from everybody."""
    n_leaf, n_branch, h = begin[-1], index.shape[0], index.shape[1]
    tabled, people = len(last) > 0, given.shape[0]
    near, away, log_weight = np.empty((start[-1], 1)), np.empty(n_leaf), np.empty(n_leaf)
    so_far = np.zeros(h + 1)
    best, mean, now = 0.0, 0.0, -1
    for i in range(value.shape[0]):
        if not np.isnan(out[i]):
            continue
        if key[i] != now:
            now = key[i]
            log_weight[:] = -np.inf
            for r in range(people):
                log_weight[leaf[r]] = max(log_weight[leaf[r]], like[now, given[r]])
            away[:] = 0.0
            for r in range(people):
                away[leaf[r]] += math.exp(like[now, given[r]] - log_weight[leaf[r]])
            best, mean = -np.inf, 0.0
            for u in range(n_leaf):
                log_weight[u] += math.log(away[u])
                best = max(best, log_weight[u])
            for u in range(n_leaf):
                mean += math.exp(log_weight[u] - best)
        _tables(value[i : i + 1], gone[i : i + 1], table, lost, level, cost, start, near)
        least, total = np.inf, 0.0
        n = 0
        while n < n_branch:
            after = n + 1
            live = True
            for j in range(first[n], h):
                so_far[j + 1] = so_far[j] + near[index[n, j], 0]
                if so_far[j + 1] - best > least + _FAR:
                    after = skip[n, j]
                    live = False
                    break
            if live:
                for u in range(begin[n], begin[n + 1]):
                    far = so_far[h] - log_weight[u]
                    if tabled:
                        far += near[last[u], 0]
                    for c in range(own.shape[0]):
                        k = h + c
                        if gone[i, k]:
                            far += cost[k, 1] if absent[c, u] else cost[k, 2]
                        elif absent[c, u]:
                            far += cost[k, 2]
                        else:
                            gap = value[i, k] - own[c, u]
                            far += 0.5 * gap * gap + cost[k, 0]
                    if far < least:
                        total = total * math.exp(far - least) + 1.0
                        least = far
                    elif far < least + _FAR:
                        total += math.exp(least - far)
            n = after
        out[i] = math.log(total / mean) - least - best


@kernel
def below(total: Any, luck: Any, out: Any) -> None:
    """How many of each row's ascending numbers total (n, R) are below luck (n, s) -> out (n, s)."""
    for i in range(luck.shape[0]):
        for k in range(luck.shape[1]):
            low, high = 0, total.shape[1]
            while low < high:
                middle = (low + high) // 2
                if total[i, middle] < luck[i, k]:
                    low = middle + 1
                else:
                    high = middle
            out[i, k] = low
