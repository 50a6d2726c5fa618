"""Local search: the default method, for any model, any rule and any world, for all people at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from wayforward.methods.base import Budget, Method
from wayforward.problem.batching import tidy
from wayforward.ranks import rank_in_run
from wayforward.shapes import Actions

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem
    from wayforward.rules.normal_form import Linear
    from wayforward.streams import Streams

_BLOCK = 1 << 18  # candidate rows shown to the model at once
_STARTS = 20_000  # accepted reference people that starts are taken from
_LOOSE, _TIGHT = 1e-3, 1e-6  # share of a feature's span to which sections narrow a value, on the way and last
_GREEDY_STEPS = 6
_SLACKS = (0.6, 0.8, 1.0, 1.25, 1.7, 2.5)  # how far beyond the boundary an additive guess aims


@dataclass
class LocalSearch(Method):
    """Find the cheapest change that turns the decision, from neighbours and sparse moves, ending in a polish.

    Every person starts twice: from accepted observed people who are near in what the person may act on, or near in
    everything, moved onto what the person may do; and from where they stand, by scanning single moves and combining
    them greedily by score gained per cost (exact for additive scores, re-scanned for others). The incumbent's cost
    bounds every later scan: moves that cost more are never shown to the model, and the grid is drawn anew, finer,
    inside what the incumbent could pay for; on trees it is made of their thresholds. The best candidates are polished:
    changes are undone and values move back as far as the decision holds, and pairs of moves are exchanged, until no
    single change that it tries makes the option cheaper. Where features move as consequences, holding them is a move
    too. Candidates that only break a rule are mended. More options leave out the dearest change of the ones before,
    and an option that does all that another one does, and more, is not returned. People with nothing yet get draws
    from their own stream and a climb of the score.

    With labels only there is no score to follow; neighbours, single moves, draws and the polish remain.

    grid: values scanned per feature and side. starts: neighbours tried. beam: candidates polished.
    rounds: sweeps in the shrunken box. Default budget: 20,000 model rows a person and option.
    Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.recommend(problem, refused, method="local-search", k=3, seed=0)``.
    Source: this project; the start is E7.1 and the polish C9 of the field's catalogue of components.
    """

    name: ClassVar[str] = "local-search"
    summary: ClassVar[str] = (
        "any model, any rule, any world; cheapest change by starts, sparse moves and a polish"
    )
    citation: ClassVar[str] = "wayforward"
    least_cost: ClassVar[bool] = True

    grid: int = 8
    starts: int = 8
    beam: int = 3
    rounds: int = 1

    def _fit(self, problem: Problem) -> None:
        self.reference_ = np.empty((0, problem.schema.d))
        if problem.reference is not None and problem.reference_reached.any():
            from wayforward.neighbours import NeighbourIndex

            accepted = problem.reference_accepted
            if len(accepted) > _STARTS:  # an even, seedless thinning, so that answers do not depend on a seed
                accepted = accepted[np.linspace(0, len(accepted) - 1, _STARTS).astype(np.int64)]
            self.reference_ = np.ascontiguousarray(np.unique(accepted, axis=0))
            self.index_ = NeighbourIndex(problem.schema, self.reference_)
        self.crossings_ = _crossings(problem)

    def _recommend(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        limit = budget.rows_or(20_000)
        out = np.full((people.n, k, people.d), np.nan)
        banned = np.zeros((people.n, people.d), dtype=bool)
        spare: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        for option in range(k):
            search = _Search(self, people, banned.copy(), limit, streams, option)
            found, best, cost = search.run(out[:, :option])
            out[found, option] = best[found]
            spare += search.done
            lost = np.flatnonzero(~found & ~np.isnan(out[:, 0]).all(1)) if option else np.empty(0, np.int64)
            if lost.size:  # there is no way without the dearest changes: look for one that leans on them less
                some = people.take(lost)
                some.weight, some.plain_weight = some.weight * np.where(banned[lost], 4.0, 1.0), False
                left = np.maximum((option + 1) * limit - people.rows[lost], 0)
                again = _Search(self, some, np.zeros_like(banned[lost]), left, streams.take(lost), option)
                got, other, _ = again.run(out[lost, :option])
                people.rows[lost] += some.rows
                out[lost[got], option] = best[lost[got]] = other[got]
                found[lost[got]] = True
                spare += [
                    (lost[who], action, people.cost(lost[who], action)) for who, action, _ in again.done
                ]
            if option + 1 < k:
                main = np.where(np.isnan(best), -np.inf, people.parts(np.arange(people.n), best)).argmax(1)
                banned[np.flatnonzero(found), main[found]] = True
        return _filled(people, out, spare) if k > 1 else out


def _crossings(problem: Problem) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """Where a tree model can change: for each numeric feature the least legal values above its thresholds, and the
    greatest at or below them; empty for models that change anywhere."""
    thresholds = problem.model.thresholds()
    if thresholds is None:
        return {}
    schema, out = problem.schema, {}
    for j in np.flatnonzero(~schema.has_levels).tolist():
        cut = np.asarray(thresholds[j], dtype=np.float64)
        if not len(cut):
            continue
        above, below, step = np.nextafter(cut, np.inf), cut, schema.step[j]
        if not np.isnan(step):
            above, below = schema.round(cut, columns=j), schema.round(cut, columns=j)
            above = np.where(above > cut, above, schema.round(above + step, columns=j))
            below = np.where(below <= cut, below, schema.round(below - step, columns=j))
        out[j] = (np.unique(above), np.unique(below))
    return out


def _spread(points: np.ndarray, low: np.ndarray, high: np.ndarray, share: np.ndarray, up: bool) -> np.ndarray:
    """(c, G) of the sorted points in (low, high], or [low, high) downwards: all of them where there are few, else
    spread out; NaN where there are fewer than G."""
    first = np.searchsorted(points, low, side="right" if up else "left")
    count = np.searchsorted(points, high, side="right" if up else "left") - first
    size = len(share)
    spread = np.floor(share * count[:, None] - 1e-9).astype(np.int64)
    rank = np.where((count <= size)[:, None], np.arange(size), spread)
    there = (rank < count[:, None]) & (rank >= 0)
    index = first[:, None] + (rank if up else count[:, None] - 1 - rank)
    value = points[np.clip(index, 0, len(points) - 1)]
    return np.where(there, value, np.nan)


def _filled(
    people: Population, out: np.ndarray, spare: list[tuple[np.ndarray, np.ndarray, np.ndarray]]
) -> np.ndarray:
    """Empty slots take what the searches met on the way: other sets of changes first, then other values.

    What only goes farther than an option that is there already is no option of its own.
    """
    if not spare:
        return out
    who, action, cost = (np.concatenate(part) for part in zip(*spare, strict=True))
    bits = 2.0 ** (np.arange(people.d) % 50)
    for fresh_set in (True, False):
        for option in range(1, out.shape[1]):
            need = np.isnan(out[:, option]).all(1) & ~np.isnan(out[:, 0]).all(1)
            at = np.flatnonzero(need[who])
            if not at.size:
                continue
            before = out[who[at], :, :]
            worse = _goes_farther(people, who[at], before, action[at])
            if fresh_set:
                there = ~np.isnan(before).all(2)
                same = (~np.isnan(before)) @ bits == ((~np.isnan(action[at])) @ bits)[:, None]
                worse |= (same & there).any(1)
            at = at[~worse]
            lead = at[_cheapest(who[at], cost[at])]
            out[who[lead], option] = action[lead]
    return out


def _goes_farther(people: Population, who: np.ndarray, taken: np.ndarray, action: np.ndarray) -> np.ndarray:
    """(c,) bool: the action (c, d) does all that one of the options taken (c, o, d) does, at least as far (within a
    hundredth of the range), and so asks for more and gives the same."""
    schema, x = people.schema, people.x[who][:, None, :]
    acts, mine = ~np.isnan(taken), ~np.isnan(action)[:, None, :]
    with np.errstate(invalid="ignore"):
        gap, own = taken - x, action[:, None, :] - x
        near = np.where(schema.has_levels, 1e-9, np.maximum(0.01 * schema.span, np.nan_to_num(schema.step)))
        as_far = (np.sign(gap) * own >= np.abs(gap) - near) | np.isnan(x)
        as_far = np.where(schema.is_categorical, taken == action[:, None, :], as_far)
    covers = (~acts | (mine & as_far)).all(2) & acts.any(2)
    return np.asarray(covers.any(1))


class _Search:
    """One option for everyone: incumbents, the moves that may improve them, and the work already done."""

    def __init__(
        self,
        method: LocalSearch,
        people: Population,
        banned: np.ndarray,
        limit: int | np.ndarray,
        streams: Streams,
        option: int,
    ) -> None:
        self.method, self.people, self.streams, self.option = method, people, streams, option
        self.schema, self.problem = people.schema, people.problem
        self.free = people.free & ~banned
        stuck = ~self.free.any(1)
        self.free[stuck] = people.free[stuck]  # nothing else to act on: look for another value instead
        self.n, self.d = people.n, people.d
        self.cap = people.rows + limit
        self.cost = np.full(self.n, np.inf)
        self.best = np.full((self.n, self.d), np.nan)
        self.separable = bool(self.problem.cost.separable)
        self.slack = self.problem.slack
        self.pool_who: list[np.ndarray] = []  # valid candidates, for the polish
        self.pool_action: list[np.ndarray] = []
        self.pool_cost: list[np.ndarray] = []
        # candidates met on the way, for further options
        self.done: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self.coupled = bool(self.schema.rules) and len(self.schema.compiled_rules.conditions) > 0
        # features that others move: setting one to the value that it has holds it there, at no cost
        self.holds = np.zeros(self.d, dtype=bool)
        self.may = self.schema.actionable & ~people.preferences.frozen  # also with nowhere else to go
        if not self.problem.independent:
            sources = np.asarray(self.schema.actionable)
            self.holds |= np.asarray(self.problem.descendants)[sources].any(0)
        self.few = bool((people.max_changes < people.d).any())
        self.half_who: list[np.ndarray] = []  # candidates that only break rules, for the repair
        self.half_action: list[np.ndarray] = []

    # -- asking about candidates ---------------------------------------------------------------------------

    def ask(self, who: np.ndarray, action: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(m,) score (-inf where the person may not do it) and (m,) bool valid: everything holds."""
        m = len(who)
        score, valid = np.full(m, -np.inf), np.zeros(m, dtype=bool)
        affordable = self._affordable(who)
        for start in range(0, m, _BLOCK):
            part = slice(start, start + _BLOCK)
            score[part], valid[part] = self._ask(who[part], action[part], affordable[part])
        return score, valid

    def _affordable(self, who: np.ndarray) -> np.ndarray:
        """(m,) bool: the row is within its person's budget, counting the rows before it."""
        left = self.cap - self.people.rows
        if (np.bincount(who, minlength=self.n) <= left).all():
            return np.ones(len(who), dtype=bool)
        order = np.argsort(who, kind="stable")
        out = np.empty(len(who), dtype=bool)
        out[order] = rank_in_run(who[order]) < left[who[order]]
        return out

    def _ask(
        self, who: np.ndarray, action: np.ndarray, affordable: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        people, problem = self.people, self.problem
        ok = affordable.copy()
        rules = None
        if problem.independent:  # moves lie inside each person's box, so only couplings are left to judge
            before = people.x[who]
            after = np.where(np.isnan(action), before, action)
            if self.few:
                ok &= (~np.isnan(action)).sum(1) <= people.max_changes[who]
            if self.coupled:
                rules = np.asarray(self.schema.compiled_rules.satisfied(before, after))
        else:
            after = people.after(who, action)
            judged = problem.judge_rows(people, who, action, after)
            ok &= judged["legal"] & judged["wishes"]
            rules = judged["rules"]
        if ok.all():
            score = people.score(who, after, action).round(9)
        else:
            score = np.full(len(who), -np.inf)
            score[ok] = people.score(who[ok], after[ok], action[ok]).round(9)
        valid = score > self.slack
        if rules is not None and not rules.all():
            # turned the decision but broke a rule: another change may mend that
            half = np.flatnonzero(valid & ~rules)
            self.half_who.append(who[half])
            self.half_action.append(action[half])
            valid &= rules
        if problem.plausibility is not None and valid.any():
            valid[valid] = people.plausible(who[valid], after[valid])
        return score, valid

    def keep(self, who: np.ndarray, action: np.ndarray, cost: np.ndarray, pool: bool = True) -> None:
        """The cheapest valid candidate of each person becomes the incumbent; the pool remembers a few to polish."""
        if not len(who):
            return
        order = np.lexsort((np.arange(len(who)), cost, who))
        first = order[np.r_[True, who[order][1:] != who[order][:-1]]]
        better = cost[first] < self.cost[who[first]] - 1e-12
        at = first[better]
        self.cost[who[at]], self.best[who[at]] = cost[at], action[at]
        if not pool:
            return
        few = order[rank_in_run(who[order]) < self.method.beam]
        self.pool_who.append(who[few])
        self.pool_action.append(action[few])
        self.pool_cost.append(cost[few])

    def pool(self, beam: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Each person's cheapest remembered candidates with distinct sets of changes; the pool is emptied."""
        if not self.pool_who:
            return np.empty(0, np.int64), np.empty((0, self.d)), np.empty(0)
        who, cost = np.concatenate(self.pool_who), np.concatenate(self.pool_cost)
        action = np.concatenate(self.pool_action)
        self.pool_who, self.pool_action, self.pool_cost = [], [], []
        sets = (~np.isnan(action)) @ (2.0 ** (np.arange(self.d) % 50))  # a label for the set of changes
        order = np.lexsort((np.arange(len(who)), cost, sets, who))
        new = np.r_[True, (who[order][1:] != who[order][:-1]) | (sets[order][1:] != sets[order][:-1])]
        order = order[new]
        order = order[np.lexsort((sets[order], cost[order], who[order]))]
        shelf = order[rank_in_run(who[order]) < 6]
        self.done.append((who[shelf], action[shelf], cost[shelf]))
        order = order[rank_in_run(who[order]) < beam]
        return who[order], action[order], cost[order]

    # -- the run -------------------------------------------------------------------------------------------

    def run(self, taken: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(n,) bool found, (n, d) action, (n,) cost. taken (n, o, d): options that are there already."""
        everyone = np.arange(self.n)
        start, _ = self.ask(everyone, np.full((self.n, self.d), np.nan))
        unknown = np.flatnonzero(~np.isfinite(start))
        if unknown.size:
            start[unknown] = self._score_unmoved(unknown)
        self.start = start
        self._neighbours(everyone)
        self._sweep(everyone, start)
        if self.coupled:
            self._repair(start)
        lost = np.flatnonzero(~np.isfinite(self.cost))
        if lost.size and not self.option:  # further options have other ways to be filled
            self._draw(lost)
        active = (
            everyone  # who goes on is decided person by person, so that nobody's answer hangs on the others
        )
        for _ in range(self.method.rounds):
            before = self.cost.copy()
            self._polish()
            active = active[np.isfinite(self.cost[active])]
            if active.size:
                self._sweep(active, start[active])
                self._polish()
            active = active[self.cost[active] < before[active] - 1e-9]
            if not active.size:
                break
        found = np.isfinite(self.cost)
        active = np.flatnonzero(found)
        if active.size:
            self._refine(active)
        for _ in range(3):  # the last polish: until no single change makes the option cheaper
            if not active.size:
                break
            before = self.cost.copy()
            self._shrink(active, self.best[active], self.cost[active], _TIGHT)
            active = active[self.cost[active] < before[active] - _TIGHT]
        if taken.shape[1]:
            self._another(taken, found)
            found = np.isfinite(self.cost)
        return found, self.best, self.cost

    def _score_unmoved(self, who: np.ndarray) -> np.ndarray:
        return self.people.score(who, self.people.x[who]).round(9)

    def _another(self, taken: np.ndarray, found: np.ndarray) -> None:
        """Where the search without the dearest changes came to nothing new: what is there already, or more of it."""
        worse = found & _goes_farther(self.people, np.arange(self.n), taken, self.best)
        self.cost[worse], self.best[worse] = np.inf, np.nan

    def _neighbours(self, who: np.ndarray) -> None:
        """Start from accepted observed people, moved onto what each person may do."""
        reference = self.method.reference_
        if not len(reference):
            return
        # people who are near in what one may act on, and people who are near in everything: like them in what decides
        top = min(self.method.starts, len(reference))
        free = np.where(self.free[who], self.people.weight[who], 0.0)
        near = [
            self.method.index_.query(self.people.x[who], top, weight=weight).row for weight in (free, None)
        ]
        row = np.concatenate(near, axis=1)
        owner, row = np.repeat(who, row.shape[1]), row.ravel()
        owner, row = owner[row >= 0], row[row >= 0]
        self._try(owner, self._clean(owner, np.where(self.free[owner], reference[row], np.nan)))

    def _clean(self, who: np.ndarray, action: np.ndarray) -> np.ndarray:
        """Snap to what the person may do; a value that they have already is no act."""
        return tidy(self.people, who, np.where(self.free[who], action, np.nan))

    def _try(self, who: np.ndarray, action: np.ndarray) -> np.ndarray:
        """Ask about whole actions and keep the valid ones that beat the incumbent; (m,) bool valid."""
        cost = self.people.cost(who, action)
        worth = (cost < self.cost[who] - 1e-12) & ~np.isnan(action).all(1)
        valid = np.zeros(len(who), dtype=bool)
        if worth.any():
            at = np.flatnonzero(worth)
            _, yes = self.ask(who[at], action[at])
            at = at[yes]
            valid[at] = True
            self.keep(who[at], action[at], cost[at])
        return valid

    # -- moves ---------------------------------------------------------------------------------------------

    def _moves(self, who: np.ndarray, dense: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Single moves of some people: feature (M,) and value (c, M), NaN where there is no such move.

        Ordered features: a grid on either side, out to the person's reach or to what the incumbent could pay for.
        Categorical features: every level that the person may choose.
        """
        people, schema = self.people, self.schema
        x, low, high = people.x[who], people.low[who].copy(), people.high[who].copy()
        if self.separable and np.isfinite(self.cost[who]).any():
            reach_low, reach_high = self.problem.cost.reach_for(x, self.cost[who], people.weight[who])
            low, high = np.fmax(low, reach_low), np.fmin(high, reach_high)
        with np.errstate(invalid="ignore"):  # no value of a missing feature is in reach: from inf to -inf
            here = np.where(np.isnan(x), (low + high) / 2, x)
        share = (
            np.arange(1, self.method.grid + 1) / self.method.grid
        ) ** 1.5  # finer close to where one stands
        features, values = [], []
        for j in np.flatnonzero(self.free[who].any(0)):
            if schema.is_categorical[j]:
                options = np.broadcast_to(
                    np.arange(schema.n_levels[j], dtype=np.float64), (len(who), schema.n_levels[j])
                )
                value = np.where(people.level_ok[int(j)][who], options, np.nan)
            elif schema.n_levels[j] and schema.n_levels[j] <= 2 * self.method.grid:
                options = np.broadcast_to(
                    np.arange(schema.n_levels[j], dtype=np.float64), (len(who), schema.n_levels[j])
                )
                value = np.where(people.level_ok[int(j)][who], options, np.nan)
            else:
                if j in self.method.crossings_:
                    above, below = self.method.crossings_[int(j)]
                    size = 2 * self.method.grid * dense
                    fine = np.arange(1, size + 1) / size
                    up = _spread(above, here[:, j], high[:, j], fine, up=True)
                    down = _spread(below, low[:, j], here[:, j], fine, up=False)
                else:
                    up = here[:, j, None] + (high[:, j] - here[:, j])[:, None] * share
                    down = here[:, j, None] - (here[:, j] - low[:, j])[:, None] * share
                value = schema.snap(np.concatenate([down[:, ::-1], up], axis=1), columns=int(j))
                inside = (value >= low[:, j, None] - 1e-9 * schema.span[j]) & (
                    value <= high[:, j, None] + 1e-9 * schema.span[j]
                )
                value = np.where(inside, value, np.nan)
                if j in people.level_ok:
                    index = np.where(np.isnan(value), 0, value).astype(np.int64)
                    value = np.where(
                        np.take_along_axis(people.level_ok[int(j)][who], index, 1), value, np.nan
                    )
                value[:, 1:][value[:, 1:] == value[:, :-1]] = np.nan
            value = np.where(np.abs(value - x[:, j, None]) <= 1e-9 * schema.span[j], np.nan, value)
            value = np.where(self.free[who, j][:, None], value, np.nan)
            features.append(np.full(value.shape[1], j))
            values.append(value)
        for j in np.flatnonzero(self.holds & self.may[who].any(0)):  # free, and stops what would follow
            features.append(np.array([j]))
            values.append(np.where(self.may[who, j], x[:, j], np.nan)[:, None])
        if not features:
            return np.empty(0, np.int64), np.empty((len(who), 0))
        return np.concatenate(features), np.concatenate(values, axis=1)

    def _part_costs(self, who: np.ndarray, feature: np.ndarray, value: np.ndarray) -> np.ndarray:
        """(c, M) cost of each single move alone."""
        if not self.separable:
            rows, moves = np.nonzero(~np.isnan(value))
            out = np.full(value.shape, np.inf)
            action = np.full((len(rows), self.d), np.nan)
            action[np.arange(len(rows)), feature[moves]] = value[rows, moves]
            out[rows, moves] = self.people.cost(who[rows], action)
            return out
        out = np.empty(value.shape)
        for j in np.unique(feature):
            at = feature == j
            part = self.problem.cost.part(int(j), self.people.x[who, j][:, None], value[:, at])
            out[:, at] = part * self.people.weight[who, j][:, None]
        return np.where(np.isnan(value), np.inf, out)

    def _scan(
        self, who: np.ndarray, base: np.ndarray, feature: np.ndarray, value: np.ndarray, limit: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Every single move from base actions (c, d): (c, M) score and (c, M) cost of the whole; -inf and inf where
        the move is not there, costs more than limit (c,), or may not be done. Valid ones are kept."""
        score, cost, _ = self._look(who, base, feature, value, limit, pool=True)
        return score, cost

    def _look(
        self,
        who: np.ndarray,
        base: np.ndarray,
        feature: np.ndarray,
        value: np.ndarray,
        limit: np.ndarray,
        pool: bool,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """`_scan`, with the cost of valid moves alone (c, M) as a third array, inf for the others."""
        score = np.full(value.shape, -np.inf)
        cost = np.full(value.shape, np.inf)
        price = np.full(value.shape, np.inf)
        there = ~np.isnan(value)
        if self.separable:
            own = self.people.parts(who, base)
            guess = own.sum(1)[:, None] - own[:, feature] + self._part_costs(who, feature, value)
            there &= guess < limit[:, None] - 1e-12
        rows, moves = np.nonzero(there)
        if not rows.size:
            return score, cost, price
        action = base[rows]
        action[np.arange(len(rows)), feature[moves]] = value[rows, moves]
        total = guess[rows, moves] if self.separable else self.people.cost(who[rows], action)
        if not self.separable:
            cheap = total < limit[rows] - 1e-12
            rows, moves, action, total = rows[cheap], moves[cheap], action[cheap], total[cheap]
        got, valid = self.ask(who[rows], action)
        score[rows, moves], cost[rows, moves] = got, total
        price[rows[valid], moves[valid]] = total[valid]
        self.keep(who[rows][valid], action[valid], total[valid], pool)
        return score, cost, price

    def _sweep(self, who: np.ndarray, start: np.ndarray) -> None:
        """Scan single moves from where people stand, guess sparse combinations, and step greedily.

        Where acts have consequences, once with them and once with everything held that can be.
        """
        feature, value = self._moves(who)
        if not feature.size:
            return
        bases = [np.full((len(who), self.d), np.nan)]
        if self.holds.any():
            bases.append(np.where(self.holds & self.may[who], self.people.x[who], np.nan))
        for base in bases:
            score, cost = self._scan(who, base, feature, value, self.cost[who])
            self._guess(who, start, base, feature, value, score, cost)
            self._greedy(who, start, base, feature, value, score, cost)

    def _guess(
        self,
        who: np.ndarray,
        start: np.ndarray,
        base: np.ndarray,
        feature: np.ndarray,
        value: np.ndarray,
        score: np.ndarray,
        cost: np.ndarray,
    ) -> None:
        """Combine single moves as if scores added up: most gain per cost first, aiming at several slacks."""
        gain = np.where(np.isfinite(score), np.maximum(score - start[:, None], 0.0), 0.0)
        price = np.where(np.isfinite(cost), np.maximum(cost, 1e-9), np.inf)
        if not (gain > 0).any():
            return
        need = -start
        for aim in _SLACKS:
            self._knapsack(who, base, gain, price, feature, value, need * aim, None)
        best = np.zeros((len(who), self.d))
        np.maximum.at(best.T, feature, gain.T)
        for j in np.flatnonzero((best > 0).any(0)):  # every feature leads once
            self._knapsack(who, base, gain, price, feature, value, need, int(j))

    def _knapsack(
        self,
        who: np.ndarray,
        base: np.ndarray,
        gain: np.ndarray,
        price: np.ndarray,
        feature: np.ndarray,
        value: np.ndarray,
        need: np.ndarray,
        lead: int | None,
    ) -> None:
        left = need.copy()
        gain = gain.copy()
        action = base.copy()
        each = np.arange(len(who))
        steps = int(min(_GREEDY_STEPS, self.people.max_changes.max()))
        for step in range(steps):
            worth = np.minimum(gain, np.maximum(left, 0.0)[:, None]) / price
            if step == 0 and lead is not None:
                worth = np.where(feature == lead, worth, 0.0)
            pick = worth.argmax(1)
            go = (worth[each, pick] > 0) & (left > 0) & (self.people.max_changes[who] > step)
            if not go.any():
                break
            action[each[go], feature[pick[go]]] = value[each[go], pick[go]]
            left = np.where(go, left - gain[each, pick], 0.0)  # without a move to lead with: done
            gain[(feature[None, :] == feature[pick][:, None]) & go[:, None]] = 0.0
        self._try(who, action)

    def _greedy(
        self,
        who: np.ndarray,
        start: np.ndarray,
        base: np.ndarray,
        feature: np.ndarray,
        value: np.ndarray,
        score: np.ndarray,
        cost: np.ndarray,
    ) -> None:
        """Take the move with the most score per cost, look again from there, until a move turns the decision."""
        here, paid = start.copy(), np.zeros(len(who))
        for step in range(_GREEDY_STEPS - 1):
            there = np.isfinite(score) & (cost < self.cost[who][:, None]) & (here <= self.slack)[:, None]
            gain = np.where(there, np.where(there, score, 0.0) - here[:, None], 0.0)
            gain = np.minimum(gain, np.maximum(-here, 1e-9)[:, None])
            extra = np.where(there, np.maximum(cost - paid[:, None], 1e-9), 1.0)
            worth = np.where(gain > 1e-9, gain / extra, -np.inf)
            pick = worth.argmax(1)
            each = np.arange(len(who))
            go = np.isfinite(worth[each, pick])
            if not go.any():
                return
            who, value, base, here, paid = who[go], value[go], base[go], here[go], paid[go]
            pick, score, cost, each = pick[go], score[go], cost[go], np.arange(int(go.sum()))
            base = base.copy()
            base[each, feature[pick]] = value[each, pick]
            here, paid = score[each, pick], cost[each, pick]
            if step + 2 < _GREEDY_STEPS:
                score, cost = self._scan(who, base, feature, value, self.cost[who])

    def _repair(self, start: np.ndarray) -> None:
        """Mend candidates that turn the decision and break a rule: by one more change, or by solving a linear rule
        for one of its features; people with nothing yet also walk from one solved state to the next."""
        for _ in range(2):
            who, action, cost = self._half()
            if not who.size:
                break
            feature, value = self._moves(who)
            self._solve(who, action)
            if feature.size:
                self._scan(who, action, feature, value, self.cost[who])
        lost = np.flatnonzero(~np.isfinite(self.cost))
        if not lost.size or not self._linear_atoms:
            return
        base, here = np.full((lost.size, self.d), np.nan), start[lost]
        for _ in range(4):
            feature, value = self._moves(lost)
            if not feature.size:
                return
            score, cost = self._scan(lost, base, feature, value, np.full(lost.size, np.inf))
            top = np.argsort(-score, axis=1, kind="stable")[:, :8]
            row, pick = np.repeat(np.arange(lost.size), top.shape[1]), top.ravel()
            there = np.isfinite(score[row, pick])  # else a column that is there for somebody else
            row, pick = row[there], pick[there]
            trial = base[row]
            trial[np.arange(len(row)), feature[pick]] = value[row, pick]
            owner, mended, origin = self._solved(lost[row], trial)
            got, valid = self.ask(owner, mended)
            price = self.people.cost(owner, mended)
            self.keep(owner[valid], mended[valid], price[valid])
            within_rules = self._rules_hold(owner, mended)
            got = np.where(within_rules, got, -np.inf)
            lead = _cheapest(row[origin], -got)
            better = lead[got[lead] > here[row[origin[lead]]] + 1e-9]
            if not better.size:
                return
            at = row[origin[better]]
            lost, base, here = lost[at], mended[better], got[better]
            go = ~np.isfinite(self.cost[lost])
            lost, base, here = lost[go], base[go], here[go]
            if not lost.size:
                return

    def _half(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The cheapest few candidates of each person that only break rules; the store is emptied."""
        if not self.half_who:
            return np.empty(0, np.int64), np.empty((0, self.d)), np.empty(0)
        who, action = np.concatenate(self.half_who), np.concatenate(self.half_action)
        self.half_who, self.half_action = [], []
        cost = self.people.cost(who, action)
        order = np.lexsort((np.arange(len(who)), cost, who))
        order = order[cost[order] < self.cost[who[order]] - 1e-12]
        order = order[rank_in_run(who[order]) < 6]
        return who[order], action[order], cost[order]

    @cached_property
    def _linear_atoms(self) -> list[Linear]:
        from wayforward.rules.normal_form import Linear

        forms = [form for form in self.schema.compiled_rules.normal_form() if form is not None]
        return [
            atom for form in forms for clause in form.clauses for atom in clause if isinstance(atom, Linear)
        ]

    def _rules_hold(self, who: np.ndarray, action: np.ndarray) -> np.ndarray:
        after = self.people.after(who, action)
        return np.asarray(self.schema.compiled_rules.satisfied(self.people.x[who], after))

    def _solve(self, who: np.ndarray, action: np.ndarray) -> None:
        owner, mended, _ = self._solved(who, action)
        if owner.size:
            self._try(owner, mended)

    def _solved(self, who: np.ndarray, action: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Every broken linear rule solved for each feature in it that the person may act on: owner, action, and the
        row that each came from."""
        people, schema = self.people, self.schema
        after, before = people.after(who, action), people.x[who]
        owners, actions, origins = [np.empty(0, np.int64)], [np.empty((0, self.d))], [np.empty(0, np.int64)]
        moved = schema.differs(after, before)
        for atom in self._linear_atoms:
            total = np.full(len(who), -atom.bound)
            for side, j, weight in atom.terms:
                total += weight * (after if side == "after" else before)[:, j]
            for j, weight in atom.changed:
                total += weight * moved[:, j]
            for side, j, weight in atom.terms:
                if side != "after" or weight == 0:
                    continue
                row = np.flatnonzero((total > 1e-12) & self.free[who, j])
                trial = action[row].copy()
                trial[:, j] = after[row, j] - total[row] / weight
                trial = self._clean(who[row], trial)
                owners.append(who[row])
                actions.append(trial)
                origins.append(row)
        return np.concatenate(owners), np.concatenate(actions), np.concatenate(origins)

    def _draw(self, who: np.ndarray) -> None:
        """Nothing found yet: draw whole actions from each person's own stream, corners included, and climb the score
        from the best of them, whatever it costs."""
        people, schema = self.people, self.schema
        for attempt in range(6):
            who = who[~np.isfinite(self.cost[who]) & (people.rows[who] < self.cap[who])]
            if not who.size:
                return
            size, tag = 64, 1000 * self.option + 10 * attempt
            place = self.streams.uniform(who, size, self.d, tag=tag + 1)
            some = self.streams.uniform(who, size, self.d, tag=tag + 2)
            share = self.streams.uniform(who, size, 1, tag=tag + 3)
            owner = np.repeat(who, size)
            act = (some < np.maximum(share, 1.0 / self.d)).reshape(-1, self.d)
            place = place.reshape(-1, self.d)
            if attempt % 2 and len(self.method.reference_):  # mix the values of accepted people
                row = (place * len(self.method.reference_)).astype(np.int64)
                value = self.method.reference_[row, np.arange(self.d)]
            else:
                reach = np.clip(
                    2.0 * place - 0.5, 0.0, 1.0
                )  # a quarter of the values at either end of the reach
                value = people.low[owner] + reach * (people.high[owner] - people.low[owner])
                for j in np.flatnonzero(schema.is_categorical):
                    value[:, j] = np.floor(place[:, j] * schema.n_levels[j])
            action = self._clean(owner, np.where(act, value, np.nan))
            if self.holds.any():
                still = self.streams.uniform(who, size, self.d, tag=tag + 4).reshape(-1, self.d) < 0.3
                still &= self.holds & self.may[owner] & np.isnan(action) & ~np.isnan(action).all(1)[:, None]
                action = np.where(still, people.x[owner], action)
            score, valid = self.ask(owner, action)
            self.keep(owner[valid], action[valid], people.cost(owner[valid], action[valid]))
            lost = ~np.isfinite(self.cost[owner])
            if lost.any():
                best = np.flatnonzero(lost)[np.lexsort((-score[lost], owner[lost]))]
                best = best[rank_in_run(owner[best]) < 3]
                self._climb(owner[best], action[best], score[best])

    def _climb(self, who: np.ndarray, base: np.ndarray, here: np.ndarray) -> None:
        """Coordinate ascent of the score from whole actions, until the decision turns or no move helps."""
        for _ in range(2 * self.d):
            go = ~np.isfinite(self.cost[who]) & np.isfinite(here)
            who, base, here = who[go], base[go], here[go]
            if not who.size:
                return
            feature, value = self._moves(who)
            if not feature.size:
                return
            score, _ = self._scan(who, base, feature, value, np.full(len(who), np.inf))
            pick = score.argmax(1)
            each = np.arange(len(who))
            better = score[each, pick] > here + 1e-9
            base = base.copy()
            base[each, feature[pick]] = value[each, pick]
            who, base, here = who[better], base[better], score[each, pick][better]

    # -- the polish ----------------------------------------------------------------------------------------

    def _polish(self) -> None:
        """Move the values of the pool's candidates back as far as the decision holds; the cheapest may lead."""
        who, action, cost = self.pool(self.method.beam)
        if len(who):
            self.done.append((who, *self._shrink(who, action, cost, _LOOSE)))

    def _refine(self, who: np.ndarray) -> None:
        """Exchange pairs of changes in the incumbents until nothing gets cheaper."""
        for _ in range(4):
            before = self.cost.copy()
            action, cost = self._exchange(who, self.best[who], self.cost[who])
            moved = np.flatnonzero(cost < before[who] - 1e-9)
            who = who[moved]
            if not who.size:
                return
            self.done.append((who, *self._shrink(who, action[moved], cost[moved], _LOOSE)))

    def _shrink(
        self, who: np.ndarray, action: np.ndarray, cost: np.ndarray, tight: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Undo whole changes while the decision holds, then section each value towards where the person stands."""
        people, schema = self.people, self.schema
        action, cost = action.copy(), cost.copy()
        live = np.arange(len(who))
        for _ in range(self.d):  # undo, the largest saving first
            row, col = np.nonzero(~np.isnan(action[live]))
            trial = action[live[row]].copy()
            trial[np.arange(len(row)), col] = np.nan
            limit = cost[live[row]] + 2e-12 * self.holds[col]  # a hold that is not needed goes too
            price = self._prices(who[live[row]], trial, limit)
            lead = _cheapest(row, price)
            if not lead.size:
                break
            at = live[row[lead]]
            action[at], cost[at] = trial[lead], price[lead]
            live = at
        acted = ~np.isnan(action) & ~schema.is_categorical
        saving = np.where(acted, people.parts(who, action), -1.0)
        several = acted & (acted.sum(1) > 1)[:, None]
        if several.any():  # which value gives most when it alone moves back an eighth of the way
            row, col = np.nonzero(several)
            trial = action[row].copy()
            step = action[row, col] + (people.x[who[row], col] - action[row, col]) / 8
            trial[np.arange(len(row)), col] = np.where(np.isnan(step), trial[np.arange(len(row)), col], step)
            less = cost[row] - self._prices(who[row], people.snap(who[row], trial), cost[row])
            saving[row, col] = np.where(np.isfinite(less), less * 8, 0.0) + 1e-3 * saving[row, col]
        order = np.argsort(-saving, axis=1, kind="stable")
        for turn in range(int(acted.sum(1).max(initial=0))):
            col = order[:, turn]
            go = np.flatnonzero(acted[np.arange(len(who)), col])
            action[go], cost[go] = self._section(who[go], action[go], cost[go], col[go], tight)
        self.keep(who, action, cost, pool=False)
        return action, cost

    def _prices(self, who: np.ndarray, action: np.ndarray, limit: np.ndarray) -> np.ndarray:
        """(m,) cost of valid whole actions that are cheaper than limit (m,); inf for the others."""
        price = np.full(len(who), np.inf)
        total = self.people.cost(who, action)
        at = np.flatnonzero((total < limit - 1e-12) & ~np.isnan(action).all(1))
        if at.size:
            _, valid = self.ask(who[at], action[at])
            price[at[valid]] = total[at[valid]]
        return price

    def _section(
        self, who: np.ndarray, action: np.ndarray, cost: np.ndarray, col: np.ndarray, tight: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Move the value of one feature each, col (c,), as near to where the person stands as the decision holds."""
        people, schema = self.people, self.schema
        action, cost = action.copy(), cost.copy()
        each = np.arange(len(who))
        fails = people.x[who, col].copy()  # the nearest value, towards the person, that is taken to fail
        near = np.where(np.isnan(schema.step), 0.0, 1.5 * schema.step)
        close = np.maximum(near, tight * schema.span)[col]
        share = np.arange(1, 8) / 8
        for _ in range(12):
            here = action[each, col]
            live = np.flatnonzero(
                np.abs(fails - here) > close
            )  # a missing value before: nothing to section to
            if not live.size:
                break
            c, w = col[live], who[live]
            trial = here[live][:, None] + (fails[live] - here[live])[:, None] * share
            trial = schema.snap(trial.T, columns=c).T
            span = schema.span[c][:, None]
            usable = (np.abs(trial - here[live][:, None]) > 1e-9 * span) & (
                np.abs(trial - fails[live][:, None]) > 1e-9 * span
            )
            usable &= (trial >= people.low[w, c][:, None] - 1e-9 * span) & (
                trial <= people.high[w, c][:, None] + 1e-9 * span
            )
            usable[:, 1:] &= trial[:, 1:] != trial[:, :-1]
            for j, ok in people.level_ok.items():
                mine = np.flatnonzero(c == j)
                usable[mine] &= np.take_along_axis(ok[w[mine]], trial[mine].astype(np.int64), 1)
            row, place = np.nonzero(usable)
            price = np.full(trial.shape, np.inf)
            if row.size:
                rows = action[live[row]]
                rows[np.arange(len(row)), c[row]] = trial[row, place]
                price[row, place] = self._prices(w[row], rows, cost[live[row]])
            pick = price.argmin(1)
            some = np.flatnonzero(np.isfinite(price[np.arange(len(live)), pick]))
            # the first usable value beyond the chosen one failed, or was dearer: it bounds the next section
            beyond = usable & (np.arange(7)[None, :] > np.where(np.isfinite(price.min(1)), pick, -1)[:, None])
            first = beyond.argmax(1)
            nearer = np.where(beyond.any(1), trial[np.arange(len(live)), first], fails[live])
            action[live[some], c[some]] = trial[some, pick[some]]
            cost[live[some]] = price[some, pick[some]]
            done = ~usable.any(1)
            fails[live] = np.where(done, action[live, c], nearer)
        return action, cost

    def _exchange(
        self, who: np.ndarray, action: np.ndarray, cost: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Two changes at once: one that saves and one that makes up for it, wherever the whole gets cheaper.

        Every single move from the candidate is shown to the model once; pairs are chosen as if scores added up, and
        only the most promising few are asked about.
        """
        grid, value = self._moves(who, dense=3)
        near, closer = self._near(who, action)
        feature, value = np.concatenate([near, grid]), np.concatenate([closer, value], axis=1)
        if not feature.size or not len(who):
            return action, cost
        action, cost = action.copy(), cost.copy()
        each = np.arange(len(who))
        value = np.where(value == action[:, feature], np.nan, value)
        gap = self._gaps(who, action, cost, feature, value)
        most = -np.where(np.isnan(gap), 0.0, gap).min(1)
        there = ~np.isnan(value) & (gap < most[:, None])
        score = np.full(value.shape, -np.inf)
        row, move = np.nonzero(there)
        trial = _with(action[row], feature[move], value[row, move])
        score[row, move], valid = self.ask(who[row], trial)
        price = np.full(value.shape, np.inf)
        price[row[valid], move[valid]] = gap[row[valid], move[valid]]
        here = self.ask(who, action)[0]
        here = np.where(np.isfinite(here), here, np.nan)
        first, second = price.argmin(1), np.full(len(who), -1)  # the best single move, if it saves
        best = np.minimum(price[each, first], 0.0)
        gain = np.where(np.isfinite(score), score, np.nan) - here[:, None]
        for row, one, two in self._pairs(feature, gap, gain, here, near.size):
            trial = _with(_with(action[row], feature[one], value[row, one]), feature[two], value[row, two])
            total = self.people.cost(who[row], trial)
            cheap = np.flatnonzero((total < cost[row] - 1e-9) & ~np.isnan(trial).all(1))
            if self.coupled and cheap.size:
                cheap = cheap[self._rules_hold(who[row[cheap]], trial[cheap])]
            if cheap.size:
                _, valid = self.ask(who[row[cheap]], trial[cheap])
                row, one, two = row[cheap[valid]], one[cheap[valid]], two[cheap[valid]]
                saved = total[cheap[valid]] - cost[row]
                lead = _cheapest(row, saved)
                lead = lead[saved[lead] < best[row[lead]] - 1e-12]
                at = row[lead]
                best[at], first[at], second[at] = saved[lead], one[lead], two[lead]
        at = np.flatnonzero(best < -1e-9)
        if at.size:
            action[at] = _with(action[at], feature[first[at]], value[at, first[at]])
            both = at[second[at] >= 0]
            action[both] = _with(action[both], feature[second[both]], value[both, second[both]])
            cost[at] = self.people.cost(who[at], action[at])
            self.keep(who[at], action[at], cost[at], pool=False)
        return action, cost

    def _near(self, who: np.ndarray, action: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Moves from a candidate that save: undo (inf), a step, an eighth and half of the way back; a step further."""
        people, schema = self.people, self.schema
        acted = ~np.isnan(action)
        columns = np.flatnonzero(acted.any(0))
        x = people.x[who]
        back = np.where(np.isnan(x), action, x) - action
        step = np.where(np.isnan(schema.step), np.abs(back) / 32, schema.step)
        moves = [np.sign(back) * step, back / 8, back / 2, -np.sign(back) * step]
        features, values = [], []
        for j in columns:
            undo = np.where(acted[:, j], np.inf, np.nan)
            some = [undo]
            if not schema.is_categorical[j]:
                for move in moves:
                    to = schema.snap(action[:, j] + move[:, j], columns=int(j))
                    slack = 1e-9 * schema.span[j]
                    keep = (to >= people.low[who, j] - slack) & (to <= people.high[who, j] + slack)
                    keep &= np.abs(to - x[:, j]) > slack
                    if int(j) in people.level_ok:
                        index = np.where(np.isnan(to), 0, to).astype(np.int64)
                        keep &= people.level_ok[int(j)][who, index]
                    some.append(np.where(keep, to, np.nan))
            features.append(np.full(len(some), j))
            values.append(np.stack(some, axis=1))
        if not features:
            return np.empty(0, np.int64), np.empty((len(who), 0))
        return np.concatenate(features), np.concatenate(values, axis=1)

    def _gaps(
        self, who: np.ndarray, action: np.ndarray, cost: np.ndarray, feature: np.ndarray, value: np.ndarray
    ) -> np.ndarray:
        """(c, M) how much each single move from a candidate adds to its cost; NaN where there is no move."""
        if self.separable:
            own = self.people.parts(who, action)
            part = self._part_costs(who, feature, np.where(np.isinf(value), np.nan, value))
            part = np.where(np.isinf(value), 0.0, part)
            return np.where(np.isnan(value), np.nan, part - own[:, feature])
        row, move = np.nonzero(~np.isnan(value))
        out = np.full(value.shape, np.nan)
        out[row, move] = (
            self.people.cost(who[row], _with(action[row], feature[move], value[row, move])) - cost[row]
        )
        return out

    def _pairs(
        self, feature: np.ndarray, gap: np.ndarray, gain: np.ndarray, here: np.ndarray, near: int
    ) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Promising pairs (candidate, first move, second move) in blocks: the first saves, the whole saves, and the
        added scores hold the decision; or nearly, for scores that do not add up."""
        top, width = (
            200 if self.coupled else 12,
            gap.shape[1],
        )  # rules thin them out before the model is asked
        saves = np.where((gap[:, :near] < -1e-9) & np.isfinite(gain[:, :near]), gap[:, :near], np.inf)
        few = np.argsort(saves, axis=1, kind="stable")[:, :10]
        block = max(1, 4_000_000 // max(few.shape[1] * width, 1))
        for begin in range(0, len(gap), block):
            rows = np.arange(begin, min(begin + block, len(gap)))
            lead = few[rows]
            usable = np.isfinite(np.take_along_axis(saves[rows], lead, 1))
            if not usable.any():
                continue
            both = np.take_along_axis(gap[rows], lead, 1)[:, :, None] + gap[rows][:, None, :]
            ends = (
                np.take_along_axis(gain[rows], lead, 1)[:, :, None]
                + gain[rows][:, None, :]
                + here[rows][:, None, None]
            )
            with np.errstate(invalid="ignore"):
                fits = (
                    usable[:, :, None]
                    & (both < -1e-9)
                    & np.isfinite(ends)
                    & (feature[lead][:, :, None] != feature)
                )
            cheap = np.where(fits & (ends > 0), both, np.inf).reshape(len(rows), -1)
            likely = np.where(fits, -ends, np.inf).reshape(len(rows), -1)
            for worth in (cheap, likely):
                size = min(top, worth.shape[1])
                last = np.partition(worth, size - 1, axis=1)[:, size - 1 : size]
                chosen = np.isfinite(worth) & (
                    worth <= last
                )  # ties by position, so that other columns do not matter
                over = np.flatnonzero(np.count_nonzero(chosen, axis=1) > size)
                chosen[over] &= chosen[over].cumsum(1) <= size
                at, flat = np.nonzero(chosen)
                if at.size:
                    yield rows[at], lead[at, flat // width], flat % width


def _with(action: np.ndarray, feature: np.ndarray, value: np.ndarray) -> np.ndarray:
    """(q, d) actions with one value each set; inf undoes the change."""
    out = action.copy()
    out[np.arange(len(out)), feature] = np.where(np.isinf(value), np.nan, value)
    return out


def _cheapest(group: np.ndarray, price: np.ndarray) -> np.ndarray:
    """Positions of the cheapest finite entry of each group."""
    if not len(group):
        return np.empty(0, dtype=np.int64)
    order = np.lexsort((np.arange(len(group)), price, group))
    lead = order[np.r_[True, group[order][1:] != group[order][:-1]]]
    return np.asarray(lead[np.isfinite(price[lead])])
