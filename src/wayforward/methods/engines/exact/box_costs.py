"""The least cost in a box at which an affine function of the features is as great as it must be, from below.

A choice among a few values of each feature, with what each costs and gains: the Lagrangian bound of a multiple-choice
knapsack, and the two choices between which its best multiplier lies. Source: M. Fisher (1981), The Lagrangian
relaxation method for solving integer programming problems, Management Science 27(1).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from wayforward.shapes import Floats

_DOUBLINGS, _HALVINGS = 80, 60
_ROUNDING = 1e-11  # of the sizes that a bound is summed from


class BoxMenu(NamedTuple):
    """value, cost and gain (b, d, K) of a few values of each feature, cost inf where there is none; need (b,): the
    least total gain. Of the numbers from low to high (b, d), which gain `unit` for each one: a way from x costs square
    times its square, line times itself, and fixed beside; square and line are 0 where there is nothing between."""

    value: Floats
    cost: Floats
    gain: Floats
    need: Floats
    square: Floats
    line: Floats
    fixed: Floats
    x: Floats
    low: Floats
    high: Floats
    unit: Floats


class BoxBound(NamedTuple):
    """bound (b,): nothing that gains enough costs less, inf: nothing gains enough. few, enough (b, d): values whose
    gains are just not enough, and enough; share (b,): how far from the one to the other enough is reached."""

    bound: Floats
    few: Floats
    enough: Floats
    share: Floats


def least_sum(menu: BoxMenu) -> BoxBound:
    """Bound sums of costs."""
    b = len(menu.need)
    bowed = menu.square > 0
    free = np.zeros(b)
    bound, few, gained = _at(menu, free, bowed)
    enough, total = few.copy(), gained.copy()
    most = np.where(np.isfinite(menu.cost), menu.gain, -np.inf).max(2).sum(1)
    size = np.abs(np.where(np.isfinite(menu.cost), menu.gain, 0.0)).max(2).sum(1) + np.abs(menu.need)
    lost = most < menu.need
    short = (gained < menu.need) & ~lost
    low, high = np.zeros(b), np.ones(b)
    searching = short.copy()
    for _ in range(_DOUBLINGS):  # a multiplier at which the gains are enough
        at = np.flatnonzero(searching)
        if not at.size:
            break
        value, pick, gain = _at(_take(menu, at), high[at], bowed[at])
        bound[at] = np.maximum(bound[at], value - _ROUNDING * high[at] * size[at])
        ok = gain >= menu.need[at]
        enough[at[ok]], total[at[ok]] = pick[ok], gain[ok]
        few[at[~ok]], gained[at[~ok]] = pick[~ok], gain[~ok]
        searching[at[ok]] = False
        low[at[~ok]] = high[at[~ok]]
        high[at[~ok]] *= 4.0
    short &= ~searching
    at = np.flatnonzero(short)
    some = _take(menu, at)
    for _ in range(_HALVINGS):
        if not at.size:
            break
        middle = np.sqrt(np.maximum(low[at], 1e-12 * high[at]) * high[at])
        value, pick, gain = _at(some, middle, bowed[at])
        bound[at] = np.maximum(bound[at], value - _ROUNDING * middle * size[at])
        ok = gain >= menu.need[at]
        high[at] = np.where(ok, middle, high[at])
        low[at] = np.where(ok, low[at], middle)
        enough[at[ok]], total[at[ok]] = pick[ok], gain[ok]
        few[at[~ok]], gained[at[~ok]] = pick[~ok], gain[~ok]
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.clip((menu.need - gained) / (total - gained), 0.0, 1.0)
    share = np.where(short & (total > gained), share, 1.0)
    return BoxBound(np.where(lost, np.inf, bound), few, enough, share)


def _take(menu: BoxMenu, at: np.ndarray) -> BoxMenu:
    return BoxMenu(*(part[at] for part in menu))


def _at(menu: BoxMenu, multiplier: Floats, bowed: np.ndarray) -> tuple[Floats, Floats, Floats]:
    """The Lagrangian (b,) at a multiplier, the values (b, d) where it is least, and their gains (b,)."""
    worth = menu.cost - multiplier[:, None, None] * menu.gain
    k = worth.argmin(2)[:, :, None]
    least, value, gain = (np.take_along_axis(part, k, 2)[:, :, 0] for part in (worth, menu.value, menu.gain))
    if bowed.any():  # a stationary point between the ends
        pull = multiplier[:, None] * menu.unit
        with np.errstate(divide="ignore", invalid="ignore"):
            step = np.sign(pull) * np.maximum(np.abs(pull) - menu.line, 0.0) / (2.0 * menu.square)
        there = np.clip(menu.x + np.where(bowed, step, 0.0), menu.low, menu.high)
        way = np.abs(there - menu.x)
        cost = menu.square * way**2 + menu.line * way + menu.fixed * (way > 0)
        earned = menu.unit * there
        better = bowed & (cost - multiplier[:, None] * earned < least)
        least = np.where(better, cost - multiplier[:, None] * earned, least)
        value, gain = np.where(better, there, value), np.where(better, earned, gain)
    return least.sum(1) + multiplier * menu.need, value, gain.sum(1)


def least_peak(menu: BoxMenu) -> BoxBound:
    """Bound the greatest of the costs; a number moves as far as the level allows, costs rise with its way."""
    b = len(menu.need)
    numbers = menu.line > 0

    def within(level: Floats) -> tuple[Floats, Floats]:
        with np.errstate(divide="ignore", invalid="ignore"):
            far = np.where(numbers, level[:, None] / menu.line, 0.0)
        low, high = np.maximum(menu.low, menu.x - far), np.minimum(menu.high, menu.x + far)
        gain = np.where(menu.cost <= level[:, None, None], menu.gain, -np.inf)
        k = gain.argmax(2)[:, :, None]
        best, value = np.take_along_axis(gain, k, 2)[:, :, 0], np.take_along_axis(menu.value, k, 2)[:, :, 0]
        end = np.where(menu.unit > 0, high, low)
        earned = np.where(numbers & (low <= high), menu.unit * end, -np.inf)
        better = earned > best
        return np.where(better, earned, best).sum(1), np.where(better, end, value)

    top = np.where(np.isfinite(menu.cost), menu.cost, 0.0).max((1, 2))
    lost = within(top)[0] < menu.need
    low, high = np.zeros(b), top.copy()
    done = within(low)[0] >= menu.need
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        ok = within(middle)[0] >= menu.need
        high, low = np.where(ok, middle, high), np.where(ok, low, middle)
    enough = within(high)[1]
    bound = np.where(done, 0.0, low * (1.0 - _ROUNDING))
    return BoxBound(np.where(lost, np.inf, bound), enough, enough, np.ones(b))
