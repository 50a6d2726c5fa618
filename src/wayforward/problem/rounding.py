"""Numbers rounded for people, towards the safe side, and checked again after rounding.

"Raise your savings to 2,050 EUR" is easier to keep in mind than 2,049.37. Rounding goes further in the
direction of the change, and back by no more than a hair; the rounded option is judged again by `Problem.check`,
with the real model, and where it no longer holds, more digits are kept, down to the exact value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from wayforward.problem.minimal import shortened
from wayforward.problem.options import ranking
from wayforward.problem.survival import keeping_kind, measured_again
from wayforward.public import public
from wayforward.recourse import JUDGED, KINDS, Outcome, Recourse
from wayforward.shapes import OptionMask
from wayforward.streams import keys_of

if TYPE_CHECKING:
    from wayforward.problem import Problem
    from wayforward.schema import Schema

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

# How much further than needed a change may go for the sake of a round number, as shares of the change.
GENEROSITY = (0.02, 0.005, 1e-3, 1e-4, 1e-6, 1e-9)
# A search ends a hair beyond the edge of a yes. A round number that lies before it by this share of the above
# is tried too: like every candidate it counts only if it holds when judged again.
_HAIR = 0.005
DIGITS = 6  # significant ones, in a number with decimals: more are not read
_FINEST = 10  # digits that are tried before a number is told as it was found


@public
def rounded(problem: Problem, recourse: Recourse, held: OptionMask | None = None) -> Recourse:
    """Return the same options with round numbers; whatever is measured of an option is measured of the rounded one.

    Every rounded row was judged by `Problem.check`; where no rounder row holds, the exact one stays. What was made to
    last still is; a cheaper option that was seen to last as long takes that kind over. An act that is not needed any
    more, because another one went further, is left out. Options of one person that became the same plan are told once,
    as of both their kinds; the cheapest still comes first. What was rounded is returned as it is. held: options that
    stay as they are; those whose steps are named stay anyway, since the judge does not know how far each of these goes.
    Raises: nothing beyond what the model itself raises.
    """
    if held is None and recourse.problem is problem and "rounded" in vars(recourse):  # worked out before
        return recourse.rounded
    recourse.require_schema(problem.schema)
    if recourse.problem is not None:
        recourse = recourse.as_of(problem)
    free = recourse.found & (recourse.steps == "")
    who, slot = np.nonzero(free if held is None else free & ~held)
    if recourse.meta.get("rounded") or not len(who):  # one from a file learns its problem
        return recourse if recourse.problem is not None else replace(recourse, problem=problem)
    parts = {name: getattr(recourse, name).copy() for name in JUDGED}
    wishes = None if recourse.preferences is None else recourse.preferences.take(who)
    before, exact = recourse.x[who], recourse.action[who, slot]

    def check(rows: NDArray[np.intp], candidate: Array) -> Mask:
        refused = np.zeros(len(rows), dtype=bool), np.full(len(rows), np.nan)
        own = None if wishes is None else wishes.take(rows)
        judged = problem.check(before[rows], candidate[:, None], preferences=own, decision=refused)
        valid = keeping_kind(recourse, who[rows], slot[rows], judged)
        for name, part in parts.items():
            part[who[rows[valid]], slot[rows[valid]]] = getattr(judged, name)[valid, 0]
        good = np.zeros(len(rows), dtype=bool)
        good[valid] = True
        return good

    new = coarsest(problem.schema, before, exact, check)
    got = replace(recourse, **parts, meta=recourse.meta | {"rounded": True})
    moved = np.flatnonzero(((new != exact) & ~np.isnan(exact)).any(1))
    got = shortened(problem, got, who[moved], slot[moved])
    return _lasting_told_once(measured_again(problem, in_order(got, held)))


def _lasting_told_once(recourse: Recourse) -> Recourse:
    """Where a cheaper option of a person gets a yes from as many models trained again as the one that was made to last,
    or an equally dear one before it, that one is told as this, too: nobody is shown a further plan that lasts no longer
    for no less."""
    lasting = recourse.is_kind("lasting")
    first = lasting.argmax(1)
    row = np.arange(recourse.n)
    with np.errstate(invalid="ignore"):
        as_sure = recourse.found & (recourse.lasts >= recourse.lasts[row, first][:, None])
    its = recourse.cost[row, first][:, None]
    before = np.arange(recourse.k) < first[:, None]
    cheaper = as_sure & ((recourse.cost < its) | ((recourse.cost <= its) & before))
    who = np.flatnonzero(lasting.any(1) & cheaper.any(1))
    if not who.size:
        return recourse
    kind, outcome, cost = recourse.kind.copy(), recourse.outcome.copy(), recourse.cost.copy()
    best = np.where(cheaper, cost, np.inf).argmin(1)[who]
    kind[who, best] = [_both(text, "lasting") for text in kind[who, best]]
    kind[who, first[who]] = [
        "+".join(k for k in t.split("+") if k != "lasting") for t in kind[who, first[who]]
    ]
    gone = who[kind[who, first[who]] == ""]
    cost[gone, first[gone]], outcome[gone, first[gone]] = np.inf, Outcome.NOT_FOUND
    return _without(recourse, cost, outcome, kind)


def in_order(recourse: Recourse, held: OptionMask | None = None) -> Recourse:
    """Return each person's options cheapest first; one that leads where a cheaper one leads becomes an empty slot, and
    the cheaper one is of its kinds, too. So does one that is the best at nothing any more. held: options that stay."""
    if recourse.k == 1:
        return recourse
    n, k = recourse.outcome.shape
    cost, outcome, kind, row = (
        recourse.cost.copy(),
        recourse.outcome.copy(),
        recourse.kind.copy(),
        np.arange(n),
    )
    key = keys_of(np.nan_to_num(recourse.after.reshape(n * k, -1), nan=np.inf), 0).reshape(n, k)
    order = ranking(cost, recourse.action, recourse.after)
    for place in range(1, k):
        mine = order[:, place]
        same = key[row[:, None], order[:, :place]] == key[row, mine][:, None]
        twice = row[np.asarray(same.any(axis=1) & recourse.found[row, mine])]
        cost[twice, mine[twice]], outcome[twice, mine[twice]] = np.inf, Outcome.NOT_FOUND
        first = order[twice, same[twice].argmax(axis=1)]
        kind[twice, first] = [
            _both(*pair) for pair in zip(kind[twice, first], kind[twice, mine[twice]], strict=True)
        ]
        kind[twice, mine[twice]] = ""
    if (kind != "").any():
        open_ = np.ones(n, dtype=bool) if held is None else np.asarray(~held.any(1))
        beaten = _best_at(recourse, cost, kind, open_)
        cost[beaten], outcome[beaten] = np.inf, Outcome.NOT_FOUND
    return _without(recourse, cost, outcome, kind)


def _without(recourse: Recourse, cost: Array, outcome: np.ndarray, kind: np.ndarray) -> Recourse:
    """Return the options cheapest first by cost (n, k), as outcome and kind (n, k) say; slots that were options and are
    none by outcome are emptied."""
    n, k = cost.shape
    order = ranking(cost, recourse.action, recourse.after)
    lost = np.take_along_axis(recourse.found & (outcome != Outcome.FOUND), order, 1)
    if not lost.any() and (order == np.arange(k)).all():
        return recourse

    def sorted_(name: str) -> np.ndarray:
        old = getattr(recourse, name)
        new = np.take_along_axis(old, order.reshape(n, k, *[1] * (old.ndim - 2)), 1)
        new[lost] = np.inf if name in ("cost", "plain_cost") else np.nan
        return np.asarray(new)

    # `bound` stays: it is of whatever the first option is
    parts: dict[str, Any] = {name: sorted_(name) for name in (*JUDGED, "path", "lasts", "known_margin")}
    outcome, kind, steps = (np.take_along_axis(part, order, 1) for part in (outcome, kind, recourse.steps))
    return replace(recourse, **parts, outcome=outcome, kind=kind, steps=np.where(lost, "", steps))


def _best_at(recourse: Recourse, cost: Array, kind: np.ndarray, open_: NDArray[np.bool_]) -> Mask:
    """Let the options (cost (n, k), kind (n, k), written into) that are now the cheapest and have the fewest changes be
    of these kinds, for the people in open_ (n,); return (n, k) those that were of some kind and are of none now."""
    was, row = kind != "", np.arange(len(kind))
    of_kind = {name: replace(recourse, kind=kind).is_kind(name) for name in KINDS}
    changes = np.where(np.isfinite(cost), recourse.acted.sum(2), np.inf)
    place = np.argsort(ranking(cost, recourse.action, recourse.after), axis=1)
    for name, least in (("cheapest", cost.round(12)), ("fewest", changes)):
        best = np.lexsort((place, least))[:, 0]  # of as few changes the cheapest
        moves = np.flatnonzero(of_kind[name].any(1) & ~of_kind[name][row, best] & open_)
        of_kind[name][moves] = False
        of_kind[name][moves, best[moves]] = True
    kind[:] = ""
    for name, mask in of_kind.items():
        kind[mask] = [f"{text}+{name}" if text else name for text in kind[mask]]
    return np.asarray(was & (kind == "") & np.isfinite(cost))


def _both(one: str, other: str) -> str:
    """The kinds of two options that became one, in the order of `KINDS`."""
    return "+".join(kind for kind in KINDS if kind in {*one.split("+"), *other.split("+")})


def coarsest(
    schema: Schema, before: Array, value: Array, check: Callable[[NDArray[np.intp], Array], Mask]
) -> Array:
    """The roundest rows (m, d) that pass `check`, which takes row numbers and candidates and gives (r,) bool.

    A row is rounded as a whole; where it does not pass so, one number after the other, and what still has more than
    `DIGITS` digits is searched for a shorter number on either side. Rows that pass at no rounding come back unchanged.
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
        if generosity == GENEROSITY[0]:
            failed = waiting
        if not len(waiting):
            break
    if len(failed):
        coarse = round_away(schema, before[failed], value[failed], GENEROSITY[0])
        for j in np.flatnonzero((np.abs(coarse - out[failed]) > 0).any(0)):
            rows = np.flatnonzero(np.abs(coarse[:, j] - out[failed, j]) > 0)
            candidate = out[failed[rows]]
            candidate[:, j] = coarse[rows, j]
            good = check(failed[rows], candidate)
            out[failed[rows[good]], j] = coarse[rows[good], j]
    return _with_fewer_digits(before, value, out, check)


def _with_fewer_digits(
    before: Array, value: Array, out: Array, check: Callable[[NDArray[np.intp], Array], Mask]
) -> Array:
    """Where a number still has more digits than people read, the yes is narrow: look for the shortest number inside it.

    value (m, d): as found. One number after the other, with 2, 3, ... digits, on either side of what was found.
    """
    for j in np.flatnonzero(_long(out).any(0)):
        for digits in range(2, _FINEST):
            for away in (True, False):
                rows = np.flatnonzero(_long(out[:, j]))
                size = value[rows, j] - before[rows, j]
                short = _short(value[rows, j], digits, (size > 0) == away)
                near = np.abs(short - value[rows, j]) <= GENEROSITY[0] * np.abs(size)
                rows, short = rows[near], short[near]
                if not len(rows):
                    continue
                candidate = out[rows]
                candidate[:, j] = short
                good = check(rows, candidate)
                out[rows[good], j] = short[good]
    return out


def _long(value: Array) -> Mask:
    """Numbers with decimals and more digits than people read; (...,) -> (...,) bool."""
    whole = np.isnan(value) | (np.abs(value - np.round(value)) <= 1e-9)
    some = np.where(whole, 1.0, value)
    return np.asarray(~whole & (np.abs(_short(some, DIGITS, None) - some) > 1e-9 * np.abs(some)))


def _short(value: Array, digits: int, up: Mask | None) -> Array:
    """The next number above or below with so many significant digits; the nearest where `up` is None."""
    power = np.floor(np.log10(np.abs(value))) - digits + 1
    scale = 10.0 ** np.abs(
        power
    )  # dividing by it, which is exact, gives the double nearest to the decimal number
    steps = np.where(power < 0, value * scale, value / scale)
    steps = np.round(steps) if up is None else np.where(up, np.ceil(steps), np.floor(steps))
    return np.asarray(np.where(power < 0, steps / scale, steps * scale))


def round_away(schema: Schema, before: NDArray[Any], value: NDArray[Any], generosity: float) -> Array:
    """Each changed number on the coarsest grid of 1 or 5 times a power of ten that is no more than
    `generosity` times the change beyond `value`, away from `before`, and legal: (m, d) -> (m, d). It may go
    half of the feature's least change further, so that a small change is told in a round number, too.

    Levels, missing values and numbers that do not change stay as they are.
    """
    before, value = np.asarray(before, dtype=np.float64), np.asarray(value, dtype=np.float64)
    size = np.abs(value - before)
    todo = ~schema.has_levels & (size > 1e-9 * schema.span)  # NaN compares as False
    out = value.copy()
    if not todo.any():
        return out
    up = value > before
    room = np.fmax(generosity * size, schema.least_change / 2 * generosity / GENEROSITY[0])
    top = int(np.ceil(np.log10(np.max(np.where(todo, np.maximum(np.abs(value), size), 0.0)))))
    bottom = min(top, int(np.floor(np.log10(np.min(room[todo])))) - 1)
    for power in range(top, max(bottom, -12) - 1, -1):
        for base in (5, 1):
            candidate = _on_grid(value, up, base, power, _HAIR * generosity * size)
            with np.errstate(invalid="ignore"):
                near = np.abs(candidate - value) <= room
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
