"""Leave out of options what they do not need: the last step of every method."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from wayforward.problem.options import Options, cheapest
from wayforward.problem.survival import keeping_kind
from wayforward.ranks import rank_in_run
from wayforward.recourse import JUDGED, Recourse
from wayforward.shapes import Actions, Mask, Rows, Who

if TYPE_CHECKING:
    from wayforward.problem.population import Population
    from wayforward.problem.problem import Problem

_SAME = 1e-12  # costs this close are equal


def minimal_actions(people: Population, action: Actions) -> Actions:
    """Drop every act that an accepted option does not need; people of the problem, action (n, k, d) -> (n, k, d).

    An act is dropped where all that the judge asks for (`Problem.check`) still holds without it and nothing gets
    dearer: dearest first, until each act that is left is needed. An act that holds a feature in place is dropped like
    any other, only if the yes needs no holding. Of equal options the first stays, the slots of the others are emptied
    (NaN). Proposals that the judge refuses stay as they are.
    Example: ``minimal_actions(problem.population(x), got.action)``.
    """
    out = np.array(action, dtype=np.float64)
    who, slot = np.nonzero((~np.isnan(out)).any(2))
    options, good, _ = people.problem.judge_options(people, who, out[who, slot], _refused(people))
    at = np.flatnonzero(good)
    if not at.size:
        return out
    short, dropped = drop_acts(people, options.take(at))
    rows = at[dropped]
    out[who[rows], slot[rows]] = short.action[dropped]
    for later in range(1, out.shape[1]):
        same = (out[:, :later] == out[:, later, None]) | (
            np.isnan(out[:, :later]) & np.isnan(out[:, later, None])
        )
        out[same.all(2).any(1), later] = np.nan
    return out


def minimal_options(problem: Problem, options: Options, people: Population, k: int) -> tuple[Options, int]:
    """Shorten each person's k cheapest options; return them and how many were shortened.

    Where two become one, the next of the person's options takes the place.
    """
    ranked = options.take(cheapest(options, max(len(options.who), 1), problem.independent))
    who, rank = ranked.who, rank_in_run(ranked.who)
    used, have = np.zeros(people.n, dtype=np.int64), np.zeros(people.n, dtype=np.int64)
    shortened, count = ranked.take(rank[:0]), 0
    while True:
        turn = np.flatnonzero((rank >= used[who]) & (rank < (used + k - have)[who]))
        if not turn.size:
            return shortened, count
        used += np.bincount(who[turn], minlength=people.n)
        short, dropped = drop_acts(people, ranked.take(turn))
        count += int(dropped.sum())
        first = not len(shortened.who)
        shortened = shortened.and_(short)
        if dropped.any() or not first:  # else they are in order and distinct as they were
            shortened = shortened.take(cheapest(shortened, k, problem.independent))
        have = np.bincount(shortened.who, minlength=people.n)


def shortened(judge: Problem, recourse: Recourse, who: Who, slot: Who) -> Recourse:
    """Return an answer whose options at who (m,), slot (m,) are without what they no longer need, as they were moved.

    judge: the problem that judges, perhaps one that asks for more than the answer's own. Options that it refuses stay,
    and so does one that would not last any more. Answers of methods that leave nothing out stay as they are.
    """
    many = (~np.isnan(recourse.action[who, slot])).sum(1) > 1
    who, slot = who[many], slot[many]
    if "n_shortened" not in recourse.meta or not len(who):
        return recourse
    wishes = None if recourse.preferences is None else recourse.preferences.take(who)
    people = judge.population(recourse.x[who], wishes)
    short = minimal_actions(people, recourse.action[who, slot][:, None])
    rows = np.flatnonzero((np.isnan(short[:, 0]) != np.isnan(recourse.action[who, slot])).any(1))
    if not rows.size:
        return recourse
    judged = judge.check(
        people.x[rows], short[rows], 1, preferences=None if wishes is None else wishes.take(rows),
        decision=(np.zeros(len(rows), dtype=bool), np.full(len(rows), np.nan)),
    )  # fmt: skip
    good = keeping_kind(recourse, who[rows], slot[rows], judged)
    parts = {name: getattr(recourse, name).copy() for name in JUDGED}
    for name, part in parts.items():
        part[who[rows[good]], slot[rows[good]]] = getattr(judged, name)[good, 0]
    meta = recourse.meta | {"n_shortened": recourse.meta["n_shortened"] + len(good)}
    return replace(recourse, **parts, meta=meta)


def drop_acts(people: Population, options: Options) -> tuple[Options, Mask]:
    """Drop acts of options that the judge accepted, dearest first; return them and (m,) bool: something was dropped.

    All single acts of all options are tried in one call of the fast path; what it does not rule out, the judge decides.
    Whoever lost an act is tried again, until nobody does.
    """
    dropped = np.zeros(len(options.who), dtype=bool)
    live = np.flatnonzero((~np.isnan(options.action)).sum(1) > 1)
    while live.size:
        place, act = np.nonzero(~np.isnan(options.action[live]))
        row = live[place]
        trial = options.action[row]
        trial[np.arange(len(row)), act] = np.nan
        at = _promising(people, options.who[row], trial, options.cost[row])
        if not at.size:
            break
        row = row[at]
        tried, good, _ = people.problem.judge_options(people, options.who[row], trial[at], _refused(people))
        best = np.flatnonzero(good)
        best = best[np.lexsort((tried.cost[best], row[best]))]  # what saves most comes first
        best = best[np.diff(row[best], prepend=-1) != 0]
        live = row[best]
        options, dropped[live] = options.put(live, tried.take(best)), True
        live = live[(~np.isnan(options.action[live])).sum(1) > 1]
    return options, dropped


def _promising(people: Population, who: Who, action: Rows, most: np.ndarray) -> np.ndarray:
    """Positions of the rows (m, d) that cost at most `most` (m,), are allowed, and are no clear no to the fast path."""
    at: np.ndarray = np.flatnonzero(people.cost(who, action) <= most + _SAME)
    after = people.after(who[at], action[at])
    allowed = people.allowed(who[at], action[at], after)
    at, after = at[allowed], after[allowed]
    problem = people.problem
    if not at.size or not problem.model.has_fast_path:
        return np.asarray(at)
    score = problem.bound_target.score(people.outputs(who[at], after))
    return np.asarray(at[score >= -problem.slack])


def _refused(people: Population) -> tuple[np.ndarray, np.ndarray]:
    """The decision about people who are known to be refused; the model need not be asked again."""
    return np.zeros(people.n, dtype=bool), np.full(people.n, np.nan)
