"""The published study's profiles: sixteen items, who is eligible as an ideal, distances, and the five plans shown.

Source: T. Tominaga, N. Yamashita, T. Kurashima (2024), Reassessing Evaluation Functions in Algorithmic Recourse: An
Empirical Study from a Human-Centered Perspective, IJCAI.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wayforward.errors import DataError
from wayforward.public import public

Profiles = NDArray[np.int64]  # (n, 16) codes from 1 on

_HOURS = ("0-2", "2-4", "4-6", "6-8", "8-10", "10-12", "12 or more")
_YEARS = ("0-1", "1-3", "3-5", "5-10", "10-20", "20 or more")
_NO_YES = ("no", "yes")


@dataclass(frozen=True)
class Item:
    """One question of the profile. Codes are positions of options, from 1 on.

    ordered: its distance counts steps. up: an ideal profile has at least as much of it (Table 1).
    """

    name: str
    options: tuple[str, ...]
    ordered: bool = False
    up: bool = False

    @property
    def title(self) -> str:
        """The name at the head of a question: "TOEIC best score"."""
        return self.name[:1].upper() + self.name[1:]


ITEMS = (
    Item("residential prefecture", ("Tokyo", "other than Tokyo")),
    Item("type of residence", ("owned house", "rental housing")),
    Item("educational background", ("high school", "junior college", "bachelor", "master", "doctor"), True, True),
    Item("workplace", ("private company", "public institution")),
    Item(
        "position",
        ("employee", "supervisor", "section head", "section chief", "assistant general manager", "manager",
         "general manager", "executive director", "senior executive director", "president"), True, True,
    ),
    Item("service years", _YEARS, True, True),
    Item("management career", ("none", *_YEARS), True, True),
    Item("working hours per day", _HOURS, True),
    Item("teleworking hours per day", _HOURS, True),
    Item("number of side jobs", ("none", "1", "2", "3", "4", "5 or more"), True),
    Item("job change experience", _NO_YES, False, True),
    Item("overseas working experience", _NO_YES, False, True),
    Item("overseas study experience", _NO_YES, False, True),
    Item(
        "TOEIC best score",
        ("none", "10-400", "400-495", "500-595", "600-695", "700-795", "800-895", "900-990"), True, True,
    ),
    Item("Facebook app use", _NO_YES),
    Item("LinkedIn app use", _NO_YES),
)  # fmt: skip

#: Greatest step of each item in codes. The paper's examples fit no single reading; `distances` takes others.
RANGES = np.array([len(item.options) - 1 for item in ITEMS], dtype=float)
_ORDERED = np.array([item.ordered for item in ITEMS])
_UP = np.array([item.up for item in ITEMS])

#: Million yen at the codes 1 to 20: midpoints of the brackets, 1.0 for "2M or less" and 20.5 for "20M or more".
INCOME = np.r_[1.0, np.arange(2.5, 20), 20.5]

PLANS = 5


@public
def distances(
    x: Profiles, to: Profiles, ranges: NDArray[np.float64] = RANGES
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Sparsity (items that change) and proximity (their steps over the range, or 1) between profiles (..., 16)."""
    differ = x != to
    step = np.where(_ORDERED, np.abs(x - to) / ranges, differ)
    return differ.sum(-1), step.sum(-1)


@public
def eligible(
    x: Profiles, income: NDArray[np.int64], pool: Profiles, pool_income: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Who of the pool (m, 16) is an ideal for whom (n, 16): (n, m). Incomes are codes.

    An ideal earns 4/3 as much, has no less of what cannot be taken back, and is another profile.
    """
    enough = INCOME[pool_income - 1][None, :] >= 4 / 3 * INCOME[income - 1][:, None] - 1e-9
    same = np.ones_like(enough)
    for i in range(len(ITEMS)):
        if _UP[i]:
            enough &= pool[None, :, i] >= x[:, None, i]
        same &= pool[None, :, i] == x[:, None, i]
    return np.asarray(enough & ~same)


@public
def select(
    x: Profiles, pool: Profiles, allowed: NDArray[np.bool_], rng: np.random.Generator
) -> NDArray[np.int64]:
    """The five plans of each person, as rows of the pool (n, 5); -1 for who has fewer than five to choose from.

    First one of the sparsest, then one of the most proximate of the others, then three of the rest; ties and the
    three by chance.

    Raises: DataError for shapes that do not fit.
    """
    if allowed.shape != (len(x), len(pool)):
        raise DataError(f"allowed is {allowed.shape}; it must be {(len(x), len(pool))}: people by pool.")
    out = np.full((len(x), PLANS), -1)
    for rows in np.array_split(np.arange(len(x)), max(1, len(x) * len(pool) // 200_000)):
        left = allowed[rows].copy()
        chance = rng.random(left.shape)
        sparsity, proximity = distances(x[rows, None, :], pool[None, :, :])
        every = np.arange(len(rows))
        for j in range(PLANS):
            key = (sparsity, proximity)[j] if j < 2 else np.zeros_like(proximity)
            key = np.where(left, key, np.inf)
            tied = key <= key.min(1, keepdims=True) + 1e-9
            out[rows, j] = np.where(tied & left, chance, -1).argmax(1)
            left[every, out[rows, j]] = False
        out[rows[allowed[rows].sum(1) < PLANS]] = -1
    return out
