"""What a local surrogate is fitted to: values drawn around each person, and what the model says of them.

Values vary what a person may act on, so that a surrogate speaks about actions: what follows from them, rules and
limits are part of what it learns, and whatever a row breaks counts as a no. A method that works in a latent space asks
the same of a problem whose features are the latent ones and whose model decodes them first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from wayforward.methods.engines.population import Values, crossed
from wayforward.problem.batching import ask, tidy
from wayforward.shapes import Floats, Mask, PerFeature

if TYPE_CHECKING:
    from wayforward.problem import Population
    from wayforward.streams import Streams

_MUTATED, _CROSSED = 0.2, 0.5  # shares of children, as published
_TOURNAMENT, _FAME = 3, 10  # candidates that a parent is the best of; one in so many parents stays


class Neighbourhood(NamedTuple):
    """value (n, S, d): what each feature is set to, the person's own value where it is left alone. score (n, S): -inf
    where the person may not do it. reached (n, S) bool."""

    value: Floats
    score: Floats
    reached: Mask


def labelled(people: Population, action: Floats) -> Neighbourhood:
    """Ask about actions (n, S, d)."""
    n, size, d = action.shape
    who = np.repeat(np.arange(n), size)
    rows = tidy(people, who, action.reshape(-1, d))
    score, reached = ask(people, who, rows)
    value = np.where(np.isnan(rows), people.x[who], rows).reshape(action.shape)
    return Neighbourhood(value, score.reshape(n, size), reached.reshape(n, size))


def size_within(size: int, limit: int) -> int:
    """Return how many rows are drawn of a person whose search may ask about so many."""
    return int(min(size, max(limit // 2, 4)))


def at_most(people: Population, change: Mask, key: Floats) -> Mask:
    """Leave of changes (n, S, d) so many as each person wants at most: those with the least key (n, S, d)."""
    most = people.max_changes
    if (most >= people.d).all():
        return change
    place = np.where(change, key, np.inf).argsort(2, kind="stable").argsort(2, kind="stable")
    return change & (place < most[:, None, None])


def drawn_around(
    people: Population, streams: Streams, values: Values, size: int, spread: PerFeature
) -> Neighbourhood:
    """Draw numbers from a normal distribution around each person, of deviation spread (d,), and every other level."""
    everybody = np.arange(people.n)
    level = people.schema.has_levels
    step = streams.normal(everybody, size, people.d, tag=0) * spread
    action = np.where(level, np.nan, np.nan_to_num(people.x)[:, None] + step)
    key = streams.uniform(everybody, size, people.d, tag=1)
    change = at_most(people, people.free[:, None] & (~level | (key < 0.5)), key)
    row, place, j = np.nonzero(change & level)
    share = streams.uniform(everybody, size, people.d, tag=2)[row, place, j]
    action[row, place, j] = values.draw(row, j, share)
    return labelled(people, np.where(change, action, np.nan))


def bred_around(
    people: Population, streams: Streams, values: Values, size: int, generations: int, far: PerFeature
) -> Neighbourhood:
    """Breed for each person rows with their own answer and rows with the other one, both as near to them as can be.

    Half of the rows are worth 1 where the answer is a no, half where it is a yes; both lose their distance, the share
    of levels that differ and the normalised Euclidean distance of numbers, widths far (d,). Parents win tournaments of
    three, cross at two points, and get values from `values`.
    """
    n, d, half = people.n, people.d, size // 2
    everybody = np.arange(n)
    chance = streams.uniform(everybody, size, 1, tag=0)
    action = _mutants(people, streams, values, np.full((n, size, d), np.nan), chance, 1)
    near = labelled(people, action)
    for turn in range(1, generations + 1):
        tag = 16 * turn
        worth = _worth(people, near, half, far)
        parents = np.concatenate(
            [_winners(streams, w, tag + i) for i, w in enumerate(_halves(worth, half))], 1
        )
        parents[:, half:] += half
        action = np.take_along_axis(_actions(people, near), parents[:, :, None], 1)
        other = np.concatenate([np.roll(part, 1, axis=1) for part in _halves(action, half)], 1)
        ends = np.sort(np.floor(streams.uniform(everybody, size, 2, tag=tag + 2) * (d + 1)), axis=2)
        cross = streams.uniform(everybody, size, tag=tag + 3) < _CROSSED
        inside = (np.arange(d) >= ends[..., :1]) & (np.arange(d) < ends[..., 1:])
        children = crossed(action, other, inside & cross[..., None])
        moved = streams.uniform(everybody, size, 1, tag=tag + 4) < _MUTATED
        children = _mutants(people, streams, values, children, np.where(moved, 2.0 / d, 0.0), tag + 5)
        key = streams.uniform(everybody, size, d, tag=tag + 8)
        children = np.where(at_most(people, ~np.isnan(children), key), children, np.nan)
        near = _with_best(near, labelled(people, children), worth, half)
    return near


def _actions(people: Population, near: Neighbourhood) -> Floats:
    own = people.x[:, None]
    return np.where(people.schema.differs(near.value, own), near.value, np.nan)


def _mutants(
    people: Population, streams: Streams, values: Values, action: Floats, chance: Floats, tag: int
) -> Floats:
    """Set each feature of actions (n, S, d) to another value with a chance (n, S, 1)."""
    everybody = np.arange(people.n)
    key = streams.uniform(everybody, *action.shape[1:], tag=tag)
    change = at_most(people, people.free[:, None] & (key < chance), key)
    row, place, j = np.nonzero(change)
    out = action.copy()
    share = streams.uniform(everybody, *action.shape[1:], tag=tag + 1)[row, place, j]
    out[row, place, j] = values.draw(row, j, share)
    return out


def distances(people: Population, value: Floats, far: PerFeature) -> Floats:
    """(n, S): how far rows (n, S, d) are from each person: the share of levels that differ, and a Euclidean distance
    of numbers in widths far (d,), at most 1 each, weighed by how many features have levels."""
    level, own = people.schema.has_levels, people.x[:, None]
    differ = people.schema.differs(value, own)[..., level].sum(2)
    gap = np.nan_to_num((value - own)[..., ~level] / far[~level], nan=1.0)
    gap[np.isnan(value[..., ~level]) & np.isnan(own[..., ~level])] = 0.0
    numbers = int((~level).sum())
    length = np.sqrt((np.clip(gap, -1, 1) ** 2).sum(2) / max(numbers, 1))
    return np.asarray((differ + numbers * length) / people.d)


def _worth(people: Population, near: Neighbourhood, half: int, far: PerFeature) -> Floats:
    """(n, S) what rows are worth as parents; less than any other where the person may not do it."""
    wanted = near.reached.copy()
    wanted[:, :half] = ~near.reached[:, :half]
    worth = wanted + 1 - distances(people, near.value, far)
    nothing = ~people.schema.differs(near.value, people.x[:, None]).any(2)
    return np.where(np.isfinite(near.score), worth - nothing, -2.0)


def _halves(part: Floats, half: int) -> tuple[Floats, Floats]:
    return part[:, :half], part[:, half:]


def _winners(streams: Streams, worth: Floats, tag: int) -> np.ndarray:
    """(n, P) places of parents among candidates of worth (n, P)."""
    n, many = worth.shape
    place = np.floor(streams.uniform(np.arange(n), many, _TOURNAMENT, tag=tag) * many).astype(np.int64)
    drawn = np.take_along_axis(worth[:, None], place, 2)
    return np.take_along_axis(place, drawn.argmax(2)[..., None], 2)[..., 0]


def _with_best(near: Neighbourhood, children: Neighbourhood, worth: Floats, half: int) -> Neighbourhood:
    """The children, the last of each half replaced by the best of their parents."""
    for begin, part in zip((0, half), _halves(worth, half), strict=True):
        many = part.shape[1] // _FAME
        best = begin + np.argsort(-part, axis=1, kind="stable")[:, :many]
        row, end = np.arange(len(part))[:, None], begin + part.shape[1]
        for new, old in zip(children, near, strict=True):
            new[:, end - many : end] = old[row, best]
    return children
