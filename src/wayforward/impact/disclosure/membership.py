"""Membership inference: do answers tell who the model was trained on?

Three scores of a person, each larger for whom the attacker takes for a member. `cost`: what the answer costs.
`distance`: how far the answer lies from the person, with every feature in its own spread. `closeness`: how near the
person stands to a row that others were answered with. The first two need the person's own answer (members lie farther
from the boundary of a model that has learnt them by heart), the third only the answers of others.

Sources: M. Pawelczyk, H. Lakkaraju, S. Neel (2023), On the privacy risks of algorithmic recourse, AISTATS;
N. Carlini et al. (2022), Membership inference attacks from first principles, IEEE S&P (true positives at .1 %).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from wayforward.evaluate.stats import NOTHING, Estimate, rate
from wayforward.public import public
from wayforward.recourse import Recourse
from wayforward.shapes import Floats, People, PerPerson, Rows

FALSE_POSITIVES = 0.001
_BLOCK = 1 << 22
Z = 1.959964  # of a 95 % interval


@public
@dataclass(frozen=True)
class Membership:
    """auc: the chance that a member scores above somebody who is none, ties half. found: true positives at `allowed`
    false positives of `outsiders` people, which is at most .1 % of them."""

    score: str
    members: int
    outsiders: int
    auc: Estimate
    found: Estimate
    allowed: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {**vars(self), "auc": self.auc.to_dict(), "found": self.found.to_dict()}


def membership(score: str, members: Floats, outsiders: Floats) -> Membership:
    """Compare scores of members (m,) and of others (n,); who has no score counts with the lowest."""
    one, other = (np.where(np.isnan(v), -np.inf, v) for v in (members, outsiders))
    allowed = int(FALSE_POSITIVES * len(other))
    found = NOTHING
    if len(one) and len(other):
        found = rate(one > np.sort(other)[::-1][allowed])
    return Membership(score, len(one), len(other), auc(one, other), found, allowed)


def auc(members: Floats, outsiders: Floats) -> Estimate:
    """Return the area under the curve with a 95 % interval: DeLong's, or Newcombe's (method 5) where that has none,
    as of members who are all above everybody else, or of one.

    Sources: E. R. DeLong, D. M. DeLong, D. L. Clarke-Pearson (1988), Biometrics 44(3); R. G. Newcombe (2006),
    Statistics in Medicine 25(4).
    """
    m, n = len(members), len(outsiders)
    if not m or not n:
        return NOTHING
    above = _placements(members, outsiders)  # (m,) share of outsiders below each member
    below = 1 - _placements(outsiders, members)
    value = float(above.mean())
    var = above.var(ddof=1) / m + below.var(ddof=1) / n if min(m, n) > 1 else 0.0
    if var <= 0.0:
        return Estimate(value, _newcombe(value, 0.0, m, n), _newcombe(value, 1.0, m, n), m + n)
    half = Z * float(np.sqrt(var))
    return Estimate(value, max(0.0, value - half), min(1.0, value + half), m + n)


def _newcombe(value: float, end: float, m: int, n: int) -> float:
    """The area farthest from `value` towards `end` (0 or 1) by which it is still explained."""
    near, far = value, end
    for _ in range(60):
        middle = (near + far) / 2
        spread = 1 + ((m + n) / 2 - 1) * ((1 - middle) / (2 - middle) + middle / (1 + middle))
        explained = (value - middle) ** 2 <= Z**2 * middle * (1 - middle) * spread / (m * n)
        near, far = (middle, far) if explained else (near, middle)
    return near


def _placements(values: Floats, among: Floats) -> Floats:
    """(m,) share of `among` below each value, ties half."""
    ordered = np.sort(among)
    left, right = np.searchsorted(ordered, values, "left"), np.searchsorted(ordered, values, "right")
    return np.asarray((left + right) / (2 * len(among)))


def distances(answer: Recourse, spread: Floats) -> PerPerson:
    """(n,) root of squares from people to their first option, numbers in `spread` (d,), another level as one."""
    gap = _gaps(answer.x, answer.after[:, 0], answer.schema.is_categorical, spread)
    return np.asarray(np.sqrt((gap**2).sum(-1)))


def closeness(people: People, returned: Rows, categorical: np.ndarray, spread: Floats) -> PerPerson:
    """(n,) minus the distance to the nearest returned row; NaN where nothing was returned."""
    out = np.full(len(people), np.nan)
    step = max(1, _BLOCK // max(1, returned.size))
    for start in range(0, len(people) if len(returned) else 0, step):
        some = people[start : start + step]
        gap = _gaps(some[:, None], returned[None], categorical, spread)
        out[start : start + step] = -np.sqrt((np.nan_to_num(gap) ** 2).sum(-1)).min(1)
    return out


def _gaps(a: Floats, b: Floats, categorical: np.ndarray, spread: Floats) -> Floats:
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):
        far = np.where(
            categorical | (np.isnan(a) != np.isnan(b)), 1.0, (a - b) / np.where(spread > 0, spread, 1.0)
        )
    return np.where(np.isnan(b).all(-1, keepdims=True), np.nan, np.where(same, 0.0, far))


__all__ = ["FALSE_POSITIVES", "Membership", "auc", "closeness", "distances", "membership"]
