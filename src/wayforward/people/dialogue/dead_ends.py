"""No plan within the limits: which of them stand in the way, and which would be the cheapest to give up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from wayforward.answers import words
from wayforward.people.dialogue.shown_plans import ShownPlan
from wayforward.people.dialogue.wishes import HARD, Wish, given_up, preferences_of
from wayforward.preferences.preferences import Preferences

if TYPE_CHECKING:
    from wayforward.people.dialogue.course import Course

_MOST = 4  # limits that are named where they stand in the way


@dataclass(frozen=True)
class Relaxation:
    """Limits (positions in the list of wishes) that would have to give, and the plan that this opens."""

    wishes: tuple[int, ...]
    plan: ShownPlan


def find_relaxations(c: Course) -> list[Relaxation]:
    """Which limit, given up alone, would open a plan; where none would, which two, or all. The cheapest first."""
    hard = [i for i, wish in enumerate(c.wishes) if any(key in wish for key in HARD)]
    alone = [tuple(group) for group in _groups(c.wishes, hard)]
    for sets in (
        alone,
        [a + b for a, b in combinations(alone, 2)] if 2 < len(alone) <= 8 else [],
        [tuple(hard)],
    ):
        sets = [one for one in sets if one]
        if not sets:
            continue
        wishes = [
            preferences_of(c.schema, [w for i, w in enumerate(c.wishes) if i not in one]) for one in sets
        ]
        got = c.setup.base.recommend(
            np.repeat(c.x, len(sets), axis=0), 1, preferences=Preferences.concat(wishes), seed=c.setup.seed
        )
        action = np.where(got.found[:, :1], got.action[:, 0], np.nan)
        plans = c.rounder.judged(action, Preferences.concat(wishes))
        found = [
            Relaxation(tuple(sorted(one)), plan)
            for one, plan in zip(sets, plans, strict=True)
            if plan is not None
        ]
        if c.best is not None:  # only what would make it easier
            found = [relaxation for relaxation in found if relaxation.plan.cost < 0.95 * c.best.cost]
        if found or c.best is not None:
            return sorted(found, key=lambda relaxation: (relaxation.plan.cost, relaxation.wishes))[:_MOST]
    return []


def _groups(wishes: Sequence[Wish], hard: Sequence[int]) -> list[list[int]]:
    """Positions of hard wishes, those about one thing together: they are given up together."""
    groups: dict[str, list[int]] = {}
    for i in hard:
        about = wishes[i].get("feature", "months" if "months" in wishes[i] else "")
        about = f"act: {wishes[i]['act']}" if "act" in wishes[i] else about
        groups.setdefault(about, []).append(i)
    return list(groups.values())


def relaxation_text(c: Course, relaxation: Relaxation) -> str:
    """What giving up the limits of a way means, after "if you could"."""
    mine = [
        [c.wishes[i] for i in group if i in relaxation.wishes]
        for group in _groups(c.wishes, list(relaxation.wishes))
    ]
    return words.join([given_up(c.schema, wishes, c.x[0]) for wishes in mine])


def limits_broken(c: Course, plan: ShownPlan) -> tuple[int, ...]:
    """Positions of the limits that a plan breaks; () where no single one of them forbids it."""
    hard = [i for i, wish in enumerate(c.wishes) if any(key in wish for key in HARD)]
    broken = [
        group
        for group in _groups(c.wishes, hard)
        if c.rounder.as_they_are(plan.action[None], [c.wishes[i] for i in group])[0] is None
    ]
    return tuple(sorted(i for group in broken for i in group))
