"""What must hold for every way of asking, whatever its idea: a test class to inherit.

Example: ``class TestMine(ElicitorContract): elicitor = "mine"``.
"""

from __future__ import annotations

import json
import re
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from wayforward.errors import MethodError, MissingExtra
from wayforward.people.dialogue import Dialogue
from wayforward.people.elicitor import CANNOT_SAY, Elicitor, Kind, Questions, Session
from wayforward.people.elicitors import elicitor as make_elicitor
from wayforward.people.simulated import PersonalCost, ReplyNoise
from wayforward.preferences import Preferences
from wayforward.problem import Problem
from wayforward.streams import Streams
from wayforward.testing.problems import Case, case

LATE = 1  # the turn after which new limits come


@dataclass(frozen=True)
class Held:
    """A session that has ended: x (n, d) the people, and every turn's questions."""

    problem: Problem
    x: np.ndarray
    session: Session
    turns: tuple[Questions, ...]

    def shown(self, i: int) -> list[tuple[int, bytes]]:
        """Return what person i was asked, turn by turn: the kind of question and its options."""
        own = [(int(turn.kind[i]), turn.action[i, turn.exists[i]].tobytes()) for turn in self.turns]
        return [(kind, options) for kind, options in own if kind != Kind.DONE]


class ElicitorContract:
    """Inherit, name the elicitor, and these tests run on its cases.

    elicitor: its name, or an instance. parameters: given to it, for example to make the tests quick. cases: kinds of
    model and worlds (`wayforward.testing.KINDS`, `WORLDS`); the tests that need only one take the first. most: how many
    questions one person may be asked; None: the elicitor's `budget`. people: how many are asked at once.
    """

    elicitor: ClassVar[str | Elicitor]
    parameters: ClassVar[dict[str, Any]] = {}
    cases: ClassVar[tuple[tuple[str, str], ...]] = (("linear", "independent"), ("forest", "causal"))
    most: ClassVar[int | None] = None
    people: ClassVar[int] = 5

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Run a test that takes a kind of model and a world on every case."""
        if "world" in metafunc.fixturenames:
            metafunc.parametrize(("kind", "world"), self.cases)

    # -- making --------------------------------------------------------------------------------------------

    def make(self) -> Elicitor:
        """A fresh elicitor. Skips the test where an optional library is missing."""
        try:
            if isinstance(self.elicitor, str):
                return make_elicitor(self.elicitor, **self.parameters)
            return copy(self.elicitor)
        except MissingExtra as missing:
            pytest.skip(str(missing))

    def fitted(self, problem: Problem) -> Elicitor:
        """The elicitor, fitted to a problem once for all tests of a class: no session changes the next."""
        cached: dict[int, tuple[Problem, Elicitor]] = type(self).__dict__.get("_fitted", {})
        if id(problem) not in cached:
            cached[id(problem)] = (problem, self.fitted_anew(problem))
            type(self)._fitted = cached  # type: ignore[attr-defined]
        return cached[id(problem)][1]

    def fitted_anew(self, problem: Problem) -> Elicitor:
        """The elicitor, fitted to a problem."""
        try:
            return self.make().fit(problem)
        except MissingExtra as missing:
            pytest.skip(str(missing))

    def case(self, kind: str, world: str) -> tuple[Case, np.ndarray]:
        """A problem and some people whom its model refuses (n, d)."""
        it = case(kind, world, 0, 8 * self.people)
        return it, it.x[it.refused][: self.people]

    @staticmethod
    def limits(problem: Problem, n: int) -> Preferences:
        """What n people cannot do: touch their income, or change more than two things."""
        return Preferences.none(problem.schema, n).freeze("income").at_most(2)

    def hold(
        self,
        elicitor: Elicitor,
        problem: Problem,
        x: np.ndarray,
        *,
        preferences: Preferences | None = None,
        late: Preferences | None = None,
        seed: int = 3,
    ) -> Held:
        """Hold a session to its end with people who err now and then; late: limits that come after a few replies."""
        session = elicitor.begin(x, preferences=preferences, seed=seed)
        weight = 0.2 + 5 * Streams.of(x, 7).uniform(np.arange(len(x)), x.shape[1], tag=0xC0)
        people = PersonalCost(
            session.people, weight, noise=ReplyNoise(flip=0.1, lazy=0.1), satisfied=0.05, seed=5
        )
        turns = list[Questions]()
        while (session.pending.kind != Kind.DONE).any():
            assert len(turns) <= self._most(elicitor), "it asks more than it may"
            turns.append(session.pending)
            session.answer(people.reply(session.pending), late if len(turns) == LATE else None)
        return Held(problem, x, session, tuple(turns))

    def held(self, kind: str, world: str) -> Held:
        """A session of one case, held once for all tests of a class."""
        it, x = self.case(kind, world)
        cached: dict[Any, Held] = type(self).__dict__.get("_held", {})
        if (kind, world) not in cached:
            cached[kind, world] = self.hold(self.fitted(it.problem), it.problem, x)
            type(self)._held = cached  # type: ignore[attr-defined]
        return cached[kind, world]

    def _most(self, elicitor: Elicitor) -> int:
        most = getattr(elicitor, "budget", None) if self.most is None else self.most
        assert most is not None, "say by `most` how many questions one person may be asked"
        return int(most)

    @staticmethod
    def _usable(
        problem: Problem, x: np.ndarray, turn: Questions, preferences: Preferences | None
    ) -> np.ndarray:
        """(m,) bool: the judge takes each option that is shown."""
        who, slot = np.nonzero(turn.exists)
        own = None if preferences is None else preferences.take(who)
        return problem.check(x[who], turn.action[who, slot][:, None], 1, preferences=own).found[:, 0]

    # -- what is shown holds -------------------------------------------------------------------------------

    def test_every_plan_that_is_shown_is_usable(self, kind: str, world: str) -> None:
        """The judge takes each option as it is; it leads where the question says."""
        got = self.held(kind, world)
        assert got.turns, "nobody was asked anything, so the case shows nothing"
        for turn in got.turns:
            assert self._usable(got.problem, got.x, turn, None).all()
            who, slot = np.nonzero(turn.exists)
            after = got.problem.consequences(got.x[who], turn.action[who, slot])
            assert not got.problem.schema.differs(after, turn.after[who, slot]).any()

    def test_a_question_has_the_options_that_it_needs(self, kind: str, world: str) -> None:
        """Two or more to choose from, one to accept, none where nothing is asked."""
        for turn in self.held(kind, world).turns:
            many = turn.exists.sum(1)
            assert (many[turn.kind == Kind.CHOOSE] >= 2).all()
            assert turn.exists[turn.kind == Kind.ACCEPT, 0].all()
            assert (many[turn.kind == Kind.DONE] == 0).all()

    def test_the_last_plan_is_usable(self, kind: str, world: str) -> None:
        """Who was asked anything ends with a plan, and the judge takes it."""
        got = self.held(kind, world)
        spoken = np.array([bool(got.shown(i)) for i in range(len(got.x))])
        assert got.session.recourse().found[spoken, 0].all()

    def test_limits_given_before_are_kept(self, kind: str, world: str) -> None:
        """No plan that is shown, and not the last, breaks what somebody said before the first question."""
        it, x = self.case(kind, world)
        own = self.limits(it.problem, len(x))
        got = self.hold(self.fitted(it.problem), it.problem, x, preferences=own)
        for turn in got.turns:
            assert self._usable(it.problem, x, turn, own).all()
        self._within(got, got.session.best[:, None], own)

    def test_limits_that_come_with_a_reply_are_kept(self, kind: str, world: str) -> None:
        """From then on no plan that breaks them is shown, and a best plan that does is replaced or given up."""
        it, x = self.case(kind, world)
        own = self.limits(it.problem, len(x))
        got = self.hold(self.fitted(it.problem), it.problem, x, late=own)
        for turn in got.turns[LATE:]:
            assert self._usable(it.problem, x, turn, own).all()
            self._within(got, turn.action, own)
        self._within(got, got.session.best[:, None], own)

    @staticmethod
    def _within(got: Held, action: np.ndarray, own: Preferences) -> None:
        acts = ~np.isnan(action)
        assert not (acts & own.frozen[:, None, :]).any()
        assert (acts.sum(2) <= own.most[:, None]).all()

    # -- a person's questions are their own ----------------------------------------------------------------

    def test_questions_depend_on_nobody_else(self, kind: str, world: str) -> None:
        """Alone and in any order, a person is asked the same and ends with the same plan."""
        got = self.held(kind, world)
        elicitor = self.fitted_anew(got.problem)
        order = np.arange(len(got.x))[::-1]
        mixed = self.hold(elicitor, got.problem, got.x[order])
        np.testing.assert_array_equal(mixed.session.best, got.session.best[order])
        assert [mixed.shown(int(order[i])) for i in order] == [got.shown(int(i)) for i in order]
        alone = self.hold(elicitor, got.problem, got.x[-1:])
        assert alone.shown(0) == got.shown(len(got.x) - 1)
        np.testing.assert_array_equal(alone.session.best[0], got.session.best[-1])

    def test_questions_depend_on_nobody_else_when_limits_come_late(self) -> None:
        """The same, where everybody finds out on the way what they cannot do."""
        it, x = self.case(*self.cases[0])
        elicitor, own = self.fitted(it.problem), self.limits(it.problem, len(x))
        got = self.hold(elicitor, it.problem, x, late=own)
        last = len(x) - 1
        alone = self.hold(elicitor, it.problem, x[[last]], late=own.take([last]))
        assert alone.shown(0) == got.shown(last)
        np.testing.assert_array_equal(alone.session.best[0], got.session.best[last])

    def test_the_same_seed_gives_the_same_questions(self) -> None:
        """Twice the same, with another session in between: nothing is kept from one to the next."""
        got = self.held(*self.cases[0])
        elicitor = self.fitted(got.problem)
        self.hold(elicitor, got.problem, got.x[:2], seed=9)
        again = self.hold(elicitor, got.problem, got.x)
        assert [again.shown(i) for i in range(len(got.x))] == [got.shown(i) for i in range(len(got.x))]
        np.testing.assert_array_equal(again.session.best, got.session.best)

    def test_a_question_stays_until_it_is_answered(self) -> None:
        """Looking at the question or at the best plan changes neither."""
        it, x = self.case(*self.cases[0])
        session = self.fitted(it.problem).begin(x, seed=3)
        first, best = session.pending, session.best.copy()
        np.testing.assert_array_equal(session.best, best)
        np.testing.assert_array_equal(session.pending.action, first.action)
        assert not session.questions.any()

    def test_a_dialogue_put_away_goes_on_with_the_same_question(self) -> None:
        """The state is the replies: what comes out of its JSON asks the same and ends the same."""
        it, x = self.case(*self.cases[0])
        elicitor = self.make()
        dialogue = Dialogue(it.problem, x[0], elicitor=elicitor, questionnaire=None, seed=2)
        for reply in ("no", "1"):
            if dialogue.ask() is not None:
                dialogue.answer("2" if reply == "no" else reply)
        again = Dialogue.from_dict(it.problem, json.loads(json.dumps(dialogue.to_dict())), elicitor=elicitor)
        while dialogue.ask() is not None:
            assert again.ask() == dialogue.ask()
            dialogue.answer("2")
            again.answer("2")
        assert again.ask() is None and again.export() == dialogue.export()

    # -- it ends -------------------------------------------------------------------------------------------

    def test_the_number_of_questions_is_bounded_and_counted(self, kind: str, world: str) -> None:
        """`questions` counts what each person was asked, which is never more than the budget."""
        got = self.held(kind, world)
        per_person = [len(got.shown(i)) for i in range(len(got.x))]
        assert got.session.questions.tolist() == per_person
        assert max(per_person) <= self._most(self.make())

    def test_who_never_says_anything_still_comes_to_an_end(self) -> None:
        """'Cannot say' to everything ends within the budget, with a plan; replies after the end change nothing."""
        it, x = self.case(*self.cases[0])
        elicitor = self.fitted(it.problem)
        session = elicitor.begin(x, seed=3)
        silent = np.full(len(x), CANNOT_SAY)
        for _ in range(self._most(elicitor)):
            session.answer(silent)
        assert (session.pending.kind == Kind.DONE).all()
        best, questions = session.best.copy(), session.questions.copy()
        session.answer(np.zeros(len(x), dtype=np.int64))
        np.testing.assert_array_equal(session.best, best)
        np.testing.assert_array_equal(session.questions, questions)
        assert session.recourse().found[questions > 0, 0].all()

    @pytest.mark.parametrize("n", [1, 5])
    def test_it_asks_one_person_and_with_several(self, n: int) -> None:
        """Shapes are (n, ...) everywhere, for one person too; a plan to start from may be given."""
        it, x = self.case(*self.cases[0])
        x = x[:n]
        elicitor = self.fitted(it.problem)
        first = elicitor.begin(x, seed=3).best
        session = elicitor.begin(x, first, seed=3)
        assert session.questions.shape == session.pending.kind.shape == (n,)
        assert session.pending.action.shape == session.pending.after.shape
        assert session.best.shape == (n, it.problem.schema.d)
        believed = session.learned() or {}
        for name in believed.keys() & {"wanted", "reluctance"}:
            assert believed[name].shape == (n, it.problem.schema.d)

    def test_who_has_no_plan_is_asked_nothing(self) -> None:
        """Everything frozen: done at once, no best plan, no error."""
        it, x = self.case(*self.cases[0])
        nothing = Preferences.none(it.problem.schema, len(x)).freeze(*it.problem.schema.names)
        session = self.fitted(it.problem).begin(x, preferences=nothing, seed=3)
        assert (session.pending.kind == Kind.DONE).all()
        assert np.isnan(session.best).all()
        assert not session.recourse().found.any()

    # -- what it declares and refuses ------------------------------------------------------------------------

    def test_a_reply_that_is_no_option_is_refused(self) -> None:
        """Named by person and reply, a number or not; the session stays as it was."""
        it, x = self.case(*self.cases[0])
        session = self.fitted(it.problem).begin(x, seed=3)
        before = session.pending
        last = int(np.flatnonzero(before.kind != Kind.DONE)[-1])
        for wrong in (99, -2, 0.5, float("nan"), None, "first", 2**70):
            replies: list[Any] = [CANNOT_SAY] * len(x)
            replies[last] = wrong
            with pytest.raises(MethodError, match=f"{re.escape(repr(wrong))} .*person {last}"):
                session.answer(replies)  # type: ignore[arg-type]
        np.testing.assert_array_equal(session.pending.action, before.action)
        assert not session.questions.any()

    def test_it_begins_with_a_problem(self) -> None:
        """Forgotten, or something else than a problem: told, with what to do."""
        it, x = self.case(*self.cases[0])
        with pytest.raises(MethodError, match="Fit it to a problem"):
            self.make().begin(x)
        with pytest.raises(MethodError, match="Schema"):
            self.make().fit(it.problem.schema)  # type: ignore[arg-type]

    def test_it_says_what_it_is(self) -> None:
        """A name, a summary in one line, and a docstring for the reference."""
        made = self.make()
        assert made.name and made.summary and "\n" not in made.summary
        assert type(made).__doc__
        if isinstance(self.elicitor, str):
            assert made.name == self.elicitor
