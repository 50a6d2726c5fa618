"""Plans that go a little farther than the least that would do, where that costs little, so that they bear errors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from wayforward.errors import ProblemError
from wayforward.problem.margin import margin_of, meaningful_step
from wayforward.problem.minimal import shortened
from wayforward.problem.population import Population
from wayforward.problem.rounding import in_order
from wayforward.problem.survival import keeping_kind, measured_again
from wayforward.recourse import JUDGED, Recourse
from wayforward.shapes import Actions, OptionMask, PerRow, Rows, Who

_ONE, _ALL = (
    (0.5, 1.0, 2.0, 4.0),
    (0.5, 1.0, 2.0),
)  # meaningful steps tried with one act, and with all of them


def with_room(
    recourse: Recourse, share: float = 0.9, most: float = 0.05, held: OptionMask | None = None
) -> Recourse:
    """Return the answer with options that still hold if a figure is a bit off, where that is at most `most` dearer.

    An option whose margin is below `share` goes on by a few meaningful steps, in one of the numbers that it acts on or
    in all of them; the cheapest that the judge finds to hold in that share of plans alike takes its place, in that of a
    lasting option if it is likely to last, too. Where none does at that price the option stays. `meta["room"]` tells
    share, most, how many options moved, and by which share these became dearer (mean). What it no longer needs so far
    on is left out of an option. held: options that stay.
    Raises: ProblemError for an answer that does not know its problem.
    """
    problem = recourse.problem
    if problem is None:
        raise ProblemError("This answer was read from a file and does not know its problem. Ask again.")
    near = recourse.found & (recourse.margin < share - 1e-9)
    who, slot = np.nonzero(near if held is None else near & ~held)
    note = {"share": share, "most": most, "moved": 0, "price": 0.0}
    if not len(who):
        return replace(recourse, meta={**recourse.meta, "room": note})
    wishes = None if recourse.preferences is None else recourse.preferences.take(who)
    people = problem.population(recourse.x[who], wishes)
    rows = np.arange(len(who))
    best = _nearest_with_room(
        people,
        _farther(people, rows, recourse.action[who, slot]),
        share,
        recourse.cost[who, slot] * (1 + most),
    )
    got = problem.with_(margin=share).check(
        people.x, best[:, None], 1, preferences=wishes, people=None, method=recourse.method,
        decision=(np.zeros(len(who), dtype=bool), np.full(len(who), np.nan)),
    )  # fmt: skip
    before = recourse.cost[who, slot]
    good = keeping_kind(recourse, who, slot, got)
    good = good[got.cost[good, 0] <= before[good] * (1 + most) + 1e-12]
    if good.size:
        note |= {"moved": int(good.size), "price": float((got.cost[good, 0] / before[good] - 1).mean())}
    parts = {}
    for name in JUDGED:
        parts[name] = getattr(recourse, name).copy()
        parts[name][who[good], slot[good]] = getattr(got, name)[good, 0]
    moved = replace(recourse, **parts, meta={**recourse.meta, "room": note})
    less = shortened(problem.with_(margin=share), moved, who[good], slot[good])
    return measured_again(problem, in_order(less, held))


def _nearest_with_room(people: Population, action: Actions, share: float, most: PerRow) -> Rows:
    """(m, d) of actions (m, c, d) the cheapest of each row that costs at most so much (m,) and, by the fast path of the
    model, holds in that share of plans alike; NaN where none does."""
    row, place = np.nonzero(~np.isnan(action).all(2))
    some, cost = action[row, place], people.cost(row, action[row, place])
    cheap = np.flatnonzero(cost <= most[row] + 1e-12)
    row, some, cost = row[cheap], some[cheap], cost[cheap]
    seen = people.evaluate(row, some)
    good = np.flatnonzero(seen.reached)
    row, some, cost = row[good], some[good], cost[good]
    good = np.flatnonzero(margin_of(people, row, some, seen.after[good]) >= share - 1e-9)
    good = good[np.lexsort((good, cost[good], row[good]))]
    first = good[np.diff(row[good], prepend=-1) != 0]
    out = np.full((action.shape[0], people.d), np.nan)
    out[row[first]] = some[first]
    return out


def _farther(people: Population, who: Who, action: Rows) -> Actions:
    """(m, c, d) actions that go on in the directions of actions (m, d): one act by some steps, or all of them."""
    side = np.sign(np.nan_to_num(action - people.x[who])) * ~people.schema.has_levels
    step = side * meaningful_step(people.problem)
    moved = np.flatnonzero((step != 0).any(0))
    ways = [(count, None) for count in _ALL] + [(count, j) for j in moved.tolist() for count in _ONE]
    out = np.full((len(who), len(ways), people.d), np.nan)
    for place, (count, j) in enumerate(ways):
        add = count * step
        if j is not None:
            add = np.where(np.arange(people.d) == j, add, 0.0)
        acted = (add != 0).any(1)
        trial = people.snap(who, action + add)
        trial = np.where(add != 0, trial, action)
        gone = ((add != 0) & np.isnan(trial)).any(1)
        out[:, place] = np.where((acted & ~gone)[:, None], trial, np.nan)
    return out
