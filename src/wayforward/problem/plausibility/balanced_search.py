"""Rows that are likely in every group: with fewer changes where limits ask for it, and for who was led elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wayforward.problem.batching import ask, tidy
from wayforward.ranks import rank_in_run
from wayforward.streams import Streams

if TYPE_CHECKING:
    from wayforward.density.base import Densities
    from wayforward.problem import Population

_DRAWN = 96  # draws from the product's proposals for everyone who was led elsewhere
_KEPT = 3  # of those that will do, the nearest to what the method proposed
_CHEAPER = 0.9  # of what a balanced option costs, for another one to be worth it
_ROWS = 1 << 16


def fewer(people: Population, density: Densities, owner: np.ndarray, action: np.ndarray) -> np.ndarray:
    """Rows owner (m,), action (m, d) that the person may do: for each change too many, and while a rule is broken, the
    change goes without which the row is likeliest in all groups."""
    many = (~np.isnan(action)).sum(1) > people.max_changes[owner]
    open_ = np.flatnonzero(many | ~_allowed(people, owner, action))
    while open_.size:
        who, some = owner[open_], action[open_]
        place, feature = np.nonzero(~np.isnan(some))
        trial = some[place]
        trial[np.arange(len(place)), feature] = np.nan
        like = density.log_product(people.after(who[place], trial))
        order = np.lexsort((feature, -like, place))
        best = order[rank_in_run(place[order]) == 0]
        open_, action[open_[place[best]]] = open_[place[best]], trial[best]
        who, some = owner[open_], action[open_]
        count = (~np.isnan(some)).sum(1)
        over = (count > people.max_changes[who]) | ~_allowed(people, who, some)
        open_ = open_[over & (count > 0)]
    return action


def _allowed(people: Population, owner: np.ndarray, action: np.ndarray) -> np.ndarray:
    """(m,) bool: no rule is broken; what else could forbid a snapped row is decided later."""
    if not people.schema.rules:
        return np.ones(len(owner), dtype=bool)
    return people.allowed(owner, action, people.after(owner, action))


def led(
    people: Population, action: np.ndarray, density: Densities, seed: int, *, everybody: bool = False
) -> np.ndarray:
    """Options (n, k, d) of any method -> (n, k', d) with more for people all of whose options miss what is asked.

    They get draws that are likely in all groups, the nearest to what the method proposed first (to where they stand, if
    it proposed nothing), and every feature of these goes back to the proposal's value where the row still does.
    everybody: those who have an option get others, too, as near as can be to where they stand, if these cost a tenth
    less: balanced places can be narrow, and a search for the least cost passes them by.
    """
    who, slot = np.nonzero(~np.isnan(action).all(2))
    paid = np.full(people.n, np.inf)
    if len(who):
        own = who, action[who, slot]
        good = ask(people, *own)[1]
        np.minimum.at(paid, who[good], people.cost(*own)[good])
    fine = np.isfinite(paid)
    lost = np.arange(people.n) if everybody else np.flatnonzero(~fine)
    if not lost.size:
        return action
    base = np.full((people.n, people.d), np.nan)
    first = np.flatnonzero(np.r_[True, who[1:] != who[:-1]]) if len(who) else np.zeros(0, dtype=np.int64)
    base[who[first]] = action[who[first], slot[first]]
    base[fine] = np.nan
    streams = Streams.of(people.x, seed)
    owners, rows = [], []
    size = max(1, _ROWS // _DRAWN)
    for begin in range(0, lost.size, size):
        some = lost[begin : begin + size]
        drawn = density.sample(people.x[some], _DRAWN, streams.take(some), tag=0x1ED)
        owner = np.repeat(some, _DRAWN)
        trial = np.where(density.made, drawn.reshape(len(owner), -1), np.nan)
        trial = fewer(people, density, owner, tidy(people, owner, trial))
        reached = ask(people, owner, trial)[1] & ~np.isnan(trial).all(1)
        owner, trial = owner[reached], trial[reached]
        far = _apart(people, density, owner, trial, base[owner])
        order = np.lexsort((*np.nan_to_num(trial, nan=np.inf).T, far.round(12), owner))
        order = order[rank_in_run(owner[order]) < _KEPT]
        owners.append(owner[order])
        rows.append(_back(people, density, owner[order], trial[order], base))
    owner, trial = np.concatenate(owners), np.concatenate(rows)
    if everybody:
        worth = people.cost(owner, trial) < _CHEAPER * paid[owner]
        owner, trial = owner[worth], trial[worth]
    more = np.full((people.n, _KEPT, people.d), np.nan)
    more[owner, rank_in_run(owner)] = trial
    return np.concatenate([action, more], axis=1)


def _parts(
    people: Population, density: Densities, owner: np.ndarray, action: np.ndarray, base: np.ndarray
) -> np.ndarray:
    """(m, d) differences between two actions of the same person, in shares of the ranges, 1 for another category."""
    x = people.x[owner]
    a, b = np.where(np.isnan(action), x, action), np.where(np.isnan(base), x, base)
    gap = np.abs(a - b) / density.span
    whole = people.schema.is_categorical | np.isnan(gap)
    return np.where(people.schema.differs(a, b), np.where(whole, 1.0, gap), 0.0)


def _apart(
    people: Population, density: Densities, owner: np.ndarray, action: np.ndarray, base: np.ndarray
) -> np.ndarray:
    return np.asarray(_parts(people, density, owner, action, base).sum(1))


def _back(
    people: Population, density: Densities, owner: np.ndarray, action: np.ndarray, base: np.ndarray
) -> np.ndarray:
    """Feature by feature, the furthest first, the proposal's value again, wherever the row still reaches."""
    action = action.copy()
    part = _parts(people, density, owner, action, base[owner])
    order = np.argsort(-part, axis=1, kind="stable")
    for place in range(people.d):
        rows = np.flatnonzero(part[np.arange(len(owner)), order[:, place]] > 0)
        if not rows.size:
            break
        trial, j = action[rows], order[rows, place]
        trial[np.arange(len(rows)), j] = base[owner[rows], j]
        some = ~np.isnan(trial).all(1)
        good = np.zeros(len(rows), dtype=bool)
        good[some] = ask(people, owner[rows[some]], trial[some])[1]
        action[rows[good]] = trial[good]
    return action
