"""Other masks to try where a network's own is not enough, and the cheapest answers among all that were tried."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from wayforward.methods.engines.asking import ask, distinct_changes

if TYPE_CHECKING:
    from wayforward.problem import Population

_EVERY = 8  # up to so many features every subset is a candidate


def other_masks(chance: np.ndarray, can: np.ndarray, limit: np.ndarray, most: int) -> np.ndarray:
    """chance, can (m, a), limit (m,) acts a person -> (m, c, a) bool, c <= most, likeliest first; empty where none.

    With few features all subsets of what a person can act on; with many the likeliest ones alone, each prefix of
    that order, and each feature by itself.
    """
    m, a = chance.shape
    if a <= _EVERY:
        bits = (np.arange(1, 2**a)[:, None] >> np.arange(a)) & 1 > 0  # (c, a)
        sure = np.clip(chance, 1e-6, 1 - 1e-6)
        weight = np.where(can, np.log(sure) - np.log1p(-sure), -1e9)
        likely = (bits[None] * weight[:, None]).sum(2)
        likely = np.where(bits.sum(1) <= limit[:, None], likely, -1e12)
        order = np.argsort(-likely, axis=1, kind="stable")[:, :most]
        picked = bits[order]
        return np.asarray(picked & (np.take_along_axis(likely, order, 1) > -1e8)[..., None])
    order = np.argsort(np.where(can, -chance, np.inf), axis=1, kind="stable")
    rank = np.argsort(order, axis=1)  # (m, a)
    size = np.arange(1, a + 1)
    prefix = (rank[:, None] < size[:, None]) & (size[:, None] <= limit[:, None, None])
    alone = rank[:, None] == (size - 1)[:, None]
    both = np.stack([prefix, alone], axis=2).reshape(m, 2 * a, a)[:, :most]
    return np.asarray(both & can[:, None] & (limit >= 1)[:, None, None])


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
