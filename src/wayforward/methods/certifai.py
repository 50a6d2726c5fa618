"""certifai: a genetic search among accepted rows only, for the nearest; labels suffice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from wayforward.methods.base import Budget
from wayforward.methods.engines.breeding import BreedingMethod
from wayforward.methods.engines.finish import finished
from wayforward.methods.engines.population import Evolution, Individuals, Values, by_chance, crossed
from wayforward.methods.settings import check_least, check_switches, require_setting
from wayforward.model import Access
from wayforward.public import public
from wayforward.shapes import Actions, Floats, Ints

if TYPE_CHECKING:
    from wayforward.problem import Population
    from wayforward.streams import Streams


@public
@dataclass
class Certifai(BreedingMethod):
    """Breed accepted rows: fitness is one over the cost, refused children die, the best live on.

    It begins with rows drawn evenly from all that the person may do, of which the accepted ones stay. In each
    generation parents are drawn by roulette; with probability `cross` two parents exchange a random half of their
    features, and with probability `mutate` a child has some of its features drawn again. Parents and children compete
    for the places.

    population: places of each person. generations: how often. draws: how often to begin for whom fewer than an eighth
    of the places are filled. patience: generations without a cheaper row after which a person is done. Not part of the
    published method, whose population is up to 30,000: complete, which goes on by single changes for whom no row was
    accepted; shrink, which gives back what the decision does not need (a row that changes everything is rarely cheap).
    The cost of the mean person of a group is the burden of the group that the authors measure.
    Default budget: 20,000 model rows a person. Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.recommend(problem, refused, method="certifai")``.
    Source: S. Sharma, J. Henderson, J. Ghosh (2020), CERTIFAI: A Common Framework to Provide Explanations and Analyse
    the Fairness and Robustness of Black-box Models, AIES; arXiv:1905.07857.
    """

    name: ClassVar[str] = "certifai"
    summary: ClassVar[str] = "a genetic search among accepted rows for the nearest; labels suffice"
    citation: ClassVar[str] = "Sharma, Henderson & Ghosh (2020), AIES, arXiv:1905.07857"
    needs: ClassVar[int] = Access.LABEL

    population: int = 64
    generations: int = 60
    draws: int = 8
    patience: int = 15
    cross: float = 0.5
    mutate: float = 0.2
    complete: bool = True
    shrink: bool = True

    def __post_init__(self) -> None:
        check_least(self, population=2, generations=1, draws=1, patience=1)
        for setting in ("cross", "mutate"):
            require_setting(self, setting, 0 <= getattr(self, setting) <= 1, "Use a share between 0 and 1.")
        check_switches(self, "complete", "shrink")

    def _width(self, d: int) -> int:
        return 2 * self.population

    def _bred(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        cap = people.rows + budget.rows_or(20_000)
        search = Evolution(people, streams, cap, max(4, 2 * k))
        values = Values(people, None, observed=False)
        at = np.arange(people.n)
        herd = self._first(search, values)
        calm = np.zeros(people.n, dtype=np.int64)
        for turn in range(self.generations):
            on = herd.reached[:, 0] & (calm < self.patience) & ~search.spent(at)
            at, calm, herd = at[on], calm[on], herd.take(np.flatnonzero(on))
            if not at.size:
                break
            children = search.evaluate(at, self._children(search, at, herd, values, 1000 + 8 * turn))
            after = self._best(herd.and_also(children))
            calm = np.where(after.cost[:, 0] < herd.cost[:, 0] - 1e-12, 0, calm + 1)
            herd = after
        who, action = search.options()
        return finished(people, who, action, k, cap=cap, go_on=self.complete, shrink=self.shrink)

    def _best(self, some: Individuals) -> Individuals:
        return some.best(np.where(some.reached, some.cost, np.inf), self.population)

    def _first(self, search: Evolution, values: Values) -> Individuals:
        """Return accepted rows (n, population) among evenly drawn ones."""
        people = search.people
        at, shape = np.arange(people.n), (self.population, people.d)
        herd: Individuals | None = None
        for turn in range(self.draws):
            change = np.ones((len(at), *shape), dtype=bool)
            found = search.evaluate(at, search.drawn(at, values, change, turn))
            if herd is None:
                herd = self._best(found)
            else:
                for whole, part in zip(herd, self._best(herd.take(at).and_also(found)), strict=True):
                    whole[at] = part
            few = herd.reached[at].sum(1) * 8 < self.population
            at = at[few & ~search.spent(at)]
            if not at.size:
                break
        assert herd is not None
        return herd

    def _children(self, search: Evolution, at: Ints, herd: Individuals, values: Values, tag: int) -> Floats:
        size = self.population
        chance = np.where(herd.reached, 1 / np.maximum(herd.cost, 1e-9), 0.0)
        one, other = (
            herd.at(by_chance(chance, search.draw(at, size, tag=tag + which))).action for which in (0, 1)
        )
        cross, mutate = np.moveaxis(search.draw(at, 2, size, tag=tag + 2), 1, 0) < self._rates
        half = search.draw(at, *one.shape[1:], tag=tag + 3) < 0.5
        child = crossed(one, other, half & cross[:, :, None])
        new = search.one_gene(at, np.ones(child.shape), tag + 4)
        new |= search.draw(at, *child.shape[1:], tag=tag + 5) < 1 / child.shape[2]
        drawn = search.drawn(at, values, new & mutate[:, :, None], tag + 6)
        return np.where(np.isnan(drawn), child, drawn)

    @property
    def _rates(self) -> np.ndarray:
        return np.array([self.cross, self.mutate])[:, None, None]
