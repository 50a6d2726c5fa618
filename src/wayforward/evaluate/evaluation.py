"""Scores of a whole recourse: for each person, by group and in total, with intervals and denominators.

Failures are counted, never dropped: every rate is over the people who asked (those the model itself
refuses), unless its name says otherwise; costs are given over the people with a usable option, with their
number, and over everyone who asked, a failure counting as the dearest plan there could be.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.errors import (
    DataError,
    is_one_of,
    is_whole,
    numbers_in,
    require_kind,
    require_number,
    require_switch,
    require_whole,
    shown,
    suggest,
)
from wayforward.evaluate.actions import out_of_domain
from wayforward.evaluate.evidence import Evidence, proved_here
from wayforward.evaluate.fairness import GroupGaps, as_groups, group_gaps
from wayforward.evaluate.foreign import inferred_action, read_options, read_rows
from wayforward.evaluate.judge import judge
from wayforward.evaluate.metric import LEVELS, MEANING, METRICS, UNREAD, Level, measure
from wayforward.evaluate.stats import NOTHING, Estimate, rate
from wayforward.evaluate.stats import means as means_of
from wayforward.evaluate.unread import among_everybody, taken
from wayforward.plain_files import write_text
from wayforward.public import public
from wayforward.recourse import Outcome, Recourse, count_outcomes
from wayforward.schema.notebook import small_table
from wayforward.shapes import Actions, Floats, Ints, Mask, People, PerPerson, PersonMask

if TYPE_CHECKING:
    from wayforward.preferences import Preferences
    from wayforward.problem import Problem
    from wayforward.schema import Schema
    from wayforward.world import World


_RATES_BY_GROUP = ("usable", "usable_plausible", "success", "validity")
_FLAGS_BY_GROUP = ("hap", "density_at_least")  # 1, 0, or NaN where it does not apply
_COSTS_BY_GROUP = (
    "cost", "cost_plain", "cost_weighted", "cost_l1_range", "cost_l0", "cost_l1_range_all", "density_gain",
)  # fmt: skip


@public
@dataclass(frozen=True, eq=False)
class Evaluation:
    """What `evaluate` found out. `evaluation["usable"]` is an `Estimate`; the attributes are plain numbers.

    Attributes:
        totals: metric -> Estimate(value, low, high, n, median, std).
        people: metric -> (n,) per person; NaN where it does not apply. For costs: the person's cheapest
            usable option, by the problem's cost with the person's own weights.
        options: (n, k) arrays: the flags of `Judged`, usable, usable_plausible, cost, l0, l1.
        chosen: (n,) the option that stands for each person, -1 where none is usable.
        outcomes: how people ended, worked out again.
        refuted: people whose recourse says something else than what was found here.
        notes: what could not be measured and why.
    """

    schema: Schema
    method: str
    n: int
    k: int
    refused: PersonMask
    totals: dict[str, Estimate]
    people: dict[str, PerPerson]
    options: dict[str, np.ndarray]
    chosen: Ints
    outcomes: dict[str, int]
    outcome: np.ndarray
    refuted: int
    groups: np.ndarray | None = None
    notes: tuple[str, ...] = ()
    meta: dict[str, Any] = field(default_factory=dict)
    x: People = field(default_factory=lambda: np.empty((0, 0)), repr=False)
    acted: Mask = field(
        default_factory=lambda: np.empty((0, 0), dtype=bool), repr=False
    )  # (n, d), chosen option
    unread: PersonMask = field(default_factory=lambda: np.empty(0, dtype=bool), repr=False)  # (n,) NOT_ASKED

    def __post_init__(self) -> None:
        if self.unread.shape != (self.n,):
            object.__setattr__(self, "unread", np.zeros(self.n, dtype=bool))

    @property
    def wanting(self) -> PersonMask:
        """(n,) bool: refused by the model, or not read: those over whom a share served is told."""
        return np.asarray(self.refused | self.unread)

    @property
    def asked(self) -> PersonMask:
        """The old name of `refused`, for one release."""
        warnings.warn(
            "Evaluation.asked is called refused now. The old name goes with the next release.",
            DeprecationWarning,
            stacklevel=2,
        )
        return self.refused

    def __getitem__(self, metric: str) -> Estimate:
        """The estimate of one metric; `table()` lists their names. Raises: DataError for an unknown name."""
        if metric in self.totals:
            return self.totals[metric]
        raise DataError(
            f"There is no metric '{metric}' in this evaluation; it has {', '.join(self.totals)}. "
            "Ask for more with metrics='all'."
        )

    def _value(self, metric: str) -> float:
        return self.totals.get(metric, NOTHING).value

    @property
    def usable(self) -> float:
        """Share of people who asked and have at least one option that holds in every respect."""
        return self._value("usable")

    @property
    def usable_plausible(self) -> float:
        """Share of people who asked and have a usable option like accepted people; NaN without data."""
        return self._value("usable_plausible")

    @property
    def validity(self) -> float:
        """Share of people who asked and have an option to which the model itself says yes."""
        return self._value("validity")

    @property
    def success(self) -> float:
        """Share of people who asked and got any option."""
        return self._value("success")

    @property
    def legal(self) -> float:
        """Share of returned options that are legal; NaN when none was returned."""
        return self._value("legal")

    @property
    def rules_kept(self) -> float:
        """Share of returned options that keep every rule; NaN when none was returned."""
        return self._value("rules_kept")

    @property
    def wishes_kept(self) -> float:
        """Share of returned options that keep the person's wishes; NaN when none was returned."""
        return self._value("wishes_kept")

    @property
    def cost(self) -> float:
        """Mean of the problem's unweighted cost over people with a usable option."""
        return self._value("cost")

    @property
    def cost_l0(self) -> float:
        """Mean number of features changed, over people with a usable option."""
        return self._value("cost_l0")

    @property
    def cost_l1_range(self) -> float:
        """Mean range-scaled L1 of the change, over people with a usable option."""
        return self._value("cost_l1_range")

    @property
    def seconds_fit(self) -> float:
        """Seconds that the method took to get ready; NaN when it did not say."""
        return float(self.meta.get("seconds_fit", float("nan")))

    @property
    def seconds_recommend(self) -> float:
        """Seconds that the method took for everybody; NaN when it did not say."""
        return float(self.meta.get("seconds_recommend", float("nan")))

    @property
    def people_per_second(self) -> float:
        """People answered a second, those already accepted included."""
        seconds = self.seconds_recommend
        return self.n / seconds if seconds > 0 else float("nan")

    @property
    def model_rows(self) -> int:
        """Rows shown to the fast model during the search."""
        return int(self.meta.get("model_rows", 0))

    @property
    def model_calls(self) -> int:
        """Calls of the fast model during the search."""
        return int(self.meta.get("model_calls", 0))

    @property
    def native_rows(self) -> int:
        """Rows shown to the wrapped model itself during the search and the check."""
        return int(self.meta.get("native_rows", 0))

    # -- tables --------------------------------------------------------------------------------------------

    def table(self) -> list[dict[str, Any]]:
        """One row a metric: metric, value, low, high, n, meaning."""
        order = [name for name in MEANING if name in self.totals]
        order += [name for name in self.totals if name not in MEANING]
        return [
            {
                "metric": name,
                "value": self.totals[name].value,
                "low": self.totals[name].low,
                "high": self.totals[name].high,
                "n": self.totals[name].n,
                "meaning": (MEANING | UNREAD).get(name, ""),
            }
            for name in order
        ]

    def to_frame(self, like: Any = None) -> Any:
        """`table()` as a frame of pandas, polars or pyarrow, whichever is asked for or installed."""
        from wayforward.schema import native_table

        rows = self.table()
        return native_table({name: np.array([row[name] for row in rows]) for name in rows[0]}, like)

    @property
    def per_person(self) -> Any:
        """A frame with one row a person: outcome, chosen option and every per-person metric."""
        return self.per_person_frame()

    def per_person_frame(self, like: Any = None) -> Any:
        """As `per_person`, in the library asked for: 'pandas', 'polars', 'pyarrow' or 'dict'."""
        from wayforward.schema import native_table

        columns: dict[str, np.ndarray] = {
            "person": np.arange(self.n),
            "outcome": np.array([o.name for o in self.outcome], dtype=object),
            "option": self.chosen,
        }
        if self.groups is not None:
            columns["group"] = self.groups
        return native_table(columns | self.people, like)

    def labels(self, groups: Any = None) -> np.ndarray:
        """Group labels (n,): given ones, those of a feature by its name, or the ones evaluated with."""
        if groups is None:
            if self.groups is None:
                names = [f.name for f in self.schema.features if f.has_levels and f.sensitive]
                hint = f", such as '{names[0]}'" if names else ""
                raise DataError(
                    f"There are no groups. Pass one label per person or the name of a feature{hint}."
                )
            return self.groups
        if isinstance(groups, str):
            feature, j = self.schema[groups], self.schema.index(groups)
            if not feature.has_levels:
                raise DataError(
                    f"'{groups}' is {feature.kind}, which makes no groups. Pass labels, such as age bands."
                )
            column = self.x[:, j]
            return np.array(
                ["(not stated)" if np.isnan(v) else feature.level_text(v) for v in column], dtype=object
            )
        return as_groups(groups, self.n)

    def by_group(self, groups: Any = None) -> list[dict[str, Any]]:
        """One row a group and metric: group, metric, value, low, high, n; the headline rates and costs, and hap and
        plausibility by density where they were measured."""
        labels = self.labels(groups)
        seed, resamples = int(self.meta.get("evaluate_seed", 0)), int(self.meta.get("bootstrap", 1000))
        rows = []
        for group in sorted(set(labels.tolist())):
            wanting, mine = (labels == group) & self.wanting, (labels == group) & self.refused
            found: dict[str, Estimate] = {}
            for name in _RATES_BY_GROUP:
                if name in self.people:
                    found[name] = rate(self.people[name][wanting] > 0)
            for name in _FLAGS_BY_GROUP:
                if name in self.people:
                    values = self.people[name][mine]
                    found[name] = rate(values > 0, np.isfinite(values))
            costs = {name: self.people[name][mine] for name in _COSTS_BY_GROUP if name in self.people}
            found |= means_of(costs, seed=seed, resamples=resamples)
            rows += [
                {"group": group, "metric": m, "value": e.value, "low": e.low, "high": e.high, "n": e.n}
                for m, e in found.items()
            ]
        return rows

    def gaps(self, metric: str = "cost_l1_range", groups: Any = None) -> GroupGaps:
        """Differences of one per-person metric between groups, pairwise and largest, with intervals."""
        if metric not in self.people:
            raise DataError(f"There is no per-person metric '{metric}'; there are {', '.join(self.people)}.")
        values = np.where(self.refused, self.people[metric], np.nan)
        return group_gaps(
            values,
            self.labels(groups),
            seed=int(self.meta.get("evaluate_seed", 0)),
            resamples=int(self.meta.get("bootstrap", 1000)),
        )

    def coverage_curve(self, metric: str = "cost_l1_range") -> tuple[Floats, Floats]:
        """Cost and the share of people who asked that have a usable option at that cost or less: (m,), (m,).

        The curve ends at `usable`, not at one: those without an option stay in the denominator.
        """
        if not is_one_of(metric, self.people):
            raise DataError(f"There is no metric {shown(metric)} of people.{suggest(metric, self.people)}")
        cost = np.sort(self.people[metric][self.refused])
        cost = cost[np.isfinite(cost)]
        return cost, np.arange(1, len(cost) + 1) / max(1, int(self.wanting.sum()))

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; NaN becomes null."""
        head = {
            "method": self.method,
            "n": self.n,
            "asked": int(self.refused.sum()),
            **({"not_asked": int(self.unread.sum())} if self.unread.any() else {}),
            "k": self.k,
            **{name: _plain(self.totals[name].value) for name in MEANING if name in self.totals},
            "outcomes": self.outcomes,
            "refuted": self.refuted,
            "seconds_fit": _plain(self.seconds_fit),
            "seconds_recommend": _plain(self.seconds_recommend),
            "people_per_second": _plain(self.people_per_second),
            "model_rows": self.model_rows,
            "model_calls": self.model_calls,
            "native_rows": self.native_rows,
        }
        head["metrics"] = {name: e.to_dict() for name, e in self.totals.items()}
        if self.groups is not None:
            head["by_group"] = [{k: _plain(v) for k, v in row.items()} for row in self.by_group()]
            gap = self.gaps()
            head["cost_gap"] = gap.largest.to_dict() | {
                "between": list(gap.largest_pair) if gap.largest_pair else None
            }
        head["notes"] = list(self.notes)
        head["meta"] = {k: _plain(v) for k, v in self.meta.items()}
        return head

    def to_json(self, path: str | Path | None = None) -> str:
        """JSON text with every number, written to `path` if given."""
        text = json.dumps(self.to_dict(), indent=2, allow_nan=False)
        if path is not None:
            write_text(path, text + "\n")
        return text

    def _repr_html_(self) -> str:
        head = ("metric", "value", "low", "high", "n", "meaning")
        rows = [tuple(row[name] for name in head) for row in self.table()]
        return small_table(repr(self).splitlines()[0], head, rows, self.notes)

    def __repr__(self) -> str:
        ends = ", ".join(f"{v} {k.lower().replace('_', ' ')}" for k, v in self.outcomes.items() if v)
        lines = [
            f"Evaluation of {self.method or 'a recourse'}: {self.n} people, {self.refused.sum()} asked ({ends})"
        ]
        lines.append(f"  {'metric':<26}{'value':>10}{'95 % interval':>22}{'n':>8}")
        for row in self.table():
            span = f"{_short(row['low'])} to {_short(row['high'])}"
            lines.append(f"  {row['metric']:<26}{_short(row['value']):>10}{span:>22}{row['n']:>8}")
        if np.isfinite(self.people_per_second):
            lines.append(f"  {self.people_per_second:,.0f} people a second, {self.model_rows:,} model rows")
        if self.refuted:
            lines.append(f"  {self.refuted} people's stated outcome was refuted")
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)])


@public
def evaluate(
    recourse: Recourse,
    problem: Problem,
    groups: Any = None,
    preferences: Preferences | None = None,
    reference: Any = None,
    seed: int = 0,
    *,
    metrics: Level = "standard",
    bootstrap: int = 1000,
    density: Any = None,
    oracle: Any = None,
    other_model: Any = None,
    true_world: World | None = None,
    wanted: Any = None,
    reference_labels_right: Any = None,
) -> Evaluation:
    """Score a recourse against the real model, believing nothing it says about itself.

    A person asked when the model itself refuses them. An option is usable when its profile is what its acts
    lead to in the problem's world, every value is legal, all rules and the person's wishes hold, and the
    model itself says yes to that very profile. `usable` counts people who asked and have at least one such
    option. `usable_plausible` also wants the profile to lie no further from its 5 nearest accepted reference
    people than 95 % of accepted people lie from theirs, or, for somebody who stands further off already, no
    further than they stand (`wayforward.problem.Neighbours`, range-scaled L1).

    Args:
        recourse: x (n, d), action and after (n, k, d); its outcomes, costs and scores are not used.
        groups: a label per person, or the name of a feature with levels.
        preferences: what each person wishes; left out, those stored with the recourse.
        reference: people for plausibility, MAD and percentiles, a table or (N, d); left out, the problem's.
        seed: of the bootstrap and of subsampling.
        metrics: "headline" (rates, costs), "standard" (with redundancy, neighbours, diversity), or "all"
            (with LOF, isolation forest, nearest favourable, connectedness).
        bootstrap: resamples behind an interval of a mean; 0 for the normal interval.
        density: any object with log_density, log_prob or score_samples over (m, d) feature units, such as a world
            that says how likely people are; "world" for the problem's own.
        oracle: a recourse of an exact method on the same people, or costs (n,) with inf where nothing exists.
        other_model: a wrapped model, or anything `wf.wrap` takes: do usable options hold under it?
        true_world: the world in which the acts are played out to see whether they truly work.
        wanted: (n, d) the profile that each person truly wants, for GTP and GTD.
        reference_labels_right: (N,) bool, the model is right about each reference person, for connectedness.
    Returns: Evaluation.
    People whose rows could not be read, or whom a deadline left out (NOT_ASKED), count as not served in the shares of
    people with an option, and `usable_read` and `not_asked` tell both sides. Of a deadline that reached nobody nothing
    else is measured, and a note says so.
    Raises: DataError if shapes, groups or columns do not fit.
    """
    from wayforward.problem import Problem

    require_kind(recourse, Recourse, "recourse")
    require_kind(problem, Problem, "problem")
    if not recourse.readable.all():
        readable = recourse.readable
        if not readable.any() and not recourse.cut_short.any():
            raise DataError(
                "None of these people could be read, so there is nothing to evaluate. See Recourse.reasons."
            )
        more = {"oracle": oracle, "wanted": wanted}
        found = evaluate(
            recourse[np.flatnonzero(readable)], problem, None, taken(preferences, readable), reference, seed,
            metrics=metrics, bootstrap=bootstrap, density=density, other_model=other_model, true_world=true_world,
            reference_labels_right=reference_labels_right, **{k: taken(v, readable) for k, v in more.items()},
        )  # fmt: skip
        return among_everybody(found, recourse, groups)
    proved = proved_here(recourse, problem, preferences)
    evidence = Evidence.about(
        proved,
        problem,
        preferences,
        reference=reference,
        seed=seed,
        density=density,
        oracle=oracle,
        other_model=other_model,
        true_world=true_world,
        wanted=wanted,
        reference_labels_right=reference_labels_right,
    )
    return _evaluation(
        evidence,
        claimed=recourse.outcome,
        proved=proved.outcome,
        groups=groups,
        metrics=metrics,
        bootstrap=bootstrap,
        method=recourse.method,
        meta=dict(recourse.meta),
    )


@public
def evaluate_rows(
    x: Any,
    after: Any,
    problem: Problem,
    groups: Any = None,
    preferences: Preferences | None = None,
    reference: Any = None,
    seed: int = 0,
    *,
    action: Actions | None = None,
    replay: bool = False,
    snap: bool = False,
    method: str = "rows",
    seconds: float | None = None,
    seconds_fit: float | None = None,
    model_rows: int = 0,
    metrics: Level = "standard",
    bootstrap: int = 1000,
    **more: Any,
) -> Evaluation:
    """Score plain counterfactual rows of any tool with the same scorer.

    The acts are taken to be the features that differ. A row that is missing (all NaN, or NaN where the schema
    allows none) counts as not found; a value outside the domain or an unknown level is illegal, not an error.

    Args:
        x: the people, a table or (n, d) in feature units.
        after: a table or array of n profiles, (n, k, d), or a list of k tables.
        action: (n, k, d) what is acted on, where the tool says so.
        replay: judge what the acts lead to in the problem's world, instead of the row as it was given.
        snap: move numbers to the nearest step first; for tools that know no steps.
        seconds, seconds_fit, model_rows: what the tool took, for `people_per_second` and the like.
        more: density, oracle, other_model, true_world, wanted, reference_labels_right as in `evaluate`.
    Raises: DataError if rows and people do not match in number or columns.
    """
    from wayforward.problem import Problem

    require_kind(problem, Problem, "problem")
    require_switch(replay, "replay")
    require_switch(snap, "snap")
    schema = problem.schema
    people = read_rows(schema, x, "people")
    rows = read_options(schema, after, len(people))
    if snap:
        numeric = ~schema.has_levels & np.isfinite(rows)
        inside = (rows >= schema.low) & (rows <= schema.high)  # only the step is forgiven, not the range
        stays = ~schema.differs(rows, people[:, None, :])
        rows = np.where(numeric & inside & ~stays, schema.snap(rows), rows)
    acts = inferred_action(schema, people, rows) if action is None else numbers_in(action, "action")
    if acts.shape != rows.shape:
        raise DataError(f"action has shape {acts.shape} and the rows {rows.shape}; they must be the same.")
    empty = np.asarray(np.isnan(acts).all(-1))
    rows = np.where(empty[..., None], np.nan, rows)
    if replay:
        who, slot = np.nonzero(~empty & ~out_of_domain(schema, rows).any(-1))
        rows = rows.copy()
        if len(who):
            rows[who, slot] = problem.consequences(people[who], acts[who, slot])
    judged = judge(problem, people, acts, rows, preferences)
    claimed = np.full(acts.shape[:2], Outcome.NOT_FOUND, dtype=object)
    claimed[~empty] = Outcome.FOUND
    claimed[~judged.refused] = Outcome.ACCEPTED
    require_kind(method, str, "method")
    for name, spent in (("seconds", seconds), ("seconds_fit", seconds_fit), ("model_rows", model_rows)):
        if spent is not None:
            require_number(spent, name, 0, 1e18)
    meta: dict[str, Any] = {"model_rows": model_rows or 0}
    meta |= {} if seconds is None else {"seconds_recommend": seconds}
    meta |= {} if seconds_fit is None else {"seconds_fit": seconds_fit}
    known = {"density", "oracle", "other_model", "true_world", "wanted", "reference_labels_right"}
    if set(more) - known:
        raise DataError(
            f"evaluate_rows has no argument '{sorted(set(more) - known)[0]}'. See help(evaluate_rows)."
        )
    return _evaluation(
        Evidence(problem, people, acts, rows, judged, preferences, reference, seed, **more),
        claimed=claimed,
        groups=groups,
        metrics=metrics,
        bootstrap=bootstrap,
        method=method,
        meta=meta,
    )


def _evaluation(
    evidence: Evidence,
    *,
    claimed: np.ndarray,
    proved: np.ndarray | None = None,
    groups: Any,
    metrics: Level,
    bootstrap: int,
    method: str,
    meta: dict[str, Any],
) -> Evaluation:
    """Measure every metric that is asked for; hold what was claimed (n, k) of `Outcome` against what was found.

    proved (n, k): the same with no claims of proofs but those of this problem; left out, all are.
    """
    if not is_one_of(metrics, LEVELS):
        raise DataError(f"metrics={shown(metrics)}; it must be 'headline', 'standard' or 'all'.")
    wanted = [m for m in METRICS.values() if LEVELS.index(m.level) <= LEVELS.index(metrics)]
    require_whole(seed=evidence.seed)
    evidence.labels_right()
    if not is_whole(bootstrap, 0, 100_000):
        raise DataError(f"bootstrap={shown(bootstrap)} is no whole number from 0 to 100,000. Use 1000.")
    totals, people = measure(wanted, evidence, resamples=bootstrap)
    judged = evidence.judged
    outcome = np.full(evidence.n, Outcome.NOT_FOUND, dtype=object)
    outcome[((claimed if proved is None else proved) == Outcome.NONE_EXISTS).any(1)] = Outcome.NONE_EXISTS
    outcome[evidence.has] = Outcome.FOUND
    outcome[~evidence.refused] = Outcome.ACCEPTED
    evaluation = Evaluation(
        schema=evidence.schema,
        method=method,
        n=evidence.n,
        k=evidence.k,
        refused=evidence.refused,
        totals=totals,
        people=people,
        options={
            "returned": judged.returned,
            "follows": judged.follows,
            "legal": judged.legal,
            "rules": judged.rules,
            "wishes": judged.wishes,
            "valid": judged.valid,
            "value": judged.value,
            "usable": evidence.usable,
            "usable_plausible": evidence.usable_plausible,
            "cost": evidence.cost,
            "l1": evidence.norms["l1"],
            "l0": evidence.norms["l0"],
        },
        chosen=evidence.chosen,
        outcomes=count_outcomes(outcome),
        outcome=outcome,
        refuted=int((outcome != claimed[:, 0]).sum()),
        notes=tuple(evidence.notes()),
        meta=meta | {"evaluate_seed": evidence.seed, "bootstrap": bootstrap},
        x=evidence.x,
        acted=~np.isnan(evidence.real_acts),
    )
    return evaluation if groups is None else replace(evaluation, groups=evaluation.labels(groups))


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


def _short(value: float) -> str:
    if not np.isfinite(value):
        return "-" if np.isnan(value) else "inf"
    return f"{value:.3f}" if abs(value) < 1000 else f"{value:,.0f}"
