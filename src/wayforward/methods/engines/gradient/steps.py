"""The steps of a descent: normalised proximal moves, simplexes of levels, bounds. NumPy; slopes come from outside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from wayforward.deadline import look
from wayforward.methods.engines.gradient.relaxed_state import RelaxedState

if TYPE_CHECKING:
    from wayforward.problem import Population

Norm = Literal["l1", "l2"]
Ell = Literal["logit", "squared", "hinge", "probability"]
ELLS = ("logit", "squared", "hinge", "probability")  # their numbers in `_descent_jit`


@dataclass(frozen=True)
class Loss:
    """weight x ell(score) + effort.

    ell: 'logit' (aim - score)^2 below the aim, 'squared' on both sides, 'hinge' (aim - score) below the aim,
    'probability' (1 - sigmoid(score))^2. aim: score aimed at; 0 is the decision's boundary. norm: the effort is
    the sum of price x |move| ('l1') or of (price x move)^2 ('l2'). weight (m,), price (m, d).
    """

    ell: Ell
    aim: float
    norm: Norm
    weight: np.ndarray
    price: np.ndarray

    def steepness(self, score: np.ndarray, size: np.ndarray) -> np.ndarray:
        """Return the derivative (m,) of ell by the score; size (m,): scores are measured in it."""
        short = self.aim - score / size
        if self.ell == "squared":
            return np.asarray(-2 * short / size)
        if self.ell == "hinge":
            return np.asarray(np.where(short > 0, -1 / size, 0.0))
        if self.ell == "probability":
            e = np.exp(-np.abs(score / size))
            p = np.where(score >= 0, 1.0, e) / (1 + e)
            return np.asarray(-2 * (1 - p) * p * (1 - p) / size)
        return np.asarray(-2 * np.maximum(short, 0.0) / size)

    def level_price(self, away: np.ndarray, level: np.ndarray) -> np.ndarray:
        """Return the effort (m, f, l) of levels, from their distance `away` and the price of their features."""
        price = self.price**2 if self.norm == "l2" else self.price
        return np.asarray(away * price[:, level, None])


def run(found: Any, people: Population, state: RelaxedState, loss: Loss, *, steps: int, rate: float) -> None:
    """Descend every search for some steps; the state is changed in place.

    found: `slopes.Slopes`. rate: the widest step, in ranges (times the price: in effort); it falls to a hundredth.
    Deterministic for each search. Counts one model row a step, or what estimates of slopes take.
    """
    if found.runs_itself:
        found.run(people, state, loss, steps=steps, rate=rate)
        return
    schema, level = found.schema, found.level
    floor, ceiling, may = found.bounds(people, state.who)
    open_ = state.free & ~schema.has_levels
    floor, ceiling = np.where(open_, floor, 0.0), np.where(open_, ceiling, 0.0)
    own = found.start(people, state.who, state.free).share
    away = loss.level_price(found.away(own), level)
    loose = state.free[:, level, None] & may
    several = loose.sum(2, keepdims=True) > 1
    price = np.maximum(loss.price, 1e-12)
    first, second, first_share = (np.zeros_like(a) for a in (state.move, state.move, state.share))
    size = np.ones(len(state.who))
    pace = np.full((len(state.who), 1), rate)
    for step in range(1, steps + 1):
        look()
        score, slope, slope_share = found(people, state, turn=step)
        move, share = state.move, state.share
        if step == 1:
            width = np.maximum(np.abs(score), 1e-6)
            size = width if found.problem.target.interval is not None else size
            steep = np.abs(_open(-slope / price, move, floor, ceiling)).max(1)
            way = np.maximum(np.abs(loss.aim * size - score), 1e-3 * width) / np.maximum(steep, 1e-12)
            pace = np.clip(way / 8, 1e-6, rate)[:, None]
        pull = loss.weight * loss.steepness(score, size)
        fall = 0.01 + 0.495 * (1 + float(np.cos(np.pi * step / steps)))
        slope = pull[:, None] * slope
        if loss.norm == "l2":
            slope = slope + 2 * move * loss.price**2
        first = 0.8 * first + 0.2 * slope
        mean = first / (1 - 0.8**step)
        here = pace * fall
        if loss.norm == "l1":
            # Normalised proximal gradient in units of effort: no step is wider than the pace, and near the
            # optimum, where slopes come down to the price 1, what is not worth it walks back at the pace.
            steep = _open(mean / price, move, floor, ceiling)
            wide = here / np.maximum(np.abs(steep).max(1, keepdims=True), 1.0)
            effort = move * price - wide * steep
            move = np.sign(effort) * np.maximum(np.abs(effort) - wide, 0.0) / price
        else:
            second = 0.95 * second + 0.05 * slope**2
            root = np.sqrt(second / (1 - 0.95**step))
            move = move - here / (root + 1e-12) * mean
        state.move[:] = np.clip(move, floor, ceiling)
        if len(level):
            first_share = 0.8 * first_share + 0.2 * (pull[:, None, None] * slope_share + away)
            steep = first_share / (1 - 0.8**step)
            most = np.where(loose, np.abs(steep), 0.0).max(2, keepdims=True)
            wide = rate * fall / np.maximum(most, 1e-12)
            state.share[:] = np.where(several, simplex(share - wide * steep, loose), share)


def _open(slope: np.ndarray, move: np.ndarray, floor: np.ndarray, ceiling: np.ndarray) -> np.ndarray:
    """Set slopes to 0 where the descent would only push against a bound."""
    shut = ((move <= floor) & (slope > 0)) | ((move >= ceiling) & (slope < 0))
    return np.asarray(np.where(shut, 0.0, slope))


def simplex(point: np.ndarray, may: np.ndarray) -> np.ndarray:
    """Project each block of points (m, f, l) on the simplex of its allowed levels.

    Source: J. Duchi et al. (2008), Efficient Projections onto the l1-Ball, ICML.
    """
    point = np.where(may, point, -1e6)
    falling = -np.sort(-point, axis=2)
    over = (falling.cumsum(2) - 1) / np.arange(1, point.shape[2] + 1)
    last = np.maximum((falling > over).sum(2, keepdims=True) - 1, 0)
    return np.asarray(np.maximum(point - np.take_along_axis(over, last, axis=2), 0.0))
