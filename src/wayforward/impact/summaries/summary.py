"""A few lines instead of a plan for everyone: for whom, what to do, for how many it works, at what cost.

A search over thousands of rules always finds some that fit the people it was made on. So lines are learnt from one
half of the refused people and scored on the other half, on whom each line is carried out and judged like any other
advice: a line that is illegal for somebody, breaks a wish of theirs or is no yes does not serve them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.answers import words
from wayforward.errors import DataError, numbers_in, require_kind, require_whole
from wayforward.evaluate import stats
from wayforward.evaluate.stats import Estimate
from wayforward.groups import Groups, attributes
from wayforward.impact.privacy import FEWEST, mean_of_enough
from wayforward.impact.summaries.base import Rules, Summariser
from wayforward.impact.summaries.registry import summariser
from wayforward.language import Translatable, gettext, translated, use_language
from wayforward.lazy import Renamed, renamed_names
from wayforward.public import public
from wayforward.recourse import Recourse
from wayforward.shapes import Actions, Costs, Floats, Ints, Mask, OptionMask, People, PerPerson
from wayforward.streams import generator

if TYPE_CHECKING:
    from wayforward.methods import Method
    from wayforward.preferences import Preferences
    from wayforward.problem import Problem

__all__ = [
    "Curve",
    "Rules",
    "Served",
    "Summariser",
    "Summary",
    "SummaryLine",
    "listed",
    "summariser",
    "summarize",
]
__getattr__ = renamed_names(__name__, Line="SummaryLine")

_LEAST = 20  # refused people; fewer make no halves


@public
@dataclass(frozen=True)
class SummaryLine:
    """One line. who: its conditions (none: everybody); change: what to do. n_addressed: people it speaks to.

    works: share of them for whom it is legal, within rules and wishes, and turns the decision. cost: mean cost for
    those. used: share of all people for whom it is the cheapest line that works. how_much: where a line leaves open how
    far to go, how far those it works for have to. withheld: it speaks to so few that an audit tells no more of it.
    """

    who: tuple[str, ...]
    change: tuple[str, ...]
    n_addressed: int
    works: Estimate
    cost: Estimate
    used: float
    how_much: str = ""
    withheld: bool = False

    told = Renamed("n_addressed")

    @property
    def text(self) -> str:
        """The line as an English sentence, and how much it takes."""
        with use_language("en"):
            whom = "If " + listed(self.who) if self.who else "Everybody"
            return f"{whom}: {listed(self.change)}. {self.how_much}".rstrip()

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "if": list(self.who), "change": list(self.change), "text": self.text,
            "told": None if self.withheld and not self.n_addressed else self.n_addressed,
            "how_much": self.how_much, "works": self.works.to_dict(), "cost": self.cost.to_dict(),
            "used": None if np.isnan(self.used) else self.used, "withheld": self.withheld,
        }  # fmt: skip


def listed(parts: Sequence[str]) -> str:
    """Return phrases as one: "a", "a and b", "a, b, and c"."""
    if len(parts) == 2:
        return gettext("{first} and {second}", first=parts[0], second=parts[1])
    return words.join(list(parts))


@public
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


@public
@dataclass(frozen=True)
class Curve:
    """Share of the people scored whom lines, and plans of their own, serve within a cost; all (c,), rising."""

    cost: tuple[float, ...]
    served: tuple[float, ...]
    own: tuple[float, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"cost": list(self.cost), "served": list(self.served), "own_plan_served": list(self.own)}


@public
@dataclass(frozen=True, eq=False)
class Summary:
    """Lines, and what became of the people who had no say in them.

    name: of the summariser. learnt: people the lines were made on; n_scored: others, whom all numbers are of.
    everybody, groups: share served and cost, beside those of a plan made for each person. extra: cost of the lines less
    that of own plans, over people whom both serve. curve: share served against cost. who (m,): positions in the table
    of the people scored; recourse: their judged answers; line (m,): the line that serves each, -1 for none.
    """

    name: str
    lines: tuple[SummaryLine, ...]
    learnt: int
    n_scored: int
    everybody: Served
    groups: tuple[Served, ...]
    extra: Estimate
    curve: Curve
    unit: str
    rules: Rules = field(repr=False)
    recourse: Recourse = field(repr=False)
    line: Ints = field(repr=False)
    who: Ints = field(repr=False)
    meta: dict[str, Any] = field(default_factory=dict, repr=False)

    told = Renamed("n_scored")

    def apply(self, problem: Problem, x: Any, preferences: Preferences | None = None) -> Recourse:
        """Apply the lines to other people (n, d) or a table: each gets the cheapest that works for them, judged."""
        rows = problem.schema.encode(x)
        return _carried_out(problem, rows, self.rules, preferences).recourse

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; no person's row is in it."""
        return {
            "name": self.name, "learnt_from": self.learnt, "told_of": self.n_scored, "cost_unit": self.unit,
            "lines": [one.to_dict() for one in self.lines], "everybody": self.everybody.to_dict(),
            "groups": [one.to_dict() for one in self.groups], "extra_cost": self.extra.to_dict(),
            "curve": self.curve.to_dict(), "meta": self.meta,
        }  # fmt: skip

    def _cost(self, value: float) -> str:
        return words.cost_number(value, self.unit, digits=3)

    def __str__(self) -> str:
        served = self.everybody.served
        rows = [
            f"{i}. {one.text} "
            + (
                f"Works for {one.works.value:.0%} of {one.n_addressed}, mean cost {self._cost(one.cost.value)}."
                if one.n_addressed and not one.withheld
                else "Speaks to so few that no more is told."
                if one.withheld
                else "Speaks to none of them."
            )
            for i, one in enumerate(self.lines, 1)
        ]
        head = f"{self.name}: {len(self.lines)} lines serve {served.value:.0%} of {served.n} people."
        return "\n".join([head, *rows])


@public
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
    """Find few lines for the people in x (a table or (n, d)) whom the model refuses.

    how: 'ares', 'globe-ce', 'tree', or a summariser with its own settings. groups: attributes with a label for
    everybody in x. most: refused people looked at, drawn by chance. beside: a method that makes a plan for each person,
    to see what few lines cost, or such plans for everybody in x; None leaves it out. grid: costs at which the share
    served is counted; left out, sixty up to what nearly all plans stay below.
    Raises: DataError where too few people are refused, or for an unknown summariser.

    Example: ``print(summarize(problem, people, "tree", groups=Groups.of("sex", people, schema)))``.
    """
    from wayforward.problem import Problem

    require_kind(problem, Problem, "problem")
    require_whole(seed=seed)
    if most is not None:
        require_whole(least=1, most=most)
    rows = problem.schema.encode(x)
    maker = summariser(how) if isinstance(how, str) else how
    require_kind(maker, Summariser, "how")
    several = attributes(groups, len(rows))
    learn, score = _halves(problem, rows, most, seed)
    wishes = [None if preferences is None else preferences.take(some) for some in (learn, score)]
    rules = maker.learn(problem.population(rows[learn], wishes[0]), seed)
    got = _carried_out(problem, rows[score], rules, wishes[1])
    own = _own_plans(problem, beside, rows, score, wishes[1], seed)
    paid = np.where(got.line >= 0, got.recourse.cost[:, 0], np.nan)
    own_found, own_paid = np.zeros(len(score), dtype=bool), np.full(len(score), np.nan)
    if own is not None:
        own_found = np.asarray(own.found[:, 0])
        own_paid[own_found] = own.cost[own_found, 0]

    def served(attribute: str, group: str, some: Mask) -> Served:
        if 0 < some.sum() < FEWEST:
            return Served(attribute, group, *[stats.NOTHING] * 5)
        return Served(
            attribute, group, stats.rate((got.line >= 0)[some]), mean_of_enough(paid[some], seed),
            stats.NOTHING if own is None else stats.rate(own_found[some]), mean_of_enough(own_paid[some], seed),
            mean_of_enough((paid - own_paid)[some], seed),
        )  # fmt: skip

    return Summary(
        name=maker.name,
        lines=_lines(rules, got, rows[score], seed),
        learnt=len(learn),
        n_scored=len(score),
        everybody=served("", "everybody", np.ones(len(score), dtype=bool)),
        groups=tuple(
            served(one.name, name, one.take(score).mask(g))
            for one in several
            for g, name in enumerate(one.names)
        ),
        extra=mean_of_enough(paid - own_paid, seed),
        curve=_curve(paid, own_paid, grid),
        unit=problem.cost.unit,
        rules=rules,
        recourse=got.recourse,
        line=got.line,
        who=score,
        meta={
            "seed": seed, "in_words": maker.summary, "citation": maker.citation, "parameters": maker.parameters(),
        },
    )  # fmt: skip


def _halves(problem: Problem, rows: People, most: int | None, seed: int) -> tuple[Ints, Ints]:
    """Return positions of the refused people to learn from, and of those to score. Raises: DataError for too few."""
    refused = np.flatnonzero(~problem.reached(rows)[0])
    order = generator(seed, 17).permutation(refused)[: None if most is None else most]
    if len(refused) < _LEAST:
        raise DataError(
            Translatable(
                lambda: gettext(
                    "The model refuses {n} of these people, too few to learn lines from one half and to tell of the "
                    "other. Give a table with at least {least} refused people.",
                    n=len(refused),
                    least=_LEAST,
                )
            )
        )
    if len(order) < _LEAST:
        raise DataError(
            f"most={most} is too few to make two halves of. Use {_LEAST} or more, or leave it out."
        )
    return np.sort(order[: len(order) // 2]), np.sort(order[len(order) // 2 :])


@dataclass(frozen=True, eq=False)
class _CarriedOut:
    """Lines carried out by n people and judged: the answer to each with the cheapest line that works, -1 for none.

    For L lines: whom each addresses, for whom it works, at what cost (inf: does not) and by what action.
    """

    recourse: Recourse
    line: Ints  # (n,)
    addressed: OptionMask  # (n, L)
    works: OptionMask  # (n, L)
    cost: Costs  # (n, L)
    action: Actions  # (n, L, d)


def _carried_out(problem: Problem, x: People, rules: Rules, preferences: Preferences | None) -> _CarriedOut:
    """Judge every line for everyone it speaks to; a person gets the cheapest that works."""
    people = problem.population(x, preferences)
    action, line = rules.actions(people)
    decision = problem.reached(x)
    n, lines = len(x), len(rules.words)
    addressed, works = np.zeros((n, lines), dtype=bool), np.zeros((n, lines), dtype=bool)
    cost, by_line = np.full((n, lines), np.inf), np.full((n, lines, x.shape[1]), np.nan)
    best, slot = np.full(n, np.inf), np.full(n, -1)

    def judged(some: Actions) -> Recourse:
        return problem.check(x, some, 1, preferences=preferences, decision=decision, people=people)

    for s in range(action.shape[1]):
        got = judged(action[:, s : s + 1])
        who = np.flatnonzero(line[:, s] >= 0)
        addressed[who, line[who, s]] = True
        good = who[got.found[who, 0]]
        at = (good, line[good, s])
        cheaper = got.cost[good, 0] < cost[at]
        works[at] = True
        by_line[at] = np.where(cheaper[:, None], got.action[good, 0], by_line[at])
        cost[at] = np.minimum(cost[at], got.cost[good, 0])
        better = good[got.cost[good, 0] < best[good]]
        best[better], slot[better] = got.cost[better, 0], s
    chosen, whose = np.full((n, 1, x.shape[1]), np.nan), np.full(n, -1)
    some = np.flatnonzero(slot >= 0)
    chosen[some, 0], whose[some] = action[some, slot[some]], line[some, slot[some]]
    return _CarriedOut(judged(chosen), whose, addressed, works, cost, by_line)


def _lines(rules: Rules, got: _CarriedOut, x: People, seed: int) -> tuple[SummaryLine, ...]:
    """Return each line with what became of the people x (n, d) whom it addresses."""
    out = []
    for i, (who, change) in enumerate(rules.words):
        of_whom, to_do = (
            tuple(Translatable(partial(_word, rules, i, side, k)) for k in range(len(texts)))
            for side, texts in enumerate((who, change))
        )
        works = got.works[:, i]
        out.append(
            SummaryLine(
                of_whom, to_do, int(got.addressed[:, i].sum()), stats.rate(works, got.addressed[:, i]),
                mean_of_enough(np.where(works, got.cost[:, i], np.nan), seed), float((got.line == i).mean()),
                rules.how_much(i, x[works], got.action[works, i]) if works.any() else "",
            )
        )  # fmt: skip
    return tuple(out)


def _word(rules: Rules, line: int, side: int, place: int) -> str:
    """Return one phrase of a line, in the language in use."""
    return translated(rules.words[line][side][place])


def _own_plans(
    problem: Problem, beside: str | Method | Recourse | None, rows: People, score: Ints,
    wishes: Preferences | None, seed: int,
) -> Recourse | None:  # fmt: skip
    """Return plans of their own for the people scored: looked for, or taken from those given for all rows."""
    if beside is None:
        return None
    if isinstance(beside, Recourse):
        beside.require_schema(problem.schema)
        if beside.n != len(rows):
            raise DataError(
                f"beside holds plans of {beside.n} people; there are {len(rows)} in the table. Give the same people."
            )
        if not np.array_equal(beside.x, rows, equal_nan=True):
            raise DataError(
                "beside holds plans of other people: rows differ. Give the same people, in this order."
            )
        return beside[score].as_of(problem)  # costs of another problem compare with none of the lines
    from wayforward.methods import Method, method

    how = method(beside) if isinstance(beside, str) else beside
    require_kind(how, Method, "beside")
    return how.fit(problem).recommend(rows[score], 1, preferences=wishes, seed=seed)


def _curve(paid: PerPerson, own: PerPerson, grid: Sequence[float] | None) -> Curve:
    """Return the shares of all people scored whose line, and whose own plan, stays within each cost."""
    known = np.concatenate([paid[np.isfinite(paid)], own[np.isfinite(own)]])
    if grid is not None:
        grid = numbers_in(grid, "grid").ravel().tolist()
    else:
        grid = np.linspace(0, float(np.quantile(known, 0.99)), 60).tolist() if known.size else []

    def share(cost: Floats) -> tuple[float, ...]:
        return tuple(float((cost <= c * (1 + 1e-12)).mean()) for c in grid)

    return Curve(tuple(float(c) for c in grid), share(paid), share(own) if np.isfinite(own).any() else ())
