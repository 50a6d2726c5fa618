"""How much each edit is worth to a person: by a line fitted around them, or by Shapley values; and its prefixes.

A ranking asks about rows in which some units have their reference value. Draws belong to the person.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from wayforward.problem.batching import ask

if TYPE_CHECKING:
    from wayforward.problem import Population
    from wayforward.streams import Streams

_BLOCK = 1 << 22  # numbers of rows made at once
_RIDGE = 1e-6  # a share of the mean variance: a line is found as it is
_WIDTH = 0.25  # of LIME's kernel, in cosine distance


def line_weights(people: Population, value: np.ndarray, streams: Streams, samples: int) -> np.ndarray:
    """Return (n, d) what setting each feature to value (n, d) adds to the score, by a line fitted around each person.

    Every sample sets features with a chance of its own, drawn from 0 to 1; it counts less the more it sets, by LIME's
    kernel on the cosine distance. Nought where value is NaN.
    """
    out = np.zeros(value.shape)
    for some in _blocks(people.n, samples * people.d):
        sets = ~np.isnan(value[some])[:, None]
        chance = streams.uniform(some, samples, 1, tag=1)
        z = (streams.uniform(some, samples, people.d, tag=2) < chance) & sets
        score = _scores(people, some, z, value[:, None])
        share = 1 - z.sum(2) / np.maximum(sets.sum(2), 1)
        weight = np.exp(-(((1 - np.sqrt(share)) / _WIDTH) ** 2) / 2)
        weight /= weight.sum(1, keepdims=True)
        design = z - np.einsum("nm,nmd->nd", weight, z.astype(np.float64))[:, None]
        goal = score - (weight * score).sum(1, keepdims=True)
        root = np.sqrt(weight)[..., None] * design
        gram = np.matmul(root.transpose(0, 2, 1), root)
        spread = np.trace(gram, axis1=1, axis2=2) / people.d
        gram[:, np.arange(people.d), np.arange(people.d)] += _RIDGE * np.maximum(spread, 1e-9)[:, None]
        target = np.einsum("nmd,nm->nd", design, weight * goal)
        out[some] = np.linalg.solve(gram, target[..., None])[..., 0]
    return np.where(np.isnan(value), 0.0, out)


def shapley_values(people: Population, value: np.ndarray, streams: Streams, orders: int) -> np.ndarray:
    """Return (n, d) Shapley values of setting features to value (n, d), in score, over so many orders a person.

    value (n, orders, d): other values in every order, so that the mean is over them, too. Each second order is the one
    before it backwards. The values of a person add up to the mean score with all edits less the own score, whatever
    the number of orders; where the score is a sum over features they are exact for the values given.
    """
    value = value if value.ndim == 3 else value[:, None]
    n, _, d = value.shape
    out = np.zeros((n, d))
    for some in _blocks(n, orders * d):
        sets = ~np.isnan(value[some])
        key = streams.uniform(some, (orders + 1) // 2, d, tag=3)
        key = np.stack([key, 1 - key], axis=2).reshape(len(some), -1, d)[:, :orders]
        place = np.where(sets, key, np.inf).argsort(2, kind="stable").argsort(2, kind="stable")
        before = _scores(people, some, np.zeros((len(some), orders, d), dtype=bool), value)
        for turn in range(int(sets.sum(2).max(initial=0))):
            score = _scores(people, some, (place <= turn) & sets, value)
            out[some] += np.where((place == turn) & sets, (score - before)[..., None], 0.0).sum(1) / orders
            before = score
    return out


def ranked_prefixes(
    people: Population, value: np.ndarray, worth: np.ndarray, k: int, most: int
) -> np.ndarray:
    """Return actions (n, k, d): the shortest prefix of each person's ranking that reaches the decision.

    worth (n, d): edits above nought, the greatest first. The second option leaves out the first of the ranking, the
    third the second, and so on. All prefixes of everybody are asked about together.
    """
    n, d = value.shape
    out = np.full((n, k, d), np.nan)
    good = ~np.isnan(value) & (worth.round(9) > 0)
    order = np.argsort(-np.where(good, worth.round(9), -np.inf), axis=1, kind="stable")
    place = order.argsort(1, kind="stable")
    lengths = np.arange(1, min(most, d) + 1)
    for some in _blocks(n, k * len(lengths) * d):
        for option in range(k):
            left_out = option - 1  # the place in the ranking; nothing in the first option
            use = good[some] & (place[some] != left_out)
            at = place[some] - ((left_out >= 0) & (place[some] > left_out))
            acts = use[:, None] & (at[:, None] < lengths[:, None])
            fresh = (use & (at < len(lengths))).sum(1)[:, None] >= lengths
            row, length = np.nonzero(fresh)
            action = np.where(acts[row, length], value[some[row]], np.nan)
            reached = np.zeros(fresh.shape, dtype=bool)
            reached[row, length] = ask(people, some[row], action)[1]
            has = np.flatnonzero(reached.any(1))
            first = reached[has].argmax(1)
            out[some[has], option] = np.where(acts[has, first], value[some[has]], np.nan)
    return out


def _scores(people: Population, some: np.ndarray, sets: np.ndarray, value: np.ndarray) -> np.ndarray:
    """(b, m) scores of people some (b,) with the features that `sets` (b, m, d) names at value (n, m or 1, d)."""
    who = np.repeat(some, sets.shape[1])
    action = np.where(sets, value[some], np.nan).reshape(len(who), -1)
    after = people.after(who, action)
    return people.score(who, after, action).reshape(sets.shape[:2])


def _blocks(n: int, each: int) -> Iterator[np.ndarray]:
    step = max(1, _BLOCK // max(each, 1))
    for begin in range(0, n, step):
        yield np.arange(begin, min(begin + step, n))
