"""Why a no stays a no: the smallest sets of features whose present values keep it, whatever else the person does.

A set is a reason if no option is left when the person does not act on any of its features; it is irreducible if that is
true of no part of it. Reasons and options are duals: every option acts on some feature of every reason.
Source of the search (smallest hitting sets of what options change, one exact question after another): A. Ignatiev,
A. Previti, M. Liffiton, J. Marques-Silva (2015), Smallest MUS extraction with minimal hitting set dualization, CP.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from wayforward.errors import DataError
from wayforward.methods import method
from wayforward.preferences import Preferences
from wayforward.problem.verification import verdicts
from wayforward.recourse import Outcome, Recourse
from wayforward.shapes import Ints, Mask

if TYPE_CHECKING:
    from wayforward.problem import Problem

_LISTED = 50_000  # actions of a person that are judged where a search proves nothing
_SUBSETS = 200_000  # of features, looked through for one person before the search ends

Sets = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class ReasonSets:
    """The reasons of one person's no: sets of positions of features, the smallest first.

    () as a set: nothing that the person may do turns the answer. exact: each was proved to be a reason, and to be
    irreducible; else no option was found without it, by search. complete: there are no others.
    """

    sets: Sets
    exact: bool
    complete: bool


def reason_sets(recourse: Recourse, most: int = 4) -> list[ReasonSets]:
    """Return, for each person of an answer that knows its problem, up to `most` irreducible reasons of the no.

    Within the person's reach, rules and wishes; in a world where something follows, of what is acted on. Proofs are
    those of `local-search` (forests by branch and bound over boxes, small reaches by listing), of bounds, and of
    listing; where they do not reach, `exact` is False. No sets for people who are accepted or could not be read.
    The options of the answer count, so that each acts on some feature of every reason.
    Raises: ProblemError for an answer that does not know its problem; DataError for most < 1.
    Example: ``reason_sets(found)[0].sets``.
    """
    problem = recourse.require_problem()
    if most < 1:
        raise DataError(f"most={most} reasons are none. Ask for 1 or more.")
    who = np.flatnonzero(recourse.refused)
    oracle = _Oracle(problem, recourse, who)
    acts = _acts(recourse)
    searches = [_Dual(acts[i][recourse.found[i]], oracle.may[p], most) for p, i in enumerate(who)]
    while True:
        rows = np.array([p for p, one in enumerate(searches) if one.next() is not None], dtype=np.int64)
        if not rows.size:
            break
        frozen = np.stack([searches[p].candidate for p in rows])
        acts, proved = oracle.options_without(rows, frozen)
        for p, act, sure in zip(rows, acts, proved, strict=True):
            searches[p].hear(act, bool(sure))
    out = [ReasonSets((), False, False)] * recourse.n
    for p, i in enumerate(who):
        out[i] = searches[p].result()
    return out


def _acts(recourse: Recourse) -> np.ndarray:
    """(n, k, d) bool: what options act on. Where something follows from acts, holding a value is one."""
    if recourse.problem is None or recourse.problem.independent:
        return recourse.acted
    return np.asarray(~np.isnan(recourse.action))


class _Oracle:
    """Whether some people have an option without acting on some features: asked for many people at once."""

    def __init__(self, problem: Problem, recourse: Recourse, who: Ints) -> None:
        self.problem, self.x = problem, recourse.x[who]
        wishes = recourse.preferences
        self.wishes = Preferences.none(problem.schema, len(who)) if wishes is None else wishes.take(who)
        self.may = problem.population(self.x, self.wishes).may
        self.search = method("local-search").fit(problem)

    def options_without(self, rows: Ints, frozen: Mask) -> tuple[Mask, Mask]:
        """(m, d) bool: what an option acts on, none of the frozen (m, d); (m,) bool: where none, that is proved."""
        wishes = self.wishes.take(rows)
        for j in np.flatnonzero(frozen.any(0)).tolist():
            wishes = wishes.freeze(self.problem.schema.names[j], who=np.flatnonzero(frozen[:, j]))
        got = self.search.recommend(self.x[rows], 1, preferences=wishes, seed=0)
        acts, proved = _acts(got)[:, 0], got.outcome[:, 0] == Outcome.NONE_EXISTS
        left = np.flatnonzero(got.outcome[:, 0] == Outcome.NOT_FOUND)
        if left.size:
            people = self.problem.population(self.x[rows[left]], wishes.take(left))
            more = verdicts(people, np.zeros(len(left), dtype=bool), _LISTED, got[left])
            acts[left] = ~np.isnan(more.action)
            proved[left] = more.verdict == "none"
        return acts, proved


class _Dual:
    """The search for one person: sets of acts that options are made of, and reasons, which meet all of these."""

    def __init__(self, options: Mask, may: Mask, most: int) -> None:
        self.features, self.most = np.flatnonzero(may), most
        self.options = [frozenset(np.flatnonzero(row).tolist()) for row in options]
        self.reasons: list[frozenset[int]] = []
        self.exact, self.complete = True, False
        self.candidate: Mask = np.zeros(len(may), dtype=bool)

    def next(self) -> frozenset[int] | None:
        """Choose the smallest set that meets all options and holds no reason; None where the search is over."""
        if self.complete or len(self.reasons) >= self.most:
            return None
        looked = 0
        for size in range(len(self.features) + 1):
            for some in combinations(self.features.tolist(), size):
                looked += 1
                if looked > _SUBSETS:
                    self.most = 0
                    return None
                one = frozenset(some)
                if all(one & option for option in self.options) and not any(r <= one for r in self.reasons):
                    self.candidate = np.isin(np.arange(len(self.candidate)), some)
                    return one
        self.complete = True
        return None

    def hear(self, acts: Mask, proved: bool) -> None:
        """Take in the answer about the set: what an option without it acts on, or that there is none."""
        if acts.any():
            self.options.append(frozenset(np.flatnonzero(acts).tolist()))
            return
        self.reasons.append(frozenset(np.flatnonzero(self.candidate).tolist()))
        self.exact &= proved

    def result(self) -> ReasonSets:
        """Return what was found."""
        return ReasonSets(tuple(tuple(sorted(one)) for one in self.reasons), self.exact, self.complete)
