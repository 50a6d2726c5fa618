"""cbr: what made a refused person of the table an accepted one, done by somebody like them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from wayforward.methods.base import Budget, Method
from wayforward.methods.engines.finish import finished
from wayforward.methods.nearest_observable import NearestObservable, thinned
from wayforward.methods.nice import Nice
from wayforward.methods.settings import check_least, check_switches
from wayforward.neighbours import NeighbourIndex
from wayforward.problem.batching import ask, tidy
from wayforward.problem.disclosure import DisclosureWarning
from wayforward.public import public
from wayforward.ranks import rank_in_run
from wayforward.scaling import ranges
from wayforward.shapes import Actions, Floats, Ints, Mask

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem
    from wayforward.streams import Streams

_PAIRS = 1 << 22  # pairs of rows compared at once


@public
@dataclass
class Cbr(Method):
    """Reuse a native counterfactual: two people of the table, one refused and one accepted, who differ in little.

    The case base holds, of each refused row, the accepted row that differs from it in fewest features, if these are at
    most `differences`; numbers within `tolerance` standard deviations are the same. For a person the nearest refused
    rows of it are retrieved, and what their partners have there is copied. Where that does not turn the decision, the
    values of the rows nearest to the partner are tried in its place, nearest first. Who gets nothing so is answered by
    `nice`, or by `nearest-observable` where the model gives labels only, and at last by single changes.

    Good natives are rare: the authors found one for less than 1 % of the rows of most tables.
    `parameters()["natives"]`, and so `Recourse.meta`, tells the share of the refused rows compared that have one, and
    `parameters()["reusable"]` of those whose differences people may act on.

    cases: natives tried for each person. neighbours: rows whose values are tried in place of a partner's. pool: at most
    so many refused and so many accepted rows are compared, evenly taken from the table; None for all. fall_back: as
    above. Not part of the published method: shrink, which gives back what the decision does not need.
    Default budget: 20,000 model rows a person. Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.recommend(problem, refused, method="cbr")``.
    Raises: ProblemError without observed people.
    Source: M. T. Keane, B. Smyth (2020), Good Counterfactuals and Where to Find Them, ICCBR; arXiv:2005.13997.
    """

    name: ClassVar[str] = "cbr"
    summary: ClassVar[str] = (
        "reuses what separates two people of the table who differ in at most two features"
    )
    citation: ClassVar[str] = "Keane & Smyth (2020), ICCBR, arXiv:2005.13997"
    needs_data: ClassVar[bool] = True
    copies_people: ClassVar[bool] = True

    differences: int = 2
    tolerance: float = 0.2
    cases: int = 5
    neighbours: int = 10
    pool: int | None = 5_000
    fall_back: bool = True
    shrink: bool = True

    def __post_init__(self) -> None:
        check_least(self, differences=1, tolerance=0.0, cases=1, neighbours=1, pool=1)
        check_switches(self, "fall_back", "shrink")

    def _fit(self, problem: Problem) -> None:
        schema, reference = problem.schema, problem.require_reference()
        good = problem.reference_reached
        no, yes = (thinned(np.unique(reference[part], axis=0), self.pool) for part in (~good, good))
        slack = np.where(schema.is_categorical, 0.0, self.tolerance * np.nanstd(reference, axis=0))
        partner, count, act = native_pairs(no, yes, slack, ranges(schema, reference)[0])
        native = count <= self.differences
        reusable = native & ~(act & ~schema.actionable).any(1)
        self.share_ = {"natives": _mean(native), "reusable": _mean(reusable)}
        self.cases_, self.acts_ = no[reusable], act[reusable]
        # The partner, and those whose values are tried in its place: rows (cases, 1 + neighbours, d).
        near = (
            NeighbourIndex(schema, yes).query(yes[partner[reusable]], min(self.neighbours + 1, len(yes))).row
        )
        self.donors_ = yes[np.concatenate([partner[reusable][:, None], near], axis=1)]
        self.index_ = NeighbourIndex(schema, self.cases_) if len(self.cases_) else None
        if self.fall_back:
            other = Nice() if int(problem.model.access) >= int(Nice.needs) else NearestObservable()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DisclosureWarning)  # this method has warned of itself
                self.other_ = other.fit(problem)

    def parameters(self) -> dict[str, Any]:
        """Return the method's own settings, and, once fitted, the shares of native and of reusable pairs."""
        return {**super().parameters(), **getattr(self, "share_", {})}

    def _recommend(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        limit = budget.rows_or(20_000)
        cap = people.rows + limit
        who, action = self._reused(people, k, limit)
        lost = np.setdiff1d(np.arange(people.n), who)
        if self.fall_back and lost.size:
            some = people.take(lost)
            more = self.other_.unjudged_actions(some, k, streams.take(lost), Budget(max(limit // 2, 1)))
            people.rows[lost] += some.rows
            place, slot = np.nonzero(~np.isnan(more).all(2))
            who = np.concatenate([who, lost[place]])
            action = np.concatenate([action, more[place, slot]])
        return finished(people, who, action, k, cap=cap, go_on=self.fall_back, shrink=self.shrink)

    def _reused(self, people: Population, k: int, limit: int) -> tuple[Ints, Floats]:
        """Return of each person the first k copies that reach the decision: who (m,), action (m, d)."""
        who, action = np.empty(0, np.int64), np.empty((0, people.d))
        if self.index_ is None:
            return who, action
        case = self.index_.query(people.x, min(self.cases, len(self.cases_))).row  # (n, cases)
        tries = self.donors_.shape[1]
        for column in range(tries):  # the partner of every case first, then who may stand in for it
            open_ = np.flatnonzero(np.bincount(who, minlength=people.n) < k)
            if not open_.size or case.shape[1] * (column + 1) > limit:
                break
            owner, of = np.repeat(open_, case.shape[1]), case[open_].reshape(-1)
            trial = tidy(people, owner, np.where(self.acts_[of], self.donors_[of, column], np.nan))
            there = np.flatnonzero(~np.isnan(trial).all(1))
            there = there[ask(people, owner[there], trial[there])[1]]
            first = there[rank_in_run(owner[there]) < k]
            who, action = np.concatenate([who, owner[first]]), np.concatenate([action, trial[first]])
        return who, action


@public
def native_pairs(no: Floats, yes: Floats, slack: Floats, width: Floats) -> tuple[Ints, Ints, Mask]:
    """Return of each row (m, d) the partner among rows (R, d) that differs in fewest features, the number of them, and
    which (m, d). Numbers within slack (d,) are the same; ties go to the least difference in widths (d,), then to the
    first."""
    m, d = no.shape
    partner, act = np.zeros(m, np.int64), np.zeros((m, d), dtype=bool)
    step = max(1, _PAIRS // max(len(yes), 1))
    for begin in range(0, m, step):
        part = slice(begin, begin + step)
        worth = np.zeros((len(no[part]), len(yes)), np.float32)
        for j in range(d):
            gap = _gap(no[part, j, None], yes[None, :, j])
            worth += np.where(gap > slack[j], 1 + np.minimum(gap / width[j], 1) / (2 * d), 0)
        partner[part] = worth.argmin(1)
        act[part] = _gap(no[part], yes[partner[part]]) > slack
    return partner, act.sum(1), act


def _gap(one: Floats, other: Floats) -> Floats:
    """Return absolute differences: 0 between two missing values, inf between a missing and a known one."""
    gap = np.abs(one - other)
    return np.where(np.isnan(gap), np.where(np.isnan(one) & np.isnan(other), 0.0, np.inf), gap)


def _mean(some: Mask) -> float:
    return float(some.mean()) if len(some) else 0.0
