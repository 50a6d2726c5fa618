"""Plans around a plan: directions as different as can be, along which the model still says yes.

Source: ActionableSampling of HARE (algorithm 1): projected Adam on k unit directions a person, on their mean greatest
cosine and on the model's cross entropy where they lead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.methods.engines.gradient.relaxed_state import RelaxedState
from wayforward.people.elicitors.plan_pool import works
from wayforward.problem.batching import tidy

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem
    from wayforward.streams import Streams

_LANES = 8192  # directions held at once
# Steps between two looks at the model's slopes: the directions' difference, which weighs more, is cheap in every step.
_STALE_WORLD = 5  # where gradients go through a world
_STALE = 10  # where slopes are estimates
_HALF = float(
    np.sqrt(0.5)
)  # a category lies half a square's diagonal from the corner: two of them are 1 apart
_BLOCK = 64  # lanes a tensor: small enough for one person, large enough for many


def ranges(problem: Problem) -> np.ndarray:
    """(d,) width of each feature: the schema's range, or what was seen where the schema has no bounds."""
    schema = problem.schema
    low, high = problem.observed_range
    seen = np.nan_to_num(high - low)
    bounded = (np.isfinite(schema.low) & np.isfinite(schema.high)) | schema.has_levels
    return np.asarray(np.where(bounded | ~(seen > 0), schema.span, seen))


class Sampler:
    """ActionableSampling on one problem. steps, rate: of Adam. gamma: how far a direction leads, in ranges.

    spread: weight of the directions' difference (lambda). numbers_only: categories, binaries and ordinals stay.
    zeroth: see `engines.slopes.slopes`.

    A direction has one coordinate for each number and each ordered level, in widths of the range, and one for each
    level of a category, scaled so that another category is 1 away. What is missing and is no category stays.
    Deterministic for each person: the same alone and in a batch.
    """

    def __init__(
        self,
        problem: Problem,
        method: str,
        *,
        steps: int,
        rate: float,
        gamma: float,
        spread: float,
        numbers_only: bool,
        zeroth: bool | None,
        halvings: int = 0,
    ) -> None:
        from wayforward.methods.engines.gradient.slopes import slopes

        self.problem, self.steps, self.rate, self.gamma, self.spread = problem, steps, rate, gamma, spread
        self.halvings = halvings
        schema = problem.schema
        self.span = ranges(problem)
        self.slopes: Any = slopes(problem, method, span=self.span, zeroth=zeroth, block=_BLOCK)
        self.stale = _STALE if not self.slopes.exact else 1 if problem.independent else _STALE_WORLD
        level, size = self.slopes.level, self.slopes.size
        self.sampled = schema.actionable & ~(schema.has_levels if numbers_only else False)
        self.ordered = np.flatnonzero(schema.ordered & self.sampled)  # (o,) their coordinates come first
        self.category = np.flatnonzero(
            schema.is_categorical & self.sampled
        )  # (c,) then blocks of one width each
        self.category_level = np.searchsorted(level, self.category)  # their places among the levels of lanes
        self.size = size[self.category_level]
        self.wide = int(self.size.max(initial=0))
        self.feature = np.concatenate(
            [self.ordered, np.repeat(self.category, self.wide)]
        )  # (e,) of each coordinate
        self.graded = np.flatnonzero(schema.has_levels[self.ordered])  # coordinates of ordered levels
        self.graded_level = np.searchsorted(level, self.ordered[self.graded])
        self.plain = np.flatnonzero(~schema.has_levels[self.ordered])  # coordinates of numbers
        self.numbers = self.ordered[self.plain]
        self.most = _most_changes(problem)

    def __call__(
        self,
        people: Population,
        who: np.ndarray,
        around: np.ndarray,
        k: int,
        streams: Streams,
        share: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """who (q,), around (q, d) plans, streams of the q -> (q, k, d) plans around them, (q, k) which of them hold.

        share (q,): of gamma, how far each person's directions lead.
        """
        out, good = np.empty((len(who), k, people.d)), np.empty((len(who), k), dtype=bool)
        for begin in range(0, len(who), max(1, _LANES // k)):
            part = slice(begin, begin + max(1, _LANES // k))
            some = streams.take(np.arange(len(who))[part])
            out[part], good[part] = _Descent(
                self, people, who[part], around[part], k, some, share[part]
            ).run()
        return out, good


class _Descent:
    """The directions of q people. Arrays (q, k, e): free, base, low, high and the direction itself."""

    def __init__(
        self,
        sampler: Sampler,
        people: Population,
        who: np.ndarray,
        around: np.ndarray,
        k: int,
        streams: Streams,
        share: np.ndarray,
    ) -> None:
        self.s, self.people, self.who, self.k = sampler, people, who, k
        q, schema = len(who), people.schema
        # Narrower rounds take shorter steps of numbers; a category has none but whole ones.
        whole = schema.has_levels[sampler.feature]
        self.gamma = sampler.gamma * np.where(whole, 1.0, share[:, None, None])
        self.x = x = people.x[who]
        self.around = around
        known = ~np.isnan(x) | schema.is_categorical
        moves = people.free[who] & sampler.sampled & known
        self.allowed = self._few(moves, streams)  # (q, k, d) what each lane may change
        use = self.allowed & moves[:, None]
        here = np.where(np.isnan(around), x, around)
        with np.errstate(invalid="ignore"):
            at = np.nan_to_num((here - x) / sampler.span)
            low = np.nan_to_num(np.minimum((people.low[who] - x) / sampler.span, 0.0))
            high = np.nan_to_num(np.maximum((people.high[who] - x) / sampler.span, 0.0))
        e = len(sampler.feature)
        base, least, most = (np.zeros((q, k, e)) for _ in range(3))
        o = len(sampler.ordered)
        # A lane that may not change a feature starts where the person stands, not where the plan leads.
        base[:, :, :o] = np.where(self.allowed, at[:, None], 0.0)[:, :, sampler.ordered]
        least[:, :, :o] = low[:, None, sampler.ordered]
        most[:, :, :o] = high[:, None, sampler.ordered]
        start = streams.normal(np.arange(q), k, e, tag=0xA5A)
        for c, j in enumerate(sampler.category.tolist()):
            block = slice(o + c * sampler.wide, o + (c + 1) * sampler.wide)
            place = np.arange(sampler.wide)
            own = np.where(np.isnan(x[:, j]), sampler.size[c] - 1, np.nan_to_num(x[:, j])).astype(np.int64)
            then = np.where(np.isnan(here[:, j]), sampler.size[c] - 1, np.nan_to_num(here[:, j])).astype(
                np.int64
            )
            then = np.where(self.allowed[:, :, j], then[:, None], own[:, None])
            base[:, :, block] = _HALF * (place == then[..., None])
            ok = people.level_ok[j][who]
            may = np.zeros((q, sampler.wide), dtype=bool)
            may[:, : ok.shape[1]] = ok
            may |= place == own[:, None]
            most[:, :, block] = _HALF * may[:, None]
            # Begin towards one other level: in a random direction of many levels hardly ever one wins.
            wish = np.where(may[:, None] & (place != then[..., None]), start[:, :, block], -np.inf)
            to = place == wish.argmax(2)[..., None]
            length = np.abs(start[:, :, block.start, None])
            start[:, :, block] = _HALF * length * (to * 1.0 - (place == then[..., None]))
        self.free = use[:, :, sampler.feature]
        self.base = base
        self.low = np.minimum((least - base) / self.gamma, 0.0) * self.free
        self.high = np.maximum((most - base) / self.gamma, 0.0) * self.free
        # What a person may do is a cone of directions in the loop and a box at its end. Cut to the box in every step
        # and made a unit again, directions would gather in its corner wherever the room is less than gamma.
        self.least, self.most = np.where(self.low < 0, -np.inf, 0.0), np.where(self.high > 0, np.inf, 0.0)
        self.direction = self._unit(np.clip(start, self.least, self.most))

    def _few(self, moves: np.ndarray, streams: Streams) -> np.ndarray:
        """(q, k, d) bool: what a lane may change; a random choice where a person or a rule allows few changes."""
        people, k = self.people, self.k
        q, d = moves.shape
        acted = ~np.isnan(self.around)
        most = np.minimum(people.max_changes[self.who], self.s.most)
        if ((moves | acted).sum(1) <= most).all():
            return np.ones((q, k, d), dtype=bool)
        key = streams.uniform(np.arange(q), k, d, tag=0xA5B) + 0.5 * acted[:, None]
        key = np.where((moves | acted)[:, None], key, -1.0)
        return np.asarray((-key).argsort(2, kind="stable").argsort(2, kind="stable") < most[:, None, None])

    @staticmethod
    def _unit(direction: np.ndarray) -> np.ndarray:
        length = np.sqrt(np.square(direction).sum(2, keepdims=True))
        return np.asarray(direction / np.where(length > 0, length, 1.0))

    def run(self) -> tuple[np.ndarray, np.ndarray]:
        """(q, k, d) plans where the directions lead in the end, and (q, k) bool which of them hold."""
        s, k = self.s, self.k
        p = self.direction
        first, second = np.zeros_like(p), np.zeros_like(p)
        pull: np.ndarray | None = None
        lanes = self._lanes()
        size = self._size()
        self_similar = 2.0 * np.eye(k)
        for step in range(s.steps):
            if step % s.stale == 0 or pull is None:
                pull = self._pull(lanes, p, size, step // s.stale)
            slope = pull
            if k > 1:
                nearest = (p @ p.transpose(0, 2, 1) - self_similar).argmax(2)
                pairs = (nearest[..., None] == np.arange(k)) * (s.spread / k)
                slope = pull + (pairs + pairs.transpose(0, 2, 1)) @ p
            first = 0.9 * first + 0.1 * slope
            second = 0.999 * second + 0.001 * slope**2
            wide = s.rate / (1 - 0.9 ** (step + 1))
            p = p - wide * first / (np.sqrt(second / (1 - 0.999 ** (step + 1))) + 1e-8)
            p = self._unit(np.clip(p, self.least, self.most))
        return self._judged(p)

    # -- where directions lead -------------------------------------------------------------------------------

    def _point(self, p: np.ndarray) -> np.ndarray:
        """(q, k, e) -> coordinates of r + gamma p, once more inside the ranges: a unit vector may have left them."""
        return np.asarray(self.base + self.gamma * np.clip(p, self.low, self.high))

    def _lanes(self) -> RelaxedState:
        q, k, d = len(self.who), self.k, self.people.d
        owner = np.repeat(self.who, k)
        acts = (~np.isnan(self.around) & ~(np.isnan(self.x) & ~self.people.schema.has_levels))[:, None]
        free = np.zeros((q, k, d), dtype=bool)
        free[:, :, self.s.feature] = self.free
        lanes: RelaxedState = self.s.slopes.start(
            self.people, owner, (free | (acts & self.allowed)).reshape(-1, d)
        )
        # What the plan changes and no direction moves stays as the plan has it.
        with np.errstate(invalid="ignore"):
            move = np.nan_to_num((self.around - self.x) / self.s.span)
        move = np.where(self.allowed & acts, move[:, None], 0.0).reshape(-1, d)
        lanes.move[:] = np.where(self.people.schema.has_levels, 0.0, move)
        place = np.arange(lanes.share.shape[2])
        for f, j in enumerate(self.s.slopes.level.tolist()):
            then = np.where(self.allowed[:, :, j] & acts[:, :, j], self.around[:, j, None], np.nan).reshape(
                -1
            )
            at = np.flatnonzero(~np.isnan(then))
            lanes.share[at, f] = place == then[at, None]
        return lanes

    def _size(self) -> float | np.ndarray:
        """What was missing at the start, where the score has a unit of its own: a cross entropy needs log-odds."""
        if self.s.problem.target.interval is None:
            return 1.0
        score = self.people.score(self.who, self.x)
        return np.asarray(np.maximum(np.abs(score), 1e-9)[:, None])

    def _pull(self, lanes: RelaxedState, p: np.ndarray, size: float | np.ndarray, turn: int) -> np.ndarray:
        """(q, k, e) slope of the mean cross entropy of the model's yes."""
        s = self.s
        point = self._point(p)
        q, k, e = point.shape
        flat = point.reshape(q * k, e)
        open_ = self.free.reshape(q * k, e)
        m, o = q * k, len(s.ordered)
        lanes.move[:, s.numbers] = np.where(open_[:, s.plain], flat[:, s.plain], lanes.move[:, s.numbers])
        if len(s.graded):
            # An ordered level between two others is a share of each.
            x = np.repeat(np.nan_to_num(self.x[:, s.ordered[s.graded]]), k, axis=0)
            reach = s.span[s.ordered[s.graded]]
            apart = (x + flat[:, s.graded] * reach)[..., None] - np.arange(lanes.share.shape[2])
            hat = np.maximum(1 - np.abs(apart), 0.0)
            use = open_[:, s.graded, None]
            lanes.share[:, s.graded_level] = np.where(use, hat, lanes.share[:, s.graded_level])
        if len(s.category):
            grown = np.maximum(flat[:, o:], 0.0).reshape(m, -1, s.wide)
            sum_ = grown.sum(2, keepdims=True)
            use = open_[:, o:].reshape(m, -1, s.wide).any(2, keepdims=True) & (sum_ > 1e-9)
            sum_ = np.where(use, sum_, 1.0)
            mine = np.where(use, grown / sum_, lanes.share[:, s.category_level, : s.wide])
            lanes.share[:, s.category_level, : s.wide] = mine
        score, move, share = s.slopes(self.people, lanes, turn=turn)
        out = np.zeros((m, e))
        out[:, s.plain] = move[:, s.numbers]
        if len(s.graded):
            steep = -np.sign(apart) * (np.abs(apart) <= 1)
            out[:, s.graded] = (share[:, s.graded_level] * steep).sum(2) * reach
        if len(s.category):
            part = share[:, s.category_level, : s.wide]
            out[:, o:] = ((part - (part * mine).sum(2, keepdims=True)) / sum_).reshape(m, -1)
        score = (np.nan_to_num(score, nan=-50.0).reshape(q, k) / size).clip(-50, 50)
        short = 1 / (1 + np.exp(score)) / size  # minus the slope of -log sigmoid(score)
        out = -(short / k)[..., None] * self.gamma * np.nan_to_num(out).reshape(q, k, e)
        return np.asarray(out * self.free)

    def _judged(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(q, k, d) plans along the directions and (q, k) bool: they hold; half as far, again, where they do not."""
        action = self._plans(p)
        owner, k, d = np.repeat(self.who, self.k), self.k, self.people.d
        good = works(self.people, owner, action.reshape(-1, d), judge=False).reshape(-1, k)
        for halving in range(self.s.halvings):
            i, lane = np.nonzero(~good)
            if not i.size:
                break
            trial = self._plans(p * 0.5 ** (halving + 1))[i, lane]
            yes = works(self.people, self.who[i], trial, judge=False)
            action[i[yes], lane[yes]] = trial[yes]
            good[i[yes], lane[yes]] = True
        return action, good

    def _plans(self, p: np.ndarray) -> np.ndarray:
        """(q, k, d) legal actions at the ends of the directions; NaN where nothing is done."""
        s, people = self.s, self.people
        point = self._point(p)
        q, k, _ = point.shape
        d, o = people.d, len(s.ordered)
        value = np.where(self.allowed, self.around[:, None], np.nan)
        there = self.x[:, None, s.ordered] + point[:, :, :o] * s.span[s.ordered]
        value[:, :, s.ordered] = np.where(self.free[:, :, :o], there, value[:, :, s.ordered])
        if len(s.category):
            may = (self.high[:, :, o:] > 0) | (self.base[:, :, o:] > 0)
            grown = np.where(may, point[:, :, o:], -1.0).reshape(q, k, -1, s.wide)
            chosen = grown.argmax(3).astype(np.float64)
            chosen = np.where(chosen < people.schema.n_levels[s.category], chosen, np.nan)
            use = self.free[:, :, o:].reshape(q, k, -1, s.wide).any(3)
            value[:, :, s.category] = np.where(use, chosen, value[:, :, s.category])
        return tidy(people, np.repeat(self.who, k), value.reshape(-1, d)).reshape(q, k, d)


def _most_changes(problem: Problem) -> int:
    """How many changes the rules allow anybody; d where no rule counts them."""
    from wayforward.rules.expression import Changes

    most = problem.schema.d
    if problem.schema.rules:
        for rule in problem.schema.compiled_rules.conditions:
            body = rule.body
            if isinstance(body, Changes) and not body.names and body.bound == "most":
                most = min(most, int(body.count))
    return most
