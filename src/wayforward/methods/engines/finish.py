"""What searches share at their end: what they come to is tried a little farther, who has nothing goes on by single
changes, and every option is polished."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from wayforward.methods.engines.complete import complete
from wayforward.methods.engines.tighten import polish
from wayforward.problem.batching import distinct_changes

if TYPE_CHECKING:
    from wayforward.problem import Population


def farther(
    people: Population, who: np.ndarray, rows: np.ndarray, shares: Sequence[float]
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows (m, d) of people who (m,) each of s shares of their way farther, on legal values: whose they are
    (s * m,), and rows (s * m, d). At a bound the model may say no, and rounding may have taken a row back.
    """
    far = np.repeat(shares, len(rows))[:, None]
    who, rows = np.tile(who, len(shares)), np.tile(rows, (len(shares), 1))
    way = np.where(people.schema.has_levels, 0.0, rows - people.x[who])
    return who, people.snap(who, rows + far * way)


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
    free: np.ndarray | None = None,
) -> np.ndarray:
    """Return each person's k cheapest options (n, k, d) of rows who (m,), action (m, d) that reach the decision.

    go_on: for whom there is none, single changes are made from start (n, d) and from where they stand, until the
    decision turns (`complete`). shrink: options are polished. cap (n,): model rows of each person at most. free (n, d):
    what may change on the way; left out, all that each person may.
    """
    free = people.free if free is None else free
    lost = np.setdiff1d(np.arange(people.n), who)
    if go_on and lost.size:
        owners, rows = [who], [action]
        nowhere = np.full((people.n, people.d), np.nan)
        for begin, thrifty in ((start, True), (nowhere, True), (nowhere, False)):
            if begin is None or not lost.size:
                continue
            done, reached = complete(people, lost, begin[lost], free, rounds=12, cap=cap, thrifty=thrifty)
            owners.append(lost[reached])
            rows.append(done[reached])
            lost = lost[~reached]
        who, action = np.concatenate(owners), np.concatenate(rows)
    if shrink and len(who):
        action = polish(people, who, action)
    return distinct_changes(people, who, action, k)
