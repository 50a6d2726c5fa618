"""Twins: the same person, had they belonged to another group, with everything that would have followed from it.

A person's twin comes from the causal world: do(attribute = other group), what is particular to the person kept. If the
decision or the cost of a plan differs between the two, the attribute makes the difference and nothing else can.

Source: J. von Kuegelgen, A.-H. Karimi, U. Bhatt, I. Valera, A. Weller & B. Schoelkopf (2022), On the Fairness of Causal
Algorithmic Recourse, AAAI.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.errors import WorldError
from wayforward.evaluate import stats
from wayforward.evaluate.actions import out_of_domain
from wayforward.evaluate.stats import Estimate
from wayforward.world import Independent

if TYPE_CHECKING:
    from wayforward.groups import Groups
    from wayforward.methods import Method
    from wayforward.preferences import Preferences
    from wayforward.problem import Problem

_TELLS = 3  # people: a mean over fewer would tell of a person
SAME = 0.01  # costs that differ by less are told as the same


@dataclass(frozen=True)
class TwinPair:
    """Refused people of one group beside their twins in another.

    people: with a twin whom the world can make and the schema allows. accepted: share whose twin the model accepts.
    difference: mean of the twin's cost minus the person's, an accepted twin paying nothing; over people where both are
    known. one_sided: share where a plan was found for one of the two only.
    """

    group: str
    other: str
    people: int
    accepted: Estimate
    difference: Estimate
    one_sided: Estimate

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "group": self.group,
            "other": self.other,
            "people": self.people,
            "twin_accepted": self.accepted.to_dict(),
            "cost_difference": self.difference.to_dict(),
            "plan_for_one_only": self.one_sided.to_dict(),
        }


@dataclass(frozen=True)
class Twins:
    """What the attribute alone does, by twins; or why nothing can be said.

    values: what do(attribute = ...) sets for each group, in words. individual: mean over people of the largest
    difference in cost from any of their twins. larger: share of people for whom it is more than 0.01. why_not: empty,
    or why there are no twins.
    """

    attribute: str
    why_not: str = ""
    values: tuple[tuple[str, str], ...] = ()
    pairs: tuple[TwinPair, ...] = ()
    individual: Estimate = stats.NOTHING
    larger: Estimate = stats.NOTHING
    people: int = 0
    impossible: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        if self.why_not:
            return {"attribute": self.attribute, "why_not": self.why_not}
        return {
            "attribute": self.attribute,
            "people": self.people,
            "twins_impossible": self.impossible,
            "do": dict(self.values),
            "largest_cost_difference": self.individual.to_dict(),
            "differs": self.larger.to_dict(),
            "pairs": [pair.to_dict() for pair in self.pairs],
        }


def why_no_twins(problem: Problem, groups: Groups) -> str:
    """Empty where twins can be made; else the reason, for people."""
    if groups.feature is None:
        return (
            f"the model does not see '{groups.name}', so the world cannot say who people would be "
            "in another group"
        )
    if isinstance(problem.world, Independent):
        return (
            f"no causal world was given (--world), so nothing says what else would differ had '{groups.name}' "
            "been another"
        )
    return ""


def twins(
    problem: Problem,
    method: Method,
    x: np.ndarray,
    cost: np.ndarray,
    groups: Groups,
    *,
    preferences: Preferences | None = None,
    seed: int = 0,
    budget: int | None = None,
) -> Twins:
    """Compare refused people x (n, d) with their twins: cost (n,) of each person's own plan, NaN or inf where none.

    method: already fitted to the problem; twins whom the model refuses are answered with the same seed and budget.
    """
    reason = why_no_twins(problem, groups)
    if reason:
        return Twins(groups.name, reason)
    assert groups.feature is not None
    from wayforward.answers import words

    n, j = len(x), groups.feature
    schema, feature = problem.schema, problem.schema.features[j]
    wanted = _representatives(problem, x, groups)
    own = np.where(np.isfinite(cost), cost, np.inf)
    worst, known = np.zeros(n), np.zeros(n, dtype=bool)
    pairs, impossible = [], 0
    for g, value in enumerate(wanted):
        if not np.isfinite(value):
            continue
        who = np.flatnonzero((groups.member >= 0) & (groups.member != g))
        if not who.size:
            continue
        act = np.full((who.size, schema.d), np.nan)
        act[:, j] = value
        try:
            twin = np.asarray(problem.consequences(x[who], act), dtype=np.float64)
        except WorldError as error:
            return Twins(groups.name, f"the world cannot make them: {error}")
        real = ~(out_of_domain(schema, twin) & schema.differs(twin, x[who])).any(-1)
        impossible += int((~real).sum())
        who, twin = who[real], twin[real]
        if not who.size:
            continue
        yes = problem.reached(twin)[0]
        paid = np.zeros(who.size)
        if (~yes).any():
            wishes = None if preferences is None else preferences.take(who[~yes])
            got = method.recommend(twin[~yes], 1, preferences=wishes, seed=seed, budget=budget)
            paid[~yes] = got.plain_cost[:, 0]
        paid = np.where(np.isfinite(paid), paid, np.inf)
        both = np.isfinite(paid) & np.isfinite(own[who])
        apart = np.full(who.size, np.nan)
        apart[both] = paid[both] - own[who[both]]
        worst[who[both]] = np.maximum(worst[who[both]], np.abs(apart[both]))
        known[who[both]] = True
        one_sided = np.isfinite(paid) != np.isfinite(own[who])
        for a, name in enumerate(groups.names):
            mine = groups.member[who] == a
            if mine.any():
                pairs.append(
                    TwinPair(
                        name, groups.names[g], int(mine.sum()), stats.rate(yes[mine]),
                        _mean(apart[mine], seed), stats.rate(one_sided[mine]),
                    )
                )  # fmt: skip
    if not pairs:
        return Twins(groups.name, "no twin is a person whom the schema allows", impossible=impossible)
    return Twins(
        groups.name,
        values=tuple(
            (name, words.now_text(feature, v)) for name, v in zip(groups.names, wanted, strict=True) if v == v
        ),
        pairs=tuple(pairs),
        individual=_mean(worst[known], seed),
        larger=stats.rate(worst[known] > SAME),
        people=int(known.sum()),
        impossible=impossible,
    )


def _mean(values: np.ndarray, seed: int) -> Estimate:
    """A mean, unless it is of so few that it would tell of a person."""
    found = stats.mean(values, seed=seed)
    return found if found.n >= _TELLS else stats.NOTHING


def _representatives(problem: Problem, x: np.ndarray, groups: Groups) -> np.ndarray:
    """(g,) the value that stands for a group: its level, or the median of a quantity that was cut; NaN for nobody."""
    schema, j = problem.schema, groups.feature
    assert j is not None
    feature = schema.features[j]
    column = x[:, j]
    known = groups.member >= 0
    if feature.has_levels and groups.n_groups == feature.n_levels and (groups.member == column)[known].all():
        return np.arange(groups.n_groups, dtype=np.float64)
    middle = np.full(groups.n_groups, np.nan)
    for g in range(groups.n_groups):
        seen = np.sort(column[groups.mask(g) & np.isfinite(column)])
        if seen.size:
            middle[g] = seen[(seen.size - 1) // 2]  # a value that somebody has, never one between two
    return middle
