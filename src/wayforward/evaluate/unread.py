"""People whom the model was not asked about, in an evaluation: kept, counted as not served, and told apart."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.evaluate.stats import rate
from wayforward.language import N_, Translatable, gettext, marks
from wayforward.recourse import Outcome, count_outcomes

if TYPE_CHECKING:
    from wayforward.evaluate.evaluation import Evaluation
    from wayforward.recourse import Recourse
    from wayforward.shapes import PersonMask

RATES = ("usable", "usable_plausible", "success", "validity")  # over everybody who wanted an answer


def taken(value: Any, readable: PersonMask) -> Any:
    """Return an argument (n, ...) of `evaluate` for those who were asked; anything else as it is."""
    from wayforward.preferences import Preferences
    from wayforward.recourse import Recourse

    if isinstance(value, Preferences):
        return value.take(np.flatnonzero(readable)) if value.n == len(readable) else value
    if isinstance(value, Recourse):
        return value[np.flatnonzero(readable)] if value.n == len(readable) else value
    if isinstance(value, (list, tuple, np.ndarray)) and len(value) == len(readable):
        return np.asarray(value)[readable]
    return value


def among_everybody(found: Evaluation, recourse: Recourse, groups: Any) -> Evaluation:
    """Spread what was found of those who were readable over everybody, and count the others as not served.

    The share of people with an option is over those whom the model refuses and those who were not asked about together;
    'usable_read' is the share among the former, 'not_asked' the share of everybody who was not asked about.
    """
    readable = recourse.readable
    n, lost = recourse.n, int((~readable).sum())

    def spread(values: np.ndarray) -> np.ndarray:
        empty: Any = False if values.dtype == bool else -1 if values.dtype.kind == "i" else np.nan
        out = np.full((n, *values.shape[1:]), empty, dtype=values.dtype)
        out[readable] = values
        return out

    totals = dict(found.totals)
    for name in RATES:
        if name in totals and name in found.people:
            hit = found.people[name][found.refused] > 0
            totals[name] = rate(np.concatenate([hit, np.zeros(lost, dtype=bool)]))
    totals["usable_read"] = found.totals["usable"]
    totals["not_asked"] = rate(~readable)
    outcome = np.full(n, Outcome.NOT_ASKED, dtype=object)
    outcome[readable] = found.outcome
    notes = _notes(recourse, ", ".join(name for name in RATES if name in totals))
    whole = replace(
        found, n=n, refused=spread(found.refused), totals=totals, outcome=outcome, chosen=spread(found.chosen),
        people={name: spread(values) for name, values in found.people.items()},
        options={name: spread(values) for name, values in found.options.items()},
        outcomes=count_outcomes(outcome),
        x=recourse.x, acted=spread(found.acted), unread=~readable, notes=(*notes, *found.notes), groups=None,
    )  # fmt: skip
    return whole if groups is None else replace(whole, groups=whole.labels(groups))


def _notes(recourse: Recourse, counted: str) -> list[str]:
    """Return a sentence on those whom a deadline left out, and one on those who could not be read."""
    lost = ~recourse.readable
    late = lost & recourse.cut_short
    found = []
    if late.all():
        over = N_(
            "the time given was over before the model was asked about anybody: there is nothing to evaluate"
        )
        found.append((over, late))
    elif late.any():
        unreached = N_(
            "{lost} of {n} people were not reached in the time given and count as not served in {counted}; "
            "usable_read omits them"
        )
        found.append((unreached, late))
    if (lost & ~late).any():
        unread = N_(
            "{lost} of {n} people could not be read and count as not served in {counted}; usable_read omits them"
        )
        found.append((unread, lost & ~late))

    def say(text: str, who: PersonMask) -> str:
        return gettext(text, lost=marks(f"{who.sum():,}"), n=marks(f"{recourse.n:,}"), counted=counted)

    return [Translatable(partial(say, text, who)) for text, who in found]
