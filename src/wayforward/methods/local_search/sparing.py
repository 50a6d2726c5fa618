"""A search that asks an opaque model little: a stand-in proposes, what the model says corrects it, person by person."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from wayforward.methods.local_search.candidates import set_values
from wayforward.methods.local_search.memory import Memory, first_of_each
from wayforward.methods.local_search.polish import CandidatePolish
from wayforward.ranks import rank_in_run
from wayforward.shapes import PerPerson, PerRow, Rows, Who
from wayforward.streams import keys_of

if TYPE_CHECKING:
    from wayforward.problem import Population

_AIMS = (0.5, 0.0, -0.5, 1.0, 2.0)  # errors of the stand-in that proposals lie beyond the boundary
_LEVEL = 0.3  # share of what the stand-in gets wrong about a person as they are that it gets wrong about their rows
_GENERAL_AIMS, _GENERAL_STEPS = (0.0, 1.0), 4000  # where there is no compiled search of the stand-in
_OPTIONS = 3  # proposals a person and the first aim; of the others one
_STEPS = 20_000  # rows of the stand-in that a proposal may cost
_ROWS = 130  # of a person, after which no more rows are proposed
_FEW = 80  # rows of a person that are looked at closely
_AT_ONCE = 8  # rows of a person that are asked about together
_ALIKE = 3  # of them with the same set of changes
_ROUNDS = 60
_ODD, _ODD_AT_ONCE, _ODD_WORTH = 20, 1, 0.02  # rows that are asked about because the stand-in alone says so
_FRESH = 2  # rounds after which proposals near the incumbents are drawn anew
_PATIENCE = 5  # rounds without anything worth asking about, after which no more proposals are made
_WIDE = 6  # rounds after which there is another look at all that one or two changes could be
_WORTH, _LABEL_WORTH = 5e-3, 2e-3  # share of the cost that a row must be expected to save; a label says less
_TIGHT = 1e-5  # share of the cost to which a value is narrowed
_POINTS, _SECTIONS = 7, 5  # values that are asked about together when one is narrowed, and how often at most


Proposals = tuple[Who, Rows, PerRow, PerRow]  # who, action, what the stand-in says, cost


class Sparing(CandidatePolish):
    """Search with a stand-in for the model, asking the model itself about few rows."""

    memory: Memory | None = None
    run: Callable[[np.ndarray], None]  # the whole search
    odd: np.ndarray  # (n,) rows asked about because the stand-in alone says so
    narrowed: np.ndarray  # (n,) cost of the incumbent whose values were narrowed last

    def _search_sparingly(self, who: np.ndarray) -> None:
        """Search for some of the people; whoever has nothing afterwards is to be searched for in another way."""
        assert self.memory is not None
        limit, self.odd = self.people.rows + _ROWS, np.zeros(self.n, dtype=np.int64)
        self.narrowed = np.full(self.n, np.inf)
        proposed = self._proposals(who)
        for _ in range(2):
            before = self.cost.copy()
            self._ask_in_turns(who, *proposed, limit)
            who = who[self.found[who]]
            self._narrow_alone(who, limit)
            who = who[self.cost[who] < before[who] * (1 - _WORTH)]
            if not who.size:
                break
            proposed = np.empty(0, np.int64), np.empty((0, self.d))
        self.pool(0)  # what else was found may do for further options; nobody polishes it

    def _proposals(self, who: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return what the stand-in and accepted neighbours propose: who (m,), sorted, and action (m, d), each once."""
        assert self.settings.stand_in is not None
        stand = self.settings.stand_in
        some = stand.problem.population(self.people.x[who], self.people.preferences.take(who))
        some.free, some.weight = self.free[who], self.people.weight[who]
        some.plain_weight = self.people.plain_weight
        lists = [self._near_accepted(who)]
        guess = stand.score(self.people.x[who])
        score = self.start[who]
        if stand.labels:
            score = np.minimum(guess, -0.3 * stand.error)
        for aim in _AIMS if stand.seeker is not None else _GENERAL_AIMS:
            # as far beyond the boundary as the stand-in errs where the person is, for the most part
            margin = aim * stand.error + _LEVEL * (guess - score)
            margin = np.maximum(margin, guess + 0.25 * stand.error + 1e-3)  # as they are, people are refused
            unit = stand.error / 2 + 1e-3
            if stand.seeker is None:
                lists.append(self._general_proposals(some, who, margin))
            else:
                lists.append(self._compiled_proposals(some, np.ceil(margin / unit) * unit, aim == _AIMS[0]))
        every = np.concatenate(lists, axis=1)
        row, option = np.nonzero(~np.isnan(every).all(2))
        action = every[row, option]
        new = first_of_each(keys_of(np.column_stack([action, row]), 0)) & self._above_floor(who[row], action)
        if self.coupled:
            new[new] = self._rules_hold(who[row[new]], action[new])
        return who[row[new]], action[new]

    def _above_floor(self, who: Who, action: Rows) -> np.ndarray:
        """Return (m,) bool: the action costs as much as an option must, where another one was found before."""
        if self.floor is None:
            return np.ones(len(who), dtype=bool)
        whose, least = self.floor
        return np.asarray(whose.cost(who, action) >= least[who] - 1e-12)

    def _compiled_proposals(self, some: Population, margin: PerPerson, several: bool) -> np.ndarray:
        """Return what a compiled search of the stand-in finds (c, o, d), margin (c,) beyond the boundary."""
        assert self.settings.stand_in is not None and self.settings.stand_in.seeker is not None
        out = np.full((some.n, _OPTIONS if several else 1, self.d), np.nan)
        for aim in np.unique(margin):
            at = np.flatnonzero(margin == aim)
            few = some.take(at)
            few.free, few.weight = some.free[at], some.weight[at]
            out[at] = self.settings.stand_in.seeker.proposals(few, out.shape[1], _STEPS, float(aim))
        return out

    def _general_proposals(self, some: Population, who: np.ndarray, margin: PerPerson) -> np.ndarray:
        """Return what this search finds with the stand-in as its model (c, o, d), margin (c,) beyond the boundary."""
        assert self.settings.stand_in is not None
        some.aim = margin
        settings = replace(self.settings, stand_in=None, crossings=self.settings.stand_in.crossings)
        again = type(self)(
            settings, some, ~some.free, some.rows + _GENERAL_STEPS, self.streams.take(who), self.option
        )
        again.run(np.arange(some.n))
        out = np.full((some.n, 1 + _OPTIONS, self.d), np.nan)
        out[:, 0] = again.best
        if again.spare:
            owner, action, cost = (np.concatenate(part) for part in zip(*again.spare, strict=True))
            order = np.lexsort((np.arange(len(owner)), cost, owner))
            rank = rank_in_run(owner[order])
            order, rank = order[rank < _OPTIONS], rank[rank < _OPTIONS]
            out[owner[order], 1 + rank] = action[order]
        return out

    def _ask_in_turns(self, who: np.ndarray, owner: Who, action: Rows, limit: np.ndarray) -> None:
        """Ask about the most promising of the proposals (m, d) and of what is near the incumbents, a few at a time."""
        assert self.memory is not None
        rows = owner, action, self.memory.guess(owner, action), self.people.cost(owner, action)
        idle = np.zeros(self.n, dtype=np.int64)
        busy = who
        for turn in range(_ROUNDS):
            who = who[self.people.rows[who] < np.minimum(limit, self.cap)[who]]
            if not who.size:
                return
            # where nothing new is proposed, there is something to ask only about those of whom something was learned
            some = who if turn % _FRESH == 0 else np.intersect1d(who, busy)
            if some.size:
                more = self._around(some[self.found[some]], turn)
                here = np.isin(rows[0], some)
                rest = ~here & np.isin(rows[0], who)
                owner, action, guess, cost = (
                    np.concatenate([a[here], b]) for a, b in zip(rows, more, strict=True)
                )
                busy, left = self._ask_best((owner, action, guess, cost))
                owner, action, guess, cost = (
                    np.concatenate([a[rest], b]) for a, b in zip(rows, left, strict=True)
                )
                rows = owner, action, guess, cost
            else:
                busy = some
            idle += 1
            idle[busy] = 0
            who = who[idle[who] < _PATIENCE]

    def _ask_best(self, rows: Proposals) -> tuple[np.ndarray, Proposals]:
        """Ask about the few rows of each person that are most worth it; return people for whom there were some, and
        the rows that may be worth it yet.

        Worth by all that is known of the person, and, a few times, by what the stand-in alone says: where it errs in a
        way of its own, what is known of other rows misleads.
        """
        assert self.memory is not None and self.settings.stand_in is not None
        owner, action, guess, cost = rows
        usable = cost < self.cost[owner] - 1e-9
        usable[usable] = self.memory.unknown(owner[usable], action[usable])
        owner, action, guess, cost = (part[usable] for part in rows)
        bound = self.cost[owner]
        if not len(owner):
            return owner, (owner, action, guess, cost)
        error = self.settings.stand_in.error + 1e-3
        shift = self.memory.shift(np.arange(self.n), self.best, self.found)
        alone = self._worth(cost, bound, guess / error)
        near = self._worth(cost, bound, (guess + shift[owner]) / error)
        some = np.union1d(_first(owner, alone, _FEW // 2), _first(owner, near, _FEW))
        some = some[np.argsort(owner[some], kind="stable")]
        owner, action, guess, cost, bound, alone = (
            part[some] for part in (owner, action, guess, cost, bound, alone)
        )
        live, place = np.unique(owner, return_inverse=True)
        lead = _first(owner, alone, 1)
        found = self.found[live]
        centre = np.where(found[:, None], self.best[live], action[lead])
        scale = np.maximum(np.where(found, self.cost[live], cost[lead]), 1e-9)
        mean, spread = self.memory.corrected(live, place, action, guess, centre, scale)
        worth = self._worth(cost, bound, mean / spread)
        least = np.where(np.isfinite(bound), bound, 0.0)
        sets = (~np.isnan(action)) @ (2.0 ** (np.arange(self.d) % 50))
        enough = (_LABEL_WORTH if self.settings.stand_in.labels else _WORTH) * least
        pick = _first(owner, np.where(worth > enough, worth, -1.0), _AT_ONCE, sets)
        pick = pick[worth[pick] > enough[pick]]
        odd = _first(owner, np.where(np.isin(np.arange(len(owner)), pick), -1.0, alone), _ODD_AT_ONCE, sets)
        odd = odd[(alone[odd] > _ODD_WORTH * least[odd]) & (self.odd[owner[odd]] < _ODD)]
        self.odd += np.bincount(owner[odd], minlength=self.n)
        at = np.union1d(pick, odd)
        self._ask_and_learn(owner[at], action[at], guess[at], cost[at])
        return np.unique(owner[at]), (owner, action, guess, cost)

    @staticmethod
    def _worth(cost: PerRow, bound: PerRow, sure: PerRow) -> PerRow:
        """Return what asking about a row is expected to save; without a bound, what is cheap and likely comes first."""
        likely = 1.0 / (1.0 + np.exp(-1.7 * np.clip(sure, -20.0, 20.0)))
        saved = np.where(np.isfinite(bound), bound - cost, 1.0 / np.maximum(cost, 1e-9))
        return np.asarray((likely * saved).round(12))

    def _ask_and_learn(
        self, who: Who, action: Rows, guess: PerRow, cost: PerRow
    ) -> tuple[PerRow, np.ndarray]:
        assert self.memory is not None
        score, valid = self.ask(who, action)
        self.memory.learn(who, action, guess, score)
        self.keep(who[valid], action[valid], cost[valid])
        return score, valid

    def _around(self, who: np.ndarray, turn: int) -> Proposals:
        """Return what is near the incumbents and cheaper, and at times what one or two changes for less could be."""
        assert self.memory is not None and self.settings.stand_in is not None
        stand = self.settings.stand_in
        if not who.size or turn % _FRESH:
            return np.empty(0, np.int64), np.empty((0, self.d)), np.empty(0), np.empty(0)
        draw = self.streams.uniform(who, 8, tag=500_000 + 1000 * self.option + turn)
        owner, lead, back = self._moved_back(who, draw[:, :3])
        near = draw[np.searchsorted(who, owner)]
        rows = [(owner, back), self._spend(owner, back, lead, (near[:, 3], 0.95))]
        if turn % _WIDE == 0:
            none = np.full((len(who), self.d), np.nan)
            nothing = np.full(len(who), -1)
            feature, value = self._single_moves(who, 2, stand.crossings)
            row, move = np.nonzero(~np.isnan(value))
            rows.append((who[row], set_values(none[row], feature[move], value[row, move])))
            for column in (4, 5, 6):
                owner, half = self._spend(who, none, nothing, (draw[:, column],))
                lead = (~np.isnan(half)).argmax(1)
                rows += [
                    (owner, half),
                    self._spend(owner, half, lead, (draw[np.searchsorted(who, owner), 7], 0.95)),
                ]
        owner, trial = (np.concatenate(part) for part in zip(*rows, strict=True))
        total = self.people.cost(owner, trial)
        good = (total < self.cost[owner] * (1 - _WORTH)) & ~np.isnan(trial).all(1)
        good &= self._above_floor(owner, trial)
        if self.limits_changes:
            good &= (~np.isnan(trial)).sum(1) <= self.people.max_changes[owner]
        if self.coupled:
            good[good] = self._rules_hold(owner[good], trial[good])
        owner, trial, total = owner[good], trial[good], total[good]
        return owner, trial, self.memory.guess(owner, trial), total

    def _moved_back(self, who: np.ndarray, share: np.ndarray) -> tuple[Who, np.ndarray, Rows]:
        """Return incumbents with one change less, or less far: undone, a step, shares (c, s) of the way back; who (m,),
        the feature (m,), and the action (m, d)."""
        schema, action = self.schema, self.best[who]
        way = self.people.x[who] - action
        step = np.where(np.isnan(schema.step), np.abs(way) / 32, schema.step)
        sizes = [np.minimum(step, np.abs(way)), *(np.abs(way) * part[:, None] for part in share.T)]
        values = [np.where(np.isnan(action), np.nan, np.inf)]
        for size in sizes:
            value = schema.snap(action + np.sign(way) * size)
            good = self._may_have(who, value) & ~schema.is_categorical & (value != action)
            values.append(np.where(good, value, np.nan))
        every = np.stack(values, axis=1)
        row, turn, lead = np.nonzero(~np.isnan(every))
        return who[row], lead, _moved(action[row], lead, every[row, turn, lead])

    def _may_have(self, who: Who, value: Rows) -> np.ndarray:
        """Return (m, d) bool: people may set features to these values, which are on the lattice, as a change."""
        people, slack = self.people, 1e-9 * self.schema.span
        with np.errstate(invalid="ignore"):
            good = (value >= people.low[who] - slack) & (value <= people.high[who] + slack) & self.free[who]
            good &= ~(np.abs(value - people.x[who]) <= slack)
        for j, ok in people.level_ok.items():
            level = np.where(good[:, j], value[:, j], 0.0).astype(np.int64)
            good[:, j] &= ok[who, level]
        return np.asarray(good)

    def _spend(self, who: Who, base: Rows, lead: Who, shares: tuple[PerRow | float, ...]) -> tuple[Who, Rows]:
        """Return base actions (m, d) with one more change each, of another feature than lead (m,).

        It costs a share of what is left below the incumbent's cost: numbers in both directions, and all levels.
        """
        people, schema = self.people, self.schema
        part = people.parts(who, base)
        room = np.maximum(self.cost[who] - part.sum(1), 0.0)
        # every share downwards and upwards at once: the arrays are small, and each call costs more than its rows
        times = len(shares)
        ends = self._ends(
            np.tile(who, times), np.tile(part, (times, 1)), np.concatenate([share * room for share in shares])
        )
        side = np.repeat([-1.0, 1.0], len(who) * times)[:, None]
        value = self._inside(np.tile(who, 2 * times), np.concatenate(ends), side)
        every = (
            value.reshape(2, times, len(who), self.d)
            .transpose(2, 1, 0, 3)
            .reshape(len(who), 2 * times, self.d)
        )
        other = np.arange(self.d) != lead[:, None]
        fits = other[:, None] & (every != base[:, None]) & ~schema.is_categorical
        every = np.where(fits, every, np.nan)
        row, turn, j = np.nonzero(~np.isnan(every))
        owners, trials = [who[row]], [set_values(base[row], j, every[row, turn, j])]
        at = np.flatnonzero(schema.is_categorical[schema.level_owner])
        if at.size:
            j, level = schema.level_owner[at], schema.level_index[at].astype(np.float64)
            ok = np.concatenate([people.level_ok[f] for f in people.level_ok], axis=1)[who][:, at]
            ok &= self.free[who][:, j] & other[:, j] & (base[:, j] != level) & (people.x[who][:, j] != level)
            row, column = np.nonzero(ok)
            owners.append(who[row])
            trials.append(set_values(base[row], j[column], level[column]))
        return np.concatenate(owners), np.concatenate(trials)

    def _ends(self, who: Who, part: Rows, more: PerRow) -> tuple[Rows, Rows]:
        """Return how far down and up each feature goes (m, d) if its change alone may cost `more` (m,) than part."""
        x, weight = self.people.x[who], self.people.weight[who]
        low, high = self.problem.cost.reach_for(x, more, weight)
        row, j = np.nonzero(part > 0)
        if row.size:
            least, most = self.problem.cost.reach_for(x[row], part[row, j] + more[row], weight[row])
            each = np.arange(len(row))
            low[row, j], high[row, j] = least[each, j], most[each, j]
        return low, high

    def _inside(self, who: Who, end: Rows, side: np.ndarray) -> Rows:
        """Return the values at or just within ends (m, d), downwards where side (m, 1) is -1, as far as people may go;
        NaN where none is."""
        people, schema = self.people, self.schema
        end = np.clip(end, people.low[who], people.high[who])
        value = schema.snap(end)
        with np.errstate(invalid="ignore"):
            over = side * (value - end) > 1e-9 * schema.span
            if over.any():
                value = np.where(over, schema.snap(value - side * np.nan_to_num(schema.step)), value)
            beyond = side * (value - people.x[who]) > 0
        return np.where(beyond & self._may_have(who, value), value, np.nan)

    def _narrow_alone(self, who: np.ndarray, limit: np.ndarray) -> None:
        """Move the values of the incumbents towards where people stand, one row at a time, the dearest change first."""
        assert self.memory is not None
        who = who[self.cost[who] < self.narrowed[who]]  # else it would ask the same again
        acted = ~np.isnan(self.best[who]) & ~self.schema.is_categorical
        part = np.where(acted, self.people.parts(who, self.best[who]), -1.0)
        order = np.argsort(-part, axis=1, kind="stable")
        for turn in range(int(acted.sum(1).max(initial=0))):
            col = order[:, turn]
            go = np.flatnonzero(acted[np.arange(len(who)), col])
            self._section_one(who[go], col[go], limit)
        self.narrowed[who] = self.cost[who]

    def _section_one(self, who: np.ndarray, col: np.ndarray, limit: np.ndarray) -> None:
        """Section the value of one feature each, col (c,), between where it holds and where the person stands."""
        assert self.memory is not None
        people, schema = self.people, self.schema
        fails = people.x[who, col].copy()
        for _ in range(_SECTIONS):
            here = self.best[who, col]
            part = people.parts(who, self.best[who])[np.arange(len(who)), col]
            # what is left to be had, as the rest of the way to what fails
            with np.errstate(divide="ignore", invalid="ignore"):
                left = part * np.abs(here - fails) / np.abs(here - people.x[who, col])
            go = (left > _TIGHT * self.cost[who]) & (people.rows[who] < np.minimum(limit, self.cap)[who])
            who, col, fails, here = who[go], col[go], fails[go], here[go]
            # the nearest to where people stand first: a row over the budget is the one that saves least
            share = np.arange(_POINTS, 0, -1) / (_POINTS + 1)
            value = here[:, None] + share * (fails - here)[:, None]
            value = schema.snap(value.ravel(), columns=np.repeat(col, _POINTS)).reshape(value.shape)
            slack = 1e-9 * schema.span[col][:, None]
            low, high = people.low[who, col][:, None] - slack, people.high[who, col][:, None] + slack
            inside = (np.abs(value - here[:, None]) > slack) & (np.abs(value - fails[:, None]) > slack)
            inside &= (value >= low) & (value <= high)
            inside[:, 1:] &= np.abs(np.diff(value, axis=1)) > slack
            for j, ok in people.level_ok.items():
                mine = np.flatnonzero(col == j)
                inside[mine] &= ok[who[mine, None], value[mine].astype(np.int64)]
            row, turn = np.nonzero(inside)
            if not row.size:
                return
            owner, lead = who[row], col[row]
            trial = set_values(self.best[owner], lead, value[row, turn])
            _, valid = self._ask_and_learn(
                owner, trial, self.memory.guess(owner, trial), people.cost(owner, trial)
            )
            # what is left to be had lies between what holds now and the nearest value to it that does not
            row, no = row[~valid], value[row, turn][~valid]
            now, home = self.best[who, col], people.x[who, col]
            away = np.where(np.abs(no - home[row]) < np.abs(now - home)[row], np.abs(no - now[row]), np.inf)
            order = np.argsort(-away, kind="stable")[np.isinf(away).sum() :]
            fails[row[order]] = no[order]  # of each person's the last one written, which is the nearest
            go = inside.any(1)
            who, col, fails = who[go], col[go], fails[go]


def _first(owner: Who, worth: PerRow, size: int, sets: np.ndarray | None = None) -> np.ndarray:
    """Return positions of each person's rows that are worth most, sorted; with labels of sets (m,), few of one set."""
    order = np.lexsort((-worth, owner))  # which is stable
    if sets is not None:
        by_set = order[np.lexsort((-worth[order], sets[order], owner[order]))]
        new = (np.diff(sets[by_set]) != 0) | (np.diff(owner[by_set]) != 0)
        rank = np.empty(len(owner), np.int64)
        rank[by_set] = rank_in_run(np.cumsum(np.r_[False, new]))
        order = order[rank[order] < _ALIKE]
    return np.sort(order[rank_in_run(owner[order]) < size])


def _moved(action: Rows, feature: Who, value: PerRow) -> Rows:
    """Return actions with one value each set, where inf undoes the change."""
    return set_values(action, feature, np.where(np.isinf(value), np.nan, value))
