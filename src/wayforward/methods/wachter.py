"""wachter: descend a weighted sum of missing score and distance, and raise the weight until the decision turns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

import numpy as np

from wayforward.errors import MethodError
from wayforward.methods.base import Budget, Method
from wayforward.methods.engines.asking import ask, distinct_changes
from wayforward.methods.engines.descent import Descent, Ell, Lanes, Loss
from wayforward.methods.engines.polish import revert, shrink
from wayforward.model import Access
from wayforward.shapes import Actions

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem
    from wayforward.streams import Streams


@dataclass
class Wachter(Method):
    """Descend lam x (missing score)^2 + distance, all people at once, doubling lam until the decision turns.

    Distance is L1 (by proximal steps, so features that are not worth their price stay exactly unmoved) or squared L2 of
    the changes over the problem's scales, or over median absolute deviations as published. Features with levels move on
    the simplex of their allowed levels. Bounds, directions and frozen features hold during the descent; the search is
    relaxed and only hard rows count: values on their steps, one level each, asked at the end of every round. A round
    that succeeds ends the person's search: lam is then the least of its series, the distance the smallest. In a causal
    world gradients run through the consequences. A missing number stays missing.

    immutables: 'project' as above; 'overwrite_after' searches as the published method does, as if everything could
    change, and puts back afterwards what may not, which can lose the decision. Later options leave out the dearest
    change of those before; `restarts` adds random starts to each. shrink: give changes back that the decision does
    not need and move values back as far as it allows (not part of the published method).

    lam: first weight. rounds: doublings. steps: of Adam, a round. rate: step size in widths of a range. aim: score
    (log-odds beyond the boundary) aimed at. loss: 'logit' one-sided square, 'squared', 'hinge', 'probability' (as
    published). device: 'cpu', 'cuda', None for where the model lives. block: lanes a tensor; a larger one suits a GPU.
    A step counts as one model row; default budget 20,000 a person and option.
    Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.recommend(problem, refused, method="wachter", norm="l1")``.
    Raises: UnsupportedModel from `fit` if the model has no gradients.
    Source: S. Wachter, B. Mittelstadt, C. Russell (2018), Counterfactual Explanations without Opening the Black Box,
    Harvard J. Law & Technology 31(2); arXiv:1711.00399.
    """

    name: ClassVar[str] = "wachter"
    summary: ClassVar[str] = (
        "gradient descent on score and distance for everybody at once, in any differentiable world"
    )
    citation: ClassVar[str] = "Wachter, Mittelstadt & Russell (2018), Harvard JOLT 31(2), arXiv:1711.00399"
    needs: ClassVar[int] = Access.GRADIENT

    norm: Literal["l1", "l2"] = "l1"
    scale: Literal["cost", "mad"] = "cost"
    loss: Ell = "logit"
    lam: float = 1.0
    rounds: int = 10
    steps: int = 60
    rate: float = 0.04
    aim: float = 0.05
    restarts: int = 0
    immutables: Literal["project", "overwrite_after"] = "project"
    shrink: bool = True
    device: str | None = None
    block: int = 256

    def __post_init__(self) -> None:
        for field, text, allowed in (
            ("norm", self.norm, ("l1", "l2")),
            ("scale", self.scale, ("cost", "mad")),
            ("loss", self.loss, get_args(Ell)),
            ("immutables", self.immutables, ("project", "overwrite_after")),
        ):
            if text not in allowed:
                raise MethodError(f"'{self.name}' has {field}={text!r}. Choose one of {', '.join(allowed)}.")
        for field, number in (("rounds", self.rounds), ("steps", self.steps), ("block", self.block)):
            if number < 1:
                raise MethodError(f"'{self.name}' has {field}={number}. Use 1 or more.")
        for field, size in (("lam", self.lam), ("rate", self.rate)):
            if not size > 0:
                raise MethodError(f"'{self.name}' has {field}={size}. Use a number above 0.")
        if self.restarts < 0:
            raise MethodError(f"'{self.name}' has restarts={self.restarts}. Use 0 or more.")

    def _fit(self, problem: Problem) -> None:
        from wayforward.problem import LpMix, MadL1

        scales = (
            MadL1().fit(problem.schema, problem._needs_reference())._scales
            if self.scale == "mad"
            else problem.cost._scales
        )
        self.span_ = LpMix().fit(problem.schema, problem.reference)._scales.span
        # Price of moving by one range, or of changing a category, in units of the distance.
        self.price_ = np.where(problem.schema.is_categorical, 1.0, self.span_) / scales.divisor
        self.descent_ = Descent(problem, self.name, device=self.device, span=self.span_, block=self.block)

    def _recommend(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        limit = 20_000 if budget.rows is None else budget.rows
        wide = self._unbound(people) if self.immutables == "overwrite_after" else people
        banned = np.zeros((people.n, people.d), dtype=bool)
        owner, found = [], []
        for option in range(k):
            free = wide.free & ~banned
            stuck = ~free.any(1)
            free[stuck] = wide.free[stuck]
            best = self._option(people, wide, free, streams, option, people.rows + limit)
            at = np.flatnonzero(~np.isnan(best).all(1))
            owner.append(at)
            found.append(best[at])
            main = np.where(np.isnan(best[at]), -np.inf, people.parts(at, best[at])).argmax(1)
            banned[at, main] = True
        return distinct_changes(people, np.concatenate(owner), np.concatenate(found), k)

    def _option(
        self,
        people: Population,
        wide: Population,
        free: np.ndarray,
        streams: Streams,
        option: int,
        cap: np.ndarray,
    ) -> np.ndarray:
        """(n, d) each person's cheapest valid action from all its starts; NaN where none."""
        n, starts = people.n, 1 + self.restarts
        who = np.repeat(np.arange(n), starts)
        lanes = self.descent_.start(wide, who, free[who])
        self._scatter(wide, lanes, streams, np.tile(np.arange(starts), n), option)
        best, cost = np.full((n, people.d), np.nan), np.full(n, np.inf)
        lam = np.full(len(who), self.lam)
        live = np.arange(len(who))
        for _ in range(self.rounds):
            live = live[people.rows[who[live]] + self.steps <= cap[who[live]]]
            if not live.size:
                break
            part = lanes.take(live)
            loss = Loss(self.loss, self.aim, self.norm, lam[live], self.price_ * people.weight[part.who])
            self.descent_.run(wide, part, loss, steps=self.steps, rate=self.rate)
            if wide is not people:
                people.rows, wide.rows = people.rows + wide.rows, np.zeros_like(wide.rows)
            lanes.put(live, part)
            reached = np.zeros(live.size, dtype=bool)
            for eager in (False, True):
                action = self.descent_.harden(wide, part, eager=eager)
                if wide is not people:
                    action = np.where(people.free[part.who], action, np.nan)
                begun = self.descent_.begun(part, action)
                reached |= self._keep(people, part.who, live % starts, action, begun, best, cost)
            lam[live] *= 2
            turned = self._turned(wide, part) if wide is not people else reached
            live = live[~turned]
        return best

    def _keep(
        self,
        people: Population,
        who: np.ndarray,
        start: np.ndarray,
        action: np.ndarray,
        begun: np.ndarray,
        best: np.ndarray,
        cost: np.ndarray,
    ) -> np.ndarray:
        """(m,) bool reached; what reached and is cheaper than a person's best so far takes its place."""
        some = np.flatnonzero(~np.isnan(action).all(1))
        reached = np.zeros(len(who), dtype=bool)
        reached[some] = ask(people, who[some], action[some])[1]
        at = np.flatnonzero(reached)
        if at.size:
            kept, owner = action[at], who[at]
            price = people.cost(owner, kept)
            if self.shrink:
                # Give back the dearest change first, or the one that the descent cared least about.
                for priority in (people.parts(owner, kept), -begun[at]):
                    trial = shrink(people, owner, revert(people, owner, action[at], priority, sweeps=2))
                    paid = people.cost(owner, trial)
                    better = paid < price - 1e-12
                    kept = np.where(better[:, None], trial, kept)
                    price = np.where(better, paid, price)
            for rank in range(1 + self.restarts):  # the starts of one person, in order
                first = np.flatnonzero(start[at] == rank)
                better = first[price[first] < cost[owner[first]] - 1e-12]
                cost[owner[better]], best[owner[better]] = price[better], kept[better]
        return reached

    def _turned(self, wide: Population, lanes: Lanes) -> np.ndarray:
        """For 'overwrite_after': the search ends where the unrestricted row turns the decision."""
        action = self.descent_.harden(wide, lanes)
        after = np.where(np.isnan(action), wide.x[lanes.who], action)
        outputs = wide.problem.model.outputs(after)
        return np.asarray(wide.problem.bound_target.score(outputs) > wide.problem.slack)

    def _scatter(
        self, people: Population, lanes: Lanes, streams: Streams, start: np.ndarray, option: int
    ) -> None:
        """Later starts: a random point within reach, near the person for small draws."""
        for rank in range(1, 1 + self.restarts):
            rows = np.flatnonzero(start == rank)
            who = lanes.who[rows]
            low, high, _ = self.descent_.bounds(people, who)
            draw = streams.uniform(who, people.d, tag=7000 + 100 * option + rank)
            far = streams.uniform(who, 1, tag=8000 + 100 * option + rank)
            move = np.where(draw < 0.5, (1 - 2 * draw) * low, (2 * draw - 1) * high) * far
            lanes.move[rows] = np.where(lanes.free[rows] & ~people.schema.has_levels, move, 0.0)

    def _unbound(self, people: Population) -> Population:
        """The same people in a problem where everything may change, as the published method sees them."""
        from dataclasses import replace

        from wayforward.people import Preferences
        from wayforward.problem import Population, Problem

        old = people.problem
        features = tuple(replace(f, actionability="actionable", direction="any") for f in old.schema.features)
        loose = object.__new__(Problem)
        loose.__dict__.update(old.__dict__)
        loose.schema = replace(old.schema, features=features)
        for cached in ("descendants",):
            loose.__dict__.pop(cached, None)
        wide = Population(loose, people.x, Preferences.none(loose.schema, people.n))
        wide.weight = people.weight
        return wide
