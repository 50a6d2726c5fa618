"""Frequent sets of conditions: those that enough people meet together, level by level, on bits.

R. Agrawal and R. Srikant (1994), Fast Algorithms for Mining Association Rules, VLDB (Apriori).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

_PAIRS = 1 << 16  # joined at once


def frequent(
    holds: np.ndarray,
    about: Sequence[int] | np.ndarray,
    *,
    least: int,
    width: int,
    most: int = 20_000,
    twins: bool = False,
) -> tuple[list[tuple[int, ...]], np.ndarray]:
    """Return the sets of at most `width` conditions that at least `least` people meet, the empty set first.

    holds (n, m) bool: who meets which condition; about (m,): the feature of each, a set has one condition a feature.
    most: sets in all; where there are more, the widest that fewest people meet are left out. twins: also sets that
    the same people meet as a set before them; else only the first stays, which has the fewest conditions.
    Who meets each set is returned beside it, (S, n) bool.
    """
    n, m = holds.shape
    subject = np.asarray(about, dtype=np.int64)
    bits = np.packbits(holds.T, axis=1) if m else np.empty((0, (n + 7) // 8), dtype=np.uint8)
    everybody = np.packbits(np.ones((1, n), dtype=bool), axis=1)
    sets: list[tuple[int, ...]] = [()]
    masks = [everybody]
    seen = {everybody.tobytes()}
    level: list[tuple[int, ...]] = [(i,) for i in range(m)]
    level_bits = bits
    for size in range(1, width + 1):
        count = _count(level_bits)
        order = np.argsort(-count, kind="stable")
        chosen: list[int] = []
        for i in order[count[order] >= least].tolist():
            key = level_bits[i].tobytes()
            if key in seen and not twins:
                continue
            if len(sets) + len(chosen) >= most:
                break
            seen.add(key)
            chosen.append(i)
        chosen.sort()
        level, level_bits = [level[i] for i in chosen], level_bits[chosen]
        if not level:
            break
        sets += level
        masks.append(level_bits)
        if size < width:
            level, level_bits = _join(level, level_bits, subject, least)
    packed = np.concatenate(masks)
    return sets, np.unpackbits(packed, axis=1, count=n).astype(bool)


def _count(bits: np.ndarray) -> np.ndarray:
    """Count people in packed bits, (k, b) -> (k,)."""
    return np.asarray(np.bitwise_count(bits).sum(1, dtype=np.int64))


def _join(
    level: list[tuple[int, ...]], bits: np.ndarray, subject: np.ndarray, least: int
) -> tuple[list[tuple[int, ...]], np.ndarray]:
    """Return sets with one condition more, of pairs that share all but their last; only those met by enough people."""
    start: dict[tuple[int, ...], list[int]] = {}
    for i, one in enumerate(level):
        start.setdefault(one[:-1], []).append(i)
    last = np.array([one[-1] for one in level])
    found: list[tuple[int, ...]] = []
    parts: list[np.ndarray] = []
    for group in start.values():
        left, right = np.triu_indices(len(group), 1)
        index = np.array(group)
        for at in range(0, len(left), _PAIRS):
            a, b = index[left[at : at + _PAIRS]], index[right[at : at + _PAIRS]]
            other = subject[last[a]] != subject[last[b]]
            a, b = a[other], b[other]
            both = bits[a] & bits[b]
            enough = np.flatnonzero(_count(both) >= least)
            found += [(*level[a[k]], int(last[b[k]])) for k in enough]
            parts.append(both[enough])
    return found, np.concatenate(parts) if parts else bits[:0]
