"""What methods that read a local tree share: draw, fit, take the best leaves, ask the model itself, go on."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.methods.base import Budget, check_k, check_seed
from wayforward.methods.engines.breeding import BreedingMethod
from wayforward.methods.engines.finish import finished
from wayforward.methods.engines.population import Values
from wayforward.methods.engines.surrogate.neighbourhood import Neighbourhood, size_within
from wayforward.methods.engines.surrogate.rules import LocalRules, local_rules
from wayforward.methods.engines.surrogate.trees import LocalTrees, OwnBoxes
from wayforward.methods.settings import check_least, check_switches
from wayforward.ranks import rank_in_run
from wayforward.shapes import Actions, Floats, Ints
from wayforward.streams import Streams

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem

_HELD_BACK = 0x4EBACC  # beside the seed: of rows that no tree is fitted to


@dataclass
class LocalTreeMethod(BreedingMethod):
    """A method that reads a tree fitted around each person; it writes `_drawn`, `_tree` and `_price`.

    samples: rows drawn for each person. depth: splits of a tree, one below the other, at most. leaf: rows of a leaf, at
    least. complete, shrink: see `finished`.
    """

    samples: int = 500
    depth: int = 8
    leaf: int = 2
    complete: bool = True
    shrink: bool = True

    def __post_init__(self) -> None:
        check_least(self, samples=10, depth=1, leaf=1)
        check_switches(self, "complete", "shrink")

    def _fit(self, problem: Problem) -> None:
        self.reference_ = problem.reference

    def rules(self, x: Any, k: int = 1, *, seed: int = 0) -> list[LocalRules]:
        """Return of each person whom the model refuses the rules that their options come from, k contrasts at most.

        People whom it accepts are left out. x: a table of people or an (n, d) array; seed: that of `recommend`.
        Raises: MethodError before `fit`, or for k or seed; DataError for people who do not fit the schema.
        """
        problem = self._fitted_problem()
        check_k(k)
        check_seed(seed)
        people = problem.population(problem.schema.encode(x))
        people = people.take(np.flatnonzero(~problem.reached(people.x)[0]))
        if not people.n:
            return []
        streams, people = [Streams.of(people.x, one) for one in (seed, seed + _HELD_BACK)], self._seen(people)
        limit = self._limit(Budget())
        near, trees, price = self._surrogate(people, streams[0], limit)
        new = self._around(people, streams[1], limit)
        return local_rules(people.schema, near, new, trees, price, k)

    def _width(self, d: int) -> int:
        return self.samples

    def _limit(self, budget: Budget) -> int:
        return budget.rows_or(20_000)

    def _bred(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        limit = self._limit(budget)
        cap = people.rows + limit
        near, trees, price = self._surrogate(people, streams, limit)
        found, _ = OwnBoxes(people, trees, price).usable(2 * k, max(limit // 4, 1))
        who, slot = np.nonzero(~np.isnan(found).all(2))
        action = found[who, slot]
        if self.complete:
            lost = np.setdiff1d(np.arange(people.n), who)
            owner, rows = _accepted_rows(people, lost, near, k)
            who, action = np.concatenate([who, owner]), np.concatenate([action, rows])
        return finished(people, who, action, k, cap=cap, go_on=self.complete, shrink=self.shrink)

    def _surrogate(
        self, people: Population, streams: Streams, limit: int
    ) -> tuple[Neighbourhood, LocalTrees, Floats]:
        """Return the rows, the trees, and the price (b,) of each leaf, inf where it is no contrast."""
        near = self._around(people, streams, limit)
        trees = self._tree(people, near)
        return near, trees, np.where(trees.yes & ~trees.home, self._price(trees), np.inf)

    def _around(self, people: Population, streams: Streams, limit: int) -> Neighbourhood:
        values = Values(people, self.reference_, observed=True)
        return self._drawn(people, streams, values, size_within(self.samples, limit), limit)

    def _seen(self, people: Population) -> Population:
        """Return people as trees see them, by default as they are."""
        return people

    @abstractmethod
    def _drawn(
        self, people: Population, streams: Streams, values: Values, size: int, limit: int
    ) -> Neighbourhood:
        """Draw so many rows of each person, asking about at most half of limit."""

    @abstractmethod
    def _tree(self, people: Population, near: Neighbourhood) -> LocalTrees:
        """Fit the trees."""

    @abstractmethod
    def _price(self, trees: LocalTrees) -> Floats:
        """Return how far each leaf (b,) is for its person: the least is taken."""


def _accepted_rows(people: Population, lost: Ints, near: Neighbourhood, k: int) -> tuple[Ints, Floats]:
    """Return of people (m,) the k cheapest rows of theirs that the model accepts: who (q,), action (q, d)."""
    row, place = np.nonzero(near.reached[lost])
    who = lost[row]
    value = near.value[who, place]
    action = np.where(people.schema.differs(value, people.x[who]), value, np.nan)
    order = np.lexsort((np.arange(len(who)), people.cost(who, action), who))
    order = order[rank_in_run(who[order]) < k]
    return who[order], action[order]
