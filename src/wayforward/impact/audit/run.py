"""An audit of a model and a method: who has recourse, what it costs each group, and how sure the numbers are.

Nothing here certifies anything. Every figure names the people behind it and has an interval; every comparison is
corrected for how many were made; whoever could not be compared is counted and named.

Sources: burden from S. Sharma, J. Henderson & J. Ghosh (2020), AIES; group costs from V. Gupta et al. (2019),
Equalizing Recourse across Groups; twins from J. von Kuegelgen et al. (2022), AAAI; equal effectiveness from L. Kavouras
et al. (2023), NeurIPS (FACTS); recourse and fairness in A.-H. Karimi et al. (2022), ACM Comput. Surv. 55(5), section 5.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.errors import DataError, WayforwardError
from wayforward.evaluate import stats
from wayforward.evaluate.stats import NOTHING, Estimate
from wayforward.groups import Groups
from wayforward.impact.audit.gaps import Correction, Gap, corrected, mean_gap, rate_gap
from wayforward.impact.audit.twins import Twins, twins, why_no_twins
from wayforward.impact.audit.worst_off import Subgroup, corrected_together, worst_off
from wayforward.plain_files import write_text
from wayforward.recourse import Outcome, Recourse

if TYPE_CHECKING:
    from wayforward.evaluate import Evaluation
    from wayforward.impact.summaries import Summariser, Summary
    from wayforward.methods import Method
    from wayforward.preferences import Preferences
    from wayforward.problem import Problem
    from wayforward.schema import Schema

Say = Callable[[str, int, int], None]  # (what, done, in all)

# What each figure of a group means, and over whom; tables keep this order.
MEANING: dict[str, str] = {
    "refused": "refused by the model, of all people",
    "usable": "have a usable plan, of those answered",
    "proved": "proved: no allowed change helps, of those answered",
    "not_found": "no plan found and none excluded, of those answered",
    "valid": "have a plan that the model accepts, usable or not, of those answered",
    "plausible": "have a usable plan that looks like people who are accepted, of those answered",
    "cost": "mean cost of the plan, of those with a usable one",
    "burden": "mean straight-line (Euclidean) distance from the person to where the plan leads, every range counting "
    "as 1 and another level as 1, of those with a usable one",
    "cost_all": "mean cost in shares of ranges, whoever has no plan counting as the dearest plan, of those answered",
    "log_density": "mean log-density where the plan leads, in the world, of those with a usable one",
    "density_gain": "mean gain in log-density by the plan, of those with a usable one",
    "likely": "plan leads to somebody at least as likely, of those with a usable one",
}
_RATES = ("refused", "usable", "proved", "not_found", "valid", "plausible", "likely")
_COMPARED = ("refused", "usable", "proved", "plausible", "cost", "burden", "cost_all", "density_gain")
_COMPARED_CROSSED = ("refused", "usable", "cost")  # of parts of two attributes: many groups, so few measures
_PAIRWISE = 6  # with more groups each is compared with everybody else, or the pairs drown everything
_CELLS = 40  # an intersection with more parts than this is left out
_POPULATION, _RESAMPLES = 6000, 50  # people among whom segregation is measured; draws behind its intervals
_ERROR, _DRAWS = (
    0.05,
    50,
)  # errors in carrying out a plan, in shares of a feature's range, and how often drawn
_TELLS = 3  # a mean over fewer people would tell of a person
_SHARES = (0.25, 0.5, 0.75, 0.9)


@dataclass(frozen=True)
class GroupFigures:
    """What was measured of one group.

    people, refused, answered: how many; found, proved, open: how the answered ended. figures: name -> Estimate, see
    `MEANING`; the n of each is its denominator. asked_for: (d,) share of the group's plans that act on each feature.
    served: share of the answered whom each common budget serves. needed: cost within which a quarter, half, three
    quarters and nine in ten of the answered are served, inf where so many never are. compared: enough answered
    people to; compared_refused: enough people to compare who is refused, which needs no answer.
    withheld: so few that a mean would tell of a person; only counts are told. Where one or two have a plan, asked_for,
    needed and curve are withheld, too. hidden: why nothing of the group is told on the page and in JSON, counts
    included; '' where it is told.
    """

    name: str
    people: int
    refused: int
    answered: int
    found: int
    proved: int
    open: int
    compared: bool
    compared_refused: bool
    figures: dict[str, Estimate]
    asked_for: tuple[float, ...]
    served: tuple[Estimate, ...] = ()
    needed: tuple[Estimate, ...] = ()
    curve: tuple[float, ...] = ()
    withheld: bool = False
    hidden: str = ""

    def to_dict(self, names: Sequence[str]) -> dict[str, Any]:
        """Plain values for JSON; names: of the features."""
        counts = {
            "people": self.people,
            "refused": self.refused,
            "answered": self.answered,
            "found": self.found,
            "none_exists": self.proved,
            "not_found": self.open,
        }
        return {
            "group": self.name,
            **(dict.fromkeys(counts) | {"why_withheld": self.hidden} if self.hidden else counts),
            "compared": self.compared,
            "compared_in_refusal": self.compared_refused,
            "withheld": self.withheld,
            "figures": {name: e.to_dict() for name, e in self.figures.items()},
            "asked_for": {n: _plain(v) for n, v in zip(names, self.asked_for, strict=True)},
            "served_within_budget": [e.to_dict() for e in self.served],
            "cost_to_serve": [e.to_dict() for e in self.needed],
        }


@dataclass(frozen=True)
class Agreement:
    """Are two groups asked to change the same things? value: 1 the same as often, 0 nothing in common.

    by_chance: the value that two groups of these sizes have on average where membership says nothing; p: share of such
    splits that agree as little. most: the feature whose share differs most, and both shares.
    """

    attribute: str
    first: str
    second: str
    value: float
    by_chance: float
    p: float
    n: tuple[int, int]
    most: tuple[str, float, float]
    corrected: float = float("nan")

    @property
    def stands(self) -> bool:
        """They agree less than chance would make two groups, among all pairs that were looked at."""
        return bool(self.corrected < 0.05)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "attribute": self.attribute, "first": self.first, "second": self.second, "value": _plain(self.value),
            "by_chance": _plain(self.by_chance), "p": _plain(self.p), "p_corrected": _plain(self.corrected),
            "n": list(self.n), "differs_most": {"feature": self.most[0], "shares": [_plain(v) for v in self.most[1:]]},
            "stands": self.stands,
        }  # fmt: skip


@dataclass(frozen=True)
class Simpson:
    """A gap beside the same gap among people who are alike in something else, or only where both methods found a plan.

    whole: the gap as it is. within: mean of the gaps inside the strata, weighted by their people. turns: they point
    opposite ways. by: what the strata are. strata: how many held enough of both groups.
    """

    attribute: str
    metric: str
    first: str
    second: str
    by: str
    whole: float
    within: float
    strata: int
    n: int
    errors: tuple[float, float] = (0.0, 0.0)  # standard errors of both

    @property
    def turns(self) -> bool:
        """The direction is another within, and at least one of the two is clearer than chance makes it."""
        clear = abs(self.whole) > 1.96 * self.errors[0] or abs(self.within) > 1.96 * self.errors[1]
        return bool(self.whole * self.within < 0 and clear)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "attribute": self.attribute, "metric": self.metric, "first": self.first, "second": self.second,
            "by": self.by, "whole": _plain(self.whole), "within": _plain(self.within), "strata": self.strata,
            "standard_errors": list(self.errors), "n": self.n, "turns": self.turns,
        }  # fmt: skip


@dataclass(frozen=True)
class AttributeAudit:
    """Everything about one attribute, or about one intersection of two. parts: the attributes that it is of."""

    name: str
    parts: tuple[str, ...]
    crossed: bool
    in_model: bool
    unlabelled: int
    groups: tuple[GroupFigures, ...]
    gaps: tuple[Gap, ...] = ()
    agreement: tuple[Agreement, ...] = ()
    simpson: tuple[Simpson, ...] = ()
    twins: Twins | None = None
    society: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def largest(self, metric: str) -> Gap | None:
        """The largest gap in a measure between groups that were compared."""
        known = [g for g in self.gaps if g.metric == metric and np.isfinite(g.estimate.value)]
        return max(known, key=lambda g: abs(g.estimate.value), default=None)


@dataclass(frozen=True, eq=False)
class Audit:
    """What `audit` found out. It holds no person's row; `report` writes the page, `to_json` the numbers.

    n: people looked at; refused: of them by the model; answered: of these, looked for a plan. overall: figures of
    everybody. attributes: each attribute, then each intersection. worst: subgroups that fare worst. summaries: few
    lines for many people. budgets: common costs at which `served` is told, their curve at `grid`. comparisons: how many
    gaps were looked at; stands: how many are larger than chance makes them. meta: method, model, target, cost, seed,
    versions. notes: what could not be said.
    """

    n: int
    refused: int
    answered: int
    overall: GroupFigures
    attributes: tuple[AttributeAudit, ...]
    worst: tuple[Subgroup, ...]
    budgets: tuple[float, ...]
    grid: tuple[float, ...]
    correction: Correction
    schema: Schema
    robustness: dict[str, Any] = field(default_factory=dict)
    summaries: tuple[Summary, ...] = ()
    meta: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> AttributeAudit:
        """One attribute or intersection by name. Raises: DataError for an unknown one."""
        for one in self.attributes:
            if one.name == name:
                return one
        raise DataError(
            f"The audit has no attribute '{name}'. It has {', '.join(one.name for one in self.attributes)}."
        )

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """Every comparison of the audit."""
        return tuple(g for one in self.attributes for g in one.gaps)

    @property
    def comparisons(self) -> int:
        """Comparisons that had people on both sides, agreements included."""
        agreements = sum(len(one.agreement) for one in self.attributes)
        return sum(bool(np.isfinite(g.p)) for g in self.gaps) + agreements

    @property
    def stands(self) -> int:
        """Comparisons that stand after correction."""
        agreements = sum(a.stands for one in self.attributes for a in one.agreement)
        return sum(g.stands for g in self.gaps) + agreements

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; NaN becomes null. No person's row is in it."""
        names = self.schema.names
        return {
            "format": "wayforward.audit/1",
            "n": self.n,
            "refused": self.refused,
            "answered": self.answered,
            "overall": self.overall.to_dict(names),
            "budgets": list(self.budgets),
            "shares_served": list(_SHARES),
            "correction": self.correction,
            "comparisons": self.comparisons,
            "stand": self.stands,
            "meaning": dict(MEANING),
            "attributes": [
                {
                    "name": one.name,
                    "intersection": one.crossed,
                    "seen_by_the_model": one.in_model,
                    "without_a_label": one.unlabelled,
                    "groups": [g.to_dict(names) for g in one.groups],
                    "gaps": [g.to_dict() for g in one.gaps],
                    "agreement": [a.to_dict() for a in one.agreement],
                    "simpson": [s.to_dict() for s in one.simpson],
                    "twins": None if one.twins is None else one.twins.to_dict(),
                    "segregation": one.society,
                    "notes": list(one.notes),
                }
                for one in self.attributes
            ],
            "worst_off": [one.to_dict() for one in self.worst],
            "summaries": [one.to_dict() for one in self.summaries],
            "robustness": self.robustness,
            "meta": self.meta,
            "notes": list(self.notes),
        }

    def to_json(self, path: str | Path | None = None) -> str:
        """JSON text with every number, written to `path` if given."""
        text = json.dumps(_jsonable(self.to_dict()), indent=2, allow_nan=False, ensure_ascii=False)
        if path is not None:
            write_text(path, text + "\n")
        return text

    def report(self, path: str | Path, title: str = "Audit of recourse") -> Path:
        """Write one HTML page that an auditor can read without us. Raises: MissingExtra without plots."""
        from wayforward.impact.audit.page import report

        return report(self, path, title)

    def __repr__(self) -> str:
        return (
            f"Audit({self.n} people, {self.refused} refused, {self.answered} answered, "
            f"{', '.join(a.name for a in self.attributes)}: {self.stands} of {self.comparisons} differences stand)"
        )


def audit(
    problem: Problem,
    x: Any,
    groups: Sequence[Groups] | Groups,
    method: str | Method = "local-search",
    *,
    preferences: Preferences | None = None,
    most: int | None = None,
    smallest: int = 10,
    intersections: bool = True,
    beside: str | Method | None = "growing-spheres",
    twins_of: int = 500,
    society: bool = True,
    others: Sequence[Any] = (),
    lasting_of: int = 500,
    summaries: Sequence[str | Summariser] = ("tree",),
    summaries_of: int = 2000,
    correction: Correction = "holm",
    seed: int = 0,
    budget: int | None = None,
    say: Say | None = None,
) -> Audit:
    """Measure who has recourse under a model and a method, by group.

    Args:
        x: everybody the model decides about, a table or (n, d), accepted people included.
        groups: the attributes to compare along, each with a label for everybody in x.
        method: a name or a method; its answers are judged again, nothing is believed.
        preferences: wishes of the people in x.
        most: answer at most so many of those refused, drawn by chance; left out, all.
        smallest: groups with fewer answered people are told, but compared only in who is refused; with fewer people,
            not at all.
        intersections: also compare where two attributes meet, each part with everybody else.
        beside: a second method; gaps are told again among people for whom both found a plan. None: left out.
        twins_of: at most so many people are compared with their twins, where the world is causal.
        society: also measure segregation before and after everybody acts, where that part is installed.
        others: other models, such as retrained ones (`evaluate.robustness.retrained`): do plans hold under them, too?
        lasting_of: at most so many plans are tried with errors and under other models; 0 leaves both out.
        summaries: ways to find few lines for many people: 'tree', 'ares', 'globe-ce', or such with other settings.
        summaries_of: lines are learnt from half of at most so many of those answered, and told of the other half.
        correction: 'holm' or 'benjamini-hochberg', over all comparisons of the audit.
        say: called with (what, done, in all) during the work.
    Returns: Audit.
    Raises: DataError where there is nobody to compare: no groups, other people, nobody refused.

    Example: ``audit(problem, people, [Groups.of("sex", people, schema)]).report("audit.html")``.
    """
    schema = problem.schema
    x = schema.encode(x)
    if len(x) < _TELLS:
        raise DataError(
            f"An audit of {len(x)} people would tell of each. Give everybody the model decides about."
        )
    attributes = [_in_words(one, schema, x) for one in _checked(groups, len(x), smallest)]
    tell = say or (lambda what, done, total: None)
    makers = _makers(summaries)
    refused = ~problem.reached(x)[0]
    if not refused.any():
        raise DataError(
            "The model refuses nobody of these people, so there is no recourse to audit. Check the target "
            "(which class is favourable?) and the table."
        )
    who = np.flatnonzero(refused)
    if most is not None and len(who) > most:
        if most < 1:
            raise DataError(f"most={most} answers nobody. Use 1 or more, or leave it out.")
        who = np.sort(np.random.default_rng([seed, 5]).choice(who, most, replace=False))
    chosen = _method(method).fit(problem)
    wishes = None if preferences is None else preferences.take(who)
    tell("looking for plans", 0, len(who))
    got = chosen.recommend(
        x[who], 1, preferences=wishes, seed=seed, budget=budget,
        progress=lambda done, total: tell("looking for plans", done, total),
    )  # fmt: skip
    from wayforward.evaluate import evaluate

    tell("measuring", 0, 1)
    notes: list[str] = []
    density = "world" if _knows_density(problem, x) else None
    judged = evaluate(got, problem, seed=seed, metrics="headline", density=density)
    measures = _measures(problem, judged, density is not None)
    if not np.isfinite(measures.get("plausible", np.array([np.nan]))).any():
        measures.pop("plausible", None)
        notes.append("No reference people were given, so nothing is said about plausibility.")
    people = _People(x, refused, who, measures, judged.acted)
    cost = measures["cost"]
    found = np.sort(cost[np.isfinite(cost)])
    budgets = (
        tuple(float(v) for v in np.unique(np.quantile(found, (0.25, 0.5, 0.75, 1.0)))) if len(found) else ()
    )
    grid = tuple(float(v) for v in np.linspace(0, np.quantile(found, 0.99), 60)) if len(found) else ()
    everybody = _figures("everybody", np.ones(len(x), dtype=bool), people, smallest, budgets, grid, seed)

    second, beside_cost = _beside(beside, chosen, problem, people, wishes, seed, notes, tell)
    audits = []
    crossed = [(a.cross(b), True) for a, b in itertools.combinations(attributes, 2) if intersections]
    for attribute, is_crossed in [*((a, False) for a in attributes), *crossed]:
        if is_crossed and attribute.n_groups > _CELLS:
            notes.append(
                f"{attribute.name} has {attribute.n_groups} parts, too many to compare. Make fewer groups."
            )
            continue
        tell(f"comparing by {attribute.name}", 0, 1)
        audits.append(
            _attribute(
                attribute, is_crossed, people, smallest, budgets, grid, seed, problem, got, judged, beside_cost,
                attributes,
            )
        )  # fmt: skip
    audits = _with_twins(audits, attributes, problem, chosen, people, wishes, twins_of, seed, budget, tell)
    if society:
        audits = _with_segregation(audits, attributes, problem, people, got, seed, notes, tell)
    lines = _summaries(
        makers, problem, people, attributes, wishes, got, (*grid, *budgets), summaries_of, seed, notes, tell
    )
    audits = _with_lines(audits, attributes, people, lines, got, smallest, seed)
    audits = _corrected(audits, correction)
    tell("searching for the worst off", 0, 1)
    worst = _worst(schema, people, attributes, seed, correction)
    hidden = {(one.name, g.name) for one in audits for g in one.groups if g.hidden}
    lasting = _robustness(problem, got, people, attributes, others, lasting_of, seed, notes, tell)
    if lasting:
        rows = [row for row in lasting["groups"] if (row["attribute"], row["group"]) not in hidden]
        lasting["groups"] = rows
    return Audit(
        n=len(x),
        refused=int(refused.sum()),
        answered=len(who),
        overall=everybody,
        attributes=tuple(audits),
        worst=worst,
        budgets=budgets,
        grid=grid,
        correction=correction,
        schema=schema,
        robustness=lasting,
        summaries=tuple(_without_people(one, hidden) for one in lines),
        meta=_meta(problem, chosen, got, judged, smallest, second, seed),
        notes=(*notes, *(n for n in judged.notes if "oracle" not in n and "MAD" not in n)),
    )


# -- the work ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _People:
    """x (n, d) everybody, refused (n,), who (m,) answered; measures name -> (m,); acted (m, d)."""

    x: np.ndarray
    refused: np.ndarray
    who: np.ndarray
    measures: dict[str, np.ndarray]
    acted: np.ndarray


def _checked(groups: Sequence[Groups] | Groups, n: int, smallest: int) -> list[Groups]:
    found = [groups] if isinstance(groups, Groups) else list(groups)
    if not found:
        raise DataError(
            "An audit compares groups, and none were given. Make some: Groups.of('sex', people, schema)."
        )
    if smallest < 2:
        raise DataError(f"smallest={smallest}; a comparison needs groups of 2 people or more.")
    for one in found:
        if not isinstance(one, Groups):
            raise DataError(
                f"groups holds a {type(one).__name__}. Make groups with Groups.of(name, labels) or "
                "Groups.of(name, people, schema)."
            )
        if len(one) != n:
            raise DataError(
                f"'{one.name}' has labels of {len(one)} people and the audit looks at {n}. Give the same people."
            )
    names = [one.name for one in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DataError(f"'{twice[0]}' was given twice. Name each attribute once.")
    return found


def _in_words(groups: Groups, schema: Schema, x: np.ndarray) -> Groups:
    """Groups that are the levels of a feature get the names that people read."""
    if groups.feature is None or not schema.has_levels[groups.feature]:
        return groups
    feature = schema.features[groups.feature]
    labels = tuple(feature.level_text(i) for i in range(feature.n_levels))
    if groups.names != tuple(str(level) for level in feature.levels) or len(set(labels)) < len(labels):
        return groups
    return Groups(groups.name, labels, groups.member, groups.feature)


def _method(method: str | Method) -> Method:
    if isinstance(method, str):
        from wayforward.methods import method as named

        return named(method)
    return method


def _knows_density(problem: Problem, x: np.ndarray) -> bool:
    if problem.independent:
        return False
    try:
        problem.world.log_density(x[:1])
    except WayforwardError:
        return False
    return True


def _measures(problem: Problem, judged: Evaluation, dense: bool) -> dict[str, np.ndarray]:
    """name -> (m,): 1, 0 for rates (NaN: does not apply), numbers for means (NaN: no usable plan)."""
    usable = judged.people["usable"] > 0
    # The evaluation found a usable plan or did not; a proof stands only where no plan does.
    proved = (judged.outcome == Outcome.NONE_EXISTS) & ~usable
    out: dict[str, np.ndarray] = {
        "usable": usable.astype(np.float64),
        "proved": proved.astype(np.float64),
        "not_found": (~usable & ~proved).astype(np.float64),
        "valid": judged.people["validity"],
        "plausible": judged.people["usable_plausible"],
        "cost": judged.people["cost"],
        "burden": judged.people["proximity"],
        "cost_all": judged.people["cost_l1_range_all"],
    }
    out["cost"] = np.where(usable, out["cost"], np.nan)
    if not problem.schema.actionable.any():
        out["cost_all"] = np.full(
            len(usable), np.nan
        )  # where nothing may be done, nothing is the dearest plan
    if dense:
        out["density_gain"] = judged.people["density_gain"]
        out["likely"] = judged.people["density_at_least"]
        before = np.full(len(usable), np.nan)
        if usable.any():
            before[usable] = problem.world.log_density(judged.x[usable])
        out["log_density"] = before + out["density_gain"]
    return out


def _figures(
    name: str, member: np.ndarray, people: _People, smallest: int, budgets: tuple[float, ...],
    grid: tuple[float, ...], seed: int,
) -> GroupFigures:  # fmt: skip
    """Everything about one group; member (n,) bool."""
    mine = member[people.who]
    figures = {"refused": stats.rate(people.refused[member])}
    means: dict[str, np.ndarray] = {}
    for key, values in people.measures.items():
        if key in _RATES:
            part = values[mine]
            figures[key] = stats.rate(part > 0, np.isfinite(part))
        else:
            means[key] = values[mine]
    figures |= {key: e if e.n >= _TELLS else NOTHING for key, e in stats.means(means, seed=seed).items()}
    withheld = 0 < int(mine.sum()) < _TELLS
    if withheld:
        figures = {key: e if key == "refused" else NOTHING for key, e in figures.items()}
    cost = np.where(np.isfinite(people.measures["cost"]), people.measures["cost"], np.inf)[mine]
    cost = cost[:0] if withheld else cost
    acted = people.acted[mine & np.isfinite(people.measures["cost"])]
    few = 0 < len(acted) < _TELLS  # so few plans that what they cost and ask for is that of a person
    acted = acted[: 0 if withheld or few else None]
    d = people.x.shape[1]
    return GroupFigures(
        name=name,
        people=int(member.sum()),
        refused=int(people.refused[member].sum()),
        answered=int(mine.sum()),
        found=int((people.measures["usable"][mine] > 0).sum()),
        proved=int((people.measures["proved"][mine] > 0).sum()),
        open=int((people.measures["not_found"][mine] > 0).sum()),
        compared=int(mine.sum()) >= max(smallest, _TELLS),
        compared_refused=int(member.sum()) >= max(smallest, _TELLS),
        figures={key: figures[key] for key in MEANING if key in figures},
        asked_for=tuple(float(v) for v in acted.mean(0)) if len(acted) else (float("nan"),) * d,
        served=tuple(stats.rate(cost <= b * (1 + 1e-12)) for b in budgets),
        needed=tuple(NOTHING if few else _needed(cost, share) for share in _SHARES),
        curve=tuple(float((cost <= b).mean()) for b in grid) if len(cost) and not few else (),
        withheld=withheld,
    )


def _hide(
    figures: tuple[GroupFigures, ...], unlabelled: int, smallest: int
) -> tuple[tuple[GroupFigures, ...], list[str]]:
    """The groups with nothing told of those of one or two people, and what is to be said about it.

    Where everybody less the others would tell of them, the smallest group that is not compared is hidden, too.
    """
    from dataclasses import replace

    tiny = [g for g, f in enumerate(figures) if 0 < f.people < _TELLS]
    if not tiny:
        return figures, []
    why = dict.fromkeys(tiny, f"withheld: fewer than {_TELLS} people")
    notes = [f"Withheld, with fewer than {_TELLS} people: {_listed([figures[g].name for g in tiny])}."]
    if sum(figures[g].people for g in tiny) + unlabelled < _TELLS:
        spare = [g for g, f in enumerate(figures) if _TELLS <= f.people < max(smallest, _TELLS)]
        if spare:
            guard = min(spare, key=lambda g: figures[g].people)
            why[guard] = "withheld: or a smaller group could be worked out from it"
            notes.append(
                f"Withheld, too, or these could be worked out from the others: {_listed([figures[guard].name])}."
            )
        else:
            notes.append(
                "Whoever takes all other groups from everybody still learns how many of these are refused: leave them "
                "without a label, or join them to another group."
            )
    d = len(figures[0].asked_for)
    out = [
        replace(
            f, compared=False, compared_refused=False, figures=dict.fromkeys(f.figures, NOTHING),
            asked_for=(float("nan"),) * d, served=(NOTHING,) * len(f.served), needed=(NOTHING,) * len(f.needed),
            curve=(), withheld=True, hidden=why[g],
        )
        if g in why else f
        for g, f in enumerate(figures)
    ]  # fmt: skip
    return tuple(out), notes


def _needed(cost: np.ndarray, share: float) -> Estimate:
    """The least cost within which a share of the group is served; inf where it never is. Order-statistic interval."""
    from scipy.stats import binom

    n = len(cost)
    if not n:
        return NOTHING
    ranked = np.sort(cost)
    low, high = binom.ppf(0.025, n, share), binom.ppf(0.975, n, share)
    at = [int(np.clip(np.ceil(v) - 1, 0, n - 1)) for v in (share * n, low, high + 1)]
    value, least, greatest = (float(ranked[i]) for i in at)
    return Estimate(value, least, greatest, n)


def _pairs(
    names: Sequence[GroupFigures], crossed: bool, of_all: bool = False
) -> list[tuple[int, int | None]]:
    """Which groups are compared: every pair of those large enough, or each with everybody else (None).

    of_all: in a measure over everybody, so that people count and not those answered.
    """
    known = [g for g, one in enumerate(names) if (one.compared_refused if of_all else one.compared)]
    if crossed or len(known) > _PAIRWISE:
        return [(g, None) for g in known] if len(known) > 1 else []
    return list(itertools.combinations(known, 2))


def _attribute(
    groups: Groups, crossed: bool, people: _People, smallest: int, budgets: tuple[float, ...],
    grid: tuple[float, ...], seed: int, problem: Problem, got: Recourse, judged: Evaluation,
    beside_cost: np.ndarray | None, others: list[Groups],
) -> AttributeAudit:  # fmt: skip
    figures = tuple(
        _figures(name, groups.mask(g), people, smallest, budgets, grid, seed)
        for g, name in enumerate(groups.names)
    )
    unlabelled = int((groups.member < 0).sum())
    figures, notes = _hide(figures, unlabelled, smallest)
    told = [f for f in figures if not f.hidden]
    empty = [f.name for f in figures if not f.people]
    if empty and not crossed:
        notes.append(f"Nobody belongs to the group {_listed(empty)}.")
    spared = [f.name for f in told if f.people and not f.refused]
    if spared:
        notes.append(f"The model refuses nobody of the group {_listed(spared)}.")
    few = [f.name for f in told if f.withheld]
    if few and not crossed:
        notes.append(
            f"Fewer than {_TELLS} people were answered of the group {_listed(few)}: their means would tell of a person."
        )
    part = [f"{f.name} ({f.answered})" for f in told if f.compared_refused and not f.compared]
    small = [f"{f.name} ({f.answered})" for f in told if f.answered and not f.compared_refused]
    pairs, of_all = _pairs(figures, crossed), _pairs(figures, crossed, of_all=True)
    if part and of_all:
        notes.append(
            f"Compared only in who is refused, with fewer than {smallest} people answered: {_listed(part)}."
        )
    if small:
        notes.append(f"Told but not compared, with fewer than {smallest} people: {_listed(small)}.")
    if not of_all:
        notes.append("Fewer than two groups are large enough, so nothing is compared.")
    gaps: list[Gap] = []
    agreement: list[Agreement] = []
    simpson: list[Simpson] = []
    label = groups.member[people.who]
    for a, b in list(dict.fromkeys([*of_all, *pairs])):
        second = "everybody else" if b is None else groups.names[b]
        one, two = label == a, ((label != a) & (label >= 0)) if b is None else label == b
        everyone = (
            groups.member == a,
            ((groups.member != a) & (groups.member >= 0)) if b is None else groups.member == b,
        )
        measures: Sequence[str] = _COMPARED_CROSSED if crossed else _COMPARED
        answers = (a, b) in pairs and bool(two.any())
        measures = [
            m for m in measures if (m == "refused" and (a, b) in of_all) or (m != "refused" and answers)
        ]
        if not everyone[1].any() or not measures:
            continue
        gaps += _gaps(groups.name, groups.names[a], second, people, one, two, everyone, measures, seed)
        if not crossed and answers:
            found = np.isfinite(people.measures["cost"])
            agreement += _agreement(
                groups.name, groups.names[a], second, people.acted, one & found, two & found,
                [f.text_label for f in problem.schema.features], seed,
            )  # fmt: skip
            simpson += _simpson(
                groups, groups.names[a], second, people, one, two, got, beside_cost, others, smallest
            )
    return AttributeAudit(
        name=groups.name,
        parts=tuple(groups.name.split(" and ")) if crossed else (groups.name,),
        crossed=crossed,
        in_model=groups.feature is not None and _is_shown(problem, groups.feature),
        unlabelled=unlabelled,
        groups=figures,
        gaps=tuple(gaps),
        agreement=tuple(agreement),
        simpson=tuple(simpson),
        notes=tuple(notes),
    )


def _gaps(
    attribute: str, first: str, second: str, people: _People, one: np.ndarray, two: np.ndarray,
    everyone: tuple[np.ndarray, np.ndarray], measures: Sequence[str], seed: int,
) -> list[Gap]:  # fmt: skip
    out, same = [], _same(people)
    for metric in measures:
        if metric == "refused":
            estimate, p = rate_gap(people.refused, *everyone)
            sides = [people.refused[side] for side in everyone]
        elif metric not in people.measures or metric in same:
            continue  # the same for everybody: nothing is there to be compared
        else:
            values = people.measures[metric]
            if metric in _RATES:
                estimate, p = rate_gap(values > 0, one, two)
            else:
                estimate, p = mean_gap(values, one, two, seed)
            sides = [values[side][np.isfinite(values[side])] for side in (one, two)]
            if metric not in _RATES and min(side.size for side in sides) < _TELLS:
                continue  # a mean of so few would tell of a person
        shown = tuple(float(side.mean()) if side.size else float("nan") for side in sides)
        out.append(
            Gap(
                attribute,
                metric,
                first,
                second,
                estimate,
                (shown[0], shown[1]),
                (sides[0].size, sides[1].size),
                p,
            )
        )
    return out


def _same(people: _People) -> set[str]:
    """Measures that are the same for everybody, or the same as another one: decided without looking at groups."""
    out = set()
    for name, values in people.measures.items():
        known = values[np.isfinite(values)]
        if not known.size or np.ptp(known) == 0:
            out.add(name)
    cost, whole = people.measures["cost"], people.measures["cost_all"]
    if np.allclose(cost, whole, equal_nan=True):
        out.add("cost_all")
    return out


def _agreement(
    attribute: str, first: str, second: str, acted: np.ndarray, one: np.ndarray, two: np.ndarray,
    names: Sequence[str], seed: int,
) -> list[Agreement]:  # fmt: skip
    """Overlap of the shares in which two groups' plans act on each feature, beside random splits of the same people."""
    if min(one.sum(), two.sum()) < _TELLS:
        return []
    pool = np.concatenate([acted[one], acted[two]]).astype(np.float32)
    n, m = len(pool), int(one.sum())

    def overlap(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        top = np.maximum(a, b).sum(-1)
        return np.asarray(np.minimum(a, b).sum(-1) / np.where(top > 0, top, 1.0))

    p, q = pool[:m].mean(0), pool[m:].mean(0)
    value = float(overlap(p, q))
    splits = int(np.clip(2e7 // n, 499, 4999))
    rng = np.random.default_rng([seed, 23])
    drawn = np.empty(splits)
    total = pool.sum(0)
    step = max(1, 4_000_000 // n)
    for start in range(0, splits, step):
        size = min(step, splits - start)
        inside = np.argsort(rng.random((size, n), dtype=np.float32), axis=1)[:, :m]
        sums = pool[inside].sum(1) if n * size * pool.shape[1] < 5_000_000 else _sums(pool, inside)
        drawn[start : start + size] = overlap(sums / m, (total - sums) / (n - m))
    below = (1 + int((drawn <= value + 1e-6).sum())) / (splits + 1)
    j = int(np.abs(p - q).argmax())
    return [
        Agreement(
            attribute, first, second, value, float(drawn.mean()), below, (m, n - m),
            (names[j], float(p[j]), float(q[j])),
        )
    ]  # fmt: skip


def _sums(pool: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """(n, d), (s, m) -> (s, d) sums of the rows named."""
    flag = np.zeros((len(inside), len(pool)), dtype=np.float32)
    np.put_along_axis(flag, inside, 1.0, axis=1)
    return np.asarray(flag @ pool)


def _simpson(
    groups: Groups, first: str, second: str, people: _People, one: np.ndarray, two: np.ndarray, got: Recourse,
    beside_cost: np.ndarray | None, others: list[Groups], smallest: int,
) -> list[Simpson]:  # fmt: skip
    """The gaps in coverage and in cost again, among people alike in something else or found by both methods."""
    score = got.score_before
    strata: list[tuple[str, np.ndarray]] = []
    if score.size and np.isfinite(score).all():
        edges = np.unique(np.quantile(score, (0.2, 0.4, 0.6, 0.8)))
        strata.append(("how far from a yes the model puts them, in fifths", np.searchsorted(edges, score)))
    strata += [(other.name, other.member[people.who]) for other in others if other.name != groups.name]
    out = []
    for metric in sorted({"usable", "cost"} - _same(people), reverse=True):
        values = people.measures[metric]
        known = np.isfinite(values)
        a, b = one & known, two & known
        if min(a.sum(), b.sum()) < _TELLS:
            continue
        whole, error = _difference(values[a], values[b])
        for by, stratum in strata:
            inside, weight, errors = [], [], []
            for s in np.unique(stratum[stratum >= 0]):
                here = stratum == s
                if min((a & here).sum(), (b & here).sum()) >= max(5, smallest // 2):
                    gap, own = _difference(values[a & here], values[b & here])
                    inside.append(gap)
                    errors.append(own)
                    weight.append(int((a & here).sum() + (b & here).sum()))
            if len(inside) > 1:
                share = np.array(weight) / sum(weight)
                within = float(share @ np.array(inside))
                own = float(np.sqrt(share**2 @ np.array(errors) ** 2))
                out.append(
                    Simpson(groups.name, metric, first, second, by, whole, within, len(inside), sum(weight),
                            (error, own))
                )  # fmt: skip
        if metric == "cost" and beside_cost is not None:
            both = np.isfinite(beside_cost)
            if min((a & both).sum(), (b & both).sum()) >= _TELLS:
                within, own = _difference(values[a & both], values[b & both])
                n = int((a & both).sum() + (b & both).sum())
                out.append(
                    Simpson(groups.name, metric, first, second, "only where a second method finds a plan, too",
                            whole, within, 1, n, (error, own))
                )  # fmt: skip
    return out


def _difference(a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    """Difference of two means and its standard error."""
    return float(a.mean() - b.mean()), float(np.sqrt(a.var() / a.size + b.var() / b.size))


def _beside(
    beside: str | Method | None, chosen: Method, problem: Problem, people: _People, wishes: Preferences | None,
    seed: int, notes: list[str], tell: Say,
) -> tuple[str | None, np.ndarray | None]:  # fmt: skip
    """The name of a second method and (m,) the cost of its plans, NaN where it has none."""
    if beside is None:
        return None, None
    try:
        second = _method(beside)
        if second.name == chosen.name:
            second = _method("wachter" if chosen.name != "wachter" else "local-search")
        tell(f"a second method: {second.name}", 0, 1)
        got = second.fit(problem).recommend(people.x[people.who], 1, preferences=wishes, seed=seed)
    except WayforwardError as error:
        notes.append(f"No second method stands beside the first: {str(error).rstrip('.')}.")
        return None, None
    return second.name, np.where(got.found[:, 0], got.plain_cost[:, 0], np.nan)


def _with_twins(
    audits: list[AttributeAudit], attributes: list[Groups], problem: Problem, chosen: Method, people: _People,
    wishes: Preferences | None, most: int, seed: int, budget: int | None, tell: Say,
) -> list[AttributeAudit]:  # fmt: skip
    from dataclasses import replace

    known = {a.name: a for a in attributes}
    out = []
    for one in audits:
        groups = known.get(one.name)
        if groups is None or one.crossed:
            out.append(one)
            continue
        reason = why_no_twins(problem, groups) or ("none were asked for" if most < 1 else "")
        if reason:
            out.append(replace(one, twins=Twins(one.name, reason)))
            continue
        tell(f"twins by {one.name}", 0, 1)
        m = len(people.who)
        rows = np.arange(m)
        if m > most:
            rows = np.sort(np.random.default_rng([seed, 7]).choice(m, most, replace=False))
        # people who leave no feature but this one: the representative value is taken from everybody answered
        found = twins(
            problem, chosen, people.x[people.who[rows]], people.measures["cost"][rows],
            groups.take(people.who[rows]), preferences=None if wishes is None else wishes.take(rows), seed=seed,
            budget=budget,
        )  # fmt: skip
        # a pair of one or two people is not told
        pairs = tuple(pair for pair in found.pairs if pair.people >= _TELLS)
        out.append(replace(one, twins=replace(found, pairs=pairs)))
    return out


def _with_segregation(
    audits: list[AttributeAudit], attributes: list[Groups], problem: Problem, people: _People, got: Recourse,
    seed: int, notes: list[str], tell: Say,
) -> list[AttributeAudit]:  # fmt: skip
    """Segregation of each compared group from everybody else, before and after all the answered act."""
    from dataclasses import replace

    try:
        from wayforward.impact.segregation import before_after_each
    except ImportError:
        notes.append("Segregation before and after is not part of this installation.")
        return audits
    rows, answers = _population(people, seed)
    at = np.flatnonzero(np.isin(rows, people.who))
    known = {a.name: a for a in attributes}
    out = []
    for one in audits:
        groups = known.get(one.name)
        large = [g.name for g in one.groups if g.compared]
        if groups is None or one.crossed or not 2 <= len(large) <= _PAIRWISE:
            out.append(one)
            continue
        tell(f"segregation by {one.name}", 0, 1)
        try:
            changes = before_after_each(
                problem, people.x[rows], got[answers], groups.take(rows), who=at, seed=seed
            )
        except WayforwardError as error:
            out.append(replace(one, notes=(*one.notes, f"Segregation was not measured: {error}")))
            continue
        told = {}
        for name, change in changes.items():
            if not any(g == name or name.startswith(f"{g} ") for g in large):
                continue
            spans = change.intervals(resamples=_RESAMPLES, seed=seed, people=1000)
            told[name] = {
                "people": change.people,
                "followed": change.followed,
                "dimensions": {
                    dimension: {part: e.to_dict() for part, e in parts.items()}
                    for dimension, parts in spans.items()
                },
                "worse": list(change.worse),
            }
        out.append(replace(one, society=told))
    return out


def _population(people: _People, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of a sample of everybody in which all the refused are answered, and positions among the answered."""
    share = len(people.who) / int(people.refused.sum())
    accepted = np.flatnonzero(~people.refused)
    wanted = round(share * len(accepted))
    shrink = min(1.0, _POPULATION / (wanted + len(people.who)))
    rng = np.random.default_rng([seed, 13])
    some = rng.choice(accepted, round(shrink * wanted), replace=False)
    answers = np.sort(rng.choice(len(people.who), round(shrink * len(people.who)), replace=False))
    return np.sort(np.concatenate([some, people.who[answers]])), answers


def _robustness(
    problem: Problem, got: Recourse, people: _People, attributes: list[Groups], others: Sequence[Any], most: int,
    seed: int, notes: list[str], tell: Say,
) -> dict[str, Any]:  # fmt: skip
    """Whether plans still hold when carried out with errors and under retrained models: everybody, then each group."""
    try:
        from wayforward.evaluate.robustness import robustness
    except ImportError:
        notes.append("Whether advice lasts is not part of this installation.")
        return {}
    at = np.flatnonzero(got.found[:, 0])
    if not at.size or most < 1:
        return {}
    if at.size > most:
        at = np.sort(np.random.default_rng([seed, 29]).choice(at, most, replace=False))
    tell("whether the advice lasts", 0, 1)
    votes = np.empty((0, len(got)), dtype=bool)
    if len(others):
        from wayforward.problem.robust import AllModels

        votes = np.zeros((len(others), len(got)), dtype=bool)
        votes[:, at] = AllModels(others).fit(problem).votes(got.after[at, 0])
    sides: list[tuple[str, str, np.ndarray]] = [("", "everybody", at)]
    for groups in attributes:
        label = groups.member[people.who[at]]
        sides += [(groups.name, name, at[label == g]) for g, name in enumerate(groups.names)]
    rows = []
    for attribute, name, rows_of in sides:
        if len(rows_of) < _TELLS:
            continue
        try:
            held = robustness(got[rows_of], problem, sigma=_ERROR, draws=_DRAWS, seed=seed)
        except WayforwardError as error:
            notes.append(f"Whether advice lasts was not measured: {error}")
            return {}
        rows.append(
            {
                "attribute": attribute,
                "group": name,
                "n": len(rows_of),
                "yes_with_errors": held.noise.to_dict(),
                "yes_of_retrained_models": both_ways(votes[:, rows_of]).to_dict(),
                "yes_by_retrained_model": [float(v) for v in votes[:, rows_of].mean(1)],
                "yes_of_all_retrained_models": (
                    stats.rate(np.asarray(votes[:, rows_of].all(0))) if len(others) else NOTHING
                ).to_dict(),
            }
        )
    return {"error": _ERROR, "models": len(others), "groups": rows}


def both_ways(votes: np.ndarray) -> Estimate:
    """Mean of votes (m models, n plans), with a 95 % interval over other models and other plans; n counts plans.

    The variances of the models' means and of the plans' means add up, and Satterthwaite's degrees of freedom allow for
    few models (F. E. Satterthwaite 1946, Biometrics Bull. 2). One model says nothing of others: then over plans only.
    """
    from scipy.stats import t

    m, n = votes.shape
    if not m or not n:
        return NOTHING
    value = float(votes.mean())
    parts = [
        (float(means.var(ddof=1)) / means.size, means.size - 1)
        for means in (votes.mean(1), votes.mean(0))
        if means.size > 1
    ]
    whole = sum(v for v, _ in parts)
    if whole <= 0:
        return Estimate(value, value, value, n)
    freedom = whole**2 / sum(v**2 / df for v, df in parts)
    half = float(t.ppf(0.975, freedom)) * float(np.sqrt(whole))
    return Estimate(value, max(0.0, value - half), min(1.0, value + half), n)


def _makers(summaries: Sequence[str | Summariser]) -> list[Summariser]:
    """Summarisers by name, before any work. Raises: DataError for an unknown or a repeated one."""
    from wayforward.impact.summaries.summary import summariser

    if isinstance(summaries, str):
        summaries = (summaries,)
    found = [summariser(one) if isinstance(one, str) else one for one in summaries]
    names = [one.name for one in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DataError(f"The summary '{twice[0]}' was asked for twice. Name each once.")
    return found


def _summaries(
    makers: list[Summariser], problem: Problem, people: _People, attributes: list[Groups], wishes: Preferences | None,
    got: Recourse, grid: tuple[float, ...], most: int, seed: int, notes: list[str], tell: Say,
) -> list[Summary]:  # fmt: skip
    """Few lines for those answered, beside the plans of the audit. All are learnt from and told of the same people."""
    from wayforward.impact.summaries import summarize

    out = []
    for maker in makers if most > 0 else ():
        tell(f"rules for many: {maker.name}", 0, 1)
        try:
            out.append(
                summarize(
                    problem, people.x[people.who], maker, groups=[one.take(people.who) for one in attributes],
                    preferences=wishes, most=most, beside=got, grid=sorted(set(grid)), seed=seed,
                )
            )  # fmt: skip
        except WayforwardError as error:
            notes.append(f"No rules for many were made by {maker.name}: {str(error).rstrip('.')}.")
    return out


def _without_people(one: Summary, hidden: set[tuple[str, str]]) -> Summary:
    """The lines and their numbers, without the rows of the people they are told of and without groups of few."""
    from dataclasses import replace

    nobody = np.arange(0)
    groups = tuple(g for g in one.groups if g.served.n >= _TELLS and (g.attribute, g.group) not in hidden)
    return replace(one, recourse=one.recourse[nobody], line=one.line[nobody], who=nobody, groups=groups)


def _with_lines(
    audits: list[AttributeAudit], attributes: list[Groups], people: _People, lines: list[Summary], got: Recourse,
    smallest: int, seed: int,
) -> list[AttributeAudit]:  # fmt: skip
    """How lines serve groups, and what they cost beside own plans, joins the comparisons of each attribute."""
    from dataclasses import replace

    known = {a.name: a for a in attributes}
    out = []
    for audited in audits:
        groups = known.get(audited.name)
        gaps = list(audited.gaps)
        for one in lines if groups is not None and not audited.crossed else ():
            assert groups is not None
            label, served = groups.member[people.who][one.who], one.line >= 0
            both = served & got.found[one.who, 0]
            extra = np.full(len(both), np.nan)
            extra[both] = one.recourse.cost[both, 0] - got.cost[one.who][both, 0]
            for a, b in _pairs(audited.groups, False):
                first = label == a
                second = (label != a) & (label >= 0) if b is None else label == b
                names = groups.names[a], "everybody else" if b is None else groups.names[b]
                if min(first.sum(), second.sum()) >= smallest and served.any() and not served.all():
                    estimate, p = rate_gap(served, first, second)
                    values = float(served[first].mean()), float(served[second].mean())
                    counts = int(first.sum()), int(second.sum())
                    gaps.append(Gap(groups.name, f"lines {one.name}", *names, estimate, values, counts, p))
                first, second = first & both, second & both
                if min(first.sum(), second.sum()) >= max(smallest, _TELLS) and np.ptp(extra[both]) > 0:
                    estimate, p = mean_gap(extra, first, second, seed)
                    values = float(extra[first].mean()), float(extra[second].mean())
                    counts = int(first.sum()), int(second.sum())
                    gaps.append(Gap(groups.name, f"extra {one.name}", *names, estimate, values, counts, p))
        out.append(replace(audited, gaps=tuple(gaps)))
    return out


def _corrected(audits: list[AttributeAudit], how: Correction) -> list[AttributeAudit]:
    """All gaps and agreements of the audit as one family."""
    from dataclasses import replace

    gaps = [g for one in audits for g in one.gaps]
    agreements = [a for one in audits for a in one.agreement]
    known = [i for i, g in enumerate(gaps) if np.isfinite(g.p)]
    p = corrected(np.array([*(gaps[i].p for i in known), *(a.p for a in agreements)]), how)
    for place, i in enumerate(known):
        gaps[i] = replace(gaps[i], corrected=float(p[place]))
    agreements = [replace(a, corrected=float(v)) for a, v in zip(agreements, p[len(known) :], strict=True)]
    out, g, a = [], 0, 0
    for one in audits:
        out.append(
            replace(
                one,
                gaps=tuple(gaps[g : g + len(one.gaps)]),
                agreement=tuple(agreements[a : a + len(one.agreement)]),
            )
        )
        g, a = g + len(one.gaps), a + len(one.agreement)
    return out


def _worst(
    schema: Schema, people: _People, attributes: list[Groups], seed: int, how: Correction
) -> tuple[Subgroup, ...]:
    x = people.x[people.who]
    groups = [a.take(people.who) for a in attributes]
    found: list[Subgroup] = []
    usable = people.measures["usable"] > 0
    if usable.any() and not usable.all():
        found += worst_off(
            schema, x, usable, metric="usable", worse="low", groups=groups, seed=seed, correction=how
        )
    cost = people.measures["cost"]
    if np.isfinite(cost).any():
        found += worst_off(
            schema, x, cost, metric="cost", worse="high", groups=groups, seed=seed, correction=how
        )
    return tuple(corrected_together(found, how))


def _is_shown(problem: Problem, feature: int) -> bool:
    """Is the model shown this feature? Not if it was trained on named columns and this is none of them."""
    from wayforward.model.native import trained_names

    names = trained_names(getattr(problem.model, "wrapped", None))
    name = problem.schema.names[feature]
    return names is None or name in names or name.replace(" ", "_") in names


def _meta(
    problem: Problem, chosen: Method, got: Recourse, judged: Evaluation, smallest: int,
    second: str | None, seed: int,
) -> dict[str, Any]:  # fmt: skip
    return {
        "method": chosen.name,
        "parameters": chosen.parameters(),
        "model": type(problem.model).__name__,
        "target": problem.target.describe(),
        "world": "independent" if problem.independent else type(problem.world).__name__,
        "cost_unit": problem.cost.unit,
        "robust": None if problem.robust is None else problem.robust.describe(),
        "seed": seed,
        "smallest_group_compared": smallest,
        "second_method": second,
        "refuted": judged.refuted,
        "seconds_recommend": judged.seconds_recommend,
        "versions": got.meta.get("versions", {}),
    }


def _listed(names: Sequence[str]) -> str:
    from wayforward.answers import words

    return words.join([words.quoted(name) for name in names])


def _plain(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _jsonable(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(k): _jsonable(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_jsonable(v) for v in value]
    if hasattr(value, "tolist"):
        return _jsonable(value.tolist())
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    return value if isinstance(value, (str, int, bool, type(None))) else str(value)
