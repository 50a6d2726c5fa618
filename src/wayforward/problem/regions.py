"""Regions: around an option, a box of what else the person may do that works just as well: "at least 2,050 EUR".

A region spans the features that the option moves; what it holds is held, all else is left alone, and each act keeps
its direction. Every legal point in it is a yes of the model and keeps rules and wishes. Sides grow one after the other,
away from where the person stands first, each as far as it can.
Source of the idea, for forests: P. VanNostrand, H. Zhang, D. Hofmann, E. Rundensteiner (2023), FACET, Proc. ACM Manag.
Data 1(4); here by exact search within each person's own reach, for any model with bounds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.errors import DataError
from wayforward.problem.growing_boxes import Growing
from wayforward.problem.nearest_no import NARROW, certifiable, nearest_no
from wayforward.problem.sampled_regions import drawn, sampled
from wayforward.regions import CERTIFIED, EXACT, SAMPLED, Regions
from wayforward.shapes import Floats, Ints, Mask, Rows, Who

if TYPE_CHECKING:
    from wayforward.problem.population import Population
    from wayforward.recourse import Recourse

_TOGETHER = 256  # options whose boxes are searched at once, each of up to thousands
_TOLERANCE = 10 * NARROW  # of a span: a side of numbers without a step is exact up to this


def regions(recourse: Recourse, sample: bool = True, leeway: float = 0.0) -> Regions:
    """Return the region around each option of an answer that knows its problem.

    Proved by bounds where the model has them and nothing else is asked for (no world in which something follows, no
    plausibility, no robustness, no chance); exact for a forest, for a linear score and wherever a search over boxes
    ends in time. sample: elsewhere, draw points of ever smaller boxes until all are options; False: no region there.
    leeway: the share of its way by which a side may end sooner than need be, for whoever tells it roughly.
    It depends on the person and the option alone. Raises: ProblemError for an answer that does not know its problem.
    Example: ``found.regions().low[0, 0]``.
    """
    problem = recourse.require_problem()
    n, k, d = recourse.action.shape
    who, slot = np.nonzero(recourse.found)
    wishes = None if recourse.preferences is None else recourse.preferences.take(who)
    people = problem.population(recourse.x[who], wishes)
    box = Growing.around(people, recourse.action[who, slot])
    sure = certifiable(people) & ~(np.isnan(people.x) & box.acts).any(1)
    known = np.full((n, k), "", dtype=object)
    some = np.flatnonzero(sure)
    for rows in np.array_split(some, -(-len(some) // _TOGETHER)) if some.size else ():
        known[who[rows], slot[rows]] = np.where(_grow(people.take(rows), box, rows, leeway), EXACT, CERTIFIED)
    rows, share, confidence = np.flatnonzero(~sure), 1.0, 1.0
    if rows.size and sample:
        share, confidence = sampled(people.take(rows), box, rows)
        known[who[rows], slot[rows]] = SAMPLED
    with_one = np.flatnonzero(known[who, slot] != "")
    who, slot = who[with_one], slot[with_one]

    def filled(values: np.ndarray, empty: Any) -> np.ndarray:
        out = np.full((n, k, *values.shape[1:]), empty, dtype=values.dtype)
        out[who, slot] = values[with_one]
        return out

    blank = ~box.acts
    return Regions(
        low=filled(np.where(blank, np.nan, box.low), np.nan), high=filled(np.where(blank, np.nan, box.high), np.nan),
        levels={j: filled(ok & ~blank[:, j, None], False) for j, ok in box.levels.items()}, known=known,
        open_low=filled(~blank & (box.low <= box.least), False),
        open_high=filled(~blank & (box.high >= box.greatest), False), share=share, confidence=confidence,
    )  # fmt: skip


def rows_in(recourse: Recourse, found: Regions, who: Who, slot: Who, u: Floats) -> Rows:
    """Return actions (m, d) of the regions at who (m,), slot (m,), by numbers u (m, d) in (0, 1), even in each feature.

    Of a side without an end values grow rarer with the distance; what an option holds where it is, is held.
    Raises: DataError for a slot without a region.
    """
    low, high = found.low[who, slot], found.high[who, slot]
    acts = ~np.isnan(low)
    if not acts.any(1).all():
        raise DataError("Some of these slots have no region. See Regions.known.")
    levels = {j: ok[who, slot] for j, ok in found.levels.items()}
    return np.where(acts, drawn(recourse.schema, low, high, levels, u), recourse.action[who, slot])


def _grow(people: Population, box: Growing, rows: Ints, leeway: float) -> Mask:
    """Grow the boxes at rows (m,), of person i each, by search; return (m,) bool: no side can be moved out."""
    schema = people.schema
    exact = np.ones(len(rows), dtype=bool)
    numbers = ~schema.has_levels
    for away in (True, False):
        for turn in range(box.turns(numbers)):
            at, column = box.nth(rows, numbers, turn)
            if at.size:
                exact[at] &= _move_side(people, box, rows, at, column, away, leeway)
        for turn in range(box.turns(~numbers) if away else 0):
            at, column = box.nth(rows, ~numbers, turn)
            for j in np.unique(column).tolist():
                some = at[column == j]
                exact[some] &= _add_levels(people, box, rows, some, j, leeway)
    return exact


def _move_side(
    people: Population, box: Growing, rows: Ints, at: Ints, column: Ints, away: bool, leeway: float
) -> Mask:
    """Move one side of boxes at rows[at] out as far as it goes; return (a,) bool: the next step is surely no option."""
    schema, mine = people.schema, rows[at]
    side = np.where(box.up[mine, column] == away, 1.0, -1.0)
    step = schema.step[column]
    face = np.where(side > 0, box.high[mine, column], box.low[mine, column])
    end = np.where(side > 0, box.greatest[mine, column], box.least[mine, column])
    beyond = np.where(
        np.isnan(step), np.nextafter(face, side * np.inf), face + side * np.nan_to_num(step) / 2
    )
    exact = np.ones(len(at), dtype=bool)
    go = np.flatnonzero(side * (end - beyond) >= 0)
    if not go.size:
        return exact
    slab, each = box.boxes(mine[go]), np.arange(len(go))
    slab.low[each, column[go]] = np.where(side > 0, beyond, end)[go]
    slab.high[each, column[go]] = np.where(side > 0, end, beyond)[go]
    found = nearest_no(people.take(at[go]), slab, column[go], side[go], leeway)
    before = np.nextafter(found.at, -side[go] * np.inf)
    on_step = ~np.isnan(step[go]) & np.isfinite(found.at)
    if on_step.any():
        previous = (np.where(on_step, found.at, 0.0) - side[go] * np.nan_to_num(step[go]))[None]
        before = np.where(on_step, schema.round(previous, columns=column[go])[0], before)
    box.put(mine[go], column[go], side[go], np.where(np.isfinite(found.at), before, end[go]))
    room = np.where(np.isnan(step[go]), _TOLERANCE * schema.span[column[go]], 0.0)
    with np.errstate(invalid="ignore"):
        exact[go] = (found.at == found.seen) | (np.abs(found.seen - found.at) <= room)
    return exact


def _add_levels(people: Population, box: Growing, rows: Ints, at: Ints, j: int, leeway: float) -> Mask:
    """Add every level of a feature with which all of the box is an option; (a,) bool: the others surely are not."""
    mine = rows[at]
    place, level = np.nonzero(box.choice[j][mine] & ~box.levels[j][mine])
    exact = np.ones(len(at), dtype=bool)
    if not place.size:
        return exact
    slab = box.boxes(mine[place])
    slab.set_to(np.arange(len(place)), np.full(len(place), j), level.astype(np.float64))
    nobody = np.zeros(len(place), dtype=np.int64)
    found = nearest_no(people.take(at[place]), slab, nobody, np.zeros(len(place)), leeway)
    good = box.levels[j][mine]
    good[place, level] = np.isinf(found.at)
    np.logical_and.at(exact, place, found.at == found.seen)
    if people.schema.features[j].kind == "ordinal":
        good = box.contiguous(j, mine, good)
    box.levels[j][mine] = good
    box.hull(j, mine)
    return exact
