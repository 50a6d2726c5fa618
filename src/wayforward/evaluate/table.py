"""The metrics of the library, each with what it means, its unit and over whom, in the order of tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from wayforward.errors import require_kind
from wayforward.evaluate.actions import (
    acted_and_changed,
    ground_truth,
    hard_action,
    optimality_gap,
    out_of_domain,
    proximity,
    redundancy,
)
from wayforward.evaluate.foreign import read_rows
from wayforward.evaluate.judge import ask_model
from wayforward.evaluate.metric import Measured, Metric, Share
from wayforward.recourse import PROVED_GAP
from wayforward.shapes import Mask, OptionMask, PerPerson, Rows
from wayforward.world.base import leads_nowhere

if TYPE_CHECKING:
    from wayforward.evaluate.evidence import Evidence

_ASKED = "people whom the model refuses"
_OPTIONS = "options returned to people whom the model refuses"
_USABLE = "people with a usable option"
_ANY = "people with an option"
_SEVERAL = "people with two usable options or more"


# -- rates -------------------------------------------------------------------------------------------------


def _some(e: Evidence, options: OptionMask) -> Share:
    """Share of people who asked and have an option of these."""
    hit = np.asarray(options.any(1))
    return Share(hit, e.refused, np.where(e.refused, hit.astype(np.float64), np.nan))


def _usable_plausible(e: Evidence) -> Share:
    if e.plausible is None:
        return Share(np.zeros(0, dtype=bool), people=np.full(e.n, np.nan))
    return _some(e, e.usable_plausible)


def _valid(e: Evidence) -> OptionMask:
    return np.asarray(e.judged.returned & e.judged.valid)


def _no_valid(e: Evidence) -> Share:
    return Share(np.asarray(~_valid(e).any(1)), e.refused)


def _usable_that(e: Evidence, yes: Mask) -> Share:
    """Share of people with a usable option for whom something else holds of it."""
    return Share(yes, e.has, np.where(e.has, yes, np.nan))


def _coverage(e: Evidence) -> Measured:
    return None if e.best is None else Share(e.has, e.refused & (e.best[1] | e.has))


def _other_model(e: Evidence) -> Measured:
    """Another model accepts the chosen profile, by the same target."""
    if e.other_model is None:
        return None
    from wayforward.model.wrapping import wrap

    model = wrap(e.other_model, e.schema)
    target = e.problem.target.bind(model)
    return _usable_that(e, e.accepted_when(lambda x, acts, end: target.reached(*model.native(end))))


def _fidelity(e: Evidence) -> PerPerson | None:
    """Another model turns the decision where the model does, as single numbers move."""
    if e.other_model is None:
        return None
    from wayforward.evaluate.fidelity import counterfactual_fidelity
    from wayforward.model.wrapping import wrap

    model = wrap(e.other_model, e.schema)
    target = e.problem.target.bind(model)
    return counterfactual_fidelity(
        e.problem, e.x, lambda who, rows: target.score(np.asarray(model.outputs(rows)))
    ).right


def _true_world(e: Evidence) -> Measured:
    """Acting in another world reaches the decision."""
    world = e.true_world
    if world is None:
        return None
    from wayforward.world import World

    require_kind(world, World, "true_world")
    bound = world.bind(e.schema)

    def reached(x: Rows, acts: Rows, end: Rows) -> Mask:
        led = e.problem.consequences(x, acts, bound)
        nowhere = leads_nowhere(x, led)
        return np.asarray(ask_model(e.problem, np.where(nowhere[:, None], x, led))[0] & ~nowhere)

    yes = e.accepted_when(reached)
    return _usable_that(e, yes)


def _copies(e: Evidence) -> Measured:
    if e.copies is None:
        return None
    some, hit = np.asarray(e.given.any(1)), np.asarray((e.copies & e.given).any(1))
    return Share(hit, some, np.where(some, hit, np.nan))


_RATES = (
    Metric("usable", "asked and got an option that is found, re-predicted, legal, within rules and wishes",
           "share", _ASKED, lambda e: _some(e, e.usable)),
    Metric("usable_plausible", "the same, and like the people whom the model accepts",
           "share", _ASKED, _usable_plausible),
    Metric("success", "asked and got any option at all",
           "share", _ASKED, lambda e: _some(e, e.judged.returned)),
    Metric("validity", "asked and got an option to which the model itself says yes",
           "share", _ASKED, lambda e: _some(e, _valid(e))),
    Metric("follows", "options whose profile is what their acts lead to",
           "share", _OPTIONS, lambda e: Share(e.judged.follows[e.given])),
    Metric("legal", "options that are legal", "share", _OPTIONS, lambda e: Share(e.judged.legal[e.given])),
    Metric("rules_kept", "options that keep every rule",
           "share", _OPTIONS, lambda e: Share(e.judged.rules[e.given])),
    Metric("wishes_kept", "options that keep the person's wishes",
           "share", _OPTIONS, lambda e: Share(e.judged.wishes[e.given])),
    Metric("valid_options", "options to which the model itself says yes",
           "share", _OPTIONS, lambda e: Share(e.judged.valid[e.given])),
    Metric("plausible_options", "options like the people whom the model accepts",
           "share", _OPTIONS, lambda e: None if e.plausible is None else Share(e.plausible[e.given])),
    Metric("copies_people", "got an option that is the whole row of somebody in the table of reference people",
           "share", _ANY, _copies),
    Metric("invalidation", "asked and got no option that the model says yes to",
           "share", _ASKED, _no_valid),
    Metric("coverage", "usable, among those for whom an option exists",
           "share", "people for whom an option exists", _coverage),
    Metric("validity_other_model", "usable options that another model accepts too",
           "share", _USABLE, _other_model),
    Metric("counterfactual_fidelity", "boundaries of single numbers that another model has within a quarter deviation",
           "share", "people whom the model refuses and a single number would turn", _fidelity, "all"),
    Metric("validity_true_world", "usable options that reach the decision when acted out in the true world",
           "share", _USABLE, _true_world),
)  # fmt: skip


# -- costs -------------------------------------------------------------------------------------------------


def _cost_of_valid(e: Evidence) -> PerPerson:
    return np.where(e.refused, e.pick(e.norms["l1"], e.cheapest_of(_valid(e))), np.nan)


def _cost_of_all(e: Evidence) -> PerPerson:
    dearest = float(e.schema.actionable.sum())
    return np.where(e.refused, np.where(e.has, e.pick(e.norms["l1"]), dearest), np.nan)


def _percentiles(e: Evidence, kind: str, log: bool = False) -> Measured:
    return None if e.scale is None else e.scale.percentile_shift(e.x, e.end, kind=kind, log=log)  # type: ignore[arg-type]


_COSTS = (
    Metric("cost", "the problem's cost, unweighted, over usable",
           "the problem's cost", _USABLE, lambda e: e.pick(e.cost)),
    Metric("cost_plain", "the same, beside the weighted one, over usable",
           "the problem's cost", _USABLE, lambda e: None if e.wishes is None else e.pick(e.cost)),
    Metric("cost_weighted", "the problem's cost with personal weights, over usable",
           "the problem's cost", _USABLE, lambda e: e.pick(e.weighted_cost)),
    Metric("cost_l0", "features changed, over usable", "features", _USABLE, lambda e: e.pick(e.norms["l0"])),
    Metric("cost_l1_range", "sum of changes as shares of their ranges, over usable",
           "ranges", _USABLE, lambda e: e.pick(e.norms["l1"])),
    Metric("cost_l2_range", "Euclidean norm of the same changes, over usable",
           "ranges", _USABLE, lambda e: e.pick(e.norms["l2"])),
    Metric("cost_l2_squared", "its square, over usable",
           "squared ranges", _USABLE, lambda e: e.pick(e.norms["l2_squared"])),
    Metric("cost_linf_range", "the largest of these changes, over usable",
           "ranges", _USABLE, lambda e: e.pick(e.norms["linf"])),
    Metric("cost_mad_l1", "sum of changes over median absolute deviations, over usable",
           "deviations", _USABLE, lambda e: None if e.scale is None else e.scale.mad_l1(e.x, e.end)),
    Metric("cost_percentile_max", "largest percentile shift, over usable",
           "share of people", _USABLE, lambda e: _percentiles(e, "max")),
    Metric("cost_percentile_total", "sum of percentile shifts, over usable",
           "share of people", _USABLE, lambda e: _percentiles(e, "total")),
    Metric("cost_percentile_log", "sum of log percentile shifts, over usable",
           "nats", _USABLE, lambda e: _percentiles(e, "total", log=True)),
    Metric("cost_l1_range_valid", "sum of changes as shares of their ranges, over valid options, usable or not",
           "ranges", "people with an option that the model says yes to", _cost_of_valid),
    Metric("cost_l1_range_all", "the same over everyone who asked; a failure counts one for each actionable feature",
           "ranges", _ASKED, _cost_of_all),
)  # fmt: skip


# -- what changes ------------------------------------------------------------------------------------------


def _redundancy(e: Evidence) -> PerPerson:
    alone = e.problem.independent
    return redundancy(
        e.schema,
        e.x,
        e.end,
        lambda rows: ask_model(e.problem, rows)[0],
        action=None if alone else e.real_acts,
        consequences=None
        if alone
        else lambda x, acts: e.problem.standing(x, e.problem.consequences(x, acts)),
    )


def _acted(e: Evidence, which: int) -> PerPerson:
    return acted_and_changed(e.schema, e.x, e.real_acts, e.end)[which]


def _in_domain(e: Evidence) -> Share:
    return Share(np.asarray(~out_of_domain(e.schema, e.after).any(-1))[e.given])


_CHANGES = (
    Metric("acted", "features acted on, over usable", "features", _USABLE, lambda e: _acted(e, 0)),
    Metric("changed_downstream", "features that changed only as a consequence, over usable",
           "features", _USABLE, lambda e: _acted(e, 1)),
    Metric("redundancy", "changes that could be taken back alone, over usable",
           "features", _USABLE, _redundancy, "standard"),
    Metric("violated_immutables", "immutable features changed, per person with an option",
           "features", _ANY, lambda e: e.violations["immutables"]),
    Metric("violated_direction", "features moved against their direction, per person with an option",
           "features", _ANY, lambda e: e.violations["direction"]),
    Metric("violated_range", "features outside their domain, per person with an option",
           "features", _ANY, lambda e: e.violations["range"]),
    Metric("domain_consistent", "options with every value inside the domain",
           "share", _OPTIONS, _in_domain),
)  # fmt: skip


# -- likeness to real people -------------------------------------------------------------------------------


def _near(score: str) -> Callable[[Evidence], Measured]:
    """Return the metric that asks the reference people for one of their scores of the chosen profile."""
    return lambda e: None if e.around is None else getattr(e.around, score)(e.end)


_LIKENESS = (
    Metric("proximity", "Euclidean distance in range-scaled columns, over usable",
           "ranges", _USABLE, lambda e: proximity(e.schema, e.x, e.end)),
    Metric("ynn", "share of 5 nearest reference people decided alike, over usable",
           "share", _USABLE, _near("yNN"), "standard"),
    Metric("nearest_favourable", "distance to the nearest accepted reference person, over usable",
           "ranges", _USABLE, _near("nearest_favourable"), "all"),
    Metric("lof", "local outlier factor against accepted people (1 is ordinary), over usable",
           "1 is ordinary", _USABLE, _near("lof"), "all"),
    Metric("isolation", "isolation-forest score (about 0.5 is ordinary), over usable",
           "about 0.5 is ordinary", _USABLE, _near("isolation"), "all"),
    Metric("connected", "joined by a chain of accepted people to one rightly accepted, over usable",
           "share", _USABLE, _near("connected"), "all"),
    Metric("density_at_least", "at least as likely after as before, over usable",
           "share", _USABLE, lambda e: None if e.likelihood is None else e.likelihood[0]),
    Metric("density_gain", "gain in log-density, over usable",
           "nats", _USABLE, lambda e: None if e.likelihood is None else e.likelihood[1]),
)  # fmt: skip


# -- what people wish for, and what others found -----------------------------------------------------------


def _hardest(e: Evidence) -> Measured:
    if e.wishes is None or e.wishes.score is None:
        return None
    may_act = e.schema.actionable & ~np.asarray(e.wishes.frozen)
    return hard_action(e.acts, np.asarray(e.wishes.score), may_act)


def _ideal(e: Evidence, which: int) -> Measured:
    if e.wanted is None:
        return None
    wanted = np.asarray(read_rows(e.schema, e.wanted, "wanted"))
    return ground_truth(e.schema, e.x, e.end, wanted)[which]


def _optimality_gap(e: Evidence) -> Measured:
    if e.best is None:
        return None
    return np.where(e.refused, optimality_gap(e.pick(e.weighted_cost), e.best[0]), np.nan)


def _gap(e: Evidence) -> PerPerson | None:
    """By which share an option costs more than was proved that any must; None where nobody asked for proofs."""
    if e.bound is None or np.isnan(e.bound).all():
        return None
    gap = e.pick(e.weighted_cost) / e.bound - 1
    return np.asarray(np.where(gap <= PROVED_GAP, np.minimum(gap, 0.0), gap))


def _proved(e: Evidence) -> Measured:
    gap = _gap(e)
    return None if gap is None else _usable_that(e, np.asarray(gap <= 0.0))


_WISHES = (
    Metric("hap", "acts on what the person finds hardest, over usable", "share", _USABLE, _hardest),
    Metric("gtp", "distance to the profile the person truly wants, over usable",
           "ranges", _USABLE, lambda e: _ideal(e, 0)),
    Metric("gtd", "1 - cosine with the change the person truly wants, over usable",
           "1 - cosine", _USABLE, lambda e: _ideal(e, 1)),
    Metric("proved_cheapest", "the cheapest possible option, proved, among usable", "share", _USABLE, _proved),
    Metric("gap_at_most", "cost / the least that was proved possible - 1, over usable with a proof",
           "share of that least cost", "people with a usable option and a proof", _gap),
    Metric("optimality_gap", "cost / oracle cost - 1, where both found",
           "share of the oracle's cost", "people whom both found an option", _optimality_gap),
)  # fmt: skip


# -- a person's options together ---------------------------------------------------------------------------

_SETS = (
    Metric("diversity", "mean pairwise distance of a person's usable options",
           "deviations", _SEVERAL, lambda e: e.diversity.get("dist"), "standard"),
    Metric("diversity_count", "mean share of features in which two options differ",
           "share", _SEVERAL, lambda e: e.diversity.get("count"), "standard"),
    Metric("diversity_dpp", "determinant of the similarity kernel of the options",
           "0 to 1", _SEVERAL, lambda e: e.diversity.get("dpp"), "standard"),
    Metric("set_validity", "distinct usable options / k",
           "share", _ASKED, lambda e: e.diversity.get("set_validity"), "standard"),
    Metric("set_proximity", "minus the mean MAD distance of the options",
           "deviations", _USABLE, lambda e: e.diversity.get("set_proximity"), "standard"),
    Metric("set_proximity_categorical", "1 - mean share of categories changed",
           "share", _USABLE, lambda e: e.diversity.get("set_proximity_categorical"), "standard"),
    Metric("set_sparsity", "1 - mean share of features changed",
           "share", _USABLE, lambda e: e.diversity.get("set_sparsity"), "standard"),
)  # fmt: skip

BUILT_IN: tuple[Metric, ...] = (*_RATES, *_COSTS, *_CHANGES, *_LIKENESS, *_WISHES, *_SETS)
