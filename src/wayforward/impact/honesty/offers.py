"""What was offered beside what exists: cheaper options, other ways, costs that make somebody's easiest act look dear.

What exists is the union of what several methods find, judged by the library, and a proved bound where there is one. So
"cheaper options exist" is certain; "none is known" is not, unless it was proved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wayforward.evaluate.stats import NOTHING, Estimate
from wayforward.groups import Groups
from wayforward.impact.audit.gaps import Correction, Gap, correct, mean_gap
from wayforward.impact.audit.suppression import may_be_told
from wayforward.impact.privacy import FEWEST, FEWEST_SPREAD, mean_of_enough, rate_of_enough, rounded
from wayforward.methods import recommend
from wayforward.methods.certificates import certified
from wayforward.problem import Problem
from wayforward.problem.cost import cost_named
from wayforward.public import public
from wayforward.recourse import Recourse
from wayforward.shapes import PerPerson

SAME = 1e-6  # costs that differ by no more than this share are equal: rounding
WITHIN = 0.5  # another way counts if it costs no more than this share above the cheapest known
MUCH = 0.1  # of a cost: cheaper by more than this is worth telling
_WAYS = 5  # options a method is asked for


@public
@dataclass(frozen=True)
class Yardstick:
    """Offers by another cost than the offered one: how many people have an option that is cheaper by more than 10 %.

    avoided: features that these cheaper options act on and the offers do not, with the number of people, most first.
    """

    cost: str
    cheaper: Estimate
    avoided: tuple[tuple[str, int], ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "cost": self.cost,
            "cheaper": self.cheaper.to_dict(),
            "avoided": [list(one) for one in self.avoided],
        }


@public
@dataclass(frozen=True)
class Offers:
    """Shares are of people with an offer. proved: theirs is the cheapest possible. cheaper: a cheaper one is known.

    excess: mean share by which an offer costs more than the cheapest known. withheld: share of refused people without
    an offer for whom an option is known. one_way: share of people who were shown one set of features to act on,
    although another way exists that costs at most half more than the cheapest. gaps: excess by group, each beside
    everybody else, corrected for how many there are. yardsticks: the same offers by other costs. Of fewer than three
    people nothing is told (no values, None), and no gap of fewer than ten.
    """

    people: int | None
    methods: tuple[str, ...]
    proved: Estimate
    cheaper: Estimate
    excess: Estimate
    withheld: Estimate
    one_way: Estimate
    gaps: tuple[Gap, ...]
    yardsticks: tuple[Yardstick, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        shares = ("proved", "cheaper", "excess", "withheld", "one_way")
        return {
            "people": self.people, "methods": list(self.methods),
            **{name: getattr(self, name).to_dict() for name in shares},
            "gaps": [gap.to_dict() for gap in self.gaps], "yardsticks": [one.to_dict() for one in self.yardsticks],
        }  # fmt: skip


@public
def offers(
    problem: Problem,
    offered: Recourse,
    methods: Sequence[str],
    groups: Sequence[Groups] = (),
    costs: Sequence[str] = (),
    *,
    boxes: int = 2000,
    correction: Correction = "holm",
    seed: int = 0,
) -> Offers:
    """Compare offers (n people, with their preferences) with what methods find for the same people.

    costs: names of other costs. boxes: looked at for a person before the proof is given up; 0 proves nothing. Offers
    that were made for another problem, or read from a file, are judged by this one.
    """
    offered = judged(problem, offered)
    every = union(problem, offered, methods, seed)
    found, refused = offered.found[:, 0], offered.refused
    paid, best = offered.cost[:, 0], every.cost[:, 0]
    with np.errstate(invalid="ignore", divide="ignore"):
        excess = np.where(found, np.maximum(paid / np.fmin(best, paid) - 1, 0.0), np.nan)
    excess = np.where(excess < SAME, 0.0, excess)
    proved = NOTHING
    if boxes:
        proved = rate_of_enough(certified(offered, boxes=boxes).proved_cheapest, found)
    return Offers(
        int(found.sum()) if refused.sum() >= FEWEST else None, tuple(methods), proved,
        rate_of_enough(excess > 0, found), mean_of_enough(excess, seed),
        rate_of_enough(every.found[:, 0], refused & ~found),
        rate_of_enough(_other_ways(offered, every) & (_ways_shown(offered) == 1), found),
        tuple(correct(_gaps(excess, groups, seed), correction)),
        tuple(_yardstick(problem, offered, every, name, methods[0], seed) for name in costs),
    )  # fmt: skip


def judged(problem: Problem, offered: Recourse) -> Recourse:
    """Return offers as this problem counts them: what another one said of costs compares with none of its own."""
    return offered if offered.problem is problem else offered.judged_by(problem)


def union(problem: Problem, offered: Recourse, methods: Sequence[str], seed: int) -> Recourse:
    """Return the options of several methods for the same people and wishes, the cheapest first, judged together."""
    found = [
        recommend(problem, offered.x, name, _WAYS, preferences=offered.preferences, seed=seed).action
        for name in methods
    ]
    return problem.check(
        offered.x, np.concatenate([offered.action, *found], axis=1), _WAYS + offered.k,
        preferences=offered.preferences, method="union",
    )  # fmt: skip


def _ways_shown(offered: Recourse) -> np.ndarray:
    """(n,) different sets of features that a person's options act on."""
    code = (
        (offered.acted @ (1 << np.arange(offered.d, dtype=np.int64)))
        if offered.d < 62
        else offered.acted.sum(2)
    )
    code = np.where(offered.found, code, -1)
    ordered = np.sort(code, axis=1)
    first = np.concatenate([ordered[:, :1] >= 0, (np.diff(ordered, axis=1) > 0)], axis=1)
    return np.asarray((first & (ordered >= 0)).sum(1))


def _other_ways(offered: Recourse, every: Recourse) -> np.ndarray:
    """(n,) bool: an affordable option exists whose acts hold no offered set of acts."""
    holds = (every.acted[:, :, None] >= offered.acted[:, None]).all(3) & offered.found[:, None]
    affordable = every.found & (every.cost <= every.cost[:, :1] * (1 + WITHIN))
    return np.asarray((affordable & ~holds.any(2)).any(1))


def _gaps(excess: PerPerson, groups: Sequence[Groups], seed: int) -> list[Gap]:
    """Compare each group's excess (n,), NaN without an offer, with everybody else's; nothing of few follows from it."""
    known = np.isfinite(excess)
    excess, out = excess[known], []
    for one in groups:
        for name, mine in may_be_told(one.member[known], one, FEWEST, ()):
            others = ~mine
            counts = int(mine.sum()), int(others.sum())
            if min(counts) < FEWEST_SPREAD:
                continue  # its interval and its p-value would tell how far apart so few stand
            estimate, p = mean_gap(excess, mine, others, seed)
            values = float(excess[mine].mean()), float(excess[others].mean())
            out.append(Gap(one.name, "excess", name, "everybody else", estimate, values, counts, rounded(p)))
            if len(one.names) == 2:
                break  # the second group says the same
    return out


def _yardstick(
    problem: Problem, offered: Recourse, every: Recourse, name: str, method: str, seed: int
) -> Yardstick:
    """Measure offers by another cost, beside the union and what a search finds that minds this cost."""
    other = problem.with_(cost=cost_named(name))
    searched = recommend(other, offered.x, method, 1, preferences=offered.preferences, seed=seed)
    best = other.check(
        offered.x, np.concatenate([every.action, searched.action], axis=1), 1, preferences=offered.preferences
    )
    at = np.flatnonzero(offered.found[:, 0])
    paid = np.full(offered.n, np.nan)
    people = other.population(offered.x, offered.preferences)
    paid[at] = people.cost(at, offered.action[at, 0])
    with np.errstate(invalid="ignore"):
        cheaper = best.found[:, 0] & (best.cost[:, 0] < paid * (1 - MUCH))
    avoided = (best.acted[:, 0] & ~offered.acted[:, 0])[cheaper].sum(0)
    order = [int(j) for j in np.argsort(-avoided, kind="stable") if avoided[j] >= FEWEST]
    return Yardstick(
        name,
        rate_of_enough(cheaper, offered.found[:, 0]),
        tuple((offered.schema.names[j], int(avoided[j])) for j in order),
    )


__all__ = ["MUCH", "WITHIN", "Offers", "Yardstick", "judged", "offers", "union"]
