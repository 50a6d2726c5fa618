"""Positions within groups, without a loop over people."""

from __future__ import annotations

import numpy as np


def rank_in_run(who: np.ndarray) -> np.ndarray:
    """(m,) position of each entry within its run of equal values; `who` is sorted."""
    place = np.arange(len(who))
    start = np.zeros_like(place)
    start[1:] = np.where(who[1:] != who[:-1], place[1:], 0)
    return place - np.maximum.accumulate(start)
