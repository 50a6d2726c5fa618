"""gradual-construction: free one feature after another by its slope; set the free ones so that they look accepted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from wayforward.methods.base import Budget, Method
from wayforward.methods.engines.diverse import leaving_out
from wayforward.methods.engines.gradient.relaxed_state import RelaxedState, range_costs
from wayforward.methods.engines.gradient.slopes import slopes
from wayforward.methods.engines.gradient.steps import Loss, run
from wayforward.methods.settings import check_least, check_positive
from wayforward.model import Access
from wayforward.problem.batching import ask
from wayforward.public import public
from wayforward.shapes import Actions, Rows

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem
    from wayforward.streams import Streams

_SURE = 1.0  # the score that is aimed at where there is no table


@public
@dataclass
class GradualConstruction(Method):
    """Mask and composition by turns: free the feature with the steepest score, then move all that are free.

    Mask: of the features that are still as they are, the one whose slope of the score, per range, is largest, and that
    has room in that direction. Composition: descend (score - mean score of accepted people)^2 + l2 x squared effort
    over the free ones, so that the answer looks to the model as theirs does and not only just so; it ends when the hard
    row reaches the decision. The score is the lead of the wanted class in log-odds; the published loss compares all
    logits with their means. Units of an image are levels: the largest share is chosen. For a method that changes pixels
    use ``wf.ImageProblem(..., units="pixels")``.

    most: features freed. l2: weight of the effort. steps, rate: of each composition, in ranges. block, estimates of
    slopes, and models without gradients: as in `wachter`. Default budget: 20,000 model rows a person and option.
    Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.ImageProblem(model, images, favourable=8, units="pixels").recommend(images[:3],
    method="gradual-construction")``.
    Source: H.-G. Jung, S.-H. Kang, H.-D. Kim, D.-O. Won, S.-W. Lee (2022), Counterfactual explanation based on gradual
    construction for deep networks, Pattern Recognition 132; arXiv:2008.01897.
    """

    name: ClassVar[str] = "gradual-construction"
    summary: ClassVar[str] = "frees features by their slopes one by one and sets them to look accepted"
    citation: ClassVar[str] = "Jung, Kang, Kim, Won & Lee (2022), Pattern Recognition 132, arXiv:2008.01897"
    needs: ClassVar[int] = Access.PROBABILITY

    most: int = 30
    l2: float = 0.05
    steps: int = 24
    rate: float = 0.2
    block: int = 256

    def __post_init__(self) -> None:
        check_least(self, most=1, steps=1, block=1)
        check_positive(self, "l2", "rate")

    def _fit(self, problem: Problem) -> None:
        self.slopes_ = slopes(problem, self.name, block=self.block)
        self.price_ = range_costs(problem, self.slopes_.span)
        self.aim_ = _SURE
        if problem.reference is not None and problem.reference_reached.any():
            seen = problem.bound_target.score(problem.model.outputs(problem.reference_accepted))
            self.aim_ = max(float(seen.mean()), 0.0) or _SURE

    def _recommend(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        limit = budget.rows_or(20_000)

        def find(free: Rows, option: int) -> Rows:
            return self._option(people, free, people.rows + limit)

        return leaving_out(people, people.free, k, find)

    def _option(self, people: Population, free: Rows, cap: np.ndarray) -> Rows:
        """Return what turns each decision (n, d), NaN where nothing does. free (n, d): what may change."""
        n, found = people.n, self.slopes_
        best, chosen = np.full((n, people.d), np.nan), np.zeros((n, people.d), dtype=bool)
        live = np.arange(n)
        state = found.start(people, live, free)
        may = state.free
        most = np.minimum(self.most, people.max_changes)
        for turn in range(int(most.max(initial=0))):
            live = live[(turn < most[live]) & (people.rows[live] + self.steps + 2 <= cap[live])]
            worth = self._slopes(people, state.take(live), may[live] & ~chosen[live], turn)
            some = worth.max(1, initial=0) > 0
            live, pick = live[some], worth[some].argmax(1)
            if not live.size:
                break
            chosen[live, pick] = True
            part = state.take(live)
            part.free = chosen[live]
            weight = np.full(live.size, 1.0 / (self.l2 * max(self.aim_, 1e-9) ** 2))
            price = self.price_ * people.weight[live]
            run(
                found,
                people,
                part,
                Loss("squared", self.aim_, "l2", weight, price),
                steps=self.steps,
                rate=self.rate,
            )
            state.put(live, part)
            reached = np.zeros(live.size, dtype=bool)
            for eager in (False, True):  # a share of a level, or of a step, may be too little
                left = np.flatnonzero(~reached)
                action = found.harden(people, part.take(left), eager=eager)
                turned = ask(people, live[left], action)[1]
                best[live[left[turned]]] = action[turned]
                reached[left[turned]] = True
            live = live[~reached]
        return best

    def _slopes(self, people: Population, part: RelaxedState, open_: Rows, turn: int) -> Rows:
        """Return (m, d) how steeply the score rises by each feature that may be freed, nought where it has no room."""
        found, schema = self.slopes_, people.schema
        _, slope, share = found(people, part, turn=turn)
        low, high, may = found.bounds(people, part.who)
        room = np.where(slope > 0, high > part.move, low < part.move)
        worth = np.where(room & ~schema.has_levels, np.abs(slope), 0.0)
        if len(found.level):
            own = (share * part.share).sum(2)
            worth[:, found.level] = np.where(may, share, -np.inf).max(2) - own
        return np.where(open_, np.nan_to_num(worth), 0.0)
