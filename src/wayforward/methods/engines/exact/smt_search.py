"""The cheapest option by questions to a satisfiability solver: is there one that costs at most so much?

Every question is a formula of the person, the model and what follows (`PersonFormula`). A refutation is a proof, about
all that the judge may accept; a row that the solver finds counts once the judge has accepted it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from wayforward.deadline import left, look
from wayforward.methods.engines.exact.smt_models import ModelForm
from wayforward.methods.engines.exact.smt_person import PersonFormula
from wayforward.methods.engines.finish import farther
from wayforward.shapes import Actions, Floats, Mask

if TYPE_CHECKING:
    from wayforward.problem import Population

_BEYOND = (0.0, 1e-9, 1e-7, 1e-5, 1e-3)  # of its way: so much farther a row is tried, too
_CUTS = 8  # rows that only the judge refuses, left out one after another
_APART = 1e-3  # of a range: so far around such a row nothing else is looked at

Verdict = Literal["found", "none", "hidden", "open"]


class Asked:
    """One person's formula in a solver, with the work that is left to it."""

    def __init__(self, formula: PersonFormula, work: int) -> None:
        z3 = formula.terms.z3
        self.formula, self.work = formula, work
        self.solver = z3.Solver(ctx=formula.terms.ctx)
        self.solver.set("random_seed", 0)
        self.solver.add(*formula.terms.facts)
        formula.terms.facts.clear()

    def ask(self, facts: list[Any]) -> Floats | Literal[False] | None:
        """Return the action (d,) at which all the facts hold; False: there is none; None: it was too much work."""
        z3, formula = self.formula.terms.z3, self.formula
        look()
        if self.work <= 0 or any(fact is False for fact in facts):
            return None if self.work <= 0 else False
        self.solver.push()
        self.solver.add(*(fact for fact in facts if fact is not True))
        before = self._spent()
        self.solver.set("rlimit", self.work)
        time = left()
        if np.isfinite(time):
            self.solver.set("timeout", max(int(1000 * time), 1))
        verdict = self.solver.check()
        row = formula.found(self.solver.model()) if verdict == z3.sat else None
        self.work -= self._spent() - before
        self.solver.pop()
        look()
        return row if verdict == z3.sat else False if verdict == z3.unsat else None

    def _spent(self) -> int:
        numbers = self.solver.statistics()
        return int(numbers.get_key_value("rlimit count")) if "rlimit count" in numbers.keys() else 0  # noqa: SIM118


@dataclass
class PersonSearch:
    """One person's questions. work: what the solver may spend on them, in its own units (`rlimit`)."""

    people: Population
    i: int
    model: ModelForm
    kind: str
    work: int
    earlier: list[Mask] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.wide = self._question(over=True, work=self.work)
        self.tight: Asked | None = None

    def _question(self, over: bool, work: int) -> Asked:
        return Asked(PersonFormula(self.people, self.i, self.model, self.kind, over), work)

    @property
    def proves(self) -> bool:
        """True if a refutation is about everything that this person may do."""
        return self.model.sure and not self.wide.formula.left_out

    def cheaper(self, most: float) -> tuple[Verdict, Floats | None, float]:
        """Look for an option that costs at most `most`: the verdict, the action (d,), and what it costs."""
        row = self.wide.ask(self._facts(self.wide.formula, most))
        if row is None:
            return "open", None, np.inf
        if row is False:
            return "none", None, np.inf
        action, cost = self._judged(row)
        if action is not None:
            return "found", action, cost
        if self.tight is None:
            self.tight = self._question(over=False, work=self.wide.work)
        bad = [row]  # rows that only the judge refuses
        for question in (self.tight, self.wide):
            for _ in range(_CUTS):
                self.tight.work = self.wide.work = min(self.tight.work, self.wide.work)
                apart = [question.formula.beyond(one, _APART) for one in bad]
                row = question.ask([*self._facts(question.formula, most), *apart])
                if row is None:
                    return "open", None, np.inf
                if row is False:
                    break
                action, cost = self._judged(row)
                if action is not None:
                    return "found", action, cost
                bad.append(row)
        return "hidden", None, np.inf

    def _facts(self, formula: PersonFormula, most: float) -> list[Any]:
        facts = [formula.apart_from(acted) for acted in self.earlier]
        return [*facts, formula.within(most)] if np.isfinite(most) else facts

    def _judged(self, row: Floats) -> tuple[Floats | None, float]:
        """The cheapest of the row and of rows a little beyond it that the judge accepts, and what it costs."""
        people, i = self.people, self.i
        who, rows = farther(people, np.array([i]), row[None], _BEYOND)
        if people.problem.independent:
            rows = np.where(people.schema.differs(rows, people.x[i]), rows, np.nan)
        there = ~np.isnan(rows).all(1)
        who, rows = who[there], rows[there]
        if not len(rows):
            return None, np.inf
        got = people.evaluate(who, rows)
        cost = np.where(got.reached, got.cost, np.inf)
        for acted in self.earlier:
            cost[(~np.isnan(rows))[:, acted].all(1)] = np.inf
        best = int(cost.argmin())
        return (rows[best], float(cost[best])) if np.isfinite(cost[best]) else (None, np.inf)


@dataclass(frozen=True)
class SmtAnswer:
    """action (n, k, d); none (n,) bool: proved that there is no option; bound (n,): no option costs less, proved."""

    action: Actions
    none: Mask
    bound: Floats


def bisected(
    people: Population, model: ModelForm, kind: str, start: Actions, precision: float, work: int, k: int
) -> SmtAnswer:
    """Search for everybody, one after another: bisect what options may cost until it is known to `precision`.

    start (n, k', d): options that are there already. The first question is whether anything is cheaper than the
    cheapest of them by more than `precision`, a share of its cost. A later option is the cheapest that does not change
    all that an earlier one changes. Whatever fails costs one person the proof, never the run.
    """
    out = np.full((people.n, k, people.d), np.nan)
    none, bound = np.zeros(people.n, dtype=bool), np.full(people.n, np.nan)
    for i in range(people.n):
        known = start[i][~np.isnan(start[i]).all(1)]
        price = people.cost(np.full(len(known), i), known) if len(known) else np.zeros(0)
        try:
            search: PersonSearch | None = PersonSearch(people, i, model, kind, work)
        except Exception:  # no form that the solver knows, or the solver's own: a proof less
            search = None
        for option in range(k):
            fresh = np.array([_is_apart(row, out[i, :option]) for row in known], dtype=bool)
            pick = np.flatnonzero(fresh)
            best = pick[price[pick].argmin()] if pick.size else None
            row, cost = (None, np.inf) if best is None else (known[best], float(price[best]))
            if search is not None:
                try:
                    row, cost, least = _cheapest(search, row, cost, precision)
                except Exception:
                    search, least = None, np.nan
                if not option:
                    bound[i] = least
                    none[i] = np.isposinf(least)
            if row is None:
                break
            out[i, option] = row
            if search is not None:
                search.earlier.append(~np.isnan(row))
    return SmtAnswer(out, none, bound)


def _is_apart(row: Floats, earlier: Actions) -> bool:
    acted = ~np.isnan(row)
    return not any(acted[~np.isnan(other)].all() for other in earlier)


def _cheapest(
    search: PersonSearch, row: Floats | None, cost: float, precision: float
) -> tuple[Floats | None, float, float]:
    """Return the cheapest option and its cost, and what no option costs less than: nan if unknown, inf if none is."""
    low, proved = 0.0, np.nan
    most = cost * (1.0 - precision)
    while True:
        verdict, better, price = search.cheaper(most)
        if verdict == "open":
            return row, cost, proved
        if better is not None and price < cost:
            row, cost = better, price
        if better is None or price > most * (
            1.0 + 1e-6
        ):  # a row a little beyond may cost more than the question was
            low = most
        if verdict == "none" and search.proves:
            proved = low
        if not low < cost * (1.0 - precision * 1.0001) or cost - low <= 1e-12:
            return row, cost, proved
        most = (low + cost) / 2 if np.isfinite(cost) else np.inf
