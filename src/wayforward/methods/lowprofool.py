"""lowprofool: descend the missing decision and a weighted distance, so that what matters most moves least."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from wayforward.errors import MethodError, is_number, shown
from wayforward.methods.base import Budget, Method
from wayforward.methods.engines.complete import complete
from wayforward.methods.engines.diverse import leaving_out
from wayforward.methods.engines.gradient.relaxed_state import RelaxedState
from wayforward.methods.engines.gradient.slopes import slopes
from wayforward.methods.engines.gradient.steps import simplex
from wayforward.methods.engines.tighten import polish
from wayforward.methods.settings import check_choices, check_least, check_positive, slope_source
from wayforward.model import Access
from wayforward.problem.batching import ask
from wayforward.public import public
from wayforward.shapes import Actions

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem
    from wayforward.streams import Streams

_EVERY = 4  # steps between two looks at the hard rows
_LEVELS = 4  # steps that an estimate of level slopes is good for
_LEAST = 0.02  # share of the greatest importance that every feature has, so that no move is free


@public
@dataclass
class LowProFool(Method):
    """Gradient descent on log-loss + lam x the weighted length of the change; the shortest accepted row on the way.

    The change r is measured in widths of each feature's range and, for levels, in shares; v are importances of unit
    length. Loss: -log sigmoid(score) + lam x |v * r|_2 from r = 0.0001; the path is looked at every few steps, and the
    accepted hard row with the least |v * r|_1 is kept (`best`: 'l1' as published, or 'l2'). Plain gradient descent, no
    momentum; its steps are taken in v * r, where one length suits all features, and grow while the loss falls and halve
    when it rises, so that it converges in tens of steps. A person for whom nothing is accepted descends again with
    half the lam, `rounds` times: the published search over lam, for each person.

    importance: 'correlation' takes the absolute correlation of each feature with the model's decision on the reference
    people (for levels the correlation ratio; without a reference all are alike); 'personal' the person's own weights
    alone, so that what is hard for them moves least; a mapping of names to numbers is an expert's. The first and the
    last are multiplied by the person's own weights. No feature has less than a fiftieth of the greatest importance.
    Bounds, directions, frozen features, rules and consequences hold. Later options leave out the dearest change of
    those before.

    Slopes are gradients where the model has them, and estimates from neighbouring rows for any other model; see
    `wachter`. Not part of the published method: complete, which goes on by single changes for those whom no descent
    helped; shrink, which gives back what the decision does not need. lam: published 8.5. steps: a round. rate: the
    first step. device, block: as in `wachter`. Default budget: 20,000 model rows a person and option.
    Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.recommend(problem, refused, method="lowprofool", importance="personal", preferences=wishes)``.
    Raises: MethodError from `fit` for an importance of something that is no feature, or below 0.
    Source: V. Ballet, X. Renard, J. Aigrain, T. Laugel, P. Frossard, M. Detyniecki (2019), Imperceptible Adversarial
    Attacks on Tabular Data; arXiv:1911.03274.
    """

    name: ClassVar[str] = "lowprofool"
    summary: ClassVar[str] = "gradient descent on a weighted distance: important or hard features move least"
    citation: ClassVar[str] = (
        "Ballet, Renard, Aigrain, Laugel, Frossard & Detyniecki (2019), arXiv:1911.03274"
    )
    needs: ClassVar[int] = Access.LABEL

    importance: str | Mapping[str, float] = "correlation"
    lam: float = 8.5
    rounds: int = 6
    steps: int = 40
    rate: float = 0.02
    best: Literal["l1", "l2"] = "l1"
    complete: bool = True
    shrink: bool = True
    estimate: bool | None = None
    device: str | None = None
    block: int = 256

    def __post_init__(self) -> None:
        if isinstance(self.importance, str) and self.importance not in ("correlation", "personal"):
            raise MethodError(
                f"'{self.name}' has importance={self.importance!r}. Choose correlation, personal, or give a mapping of "
                "feature names to numbers."
            )
        check_choices(self, best=("l1", "l2"))
        check_least(self, rounds=1, steps=1, block=1)
        check_positive(self, "lam", "rate")

    def _fit(self, problem: Problem) -> None:
        self.slopes_ = slopes(problem, self.name, device=self.device, zeroth=self.estimate, block=self.block)
        schema = problem.schema
        v = np.ones(schema.d)
        if isinstance(self.importance, Mapping):
            for name, value in self.importance.items():
                if name not in schema.names:
                    raise MethodError(
                        f"'{self.name}' has an importance for '{name}', which is no feature. The features are: "
                        f"{', '.join(schema.names[:12])}."
                    )
                if not (is_number(value) and value >= 0):
                    raise MethodError(
                        f"'{self.name}' has importance {shown(value)} for '{name}'. Use a number of 0 or more."
                    )
                v[schema.index(name)] = value
        elif self.importance == "correlation" and problem.reference is not None:
            v = correlations(problem)
        self.importance_ = np.maximum(v, _LEAST * max(float(v.max()), 1e-12))

    def parameters(self) -> dict[str, Any]:
        """Return the method's own settings, and, once fitted, where its slopes come from."""
        where = slope_source(self)
        if isinstance(self.importance, Mapping):
            where["importance"] = ", ".join(f"{name}={value:g}" for name, value in self.importance.items())
        return {**super().parameters(), **where}

    def importances(self, people: Population) -> np.ndarray:
        """Return the importance (n, d) of each feature for each person, of unit length over what they may change."""
        v = self.importance_ * people.weight
        v = np.maximum(v, _LEAST * v.max(1, keepdims=True))
        length = np.sqrt(np.where(people.free, v**2, 0.0).sum(1, keepdims=True))
        return np.asarray(v / np.where(length > 0, length, 1.0))

    def _recommend(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        limit = budget.rows_or(20_000)
        v = self.importances(people)

        def find(free: np.ndarray, option: int) -> np.ndarray:
            return self._option(people, v, free, people.rows + limit)

        return leaving_out(people, people.free, k, find)

    def _option(self, people: Population, v: np.ndarray, free: np.ndarray, cap: np.ndarray) -> np.ndarray:
        """Return the accepted row (n, d) with the least weighted norm on each person's path; NaN where none."""
        n = people.n
        best, norm = np.full((n, people.d), np.nan), np.full(n, np.inf)
        lam = np.full(n, self.lam)
        left = np.arange(n)
        ends = np.full((n, people.d), np.nan)
        for _ in range(self.rounds):
            state = self.slopes_.start(people, left, free[left])
            path = WeightedDescent(self, people, state, v[left], lam[left], cap)
            path.descend(best, norm)
            ends[left] = path.hard()
            lam[left] /= 2
            left = left[~np.isfinite(norm[left]) & (people.rows[left] + self.steps <= cap[left])]
            if not left.size:
                break
        left = np.flatnonzero(~np.isfinite(norm))
        if self.complete and left.size:
            done, reached = complete(people, left, ends[left], free, rounds=12, cap=cap, thrifty=True)
            best[left[reached]] = done[reached]
        at = np.flatnonzero(~np.isnan(best).all(1))
        if self.shrink and at.size:
            best[at] = polish(people, at, best[at])
        return best


class WeightedDescent:
    """One descent of some relaxed rows: v (m, d) importances, lam (m,), cap (n,) model rows."""

    def __init__(
        self,
        method: LowProFool,
        people: Population,
        state: RelaxedState,
        v: np.ndarray,
        lam: np.ndarray,
        cap: np.ndarray,
    ) -> None:
        self.method, self.people, self.slopes = method, people, method.slopes_
        self.state, self.v, self.lam, self.cap = state, v, lam, cap
        self.level = self.slopes.level
        low, high, may = self.slopes.bounds(people, state.who)
        number = state.free & ~people.schema.has_levels
        self.low, self.high = np.where(number, low, 0.0), np.where(number, high, 0.0)
        self.own = state.share.copy()
        self.may = may & state.free[:, self.level, None]
        self.several = self.may.sum(2, keepdims=True) > 1
        state.move[:] = np.clip(1e-4, self.low, self.high)
        size = np.ones(len(state.who))
        if people.problem.target.interval is not None:
            size = np.maximum(np.abs(people.score(state.who, people.x[state.who])), 1e-6)
        self.size = size  # a prediction has any unit: measure in what was missing at the start

    def hard(self) -> np.ndarray:
        """Return legal actions (m, d) where the descent is."""
        return np.asarray(self.slopes.harden(self.people, self.state))

    def length(self, state: RelaxedState, rows: np.ndarray) -> np.ndarray:
        """Return |v * r|_2 (q,) of a state that is the rows (q,) of this descent."""
        square = (state.move * self.v[rows]) ** 2
        blocks = (((state.share - self.own[rows]) ** 2).sum(2)) * self.v[rows][:, self.level] ** 2
        return np.asarray(np.sqrt(square.sum(1) + blocks.sum(1)))

    def descend(self, best: np.ndarray, norm: np.ndarray) -> None:
        """Step down the loss; best (n, d) and norm (n,) take the shortest accepted rows, in place."""
        method, people, found = self.method, self.people, self.slopes
        m = len(self.state.who)
        rate = np.full(m, method.rate)
        per_step = np.ones(m, dtype=np.int64) if found.exact else found.rows(self.state.free)
        live = np.arange(m)
        last = np.full(m, np.inf)
        best_state = RelaxedState(
            *(np.copy(a) for a in (self.state.who, self.state.move, self.state.share, self.state.free))
        )
        slope, slope_share = np.zeros_like(self.state.move), np.zeros_like(self.state.share)
        level_slope = np.zeros_like(self.state.share)  # of the score, as estimated last
        for step in range(1, method.steps + 1):
            who = self.state.who[live]
            live = live[people.rows[who] + per_step[live] + 1 <= self.cap[who]]
            if not live.size:
                return
            part = self.state.take(live)
            if found.exact:
                score, move, share = found(people, part, turn=step)
            else:
                fresh = step % _LEVELS == 1
                score, move, share = found(people, part, turn=step, levels=fresh)
                share = share if fresh else level_slope[live]
            loss = self._loss(live, part, score)
            worse = loss > last[live] + 1e-12
            if not found.exact:
                worse[:] = False  # estimates tremble: a rise says nothing
            rate[live] *= np.where(worse, 0.5, 1.2 if found.exact else 1.0)
            pull = self._slopes(live, part, score, move, share)
            if not found.exact:
                level_slope[live] = share
            fine = np.flatnonzero(~worse)
            good = live[fine]
            best_state.put(good, part.take(fine))
            last[good], slope[good], slope_share[good] = loss[fine], pull[0][fine], pull[1][fine]
            self._step(live, best_state, slope[live], slope_share[live], rate[live])
            if step % _EVERY == 0 or step == method.steps:
                self._record_accepted(live, best, norm)

    def _loss(self, rows: np.ndarray, part: RelaxedState, score: np.ndarray) -> np.ndarray:
        """Return the loss (q,) of rows (q,) of this descent."""
        s = score / self.size[rows]
        log = np.maximum(-s, 0.0) + np.log1p(np.exp(-np.abs(s)))
        return np.asarray(log + self.lam[rows] * self.length(part, rows))

    def _slopes(
        self, rows: np.ndarray, part: RelaxedState, score: np.ndarray, move: np.ndarray, share: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the slopes of the loss by r, from those of the score."""
        s = score / self.size[rows]
        e = np.exp(-np.abs(s))
        pull = -np.where(s >= 0, e, 1.0) / (1 + e) / self.size[rows]  # of the log-loss by the score
        v = self.v[rows]
        stretch = (self.lam[rows] / np.maximum(self.length(part, rows), 1e-12))[:, None]
        blocks = (stretch * v[:, self.level] ** 2)[..., None]
        return (
            pull[:, None] * move + stretch * v**2 * part.move,
            pull[:, None, None] * share + blocks * (part.share - self.own[rows]),
        )

    def _step(
        self,
        rows: np.ndarray,
        best_state: RelaxedState,
        move: np.ndarray,
        share: np.ndarray,
        rate: np.ndarray,
    ) -> None:
        """Take one step from the best state, in v * r: the slope by v * r is that by r over v, and so is the way."""
        v = self.v[rows]
        open_ = self.high[rows] > self.low[rows]
        way = np.where(open_, move / v**2, 0.0)
        blocks = np.where(self.may[rows], share / v[:, self.level, None] ** 2, 0.0)
        # No step is longer than `rate` in v * r at first; later it may grow.
        length = np.sqrt(((way * v) ** 2).sum(1) + ((blocks * v[:, self.level, None]) ** 2).sum(2).sum(1))
        by = (rate / np.maximum(length, 1.0))[:, None]
        self.state.move[rows] = np.clip(best_state.move[rows] - by * way, self.low[rows], self.high[rows])
        if len(self.level):
            point = simplex(best_state.share[rows] - by[..., None] * blocks, self.may[rows])
            self.state.share[rows] = np.where(self.several[rows], point, self.own[rows])

    def _record_accepted(self, rows: np.ndarray, best: np.ndarray, norm: np.ndarray) -> None:
        """Ask about hard rows and record the shortest accepted ones."""
        people, schema = self.people, self.people.schema
        part = self.state.take(rows)
        for eager in (False, True):
            action = self.slopes.harden(people, part, eager=eager)
            some = np.flatnonzero(~np.isnan(action).all(1))
            if not some.size:
                continue
            who = part.who[some]
            reached = ask(people, who, action[some])[1]
            far = np.abs(
                np.where(schema.is_categorical, 1.0, (action[some] - people.x[who]) / self.slopes.span)
            )
            far = np.where(np.isnan(action[some]), 0.0, np.nan_to_num(far, nan=1.0)) * self.v[rows[some]]
            size = far.sum(1) if self.method.best == "l1" else np.sqrt((far**2).sum(1))
            better = reached & (size < norm[who] - 1e-12)
            norm[who[better]], best[who[better]] = size[better], action[some[better]]


def correlations(problem: Problem) -> np.ndarray:
    """Return the absolute correlation (d,) of each feature with the decision on the reference; levels: their ratio."""
    reference = problem.require_reference()
    yes = problem.reference_reached.astype(np.float64)
    out = np.zeros(problem.schema.d)
    for j in range(problem.schema.d):
        known = ~np.isnan(reference[:, j])
        value, label = reference[known, j], yes[known]
        if len(value) < 2 or label.std() == 0:
            continue
        if problem.schema.has_levels[j]:
            at = value.astype(np.int64)
            count = np.bincount(at)
            mean = np.bincount(at, weights=label) / np.maximum(count, 1)
            out[j] = np.sqrt((count * (mean - label.mean()) ** 2).sum() / len(label)) / label.std()
        elif value.std() > 0:
            out[j] = abs(float(np.corrcoef(value, label)[0, 1]))
    return out if out.any() else np.ones_like(out)
