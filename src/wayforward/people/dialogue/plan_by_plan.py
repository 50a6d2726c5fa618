"""Without an elicitor: the base method's plans, one after another, until one suits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from wayforward.methods.settings import check_whole
from wayforward.people.elicitor import Elicitor, Kind, Questions, Session, checked_replies, fitted_base
from wayforward.shapes import People, Rows

if TYPE_CHECKING:
    from wayforward.methods import Method
    from wayforward.preferences.preferences import Preferences
    from wayforward.problem import Population, Problem


@dataclass
class PlanByPlan(Elicitor):
    """Show the base method's plans one by one, the easiest first, and ask of each whether it would do.

    base: the method. budget: how many plans at most.
    """

    name: ClassVar[str] = "offers"
    summary: ClassVar[str] = "shows the base method's plans one after another"

    base: str | Method = "local-search"
    budget: int = 5

    def __post_init__(self) -> None:
        check_whole(self, budget=1)

    def fit(self, problem: Problem) -> Self:
        """Fit the base method."""
        self._take(problem)
        self.base_ = fitted_base(self.base, None, problem)
        return self

    def begin(
        self,
        x: People,
        start: Rows | None = None,
        *,
        preferences: Preferences | None = None,
        seed: int = 0,
    ) -> Session:
        """See `Elicitor.begin`; people who are given a start are offered that first."""
        people = self._fitted_problem().population(x, preferences)
        return _PlanByPlanSession(self, people, start, seed)


class _PlanByPlanSession(Session):
    def __init__(self, elicitor: PlanByPlan, people: Population, start: Rows | None, seed: int) -> None:
        self.elicitor, self.seed = elicitor, seed
        self.people = people
        self.questions = np.zeros(people.n, dtype=np.int64)
        self.accepted = np.zeros(people.n, dtype=bool)
        self._find_plans(start)

    def _find_plans(self, start: Rows | None = None) -> None:
        """Find as many plans as each person can still be asked about."""
        people, base, d = self.people, self.elicitor.base_, self.people.d
        left = np.maximum(self.elicitor.budget - self.questions, 1)
        action = np.full((people.n, int(left.max(initial=1)), d), np.nan)
        for k in np.unique(left).tolist():
            who = np.flatnonzero(left == k)
            own = people.preferences.take(who)
            found = base.recommend(people.x[who], k, preferences=own, seed=self.seed)
            action[who, :k] = np.where(found.found[:, :, None], found.action, np.nan)
        if start is not None:
            action = np.concatenate([start[:, None, :], action], axis=1)
        self.plans = action  # (n, c, d)
        self.place = np.zeros(people.n, dtype=np.int64)
        self._best = action[:, 0].copy()

    @property
    def _current(self) -> Rows:
        """(n, d) the plan that each person is asked about; NaN for none."""
        n, c, _ = self.plans.shape
        over = (self.place >= c) | self.accepted | (self.questions >= self.elicitor.budget)
        row = self.plans[np.arange(n), np.minimum(self.place, c - 1)]
        return np.where(over[:, None], np.nan, row)

    @property
    def pending(self) -> Questions:
        """The next plan of each person, to be accepted or not."""
        row = self._current
        open_ = ~np.isnan(row).all(1)
        after = np.where(open_[:, None], self.people.after(np.arange(len(row)), row), np.nan)
        return Questions(np.where(open_, int(Kind.ACCEPT), int(Kind.DONE)), row[:, None], after[:, None])

    def answer(self, reply: np.ndarray, wishes: Preferences | None = None) -> None:
        """See `Session.answer`; new limits bring new plans."""
        questions = self.pending
        row, open_ = self._current, questions.kind == Kind.ACCEPT
        yes = open_ & (checked_replies(questions, reply) == 1)
        self._best[yes] = row[yes]
        self.accepted |= yes
        self.questions += open_
        self.place += open_ & ~yes
        if wishes is not None:
            self.people = self.elicitor.problem_.population(self.people.x, wishes)
            self._find_plans()

    @property
    def best(self) -> Rows:
        """See `Session.best`."""
        return self._best
