"""Profiles that simulated people have in mind: where a random way they could go meets the decision boundary.

Source: the simulated ground truths of HARE (human-in-the-loop algorithmic recourse), whose radii are not published.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from wayforward.errors import PreferencesError, is_one_of
from wayforward.lazy import renamed_parameters
from wayforward.public import public
from wayforward.streams import Streams

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem
    from wayforward.shapes import Mask, PerRow, Rows

Scale = Literal["near", "intermediate", "far"]

#: The share of a person's boundary points that lie nearer than the one drawn.
SHARE: dict[str, float] = {"near": 0.1, "intermediate": 0.5, "far": 0.9}

_LEAST, _MOST = 0.05, 2.0  # lengths of the paths that are tried, in widths of the ranges
_COARSE, _FINE = 12, 40  # halvings for everybody's points, and for the one that is chosen
_ROWS = 1 << 17  # candidate rows held at once
_STRETCHES = 8  # rounds of lengthening a path that the box cuts
_NEAR_ENOUGH = 0.01  # share of a radius by which a point may miss it
_CHANGES = 1 / 3  # chance that a category goes along with a path


@renamed_parameters(ways="n_paths")
@public
def draw_wanted(
    problem: Problem,
    people: Population,
    scale: Scale = "far",
    *,
    radius: float | None = None,
    numbers_only: bool = False,
    n_paths: int = 256,
    seed: int = 0,
) -> Rows:
    """(n, d) for each person a profile just beyond the decision boundary that they could reach; NaN where none is.

    Of `n_paths` random actions a person (any direction, lengths log-uniform from .05 to 2 ranges, cut at what they may
    do), those that reach the target are shortened until they barely do. scale: the point at the 10th, 50th or 90th
    percentile of the distances from the person to these points. radius: instead, a point about as far away as this,
    where there is one (within 1 %; else the nearest to it); paths that keep this distance are tried, too.
    numbers_only: categories and binaries stay. Distances are Euclidean in widths of the schema's ranges, another
    category is 1 away; in a causal world they are taken where the action leads. A person's profile depends on the
    seed and on their own row only, and obeys the schema, the rules and their wishes.

    Raises: PreferencesError for an unknown scale or an impossible radius.
    Example: ``draw_wanted(problem, problem.population(refused), "near", seed=0)``.
    """
    if not is_one_of(scale, SHARE):
        raise PreferencesError(f"There is no scale '{scale}'. Choose one of {', '.join(SHARE)}.")
    if radius is not None and not (radius > 0 and np.isfinite(radius)):
        raise PreferencesError(
            f"radius={radius} is no distance. Give a number above 0, in widths of a range."
        )
    if n_paths < 1:
        raise PreferencesError(f"n_paths={n_paths} leaves nothing to choose from. Try 1 path or more.")
    streams = Streams.of(people.x, seed)
    wanted = np.full((people.n, people.d), np.nan)
    step = max(1, _ROWS // n_paths)
    for start in range(0, people.n, step):
        who = np.arange(start, min(start + step, people.n))
        wanted[who] = _draw(people, who, streams, SHARE[scale], radius, numbers_only, n_paths)
    return wanted


def _draw(
    people: Population,
    who: np.ndarray,
    streams: Streams,
    share: float,
    radius: float | None,
    numbers_only: bool,
    n_paths: int,
) -> Rows:
    n = len(who)
    paths = _Paths.draw(people, who, streams, numbers_only, n_paths)
    if radius is not None:
        paths = paths.and_round(people, radius)
    per_person = len(paths.owner) // n
    some = np.flatnonzero(paths.turns(people))
    length = np.ones(len(paths.owner))
    length[some] = paths.shortened(people, some, _COARSE)
    far = np.full(len(paths.owner), np.nan)
    far[some] = _distance(
        people, paths.owner[some], people.after(paths.owner[some], paths.at(people, some, length[some]))
    )
    gap = far.reshape(n, per_person)
    many = (~np.isnan(gap)).sum(1)
    if radius is None:
        order = np.argsort(np.where(np.isnan(gap), np.inf, gap), axis=1, kind="stable")
        chosen = order[np.arange(n), np.floor(share * np.maximum(many - 1, 0) + 0.5).astype(np.int64)]
    else:  # the first of those that are near enough, not the very nearest: every direction has its chance
        off = np.maximum(np.abs(gap - radius) - _NEAR_ENOUGH * radius, 0.0)
        chosen = np.argmin(np.where(np.isnan(gap), np.inf, off), axis=1)
    rows = (np.arange(n) * per_person + chosen)[many > 0]
    out = np.full((n, people.d), np.nan)
    if rows.size:
        best = paths.shortened(people, rows, _FINE)
        out[many > 0] = people.after(paths.owner[rows], paths.at(people, rows, best))
    return out


@dataclass(frozen=True)
class _Paths:
    """q paths that people could go, each from t = 0 (still refused) to t = 1.

    owner (q,): whose path it is; as many a person, one person after another. start, move (q, d): what has a size goes
    from start straight to start + move; NaN where it stays. jump (q, d): the level that a category is set to from the
    outset; NaN where it stays. begin (q, d): a path round the person begins at start + begin instead and keeps its
    distance `size` (q,) from the start, NaN for a straight path. Numbers move in widths of their ranges.
    """

    owner: np.ndarray
    start: Rows
    move: Rows
    jump: Rows
    begin: Rows
    size: PerRow

    @classmethod
    def draw(
        cls, people: Population, who: np.ndarray, streams: Streams, numbers_only: bool, n_paths: int
    ) -> _Paths:
        """Draw straight paths in every direction."""
        schema, d = people.schema, people.d
        n = len(who)
        free = people.free[who]
        leaping = schema.is_categorical | (schema.n_levels == 2)
        sized, leaps = free & ~leaping, free & leaping
        if numbers_only:
            sized = sized & ~schema.has_levels
            leaps = np.zeros_like(leaps)
        normal = streams.take(who).normal(np.arange(n), n_paths, d, tag=0x3A17)
        draw = streams.take(who).uniform(np.arange(n), n_paths, 2 * d + 1, tag=0x3A18)
        goes = np.broadcast_to(sized[:, None, :], (n, n_paths, d)).copy()
        leap = leaps[:, None, :] & (draw[:, :, :d] < _CHANGES)
        # Those who allow few changes get paths with few changes: the ones with the smallest keys.
        if (people.max_changes[who] < d).any():
            key = np.where(goes | leap, draw[:, :, d : 2 * d], np.inf)
            few = key.argsort(2).argsort(2) < people.max_changes[who][:, None, None]
            goes, leap = goes & few, leap & few
        direction = np.where(goes, normal, 0.0)
        size = np.sqrt(np.square(direction).sum(2, keepdims=True))
        radius = _LEAST * (_MOST / _LEAST) ** draw[:, :, 2 * d :]
        low, high = people.low[who][:, None, :], people.high[who][:, None, :]
        with np.errstate(invalid="ignore"):
            here = people.x[who][:, None, :]
            here = np.where(np.isnan(here), (low + high) / 2, here)  # a missing value starts in the middle
            there = here + radius * direction / np.where(size > 0, size, 1.0) * schema.span
            move = (np.clip(there, low, high) - here) / schema.span
        jump = np.full((n, n_paths, d), np.nan)
        for j in np.flatnonzero(leaps.any(0)).tolist():
            ok = people.level_ok[j][who] & (np.arange(schema.n_levels[j]) != people.x[who, j][:, None])
            many = ok.sum(1)[:, None]
            place = np.floor(draw[:, :, d + j] * many).astype(np.int64).clip(0, np.maximum(many - 1, 0))
            levels = np.argsort(~ok, axis=1, kind="stable")
            jump[:, :, j] = np.where(
                leap[:, :, j] & (many > 0), np.take_along_axis(levels, place, axis=1), np.nan
            )
        return cls(
            np.repeat(who, n_paths),
            np.broadcast_to(here, (n, n_paths, d)).reshape(-1, d),
            np.where(goes, move, np.nan).reshape(-1, d),
            jump.reshape(-1, d),
            np.zeros((n * n_paths, d)),
            np.full(n * n_paths, np.nan),
        )

    def and_round(self, people: Population, radius: float) -> _Paths:
        """Return these and as many again that keep `radius` from the person, from a refused point to one that is not.

        Where the boundary runs nearly along a direction, hardly any straight path meets it far out.
        """
        n = len(np.unique(self.owner))
        left = radius**2 - (~np.isnan(self.jump)).sum(1)  # another category is 1 away
        size = np.sqrt(np.maximum(left, 0.0))
        out = replace(
            self, move=self._stretched(people, np.arange(len(self.owner)), self.move, size), size=size
        )
        yes = out.turns(people).reshape(n, -1)
        place = np.argsort(yes, axis=1, kind="stable")  # the refused ones first
        many = (~yes).sum(1)
        turn = np.arange(yes.shape[1]) % np.maximum(many, 1)[:, None]
        other = np.take_along_axis(place, turn, axis=1) + np.arange(n)[:, None] * yes.shape[1]
        begin = np.where(np.isnan(out.move), 0.0, np.nan_to_num(out.move[other.ravel()]))
        usable = (left > 0) & np.repeat(many > 0, yes.shape[1])
        # A path that cannot keep its distance, or has nothing to keep, gives no point.
        move = np.where(usable[:, None], out.move, np.nan)
        jump = np.where(usable[:, None], out.jump, np.nan)
        both = [self, replace(out, move=move, jump=jump, begin=begin)]
        parts = {}
        for name in (f.name for f in fields(self)):
            shape = getattr(self, name).shape[1:]
            parts[name] = np.concatenate(
                [getattr(one, name).reshape(n, -1, *shape) for one in both], axis=1
            ).reshape(-1, *shape)
        return _Paths(**parts)

    def _stretched(self, people: Population, rows: np.ndarray, move: Rows, size: PerRow) -> Rows:
        """(m, d) moves made as long as `size` (m,), or as long as what the person may do allows; NaN: as they are."""
        who, span = self.owner[rows], people.schema.span
        low = (people.low[who] - self.start[rows]) / span
        high = (people.high[who] - self.start[rows]) / span
        out = move
        for _ in range(_STRETCHES):
            length = np.sqrt(np.square(np.nan_to_num(out)).sum(1))
            with np.errstate(invalid="ignore", divide="ignore"):
                longer = np.where(length > 0, size / length, 1.0)
            out = np.where(np.isnan(size)[:, None], move, np.clip(out * longer[:, None], low, high))
        return out

    def at(self, people: Population, rows: np.ndarray, t: PerRow) -> Rows:
        """(m, d) actions of some of the paths, at t (m,); legal for the person."""
        who, schema = self.owner[rows], people.schema
        move = t[:, None] * self.move[rows] + (1 - t)[:, None] * self.begin[rows]
        if not np.isnan(self.size[rows]).all():
            move = self._stretched(people, rows, move, self.size[rows])
        action = self.start[rows] + move * schema.span
        action = people.snap(who, np.where(np.isnan(self.jump[rows]), action, self.jump[rows]))
        return np.where(schema.differs(action, people.x[who]), action, np.nan)

    def reaches(self, people: Population, rows: np.ndarray, t: PerRow) -> Mask:
        """(m,) bool: the path, so far, is allowed and turns the decision."""
        action = self.at(people, rows, t)
        acts = ~np.isnan(action).all(1)
        out = np.zeros(len(rows), dtype=bool)
        if acts.any():
            out[acts] = people.evaluate(self.owner[rows[acts]], action[acts]).reached
        return out

    def turns(self, people: Population) -> Mask:
        """(q,) bool: the end of the path turns the decision, and its beginning does not."""
        parts = []
        for rows in _blocks(len(self.owner)):
            yes = self.reaches(people, rows, np.ones(len(rows)))
            goes_round = np.flatnonzero(yes & ~np.isnan(self.size[rows]) & self.begin[rows].any(1))
            yes[goes_round] = ~self.reaches(people, rows[goes_round], np.zeros(len(goes_round)))
            parts.append(yes)
        return np.concatenate(parts)

    def shortened(self, people: Population, rows: np.ndarray, halvings: int) -> PerRow:
        """(m,) where paths that reach the target barely do."""
        least = np.empty(len(rows))
        for part in _blocks(len(rows)):
            some = rows[part]
            bad, good = np.zeros(len(some)), np.ones(len(some))
            for _ in range(halvings):
                middle = (bad + good) / 2
                yes = self.reaches(people, some, middle)
                good, bad = np.where(yes, middle, good), np.where(yes, bad, middle)
            least[part] = good
        return least


def _distance(people: Population, who: np.ndarray, after: Rows) -> PerRow:
    from wayforward.evaluate.distance import euclidean_columns

    gap = euclidean_columns(people.schema, after) - euclidean_columns(people.schema, people.x[who])
    return np.asarray(np.sqrt(np.square(gap).sum(1)))


def _blocks(m: int) -> list[np.ndarray]:
    return [np.arange(start, min(start + _ROWS, m)) for start in range(0, m, _ROWS)] or [np.arange(0)]
