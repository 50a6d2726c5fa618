"""Other masks to try where a network's own is not enough, and the cheapest answers among all that were tried."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from wayforward.problem.batching import ask, distinct_changes

if TYPE_CHECKING:
    from wayforward.problem import Population

_EVERY = 8  # up to so many features every subset is a candidate


def other_masks(chance: np.ndarray, can: np.ndarray, limit: np.ndarray, most: int) -> np.ndarray:
    """chance, can (m, a), limit (m,) acts a person -> (m, c, a) bool, c <= most; empty where there is none.

    First the network's own mask with one feature left out or one more, likeliest first: a single act is what most
    often breaks a rule or is too much. Then, with few features, every other subset of what the person can act on;
    with many, each prefix of their order by likelihood, and each feature by itself.
    """
    m, a = chance.shape
    own = (chance > 0.5) & can
    sure = np.clip(chance, 1e-6, 1 - 1e-6)
    odds = np.log(sure) - np.log1p(-sure)
    if a <= _EVERY:
        bits = np.broadcast_to((np.arange(1, 2**a)[:, None] >> np.arange(a)) & 1 > 0, (m, 2**a - 1, a))
    else:
        rank = np.argsort(np.argsort(np.where(can, -odds, np.inf), axis=1, kind="stable"), axis=1)[:, None]
        size = np.arange(a)[:, None]
        flipped = own[:, None] ^ np.eye(a, dtype=bool)
        bits = np.concatenate([flipped, rank <= size, rank == size], axis=1)
        bits = bits & can[:, None]
    apart = (bits != own[:, None]).sum(2)
    fits = bits.any(2) & ~(bits & ~can[:, None]).any(2) & (bits.sum(2) <= limit[:, None]) & (apart > 0)
    likely = (bits * odds[:, None]).sum(2)
    order = np.lexsort((-likely, apart > 1, ~fits), axis=1)[:, :most]
    picked = np.take_along_axis(bits, order[..., None], 1)
    return np.asarray(picked & np.take_along_axis(fits, order, 1)[..., None])


def cheapest(
    people: Population,
    k: int,
    limit: int,
    own: np.ndarray,
    tries: Callable[[np.ndarray, int], np.ndarray],
    answer: Callable[[Population, np.ndarray], np.ndarray],
) -> np.ndarray:
    """(n, k, d): own answers (n, d), and for k > 1 or where they are not enough, the cheapest under other masks.

    tries: people (m,) and how many -> masks (m, c, a). answer: people and masks (m, a) -> actions (m, d). At most
    `limit` model rows a person.
    """
    n, d = own.shape
    who = np.flatnonzero(~np.isnan(own).all(1))
    reached = np.zeros(n, dtype=bool)
    reached[who] = ask(people, who, own[who])[1]
    need = np.arange(n) if k > 1 else np.flatnonzero(~reached)
    if not need.size or limit <= 1:
        return own[:, None]
    masks = tries(need, limit - 1)
    person, place = np.nonzero(masks.any(2))
    them = need[person]
    rows = answer(people.take(them), masks[person, place])
    some = ~np.isnan(rows).all(1)
    them, rows = them[some], rows[some]
    good = ask(people, them, rows)[1]
    every = np.concatenate([np.flatnonzero(reached), them[good]])
    found = distinct_changes(people, every, np.concatenate([own[reached], rows[good]]), k)
    empty = np.isnan(found).all((1, 2))
    found[empty, 0] = own[empty]  # the judge asks the model itself, which may think otherwise
    return found
