"""How far back a plan can be taken, along the straight way to it, before the decision is lost.

Source: BoundaryPointSearch of HARE (algorithm 2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wayforward.people.elicitors.plan_pool import works

if TYPE_CHECKING:
    from wayforward.problem import Population


def boundary(
    people: Population,
    who: np.ndarray,
    action: np.ndarray,
    span: np.ndarray,
    *,
    tolerance: float = 1e-6,
    give_back: bool = False,
) -> np.ndarray:
    """who (m,), action (m, d) that hold -> actions nearer to where the people stand, just beyond the boundary.

    Bisection of the segment of acts, all of them at once: numbers and ordinals go back together, rounded to what is
    legal; categories and binaries have no way between and stay as the plan has them. The end that is kept was asked
    about, so the result holds; of several boundary points it is one, not always the nearest. tolerance: length in
    ranges (span (d,)) at which a segment is short enough. give_back: try afterwards, one after another, to leave the
    categories and binaries alone.
    """
    schema = people.schema
    x = people.x[who]
    straight = ~np.isnan(action) & schema.ordered & (schema.n_levels != 2) & ~np.isnan(x)
    segment = np.where(straight, action - np.where(straight, x, 0.0), 0.0)
    length = np.sqrt(np.square(segment / span).sum(1))

    def at(rows: np.ndarray, share: np.ndarray) -> np.ndarray:
        point = np.where(straight[rows], x[rows] + share[:, None] * segment[rows], action[rows])
        point = people.snap(who[rows], point)
        return np.where(schema.differs(point, x[rows]), point, np.nan)

    best = action.copy()
    far, near = np.ones(len(who)), np.zeros(len(who))
    # Perhaps the categories alone are enough.
    rows = np.flatnonzero((length > 0) & (~np.isnan(action) & ~straight).any(1))
    if rows.size:
        trial = at(rows, np.zeros(rows.size))
        yes = works(people, who[rows], trial, judge=False)
        best[rows[yes]], far[rows[yes]] = trial[yes], 0.0
    while True:
        rows = np.flatnonzero((far - near) * length >= tolerance)
        if not rows.size:
            break
        middle = (far[rows] + near[rows]) / 2
        trial = at(rows, middle)
        yes = ((trial == best[rows]) | (np.isnan(trial) & np.isnan(best[rows]))).all(1)  # known already
        ask = np.flatnonzero(~yes)
        if ask.size:
            yes[ask] = works(people, who[rows[ask]], trial[ask], judge=False)
        best[rows[yes]] = trial[yes]
        far[rows[yes]], near[rows[~yes]] = middle[yes], middle[~yes]
    return _returned(people, who, best, straight) if give_back else best


def _returned(people: Population, who: np.ndarray, action: np.ndarray, straight: np.ndarray) -> np.ndarray:
    """Categories and binaries left alone again, one after another, where the plan still holds."""
    for j in np.flatnonzero(people.schema.has_levels):
        rows = np.flatnonzero(~np.isnan(action[:, j]) & ~straight[:, j])
        trial = action[rows].copy()
        trial[:, j] = np.nan
        more = ~np.isnan(trial).all(1)
        rows, trial = rows[more], trial[more]
        if rows.size:
            good = works(people, who[rows], trial, judge=False)
            action[rows[good]] = trial[good]
    return action
