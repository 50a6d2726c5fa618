"""probabilistic: for every small set of features, the least change of them that works as surely as is asked for."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from wayforward.methods.base import Budget, Method
from wayforward.methods.engines.confidence_search import edge, scaled
from wayforward.methods.engines.polish import shrink
from wayforward.methods.settings import require_setting
from wayforward.problem.batching import ask
from wayforward.public import public
from wayforward.ranks import rank_in_run
from wayforward.shapes import Actions

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem
    from wayforward.streams import Streams

_SHARES = (0.02, 0.05, 0.1, 0.18, 0.3, 0.45, 0.7, 1.0)  # of the way to the limits, where a ray is looked at
_HALVINGS = 7
_SPLITS = {1: ((1.0,),), 2: ((1.0, 1.0), (1.0, 0.25), (0.25, 1.0)), 3: ((1.0, 1.0, 1.0),)}
_FACTORS = (0.5, 0.8, 1.25, 2.0)  # how a refinement changes one of the acts
_CHOICES = 64  # combinations of levels looked at in a set
_FEWEST = 8  # rays a set gets, however many sets there are
_ROWS = len(_SHARES) + _HALVINGS  # model rows a ray


@dataclass(frozen=True)
class Rays:
    """r directions: whose (r,), which set of features (r,), steps in feature units (r, d), levels to set (r, d)."""

    who: np.ndarray
    group: np.ndarray
    step: np.ndarray  # NaN where the feature is not moved
    level: np.ndarray  # NaN where no level is set

    def at(self, people: Population, share: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return actions (c, d) of some rays at a share of their way."""
        who = self.who[rows]
        go = ~np.isnan(self.step[rows])
        value = people.snap(who, np.where(go, people.x[who] + share[:, None] * self.step[rows], np.nan))
        return np.where(go, value, self.level[rows])


@public
@dataclass
class Probabilistic(Method):
    """Search every set of features to act on, and for each the cheapest values that keep the problem's promise.

    Sets of up to `most_acts` features are tried, smallest first; categories and binaries by their levels (at most 64
    mixes a set), numbers along rays with a few proportions in every combination of directions. On a ray the expected
    consequences are looked at first (one model row a point), from where the person stands to the limits, and the edge
    is bisected.
    The cheapest sets are then moved out until `samples` draws keep the promise of `Problem(confidence=...)`, refined by
    changing one act at a time, and checked with the problem's own, fresh draws. In a certain world, or with no
    confidence, this is individualised recourse by brute force over sets.

    The published method descends on gradients of the draws; this search needs labels only. beam: sets a person whose
    draws are looked at. refine: rounds of refinement. Default budget: 20,000 model rows a person.
    Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.recommend(Problem(..., world=gp, confidence=0.95), refused, method="probabilistic")``.
    Source: A.-H. Karimi, J. von Kuegelgen, B. Schoelkopf, I. Valera (2020), Algorithmic Recourse under Imperfect
    Causal Knowledge: a Probabilistic Approach, NeurIPS; arXiv:2006.06831.
    """

    name: ClassVar[str] = "probabilistic"
    summary: ClassVar[str] = (
        "every set of acts, each as cheap as its chance of success allows; labels suffice"
    )
    citation: ClassVar[str] = "Karimi, von Kuegelgen, Schoelkopf & Valera (2020), NeurIPS, arXiv:2006.06831"
    chunk: ClassVar[int] = 256

    most_acts: int = 3
    samples: int = 64
    beam: int = 6
    refine: int = 2

    def __post_init__(self) -> None:
        for name, low in (("most_acts", 1), ("samples", 10), ("beam", 1), ("refine", 0)):
            value = getattr(self, name)
            require_setting(self, name, not isinstance(value, bool) and value >= low, f"Use {low} or more.")

    def _fit(self, problem: Problem) -> None:
        schema = problem.schema
        may = np.flatnonzero(schema.actionable).tolist()
        self.sets_ = [
            group
            for size in range(1, min(self.most_acts, len(may)) + 1)
            for group in itertools.combinations(may, size)
        ]

    def _recommend(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        limit = budget.rows_or(20_000)
        rays = self._rays(people, max(1, int(0.6 * limit) // _ROWS))
        out = np.full((people.n, k, people.d), np.nan)
        if not len(rays.who):
            return out
        action, cost = self._expected(people, rays)
        best = _cheapest_of_sets(rays.who, rays.group, cost)
        best = best[rank_in_run(rays.who[best]) < max(self.beam, 2 * k)]
        who, group, rows = rays.who[best], rays.group[best], action[best]
        if people.problem.demanding:
            rows, cost = self._until_sure(people, who, rows, np.ones(len(who), dtype=bool))
        else:
            cost = cost[best]
        for _ in range(self.refine):
            lead = _cheapest_of_sets(who, group, cost)
            lead = lead[rank_in_run(who[lead]) < max(2, k)]
            lead = lead[people.rows[who[lead]] < limit]
            if not lead.size:
                break
            self._refine(people, who, rows, cost, lead)
        lead = _cheapest_of_sets(who, group, cost)
        lead = lead[rank_in_run(who[lead]) < 2 * k]
        if not people.problem.demanding:
            rows[lead] = shrink(people, who[lead], rows[lead], halvings=18)
            cost[lead] = people.cost(who[lead], rows[lead])
            lead = lead[np.lexsort((cost[lead], who[lead]))]
        self._distinct(people, out, who[lead], rows[lead])
        return out

    def _distinct(self, people: Population, out: np.ndarray, who: np.ndarray, rows: np.ndarray) -> None:
        """Fill the slots in order with actions that lead to different places."""
        after = people.after(who, rows)
        ends = np.full(out.shape, np.nan)
        filled = np.zeros(people.n, dtype=np.int64)
        rank = rank_in_run(who)
        for turn in range(int(rank.max(initial=-1)) + 1):
            at = np.flatnonzero((rank == turn) & (filled[who] < out.shape[1]))
            new = np.asarray(people.schema.differs(after[at][:, None], ends[who[at]]))
            at = at[np.all(np.any(new, axis=2), axis=1)]
            out[who[at], filled[who[at]]], ends[who[at], filled[who[at]]] = rows[at], after[at]
            filled[who[at]] += 1

    # -- rays ----------------------------------------------------------------------------------------------

    def _rays(self, people: Population, most: int) -> Rays:
        """Return everybody's rays, smallest sets first, at most `most` a person, shared evenly among the sets."""
        schema, x = people.schema, people.x
        own = np.isnan(x)
        room = {+1: people.high - x, -1: people.low - x}
        parts: list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]] = []
        count = np.zeros(people.n, dtype=np.int64)
        for place, group in enumerate(self.sets_):
            if (count >= most).all():
                break
            able = people.free[:, list(group)].all(1) & (people.max_changes >= len(group)) & (count < most)
            if not able.any():
                continue
            numbers = [j for j in group if schema.ordered[j] and schema.n_levels[j] != 2]
            levels = [j for j in group if j not in numbers]
            splits = _SPLITS.get(len(numbers), ((1.0,) * len(numbers),))
            choices = list(
                itertools.islice(
                    itertools.product(*(range(int(schema.n_levels[j])) for j in levels)), _CHOICES
                )
            )
            signs = list(itertools.product((+1, -1), repeat=len(numbers)))
            here = np.zeros(people.n, dtype=np.int64)
            limit = most if len(group) == 1 else max(_FEWEST, most // len(self.sets_))
            for split, choice, sign in itertools.product(splits, choices, signs):
                open_ = able & (count < most) & (here < limit)
                for j, level in zip(levels, choice, strict=True):
                    open_ &= people.level_ok[j][:, level] & (x[:, j] != level)
                for j, side in zip(numbers, sign, strict=True):
                    open_ &= np.where(own[:, j], False, room[side][:, j] * side > 0)
                who = np.flatnonzero(open_)
                if not who.size:
                    continue
                step = np.full((len(who), people.d), np.nan)
                level_to = np.full((len(who), people.d), np.nan)
                for j, side, share in zip(numbers, sign, split, strict=True):
                    step[:, j] = share * room[side][who, j]
                for j, level in zip(levels, choice, strict=True):
                    level_to[:, j] = level
                parts.append((who, np.full(len(who), place), step, level_to))
                count[who] += 1
                here[who] += 1
        if not parts:
            none = np.empty((0, people.d))
            return Rays(np.empty(0, np.int64), np.empty(0, np.int64), none, none)
        who, group_of, step, level_to = (np.concatenate(part) for part in zip(*parts, strict=True))
        order = np.argsort(who, kind="stable")
        return Rays(who[order], group_of[order], step[order], level_to[order])

    def _expected(self, people: Population, rays: Rays) -> tuple[np.ndarray, np.ndarray]:
        """Return the nearest action (r, d) on each ray that is expected to work, and its cost (r,), inf if none."""
        count = len(rays.who)
        inside, outside = np.full(count, np.nan), np.zeros(count)
        still = np.ones(count, dtype=bool)
        fixed = np.isnan(rays.step).all(1)  # levels only: one point
        for share in _SHARES:
            at = np.flatnonzero(still)
            if not at.size:
                break
            trial = rays.at(people, np.full(at.size, share), at)
            moves = people.schema.differs(trial, people.x[rays.who[at]])
            whole = (moves | np.isnan(trial)).all(1) & moves.any(
                1
            )  # no act that stays where the person stands
            whole &= (np.isnan(trial) == (np.isnan(rays.step[at]) & np.isnan(rays.level[at]))).all(1)
            new_rows = np.flatnonzero(whole)
            yes = np.zeros(at.size, dtype=bool)
            if new_rows.size:
                yes[new_rows] = ask(people, rays.who[at[new_rows]], trial[new_rows])[1]
            inside[at[yes]] = share
            outside[at[~yes]] = share
            still[at[yes]] = False
            still[fixed] = False
        for _ in range(_HALVINGS):
            at = np.flatnonzero(~np.isnan(inside) & ~fixed)
            if not at.size:
                break
            middle = (inside[at] + outside[at]) / 2
            trial = rays.at(people, middle, at)
            near = rays.at(people, inside[at], at)
            same = ~people.schema.differs(trial, near).any(1)
            stays = (~np.isnan(trial) & ~people.schema.differs(trial, people.x[rays.who[at]])).any(1)
            lost = (np.isnan(trial) & ~np.isnan(near)).any(1)
            yes = np.array(same)
            new_rows = np.flatnonzero(~same & ~stays & ~lost)
            if new_rows.size:
                yes[new_rows] = ask(people, rays.who[at[new_rows]], trial[new_rows])[1]
            inside[at] = np.where(yes, middle, inside[at])
            outside[at] = np.where(yes, outside[at], middle)
        action, cost = np.full((count, people.d), np.nan), np.full(count, np.inf)
        at = np.flatnonzero(~np.isnan(inside))
        if at.size:
            action[at] = rays.at(people, inside[at], at)
            cost[at] = people.cost(rays.who[at], action[at])
        return action, cost

    # -- sets that are worth their draws -------------------------------------------------------------------

    def _until_sure(
        self, people: Population, who: np.ndarray, rows: np.ndarray, usable: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return actions (c, d) moved along their direction to where they are just sure enough, and their cost (c,)."""
        good = usable.copy()
        if good.any() and people.problem.demanding:
            good[good] = people.promise(who[good], rows[good], self.samples)[0]
        far = edge(people, who, rows, good, self.samples)
        moved = scaled(people, who, rows, np.where(np.isnan(far), 1.0, far))
        cost = np.where(np.isnan(far), np.inf, people.cost(who, moved))
        return moved, cost

    def _refine(
        self, people: Population, who: np.ndarray, rows: np.ndarray, cost: np.ndarray, lead: np.ndarray
    ) -> None:
        """Change one act by a factor and go to the edge again that way; what is cheaper replaces rows."""
        schema = people.schema
        several = (~np.isnan(rows[lead])).sum(1) > 1
        lead = lead[several & np.isfinite(cost[lead])]
        for j in range(people.d):
            if not schema.ordered[j] or schema.n_levels[j] == 2:
                continue
            at = lead[~np.isnan(rows[lead, j]) & ~np.isnan(people.x[who[lead], j])]
            for factor in _FACTORS:
                if not at.size:
                    break
                trial = rows[at]
                own = people.x[who[at], j]
                trial[:, j] = own + factor * (trial[:, j] - own)
                trial = np.where(np.isnan(rows[at]), np.nan, people.snap(who[at], trial))
                fine = (np.isnan(trial) == np.isnan(rows[at])).all(1)
                fine &= (np.isnan(trial) | schema.differs(trial, people.x[who[at]])).all(1)
                some = np.flatnonzero(fine & schema.differs(trial, rows[at]).any(1))
                if not some.size:
                    continue
                usable = people.evaluate(who[at[some]], trial[some]).reached
                moved, price = self._until_sure(people, who[at[some]], trial[some], usable)
                better = price < cost[at[some]] - 1e-12
                rows[at[some[better]]], cost[at[some[better]]] = moved[better], price[better]


def _cheapest_of_sets(who: np.ndarray, group: np.ndarray, cost: np.ndarray) -> np.ndarray:
    """Return positions of the cheapest of each person and set, each person's sets by cost; nothing that costs inf."""
    order = np.lexsort((np.arange(len(who)), cost, group, who))
    new = np.ones(len(order), dtype=bool)
    new[1:] = (who[order][1:] != who[order][:-1]) | (group[order][1:] != group[order][:-1])
    order = order[new & np.isfinite(cost[order])]
    return np.asarray(order[np.lexsort((group[order], cost[order].round(12), who[order]))])
