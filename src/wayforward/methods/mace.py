"""mace: the cheapest option by questions to a satisfiability solver, bisecting what it may cost, with proofs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from wayforward.errors import require
from wayforward.methods.base import Budget, Method
from wayforward.methods.engines.exact.smt_models import ModelForm
from wayforward.methods.engines.exact.smt_person import cost_kind
from wayforward.methods.engines.exact.smt_search import bisected
from wayforward.methods.engines.finish import finished
from wayforward.methods.local_search import LocalSearch
from wayforward.methods.ocean import as_if_nothing_followed
from wayforward.methods.settings import check_least, check_positive, check_switches
from wayforward.model import Access
from wayforward.public import public
from wayforward.shapes import Actions, Mask

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem
    from wayforward.streams import Streams


@public
@dataclass
class Mace(Method):
    """Ask a solver whether any option costs at most so much; bisect until that is known to a thousandth.

    The formula of a person says what they may do (ranges, lattices, levels, directions, wishes), what the rules allow,
    and what the model answers, as exact numbers: linear models, forests and boosted trees, networks of rectified units.
    What the solver finds counts once the judge accepts it; where it refutes the question about any cost at all, that
    none exists is proved. A later option is the cheapest that does not change all that an earlier one changes. Costs
    are sums of steps (the published distance: `LpMix(per_feature=True)`), the greatest step, or the Euclidean norm,
    which is hard for the solver. Where something follows from an act, it searches as if nothing did, and goes on by
    single changes: `mint` knows what follows.

    precision: a share of the cost. work: what the solver may spend on a person, in its own units, so that answers do
    not depend on the machine; whoever needs more keeps what was found so far. Networks of which more than 40 units may
    turn are left to the first search. Not part of the published method: incumbent, which starts from the options of
    `local-search` and asks first whether anything is cheaper; False starts from nothing. Default budget: 20,000 model
    rows a person, for the first search. Needs z3 (extra `smt`).
    Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.recommend(problem, refused, method="mace")``.
    Raises: UnsupportedModel for another model; ProblemError for another cost; MissingExtra without z3.
    Source: A.-H. Karimi, G. Barthe, B. Balle, I. Valera (2020), Model-Agnostic Counterfactual Explanations for
    Consequential Decisions, AISTATS; arXiv:1905.11190.
    """

    name: ClassVar[str] = "mace"
    summary: ClassVar[str] = "small models: the cheapest option by a satisfiability solver, proved"
    citation: ClassVar[str] = "Karimi, Barthe, Balle & Valera (2020), AISTATS, arXiv:1905.11190"
    needs: ClassVar[int] = Access.LABEL
    exact: ClassVar[bool] = True
    least_cost: ClassVar[bool] = True

    precision: float = 1e-3
    work: int = 20_000_000
    incumbent: bool = True

    def __post_init__(self) -> None:
        check_least(self, work=1)
        check_positive(self, "precision")
        check_switches(self, "incumbent")

    def _fit(self, problem: Problem) -> None:
        require("z3", extra="smt")
        self.alone_ = None if self._knows(problem) else as_if_nothing_followed(problem)
        question = problem if self.alone_ is None else self.alone_
        self.model_, self.kind_ = ModelForm.of(question, self.name), cost_kind(question, self.name)
        self.first_ = LocalSearch().fit(problem) if self.incumbent else None

    def _knows(self, problem: Problem) -> bool:
        return problem.independent

    def _recommend(
        self, people: Population, k: int, streams: Streams, budget: Budget
    ) -> tuple[Actions, Mask]:
        start = np.full((people.n, 1, people.d), np.nan)
        if self.first_ is not None:
            start = self.first_.unjudged_actions(people, k, streams, budget)
        if self.alone_ is not None:
            return self._gone_on(people, start, k, budget), np.zeros(people.n, dtype=bool)
        got = bisected(people, self.model_, self.kind_, start, self.precision, self.work, k)
        return self._tidied(people, got.action, k, people.rows + budget.rows_or(20_000)), got.none

    def _gone_on(self, people: Population, start: Actions, k: int, budget: Budget) -> Actions:
        assert self.alone_ is not None
        other = self.alone_.population(people.x, people.wishes)
        nothing = np.full((people.n, 1, people.d), np.nan)
        found = bisected(other, self.model_, self.kind_, nothing, self.precision, self.work, k).action
        found = np.concatenate([found, start], axis=1)
        who, slot = np.nonzero(~np.isnan(found).all(2))
        cap = people.rows + budget.rows_or(20_000)
        return finished(people, who, found[who, slot], k, cap=cap, go_on=True, shrink=True)

    def _tidied(self, people: Population, found: Actions, k: int, cap: np.ndarray) -> Actions:
        """Each option polished: what the solver finds lies within a thousandth of the least that would do."""
        who, slot = np.nonzero(~np.isnan(found).all(2))
        out = found.copy()
        for option in range(k):
            some = slot == option
            better = finished(
                people, who[some], found[who[some], option], 1, cap=cap, go_on=False, shrink=True
            )
            there = ~np.isnan(better[:, 0]).all(1)
            out[there, option] = better[there, 0]
        return out
