"""Several options from a search for one: each later search leaves out the dearest change of those before."""

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
    """(n, k, d) options. free (n, d): what may change; find(free, option) -> (n, d), NaN where nothing was found.

    Who would have nothing left to change searches with everything again.
    """
    banned = np.zeros((people.n, people.d), dtype=bool)
    owner, found = [], []
    for option in range(k):
        some = free & ~banned
        stuck = ~some.any(1)
        some[stuck] = free[stuck]
        best = find(some, option)
        at = np.flatnonzero(~np.isnan(best).all(1))
        owner.append(at)
        found.append(best[at])
        main = np.where(np.isnan(best[at]), -np.inf, people.parts(at, best[at])).argmax(1)
        banned[at, main] = True
    return distinct_changes(people, np.concatenate(owner), np.concatenate(found), k)
