"""growing-spheres: look in ever larger shells around a person until some sampled row is accepted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from wayforward.methods.base import Budget, Method
from wayforward.methods.engines.gradient.relaxed_state import range_widths
from wayforward.methods.engines.polish import revert, shrink
from wayforward.methods.settings import check_least, require_setting
from wayforward.problem.batching import ask, distinct_changes, tidy
from wayforward.public import public
from wayforward.shapes import Actions

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem
    from wayforward.streams import Streams

_CELLS = 4_000_000  # sampled coordinates held at once: 32 MB an array
# nearest accepted rows for each option: made simple, another than the nearest may be cheapest
_N_NEAREST = 4
_ZOOM, _GROW, _DONE = 0, 1, 2


@public
@dataclass
class GrowingSpheres(Method):
    """Sample a ball around each person, shrink or grow it until accepted rows appear, then undo needless changes.

    A ball of `radius` is shrunk by `zoom` while it holds an accepted row; then shells grow outwards from it,
    `shells` of them for each factor of `zoom`, until one holds an accepted row (the published method keeps the first
    width for ever; here it grows with the radius, so the search is short and ends). The nearest accepted row is kept
    and its features are given back in order of their change, smallest first.

    Distances are Euclidean in widths of each feature's range times the person's weight. Directions come from one bank
    of normal draws that depends on the seed only; each person uses the coordinates that they may act on, so frozen
    features neither move nor count as dimensions. A category is a one-hot block scaled so that a change of category
    has length 1: the block moves with the others and the largest coordinate among the allowed levels is the new
    category, never a row between levels. Integers, binaries and ordinals round to legal values. A missing value moves
    from the median of the reference, and is missing again if the decision does not need it.

    samples: rows a shell; the authors draw 2,000, which takes twenty times as long. radius: of the first ball. zoom,
    shells: as above. zooms: how often to shrink the ball at most. shrink: take the four nearest accepted rows, move
    what is left of each back towards the person's own values as far as the decision allows, and keep the cheapest. That
    is not part of the published method, which is ``samples=2000, shrink=False``; with it 100 samples do better.
    Default budget: 40,000 model rows a person.
    Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.recommend(problem, refused, method="growing-spheres", k=1, seed=0)``.
    Source: T. Laugel, M.-J. Lesot, C. Marsala, X. Renard, M. Detyniecki (2018), Inverse Classification for
    Comparison-based Interpretability in Machine Learning, IPMU; arXiv:1712.08443.
    """

    name: ClassVar[str] = "growing-spheres"
    summary: ClassVar[str] = (
        "nearest accepted row among samples in growing shells, then fewer changes; labels suffice"
    )
    citation: ClassVar[str] = "Laugel, Lesot, Marsala, Renard & Detyniecki (2018), IPMU, arXiv:1712.08443"

    samples: int = 100
    radius: float = 0.1
    zoom: float = 10.0
    shells: int = 5
    zooms: int = 6
    shrink: bool = True

    def __post_init__(self) -> None:
        check_least(self, samples=1, shells=1, zooms=0)
        require_setting(self, "radius", self.radius > 0, "Use a radius above 0, in widths of the range.")
        require_setting(self, "zoom", self.zoom > 1, "Use a factor above 1.")

    def _fit(self, problem: Problem) -> None:
        self.span_ = range_widths(problem)
        low, high = problem.observed_range
        self.middle_ = np.nan_to_num((low + high) / 2)
        if problem.reference is not None:
            for j in range(problem.schema.d):
                known = problem.reference[~np.isnan(problem.reference[:, j]), j]
                if known.size:
                    self.middle_[j] = np.median(known)

    def _recommend(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        search = SphereSearch(self, people, k, streams.seed, budget.rows_or(40_000))
        while search.advance():
            pass
        return search.sparse()


class SphereSearch:
    """The state of everyone's search: ring, phase, and the nearest accepted rows so far."""

    def __init__(self, method: GrowingSpheres, people: Population, k: int, seed: int, limit: int) -> None:
        self.method, self.people, self.seed = method, people, seed
        self.cap = people.rows + limit
        n, d, schema = people.n, people.d, people.schema
        # Only what somebody may act on has coordinates: by the schema, so that one page of directions fits all.
        self.ordered = np.flatnonzero(schema.ordered & schema.actionable)
        self.blocks: list[tuple[int, slice]] = []
        width: int = len(self.ordered)
        for j in np.flatnonzero(schema.is_categorical & schema.actionable):
            end = width + int(schema.n_levels[j])
            self.blocks.append((int(j), slice(width, end)))
            width = end
        self.width = width
        self.moves = np.zeros((n, width), dtype=bool)  # coordinates that the person may move
        self.moves[:, : len(self.ordered)] = people.free[:, self.ordered]
        for feature, block in self.blocks:
            self.moves[:, block] = people.free[:, feature, None]
        self.dimension = self.moves.sum(1)
        self.radius = np.full(n, method.radius)
        self.inner = np.zeros(n)
        self.phase = np.full(n, _ZOOM, dtype=np.int64)
        self.zoomed = np.zeros(n, dtype=np.int64)
        # The farthest corner of the box of all values is sqrt(dimension) ranges away; beyond twice that, clipped
        # samples are corners already. Harder features (weight above 1) stretch the box.
        stretch = np.where(people.free, people.weight, 0.0).max(1)
        self.limit = 2 * np.sqrt(self.dimension) * np.maximum(stretch, 1.0)
        self.n_best = 1 if k == 1 and not method.shrink else _N_NEAREST * k
        self.k = k
        self.far = np.full((n, self.n_best), np.inf)
        self.best = np.full((n, self.n_best, d), np.nan)
        self.turn = 0

    def advance(self) -> bool:
        """Sample one ball or shell for everyone who is still looking; return False when nobody is."""
        method = self.method
        active = np.flatnonzero((self.phase != _DONE) & (self.people.rows + method.samples <= self.cap))
        if not active.size:
            return False
        growing = self.phase[active] == _GROW
        width = (method.zoom - 1) * self.radius[active] / method.shells
        inner = np.where(growing, self.inner[active], 0.0)
        outer = np.where(growing, inner + width, self.radius[active])
        bank, share = self._directions()
        hit = np.zeros(active.size, dtype=bool)
        step = max(1, _CELLS // (method.samples * max(self.width, self.people.d)))
        for begin in range(0, active.size, step):
            part = slice(begin, begin + step)
            hit[part] = self._sample(active[part], inner[part], outer[part], bank, share)
        shrink = ~growing & hit
        self.radius[active[shrink]] /= method.zoom
        self.zoomed[active[shrink]] += 1
        self.phase[active[shrink & (self.zoomed[active] > method.zooms)]] = _DONE
        turn = active[~growing & ~hit]
        self.phase[turn], self.inner[turn] = _GROW, self.radius[turn]
        self.phase[active[growing & hit]] = _DONE
        on = active[growing & ~hit]
        self.inner[on] = outer[growing & ~hit]
        wide = on[self.inner[on] >= self.radius[on] * method.zoom * (1 - 1e-9)]
        self.radius[wide] *= method.zoom
        self.phase[on[self.inner[on] > self.limit[on]]] = _DONE
        self.turn += 1
        return True

    def _directions(self) -> tuple[np.ndarray, np.ndarray]:
        """Return directions (samples, width) and radius quantiles (samples,) of this turn, the same for everyone."""
        rng = np.random.default_rng([self.seed % 2**63, 0x5F3E, self.turn])
        return rng.standard_normal((self.method.samples, self.width)), rng.random(self.method.samples)

    def _sample(
        self, who: np.ndarray, inner: np.ndarray, outer: np.ndarray, bank: np.ndarray, share: np.ndarray
    ) -> np.ndarray:
        """Sample one shell for people `who` (m,) and record their nearest accepted rows; return (m,) bool: any."""
        people, size = self.people, len(share)
        step = np.where(self.moves[who][:, None, :], bank[None], 0.0)
        length = np.sqrt(np.square(step).sum(2))
        radius = shell_radius(share[None], inner[:, None], outer[:, None], self.dimension[who][:, None])
        step *= (radius / np.maximum(length, 1e-300))[:, :, None]
        owner = np.repeat(who, size)
        action = tidy(people, owner, self._act(who, step).reshape(-1, people.d))
        moved = np.flatnonzero(~np.isnan(action).all(1))
        reached = np.zeros(owner.size, dtype=bool)
        reached[moved] = self._ask(owner[moved], action[moved])
        self._record(who, size, action, np.where(reached, self._length(owner, action), np.inf))
        return np.asarray(reached.reshape(-1, size).any(1))

    def _ask(self, owner: np.ndarray, action: np.ndarray) -> np.ndarray:
        """Return (m,) bool: the model says yes, and nothing forbids the row."""
        people = self.people
        if not people.box_is_enough or people.problem.plausibility is not None:
            return ask(people, owner, action)[1]
        return people.reached(owner, np.where(np.isnan(action), people.x[owner], action))

    def _act(self, who: np.ndarray, step: np.ndarray) -> np.ndarray:
        """Return values (m, samples, d), not yet snapped, for steps in sphere coordinates (m, samples, width)."""
        people, span = self.people, self.method.span_
        x, weight = people.x[who], people.weight[who]
        value = np.full((*step.shape[:2], people.d), np.nan)
        here = np.where(np.isnan(x), self.method.middle_, x)[:, None, self.ordered]
        wide = (span / weight)[:, None, self.ordered]
        value[:, :, self.ordered] = here + step[:, :, : len(self.ordered)] * wide
        for j, block in self.blocks:
            own = np.arange(people.schema.n_levels[j]) == x[:, j, None]
            at = step[:, :, block] / weight[:, j, None, None]
            # where they stand is half a change of category ahead; what they may not choose is out of the race
            at += np.where(people.level_ok[j][who] | own, np.sqrt(0.5) * own, -np.inf)[:, None]
            value[:, :, j] = at.argmax(2)
        return value

    def _length(self, owner: np.ndarray, action: np.ndarray) -> np.ndarray:
        """Return the length (m,) of the change as it will be made, after rounding and clipping."""
        people = self.people
        x = np.where(np.isnan(people.x[owner]), self.method.middle_, people.x[owner])
        move = np.abs(action - x) / self.method.span_
        move = np.where(people.schema.is_categorical & ~np.isnan(action), 1.0, np.nan_to_num(move))
        return np.asarray(np.sqrt(np.square(move * people.weight[owner]).sum(1)))

    def _record(self, who: np.ndarray, size: int, action: np.ndarray, far: np.ndarray) -> None:
        """Put sampled rows among the nearest of each person; far: their length, inf where not accepted."""
        far = np.concatenate([self.far[who], far.reshape(len(who), size)], axis=1)
        order = np.argsort(far, axis=1, kind="stable")[:, : self.n_best]
        rows = np.arange(len(who))[:, None]
        some = np.concatenate([self.best[who], action.reshape(len(who), size, -1)], axis=1)
        self.far[who], self.best[who] = far[rows, order], some[rows, order]

    def sparse(self) -> np.ndarray:
        """Return options (n, k, d): the nearest accepted rows, needless changes undone, distinct sets of changes."""
        people = self.people
        out = np.full((people.n, self.k, people.d), np.nan)
        who, slot = np.nonzero(np.isfinite(self.far))
        if not who.size:
            return out
        action = self.best[who, slot]
        x = np.where(np.isnan(people.x[who]), self.method.middle_, people.x[who])
        move = np.abs(action - x) / self.method.span_ * people.weight[who]
        move = np.where(people.schema.is_categorical, people.weight[who], move)
        action = revert(people, who, action, -np.nan_to_num(move))
        if self.method.shrink:
            action = shrink(people, who, action)
        return distinct_changes(people, who, action, self.k)


def shell_radius(
    share: np.ndarray, inner: np.ndarray, outer: np.ndarray, dimension: np.ndarray
) -> np.ndarray:
    """Return the radius at quantile `share` of the uniform distribution on the shell from inner to outer.

    All broadcast. The density grows as r^(d - 1). Computed from logarithms: r^d itself is 0 in floating point for 0.2
    and d = 500.
    """
    with np.errstate(divide="ignore"):
        lost = -np.expm1(dimension * np.log(inner / outer))  # 1 - (inner / outer)^d
    return np.asarray(outer * np.exp(np.log1p(-(1 - share) * lost) / np.maximum(dimension, 1)))
