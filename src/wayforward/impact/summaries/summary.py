"""A few lines instead of a plan for everyone: for whom, what to do, for how many it works, at what cost.

A search over thousands of rules always finds some that fit the people it was made on. So lines are learnt from one
half of the refused people, and every number is told of the other half, on whom each line is carried out and judged
like any other advice: a line that is illegal for somebody, breaks a wish of theirs or is no yes does not serve them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from wayforward.errors import DataError
from wayforward.evaluate import stats
from wayforward.evaluate.stats import Estimate

if TYPE_CHECKING:
    from wayforward.groups import Groups
    from wayforward.methods import Method
    from wayforward.preferences import Preferences
    from wayforward.problem import Population, Problem
    from wayforward.recourse import Recourse

_LEAST = 20  # refused people; fewer make no halves
_TELLS = 3  # a mean over fewer people would tell of a person


class Rules(ABC):
    """What a summariser learnt. words: for each line, for whom (conditions, none: everybody) and what to do."""

    words: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]

    @abstractmethod
    def actions(self, people: Population) -> tuple[np.ndarray, np.ndarray]:
        """What the lines tell each person to do: actions (n, k, d), NaN where left alone, and their lines (n, k) int.

        An empty slot has line -1. An action is what the line says, exact to the lattice; whoever may not do that gets
        an empty slot or an action that the judge refuses. A person's actions depend on their own row only.
        """

    def how_much(self, line: int, x: np.ndarray, action: np.ndarray) -> str:
        """A sentence on how much a line asks of people it works for, x and action (m, d); '' where its words say it."""
        return ""


class Summariser(ABC):
    """A way to find lines. Subclasses are dataclasses whose fields are the parameters."""

    name: ClassVar[str]
    summary: ClassVar[str]
    citation: ClassVar[str]

    @abstractmethod
    def learn(self, people: Population, seed: int) -> Rules:
        """Lines for refused people; candidates are judged by `Population.evaluate`."""


@dataclass(frozen=True)
class Line:
    """One line. who: its conditions (none: everybody); change: what to do. told: people it speaks to.

    works: share of them for whom it is legal, within rules and wishes, and turns the decision. cost: mean cost for
    those. used: share of all people for whom it is the cheapest line that works. how_much: where a line leaves open how
    far to go, how far those it works for have to.
    """

    who: tuple[str, ...]
    change: tuple[str, ...]
    told: int
    works: Estimate
    cost: Estimate
    used: float
    how_much: str = ""

    @property
    def text(self) -> str:
        """The line as a sentence, and how much it takes."""
        whom = "If " + listed(self.who) if self.who else "Everybody"
        return f"{whom}: {listed(self.change)}. {self.how_much}".rstrip()

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "if": list(self.who), "change": list(self.change), "text": self.text, "told": self.told,
            "how_much": self.how_much, "works": self.works.to_dict(), "cost": self.cost.to_dict(), "used": self.used,
        }  # fmt: skip


def listed(parts: Sequence[str]) -> str:
    """ "a", "a and b", "a, b, and c"."""
    from wayforward.answers import words

    return " and ".join(parts) if len(parts) < 3 else words.join(list(parts))


@dataclass(frozen=True)
class Served:
    """A group under a summary: share whom some line serves, mean cost for those, and the same of plans of their own.

    extra: cost of the lines less that of own plans, over people whom both serve.
    """

    attribute: str
    group: str
    served: Estimate
    cost: Estimate
    own_served: Estimate
    own_cost: Estimate
    extra: Estimate

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "attribute": self.attribute, "group": self.group, "served": self.served.to_dict(),
            "cost": self.cost.to_dict(), "own_plan_served": self.own_served.to_dict(),
            "own_plan_cost": self.own_cost.to_dict(),
            "extra_cost": self.extra.to_dict(),
        }  # fmt: skip


@dataclass(frozen=True)
class Curve:
    """Share of the people told of whom lines, and plans of their own, serve within a cost; all (c,), rising."""

    cost: tuple[float, ...]
    served: tuple[float, ...]
    own: tuple[float, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"cost": list(self.cost), "served": list(self.served), "own_plan_served": list(self.own)}


@dataclass(frozen=True, eq=False)
class Summary:
    """Lines, and what became of the people who had no say in them.

    name: of the summariser. learnt: people the lines were made on. everybody, groups: share served and cost, beside
    those of a plan made for each person. extra: cost of the lines less that of own plans, over people whom both serve.
    curve: share served against cost. who (m,): positions in the table of the people told of; recourse: their judged
    answers; line (m,): the line that serves each, -1 for none.
    """

    name: str
    lines: tuple[Line, ...]
    learnt: int
    told: int
    everybody: Served
    groups: tuple[Served, ...]
    extra: Estimate
    curve: Curve
    unit: str
    rules: Rules = field(repr=False)
    recourse: Recourse = field(repr=False)
    line: np.ndarray = field(repr=False)
    who: np.ndarray = field(repr=False)
    meta: dict[str, Any] = field(default_factory=dict, repr=False)

    def apply(self, problem: Problem, x: Any, preferences: Preferences | None = None) -> Recourse:
        """The lines for other people (n, d) or a table: each gets the cheapest that works for them, judged."""
        rows = problem.schema.encode(x)
        return _serve(problem, rows, self.rules, preferences)[0]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; no person's row is in it."""
        return {
            "name": self.name, "learnt_from": self.learnt, "told_of": self.told, "cost_unit": self.unit,
            "lines": [one.to_dict() for one in self.lines], "everybody": self.everybody.to_dict(),
            "groups": [one.to_dict() for one in self.groups], "extra_cost": self.extra.to_dict(),
            "curve": self.curve.to_dict(), "meta": self.meta,
        }  # fmt: skip

    def __str__(self) -> str:
        served = self.everybody.served
        rows = [
            f"{i}. {one.text} "
            + (
                f"Works for {one.works.value:.0%} of {one.told}, mean cost {one.cost.value:.3g}."
                if one.told
                else "Speaks to none of them."
            )
            for i, one in enumerate(self.lines, 1)
        ]
        head = f"{self.name}: {len(self.lines)} lines serve {served.value:.0%} of {served.n} people."
        return "\n".join([head, *rows])


def summarize(
    problem: Problem,
    x: Any,
    how: str | Summariser = "tree",
    *,
    groups: Sequence[Groups] | Groups = (),
    preferences: Preferences | None = None,
    most: int | None = 2000,
    beside: str | Method | Recourse | None = "local-search",
    grid: Sequence[float] | None = None,
    seed: int = 0,
) -> Summary:
    """Few lines for the people in x (a table or (n, d)) whom the model refuses.

    how: 'ares', 'globe-ce', 'tree', or a summariser with its own settings. groups: attributes with a label for
    everybody in x. most: refused people looked at, drawn by chance. beside: a method that makes a plan for each person,
    to see what few lines cost, or such plans for everybody in x; None leaves it out. grid: costs at which the share
    served is told; left out, sixty up to what nearly all plans stay below.
    Raises: DataError where too few people are refused, or for an unknown summariser.

    Example: ``print(summarize(problem, people, "tree", groups=Groups.of("sex", people, schema)))``.
    """
    schema = problem.schema
    rows = schema.encode(x)
    maker = summariser(how) if isinstance(how, str) else how
    attributes = _attributes(groups, len(rows))
    refused = np.flatnonzero(~problem.reached(rows)[0])
    order = np.random.default_rng([seed, 17]).permutation(refused)[: None if most is None else most]
    if len(refused) < _LEAST:
        raise DataError(
            f"The model refuses {len(refused)} of these people, too few to learn lines from one half and "
            f"to tell of the other. Give a table with at least {_LEAST} refused people."
        )
    if len(order) < _LEAST:
        raise DataError(
            f"most={most} is too few to make two halves of. Use {_LEAST} or more, or leave it out."
        )
    learn, tell = np.sort(order[: len(order) // 2]), np.sort(order[len(order) // 2 :])
    wishes = [None if preferences is None else preferences.take(some) for some in (learn, tell)]
    rules = maker.learn(problem.population(rows[learn], wishes[0]), seed)
    got, line, spoken, works, cost, asks = _serve(problem, rows[tell], rules, wishes[1])
    own = _own(problem, beside, rows, tell, wishes[1], seed)
    served, own_served = line >= 0, None if own is None else np.asarray(own.found[:, 0])
    paid = np.where(served, got.cost[:, 0], np.nan)
    own_paid = np.full(len(tell), np.nan)
    if own is not None and own_served is not None:
        own_paid[own_served] = own.cost[own_served, 0]

    def mean(values: np.ndarray) -> Estimate:
        found = stats.mean(values, seed=seed)
        return found if found.n >= _TELLS else stats.NOTHING

    def part(attribute: str, group: str, some: np.ndarray) -> Served:
        if 0 < some.sum() < _TELLS:
            return Served(attribute, group, *[stats.NOTHING] * 5)
        ours = stats.rate(own_served[some]) if own_served is not None else stats.NOTHING
        return Served(
            attribute, group, stats.rate(served[some]), mean(paid[some]), ours, mean(own_paid[some]),
            mean((paid - own_paid)[some]),
        )  # fmt: skip

    parts = [
        part(one.name, name, one.take(tell).mask(g)) for one in attributes for g, name in enumerate(one.names)
    ]
    return Summary(
        name=maker.name,
        lines=tuple(
            Line(
                who, change, int(spoken[:, i].sum()), stats.rate(works[:, i], spoken[:, i]),
                mean(np.where(works[:, i], cost[:, i], np.nan)), float((line == i).mean()),
                rules.how_much(i, rows[tell][works[:, i]], asks[works[:, i], i]) if works[:, i].any() else "",
            )
            for i, (who, change) in enumerate(rules.words)
        ),
        learnt=len(learn),
        told=len(tell),
        everybody=part("", "everybody", np.ones(len(tell), dtype=bool)),
        groups=tuple(parts),
        extra=mean(paid - own_paid),
        curve=_curve(paid, own_paid, grid),
        unit=problem.cost.unit,
        rules=rules,
        recourse=got,
        line=line,
        who=tell,
        meta={
            "seed": seed, "in_words": maker.summary, "citation": maker.citation, "parameters": _parameters(maker),
        },
    )  # fmt: skip


_KNOWN = {"tree": ("tree", "Tree"), "ares": ("ares", "Ares"), "globe-ce": ("globe_ce", "GlobeCe")}


def summariser(name: str) -> Summariser:
    """A summariser by name. Raises: DataError for an unknown one."""
    from importlib import import_module

    from wayforward.errors import did_you_mean

    if name not in _KNOWN:
        raise DataError(
            f"There is no summariser '{name}'.{did_you_mean(name, list(_KNOWN))} Known: {', '.join(_KNOWN)}."
        )
    module, kind = _KNOWN[name]
    made: Summariser = getattr(import_module(f"wayforward.impact.summaries.{module}"), kind)()
    return made


def _serve(
    problem: Problem, x: np.ndarray, rules: Rules, preferences: Preferences | None
) -> tuple[Recourse, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The judged answer, and for n people and L lines: line (n,), spoken to, works, cost (n, L), action (n, L, d).

    Every line is judged for everyone it speaks to; a person gets the cheapest that works.
    """
    people = problem.population(x, preferences)
    action, line = rules.actions(people)
    asked = problem.reached(x)
    n, lines = len(x), len(rules.words)
    spoken, works = np.zeros((n, lines), dtype=bool), np.zeros((n, lines), dtype=bool)
    cost, asks = np.full((n, lines), np.inf), np.full((n, lines, x.shape[1]), np.nan)
    best, slot = np.full(n, np.inf), np.full(n, -1)
    for s in range(action.shape[1]):
        got = problem.check(
            x, action[:, s : s + 1], 1, preferences=preferences, decision=asked, people=people
        )
        who = np.flatnonzero(line[:, s] >= 0)
        spoken[who, line[who, s]] = True
        good = who[got.found[who, 0]]
        at = (good, line[good, s])
        cheaper = got.cost[good, 0] < cost[at]
        works[at] = True
        asks[at] = np.where(cheaper[:, None], got.action[good, 0], asks[at])
        cost[at] = np.minimum(cost[at], got.cost[good, 0])
        better = good[got.cost[good, 0] < best[good]]
        best[better], slot[better] = got.cost[better, 0], s
    chosen, whose = np.full((n, 1, x.shape[1]), np.nan), np.full(n, -1)
    some = np.flatnonzero(slot >= 0)
    chosen[some, 0], whose[some] = action[some, slot[some]], line[some, slot[some]]
    final = problem.check(x, chosen, 1, preferences=preferences, decision=asked, people=people)
    return final, whose, spoken, works, cost, asks


def _own(
    problem: Problem, beside: str | Method | Recourse | None, rows: np.ndarray, tell: np.ndarray,
    wishes: Preferences | None, seed: int,
) -> Recourse | None:  # fmt: skip
    """Plans of their own for the people told of: looked for, or taken from those given for all rows."""
    from wayforward.recourse import Recourse

    if beside is None:
        return None
    if isinstance(beside, Recourse):
        if beside.n != len(rows):
            raise DataError(
                f"beside holds plans of {beside.n} people; there are {len(rows)} in the table. Give the same people."
            )
        return beside[tell]
    from wayforward.methods import method

    how = method(beside) if isinstance(beside, str) else beside
    return how.fit(problem).recommend(rows[tell], 1, preferences=wishes, seed=seed)


def _curve(paid: np.ndarray, own: np.ndarray, grid: Sequence[float] | None) -> Curve:
    """Shares of all people told of."""
    known = np.concatenate([paid[np.isfinite(paid)], own[np.isfinite(own)]])
    if grid is None:
        grid = np.linspace(0, float(np.quantile(known, 0.99)), 60).tolist() if known.size else []

    def share(cost: np.ndarray) -> tuple[float, ...]:
        return tuple(float((cost <= c * (1 + 1e-12)).mean()) for c in grid)

    return Curve(tuple(float(c) for c in grid), share(paid), share(own) if np.isfinite(own).any() else ())


def _attributes(groups: Sequence[Groups] | Groups, n: int) -> list[Groups]:
    from wayforward.groups import Groups

    found = [groups] if isinstance(groups, Groups) else list(groups)
    for one in found:
        if len(one) != n:
            raise DataError(
                f"'{one.name}' has labels of {len(one)} people; there are {n} in the table. Give the same people."
            )
    return found


def _parameters(maker: Summariser) -> dict[str, Any]:
    from dataclasses import fields

    return {f.name: getattr(maker, f.name) for f in fields(maker)}  # type: ignore[arg-type]
