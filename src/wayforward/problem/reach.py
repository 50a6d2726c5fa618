"""How far actions may go in a problem, before anybody's place and wishes: worked out once."""

from __future__ import annotations

import numpy as np

from wayforward.schema import Schema


class CommonReach:
    """low, high (d,): where actions may end, NaN where neither the schema nor the people observed know.

    up, down, open_low, open_high: positions of the features that a person may only increase or decrease, and of those
    that the schema leaves open. lattice (l,): numeric features with a step; moving: which of them have another reach
    for each person; first, last (l,) their outermost values inside, for the others. level_starts: where the levels of
    each feature start. free_levels: nobody's place takes a level away. number_step (d,): steps of numbers, 0 for none,
    inf for levels.
    """

    def __init__(self, schema: Schema, seen: tuple[np.ndarray, np.ndarray]) -> None:
        closed_low, closed_high = np.isfinite(schema.low), np.isfinite(schema.high)
        self.low = np.where(closed_low, schema.low, seen[0])
        self.high = np.where(closed_high, schema.high, seen[1])
        self.open_low, self.open_high = np.flatnonzero(~closed_low), np.flatnonzero(~closed_high)
        self.up, self.down = np.flatnonzero(schema.direction > 0), np.flatnonzero(schema.direction < 0)
        own = (schema.direction != 0) | ~closed_low | ~closed_high
        self.lattice = schema.on_lattice
        self.moving = np.flatnonzero(own[self.lattice])
        self.first, self.last = lattice_ends(
            schema, self.low[self.lattice][None], self.high[self.lattice][None], self.lattice
        )
        self.level_columns = list(schema.level_columns)
        self.level_starts = [at.start for at in schema.level_columns.values()]
        self.number_step = np.where(schema.has_levels, np.inf, np.nan_to_num(schema.step))
        self.free_levels = not (own & schema.has_levels).any()


def in_time(schema: Schema, x: np.ndarray, months: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """x (n, d), months (n,) -> least and greatest value (n, d) that people reach in that time, by pace and delay."""
    left = months[:, None] - schema.delay
    with np.errstate(invalid="ignore"):
        room = np.where(left < 0, 0.0, np.where(np.isfinite(schema.pace), left * schema.pace, np.inf))
    return x - room, x + room


def lattice_ends(schema: Schema, low: np.ndarray, high: np.ndarray, j: np.ndarray) -> np.ndarray:
    """low, high (n, l) edges of features j (l,) -> (2, n, l) the first lattice point inside, and the last one."""
    edge = np.stack([low, high])
    point = schema.snap(edge, columns=j)
    side = np.array([1.0, -1.0])[:, None, None]
    with np.errstate(invalid="ignore"):  # a lattice without any bound, for somebody without a value
        outside = side * (edge - point) > schema.slack[j]
    if outside.any():
        point = schema.snap(np.where(outside, point + side * schema.step[j], point), columns=j)
    return np.asarray(point)
