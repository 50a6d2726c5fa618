"""The course of one conversation: which question comes next, and how it ends. It remembers no files and no log.

Given the problem, the person, the setup and the replies, everything that it asks is determined; so a log of the
replies is a whole state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Self

import numpy as np

from wayforward.answers import why
from wayforward.language import use_language
from wayforward.people.dialogue.dead_ends import Relaxation, find_relaxations, limits_broken
from wayforward.people.dialogue.questionnaire import QuestionnaireItem
from wayforward.people.dialogue.questionnaire import items as questionnaire_items
from wayforward.people.dialogue.seen_plans import SeenPlans
from wayforward.people.dialogue.setup import PLANS, DialogueSetup, Note, PendingQuestion
from wayforward.people.dialogue.shown_plans import PlanRounder, ShownPlan
from wayforward.people.dialogue.wishes import Wish, preferences_of
from wayforward.people.elicitor import CANNOT_SAY, Kind, Session
from wayforward.preferences.preferences import Preferences
from wayforward.problem import minimal_actions
from wayforward.recourse import Outcome

if TYPE_CHECKING:
    from wayforward.problem import Population

_SILENT = 1000  # questions that answer themselves, before a session is taken to go in circles
MOST_LIMITS = 5  # screens about limits
_RECALLED = 5  # plans seen before that are shown again at the end
LIMITS = ("can", "low", "high", "levels")


class Course:
    """What is asked next. pending: the question on the table, or None at the end; ended: how."""

    def __init__(self, setup: DialogueSetup) -> None:
        self._set(setup)
        self._open()

    @classmethod
    def blank(cls, setup: DialogueSetup) -> Self:
        """A conversation in which nothing has happened; `snapshot.given_back` fills it."""
        out = cls.__new__(cls)
        out._set(setup)
        return out

    def _set(self, setup: DialogueSetup) -> None:
        self.setup, self.problem, self.x = setup, setup.problem, setup.x
        self.schema = self.problem.schema
        self.wishes: list[Wish] = list(setup.wishes)
        self.spent = setup.spent
        self.seen = SeenPlans(setup.declined, setup.edges)
        self.session: Session | None = None
        self.number = 0  # sessions begun
        self.lost = False  # the session has to be brought back by giving the replies again
        self.best: ShownPlan | None = None
        self.first: np.ndarray | None = None  # (1, d) where sessions begin
        self.outcome: Outcome | None = None
        self.ended: str | None = None
        self.reason = ""
        self.relaxations: list[Relaxation] = []
        self.pending: PendingQuestion | None = None
        self.limit_screens = 0
        self.queue: list[QuestionnaireItem] = []
        self.asking_wishes: list[Wish] | None = None  # those known when the questionnaire began
        self.notes: list[Note] = []  # to be said before the next question

    # -- what is known -------------------------------------------------------------------------------------

    @property
    def preferences(self) -> Preferences:
        """The wishes so far, n = 1."""
        return preferences_of(self.schema, self.wishes)

    @property
    def on_table(self) -> PendingQuestion:
        """The question on the table. Call only where there is one."""
        assert self.pending is not None
        return self.pending

    @property
    def limits_requested(self) -> bool:
        """True once the questionnaire has begun."""
        return self.asking_wishes is not None

    @property
    def budget(self) -> int:
        """Questions about plans at most."""
        return int(getattr(self.setup.elicitor, "budget", 30))

    @property
    def left(self) -> int:
        """Questions at most from here, the one on the table included."""
        if self.pending is None:
            return 0
        if self.pending.what in PLANS:
            if self.pending.what in ("final", "recall"):
                return 1
            return max(1, self.budget - self.spent) + 1
        if self.pending.what == "reconsider":
            return 1 + max(1, self.budget - self.spent) + 1
        extra = 0 if "yes-no" in self.setup.parts else 1
        limits = sum(item.what in LIMITS for item in self.queue)
        room = max(0, MOST_LIMITS - self.limit_screens)
        return len(self.queue) - limits + min(limits + extra, room) + 1 + max(0, self.budget - self.spent) + 2

    # -- the course ----------------------------------------------------------------------------------------

    def _open(self) -> None:
        yes, value = self.problem.reached(self.x)
        self.rounder = PlanRounder(self.problem, self.x, float(value[0]), self.setup.walker)
        if yes[0]:
            self._end("already")
            return
        if self.setup.start is None and self._cheapest() is None:
            self._stuck()
        else:
            self._ask_limits()

    def _ask_limits(self) -> None:
        everything = (
            self._now_asking()
        )  # what may be done before the questionnaire: the questions are about this
        self.queue = questionnaire_items(self.setup.parts, everything, self._useful(everything))
        self._next_limit()

    def _now_asking(self) -> Population:
        self.asking_wishes = list(self.wishes)
        self.asking = self.problem.population(self.x, self.preferences)
        return self.asking

    def _useful(self, people: Population) -> np.ndarray:
        """(d,) bool: the features that are asked about: all, or those that most of the cheapest plans use."""
        may = np.asarray(people.may[0])
        if may.sum() <= MOST_LIMITS:
            return may
        got = self.setup.base.recommend(
            self.x, MOST_LIMITS, preferences=self.preferences, seed=self.setup.seed
        )
        share = (~np.isnan(got.action[0, got.found[0]])).mean(0) if got.found[0].any() else np.zeros(len(may))
        order = np.argsort(np.where(may, -share, 1.0), kind="stable")
        return np.asarray(np.isin(np.arange(len(may)), order[:MOST_LIMITS]) & may)

    def _next_limit(self) -> None:
        frozen = self.preferences.frozen[0]
        while self.queue:
            item = self.queue.pop(0)
            if item.feature >= 0 and frozen[item.feature]:
                continue
            if item.what == "rank" and (self.asking.may[0] & ~frozen).sum() < 2:
                continue
            if item.what == "rank":
                self._now_asking()
            if item.what in LIMITS:
                if self.limit_screens >= MOST_LIMITS:
                    continue
                self.limit_screens += 1
                if item.what == "can" and self.limit_screens == MOST_LIMITS:
                    item = replace(item, with_limits=False)  # there is no screen left to say how far
            self._put(PendingQuestion(item.what, item))
            return
        self._plan()

    def _plan(self) -> None:
        """A first plan under the wishes; with a start that still holds, that."""
        self.session = None
        start = self.setup.start
        if (
            start is not None and self.setup.walker is None
        ):  # seen under an earlier model, where more may have been needed
            people = self.problem.population(self.x, self.preferences)
            start = minimal_actions(people, start[None, None])[0, 0]
        plan = None if start is None else self.rounder.as_they_are(start[None], self.wishes)[0]
        if plan is None:
            self.first = self._cheapest()
            if self.first is None:
                self._stuck()
                return
            plan = self.rounder.shown(self.first, self.wishes)[0]
        else:
            assert start is not None
            self.first = start[None]
        assert plan is not None
        self.best = plan
        if self.spent >= self.budget:
            self._finish()
        elif not (self._worth_showing(plan) and self.setup.elicitor.alone_first):
            self._begin_session()
        else:
            self._put(PendingQuestion("first", plans=[plan], places=[0]))

    def _begin_session(self) -> None:
        self.number += 1
        self.session = self.setup.elicitor.begin(
            self.x, self.first, preferences=self.preferences, seed=self.setup.seed
        )
        self._next()

    def _next(self) -> None:
        """The session's next question that needs a person; those that do not answer themselves."""
        session = self.session
        assert session is not None
        for _ in range(_SILENT):
            self._note_best()
            questions = session.pending
            kind = int(questions.kind[0])
            if kind == Kind.DONE or self.spent >= self.budget:
                break
            exists = np.flatnonzero(questions.exists[0])
            order = None if questions.order is None else questions.order[0, exists]
            plans = self.rounder.shown(questions.action[0, exists], self.wishes, order)
            if kind == Kind.ACCEPT:
                if plans and plans[0] is not None and self._worth_showing(plans[0]):
                    self._put(PendingQuestion("accept", plans=[plans[0]], places=[0]))
                    return
                session.answer(np.array([0]))
                continue
            keep = self.seen.choice(self.rounder, plans, self.wishes)
            if len(keep) > 1 and tuple(sorted(keep)) not in self.seen.pairs:
                self.seen.pairs.add(tuple(sorted(keep)))
                chosen = [plans[place] for place in keep.values()]
                places = [int(exists[place]) for place in keep.values()]
                self._put(PendingQuestion("pair", plans=[p for p in chosen if p is not None], places=places))
                return
            alone = [int(exists[place]) for place in keep.values()] if len(keep) == 1 else [CANNOT_SAY]
            session.answer(np.array(alone))
        self._finish()

    def _worth_showing(self, plan: ShownPlan) -> bool:
        """Whether to show a plan alone: it was not declined, and asks for no more than another one that was seen."""
        if plan.name in self.seen.declined:
            return False
        return plan.name in self.seen.names or bool(self.seen.choice(self.rounder, [plan], self.wishes))

    # -- the best plan -------------------------------------------------------------------------------------

    def _best_first(self) -> list[ShownPlan]:
        """The plans seen that keep the wishes, the best first."""
        return self.seen.ranked(self.rounder, self.seen.holding(self.rounder, self.wishes))

    def _note_best(self) -> None:
        """The best plan: of those seen, the one that was preferred; before any was seen, the session's."""
        ranked = self._best_first()
        proposed = self._proposed()
        if ranked and proposed is not None and self.rounder.asks_more(ranked[0], proposed):
            ranked.insert(0, proposed)
        self.best = ranked[0] if ranked else proposed

    def _proposed(self) -> ShownPlan | None:
        """The session's best plan, as it would be shown."""
        assert self.session is not None
        row = self.session.best[0]
        return None if np.isnan(row).all() else self.rounder.shown(row[None], self.wishes)[0]

    def _finish(self) -> None:
        """No more questions of the session: one last choice if its best plan was not seen, then the best is offered."""
        if self.session is not None and self.best is not None and self.spent < self.budget:
            proposed = self._proposed()
            keep = self.seen.choice(self.rounder, [self.best, proposed], self.wishes)
            if len(keep) > 1 and proposed is not None and proposed.name not in self.seen.names:
                self._put(PendingQuestion("last", plans=[self.best, proposed], places=[0, 1]))
                return
        if self.best is None:
            self.best = self._afresh()
        if self.best is None:
            self._stuck()
        elif not self.seen.will_do(self.best):
            self._recall(self._best_first())  # to look for others was no rejection
        else:
            self._put(PendingQuestion("final", plans=[self.best], places=[0]))

    def seen_beside(self, plan: ShownPlan) -> list[ShownPlan]:
        """The other plans that were seen and keep to every limit, the best first."""
        return [other for other in self._best_first() if other.name != plan.name]

    def _recall(self, plans: Sequence[ShownPlan]) -> None:
        """Show plans that were seen again, those that were kept first."""
        plans = sorted(plans, key=lambda plan: plan.name not in self.seen.marked)[:_RECALLED]
        if plans:
            self._put(PendingQuestion("recall", plans=plans, places=list(range(len(plans)))))
        else:
            self._end("rejected")

    def _stuck(self) -> None:
        """No plan within the limits: which of them would have to give?"""
        before = self.seen.ranked(self.rounder, self.seen.plans)[:1]
        self.best = None
        self.relaxations = find_relaxations(self)
        self.relaxations += [
            Relaxation(broken, plan)
            for plan in before
            if (broken := limits_broken(self, plan))
            and plan.name not in {one.plan.name for one in self.relaxations}
        ]
        if self.relaxations:
            self._put(PendingQuestion("reconsider", relaxations=self.relaxations))
        else:
            self._end("none")

    def _end(self, how: str) -> None:
        self.pending, self.ended = None, how
        if (
            how == "none" and not self.relaxations
        ):  # no limit is to blame: say at least what made the difference
            with use_language("en"):
                self.reason = self.difference()
        if how in ("rejected", "stopped") and not self.relaxations and self.best is not None:
            self.relaxations = [
                one for one in find_relaxations(self) if one.plan.name not in self.seen.declined
            ]

    def difference(self) -> str:
        """What made the difference, in a sentence; "" where nobody knows."""
        contrast = why(self.problem, self.x, seed=self.setup.seed)
        return contrast.text(0) if contrast.known[0] else ""

    def _put(self, pending: PendingQuestion) -> None:
        pending.notes = self.notes + pending.notes
        self.notes = []
        self.pending = pending
        for plan in pending.plans:
            self.seen.add(plan)

    # -- plans ---------------------------------------------------------------------------------------------

    def _cheapest(self) -> np.ndarray | None:
        """(1, d) the base method's plan under the wishes; None, and why, where there is none."""
        got = self.setup.base.recommend(self.x, 1, preferences=self.preferences, seed=self.setup.seed)
        self.outcome = got.outcome[0, 0]
        return got.action[0, :1] if got.found[0, 0] else None

    def _afresh(self) -> ShownPlan | None:
        """The same as it would be shown."""
        row = self._cheapest()
        return None if row is None else self.rounder.shown(row, self.wishes)[0]
