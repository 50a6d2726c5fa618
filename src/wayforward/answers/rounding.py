"""Numbers rounded for people, towards the safe side, and checked again after rounding.

"Raise your savings to 2,050 EUR" is easier to keep in mind than 2,049.37. Rounding goes further in the
direction of the change, and back by no more than a hair; the rounded option is judged again from scratch, by
the real model, and where it no longer holds, more digits are kept, down to the exact value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from wayforward.evaluate.judge import judge

if TYPE_CHECKING:
    from wayforward.problem import Problem
    from wayforward.recourse import Recourse
    from wayforward.schema import Schema

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

# How much further than needed a change may go for the sake of a round number, as shares of the change.
GENEROSITY = (0.02, 0.005, 1e-3, 1e-4, 1e-6, 1e-9)
# A search ends a hair beyond the edge of a yes. A round number that lies before it by this share of the above
# is tried too: like every candidate it counts only if it holds when judged again.
_HAIR = 0.005


def rounded(problem: Problem, recourse: Recourse) -> Recourse:
    """The same options with round numbers: action, after, cost and score follow; nothing loses its validity.

    Options that are not found stay as they are. Raises: nothing beyond what the model itself raises.
    """
    action, after = recourse.action.copy(), recourse.after.copy()
    cost, score = recourse.cost.copy(), recourse.score.copy()
    plain, chance = recourse.plain_cost.copy(), recourse.chance.copy()
    who, slot = np.nonzero(recourse.found)
    if not len(who):
        return recourse
    wishes = None if recourse.preferences is None else recourse.preferences.take(who)
    before, exact = recourse.x[who], recourse.action[who, slot]

    def check(rows: NDArray[np.intp], candidate: Array) -> Mask:
        led = problem.consequences(before[rows], candidate)
        mine = None if wishes is None else wishes.take(rows)
        again = judge(problem, before[rows], candidate[:, None], led[:, None], mine, all_refused=True)
        good = again.usable[:, 0]
        if problem.world.uncertain and good.any():  # a round number must be as sure as the exact one
            sure = np.flatnonzero(good)
            share, good[sure] = problem.chance(before[rows[sure]], candidate[sure])
            chance[who[rows[sure]], slot[rows[sure]]] = share
        if problem.robust is not None and good.any():  # and as robust
            sure = np.flatnonzero(good)
            good[sure] = problem.robust.holds(problem, before[rows[sure]], candidate[sure], led[sure])
        holding = rows[good]
        after[who[holding], slot[holding]] = led[good]
        score[who[holding], slot[holding]] = again.value[good, 0]
        return good

    best = coarsest(problem.schema, before, exact, check)
    action[who, slot] = best
    weight = None if recourse.preferences is None else recourse.preferences.weight[who]
    cost[who, slot] = problem.cost.total(before, best, weight)
    plain[who, slot] = problem.cost.total(before, best, None)
    return replace(
        recourse, action=action, after=after, cost=cost, plain_cost=plain, score=score, chance=chance
    )


def coarsest(
    schema: Schema, before: Array, value: Array, check: Callable[[NDArray[np.intp], Array], Mask]
) -> Array:
    """The roundest rows (m, d) that pass `check`, which takes row numbers and candidates and gives (r,) bool.

    Rows that pass at no rounding come back unchanged.
    """
    out = value.copy()
    waiting = np.arange(len(value))
    for generosity in GENEROSITY:
        candidate = round_away(schema, before[waiting], value[waiting], generosity)
        differs = (candidate != value[waiting]) & ~np.isnan(value[waiting])
        differs = differs.any(-1)
        good = np.zeros(len(waiting), dtype=bool)
        if differs.any():
            good[differs] = check(waiting[differs], candidate[differs])
        out[waiting[good]] = candidate[good]
        waiting = waiting[~good]
        if not len(waiting):
            break
    return out


def round_away(schema: Schema, before: NDArray[Any], value: NDArray[Any], generosity: float) -> Array:
    """Each changed number on the coarsest grid of 1, 2 or 5 times a power of ten that is no more than
    `generosity` times the change beyond `value`, away from `before`, and legal: (m, d) -> (m, d).

    Levels, missing values and numbers that do not change stay as they are.
    """
    before, value = np.asarray(before, dtype=np.float64), np.asarray(value, dtype=np.float64)
    size = np.abs(value - before)
    todo = ~schema.has_levels & (size > 1e-9 * schema.span)  # NaN compares as False
    out = value.copy()
    if not todo.any():
        return out
    up = value > before
    top = int(np.ceil(np.log10(np.max(np.where(todo, np.maximum(np.abs(value), size), 0.0)))))
    bottom = min(top, int(np.floor(np.log10(np.min(size[todo]) * generosity))) - 1)
    for power in range(top, max(bottom, -12) - 1, -1):
        for base in (5, 2, 1):
            candidate = _on_grid(value, up, base, power, _HAIR * generosity * size)
            with np.errstate(invalid="ignore"):
                near = np.abs(candidate - value) <= generosity * size
            take = todo & near & schema.legal(candidate, before)
            out[take] = candidate[take]
            todo &= ~take
        if not todo.any():
            break
    return out


def _on_grid(value: Array, up: Mask, base: int, power: int, hair: Array) -> Array:
    """The next multiple of base * 10**power, upwards where `up`; the nearest where it is a hair away."""
    with np.errstate(invalid="ignore", over="ignore"):
        # Dividing by 10**-power, which is exact, gives the double nearest to the decimal number.
        steps = value * 10.0**-power / base if power < 0 else value / (base * 10.0**power)
        nearest = np.round(steps)
        there = np.abs(steps - nearest) * (base * 10.0**power) <= hair
        count = np.where(there, nearest, np.where(up, np.ceil(steps), np.floor(steps)))
        return np.asarray(count * base / 10.0**-power if power < 0 else count * base * 10.0**power)
