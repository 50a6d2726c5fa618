"""Mending candidates that turn the decision and break a rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wayforward.lazy import cached_property
from wayforward.methods.local_search.candidates import cheapest, set_values
from wayforward.methods.local_search.moves import Moves
from wayforward.ranks import rank_in_run

if TYPE_CHECKING:
    from wayforward.rules.normal_form import Linear


class RuleRepair(Moves):
    """Mend candidates by one more change, or by solving a linear rule for one of its features."""

    def _mend_rules(self, everyone: np.ndarray) -> None:
        """Mend candidates that turn the decision and break a rule: by one more change, or by solving a linear rule
        for one of its features; people with nothing yet also walk from one solved state to the next."""
        for _ in range(2):
            who, action, cost = self._rule_breaking()
            if not who.size:
                break
            feature, value = self._single_moves(who)
            self._try_actions(*self._solve_rules(who, action)[:2])
            if feature.size:
                self._scan(who, action, feature, value, self.cost[who])
        lost = everyone[~self.found[everyone]]
        if not lost.size or not self._linear_atoms:
            return
        base, here = np.full((lost.size, self.d), np.nan), self.start[lost]
        for _ in range(4):
            feature, value = self._single_moves(lost)
            if not feature.size:
                return
            score, cost = self._scan(lost, base, feature, value, self.cost[lost])
            top = np.argsort(-score, axis=1, kind="stable")[:, :8]
            row, pick = np.repeat(np.arange(lost.size), top.shape[1]), top.ravel()
            there = np.isfinite(score[row, pick])  # else a column that is there for somebody else
            row, pick = row[there], pick[there]
            trial = set_values(base[row], feature[pick], value[row, pick])
            owner, mended, origin = self._solve_rules(lost[row], trial)
            got, valid = self.ask(owner, mended)
            price = self.people.cost(owner, mended)
            self.keep(owner[valid], mended[valid], price[valid])
            within_rules = self._rules_hold(owner, mended)
            got = np.where(within_rules, got, -np.inf)
            lead = cheapest(row[origin], -got)
            better = lead[got[lead] > here[row[origin[lead]]] + 1e-9]
            if not better.size:
                return
            at = row[origin[better]]
            lost, base, here = lost[at], mended[better], got[better]
            go = ~self.found[lost]
            lost, base, here = lost[go], base[go], here[go]
            if not lost.size:
                return

    def _rule_breaking(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return each person's cheapest candidates that only break rules (who, action, cost), and forget them."""
        if not self.breaking_who:
            return np.empty(0, np.int64), np.empty((0, self.d)), np.empty(0)
        who, action = np.concatenate(self.breaking_who), np.concatenate(self.breaking_action)
        self.breaking_who, self.breaking_action = [], []
        cost = self.people.cost(who, action)
        order = np.lexsort((np.arange(len(who)), cost, who))
        order = order[cost[order] < self.cost[who[order]] - 1e-12]
        order = order[rank_in_run(who[order]) < 6]
        return who[order], action[order], cost[order]

    @cached_property
    def _linear_atoms(self) -> list[Linear]:
        """The linear conditions of all rules that have a normal form."""
        from wayforward.rules.normal_form import Linear

        forms = [form for form in self.schema.compiled_rules.normal_form() if form is not None]
        return [
            atom for form in forms for clause in form.clauses for atom in clause if isinstance(atom, Linear)
        ]

    def _solve_rules(self, who: np.ndarray, action: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Solve every broken linear rule for each feature in it that the person may act on.

        Returns owner, action and the row that each came from.
        """
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
                trial = self._legal(who[row], trial)
                owners.append(who[row])
                actions.append(trial)
                origins.append(row)
        return np.concatenate(owners), np.concatenate(actions), np.concatenate(origins)
