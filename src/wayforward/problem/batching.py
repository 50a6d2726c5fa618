"""Ask about many candidate rows in blocks of bounded size, under a limit on model rows for each person."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wayforward.ranks import rank_in_run

if TYPE_CHECKING:
    from wayforward.problem import Population
    from wayforward.problem.population import Worth

_BLOCK = 1 << 18  # candidate rows evaluated at once


def ask(
    people: Population, who: np.ndarray, action: np.ndarray, worth: Worth | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """who (m,), action (m, d) -> score (m,), -inf where the person may not do it, and reached (m,) bool.

    worth: in place of the score, see `Population.evaluate`.
    """
    m = len(who)
    score, reached = np.full(m, -np.inf), np.zeros(m, dtype=bool)
    for begin in range(0, m, _BLOCK):
        part = slice(begin, begin + _BLOCK)
        seen = people.evaluate(who[part], action[part], worth)
        score[part], reached[part] = seen.score, seen.reached
    return score, reached


def tidy(people: Population, who: np.ndarray, action: np.ndarray) -> np.ndarray:
    """Snap to what each person may do; a value that they have already is no act (NaN)."""
    out = people.snap(who, action)
    return np.where(people.schema.differs(out, people.x[who]), out, np.nan)


def distinct_changes(
    people: Population, who: np.ndarray, action: np.ndarray, k: int, better: np.ndarray | None = None
) -> np.ndarray:
    """(n, k, d): of the rows who (m,), action (m, d), each person's k cheapest that change different features.

    Where there are fewer than k different sets of features, the next cheapest rows fill up. better (m,): of equal cost
    and number those with the highest come first.
    """
    out = np.full((people.n, k, people.d), np.nan)
    if not len(who):
        return out
    cost, acted = people.cost(who, action).round(12), ~np.isnan(action)
    first = np.zeros(len(who)) if better is None else -better
    order = np.lexsort((*np.nan_to_num(action, nan=np.inf).T[::-1], first, acted.sum(1), cost, who))
    label = np.unique(np.packbits(acted, axis=1), axis=0, return_inverse=True)[1].reshape(-1)
    grouped = order[np.lexsort((np.arange(len(order)), label[order], who[order]))]
    repeat = np.empty(len(order), dtype=np.int64)  # cheaper rows of this person that change the same features
    repeat[grouped] = rank_in_run(who[grouped] * (label.max() + 1) + label[grouped])
    order = order[np.lexsort((np.arange(len(order)), np.minimum(repeat[order], 1), who[order]))]
    rank = rank_in_run(who[order])
    first = rank < k
    out[who[order[first]], rank[first]] = action[order[first]]
    return out
