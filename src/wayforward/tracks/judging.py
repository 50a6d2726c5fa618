"""Whom actions serve, and at what cost: by the library's second opinion, which believes nothing."""

from __future__ import annotations

import numpy as np

from wayforward.evaluate import evaluate_rows
from wayforward.shapes import Actions, PerPerson, PersonMask
from wayforward.tracks.tasks import BuiltTask


def judge(ready: BuiltTask, action: Actions) -> tuple[PersonMask, PerPerson]:
    """Actions (n, k, d), NaN where a feature is left alone -> served (n,) bool and cost (n,), NaN where not served.

    Actions are played out in the task's world and the profiles asked of the model itself; see `Track.served`. The cost
    is that of the cheapest option that serves, with the person's own weights where they have any.
    """
    after = np.where(np.isnan(action), ready.x[:, None], action)
    with np.errstate(all="ignore"):  # of numbers beyond all range, which are judged illegal
        found = evaluate_rows(
            ready.x, after, ready.problem, preferences=ready.wishes, action=action, replay=True,
            metrics="headline", bootstrap=0,
        )  # fmt: skip
        good = ready.holds(action, found.options["usable"])
    who, slot = np.nonzero(good)
    each = np.full(good.shape, np.inf)
    each[who, slot] = ready.problem.population(ready.x, ready.wishes).cost(who, action[who, slot])
    cost = each.min(1)
    served = np.asarray(good.any(1))
    return served, np.where(served, cost, np.nan)
