"""hare, multi-hare: compare plans two by two, around whatever plan a method found first."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from wayforward.methods.settings import check_choices, check_least, check_positive, check_whole
from wayforward.people.elicitor import CANNOT_SAY, BaseElicitor, Kind, Questions, Session, checked_replies
from wayforward.people.elicitors.boundary_search import boundary
from wayforward.people.elicitors.direction_sampling import Sampler
from wayforward.people.elicitors.plan_pool import works
from wayforward.public import public
from wayforward.shapes import Actions, Rows
from wayforward.streams import Streams, keys_of

if TYPE_CHECKING:
    from wayforward.methods import Method
    from wayforward.preferences.preferences import Preferences
    from wayforward.problem import Population, Problem

_INCUMBENT, _NONE = -1, -2  # who is ahead: the plan from before, nobody; else a number of the pool
_ROWS = 1 << 16  # plans judged at once
_BEGIN = -1  # between two kinds of question: new plans are needed


@public
@dataclass
class Hare(BaseElicitor):
    """Show plans around a first one, two at a time; the preferred one stays, against all others once.

    Around the plan of a base method, `budget` / `iterations` directions are made as different as can be while the
    model still says yes where they lead (ActionableSampling); each such plan is taken back towards the person until it
    barely reaches the decision (BoundaryPointSearch); they meet in pairs, the winner stays, and at last the person is
    asked whether the winner will do. With `iterations` above 1 (Multi-HARE) the winner is what the next plans lie
    around. A round of k plans has k - 1 comparisons and one 'will it do?': budget / iterations questions.

    base, base_parameters: the method that makes first plans, by name or as one. budget: questions at most; what does
    not divide by the iterations is not used. steps, rate, gamma, spread (lambda of the paper), tolerance: see
    `direction_sampling.Sampler` and `boundary_search.boundary`. keep_incumbent: the plan from before takes part in each
    round, in the place of a new one. calibrate: 'every' plan is taken back before it is shown, or only the 'best' of a
    round.
    give_back: categories and binaries are left alone again where the decision does not need them. numbers_only: only
    numbers move, as in the paper's experiments; here levels move too. zeroth: slopes by asking about neighbouring
    rows; None: only for models without gradients. Slopes are looked at in every step, in a causal world in every fifth,
    and in every tenth if they are estimates.

    Not in the paper: halvings: how often the step along a direction is halved where the model says no at its end,
    before the direction is dropped; narrow: how much shorter steps of numbers get from round to round (1: no shorter);
    and directions are kept to a cone while they spread, and to the person's limits at their end: cut to the limits in
    every step they gather in corners and lead to one and the same plan. The paper's rounds forget the winner of the
    last; ``keep_incumbent=True, narrow=0.7`` mostly ends nearer to what people have in mind.

    Every plan that is shown is legal, keeps rules and wishes and was seen to reach the decision; what does not, or
    leads where another one leads, is left out, so a round may be shorter. With no plan left the one from before stays.
    Where only few changes are allowed, each direction changes few features. 'Cannot say' keeps who is ahead; a round
    in which nothing was said changes nothing, and a plan that met no other replaces the one from before only when
    it is accepted. In a causal world plans are acts: the segment is one of acts, and effects follow.
    New limits replace a broken plan by its part that is still allowed, or else by the base method's new one, and broken
    candidates by fresh ones.

    Example: ``Hare(base="wachter", budget=20).fit(problem).begin(refused, seed=0)``.
    Raises: MethodError for parameters out of range.
    Source: HARE: Human-in-the-Loop Algorithmic Recourse (under double-blind review).
    """

    name: ClassVar[str] = "hare"
    summary: ClassVar[str] = (
        "pairs of different plans around one, the preferred stays; any base method and model"
    )
    citation: ClassVar[str] = "HARE: Human-in-the-Loop Algorithmic Recourse (under double-blind review)"

    base: str | Method = "local-search"
    base_parameters: dict[str, Any] | None = None
    budget: int = 30
    iterations: int = 1
    steps: int = 100
    rate: float = 0.1
    gamma: float = 1.0
    spread: float = 10.0
    tolerance: float = 1e-6
    keep_incumbent: bool = False
    calibrate: Literal["every", "best"] = "every"
    give_back: bool = False
    numbers_only: bool = False
    zeroth: bool | None = None
    halvings: int = 3
    narrow: float = 1.0

    def __post_init__(self) -> None:
        check_whole(self, budget=1, iterations=1, steps=0, halvings=0)
        check_positive(self, "rate", "gamma", "tolerance", "narrow")
        check_least(self, spread=0)
        check_choices(self, calibrate=("every", "best"))

    @property
    def rounds(self) -> int:
        """Iterations that the budget has a question for."""
        return min(self.iterations, self.budget)

    @property
    def plans(self) -> int:
        """Plans a round: k = budget // rounds."""
        return self.budget // self.rounds

    def parameters(self) -> dict[str, Any]:
        """The settings, as plain data; a base method by its name."""
        out = {f.name: getattr(self, f.name) for f in fields(self)}
        return {**out, "base": self.base if isinstance(self.base, str) else self.base.name}

    def fit(self, problem: Problem) -> Self:
        """Prepare what all people share, and fit the base method. Raises: UnsupportedModel, ProblemError from it."""
        super().fit(problem)
        self.sampler_ = Sampler(
            problem,
            self.name,
            steps=self.steps,
            rate=self.rate,
            gamma=self.gamma,
            spread=self.spread,
            numbers_only=self.numbers_only,
            zeroth=self.zeroth,
            halvings=self.halvings,
        )
        return self

    def _session(self, people: Population, plans: Actions, seed: int) -> HareSession:
        return HareSession(self, people, plans[:, 0], seed)


@public
@dataclass
class MultiHare(Hare):
    """HARE in five iterations: each round looks around the winner of the last. See `Hare`.

    Example: ``MultiHare(base="growing-spheres").fit(problem).begin(refused, seed=0)``.
    """

    name: ClassVar[str] = "multi-hare"
    summary: ClassVar[str] = "hare in several rounds, each around the winner of the last"

    iterations: int = 5


class HareSession(Session):
    """n tournaments. Who needs new plans gets them at once, so that nobody waits for anybody else's answers."""

    def __init__(self, hare: Hare, people: Population, start: Rows, seed: int) -> None:
        self.hare, self.people, self.seed = hare, people, seed
        n, d, k = people.n, people.d, hare.plans
        self.k = k
        self.questions = np.zeros(n, dtype=np.int64)
        self.streams = Streams.of(people.x, seed)
        self.kind = np.full(n, _BEGIN, dtype=np.int64)
        self.incumbent = start.copy()  # (n, d) the plan from before
        self.pool = np.full((n, k, d), np.nan)  # the plans of this round
        self.open = np.zeros((n, k), dtype=bool)  # those that nobody has met
        self.ahead = np.full(n, _NONE, dtype=np.int64)
        self.rival = np.zeros(n, dtype=np.int64)
        self.swap = np.zeros(n, dtype=bool)  # the rival is shown first
        self.answered = np.zeros(n, dtype=bool)  # a comparison of this round was answered
        self.refused = np.zeros(n, dtype=bool)  # the plan from before was asked about, and will not do
        self.round = np.zeros(n, dtype=np.int64)  # rounds begun
        self.turn = np.zeros(n, dtype=np.int64)  # draws of plans so far
        self._pending: Questions | None = None
        some = np.flatnonzero(~np.isnan(start).all(1))
        self._mend(some[~self._good(some, start[some])] if some.size else some)
        self.kind[np.isnan(self.incumbent).all(1)] = Kind.DONE
        self._advance()

    # -- questions -------------------------------------------------------------------------------------------

    @property
    def pending(self) -> Questions:
        """A pair to choose from, or one plan to accept."""
        if self._pending is None:
            n, d = self.people.n, self.people.d
            action = np.full((n, 2, d), np.nan)
            after = np.full((n, 2, d), np.nan)
            who = np.flatnonzero(self.kind != Kind.DONE)
            pair = who[self.kind[who] == Kind.CHOOSE]
            first = self.swap[pair].astype(np.int64)
            action[who, 0] = self._leader(who)
            action[pair, first] = self._leader(pair)
            action[pair, 1 - first] = self.pool[pair, self.rival[pair]]
            after[who, 0] = self.people.after(who, action[who, 0])
            after[pair, 1] = self.people.after(pair, action[pair, 1])
            self._pending = Questions(self.kind.copy(), action, after)
        return self._pending

    @property
    def best(self) -> Rows:
        """The plan that is ahead once a comparison was answered, the one from before until then."""
        ahead = (self.ahead >= 0) & self.answered & (self.kind != Kind.DONE)
        leading = self.pool[np.arange(self.people.n), np.maximum(self.ahead, 0)]
        return np.asarray(np.where(ahead[:, None], leading, self.incumbent))

    def _leader(self, who: np.ndarray) -> Rows:
        """(m, d) the plan that is ahead; the one from before where none is."""
        ahead = self.ahead[who]
        leading = self.pool[who, np.maximum(ahead, 0)]
        return np.asarray(np.where((ahead >= 0)[:, None], leading, self.incumbent[who]))

    # -- replies ---------------------------------------------------------------------------------------------

    def answer(self, reply: np.ndarray, wishes: Preferences | None = None) -> None:
        """See `Session.answer`. Raises: MethodError for a reply that is no option."""
        reply = checked_replies(self.pending, reply)
        self._pending = None
        kind, everyone = self.kind.copy(), np.arange(self.people.n)
        choose = everyone[kind == Kind.CHOOSE]
        answered = reply[choose] != CANNOT_SAY
        won = answered & ((reply[choose] == 1) != self.swap[choose])
        self.ahead[choose[won]] = self.rival[choose[won]]
        self.answered[choose[answered]] = True
        self.kind[choose] = Kind.ACCEPT  # unless someone is left to meet, which `_advance` finds out
        judging = everyone[kind == Kind.ACCEPT]
        yes = reply[judging] == 1
        fresh = self.ahead[judging] >= 0
        takes = fresh & (yes | self.answered[judging])
        about = takes | ~fresh  # the question was about the plan that is now kept
        self.incumbent[judging[takes]] = self._leader(judging[takes])
        self.refused[judging[about]] = reply[judging[about]] == 0
        self.ahead[judging], self.answered[judging] = _NONE, False
        self.open[judging] = False
        self.kind[judging] = np.where(yes, int(Kind.DONE), _BEGIN)
        self.questions += kind != Kind.DONE
        if wishes is not None:
            self._restrict(wishes)
        self._advance()

    def _advance(self) -> None:
        """Put the next question to everybody who is not done: the next rival, the acceptance, or a new round."""
        while True:
            begin = np.flatnonzero(self.kind == _BEGIN)
            over = begin[self.round[begin] >= self.hare.rounds]
            self.kind[over] = Kind.DONE
            begin = begin[self.round[begin] < self.hare.rounds]
            if begin.size:
                self.round[begin] += 1
                self._draw(begin)
                self.kind[begin] = Kind.ACCEPT
            who = np.flatnonzero(self.kind == Kind.ACCEPT)
            if not who.size:
                break
            lead = who[(self.ahead[who] == _NONE) & self.open[who].any(1)]
            self.ahead[lead] = self.open[lead].argmax(1)
            self.open[lead, self.ahead[lead]] = False
            more = self.open[who].any(1)
            pair = who[more]
            self.rival[pair] = self.open[pair].argmax(1)
            self.open[pair, self.rival[pair]] = False
            coin = self._streams(pair).uniform(np.arange(pair.size), self.k, tag=0xA52)
            self.swap[pair] = coin[np.arange(pair.size), self.rival[pair]] < 0.5
            self.kind[pair] = Kind.CHOOSE
            rest = who[~more]
            self._calibrate(rest)
            again = rest[
                (self.ahead[rest] < 0) & self.refused[rest]
            ]  # the same plan is not asked about twice
            self.ahead[again] = _NONE
            self.kind[again] = _BEGIN
            if not again.size:
                break

    def _calibrate(self, who: np.ndarray) -> None:
        who = who[self.ahead[who] >= 0]
        if self.hare.calibrate == "best" and who.size:
            near = self._boundary(who, self._leader(who))
            good = self._good(who, near)
            self.pool[who[good], self.ahead[who[good]]] = near[good]

    def _good(self, who: np.ndarray, action: Rows) -> np.ndarray:
        """(m,) bool: plans that may be shown."""
        return works(self.people, who, action)

    def _boundary(self, who: np.ndarray, action: Rows) -> Rows:
        hare = self.hare
        return boundary(
            self.people,
            who,
            action,
            hare.sampler_.span,
            tolerance=hare.tolerance,
            give_back=hare.give_back,
        )

    # -- plans -----------------------------------------------------------------------------------------------

    def _streams(self, who: np.ndarray) -> Streams:
        """Streams of some people at their own turn."""
        turn = self.turn[who].astype(np.uint64) * np.uint64(0xD1342543DE82EF95)
        return Streams(self.streams.keys[who] + turn, self.seed)

    def _fresh(self, who: np.ndarray, around: Rows) -> tuple[Rows, np.ndarray]:
        """(q, k, d) plans around plans in a random order, and which of them may be shown (first ones first)."""
        q, k, d = len(who), self.k, self.people.d
        some = max(1, _ROWS // k)
        if q > some:  # bounds memory
            parts = [self._fresh(who[i : i + some], around[i : i + some]) for i in range(0, q, some)]
            return np.concatenate([a for a, _ in parts]), np.concatenate([good for _, good in parts])
        self.turn[who] += 1
        streams = self._streams(who)
        action, good = self.hare.sampler_(
            self.people, who, around, k, streams, self.hare.narrow ** (self.round[who] - 1.0)
        )
        action, good, owner = action.reshape(-1, d), good.reshape(-1), np.repeat(who, k)
        if self.hare.calibrate == "every" and good.any():
            action[good] = self._boundary(owner[good], action[good])
        if self.people.problem.demanding and good.any():
            good[good] = self._good(owner[good], action[good])
        after = self.people.after(owner, action)
        profile = keys_of(np.nan_to_num(after, nan=np.inf), 0).reshape(q, k)
        good = good.reshape(q, k)
        same = (profile[:, :, None] == profile[:, None, :]) & np.tri(k, k=-1, dtype=bool) & good[:, None]
        good &= ~same.any(2)
        order = np.where(good, streams.uniform(np.arange(q), k, tag=0xA51), 2.0).argsort(1, kind="stable")
        rows = np.arange(q)[:, None]
        return action.reshape(q, k, d)[rows, order], good[rows, order]

    def _draw(self, who: np.ndarray) -> None:
        """The plans of a new round."""
        pool, good = self._fresh(who, self.incumbent[who])
        self.pool[who] = np.where(good[..., None], pool, np.nan)
        self.ahead[who], self.answered[who] = _NONE, False
        if self.hare.keep_incumbent and self.k > 1:
            good[:, -1] = False
            self.ahead[who] = _INCUMBENT
        self.open[who] = good

    # -- wishes ----------------------------------------------------------------------------------------------

    def _restrict(self, wishes: Preferences) -> None:
        """New limits: broken plans are replaced, those of the round by others."""
        old = self.people
        if _same(old.preferences, wishes):
            return
        people = old.problem.population(old.x, wishes)
        people.rows, people.aim = old.rows, old.aim
        self.people = people
        some = np.flatnonzero(~np.isnan(self.incumbent).all(1))
        self._mend(some[~self._good(some, self.incumbent[some])] if some.size else some)
        # The round's plans that are still to be met or that lead.
        used = self.open.copy()
        lead = np.flatnonzero(self.ahead >= 0)
        used[lead, self.ahead[lead]] = True
        who, place = np.nonzero(used)
        broken = np.zeros_like(used)
        if who.size:
            broken[who, place] = ~self._good(who, self.pool[who, place])
        lead = lead[broken[lead, self.ahead[lead]]]
        if lead.size:
            at = self.ahead[lead]
            part, good = self._part(lead, self.pool[lead, at])
            self.pool[lead[good], at[good]] = part[good]
            broken[lead[good], at[good]] = False
            lost = lead[~good]
            self.ahead[lost], self.answered[lost] = _NONE, False
            broken[lost, at[~good]] = False  # already met: nobody takes its place
        broken &= self.open
        self.open &= ~broken
        # Who has lost even the plan to go back to takes one of the round's, if any is left.
        gone = np.isnan(self.incumbent).all(1)
        for i in np.flatnonzero(gone & (self.kind != Kind.DONE)):
            left = np.flatnonzero(self.open[i])
            if self.ahead[i] >= 0 or left.size:
                self.incumbent[i] = self.pool[i, self.ahead[i] if self.ahead[i] >= 0 else left[0]]
            else:
                self.kind[i] = Kind.DONE
                self.ahead[i] = _NONE
        refill = np.flatnonzero(broken.any(1) & (self.kind != Kind.DONE))
        if refill.size:
            pool, good = self._fresh(refill, self.best[refill])
            rank = broken[refill].cumsum(1) - 1  # the first fresh one goes to the first empty place
            at = np.maximum(rank, 0)
            rows = np.arange(refill.size)[:, None]
            put = broken[refill] & good[rows, at]
            self.pool[refill] = np.where(put[..., None], pool[rows, at], self.pool[refill])
            self.open[refill] |= put

    def _part(self, who: np.ndarray, action: Rows) -> tuple[Rows, np.ndarray]:
        """(m, d) what is left of plans under the limits, and whether it still holds."""
        from wayforward.problem.batching import tidy

        part = tidy(self.people, who, action)
        return part, self._good(who, part)

    def _mend(self, who: np.ndarray) -> None:
        """Replace kept plans that do not hold: by their allowed part, else by what the base method finds, else none."""
        if not who.size:
            return
        part, good = self._part(who, self.incumbent[who])
        self.incumbent[who] = np.where(good[:, None], part, np.nan)
        self.refused[who] = False
        lost = who[~good]
        if lost.size:
            people = self.people
            found = self.hare.base_.recommend(
                people.x[lost], 1, preferences=people.preferences.take(lost), seed=self.seed
            )
            self.incumbent[lost] = found.action[:, 0]


def _same(one: Preferences, other: Preferences) -> bool:
    """Whether two sets of wishes forbid the same."""
    if one is other:
        return True
    fields_ = ("frozen", "low", "high", "most", "time")
    levels = one.levels.keys() == other.levels.keys() and all(
        np.array_equal(one.levels[j], other.levels[j]) for j in one.levels
    )
    return levels and all(np.array_equal(getattr(one, f), getattr(other, f)) for f in fields_)
