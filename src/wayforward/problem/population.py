"""A problem seen by a search: some people, what each of them may do, and vectorised answers about candidates.

Candidates are rows: `who` (m,) says whose candidate each row is, `action` (m, d) what it sets (NaN: left alone).
Everything a method may ask about a candidate is asked here, so that every method obeys the same schema, rules,
world and personal limits, and so that model rows are counted for each person.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from wayforward.deadline import OutOfTime
from wayforward.errors import PreferencesError
from wayforward.lazy import cached_property
from wayforward.problem.best_so_far import Shared
from wayforward.problem.reach import CommonReach, in_time, lattice_ends
from wayforward.public import public
from wayforward.shapes import Mask, People, PerRow, Rows, Who
from wayforward.streams import keys_of
from wayforward.world.base import leads_nowhere

if TYPE_CHECKING:
    from wayforward.preferences import Preferences
    from wayforward.problem.problem import Problem


_DRAWN = 1 << 18  # drawn rows shown to the model at once


Worth: TypeAlias = Callable[[Who, np.ndarray], PerRow]  # who (m,), outputs (m, c) -> (m,)


@public
@dataclass(frozen=True)
class Evaluated:
    """What became of candidate rows: after (m, d), allowed (m,), score (m,), reached (m,), cost (m,)."""

    after: Rows
    allowed: Mask
    score: PerRow
    reached: Mask  # allowed, and the fast model and the plausibility (where required) say yes
    cost: PerRow


@public
class Population:
    """n people facing one problem. Arrays: x, low, high, weight (n, d) float; free (n, d) bool.

    x: people as they are. free: the person may act on the feature and has somewhere to go, or may hold it where it is
    while others move it. low, high: how far an action may go (schema, direction and personal limits together; always
    finite). levels (n, all levels): those that the person may choose, one feature after the other; level_ok[j] (n, L):
    of feature j. weight: how hard a change of the feature is for the person. max_changes (n,). wishes: their
    preferences, None where nobody has any.
    """

    def __init__(self, problem: Problem, x: People, preferences: Preferences | None = None) -> None:
        self.problem, self.x = problem, x
        self.schema = problem.schema
        self.n, self.d = x.shape
        if preferences is not None and preferences.frozen.shape != (self.n, self.d):
            raise PreferencesError(
                f"The preferences are for {preferences.frozen.shape[0]} people and {preferences.frozen.shape[1]} "
                f"features; there are {self.n} people and {self.d} features. Give one row for each person."
            )
        if preferences is not None:
            preferences.schema.require_read_alike(
                problem.schema,
                "The preferences are of another schema",
                "Make them with the problem's own schema.",
                PreferencesError,
            )
        self.wishes = preferences  # None where nobody has any
        self.max_changes = (
            np.full(self.n, self.d)
            if preferences is None
            else np.minimum(np.asarray(preferences.max_changes), self.d)
        )
        reach = problem.reach
        self.low, self.high = self._ends(reach)
        self.levels = self._levels_in_reach(reach)
        self.free = self._free(reach)
        self._start()

    def _start(self) -> None:
        self.rows = np.zeros(self.n, dtype=np.int64)  # model rows spent on each person
        self.cache: dict[Any, Any] = {}  # what a robust condition worked out for these people
        self.aim: np.ndarray | None = None  # (n,) how far beyond the boundary the expected score must be
        self.best: Shared | None = None  # what was found so far, where a deadline may end the search

    # -- what each person may do ---------------------------------------------------------------------------

    @cached_property
    def preferences(self) -> Preferences:
        """The wishes of these people, also where they have none."""
        return self.problem.no_preferences(self.n) if self.wishes is None else self.wishes

    @cached_property
    def weight(self) -> np.ndarray:
        """(n, d) how hard a change of the feature is for the person."""
        return np.asarray(
            np.ones((self.n, self.d)) if self.wishes is None else self.wishes.weight, dtype=np.float64
        )

    @cached_property
    def plain_weight(self) -> bool:
        """True if everything is as hard for everybody."""
        return self.wishes is None or bool((self.weight == 1.0).all())

    @cached_property
    def level_ok(self) -> dict[int, np.ndarray]:
        """Feature with levels -> (n, L) bool: the levels that the person may choose."""
        return {j: self.levels[:, at] for j, at in self.schema.level_columns.items()}

    def _ends(self, reach: CommonReach) -> tuple[np.ndarray, np.ndarray]:
        """(n, d) least and greatest value that an action may set."""
        x, wish, n = self.x, self.wishes, self.n
        low, high = np.repeat(reach.low[None], n, axis=0), np.repeat(reach.high[None], n, axis=0)
        if reach.open_low.size:  # nobody has to leave where they are
            j = reach.open_low
            low[:, j] = np.fmax(np.fmin(low[:, j], x[:, j]), -np.inf)
        if reach.open_high.size:
            j = reach.open_high
            high[:, j] = np.fmin(np.fmax(high[:, j], x[:, j]), np.inf)
        if reach.up.size:
            low[:, reach.up] = np.fmax(low[:, reach.up], x[:, reach.up])
        if reach.down.size:
            high[:, reach.down] = np.fmin(high[:, reach.down], x[:, reach.down])
        if wish is None:
            return low, high
        soon = self._in_time
        return np.fmax(np.fmax(low, wish.low), soon[0]), np.fmin(np.fmin(high, wish.high), soon[1])

    @cached_property
    def _in_time(self) -> tuple[np.ndarray, np.ndarray] | tuple[float, float]:
        """Least and greatest value (n, d) that people reach in the time that they have; none where nobody hurries."""
        wish = self.wishes
        if wish is None or not wish.hurried:
            return -np.inf, np.inf
        return in_time(self.schema, self.x, wish.time)

    def _levels_in_reach(self, reach: CommonReach) -> np.ndarray:
        """(n, levels of all features) bool."""
        schema, wish = self.schema, self.wishes
        index, owner = schema.level_index, schema.level_owner
        if wish is None and reach.free_levels:
            return np.ones((self.n, len(index)), dtype=bool)
        ok = (index >= self.low[:, owner] - 1e-9) & (index <= self.high[:, owner] + 1e-9)
        for j, allowed in {} if wish is None else wish.levels.items():
            ok[:, schema.level_columns[j]] &= allowed
        return np.asarray(ok)

    def _free(self, reach: CommonReach) -> np.ndarray:
        """(n, d) bool: the person may act on it and has somewhere to go."""
        schema, x, wish = self.schema, self.x, self.wishes
        free = np.asarray(schema.actionable & (self.low <= self.high))
        free &= ~((self.low == self.high) & (self.low == x))
        if reach.level_columns:
            other = self.levels & (schema.level_index != x[:, schema.level_owner])  # another one than theirs
            free[:, reach.level_columns] &= np.logical_or.reduceat(other, reach.level_starts, axis=1)
        j = reach.lattice
        if j.size:
            # a lattice point other than where the person stands must lie within reach
            first, last = self._lattice_ends(reach)
            free[:, j] &= (first <= last + schema.slack[j]) & ~((first == last) & (first == x[:, j]))
        least = self.problem.least_change
        if least.any():  # and be farther than the least change
            low, high = self.low.copy(), self.high.copy()
            if j.size:
                low[:, j], high[:, j] = first, last
            with np.errstate(invalid="ignore"):
                free &= ~((low > x - least + schema.slack) & (high < x + least - schema.slack))
        if wish is not None:
            free &= ~wish.frozen
        if schema.may_be_stuck.size:
            free &= ~schema.stuck(x)
        if not self.problem.independent:
            free |= self._may_hold(free)
        free[self.max_changes < 1] = False
        return free

    def _may_hold(self, free: np.ndarray) -> np.ndarray:
        """(n, d) bool: the person may keep the feature where it is while what it follows from moves: an action, too."""
        moved = self.problem.effects
        led = free.astype(np.int64) @ moved.astype(np.int64) > 0
        # Also outside a range: the judge takes a value that stays as it is for no move.
        own = led & self.schema.actionable & ~np.isnan(self.x)
        return np.asarray(own if self.wishes is None else own & ~self.wishes.frozen)

    def _lattice_ends(self, reach: CommonReach) -> tuple[np.ndarray, np.ndarray]:
        """(n, l) the first and the last lattice point in reach of the features with a step."""
        if self.wishes is not None:
            j = reach.lattice
            first, last = lattice_ends(self.schema, self.low[:, j], self.high[:, j], j)
            return first, last
        first, last = np.repeat(reach.first, self.n, axis=0), np.repeat(reach.last, self.n, axis=0)
        if reach.moving.size:
            j = reach.lattice[reach.moving]
            ends = lattice_ends(self.schema, self.low[:, j], self.high[:, j], j)
            first[:, reach.moving], last[:, reach.moving] = ends
        return first, last

    @cached_property
    def least(self) -> np.ndarray:
        """(n, d) least value that an action may set: as `low`, but -inf where nothing bounds it from below."""
        up = (self.schema.direction > 0) & ~np.isnan(self.x)
        low = np.where(up, np.fmax(self.schema.low, self.x), self.schema.low)
        return np.asarray(np.fmax(np.fmax(low, self.preferences.low), self._in_time[0]))

    @cached_property
    def greatest(self) -> np.ndarray:
        """(n, d) greatest value that an action may set: as `high`, but inf where nothing bounds it from above."""
        down = (self.schema.direction < 0) & ~np.isnan(self.x)
        high = np.where(down, np.fmin(self.schema.high, self.x), self.schema.high)
        return np.asarray(np.fmin(np.fmin(high, self.preferences.high), self._in_time[1]))

    @cached_property
    def endless(self) -> np.ndarray:
        """(n, d) bool: the person may act on it, and what is legal goes on beyond where a search ends."""
        wider = (
            (self.least < self.low) | (self.greatest > self.high) | np.isnan(self.low) | np.isnan(self.high)
        )
        can = self.schema.actionable & ~self.preferences.frozen & (self.least <= self.greatest)
        if self.schema.may_be_stuck.size:
            can = can & ~self.schema.stuck(self.x)
        return np.asarray(wider & can & (self.max_changes >= 1)[:, None])

    @cached_property
    def may(self) -> np.ndarray:
        """(n, d) bool: the judge would let the person act on it; wider than `free` where nothing bounds a feature."""
        return np.asarray(self.free | self.endless)

    @cached_property
    def changeable(self) -> np.ndarray:
        """(n, d) bool: features whose value may differ afterwards, as a direct or an indirect consequence."""
        if self.problem.independent:
            return self.free
        moved = self.problem.descendants  # (d, d): acting on row feature can move column feature
        return np.asarray((self.free.astype(np.int64) @ moved.astype(np.int64) > 0) | self.free)

    # -- candidates ----------------------------------------------------------------------------------------

    def snap(self, who: Who, action: Rows) -> Rows:
        """(m, d) -> nearest actions that the person may take; NaN where they may not act on the feature."""
        schema = self.schema
        low, high = self.low[who], self.high[who]
        out = schema.snap(np.clip(action, low, high))
        with np.errstate(invalid="ignore"):
            slack = schema.slack
            over, under = out > high + slack, out < low - slack
        if over.any() or under.any():  # rounding to the lattice crossed a personal limit: step back inside
            step = np.where(np.isnan(schema.step), 0.0, schema.step)
            out = np.where(over, schema.snap(out - step), np.where(under, schema.snap(out + step), out))
            with np.errstate(invalid="ignore"):
                out[(out > high + slack) | (out < low - slack)] = np.nan
        for j, ok in self.level_ok.items():
            value = out[:, j]
            index = np.where(np.isnan(value), 0, value).astype(np.int64)
            bad = ~ok[who, index] & ~np.isnan(value)
            if bad.any():
                out[bad, j] = self._nearest_level(who[bad], j, index[bad])
        out[~self.free[who]] = np.nan
        little = self.too_little(who, out)
        return self._moved_enough(who, out, little) if little.any() else np.asarray(out)

    def too_little(self, who: Who, action: Rows) -> Mask:
        """(m, d) bool: the action moves the feature by less than what is worth an effort; holding it is no move."""
        least = self.problem.least_change
        if not least.any():
            return np.zeros(action.shape, dtype=bool)
        with np.errstate(invalid="ignore"):
            gap = np.abs(action - self.x[who])
            return np.asarray((gap < least - self.schema.slack) & (gap > self.schema.slack))

    def _moved_enough(self, who: Who, action: Rows, little: Mask) -> Rows:
        """Round moves of too little: to the least one where they are half of it or more, else to none (NaN)."""
        out = np.where(little, np.nan, action)
        row, j = np.nonzero(little)
        x, least, schema = self.x[who[row], j], self.problem.least_change[j], self.schema
        side = np.sign(action[row, j] - x)
        edge = x + side * least
        value = schema.round(edge, columns=j)
        step = np.nan_to_num(schema.step[j])
        value = np.where(
            side * (edge - value) > schema.slack[j], schema.round(value + side * step, columns=j), value
        )
        good = np.abs(action[row, j] - x) >= least / 2
        good &= (value >= self.low[who[row], j] - schema.slack[j]) & (
            value <= self.high[who[row], j] + schema.slack[j]
        )
        out[row[good], j[good]] = value[good]
        return out

    def _nearest_level(self, who: np.ndarray, j: int, index: np.ndarray) -> np.ndarray:
        if self.schema.is_categorical[j]:
            return np.full(len(who), np.nan)
        ok = self.level_ok[j][who]
        gap = np.where(ok, np.abs(np.arange(ok.shape[1]) - index[:, None]), np.inf)
        best = gap.argmin(1)
        return np.where(np.isfinite(gap[np.arange(len(who)), best]), best, np.nan)

    def after(self, who: Who, action: Rows) -> Rows:
        """(m, d) -> where the actions put the people, consequences included."""
        return self.problem.consequences(self.x[who], action)

    def _standing(self, who: Who, after: Rows) -> Rows:
        """(m, d) what a model may be shown: where an act leads nowhere, the person as they are."""
        return after if self.problem.world.nothing_follows else self.problem.standing(self.x[who], after)

    def allowed(self, who: Who, action: Rows, after: Rows) -> Mask:
        """(m,) bool: possible for the person: schema, actionability, direction, personal limits, rules."""
        judged = self.problem.judge_rows(self, who, action, after)
        return np.asarray(judged["legal"] & judged["rules"] & judged["wishes"])

    @cached_property
    def box_is_enough(self) -> bool:
        """True where a snapped action needs no further check: no rules, no consequences, no limit on changes."""
        return bool(self.problem.independent and not self.schema.rules and (self.max_changes >= self.d).all())

    # -- the model, the cost -------------------------------------------------------------------------------

    @cached_property
    def _scorer(self) -> object:
        return self.problem.model.specialise(self.x, self.changeable)

    def outputs(self, who: Who, after: Rows, action: Rows | None = None) -> np.ndarray:
        """(m, c) model outputs, counted for each person. action (m, d): what led there, where the caller knows it."""
        self.rows += np.bincount(who, minlength=self.n)
        after = self._standing(who, after)
        try:
            out = np.asarray(self._scorer.outputs(who, after))  # type: ignore[attr-defined]
        except OutOfTime as cut:
            if cut.outputs is not None:
                self._keep_best(who, after, action, cut.outputs[0])
            raise
        if self.best is not None:
            self._keep_best(who, after, action, out)
        return out

    def each_change(self, who: Who, action: Rows, values: Rows) -> Rows | None:
        """(m, d) scores of actions that each set one feature more, to values (m, d), -inf where that is NaN.

        Nobody has looked whether they are allowed: where that may fail, and where the model knows no quicker way than
        row by row (`Scorer.each_change`), None.
        """
        if (
            not self.problem.independent
            or self.schema.rules
            or self.problem.robust is not None
            or self.aim is not None
        ):
            return None
        after = self.after(who, action)
        out = self._scorer.each_change(who, after, values)  # type: ignore[attr-defined]
        if out is None:
            return None
        sets = ~np.isnan(values)
        self.rows += np.bincount(who, sets.sum(1), self.n).astype(np.int64)
        score = self.problem.bound_target.score(out.reshape(-1, out.shape[2])).reshape(values.shape)
        return np.where(sets, score, -np.inf)

    def _keep_best(self, who: Who, after: Rows, action: Rows | None, outputs: np.ndarray) -> None:
        """Note what the model said of the first rows (m', c), where somebody may stop the search."""
        if self.best is None or self.problem.robust is not None:
            return
        if action is None and not self.problem.independent:
            return
        who, after = who[: len(outputs)], after[: len(outputs)]
        if action is None:
            action = np.where(self.schema.differs(after, self.x[who]), after, np.nan)
        self.best.add(who, action[: len(outputs)], self.problem.bound_target.score(outputs))

    def propose(self, who: Who, action: Rows) -> None:
        """Note actions (m, d) that a search found in its own way, for the case that it is stopped before its end."""
        if self.best is not None:
            self.best.add(who, action, np.full(len(who), np.inf))

    def drawn_outputs(self, who: Who, rows: Rows) -> np.ndarray:
        """(m, c) model outputs of rows that no person's budget pays for."""
        rows = self._standing(who, rows)
        return np.asarray(self._scorer.outputs(who, rows))  # type: ignore[attr-defined]

    def score(
        self, who: Who, after: Rows, action: Rows | None = None, outputs: np.ndarray | None = None
    ) -> PerRow:
        """(m,) how far the decision is turned; above zero it is (see `BoundTarget.score`), less what `aim` asks for.

        Where the problem asks for more than today's decision (`Problem.robust`), the score that is left of it.
        action (m, d): what led there, where the caller knows it; in a causal world errors of carrying out need it.
        outputs (m, c): what `outputs` gave, where it was asked already.
        """
        outputs = self.outputs(who, after, action) if outputs is None else outputs
        score = self.problem.bound_target.score(outputs)
        if self.problem.robust is not None:
            after = self._standing(who, after)
            score = self.problem.robust.score(self, who, after, action, score)
            if self.best is not None and action is not None:
                self.best.add(who, action, score)
        return score if self.aim is None else score - self.aim[who]

    def reached(self, who: Who, after: Rows) -> Mask:
        """(m,) bool by the fast model; where its precision leaves it open, by the model itself."""
        return self._turned(self._standing(who, after), self.score(who, after))

    def _turned(self, after: Rows, score: PerRow) -> Mask:
        """(m,) bool: the score is beyond the slack that the model declares, or within it and the model says yes."""
        problem = self.problem
        turned = np.asarray(score > problem.slack)
        if problem.robust is None and self.aim is None:  # what else is asked for knows no model to ask
            near = np.flatnonzero(np.abs(score) <= problem.slack)
            if near.size:
                turned[near] = problem.reached(after[near])[0]
        return turned

    def parts(self, who: Who, action: Rows) -> Rows:
        """(m, d) personal cost of each feature's change."""
        part = self.problem.cost.parts(self.x[who], action)
        return part if self.plain_weight else part * self.weight[who]

    def cost(self, who: Who, action: Rows) -> PerRow:
        """(m,) personal cost of the actions."""
        weight = None if self.plain_weight else self.weight[who]
        return np.asarray(self.problem.cost.total(self.x[who], action, weight))

    def plain_cost(self, who: Who, action: Rows) -> PerRow:
        """(m,) cost of the actions without personal weights."""
        return np.asarray(self.problem.cost.total(self.x[who], action, None))

    def plausible(self, who: Who, after: Rows) -> Mask:
        """(m,) bool: the problem's plausibility holds; True where the problem asks for none."""
        if self.problem.plausibility is None:
            return np.ones(len(who), dtype=bool)
        return np.asarray(self.problem.plausibility.holds(self.x[who], after))

    def promise(self, who: Who, action: Rows, m: int | None = None) -> tuple[Mask, PerRow]:
        """(m,) bool: sure enough by the fast model, on draws that each person keeps; (m,) how low their scores go.

        One draw more than promised must reach the target, so that who searches long does not live on the rounding of
        a share. The second is the score that so many of the draws are above. m: draws, if others than the problem's.
        Counts the draws as model rows.
        """
        problem, demand = self.problem, self.problem.confidence
        if demand is None or not problem.world.uncertain:
            return np.ones(len(who), dtype=bool), np.full(len(who), np.inf)
        m = demand.draws if m is None else m
        keys = keys_of(self.x, 1)
        confident, low = np.zeros(len(who), dtype=bool), np.full(len(who), -np.inf)
        last, step = max(int(m * (1 - demand.quantile) + 1e-9) - 1, 0), max(1, _DRAWN // m)
        for start in range(0, len(who), step):
            part = slice(start, start + step)
            owner = who[part]
            after = problem.drawn(self.x[owner], action[part], m, keys[owner])
            outputs = self.outputs(np.tile(owner, m), after.reshape(-1, self.d))
            score = problem.bound_target.score(outputs).reshape(m, -1)
            score = np.where(leads_nowhere(self.x[owner], after), -np.inf, score)
            value = problem.bound_target.value(outputs).reshape(m, -1)
            confident[part] = demand.holds(score > problem.slack, value, problem.bound_target, spare=1)
            low[part] = np.partition(score, last, axis=0)[last]
        return confident, low

    def evaluate(self, who: Who, action: Rows, worth: Worth | None = None) -> Evaluated:
        """Everything about candidate rows at once; impossible rows are not shown to the model.

        worth: from who (m,) and outputs (m, c), what stands in `Evaluated.score` in place of the score, by which a
        search chooses; the decision remains what it is.
        """
        after = self.after(who, action)
        allowed = self.allowed(who, action, after)
        score, chosen = np.full(len(who), -np.inf), np.full(len(who), -np.inf)
        if allowed.any():
            some, there, acts = who[allowed], after[allowed], action[allowed]
            outputs = self.outputs(some, there, acts)
            score[allowed] = self.score(some, there, acts, outputs)
            if worth is not None:
                chosen[allowed] = worth(some, outputs)
        reached = self._turned(after, score)
        if self.problem.plausibility is not None and reached.any():
            reached[reached] = self.plausible(who[reached], after[reached])
        cost = self.cost(who, action)
        return Evaluated(after, allowed, score if worth is None else chosen, reached, cost)

    def take(self, who: np.ndarray) -> Population:
        """The same problem for some of the people."""
        some = Population.__new__(Population)
        some.problem, some.schema, some.d = self.problem, self.schema, self.d
        some.x, some.low, some.high, some.free = self.x[who], self.low[who], self.high[who], self.free[who]
        some.n, some.max_changes, some.levels = len(some.x), self.max_changes[who], self.levels[who]
        some.wishes = None if self.wishes is None else self.wishes.take(who)
        some._start()
        if "weight" in vars(self):  # a search may have set other ones than the wishes'
            some.weight = self.weight[who]
            some.plain_weight = bool((some.weight == 1.0).all())
        some.aim = None if self.aim is None else self.aim[who]
        some.best = None if self.best is None else self.best.take(who)
        return some
