"""From an option that is expected to work to one that works as surely as the problem asks, for every method.

A method sees the expected consequences. Where these are uncertain, its option lies at the edge, and about half of
what may follow misses the target. So the method searches once more, aiming as far beyond the edge as the draws of its
first answer fall short; and every option is moved along its own direction, out until it is sure enough and back to
where it just is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from wayforward.problem import Population

_OUT = (1.05, 1.15, 1.3, 1.5, 2.0, 3.0, 5.0, 8.0)  # how far out an option is tried, in shares of itself
_HALVINGS = 9
_RUNGS = (1.0, 1.003, 1.01, 1.03, 1.08)  # a little further where the judge's own draws say so

Again = Callable[["Population", np.ndarray], np.ndarray]


def confident_options(people: Population, action: np.ndarray, again: Again) -> np.ndarray:
    """Move actions (n, k, d) until they keep the problem's promise; return (n, k', d), NaN where none was found.

    again: takes some people, aiming further, and who they are (r,); returns their new actions (r, k', d).
    Work: the second search, and up to 20 times the problem's draws for each option; all counted as model rows.
    """
    best, confident, short = _moved_to_edge(people, action)
    open_ = np.flatnonzero((short > 0) & np.isfinite(short))
    if open_.size:
        some = people.take(open_)
        some.aim = short[open_]
        more = again(some, open_)
        some.aim = None
        other, fine, _ = _moved_to_edge(some, more)
        people.rows[open_] += some.rows
        width = max(best.shape[1], other.shape[1])
        best, confident = _padded(best, width, np.nan), _padded(confident, width, False)
        other, fine = _padded(other, width, np.nan), _padded(fine, width, False)
        for slot in range(width):
            now = np.where(confident[open_, slot], people.cost(open_, best[open_, slot]), np.inf)
            new = np.where(fine[:, slot], people.cost(open_, other[:, slot]), np.inf)
            better = np.flatnonzero(new < now)
            best[open_[better], slot], confident[open_[better], slot] = other[better, slot], True
    return np.where(confident[:, :, None], best, np.nan)


def _padded(array: np.ndarray, width: int, fill: float | bool) -> np.ndarray:
    out = np.full((array.shape[0], width, *array.shape[2:]), fill, dtype=array.dtype)
    out[:, : array.shape[1]] = array
    return out


def _moved_to_edge(people: Population, action: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Move options along their own direction; return them, (n, k) bool sure, and (n,) how far scores fell short."""
    best, confident = action.copy(), np.zeros(action.shape[:2], dtype=bool)
    short = np.zeros(people.n)
    who, slot = np.nonzero(~np.isnan(action).all(2))
    if not len(who):
        return best, confident, short
    rows = action[who, slot]
    usable = people.evaluate(who, rows)
    promised, low = people.promise(who, rows)
    lack = np.where(promised | ~np.isfinite(usable.score), 0.0, usable.score - low)
    np.maximum.at(short, who, lack)
    good = promised & usable.reached
    far = edge(people, who, rows, good)
    final, fine = _confirmed(people, who, rows, far)
    best[who, slot], confident[who, slot] = final, fine
    return best, confident, short


def edge(
    people: Population, who: np.ndarray, rows: np.ndarray, good: np.ndarray, m: int | None = None
) -> np.ndarray:
    """Return the least share (c,) of each action that was seen to be usable and sure enough, NaN for none.

    good (c,): the action itself is. m: draws, if others than the problem's. At most 17 shares are evaluated.
    """
    inside = np.where(good, 1.0, np.nan)
    outside = np.where(good, 0.0, 1.0)
    last = rows.copy()
    for share in _OUT:
        at = np.flatnonzero(np.isnan(inside))
        if not at.size:
            break
        trial = scaled(people, who[at], rows[at], np.full(at.size, share))
        differs = people.schema.differs(trial, last[at]).any(1)
        at, trial = at[differs], trial[differs]
        if not at.size:
            continue
        last[at] = trial
        yes = sure(people, who[at], trial, m)
        inside[at[yes]] = share
        outside[at[~yes]] = share
    for _ in range(_HALVINGS):
        at = np.flatnonzero(~np.isnan(inside) & (inside - outside > 1e-3 * inside))
        if not at.size:
            break
        middle = (inside[at] + outside[at]) / 2
        trial = scaled(people, who[at], rows[at], middle)
        own = scaled(people, who[at], rows[at], inside[at])
        same = ~people.schema.differs(trial, own).any(1)
        yes = np.array(same)
        open_rows = np.flatnonzero(~same)
        if open_rows.size:
            yes[open_rows] = sure(people, who[at[open_rows]], trial[open_rows], m)
        inside[at] = np.where(yes, middle, inside[at])
        outside[at] = np.where(yes, outside[at], middle)
    return inside


def _confirmed(
    people: Population, who: np.ndarray, rows: np.ndarray, far: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Take the first of a few steps from the edge outwards that the judge's draws confirm."""
    out, fine = rows.copy(), np.zeros(len(rows), dtype=bool)
    for rung in _RUNGS:
        at = np.flatnonzero(~fine & ~np.isnan(far))
        if not at.size:
            break
        trial = scaled(people, who[at], rows[at], far[at] * rung)
        good = people.evaluate(who[at], trial).reached
        open_rows = np.flatnonzero(good)
        if open_rows.size:
            good[open_rows] = people.problem.chance(people.x[who[at[open_rows]]], trial[open_rows])[1]
        out[at[good]], fine[at[good]] = trial[good], True
    return out, fine


def sure(people: Population, who: np.ndarray, action: np.ndarray, m: int | None = None) -> np.ndarray:
    """Test actions, (c,) bool: usable as expected, and sure enough."""
    good = people.evaluate(who, action).reached
    open_rows = np.flatnonzero(good)
    if open_rows.size:
        good[open_rows] = people.promise(who[open_rows], action[open_rows], m)[0]
    return good


def scaled(people: Population, who: np.ndarray, action: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Scale actions to a `share` (c,) of the way in ordered features; categories, and what is held, stay."""
    schema, x = people.schema, people.x[who]
    moves = ~np.isnan(action) & ~np.isnan(x) & schema.ordered & schema.differs(action, x)
    target = people.snap(who, np.where(moves, x + share[:, None] * (action - x), np.nan))
    return np.where(moves & ~np.isnan(target), target, action)
