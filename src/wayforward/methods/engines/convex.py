"""The least change that meets a few linear or quadratic conditions inside a box, for many rows at once.

Linear conditions: coordinate ascent on their multipliers (C. Hildreth, 1957, A quadratic programming procedure, Naval
Research Logistics Quarterly 4); with one condition the first step is the answer. Quadratic ones: their tangents, again
and again, and back towards an inner point until they hold, so that every iterate is allowed and none costs more than
the one before.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from wayforward.shapes import Floats, Mask

Ends = tuple[Floats, Floats, Floats, Floats, Floats]

_HALVINGS, _CYCLES, _ROUNDS = 60, 10, 40
_ENDLESS = 1e30  # multipliers of conditions that cannot be met together go on rising
_BOWED, _BENT, _MOVES = (
    1e-6,
    0.5,
    40,
)  # how much straight costs are bent, so that there is one answer; moves of that


class Conditions(NamedTuple):
    """value + slope . u - u . bow u / 2 >= 0 for each of L conditions on m rows u (m, f).

    value (m, L), slope (m, L, f), bow (L, f, f), which are symmetric."""

    value: Floats
    slope: Floats
    bow: Floats

    def at(self, u: Floats) -> Floats:
        """(m, L) what is to be at least 0."""
        bent = np.einsum("mf,lfg,mg->ml", u, self.bow, u)
        return np.asarray(self.value + np.einsum("mlf,mf->ml", self.slope, u) - bent / 2)

    def tangents(self, u: Floats) -> Conditions:
        """The linear conditions that touch these at u."""
        slope = self.slope - np.einsum("lfg,mg->mlf", self.bow, u)
        value = self.at(u) - np.einsum("mlf,mf->ml", slope, u)
        return Conditions(value, slope, np.zeros_like(self.bow))

    def take(self, rows: np.ndarray) -> Conditions:
        """Those of some rows."""
        return Conditions(self.value[rows], self.slope[rows], self.bow)


def cost_of(u: Floats, weight: Floats, norm: str) -> Floats:
    """(m,) the weighted sum of sizes, or the sum of weighted squares."""
    return np.asarray((weight * np.abs(u)).sum(1) if norm == "l1" else ((weight * u) ** 2).sum(1))


def least_change(
    conditions: Conditions, weight: Floats, low: Floats, high: Floats, norm: str, inner: Floats
) -> tuple[Floats, Mask]:
    """Return u (m, f) of small cost between low and high (m, f), around 0, and whether it meets all conditions.

    weight (m, f); norm: 'l1' or 'l2'. inner (m, f): points that meet the conditions well, where one knows any, from
    which quadratic conditions are approached. Linear conditions: the least cost; quadratic: a local least.
    """
    if not conditions.bow.any():
        ends = np.maximum(conditions.slope * low[:, None], conditions.slope * high[:, None])
        rows = np.flatnonzero((conditions.value + ends.sum(2) >= 0).all(1))  # each can be met by itself
        u = np.zeros_like(low)
        u[rows] = _under_lines(conditions.take(rows), weight[rows], low[rows], high[rows], norm)
        return u, _met(conditions, u)
    u = np.clip(inner, low, high)
    good = _met(conditions, u)
    for _ in range(_ROUNDS):
        new = _under_lines(conditions.tangents(u), weight, low, high, norm)
        back = np.where(good[:, None], np.clip(inner, low, high), new)
        new = _between(conditions, new, back)
        held = _met(conditions, new)
        better = (~good & (held | ~np.isclose(new, u, atol=1e-12).all(1))) | (
            good & held & (cost_of(new, weight, norm) < cost_of(u, weight, norm) * (1 - 1e-9))
        )
        if not better.any():
            break
        u[better] = new[better]
        fresh = better & held & ~good
        inner = np.where(fresh[:, None], u, inner)
        good |= held & better
    return u, good


def _met(conditions: Conditions, u: Floats) -> Mask:
    size = 1e-9 * (1.0 + np.abs(conditions.value) + np.abs(conditions.slope * u[:, None]).sum(2))
    return np.asarray((conditions.at(u) >= -size).all(1))


def _between(conditions: Conditions, new: Floats, inner: Floats) -> Floats:
    """The points nearest to new, on the way to inner, that meet the conditions; inner where none is found."""
    low, high = np.zeros(len(new)), np.ones(len(new))
    whole = _met(conditions, new)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        ok = _met(conditions, new + middle[:, None] * (inner - new))
        high, low = np.where(ok, middle, high), np.where(ok, low, middle)
    return np.where(whole[:, None], new, new + high[:, None] * (inner - new))


def _under_lines(conditions: Conditions, weight: Floats, low: Floats, high: Floats, norm: str) -> Floats:
    """The least change under linear conditions; where they cannot be met, as near to it as multipliers led.

    Straight costs are bent around a point, which moves to the answer until that stays (R. T. Rockafellar, 1976,
    Monotone operators and the proximal point algorithm, SIAM Journal on Control and Optimization 14); under one
    condition they are bent by next to nothing, once.
    """
    (m, count, _), reach = conditions.slope.shape, np.maximum(np.maximum(-low, high), 1e-300)
    multiplier, u = np.zeros((m, count)), np.zeros_like(weight)
    if norm == "l2":
        bend, straight, moves = np.maximum(2 * weight**2, 1e-12), 0 * weight, 1
    else:
        bend = (_BOWED if count == 1 else _BENT) * np.maximum(weight, 1e-12) / reach
        straight, moves = weight, 1 if count == 1 else _MOVES
    rows = np.arange(m)
    for _ in range(moves):
        before = multiplier[rows]
        ends = bend[rows], straight[rows], low[rows], high[rows], u[rows]
        new, multiplier[rows] = _ascended(conditions.take(rows), ends, before)
        moved = (np.abs(new - u[rows]) > 1e-9 * reach[rows]).any(1)
        moved |= ~np.isclose(before, multiplier[rows], rtol=1e-9, atol=1e-12).all(1)
        u[rows] = new
        rows = rows[moved]
        if not rows.size:
            break
    return u


def _ascended(conditions: Conditions, ends: Ends, start: Floats) -> tuple[Floats, Floats]:
    """The least of straight |u| + bend (u - middle)^2 / 2 under linear conditions, and the multipliers (m, L) that the
    ascent from `start` ends at. ends: bend, straight, low, high, middle, (m, f) each."""
    multiplier, going = start.copy(), np.arange(len(start))
    for _ in range(_CYCLES if start.shape[1] > 1 else 1):
        if not going.size:
            break
        bend, straight, low, high, middle = (part[going] for part in ends)
        new = _one_cycle(conditions.take(going), (bend, straight, low, high, middle), multiplier[going])
        moved = ~np.isclose(new, multiplier[going], rtol=1e-9, atol=1e-12).all(1)
        multiplier[going] = new
        going = going[moved]
    return _pulled(np.einsum("ml,mlf->mf", multiplier, conditions.slope), ends), multiplier


def _pulled(pull: Floats, ends: Ends) -> Floats:
    """Where costs and a pull (m, f) balance."""
    bend, straight, low, high, middle = ends
    pull = pull + bend * middle
    return np.asarray(np.clip(np.sign(pull) * np.maximum(np.abs(pull) - straight, 0.0) / bend, low, high))


def _one_cycle(conditions: Conditions, ends: Ends, start: Floats) -> Floats:
    """Set each multiplier in turn to the least at which its condition holds, and return them (m, L)."""
    value, slope, multiplier = conditions.value, conditions.slope, start.copy()
    bend, straight, low, high, _ = ends
    size, reach = np.abs(slope), np.maximum(high, -low)
    counts = size > 1e-9 * size.max(2, keepdims=True)  # what moves a condition at all
    for k in range(start.shape[1]):
        line = slope[:, k]
        others = np.einsum("ml,mlf->mf", multiplier, slope) - multiplier[:, [k]] * line
        # against which all that counts is at its end
        pull = straight + 2 * bend * reach + np.minimum(np.abs(others), _ENDLESS)
        most = 1.01 * np.divide(pull, size[:, k], out=np.zeros_like(pull), where=counts[:, k]).max(1)
        most, least = np.minimum(most, _ENDLESS), np.zeros(len(start))
        enough = value[:, k] + (line * _pulled(others, ends)).sum(1) >= 0
        for _ in range(_HALVINGS):
            half = (least + most) / 2
            ok = value[:, k] + (line * _pulled(others + half[:, None] * line, ends)).sum(1) >= 0
            most, least = np.where(ok, half, most), np.where(ok, least, half)
        multiplier[:, k] = np.where(enough, 0.0, most)
    return multiplier
