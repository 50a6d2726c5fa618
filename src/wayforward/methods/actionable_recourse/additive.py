"""Guesses for worlds in which other things follow from an act."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from wayforward.methods.actionable_recourse.menus import personal_menus
from wayforward.methods.engines.exact import selection
from wayforward.methods.engines.exact.selection import Menu
from wayforward.methods.engines.polish import revert, shrink
from wayforward.problem.batching import distinct_changes, tidy
from wayforward.shapes import Actions

if TYPE_CHECKING:
    from wayforward.methods.actionable_recourse.prepared import PreparedPrograms
    from wayforward.problem import Population

_GUESSED = 256  # people whose single acts go through the world at once
_AIMS = (1.0, 1.05, 1.15, 1.35, 1.7, 2.5, 4.0)  # how far beyond the boundary an additive guess aims


def additive_guesses(prepared: PreparedPrograms, people: Population, k: int) -> Actions:
    """Guess as if the effects of single acts added up, judge every guess in the world, and polish what holds."""
    n, d = people.n, people.d
    if n > _GUESSED:  # every single act of everybody goes through the world at once
        parts = [
            additive_guesses(prepared, people.take(np.arange(at, min(at + _GUESSED, n))), k)
            for at in range(0, n, _GUESSED)
        ]
        return np.concatenate(parts)
    scores = prepared.scores
    start = scores.total(people.x)
    menu = personal_menus(prepared, people, np.ones(d, dtype=bool)).full  # tables only
    who, j, v = np.nonzero(np.isfinite(menu.cost))
    action = np.full((len(who), d), np.nan)
    action[np.arange(len(who)), j] = menu.value[who, j, v]
    gain = np.zeros_like(menu.gain)
    gain[:, who, j, v] = scores.total(people.after(who, action)) - start[:, who]
    worst = start.argmin(0)  # with several inequalities, the one that is missed most
    menu = replace(
        menu,
        gain=np.take_along_axis(gain, worst[None, :, None, None], axis=0),
        run_gain=menu.run_gain[:1],
        need=-start.min(0)[None],
    )
    menu = replace(menu, cost=np.where(menu.gain[0] > 0, menu.cost, np.inf))
    owner, found = [np.empty(0, dtype=np.int64)], [np.empty((0, d))]
    frozen = np.zeros((n, d), dtype=bool)
    for _ in range(k):
        best = _first_that_holds(
            people, replace(menu, cost=np.where(frozen[..., None], np.inf, menu.cost)), prepared
        )
        at = np.flatnonzero(~np.isnan(best).all(1))
        if not at.size:
            break
        sparser = revert(people, at, best[at], people.parts(at, best[at]), sweeps=2)
        sparser = shrink(people, at, sparser)
        owner.append(at)
        found.append(sparser)
        dearest = np.where(np.isnan(sparser), -np.inf, people.parts(at, sparser)).argmax(1)
        frozen[at, dearest] = True
    return distinct_changes(people, np.concatenate(owner), np.concatenate(found), k)


def _first_that_holds(people: Population, menu: Menu, prepared: PreparedPrograms) -> np.ndarray:
    """Return each person's first guess (n, d) that reaches the decision in the world, aiming ever further."""
    best = np.full((people.n, people.d), np.nan)
    solver = selection.cheapest_peak if prepared.effort.kind == "peak" else selection.cheapest_sum
    left = np.arange(people.n)
    for aim in _AIMS:
        some = menu.take(left)
        chosen = selection.in_chunks(replace(some, need=some.need * aim), solver)
        at = np.flatnonzero(chosen.found)
        if at.size:
            action = tidy(people, left[at], some.take(at).values(chosen.pick.take(at)))
            good = people.evaluate(left[at], action).reached
            best[left[at[good]]] = action[good]
        left = left[np.isnan(best[left]).all(1)]
        if not left.size:
            break
    return best
