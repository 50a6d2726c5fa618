"""clear: where single changes turn the decision, and an equation around the person whose fidelity is measured there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from wayforward.methods.base import Budget, check_seed
from wayforward.methods.engines.breeding import BreedingMethod
from wayforward.methods.engines.finish import finished
from wayforward.methods.engines.population import Values
from wayforward.methods.engines.surrogate.crossings import Crossings, crossings
from wayforward.methods.engines.surrogate.neighbourhood import Neighbourhood, drawn_around, size_within
from wayforward.methods.engines.surrogate.polynomials import Polynomials, fitted_polynomials
from wayforward.methods.settings import check_least, check_switches
from wayforward.model import Access
from wayforward.problem.batching import ask, tidy
from wayforward.public import public
from wayforward.ranks import rank_in_run
from wayforward.scaling import scales
from wayforward.shapes import Actions, Floats, Ints, Mask
from wayforward.streams import Streams

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem

_BANDS = (-2.2, -0.41, 0.41, 2.2)  # log-odds of .1, .4, .6 and .9: rows are taken evenly from between them
_WEIGHT = 9.0  # of a row on the boundary, as published


@public
@dataclass
class Clear(BreedingMethod):
    """Find where each feature alone turns the decision, and explain it by an equation that has to find the same places.

    Every number is followed to both ends of what the person may do, every other level is tried: each change that turns
    the decision is an option. `surrogate(x)` fits to each person a polynomial of the score, term after term, exact at
    the person, from rows balanced over bands of probability and the options found; `counterfactual_fidelity` of
    `wayforward.evaluate.fidelity` tells how often it puts the boundary within a quarter deviation of where it is, and
    does so for any surrogate. Who asks about consequences in a causal world gets an equation of acts.

    grid: values each way before bisection. samples: rows drawn for the equation; rows: of them that it is fitted to.
    terms: at most. Not part of the published method, whose changes are of one feature: complete, which goes on by
    several changes for whom none alone will do; shrink, which gives back what the decision does not need.
    Published: samples=50000, complete=False, shrink=False.
    Default budget: 20,000 model rows a person. Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``print(wf.method("clear").fit(problem).surrogate(refused).equation(0))``.
    Source: A. White, A. d'Avila Garcez (2020), Measurable Counterfactual Local Explanations for Any Classifier, ECAI;
    arXiv:1908.03020.
    """

    name: ClassVar[str] = "clear"
    summary: ClassVar[str] = (
        "single changes that turn the decision, and an equation whose fidelity is measured there"
    )
    citation: ClassVar[str] = "White & d'Avila Garcez (2020), ECAI, arXiv:1908.03020"
    needs: ClassVar[int] = Access.LABEL

    grid: int = 30
    samples: int = 2_000
    rows: int = 200
    terms: int = 15
    complete: bool = True
    shrink: bool = True

    def __post_init__(self) -> None:
        check_least(self, grid=1, samples=10, rows=10, terms=1)
        check_switches(self, "complete", "shrink")

    def _fit(self, problem: Problem) -> None:
        self.reference_ = problem.reference
        typical = problem.typical_people() if problem.reference is None else problem.reference
        self.scale_ = scales(problem.schema, typical, "std")

    def _width(self, d: int) -> int:
        return 2 * self.grid

    def _bred(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        limit = budget.rows_or(20_000)
        cap = people.rows + limit
        found = self._alone(people, max(1, min(self.grid, limit // (4 * people.d))))
        who, action = _options(people, found)
        if len(who):
            who, action = _cheapest(people, who, action, 2 * k)
        return finished(people, who, action, k, cap=cap, go_on=self.complete, shrink=self.shrink)

    def _alone(self, people: Population, grid: int) -> Crossings:
        """Where each feature alone turns the decision, as far as people may go."""

        def turned(who: Ints, j: Ints, value: Floats) -> Mask:
            rows = tidy(people, who, _one(people.d, j, value))
            there = np.flatnonzero(~np.isnan(rows).all(1))
            out = np.zeros(len(who), dtype=bool)
            out[there] = ask(people, who[there], rows[there])[1]
            return out

        return crossings(
            people.schema, people.x, people.low, people.high, people.free, people.levels, turned, grid
        )

    def surrogate(self, x: Any, *, seed: int = 0) -> Polynomials:
        """Return an equation for each person: callable as (people (m,), rows (m, d)) -> scores (m,).

        x: a table of people or an (n, d) array. Raises: MethodError before `fit`; DataError.
        """
        problem = self._fitted_problem()
        check_seed(seed)
        people = problem.population(problem.schema.encode(x))
        streams = Streams.of(people.x, seed)
        found = self._alone(people, self.grid)
        who, action = _options(people, found)
        values = Values(people, self.reference_, observed=True)
        near = drawn_around(people, streams, values, size_within(self.samples, 2 * self.samples), self.scale_)
        everybody = np.arange(people.n)
        start = people.score(everybody, people.x)
        most = int(np.bincount(who, minlength=people.n).max(initial=0))
        edge = np.repeat(people.x[:, None], most, axis=1)
        edge[who, rank_in_run(who)] = np.where(np.isnan(action), people.x[who], action)
        on = np.arange(most) < np.bincount(who, minlength=people.n)[:, None]
        place, chosen = self._chosen(people, near)
        value = np.concatenate([near.value[everybody[:, None], place], edge], axis=1)
        score = np.concatenate([near.score[everybody[:, None], place], np.zeros(on.shape)], axis=1)
        weight = np.concatenate([chosen.astype(np.float64), np.where(on, _WEIGHT, 0.0)], axis=1)
        if who.size:  # what the model says on its boundary
            score[who, place.shape[1] + rank_in_run(who)] = ask(people, who, action)[0]
        score = np.where(weight > 0, score, 0.0)
        free = np.asarray(people.free.any(0))
        return fitted_polynomials(
            people.schema, people.x, value, score, weight, start, self.scale_, free, most=self.terms
        )

    def _chosen(self, people: Population, near: Neighbourhood) -> tuple[np.ndarray, Mask]:
        """Return places (n, rows) of rows, as many from each band of the score as there are, the nearest first, and
        which of them there are (n, rows)."""
        gap = (near.value - people.x[:, None]) / self.scale_
        level = people.schema.has_levels
        gap[..., level] = people.schema.differs(near.value, people.x[:, None])[..., level]
        far = np.sqrt((np.nan_to_num(gap) ** 2).sum(2))
        there = np.isfinite(near.score)
        band = np.searchsorted(_BANDS, near.score)  # 0 and 4: beyond the bands
        key = np.where(there, far, np.inf)
        rank = np.zeros(key.shape)
        for one in (1, 2, 3):
            mine = (band == one) & there
            order = np.where(mine, key, np.inf).argsort(1, kind="stable").argsort(1, kind="stable")
            rank = np.where(mine, order, rank)
        outside = ((band == 0) | (band == len(_BANDS))) & there
        rank = np.where(outside, self.samples + key, np.where(there, rank, np.inf))
        place = rank.argsort(1, kind="stable")[:, : self.rows]
        return place, np.take_along_axis(there, place, 1)


def _one(d: int, j: Ints, value: Floats) -> Floats:
    """Actions (m, d) that set feature j (m,) to value (m,) alone."""
    out = np.full((len(j), d), np.nan)
    out[np.arange(len(j)), j] = value
    return out


def _options(people: Population, found: Crossings) -> tuple[Ints, Floats]:
    """Single changes that turn the decision: who (m,) in order, action (m, d) as the person may do it."""
    who, j, side = np.nonzero(~np.isnan(found.after))
    owner, column = np.nonzero(found.levels)
    schema = people.schema
    value = np.concatenate([found.after[who, j, side], schema.level_index[column].astype(np.float64)])
    who, j = np.concatenate([who, owner]), np.concatenate([j, schema.level_owner[column]])
    order = np.lexsort((j, who))
    action = tidy(people, who[order], _one(people.d, j[order], value[order]))
    there = ~np.isnan(action).all(1)
    return who[order][there], action[there]


def _cheapest(people: Population, who: Ints, action: Floats, most: int) -> tuple[Ints, Floats]:
    order = np.lexsort((people.cost(who, action).round(12), who))
    order = order[rank_in_run(who[order]) < most]
    return who[order], action[order]
