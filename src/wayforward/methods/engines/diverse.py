"""Several options by searching again: each later search leaves out the dearest change of those before."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from wayforward.problem.batching import distinct_changes

if TYPE_CHECKING:
    from wayforward.problem import Population


def leaving_out(
    people: Population, free: np.ndarray, k: int, find: Callable[[np.ndarray, int], np.ndarray]
) -> np.ndarray:
    """Search k times and return (n, k, d) options. Who would have nothing left to change searches with everything.

    free (n, d): what may change. find: (free, number of the option) -> (n s, d), s rows for each person, one person
    after another; NaN where nothing was found.
    """
    banned = np.zeros((people.n, people.d), dtype=bool)
    owners, found = [], []
    for option in range(k):
        some = free & ~banned
        stuck = ~some.any(1)
        some[stuck] = free[stuck]
        best = find(some, option)
        owner = np.repeat(np.arange(people.n), len(best) // max(people.n, 1))
        at = np.flatnonzero(~np.isnan(best).all(1))
        owner, best = owner[at], best[at]
        owners.append(owner)
        found.append(best)
        dearest = np.where(np.isnan(best), -np.inf, people.parts(owner, best)).argmax(1)
        banned[owner, dearest] = True
    return distinct_changes(people, np.concatenate(owners), np.concatenate(found), k)
