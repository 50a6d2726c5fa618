"""Certificates: how much cheaper an option can be than the one that somebody is shown, proved.

A bound is about everything that the judge may accept, whatever method searched: the problem is asked for its decision
alone (and for plausibility by an isolation forest, and of a line for `WithinDelta`), since further conditions only take
options away. So it holds for options of any kind, with room, and rounded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wayforward.deadline import OutOfTime, look, until
from wayforward.errors import MethodError, is_integer, require_kind
from wayforward.methods.engines.exact.forest_boxes import BOXES, ForestBoxes
from wayforward.methods.engines.exact.line_boxes import LineBoxes
from wayforward.methods.engines.exact.relaxed_boxes import RelaxedBoxes
from wayforward.problem import IsolationForest
from wayforward.problem.enumeration import cheapest_among_all
from wayforward.problem.proofs import knows_costs, no_cheaper
from wayforward.recourse import Recourse
from wayforward.shapes import Floats

if TYPE_CHECKING:
    from collections.abc import Callable

    from wayforward.problem import Population, Problem

    Bounder = Callable[
        [Population, Floats, int], Floats
    ]  # people, cutoff (n,), boxes -> (n,), NaN: nothing proved

_LISTED, _LISTED_DEAR = (
    32_768,
    4_096,
)  # actions of a person that are all tried; where the model is dear to ask
_TOGETHER = 256
_FEW = 2_000  # boxes of actions, each led through the world, that a person has at most


def certified(recourse: Recourse, *, boxes: int = BOXES, end: float = np.inf) -> Recourse:
    """Return the answer with `Recourse.bound`: proved, nothing that is allowed for a person costs less.

    By branch and bound over boxes for forests and boosted trees, for linear models and networks of rectified units
    (see `RelaxedBoxes`), by trying everything where a person's actions can be listed, and, in worlds with bounds on
    what follows, over boxes of actions; elsewhere nothing is proved, and `meta["not_certified"]` says why.
    boxes: looked at for a person before the bound reached is returned. Whatever fails costs the certificates of those
    for whom it fails, never the answer. `meta["certified"]` says how many boxes were allowed.
    end: when its time is over (`wayforward.deadline.now`): nothing is proved of whose turn has not come by then.
    Raises: MethodError for an answer that does not know its problem, or boxes below 1.
    """
    require_kind(recourse, Recourse, "recourse", MethodError)
    problem = recourse.require_problem(MethodError)
    if not is_integer(boxes) or boxes < 1:
        raise MethodError(
            f"certify={boxes!r} is no number of boxes. Give True, or a whole number such as 20000."
        )
    least = np.full(recourse.n, np.nan)
    ask = np.flatnonzero(recourse.refused & recourse.found[:, 0])
    if ask.size:
        wishes = None if recourse.preferences is None else recourse.preferences.take(ask)
        relaxed = problem.asking_no_more()
        if isinstance(problem.plausibility, IsolationForest):  # boxes know its trees
            relaxed.plausibility = problem.plausibility
        if problem.robust is not None and LineBoxes.of(problem) is not None:  # and weights around a line's
            relaxed.robust = problem.robust
        people = relaxed.population(recourse.x[ask], wishes)
        with until(end):
            least[ask] = least_costs(people, recourse.cost[ask].min(axis=1), boxes)
    got = recourse.with_bound(least)
    got.meta["certified"] = int(boxes)
    if ask.size and np.isnan(least[ask]).all():
        got.meta["not_certified"] = _why_not(problem)
    return got


def least_costs(people: Population, cutoff: Floats, boxes: int = BOXES) -> Floats:
    """(n,) proved: no option of these people costs less; NaN where nothing was proved, cutoff (n,) at most."""
    least = np.full(people.n, np.nan)
    for bounder in _bounders(people.problem):
        open_ = np.flatnonzero(np.isnan(least))
        for some in np.array_split(open_, -(-open_.size // _TOGETHER)) if open_.size else ():
            try:
                look()
                found = _kept_apart(bounder, people, some, cutoff, boxes)
            except OutOfTime:
                return least
            least[some] = np.fmax(least[some], found)
    return least


def _kept_apart(bounder: Bounder, people: Population, who: np.ndarray, cutoff: Floats, boxes: int) -> Floats:
    """Bounds (m,) of some people; where it fails for them together, of each alone, NaN of those for whom it fails."""
    try:
        return bounder(people.take(who), cutoff[who], boxes)
    except Exception:  # whatever it is: a certificate less
        if len(who) == 1:
            return np.full(1, np.nan)
        parts = (_kept_apart(bounder, people, who[i : i + 1], cutoff, boxes) for i in range(len(who)))
        return np.concatenate(list(parts))


def _bounders(problem: Problem) -> list[Bounder]:
    """The engines that know the problem, the one that proves most first."""
    out: list[Bounder] = []
    for exact in (ForestBoxes.of(problem), LineBoxes.of(problem)):
        if exact is not None:
            out.append(exact.least_cost)
    relaxed = RelaxedBoxes.of(problem)
    if relaxed is not None:
        out.append(relaxed.least_cost)
    cheap = problem.model.bounded and problem.world.bounded
    out.append(
        lambda people, cutoff, _: cheapest_among_all(people, _LISTED if cheap else _LISTED_DEAR, cutoff)
    )
    if knows_costs(problem):  # whatever follows
        out.append(lambda people, cutoff, boxes: no_cheaper(people, cutoff, min(boxes, _FEW)))
    return out


def _why_not(problem: Problem) -> str:
    """What no bound can be proved without, where nothing was."""
    if not problem.world.bounded:
        return "What follows from acts in this world has no bounds, and nobody's actions could be listed."
    if not problem.model.bounded:
        return "The model shows nothing that could be bounded, and nobody's actions could be listed."
    if not knows_costs(problem):
        return "The cost does not grow with each act alone, and nobody's actions could be listed."
    return "The bounds of the model were too wide for as many boxes as were allowed."
