"""What searches share at their end: who has nothing goes on by single changes, and every option is polished."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wayforward.methods.engines.complete import complete
from wayforward.methods.engines.tighten import polish
from wayforward.problem.batching import distinct_changes

if TYPE_CHECKING:
    from wayforward.problem import Population


def finished(
    people: Population,
    who: np.ndarray,
    action: np.ndarray,
    k: int,
    *,
    cap: np.ndarray,
    go_on: bool,
    shrink: bool,
    start: np.ndarray | None = None,
) -> np.ndarray:
    """Return each person's k cheapest options (n, k, d) of rows who (m,), action (m, d) that reach the decision.

    go_on: for whom there is none, single changes are made from start (n, d) and from where they stand, until the
    decision turns (`complete`). shrink: options are polished. cap (n,): model rows of each person at most.
    """
    lost = np.setdiff1d(np.arange(people.n), who)
    if go_on and lost.size:
        owners, rows = [who], [action]
        nowhere = np.full((people.n, people.d), np.nan)
        for begin, thrifty in ((start, True), (nowhere, True), (nowhere, False)):
            if begin is None or not lost.size:
                continue
            done, reached = complete(
                people, lost, begin[lost], people.free, rounds=12, cap=cap, thrifty=thrifty
            )
            owners.append(lost[reached])
            rows.append(done[reached])
            lost = lost[~reached]
        who, action = np.concatenate(owners), np.concatenate(rows)
    if shrink and len(who):
        action = polish(people, who, action)
    return distinct_changes(people, who, action, k)
