"""What methods on `engines.fista` share: prices, options, autoencoders as goals, completion and polish."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.methods.engines.complete import complete
from wayforward.methods.engines.gradient.fista import Goal, Net, search
from wayforward.methods.engines.gradient.relaxed_state import Lanes
from wayforward.methods.engines.tighten import polish
from wayforward.problem.batching import distinct_changes

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem

May = Callable[[np.ndarray, np.ndarray], np.ndarray]


def prices(problem: Problem, span: np.ndarray) -> np.ndarray:
    """(d,) effort of a whole range, or of another category, in units of the problem's cost."""
    return np.asarray(np.where(problem.schema.is_categorical, 1.0, span) / problem.cost.fitted_scales.divisor)


def options(
    method: Any,
    people: Population,
    k: int,
    limit: int,
    goals: Callable[[Lanes], tuple[Goal, ...]],
    may: May | None = None,
    away: Callable[[np.ndarray], np.ndarray] | None = None,
) -> np.ndarray:
    """(n, k, d): one search for each option; later ones leave out the dearest change of those before.

    method: has slopes_, price_, beta, margin, c, constants, steps, rate, complete, shrink. goals: made for the lanes.
    away: own levels (m, f, l) -> effort of each level.
    """
    slopes = method.slopes_
    banned = np.zeros((people.n, people.d), dtype=bool)
    owner, found = [], []
    for _ in range(k):
        free = people.free & ~banned
        stuck = ~free.any(1)
        free[stuck] = people.free[stuck]
        who = np.arange(people.n)
        lanes = slopes.start(people, who, free)
        own = lanes.share.copy()
        net = Net(
            method.beta,
            method.margin,
            method.price_ * people.weight,
            slopes.away(own) if away is None else away(own),
            goals(lanes),
        )
        cap = people.rows + limit
        got = search(
            slopes, people, lanes, net,
            first=method.c, constants=method.constants, steps=method.steps, rate=method.rate, cap=cap, may=may,
        )  # fmt: skip
        best = got.action
        if method.complete:
            _completed(people, slopes.harden(people, lanes), best, free, cap, may)
        at = np.flatnonzero(~np.isnan(best).all(1))
        if method.shrink and at.size:
            less = polish(people, at, best[at])
            kept = np.ones(at.size, dtype=bool) if may is None else may(at, less)
            best[at[kept]] = less[kept]
        owner.append(at)
        found.append(best[at])
        main = np.where(np.isnan(best[at]), -np.inf, people.parts(at, best[at])).argmax(1)
        banned[at, main] = True
    return distinct_changes(people, np.concatenate(owner), np.concatenate(found), k)


def _completed(
    people: Population, ends: np.ndarray, best: np.ndarray, free: np.ndarray, cap: np.ndarray, may: May | None
) -> None:
    """Where a search ended without success: on from its end, and from where the person stands, change by change."""
    for start in (ends, np.full_like(ends, np.nan)):
        at = np.flatnonzero(np.isnan(best).all(1))
        if not at.size:
            return
        done, reached = complete(people, at, start[at], free, rounds=12, cap=cap)
        if may is not None:
            reached[reached] = may(at[reached], done[reached])
        best[at[reached]] = done[reached]


def coordinates(
    slopes: Any, people: Population, lanes: Lanes, rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Where rows (m, d) lie in lanes: moves (m, d) and level coordinates (m, f, l); a gap stays where people are."""
    at = Lanes(lanes.who, np.zeros_like(lanes.move), lanes.share.copy(), np.ones_like(lanes.free))
    slopes.put(people, at, rows)
    return np.nan_to_num(at.move), at.share


def reconstruction(method: Any, generator: Any, people: Population, lanes: Lanes, strength: float) -> Goal:
    """A goal at what an autoencoder makes of the lanes' own rows."""
    slopes = method.slopes_
    first = lanes.take(np.arange(len(lanes.who)))

    def refresh(action: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        x = people.x[first.who[at]]
        rows = np.where(np.isnan(action), x, action)
        made = generator.rows(generator.encode(rows), rows)
        return coordinates(slopes, people, first.take(at), made)

    move, share = refresh(np.full_like(lanes.move, np.nan), np.arange(len(lanes.who)))
    return Goal(strength, move, share, refresh)
