"""Without an elicitor: the base method's plans, one after another, until one suits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from wayforward.people.elicitor import Asked, Elicitor, Kind, Talk
from wayforward.shapes import People, Rows

if TYPE_CHECKING:
    from wayforward.methods import Method
    from wayforward.preferences.preferences import Preferences
    from wayforward.problem import Problem


@dataclass
class Offers(Elicitor):
    """Show the base method's plans one by one, the easiest first, and ask of each whether it would do.

    base: the method. budget: how many plans at most.
    """

    name: ClassVar[str] = "offers"
    summary: ClassVar[str] = "Shows the base method's plans one after another."

    base: Any = "local-search"
    budget: int = 5
    method_: Method = field(init=False, repr=False)
    problem_: Problem = field(init=False, repr=False)

    def fit(self, problem: Problem) -> Self:
        """Fit the base method."""
        from wayforward.methods import method

        self.method_ = (method(self.base) if isinstance(self.base, str) else self.base).fit(problem)
        self.problem_ = problem
        return self

    def begin(
        self,
        x: People,
        start: Rows | None = None,
        *,
        preferences: Preferences | None = None,
        seed: int = 0,
    ) -> Talk:
        """See Elicitor.begin; people who are given a start are offered that first."""
        return _OfferTalk(self, x, start, preferences, seed)


class _OfferTalk(Talk):
    def __init__(
        self, by: Offers, x: People, start: Rows | None, preferences: Preferences | None, seed: int
    ) -> None:
        self.by, self.seed = by, seed
        self.people = by.problem_.population(x, preferences)
        self.questions = np.zeros(len(x), dtype=np.int64)
        self.taken = np.zeros(len(x), dtype=bool)
        self._find(start)

    def _find(self, start: Rows | None = None) -> None:
        x, wishes = self.people.x, self.people.preferences
        k = max(1, self.by.budget - int(self.questions.min()))
        got = self.by.method_.recommend(x, k, preferences=wishes, seed=self.seed)
        action = np.where(got.found[:, :, None], got.action, np.nan)
        if start is not None:
            action = np.concatenate([start[:, None, :], action], axis=1)
        self.offer = action  # (n, c, d)
        self.place = np.zeros(len(x), dtype=np.int64)
        self._best = action[:, 0].copy()

    @property
    def _now(self) -> Rows:
        n, c, _ = self.offer.shape
        gone = self.place >= c
        row = self.offer[np.arange(n), np.minimum(self.place, c - 1)]
        return np.where((gone | self.taken | (self.questions >= self.by.budget))[:, None], np.nan, row)

    @property
    def asked(self) -> Asked:
        """The next plan of each person, to be accepted or not."""
        row = self._now
        open_ = ~np.isnan(row).all(1)
        after = np.where(open_[:, None], self.people.after(np.arange(len(row)), row), np.nan)
        return Asked(np.where(open_, int(Kind.ACCEPT), int(Kind.DONE)), row[:, None], after[:, None])

    def answer(self, reply: np.ndarray, wishes: Preferences | None = None) -> None:
        """See Talk.answer; new limits bring new plans."""
        row, open_ = self._now, self.asked.kind == Kind.ACCEPT
        yes = open_ & (reply == 1)
        self._best[yes] = row[yes]
        self.taken |= yes
        self.questions += open_
        self.place += open_ & ~yes
        if wishes is not None:
            self.people = self.by.problem_.population(self.people.x, wishes)
            self._find()

    @property
    def best(self) -> Rows:
        """See Talk.best."""
        return self._best
