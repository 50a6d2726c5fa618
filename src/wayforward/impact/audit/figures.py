"""Figures of one group: who is refused, who has a plan, what it costs, and over whom each number is.

Sources: burden from S. Sharma, J. Henderson & J. Ghosh (2020), AIES; group costs from V. Gupta et al. (2019),
Equalizing Recourse across Groups; equal effectiveness from L. Kavouras et al. (2023), NeurIPS (FACTS); recourse and
fairness in A.-H. Karimi et al. (2022), ACM Comput. Surv. 55(5), section 5.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.answers import words
from wayforward.errors import WayforwardError
from wayforward.evaluate import stats
from wayforward.evaluate.stats import NOTHING, Estimate
from wayforward.impact.audit.gaps import plain_number
from wayforward.impact.privacy import FEWEST, FEWEST_SPREAD, alone, around, of_enough, steps_of_enough
from wayforward.language import N_
from wayforward.lazy import Renamed, cached_property
from wayforward.public import public
from wayforward.recourse import Outcome
from wayforward.shapes import Floats, Ints, Mask, People, PersonMask

if TYPE_CHECKING:
    from wayforward.evaluate import Evaluation
    from wayforward.groups import Groups
    from wayforward.methods import Method
    from wayforward.preferences import Preferences
    from wayforward.problem import Problem
    from wayforward.recourse import Recourse

Progress = Callable[[str, int, int], None]  # (stage, done, in all)

# What each figure of a group means, and over whom; tables keep this order.
MEANING: dict[str, str] = {
    "refused": N_("refused by the model, of all people"),
    "usable": N_("have a usable plan, of those answered"),
    "proved": N_("proved: no allowed change helps, of those answered"),
    "not_found": N_("no plan found and none excluded, of those answered"),
    "valid": N_("have a plan that the model accepts, usable or not, of those answered"),
    "plausible": N_("have a usable plan that looks like people who are accepted, of those answered"),
    "copies": N_("have a plan that is the whole row of a person of the table, of those with a plan"),
    "cost": N_("mean cost of the plan, of those with a usable one"),
    "burden": N_(
        "mean straight-line (Euclidean) distance from the person to where the plan leads, every range counting as 1 "
        "and another level as 1, of those with a usable one"
    ),
    "cost_all": N_(
        "mean cost in shares of ranges, whoever has no plan counting as the dearest plan, of those answered"
    ),
    "log_density": N_("mean log-density where the plan leads, in the world, of those with a usable one"),
    "density_gain": N_("mean gain in log-density by the plan, of those with a usable one"),
    "likely": N_("plan leads to somebody at least as likely, of those with a usable one"),
}
RATES = ("refused", "usable", "proved", "not_found", "valid", "plausible", "copies", "likely")
SHARES_SERVED = (0.25, 0.5, 0.75, 0.9)


@public
@dataclass(frozen=True)
class GroupFigures:
    """What was measured of one group.

    people, refused, answered: how many; found, proved, open: how the answered ended. figures: name -> Estimate, see
    `MEANING`; the n of each is its denominator. acted_on: (d,) share of the group's plans that act on each feature.
    served: share of the answered whom each common budget serves. needed: cost within which a quarter, half, three
    quarters and nine in ten of the answered are served, inf where so many never are. compared: enough answered
    people to; compared_refused: enough people to compare who is refused, which needs no answer.
    withheld: so few that a mean would tell of a person; how many were refused and answered is published. Where one or
    two have a plan, acted_on, served, needed and curve are withheld, too. hidden: why nothing of the group is on the
    page and in JSON, counts included; '' where it is published. counts_withheld: how the answered ended is not told,
    either.
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
    acted_on: tuple[float, ...]
    served: tuple[Estimate, ...] = ()
    needed: tuple[Estimate, ...] = ()
    curve: tuple[float, ...] = ()
    withheld: bool = False
    hidden: str = ""
    counts_withheld: bool = False

    asked_for = Renamed("acted_on")

    def to_dict(self, names: Sequence[str]) -> dict[str, Any]:
        """Plain values for JSON; names: of the features."""
        counts: dict[str, int | None] = {
            "people": self.people,
            "refused": self.refused,
            "answered": self.answered,
            "found": self.found,
            "none_exists": self.proved,
            "not_found": self.open,
        }
        if self.counts_withheld:
            counts |= dict.fromkeys(("found", "none_exists", "not_found"))
        return {
            "group": self.name,
            **(dict.fromkeys(counts) | {"why_withheld": self.hidden} if self.hidden else counts),
            "compared": self.compared,
            "compared_in_refusal": self.compared_refused,
            "withheld": self.withheld,
            "figures": {name: e.to_dict() for name, e in self.figures.items()},
            "asked_for": {n: plain_number(v) for n, v in zip(names, self.acted_on, strict=True)},
            "served_within_budget": [e.to_dict() for e in self.served],
            "cost_to_serve": [e.to_dict() for e in self.needed],
        }


@dataclass(frozen=True, eq=False)
class Measured:
    """Everything measured once, before groups are compared.

    x (n, d): everybody; refused (n,); who (m,): positions of those answered; recourse, judged: their plans and what
    an evaluation says of them; measures: name -> (m,), 1 or 0 for rates (NaN: does not apply), numbers for means
    (NaN: no usable plan). attributes: compared along. fewest: of fewer nothing is told. budgets, grid: common costs
    at which the share served is measured. second_cost (m,): of a second method's plans, NaN where it has none; None
    without one. notes: what could not be measured, added to on the way.
    """

    problem: Problem
    method: Method
    x: People
    refused: PersonMask
    who: Ints
    recourse: Recourse
    judged: Evaluation
    measures: dict[str, Floats]
    attributes: Sequence[Groups]
    preferences: Preferences | None
    budgets: tuple[float, ...]
    grid: tuple[float, ...]
    smallest: int
    fewest: int
    seed: int
    budget: int | None
    notes: list[str]
    progress: Progress
    second: str | None = None
    second_cost: Floats | None = None

    @property
    def answered(self) -> People:
        """(m, d) the people answered."""
        return np.asarray(self.x[self.who])

    @property
    def has_cost(self) -> PersonMask:
        """(m,) bool: has a usable plan, so that its cost counts."""
        return np.asarray(np.isfinite(self.measures["cost"]))

    @cached_property
    def without_differences(self) -> set[str]:
        """Measures that are the same for everybody, or the same as another one: decided without looking at groups."""
        out = set()
        for name, values in self.measures.items():
            known = values[np.isfinite(values)]
            if not known.size or np.ptp(known) == 0:
                out.add(name)
        if np.allclose(self.measures["cost"], self.measures["cost_all"], equal_nan=True):
            out.add("cost_all")
        return out


def knows_density(problem: Problem, x: People) -> bool:
    """Return whether the problem's world says how likely a person is."""
    if problem.independent:
        return False
    try:
        problem.world.log_density(x[:1])
    except WayforwardError:
        return False
    return True


def measures_of(problem: Problem, judged: Evaluation, dense: bool) -> dict[str, Floats]:
    """Return name -> (m,): 1, 0 for rates (NaN: does not apply), numbers for means (NaN: no usable plan)."""
    usable = judged.people["usable"] > 0
    # The evaluation found a usable plan or did not; a proof counts only where no plan does.
    proved = (judged.outcome == Outcome.NONE_EXISTS) & ~usable
    out: dict[str, Floats] = {
        "usable": usable.astype(np.float64),
        "proved": proved.astype(np.float64),
        "not_found": (~usable & ~proved).astype(np.float64),
        "valid": judged.people["validity"],
        "plausible": judged.people["usable_plausible"],
        "copies": judged.people.get("copies_people", np.full(len(usable), np.nan)),
        "cost": judged.people["cost"],
        "burden": judged.people["proximity"],
        "cost_all": judged.people["cost_l1_range_all"],
    }
    out["cost"] = np.where(usable, out["cost"], np.nan)
    if problem.cost.unit == words.RANGES and problem.cost.step_sum() == (0.0, 1.0, 0.0):
        # The evaluation counts what follows from an act in a world as well; a plan costs what the person does.
        out["cost_all"] = np.where(usable, out["cost"], out["cost_all"])
    if not problem.schema.actionable.any():  # where nothing may be done, nothing is the dearest plan
        out["cost_all"] = np.full(len(usable), np.nan)
    if dense:
        out["density_gain"] = judged.people["density_gain"]
        out["likely"] = judged.people["density_at_least"]
        before = np.full(len(usable), np.nan)
        if usable.any():
            before[usable] = problem.world.log_density(judged.x[usable])
        out["log_density"] = before + out["density_gain"]
    return out


def group_figures(measured: Measured, name: str, member: Mask) -> GroupFigures:
    """Return everything about one group; member (n,) bool."""
    mine = member[measured.who]
    counted = {
        key: int((measured.measures[key][mine] > 0).sum()) for key in ("usable", "proved", "not_found")
    }
    withheld = 0 < int(mine.sum()) < measured.fewest
    cost = np.where(measured.has_cost, measured.measures["cost"], np.inf)[mine]
    cost = cost[:0] if withheld else cost
    acted = measured.judged.acted[mine & measured.has_cost]
    few = 0 < len(acted) < measured.fewest  # so few plans that what they cost and change is that of a person
    acted = acted[: 0 if withheld or few else None]
    spread = not withheld and counted["usable"] >= FEWEST_SPREAD
    d = measured.x.shape[1]
    enough = max(measured.smallest, measured.fewest)
    return GroupFigures(
        name=name,
        people=int(member.sum()),
        refused=int(measured.refused[member].sum()),
        answered=int(mine.sum()),
        found=counted["usable"],
        proved=counted["proved"],
        open=counted["not_found"],
        compared=int(mine.sum()) >= enough,
        compared_refused=int(member.sum()) >= enough,
        figures=_estimates(measured, member, mine, withheld),
        acted_on=tuple(float(v) for v in acted.mean(0)) if len(acted) else (float("nan"),) * d,
        served=tuple(stats.rate(cost <= b * (1 + 1e-12)) if spread else NOTHING for b in measured.budgets),
        needed=tuple(_cost_to_serve(cost, share) if spread else NOTHING for share in SHARES_SERVED),
        curve=_curve(cost, measured.grid) if spread else (),
        withheld=withheld,
        counts_withheld=withheld,
    )


def _estimates(measured: Measured, member: Mask, mine: Mask, withheld: bool) -> dict[str, Estimate]:
    """Return each measure over the group's answered people (m,) bool, in the order of `MEANING`; none withheld."""
    found = {"refused": stats.rate(measured.refused[member])}
    means: dict[str, Floats] = {}
    for key, values in measured.measures.items():
        if key in RATES:
            part = values[mine]
            share = stats.rate(part > 0, np.isfinite(part))
            found[key] = share if share.n >= measured.fewest else NOTHING
        else:
            means[key] = values[mine]
    plans = int((measured.has_cost & mine).sum())
    for key, e in stats.means(means, seed=measured.seed).items():
        # What counts no plan as the dearest tells what those who have one pay, of how many it ever is.
        enough = e.n >= measured.fewest and not 0 < plans < measured.fewest
        found[key] = (
            NOTHING if not enough else alone(e) if 0 < plans < FEWEST_SPREAD else of_enough(e, means[key])
        )
    if withheld:
        found = {key: e if key == "refused" else NOTHING for key, e in found.items()}
    return {key: found[key] for key in MEANING if key in found}


def _curve(cost: Floats, grid: Sequence[float]) -> tuple[float, ...]:
    """Return the share whose cost (n,) stays within each of `grid`, in steps that are of three people or more."""
    counts = np.searchsorted(np.sort(cost), grid, side="right")
    return tuple(float(v) for v in steps_of_enough(counts, int(np.isfinite(cost).sum())) / len(cost))


def _cost_to_serve(cost: Floats, share: float) -> Estimate:
    """Return about the least cost within which a share of the group is served, inf where it never is.

    The interval is that of order statistics. Each is the mean of the three costs around it, so that it is nobody's own,
    and NaN where fewer than three people have less or more.
    """
    from scipy.stats import binom

    n = len(cost)
    if not n:
        return NOTHING
    plans = np.sort(cost[np.isfinite(cost)])
    low, high = binom.ppf(0.025, n, share), binom.ppf(0.975, n, share)
    ranks = [int(np.clip(np.ceil(v), 1, n)) for v in (share * n, low, high + 1)]
    value, least, greatest = (_at_rank(plans, n, rank) for rank in ranks)
    return NOTHING if np.isnan(value) else Estimate(value, least, greatest, n)


def _at_rank(plans: Floats, n: int, rank: int) -> float:
    """Return the cost of this rank (from 1) of n people, of whom some have plans (rising), as it may be told."""
    if rank > len(plans):
        return float("inf")
    return around(plans, rank) if FEWEST <= rank <= n - FEWEST else float("nan")
