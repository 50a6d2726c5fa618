"""From an action that does not turn the decision to one that does: the best single change, again and again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wayforward.problem.batching import ask, tidy

if TYPE_CHECKING:
    from wayforward.problem import Population

_SHARES = (0.0, 0.08, 0.2, 0.4, 0.7, 1.0)  # values tried between the ends of what a person may do
_LITTLE = 0.01  # cost below which differences in cost do not count
_STEPS = (-8.0, -3.0, -1.0, 1.0, 3.0, 8.0)  # and steps of the lattice from where the candidate is


def complete(
    people: Population,
    who: np.ndarray,
    action: np.ndarray,
    free: np.ndarray,
    *,
    rounds: int,
    cap: np.ndarray,
    thrifty: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Complete actions (m, d) of who (m,) by single changes of what is free (n, d); return them and (m,) bool reached.

    In each round every feature is put to some of its values (all levels; six numbers between the ends, six steps
    beside where it is; the person's own value) and the change that scores best is adopted, until the decision turns or
    nothing scores better; thrifty: the one that gains most of what is missing for its cost. Rows that the person may
    not do count as no candidates. cap (n,): model rows of each person at most. A row's answer does not depend on the
    others.
    """
    action = action.copy()
    score, reached = ask(people, who, action)
    empty = ~np.isfinite(score)
    action[empty] = np.nan
    if empty.any():  # as they are: no action, but somewhere to go from
        score[empty] = people.score(who[empty], people.x[who[empty]])
        reached[empty] = False
    live = np.flatnonzero(~reached)
    for _ in range(rounds):
        if not live.size:
            break
        place, feature, value = _single_changes(people, who[live], action[live], free[who[live]])
        count = np.bincount(place, minlength=live.size)
        queries = np.bincount(who[live], weights=count, minlength=people.n)  # by everyone's rows together
        fits = people.rows[who[live]] + queries[who[live]] <= cap[who[live]]
        if not fits.all():
            keep = fits[place]
            index = np.cumsum(fits) - 1
            place, feature, value = index[place[keep]], feature[keep], value[keep]
            live = live[fits]
            if not live.size:
                break
        trial = action[live][place]
        trial[np.arange(len(place)), feature] = value
        trial = tidy(people, who[live][place], trial)
        some = ~np.isnan(trial).all(1)
        got, yes = np.full(len(place), -np.inf), np.zeros(len(place), dtype=bool)
        got[some], yes[some] = ask(people, who[live][place[some]], trial[some])
        # Among those that turn the decision the cheapest, else the one that is worth most; ties to the first.
        cost = people.cost(who[live][place], trial)
        worth = got
        if thrifty:
            here = np.where(np.isnan(action[live]).all(1), 0.0, people.cost(who[live], action[live]))
            missing = np.maximum(-score[live], 1e-12)[place]
            gain = np.minimum(got - score[live][place], missing) / missing
            worth = np.where(gain > 1e-6, gain / (np.maximum(cost - here[place], 0.0) + _LITTLE), -np.inf)
        order = np.lexsort((np.arange(len(place)), -worth, np.where(yes, cost, np.inf), place))
        first = np.ones(len(order), dtype=bool)
        first[1:] = np.diff(place[order]) != 0
        best = order[first]
        row = live[place[best]]
        better = yes[best] | (np.isfinite(worth[best]) & (got[best] > score[row] + 1e-9))
        row, best = row[better], best[better]
        action[row], score[row], reached[row] = trial[best], got[best], yes[best]
        live = np.sort(row[~yes[best]])
    return action, reached


def _single_changes(
    people: Population, who: np.ndarray, action: np.ndarray, free: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """List single changes: row, feature and value (q,); NaN leaves the feature alone."""
    schema = people.schema
    rows: list[np.ndarray] = []
    features: list[np.ndarray] = []
    values: list[np.ndarray] = []
    for j in np.flatnonzero(free.any(0)).tolist():
        at = np.flatnonzero(free[:, j])
        if schema.has_levels[j]:
            ok = people.level_ok[j][who[at]]
            place, index = np.nonzero(ok)
            options = [(at[place], index.astype(np.float64))]
        else:
            low, high = people.low[who[at], j], people.high[who[at], j]
            here = np.where(np.isnan(action[at, j]), people.x[who[at], j], action[at, j])
            options = [(at, low + share * (high - low)) for share in _SHARES]
            step = schema.step[j] if schema.step[j] > 0 else 0.01 * schema.span[j]
            options += [(at, here + many * step) for many in _STEPS]
        options.append((at[~np.isnan(action[at, j])], np.full(int((~np.isnan(action[at, j])).sum()), np.nan)))
        for row, value in options:
            rows.append(row)
            values.append(value)
            features.append(np.full(len(row), j))
    return np.concatenate(rows), np.concatenate(features), np.concatenate(values)
