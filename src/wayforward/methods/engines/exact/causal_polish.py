"""Polish actions in a causal world: cheapest way to the decision, with or without staying at least as plausible.

One row is one person, one set of features to act on (a support) and one start. All rows move at once:

- `descend` solves a chain of small quadratic programs. Score and plausibility are linearised at the row by finite
  differences through the world and the real model; the cheapest point that satisfies both, the person's box included,
  is known in closed form for two constraints. A merit function accepts or shortens the step.
- `tighten` needs no slope: it shrinks, trades and drops changes with halving steps and keeps what was checked.

Coordinates are scaled so that the cost of a change is its squared length where the cost is a squared one, and about
so otherwise. Setting a feature to the value that it has already costs nothing and holds it while its causes move, so
it is an act like any other. Everything found is noted with its cost, its score and how plausible it is; a row's path
depends on its own person only.

Source: J. Nocedal & S. J. Wright (2006), Numerical Optimization, ch. 18; V. Torczon (1997), SIAM J. Optim. 7(1).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from wayforward.ranks import rank_in_run

if TYPE_CHECKING:
    from wayforward.problem import Plausibility, Population

_BLOCK = 1 << 16  # candidate rows evaluated at once
_SUBSETS = 4  # up to so many features, every subset of them is a support
_SLOTS = 1 << _SUBSETS  # supports of each person
_SPARE = 4  # places for actions on other sets of features
_SLOPE = 1e-4  # finite differences: share of the feature's width
_CLEAR = 5e-5  # log-odds that stay beyond the decision: models in single precision err by less
_SURE = 1e-11  # a chance below this is measured by its logarithm
_NEVER = -1e12  # how plausible the impossible is; finite, so that differences exist
_NATS = 1e-6  # safety on plausibility, in its own unit


@dataclass(frozen=True)
class Evaluations:
    """What rows come to: margin (m,) above the decision, likely (m,) above the person's own level, cost (m,)."""

    margin: np.ndarray  # -inf where the person may not do it; above 0 the decision is turned
    likely: np.ndarray  # at least 0: plausible; inf where the problem has no plausibility
    cost: np.ndarray

    def take(self, rows: np.ndarray) -> Evaluations:
        """Copy some of the rows."""
        return Evaluations(self.margin[rows], self.likely[rows], self.cost[rows])


class Polish:
    """The best actions known for each person, at each allowed shortfall of plausibility, on each support.

    people: n people. plausibility: fitted, or None. slacks (L,) or (n, L): how far below the plausible level a person
    may end, 0 for plausible, inf for whatever. limit: model rows a person. cost (n, L, Q), short (n, L, Q) and action
    (n, L, Q, d) hold the best that was seen: what it costs, how far below the level it ends, what is done. The first
    slots are the supports (n, S, d) bool; actions on other sets of features share the rest.
    """

    def __init__(
        self,
        people: Population,
        plausibility: Plausibility | None,
        slacks: np.ndarray,
        *,
        seed: int = 0,
        limit: int = 4000,
    ) -> None:
        self.people, self.plausibility, self.seed = people, plausibility, seed
        self.cap = people.rows + limit
        n, d = people.n, people.d
        everyone = np.arange(n)
        self.slacks = np.array(
            np.broadcast_to(np.asarray(slacks, dtype=np.float64), (n, np.shape(slacks)[-1]))
        )
        self.floor = np.full(n, -np.inf) if plausibility is None else plausibility.floor(people.x)
        self.unit, self.smooth = _units(people)
        self.support = _supports(people)
        shape = (n, self.slacks.shape[1], self.support.shape[1] + _SPARE)
        self.cost, self.short = np.full(shape, np.inf), np.zeros(shape)
        self.action = np.full((*shape, d), np.nan)
        self.keep = people.problem.slack + (_CLEAR if people.problem.target.interval is None else 0.0)
        start = self.score(everyone, people.x) if n else np.zeros(0)
        self.stepped = bool((self.smooth & ~np.isnan(people.schema.step)).any())
        self.sloped = np.zeros(
            n, dtype=bool
        )  # the model answered this person's small steps with small changes
        self.scale = np.maximum(np.abs(start), 1e-12)  # (n,) how far the decision is

    # -- evaluation ----------------------------------------------------------------------------------------

    def ask(self, who: np.ndarray, action: np.ndarray, slot: np.ndarray | None = None) -> Evaluations:
        """Evaluate actions (m, d) of who (m,) by the world, the model and the plausibility.

        With `slot` (m,) the judge's conditions count, too, and what is good is noted.
        """
        m = len(who)
        margin, likely = np.full(m, -np.inf), np.full(m, -np.inf)
        for begin in range(0, m, _BLOCK):
            part = slice(begin, begin + _BLOCK)
            margin[part], likely[part] = self._ask(who[part], action[part], slot is not None)
        evaluations = Evaluations(margin, likely, self.people.cost(who, action))
        if slot is not None:
            self._note(who, slot, action, evaluations)
        return evaluations

    def _ask(self, who: np.ndarray, action: np.ndarray, judge: bool) -> tuple[np.ndarray, np.ndarray]:
        people = self.people
        after = people.after(who, action)
        may = np.flatnonzero(people.allowed(who, action, after)) if judge else np.arange(len(who))
        margin, likely = np.full(len(who), -np.inf), np.full(len(who), -np.inf)
        if may.size:
            some, rows = who[may], after[may]
            margin[may] = self.score(some, rows) - self.keep
            if self.plausibility is None:
                likely[may] = np.inf
            else:
                likely[may] = np.nan_to_num(
                    self.plausibility.score(rows) - self.floor[some], nan=_NEVER, neginf=_NEVER
                )
        return margin, likely

    def score(self, who: np.ndarray, after: np.ndarray) -> np.ndarray:
        """Return the problem's score (m,); log-odds have a slope even where the model is all but sure of its no."""
        people, target = self.people, self.people.problem.bound_target
        if people.problem.robust is not None:
            return people.score(who, after)
        outputs = people.outputs(who, after)
        if target.target.interval is not None or (target.target.threshold is None and target.n_classes != 2):
            return np.asarray(target.score(outputs))
        sure = target.score(outputs)
        chance = target.value(outputs)
        low = np.flatnonzero(chance < _SURE)
        if low.size:
            sure[low] = np.log(np.maximum(chance[low], 1e-300)) - np.log(target.level / (1 - target.level))
        return np.asarray(sure)

    def _note(self, who: np.ndarray, slot: np.ndarray, action: np.ndarray, evaluations: Evaluations) -> None:
        for level in range(self.slacks.shape[1]):
            good = (
                (evaluations.margin > 0)
                & (evaluations.likely >= -self.slacks[who, level])
                & (evaluations.cost < self.cost[who, level, slot])
            )
            good &= ~np.isnan(action).all(1)
            rows = np.flatnonzero(good)
            if not rows.size:
                continue
            rows = rows[np.lexsort((evaluations.cost[rows], slot[rows], who[rows]))]
            first = np.r_[True, (np.diff(who[rows]) != 0) | (np.diff(slot[rows]) != 0)]
            rows = rows[first]
            self.cost[who[rows], level, slot[rows]] = evaluations.cost[rows]
            self.short[who[rows], level, slot[rows]] = np.maximum(-evaluations.likely[rows], 0.0)
            self.action[who[rows], level, slot[rows]] = action[rows]

    def slots(self, who: np.ndarray, action: np.ndarray) -> np.ndarray:
        """Return the places (m,) of actions: at their own set of features, or in turn at one of the spare ones."""
        match = (self.support[who] == ~np.isnan(action)[:, None, :]).all(2)
        turn = np.zeros(len(who), dtype=np.int64)
        order = np.argsort(who, kind="stable")
        turn[order] = rank_in_run(who[order])
        return np.asarray(np.where(match.any(1), match.argmax(1), self.support.shape[1] + turn % _SPARE))

    def best(self, level: int, most: int) -> tuple[np.ndarray, np.ndarray]:
        """Return who (m,) and slot (m,) of each person's cheapest known places at a level, cheapest first."""
        order = np.argsort(self.cost[:, level], axis=1, kind="stable")[:, :most]
        who, place = np.nonzero(np.isfinite(np.take_along_axis(self.cost[:, level], order, axis=1)))
        return who, order[who, place]

    def room(self, who: np.ndarray, rows: int) -> np.ndarray:
        """Test whether each person's budget has room for so many model rows for each of their rows here, (m,) bool."""
        need = np.bincount(who, minlength=self.people.n) * rows
        return np.asarray((self.people.rows + need <= self.cap)[who])

    # -- scaled coordinates --------------------------------------------------------------------------------

    def values(self, who: np.ndarray, action: np.ndarray, z: np.ndarray, moves: np.ndarray) -> np.ndarray:
        """Replace the moving coordinates (m, d) of actions (m, d) by the snapped values of z (m, d)."""
        value = self.people.x[who] + z / self.unit[who]
        return np.where(moves, self._snapped(who, value), action)

    def _snapped(self, who: np.ndarray, value: np.ndarray) -> np.ndarray:
        people = self.people
        value = np.clip(value, people.low[who], people.high[who])
        return people.snap(who, value) if self.stepped else value

    # -- looking around ------------------------------------------------------------------------------------

    def scatter(self, some: np.ndarray, samples: int, *, tag: int = 0) -> PolishCandidates:
        """Evaluate `samples` points a feature of each support of some people.

        Directions and lengths come from one bank that depends on the seed; lengths are spread evenly in the logarithm
        up to the width of the person's box.
        """
        people, support = self.people, self.support
        size = support[some].sum(2)
        reach = np.where(people.free & self.smooth, (people.high - people.low) * self.unit, 0.0).max(1)
        most = _SUBSETS
        size = np.minimum(size, most)
        rng = np.random.default_rng([self.seed % 2**63, 0xCA5A, tag])
        shape = (support.shape[1], samples * most)
        normal, share = rng.standard_normal((*shape, people.d)), rng.random(shape)
        level = rng.random((*shape, people.d))
        who, slot, number = np.nonzero(np.arange(samples * most) < samples * size[:, :, None])
        who = some[who]
        room = self.room(who, 1)
        who, slot, number = who[room], slot[room], number[room]
        acts = support[who, slot]
        moves = acts & self.smooth[who]
        z = np.where(moves, normal[slot, number], 0.0)
        z *= (
            reach[who] * 50.0 ** (share[slot, number] - 1) / np.maximum(np.sqrt(np.square(z).sum(1)), 1e-300)
        )[:, None]
        action = self.values(who, np.where(acts, people.x[who], np.nan), z, moves)
        for j, ok in people.level_ok.items():
            rows = np.flatnonzero(acts[:, j])
            if rows.size:
                action[rows, j] = _drawn(ok[who[rows]], level[slot[rows], number[rows], j])
        return self.rows(who, slot, action)

    def rows(self, who: np.ndarray, slot: np.ndarray, action: np.ndarray) -> PolishCandidates:
        """Evaluate rows, as far as the budget goes."""
        room = self.room(who, 1)
        who, slot, action = who[room], slot[room], action[room]
        return PolishCandidates(who, slot, action, self.ask(who, action, slot))

    def chosen(self, rows: PolishCandidates, level: int, most: int) -> PolishCandidates:
        """Choose for each person and place the `most` best rows to start from: cheap and good before nearly good."""
        who, slot, evaluations = rows.who, rows.slot, rows.evaluations
        slack = self.slacks[who, level]
        short = np.maximum(-evaluations.margin, 0.0) / self.scale[who]
        with np.errstate(invalid="ignore"):
            short = short + np.where(np.isinf(slack), 0.0, np.maximum(-slack - evaluations.likely, 0.0))
        some_rows = np.flatnonzero(np.isfinite(short))
        value = np.where(short > 0, 1e6 * (1 + short), evaluations.cost)[some_rows]
        order = some_rows[np.lexsort((some_rows, value, slot[some_rows], who[some_rows]))]
        return rows.take(order[rank_in_run(who[order] * self.cost.shape[2] + slot[order]) < most])

    def elsewhere(self, level: int, most: int = 1, some: np.ndarray | None = None) -> PolishCandidates:
        """Rewrite each person's best answers as acts on every support, and leave the other features to follow."""
        i, place = self.best(level, most)
        if some is not None:
            some_rows = np.isin(i, some)
            i, place = i[some_rows], place[some_rows]
        after = self.people.after(i, self.action[i, level, place])
        row, slot = np.nonzero(self.support[i].any(2))
        acts = self.support[i[row], slot] & ~np.isnan(after[row])
        action = np.where(acts, after[row], np.nan)
        action = np.where(self.smooth[i[row]] | np.isnan(action), action, self.people.snap(i[row], action))
        return self.rows(i[row], slot, action)

    def towards(
        self, some: np.ndarray, middle: np.ndarray, own: np.ndarray, shares: tuple[float, ...]
    ) -> PolishCandidates:
        """Evaluate people whose noise, on each support, is moved towards its middle and beyond: plausible places.

        middle (d,) and own (n, d): the usual noise and each person's. A share of 0 is the person, 1 the middle.
        """
        people = self.people
        row, slot = np.nonzero(self.support[some].any(2))
        who = some[row]
        acts = self.support[who, slot]
        parts = []
        for share in shares:
            u = np.where(acts & self.smooth[who], (1 - share) * own[who] + share * middle, own[who])
            value = np.where(acts, people.problem.world.predict(u), people.x[who])
            parts.append(np.where(acts, self._snapped(who, value), np.nan))
        times = len(shares)
        return self.rows(np.tile(who, times), np.tile(slot, times), np.concatenate(parts))

    # -- chain of quadratic programs -----------------------------------------------------------------------

    def descend(
        self, rows: PolishCandidates, level: int, *, rounds: int = 14, cut: tuple[int, int] = (4, 6)
    ) -> None:
        """Improve rows by steps that are optimal for the linearised score and plausibility.

        level: whose slack bounds the shortfall of plausibility. Smooth coordinates move; the others stay as they are
        in the action. cut: after so many rounds each person goes on with so many rows.
        """
        people = self.people
        who, slot, action, first = rows.who, rows.slot, rows.action, rows.evaluations
        slack = self.slacks[who, level]
        moves = ~np.isnan(action) & self.smooth[who]
        cols = np.flatnonzero(people.schema.actionable & ~people.schema.has_levels)
        keep = np.flatnonzero(moves.any(1))
        if not keep.size or not cols.size:
            return
        who, slot, action, slack, moves = who[keep], slot[keep], action[keep], slack[keep], moves[keep]
        unit = self.unit[who]
        low, high = (people.low[who] - people.x[who]) * unit, (people.high[who] - people.x[who]) * unit
        z = np.where(moves, (action - people.x[who]) * unit, 0.0)
        wide = np.where(moves, high - low, 0.0)
        radius = 0.25 * wide.max(1)
        least = 1e-6 * radius
        aim = np.stack([1e-6 * self.scale[who], np.where(np.isinf(slack), -np.inf, _NATS - slack)], axis=1)
        penalty = np.zeros((len(who), 2))
        value = np.stack([first.margin[keep], first.likely[keep]], axis=1)
        state = _State(z, value, np.zeros((len(who), 2, len(cols))))
        fresh = live = np.flatnonzero(np.isfinite(value[:, 0]))
        for turn in range(rounds):
            if turn == cut[0]:
                live = self._leading(live, who, slack, z, state.value, aim, cut[1])
                fresh = fresh[np.isin(fresh, live)]
            fresh = fresh[self.room(who[fresh], len(cols) + 1)]
            self._slopes(state, fresh, who, action, moves, cols, low, high)
            flat = ~(np.abs(state.slope[live, 0]).sum(1) > 0)
            self.sloped[who[live[~flat]]] = True
            live = live[~flat]
            live = live[self.room(who[live], 1)]
            if not live.size:
                return
            at = np.ix_(live, cols)
            goal = aim[live] - state.value[live] + (state.slope[live] * z[at][:, None, :]).sum(2)
            slope = state.slope[live]
            open_ = np.isinf(aim[live, 1]) | np.isinf(state.value[live, 1])
            goal[open_, 1], slope[open_, 1] = -np.inf, 0.0
            point, pull = least_point(slope, goal, low[at], high[at], moves[at])
            penalty[live] = np.maximum(penalty[live], 2.4 * pull)
            step = point - z[at]
            length = np.sqrt(np.square(step).sum(1))
            step *= np.minimum(1.0, radius[live] / np.maximum(length, 1e-300))[:, None]
            done = length <= least[live]
            trial = z[live]
            trial[:, cols] += step
            live, trial = live[~done], trial[~done]
            if not live.size:
                return
            evaluations = self.ask(
                who[live], self.values(who[live], action[live], trial, moves[live]), slot[live]
            )
            new = np.stack([evaluations.margin, evaluations.likely], axis=1)
            was = _merit(z[live], state.value[live], aim[live], penalty[live])
            now = _merit(trial, new, aim[live], penalty[live])
            better = now < was - 1e-12 * np.abs(was)
            good = live[better]
            z[good], state.value[good] = trial[better], new[better]
            radius[live] = np.where(
                better,
                np.maximum(radius[live], 2 * length[~done]),
                0.3 * np.minimum(radius[live], length[~done]),
            )
            fresh = good
            live = live[radius[live] > least[live]]

    # -- without slopes ------------------------------------------------------------------------------------

    def tighten(
        self,
        level: int,
        some: np.ndarray,
        *,
        most: int = 1,
        rounds: int = 8,
        width: float = 0.5,
        turns: int = 4,
    ) -> None:
        """Make the best answers of some people (n,) bool cheaper without a slope.

        Shrink all, shrink one, step, drop, turn; steps are halved where nothing helps.
        """
        people = self.people
        who, slot = self.best(level, most)
        some_rows = some[who]
        who, slot = who[some_rows], slot[some_rows]
        share = np.full(len(who), width)
        rng = np.random.default_rng([self.seed % 2**63, 0x71647])
        live = np.arange(len(who))
        for turn in range(rounds):
            if not live.size:
                return
            some, place = who[live], slot[live]
            now, cost = self.action[some, level, place], self.cost[some, level, place]
            bank = rng.standard_normal((turns, people.d))
            row, trial = self._nearby(some, now, share[live], bank, turn % 4 == 0)
            cheaper = people.cost(some[row], trial) < cost[row] * (1 - 1e-9)
            row, trial = row[cheaper], trial[cheaper]
            room = self.room(some[row], 1)
            row, trial = row[room], trial[room]
            if row.size:
                self.ask(some[row], trial, place[row])
            better = self.cost[some, level, place] < cost
            share[live] = np.where(better, np.minimum(1.5 * share[live], 0.9), 0.5 * share[live])
            live = live[share[live] > 1e-4]

    def _nearby(
        self, who: np.ndarray, action: np.ndarray, share: np.ndarray, bank: np.ndarray, drop: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return row (t,) and trial (t, d): actions a little cheaper than those of who (m,), a `share` (m,) apart."""
        people, m = self.people, len(who)
        acted = ~np.isnan(action)
        moves = acted & self.smooth[who]
        z = np.where(moves, (action - people.x[who]) * self.unit[who], 0.0)
        rows, trials = [], []

        def add(which: np.ndarray, trial: np.ndarray) -> None:
            rows.append(np.arange(m)[which])
            trials.append(trial[which])

        add(moves.any(1), self.values(who, action, z * (1 - share[:, None]), moves))
        length = np.sqrt(np.square(z).sum(1, keepdims=True))
        if (moves.sum(1) > 1).any():
            for normal in bank:
                y = (
                    z
                    + share[:, None]
                    * length
                    * np.where(moves, normal, 0.0)
                    / np.sqrt(np.maximum(moves.sum(1), 1))[:, None]
                )
                y *= (
                    (1 - 0.25 * np.square(share[:, None]))
                    * length
                    / np.maximum(np.sqrt(np.square(y).sum(1, keepdims=True)), 1e-300)
                )
                add(moves.sum(1) > 1, self.values(who, action, y, moves))
        for j in np.flatnonzero(acted.any(0)):
            one = np.zeros(people.d, dtype=bool)
            one[j] = True
            add(
                moves[:, j] & (z[:, j] != 0),
                self.values(who, action, np.where(one, z * (1 - share[:, None]), z), moves),
            )
            step = acted[:, j] & ~self.smooth[who, j] & bool(people.schema.ordered[j])
            if step.any():
                unit = people.schema.step[j] if not np.isnan(people.schema.step[j]) else 1.0
                trial = action.copy()
                trial[:, j] -= np.sign(trial[:, j] - people.x[who, j]) * unit
                add(step, people.snap(who, trial))
            if drop:
                trial = action.copy()
                trial[:, j] = np.nan
                add(acted[:, j] & (acted.sum(1) > 1), trial)
        return np.concatenate(rows), np.concatenate(trials)

    def _leading(
        self,
        live: np.ndarray,
        who: np.ndarray,
        slack: np.ndarray,
        z: np.ndarray,
        value: np.ndarray,
        aim: np.ndarray,
        most: int,
    ) -> np.ndarray:
        """Return each person's `most` best of the live rows."""
        short = np.maximum(-value[live, 0], 0) / self.scale[who[live]]
        with np.errstate(invalid="ignore"):
            dense = np.where(np.isinf(slack[live]), 0.0, np.maximum(-slack[live] - value[live, 1], 0.0))
        far = np.square(z[live]).sum(1) + 10.0 * (short + dense)
        order = live[np.lexsort((live, far, who[live]))]
        return np.sort(order[rank_in_run(who[order]) < most])

    def _slopes(
        self,
        state: _State,
        rows: np.ndarray,
        who: np.ndarray,
        action: np.ndarray,
        moves: np.ndarray,
        cols: np.ndarray,
        low: np.ndarray,
        high: np.ndarray,
    ) -> None:
        """Estimate slopes of score and plausibility at z for the rows by finite differences."""
        for place, j in enumerate(cols):
            some = rows[moves[rows, j]]
            if not some.size:
                continue
            z = state.z[some]
            h = _SLOPE * (high[some, j] - low[some, j])
            h = np.maximum(h, np.nan_to_num(self.people.schema.step[j]) * self.unit[who[some], j])
            h = np.where(z[:, j] + h > high[some, j], -h, h)
            z[:, j] += h
            evaluations = self.ask(who[some], self.values(who[some], action[some], z, moves[some]))
            with np.errstate(invalid="ignore"):
                slope = (np.stack([evaluations.margin, evaluations.likely], axis=1) - state.value[some]) / h[
                    :, None
                ]
            state.slope[some, :, place] = np.where(np.isfinite(slope), slope, 0.0)


@dataclass(frozen=True)
class PolishCandidates:
    """Candidate rows: who (m,), slot (m,), action (m, d) and what they come to."""

    who: np.ndarray
    slot: np.ndarray
    action: np.ndarray
    evaluations: Evaluations

    def take(self, rows: np.ndarray) -> PolishCandidates:
        """Copy some of the rows."""
        return PolishCandidates(
            self.who[rows], self.slot[rows], self.action[rows], self.evaluations.take(rows)
        )

    @staticmethod
    def joined(parts: list[PolishCandidates]) -> PolishCandidates:
        """Join several lists."""
        results = (vars(part.evaluations).values() for part in parts)
        columns = ((part.who, part.slot, part.action) for part in parts)
        who, slot, action = (np.concatenate(column) for column in zip(*columns, strict=True))
        return PolishCandidates(
            who, slot, action, Evaluations(*map(np.concatenate, zip(*results, strict=True)))
        )


@dataclass
class _State:
    z: np.ndarray  # (m, d)
    value: np.ndarray  # (m, 2) margin and likely
    slope: np.ndarray  # (m, 2, c)


def _merit(z: np.ndarray, value: np.ndarray, aim: np.ndarray, penalty: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        short = np.where(np.isinf(aim) & (aim < 0), 0.0, np.maximum(aim - value, 0.0))
    with np.errstate(invalid="ignore"):
        return np.asarray(np.square(z).sum(1) + np.where(short > 0, penalty * short, 0.0).sum(1))


def least_point(
    slope: np.ndarray, goal: np.ndarray, low: np.ndarray, high: np.ndarray, moves: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the shortest y (m, c) in the box with slope (m, 2, c) @ y >= goal (m, 2), and the two pulls (m, 2) on it.

    A bound that the shortest point breaks is met first, and the rest solved again; two passes suffice in practice.
    Where both cannot be met the pulls grow without bound, and the caller's step limit decides.
    """
    free = moves.copy()
    fixed = np.zeros(low.shape)
    for last in (False, False, True):
        rest = goal - (slope * fixed[:, None, :]).sum(2)
        a = np.where(free[:, None, :], slope, 0.0)
        pull = _pulls(a, rest)
        y = (pull[:, :, None] * a).sum(1)
        over, under = free & (y > high), free & (y < low)
        if last or not (over.any() or under.any()):
            break
        fixed = np.where(over, high, np.where(under, low, fixed))
        free &= ~(over | under)
    return np.where(moves, np.clip(np.where(free, y, fixed), low, high), 0.0), pull


def _pulls(a: np.ndarray, goal: np.ndarray) -> np.ndarray:
    """Return the multipliers (m, 2) of the shortest y = pull @ a (m, 2, c) with a @ y >= goal (m, 2)."""
    one, two = np.square(a[:, 0]).sum(1), np.square(a[:, 1]).sum(1)
    cross = (a[:, 0] * a[:, 1]).sum(1)
    b1, b2 = goal[:, 0], goal[:, 1]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        first, second = (
            np.maximum(b1, 0) / np.maximum(one, 1e-300),
            np.maximum(b2, 0) / np.maximum(two, 1e-300),
        )
        alone1, alone2 = cross * first >= b2, (cross * second >= b1) & (b2 > 0)
        det = one * two - cross * cross
        det = np.maximum(det, 1e-9 * one * two) + 1e-300
        both1, both2 = (two * b1 - cross * b2) / det, (one * b2 - cross * b1) / det
    out = np.stack([both1, both2], axis=1)
    out = np.where(alone2[:, None], np.stack([np.zeros_like(second), second], axis=1), out)
    out = np.where(alone1[:, None], np.stack([first, np.zeros_like(first)], axis=1), out)
    return np.asarray(np.clip(np.nan_to_num(out), 0.0, 1e9))


def _drawn(ok: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Draw a level each, (m,), of those allowed (m, L) by numbers (m,) in (0, 1); NaN where there is none."""
    many = ok.sum(1)
    place = np.minimum((share * many).astype(np.int64), np.maximum(many - 1, 0))
    index = (np.cumsum(ok, axis=1) <= place[:, None]).sum(1)
    return np.where(many > 0, index, np.nan)


def _units(people: Population) -> tuple[np.ndarray, np.ndarray]:
    """Return the root of the cost of a unit change (n, d), and (n, d) bool: the coordinate can move a little."""
    schema = people.schema
    width = people.high - people.low
    everyone = np.arange(people.n)
    step = np.where(np.isnan(schema.step), 0.0, schema.step)
    smooth = ~schema.has_levels & ~np.isnan(people.x) & people.free & (step < width / 50)
    h = np.where(smooth, 0.1 * width, 1.0)
    part = people.parts(everyone, np.where(smooth, people.x + h, np.nan))
    unit = np.sqrt(np.where(smooth & (part > 0), part, 1.0)) / h
    return np.where(smooth, unit, 1.0), smooth


def _supports(people: Population) -> np.ndarray:
    """List sets of features that each person may act on, (n, S, d) bool, smallest first; always as many places.

    Every set for people with few features; for the others each feature by itself, and all of them.
    """
    order = np.argsort(~people.free, axis=1, kind="stable")  # (n, d) free features first
    many = people.free.sum(1)
    rank = np.argsort(order, axis=1)  # (n, d) place of each feature among those
    out = np.zeros((people.n, _SLOTS, people.d), dtype=bool)
    few = many <= _SUBSETS
    q = 0
    for r in range(1, _SUBSETS + 1):
        for members in combinations(range(_SUBSETS), r):
            fits = few & (many > max(members))
            out[fits, q] = np.isin(rank[fits], members)
            q += 1
    for q in range(_SLOTS - 1):
        fits = ~few & (many > q)
        out[fits, q] = rank[fits] == q
    out[~few, -1] = people.free[~few]
    return out
