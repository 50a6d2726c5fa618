"""prince: the fewest of a person's own actions without which another item would be recommended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, get_args

import numpy as np

from wayforward.errors import UnsupportedModel
from wayforward.methods.base import Budget, Method
from wayforward.methods.engines.reference_values import Reference, reference_row, reference_values
from wayforward.methods.settings import check_choices
from wayforward.model import Access
from wayforward.problem.batching import ask, distinct_changes
from wayforward.public import public
from wayforward.ranks import rank_in_run
from wayforward.shapes import Actions

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem
    from wayforward.streams import Streams

_SPARE = 3  # rivals beyond the options that are wanted, and changes beyond those that should be enough
_LEAD = 1e-12


@public
@dataclass
class Prince(Method):
    """For each rival undo what helps today's winner most against it, until the rival leads; the smallest set wins.

    A unit is an action of a person, whose recommendations are worked out by personalised PageRank
    (`RecommenderProblem`), or a feature of a table under a linear model. What an action adds to the lead of the
    recommended item over a rival hangs on no other action, so a sorted prefix is the fewest for that rival, and the
    smallest over all rivals is the fewest there is: of a recommender, among actions that may be undone. Each option is
    the best set of another rival. On tables features take a reference value, and more of them follow where today's
    class is not the only one to beat.

    reference: what a unit becomes: 'removed' as published, or the 'mean', 'mode' or 'median' of people, or a
    'prototype', what is typical of accepted people.
    Default budget: 1,000 model rows a person. Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.RecommenderProblem(graph).recommend(["ann", "bob"], k=2)``.
    Raises: UnsupportedModel for scores that do not add up feature by feature.
    Source: A. Ghazimatin, O. Balalau, R. Saha Roy, G. Weikum (2020), PRINCE: Provider-side Interpretability with
    Counterfactual Explanations in Recommender Systems, WSDM; arXiv:1911.08378.
    """

    name: ClassVar[str] = "prince"
    summary: ClassVar[str] = "the fewest own actions without which another item would be recommended"
    citation: ClassVar[str] = "Ghazimatin, Balalau, Saha Roy & Weikum (2020), WSDM, arXiv:1911.08378"
    needs: ClassVar[int] = Access.PROBABILITY
    chunk: ClassVar[int] = 64

    reference: Reference = "removed"

    def __post_init__(self) -> None:
        check_choices(self, reference=get_args(Reference))

    def _fit(self, problem: Problem) -> None:
        empty = np.empty((0, problem.schema.d))
        if problem.model.task == "regression" or problem.model.rivals(empty, empty) is None:
            raise UnsupportedModel(
                f"'prince' needs scores that add up feature by feature: a wf.RecommenderProblem, or a linear model. "
                f"{problem.model.name} is neither; sedc and local-search take any model."
            )
        self.row_ = reference_row(problem, self.reference)

    def _recommend(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        d, everybody = people.d, np.arange(people.n)
        value = np.where(people.free, reference_values(people, self.row_), np.nan)
        found = people.problem.model.rivals(people.x, value)
        assert found is not None
        wanted = found.wanted
        if wanted is None:
            wanted = np.zeros(found.now.shape, dtype=bool)
            wanted[:, people.problem.bound_target.columns] = True
        today = np.where(wanted, -np.inf, found.now).argmax(1)  # (n,) whose lead is to end
        rivals = wanted & np.isfinite(found.now)
        gain = found.change - found.change[everybody, :, today][:, :, None]  # (n, d, q) of each rival
        gain = np.where(np.isnan(value)[:, :, None], 0.0, np.nan_to_num(gain))
        order = np.argsort(-gain, axis=1, kind="stable")
        lead = found.now - found.now[everybody, today][:, None]
        helpful = np.maximum(np.take_along_axis(gain, order, 1), 0.0)
        after = np.where(rivals, lead, -np.inf)[:, None] + np.cumsum(helpful, axis=1)  # (n, d, q) of prefixes
        ahead = after > _LEAD * np.maximum(np.abs(found.now[everybody, today]), 1e-300)[:, None, None]
        size = np.where(ahead.any(1), ahead.argmax(1) + 1, np.where(rivals, d, d + 1))  # (n, q)
        size = np.where(ahead.any(1) | (wanted.sum(1) < wanted.shape[1] - 1)[:, None], size, d + 1)
        best = np.lexsort((-after[:, -1], size), axis=1)[:, : k + _SPARE]  # (n, r)
        who, rows = [], []
        for rank in range(best.shape[1]):
            q = best[:, rank]
            first = order[everybody, :, q]  # (n, d) features, most helpful first
            place = np.argsort(first, axis=1, kind="stable")
            helps = gain[everybody, :, q] > 0
            for more in range(_SPARE + 1):
                many = size[everybody, q] + more
                row = np.where(
                    helps & (place < many[:, None]) & (size[everybody, q] <= d)[:, None], value, np.nan
                )
                who.append(everybody)
                rows.append(row)
        owner, action = np.concatenate(who), np.concatenate(rows)
        there = ~np.isnan(action).all(1)
        sort = np.flatnonzero(there)[np.argsort(owner[there], kind="stable")]
        sort = sort[rank_in_run(owner[sort]) < budget.rows_or(1_000)]
        owner, action = owner[sort], action[sort]
        reached = ask(people, owner, action)[1]
        return distinct_changes(people, owner[reached], action[reached], k)
