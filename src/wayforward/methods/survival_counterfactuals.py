"""survival-counterfactuals: the nearest profile with a later event: a projection for Cox models, else a swarm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from wayforward.methods.base import Budget
from wayforward.methods.engines.breeding import BreedingMethod
from wayforward.methods.engines.exact.selection import water_filling
from wayforward.methods.engines.finish import finished
from wayforward.methods.engines.population import Evolution, Individuals
from wayforward.methods.settings import check_least, check_switches
from wayforward.model import Access
from wayforward.problem.batching import ask, tidy
from wayforward.public import public
from wayforward.shapes import Actions, Floats, Ints, Mask

if TYPE_CHECKING:
    from wayforward.model.forms import LinearForm
    from wayforward.problem import Population
    from wayforward.streams import Streams

_GRID, _HALVINGS = 24, 50  # places at which an index is tried, and halvings between two of them
_MOST_LEVELS = 4  # changed together before the numbers are
_FARTHER = (1.0, 1.02, 1.1, 1.3)  # of the way: rounding to legal values may have taken some back
_WORSE = 1e6  # how much worse than any accepted particle a refused one is


@public
@dataclass
class SurvivalCounterfactuals(BreedingMethod):
    """Find the nearest profile of which the model says what is wanted, such as 6 more months (`SurvivalProblem`).

    Distance is Euclidean, in ranges of features, a changed level counting as one. Where an answer hangs on one linear
    score alone (`Model.single_index`: a Cox model, any linear model), the value of that score which is needed is found
    by bisection, and the person is projected onto it within what they may do, all people at once: of numbers alone the
    nearest there is. Levels change first, none, the best, the two best and so on, each with its own projection. For any
    other model, and whom no projection serves, a swarm of particles moves: each one is drawn to the best place that it
    knows and to the best that any knows, refused places count as worse by what is missing. Particle p acts on at most
    1 + p mod d features, those that it would move farthest.

    particles, generations: of each person's swarm. inertia, pull: of its moves. patience: generations without a nearer
    place after which a person is done. Not part of the published method: levels and limits on the number of changes;
    complete, which goes on by single changes for whom nothing was found; shrink, which gives back what is not needed,
    and polishes by the problem's own cost.
    Default budget: 20,000 model rows a person. Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``SurvivalProblem(schema, forest, table, longer=6, unit="months").recommend(people)``.
    Source: M. S. Kovalev, L. V. Utkin, F. P. A. Coolen, A. V. Konstantinov (2021), Counterfactual Explanation of
    Machine Learning Survival Models, Informatica 32(4); arXiv:2006.16793.
    """

    name: ClassVar[str] = "survival-counterfactuals"
    summary: ClassVar[str] = (
        "the nearest profile with a later event: projected for Cox models, else by a swarm"
    )
    citation: ClassVar[str] = (
        "Kovalev, Utkin, Coolen & Konstantinov (2021), Informatica 32(4), arXiv:2006.16793"
    )
    needs: ClassVar[int] = Access.LABEL

    particles: int = 40
    generations: int = 60
    patience: int = 12
    inertia: float = 0.729
    pull: float = 1.4945
    complete: bool = True
    shrink: bool = True

    def __post_init__(self) -> None:
        check_least(self, particles=2, generations=1, patience=1)
        check_switches(self, "complete", "shrink")

    def _width(self, d: int) -> int:
        return 6 * self.particles

    def _bred(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        limit = budget.rows_or(20_000)
        cap = people.rows + limit
        index = people.problem.model.single_index if people.problem.independent else None
        who, action = np.empty(0, np.int64), np.empty((0, people.d))
        if index is not None and limit > 2 * (_GRID + _HALVINGS):
            who, action = _projected(people, index)
        rest = np.setdiff1d(np.arange(people.n), who)
        if rest.size:
            found = self._swarm(people, rest, streams, cap, max(4, 2 * k))
            who, action = np.append(who, found[0]), np.concatenate([action, found[1]])
        return finished(people, who, action, k, cap=cap, go_on=self.complete, shrink=self.shrink)

    def _swarm(
        self, people: Population, at: Ints, streams: Streams, cap: Ints, size: int
    ) -> tuple[Ints, Floats]:
        """Let swarms of people at (q,) move; return accepted rows: who (m,), action (m, d)."""
        search = Evolution(people, streams, cap, size)
        levels = people.schema.has_levels
        low = np.where(levels, 0.0, people.low)[at][:, None]
        high = np.where(levels, people.schema.n_levels - 1.0, people.high)[at][:, None]
        wide = np.maximum(high - low, 1e-12)
        here = np.where(np.isnan(people.x[at]), people.low[at], people.x[at])[:, None]
        here = np.nan_to_num(here)
        p, d = self.particles, people.d
        reach = np.linspace(0.1, 1.0, p)[:, None] * wide
        place = np.clip(here + (2 * search.draw(at, p, d, tag=0) - 1) * reach, low, high)
        speed, best = np.zeros_like(place), place.copy()
        worth = np.full((len(at), p), np.inf)
        nearest, calm = np.full(len(at), np.inf), np.zeros(len(at), dtype=np.int64)
        live = np.arange(len(at))  # whose swarms still move
        for turn in range(self.generations):
            owner = at[live]
            now = place[live]
            found = search.evaluate(owner, _acts(now, here[live], wide[live], levels))
            seen = self._worth(search, owner, found)
            better = seen < worth[live]
            best[live] = np.where(better[:, :, None], now, best[live])
            worth[live] = np.where(better, seen, worth[live])
            first = worth[live].min(1)
            with np.errstate(invalid="ignore"):
                moved = first < nearest[live] - 1e-9
            calm[live] = np.where(moved, 0, calm[live] + 1)
            nearest[live] = first
            live = live[(calm[live] < self.patience) & ~search.spent(owner)]
            if not live.size or turn == self.generations - 1:
                break
            leader = best[live, worth[live].argmin(1)][:, None]
            own, common = np.moveaxis(search.draw(at[live], 2, p, d, tag=1 + turn), 1, 0)
            speed[live] = (
                self.inertia * speed[live]
                + self.pull * own * (best[live] - place[live])
                + self.pull * common * (leader - place[live])
            )
            place[live] = np.clip(place[live] + speed[live], low[live], high[live])
        return search.options()

    def _worth(self, search: Evolution, at: Ints, found: Individuals) -> Floats:
        """(q, P): the distance of accepted particles, and beyond that how much others lack."""
        people = search.people
        step = (found.action - people.x[at][:, None]) / people.problem.range_widths
        step = np.where(people.schema.has_levels & ~np.isnan(found.action), 1.0, np.nan_to_num(step))
        far = np.sqrt(((people.weight[at][:, None] * step) ** 2).sum(2))
        short = np.where(found.reached, 0.0, _WORSE * (1 + search.gap(at, found)))
        return np.where(found.there, far + short, np.inf)


def _acts(place: Floats, here: Floats, wide: Floats, levels: Mask) -> Floats:
    """Places (q, P, d) -> actions: particle p acts on the 1 + p mod d features that it moves farthest."""
    p, d = place.shape[1:]
    far = np.where(levels, np.rint(place) != here, np.abs(place - here) / wide)
    rank = np.argsort(np.argsort(-far, axis=2, kind="stable"), axis=2, kind="stable")
    acts = (rank <= np.arange(p)[:, None] % d) & (far > 0)
    return np.where(acts, np.where(levels, np.rint(place), place), np.nan)


def _projected(people: Population, index: LinearForm) -> tuple[Ints, Floats]:
    """Project everybody onto the value of the index that is needed: accepted rows who (m,), action (m, d)."""
    everybody, x, d = np.arange(people.n), people.x, people.d
    known = ~np.isnan(x)
    slope = np.where(people.free & known & ~people.schema.has_levels, index.weight[:, 0], 0.0)  # (n, d)
    effort = people.weight / np.maximum(people.problem.range_widths, 1e-12)
    start = index.margin(x)[:, 0]
    level, gain = _best_levels(people, index)  # (2, n, d): upwards, downwards
    owners, rows = [], []
    for side, sign in enumerate((1.0, -1.0)):
        room = np.where(slope * sign > 0, people.high - x, x - people.low)
        room = np.where(slope != 0, np.maximum(room, 0.0), 0.0)
        farthest = (np.abs(slope) * room).sum(1) + gain[side].sum(1)
        need = _needed(people, slope, sign, farthest)
        who = np.flatnonzero(np.isfinite(need) & np.isfinite(start))
        if not who.size:
            continue
        order = np.argsort(-gain[side][who], axis=1, kind="stable")
        for many in range(min(_MOST_LEVELS, int((gain[side][who] > 0).sum(1).max(initial=0))) + 1):
            taken = np.zeros((len(who), d), dtype=bool)
            np.put_along_axis(taken, order[:, :many], True, axis=1)
            taken &= gain[side][who] > 0
            full = taken.sum(1) == many
            some, chosen = who[full], taken[full]
            left = need[some] - (gain[side][some] * chosen).sum(1)
            for numbers in (1, 2, d):
                best = np.abs(slope[some]) / effort[some] * (room[some] > 0)
                rank = np.argsort(np.argsort(-best, axis=1, kind="stable"), axis=1, kind="stable")
                open_ = np.where(rank < numbers, room[some], 0.0)
                step, meets = water_filling(np.abs(slope[some]), effort[some], open_, np.maximum(left, 0.0))
                meets |= left <= 0
                for share in _FARTHER:
                    moved = np.sign(slope[some]) * sign * np.minimum(step * share, open_)
                    action = np.where(step > 0, x[some] + moved, np.nan)
                    action = np.where(chosen, level[side][some], action)
                    owners.append(some[meets])
                    rows.append(action[meets])
    if not owners:
        return everybody[:0], np.empty((0, d))
    who = np.concatenate(owners)
    action = tidy(people, who, np.concatenate(rows))
    different = np.unique(
        np.column_stack([who, np.nan_to_num(action, nan=np.inf)]), axis=0, return_index=True
    )[1]
    different = different[~np.isnan(action[different]).all(1)]
    who, action = who[different], action[different]
    reached = ask(people, who, action)[1]
    return who[reached], action[reached]


def _best_levels(people: Population, index: LinearForm) -> tuple[Floats, Floats]:
    """Return of each feature the level that moves the index most, up and down: levels and gains (2, n, d)."""
    level, gain = np.full((2, people.n, people.d), np.nan), np.zeros((2, people.n, people.d))
    for j, table in index.tables.items():
        own = people.x[:, j]
        here = np.where(np.isnan(own), np.nan, table[np.nan_to_num(own).astype(np.int64), 0])
        may = people.level_ok[j] & people.free[:, [j]]
        for side, sign in enumerate((1.0, -1.0)):
            worth = np.where(may, sign * (table[:, 0] - here[:, None]), -np.inf)
            best = np.nan_to_num(worth, nan=-np.inf).argmax(1)
            most = np.nan_to_num(worth[np.arange(people.n), best], nan=0.0, neginf=0.0)
            level[side, :, j], gain[side, :, j] = best, np.maximum(most, 0.0)
    return level, gain


def _needed(people: Population, slope: Floats, sign: float, farthest: Floats) -> Floats:
    """(n,) by how much the index must move, upwards or downwards; inf where no move up to farthest (n,) is enough.

    Asked along the index alone, wherever that leads beyond what is legal: the answer hangs on nothing else.
    """
    n, slack = people.n, people.problem.slack
    need = np.full(n, np.inf)
    size = slope / np.maximum((slope**2).sum(1, keepdims=True), 1e-300)  # moves the index by one
    able = np.flatnonzero(slope.any(1) & (farthest > 0))
    if not able.size:
        return need

    def score(who: Ints, move: Floats) -> Floats:
        return people.score(who, people.x[who] + sign * move[:, None] * size[who])

    shares = np.geomspace(1e-4, 1.0, _GRID)
    trial = farthest[able][:, None] * shares
    got = np.asarray(score(np.repeat(able, _GRID), trial.reshape(-1)).reshape(-1, _GRID) > slack)
    able, trial, got = able[got.any(1)], trial[got.any(1)], got[got.any(1)]
    first = got.argmax(1)
    row = np.arange(len(able))
    high = trial[row, first]
    low = np.where(first > 0, trial[row, np.maximum(first - 1, 0)], 0.0)
    for _ in range(_HALVINGS):
        if not able.size:
            break
        middle = (low + high) / 2
        yes = score(able, middle) > slack
        low, high = np.where(yes, low, middle), np.where(yes, middle, high)
    need[able] = high
    return need
