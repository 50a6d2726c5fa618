"""The course of one conversation: limits, a first plan, choices, the end. It remembers no files and no log.

Given the problem, the person, the setup and the replies, everything that it asks is determined; so a log of the
replies is a whole state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations, permutations
from typing import TYPE_CHECKING

import numpy as np

from wayforward.answers import why, words
from wayforward.people.dialogue import questionnaire as q
from wayforward.people.dialogue.lessons import Compared, circle
from wayforward.people.dialogue.question import Reply
from wayforward.people.dialogue.shown_plans import PlanRounder, ShownPlan
from wayforward.people.dialogue.state import digest
from wayforward.people.dialogue.wishes import HARD, Wish, given_up, limit_sentences, preferences_of
from wayforward.people.elicitor import CANNOT_SAY, Elicitor, Kind, Session
from wayforward.preferences.preferences import Preferences
from wayforward.recourse import Outcome, Recourse

if TYPE_CHECKING:
    from wayforward.methods import Method
    from wayforward.problem import Problem

_SILENT = 1000  # questions that answer themselves, before a session is taken to go in circles
_MOST_RELAXATIONS = 4  # limits that are named where they stand in the way
PLANS = ("first", "pair", "accept", "final")


@dataclass(frozen=True)
class Relaxation:
    """Limits (positions in the list of wishes) that would have to give, and the plan that this opens."""

    wishes: tuple[int, ...]
    plan: ShownPlan


@dataclass
class PendingQuestion:
    """The question on the table. what: limit questions as in the questionnaire, one of PLANS, or
    reconsider."""

    what: str
    item: q.QuestionnaireItem | None = None
    plans: list[ShownPlan] = field(default_factory=list)
    places: list[int] = field(default_factory=list)  # which option of the session each plan is
    relaxations: list[Relaxation] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def mark(self) -> str:
        """A fingerprint of what is shown; words aside, so that a better sentence does not spoil a
        stored state."""
        rows = [plan.action for plan in (*self.plans, *(relaxation.plan for relaxation in self.relaxations))]
        shown = np.stack(rows) if rows else np.zeros((0, 1))
        return digest(
            self.what,
            None if self.item is None else self.item.key,
            shown,
            [relaxation.wishes for relaxation in self.relaxations],
        )


@dataclass(frozen=True)
class DialogueSetup:
    """Everything besides the replies. wishes: limits known before; start (d,): a plan that was reached before.

    spent: questions about plans that were answered before. declined: names of plans that were not good
    enough. edges: plans chosen over others, by name.
    """

    problem: Problem
    x: np.ndarray  # (1, d)
    elicitor: Elicitor
    base: Method
    parts: tuple[str, ...]
    seed: int
    wishes: tuple[Wish, ...] = ()
    start: np.ndarray | None = None
    spent: int = 0
    declined: tuple[str, ...] = ()
    edges: tuple[tuple[str, str], ...] = ()


class Conversation:
    """One person, from the first question to the end. pending: the question, or None at the end;
    ended: how."""

    def __init__(self, setup: DialogueSetup) -> None:
        self.setup, self.problem, self.x = setup, setup.problem, setup.x
        self.schema = self.problem.schema
        self.wishes: list[Wish] = list(setup.wishes)
        self.spent, self.declined = setup.spent, set(setup.declined)
        self.revived = set[str]()  # declined, and preferred to others since
        self.compared: list[Compared] = []
        self.edges: list[tuple[str, str]] = list(setup.edges)
        self.seen: list[ShownPlan] = []
        self.session: Session | None = None
        self.best: ShownPlan | None = None
        self.outcome: Outcome | None = None
        self.ended: str | None = None
        self.reason = ""
        self.relaxations: list[Relaxation] = []
        self.pending: PendingQuestion | None = None
        self.queue: list[q.QuestionnaireItem] = []
        self._notes: list[str] = []
        self._open()

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
        return hasattr(self, "asking")

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
            if self.pending.what == "final":
                return 1
            return max(1, self.budget - self.spent) + 1
        if self.pending.what == "reconsider":
            return 1 + max(1, self.budget - self.spent) + 1
        extra = 0 if "yes-no" in self.setup.parts else 1
        return len(self.queue) + 1 + extra + max(0, self.budget - self.spent) + 2

    # -- the course ----------------------------------------------------------------------------------------

    def _open(self) -> None:
        yes, value = self.problem.reached(self.x)
        self.rounder = PlanRounder(self.problem, self.x, float(value[0]))
        if yes[0]:
            self._end("already")
            return
        if self.setup.start is None:
            got = self._found(self.wishes)
            if not got.found[0, 0]:
                self.outcome = got.outcome[0, 0]
                self._stuck()
                return
        self._ask_limits()

    def _ask_limits(self) -> None:
        everything = self.problem.population(self.x, self.preferences)
        self.asking = everything  # what may be done before the questionnaire: the questions are about this
        self.queue = q.items(self.setup.parts, everything)
        self._next_limit()

    def _next_limit(self) -> None:
        frozen = self.preferences.frozen[0]
        while self.queue:
            item = self.queue.pop(0)
            if item.feature >= 0 and frozen[item.feature]:
                continue
            if item.what == "rank" and (self.asking.may[0] & ~frozen).sum() < 2:
                continue
            if item.what == "rank":
                self.asking = self.problem.population(self.x, self.preferences)
            self._put(PendingQuestion(item.what, item))
            return
        self._plan()

    def _plan(self) -> None:
        """A first plan under the wishes; with a start that still holds, that."""
        self.session = None
        start = self.setup.start
        plan = None if start is None else self.rounder.shown(start[None], self.wishes)[0]
        if plan is None:
            got = self._found(self.wishes)
            self.outcome = got.outcome[0, 0]
            if not got.found[0, 0]:
                self._stuck()
                return
            self.first = got.action[0, :1]
            plan = self.rounder.shown(self.first, self.wishes)[0]
        else:
            assert start is not None
            self.first = start[None]
        assert plan is not None
        self.best = plan
        if self.spent >= self.budget:
            self._finish()
        elif plan.name in self.declined:
            self._begin_session()
        else:
            self._put(PendingQuestion("first", plans=[plan], places=[0]))

    def _begin_session(self) -> None:
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
                if plans and plans[0] is not None and plans[0].name not in self.declined:
                    self._put(PendingQuestion("accept", plans=[plans[0]], places=[0]))
                    return
                session.answer(np.array([0]))
                continue
            keep: dict[str, int] = {}
            for place, plan in enumerate(plans):
                if plan is not None:
                    keep.setdefault(plan.name, place)
            for less, more in permutations([plans[place] for place in keep.values()], 2):
                if less is not None and more is not None and set(less.steps) < set(more.steps):
                    keep.pop(more.name, None)  # "do this, or do this and more" is no choice
            if len(keep) > 1:
                chosen = [plans[place] for place in keep.values()]
                places = [int(exists[place]) for place in keep.values()]
                self._put(PendingQuestion("pair", plans=[p for p in chosen if p is not None], places=places))
                return
            session.answer(np.array([int(exists[place]) for place in keep.values()] or [CANNOT_SAY]))
        self._finish()

    def _note_best(self) -> None:
        assert self.session is not None
        row = self.session.best[0]
        plan = None if np.isnan(row).all() else self.rounder.shown(row[None], self.wishes)[0]
        self.best = plan if plan is not None else self._still_good()

    def _still_good(self) -> ShownPlan | None:
        """The plan liked best that keeps the wishes: the last one taken, else the last one seen."""
        liked = [plan for plan in reversed(self.seen) if any(plan.name == better for better, _ in self.edges)]
        for plan in (*([self.best] if self.best is not None else []), *liked, *reversed(self.seen)):
            again = self.rounder.shown(plan.action[None], self.wishes)[0]
            if again is not None:
                return again
        return None

    def _finish(self) -> None:
        if self.best is None:
            got = self._found(self.wishes)
            self.outcome = got.outcome[0, 0]
            if got.found[0, 0]:
                self.best = self.rounder.shown(got.action[0, :1], self.wishes)[0]
        if self.best is None:
            self._stuck()
        elif self.best.name in self.declined and self.best.name not in self.revived:
            self._end("rejected")
        else:
            self._put(PendingQuestion("final", plans=[self.best], places=[0]))

    def _stuck(self) -> None:
        """No plan within the limits: which of them would have to give?"""
        self.best = None
        self.relaxations = self.find_relaxations()
        if self.relaxations:
            self._put(PendingQuestion("reconsider", relaxations=self.relaxations))
        else:
            self._end("none")

    def _end(self, how: str) -> None:
        self.pending, self.ended = None, how
        if (
            how == "none" and not self.relaxations
        ):  # no limit is to blame: say at least what made the difference
            contrast = why(self.problem, self.x, seed=self.setup.seed)
            self.reason = contrast.text(0) if contrast.known[0] else ""
        if how in ("rejected", "stopped") and not self.relaxations and self.best is not None:
            self.relaxations = [
                relaxation
                for relaxation in self.find_relaxations()
                if relaxation.plan.name not in self.declined
            ]

    def _put(self, pending: PendingQuestion) -> None:
        pending.notes = self._notes + pending.notes
        self._notes = []
        self.pending = pending
        for plan in pending.plans:
            if plan.name not in {one.name for one in self.seen}:
                self.seen.append(plan)

    # -- replies -------------------------------------------------------------------------------------------

    def take(self, reply: Reply) -> None:
        """Go on with a reply as `read` gives it."""
        p = self.on_table
        if p.what in PLANS and p.what != "final":
            self.spent += 1
        if reply.get("stop"):
            self._stop(p)
        elif "wish" in reply:
            self._wish(p, reply["wish"])
        elif p.what == "first" or p.what == "final":
            self._take_plan(p, reply)
        elif p.what == "reconsider":
            self._reconsider(p, reply)
        elif p.what == "accept":
            self._take_accept(p, reply)
        elif p.what == "pair":
            self._take_pair(p, reply)
        else:
            assert p.item is not None
            wishes, follow = q.wishes_from(p.item, reply, self.asking)
            self.wishes += wishes
            self.queue = follow + self.queue
            self._next_limit()

    def _stop(self, p: PendingQuestion) -> None:
        if p.what not in PLANS and p.what != "reconsider":  # they have heard enough questions: show the plan
            self.queue = []
            got = self._found(self.wishes)
            self.outcome = got.outcome[0, 0]
            self.best = self.rounder.shown(got.action[0, :1], self.wishes)[0] if got.found[0, 0] else None
        self._end("stopped" if self.best is not None else "none")

    def _wish(self, p: PendingQuestion, wish: Wish) -> None:
        """Something that the person cannot do, said on the way."""
        self.wishes.append(wish)
        self._notes.append(f"Noted. {' '.join(limit_sentences(self.schema, [wish], self.x[0]))}")
        if p.what not in PLANS and p.what != "reconsider":
            assert p.item is not None
            self.queue = [
                item for item in self.queue if "can" not in wish or self._named(item) != wish["feature"]
            ]
            if p.item.what == "rank" or self._named(p.item) != wish["feature"]:
                self.queue.insert(0, p.item)  # the question itself is still open
            self._next_limit()
        elif self.session is not None and p.what in ("pair", "accept"):
            self.session.answer(np.array([CANNOT_SAY if p.what == "pair" else 0]), self.preferences)
            self._next()
        else:
            self._plan()

    def _named(self, item: q.QuestionnaireItem) -> str:
        return self.schema.names[item.feature] if item.feature >= 0 else ""

    def _take_plan(self, p: PendingQuestion, reply: Reply) -> None:
        if reply.get("yes"):
            self.best = p.plans[0]
            self._end("accepted")
        elif p.what == "final":
            if not reply.get("unsure"):
                self._decline(p.plans[0])
            self._end("stopped" if reply.get("unsure") else "rejected")
        else:
            if not reply.get("unsure"):
                self._decline(p.plans[0])
            self._begin_session()

    def _decline(self, plan: ShownPlan) -> None:
        self.declined.add(plan.name)
        self.revived.discard(plan.name)

    def _take_accept(self, p: PendingQuestion, reply: Reply) -> None:
        assert self.session is not None
        if reply.get("yes"):
            self.session.answer(np.array([1]))
            self.best = p.plans[0]
            self._end("accepted")
            return
        if not reply.get("unsure"):
            self._decline(p.plans[0])
        self.session.answer(np.array([CANNOT_SAY if reply.get("unsure") else 0]))
        self._next()

    def _take_pair(self, p: PendingQuestion, reply: Reply) -> None:
        assert self.session is not None
        if reply.get("unsure"):
            self.session.answer(np.array([CANNOT_SAY]))
        else:
            taken = p.plans[reply["option"]]
            turned = False
            for other in p.plans:
                if other is taken:
                    continue
                turned |= circle(self.edges, taken.name, other.name)
                self.compared.append(Compared(taken.after, other.after))
            if turned:
                self._notes.append(
                    "Before, you chose the other way round (directly, or by way of a third plan). "
                    "That is all right: people "
                    "change their minds. We go on with what you said last."
                )
                names = {plan.name for plan in p.plans}
                self.edges = [edge for edge in self.edges if not set(edge) <= names]
            self.revived.add(taken.name)
            self.edges += [(taken.name, other.name) for other in p.plans if other is not taken]
            self.session.answer(np.array([p.places[reply["option"]]]))
        self._next()

    def _reconsider(self, p: PendingQuestion, reply: Reply) -> None:
        at = reply.get("option", len(p.relaxations))
        if reply.get("unsure") or at >= len(p.relaxations):
            self._end("none")
            return
        gone = set(p.relaxations[at].wishes)
        self.wishes = [wish for i, wish in enumerate(self.wishes) if i not in gone]
        self.relaxations, self.outcome = [], None
        if self.limits_requested:
            self._plan()
        else:
            self._ask_limits()

    # -- plans ---------------------------------------------------------------------------------------------

    def _found(self, wishes: Sequence[Wish]) -> Recourse:
        own = preferences_of(self.schema, wishes)
        return self.setup.base.recommend(self.x, 1, preferences=own, seed=self.setup.seed)

    def find_relaxations(self) -> list[Relaxation]:
        """Which limit, given up alone, would open a plan; where none would, which two, or all. The
        easiest first."""
        hard = [i for i, wish in enumerate(self.wishes) if any(key in wish for key in HARD)]
        alone = [tuple(group) for group in self._groups(hard)]
        for sets in (
            alone,
            [a + b for a, b in combinations(alone, 2)] if 2 < len(alone) <= 8 else [],
            [tuple(hard)],
        ):
            sets = [one for one in sets if one]
            if not sets:
                continue
            wishes = [
                preferences_of(self.schema, [w for i, w in enumerate(self.wishes) if i not in one])
                for one in sets
            ]
            got = self.setup.base.recommend(
                np.repeat(self.x, len(sets), axis=0),
                1,
                preferences=Preferences.concat(wishes),
                seed=self.setup.seed,
            )
            action = np.where(got.found[:, :1], got.action[:, 0], np.nan)
            plans = self.rounder.judged(action, Preferences.concat(wishes))
            found = [
                Relaxation(tuple(sorted(one)), plan)
                for one, plan in zip(sets, plans, strict=True)
                if plan is not None
            ]
            if self.best is not None:  # only what would make it easier
                found = [relaxation for relaxation in found if relaxation.plan.cost < 0.95 * self.best.cost]
            if found or self.best is not None:
                return sorted(found, key=lambda relaxation: (relaxation.plan.cost, relaxation.wishes))[
                    :_MOST_RELAXATIONS
                ]
        return []

    def _groups(self, hard: list[int]) -> list[list[int]]:
        """Positions of hard wishes, those about one feature together: they are given up together."""
        groups: dict[str, list[int]] = {}
        for i in hard:
            groups.setdefault(self.wishes[i].get("feature", ""), []).append(i)
        return list(groups.values())

    def relaxation_text(self, relaxation: Relaxation) -> str:
        """What giving up the limits of a way means, after "if you could"."""
        mine = [
            [self.wishes[i] for i in group if i in relaxation.wishes]
            for group in self._groups(list(relaxation.wishes))
        ]
        return words.join([given_up(self.schema, wishes, self.x[0]) for wishes in mine])
