"""From the boxes at which options against a network or a line may be cheapest to options, and to proofs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wayforward.methods.engines.exact.relaxed_boxes import RelaxedBoxes
from wayforward.methods.engines.finish import farther, finished
from wayforward.shapes import Actions, Mask

if TYPE_CHECKING:
    from wayforward.problem import Population

_BEYOND = (0.0, 1e-9, 1e-7, 1e-5, 1e-3, 0.02)  # of its way: so much farther a row is tried, too


def cheapest_in_boxes(
    boxes: RelaxedBoxes, people: Population, found: Actions, limit: int, looked: int, rounds: int
) -> tuple[Actions, Mask]:
    """Return options (n, k, d), the first at most as dear as that of `found`, and (n,) bool: proved to have none.

    Every round, the rows at which the boxes of least bound would be cheapest are polished against the real model;
    looked: boxes a person in the first round, twice as many in the second, and so on. limit: model rows a person.
    """
    if people.problem.robust is not None or people.problem.plausibility is not None:
        return found, np.zeros(people.n, dtype=bool)
    found, none, k = found.copy(), np.zeros(people.n, dtype=bool), found.shape[1]
    open_ = np.arange(people.n)
    for round_ in range(1, rounds + 1):
        some = people.take(open_)
        has = ~np.isnan(found[open_, 0]).all(1)
        cutoff = np.full(open_.size, np.inf)
        cutoff[has] = some.cost(np.flatnonzero(has), found[open_[has], 0])
        least, points = boxes.search(some, cutoff, looked * round_)
        none[open_] = ~has & np.isposinf(least)
        better = _polished(some, points, limit)
        price = np.full(open_.size, np.inf)
        there = np.flatnonzero(~np.isnan(better).all(1))
        price[there] = some.cost(there, better[there])
        gain = np.flatnonzero(price < cutoff - 1e-12)
        found[open_[gain]] = np.concatenate([better[gain, None], found[open_[gain], : k - 1]], axis=1)
        open_ = open_[(np.minimum(price, cutoff) > least * (1 + 1e-6)) & np.isfinite(least)]
        if not open_.size:
            break
    return found, none


def _polished(people: Population, points: Actions, limit: int) -> np.ndarray:
    """(n, d) the best option near the rows (n, c, d) at which boxes would be cheapest; NaN where there is none."""
    who, place = np.nonzero(~np.isnan(points).all(2))
    who, row = farther(people, who, points[who, place], _BEYOND)
    row = np.where(people.schema.differs(row, people.x[who]), row, np.nan)
    some = np.flatnonzero(~np.isnan(row).all(1))
    who, row = who[some], row[some]
    good = np.flatnonzero(people.evaluate(who, row).reached)
    cap = people.rows + limit
    return finished(people, who[good], row[good], 1, cap=cap, go_on=False, shrink=True)[:, 0]
