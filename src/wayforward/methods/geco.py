"""geco: begin with every change of one feature alone, and add or unite changes while that pays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from wayforward.methods.base import Budget
from wayforward.methods.engines.breeding import BreedingMethod
from wayforward.methods.engines.finish import finished
from wayforward.methods.engines.population import Evolution, Individuals, Values, features_changed, united
from wayforward.methods.settings import check_least, check_switches
from wayforward.model import Access
from wayforward.public import public
from wayforward.shapes import Actions, Floats, Ints, Mask

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem
    from wayforward.streams import Streams

_WORSE = 1e6  # how much worse than any accepted candidate a refused one is
_LEAD = 5


@public
@dataclass
class GeCo(BreedingMethod):
    """Find options with few changes: seeds change one feature each, mutation adds a feature, crossover unites changes.

    Selective mutation changes a feature that the candidate leaves alone; selective crossover unites the changes of two
    candidates that change different features. The best `keep` stay: accepted ones by cost, then refused ones by cost
    and by how much is missing. The search ends when the five best stay the same. Values are drawn as often as people of
    the table have them, within what schema, rules and wishes allow: no rule is ever broken on the way. Where no feature
    has more than `seeds` values and there are at most `crosses` pairs of seeds, every pair of values is tried:
    of options with at most two changes it returns the cheapest.

    keep: candidates that stay. seeds: values tried of each feature at the start. mutants, crosses: children in each of
    at most `rounds` generations. Not part of the published method: complete, which goes on by single changes for whom
    nothing was found; shrink, which gives back what the decision does not need.
    Default budget: 20,000 model rows a person. Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.recommend(problem, refused, method="geco", k=3)``.
    Source: M. Schleich, Z. Geng, Y. Zhang, D. Suciu (2021), GeCo: Quality Counterfactual Explanations in Real Time,
    PVLDB 14(9); arXiv:2101.01292.
    """

    name: ClassVar[str] = "geco"
    summary: ClassVar[str] = (
        "a genetic search from changes of one feature to changes of few, with values of people"
    )
    citation: ClassVar[str] = "Schleich, Geng, Zhang & Suciu (2021), PVLDB 14(9), arXiv:2101.01292"
    needs: ClassVar[int] = Access.LABEL

    keep: int = 100
    seeds: int = 20
    mutants: int = 100
    crosses: int = 200
    rounds: int = 30
    least: int = 3
    complete: bool = True
    shrink: bool = True

    def __post_init__(self) -> None:
        check_least(self, keep=_LEAD, seeds=1, mutants=1, crosses=1, rounds=1, least=1)
        check_switches(self, "complete", "shrink")

    def _fit(self, problem: Problem) -> None:
        self.reference_ = problem.reference
        one, other = np.triu_indices(self.keep, 1)
        best = np.lexsort((one, one + other))  # pairs of good candidates come first
        self.pairs_ = np.stack([one[best], other[best]])

    def _width(self, d: int) -> int:
        return max(self.seeds * d, self.keep + self.mutants + self.crosses)

    def _bred(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        cap = people.rows + budget.rows_or(20_000)
        search = Evolution(people, streams, cap, max(4, 2 * k))
        values = Values(people, self.reference_, observed=True)
        at = np.arange(people.n)
        seeds = search.evaluate(at, self._seeds(search, values))
        pool = self._best(search, at, seeds)
        # What a rule forbids alone it may allow together: such seeds are no candidates, but may unite.
        order = np.argsort(self._worth(search, at, seeds), axis=1, kind="stable")[:, : self.keep]
        parents = seeds.at(order)
        crosses = self._crosses(parents.action, np.isfinite(parents.cost))
        for turn in range(1, self.rounds + 1):
            mutants = self._mutants(search, at, pool, values, 8 * turn)
            children = search.evaluate(at, np.concatenate([mutants, crosses], axis=1))
            after = self._best(search, at, pool.and_also(children))
            same = (after.key[:, :_LEAD] == pool.key[:, :_LEAD]).all(1) & (turn >= self.least)
            on = ~same & ~search.spent(at)
            at, pool = at[on], after.take(np.flatnonzero(on))
            if not at.size:
                break
            crosses = self._crosses(pool.action, pool.there)
        who, action = search.options()
        return finished(people, who, action, k, cap=cap, go_on=self.complete, shrink=self.shrink)

    def _worth(self, search: Evolution, at: Ints, pool: Individuals) -> Floats:
        return np.asarray(pool.cost + search.gap(at, pool) + np.where(pool.reached, 0.0, _WORSE))

    def _best(self, search: Evolution, at: Ints, pool: Individuals) -> Individuals:
        return pool.best(self._worth(search, at, pool), self.keep)

    def _seeds(self, search: Evolution, values: Values) -> Floats:
        """Return actions (n, features x seeds, d) that change one feature each."""
        people = search.people
        everybody = np.arange(people.n)
        share = search.draw(everybody, people.d, self.seeds, tag=0)
        features = np.flatnonzero(people.schema.actionable)  # not who happens to be asked together
        out = np.full((people.n, len(features) * self.seeds, people.d), np.nan)
        for place, j in enumerate(features.tolist()):
            some = slice(place * self.seeds, (place + 1) * self.seeds)
            out[:, some, j] = values.spread(everybody, j, self.seeds, share[:, j])
        return out

    def _mutants(self, search: Evolution, at: Ints, pool: Individuals, values: Values, tag: int) -> Floats:
        """Return actions (q, mutants, d): of the best candidates, each with one more feature changed."""
        many = np.maximum(pool.there.sum(1), 1)
        parent = pool.at(np.arange(self.mutants) % many[:, None])
        new = search.one_gene(at, np.isnan(parent.action).astype(float), tag)
        return united(search.drawn(at, values, new, tag + 1), parent.action)

    def _crosses(self, action: Floats, there: Mask) -> Floats:
        """Return actions (q, crosses, d): what the first pairs that change different features do together."""
        one, other = self.pairs_[:, (self.pairs_ < action.shape[1]).all(0)]
        features = features_changed(action)
        differ = (features[:, one] != features[:, other]) & there[:, one] & there[:, other]
        rank = np.cumsum(differ, axis=1)
        row, pair = np.nonzero(differ & (rank <= self.crosses))
        out = np.full((len(differ), self.crosses, action.shape[2]), np.nan)
        out[row, rank[row, pair] - 1] = united(action[row, one[pair]], action[row, other[pair]])
        return out
