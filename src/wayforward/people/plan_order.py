"""Which plans are worth showing to somebody: none that asks for more than another one, none that is like one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wayforward.methods.local_search.domination import goes_farther

if TYPE_CHECKING:
    from wayforward.problem import Population
    from wayforward.shapes import Actions, Who

_ALIKE = 0.1  # of the longer way of the two: plans nearer than this in everything are alike


def alike(people: Population, who: Who, one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """who (m,), one and other (m, ..., d) -> (m, ...): the same acts, about as far; nobody would call it a choice."""
    schema = people.schema
    x = people.x[who].reshape(len(who), *[1] * (one.ndim - 2), -1)
    with np.errstate(invalid="ignore"):
        far = np.maximum(np.abs(one - x), np.abs(other - x))
        near = (one == other) | (~schema.has_levels & (np.abs(one - other) <= _ALIKE * far))
    return np.asarray((near | (np.isnan(one) & np.isnan(other))).all(-1))


def asks_more(people: Population, who: Who, action: Actions, rival: np.ndarray) -> np.ndarray:
    """who (m,), action (m, K, d), rival (m, K, K) -> (m, K): plan i does all that one of its rivals does, as far."""
    m, many, d = action.shape
    taken = np.where(rival[..., None], action[:, None, :, :], np.nan).reshape(m * many, many, d)
    return goes_farther(people, np.repeat(who, many), taken, action.reshape(-1, d), 0.0).reshape(m, many)
