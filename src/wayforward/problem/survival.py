"""How options fare when the model is trained again: in how many models they hold, and whether they are likely to."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from wayforward.recourse import Recourse
from wayforward.shapes import Who

if TYPE_CHECKING:
    from wayforward.problem.problem import Problem


def with_survival(problem: Problem, recourse: Recourse) -> Recourse:
    """Return the answer with the share of models trained again that say yes to each option (`Recourse.lasts`).

    The models are those of the problem's `Retraining` that no search sees; without one nothing is measured.
    """
    if problem.retraining is None:
        return recourse
    who, slot = np.nonzero(recourse.found)
    lasts = np.full((recourse.n, recourse.k), np.nan)
    if len(who):
        lasts[who, slot] = problem.retraining.votes(problem, recourse.after[who, slot]).mean(0)
    meta = {**recourse.meta, "retraining": problem.retraining.describe()}
    return replace(recourse, lasts=lasts, meta=meta)


def measured_again(problem: Problem, recourse: Recourse) -> Recourse:
    """Return the answer with `lasts` as its options are now, where somebody had measured it."""
    return with_survival(problem, recourse) if np.isfinite(recourse.lasts).any() else recourse


def keeping_kind(recourse: Recourse, who: Who, slot: Who, judged: Recourse) -> np.ndarray:
    """Return the rows of judged (m people, one option each) that may replace the options at who (m,), slot (m,).

    Those with an option; in place of a lasting one it must be as likely to get a yes from the next model.
    """
    rows = np.flatnonzero(judged.found[:, 0])
    lasting = recourse.is_kind("lasting")[who[rows], slot[rows]]
    problem = judged.problem
    if not lasting.any() or problem.retraining is None:
        return rows
    some = rows[lasting]
    condition = problem.retraining.condition(problem)
    holds = np.ones(len(rows), dtype=bool)
    holds[lasting] = condition.holds(problem, judged.x[some], judged.action[some, 0], judged.after[some, 0])
    return np.asarray(rows[holds])
