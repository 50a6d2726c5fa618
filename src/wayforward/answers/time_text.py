"""Plans in time, in words: how long they take, by when they are done, and which step comes first."""

from __future__ import annotations

from datetime import date
from math import ceil

import numpy as np

from wayforward.language import gettext, month_text, ngettext
from wayforward.recourse import Recourse

_DAYS = 30.4375  # of a month


def time_text(one: Recourse, option: int, i: int = 0, start: date | None = None) -> str:
    """How long an option takes: "This takes about 5 months, until March 2027."; '' where the schema says nothing.

    start: the day on which the person begins; left out, no date is named.
    """
    months = one.months[i, option]
    if not np.isfinite(months) or months <= 0:
        return ""
    if months < 0.9:
        return gettext("This takes less than a month.")
    n = ceil(months - 0.1)
    if start is None:
        text = ngettext("This takes about {n} month.", "This takes about {n} months.", n)
    else:
        text = ngettext(
            "This takes about {n} month, until {month}.",
            "This takes about {n} months, until {month}.",
            n,
            month=month_after(start, months),
        )
    if one.acted[i, option].sum() < 2 or "\n" in one.steps[i, option]:
        return text
    side = gettext("All of it can be done side by side.")
    return f"{text} {side}"


def done_on(start: date, months: float) -> date:
    """The day so many months after a day; the day itself where nobody knows how many."""
    return date.fromordinal(start.toordinal() + (ceil(months * _DAYS - 1e-6) if np.isfinite(months) else 0))


def months_between(start: date, end: date) -> float:
    """How many months a plan that begins on a day may take to be done on another."""
    return (end - start).days / _DAYS


def month_after(start: date, months: float) -> str:
    """The month in which so many months after a day fall: "March 2027"."""
    return month_text(done_on(start, months))


def causes_first(one: Recourse, option: int, i: int = 0) -> np.ndarray:
    """(d,) how many acts of an option an act waits for: those that it follows from, in the world or by a rule."""
    acted = ~np.isnan(one.action[i, option])
    led = np.zeros((one.d, one.d), dtype=bool)
    place = {name: j for j, name in enumerate(one.schema.names)}
    for cause, effects in one.meta.get("leads", {}).items():
        led[place[cause], [place[effect] for effect in effects]] = True
    return np.where(acted, (led & acted[:, None]).sum(0), 0)


def order_text(one: Recourse, option: int, i: int = 0) -> str:
    """What to say of the order of the steps; '' where any will do."""
    if one.steps[i, option]:
        return steps_text(one, option, i)
    order = gettext("Take the steps in this order: the first ones also move what comes after.")
    return order if causes_first(one, option, i).any() else ""


def steps_text(one: Recourse, option: int, i: int = 0) -> str:
    """The acts of an option in order: "Step by step: 1. get a degree; 2. take the job."; '' where none are named."""
    names = list(filter(None, one.steps[i, option].split("\n")))
    if len(names) < 2:
        return gettext("What to do: {act}.", act=names[0]) if names else ""
    listed = "; ".join(f"{place}. {name}" for place, name in enumerate(names, start=1))
    return gettext("Step by step: {steps}.", steps=listed)
