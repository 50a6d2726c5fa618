"""Profiles that simulated people have in mind: where a random way they could go meets the decision boundary.

Source: the simulated ground truths of HARE (human-in-the-loop algorithmic recourse), whose radii are not published.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from wayforward.errors import PreferencesError
from wayforward.streams import Streams

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem
    from wayforward.shapes import Mask, PerRow, Rows

Scale = Literal["near", "intermediate", "far"]

#: The share of a person's boundary points that lie nearer than the one drawn.
SHARE: dict[str, float] = {"near": 0.1, "intermediate": 0.5, "far": 0.9}

_LEAST, _MOST = 0.05, 2.0  # lengths of the ways that are tried, in widths of the ranges
_COARSE, _FINE = 12, 40  # halvings for everybody's points, and for the one that is kept
_ROWS = 1 << 17  # candidate rows held at once
_CHANGES = 1 / 3  # chance that a category goes along with a way


def draw_wanted(
    problem: Problem,
    people: Population,
    scale: Scale = "far",
    *,
    radius: float | None = None,
    numbers_only: bool = False,
    ways: int = 256,
    seed: int = 0,
) -> Rows:
    """(n, d) for each person a profile just beyond the decision boundary that they could reach; NaN where none is.

    Of `ways` random actions a person (any direction, lengths log-uniform from .05 to 2 ranges, cut at what they may
    do), those that reach the target are shortened until they barely do. scale: the point at the 10th, 50th or 90th
    percentile of the distances from the person to these points. radius: instead, a point as far away as this, as near
    as there is one. numbers_only: categories and binaries stay. Distances are Euclidean in widths of the schema's
    ranges, another category is 1 away; in a causal world they are taken where the action leads. A person's profile
    depends on the seed and on their own row only, and obeys the schema, the rules and their wishes.

    Raises: PreferencesError for an unknown scale or an impossible radius.
    Example: ``draw_wanted(problem, problem.population(refused), "near", seed=0)``.
    """
    if scale not in SHARE:
        raise PreferencesError(f"There is no scale '{scale}'. Choose one of {', '.join(SHARE)}.")
    if radius is not None and not (radius > 0 and np.isfinite(radius)):
        raise PreferencesError(
            f"radius={radius} is no distance. Give a number above 0, in widths of a range."
        )
    if ways < 1:
        raise PreferencesError(f"ways={ways} leaves nothing to choose from. Try 1 way or more.")
    streams = Streams.of(people.x, seed)
    wanted = np.full((people.n, people.d), np.nan)
    step = max(1, _ROWS // ways)
    for start in range(0, people.n, step):
        who = np.arange(start, min(start + step, people.n))
        wanted[who] = _draw(people, who, streams, SHARE[scale], radius, numbers_only, ways)
    return wanted


def _draw(
    people: Population,
    who: np.ndarray,
    streams: Streams,
    share: float,
    radius: float | None,
    numbers_only: bool,
    ways: int,
) -> Rows:
    n = len(who)
    lane = np.repeat(who, ways)
    way = _Ways.draw(people, who, streams, numbers_only, ways)
    reached = np.concatenate(
        [way.reaches(people, lane, rows, np.ones(len(rows))) for rows in _blocks(len(lane))]
    )
    some = np.flatnonzero(reached)
    length = np.ones(len(lane))
    length[some] = way.shortened(people, lane, some, _COARSE)
    far = np.full(len(lane), np.nan)
    far[some] = _distance(
        people, lane[some], people.after(lane[some], way.at(people, lane, some, length[some]))
    )
    gap = far.reshape(n, ways)
    many = reached.reshape(n, ways).sum(1)
    order = np.argsort(np.where(np.isnan(gap), np.inf, gap), axis=1, kind="stable")
    if radius is None:
        rank = np.floor(share * np.maximum(many - 1, 0) + 0.5).astype(np.int64)
        chosen = order[np.arange(n), rank]
    else:
        chosen = np.argmin(np.where(np.isnan(gap), np.inf, np.abs(gap - radius)), axis=1)
    kept = np.arange(n) * ways + chosen
    kept = kept[many > 0]
    out = np.full((n, people.d), np.nan)
    if kept.size:
        best = way.shortened(people, lane, kept, _FINE)
        out[many > 0] = people.after(lane[kept], way.at(people, lane, kept, best))
    return out


@dataclass(frozen=True)
class _Ways:
    """Ways that people could go: straight for what has a size, a jump for a category. q lanes.

    start, move (q, d): a feature is set to start + t * move, t from 0 to 1; NaN where it stays. jump (q, d): the
    level that a category is set to from the outset; NaN where it stays.
    """

    start: Rows
    move: Rows
    jump: Rows

    @classmethod
    def draw(
        cls, people: Population, who: np.ndarray, streams: Streams, numbers_only: bool, ways: int
    ) -> _Ways:
        schema, d = people.schema, people.d
        n = len(who)
        free = people.free[who]
        leaping = schema.is_categorical | (schema.n_levels == 2)
        sized, leaps = free & ~leaping, free & leaping
        if numbers_only:
            sized = sized & ~schema.has_levels
            leaps = np.zeros_like(leaps)
        normal = streams.take(who).normal(np.arange(n), ways, d, tag=0x3A17)
        draw = streams.take(who).uniform(np.arange(n), ways, 2 * d + 1, tag=0x3A18)
        goes = np.broadcast_to(sized[:, None, :], (n, ways, d)).copy()
        leap = leaps[:, None, :] & (draw[:, :, :d] < _CHANGES)
        # Those who allow few changes get ways with few changes: the ones with the smallest keys.
        most = people.max_changes[who][:, None, None]
        if (people.max_changes[who] < people.d).any():
            key = np.where(goes | leap, draw[:, :, d : 2 * d], np.inf)
            few = key.argsort(2).argsort(2) < most
            goes, leap = goes & few, leap & few
        direction = np.where(goes, normal, 0.0)
        size = np.sqrt(np.square(direction).sum(2, keepdims=True))
        radius = _LEAST * (_MOST / _LEAST) ** draw[:, :, 2 * d :]
        low, high = people.low[who][:, None, :], people.high[who][:, None, :]
        with np.errstate(invalid="ignore", divide="ignore"):
            here = people.x[who][:, None, :]
            here = np.where(np.isnan(here), (low + high) / 2, here)  # a missing value starts in the middle
            there = here + radius * direction / np.where(size > 0, size, 1.0) * schema.span
            move = np.clip(there, low, high) - here
        jump = np.full((n, ways, d), np.nan)
        for j in np.flatnonzero(leaps.any(0)).tolist():
            ok = people.level_ok[j][who] & (np.arange(schema.n_levels[j]) != people.x[who, j][:, None])
            many = ok.sum(1)[:, None]
            place = np.floor(draw[:, :, d + j] * many).astype(np.int64).clip(0, np.maximum(many - 1, 0))
            levels = np.argsort(~ok, axis=1, kind="stable")
            jump[:, :, j] = np.where(
                leap[:, :, j] & (many > 0), np.take_along_axis(levels, place, axis=1), np.nan
            )
        return cls(
            np.broadcast_to(here, (n, ways, d)).reshape(-1, d),
            np.where(goes, move, np.nan).reshape(-1, d),
            jump.reshape(-1, d),
        )

    def at(self, people: Population, lane: np.ndarray, rows: np.ndarray, t: PerRow) -> Rows:
        """(m, d) actions of some of the ways, at shares t (m,) of their length; legal for the person."""
        action = self.start[rows] + t[:, None] * self.move[rows]
        action = people.snap(lane[rows], np.where(np.isnan(self.jump[rows]), action, self.jump[rows]))
        same = ~people.schema.differs(action, people.x[lane[rows]])
        return np.where(same, np.nan, action)

    def reaches(self, people: Population, lane: np.ndarray, rows: np.ndarray, t: PerRow) -> Mask:
        """(m,) bool: the way, so far, is allowed and turns the decision."""
        action = self.at(people, lane, rows, t)
        acts = ~np.isnan(action).all(1)
        out = np.zeros(len(rows), dtype=bool)
        if acts.any():
            out[acts] = people.evaluate(lane[rows[acts]], action[acts]).reached
        return out

    def shortened(self, people: Population, lane: np.ndarray, rows: np.ndarray, halvings: int) -> PerRow:
        """(m,) shares of the length at which ways that reach the target barely do."""
        least = np.empty(len(rows))
        for part in _blocks(len(rows)):
            some = rows[part]
            bad, good = np.zeros(len(some)), np.ones(len(some))
            for _ in range(halvings):
                middle = (bad + good) / 2
                yes = self.reaches(people, lane, some, middle)
                good, bad = np.where(yes, middle, good), np.where(yes, bad, middle)
            least[part] = good
        return least


def _distance(people: Population, who: np.ndarray, after: Rows) -> PerRow:
    from wayforward.evaluate.distance import euclidean_columns

    gap = euclidean_columns(people.schema, after) - euclidean_columns(people.schema, people.x[who])
    return np.asarray(np.sqrt(np.square(gap).sum(1)))


def _blocks(m: int) -> list[np.ndarray]:
    return [np.arange(start, min(start + _ROWS, m)) for start in range(0, m, _ROWS)] or [np.arange(0)]
