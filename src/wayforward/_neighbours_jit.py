"""The compiled search of `wayforward.neighbours`; imported only where numba is installed.

It adds the same numbers in the same order as the NumPy search, so both return the same bits.
"""

from __future__ import annotations

import math

import numpy as np

from wayforward.compiling import kernel


@kernel
def search(
    q: np.ndarray,  # (m, d) scaled
    w: np.ndarray,  # (m, d) or (1, d)
    r: np.ndarray,  # (d, N) scaled, in block order
    row: np.ndarray,  # (N,) original row numbers
    start: np.ndarray,  # (B + 1,)
    low: np.ndarray,  # (B, d) scaled box of each block
    high: np.ndarray,  # (B, d)
    gone: np.ndarray,  # (B, d) bool: some value is missing in the block
    cap: np.ndarray,  # (d,) 1 for categories, inf otherwise
    square: bool,
    heom: bool,
    allowed: np.ndarray,  # (N,) bool, in block order
    box_low: np.ndarray,  # (m, d) scaled reach, or (0, 0) for none
    box_high: np.ndarray,
    skip: np.ndarray,  # (m,) row number to leave out, -1 for none
    out_distance: np.ndarray,  # (m, k), inf on entry
    out_row: np.ndarray,  # (m, k), -1 on entry
) -> None:
    m, d = q.shape
    blocks = len(start) - 1
    k = out_distance.shape[1]
    boxed = box_low.shape[0] > 0
    widest = 0
    for b in range(blocks):
        widest = max(widest, start[b + 1] - start[b])
    total = np.empty(widest)
    bound = np.empty(blocks)
    for i in range(m):
        wi = i if w.shape[0] > 1 else 0
        for b in range(blocks):
            least = 0.0
            for j in range(d):
                t = 0.0
                if math.isnan(q[i, j]):
                    t = 1.0 if heom or not gone[b, j] else 0.0
                elif gone[b, j] or math.isnan(low[b, j]):
                    t = 0.0
                elif q[i, j] < low[b, j]:
                    t = low[b, j] - q[i, j]
                elif q[i, j] > high[b, j]:
                    t = q[i, j] - high[b, j]
                t = w[wi, j] * min(t, cap[j])
                least += t * t if square else t
                outside = boxed and (high[b, j] < box_low[i, j] or low[b, j] > box_high[i, j])
                if outside and not gone[b, j]:
                    least = np.inf
            bound[b] = least
        found = 0
        for b in np.argsort(bound, kind="mergesort"):
            worst = out_distance[i, k - 1]
            if bound[b] > worst or bound[b] == np.inf:
                break
            first = start[b]
            size = start[b + 1] - first
            for s in range(size):
                total[s] = 0.0
            for j in range(d):
                here, weight, most = q[i, j], w[wi, j], cap[j]
                column = r[j, first : first + size]
                if math.isnan(here) or gone[b, j]:
                    for s in range(size):
                        there = column[s]
                        t = min(abs(here - there), most)
                        if math.isnan(here) or math.isnan(there):
                            t = 0.0 if math.isnan(here) and math.isnan(there) and not heom else 1.0
                        t = weight * t
                        total[s] += t * t if square else t
                elif square:
                    for s in range(size):
                        t = weight * min(abs(here - column[s]), most)
                        total[s] += t * t
                else:
                    for s in range(size):
                        total[s] += weight * min(abs(here - column[s]), most)
            for s in range(size):
                value = total[s]
                if value > worst or not allowed[first + s]:
                    continue
                number = row[first + s]
                if number == skip[i]:
                    continue
                if value == worst and found == k and number > out_row[i, k - 1]:
                    continue
                if boxed:
                    inside = True
                    for j in range(d):
                        there = r[j, first + s]
                        if math.isnan(there):
                            if box_low[i, j] > -np.inf or box_high[i, j] < np.inf:
                                inside = False
                        elif there < box_low[i, j] or there > box_high[i, j]:
                            inside = False
                    if not inside:
                        continue
                at = min(found, k - 1)  # insertion into the sorted list; ties go by row number
                while at > 0 and (
                    out_distance[i, at - 1] > value
                    or (out_distance[i, at - 1] == value and out_row[i, at - 1] > number)
                ):
                    out_distance[i, at] = out_distance[i, at - 1]
                    out_row[i, at] = out_row[i, at - 1]
                    at -= 1
                out_distance[i, at] = value
                out_row[i, at] = number
                found = min(found + 1, k)
                worst = out_distance[i, k - 1]
