"""Making candidates cheaper: changes are undone, values move back, and pairs of changes are exchanged."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from wayforward.methods.local_search.candidates import cheapest, set_values
from wayforward.methods.local_search.moves import Moves
from wayforward.shapes import PerRow, Rows, Who

LOOSE, TIGHT = 1e-3, 1e-6  # share of a feature's span to which a value is narrowed, on the way and last


class CandidatePolish(Moves):
    """Make valid candidates cheaper until no single change that is tried makes them cheaper still."""

    def _polish_pool(self) -> None:
        """Undo and narrow the changes of the pool's candidates; the cheapest become incumbents."""
        who, action, cost = self.pool(self.settings.beam)
        if len(who):
            self.spare.append((who, *self._undo_and_narrow(who, action, cost, LOOSE)))

    def _exchange_until_settled(self, who: np.ndarray) -> None:
        """Exchange pairs of changes in the incumbents until nothing gets cheaper."""
        for _ in range(4):
            before = self.cost.copy()
            action, cost = self._exchange_pairs(who, self.best[who], self.cost[who])
            moved = np.flatnonzero(cost < before[who] - 1e-9)
            who = who[moved]
            if not who.size:
                return
            self.spare.append((who, *self._undo_and_narrow(who, action[moved], cost[moved], LOOSE)))

    def _undo_and_narrow(
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
            limit = cost[live[row]] + 2e-12 * self.holdable[col]  # a hold that is not needed goes too
            price = self._valid_costs(who[live[row]], trial, limit)
            lead = cheapest(row, price)
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
            less = cost[row] - self._valid_costs(who[row], people.snap(who[row], trial), cost[row])
            saving[row, col] = np.where(np.isfinite(less), less * 8, 0.0) + 1e-3 * saving[row, col]
        order = np.argsort(-saving, axis=1, kind="stable")
        for turn in range(int(acted.sum(1).max(initial=0))):
            col = order[:, turn]
            go = np.flatnonzero(acted[np.arange(len(who)), col])
            action[go], cost[go] = self._narrow_values(who[go], action[go], cost[go], col[go], tight)
        self.keep(who, action, cost, pool=False)
        return action, cost

    def _valid_costs(self, who: np.ndarray, action: np.ndarray, limit: np.ndarray) -> np.ndarray:
        """Return the cost (m,) of valid whole actions that are cheaper than limit (m,); inf for the others."""
        price = np.full(len(who), np.inf)
        total = self.people.cost(who, action)
        at = np.flatnonzero((total < limit - 1e-12) & ~np.isnan(action).all(1))
        if at.size:
            _, valid = self.ask(who[at], action[at])
            price[at[valid]] = total[at[valid]]
        return price

    def _narrow_values(
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
            # a missing value before: nothing to section to
            live = np.flatnonzero(np.abs(fails - here) > close)
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
                price[row, place] = self._valid_costs(w[row], rows, cost[live[row]])
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

    def _exchange_pairs(
        self, who: np.ndarray, action: np.ndarray, cost: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Make two changes at once, one that saves and one that makes up for it, wherever the whole gets cheaper.

        Every single move from the candidate is shown to the model once; pairs are chosen as if scores added up, and
        only the most promising few are asked about.
        """
        grid, value = self._single_moves(who, dense=3)
        near, closer = self._moves_from(who, action)
        feature, value = np.concatenate([near, grid]), np.concatenate([closer, value], axis=1)
        if not feature.size or not len(who):
            return action, cost
        action, cost = action.copy(), cost.copy()
        each = np.arange(len(who))
        value = np.where(value == action[:, feature], np.nan, value)
        gap = self._cost_changes(who, action, cost, feature, value)
        most = -np.where(np.isnan(gap), 0.0, gap).min(1)
        there = ~np.isnan(value) & (gap < most[:, None])
        score = np.full(value.shape, -np.inf)
        row, move = np.nonzero(there)
        trial = _with_moves(action[row], feature[move], value[row, move])
        score[row, move], valid = self.ask(who[row], trial)
        price = np.full(value.shape, np.inf)
        price[row[valid], move[valid]] = gap[row[valid], move[valid]]
        here = self.ask(who, action)[0]
        here = np.where(np.isfinite(here), here, np.nan)
        first, second = price.argmin(1), np.full(len(who), -1)  # the best single move, if it saves
        best = np.minimum(price[each, first], 0.0)
        gain = np.where(np.isfinite(score), score, np.nan) - here[:, None]
        for row, one, two in self._promising_pairs(feature, gap, gain, here, near.size):
            trial = _with_moves(
                _with_moves(action[row], feature[one], value[row, one]), feature[two], value[row, two]
            )
            total = self.people.cost(who[row], trial)
            cheap = np.flatnonzero((total < cost[row] - 1e-9) & ~np.isnan(trial).all(1))
            if self.coupled and cheap.size:
                cheap = cheap[self._rules_hold(who[row[cheap]], trial[cheap])]
            if cheap.size:
                _, valid = self.ask(who[row[cheap]], trial[cheap])
                row, one, two = row[cheap[valid]], one[cheap[valid]], two[cheap[valid]]
                saved = total[cheap[valid]] - cost[row]
                lead = cheapest(row, saved)
                lead = lead[saved[lead] < best[row[lead]] - 1e-12]
                at = row[lead]
                best[at], first[at], second[at] = saved[lead], one[lead], two[lead]
        at = np.flatnonzero(best < -1e-9)
        if at.size:
            action[at] = _with_moves(action[at], feature[first[at]], value[at, first[at]])
            both = at[second[at] >= 0]
            action[both] = _with_moves(action[both], feature[second[both]], value[both, second[both]])
            cost[at] = self.people.cost(who[at], action[at])
            self.keep(who[at], action[at], cost[at], pool=False)
        return action, cost

    def _moves_from(self, who: np.ndarray, action: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """List moves from a candidate: undo (inf), a step, an eighth and half of the way back, a step further; return
        feature (M,) and value (c, M), NaN where there is no such move."""
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

    def _cost_changes(
        self, who: np.ndarray, action: np.ndarray, cost: np.ndarray, feature: np.ndarray, value: np.ndarray
    ) -> np.ndarray:
        """Return what each single move from a candidate adds to its cost (c, M); NaN where there is no move."""
        if self.separable:
            own = self.people.parts(who, action)
            part = self._part_costs(who, feature, np.where(np.isinf(value), np.nan, value))
            part = np.where(np.isinf(value), 0.0, part)
            return np.where(np.isnan(value), np.nan, part - own[:, feature])
        row, move = np.nonzero(~np.isnan(value))
        out = np.full(value.shape, np.nan)
        out[row, move] = (
            self.people.cost(who[row], _with_moves(action[row], feature[move], value[row, move])) - cost[row]
        )
        return out

    def _promising_pairs(
        self, feature: np.ndarray, gap: np.ndarray, gain: np.ndarray, here: np.ndarray, near: int
    ) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yield promising pairs (candidate, first move, second move) in blocks.

        The first saves, the whole saves, and the added scores hold the decision; or nearly, for scores that do not add
        up.
        """
        width = gap.shape[1]
        top = 200 if self.coupled else 12  # rules thin them out before the model is asked
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
                # ties by position, so that other columns do not matter
                chosen = np.isfinite(worth) & (worth <= last)
                over = np.flatnonzero(np.count_nonzero(chosen, axis=1) > size)
                chosen[over] &= chosen[over].cumsum(1) <= size
                at, flat = np.nonzero(chosen)
                if at.size:
                    yield rows[at], lead[at, flat // width], flat % width


def _with_moves(action: Rows, feature: Who, value: PerRow) -> Rows:
    """Return actions with one value each set, where inf undoes the change."""
    return set_values(action, feature, np.where(np.isinf(value), np.nan, value))
