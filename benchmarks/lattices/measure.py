"""A method on one lattice, held against all that there is: what was found, missed, proved, and at what cost."""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.lattices.cases import Lattice
from benchmarks.lattices.truth import Truth, allowed, consequences, decided, least, truth_of

SLOTS = (1, 3, 4)
BUDGETS = (200, 2_000)  # model rows a person, beside the default
_CLOSE = 1e-7  # relative; nearer than this two costs are the same


@dataclass
class Record:
    """What one lattice gave. people: one entry a person; defects: promises that broke, and whose."""

    number: int
    tags: dict[str, Any]
    people: list[dict[str, Any]] = field(default_factory=list)
    defects: list[dict[str, Any]] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)

    def broken(self, what: str, person: int, **more: Any) -> None:
        """Note a promise that broke."""
        self.defects.append({"lattice": self.number, "person": person, "what": what, **more})


def measure(case: Lattice, method: Any, *, full: bool = True, seed: int = 0) -> Record:
    """Ask one method about everybody of a lattice. full: also k of 3 and 4, one by one, and with smaller budgets.

    Raises: UnsupportedModel, MissingExtra and ProblemError where the method does not fit the lattice.
    """
    record = Record(case.number, case.tags)
    method.fit(case.problem)
    truths = [truth_of(case, person) for person in range(len(case.people))]

    def ask(label: str, x: np.ndarray, k: int, wishes: Any, budget: int | None = None) -> Any:
        started = time.process_time()
        got = method.recommend(x, k, preferences=wishes, seed=seed, budget=budget)
        record.seconds[label] = record.seconds.get(label, 0.0) + time.process_time() - started
        return got

    answers = {1: ask("k1", case.people, 1, case.wishes)}
    if full:
        answers |= {k: ask(f"k{k}", case.people, k, case.wishes) for k in SLOTS[1:]}
    for person, truth in enumerate(truths):
        record.people.append(_person(case, record, person, truth, answers))
    if full:
        _alone(case, record, answers[1], ask)
        _budgets(case, record, answers[1], ask)
    return record


def _person(
    case: Lattice, record: Record, person: int, truth: Truth, answers: dict[int, Any]
) -> dict[str, Any]:
    out: dict[str, Any] = {
        "exists": truth.exists,
        "impossible": truth.impossible,
        "allowed": truth.allowed,
        "ways": len(truth.action),
    }
    for k, got in answers.items():
        outcomes = [end.name for end in got.outcome[person]]
        out[f"k{k}"] = outcomes[0]
        if outcomes[0] == "ACCEPTED":
            record.broken("accepted who is refused", person, k=k)
        if outcomes[0] == "NONE_EXISTS" and truth.exists:
            record.broken("false NONE_EXISTS", person, k=k)
        found = [slot for slot in range(k) if outcomes[slot] == "FOUND"]
        for slot in found:
            for what in _wrong(case, person, got.action[person, slot], got.after[person, slot]):
                record.broken("false FOUND", person, k=k, why=what)
        costs = got.cost[person, found]
        if len(costs) and costs.min() < truth.cost.min(initial=np.inf) * (1 - _CLOSE) - 1e-9:
            record.broken("cheaper than all that is allowed", person, k=k)
        if found:
            out[f"cost{k}"] = float(costs.min())
        if k > 1:
            out |= _slots(case, person, truth, got, found, k)
    if truth.exists:
        out["optimum"] = truth.optimum
    if 3 in answers and out.get("cost3", np.inf) < out.get("cost1", np.inf) * (1 - _CLOSE):
        record.broken("k=1 dearer than the first of k=3", person)
    return out


def _wrong(case: Lattice, person: int, action: np.ndarray, after: np.ndarray) -> list[str]:
    """Return what is wrong with one option that was called FOUND: nothing, if all is well."""
    from wayforward.evaluate.judge import judge

    wrong = []
    x = case.people[person : person + 1]
    led = consequences(case, x, action[None])
    span = case.schema.span
    if not (np.isclose(led, after[None], rtol=0, atol=1e-9 * span.max(), equal_nan=True)).all():
        wrong.append("does not follow")
    if not allowed(case, person, x, action[None], led)[0]:
        wrong.append("not allowed")
    if (np.isnan(after) & ~case.schema.missing).any():
        return [*wrong, "a value is missing"]
    if not decided(case, after[None])[1][0]:
        wrong.append("the model says no")
    wishes = None if case.wishes is None else case.wishes.take([person])
    second = judge(case.problem, x, action[None, None], after[None, None], wishes)
    if not second.usable[0, 0] and not wrong:
        wrong.append("the library's second judge says no")
    return wrong


def _slots(case: Lattice, person: int, truth: Truth, got: Any, found: list[int], k: int) -> dict[str, Any]:
    """How many of the k slots hold an option, for how many there is one, and how many ask for more than they need."""
    out: dict[str, Any] = {f"filled{k}": len(found)}
    if not truth.exists or len(truth.action) > 4000:
        return out
    minimal = least(case, person, truth)
    out[f"possible{k}"] = int(min(k, (minimal & truth.sure).sum()))
    out[f"distinct{k}"] = int(min(k, len(np.unique(truth.after[truth.sure].round(9), axis=0))))
    spare = 0
    for slot in found:
        action = got.action[person, slot]
        same = ((np.abs(truth.action - action) < 1e-9) | (np.isnan(truth.action) & np.isnan(action))).all(1)
        spare += int(same.any() and not minimal[same].any())
    out[f"not_least{k}"] = spare
    return out


def _same(a: Any, i: int, b: Any, j: int) -> bool:
    """Whether two answers are the same: outcomes and every bit of the actions."""
    return list(a.outcome[i]) == list(b.outcome[j]) and np.array_equal(
        a.action[i], b.action[j], equal_nan=True
    )


def _alone(case: Lattice, record: Record, together: Any, ask: Any) -> None:
    for person in range(len(case.people)):
        wishes = None if case.wishes is None else case.wishes.take([person])
        one = ask("alone", case.people[person : person + 1], 1, wishes)
        if not _same(together, person, one, 0):
            record.broken(
                "another answer alone",
                person,
                batch=together.outcome[person, 0].name,
                one=one.outcome[0, 0].name,
            )


def _budgets(case: Lattice, record: Record, full: Any, ask: Any) -> None:
    tries = [ask("budget", case.people, 1, case.wishes, budget) for budget in BUDGETS] + [full]
    for person in range(len(case.people)):
        costs = [float(got.cost[person, 0]) for got in tries]
        for less, more in itertools.pairwise(costs):
            if more > less * (1 + _CLOSE) + 1e-12:
                record.broken("more budget, dearer", person, costs=[round(c, 6) for c in costs])
                break
        ends = [got.outcome[person, 0].name for got in tries]
        if "NONE_EXISTS" in ends and "FOUND" in ends:
            record.broken("a proof that a budget takes back", person, ends=ends)
