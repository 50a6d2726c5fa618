"""What somebody's choices say about how hard they find each change: a cloud of likely tastes.

A taste is a weight for each feature on the problem's cost, and a price of touching a feature at all. Before any answer
weights are exponentially distributed; a choice among c plans is logistic in their dislikes, with a few slips.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wayforward.streams import Streams

_DRAWN, _KEPT, _MOVES = 1024, 96, 12  # tastes drawn, kept, and how often each is moved
_SHARP, _SLIP = 12.0, 0.06  # of choices, with dislikes in units of a usual plan's
_TOUCH = np.log(0.05), np.log(1.0)  # log-uniform: what a touch costs, in units of a usual plan's


@dataclass(frozen=True)
class ScreenChoices:
    """Who chose what: parts (n, H, c, d) of the plans side by side, there (n, H, c), chosen (n, H) or -1."""

    parts: np.ndarray
    there: np.ndarray
    chosen: np.ndarray


def dislike(taste: np.ndarray, parts: np.ndarray, usual: np.ndarray) -> np.ndarray:
    """taste (n, P, d + 1) logs, parts (n, K, d), usual (n,) cost of a usual plan -> (n, P, K) in its unit."""
    scale = np.maximum(usual, 1e-12)[:, None, None]
    far, touched = parts / scale, (parts > 0).astype(np.float64)
    weight = np.exp(taste[..., :-1])
    touch = np.exp(taste[..., -1:])
    return np.asarray(weight @ far.transpose(0, 2, 1) + touch * (weight @ touched.transpose(0, 2, 1)))


def _fit(taste: np.ndarray, answers: ScreenChoices, usual: np.ndarray) -> np.ndarray:
    """(n, P) log-likelihood of the choices."""
    n, turns, many, d = answers.parts.shape
    cost = dislike(taste, answers.parts.reshape(n, turns * many, d), usual).reshape(n, -1, turns, many)
    cost = cost / np.maximum(np.exp(taste[..., :-1]).mean(-1), 1e-9)[..., None, None]  # only ratios count
    worth = np.where(answers.there[:, None], -_SHARP * cost, -np.inf)
    worth = worth - worth.max(-1, keepdims=True, initial=-1e300)
    share = np.exp(worth)
    share = share / np.maximum(share.sum(-1, keepdims=True), 1e-300)
    at = np.maximum(answers.chosen, 0)[:, None, :, None]
    got = np.take_along_axis(share, np.broadcast_to(at, (*share.shape[:3], 1)), 3)[..., 0]
    log = np.log((1 - _SLIP) * got + _SLIP / np.maximum(answers.there.sum(-1), 1)[:, None])
    return np.asarray(np.where(answers.chosen[:, None] < 0, 0.0, log).sum(-1))


def _prior(taste: np.ndarray) -> np.ndarray:
    """(n, P) log-density before any answer, up to a constant."""
    inside = (taste[..., -1] >= _TOUCH[0]) & (taste[..., -1] <= _TOUCH[1])
    weights = (taste[..., :-1] - np.exp(taste[..., :-1])).sum(-1)
    return np.asarray(np.where(inside, weights, -np.inf))


def tastes(streams: Streams, d: int, answers: ScreenChoices, usual: np.ndarray) -> np.ndarray:
    """Likely tastes of n people after what they said: (n, P, d + 1) logs, all as likely.

    The same replies give the same tastes: nothing is carried over from one answer to the next.
    """
    n = len(usual)
    each = np.arange(n)
    draw = streams.uniform(each, _DRAWN, d + 1, tag=0xE0)
    touch = _TOUCH[0] + (_TOUCH[1] - _TOUCH[0]) * draw[..., -1:]
    taste = np.concatenate([np.log(-np.log(draw[..., :-1])), touch], axis=-1)
    if not (answers.chosen >= 0).any():
        return taste[:, :_KEPT]
    log = _fit(taste, answers, usual)
    share = np.exp(log - log.max(1, keepdims=True)).cumsum(1)
    u = (np.arange(_KEPT) + streams.uniform(each, 1, tag=0xE1)) / _KEPT * share[:, -1:]
    pick = (u[:, :, None] > share[:, None, :]).sum(2).clip(0, _DRAWN - 1)
    taste = np.take_along_axis(taste, pick[..., None], 1)
    now = np.take_along_axis(log, pick, 1) + _prior(taste)
    for move in range(_MOVES):
        u = streams.uniform(each, _KEPT, 3, tag=0xE10 + move)
        noise = streams.normal(each, _KEPT, d + 1, tag=0xE30 + move)
        mates = [
            np.take_along_axis(taste, np.floor(u[..., i : i + 1] * _KEPT).astype(np.int64), 1) for i in (0, 1)
        ]
        new = taste + 0.5 * (mates[0] - mates[1]) + 0.2 * noise
        then = _fit(new, answers, usual) + _prior(new)
        yes = np.log(u[..., 2]) < then - now
        taste, now = np.where(yes[..., None], new, taste), np.where(yes, then, now)
    return taste
