"""focus: gradient descent through a forest whose splits are sigmoids, judged by the forest itself at every step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from scipy.special import expit

from wayforward.methods.base import Budget, Method
from wayforward.methods.engines.diverse import leaving_out
from wayforward.methods.engines.finish import finished
from wayforward.methods.engines.gradient.relaxed_state import range_costs, range_widths
from wayforward.methods.engines.gradient.soft_trees import SoftTrees
from wayforward.methods.engines.gradient.steps import simplex
from wayforward.methods.engines.tree_regions import NearestInBoxes, TreeRegions, forest_of
from wayforward.methods.settings import check_choices, check_least, check_positive, check_switches
from wayforward.model import Access
from wayforward.problem.batching import ask
from wayforward.public import public
from wayforward.shapes import Actions

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem
    from wayforward.streams import Streams


@public
@dataclass
class Focus(Method):
    """Descend the soft forest's chance of a no plus beta x distance with Adam, all people at once; keep what turns it.

    A split passes sigmoid(sigma (t - x)) of a row to the left, with numbers in widths of their range, and the chance
    of a no is sigmoid(-tau x score), where score are the log-odds of the soft forest beyond the decision. The forest
    itself is asked at every step: once it says yes only the distance is descended, and the cheapest step that it
    accepts is kept. Features with levels move on the simplex of their allowed levels; limits and directions hold.

    norm: 'l1' or 'l2' distance, in ranges. rate: of Adam. Not part of the published method: project, which moves what
    was kept to the nearest point of its box of leaves, where the forest's answer is the same; complete, which goes on
    by single changes for whom nothing was kept; shrink, which gives back what the decision does not need. Published:
    sigma=1, tau=1, beta=0.01, rate=0.001, steps=1000, project=False, complete=False, shrink=False.
    A step counts as two model rows: the soft forest's and the forest's own; at most the budget's rows an option.
    Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.recommend(problem, refused, method="focus")``.
    Raises: UnsupportedModel for a model that shows no trees.
    Source: A. Lucic, H. Oosterhuis, H. Haned, M. de Rijke (2022), FOCUS: Flexible Optimizable Counterfactual
    Explanations for Tree Ensembles, AAAI; arXiv:1911.12199.
    """

    name: ClassVar[str] = "focus"
    summary: ClassVar[str] = "descent through a forest with soft splits, judged by the forest itself"
    citation: ClassVar[str] = "Lucic, Oosterhuis, Haned & de Rijke (2022), AAAI, arXiv:1911.12199"
    needs: ClassVar[int] = Access.LABEL

    sigma: float = 30.0
    tau: float = 1.0
    beta: float = 0.1
    rate: float = 0.03
    steps: int = 60
    norm: Literal["l1", "l2"] = "l1"
    project: bool = True
    complete: bool = True
    shrink: bool = True

    def __post_init__(self) -> None:
        check_positive(self, "sigma", "tau", "rate")
        check_least(self, beta=0.0, steps=1)
        check_choices(self, norm=("l1", "l2"))
        check_switches(self, "project", "complete", "shrink")

    def _fit(self, problem: Problem) -> None:
        flat = forest_of(problem, self.name)
        span = range_widths(problem)
        self.slopes_ = SoftTrees(problem, flat, span, self.sigma)
        self.price_ = range_costs(problem, span)
        self.regions_ = TreeRegions(flat, problem.schema)

    def _recommend(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        limit = budget.rows_or(20_000)
        cap = people.rows + limit * k

        def find(free: np.ndarray, option: int) -> np.ndarray:
            return self._descend(people, free, min(self.steps, max(1, limit // 2)))

        found = leaving_out(people, people.free, k, find)
        who, slot = np.nonzero(~np.isnan(found).all(2))
        action = found[who, slot]
        if self.project and len(who):
            boxes = self.regions_.around(self.regions_.leaf_of(people.after(who, action)))
            nearer, _ = NearestInBoxes(people, boxes).action(who, np.arange(len(who)))
            some = np.flatnonzero(~np.isnan(nearer).all(1))
            better = some[ask(people, who[some], nearer[some])[1]]
            who, action = np.concatenate([who, who[better]]), np.concatenate([action, nearer[better]])
        return finished(people, who, action, k, cap=cap, go_on=self.complete, shrink=self.shrink)

    def _descend(self, people: Population, free: np.ndarray, steps: int) -> np.ndarray:
        """Return the cheapest accepted step (n, d) of each person's descent; NaN where there is none."""
        slopes, who = self.slopes_, np.arange(people.n)
        state = slopes.start(people, who, free)
        floor, ceiling, may = slopes.bounds(people, who)
        loose = state.free[:, slopes.level, None] & may
        price = self.price_ * people.weight
        away = slopes.away(state.share > 0.5) * price[:, slopes.level, None]
        moments = [(np.zeros_like(part), np.zeros_like(part)) for part in (state.move, state.share)]
        best, cost = np.full((people.n, people.d), np.nan), np.full(people.n, np.inf)
        size = np.ones(people.n)
        for step in range(1, steps + 1):
            score, slope, slope_share = slopes(people, state, turn=step)
            if step == 1 and people.problem.target.interval is not None:
                size = np.maximum(np.abs(score), 1e-9)
            action = slopes.harden(people, state)
            turned, paid = self._evaluated(people, action)
            better = turned & (paid < cost)
            best[better], cost[better] = action[better], paid[better]
            no = expit(-self.tau * score / size)
            pull = np.where(turned, 0.0, -self.tau * no * (1 - no) / size)
            far = np.sign(state.move) * price if self.norm == "l1" else 2 * state.move * price**2
            falls = (
                pull[:, None] * slope + self.beta * far,
                pull[:, None, None] * slope_share + self.beta * away,
            )
            moves = [self._adam(fall, moment, step) for fall, moment in zip(falls, moments, strict=True)]
            state.move[:] = np.clip(state.move - np.where(state.free, moves[0], 0.0), floor, ceiling)
            if len(slopes.level):
                state.share[:] = np.where(loose, simplex(state.share - moves[1], may), state.share)
        return best

    def _evaluated(self, people: Population, action: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return whether the forest accepts what people would do, and its cost, (n,) each."""
        turned, paid = np.zeros(people.n, dtype=bool), np.full(people.n, np.inf)
        some = np.flatnonzero(~np.isnan(action).all(1))
        turned[some] = ask(people, some, action[some])[1]
        paid[some] = people.cost(some, action[some])
        return turned, paid

    def _adam(self, fall: np.ndarray, moment: tuple[np.ndarray, np.ndarray], step: int) -> np.ndarray:
        """Return Adam's move against a slope; moment: its running means, changed in place."""
        first, second = moment
        first += 0.1 * (fall - first)
        second += 0.001 * (fall**2 - second)
        mean, square = first / (1 - 0.9**step), second / (1 - 0.999**step)
        return np.asarray(self.rate * mean / (np.sqrt(square) + 1e-8))
