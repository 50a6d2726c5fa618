"""Twins: the same person, had they belonged to another group, with everything that would have followed from it.

A person's twin comes from the causal world: do(attribute = other group), what is particular to the person kept. If the
decision or the cost of a plan differs between the two, the attribute makes the difference and nothing else can.

Source: J. von Kuegelgen, A.-H. Karimi, U. Bhatt, I. Valera, A. Weller & B. Schoelkopf (2022), On the Fairness of Causal
Algorithmic Recourse, AAAI.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.answers import words
from wayforward.errors import WayforwardError, WorldError
from wayforward.evaluate import stats
from wayforward.evaluate.actions import out_of_domain
from wayforward.evaluate.stats import Estimate
from wayforward.impact.privacy import (
    FEWEST,
    FEWEST_SPREAD,
    in_steps_of_people,
    mean_in_steps,
    mean_of_enough,
    rate_in_steps,
)
from wayforward.language import Translatable, gettext, reason
from wayforward.public import public
from wayforward.shapes import Floats, Ints, People, PerPerson, Rows
from wayforward.world.base import leads_nowhere

if TYPE_CHECKING:
    from wayforward.groups import Groups
    from wayforward.methods import Method
    from wayforward.preferences import Preferences
    from wayforward.problem import Problem

SAME = 0.01  # costs that differ by less count as the same


@public
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


@public
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

    def as_told(self, groups: Collection[str], n: int, fewest: int = FEWEST) -> Twins:
        """Return what may be told of the twins of n people: nothing of people, or twins, of other groups than these.

        All of it in steps that three people make, and nothing of fewer than ten: who has a plan, as well as their twin,
        and what a twin pays, is in no sum of an audit.
        """
        enough = max(fewest, FEWEST_SPREAD)
        pairs = tuple(
            replace(
                pair, accepted=rate_in_steps(pair.accepted), difference=mean_in_steps(pair.difference, pair.people),
                one_sided=rate_in_steps(pair.one_sided),
            )
            for pair in self.pairs
            if {pair.group, pair.other} <= set(groups) and pair.people >= enough
        )  # fmt: skip
        return replace(
            self, pairs=pairs, individual=mean_in_steps(self.individual, n), larger=rate_in_steps(self.larger, n),
            people=in_steps_of_people(self.people, n),
        )  # fmt: skip

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


def _world_cannot(error: WayforwardError) -> str:
    return gettext("the world cannot make them: {why}", why=reason(error))


def why_no_twins(problem: Problem, groups: Groups) -> str:
    """Return '' where twins can be made, else the reason in words."""
    if groups.feature is None:
        return Translatable(
            lambda: gettext(
                "the model does not see {name}, so the world cannot say who people would be in another group",
                name=words.in_quotes(groups.name),
            )
        )
    if problem.world.nothing_follows:
        feature = problem.schema.features[groups.feature]
        return Translatable(
            lambda: gettext(
                "no causal world was given (--world), so nothing says what else would differ had {name} been another",
                name=words.in_quotes(words.label(feature)),
            )
        )
    return ""


@public
def twins(
    problem: Problem,
    method: Method,
    x: People,
    cost: PerPerson,
    groups: Groups,
    *,
    preferences: Preferences | None = None,
    seed: int = 0,
    budget: int | None = None,
) -> Twins:
    """Compare refused people x with their twins: cost (n,) of each person's own plan, NaN or inf where none.

    method: already fitted to the problem; twins whom the model refuses are answered with the same seed and budget.
    """
    reason = why_no_twins(problem, groups)
    if reason:
        return Twins(groups.name, reason)
    assert groups.feature is not None
    n, feature = len(x), problem.schema.features[groups.feature]
    representative = _representatives(problem, x, groups)
    own = np.where(np.isfinite(cost), cost, np.inf)
    largest, known = np.zeros(n), np.zeros(n, dtype=bool)  # difference in cost to any twin
    pairs, impossible = [], 0
    for g, value in enumerate(representative):
        others = np.flatnonzero((groups.member >= 0) & (groups.member != g))
        if not np.isfinite(value) or not others.size:
            continue
        try:
            who, twin = _twins_of(problem, x, others, groups.feature, float(value))
        except WorldError as error:
            return Twins(
                groups.name,
                Translatable(partial(_world_cannot, error)),
            )
        impossible += others.size - who.size
        if not who.size:
            continue
        accepted = problem.reached(twin)[0]
        paid = np.zeros(who.size)
        if (~accepted).any():
            wishes = None if preferences is None else preferences.take(who[~accepted])
            got = method.recommend(twin[~accepted], 1, preferences=wishes, seed=seed, budget=budget)
            paid[~accepted] = got.plain_cost[:, 0]
        has_plan, has_own = np.isfinite(paid), np.isfinite(own[who])
        both = has_plan & has_own
        apart = np.full(who.size, np.nan)
        apart[both] = paid[both] - own[who[both]]
        largest[who[both]] = np.maximum(largest[who[both]], np.abs(apart[both]))
        known[who[both]] = True
        for a, name in enumerate(groups.names):
            mine = groups.member[who] == a
            if mine.any():
                pairs.append(
                    TwinPair(
                        name, groups.names[g], int(mine.sum()), stats.rate(accepted[mine]),
                        mean_of_enough(apart[mine], seed), stats.rate((has_plan != has_own)[mine]),
                    )
                )  # fmt: skip
    if not pairs:
        nobody = Translatable(lambda: gettext("no twin is a person whom the schema allows"))
        return Twins(groups.name, nobody, impossible=impossible)
    named = zip(groups.names, representative, strict=True)
    return Twins(
        groups.name,
        values=tuple(
            (name, Translatable(partial(words.own_text, feature, v))) for name, v in named if v == v
        ),
        pairs=tuple(pairs),
        individual=mean_of_enough(largest[known], seed),
        larger=stats.rate(largest[known] > SAME) if known.sum() >= FEWEST else stats.NOTHING,
        people=int(known.sum()),
        impossible=impossible,
    )


def _twins_of(problem: Problem, x: People, who: Ints, feature: int, value: float) -> tuple[Ints, Rows]:
    """Set a feature of the people who (m,) and let the world follow; return those whose twin the schema allows.

    Raises: WorldError where the world cannot say what follows.
    """
    schema = problem.schema
    act = np.full((who.size, schema.d), np.nan)
    act[:, feature] = value
    twin = np.asarray(problem.consequences(x[who], act), dtype=np.float64)
    real = ~leads_nowhere(x[who], twin) & ~(out_of_domain(schema, twin) & schema.differs(twin, x[who])).any(
        -1
    )
    return who[real], twin[real]


def _representatives(problem: Problem, x: People, groups: Groups) -> Floats:
    """Return the value that represents each group (g,): its level, or the median of a quantity that was cut.

    NaN for a group of nobody, and of so few that the median would tell what somebody has.
    """
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
        if seen.size >= FEWEST_SPREAD:  # of fewer it would tell somebody's own value
            middle[g] = seen[(seen.size - 1) // 2]  # a value that somebody has, never one between two
    return middle
