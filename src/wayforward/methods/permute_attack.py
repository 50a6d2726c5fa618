"""permute-attack: few features take values of other people, by a genetic search over columns of the table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from wayforward.methods.base import Budget
from wayforward.methods.engines.breeding import BreedingMethod
from wayforward.methods.engines.polish import revert
from wayforward.methods.engines.population import Evolution, Individuals, Values, crossed
from wayforward.methods.settings import check_least, require_setting
from wayforward.model import Access
from wayforward.public import public
from wayforward.ranks import rank_in_run
from wayforward.shapes import Actions, Floats, Ints

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem
    from wayforward.streams import Streams

_RUNS = 20  # streams are numbered for so many
_FRESH = 5  # one child in so many begins anew
_CHANGES, _COST = 0.6, 0.2  # weights of the share of features changed and of the cost, as published


@public
@dataclass
class PermuteAttack(BreedingMethod):
    """Give a few features values that other people have there, until the decision turns with as few changes as can be.

    What is minimised is the square of what is missing for a yes, plus alpha times the changes and their cost; alpha is
    lowered while the best candidate is still refused. In each generation the best `parents` stay, each two of them
    cross feature by feature, and every child has one feature drawn from its column; features that it changes already
    are drawn e^2 times less often. One child in five begins anew, which is not part of the published method. A run that
    finds nothing is followed by one that begins with one more change. No value is set that nobody in the table has
    there, and what the decision does not need is given back.

    population, parents, generations: sizes of a run. runs: at most. patience: a run ends when its best candidate is
    accepted and has been the same for so many generations. decay: of alpha, each time.
    Default budget: 20,000 model rows a person. Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.recommend(problem, refused, method="permute-attack")``.
    Raises: ProblemError without observed people.
    Source: M. Hashemi, A. Fathi (2020), PermuteAttack: Counterfactual Explanation of Machine Learning Credit
    Scorecards; arXiv:2008.10138.
    """

    name: ClassVar[str] = "permute-attack"
    summary: ClassVar[str] = "few features take values of other people, by a genetic search over columns"
    citation: ClassVar[str] = "Hashemi & Fathi (2020), arXiv:2008.10138"
    needs: ClassVar[int] = Access.LABEL
    needs_data: ClassVar[bool] = True

    population: int = 30
    parents: int = 10
    generations: int = 50
    runs: int = 10
    patience: int = 8
    decay: float = 0.95

    def __post_init__(self) -> None:
        check_least(self, population=2, parents=1, generations=1, runs=1, patience=1)
        require_setting(self, "runs", self.runs <= _RUNS, f"Use at most {_RUNS} runs.")
        require_setting(self, "decay", 0 < self.decay <= 1, "Use a factor above 0, at most 1.")

    def _fit(self, problem: Problem) -> None:
        self.reference_ = problem.require_reference()

    def _width(self, d: int) -> int:
        return 2 * self.population

    def _bred(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        values = Values(people, self.reference_, observed=True)
        cap = people.rows + budget.rows_or(20_000)
        search = Evolution(people, streams, cap, max(4, 2 * k), values=values, fewest=True)
        for run in range(self.runs):
            at = np.flatnonzero(~search.archive.reached.any(1))
            at = at[~search.spent(at)]
            if not at.size:
                break
            self._run(search, at, values, run)
        who, action = search.options()
        action = revert(people, who, action, np.nan_to_num(people.parts(who, action)), sweeps=2)
        order = np.lexsort((people.cost(who, action), (~np.isnan(action)).sum(1), who))
        who, action = who[order], action[order]
        rank = rank_in_run(who)
        out = np.full((people.n, k, people.d), np.nan)
        out[who[rank < k], rank[rank < k]] = action[rank < k]
        return out

    def _run(self, search: Evolution, at: Ints, values: Values, run: int) -> None:
        """Evolve people at (q,) from candidates with run + 1 changes."""
        tag = 10_000 * (run + 1)
        pool = search.evaluate(at, self._anew(search, at, values, self.population, run + 1, tag))
        alpha, calm = np.ones(len(at)), np.zeros(len(at), dtype=np.int64)
        pool = pool.best(self._loss(search, at, pool, alpha), self.population)
        for turn in range(1, self.generations + 1):
            parents = pool.best(self._loss(search, at, pool, alpha), self.parents)
            bred = self._children(search, at, parents, values, tag + 32 * turn)
            fresh = self._anew(search, at, values, self.population // _FRESH, run + 1, tag + 32 * turn + 8)
            children = search.evaluate(at, np.concatenate([bred, fresh], axis=1))
            both = parents.and_also(children)
            after = both.best(self._loss(search, at, both, alpha), self.population)
            good = after.reached[:, 0]
            calm = np.where(good & (after.key[:, 0] == pool.key[:, 0]), calm + 1, 0)
            alpha = np.where(good, alpha, alpha * self.decay)
            on = np.flatnonzero((calm < self.patience) & ~search.spent(at))
            at, alpha, calm, pool = at[on], alpha[on], calm[on], after.take(on)
            if not at.size:
                return

    def _anew(self, search: Evolution, at: Ints, values: Values, many: int, changes: int, tag: int) -> Floats:
        """Return actions (q, many, d) that set so many features to values of their columns."""
        new = np.zeros((len(at), many, search.people.d), dtype=bool)
        for change in range(min(changes, new.shape[2])):
            new |= search.one_gene(at, (~new).astype(float), tag + change)
        return search.drawn(at, values, new, tag + changes)

    def _loss(self, search: Evolution, at: Ints, pool: Individuals, alpha: Floats) -> Floats:
        changes = (~np.isnan(pool.action)).mean(2)
        effort = _CHANGES * changes + _COST * np.where(np.isfinite(pool.cost), pool.cost, 0.0)
        return np.asarray(search.gap(at, pool) ** 2 + alpha[:, None] * effort)

    def _children(
        self, search: Evolution, at: Ints, parents: Individuals, values: Values, tag: int
    ) -> Floats:
        many = np.maximum(parents.there.sum(1), 1)[:, None]
        place = np.arange(max(self.population - self.parents, 1))
        one, other = (parents.at((place + step) % many).action for step in (0, 1))
        child = crossed(one, other, search.draw(at, *one.shape[1:], tag=tag) < 0.5)
        new = search.one_gene(at, np.where(np.isnan(child), 1.0, np.exp(-2.0)), tag + 1)
        drawn = search.drawn(at, values, new, tag + 2)
        return np.where(np.isnan(drawn), child, drawn)
