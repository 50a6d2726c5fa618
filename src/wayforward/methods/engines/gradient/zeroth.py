"""Slopes of a function that only gives values: differences of neighbouring rows, batched. NumPy only."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from wayforward.methods.engines.gradient.relaxed_state import Layout, RelaxedState
from wayforward.streams import Streams

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem

_ROWS = 1 << 17  # rows shown to the model at once
_CAP = 6.0  # log-odds beyond this count as this: a forest may say probability 0, whose log-odds have no end
_FINE = 1e-3  # radius for models that are smooth, in ranges
_RADII = (0.1, 0.03, 0.3, 0.01)  # for models that are piecewise constant or give labels: one after another
_COORDINATES = 50  # numeric features up to which each gets a difference of its own
_DIRECTIONS = 64  # pairs of random directions, above it


def sphere(
    function: Callable[[np.ndarray], np.ndarray],
    point: np.ndarray,
    directions: np.ndarray,
    radius: float,
    *,
    both: bool = True,
) -> np.ndarray:
    """Estimate slopes of a function at points (m, d) from unit vectors (m, q, d): mean of d x difference x direction.

    function: (m * q, d) -> (m * q,). both: a difference across the point (2 q rows), else from it (q + 1 rows).
    Unbiased for a linear function when directions are uniform on the sphere.
    Source: Y. Nesterov, V. Spokoiny (2017), Random Gradient-Free Minimization, Found. Comput. Math. 17.
    """
    m, q, d = directions.shape
    ahead = function((point[:, None] + radius * directions).reshape(m * q, d)).reshape(m, q)
    if both:
        behind = function((point[:, None] - radius * directions).reshape(m * q, d)).reshape(m, q)
        rise = (ahead - behind) / (2 * radius)
    else:
        rise = (ahead - function(point)[:, None]) / radius
    return np.asarray(d * (rise[:, :, None] * directions).mean(1))


def unit_vectors(normal: np.ndarray) -> np.ndarray:
    """Turn normal draws (..., d) into directions uniform on the sphere."""
    return np.asarray(normal / np.maximum(np.linalg.norm(normal, axis=-1, keepdims=True), 1e-300))


def is_smooth(problem: Problem) -> bool:
    """True if the score moves with every small step: neither labels alone nor a piecewise constant model."""
    from wayforward.model import Access

    model = problem.model

    def look() -> bool:
        return bool(
            (model.task == "regression" or model.access > Access.LABEL) and model.thresholds() is None
        )

    return problem.shared("smooth", look)


class Zeroth(Layout):
    """Slopes of a problem's score by scores of neighbouring rows; labels suffice. See `slopes.Slopes`.

    Numbers: the difference across the point, one feature after another (2 rows each), or along random directions
    where there are more than 50. For models that are smooth the rows are close by; for those that are piecewise
    constant (trees, labels) the neighbourhood is wider and changes with `turn`, which averages the steps. Rows are on
    the lattice of their feature and within the person's reach, and consequences count. Levels: the score with the level
    put in less the score as it is. For models that are not smooth, differences are taken of log-odds up to 6.
    """

    exact = False

    def __init__(
        self, problem: Problem, span: np.ndarray, *, seed: int = 0, by_move: np.ndarray | None = None
    ) -> None:
        super().__init__(problem.schema, span, by_move)
        self.problem, self.seed = problem, seed
        self.smooth = is_smooth(problem)
        self.cap = np.inf if self.smooth or problem.target.interval is not None else _CAP

    def rows(self, free: np.ndarray) -> np.ndarray:
        """Return the most model rows (m,) of one call for searches that may move features free (m, d)."""
        p = free[:, self.numeric].sum(1)
        pairs = p if len(self.numeric) <= _COORDINATES else np.full(len(free), _DIRECTIONS)
        return np.asarray(1 + 2 * pairs + (self.size * free[:, self.level]).sum(1))

    def __call__(
        self, people: Population, state: RelaxedState, *, turn: int = 0, levels: bool = True
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """See `Slopes`; levels=False leaves the slopes of shares at 0."""
        action = self.hard(people, state)
        score = self._score(people, state.who, action)
        here = np.clip(score, -self.cap, self.cap)
        move = self._moves(people, state, action, turn)
        share = np.zeros_like(state.share)
        if levels and len(self.level):
            share = self._levels(people, state, action, here)
        # A mixture of levels is worth the mean of what they are worth alone.
        chosen = state.share.argmax(2)[..., None] == np.arange(self.wide)
        score = score + ((state.share - chosen) * share).sum(2).sum(1)
        return score, move, share

    # -- rows ----------------------------------------------------------------------------------------------

    def _moves(self, people: Population, state: RelaxedState, action: np.ndarray, turn: int) -> np.ndarray:
        """Return slopes (m, d) of moves around actions (m, d)."""
        radius = _FINE if self.smooth else _RADII[turn % len(_RADII)]
        if len(self.numeric) <= _COORDINATES:
            return self._coordinates(people, state, action, radius)
        return self._directions(people, state, action, radius, turn)

    def _score(self, people: Population, who: np.ndarray, action: np.ndarray) -> np.ndarray:
        """Score where actions lead, (q,); NaN for rows that the model cannot read, such as levels that do not exist."""
        out = np.full(len(who), np.nan)
        schema = self.schema
        for begin in range(0, len(who), _ROWS):
            part = slice(begin, begin + _ROWS)
            after = people.after(who[part], action[part])
            level = after[:, self.level]
            with np.errstate(invalid="ignore"):
                wrong = (level < 0) | (level >= schema.n_levels[self.level]) | (level != np.round(level))
            gone = np.isnan(after) & ~schema.missing
            good = ~((wrong & ~np.isnan(level)).any(1) | gone.any(1) | np.isinf(after).any(1))
            at = np.flatnonzero(good)
            if at.size:
                out[begin + at] = people.score(who[part][at], after[at], action[part][at])
        return out

    def _beside(
        self, people: Population, who: np.ndarray, value: np.ndarray, step: np.ndarray, j: np.ndarray
    ) -> np.ndarray:
        """Return values (q,) of features j (q,) a step away, on the lattice and within reach."""
        lattice = np.nan_to_num(self.schema.step)[j]
        wide = np.sign(step) * np.maximum(np.abs(step) * self.span[j], lattice)
        point = value + wide
        first = np.nan_to_num(self.schema.low)[j]
        snapped = first + np.round((point - first) / np.where(lattice > 0, lattice, 1.0)) * lattice
        point = np.where(lattice > 0, snapped, point)
        own = people.x[who, j]
        return np.asarray(np.clip(point, np.fmin(people.low[who, j], own), np.fmax(people.high[who, j], own)))

    def _coordinates(
        self, people: Population, state: RelaxedState, action: np.ndarray, radius: float
    ) -> np.ndarray:
        move = np.zeros_like(state.move)
        row, j = np.nonzero(state.free & ~self.schema.has_levels)
        if not row.size:
            return move
        who = state.who[row]
        value = np.where(np.isnan(action[row, j]), people.x[who, j], action[row, j])
        q = len(row)
        point = np.concatenate(
            [self._beside(people, who, value, np.full(q, side * radius), j) for side in (1.0, -1.0)]
        )
        trial = np.concatenate([action[row], action[row]])
        trial[np.arange(2 * q), np.tile(j, 2)] = point
        got = np.clip(self._score(people, np.tile(who, 2), trial), -self.cap, self.cap)
        apart = (point[:q] - point[q:]) / self.span[j]
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = (got[:q] - got[q:]) / apart
        move[row, j] = np.where((apart > 0) & np.isfinite(slope), slope, 0.0)
        return move

    def _directions(
        self, people: Population, state: RelaxedState, action: np.ndarray, radius: float, turn: int
    ) -> np.ndarray:
        """Estimate along random directions of what may move; rows outside a person's reach are put at its edge."""
        open_ = state.free[:, self.numeric]
        streams = Streams.of(people.x, self.seed)
        m, p = open_.shape
        normal = streams.normal(state.who, _DIRECTIONS, p, tag=9100 + turn)
        direction = unit_vectors(normal * open_[:, None])
        row = np.repeat(np.arange(m), _DIRECTIONS)
        who = state.who[row]
        j = np.tile(self.numeric, m * _DIRECTIONS)
        value = np.where(np.isnan(action), people.x[state.who], action)[:, self.numeric][row]
        ends = []
        for side in (1.0, -1.0):
            step = side * radius * np.sqrt(np.maximum(open_.sum(1), 1))[row, None] * direction.reshape(-1, p)
            point = self._beside(people, np.repeat(who, p), value.reshape(-1), step.reshape(-1), j)
            trial = action[row]
            trial[:, self.numeric] = np.where(open_[row], point.reshape(-1, p), trial[:, self.numeric])
            ends.append(trial)
        got = np.clip(self._score(people, np.tile(who, 2), np.concatenate(ends)), -self.cap, self.cap)
        rise = (got[: len(row)] - got[len(row) :]).reshape(m, _DIRECTIONS)
        far = np.nan_to_num((ends[0] - ends[1])[:, self.numeric] / self.span[self.numeric])
        far = far.reshape(m, _DIRECTIONS, p)
        move = np.zeros_like(state.move)
        length = (far**2).sum(2)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where((length > 0) & np.isfinite(rise), rise / length, 0.0)
        move[:, self.numeric] = (
            open_.sum(1)[:, None] * (share[:, :, None] * far).mean(1) * open_
        )  # E[u u'] = 1 / p
        return move

    def _levels(
        self, people: Population, state: RelaxedState, action: np.ndarray, here: np.ndarray
    ) -> np.ndarray:
        share = np.zeros_like(state.share)
        _, _, may = self.bounds(people, state.who)
        chosen = state.share.argmax(2)
        place = np.arange(self.wide)
        wanted = may & state.free[:, self.level, None] & (place != chosen[..., None])
        row, f, level = np.nonzero(wanted)
        if not row.size:
            return share
        own = self.own_place(people.x[state.who])[row, f]
        trial = action[row]
        trial[np.arange(len(row)), self.level[f]] = np.where(level == own, np.nan, level)
        got = np.clip(self._score(people, state.who[row], trial), -self.cap, self.cap)
        rise = got - here[row]
        share[row, f, level] = np.where(np.isfinite(rise), rise, 0.0)
        return share
