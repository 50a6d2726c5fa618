"""Make actions sparser without losing the decision: give features back, dearest first, all rows at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from wayforward.problem import Population


def revert(
    people: Population,
    who: np.ndarray,
    action: np.ndarray,
    priority: np.ndarray,
    *,
    sweeps: int = 1,
) -> np.ndarray:
    """Leave features alone again, one after another, wherever the row still reaches the decision.

    who (m,), action (m, d) that reach the decision, priority (m, d): the greatest is tried first. A row is changed
    only by a step that was evaluated and still reaches, so the result reaches wherever the input did. One model
    call for each feature and sweep; `sweeps` above 1 repeats until nothing more can be given back.
    """
    action = action.copy()
    for _ in range(sweeps):
        order = np.argsort(-np.where(np.isnan(action), -np.inf, priority), axis=1, kind="stable")
        acted = (~np.isnan(action)).sum(1)
        changed = False
        for place in range(int(acted.max(initial=0))):
            rows = np.flatnonzero((place < acted) & ((~np.isnan(action)).sum(1) > 1))
            if not rows.size:
                break
            trial = action[rows]
            trial[np.arange(rows.size), order[rows, place]] = np.nan
            good = people.evaluate(who[rows], trial).reached
            action[rows[good]] = trial[good]
            changed |= bool(good.any())
        if not changed:
            break
    return action


def shrink(people: Population, who: np.ndarray, action: np.ndarray, *, halvings: int = 12) -> np.ndarray:
    """Move every ordered value that was set back towards the person's own, as far as the decision allows.

    Bisection one feature after another, dearest first. Nothing is assumed monotone: only evaluated points that
    reach the decision count, so the result reaches wherever the input did and is never dearer.
    """
    action = action.copy()
    x = people.x[who]
    ordered = people.schema.ordered
    parts = np.nan_to_num(people.parts(who, action))
    order = np.argsort(-parts, axis=1, kind="stable")
    for place in range(people.d):
        column = order[:, place]
        rows = np.flatnonzero(
            ~np.isnan(_pick(action, column)) & ~np.isnan(_pick(x, column)) & ordered[column]
        )
        if not rows.size:
            continue
        j = column[rows]
        good, bad = action[rows, j].copy(), x[rows, j].copy()
        cost = people.cost(who[rows], action[rows])
        for _ in range(halvings):
            trial = action[rows]
            trial[np.arange(rows.size), j] = (good + bad) / 2
            trial = people.snap(who[rows], trial)
            value = trial[np.arange(rows.size), j]
            new = ~np.isnan(value) & (value != good) & (value != bad)
            if not new.any():
                break
            seen = people.evaluate(who[rows[new]], trial[new])
            better = np.zeros(rows.size, dtype=bool)
            better[new] = seen.reached & (seen.cost < cost[new])
            cost[new] = np.where(better[new], seen.cost, cost[new])
            good = np.where(better, value, good)
            bad = np.where(new & ~better, value, bad)
        action[rows, j] = good
    return action


def _pick(table: np.ndarray, column: np.ndarray) -> np.ndarray:
    return np.asarray(table[np.arange(len(table)), column])
