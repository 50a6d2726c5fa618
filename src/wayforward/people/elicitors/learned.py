"""A learner: it remembers every answer, and asks the pair of plans whose answer helps most."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from wayforward.errors import MethodError
from wayforward.evaluate.distance import scaled_change
from wayforward.methods import Method, method
from wayforward.methods.engines.asking import tidy
from wayforward.people.elicitors._bank import barely, blend, full, leaping, pool, works
from wayforward.people.elicitors._particles import Belief, Told, columns, normalised, prior, refresh
from wayforward.people.preferences import Preferences
from wayforward.people.talk import CANNOT_SAY, Asked, Elicitor, Kind, Talk
from wayforward.problem import Population, Problem
from wayforward.shapes import Actions, People, Rows
from wayforward.streams import Streams

_BLOCK = 48  # people thought about at once, which bounds memory and changes no answer
_START = 3  # plans of the base method that the pool starts from


@dataclass
class Learned(Elicitor):
    """Ask for comparisons, keep a belief about the person's taste, and choose each pair by what its answer is worth.

    The belief is a cloud of `particles` tastes of three families (`mixture`: an ideal profile that barely suffices, an
    ideal profile anywhere, feature weights on the problem's cost), updated by every answer. Plans come from a `pool`
    of rows that reach the decision, and, as the belief narrows, from new rows around it. The next pair is the one that
    lowers the expected dislike of the plan recommended afterwards the most; `easy` (0 to 1) prefers pairs that differ
    in few features. The plan recommended is the one with the least expected dislike.

    budget: questions at most. accept: when to ask whether the plan is good enough: 'end' with the last question of the
    budget, 'sure' also once nothing better is expected to be learned, 'never'.
    Raises: MethodError for parameters out of range.
    Example: ``elicitor("learned", budget=10).fit(problem).begin(refused, seed=0)``.
    """

    name: ClassVar[str] = "learned"
    summary: ClassVar[str] = "learns a taste from all answers, asks the pair that helps most"
    citation: ClassVar[str] = ""

    base: str | Method = "local-search"
    budget: int = 10
    particles: int = 768
    pool: int = 512
    easy: float = 0.2
    mixture: tuple[float, float, float] = (0.5, 0.2, 0.3)
    accept: str = "end"
    shown: int = 40
    moves: int = 2
    criterion: str = "loss"
    power: float = 1.0

    problem_: Problem = field(init=False, repr=False, compare=False)
    base_: Method = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name, least in (("budget", 1), ("particles", 16), ("pool", 1), ("shown", 4)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
                raise MethodError(f"{name}={value!r} is too little for 'learned'. Give a whole number of at least {least}.")
        if self.accept not in ("end", "sure", "never"):
            raise MethodError(f"accept={self.accept!r} is unknown. Choose 'end', 'sure' or 'never'.")
        if not 0 <= self.easy <= 1:
            raise MethodError(f"easy={self.easy!r} is no share. Give a number from 0 to 1.")
        if len(self.mixture) != 3 or min(self.mixture) < 0 or not sum(self.mixture) > 0:
            raise MethodError(f"mixture={self.mixture!r} must be three shares of at least 0 that are not all 0.")

    def fit(self, problem: Problem) -> Self:
        """Fit the base method."""
        chosen = method(self.base) if isinstance(self.base, str) else self.base
        self.base_ = chosen.fit(problem)
        self.problem_ = problem
        return self

    def sizes(self) -> tuple[int, int, int]:
        """How many particles each family has."""
        share = np.asarray(self.mixture) / sum(self.mixture)
        size = np.floor(share * self.particles).astype(int)
        size[int(share.argmax())] += self.particles - int(size.sum())
        return int(size[0]), int(size[1]), int(size[2])

    def begin(
        self, x: People, start: Rows | None = None, *, preferences: Preferences | None = None, seed: int = 0
    ) -> LearnedTalk:
        """See `Elicitor.begin`."""
        people = self.problem_.population(np.asarray(x, dtype=np.float64), preferences)
        if start is None:
            plans = self.base_.recommend(people.x, _START, preferences=preferences, seed=seed).action
        else:
            plans = np.asarray(start, dtype=np.float64)[:, None, :]
        return LearnedTalk(self, people, plans, seed)


class LearnedTalk(Talk):
    """Conversations of `Learned`. Plans of person i: the pool's, and the sufficient ideals of the belief."""

    def __init__(self, way: Learned, people: Population, start: Actions, seed: int) -> None:
        self.way, self.people, self.seed, self.start = way, people, seed, start
        n, d = people.x.shape
        self.questions = np.zeros(n, dtype=np.int64)
        self.turn = 0
        self.streams = Streams.of(people.x, seed)
        have = works(people, np.arange(n), start[:, 0]) if n else np.zeros(0, dtype=bool)
        self.done = ~have
        self.sound = have  # the start plan still is one
        self._act, self._ok = np.full((n, way.pool + start.shape[1], d), np.nan), np.zeros((n, way.pool + start.shape[1]), bool)
        self._place: np.ndarray
        self._part: np.ndarray
        self._fill(np.arange(n))
        go = np.flatnonzero(have)
        self._belief: list[Belief | None] = []
        e = self._place.shape[2]
        self.told = Told(
            np.zeros((n, way.budget, 2, e)), np.zeros((n, way.budget, 2, d)), np.full((n, way.budget), -1)
        )
        mean, far = self._usual()
        parts = [
            prior(
                people.take(b), self.streams.take(b), self._act[b], np.maximum(self._ok[b].sum(1), 1),
                mean[b], far[b], way.sizes(), tuple(s / sum(way.mixture) for s in way.mixture),  # type: ignore[arg-type]
            )
            for b in _blocks(np.arange(n))
        ]  # fmt: skip
        self.belief = _joined(parts)
        self._asked = self._next(go)
        self._best: np.ndarray | None = None

    # -- plans ---------------------------------------------------------------------------------------------

    def _fill(self, who: np.ndarray) -> None:
        """Pool plans for some of the people, and what the belief wants to know about them."""
        people, way = self.people, self.way
        for b in _blocks(who):
            some = people.take(b)
            self._act[b], self._ok[b] = pool(some, self.streams.take(b), self.start[b], way.pool, 0x6100 + self.turn * 64)
        n, k, d = self._act.shape
        everyone = np.repeat(np.arange(n), k)
        flat = self._act.reshape(-1, d)
        after, place = columns(people, everyone, flat)
        self._after, self._place = after.reshape(n, k, d), place.reshape(n, k, -1)
        self._part = people.parts(everyone, flat).reshape(n, k, d)

    def _usual(self) -> tuple[np.ndarray, np.ndarray]:
        many = np.maximum(self._ok.sum(1), 1)
        mean = np.where(self._ok[..., None], self._part, 0.0).sum(1) / many[:, None]
        far = np.where(self._ok, np.sqrt(np.square(self._place).sum(2)), 0.0).sum(1) / many
        return mean, np.maximum(far, 1e-6)

    def _ideals(self, b: np.ndarray, belief: Belief) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The sufficient ideals as plans: action, place, part, each (m, A, ...)."""
        last = belief.families[0][1]
        wish = belief.wish[:, :last]
        m, a, d = wish.shape
        who = np.repeat(b, a)
        action = tidy(self.people, who, wish.reshape(-1, d))
        return action.reshape(m, a, d), belief.place[:, :last], self.people.parts(who, action).reshape(m, a, d)

    # -- the next question ---------------------------------------------------------------------------------

    @property
    def asked(self) -> Asked:
        """The question on the table."""
        return self._asked

    def _next(self, who: np.ndarray) -> Asked:
        n, d = self.people.x.shape
        kind = np.full(n, int(Kind.DONE))
        action, after = np.full((n, 2, d), np.nan), np.full((n, 2, d), np.nan)
        self._gain = np.full(n, np.nan)
        way = self.way
        who = who[~self.done[who]]
        last = self.questions[who] == way.budget - 1
        accept = last & (way.accept in ("end", "sure"))
        choose = who[~accept]
        for b in _blocks(choose):
            action[b], self._gain[b] = self._pair(b)
            kind[b] = int(Kind.CHOOSE)
        ask = who[accept]
        if ask.size:
            kind[ask] = int(Kind.ACCEPT)
            action[ask, 0] = self._recommend(ask)
        rows = np.flatnonzero(~np.isnan(action.reshape(-1, d)).all(1))
        after.reshape(-1, d)[rows] = self.people.after(np.repeat(np.arange(n), 2)[rows], action.reshape(-1, d)[rows])
        return Asked(kind, action, after)

    def _pair(self, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """For people b (m,): the pair to show (m, 2, d), and what its answer is worth (m,)."""
        way, belief, m = self.way, self.belief.take(b), len(b)
        everyone = np.arange(m)[:, None]
        weight = belief.weight.astype(np.float32)
        last = belief.families[0][1]
        act, place, part = self._ideals(b, belief)
        pool_dislike = belief.dislike(self._place[b], self._part[b])
        loss = (weight[:, None, :] @ pool_dislike)[:, 0]
        loss = np.where(self._ok[b], loss, np.inf)
        near = np.argsort(loss, axis=1, kind="stable")[:, : way.shown // 3]
        # the rest are drawn from the belief itself
        drawn = way.shown - near.shape[1]
        u = self.streams.take(b).uniform(np.arange(m), drawn, tag=0x5000 + self.turn)
        step = np.cumsum(normalised(belief.log[:, :last]), axis=1)
        at = (np.arange(drawn) + u) / drawn
        pick = (at[:, :, None] > step[:, None, :]).sum(2).clip(0, last - 1)
        act = np.concatenate([self._act[b][everyone, near], act[everyone, pick]], axis=1)
        place = np.concatenate([self._place[b][everyone, near], place[everyone, pick]], axis=1)
        part = np.concatenate([self._part[b][everyone, near], part[everyone, pick]], axis=1)
        dislike = belief.dislike(place, part)  # (m, P, C)
        i, j = np.triu_indices(way.shown, 1)
        chance = belief.chance(dislike[:, :, i], dislike[:, :, j])  # (m, P, Q)
        half = weight[:, :, None] * chance
        p = half.sum(1)
        goal = dislike**way.power if way.criterion == "loss" else dislike
        whole = weight[:, None, :] @ goal  # (m, 1, C)
        if way.criterion == "loss":
            one = half.transpose(0, 2, 1) @ goal  # (m, Q, C)
            gain = whole.min(2) - one.min(2) - (whole - one).min(2)
        elif way.criterion == "bits":
            gain = _entropy(p) - (weight[:, :, None] * _entropy(chance)).sum(1)
        else:  # variance
            ideals = belief.wish.shape[1]
            spot = belief.place.astype(np.float32)
            h = half[:, :ideals]
            p0 = h.sum(1)
            w0 = weight[:, :ideals].sum(1)[:, None]
            one = h.transpose(0, 2, 1) @ spot
            tot = weight[:, None, :ideals] @ spot
            m1 = one / np.maximum(p0, 1e-9)[..., None]
            m2 = (tot - one) / np.maximum(w0 - p0, 1e-9)[..., None]
            gain = p0 * (w0 - p0) * np.square(m1 - m2).sum(2)
        apart = np.abs(scaled_change(self.people.schema, self.people.after(np.repeat(b, len(i)), act[:, i].reshape(m * len(i), -1)), self.people.after(np.repeat(b, len(i)), act[:, j].reshape(m * len(i), -1)))).reshape(m, len(i), -1) > 1e-5 if way.easy else np.zeros((m, len(i), 1), bool)
        differ = apart.sum(2)
        most = np.maximum(differ.max(1, keepdims=True), 1)
        worth = gain / np.maximum(gain.max(1, keepdims=True), 1e-12) - way.easy * differ / most
        q = worth.argmax(1)
        r = np.arange(m)
        return np.stack([act[r, i[q]], act[r, j[q]]], axis=1), gain[r, q]

    # -- answers -------------------------------------------------------------------------------------------

    def answer(self, reply: np.ndarray, wishes: Preferences | None = None) -> None:
        """See `Talk.answer`."""
        reply = np.asarray(reply, dtype=np.int64)
        people, asked = self.people, self._asked
        n, d = people.x.shape
        self.turn += 1
        self._best = None
        chose = np.flatnonzero(asked.kind == Kind.CHOOSE)
        open_ = np.flatnonzero(asked.kind != Kind.DONE)
        if chose.size:
            at = self.questions[chose]
            flat = asked.action[chose].reshape(-1, d)
            who = np.repeat(chose, 2)
            place = columns(people, who, flat)[1]
            self.told.place[chose, at] = place.reshape(len(chose), 2, -1)
            self.told.part[chose, at] = people.parts(who, flat).reshape(len(chose), 2, d)
            self.told.reply[chose, at] = np.where(reply[chose] == CANNOT_SAY, -1, reply[chose])
        self.questions[open_] += 1
        self.done |= (asked.kind == Kind.ACCEPT) & (reply == 1)
        self.done |= self.questions >= self.way.budget
        if wishes is not None:
            pass
        learn = chose[reply[chose] != CANNOT_SAY]
        for b in _blocks(learn):
            belief = self.belief.take(b)
            told = Told(self.told.place[b], self.told.part[b], self.told.reply[b])
            at = self.questions[b] - 1
            only = Told(told.place[np.arange(len(b)), at][:, None], told.part[np.arange(len(b)), at][:, None], told.reply[np.arange(len(b)), at][:, None])
            belief.log = belief.log + belief.fit(only)
            refresh(belief, people.take(b), told, self.streams.take(b), 0x9000 + 256 * self.turn, self.way.moves)
            self.belief.put(b, belief)
        self._asked = self._next(np.flatnonzero(~self.done))

    # -- what is recommended -------------------------------------------------------------------------------

    @property
    def best(self) -> Rows:
        """(n, d) the plans with the least expected dislike; before any answer, the start plans."""
        if self._best is None:
            n, d = self.people.x.shape
            out = np.where(self.sound[:, None], self.start[:, 0], np.nan)
            heard = np.flatnonzero((self.told.reply >= 0).any(1))
            if heard.size:
                out[heard] = self._recommend(heard)
            self._best = out
        return self._best

    def _recommend(self, who: np.ndarray) -> Rows:
        out = np.full((len(who), self.people.d), np.nan)
        for first in range(0, len(who), _BLOCK):
            b = who[first : first + _BLOCK]
            out[first : first + _BLOCK] = self._least(b)
        return out

    def _least(self, b: np.ndarray) -> Rows:
        people, belief, m, d = self.people, self.belief.take(b), len(b), self.people.d
        weight = belief.weight.astype(np.float32)[:, None, :]
        act, place, part = self._ideals(b, belief)
        act = np.concatenate([self._act[b], act], axis=1)
        place = np.concatenate([self._place[b], place], axis=1)
        part = np.concatenate([self._part[b], part], axis=1)
        ok = np.concatenate([self._ok[b], np.ones(act.shape[:1] + (belief.families[0][1],), bool)], axis=1)
        loss = np.where(ok, (weight @ belief.dislike(place, part))[:, 0], np.inf)
        everyone = np.arange(m)[:, None]
        keep = 12
        order = np.argsort(loss, axis=1, kind="stable")[:, :keep]
        top, value = act[everyone, order], loss[everyone, order]
        leap = leaping(people)
        for round_ in range(3):
            # aims: the middle of the ideals, and plans that mix good ones, each brought to the side that works
            ideals = belief.wish.shape[1]
            share = normalised(belief.log[:, :ideals])
            middle = (share[:, None, :] @ np.where(np.isnan(belief.wish), people.x[b][:, None, :], belief.wish))[:, 0]
            u = self.streams.take(b).uniform(np.arange(m), keep, 2 * d + 2, tag=0xB000 + 8 * self.turn + round_)
            base = full(people, np.repeat(b, keep), top.reshape(-1, d)).reshape(m, keep, d)
            mate = base[everyone, np.floor(u[..., 0] * keep).astype(np.int64)]
            with np.errstate(invalid="ignore"):
                step = u[..., 1, None]
                towards = np.where(leap, base, base + step * (middle[:, None, :] - base))
                mixed = np.where(u[..., 2 : 2 + d] < 0.3, mate, base)
                home = np.where(u[..., 2 : 2 + d] < 0.2, people.x[b][:, None, :], base)
            aim = np.concatenate([towards, mixed, home], axis=1)
            good = np.concatenate([base, base, base], axis=1)
            who = np.repeat(b, 3 * keep)
            turn = np.tile(u[..., 2 + d :], (1, 3, 1)).reshape(-1, d)
            row, fine = _brought(people, who, aim.reshape(-1, d), good.reshape(-1, d), turn)
            _, spot = columns(people, who, row)
            piece = people.parts(who, row)
            more = (weight @ belief.dislike(spot.reshape(m, 3 * keep, -1), piece.reshape(m, 3 * keep, d)))[:, 0]
            more = np.where(fine.reshape(m, -1), more, np.inf)
            top = np.concatenate([top, row.reshape(m, -1, d)], axis=1)
            value = np.concatenate([value, more], axis=1)
            order = np.argsort(value, axis=1, kind="stable")[:, :keep]
            top, value = top[everyone, order], value[everyone, order]
        return np.where(np.isfinite(value[:, :1]), top[:, 0], np.nan)

    def learned(self) -> dict[str, Any] | None:
        """See `Talk.learned`."""
        return None


def _brought(people: Population, who: np.ndarray, aim: Rows, good: Rows, turn: Rows) -> tuple[Rows, np.ndarray]:
    """Full rows brought to the side that works, towards a plan that does: actions, and (m,) if they work."""
    row = tidy(people, who, aim)
    fine = works(people, who, row)
    rest = np.flatnonzero(~fine)
    if rest.size:
        row[rest], fine[rest] = barely(people, who[rest], aim[rest], good[rest], turn[rest], 8)
    return row, fine


def _entropy(p: np.ndarray) -> np.ndarray:
    p = np.clip(p, 1e-7, 1 - 1e-7)
    return np.asarray(-(p * np.log2(p) + (1 - p) * np.log2(1 - p)))


def _blocks(who: np.ndarray) -> list[np.ndarray]:
    return [who[start : start + _BLOCK] for start in range(0, len(who), _BLOCK)]


def _joined(parts: list[Belief]) -> Belief:
    names = ("wish", "place", "load", "sharp", "slip", "log", "mean", "far")
    return Belief(*(np.concatenate([getattr(p, name) for p in parts]) for name in names), parts[0].families)
