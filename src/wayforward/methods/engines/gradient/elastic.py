"""What methods on `engines.fista` share: prices, options, autoencoders as goals, completion and polish."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.methods.engines.complete import complete
from wayforward.methods.engines.diverse import leaving_out
from wayforward.methods.engines.gradient.fista import Goal, May, Net, search
from wayforward.methods.engines.gradient.relaxed_state import RelaxedState
from wayforward.methods.engines.tighten import polish

if TYPE_CHECKING:
    from wayforward.problem import Population


def options(
    method: Any,
    people: Population,
    k: int,
    limit: int,
    goals: Callable[[RelaxedState], tuple[Goal, ...]],
    may: May | None = None,
    away: Callable[[np.ndarray], np.ndarray] | None = None,
) -> np.ndarray:
    """Search once for each option and return (n, k, d); later ones leave out the dearest change of those before.

    method: has slopes_, price_, beta, margin, c, constants, steps, rate, complete, shrink. goals: made for the state.
    away: own levels (m, f, l) -> effort of each level.
    """
    slopes = method.slopes_

    def find(free: np.ndarray, option: int) -> np.ndarray:
        who = np.arange(people.n)
        state = slopes.start(people, who, free)
        own = state.share.copy()
        net = Net(
            method.beta,
            method.margin,
            method.price_ * people.weight,
            slopes.away(own) if away is None else away(own),
            goals(state),
        )
        cap = people.rows + limit
        got = search(
            slopes, people, state, net,
            first=method.c, constants=method.constants, steps=method.steps, rate=method.rate, cap=cap, may=may,
        )  # fmt: skip
        best = got.action
        if method.complete:
            _completed(people, slopes.harden(people, state), best, free, cap, may)
        at = np.flatnonzero(~np.isnan(best).all(1))
        if method.shrink and at.size:
            less = polish(people, at, best[at])
            good = np.ones(at.size, dtype=bool) if may is None else may(at, less)
            best[at[good]] = less[good]
        return best

    return leaving_out(people, people.free, k, find)


def _completed(
    people: Population, ends: np.ndarray, best: np.ndarray, free: np.ndarray, cap: np.ndarray, may: May | None
) -> None:
    """Complete `best` in place where a search failed: change by change from its end, then from the person as is."""
    for start in (ends, np.full_like(ends, np.nan)):
        at = np.flatnonzero(np.isnan(best).all(1))
        if not at.size:
            return
        done, reached = complete(people, at, start[at], free, rounds=12, cap=cap)
        if may is not None:
            reached[reached] = may(at[reached], done[reached])
        best[at[reached]] = done[reached]


def coordinates(
    slopes: Any, people: Population, state: RelaxedState, rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return moves (m, d) and level coordinates (m, f, l) of rows (m, d); a missing value stays the person's own."""
    at = RelaxedState(state.who, np.zeros_like(state.move), state.share.copy(), np.ones_like(state.free))
    slopes.put(people, at, rows)
    return np.nan_to_num(at.move), at.share


def reconstruction(
    method: Any, generator: Any, people: Population, state: RelaxedState, strength: float
) -> Goal:
    """Make a goal of what an autoencoder makes of the people's own rows."""
    slopes = method.slopes_
    first = state.take(np.arange(len(state.who)))

    def refresh(action: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        x = people.x[first.who[at]]
        rows = np.where(np.isnan(action), x, action)
        made = generator.rows(generator.encode(rows), rows)
        return coordinates(slopes, people, first.take(at), made)

    move, share = refresh(np.full_like(state.move, np.nan), np.arange(len(state.who)))
    return Goal(strength, move, share, refresh)
