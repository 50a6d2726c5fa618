"""What is believed about n people's tastes after their comparisons: weighted particles, all people in one tensor.

Three families stand side by side, so that no one idea of taste has to be right:

- *ideal, sufficient*: a profile in mind that barely reaches the decision; a plan is disliked by its distance from it;
- *ideal, anywhere*: a profile in mind that need not reach it;
- *effort*: a weight for each feature; a plan is disliked by the weighted sum of its parts of the problem's cost.

Each particle carries a sharpness too: of two plans the less disliked one is chosen with Bradley-Terry probability
sharp x difference, except for a share of slips, where the reply is a coin. So no answer rules a particle out, and how
far a person's answers can be trusted is learned with the rest.

Shapes: n people, P particles of which the first A hold an ideal, C plans, H questions, e columns of `columns`.
Source of the model: R. A. Bradley and M. E. Terry (1952), Biometrika 39; of the moves: C. J. F. ter Braak (2006), A
Markov Chain Monte Carlo version of the genetic algorithm Differential Evolution, Statistics and Computing 16, inside
the resample-move scheme of W. R. Gilks and C. Berzuini (2001), JRSS B 63.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.evaluate.distance import euclidean_columns
from wayforward.people.elicitors.plan_pool import barely, full, leaping

if TYPE_CHECKING:
    from wayforward.problem import Population
    from wayforward.shapes import Rows, Who
    from wayforward.streams import Streams

_SHARP = (np.log(3.0), np.log(300.0))  # log-uniform before any answer
_SLIP = (np.log(0.004), np.log(0.25))
_SHAPE = 1.0  # of the gamma distribution of the effort weights
_BEYOND = 1.6  # a moved ideal is looked for up to this share of its way

_ARRAYS = ("wish", "place", "sound", "load", "sharp", "slip", "log", "mean", "far")  # of a belief


@dataclass
class Replies:
    """What n people said: place (n, H, 2, e), part (n, H, 2, d) of the two plans, reply (n, H): 0, 1, or -1."""

    place: np.ndarray
    part: np.ndarray
    reply: np.ndarray


@dataclass
class Belief:
    """Particles of n people. families: (first, last) of each of the three.

    wish (n, A, d): full rows; place (n, A, e): where they lead; load (n, B, d): log weights; sharp, slip (n, P): logs;
    log (n, P): log weights, whose sums over a family keep how likely the family is. sound (n, A) bool: the ideal is a
    plan that works. mean (n, d) and far (n,): parts and distance of a usual plan, the scale of the effort family.
    """

    wish: np.ndarray
    place: np.ndarray
    sound: np.ndarray
    load: np.ndarray
    sharp: np.ndarray
    slip: np.ndarray
    log: np.ndarray
    mean: np.ndarray
    far: np.ndarray
    families: tuple[tuple[int, int], ...]

    @property
    def weight(self) -> np.ndarray:
        """(n, P) probabilities."""
        return normalised(self.log)

    def take(self, who: Who) -> Belief:
        """Some of the people."""
        return replace(self, **{name: getattr(self, name)[who] for name in _ARRAYS})

    @staticmethod
    def joined(parts: list[Belief]) -> Belief:
        """Several groups of people as one, in order."""
        whole: dict[str, Any] = {name: np.concatenate([getattr(p, name) for p in parts]) for name in _ARRAYS}
        return replace(parts[0], **whole)

    def put(self, who: Who, some: Belief) -> None:
        """Write back what `take` took."""
        for name in _ARRAYS:
            getattr(self, name)[who] = getattr(some, name)

    def dislike(self, place: np.ndarray, part: np.ndarray) -> np.ndarray:
        """place (n, C, e), part (n, C, d) -> (n, P, C) float32: how much each particle dislikes each plan."""
        one, two = self.place.astype(np.float32), place.astype(np.float32)
        square = np.square(one).sum(2)[:, :, None] + np.square(two).sum(2)[:, None, :]
        square -= 2 * (one @ two.transpose(0, 2, 1))
        ideal = np.sqrt(np.maximum(square, 0))
        return np.concatenate([ideal, self._effort(part)], axis=1)

    def _effort(self, part: np.ndarray) -> np.ndarray:
        return np.asarray(self.effort.astype(np.float32) @ part.astype(np.float32).transpose(0, 2, 1))

    @property
    def effort(self) -> np.ndarray:
        """(n, B, d) weights on the parts of the cost, scaled so that a usual plan is disliked by `far`."""
        heavy = np.exp(self.load)
        usual = (heavy * self.mean[:, None, :]).sum(2, keepdims=True)
        return np.asarray(heavy / np.maximum(usual, 1e-12) * self.far[:, None, None])

    def chance(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Dislikes (n, P, Q) of two plans -> (n, P, Q): how likely each particle chooses the first."""
        sharp = np.exp(self.sharp).astype(np.float32)[:, :, None]
        slip = np.exp(self.slip).astype(np.float32)[:, :, None]
        with np.errstate(over="ignore"):
            plain = 1 / (1 + np.exp(sharp * (first - second)))
        return np.asarray((1 - slip) * plain + slip / 2)

    def fit(self, replies: Replies) -> np.ndarray:
        """(n, P) log-likelihood of all that was said."""
        n, many = replies.reply.shape
        dislike = self.dislike(
            replies.place.reshape(n, 2 * many, -1), replies.part.reshape(n, 2 * many, -1)
        ).reshape(n, self.log.shape[1], many, 2)
        chance = self.chance(dislike[..., 0], dislike[..., 1])
        reply = replies.reply[:, None, :]
        got = np.where(reply == 0, chance, 1 - chance)
        log = np.log(np.maximum(got, 1e-7).astype(np.float64))
        return np.asarray(np.where(reply < 0, 0.0, log).sum(2))


def normalised(log: np.ndarray) -> np.ndarray:
    """Log weights (..., P) -> probabilities."""
    share = np.exp(log - log.max(-1, keepdims=True))
    return np.asarray(share / share.sum(-1, keepdims=True))


def columns(people: Population, who: Who, action: Rows) -> tuple[np.ndarray, np.ndarray]:
    """(m, d) -> where the actions lead: after (m, d), and (m, e) how far that is from the person, in fair columns."""
    after = people.after(who, action)
    schema = people.schema
    return after, euclidean_columns(schema, after) - euclidean_columns(schema, people.x)[who]


def prior(
    people: Population,
    streams: Streams,
    action: np.ndarray,
    many: np.ndarray,
    mean: np.ndarray,
    far: np.ndarray,
    sizes: tuple[int, int, int],
    shares: tuple[float, float, float],
) -> Belief:
    """Particles before any answer. action (n, K, d): plans that work, the first `many` (n,) of each person exist."""
    n, _, d = action.shape
    tight, loose, effort = sizes
    draw = streams.uniform(np.arange(n), tight + loose, 2, tag=0x7A10)
    # evenly spread over the plans that there are
    grid = (np.arange(tight + loose) % max(tight, 1) + draw[..., 0]) / max(tight, 1)
    pick = np.floor(np.clip(grid, 0, 1 - 1e-9) * many[:, None]).astype(np.int64)
    who = np.repeat(np.arange(n), tight + loose)
    wish = full(people, who, np.take_along_axis(action, pick[..., None], axis=1).reshape(-1, d))
    here = people.x[who]
    scale = np.where(np.arange(tight + loose) < tight, 1.0, 1.4 * draw[..., 1]).reshape(-1, 1)
    leap = leaping(people) | np.isnan(here) | np.isnan(wish)
    with np.errstate(invalid="ignore"):
        wish = np.where(leap | (scale == 1), wish, here + scale * (wish - here))  # to the last bit
    wish = np.where(
        leap | (scale == 1),
        wish,
        np.clip(wish, np.minimum(people.low[who], here), np.maximum(people.high[who], here)),
    )
    place = columns(people, who, _acts(people, who, wish))[1]
    total = sum(sizes)
    level = streams.uniform(np.arange(n), 2, total, tag=0x7A11)
    from scipy.special import gammaincinv

    load = np.log(gammaincinv(_SHAPE, streams.uniform(np.arange(n), effort, d, tag=0x7A12)) + 1e-9)
    edges = np.cumsum([0, *sizes])
    log = np.concatenate(
        [
            np.full(size, np.log(max(share, 1e-300) / max(size, 1)))
            for size, share in zip(sizes, shares, strict=True)
        ]
    )
    return Belief(
        wish=wish.reshape(n, tight + loose, d),
        place=place.reshape(n, tight + loose, place.shape[1]),
        sound=np.tile(np.arange(tight + loose) < tight, (n, 1)),
        load=load,
        sharp=_SHARP[0] + (_SHARP[1] - _SHARP[0]) * level[:, 0],
        slip=_SLIP[0] + (_SLIP[1] - _SLIP[0]) * level[:, 1],
        log=np.tile(log, (n, 1)),
        mean=mean,
        far=far,
        families=tuple((int(a), int(b)) for a, b in pairwise(edges)),
    )


def _acts(people: Population, who: Who, row: Rows) -> Rows:
    """Full rows -> actions, values between the steps allowed; NaN where nothing changes or nobody may act."""
    moved = people.schema.differs(row, people.x[who]) & people.free[who]
    return np.where(moved, row, np.nan)


def refresh(
    belief: Belief, people: Population, replies: Replies, streams: Streams, tag: int, moves: int
) -> None:
    """Resample each family of everybody and move its particles by Metropolis steps on all that was said; in place."""
    n = len(belief.log)
    for f, (first, last) in enumerate(belief.families):
        if last > first:
            _resample(belief, first, last, streams.uniform(np.arange(n), tag=tag + f))
    fit = belief.fit(replies)
    for move in range(moves):
        at = tag + 16 * (move + 1)
        fit = _move_ideals(belief, people, replies, streams, at, fit)
        fit = _move_rest(belief, replies, streams, at + 8, fit)


def _resample(belief: Belief, first: int, last: int, u: np.ndarray) -> None:
    """Systematic resampling of one family; afterwards its particles weigh the same and sum to what they did."""
    size = last - first
    log = belief.log[:, first:last]
    top = log.max(1, keepdims=True)
    share = np.exp(log - top)
    total = share.sum(1, keepdims=True)
    step = np.cumsum(share / total, axis=1)
    step[:, -1] = 1.0
    at = (np.arange(size) + u[:, None]) / size
    # how many of the steps each point has passed
    pick = (at[:, :, None] > step[:, None, :]).sum(2).clip(0, size - 1)
    everyone = np.arange(len(log))[:, None]
    ideals = belief.wish.shape[1]
    if first < ideals:
        for array in (belief.wish, belief.place, belief.sound):
            array[:, first:last] = array[:, first:last][everyone, pick]
    else:
        array = belief.load
        array[:, first - ideals : last - ideals] = array[:, first - ideals : last - ideals][everyone, pick]
    for array in (belief.sharp, belief.slip):
        array[:, first:last] = array[:, first:last][everyone, pick]
    belief.log[:, first:last] = top + np.log(total) - np.log(size)


def _move_ideals(
    belief: Belief, people: Population, replies: Replies, streams: Streams, tag: int, fit: np.ndarray
) -> np.ndarray:
    n, ideals, d = belief.wish.shape
    if not ideals:
        return fit
    draw = streams.uniform(np.arange(n), ideals, 2 * d + 5, tag=tag)
    noise = streams.normal(np.arange(n), ideals, d, tag=tag + 1)
    new = belief.wish.copy()
    leap = leaping(people)
    everyone = np.arange(n)[:, None]
    for first, last in belief.families[:2]:
        size = last - first
        if not size:
            continue
        own = belief.wish[:, first:last]
        u = draw[:, first:last]
        one = own[everyone, np.floor(u[..., 0] * size).astype(np.int64)]
        two = own[everyone, np.floor(u[..., 1] * size).astype(np.int64)]
        step = np.where(u[..., 2, None] < 0.1, 1.0, 0.2 + 0.6 * u[..., 3, None])
        with np.errstate(invalid="ignore"):
            moved = own + step * (one - two)
            moved = np.where(
                own != people.x[:, None, :], moved + 0.01 * people.schema.span * noise[:, first:last], moved
            )
        moved = np.where(np.isnan(moved), own, moved)
        swap = u[..., 5 : 5 + d]
        moved = np.where(leap, np.where(swap < 0.25, one, own), np.where(swap < 0.1, one, moved))
        new[:, first:last] = moved
    who = np.repeat(np.arange(n), ideals)
    flat, here = new.reshape(-1, d), people.x[who]
    with np.errstate(invalid="ignore"):
        flat = np.where(
            leap, flat, np.clip(flat, np.fmin(people.low[who], here), np.fmax(people.high[who], here))
        )
    flat = np.where(people.free[who], flat, here)
    ok = np.ones(len(flat), dtype=bool)
    tight = np.flatnonzero(np.tile(np.arange(ideals) < belief.families[0][1], n))
    if tight.size:
        w = who[tight]
        start = np.where(leap, flat[tight], here[tight])
        with np.errstate(invalid="ignore"):
            beyond = here[tight] + _BEYOND * (flat[tight] - here[tight])
            beyond = np.clip(
                beyond, np.fmin(people.low[w], here[tight]), np.fmax(people.high[w], here[tight])
            )
        beyond = np.where(leap | np.isnan(beyond), flat[tight], beyond)
        row, ok[tight] = barely(people, w, start, beyond, np.zeros_like(start), 8)
        flat[tight] = np.where(ok[tight, None], full(people, w, row), belief.wish.reshape(-1, d)[tight])
    place = columns(people, who, _acts(people, who, flat))[1].reshape(n, ideals, belief.place.shape[2])
    trial = replace(belief, wish=flat.reshape(n, ideals, d), place=place)
    new_fit = trial.fit(replies)
    with np.errstate(over="ignore"):
        yes = ok.reshape(n, ideals) & (np.log(draw[..., 4]) < (new_fit - fit)[:, :ideals])
    belief.wish = np.where(yes[..., None], trial.wish, belief.wish)
    belief.place = np.where(yes[..., None], trial.place, belief.place)
    belief.sound = belief.sound | (yes & (np.arange(ideals) < belief.families[0][1]))
    out = fit.copy()
    out[:, :ideals] = np.where(yes, new_fit[:, :ideals], fit[:, :ideals])
    return out


def _move_rest(belief: Belief, replies: Replies, streams: Streams, tag: int, fit: np.ndarray) -> np.ndarray:
    """Move the effort weights, and everybody's sharpness and slips."""
    n, total = belief.log.shape
    ideals, effort, d = belief.wish.shape[1], belief.load.shape[1], belief.load.shape[2]
    level = streams.uniform(np.arange(n), total, 8, tag=tag)
    load, ratio = belief.load, np.zeros((n, total))
    if effort:
        everyone = np.arange(n)[:, None]
        u = level[:, ideals:]
        one = load[everyone, np.floor(u[..., 0] * effort).astype(np.int64)]
        two = load[everyone, np.floor(u[..., 1] * effort).astype(np.int64)]
        noise = streams.normal(np.arange(n), effort, d, tag=tag + 1)
        load = load + (0.2 + 0.4 * u[..., 2, None]) * (one - two) + 0.1 * noise
        density = (_SHAPE * load - np.exp(load)).sum(2) - (_SHAPE * belief.load - np.exp(belief.load)).sum(2)
        ratio[:, ideals:] = density
    redraw = level[..., 3] < 0.5  # independent draws from what was believed before any answer
    sharp = np.where(redraw, _SHARP[0] + (_SHARP[1] - _SHARP[0]) * level[..., 4], belief.sharp)
    slip = np.where(redraw, _SLIP[0] + (_SLIP[1] - _SLIP[0]) * level[..., 5], belief.slip)
    trial = replace(belief, load=load, sharp=sharp, slip=slip)
    new_fit = trial.fit(replies)
    yes = np.log(level[..., 6]) < new_fit - fit + ratio
    belief.load = np.where(yes[:, ideals:, None], load, belief.load)
    belief.sharp = np.where(yes, sharp, belief.sharp)
    belief.slip = np.where(yes, slip, belief.slip)
    return np.where(yes, new_fit, fit)


def limited(belief: Belief, people: Population, replies: Replies, works: np.ndarray) -> None:
    """Bring the ideals of everybody to what they may do now, and weigh them anew; in place.

    works (n, A) bool: the sufficient ideals that still are plans.
    """
    n, ideals, d = belief.wish.shape
    before = belief.fit(replies)
    who = np.repeat(np.arange(n), ideals)
    here, flat = people.x[who], belief.wish.reshape(-1, d)
    with np.errstate(invalid="ignore"):
        inside = np.clip(flat, np.fmin(people.low[who], here), np.fmax(people.high[who], here))
    flat = np.where(people.free[who], np.where(leaping(people), flat, inside), here)
    for j, ok in people.level_ok.items():
        level = np.where(np.isnan(flat[:, j]), 0, flat[:, j]).astype(np.int64)
        flat[:, j] = np.where(ok[who, level] | ~leaping(people)[j], flat[:, j], here[:, j])
    belief.wish = flat.reshape(n, ideals, d)
    belief.place = columns(people, who, _acts(people, who, flat))[1].reshape(belief.place.shape)
    belief.sound = works
    belief.log = belief.log + belief.fit(replies) - before
