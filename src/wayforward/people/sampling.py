"""Draw preferences for experiments: scores, rankings, thresholds, and groups that favour some features.

Every function takes a `numpy.random.Generator` and returns plain numbers for `Preferences.from_scores` and
`Preferences.from_rankings`, so that an experiment can save what it drew with `Preferences.save` and replay
it.

Source: Budde, Majumdar, Uth, Langer & Valera (2026), iCARMA, appendices B.2 and C.1.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from wayforward.errors import PreferencesError

Array = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]

#: Features that people of each group of the Loan study rank first, by the names of the Loan data.
LOAN_LAWS: dict[str, tuple[str, str]] = {
    "causal": ("income", "loan_amount"),
    "reverse": ("loan_duration", "savings"),
    "privileged": ("income", "savings"),
    "non-privileged": ("loan_amount", "loan_duration"),
}

_MOST_PERMUTED = 8  # 8! = 40,320 orders are listed where their probabilities differ


def draw_scores(
    n: int,
    features: int,
    levels: int,
    rng: np.random.Generator,
    *,
    cannot: bool = False,
    law: npt.ArrayLike | None = None,
) -> Array:
    """(n, features) independent scores 1..levels; with `cannot` also levels + 1, "I cannot".

    `law` holds the probability of each score; None: all the same. Nobody is left without any feature that
    they can change: such a person is drawn again.
    """
    values = levels + int(cannot)
    p = np.full(values, 1 / values) if law is None else np.asarray(law, dtype=np.float64)
    if features < 1 or levels < 1:
        raise PreferencesError(
            f"{features} features and {levels} levels leave nothing to draw. Give at least 1."
        )
    if p.shape != (values,) or (p < 0).any() or not math.isclose(float(p.sum()), 1.0, abs_tol=1e-9):
        raise PreferencesError(
            f"The law of {values} scores is {p.tolist()}. Give {values} probabilities that sum to 1."
        )
    if cannot and p[-1] > 1 - 1e-9:
        raise PreferencesError(
            "The law lets nobody change anything. Give some score up to `levels` a chance."
        )
    scores = np.asarray(rng.choice(values, size=(n, features), p=p), dtype=np.float64) + 1.0
    while cannot:
        stuck = np.flatnonzero((scores > levels).all(axis=1))
        if not stuck.size:
            break
        scores[stuck] = rng.choice(values, size=(stuck.size, features), p=p) + 1.0
    return scores


def draw_rankings(
    n: int,
    features: int,
    rng: np.random.Generator,
    *,
    law: npt.ArrayLike | None = None,
    threshold: npt.ArrayLike | None = None,
) -> Array:
    """(n, features) ranks, 1 for the easiest.

    `law` holds the probability of each order in ``itertools.permutations(range(1, features + 1))`` (see
    `ranking_law`); None: all the same. `threshold` is a number or one a person (see `draw_thresholds`):
    ranks from it on become features + 1, "I cannot", so that threshold - 1 features remain.
    """
    if features < 1:
        raise PreferencesError(f"There is nothing to rank among {features} features. Give at least 1.")
    if law is None:
        ranks = rng.permuted(np.tile(np.arange(1.0, features + 1), (n, 1)), axis=1)
    else:
        orders = _orders(features)
        p = np.asarray(law, dtype=np.float64)
        if p.shape != (len(orders),) or (p < 0).any() or not math.isclose(float(p.sum()), 1.0, abs_tol=1e-9):
            raise PreferencesError(
                f"The law has shape {p.shape} and sum {p.sum():g}. Give {len(orders)} probabilities that "
                "sum to 1, one an order; ranking_law makes them."
            )
        ranks = orders[rng.choice(len(orders), size=n, p=p)]
    if threshold is None:
        return ranks
    cut = np.broadcast_to(np.asarray(threshold, dtype=np.float64), (n,))
    odd = np.flatnonzero(~((cut >= 2) & (cut <= features + 1) & (cut == np.floor(cut))))
    if odd.size:
        raise PreferencesError(
            f"The threshold of person {odd[0]} is {cut[odd[0]]:g}. Give a whole number from 2 (one "
            f"feature) to {features + 1} (all)."
        )
    return np.where(ranks >= cut[:, None], features + 1.0, ranks)


def draw_thresholds(n: int, features: int, rng: np.random.Generator) -> Counts:
    """(n,) uniform thresholds from 2 (one feature left) to features + 1 (all left)."""
    return rng.integers(2, features + 2, size=n)


def ranking_law(
    names: Sequence[str], favoured: Sequence[str], *, both: float = 4.0, first: float = 1.0
) -> Array:
    """Probability of each order of `names` for a group that puts a favoured feature first.

    Orders whose top ranks are exactly the favoured features weigh `both`, the other orders that begin with
    one of them weigh `first`, all others 0. With four features and a pair this gives 1/6 and 1/24. The
    supports follow the iCARMA study; the ratio of the two weights is our reading of it, so it is a
    parameter.

    Example: ``ranking_law(names, LOAN_LAWS["privileged"])``.
    """
    for name in favoured:
        if name not in names:
            raise PreferencesError(
                f"The favoured feature '{name}' is not among {', '.join(names)}. Correct the name."
            )
    if not favoured or min(both, first) < 0 or (both == 0 and first == 0):
        raise PreferencesError(
            f"A law with favoured={list(favoured)}, both={both}, first={first} has no order left."
        )
    orders = _orders(len(names))
    ranks = orders[:, [list(names).index(name) for name in favoured]]
    top, leads = (ranks <= len(favoured)).all(axis=1), (ranks == 1).any(axis=1)
    weight = np.where(top, both, np.where(leads, first, 0.0))
    return np.asarray(weight / weight.sum())


def _orders(features: int) -> Array:
    if features > _MOST_PERMUTED:
        raise PreferencesError(
            f"{features} features have too many orders to list. Use at most {_MOST_PERMUTED}, or law=None "
            "for uniform."
        )
    return np.array(list(itertools.permutations(range(1, features + 1))), dtype=np.float64)
