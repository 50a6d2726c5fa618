"""moc: options none of which beats another in nearness, number of changes and likeness to observed people (NSGA-II)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from wayforward.methods.base import Budget
from wayforward.methods.engines.breeding import BreedingMethod
from wayforward.methods.engines.finish import finished
from wayforward.methods.engines.fronts import Front, best_first
from wayforward.methods.engines.population import Evolution, Individuals, Values, blended
from wayforward.methods.nearest_observable import thinned
from wayforward.methods.settings import check_least, check_switches, require_setting
from wayforward.model import Access
from wayforward.neighbours import NeighbourIndex
from wayforward.public import public
from wayforward.scaling import ranges
from wayforward.shapes import Actions, Floats, Ints

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem
    from wayforward.streams import Streams

_CURVE = 5  # values of a feature that tell how much the score hangs on it
_STEP = 0.1  # of mutations of numbers, in ranges


@public
@dataclass
class Moc(BreedingMethod):
    """Breed options by NSGA-II in four objectives, and return the front: what nothing that was seen beats.

    The objectives, all to be small: how far the score is from the decision (0 where it is turned); Gower's distance
    from the person; the number of features acted on; Gower's distance to the nearest observed person. Candidates that
    do not turn the decision come after all that do, by how much they lack. The first ones change a feature the more
    likely the more the score moves with it alone. With k=1 the cheapest of the front is returned, else up to k of it
    that lie far apart, those at the ends first. As published, an option may hold an act that only makes it more like
    what was observed (`minimal=False`).

    population, generations: sizes of the search. cross, cross_gene, mutate, mutate_gene: chances that two parents
    cross, each of their features does, a child mutates, each of its features does; reset: that a feature of a mutated
    child goes back to the person's own value. front: options remembered. pool: observed people to be near to, evenly
    taken from the table; None for all. complete (not part of the published method): go on by single changes for whom no
    option was found.
    Default budget: 20,000 model rows a person. Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.recommend(problem, refused, method="moc", k=8)``.
    Raises: ProblemError without observed people.
    Source: S. Dandl, C. Molnar, M. Binder, B. Bischl (2020), Multi-Objective Counterfactual Explanations, PPSN;
    arXiv:2004.11165.
    """

    name: ClassVar[str] = "moc"
    summary: ClassVar[str] = "a front of options: near, with few changes, like observed people; by NSGA-II"
    citation: ClassVar[str] = "Dandl, Molnar, Binder & Bischl (2020), PPSN, arXiv:2004.11165"
    needs: ClassVar[int] = Access.LABEL
    needs_data: ClassVar[bool] = True

    population: int = 20
    generations: int = 60
    cross: float = 0.71
    cross_gene: float = 0.62
    mutate: float = 0.73
    mutate_gene: float = 0.5
    reset: float = 0.4
    front: int = 50
    pool: int | None = 1_000
    complete: bool = True

    def __post_init__(self) -> None:
        check_least(self, population=4, generations=1, front=2, pool=1)
        check_switches(self, "complete")
        for setting in ("cross", "cross_gene", "mutate", "mutate_gene", "reset"):
            require_setting(self, setting, 0 <= getattr(self, setting) <= 1, "Use a share between 0 and 1.")

    def _fit(self, problem: Problem) -> None:
        reference = problem.require_reference()
        self.reference_ = reference
        self.width_, _ = ranges(problem.schema, reference)
        self.observed_ = NeighbourIndex(problem.schema, thinned(reference, self.pool), scale=self.width_)
        self.rows_ = thinned(np.unique(problem.reference_accepted, axis=0), self.pool)
        self.accepted_ = NeighbourIndex(problem.schema, self.rows_, scale=self.width_)

    def _width(self, d: int) -> int:
        return self.front + 2 * self.population

    def _bred(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        cap = people.rows + budget.rows_or(20_000)
        front = self._search(people, streams, cap)
        who, place = np.nonzero(front.there)
        out = front.options(k)
        lost = np.setdiff1d(np.arange(people.n), who)
        if self.complete and lost.size:
            action = front.found.action[who, place]
            out[lost] = finished(people, who, action, k, cap=cap, go_on=True, shrink=False)[lost]
        return out

    def _search(self, people: Population, streams: Streams, cap: Ints) -> Front:
        """Breed for everybody, and return what nothing that was seen beats."""
        search = Evolution(people, streams, cap, 1)
        values = Values(people, self.reference_, observed=True)
        at = np.arange(people.n)
        front = Front(people.n, self.front, people.d, 3)
        herd = search.evaluate(at, self._first(search, values, front))
        value = self._objectives(people, at, herd)
        front.add(at, herd, value)
        for turn in range(1, self.generations + 1):
            herd, value = self._sorted(search, at, herd, value)
            on = np.flatnonzero(~search.spent(at))
            at, herd, value = at[on], herd.take(on), value[on]
            if not at.size:
                break
            children = search.evaluate(at, self._children(search, at, herd, values, 64 + 16 * turn))
            worth = self._objectives(people, at, children)
            front.add(at, children, worth)
            herd, value = herd.and_also(children), np.concatenate([value, worth], axis=1)
        return front

    def _objectives(self, people: Population, at: Ints, found: Individuals) -> Floats:
        """(q, P, 3) distance, number of changes, distance to the nearest observed person; inf where not turned."""
        out = np.full((*found.reached.shape, 3), np.inf)
        row, place = np.nonzero(found.reached)
        who, action = at[row], found.action[row, place]
        after = people.after(who, action)
        gap = np.abs(after - people.x[who]) / self.width_
        gap = np.where(people.schema.is_categorical, gap > 0, np.minimum(gap, 1.0))
        gone = np.isnan(after) != np.isnan(people.x[who])
        out[row, place, 0] = np.where(gone, 1.0, np.nan_to_num(gap)).mean(1)
        out[row, place, 1] = (~np.isnan(action)).sum(1)
        if len(row):
            out[row, place, 2] = self.observed_.query(after, 1).distance[:, 0] / people.d
        return out.round(9)  # sums in another order are no better

    def _sorted(
        self, search: Evolution, at: Ints, herd: Individuals, value: Floats
    ) -> tuple[Individuals, Floats]:
        """Return those who stay (q, population), best first: by fronts and crowding, then who lacks least."""
        order = best_first(herd, value, search.gap(at, herd))[:, : self.population]
        return herd.at(order), np.take_along_axis(value, order[:, :, None], 1)

    def _first(self, search: Evolution, values: Values, front: Front) -> Floats:
        """Return actions (n, P, d) that change a feature the more likely the more the score hangs on it, and those that
        make people like the nearest accepted rows."""
        people = search.people
        everybody = np.arange(people.n)
        share = search.draw(everybody, people.d, _CURVE, tag=0)
        sway = np.zeros((people.n, people.d))
        for j in np.flatnonzero(people.schema.actionable).tolist():
            action = np.full((people.n, _CURVE, people.d), np.nan)
            action[:, :, j] = values.spread(everybody, j, _CURVE, share[:, j])
            curve = search.evaluate(everybody, action)
            front.add(everybody, curve, self._objectives(people, everybody, curve))
            score = np.where(curve.there, curve.score, np.nan)
            middle = np.nan_to_num(np.where(curve.there, score, 0).sum(1) / np.maximum(curve.there.sum(1), 1))
            off = np.where(curve.there, score - middle[:, None], 0.0)
            sway[:, j] = np.sqrt(np.square(off).sum(1) / np.maximum(curve.there.sum(1), 1))
        most = sway.max(1, keepdims=True)
        likely = np.where(most > 0, 0.05 + 0.85 * sway / np.maximum(most, 1e-300), 0.5)
        new = search.draw(everybody, self.population, people.d, tag=1) < likely[:, None]
        near = self.accepted_.query(people.x, min(self.population, len(self.rows_))).row
        return np.concatenate([search.drawn(everybody, values, new, 2), self.rows_[near]], axis=1)

    def _children(self, search: Evolution, at: Ints, herd: Individuals, values: Values, tag: int) -> Floats:
        people, size, d = search.people, self.population, search.people.d
        many = np.maximum(herd.there.sum(1), 1)[:, None, None]
        duel = (search.draw(at, 4, size, tag=tag) * many).astype(np.int64)  # the better of two, twice
        x = people.x[at][:, None]
        one, other = (herd.at(np.minimum(duel[:, i], duel[:, i + 1])).action for i in (0, 2))
        one, other = (np.where(np.isnan(parent), x, parent) for parent in (one, other))
        chance = search.draw(at, 2, size, tag=tag + 1)
        gene = search.draw(at, 4, size, d, tag=tag + 2)
        cross = (chance[:, 0, :, None] < self.cross) & (gene[:, 0] < self.cross_gene)
        child = np.where(
            cross, np.where(people.schema.has_levels, other, blended(one, other, gene[:, 3])), one
        )
        mutate = chance[:, 1, :, None] < self.mutate
        change = mutate & (gene[:, 1] < self.mutate_gene)
        step = search.streams.normal(at, size, d, tag=tag + 3) * _STEP * self.width_
        drawn = search.drawn(at, values, change, tag + 4)
        moved = np.where(people.schema.has_levels | np.isnan(child), drawn, child + step)
        child = np.where(change & ~np.isnan(moved), moved, child)
        return np.where(mutate & (gene[:, 2] < self.reset), np.nan, child)
