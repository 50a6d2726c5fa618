"""Scores of a whole recourse: for each person, by group and in total, with intervals and denominators.

Failures are counted, never dropped: every rate is over the people who asked (those the model itself
refuses), unless its name says otherwise; costs are given over the people with a usable option, with their
number, and over everyone who asked, a failure counting as the dearest plan there could be.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from wayforward.errors import DataError
from wayforward.evaluate import actions as act
from wayforward.evaluate import stats
from wayforward.evaluate.distance import ReferenceScale, norms
from wayforward.evaluate.diversity import diversity
from wayforward.evaluate.fairness import GroupGaps, as_groups, group_gaps
from wayforward.evaluate.foreign import inferred_action, read_options, read_rows
from wayforward.evaluate.judge import Judged, ask_model, judge
from wayforward.evaluate.plausible import Reference, at_least_as_likely
from wayforward.evaluate.stats import NOTHING, Estimate
from wayforward.plain_files import write_text
from wayforward.recourse import Outcome, Recourse

if TYPE_CHECKING:
    from wayforward.preferences import Preferences
    from wayforward.problem import Problem
    from wayforward.schema import Schema
    from wayforward.world import World

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Metrics = Literal["headline", "standard", "all"]

# What each number means and how many stand behind it; `table` keeps this order.
MEANING: dict[str, str] = {
    "usable": "asked and got an option that is found, re-predicted, legal, within rules and wishes",
    "usable_plausible": "the same, and like the people whom the model accepts",
    "success": "asked and got any option at all",
    "validity": "asked and got an option to which the model itself says yes",
    "follows": "options whose profile is what their acts lead to",
    "legal": "options that are legal",
    "rules_kept": "options that keep every rule",
    "wishes_kept": "options that keep the person's wishes",
    "valid_options": "options to which the model itself says yes",
    "plausible_options": "options like the people whom the model accepts",
    "invalidation": "asked and got no option that the model says yes to",
    "coverage": "usable, among those for whom an option exists",
    "validity_other_model": "usable options that another model accepts too",
    "validity_true_world": "usable options that reach the decision when acted out in the true world",
    "cost": "the problem's cost, unweighted, over usable",
    "cost_plain": "the same, beside the weighted one, over usable",
    "cost_weighted": "the problem's cost with personal weights, over usable",
    "cost_l0": "features changed, over usable",
    "cost_l1_range": "sum of changes as shares of their ranges, over usable",
    "cost_l2_range": "Euclidean norm of the same changes, over usable",
    "cost_l2_squared": "its square, over usable",
    "cost_linf_range": "the largest of these changes, over usable",
    "cost_mad_l1": "sum of changes over median absolute deviations, over usable",
    "cost_percentile_max": "largest percentile shift, over usable",
    "cost_percentile_total": "sum of percentile shifts, over usable",
    "cost_percentile_log": "sum of log percentile shifts, over usable",
    "cost_l1_range_valid": "sum of changes as shares of their ranges, over valid options, usable or not",
    "cost_l1_range_all": "the same over everyone who asked; a failure counts one for each actionable feature",
    "acted": "features acted on, over usable",
    "changed_downstream": "features that changed only as a consequence, over usable",
    "redundancy": "changes that could be taken back alone, over usable",
    "violated_immutables": "immutable features changed, per person with an option",
    "violated_direction": "features moved against their direction, per person with an option",
    "violated_range": "features outside their domain, per person with an option",
    "domain_consistent": "options with every value inside the domain",
    "proximity": "Euclidean distance in range-scaled columns, over usable",
    "ynn": "share of 5 nearest reference people decided alike, over usable",
    "nearest_favourable": "distance to the nearest accepted reference person, over usable",
    "lof": "local outlier factor against accepted people (1 is ordinary), over usable",
    "isolation": "isolation-forest score (about 0.5 is ordinary), over usable",
    "connected": "joined by a chain of accepted people to one rightly accepted, over usable",
    "density_at_least": "at least as likely after as before, over usable",
    "density_gain": "gain in log-density, over usable",
    "hap": "acts on what the person finds hardest, over usable",
    "gtp": "distance to the profile the person truly wants, over usable",
    "gtd": "1 - cosine with the change the person truly wants, over usable",
    "regret": "cost above the best in the person's own terms, over usable",
    "optimality_gap": "cost / oracle cost - 1, where both found",
    "diversity": "mean pairwise distance of a person's usable options",
    "diversity_count": "mean share of features in which two options differ",
    "diversity_dpp": "determinant of the similarity kernel of the options",
    "set_validity": "distinct usable options / k",
    "set_proximity": "minus the mean MAD distance of the options",
    "set_proximity_categorical": "1 - mean share of categories changed",
    "set_sparsity": "1 - mean share of features changed",
}
_RATES_BY_GROUP = ("usable", "usable_plausible", "success", "validity")
_FLAGS_BY_GROUP = ("hap", "density_at_least")  # 1, 0, or NaN where it does not apply
_COSTS_BY_GROUP = (
    "cost", "cost_plain", "cost_weighted", "cost_l1_range", "cost_l0", "cost_l1_range_all", "density_gain",
)  # fmt: skip


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
    asked: Mask
    totals: dict[str, Estimate]
    people: dict[str, Array]
    options: dict[str, NDArray[Any]]
    chosen: NDArray[np.int64]
    outcomes: dict[str, int]
    outcome: NDArray[Any]
    refuted: int
    groups: NDArray[Any] | None = None
    notes: tuple[str, ...] = ()
    meta: dict[str, Any] = field(default_factory=dict)
    x: Array = field(default_factory=lambda: np.empty((0, 0)), repr=False)
    acted: Mask = field(
        default_factory=lambda: np.empty((0, 0), dtype=bool), repr=False
    )  # (n, d), chosen option

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
                "meaning": MEANING.get(name, ""),
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

        columns: dict[str, NDArray[Any]] = {
            "person": np.arange(self.n),
            "outcome": np.array([o.name for o in self.outcome], dtype=object),
            "option": self.chosen,
        }
        if self.groups is not None:
            columns["group"] = self.groups
        return native_table(columns | self.people, like)

    def labels(self, groups: Any = None) -> NDArray[Any]:
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
            mine = (labels == group) & self.asked
            found: dict[str, Estimate] = {}
            for name in _RATES_BY_GROUP:
                if name in self.people:
                    found[name] = stats.rate(self.people[name][mine] > 0)
            for name in _FLAGS_BY_GROUP:
                if name in self.people:
                    values = self.people[name][mine]
                    found[name] = stats.rate(values > 0, np.isfinite(values))
            costs = {name: self.people[name][mine] for name in _COSTS_BY_GROUP if name in self.people}
            found |= stats.means(costs, seed=seed, resamples=resamples)
            rows += [
                {"group": group, "metric": m, "value": e.value, "low": e.low, "high": e.high, "n": e.n}
                for m, e in found.items()
            ]
        return rows

    def gaps(self, metric: str = "cost_l1_range", groups: Any = None) -> GroupGaps:
        """Differences of one per-person metric between groups, pairwise and largest, with intervals."""
        if metric not in self.people:
            raise DataError(f"There is no per-person metric '{metric}'; there are {', '.join(self.people)}.")
        values = np.where(self.asked, self.people[metric], np.nan)
        return group_gaps(
            values,
            self.labels(groups),
            seed=int(self.meta.get("evaluate_seed", 0)),
            resamples=int(self.meta.get("bootstrap", 1000)),
        )

    def coverage_curve(self, metric: str = "cost_l1_range") -> tuple[Array, Array]:
        """Cost and the share of people who asked that have a usable option at that cost or less: (m,), (m,).

        The curve ends at `usable`, not at one: those without an option stay in the denominator.
        """
        cost = np.sort(self.people[metric][self.asked])
        cost = cost[np.isfinite(cost)]
        asked = max(1, int(self.asked.sum()))
        return cost, np.arange(1, len(cost) + 1) / asked

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; NaN becomes null."""
        head = {
            "method": self.method,
            "n": self.n,
            "asked": int(self.asked.sum()),
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

    def __repr__(self) -> str:
        asked = int(self.asked.sum())
        ends = ", ".join(f"{v} {k.lower().replace('_', ' ')}" for k, v in self.outcomes.items() if v)
        lines = [f"Evaluation of {self.method or 'a recourse'}: {self.n} people, {asked} asked ({ends})"]
        lines.append(f"  {'metric':<26}{'value':>10}{'95 % interval':>22}{'n':>8}")
        for row in self.table():
            span = f"{_short(row['low'])} to {_short(row['high'])}"
            lines.append(f"  {row['metric']:<26}{_short(row['value']):>10}{span:>22}{row['n']:>8}")
        if np.isfinite(self.people_per_second):
            lines.append(f"  {self.people_per_second:,.0f} people a second, {self.model_rows:,} model rows")
        if self.refuted:
            lines.append(f"  {self.refuted} people's stated outcome was refuted")
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)])


def evaluate(
    recourse: Recourse,
    problem: Problem,
    groups: Any = None,
    preferences: Preferences | None = None,
    reference: Any = None,
    seed: int = 0,
    *,
    metrics: Metrics = "standard",
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
    Raises: DataError if shapes, groups or columns do not fit.
    """
    schema = problem.schema
    if recourse.schema.names != schema.names:
        raise DataError(
            "The recourse was made for other features than the problem has. Pass its own problem."
        )
    wishes = recourse.preferences if preferences is None else preferences
    judged = judge(problem, recourse.x, recourse.action, recourse.after, wishes)
    return _score(
        problem,
        recourse.x,
        recourse.action,
        recourse.after,
        judged,
        claimed=recourse.outcome,
        wishes=wishes,
        groups=groups,
        reference=reference,
        seed=seed,
        metrics=metrics,
        bootstrap=bootstrap,
        density=density,
        oracle=oracle,
        other_model=other_model,
        true_world=true_world,
        wanted=wanted,
        right=reference_labels_right,
        method=recourse.method,
        meta=dict(recourse.meta),
    )


def evaluate_rows(
    x: Any,
    after: Any,
    problem: Problem,
    groups: Any = None,
    preferences: Preferences | None = None,
    reference: Any = None,
    seed: int = 0,
    *,
    action: Array | None = None,
    replay: bool = False,
    snap: bool = False,
    method: str = "rows",
    seconds: float | None = None,
    seconds_fit: float | None = None,
    model_rows: int = 0,
    metrics: Metrics = "standard",
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
    schema = problem.schema
    people = read_rows(schema, x, "people")
    rows = read_options(schema, after, len(people))
    if snap:
        numeric = ~schema.has_levels & np.isfinite(rows)
        inside = (rows >= schema.low) & (rows <= schema.high)  # only the step is forgiven, not the range
        stays = ~schema.differs(rows, people[:, None, :])
        rows = np.where(numeric & inside & ~stays, schema.snap(rows), rows)
    acts = inferred_action(schema, people, rows) if action is None else np.asarray(action, dtype=np.float64)
    if acts.shape != rows.shape:
        raise DataError(f"action has shape {acts.shape} and the rows {rows.shape}; they must be the same.")
    empty = np.asarray(np.isnan(acts).all(-1))
    rows = np.where(empty[..., None], np.nan, rows)
    if replay:
        who, slot = np.nonzero(~empty & ~act.out_of_domain(schema, rows).any(-1))
        rows = rows.copy()
        if len(who):
            rows[who, slot] = problem.consequences(people[who], acts[who, slot])
    judged = judge(problem, people, acts, rows, preferences)
    claimed = np.full(acts.shape[:2], Outcome.NOT_FOUND, dtype=object)
    claimed[~empty] = Outcome.FOUND
    claimed[~judged.asked] = Outcome.ACCEPTED
    meta: dict[str, Any] = {"model_rows": model_rows}
    meta |= {} if seconds is None else {"seconds_recommend": seconds}
    meta |= {} if seconds_fit is None else {"seconds_fit": seconds_fit}
    known = {"density", "oracle", "other_model", "true_world", "wanted", "reference_labels_right"}
    if set(more) - known:
        raise DataError(
            f"evaluate_rows has no argument '{sorted(set(more) - known)[0]}'. See help(evaluate_rows)."
        )
    return _score(
        problem,
        people,
        acts,
        rows,
        judged,
        claimed=claimed,
        wishes=preferences,
        groups=groups,
        reference=reference,
        seed=seed,
        metrics=metrics,
        bootstrap=bootstrap,
        density=more.get("density"),
        oracle=more.get("oracle"),
        other_model=more.get("other_model"),
        true_world=more.get("true_world"),
        wanted=more.get("wanted"),
        right=more.get("reference_labels_right"),
        method=method,
        meta=meta,
    )


# -- the work ----------------------------------------------------------------------------------------------


def _score(
    problem: Problem,
    x: Array,
    action: Array,
    after: Array,
    judged: Judged,
    *,
    claimed: NDArray[Any],
    wishes: Preferences | None,
    groups: Any,
    reference: Any,
    seed: int,
    metrics: Metrics,
    bootstrap: int,
    density: Any,
    oracle: Any,
    other_model: Any,
    true_world: World | None,
    wanted: Any,
    right: Any,
    method: str,
    meta: dict[str, Any],
) -> Evaluation:
    if metrics not in ("headline", "standard", "all"):
        raise DataError(f"metrics={metrics!r}; it must be 'headline', 'standard' or 'all'.")
    schema, notes = problem.schema, list[str]()
    n, k, _ = action.shape
    asked, usable = judged.asked, judged.usable
    known = problem.reference if reference is None else read_rows(schema, reference, "reference")
    own_reference = reference is None and known is not None

    # Each option by itself
    cost = _costs(problem, x, action, after, None)
    step = norms(schema, x[:, None, :], np.where(judged.returned[..., None], after, np.nan))
    accepted_known = None
    if known is not None and len(known):
        accepted_known = problem.reference_reached if own_reference else ask_model(problem, known)[0]
    plausible = _plausible(schema, x, after, judged, known, accepted_known, notes)
    both = usable & (plausible if plausible is not None else False)

    # One option stands for each person: the usable one that is cheapest for them; the first wins a tie
    own = wishes is not None and bool((wishes.weight != 1.0).any())
    weighted = _costs(problem, x, action, after, wishes.weight) if own and wishes is not None else cost
    chosen = _cheapest(weighted, usable)
    valid_one = _cheapest(cost, judged.returned & judged.valid)
    any_one = _cheapest(cost, judged.returned)
    rows = np.arange(n)
    has = chosen >= 0

    def of(values: Array, which: NDArray[np.int64] = chosen) -> Array:
        """(n, k) -> (n,) of the option that `which` names, NaN where it names none."""
        return np.where(which >= 0, values[rows, np.maximum(which, 0)], np.nan)

    x_asked = np.where(asked[:, None], x, np.nan)
    end = np.where(has[:, None], after[rows, np.maximum(chosen, 0)], np.nan)  # (n, d) of the chosen option
    acts = np.where(has[:, None], action[rows, np.maximum(chosen, 0)], np.nan)
    real_act = np.where(schema.differs(acts, x), acts, np.nan) if problem.independent else acts

    # People: yes or no over everyone who asked
    people: dict[str, Array] = {}
    totals: dict[str, Estimate] = {}

    def share(name: str, per_option: Mask) -> None:
        hit = np.asarray(per_option.any(1))
        people[name] = np.where(asked, hit.astype(np.float64), np.nan)
        totals[name] = stats.rate(hit, asked)

    share("usable", usable)
    if plausible is not None:
        share("usable_plausible", both)
    else:
        people["usable_plausible"] = np.full(n, np.nan)
        totals["usable_plausible"] = NOTHING
    share("success", judged.returned)
    share("validity", judged.returned & judged.valid)
    totals["invalidation"] = stats.rate(people["validity"] == 0, asked)

    # Options: over those returned to people who asked
    given = judged.returned & asked[:, None]
    for name, flag in {
        "follows": judged.follows,
        "legal": judged.legal,
        "rules_kept": judged.rules,
        "wishes_kept": judged.wishes,
        "valid_options": judged.valid,
        "domain_consistent": np.asarray(~act.out_of_domain(schema, after).any(-1)),
        **({} if plausible is None else {"plausible_options": plausible}),
    }.items():
        totals[name] = stats.rate(flag[given])

    # Costs and the rest of a chosen option
    people["cost"] = of(cost)
    if wishes is not None:
        people["cost_plain"] = people["cost"]
    people["cost_weighted"] = of(weighted)
    for name, key in {
        "cost_l0": "l0",
        "cost_l1_range": "l1",
        "cost_l2_range": "l2",
        "cost_l2_squared": "l2_squared",
        "cost_linf_range": "linf",
    }.items():
        people[name] = of(step[key])
    people["cost_l1_range_valid"] = np.where(asked, of(step["l1"], valid_one), np.nan)
    dearest = float(schema.actionable.sum())
    people["cost_l1_range_all"] = np.where(asked, np.where(has, people["cost_l1_range"], dearest), np.nan)
    broken = act.violations(
        schema, x, np.where(given.any(1, keepdims=True), after[rows, np.maximum(any_one, 0)], np.nan)
    )
    people |= {f"violated_{name}": broken[name] for name in ("immutables", "direction", "range")}
    people["acted"], people["changed_downstream"] = act.acted_and_changed(schema, x, real_act, end)
    people["proximity"] = act.proximity(schema, x, end)

    if known is not None and len(known):
        scale = ReferenceScale.fit(schema, known)
        people["cost_mad_l1"] = scale.mad_l1(x, end)
        people["cost_percentile_max"] = scale.percentile_shift(x, end)
        people["cost_percentile_total"] = scale.percentile_shift(x, end, kind="total")
        people["cost_percentile_log"] = scale.percentile_shift(x, end, kind="total", log=True)
        flat = [schema.names[j] for j in np.flatnonzero(scale.mad_was_zero)]
        if flat:
            notes.append(f"the MAD of {', '.join(flat)} is 0 and counts as 1")
    else:
        scale = None
        notes.append("no reference people: MAD, percentiles, plausibility and neighbours are left out")

    if metrics != "headline":
        people["redundancy"] = act.redundancy(
            schema,
            x,
            end,
            lambda r: ask_model(problem, r)[0],
            action=None if problem.independent else real_act,
            consequences=None if problem.independent else problem.consequences,
        )
        if k > 1 and scale is not None:
            sets = np.where(usable[..., None], after, np.nan)
            people |= {
                _SET_NAMES.get(name, name): np.where(asked, values, np.nan)
                for name, values in diversity(schema, x, sets, usable, scale).items()
            }
        if known is not None and accepted_known is not None:
            _neighbourhood(people, schema, known, accepted_known, right, end, metrics, seed)

    # Asked for by the caller
    if density is not None:
        people["density_at_least"], people["density_gain"] = at_least_as_likely(
            _density(problem, density), x_asked, end
        )
    if wishes is not None and getattr(wishes, "score", None) is not None:
        may_act = schema.actionable & ~np.asarray(wishes.frozen)
        people["hap"] = act.hard_action(acts, np.asarray(wishes.score), may_act)
    if wanted is not None:
        people["gtp"], people["gtd"] = act.ground_truth(
            schema, x, end, np.asarray(read_rows(schema, wanted, "wanted"))
        )
    if other_model is not None:
        yes = _other_model(problem, other_model, end, has)
        people["validity_other_model"] = np.where(has, yes, np.nan)
        totals["validity_other_model"] = stats.rate(yes, has)
    if true_world is not None:
        yes = _play_out(problem, true_world, x, acts, has)
        people["validity_true_world"] = np.where(has, yes, np.nan)
        totals["validity_true_world"] = stats.rate(yes, has)
    if oracle is not None:
        best, exists = _oracle(problem, oracle, n, k)
        people["optimality_gap"] = np.where(asked, act.optimality_gap(people["cost_weighted"], best), np.nan)
        totals["coverage"] = stats.rate(has, asked & (exists | has))
    else:
        notes.append("coverage needs an oracle; success and usable are over everyone who asked")

    outcome = np.full(n, Outcome.NOT_FOUND, dtype=object)
    outcome[(claimed == Outcome.NONE_EXISTS).any(1)] = Outcome.NONE_EXISTS
    outcome[has] = Outcome.FOUND
    outcome[~asked] = Outcome.ACCEPTED
    refuted = int((outcome != claimed[:, 0]).sum())

    numbers = {name: values for name, values in people.items() if name not in totals}
    totals |= stats.means({m: v[asked] for m, v in numbers.items()}, seed=seed, resamples=bootstrap)
    labels = None
    evaluation = Evaluation(
        schema=schema,
        method=method,
        n=n,
        k=k,
        asked=asked,
        totals={name: totals[name] for name in MEANING if name in totals},
        people=people,
        options={
            "returned": judged.returned,
            "follows": judged.follows,
            "legal": judged.legal,
            "rules": judged.rules,
            "wishes": judged.wishes,
            "valid": judged.valid,
            "value": judged.value,
            "usable": usable,
            "usable_plausible": both,
            "cost": cost,
            "l1": step["l1"],
            "l0": step["l0"],
        },
        chosen=chosen,
        outcomes={o.name: int((outcome == o).sum()) for o in Outcome},
        outcome=outcome,
        refuted=refuted,
        groups=labels,
        notes=tuple(notes),
        meta=meta | {"evaluate_seed": seed, "bootstrap": bootstrap},
        x=x,
        acted=~np.isnan(real_act),
    )
    if groups is None:
        return evaluation
    from dataclasses import replace

    return replace(evaluation, groups=evaluation.labels(groups))


_SET_NAMES = {"dist": "diversity", "count": "diversity_count", "dpp": "diversity_dpp"}


def _density(problem: Problem, density: Any) -> Any:
    """What says how likely people are: any density, a world (bound here), or "world" for the problem's own."""
    from wayforward.world import World

    if isinstance(density, str):
        if density != "world":
            raise DataError(f"density={density!r}; it must be a density, a world, or 'world'.")
        return problem.world
    return density.bind(problem.schema) if isinstance(density, World) else density


def _costs(problem: Problem, x: Array, action: Array, after: Array, weight: Array | None) -> Array:
    """The problem's cost of every option (n, k); inf where there is none or where it cannot be said."""
    out = np.full(action.shape[:2], np.inf)
    moved = problem.schema.differs(after, x[:, None, :])  # somebody may stand outside what was observed
    beyond = (act.out_of_domain(problem.schema, after) & moved).any(-1)
    who, slot = np.nonzero(~np.isnan(action).all(-1) & ~beyond)
    if len(who):
        weights = None if weight is None else np.asarray(weight, dtype=np.float64)[who]
        out[who, slot] = problem.cost.total(x[who], action[who, slot], weights)
    return out


def _cheapest(cost: Array, good: Mask) -> NDArray[np.int64]:
    """(n,) position of each person's cheapest good option, -1 where there is none."""
    priced = np.where(good, np.where(np.isnan(cost), np.inf, cost), np.inf)
    best = priced.argmin(1)
    # An option that is good and cannot be priced still counts: argmin over inf would miss it.
    first_good = good.argmax(1)
    rows = np.arange(len(cost))
    best = np.where(good[rows, best], best, first_good)
    return np.where(good.any(1), best, -1).astype(np.int64)


def _plausible(
    schema: Schema,
    x: Array,
    after: Array,
    judged: Judged,
    known: Array | None,
    accepted: Mask | None,
    notes: list[str],
) -> Mask | None:
    """The default plausibility of every usable-looking option (n, k), or None where there is no reference."""
    if known is None or accepted is None:
        return None
    if accepted.sum() < 6:
        notes.append(f"only {int(accepted.sum())} accepted reference people: too few to judge plausibility")
        return None
    from wayforward.problem import Neighbours

    test = Neighbours().fit(schema, known, accepted)
    out = np.zeros(after.shape[:2], dtype=bool)
    who, slot = np.nonzero(judged.returned & ~act.out_of_domain(schema, after).any(-1))
    if len(who):
        out[who, slot] = np.asarray(test.holds(x[who], after[who, slot]), dtype=bool)
    return out


def _neighbourhood(
    people: dict[str, Array],
    schema: Schema,
    known: Array,
    accepted: Mask,
    right: Any,
    end: Array,
    metrics: Metrics,
    seed: int,
) -> None:
    correct = None if right is None else np.asarray(right, dtype=bool)
    around = Reference(schema, known, accepted, correct, seed=seed)
    people["ynn"] = around.yNN(end)
    if metrics == "all":
        people["nearest_favourable"] = around.nearest_favourable(end)
        people["lof"] = around.lof(end)
        people["isolation"] = around.isolation(end)
        people["connected"] = around.connected(end)


def _other_model(problem: Problem, other: Any, end: Array, has: Mask) -> Mask:
    """(n,) bool: another model accepts the chosen profile, by the same target."""
    from wayforward.model.wrapping import wrap

    model = wrap(other, problem.schema)
    target = problem.target.bind(model)
    yes = np.zeros(len(end), dtype=bool)
    if has.any():
        outputs, labels = model.native(end[has])
        yes[has] = target.reached(outputs, labels)
    return yes


def _play_out(problem: Problem, world: World, x: Array, acts: Array, has: Mask) -> Mask:
    """(n,) bool: acting in another world reaches the decision."""
    yes = np.zeros(len(x), dtype=bool)
    if has.any():
        then = np.asarray(world.bind(problem.schema).consequences(x[has], acts[has]))
        yes[has] = ask_model(problem, then)[0]
    return yes


def _oracle(problem: Problem, oracle: Any, n: int, k: int) -> tuple[Array, Mask]:
    """Best cost of each person in their own terms (n,), inf where none, and who has any option at all (n,)."""
    if isinstance(oracle, Recourse):
        if oracle.n != n:
            raise DataError(
                f"The oracle answers {oracle.n} people; the recourse has {n}. Use the same people."
            )
        judged = judge(problem, oracle.x, oracle.action, oracle.after, oracle.preferences)
        own = None if oracle.preferences is None else oracle.preferences.weight
        cost = _costs(problem, oracle.x, oracle.action, oracle.after, own)
        best = np.where(judged.usable, cost, np.inf).min(1)
        return best, np.isfinite(best)
    best = np.asarray(oracle, dtype=np.float64)
    if best.shape != (n,):
        raise DataError(
            f"The oracle has shape {best.shape}; give one cost a person: ({n},), inf where none exists."
        )
    return best, np.isfinite(best)


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
