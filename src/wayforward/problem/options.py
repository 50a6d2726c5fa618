"""Judged actions as rows, before they are put into slots."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from wayforward.ranks import rank_in_run
from wayforward.shapes import Actions, Costs, Ints, PerRow, Rows, Who
from wayforward.streams import keys_of


@dataclass(frozen=True)
class Options:
    """Judged rows: who (m,), action and after (m, d), value, chance and cost (m,)."""

    who: Who
    action: Rows
    after: Rows
    value: PerRow
    chance: PerRow
    cost: PerRow

    def take(self, rows: np.ndarray) -> Options:
        """Return some of the rows, in the order given."""
        return Options(*(getattr(self, field.name)[rows] for field in fields(self)))

    def put(self, rows: np.ndarray, other: Options) -> Options:
        """Return the same options, those at `rows` replaced by the others, in the order given."""
        parts = []
        for field in fields(self):
            value = getattr(self, field.name).copy()
            value[rows] = getattr(other, field.name)
            parts.append(value)
        return Options(*parts)

    def and_(self, other: Options) -> Options:
        """Return these rows, then the others."""
        both = ((getattr(self, field.name), getattr(other, field.name)) for field in fields(self))
        return Options(*map(np.concatenate, both))


def ranking(cost: Costs, action: Actions, after: Actions) -> Ints:
    """(n, k) each person's slots cheapest first, by cost (n, k), ties as in `cheapest`: an answer that is judged again
    tells its options in the same order."""
    n, k, d = after.shape
    profile = keys_of(np.nan_to_num(after.reshape(n * k, d), nan=np.inf), 0).reshape(n, k)
    return np.asarray(np.lexsort((profile, (~np.isnan(action)).sum(2), cost.round(12)), axis=1))


def cheapest(options: Options, k: int, independent: bool) -> np.ndarray:
    """Positions of each person's k cheapest rows that differ in where they lead, cheapest first.

    Ties go to fewer acts, then to a hash of the profile, so that the order of the proposals does not matter.
    """
    who, cost = options.who, options.cost.round(12)
    order = np.lexsort((cost, who))
    tied = (np.diff(cost[order]) == 0) & (np.diff(who[order]) == 0)
    if independent and not tied.any():  # where nothing follows, who gets to the same place pays the same
        return order[rank_in_run(who[order]) < k]
    profile = keys_of(np.nan_to_num(options.after, nan=np.inf), 0)
    acted = (~np.isnan(options.action)).sum(1)
    order = np.lexsort((profile, acted, cost, who))
    by_profile = np.lexsort((np.arange(len(order)), profile[order], who[order]))
    same = (np.diff(profile[order][by_profile].view(np.int64)) == 0) & (np.diff(who[order][by_profile]) == 0)
    first = np.ones(len(order), dtype=bool)
    first[by_profile[1:][same]] = False
    order = order[first]
    return order[rank_in_run(who[order]) < k]
