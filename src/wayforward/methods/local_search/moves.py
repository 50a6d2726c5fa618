"""Single moves: which there are, what they cost and score, and sparse combinations of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wayforward.methods.local_search.candidates import Candidates, set_values
from wayforward.shapes import Rows

_GREEDY_STEPS = 6
_SLACKS = (0.6, 0.8, 1.0, 1.25, 1.7, 2.5)  # how far beyond the boundary an additive guess aims


@dataclass(frozen=True)
class ScannedMoves:
    """Single moves from base actions (c, d): feature (M,); value, score and cost of the whole (c, M)."""

    base: Rows
    feature: np.ndarray
    value: np.ndarray
    score: np.ndarray
    cost: np.ndarray


class Moves(Candidates):
    """Scan single moves from where people stand, and combine them."""

    def _near_accepted(self, who: np.ndarray) -> np.ndarray:
        """Return accepted neighbours, moved onto what each person may do (c, o, d); NaN where there is none."""
        reference, index = self.settings.reference, self.settings.index
        if index is None:
            return np.full((len(who), 0, self.d), np.nan)
        # people who are near in what one may act on, and people who are near in everything: like them in what decides
        top = min(self.settings.starts, len(reference))
        free = np.where(self.free[who], self.people.weight[who], 0.0)
        near = [index.query(self.people.x[who], top, weight=weight).row for weight in (free, None)]
        row = np.concatenate(near, axis=1)
        owner = np.repeat(who, row.shape[1])
        value = np.where(row.ravel()[:, None] >= 0, reference[row.ravel()], np.nan)
        return self._legal(owner, np.where(self.free[owner], value, np.nan)).reshape(len(who), -1, self.d)

    def _single_moves(
        self,
        who: np.ndarray,
        dense: int = 1,
        crossings: dict[int, tuple[np.ndarray, np.ndarray]] | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """List single moves of some people; return feature (M,) and value (c, M), NaN where there is no such move.

        Ordered features: a grid on either side, out to the person's reach or to what the incumbent could pay for.
        Categorical features: every level that the person may choose. crossings: others than those of the settings.
        """
        people, schema = self.people, self.schema
        crossings = self.settings.crossings if crossings is None else crossings
        x, low, high = people.x[who], people.low[who].copy(), people.high[who].copy()
        if self.separable and np.isfinite(self.cost[who]).any():
            reach_low, reach_high = self.problem.cost.reach_for(x, self.cost[who], people.weight[who])
            low, high = np.fmax(low, reach_low), np.fmin(high, reach_high)
        with np.errstate(invalid="ignore"):  # no value of a missing feature is in reach: from inf to -inf
            here = np.where(np.isnan(x), (low + high) / 2, x)
        # finer close to where one stands
        share = (np.arange(1, self.settings.grid + 1) / self.settings.grid) ** 1.5
        features, values = [], []
        for j in np.flatnonzero(self.free[who].any(0)):
            if schema.is_categorical[j] or 0 < schema.n_levels[j] <= 2 * self.settings.grid:
                level = np.arange(schema.n_levels[j], dtype=np.float64)
                value = np.where(people.level_ok[int(j)][who], level, np.nan)
            else:
                if j in crossings:
                    above, below = crossings[int(j)]
                    size = 2 * self.settings.grid * dense
                    fine = np.arange(1, size + 1) / size
                    up = _points_between(above, here[:, j], high[:, j], fine, up=True)
                    down = _points_between(below, low[:, j], here[:, j], fine, up=False)
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
        for j in np.flatnonzero(self.holdable & self.may[who].any(0)):  # free, and stops what would follow
            features.append(np.array([j]))
            values.append(np.where(self.may[who, j], x[:, j], np.nan)[:, None])
        if not features:
            return np.empty(0, np.int64), np.empty((len(who), 0))
        return np.concatenate(features), np.concatenate(values, axis=1)

    def _part_costs(self, who: np.ndarray, feature: np.ndarray, value: np.ndarray) -> np.ndarray:
        """Return the cost (c, M) of each single move alone."""
        if not self.separable:
            rows, moves = np.nonzero(~np.isnan(value))
            out = np.full(value.shape, np.inf)
            action = set_values(np.full((len(rows), self.d), np.nan), feature[moves], value[rows, moves])
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
        """Ask about every single move from base actions (c, d); return score (c, M) and cost of the whole (c, M), -inf
        and inf where the move is not there, costs more than limit (c,), or may not be done. Valid ones are kept."""
        score = np.full(value.shape, -np.inf)
        cost = np.full(value.shape, np.inf)
        there = ~np.isnan(value)
        if self.separable:
            own = self.people.parts(who, base)
            guess = own.sum(1)[:, None] - own[:, feature] + self._part_costs(who, feature, value)
            there &= guess < limit[:, None] - 1e-12
        rows, moves = np.nonzero(there)
        if not rows.size:
            return score, cost
        action = set_values(base[rows], feature[moves], value[rows, moves])
        total = guess[rows, moves] if self.separable else self.people.cost(who[rows], action)
        if not self.separable:
            cheap = total < limit[rows] - 1e-12
            rows, moves, action, total = rows[cheap], moves[cheap], action[cheap], total[cheap]
        got, valid = self.ask(who[rows], action)
        score[rows, moves], cost[rows, moves] = got, total
        self.keep(who[rows][valid], action[valid], total[valid])
        return score, cost

    def _sweep(self, who: np.ndarray, dense: int = 1) -> None:
        """Scan single moves from where people stand, guess sparse combinations, and step greedily.

        Where acts have consequences, once with them and once with everything held that can be.
        """
        feature, value = self._single_moves(who, dense)
        if not feature.size:
            return
        bases = [np.full((len(who), self.d), np.nan)]
        if self.holdable.any():
            bases.append(np.where(self.holdable & self.may[who], self.people.x[who], np.nan))
        for base in bases:
            score, cost = self._scan(who, base, feature, value, self.cost[who])
            scanned = ScannedMoves(base, feature, value, score, cost)
            self._combine_as_if_additive(who, scanned)
            self._step_greedily(who, scanned)

    def _combine_as_if_additive(self, who: np.ndarray, scanned: ScannedMoves) -> None:
        """Combine single moves as if scores added up: most gain per cost first, aiming at several slacks."""
        score, cost, start = scanned.score, scanned.cost, self.start[who]
        gain = np.where(np.isfinite(score), np.maximum(score - start[:, None], 0.0), 0.0)
        price = np.where(np.isfinite(cost), np.maximum(cost, 1e-9), np.inf)
        if not (gain > 0).any():
            return
        need = -start
        for aim in _SLACKS:
            self._fill_knapsack(who, scanned, gain, price, need * aim)
        best = np.zeros((len(who), self.d))
        np.maximum.at(best.T, scanned.feature, gain.T)
        for j in np.flatnonzero((best > 0).any(0)):  # every feature leads once
            self._fill_knapsack(who, scanned, gain, price, need, int(j))

    def _fill_knapsack(
        self,
        who: np.ndarray,
        scanned: ScannedMoves,
        gain: np.ndarray,
        price: np.ndarray,
        need: np.ndarray,
        lead: int | None = None,
    ) -> None:
        """Take moves by gain per price, one a feature, until they add up to need (c,); lead: the first feature."""
        feature, value = scanned.feature, scanned.value
        left = need.copy()
        gain = gain.copy()
        action = scanned.base.copy()
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
        self._try_actions(who, action)

    def _step_greedily(self, who: np.ndarray, scanned: ScannedMoves) -> None:
        """Take the move with the most score per cost, look again from there, until a move turns the decision."""
        base, feature, value = scanned.base, scanned.feature, scanned.value
        score, cost = scanned.score, scanned.cost
        here, paid = self.start[who], np.zeros(len(who))
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
            base = set_values(base, feature[pick], value[each, pick])
            here, paid = score[each, pick], cost[each, pick]
            if step + 2 < _GREEDY_STEPS:
                score, cost = self._scan(who, base, feature, value, self.cost[who])


def _points_between(
    points: np.ndarray, low: np.ndarray, high: np.ndarray, share: np.ndarray, up: bool
) -> np.ndarray:
    """Return (c, G) of the sorted points in (low, high], or [low, high) downwards: all of them where there are few,
    else spread out; NaN where there are fewer than G."""
    first = np.searchsorted(points, low, side="right" if up else "left")
    count = np.searchsorted(points, high, side="right" if up else "left") - first
    size = len(share)
    spread = np.floor(share * count[:, None] - 1e-9).astype(np.int64)
    rank = np.where((count <= size)[:, None], np.arange(size), spread)
    there = (rank < count[:, None]) & (rank >= 0)
    index = first[:, None] + (rank if up else count[:, None] - 1 - rank)
    value = points[np.clip(index, 0, len(points) - 1)]
    return np.where(there, value, np.nan)
