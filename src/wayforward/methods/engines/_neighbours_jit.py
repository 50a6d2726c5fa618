"""The numba twin of the loops in `neighbours`; imported only where numba is present."""

from __future__ import annotations

from typing import Any

import numpy as np

from wayforward.compiling import kernel


@kernel
def scan(
    x: Any,
    free: Any,
    low: Any,
    high: Any,
    absent_effort: Any,
    effort: Any,
    categorical: Any,
    level_ok: Any,
    start: Any,
    reference: Any,
    strict: Any,
    index: Any,
    distance: Any,
) -> None:
    """Exact k nearest: a row is given up as soon as it is no nearer than the k-th so far."""
    n, d = x.shape
    k = index.shape[1]
    for i in range(n):
        worst = np.inf
        for r in range(reference.shape[0]):
            total = 0.0
            for j in range(d):
                own, value = x[i, j], reference[r, j]
                absent = np.isnan(value)
                ok = free[i, j]
                if ok and start[j] >= 0 and not absent:
                    ok = level_ok[i, start[j] + np.int64(value)]
                goal = value
                if strict:
                    if own == value or (np.isnan(own) and absent):
                        continue
                    if not (ok and value >= low[i, j] and value <= high[i, j]):
                        total = np.inf
                        break
                else:
                    if absent or not ok:
                        continue
                    goal = min(max(value, low[i, j]), high[i, j])
                if np.isnan(own):
                    total += absent_effort[i, j]
                elif categorical[j]:
                    total += effort[i, j] if goal != own else 0.0
                else:
                    total += abs(goal - own) * effort[i, j]
                if total >= worst:
                    break
            if total < worst:
                place = k - 1
                while place > 0 and distance[i, place - 1] > total:
                    distance[i, place] = distance[i, place - 1]
                    index[i, place] = index[i, place - 1]
                    place -= 1
                distance[i, place] = total
                index[i, place] = r
                worst = distance[i, k - 1]
