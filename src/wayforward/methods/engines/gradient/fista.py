"""Accelerated proximal steps on an elastic net, everybody at once, with a constant searched for each person.

minimise  c x max(0, margin - score) + beta x |effort|_1 + |effort|_2^2 + sum of strength x |place - goal|^2

over a `RelaxedState`, in effort: moves in ranges times their price. The L1 term is a proximal step, so what
is not worth its price stays exactly unmoved. Only hard rows count. NumPy; slopes come from outside.
Source: A. Beck, M. Teboulle (2009), A Fast Iterative Shrinkage-Thresholding Algorithm, SIAM J. Imaging Sci. 2(1).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.deadline import look
from wayforward.methods.engines.gradient.relaxed_state import RelaxedState
from wayforward.methods.engines.gradient.steps import simplex
from wayforward.problem.batching import ask

if TYPE_CHECKING:
    from wayforward.problem import Population

May = Callable[[np.ndarray, np.ndarray], np.ndarray]  # who (m,), action (m, d) -> (m,) bool

_LOOK = 8  # steps between two looks at the hard rows
_ENDLESS = 1e9  # no constant is larger
_WIDEST = 0.1  # a step's greatest effort


@dataclass
class Goal:
    """A place that searches are drawn to: moves (m, d) and level coordinates (m, f, l), with a strength.

    refresh: called with hard actions (q, d) and the rows (q,) of their searches, now and then, where the place
    follows them (what an autoencoder makes of them); returns a new (move, share). The slope of what it does is left
    out.
    """

    strength: float
    move: np.ndarray
    share: np.ndarray
    refresh: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]] | None = None


@dataclass(frozen=True)
class Net:
    """The objective. beta: of L1. margin: score (log-odds) to be reached. price (m, d): effort of a whole range.

    away (m, f, l): effort of each level, of a whole feature's price. goals: see `Goal`.
    """

    beta: float
    margin: float
    price: np.ndarray
    away: np.ndarray
    goals: tuple[Goal, ...] = ()


@dataclass
class Best:
    """The cheapest hard rows so far, by the objective's effort: action (m, d), value (m,); NaN and inf for none."""

    action: np.ndarray
    value: np.ndarray

    @classmethod
    def none(cls, m: int, d: int) -> Best:
        """Start with nothing found."""
        return cls(np.full((m, d), np.nan), np.full(m, np.inf))


def shrink_to(point: np.ndarray, width: np.ndarray | float) -> np.ndarray:
    """Soft-threshold: move towards 0 by `width`, and to 0 where it is nearer than that."""
    return np.asarray(np.sign(point) * np.maximum(np.abs(point) - width, 0.0))


def search(
    slopes: Any,
    people: Population,
    state: RelaxedState,
    net: Net,
    *,
    first: float,
    constants: int,
    steps: int,
    rate: float,
    cap: np.ndarray,
    may: May | None = None,
) -> Best:
    """Search each row's constant c (tenfold until it suffices, then halved); return the best hard rows.

    first: constant to begin with. constants: how many are tried. steps: of FISTA for each. rate: step length, falling
    with the root of what is left. cap (n,): model rows a person. may: (who, action) -> (m,) bool, a further condition
    on hard rows.
    """
    m, d = state.move.shape
    best = Best.none(m, d)
    low, high, c = np.zeros(m), np.full(m, 1e10), np.full(m, first)
    need = (
        steps * (np.ones(m, dtype=np.int64) if slopes.exact else slopes.rows(state.free)) + 2 * steps // _LOOK
    )
    for _ in range(constants):
        live = np.flatnonzero(people.rows[state.who] + need <= cap[state.who])
        if not live.size:
            break
        part = state.take(live)
        some = Net(
            net.beta, net.margin, net.price[live], net.away[live], tuple(_taken(g, live) for g in net.goals)
        )
        got = Best(best.action[live], best.value[live])
        reached = descend(slopes, people, part, some, c[live], got, steps=steps, rate=rate, may=may)
        best.action[live], best.value[live] = got.action, got.value
        good, bad = live[reached], live[~reached]
        high[good], low[bad] = np.minimum(high[good], c[good]), np.maximum(low[bad], c[bad])
        known = high < _ENDLESS
        c = np.where(known, (low + high) / 2, np.minimum(10 * c, _ENDLESS))
    return best


def _taken(goal: Goal, rows: np.ndarray) -> Goal:
    fresh = goal.refresh
    return Goal(
        goal.strength,
        goal.move[rows],
        goal.share[rows],
        None if fresh is None else lambda action, at: fresh(action, rows[at]),
    )


def descend(
    slopes: Any,
    people: Population,
    state: RelaxedState,
    net: Net,
    c: np.ndarray,
    best: Best,
    *,
    steps: int,
    rate: float,
    may: May | None = None,
) -> np.ndarray:
    """Take `steps` of FISTA with constants c (m,) from the people as they are; (m,) bool: some hard row reached."""
    level = slopes.level
    floor, ceiling, allowed = slopes.bounds(people, state.who)
    open_ = state.free & slopes.by_move
    price = np.maximum(net.price, 1e-12)
    floor, ceiling = np.where(open_, floor * price, 0.0), np.where(open_, ceiling * price, 0.0)
    loose = state.free[:, level, None] & allowed
    several = loose.sum(2, keepdims=True) > 1
    start = slopes.start(people, state.who, state.free)
    x, share = np.zeros_like(state.move), start.share.copy()
    old, old_share = x, share
    now = RelaxedState(state.who, x, share, state.free)
    reached = np.zeros(len(c), dtype=bool)
    level_price = net.price[:, level, None]
    away = net.away * level_price
    for step in range(steps):
        look()
        pace = step / (step + 3.0)
        point = x + pace * (x - old)
        ahead = simplex(share + pace * (share - old_share), loose) if len(level) else share
        ahead = np.where(several, ahead, share)
        now.move, now.share = np.clip(point, floor, ceiling) / price, ahead
        score, slope, slope_share = slopes(people, now, turn=step)
        push = np.where(score < net.margin, c, 0.0)
        gradient = 2 * now.move * price - push[:, None] * slope / price
        effort = (away * ahead).sum(2, keepdims=True)
        gradient_share = (net.beta + 2 * effort) * away - push[:, None, None] * slope_share
        for goal in net.goals:
            if goal.refresh is not None and step % _LOOK == 0:
                goal.move, goal.share = goal.refresh(slopes.hard(people, now), np.arange(len(c)))
            gradient = gradient + 2 * goal.strength * np.where(open_, (now.move - goal.move) * price, 0.0)
            gradient_share = gradient_share + goal.strength * level_price**2 * (ahead - goal.share)
        length = rate * np.sqrt(1 - step / steps)
        # A step is no wider than a tenth of a range: c goes up to a billion.
        most = np.maximum(np.abs(np.where(open_, gradient, 0.0)).max(1, initial=0.0), 1e-12)
        width = np.minimum(length, _WIDEST / most)[:, None]
        old, old_share = x, share
        x = np.clip(shrink_to(now.move * price - width * gradient, width * net.beta), floor, ceiling)
        if len(level):
            most = np.where(loose, np.abs(gradient_share), 0.0).max(2, keepdims=True)
            wide = np.minimum(length, _WIDEST / np.maximum(most, 1e-12))
            share = np.where(several, simplex(ahead - wide * gradient_share, loose), share)
        if (step + 1) % _LOOK == 0 or step == steps - 1:
            now.move, now.share = x / price, share
            for eager in (False, True):
                action = slopes.harden(people, now, eager=eager)
                reached |= _note(people, state.who, action, net, best, may)
    state.move[:], state.share[:] = x / price, share
    return reached


def _note(
    people: Population,
    who: np.ndarray,
    action: np.ndarray,
    net: Net,
    best: Best,
    may: May | None,
) -> np.ndarray:
    """Put rows with the least elastic net so far into `best`; return (m,) bool reached. Known rows cost no query."""
    some = ~np.isnan(action).all(1)
    same = ((action == best.action) | (np.isnan(action) & np.isnan(best.action))).all(1)
    ask_for = np.flatnonzero(some & ~same)
    reached = some & same
    if ask_for.size:
        good = ask(people, who[ask_for], action[ask_for])[1]
        if may is not None:
            good[good] = may(who[ask_for[good]], action[ask_for[good]])
        reached[ask_for] = good
        at = ask_for[good]
        part = people.parts(who[at], action[at])
        value = net.beta * part.sum(1) + np.square(part).sum(1)
        better = value < best.value[at] - 1e-12
        best.action[at[better]], best.value[at[better]] = action[at[better]], value[better]
    return np.asarray(reached)
