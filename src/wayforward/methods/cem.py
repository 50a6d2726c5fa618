"""cem: the elastic-net nearest row on the other side, found by accelerated proximal steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from wayforward.methods.base import Budget, Method
from wayforward.methods.engines.gradient import elastic
from wayforward.methods.engines.gradient.fista import Goal, May
from wayforward.methods.engines.gradient.relaxed_state import RelaxedState, range_costs, range_widths
from wayforward.methods.engines.gradient.slopes import slopes
from wayforward.methods.settings import check_choices, check_least, check_positive, slope_source
from wayforward.model import Access
from wayforward.shapes import Actions, Rows

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem
    from wayforward.streams import Streams


@dataclass
class Cem(Method):
    """Contrastive explanations: a small sparse change (elastic net) that the model answers otherwise, by FISTA.

    Minimises c max(0, margin - score) + beta L1 + L2^2 (+ gamma times the squared distance to what an autoencoder makes
    of the row) for everybody at once; c is searched for each person. Efforts are the problem's cost of each feature's
    change times the person's weight; levels move on the simplex of those allowed. Bounds, directions and frozen
    features hold at every step, and only hard rows count. For models without gradients slopes are estimated by asking
    about neighbouring rows; `parameters()` says which. `macem` always does so, with categories as published there.

    only: 'any' change (recourse, the default), or the published rule of pertinent negatives, which only 'add'
    information: a changed number moves away from its base value (the median of the reference), a level away from the
    commonest. `pertinent_positives` answers the other question: what of a person suffices for the decision.

    beta: of L1. margin: log-odds beyond the boundary. c, constants: the first constant and how many are tried. steps,
    rate: of FISTA for each. gamma: above 0 trains an autoencoder on the reference (extra ``torch``); its own slope is
    left out. Not part of the published method: complete (where the search ends without success it goes on by single
    changes), shrink (needless changes are given back).
    Default budget: 20,000 model rows a person and option.
    Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.recommend(problem, refused, method="cem", beta=0.5)``.
    Source: A. Dhurandhar, P.-Y. Chen, R. Luss, C.-C. Tu, P. Ting, K. Shanmugam, P. Das (2018), Explanations Based on
    the Missing: Towards Contrastive Explanations with Pertinent Negatives, NeurIPS, arXiv:1802.07623; without
    gradients: A. Dhurandhar, T. Pedapati, A. Balakrishnan, P.-Y. Chen, K. Shanmugam, R. Puri (2019), arXiv:1906.00117.
    """

    name: ClassVar[str] = "cem"
    summary: ClassVar[str] = "a small sparse change by accelerated proximal steps on an elastic net"
    citation: ClassVar[str] = (
        "Dhurandhar, Chen, Luss, Tu, Ting, Shanmugam & Das (2018), NeurIPS, arXiv:1802.07623"
    )
    needs: ClassVar[int] = Access.LABEL

    beta: float = 0.5
    margin: float = 0.1
    c: float = 1.0
    constants: int = 6
    steps: int = 48
    rate: float = 0.1
    gamma: float = 0.0
    only: Literal["any", "add"] = "any"
    estimate: bool | None = None
    complete: bool = True
    shrink: bool = True

    def __post_init__(self) -> None:
        check_positive(self, "c", "rate")
        check_least(self, constants=1, steps=1, beta=0, margin=0, gamma=0)
        check_choices(self, only=("any", "add"))

    def _fit(self, problem: Problem) -> None:
        self.slopes_ = self._slopes(problem)
        self.price_ = range_costs(problem, range_widths(problem))
        self.generator_ = None
        if self.gamma > 0:
            from wayforward.problem.learned import fit_generator

            self.generator_ = fit_generator("cvae", problem)
        if self.only == "add":
            self.base_ = base_values(problem)

    def _slopes(self, problem: Problem) -> Any:
        return slopes(problem, self.name, zeroth=self.estimate)

    def parameters(self) -> dict[str, Any]:
        """Return the method's own settings, and, once fitted, where its slopes come from."""
        return {**super().parameters(), **slope_source(self)}

    def _recommend(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        def goals(state: RelaxedState) -> tuple[Goal, ...]:
            if self.generator_ is None:
                return ()
            return (elastic.reconstruction(self, self.generator_, people, state, self.gamma),)

        limit = budget.rows_or(20_000)
        may = None if self.only == "any" else self._adds(people)
        return elastic.options(self, people, k, limit, goals, may)

    def _adds(self, people: Population) -> May:
        """Return a test of actions: does every change move away from the base value?"""

        def adds(who: np.ndarray, action: Rows) -> np.ndarray:
            x, base = people.x[who], self.base_
            further = np.abs(action - base) > np.abs(x - base)
            number = ~people.schema.is_categorical
            good = np.where(number, further, action != base) | np.isnan(action) | np.isnan(x)
            return np.asarray(good.all(1))

        return adds

    def pertinent_positives(self, x: Any) -> np.ndarray:
        """Return (n, d) bool: features whose present values suffice for the decision, the others at their base values.

        The decision is the one each person got. Base values: medians and commonest levels of the reference. Needless
        features are given up one after another, the one that the decision hangs on least first, all people at once, so
        what is left is minimal: without any one of them the decision is lost. All False: the base profile already gets
        it. Source: the paper's pertinent positives, searched over whole features instead of by gradients.
        """
        problem = self.problem_
        rows = problem.schema.encode(x)
        base = np.broadcast_to(base_values(problem), rows.shape)
        yes = problem.reached(rows)[0]
        differing = problem.schema.differs(rows, base)
        n, d = rows.shape
        live = np.arange(n)
        while live.size:
            trial = np.where(differing[live], rows[live], base[live])[:, None, :].repeat(d, 1)
            at = np.arange(d)
            trial[:, at, at] = base[live]
            reached, value = problem.reached(trial.reshape(-1, d))
            side = np.where(yes[live], 1.0, -1.0)[:, None]
            same = (reached.reshape(-1, d) == yes[live, None]) & differing[live]
            strength = np.where(same, side * value.reshape(-1, d), -np.inf)
            pick = strength.argmax(1)
            gone = same.any(1)
            differing[live[gone], pick[gone]] = False
            live = live[gone]
        return differing


def base_values(problem: Problem) -> np.ndarray:
    """Return values (d,) that say nothing of a person: medians of numbers, commonest levels."""
    rows, schema = problem.require_reference(), problem.schema
    out = np.full(schema.d, np.nan)
    for j in range(schema.d):
        known = rows[~np.isnan(rows[:, j]), j]
        if known.size:
            value, count = np.unique(known, return_counts=True)
            out[j] = value[count.argmax()] if schema.has_levels[j] else np.median(known)
    return np.asarray(schema.snap(out[None])[0])
