"""What a search knows about everyone: incumbents, candidates to polish, and what the model said about a row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from wayforward.methods.local_search.surrogate import Surrogate
from wayforward.problem.batching import tidy
from wayforward.ranks import rank_in_run
from wayforward.shapes import Mask, PerPerson, PerRow, Rows, Who
from wayforward.streams import keys_of

if TYPE_CHECKING:
    from wayforward.neighbours import NeighbourIndex
    from wayforward.problem import Population
    from wayforward.streams import Streams

_BLOCK = 1 << 18  # candidate rows shown to the model at once
_TIES = 4  # rows at the boundary, of one batch and person, that the model itself is asked about


Descend: TypeAlias = "Callable[[Population, Streams, int], Rows]"


@dataclass(frozen=True)
class SearchSettings:
    """The settings of a `LocalSearch`, and what it prepared for everybody.

    reference (N, d), index: accepted people to start from; everyone: makes all of them, (R, d). crossings: see
    `tree_crossings`. fill: empty slots take options that ask for more than others. stand_in: for an opaque model.
    prove: (m,) bool, who has no option at all; and actions (m, d) met on the way that are one. descend: people, their
    streams and rows each -> (m, d), where descents along the model's gradients end; None where they are not known.
    """

    grid: int
    starts: int
    beam: int
    rounds: int
    reference: Rows
    index: NeighbourIndex | None
    crossings: dict[int, tuple[np.ndarray, np.ndarray]]
    everyone: Callable[[], Rows]
    fill: bool
    stand_in: Surrogate | None
    prove: Callable[[Population], tuple[Mask, Rows]]
    descend: Descend | None = None


class Candidates:
    """Incumbents of everyone, the candidates that are to be polished, and the work already done."""

    def __init__(
        self,
        settings: SearchSettings,
        people: Population,
        banned: np.ndarray,
        cap: np.ndarray,
        streams: Streams,
        option: int,
    ) -> None:
        self.settings, self.people, self.streams, self.option = settings, people, streams, option
        self.schema, self.problem = people.schema, people.problem
        self.free = people.free & ~banned
        self.stuck = ~self.free.any(1)
        self.free[self.stuck] = people.free[
            self.stuck
        ]  # nothing else to act on: look for another value instead
        self.n, self.d = people.n, people.d
        self.cap = cap  # (n,) model rows after which nobody is asked about the person any more
        self.cost = np.full(self.n, np.inf)  # of the incumbent; without one, what it may cost at most
        self.best = np.full((self.n, self.d), np.nan)
        self.found = np.zeros(self.n, dtype=bool)
        self.none = np.zeros(self.n, dtype=bool)  # proved: there is no way
        self.start = np.full(self.n, np.nan)  # score of people as they are
        self.hint: Rows | None = None  # (n, d) an action of each person to start from
        self.patient: Mask | None = None  # (n,) goes on until the budget is gone; None: everybody
        self.floor: tuple[Population, PerPerson] | None = (
            None  # what an option must cost, as these people weigh it
        )
        self.separable = bool(self.problem.cost.separable)
        self.slack = self.problem.slack
        self.band, self.every_tie = (
            self.slack,
            False,
        )  # what is at the boundary, and who of it the model itself is asked
        # rows at the boundary about which the model itself was asked, sorted: a label, and what it said
        self.tie_key, self.tie_yes = np.empty(0, np.uint64), np.empty(0, dtype=bool)
        self.pool_who: list[np.ndarray] = []  # valid candidates, for the polish
        self.pool_action: list[np.ndarray] = []
        self.pool_cost: list[np.ndarray] = []
        # candidates met on the way, for further options
        self.spare: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self.coupled = bool(self.schema.rules) and len(self.schema.compiled_rules.conditions) > 0
        # features that others move: setting one to the value that it has holds it there, at no cost
        self.holdable = np.zeros(self.d, dtype=bool)
        self.may = self.schema.actionable & ~people.preferences.frozen  # also with nowhere else to go
        if not self.problem.independent:
            sources = np.asarray(self.schema.actionable)
            self.holdable |= np.asarray(self.problem.descendants)[sources].any(0)
        self.limits_changes = bool((people.max_changes < people.d).any())
        self.breaking_who: list[np.ndarray] = []  # candidates that only break rules, for the repair
        self.breaking_action: list[np.ndarray] = []

    def ask(self, who: np.ndarray, action: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Ask about actions (m, d); return scores (m,), -inf where illegal, and (m,) bool: everything holds."""
        m = len(who)
        score, valid = np.full(m, -np.inf), np.zeros(m, dtype=bool)
        affordable = self._affordable(who)
        for start in range(0, m, _BLOCK):
            part = slice(start, start + _BLOCK)
            score[part], valid[part] = self._ask(who[part], action[part], affordable[part])
        return score, valid

    def _affordable(self, who: np.ndarray) -> np.ndarray:
        """Return (m,) bool: the row is within its person's budget, counting the rows before it."""
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
        if self.floor is not None:
            whose, least = self.floor
            ok &= whose.cost(who, action) >= least[who] - 1e-12
        if problem.independent:  # moves lie inside each person's box, so only couplings are left to judge
            before = people.x[who]
            after = np.where(np.isnan(action), before, action)
            if self.limits_changes:
                ok &= (~np.isnan(action)).sum(1) <= people.max_changes[who]
            if self.problem.least_change.any():
                ok &= ~people.too_little(who, action).any(1)
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
        if problem.robust is None and people.aim is None:
            close = np.abs(score) <= self.band
            if rules is not None:
                close &= rules
            if close.any():
                valid[close] = self._at_the_boundary(who[close], action[close], after[close])
        if rules is not None and not rules.all():
            # turned the decision but broke a rule: another change may mend that
            breaking = np.flatnonzero(valid & ~rules)
            self.breaking_who.append(who[breaking])
            self.breaking_action.append(action[breaking])
            valid &= rules
        if problem.plausibility is not None and valid.any():
            valid[valid] = people.plausible(who[valid], after[valid])
        return score, valid

    def _at_the_boundary(self, who: np.ndarray, action: np.ndarray, after: np.ndarray) -> Mask:
        """Ask the model itself about rows that its fast path cannot decide, where they would be incumbents."""
        yes = np.zeros(len(who), dtype=bool)
        cost = self.people.cost(who, action)
        fits = self.people.rows[who] < self.cap[who]
        if not self.every_tie:
            fits &= cost < self.cost[who] - 1e-12
        some = np.flatnonzero(fits)
        some = some[np.lexsort((some, cost[some], who[some]))]
        if not self.every_tie:
            some = some[rank_in_run(who[some]) < _TIES]
        key = keys_of(np.column_stack([after[some], who[some]]), 0)  # nobody lives on what others asked
        at = np.minimum(np.searchsorted(self.tie_key, key), max(len(self.tie_key) - 1, 0))
        fresh = self.tie_key[at] != key if len(self.tie_key) else np.ones(len(some), dtype=bool)
        if fresh.any():
            new, first = np.unique(key[fresh], return_index=True)
            row = some[fresh][first]
            self.people.rows += np.bincount(who[row], minlength=self.n)
            both = np.concatenate([self.tie_key, new])
            order = np.argsort(both, kind="stable")
            answers = np.concatenate([self.tie_yes, self.problem.reached(after[row])[0]])
            self.tie_key, self.tie_yes = both[order], answers[order]
            at = np.searchsorted(self.tie_key, key)
        yes[some] = self.tie_yes[at]
        return yes

    def keep(self, who: np.ndarray, action: np.ndarray, cost: np.ndarray, pool: bool = True) -> None:
        """Make the cheapest valid candidate of each person the incumbent; put a few into the pool, to be polished."""
        if not len(who):
            return
        order = np.lexsort((np.arange(len(who)), cost, who))
        first = order[rank_in_run(who[order]) == 0]
        better = cost[first] < self.cost[who[first]] - 1e-12
        at = first[better]
        self.cost[who[at]], self.best[who[at]], self.found[who[at]] = cost[at], action[at], True
        if not pool:
            return
        few = order[rank_in_run(who[order]) < self.settings.beam]
        self.pool_who.append(who[few])
        self.pool_action.append(action[few])
        self.pool_cost.append(cost[few])

    def pool(self, beam: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Empty the pool; return each person's cheapest candidates, none of the same changes: who, action, cost."""
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
        self.spare.append((who[shelf], action[shelf], cost[shelf]))
        order = order[rank_in_run(who[order]) < beam]
        return who[order], action[order], cost[order]

    def _try_actions(self, who: np.ndarray, action: np.ndarray) -> None:
        """Ask about whole actions that are cheaper than the incumbent; the valid ones take its place."""
        cost = self.people.cost(who, action)
        at = np.flatnonzero((cost < self.cost[who] - 1e-12) & ~np.isnan(action).all(1))
        if at.size:
            _, valid = self.ask(who[at], action[at])
            at = at[valid]
            self.keep(who[at], action[at], cost[at])

    def _legal(self, who: np.ndarray, action: np.ndarray) -> np.ndarray:
        """Return actions snapped to what the person may do; a value that they have already is no act."""
        return tidy(self.people, who, np.where(self.free[who], action, np.nan))

    def _rules_hold(self, who: np.ndarray, action: np.ndarray) -> np.ndarray:
        """Return (m,) bool: all rules of the schema hold after the actions."""
        after = self.people.after(who, action)
        return np.asarray(self.schema.compiled_rules.satisfied(self.people.x[who], after))


def set_values(action: Rows, feature: Who, value: PerRow) -> Rows:
    """Return actions (m, d) with one value each set: value (m,) of feature (m,)."""
    out = action.copy()
    out[np.arange(len(out)), feature] = value
    return out


def cheapest(group: np.ndarray, price: np.ndarray) -> np.ndarray:
    """Return the positions of the cheapest finite entry of each group."""
    order = np.lexsort((np.arange(len(group)), price, group))
    lead = order[rank_in_run(group[order]) == 0]
    return np.asarray(lead[np.isfinite(price[lead])])
