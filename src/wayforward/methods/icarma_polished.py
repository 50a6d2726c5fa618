"""icarma-polished: what amortised networks and a coarse grid propose, polished by a few exact steps."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from wayforward.errors import MethodError, WorldError
from wayforward.methods.base import Budget, Method
from wayforward.methods.engines.exact.causal_grid import GridOptions, cheapest, grid_ends, grid_values
from wayforward.methods.engines.exact.causal_polish import Polish, PolishCandidates
from wayforward.methods.settings import check_choices, require_setting
from wayforward.shapes import Actions

if TYPE_CHECKING:
    from wayforward.methods.icarma import ICarma
    from wayforward.problem import Population, Problem
    from wayforward.streams import Streams
    from wayforward.world import World

_ROWS = 100_000  # model rows a person, where nobody says
_COMBINATIONS = 40_000  # of one person's coarse grid
_BINS = (49, 25, 15, 11, 7, 5)  # values of a feature in the coarse grid, by how many a person may act on
# the same for four features that all move one other: density tables would cost more than they save
_TANGLED = 13
_WIDE = (49, 9)  # values over all that is legal, beside those
_FINE = 25  # of the grid that decides for those who are left without an answer
_DEAR = 1e6  # an infinite price, so that costs still tell options apart
_NATS = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0, np.inf)  # shortfalls that are weighed where nats have a price


@dataclass
class Polished(Method):
    """Polish quick proposals in the causal world: cheaper than a grid, plausible where networks are not.

    Starts come from the networks of an `ICarma`, if one is given (its own mask and others), and from a coarse version
    of the oracle's grid. From there score and log-density are followed along their slopes, exactly as the world and
    the model say, to the cheapest point on every set of features that the person may act on; answers of one set are
    tried on the others, and holding a feature at its present value counts as an act. People without an answer are
    searched for from plausible places and at last on the oracle's own grid, so no fewer get one than from the oracle.

    plausibility: 'hard': every option is plausible as the problem says; without a plausibility of the problem, only
    the decision counts. 'price': options need not be plausible; the first option is the one with the least of its
    cost plus `price` if it is less likely than the person was (per='person'), or plus `price` for each nat of
    log-density that it falls short (per='nat'). An infinite price takes the plausible option wherever there is one.
    density: the world that tells log-densities in 'price'; None: the problem's own. icarma: fitted, or None.
    rescue: search on for people who are left without an answer.
    Default budget: 100,000 model rows a person, most of which few people need.
    Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``Polished(plausibility="price", price=0.05).fit(setting.problem()).recommend(refused)``.
    Raises: MethodError for unknown settings, from `fit` in 'price' if the problem asks for plausibility itself or no
    world tells densities.
    Source: ours; Majumdar & Valera (2024), CARMA, FAccT, and Budde et al. (2026), iCARMA, for its two parents.
    """

    name: ClassVar[str] = "icarma-polished"
    endless: ClassVar[tuple[str, ...]] = ("price",)
    summary: ClassVar[str] = (
        "amortised and coarse proposals, polished in the causal world; plausibility hard or at a price"
    )
    citation: ClassVar[str] = "ours, after Majumdar & Valera (2024), FAccT, and Budde et al. (2026)"

    plausibility: Literal["hard", "price"] = "hard"
    price: float = 0.1
    per: Literal["person", "nat"] = "person"
    density: World | None = field(default=None, repr=False)
    icarma: ICarma | None = field(default=None, repr=False)
    rescue: bool = True

    def __post_init__(self) -> None:
        check_choices(self, plausibility=("hard", "price"), per=("person", "nat"))
        require_setting(self, "price", self.price >= 0, "Use a number of at least 0, or inf.")

    def _fit(self, problem: Problem) -> None:
        self.judged_ = strict_of(problem, self.density) if self.plausibility == "price" else problem
        if self.plausibility == "price" and problem.plausibility is not None:
            raise MethodError(
                f"'{self.name}' puts a price on plausibility, and the problem demands it of every option. Leave it out "
                "of the problem and name its world here: Polished(plausibility='price', density=world)."
            )
        self.ends_ = grid_ends(problem)
        self.middle_ = _usual_noise(problem)
        moved = problem.descendants | np.eye(problem.schema.d, dtype=bool)
        together = moved[problem.schema.actionable].sum(0)  # (d,) how many acts can move each feature
        self.tangled_ = bool((together > 3).any())
        self.rounded_ = bool((problem.schema.has_levels | ~np.isnan(problem.schema.step))[together > 0].any())

    def _recommend(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        slacks = np.array([0.0])
        if self.plausibility == "price":
            slacks = np.array([0.0, np.inf]) if self.per == "person" else np.array(_NATS)
        found = self.search(people, slacks, seed=streams.seed, budget=budget)
        n, d = people.x.shape
        total, action = found.cost.reshape(n, -1).copy(), found.action.reshape(n, -1, d)
        if self.plausibility == "price":
            short = found.short.reshape(n, -1)
            total += np.where(short > 0, min(self.price, _DEAR) * (1 if self.per == "person" else short), 0.0)
        return _different_sets(total, action, k if self.plausibility == "price" else k + 2)

    # -- the search ----------------------------------------------------------------------------------------

    def search(
        self, people: Population, slacks: np.ndarray, *, seed: int = 0, budget: Budget | None = None
    ) -> Polish:
        """Return everything that is found for each person, support and slack; see `Polish`."""
        if self.judged_ is not people.problem:
            counted, people = people, self.judged_.population(people.x, people.preferences)
        else:
            counted = people
        limit = _ROWS if budget is None else budget.rows_or(_ROWS)
        work = Polish(people, people.problem.plausibility, slacks, seed=seed, limit=limit)
        parts = [
            self._coarse(work, level, limit) for level in range(len(slacks)) if slacks[level] in (0.0, np.inf)
        ]
        parts += self._amortised(work)
        starts = PolishCandidates.joined(parts)
        for level in reversed(range(len(slacks))):
            work.descend(work.chosen(starts, level, 1), level, rounds=4, cut=(99, 1))
            work.descend(work.elsewhere(level), level, cut=(3, 4))
        open_ = np.flatnonzero(~np.isfinite(work.cost[:, 0].min(1)))
        if self.rescue and open_.size:
            self._rescue(work, open_, limit)
        for level in range(len(slacks)):
            smooth = work.sloped & (not self.rounded_)
            work.tighten(level, smooth, rounds=6)
            work.tighten(level, ~smooth, rounds=14, most=3)
        counted.rows[:] = people.rows
        return work

    def _coarse(
        self, work: Polish, level: int, limit: int, bins: int | None = None, some: np.ndarray | None = None
    ) -> PolishCandidates:
        """Return the cheapest points of a coarse grid, each moving another set of features."""
        people, parts = work.people, []
        everyone = np.arange(people.n) if some is None else some
        many = people.free[everyone].sum(1)
        strict = np.isfinite(work.slacks[0, level])
        for size in np.unique(many):
            who = everyone[many == size]
            part = people.take(who)
            count = _BINS[min(int(size), len(_BINS)) - 1] if bins is None else bins
            if size == 4 and self.tangled_ and bins is None:
                count = _TANGLED
            value = grid_values(part, self.ends_, count, "range")
            if size <= len(_WIDE) and bins is None:  # also what lies beyond those whom the model refuses
                wide = grid_values(part, (part.low, part.high), _WIDE[int(size) - 1], "range")
                value = np.concatenate([value, wide], axis=2)
            options = GridOptions.of(part, value)
            got = cheapest(
                part, options, 3, plausible=strict, most=_most_acts(int(size), count), rows=max(limit // 4, 1)
            )
            people.rows[who] += part.rows
            row, place = np.nonzero(np.isfinite(got.cost))
            action = got.action[row, place]
            parts.append(work.rows(who[row], work.slots(who[row], action), action))
        return PolishCandidates.joined(parts)

    def _amortised(self, work: Polish) -> list[PolishCandidates]:
        """Return what the networks propose, with their own mask and with all that the person may act on."""
        if self.icarma is None:
            return []
        people = work.people
        ask = self.icarma.propose
        parts = [ask(people.x, people.preferences, masks).action for masks in (None, people.free)]
        action = np.concatenate(parts)
        who = np.tile(np.arange(people.n), len(parts))
        some = ~np.isnan(action).all(1)
        who, action = who[some], action[some]
        return [work.rows(who, work.slots(who, action), action)]

    def _rescue(self, work: Polish, open_: np.ndarray, limit: int) -> None:
        """Search on for people who have no answer that is plausible: plausible places, then the oracle's grid."""
        parts = [work.scatter(open_, 24)]
        if self.middle_ is not None:
            own = work.people.problem.world.abduct(work.people.x)
            parts.append(work.towards(open_, self.middle_, own, (0.0, 0.5, 1.0, 1.5)))
        work.descend(work.chosen(PolishCandidates.joined(parts), 0, 3), 0, rounds=16, cut=(5, 8))
        work.descend(work.elsewhere(0, some=open_), 0, cut=(3, 4))
        open_ = open_[~np.isfinite(work.cost[open_, 0].min(1))]
        if open_.size:
            found = self._coarse(work, 0, limit, _FINE, open_)
            work.descend(work.chosen(found, 0, 1), 0, rounds=6, cut=(99, 1))
            work.descend(work.elsewhere(0, some=open_), 0, cut=(3, 4))


def strict_of(problem: Problem, density: World | None = None) -> Problem:
    """Return the problem with options at least as likely as the person, in `density` or the problem's own world.

    Raises: MethodError if that world tells no density.
    """
    from wayforward.problem import AtLeastAsLikely

    world = problem.world if density is None else density
    try:
        plausibility = AtLeastAsLikely(world).fit(problem.schema, problem.reference)
        plausibility.score(problem.schema.encode(_few_rows(problem)))
    except WorldError as error:
        raise MethodError(
            f"A price on plausibility needs a world that tells densities. {error} Or give one: "
            "Polished(plausibility='price', density=world)."
        ) from error
    twin = copy.copy(problem)
    twin.plausibility = plausibility
    return twin


def _different_sets(total: np.ndarray, action: np.ndarray, k: int) -> np.ndarray:
    """Return each person's k cheapest actions (n, k, d), on different sets of features as long as there are."""
    n, m, d = action.shape
    everyone, out = np.arange(n), np.full((n, k, d), np.nan)
    acted, rank = ~np.isnan(action), total.copy()
    for place in range(k):
        best = rank.argmin(1)
        some = np.isfinite(rank[everyone, best])
        out[some, place] = action[everyone, best][some]
        same = (acted == acted[everyone, best][:, None]).all(2)
        copies = (np.nan_to_num(action, nan=np.inf) == np.nan_to_num(out[:, place], nan=np.inf)[:, None]).all(
            2
        )
        rank = np.where(copies, np.inf, np.where(same, rank + 1e3 * _DEAR, rank))
    return out


def _few_rows(problem: Problem) -> np.ndarray:
    """Return a few rows (m, d) to try a density on; none without a reference."""
    return np.zeros((0, problem.schema.d)) if problem.reference is None else problem.reference[:2]


def _usual_noise(problem: Problem) -> np.ndarray | None:
    """Return the usual noise (d,) of each feature, or None where the world tells no noise."""
    if problem.reference is None or problem.independent:
        return None
    try:
        with np.errstate(invalid="ignore"):
            return np.asarray(np.nanmedian(problem.world.abduct(problem.reference), axis=0))
    except WorldError:
        return None


def _most_acts(size: int, bins: int) -> int:
    """Return how many features at once a grid may act on, so that its combinations can all be tried."""
    total, ways = 0.0, 1.0
    for acts in range(1, size + 1):
        ways *= (size - acts + 1) / acts * bins
        total += ways
        if total > 20 * _COMBINATIONS:
            return max(acts - 1, 1)
    return size
