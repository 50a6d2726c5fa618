"""Positions within groups, without a loop over people."""

from __future__ import annotations

import numpy as np


def rank_in_run(who: np.ndarray) -> np.ndarray:
    """(m,) position of each entry within its run of equal values; `who` is sorted."""
    if not len(who):
        return np.empty(0, dtype=np.int64)
    start = np.flatnonzero(np.r_[True, who[1:] != who[:-1]])
    return np.arange(len(who)) - np.repeat(start, np.diff(np.r_[start, len(who)]))
