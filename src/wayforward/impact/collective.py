"""Recourse that people seek together: they change what nobody could change alone, and what is so for everybody."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.errors import DataError, is_number, require_kind, shown
from wayforward.language import gettext, marks, ngettext
from wayforward.methods import chosen_method
from wayforward.methods.base import Method
from wayforward.problem import Problem
from wayforward.public import public
from wayforward.shapes import PerPerson, PersonMask

if TYPE_CHECKING:
    from wayforward.preferences import Preferences
    from wayforward.schema import Feature


@public
@dataclass(frozen=True)
class Collective:
    """What a change for everybody is worth to n people who are refused today.

    alone, together (n,): cost of each one's own cheapest option before and after the change, the problem's unit; 0
    where the change alone turns the decision, inf where nothing was found. price: of the change, in the same unit, paid
    by its members in equal shares. members (n,) bool: the largest group of whom nobody pays more than the change saves
    them. fewest: members without whom no such group exists; None where there is none of any size.
    """

    alone: PerPerson
    together: PerPerson
    price: float
    members: PersonMask
    fewest: int | None

    @property
    def saving(self) -> PerPerson:
        """(n,) what the change saves each of them, inf where it opens a way that nobody found without it."""
        nowhere = np.isinf(self.alone) & np.isinf(self.together)
        with np.errstate(invalid="ignore"):
            return np.where(nowhere, 0.0, self.alone - self.together)

    @property
    def share(self) -> float:
        """What each member pays; NaN where there is no group."""
        return self.price / self.members.sum() if self.members.any() else float("nan")

    @property
    def riders(self) -> PersonMask:
        """(n,) bool: people who gain by the change and are no members, since their share would be more than that."""
        return np.asarray((self.saving > 0) & ~self.members)

    @property
    def opened(self) -> PersonMask:
        """(n,) bool: people who have an option, or need none, by the change alone."""
        return np.asarray(np.isinf(self.alone) & np.isfinite(self.together))

    def describe(self) -> str:
        """The result in a sentence; no person's own numbers."""
        n, paying, riders, opened = (
            int(part) for part in (len(self.alone), self.members.sum(), self.riders.sum(), self.opened.sum())
        )
        if not paying:
            return gettext("No group of these {n} people gains by the change as much as it costs them.", n=n)
        parts = [
            ngettext(
                "{n} of {all} people gains by the change at least a share of {share}.",
                "{n} of {all} people gain by the change at least their share of {share} each.",
                paying,
                all=marks(f"{n:,}"),
                share=marks(f"{self.share:.3g}"),
            )
        ]
        if self.fewest is not None and self.fewest < paying:
            parts.append(
                ngettext("{n} of them would be enough.", "{n} of them would be enough.", self.fewest)
            )
        if riders:
            parts.append(
                ngettext("{n} other gains and does not pay.", "{n} others gain and do not pay.", riders)
            )
        if opened:
            parts.append(
                ngettext(
                    "It opens a way for {n} person who had none.",
                    "It opens a way for {n} people who had none.",
                    opened,
                )
            )
        return " ".join(parts)


@public
def act_together(
    problem: Problem,
    x: Any,
    change: Mapping[str, Any],
    price: float,
    *,
    method: str | Method = "local-search",
    preferences: Preferences | None = None,
    seed: int = 0,
) -> Collective:
    """Ask whether people (n, d) should change together what none of them can change alone.

    change: context feature -> the value that it then has for everybody, as the schema spells it. It acts as an
    intervention in the problem's world, so that what hangs on the context follows. price: what bringing it about costs
    in all, in the unit of the problem's cost. Each person's own options are searched before and after by `method`.

    A group holds if nobody in it pays more than they save: with savings sorted from the greatest, groups of m people
    for which the m-th saving is price / m at least. Where what many people do moves the model too, `play` a society.
    Raises: DataError for a feature that is none or that people can act on alone, and for a price below 0.
    Source: A.-H. Karimi, G. Barthe, B. Schoelkopf & I. Valera (2022), A survey of algorithmic recourse, section 5.3.
    Example: ``act_together(problem, refused, {"interest_rate": 2.5}, price=4.0).describe()``.
    """
    require_kind(problem, Problem, "problem")
    if not is_number(price) or price < 0:
        raise DataError(f"price={shown(price)} is no cost. Give 0 or more, in {problem.cost.unit}.")
    if not isinstance(change, Mapping) or not change:
        raise DataError(f"change={shown(change)} is none. Give {{feature: value}}.")
    schema, people = problem.schema, problem.schema.encode(x)
    action = np.full(people.shape, np.nan)
    for name, value in change.items():
        feature = schema[name]
        if feature.actionability == "actionable":
            raise DataError(f"change: each person can act on '{name}' alone. Name what nobody can.")
        if feature.carried:
            raise DataError(
                f"change: '{name}' is carried as it is, a person's own. Name what is the same for many."
            )
        action[:, schema.index(name)] = _coded(feature, value)
    after = problem.consequences(people, action)
    chosen = chosen_method(method).fit(problem)
    alone, together = (
        _costs(problem, chosen.recommend(rows, 1, preferences=preferences, seed=seed))
        for rows in (people, after)
    )
    found = Collective(alone, together, float(price), np.zeros(len(people), dtype=bool), None)
    saving = found.saving
    order = np.argsort(-saving, kind="stable")
    sizes = np.arange(1, len(order) + 1)
    able = sizes[(saving[order] >= price / sizes - 1e-12) & (saving[order] > 0)]
    if not len(able):
        return found
    members = np.zeros(len(people), dtype=bool)
    members[order[: able[-1]]] = True
    return Collective(alone, together, float(price), members, int(able[0]))


def _coded(feature: Feature, value: Any) -> float:
    """A value in feature units, a level by its index. Raises: DataError for one that does not exist."""
    if feature.has_levels and isinstance(value, (bool, int, float, str)) and value in feature.levels:
        return float(feature.levels.index(value))
    low = -np.inf if feature.low is None else feature.low
    high = np.inf if feature.high is None else feature.high
    if feature.has_levels or not is_number(value) or not low <= value <= high:
        known = (
            f"one of {', '.join(map(str, feature.levels[:12]))}"
            if feature.has_levels
            else f"{low:g} to {high:g}"
        )
        raise DataError(
            f"change: '{feature.name}' cannot be {shown(value)}, for everybody. Give {known}: a value, no step."
        )
    return float(value)


def _costs(problem: Problem, recourse: Any) -> PerPerson:
    """(n,) cost of the first option, 0 for people who are accepted, inf where nothing was found."""
    cost = np.where(recourse.found[:, 0], recourse.cost[:, 0], np.inf)
    return np.where(recourse.accepted, 0.0, cost)
