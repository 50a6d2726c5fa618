"""Plans in time, in words: how long they take, by when they are done, and which step comes first."""

from __future__ import annotations

from datetime import date
from math import ceil

import numpy as np

from wayforward.answers import words
from wayforward.recourse import Recourse

_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_DAYS = 30.4375  # of a month


def time_text(one: Recourse, option: int, i: int = 0, start: date | None = None) -> str:
    """How long an option takes: "This takes about 5 months, until March 2027."; '' where the schema says nothing.

    start: the day on which the person begins; left out, no date is named.
    """
    months = one.months[i, option]
    if not np.isfinite(months) or months <= 0:
        return ""
    if months < 0.9:
        return "This takes less than a month."
    until = "" if start is None else f", until {month_after(start, months)}"
    side = " All of it can be done side by side." if one.acted[i, option].sum() > 1 else ""
    return f"This takes about {words.count(ceil(months - 0.1), 'month')}{until}.{side}"


def month_after(start: date, months: float) -> str:
    """The month in which so many months after a day fall, in English: "March 2027"."""
    end = date.fromordinal(start.toordinal() + ceil(months * _DAYS - 1e-6))
    return f"{_MONTHS[end.month - 1]} {end.year}"


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
    order = "Take the steps in this order: the first ones also move what comes after."
    return order if causes_first(one, option, i).any() else ""
