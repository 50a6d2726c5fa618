"""pear: ask which of two sequences of acts is better, and learn the weights of a cost graph from the replies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from wayforward.errors import MethodError
from wayforward.methods.settings import check_choices, check_whole
from wayforward.people.elicitor import CANNOT_SAY, BaseElicitor, Kind, Questions, Session, checked_replies
from wayforward.people.elicitors.cost_graph import CostGraph, steps_of
from wayforward.people.elicitors.plan_pool import begun, works
from wayforward.people.elicitors.sequence_search import ActMenu, Bank, menu_of, search
from wayforward.shapes import Actions, Rows
from wayforward.streams import Streams, generator, keys_of

if TYPE_CHECKING:
    from wayforward.methods import Method
    from wayforward.preferences.preferences import Preferences
    from wayforward.problem import Population, Problem

_BANK = 192  # sequences remembered for each person
_SHOWN = 24  # next acts that a question may be about
_ELSE = 3  # particles that sequences are searched under besides the estimate
_TOP = 25  # particles whose mean is the estimate


@dataclass(frozen=True)
class WeightPrior:
    """A mixture of Gaussians with unit covariance over the weights of a cost graph. means (c, w), one column a name.

    Published means are lists for two data sets that are not in the paper's text; `drawn` makes six for any graph.
    """

    means: np.ndarray
    names: tuple[str, ...]

    @classmethod
    def drawn(cls, graph: CostGraph, components: int = 6, seed: int = 0) -> WeightPrior:
        """Means drawn evenly from 1 to 10, one list for each kind of person."""
        rng = generator(seed, 0x9EA2)
        return cls(rng.uniform(1.0, 10.0, (components, graph.width)), graph.names)

    def log_density(self, weight: np.ndarray, scale: np.ndarray) -> np.ndarray:
        """weight (n, ..., w), scale (n, w) of the means -> (n, ...), up to a constant."""
        extra = weight.ndim - 2
        means = self.means[None] * scale[:, None, :]  # (n, c, w)
        means = means.reshape(len(scale), *(1,) * extra, *self.means.shape)
        apart = -0.5 * np.square(weight[..., None, :] - means).sum(-1)
        top = apart.max(-1, keepdims=True)
        return np.asarray(np.log(np.exp(apart - top).sum(-1)) + top[..., 0])

    def sample(self, streams: Streams, m: int, scale: np.ndarray, tag: int) -> np.ndarray:
        """(n, m, w) draws for each person."""
        who, w = np.arange(len(scale)), self.means.shape[1]
        pick = streams.uniform(who, m, tag=tag)
        kind = np.minimum((pick * len(self.means)).astype(np.int64), len(self.means) - 1)
        return np.asarray(self.means[kind] * scale[:, None, :] + streams.normal(who, m, w, tag=tag + 1))


@dataclass
class Pear(BaseElicitor):
    """Bayesian weights over a cost graph, learned from choices between sequences of acts.

    Each question shows sequences that all turn the decision, begin differently, and together promise the most: the
    set is put together greedily by the expected utility of selection under the particles. After a reply the particles
    are moved by a Metropolis sampler of differences, half of them from the other half, the sequences are searched
    again under the mean of the most likely ones, and the first act of the chosen sequence is taken as done, so the next
    question is about what follows it.

    graph: whose state makes which act dearer: a `CostGraph`, pairs of features, or None for the world's graph. prior:
    over its weights; None draws one. budget: questions. options: plans a question. response: replies follow
    exp(-0.9 x cost) ('logistic', forgiving) or are taken at their word ('exact'). particles, sweeps: of the sampler.
    points: values tried across a number's reach. depth: acts in a sequence at most. width: beginnings kept by the beam
    search, which stands in for the published reinforcement learner. base: the method that makes the plan to start from.
    pick: sets by expected utility, or at random (to see what the choice is worth). accept: ask at the end whether the
    plan is good enough.
    Default work: some ten thousand model rows a person before the first question, some thousands after each reply.
    Shapes: n people; plans are actions (n, d) with an order.
    Example: ``elicitor("pear", graph=[("age", "income")], budget=10).fit(problem).begin(refused)``.
    Raises: MethodError for parameters that leave nothing to ask; PreferencesError for an edge that names no feature.
    Source: G. De Toni, P. Viappiani, S. Teso, B. Lepri, A. Passerini (2024), Personalized Algorithmic Recourse with
    Preference Elicitation, TMLR; P. Viappiani, C. Boutilier (2010), Optimal Bayesian Recommendation Sets and
    Myopically Optimal Choice Query Sets, NeurIPS.
    """

    name: ClassVar[str] = "pear"
    summary: ClassVar[str] = "choices between sequences of acts teach the weights of a cost graph"
    citation: ClassVar[str] = "De Toni, Viappiani, Teso, Lepri & Passerini (2024), TMLR"

    base: str | Method = "local-search"
    budget: int = 10
    options: int = 2
    graph: Any = None
    prior: WeightPrior | None = None
    response: Literal["logistic", "exact"] = "logistic"
    particles: int = 100
    sweeps: int = 40
    points: int = 9
    depth: int = 4
    width: int = 5
    pick: Literal["utility", "random"] = "utility"
    accept: bool = False
    base_parameters: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        check_whole(self, budget=1, options=2, particles=2 * _TOP, sweeps=1, points=2, depth=1, width=1)
        check_choices(self, response=("logistic", "exact"), pick=("utility", "random"))

    def fit(self, problem: Problem) -> Self:
        """Read the cost graph and fit the base method. Raises: MethodError for a prior over another graph."""
        self._take(problem)
        self.graph_ = self.graph if isinstance(self.graph, CostGraph) else CostGraph.of(problem, self.graph)
        self.prior_ = WeightPrior.drawn(self.graph_) if self.prior is None else self.prior
        if self.prior_.means.shape[1] != self.graph_.width:
            raise MethodError(
                f"The prior is about {self.prior_.means.shape[1]} weights and the cost graph has {self.graph_.width}. "
                "Draw it from this graph: WeightPrior.drawn(graph)."
            )
        return super().fit(problem)

    def _session(self, people: Population, plans: Actions, seed: int) -> PearSession:
        return PearSession(self, people, plans[:, 0], seed)


class PearSession(Session):
    """n conversations. estimate (n, w): the weights that each person seems to have."""

    def __init__(self, pear: Pear, people: Population, start: Rows, seed: int) -> None:
        self.pear, self.people, self.seed = pear, people, seed
        self.graph, n = pear.graph_, people.n
        self.streams = Streams.of(people.x, seed)
        self.questions = np.zeros(n, dtype=np.int64)
        own = int((self.graph.own >= 0).sum())
        self.scale = np.ones((n, self.graph.width))
        self.scale[:, :own] = people.weight[:, self.graph.own >= 0]
        self.particles = pear.prior_.sample(self.streams, pear.particles, self.scale, tag=0x9E00)
        self.estimate = pear.prior_.means.mean(0) * self.scale
        q = pear.budget + 1
        self._parts: list[np.ndarray] = []  # (n, c, s, w) of every question
        self._reply: list[np.ndarray] = []
        self._seen = np.zeros((n, q), dtype=np.uint64)  # keys of the sets asked about
        self._set_key = np.zeros(n, dtype=np.uint64)
        self.menu = menu_of(people, pear.points)
        self.had = ~np.isnan(start).all(1)  # (n,) who has none is not asked
        start = begun(people, np.arange(n), start)[0]
        self.start = start  # the answer of those whose plans are all longer than the sequences asked about
        self.bank = sequences_of(self.graph, people, start, pear.depth)
        self._search(np.concatenate([self.estimate[:, None, :], self.particles[:, :2]], axis=1))
        self._fresh()
        self.over = ~self.bank.exists.any(1)
        self._ask()

    # -- what is known -------------------------------------------------------------------------------------

    @property
    def best(self) -> Rows:
        """(n, d) the cheapest sequence under the estimate, as an action."""
        cost = self.bank.costs(self.graph, self.estimate)
        at = cost.argmin(1)
        rows = np.arange(self.people.n)
        return np.where(np.isfinite(cost[rows, at])[:, None], self.bank.action[rows, at], self.start)

    def learned(self) -> dict[str, Any]:
        """'reluctance' (n, d): weight of each act relative to their mean; 'weights' (n, w) of the cost graph."""
        own = self.graph.own
        out = np.full((self.people.n, self.people.d), np.nan)
        weight = np.maximum(self.estimate[:, : int((own >= 0).sum())], 0.0)
        out[:, own >= 0] = weight / np.maximum(weight.mean(1, keepdims=True), 1e-12)
        return {"reluctance": out, "weights": self.estimate, "names": self.graph.names}

    # -- questions -----------------------------------------------------------------------------------------

    @property
    def pending(self) -> Questions:
        """The question on the table."""
        return self._pending

    def _fresh(self) -> None:
        """Everybody's sequence starts again from where they stand."""
        self.done_action = np.full(self.people.x.shape, np.nan)
        self.done_place = np.full(self.people.x.shape, -1)

    def _ask(self) -> None:
        n, c, d = self.people.n, self.pear.options, self.people.d
        kind = np.full(n, int(Kind.DONE))
        action, order = np.full((n, c, d), np.nan), np.full((n, c, d), -1)
        self._parts_now = np.zeros((n, c, self.pear.depth, self.graph.width))
        talking = ~self.over & (self.questions < self.pear.budget)
        for again in (False, True):
            need = talking & (kind == Kind.DONE)
            if again:  # nothing to compare after the acts chosen so far: begin anew
                self.done_action[need], self.done_place[need] = np.nan, -1
            if not need.any():
                break
            pick = self._set(np.flatnonzero(need))
            full = (pick >= 0).sum(1) >= 2
            who, some = np.flatnonzero(need)[full], pick[full]
            kind[who] = int(Kind.CHOOSE)
            there = some >= 0
            action[who] = np.where(there[..., None], self.bank.action[who[:, None], some], np.nan)
            order[who] = np.where(there[..., None], self.bank.place[who[:, None], some], -1)
            self._parts_now[who] = self.bank.parts[who[:, None], some] * there[..., None, None]
        # who has no two plans to compare, or has been asked enough
        rest = ~self.over & (kind == Kind.DONE)
        if self.pear.accept and rest.any():
            kind[rest], action[rest, 0] = int(Kind.ACCEPT), self.best[rest]
        else:
            self.over |= rest
        who, slot = np.nonzero(~np.isnan(action).all(2))
        after = np.full((n, c, d), np.nan)
        after[who, slot] = self.people.after(who, action[who, slot])
        self._pending = Questions(kind, action, after, order)

    def _set(self, who: np.ndarray) -> np.ndarray:
        """(m, c) positions in the bank of what to show; -1 for no option."""
        c = self.pear.options
        index = self._potential(who)  # (m, k)
        m, k = index.shape
        there = index >= 0
        parts = self.bank.parts[who[:, None], index]
        cost = self.graph.cost(parts[:, None], self.particles[who][:, :, None, :])  # (m, p, k)
        key = keys_of(
            np.concatenate(
                [
                    np.nan_to_num(self.bank.action[who[:, None], index], nan=np.inf),
                    self.bank.place[who[:, None], index].astype(np.float64),
                ],
                axis=2,
            ).reshape(m * k, -1),
            0,
        ).reshape(m, k)
        out = np.full((m, c), -1)
        chosen = np.full((m, c), -1)
        rows = np.arange(m)
        state = np.zeros(m, dtype=np.uint64)
        chance = self.streams.uniform(who, c, _SHOWN, tag=0x9F00 + len(self._parts))[:, :, :k]
        for slot in range(c):
            gain = np.full((m, k), -np.inf)
            for option in range(k):
                picked = np.take_along_axis(cost, np.maximum(chosen[:, None, :slot], 0), 2)
                both = np.concatenate([picked, cost[:, :, option : option + 1]], axis=2)
                gain[:, option] = utility(both, self._sharp)
            if self.pear.pick == "random":
                gain = chance[:, slot]
            new = there.copy()
            for before in range(slot):
                new &= chosen[:, before, None] != np.arange(k)
            if slot == c - 1:  # a set that was asked about is not asked about again
                with np.errstate(over="ignore"):
                    total = state[:, None] + key
                new &= ~(total[:, :, None] == self._seen[who][:, None, :]).any(2)
            gain = np.where(new, gain, -np.inf)
            best = gain.argmax(1)
            ok = np.isfinite(gain[rows, best])
            chosen[:, slot] = np.where(ok, best, -1)
            out[:, slot] = np.where(ok, index[rows, best], -1)
            with np.errstate(over="ignore"):
                state = np.where(ok, state + key[rows, best], state)
        self._set_key[who] = state
        return out

    def _potential(self, who: np.ndarray, most: int = _SHOWN) -> np.ndarray:
        """(m, k) positions of the cheapest completion of each next act, after what is done; -1 for none."""
        bank = self.bank
        action, place = bank.action[who], bank.place[who]
        done, turn = self.done_place[who], (self.done_place[who] >= 0).sum(1)
        fits = bank.exists[who]
        with np.errstate(invalid="ignore"):
            same = (place == done[:, None]) & (action == self.done_action[who][:, None])
        fits &= (same | (done < 0)[:, None]).all(2)
        nxt = place == turn[:, None, None]
        fits &= nxt.any(2)
        feature = nxt.argmax(2)
        value = np.take_along_axis(action, feature[..., None], 2)[..., 0]
        cost = np.where(fits, bank.costs(self.graph, self.estimate)[who], np.inf)
        m, b = cost.shape
        key = keys_of(
            np.stack([feature.astype(np.float64), np.nan_to_num(value, nan=np.inf)], 2).reshape(m * b, 2), 0
        )
        key = key.reshape(m, b)
        by_key = np.lexsort((cost, key), axis=1)
        ordered = np.take_along_axis(key, by_key, 1)
        first = np.ones((m, b), dtype=bool)
        first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
        keep = np.zeros((m, b), dtype=bool)
        np.put_along_axis(keep, by_key, first, 1)
        cost = np.where(keep, cost, np.inf)
        order = np.argsort(cost, axis=1, kind="stable")[:, :most]
        return np.where(np.isfinite(np.take_along_axis(cost, order, 1)), order, -1)

    # -- replies -------------------------------------------------------------------------------------------

    @property
    def _sharp(self) -> float:
        return 0.9 if self.pear.response == "logistic" else 50.0

    def answer(self, reply: np.ndarray, wishes: Preferences | None = None) -> None:
        """Take everybody's reply; see `Session.answer`."""
        questions = self._pending
        reply = checked_replies(questions, reply)
        self.questions += questions.kind != Kind.DONE
        self.over |= questions.kind == Kind.ACCEPT
        chose = (questions.kind == Kind.CHOOSE) & (reply != CANNOT_SAY)
        self._parts.append(self._parts_now)
        self._reply.append(np.where(chose, reply, -1))
        seen = questions.kind == Kind.CHOOSE
        turn = np.maximum(self.questions - 1, 0)
        self._seen[seen, turn[seen]] = self._set_key[seen]
        rows = np.flatnonzero(chose)
        self._advance(rows, reply[rows])
        if wishes is not None:
            self._wish(wishes)
        if rows.size:
            self._learn(rows)
            # Under the estimate, and under some of what else may be true: a plan that is never found is never shown.
            some = (len(self._parts) * _ELSE + np.arange(_ELSE)) % self.pear.particles
            self._search(np.concatenate([self.estimate[:, None, :], self.particles[:, some]], axis=1), rows)
        self._ask()

    def _advance(self, rows: np.ndarray, reply: np.ndarray) -> None:
        """The first new act of the chosen sequence counts as done; a sequence that is complete begins anew."""
        action, place = self._pending.action[rows, reply], self._pending.order
        assert place is not None
        place = place[rows, reply]
        turn = (self.done_place[rows] >= 0).sum(1)
        now = place == turn[:, None]
        self.done_action[rows] = np.where(now, action, self.done_action[rows])
        self.done_place[rows] = np.where(now, turn[:, None], self.done_place[rows])
        complete = rows[place.max(1) <= turn]
        self.done_action[complete], self.done_place[complete] = np.nan, -1

    def _wish(self, wishes: Preferences) -> None:
        """New limits: what breaks them is forgotten, and sequences are searched again."""
        problem = self.people.problem
        old = self.best
        self.people = problem.population(self.people.x, wishes)
        self.menu = menu_of(self.people, self.pear.points)
        self.bank = self.bank.only(self._sound(self.people, self.bank))
        self._fresh()
        self._search(self.estimate[:, None, :])
        self.start = np.full_like(old, np.nan)
        lost = np.flatnonzero(~self.bank.exists.any(1) & ~np.isnan(old).all(1))
        if lost.size:
            found = self.pear.base_.recommend(
                self.people.x[lost], 1, preferences=wishes.take(lost), seed=self.seed
            )
            self.start[lost] = found.action[:, 0]
            self.bank = self.bank.join(sequences_of(self.graph, self.people, self.start, self.pear.depth))
        self.over |= ~self.bank.exists.any(1)

    @staticmethod
    def _sound(people: Population, bank: Bank) -> np.ndarray:
        """(n, b) bool: sequences that reach the decision as surely as the problem asks."""
        out = bank.exists
        who, slot = np.nonzero(out)
        out[who, slot] = works(people, who, bank.action[who, slot])
        return out

    def _search(self, weight: np.ndarray, who: np.ndarray | None = None) -> None:
        """Search under weights (n, m, w) and keep what is cheap under them or under some particles."""
        pear, n = self.pear, self.people.n
        who = np.flatnonzero(self.had) if who is None else who
        if not len(self.menu.feature) or not who.size:
            return
        some = self.people if who.size == n else self.people.take(who)
        menu = ActMenu(self.menu.feature, self.menu.value[who])
        got = search(some, self.graph, menu, weight[who], depth=pear.depth, width=pear.width)
        if some is not self.people:
            self.people.rows[who] += some.rows
        if some.problem.demanding:  # found by what is expected; only the sure ones are shown
            got = got.only(self._sound(some, got))
        new = Bank(
            np.full((n, *got.action.shape[1:]), np.nan),
            np.full((n, *got.place.shape[1:]), -1),
            np.zeros((n, *got.parts.shape[1:])),
        )
        new.action[who], new.place[who], new.parts[who] = got.action, got.place, got.parts
        bank = self.bank.join(new)
        taste = np.concatenate([self.estimate[:, None, :], self.particles[:, :4]], axis=1)
        self.bank = bank.best(bank.costs(self.graph, taste).min(1), _BANK)

    def _learn(self, rows: np.ndarray) -> None:
        """Move the particles of some people to the posterior; the estimate is the mean of the most likely."""
        pear = self.pear
        parts = np.stack([part[rows] for part in self._parts], axis=1)  # (m, q, c, s, w)
        reply = np.stack([part[rows] for part in self._reply], axis=1)  # (m, q)
        streams, scale = self.streams.take(rows), self.scale[rows]
        m, p = len(rows), pear.particles
        who, turn = np.arange(m), len(self._parts)
        particles = self.particles[rows].copy()

        def height(weight: np.ndarray) -> np.ndarray:
            prior = pear.prior_.log_density(weight, scale)
            return np.asarray(prior + likelihood(self.graph, parts, reply, weight, self._sharp))

        level = height(particles)
        half = p // 2
        w = self.graph.width
        for sweep in range(pear.sweeps):
            for side in (0, 1):
                mine = slice(0, half) if side == 0 else slice(half, 2 * half)
                other = slice(half, 2 * half) if side == 0 else slice(0, half)
                tag = 0xA000 + 4 * (turn * 1000 + sweep) + 2 * side
                draw = streams.uniform(who, half, 4, tag=tag)
                one = (draw[..., 0] * half).astype(np.int64)
                two = (one + 1 + (draw[..., 1] * (half - 1)).astype(np.int64)) % half
                pool = particles[:, other]
                difference = pool[who[:, None], one] - pool[who[:, None], two]
                # mostly steps that suit the spread; now and then the whole way, from mode to mode
                pace = np.where(draw[..., 2] < 0.2, 1.0, 2.38 / np.sqrt(2 * w))
                jitter = 0.2 * (streams.uniform(who, half, w, tag=tag + 1) - 0.5)
                trial = particles[:, mine] + pace[..., None] * difference + jitter
                there = height(trial)
                take = np.log(draw[..., 3]) < there - level[:, mine]
                particles[:, mine] = np.where(take[..., None], trial, particles[:, mine])
                level[:, mine] = np.where(take, there, level[:, mine])
        self.particles[rows] = particles
        top = np.argsort(-level, axis=1, kind="stable")[:, :_TOP]
        self.estimate[rows] = np.take_along_axis(particles, top[..., None], 1).mean(1)


def likelihood(
    graph: CostGraph, parts: np.ndarray, reply: np.ndarray, weight: np.ndarray, sharp: float
) -> np.ndarray:
    """Log-likelihood (m, p) of replies (m, q) to sets parts (m, q, c, s, w) under weights (m, p, w); -1: no reply."""
    cost = graph.cost(parts[:, None], weight[:, :, None, None, :])  # (m, p, q, c)
    shown = (parts != 0).any((-1, -2))[:, None]
    score = np.where(shown, -sharp * cost, -np.inf)
    top = score.max(-1, keepdims=True)
    total = np.log(np.exp(score - np.where(np.isfinite(top), top, 0.0)).sum(-1).clip(1e-300)) + np.where(
        np.isfinite(top[..., 0]), top[..., 0], 0.0
    )
    chosen = np.take_along_axis(score, np.maximum(reply, 0)[:, None, :, None], 3)[..., 0]
    return np.asarray(np.where((reply >= 0)[:, None], chosen - total, 0.0).sum(-1))


def utility(cost: np.ndarray, sharp: float) -> np.ndarray:
    """Expected utility of selection (m,) of sets with costs (m, p, c): minus what the chosen one will cost on average.

    Source: Viappiani & Boutilier (2010). With exact replies it is submodular, so greedy sets are within 1 - 1/e.
    """
    weigh = -sharp * (cost - cost.min(-1, keepdims=True))
    share = np.exp(weigh)
    share /= share.sum(-1, keepdims=True)
    return np.asarray(-(share * cost).sum(-1).mean(-1))


def sequences_of(graph: CostGraph, people: Population, action: Rows, depth: int) -> Bank:
    """Plans (n, d) as one sequence each, in the order of the features; longer ones than `depth` are left out."""
    acted = ~np.isnan(action)
    fits = acted.any(1) & (acted.sum(1) <= depth)
    place = np.where(acted & fits[:, None], np.cumsum(acted, 1) - 1, -1)
    parts = steps_of(graph, people, np.arange(people.n), action, place, depth)
    return Bank(np.where(fits[:, None], action, np.nan)[:, None], place[:, None], parts[:, None])
