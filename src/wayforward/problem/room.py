"""Plans that go a little farther than the least that would do, where that costs little, so that they bear errors."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from wayforward.errors import require_kind, require_number
from wayforward.problem.margin import margin_of, meaningful_step
from wayforward.problem.minimal import minimal_actions, shortened
from wayforward.problem.population import Population
from wayforward.problem.rounding import in_order
from wayforward.problem.survival import keeping_kind, measured_again
from wayforward.recourse import JUDGED, Recourse
from wayforward.shapes import Actions, Mask, OptionMask, PerRow, Rows, Who

if TYPE_CHECKING:
    from wayforward.problem.problem import Problem

USUAL_SHARE, USUAL_ROOM = 0.9, 0.05  # of plans alike; at most so much dearer: in what people are told
MOST_ROOM = 1000.0  # times as dear: more is a slip of the finger
_ONE, _ALL = (
    (0.5, 1.0, 2.0, 4.0),
    (0.5, 1.0, 2.0),
)  # meaningful steps tried with one act, and with all of them


def as_told(recourse: Recourse, most: float = USUAL_ROOM, *, rounding: bool = True) -> Recourse:
    """Return the options as people are told them, in letters, pages and dialogues: with room where that makes them at
    most `most` dearer, and, if rounding, in round numbers. An opaque model would be asked hundreds of times for room:
    there is none.
    """
    require_kind(recourse, Recourse, "recourse")
    require_number(most, "most", 0, MOST_ROOM)
    if recourse.meta.get("rounded"):  # it was told already
        return recourse
    if most and recourse.problem.model.has_fast_path:
        recourse = with_room(recourse, most=most)
    return recourse.rounded if rounding else recourse


def with_room(
    recourse: Recourse, share: float = USUAL_SHARE, most: float = USUAL_ROOM, held: OptionMask | None = None
) -> Recourse:
    """Return the answer with options that still hold if a figure is a bit off, where that is at most `most` dearer.

    An option whose margin is below `share` goes on by a few meaningful steps, in one of the numbers that it acts on or
    in all of them, else with one act fewer; the cheapest that the judge finds to hold in that share of plans alike
    takes its place, in that of a lasting option if it is likely to last, too. No act stays of which the yes has no
    need: the others go farther instead, or the option stays as it was. `meta["room"]` tells share, most, how many
    options moved, and by which share these became dearer (mean).
    held: options that stay; those whose steps are named stay anyway, see `rounded`.
    Raises: ProblemError for an answer that does not know its problem; DataError for a share that is none.
    """
    require_kind(recourse, Recourse, "recourse")
    require_number(share, "share", 0, 1)
    require_number(most, "most", 0, MOST_ROOM)
    problem = recourse.require_problem()
    near = recourse.found & (recourse.margin < share - 1e-9) & (recourse.steps == "")
    who, slot = np.nonzero(near if held is None else near & ~held)
    note = {"share": share, "most": most, "moved": 0, "price": 0.0}
    if not len(who):
        return replace(recourse, meta={**recourse.meta, "room": note})
    judge, before = problem.with_(margin=share), recourse.cost[who, slot]
    dearest = before * (1 + most)
    moved, done = recourse, np.zeros(len(who), dtype=bool)
    for proposed in (_all_farther, _one_fewer) if "n_shortened" in recourse.meta else (_all_farther,):
        at = np.flatnonzero(~done)
        best = proposed(recourse, who[at], slot[at], share, dearest[at])
        moved, good = _moved(judge, moved, who[at], slot[at], best, share, dearest[at])
        done[at[good]] = True
    who, slot, before = who[done], slot[done], before[done]
    if len(who):
        note |= {"moved": len(who), "price": float((moved.cost[who, slot] / before - 1).mean())}
    moved = replace(moved, meta={**moved.meta, "room": note})
    return measured_again(problem, in_order(moved, held))


def _askers(problem: Problem, recourse: Recourse, who: Who) -> Population:
    """The people who (m,) of an answer, once for each time they are named, with their wishes."""
    wishes = None if recourse.preferences is None else recourse.preferences.take(who)
    return problem.population(recourse.x[who], wishes)


def _all_farther(recourse: Recourse, who: Who, slot: Who, share: float, dearest: PerRow) -> Rows:
    """(m, d) the cheapest way to go on from options at who (m,), slot (m,) that has room; NaN where there is none."""
    people = _askers(recourse.problem, recourse, who)
    farther = _farther(people, np.arange(len(who)), recourse.action[who, slot])
    return _nearest_with_room(people, farther, share, dearest)


def _one_fewer(
    recourse: Recourse, who: Who, slot: Who, share: float, dearest: PerRow, needless: bool = False
) -> Rows:
    """The same without one of the acts, the others a little farther. needless: one of which the yes has no need."""
    action = recourse.action[who, slot]
    acts = ~np.isnan(action)
    row, act = np.nonzero(acts & (acts.sum(1) > 1)[:, None])
    people, less = _askers(recourse.problem, recourse, who[row]), action[row]
    less[np.arange(len(row)), act] = np.nan
    if needless and len(row):
        enough = np.flatnonzero(people.evaluate(np.arange(len(row)), less).reached)
        row, people, less = row[enough], people.take(enough), less[enough]
    best = _nearest_with_room(people, _farther(people, np.arange(len(row)), less), share, dearest[row])
    there = np.flatnonzero(~np.isnan(best).all(1))
    there = there[np.lexsort((people.cost(there, best[there]), row[there]))]
    there = there[np.diff(row[there], prepend=-1) != 0]
    out = np.full(action.shape, np.nan)
    out[row[there]] = best[there]
    return out


def _moved(
    judge: Problem, recourse: Recourse, who: Who, slot: Who, action: Rows, share: float, dearest: PerRow
) -> tuple[Recourse, Who]:
    """Put actions (m, d) in the place of options, without acts that are not needed; return the answer and the places in
    who (m,), slot (m,) that were replaced."""
    there = np.flatnonzero(~np.isnan(action).all(1))
    moved, good = _put(judge, recourse, who[there], slot[there], action[there], dearest[there])
    good = there[good]
    moved = shortened(judge, moved, who[good], slot[good])
    if "n_shortened" not in recourse.meta:
        return moved, good
    left = good
    while left.size:  # one act after the other goes of which only the margin has need
        best = _one_fewer(moved, who[left], slot[left], share, dearest[left], needless=True)
        there = np.flatnonzero(~np.isnan(best).all(1))
        left = left[there]
        moved, still = _put(judge, moved, who[left], slot[left], best[there], dearest[left])
        left = left[still]
    minimal = ~_needless(recourse.problem, moved, who[good], slot[good])
    back = good[~minimal]
    return _put_back(moved, recourse, who[back], slot[back]), good[minimal]


def _put(
    judge: Problem, recourse: Recourse, who: Who, slot: Who, action: Rows, dearest: PerRow
) -> tuple[Recourse, Who]:
    """Put actions (m, d) in the place of options where the judge accepts them at no more than dearest (m,) and they are
    of the same kind; return the answer and the places in who (m,), slot (m,) that were replaced."""
    if not len(who):
        return recourse, who
    wishes = None if recourse.preferences is None else recourse.preferences.take(who)
    got = judge.check(
        recourse.x[who], action[:, None], 1, preferences=wishes, people=None, method=recourse.method,
        decision=(np.zeros(len(who), dtype=bool), np.full(len(who), np.nan)),
    )  # fmt: skip
    good = keeping_kind(recourse, who, slot, got)
    good = good[got.cost[good, 0] <= dearest[good] + 1e-12]
    parts = {}
    for name in JUDGED:
        parts[name] = getattr(recourse, name).copy()
        parts[name][who[good], slot[good]] = getattr(got, name)[good, 0]
    return replace(recourse, **parts), good


def _needless(problem: Problem, recourse: Recourse, who: Who, slot: Who) -> Mask:
    """(m,) bool: the options at who (m,), slot (m,) hold an act that the yes does not need."""
    action = recourse.action[who, slot]
    short = minimal_actions(_askers(problem, recourse, who), action[:, None])[:, 0]
    return np.asarray((np.isnan(short) & ~np.isnan(action)).any(1))


def _put_back(recourse: Recourse, before: Recourse, who: Who, slot: Who) -> Recourse:
    """Return the answer with the options at who (m,), slot (m,) as they were before."""
    parts = {name: getattr(recourse, name).copy() for name in JUDGED}
    for name, part in parts.items():
        part[who, slot] = getattr(before, name)[who, slot]
    return replace(recourse, **parts)


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
