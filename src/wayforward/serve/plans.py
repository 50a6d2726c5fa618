"""Plans for one applicant: what is worked out, and how a page shows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.language import gettext

if TYPE_CHECKING:
    from wayforward.methods import Method
    from wayforward.preferences import Preferences
    from wayforward.recourse import Recourse

KINDS = ("cheapest", "fewest", "lasting")
SEED = 0
_LASTING_ROWS = (
    3_000  # of the search for a lasting plan: of 60 people of gmsc no one who has one by all rows loses it
)


@dataclass(frozen=True)
class PlanText:
    """A plan as a page shows it. key: its place in the list, as text. table: rows of now and then."""

    key: str
    name: str
    steps: tuple[str, ...]
    follows: tuple[str, ...]
    notes: tuple[str, ...]
    table: tuple[dict[str, str], ...]
    action: tuple[float | None, ...]
    holds: bool = True
    price: str = ""  # the note of it, beside the cheapest
    cost: float = field(default=np.nan, repr=False)
    is_kept: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in vars(self).items()
            if name not in ("price", "cost")
        }


@dataclass(frozen=True)
class ComparedPlans:
    """Plans side by side. names: what they are called; rows: {"feature", "now", "then"} of what differs, `then` a text
    for each plan; same: sentences of what all of them have; effort: beside the easiest of them; notes: of each plan."""

    names: tuple[str, ...]
    rows: tuple[dict[str, Any], ...]
    same: tuple[str, ...]
    effort: tuple[str, ...]
    notes: tuple[tuple[str, ...], ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {**vars(self), "notes": [list(notes) for notes in self.notes]}


def compared(plans: Sequence[PlanText], names: Sequence[str]) -> ComparedPlans:
    """Two plans of one person or more, side by side: what all have in common once, and the rest in a table."""
    from wayforward.answers.kinds_text import effort_text

    cells = [{row["feature"]: row for row in plan.table} for plan in plans]
    features = list(dict.fromkeys(row["feature"] for plan in plans for row in plan.table))
    rows, same = [], []
    for feature in features:
        now = next(one[feature]["now"] for one in cells if feature in one)
        then = [one[feature]["then"] if feature in one else gettext("same") for one in cells]
        if len(set(then)) > 1:
            rows.append({"feature": feature, "now": now, "then": then})
        else:
            same.append(f"{_upper_first(feature)}: {now} → {then[0]}")
    of_plan = [[note for note in plan.notes if note != plan.price] for plan in plans]
    shared = [note for note in of_plan[0] if all(note in notes for notes in of_plan)]
    costs = [plan.cost for plan in plans]
    easiest = int(np.argmin(costs))
    least, first = gettext("the least effort of these"), names[easiest].partition(":")[0]  # "Plan 1"
    return ComparedPlans(
        names=tuple(names),
        rows=tuple(rows),
        same=(*same, *shared),
        effort=tuple(effort_text(cost / costs[easiest] - 1, first) or least for cost in costs),
        notes=tuple(tuple(note for note in notes if note not in shared) for notes in of_plan),
    )


@dataclass(frozen=True)
class WhatIf:
    """What the model says to other values. accepted: would the answer be yes? text: how near a yes. broken: why nobody
    could have these values, in sentences; [] if they are possible."""

    accepted: bool
    text: str
    broken: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"accepted": self.accepted, "text": self.text, "broken": list(self.broken)}


def plans_of(method: Method, x: np.ndarray, preferences: Preferences | None = None) -> Recourse:
    """One option of each kind, with room where it costs little, in the numbers that people are told.

    method: fitted to the problem.
    """
    from wayforward.methods.kinds import options_by_kind
    from wayforward.problem import as_told

    found = options_by_kind(
        method.problem_, method, x, KINDS, preferences=preferences, seed=SEED, lasting_budget=_LASTING_ROWS
    )
    return as_told(found)


def texts(found: Recourse, marked: set[tuple[float | None, ...]], slack: bool = True) -> list[PlanText]:
    """The options of the first person in words. Their numbers are told as they are: they were rounded when the plan was
    made, and a plan that is rounded again would be another one on each page. slack: say what else is enough for a yes,
    and how a plan bears small slips."""
    from wayforward.answers import consequences, options_table, steps
    from wayforward.answers.bound_text import bound_text
    from wayforward.answers.kinds_text import kind_name, kind_notes, margin_text, price_note
    from wayforward.answers.region_text import region_text
    from wayforward.answers.time_text import order_text, steps_text, time_text

    found, out = replace(found, meta=found.meta | {"rounded": True}), []
    table = options_table(found, 0)
    for place, option in enumerate(np.flatnonzero(found.found[0]).tolist()):
        column = f"option {place + 1}"
        action = tuple(plain_row(found.action[0, option]))
        notes = (
            order_text(found, option), region_text(found, option) if slack else "", steps_text(found, option),
            time_text(found, option, start=date.today()), bound_text(found, option),
            margin_text(found, option) if slack else "", *kind_notes(found, option, titled=True),
        )  # fmt: skip
        out.append(
            PlanText(
                key=str(place),
                name=_upper_first(kind_name(found, option) or gettext("plan {n}", n=place + 1)),
                steps=tuple(steps(found, 0, option)),
                follows=tuple(consequences(found, 0, option)),
                notes=tuple(note for note in notes if note),
                table=tuple(
                    {"feature": row["feature"], "now": row["now"], "then": row[column]}
                    for row in table
                    if row[column] not in ("", "–", gettext("same"))
                ),
                action=action,
                is_kept=action in marked,
                price=price_note(found, option),
                cost=float(found.cost[0, option]),
            )
        )
    return out


def _upper_first(text: str) -> str:
    return text[:1].upper() + text[1:]


def plain_row(row: np.ndarray) -> list[float | None]:
    """An action as JSON has it: None where it leaves a feature alone."""
    return [None if np.isnan(value) else float(value) for value in row]
