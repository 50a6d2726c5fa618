"""dice: k options at once that turn the decision, stay near and differ from one another (a determinantal loss)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import numpy as np

from wayforward.methods.base import Budget, Method
from wayforward.methods.engines.complete import complete
from wayforward.methods.engines.gradient.relaxed_state import RelaxedState
from wayforward.methods.engines.gradient.slopes import slopes
from wayforward.methods.engines.gradient.steps import simplex
from wayforward.methods.engines.tighten import polish
from wayforward.methods.settings import (
    check_choices,
    check_least,
    check_positive,
    require_setting,
    slope_source,
)
from wayforward.model import Access
from wayforward.problem.batching import ask, distinct_changes
from wayforward.public import public
from wayforward.shapes import Actions

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem
    from wayforward.streams import Streams

YLoss = Literal["hinge", "squared", "log"]
Diversity = Literal["inverse", "exponential", "average"]
_EVERY = 10  # steps between two looks at the hard rows
_LEVELS = 5  # steps that an estimate of level slopes is good for


@public
@dataclass
class Dice(Method):
    """k options together: least missing score and distance, greatest determinant of their likeness, by Adam.

    Loss of a person's k options c_i: mean of yloss(score) + proximity / (k e) x sum of dist(c_i, x) - diversity x
    det(K), K_ij = 1 / (1 + dist(c_i, c_j)) with 1e-4 added on the diagonal, e coordinates. dist: absolute changes over
    the median absolute deviation of numbers (in ranges; 1 where that is 0) and 1 a level coordinate, so another
    category is 2. With k=1 the diversity is 0. The search is relaxed; every few steps the options are made hard
    (steps, one level each, a limited number of changes) and asked. The set whose hard rows are all accepted and lie
    nearest to the boundary is kept as a backup: the answer is the last set if all of it is accepted, else the backup,
    else what was accepted of either. Then numbers that moved less than is usual in the data (the smaller of the MAD and
    a quantile of the distance from the median) move back as far as the decision allows.

    Slopes are gradients where the model has them, and estimates from neighbouring rows for any other model; see
    `wachter`. Bounds, directions, frozen features, rules and consequences hold.

    proximity, diversity, weight of each part (published: 0.5 and 1). likeness: K as above, 'exponential' exp(-dist), or
    'average' for 1 - the mean of 1 / (1 + dist) instead of a determinant. yloss: 'hinge' max(0, 1 - score), 'squared'
    (1 - probability)^2, 'log'. categories: 'simplex' projects levels, 'penalty' adds penalty x (their sum - 1)^2 as
    published. start: 'near' the person or 'random' within reach. steps: at most; least: before a search may end, when
    its loss changes by less than tolerance and all its hard rows are accepted. rate: of Adam, in ranges. sparse,
    quantile: moving back, as above. Not part of the published method: complete, which goes on by single changes for
    options that did not get there; shrink, which gives back what the decision does not need (None: where k = 1, since
    it brings options closer to each other). device, block: as in `wachter`.
    Default budget: 20,000 model rows a person and option.
    Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.recommend(problem, refused, method="dice", k=4)``.
    Source: R. K. Mothilal, A. Sharma, C. Tan (2020), Explaining Machine Learning Classifiers through Diverse
    Counterfactual Explanations, FAT*; arXiv:1905.07697.
    """

    name: ClassVar[str] = "dice"
    summary: ClassVar[str] = "k options at once, near and different from one another, by a determinantal loss"
    citation: ClassVar[str] = "Mothilal, Sharma & Tan (2020), FAT*, arXiv:1905.07697"
    needs: ClassVar[int] = Access.LABEL
    chunk: ClassVar[int] = 512

    proximity: float = 0.5
    diversity: float = 1.0
    likeness: Diversity = "inverse"
    yloss: YLoss = "hinge"
    categories: Literal["simplex", "penalty"] = "simplex"
    penalty: float = 0.1
    start: Literal["near", "random"] = "near"
    steps: int = 150
    least: int = 60
    tolerance: float = 1e-5
    rate: float = 0.05
    sparse: bool = True
    quantile: float = 0.1
    complete: bool = True
    shrink: bool | None = None
    estimate: bool | None = None
    device: str | None = None
    block: int = 256

    def __post_init__(self) -> None:
        check_choices(
            self,
            likeness=get_args(Diversity),
            yloss=get_args(YLoss),
            categories=("simplex", "penalty"),
            start=("near", "random"),
        )
        check_least(self, steps=1, block=1, least=1)
        check_positive(self, "rate")
        require_setting(self, "quantile", 0 <= self.quantile <= 1, "Use a share between 0 and 1.")

    def _fit(self, problem: Problem) -> None:
        self.slopes_ = slopes(problem, self.name, device=self.device, zeroth=self.estimate, block=self.block)
        span = self.slopes_.span
        mad, usual = np.ones(problem.schema.d), np.zeros(problem.schema.d)
        reference = problem.reference
        if reference is not None:
            for j in np.flatnonzero(~problem.schema.has_levels):
                seen = reference[~np.isnan(reference[:, j]), j]
                if seen.size:
                    apart = np.abs(seen - np.median(seen))
                    mad[j] = np.median(apart) / span[j]
                    usual[j] = min(np.median(apart), np.quantile(apart, self.quantile))
        self.mad_ = np.where(mad > 0, mad, 1.0)  # in ranges; 1 where more than half of the people are equal
        self.usual_ = usual  # feature units

    def parameters(self) -> dict[str, Any]:
        """Return the method's own settings, and, once fitted, where its slopes come from."""
        return {**super().parameters(), **slope_source(self)}

    def _recommend(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        limit = budget.rows_or(20_000)
        cap = people.rows + limit * (k if budget.rows is None else 1)
        search = self._search(people, k, streams, cap)
        action = search.chosen()
        who = np.repeat(np.arange(people.n), k)
        flat = action.reshape(-1, people.d)
        if self.complete:
            self._completed(people, search, flat, cap)
        at = np.flatnonzero(~np.isnan(flat).all(1))
        if at.size and self.sparse:
            flat[at] = self._sparser(people, who[at], flat[at])
        if at.size and (self.shrink or (self.shrink is None and k == 1)):
            flat[at] = polish(people, who[at], flat[at])
        at = np.flatnonzero(~np.isnan(flat).all(1))
        return distinct_changes(people, who[at], flat[at], k)

    def _completed(self, people: Population, search: OptionSets, flat: np.ndarray, cap: np.ndarray) -> None:
        """Complete empty rows of flat (n k, d) in place: change by change from their ends, then from people as is."""
        at = np.flatnonzero(np.isnan(flat).all(1))
        if not at.size:
            return
        ends = search.hard(np.arange(people.n))[0].reshape(-1, people.d)
        nowhere = np.full_like(ends, np.nan)
        for start, thrifty in ((ends, True), (nowhere, True), (nowhere, False)):
            done, reached = complete(
                people, search.who[at], start[at], people.free, rounds=8, cap=cap, thrifty=thrifty
            )
            flat[at[reached]] = done[reached]
            # options beside others of the same person are worth one try only
            served = np.unique(search.who[~np.isnan(flat).all(1)])
            at = at[~reached & ~np.isin(search.who[at], served)]
            if not at.size:
                return

    def _search(self, people: Population, k: int, streams: Streams, cap: np.ndarray) -> OptionSets:
        search = OptionSets(self, people, k, streams)
        search.descend(cap)
        return search

    def _sparser(self, people: Population, who: np.ndarray, action: np.ndarray) -> np.ndarray:
        """Return actions (m, d): what moved no further than is usual goes back as far as the decision allows."""
        action = action.copy()
        schema = people.schema
        order = [
            j for j in np.argsort(-self.usual_, kind="stable") if self.usual_[j] > 0 and schema.ordered[j]
        ]
        for j in order:
            moved = np.abs(action[:, j] - people.x[who, j])
            rows = np.flatnonzero((moved <= self.usual_[j]) & ((~np.isnan(action)).sum(1) > 1))
            if not rows.size:
                continue
            trial = action[rows]
            trial[:, j] = np.nan
            back = people.evaluate(who[rows], trial).reached
            action[rows[back]] = trial[back]
            rows = rows[~back]
            good, bad = action[rows, j].copy(), people.x[who[rows], j].copy()
            for _ in range(6):
                trial = action[rows]
                trial[:, j] = (good + bad) / 2
                trial = people.snap(who[rows], trial)
                new = ~np.isnan(trial[:, j]) & (trial[:, j] != good) & (trial[:, j] != bad)
                if not new.any():
                    break
                yes = np.zeros(rows.size, dtype=bool)
                yes[new] = people.evaluate(who[rows[new]], trial[new]).reached
                good, bad = np.where(yes, trial[:, j], good), np.where(new & ~yes, trial[:, j], bad)
            action[rows, j] = good
        return action


class OptionSets:
    """k relaxed rows of n people as coordinates z (n, k, c): moves, then the shares of one block after another.

    free (n k, d): what each row may change; left out, all that its person may.
    """

    def __init__(
        self, method: Dice, people: Population, k: int, streams: Streams, free: np.ndarray | None = None
    ) -> None:
        self.method, self.people, self.k = method, people, k
        found = self.slopes = method.slopes_
        n = people.n
        self.who = np.repeat(np.arange(n), k)
        free = people.free[self.who] if free is None else free
        state = found.start(people, self.who, free)
        self.free = state.free
        some = people.schema.actionable  # not who happens to be asked together: sizes and draws hang on it
        self.numeric = found.numeric[some[found.numeric]]
        self.place = np.flatnonzero(some[found.level])
        self.begin = np.concatenate([[0], np.cumsum(found.size[self.place])]) + len(self.numeric)
        low, high, may = found.bounds(people, self.who)
        self.floor = self._flat(low, np.zeros_like(state.share))
        self.ceiling = self._flat(high, np.ones_like(state.share))
        self.open = (
            self._flat(state.free.astype(float), (may & state.free[:, found.level, None]).astype(float)) > 0
        )
        self.own = self._flat(state.move, state.share)
        self.weight = np.concatenate(
            [1 / method.mad_[self.numeric], np.ones(int(self.begin[-1]) - len(self.numeric))]
        )
        self.z = self._first(state, streams)
        d = people.d
        self.last = np.full((n, k, d), np.nan)  # each row's latest accepted action
        self.backup = np.full((n, k, d), np.nan)
        self.gap = np.full(n, np.inf)  # how far the backup lies from the boundary
        self.size = np.ones(n)

    def _flat(self, move: np.ndarray, share: np.ndarray) -> np.ndarray:
        parts = [move[:, self.numeric]] + [share[:, f, : self.slopes.size[f]] for f in self.place]
        return np.concatenate(parts, axis=1).reshape(-1, self.k, int(self.begin[-1]))

    def _state(self, at: np.ndarray) -> RelaxedState:
        """Return the relaxed rows of the people at (q,)."""
        rows = (at[:, None] * self.k + np.arange(self.k)).reshape(-1)
        state: RelaxedState = self.slopes.start(self.people, self.who[rows], self.free[rows])
        z = self.z[at].reshape(len(rows), -1)
        state.move[:, self.numeric] = z[:, : len(self.numeric)]
        for b, f in enumerate(self.place):
            state.share[:, f, : self.slopes.size[f]] = z[:, self.begin[b] : self.begin[b + 1]]
        return state

    def states(self) -> RelaxedState:
        """Return all relaxed rows."""
        return self._state(np.arange(self.people.n))

    def _first(self, state: RelaxedState, streams: Streams) -> np.ndarray:
        """Return starts z (n, k, c).

        Near: a hundredth of the range further for each option, levels begun at random; else anywhere within reach.
        """
        n, k, c = self.own.shape
        people = np.arange(n)
        draw = streams.uniform(people, k, c, tag=6100)
        p = len(self.numeric)
        z = self.own.copy()
        floor, ceiling = self.floor[..., :p], self.ceiling[..., :p]
        if self.method.start == "near":
            way = 0.01 * (1 + np.arange(k))[:, None] * np.where(draw[..., :p] < 0.5, -1.0, 1.0)
            z[..., :p] = np.where(self.open[..., :p], np.clip(way, floor, ceiling), 0.0)
            much = np.broadcast_to(0.02 * (1 + np.arange(k))[:, None], (n, k, 1))
        else:
            z[..., :p] = np.where(self.open[..., :p], floor + draw[..., :p] * (ceiling - floor), 0.0)
            much = np.ones((n, k, 1))
        for one, two in zip(self.begin[:-1], self.begin[1:], strict=True):
            part = -np.log(draw[..., one:two]) * self.open[..., one:two]
            total = part.sum(-1, keepdims=True)
            can = total > 0
            mixed = (1 - much) * z[..., one:two] + much * part / np.where(can, total, 1.0)
            z[..., one:two] = np.where(can, mixed, z[..., one:two])
        return z

    def descend(self, cap: np.ndarray) -> None:
        """Run Adam on everybody's sets until they settle, the steps end or the rows run out."""
        method, people, found = self.method, self.people, self.slopes
        n = people.n
        first, second = np.zeros_like(self.z), np.zeros_like(self.z)
        per_step = np.ones(n * self.k) if found.exact else found.rows(self.free)
        per_step = per_step.reshape(n, self.k).sum(1)
        before, calm = np.full(n, np.inf), np.zeros(n, dtype=np.int64)
        share_slope: np.ndarray | None = None
        live = np.arange(n)
        for step in range(1, method.steps + 1):
            fits = people.rows[live] + per_step[live] + self.k <= cap[live]
            if not fits.all() and share_slope is not None:
                share_slope = share_slope[np.repeat(fits, self.k)]
            live = live[fits]
            if not live.size:
                return
            state = self._state(live)
            if found.exact:
                score, move, share = found(people, state, turn=step)
            else:
                fresh = share_slope is None or step % _LEVELS == 1
                score, move, share = found(people, state, turn=step, levels=fresh)
                share_slope = share if fresh else share_slope
                share = share_slope
            slope = self._flat(move, share)
            score = score.reshape(-1, self.k)
            if step == 1 and people.problem.target.interval is not None:
                self.size[live] = np.maximum(np.abs(score).mean(1), 1e-6)
            loss, gradient = self._loss(live, score, slope)
            first[live] = 0.9 * first[live] + 0.1 * gradient
            second[live] = 0.999 * second[live] + 0.001 * gradient**2
            mean, spread = first[live] / (1 - 0.9**step), second[live] / (1 - 0.999**step)
            fall = 0.05 + 0.475 * (1 + float(np.cos(np.pi * step / method.steps)))
            moved = self.z[live] - method.rate * fall * mean / (np.sqrt(spread) + 1e-8)
            self.z[live] = self._inside(live, moved)
            calm[live] = np.where(np.abs(loss - before[live]) <= method.tolerance, calm[live] + 1, 0)
            before[live] = loss
            if step % _EVERY == 0 or step == method.steps:
                valid = self._record_accepted(live)
                keep = ~(valid & (calm[live] >= 2) & (step >= method.least))
                if share_slope is not None and not keep.all():
                    share_slope = share_slope[np.repeat(keep, self.k)]
                live = live[keep]
                if not live.size:
                    return

    def _inside(self, at: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return z (q, k, c) within what the people at (q,) may do."""
        z = np.where(self.open[at], np.clip(z, self.floor[at], self.ceiling[at]), self.own[at])
        if self.method.categories == "simplex":
            for one, two in zip(self.begin[:-1], self.begin[1:], strict=True):
                may = self.open[at][..., one:two]
                several = may.sum(-1, keepdims=True) > 1
                z[..., one:two] = np.where(several, simplex(z[..., one:two], may), self.own[at][..., one:two])
        return z

    def _loss(self, at: np.ndarray, score: np.ndarray, slope: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the loss (q,) and its slopes (q, k, c) for people at (q,), from scores (q, k) and theirs (q, k, c)."""
        method, k = self.method, self.k
        z, size = self.z[at], self.size[at][:, None]
        value, steep = yloss(method.yloss, score / size)
        loss = value.mean(1)
        out = (steep / size / k)[..., None] * slope
        away = z - self.own[at]
        share = method.proximity / (k * max(z.shape[2], 1))
        loss = loss + share * (np.abs(away) * self.weight).sum(2).sum(1)
        out = out + share * np.sign(away) * self.weight
        if k > 1 and method.diversity > 0:
            spread, steep = spread_of(z, self.weight, method.likeness)
            loss = loss - method.diversity * spread
            out = out - method.diversity * steep
        if method.categories == "penalty":
            for one, two in zip(self.begin[:-1], self.begin[1:], strict=True):
                over = z[..., one:two].sum(-1) - 1
                loss = loss + method.penalty * (over**2).sum(1)
                out[..., one:two] += 2 * method.penalty * over[..., None]
        return loss, np.where(self.open[at], out, 0.0)

    # -- hard rows -----------------------------------------------------------------------------------------

    def hard(self, at: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return legal actions (q, k, d), their scores (q, k) and reached (q, k) of the people at (q,)."""
        people = self.people
        state = self._state(at)
        action = few_enough(people, state.who, self.slopes.harden(people, state))
        score, reached = np.full(len(action), -np.inf), np.zeros(len(action), dtype=bool)
        some = np.flatnonzero(~np.isnan(action).all(1))
        score[some], reached[some] = ask(people, state.who[some], action[some])
        shape = (len(at), self.k)
        return action.reshape(*shape, -1), score.reshape(shape), reached.reshape(shape)

    def _record_accepted(self, at: np.ndarray) -> np.ndarray:
        """Record accepted rows and better backups; return (q,) bool: the whole set is accepted."""
        action, score, reached = self.hard(at)
        self.last[at] = np.where(reached[..., None], action, self.last[at])
        valid = np.asarray(reached.all(1))
        chance = 1 / (1 + np.exp(-np.clip(score / self.size[at][:, None], -30, 30)))
        gap = np.where(valid, np.abs(chance - 0.5).mean(1), np.inf)
        better = gap < self.gap[at]
        self.backup[at[better]], self.gap[at[better]] = action[better], gap[better]
        return valid

    def chosen(self) -> np.ndarray:
        """Return options (n, k, d): the last set if all of it is accepted, else the backup, else what was accepted."""
        action, _, reached = self.hard(np.arange(self.people.n))
        whole, spare = np.asarray(reached.all(1))[:, None, None], np.isfinite(self.gap)[:, None, None]
        partly = np.where(reached[..., None], action, self.last)
        return np.where(whole, action, np.where(spare, self.backup, partly))


def yloss(kind: str, score: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the loss of scores and its derivative, both in their shape."""
    if kind == "hinge":
        return np.maximum(1 - score, 0.0), np.where(score < 1, -1.0, 0.0)
    e = np.exp(-np.abs(score))
    p = np.where(score >= 0, 1.0, e) / (1 + e)
    if kind == "squared":
        return (1 - p) ** 2, -2 * (1 - p) * p * (1 - p)
    return np.maximum(-score, 0.0) + np.log1p(e), -(1 - p)


def spread_of(z: np.ndarray, weight: np.ndarray, kind: str = "inverse") -> tuple[np.ndarray, np.ndarray]:
    """Return how different the members of sets z (n, k, c) are (n,), and the slopes of that (n, k, c). weight (c,).

    kind: 'inverse' and 'exponential' are determinants of the likeness 1 / (1 + dist) and exp(-dist); 'average' is 1
    less the mean of 1 / (1 + dist) over pairs.
    """
    k = z.shape[1]
    apart = z[:, :, None] - z[:, None]  # (n, k, k, c)
    dist = (np.abs(apart) * weight).sum(-1)
    if kind == "average":
        like = np.where(np.eye(k, dtype=bool), 0.0, 1 / (1 + dist))
        pairs = max(k * (k - 1), 1)
        value, pull = 1 - like.sum(2).sum(1) / pairs, 2 * like**2 / pairs
    else:
        like = 1 / (1 + dist) if kind == "inverse" else np.exp(-dist)
        kernel = like + 1e-4 * np.eye(k)
        value = np.linalg.det(kernel)
        falls = like**2 if kind == "inverse" else like
        pull = -2 * value[:, None, None] * np.linalg.inv(kernel) * falls
        pull[:, np.arange(k), np.arange(k)] = 0.0
    return value, (pull[..., None] * np.sign(apart) * weight).sum(2)


def few_enough(people: Population, who: np.ndarray, action: np.ndarray) -> np.ndarray:
    """Leave out the smallest changes until the person may do the rest (number of changes, rules)."""
    action = action.copy()
    live = np.flatnonzero((~np.isnan(action)).sum(1) > 1)
    for _ in range(people.d):
        if not live.size:
            break
        after = people.after(who[live], action[live])
        live = live[~people.allowed(who[live], action[live], after)]
        live = live[(~np.isnan(action[live])).sum(1) > 1]
        if not live.size:
            break
        part = np.where(np.isnan(action[live]), np.inf, people.parts(who[live], action[live]))
        action[live, part.argmin(1)] = np.nan
    return action
