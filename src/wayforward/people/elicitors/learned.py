"""A learner: it remembers every answer, and asks the pair of plans whose answer tells most about the person's taste."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from wayforward.lazy import renamed_names
from wayforward.methods.settings import check_choices, check_whole, require_setting
from wayforward.people.elicitor import CANNOT_SAY, BaseElicitor, Kind, Questions, Session, checked_replies
from wayforward.people.elicitors.plan_pool import barely, begun, full, leaping, pool, works
from wayforward.people.elicitors.taste_particles import (
    Belief,
    Replies,
    columns,
    limited,
    normalised,
    prior,
    refresh,
)
from wayforward.problem.batching import tidy
from wayforward.public import public
from wayforward.shapes import Actions, Mask, Rows, Who
from wayforward.streams import Streams

if TYPE_CHECKING:
    from wayforward.methods import Method
    from wayforward.preferences.preferences import Preferences
    from wayforward.problem import Population

_BLOCK = 32  # people thought about at once, which bounds memory and changes no answer
_KEPT = 12  # best plans that are improved on before one is recommended
_ROUNDS = 3
_MOVES = 2  # Metropolis steps after each answer


@public
@dataclass
class Learned(BaseElicitor):
    """Ask for comparisons, learn the person's taste from all of them, and choose each pair by what its answer tells.

    The belief is a cloud of `particles` tastes of three families in the shares `mixture` (an ideal profile that barely
    suffices, an ideal profile anywhere, feature weights on the problem's cost; see `taste_particles`). Plans come from
    a `pool` of rows that reach the decision, the base method's among them, and, as the belief narrows, from new rows
    around it. Of all pairs of `shown` plans that one is asked whose answer is expected to take most off the variance
    of the taste: of the ideal profile's place, and of the dislike of plans. `easy` (0 to 1) prefers pairs that differ
    in few features: at 1, a pair that differs in all of them is worth nothing. The plan recommended is the one with the
    least expected dislike, after some steps towards the middle of the ideals and of mixing good plans.

    budget: questions at most. accept: when to ask whether the plan is good enough: 'end' with the last question of the
    budget; 'sure' also once, as soon as the plan is expected to be within `doubt` (a share of the dislike of a usual
    plan) of the best; 'never' leaves all questions for comparisons. A refusal there is no comparison and teaches
    nothing. Until the first answer the best plan is the base method's.

    Every plan that is shown is legal, keeps rules and wishes and was seen to reach the decision. In a causal world
    plans are acts, and distances are taken where they lead. The model gives labels only. New limits drop the plans and
    ideals that break them, and the pool is drawn anew.

    Example: ``Learned(budget=10).fit(problem).begin(refused, seed=0)``.
    Raises: MethodError for parameters out of range.
    Source: our own; the belief is Bayesian preference learning from comparisons, see `taste_particles`.
    """

    name: ClassVar[str] = "learned"
    summary: ClassVar[str] = (
        "learns a taste from all answers, asks the pair that tells most; any base method and model"
    )
    citation: ClassVar[str] = ""
    starts: ClassVar[int] = 3

    base: str | Method = "local-search"
    base_parameters: dict[str, Any] | None = None
    budget: int = 10
    particles: int = 768
    pool: int = 512
    shown: int = 40
    easy: float = 0.2
    mixture: tuple[float, float, float] = (0.6, 0.15, 0.25)
    accept: str = "end"
    doubt: float = 0.05

    def __post_init__(self) -> None:
        check_whole(self, budget=1, particles=16, pool=1, shown=4)
        check_choices(self, accept=("end", "sure", "never"))
        for name in ("easy", "doubt"):
            require_setting(self, name, 0 <= getattr(self, name) <= 1, "Use 0 to 1.")
        shares = len(self.mixture) == 3 and min(self.mixture) >= 0 and 0 < sum(self.mixture) < np.inf
        require_setting(self, "mixture", shares, "Give three shares of at least 0, not all 0.")

    @property
    def sizes(self) -> tuple[int, int, int]:
        """How many particles each family has."""
        share = np.asarray(self.mixture, dtype=np.float64) / sum(self.mixture)
        size = np.floor(share * self.particles).astype(np.int64)
        size[share.argmax()] += self.particles - size.sum()
        return int(size[0]), int(size[1]), int(size[2])

    def _session(self, people: Population, plans: Actions, seed: int) -> LearnedSession:
        return LearnedSession(self, people, plans, seed)


@public
class LearnedSession(Session):
    """Conversations of `Learned`. n people, K plans of the pool, A ideals, P particles.

    told: what everybody said. belief: what is made of it. heard (n,): answers that told something.
    """

    def __init__(self, elicitor: Learned, people: Population, start: Actions, seed: int) -> None:
        n, b, d = start.shape
        self.elicitor, self.people, self.seed = elicitor, people, seed
        self.questions = np.zeros(n, dtype=np.int64)
        self.heard = np.zeros(n, dtype=np.int64)
        self._streams, self._turn = Streams.of(people.x, seed), 0
        everyone = np.arange(n)
        first = np.repeat(everyone, b)
        plans, sound = begun(people, first, start.reshape(-1, d))
        self._start = plans.reshape(n, b, d)
        self._had: np.ndarray = np.asarray(sound.reshape(n, b).any(1))  # there was a plan to start from
        self._done = ~self._had
        self._tried = np.zeros(n, dtype=bool)  # was asked before the end whether the plan will do
        self._parts: dict[bytes, Population] = {}
        e = columns(people, everyone, np.full((n, d), np.nan))[1].shape[1]
        k = elicitor.pool + b
        self._act, self._ok = np.full((n, k, d), np.nan), np.zeros((n, k), dtype=bool)
        self._place, self._part = np.zeros((n, k, e)), np.zeros((n, k, d))
        self._fill(everyone)
        h = elicitor.budget
        self.replies = Replies(np.zeros((n, h, 2, e)), np.zeros((n, h, 2, d)), np.full((n, h), -1))
        self.belief = self._prior(everyone)
        self._best, self._stale = np.full((n, d), np.nan), np.array(self._had)
        self._pending = self._next()

    # -- plans ---------------------------------------------------------------------------------------------

    def _some(self, b: Who) -> Population:
        """The problem for a block of people; kept, because a model is made ready for each."""
        if len(b) == self.people.n:
            return self.people
        key = b.tobytes()
        if key not in self._parts:
            if len(self._parts) > self.people.n // _BLOCK + 8:
                self._parts.clear()
            self._parts[key] = self.people.take(b)
        return self._parts[key]

    def _fill(self, who: Who) -> None:
        """Pool plans for some of the people."""
        for b in _blocks(who):
            some = self._some(b)
            act, self._ok[b] = pool(
                some, self._streams.take(b), self._start[b], self.elicitor.pool, 0x6100 + 64 * self._turn
            )
            m, k, d = act.shape
            each = np.repeat(np.arange(m), k)
            self._act[b] = act
            self._place[b] = columns(some, each, act.reshape(-1, d))[1].reshape(m, k, -1)
            self._part[b] = some.parts(each, act.reshape(-1, d)).reshape(m, k, d)

    def _prior(self, everyone: Who) -> Belief:
        elicitor = self.elicitor
        many = np.maximum(self._ok.sum(1), 1)
        mean = np.where(self._ok[..., None], self._part, 0.0).sum(1) / many[:, None]
        far = np.where(self._ok, np.sqrt(np.square(self._place).sum(2)), 0.0).sum(1) / many
        share = np.asarray(elicitor.mixture, dtype=np.float64) / sum(elicitor.mixture)
        parts = [
            prior(
                self._some(b),
                self._streams.take(b),
                self._act[b],
                many[b],
                mean[b],
                np.maximum(far[b], 1e-6),
                elicitor.sizes,
                (float(share[0]), float(share[1]), float(share[2])),
            )
            for b in (_blocks(everyone) or [everyone])
        ]
        return Belief.joined(parts)

    def _ideals(self, b: Who, belief: Belief) -> tuple[Actions, Mask]:
        """The sufficient ideals as plans (m, A', d), and (m, A') if they work."""
        last = belief.families[0][1]
        wish = belief.wish[:, :last]
        m, a, d = wish.shape
        action = tidy(self._some(b), np.repeat(np.arange(m), a), wish.reshape(-1, d))
        return action.reshape(m, a, d), belief.sound[:, :last]

    # -- the next question ---------------------------------------------------------------------------------

    @property
    def pending(self) -> Questions:
        """See `Session.asked`."""
        return self._pending

    def _next(self) -> Questions:
        n, d = self.people.x.shape
        elicitor = self.elicitor
        kind = np.full(n, int(Kind.DONE))
        action, after = np.full((n, 2, d), np.nan), np.full((n, 2, d), np.nan)
        open_ = np.flatnonzero(~self._done)
        last = self.questions[open_] == elicitor.budget - 1
        ask = last & (elicitor.accept != "never")
        for b in _blocks(open_[~ask]):
            pair, regret = self._pair(b)
            kind[b], action[b] = int(Kind.CHOOSE), pair
            # nothing to choose between: only whether it will do is left to ask
            stuck = np.isnan(pair).all(2).any(1)
            if elicitor.accept == "sure":
                stuck |= (regret < elicitor.doubt) & ~self._tried[b] & (self.heard[b] > 0)
                self._tried[b] |= stuck
            kind[b[stuck]] = int(Kind.ACCEPT)
        kind[open_[ask]] = int(Kind.ACCEPT)
        accept = np.flatnonzero(kind == Kind.ACCEPT)
        action[accept] = np.nan
        action[accept, 0] = self._recommended(accept)
        rows = np.flatnonzero(~np.isnan(action.reshape(-1, d)).all(1))
        after.reshape(-1, d)[rows] = self.people.after(
            np.repeat(np.arange(n), 2)[rows], action.reshape(-1, d)[rows]
        )
        kind[np.isnan(after[:, 0]).all(1)] = int(Kind.DONE)  # no plan is left to show
        return Questions(kind, action, after)

    def _pair(self, b: Who) -> tuple[np.ndarray, np.ndarray]:
        """The pair to show to people b (m,): (m, 2, d), NaN where there are no two plans; and their expected regret."""
        elicitor, belief, m = self.elicitor, self.belief.take(b), len(b)
        some, each = self._some(b), np.arange(m)[:, None]
        weight = belief.weight.astype(np.float32)
        act, works_ = self._candidates(b, belief, weight)
        c, d = act.shape[1:]
        who = np.repeat(np.arange(m), c)
        after, place = columns(some, who, act.reshape(-1, d))
        place, after = place.reshape(m, c, -1), after.reshape(m, c, d)
        dislike = belief.dislike(place, some.parts(who, act.reshape(-1, d)).reshape(m, c, d))
        loss = np.where(works_, (weight[:, None, :] @ dislike)[:, 0], np.inf)
        at = loss.argmin(1)
        least = np.where(works_[:, None, :], dislike, np.inf).min(2)
        usual = np.where(works_, loss, 0.0).sum(1) / np.maximum(works_.sum(1), 1)
        regret = (loss[np.arange(m), at] - (weight * least).sum(1)) / np.maximum(usual, 1e-12)

        i, j = np.triu_indices(c, 1)
        chance = belief.chance(dislike[:, :, i], dislike[:, :, j])
        chance *= weight[:, :, None]
        ideals = belief.wish.shape[1]
        gain = _taken(chance[:, :ideals], weight[:, :ideals], belief.place.astype(np.float32))
        effort = dislike[:, ideals:] / np.sqrt(np.float32(c))
        gain = gain + _taken(chance[:, ideals:], weight[:, ideals:], effort)
        differ = some.schema.differs(after[:, i], after[:, j]).sum(2)
        most = np.maximum(some.changeable.sum(1) - 1, 1)[:, None]
        worth = gain * (1 - elicitor.easy * np.clip((differ - 1) / most, 0, 1))
        worth = np.where(works_[:, i] & works_[:, j] & (differ > 0), worth, -1.0)
        q = worth.argmax(1)
        best = np.stack([i[q], j[q]], axis=1)
        # the side on which a plan is shown tells nothing
        swap = self._streams.take(b).uniform(np.arange(m), tag=0x51DE + self._turn) < 0.5
        best = np.where(swap[:, None], best[:, ::-1], best)
        pair = act[each, best]
        return np.where((worth[np.arange(m), q] < 0)[:, None, None], np.nan, pair), regret

    def _candidates(self, b: Who, belief: Belief, weight: np.ndarray) -> tuple[Actions, Mask]:
        """Plans to make pairs of: the least disliked of the pool, favourites of tastes, ideals; (m, shown, d)."""
        elicitor, m = self.elicitor, len(b)
        each = np.arange(m)[:, None]
        dislike = belief.dislike(self._place[b], self._part[b])
        dislike = np.where(self._ok[b][:, None, :], dislike, np.inf)
        loss = (weight[:, None, :] @ np.where(np.isinf(dislike), np.float32(0), dislike))[:, 0]
        loss = np.where(self._ok[b], loss, np.inf)
        near = min(elicitor.shown // 4, loss.shape[1])
        best = np.argsort(loss, axis=1, kind="stable")[:, :near]
        last = belief.families[0][1]
        # a few for tastes without an ideal; plans close to ideals part the ideals better
        tastes = elicitor.shown // 10 if last else elicitor.shown - near
        u = self._streams.take(b).uniform(np.arange(m), 2, elicitor.shown, tag=0x5000)
        taste = _spread(weight, u[:, 0, :tastes])
        fond = np.take_along_axis(dislike, taste[..., None], axis=1).argmin(2)
        index = np.concatenate([best, fond], axis=1)
        act, ok = self._act[b][each, index], self._ok[b][each, index]
        if last:
            ideal, sound = self._ideals(b, belief)
            pick = _spread(normalised(belief.log[:, :last]), u[:, 1, : elicitor.shown - near - tastes])
            act = np.concatenate([act, ideal[each, pick]], axis=1)
            ok = np.concatenate([ok, sound[each, pick]], axis=1)
        return act, ok

    # -- answers -------------------------------------------------------------------------------------------

    def answer(self, reply: np.ndarray, wishes: Preferences | None = None) -> None:
        """See `Session.answer`. Raises: MethodError for a reply that fits no option."""
        questions, d = self._pending, self.people.d
        reply = checked_replies(questions, reply)
        self._turn += 1
        chose = np.flatnonzero(questions.kind == Kind.CHOOSE)
        at = self.questions[chose]
        who, flat = np.repeat(chose, 2), questions.action[chose].reshape(-1, d)
        self.replies.place[chose, at] = columns(self.people, who, flat)[1].reshape(
            len(chose), 2, self.replies.place.shape[-1]
        )
        self.replies.part[chose, at] = self.people.parts(who, flat).reshape(len(chose), 2, d)
        self.replies.reply[chose, at] = np.where(reply[chose] == CANNOT_SAY, -1, reply[chose])
        self.questions[questions.kind != Kind.DONE] += 1
        # those who are through keep the plan that they have; only new limits may take it
        offered = np.flatnonzero(questions.kind == Kind.ACCEPT)
        self._best[offered], self._stale[offered] = questions.action[offered, 0], False
        learn = chose[reply[chose] != CANNOT_SAY]
        self.heard[learn] += 1
        self._stale[learn] = True
        for b in _blocks(learn):
            self._learn(b)
        self._done |= (questions.kind == Kind.ACCEPT) & (reply == 1)
        self._done |= self.questions >= self.elicitor.budget
        if wishes is not None:
            self._limit(wishes)
        self._pending = self._next()

    def _replies_of(self, b: Who) -> Replies:
        return Replies(self.replies.place[b], self.replies.part[b], self.replies.reply[b])

    def _learn(self, b: Who) -> None:
        belief, replies = self.belief.take(b), self._replies_of(b)
        row, at = np.arange(len(b)), self.questions[b] - 1
        only = Replies(
            replies.place[row, at][:, None], replies.part[row, at][:, None], replies.reply[row, at][:, None]
        )
        belief.log = belief.log + belief.fit(only)
        refresh(belief, self._some(b), replies, self._streams.take(b), 0x9000 + 256 * self._turn, _MOVES)
        self.belief.put(b, belief)

    def _limit(self, wishes: Preferences) -> None:
        """Take new limits: who is touched by them gets a new pool, and ideals within them."""
        old, d = self.people, self.people.d
        new = old.problem.population(old.x, wishes)
        later = new.preferences.time != old.preferences.time
        touched = (new.low != old.low) | (new.high != old.high) | (new.free != old.free)
        hit = (
            touched.any(1) | later | (new.max_changes != old.max_changes) | (new.weight != old.weight).any(1)
        )
        for j, ok in new.level_ok.items():
            hit |= (ok != old.level_ok[j]).any(1)
        self.people = new
        self._parts.clear()
        who = np.flatnonzero(hit & self._had)
        if not who.size:
            return
        b = self._start.shape[1]
        each = np.repeat(who, b)
        plans = begun(new, each, self._start[who].reshape(-1, d))[0]
        self._start[who] = plans.reshape(len(who), b, d)
        self._fill(who)
        keep = works(new, who, self._best[who])
        self._best[who] = np.where(keep[:, None], self._best[who], np.nan)
        self._stale[who] |= ~keep
        for part in _blocks(who):
            belief, replies = self.belief.take(part), self._replies_of(part)
            act, _ = self._ideals(part, belief)
            m, a, _ = act.shape
            sound = np.zeros(belief.wish.shape[:2], dtype=bool)
            each = np.repeat(np.arange(m), a)
            sound[:, :a] = works(self._some(part), each, act.reshape(-1, d)).reshape(m, a)
            limited(belief, self._some(part), replies, sound)
            refresh(
                belief,
                self._some(part),
                replies,
                self._streams.take(part),
                0x19000 + 256 * self._turn,
                _MOVES,
            )
            self.belief.put(part, belief)
        gone = ~self._ok[who].any(1) & ~self.belief.sound[who].any(1)
        self._done[who[gone]] = True

    # -- what is recommended -------------------------------------------------------------------------------

    @property
    def best(self) -> Rows:
        """(n, d) the plans with the least expected dislike; before any answer, the base method's."""
        return self._recommended(np.arange(self.people.n)).copy()

    def _recommended(self, who: Who) -> Rows:
        stale = who[self._stale[who]]
        early = (self.heard[stale] == 0) & ~np.isnan(self._start[stale, 0]).all(1)
        self._best[stale[early]] = self._start[stale[early], 0]
        for b in _blocks(stale[~early]):
            self._best[b] = self._least(b)
        self._stale[who] = False
        return np.asarray(self._best[who])

    def _least(self, b: Who) -> Rows:
        """The plans of people b with the least expected dislike: (m, d), NaN where there is none."""
        belief, m, d = self.belief.take(b), len(b), self.people.d
        some, each = self._some(b), np.arange(m)[:, None]
        weight = belief.weight.astype(np.float32)[:, None, :]
        act, sound = self._ideals(b, belief)
        last = act.shape[1]
        who = np.repeat(np.arange(m), last)
        part = some.parts(who, act.reshape(-1, d)).reshape(m, last, d)
        place = np.concatenate([self._place[b], belief.place[:, :last]], axis=1)
        dislike = belief.dislike(place, np.concatenate([self._part[b], part], axis=1))
        ok = np.concatenate([self._ok[b], sound], axis=1)
        value = np.where(ok, (weight @ dislike)[:, 0], np.inf)
        act = np.concatenate([self._act[b], act], axis=1)
        order = np.argsort(value, axis=1, kind="stable")[:, :_KEPT]
        act, value = act[each, order], value[each, order]
        middle = self._middle(some, belief)
        leap = leaping(some)
        k = act.shape[1]
        who = np.repeat(np.arange(m), 3 * k)
        for turn in range(_ROUNDS):
            u = self._streams.take(b).uniform(np.arange(m), k, 2 * d + 2, tag=0xB000 + turn)
            good = full(some, np.repeat(np.arange(m), k), act.reshape(-1, d)).reshape(m, k, d)
            mate = good[each, np.floor(u[..., 0] * k).astype(np.int64)]
            change = u[..., 2 : 2 + d]
            with np.errstate(invalid="ignore"):
                near = good + u[..., 1, None] * (middle[:, None, :] - good)
            near = np.where(leap | np.isnan(near), good, near)
            mixed = np.where(change < 0.3, mate, good)
            home = np.where(change < 0.2, some.x[:, None, :], good)
            aim = np.concatenate([near, mixed, home], axis=1).reshape(-1, d)
            row, fine = _brought(
                some,
                who,
                aim,
                np.tile(good, (1, 3, 1)).reshape(-1, d),
                np.tile(u[..., 2 + d :], (1, 3, 1)).reshape(-1, d),
            )
            place = columns(some, who, row)[1].reshape(m, 3 * k, -1)
            dislike = belief.dislike(place, some.parts(who, row).reshape(m, 3 * k, d))
            more = np.where(fine.reshape(m, -1), (weight @ dislike)[:, 0], np.inf)
            act = np.concatenate([act, row.reshape(m, -1, d)], axis=1)
            value = np.concatenate([value, more], axis=1)
            order = np.argsort(value, axis=1, kind="stable")[:, :k]
            act, value = act[each, order], value[each, order]
        return np.where(np.isfinite(value[:, :1]), act[:, 0], np.nan)

    def _middle(self, some: Population, belief: Belief) -> Rows:
        """(m, d) the middle of the ideals: means of numbers, most likely levels of categories."""
        ideals = belief.wish.shape[1]
        if not ideals:
            return some.x
        share = normalised(belief.log[:, :ideals])
        own = some.x[:, None, :]
        wish = np.where(np.isnan(belief.wish), own, belief.wish)
        out = (share[:, None, :] @ np.where(np.isnan(wish), 0.0, wish))[:, 0]
        out = np.where(np.isnan(some.x), np.nan, out)
        for j in np.flatnonzero(leaping(some)).tolist():
            votes = (share[..., None] * (wish[:, :, j, None] == np.arange(some.schema.n_levels[j]))).sum(1)
            out[:, j] = np.where(votes.any(1), votes.argmax(1), some.x[:, j])
        return np.asarray(out)

    def learned(self) -> dict[str, Any] | None:
        """See `Session.learned`; 'answers' (n,): comparisons heard, 'family' (n, 3): how likely each family is.

        Profiles are where the middle of the ideals leads; NaN for people without a plan. Reluctance is NaN for features
        that a person cannot act on.
        """
        people, belief = self.people, self.belief
        everyone = np.arange(people.n)
        middle = self._middle(people, belief)
        wanted = people.after(everyone, tidy(people, everyone, middle))
        share = belief.weight
        ideals = belief.wish.shape[1]
        effort = np.exp(belief.load)
        own = share[:, ideals:] / np.maximum(share[:, ideals:].sum(1, keepdims=True), 1e-300)
        mind = (own[:, None, :] @ (effort / effort.sum(2, keepdims=True)))[:, 0]
        mind = np.where(people.free, mind * self._widest(), np.nan)
        with np.errstate(invalid="ignore", divide="ignore"):
            mind = mind / (
                np.nansum(mind, axis=1, keepdims=True) / np.maximum(people.free.sum(1), 1)[:, None]
            )
        family = np.stack([share[:, a:z].sum(1) for a, z in belief.families], axis=1)
        return {"wanted": wanted, "reluctance": mind, "answers": self.heard.copy(), "family": family}

    def _widest(self) -> Rows:
        """(n, d) part of the cost of going as far as the person may, feature by feature."""
        people = self.people
        everyone = np.arange(people.n)
        ends = [
            people.parts(everyone, np.where(people.free, edge, np.nan)) for edge in (people.low, people.high)
        ]
        return np.asarray(np.fmax(*ends))


def _taken(half: np.ndarray, weight: np.ndarray, spot: np.ndarray) -> np.ndarray:
    """How much variance of `spot` an answer takes: half (m, P, Q) weight x chance, weight (m, P), spot (m, P, e)."""
    first = half.sum(1)
    second = weight.sum(1)[:, None] - first
    one = half.transpose(0, 2, 1) @ spot
    two = weight[:, None, :] @ spot - one
    apart = one / np.maximum(first, 1e-9)[..., None] - two / np.maximum(second, 1e-9)[..., None]
    mass = np.maximum(weight.sum(1)[:, None], 1e-9)
    return np.asarray(first * second / mass * np.square(apart).sum(2))


def _spread(share: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Evenly spread draws: share (m, P) probabilities, u (m, c) in (0, 1) -> (m, c) indices."""
    step = np.cumsum(share, axis=1)
    at = (np.arange(u.shape[1]) + u) / u.shape[1] * step[:, -1:]
    return np.asarray((at[:, :, None] > step[:, None, :]).sum(2).clip(0, share.shape[1] - 1))


def _brought(people: Population, who: Who, aim: Rows, good: Rows, turn: Rows) -> tuple[Rows, Mask]:
    """Full rows (m, d) as plans that work, where they do not moved towards one that does; (m,) if that was possible."""
    row = tidy(people, who, aim)
    fine = works(people, who, row)
    rest = np.flatnonzero(~fine)
    if rest.size:
        row[rest], fine[rest] = barely(people, who[rest], aim[rest], good[rest], turn[rest], 8)
    return row, fine


def _blocks(who: Who) -> list[np.ndarray]:
    return [who[start : start + _BLOCK] for start in range(0, len(who), _BLOCK)]


__getattr__ = renamed_names(__name__, LearnedTalk="LearnedSession")
