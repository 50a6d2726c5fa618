"""The exact search: a relaxation for everyone at once, then programs with cuts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from wayforward.deadline import look
from wayforward.methods.actionable_recourse.menus import personal_menus
from wayforward.methods.actionable_recourse.rule_clauses import RuleClauses
from wayforward.methods.engines.exact import selection
from wayforward.methods.engines.exact.selection import Clause, Cut, Menu, Pick, Program
from wayforward.problem.batching import tidy

if TYPE_CHECKING:
    from wayforward.methods.actionable_recourse.prepared import PreparedPrograms
    from wayforward.problem import Population


class ProgramSearch:
    """Options of everyone in order of cost: a relaxation for all at once, then programs with cuts, judged in rounds."""

    def __init__(self, prepared: PreparedPrograms, people: Population, k: int) -> None:
        self.prepared, self.people, self.k = prepared, people, k
        self.problem = people.problem
        self.rules = RuleClauses(people)
        menus = personal_menus(prepared, people, self.rules.tabled)
        self.whole_set = menus.whole_set
        self.menu = menus.helpful(self.rules.ruled)
        self.loose = menus.helpful(np.zeros(people.d, dtype=bool))
        n = people.n
        self.action = np.full((n, k, people.d), np.nan)
        self.n_found = np.zeros(n, dtype=np.int64)
        self.cuts: list[list[Cut]] = [[] for _ in range(n)]
        self.sound = np.ones(n, dtype=bool)  # no cut so far took away anything that might have been valid
        self.n_solves = np.zeros(n, dtype=np.int64)
        self.margin = np.zeros(n)
        self.tolerance = np.zeros(n)
        self.proved = ~selection.reachable(self._needing(self.loose, -1e-9))
        self.done = self.proved.copy()

    def _needing(self, menu: Menu, extra: np.ndarray | float) -> Menu:
        """Return the menu with every need raised by `extra`, measured in sizes of the sums involved."""
        size = np.abs(menu.need) + menu.best_gain().sum(-1)
        return replace(menu, need=menu.need + extra * size)

    def run(self) -> tuple[np.ndarray, np.ndarray]:
        """Search; return actions (n, k, d) and (n,) bool: proved that none exists."""
        self._relax()
        clauses = [self.rules.clauses(i) if not self.done[i] else () for i in range(self.people.n)]
        while True:
            look()
            open_ = np.flatnonzero(~self.done & (self.n_solves < self.prepared.solves))
            if not open_.size:
                return self.action, self.proved
            menu = self._needing(self.menu.take(open_), self.margin[open_])
            programs = [self._program(menu, at, int(i), clauses[i]) for at, i in enumerate(open_)]
            solved = selection.solve_all(programs, self.prepared.workers)
            self.n_solves[open_] += 1
            gone = np.array([s.column is None for s in solved])
            for i, answer in zip(open_[gone], [s for s in solved if s.column is None], strict=True):
                self._exhausted(int(i), answer.status)
            some = open_[~gone]
            if some.size:
                columns = [s.column for s in solved if s.column is not None]
                amounts = [s.amount for s in solved if s.amount is not None]
                pick = Pick(np.stack(columns), np.stack(amounts))
                self._judge(some, self._sharpen(menu.take(np.flatnonzero(~gone)), pick))

    def _relax(self) -> None:
        """Find first options without any coupling, for everyone at once; record them where optimal and allowed."""
        if self.prepared.scores.rows > 1 or self.prepared.effort.kind == "mix":
            return
        who = np.flatnonzero(~self.done)
        if not who.size:
            return
        solver = selection.cheapest_peak if self.prepared.effort.kind == "peak" else selection.cheapest_sum
        for extra in (0.0, 1e-9):  # the boundary itself, then just beyond it where the model wants more
            menu = self._needing(self.loose.take(who), extra)
            chosen = selection.in_chunks(menu, solver)
            good = np.flatnonzero(chosen.optimal)
            if good.size:
                self._judge(who[good], (menu.take(good), chosen.pick.take(good)), relaxed=True)
            who = who[self.n_found[who] == 0]
            if not who.size:
                return

    def _program(self, menu: Menu, at: int, i: int, clauses: tuple[Clause, ...]) -> Program:
        """Return the program of person i, who has row `at` of the menu."""
        effort = self.prepared.effort
        kind = "sum" if effort.kind == "square" else effort.kind
        return Program(
            menu.take(np.array([at])),
            self.people.x[i],
            kind,
            effort.peak_weight,
            tuple(self.cuts[i]),
            clauses,
            float(self.tolerance[i]),
            self.prepared.nodes,
        )

    def _sharpen(self, menu: Menu, pick: Pick) -> tuple[Menu, Pick]:
        """Move the continuous amount of each pick: the need is met to the last bit, not to a solver's tolerance."""
        smooth = (pick.column >= menu.width) & ~menu.whole
        if self.prepared.scores.rows > 1 or not smooth.any():
            return menu, pick
        side = np.clip(pick.column - menu.width, 0, 1)
        slope, count = (
            np.take_along_axis(table, side[..., None], axis=-1)[..., 0]
            for table in (menu.run_gain[0, ..., 1], menu.count)
        )
        slope = np.where(smooth, slope, 0.0)
        short = menu.need[0] - menu.totals(pick)[0][0]
        j = np.where(np.abs(slope) > 0, np.abs(slope), -1.0).argmax(1)
        rows = np.arange(len(j))
        with np.errstate(divide="ignore", invalid="ignore"):
            move = np.where(slope[rows, j] != 0, short / slope[rows, j], 0.0)
        move = np.where(np.abs(move) < 1e-6, move, 0.0)  # a rounding error of the solver, nothing larger
        amount = pick.amount.copy()
        amount[rows, j] = np.clip(
            amount[rows, j] + move, 0.0, np.where(smooth[rows, j], count[rows, j], amount[rows, j])
        )
        return menu, Pick(pick.column, amount)

    def _judge(self, who: np.ndarray, found: tuple[Menu, Pick], relaxed: bool = False) -> None:
        """Record what the real model and all rules accept as options; cut off the rest."""
        people, (menu, pick) = self.people, found
        action = self._actions_of(who, menu, pick)
        after = people.after(who, action)
        allowed = people.allowed(who, action, after)
        yes = np.zeros(len(who), dtype=bool)
        if allowed.any():
            yes[allowed] = self.problem.reached(after[allowed])[0]
        good = yes.copy()
        if yes.any():
            good[yes] = people.plausible(who[yes], after[yes])
        at = np.flatnonzero(good)
        self.action[who[at], self.n_found[who[at]]] = action[at]
        self.n_found[who[at]] += 1
        self.done[who[at]] |= self.n_found[who[at]] >= self.k
        for row in at:
            self._forbid_option(int(who[row]), pick.column[row], menu)
        if relaxed:
            return
        broken = self.rules.broken(who, after)
        for row in np.flatnonzero(~good):
            i = int(who[row])
            if allowed[row] and not yes[row] and self.margin[i] < 1e-7:
                # On the boundary and the model says no: aim a rounding error beyond. A later dead end is no proof.
                self.margin[i] = max(1e-9, self.margin[i] * 8)
                self.sound[i] = False
                continue
            self._cut_off(i, pick.column[row], menu, broken[row] if not allowed[row] else None)

    def _actions_of(self, who: np.ndarray, menu: Menu, pick: Pick) -> np.ndarray:
        """Return the actions of picks, on the lattice; a value from a grid moves back to what exactly suffices."""
        people = self.people
        action = tidy(people, who, menu.values(pick))
        if self.prepared.scores.rows > 1 or not np.isnan(people.schema.step).any() or self.rules.ruled.any():
            return action
        smooth = np.isnan(people.schema.step) & (pick.column >= 0) & (pick.column < menu.width)
        if not smooth.any():
            return action
        surplus = -menu.need[0] + menu.totals(pick)[0][0]
        cost = np.nan_to_num(people.parts(who, action))
        order = np.argsort(-np.where(smooth, cost, -1.0), axis=1, kind="stable")
        rows = np.arange(len(who))
        for place in range(int(smooth.sum(1).max(initial=0))):
            j = order[:, place]
            slope, value, x = self.prepared.scores.weight[0, j], action[rows, j], people.x[who, j]
            gain = slope * (value - x)
            go = smooth[rows, j] & (gain > 0) & (surplus > 0) & ~np.isnan(gain)
            back = np.minimum(surplus, gain) / np.where(slope == 0, 1.0, slope)
            new = action.copy()
            new[rows[go], j[go]] = (value - back)[go]
            new = tidy(people, who, new)
            moved = ~np.isnan(new[rows, j]) & go
            surplus = np.where(moved, surplus - slope * (value - new[rows, j]), surplus)
            action = np.where(moved[:, None], new, action)
        return action

    # -- cuts ----------------------------------------------------------------------------------------------

    def _forbid_option(self, i: int, column: np.ndarray, menu: Menu) -> None:
        """Forbid an option that was found, in the style of the setting `options`."""
        used = np.flatnonzero(column >= 0)
        style = self.prepared.options
        run = column[used] >= menu.width
        if (style == "distinct" and (run & ~menu.whole[used]).any()) or (style == "exact" and run.any()):
            style = "different"
        if style == "exact":
            self.cuts[i].append(_forbidden_pattern(column, range(len(column))))
        elif style == "distinct":
            terms = tuple((j, None, -1.0 if column[j] >= 0 else 1.0) for j in range(len(column)))
            self.cuts[i].append(Cut(terms, 1.0 - len(used)))
        elif style == "different":
            self.cuts[i].append(Cut(tuple((int(j), None, -1.0) for j in used), 1.0 - len(used)))
        else:
            self.cuts[i].extend(Cut(((int(j), None, -1.0),), 0.0) for j in used)

    def _cut_off(self, i: int, column: np.ndarray, menu: Menu, broken: np.ndarray | None) -> None:
        """Forbid a choice that was judged and failed; no wider than is certain, where the features are tables."""
        used = np.flatnonzero(column >= 0)
        in_run = column >= menu.width
        if broken is not None and broken.any():
            free = self.people.free[i]
            for rule in np.flatnonzero(broken):
                reads = np.flatnonzero(self.rules.involved[rule] & free)
                if not in_run[reads].any():
                    self.cuts[i].append(_forbidden_pattern(column, reads))
                    return
            if self.tolerance[i] < 1e-5:  # a linear rule missed by the solver's tolerance
                self.tolerance[i] = max(1e-8, self.tolerance[i] * 10)
                self.sound[i] = False
                return
        if not in_run.any():
            self.cuts[i].append(_forbidden_pattern(column, range(len(column))))
            return
        self.sound[i] = False  # other amounts of the same features might have done
        self.cuts[i].append(Cut(tuple((int(j), None, -1.0) for j in used), 1.0 - len(used)))

    def _exhausted(self, i: int, status: str) -> None:
        """End the search of a person for whom nothing is left; a proof, if nothing was found and no cut was a guess."""
        self.done[i] = True
        # A grid has the ends of the reach, so for one inequality and no rule its greatest gain is the greatest of all.
        alone = (
            self.prepared.scores.rows == 1
            and not self.rules.ruled.any()
            and self.problem.plausibility is None
        )
        whole = bool(self.whole_set[i]) or alone
        self.proved[i] = status == "infeasible" and self.n_found[i] == 0 and bool(self.sound[i]) and whole


def _forbidden_pattern(column: np.ndarray, features: Iterable[int]) -> Cut:
    """Return the cut: not all of these features as they are chosen now (staying counts as a choice)."""
    terms: list[tuple[int, int | None, float]] = []
    chosen = 0
    for j in features:
        if column[j] < 0:
            terms.append((int(j), None, 1.0))
        else:
            terms.append((int(j), int(column[j]), -1.0))  # 0 for other entries: they make the pattern differ
            chosen += 1
    return Cut(tuple(terms), 1.0 - chosen)
