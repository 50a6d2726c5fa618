"""What must hold for every method, whatever its idea: a test class to inherit.

Example: ``class TestMine(MethodContract): method = "mine"``.
"""

from __future__ import annotations

import pickle
from copy import copy
from functools import lru_cache
from itertools import count
from typing import Any, ClassVar

import numpy as np
import pytest
from jaxtyping import Bool, Float, jaxtyped

from wayforward.deadline import clock_of
from wayforward.errors import MissingExtra, ProblemError, UnsupportedModel
from wayforward.evaluate import second_opinion
from wayforward.methods import Method
from wayforward.methods import method as make_method
from wayforward.preferences import Preferences
from wayforward.problem import Problem
from wayforward.recourse import Outcome, Recourse
from wayforward.shapes import Actions, Costs, People
from wayforward.testing.problems import KINDS, WORLDS, Case, case

CASES = [(kind, world) for kind in KINDS for world in WORLDS]
FOUND: Any = Bool[np.ndarray, "n k"]
SECONDS: Any = Float[np.ndarray, " n"]
SAME = ("action", "after", "cost", "score")


@lru_cache
def _found_by_local_search(kind: str, world: str, n: int) -> Any:
    """(n,) bool: for whom local search finds an option, once for the classes of all methods."""
    it = case(kind, world, 0, n)
    return make_method("local-search").fit(it.problem).recommend(it.x, 1, seed=3).found[:, 0]


class MethodContract:
    """Inherit, name the method, and these tests run on every kind of model that it supports, in both worlds.

    method: its name, or an instance. parameters: given to it, for example to make the tests quick.
    kinds: the kinds of model that it must support; the others must be refused with UnsupportedModel.
    finds: the least share of refused people for whom it must find something, over all cases.
    """

    method: ClassVar[str | Method]
    parameters: ClassVar[dict[str, Any]] = {}
    kinds: ClassVar[tuple[str, ...]] = KINDS
    worlds: ClassVar[tuple[str, ...]] = WORLDS
    finds: ClassVar[float] = 0.0
    people: ClassVar[int] = 16
    _answers: ClassVar[dict[tuple[str, str, int], tuple[Case, Recourse]]]
    _methods: ClassVar[dict[int, tuple[Problem, Method]]]

    def __init_subclass__(cls) -> None:
        """Give every class fitted methods and answers of its own."""
        super().__init_subclass__()
        cls._answers, cls._methods = {}, {}

    # -- making --------------------------------------------------------------------------------------------

    def make(self) -> Method:
        """A fresh method. Skips the test where an optional library is missing."""
        try:
            return (
                make_method(self.method, **self.parameters)
                if isinstance(self.method, str)
                else copy(self.method)
            )
        except MissingExtra as missing:
            pytest.skip(str(missing))

    def fitted(self, problem: Problem) -> Method:
        """The method, fitted to a problem once for all tests of a class: no answer changes the next."""
        if id(problem) not in self._methods:
            self._methods[id(problem)] = (problem, self.fitted_anew(problem))
        return self._methods[id(problem)][1]

    def fitted_anew(self, problem: Problem) -> Method:
        """A fresh method, fitted to a problem."""
        try:
            return self.make().fit(problem)
        except MissingExtra as missing:
            pytest.skip(str(missing))

    def ask(self, kind: str, world: str, k: int = 2) -> tuple[Case, Recourse]:
        """The answers to one case, worked out once for all tests of a class."""
        self._must_support(kind, world)
        if (kind, world, k) not in self._answers:
            it = case(kind, world, 0, self.people)
            self._answers[kind, world, k] = (it, self.fitted(it.problem).recommend(it.x, k, seed=3))
        return self._answers[kind, world, k]

    def _must_support(self, kind: str, world: str) -> None:
        if kind not in self.kinds or world not in self.worlds:
            pytest.skip(f"not supported: {kind} models in the {world} world")

    # -- 1, 2: what is returned holds ----------------------------------------------------------------------

    @pytest.mark.parametrize(("kind", "world"), CASES)
    def test_every_option_turns_the_decision_of_the_model_itself(self, kind: str, world: str) -> None:
        """Invariant 1: asked again, in its own precision, on the exact row."""
        it, got = self.ask(kind, world)
        assert it.problem.reached(got.after[got.found])[0].all()

    @pytest.mark.parametrize(("kind", "world"), CASES)
    def test_every_option_is_legal_and_keeps_the_rules(self, kind: str, world: str) -> None:
        """Invariant 2: values that exist, nothing immutable moved, directions respected, rules kept."""
        it, got = self.ask(kind, world)
        schema, (who, slot) = it.problem.schema, np.nonzero(got.found)
        before, action, after = got.x[who], got.action[who, slot], got.after[who, slot]
        moved = schema.differs(after, before)
        assert not moved[:, schema.immutable].any()
        assert np.isnan(action[:, ~schema.actionable]).all()
        assert not (np.nan_to_num((action - before) * schema.direction) < -1e-9 * schema.span).any()
        level = after[:, schema.has_levels]
        assert (level == np.round(level)).all()
        assert ((level >= 0) & (level < schema.n_levels[schema.has_levels])).all()
        assert (after >= np.where(moved, schema.low, -np.inf) - 1e-9)[:, ~schema.has_levels].all()
        assert (after <= np.where(moved, schema.high, np.inf) + 1e-9)[:, ~schema.has_levels].all()
        step = np.where(np.isnan(schema.step), 0.0, schema.step)
        stepped = moved & (step > 0) & ~np.isnan(action)
        off = np.abs((after - np.nan_to_num(schema.low)) / np.where(step > 0, step, 1.0) + 0.5) % 1.0 - 0.5
        assert (np.abs(off[stepped]) < 1e-6).all()
        assert schema.compiled_rules.satisfied(before, after).all()

    @pytest.mark.parametrize(("kind", "world"), CASES)
    def test_what_follows_is_what_the_world_says(self, kind: str, world: str) -> None:
        """The profile that an option promises is the consequence of its acts, and of nothing else."""
        it, got = self.ask(kind, world)
        who, slot = np.nonzero(got.found)
        expected = it.problem.consequences(got.x[who], got.action[who, slot])
        assert not it.problem.schema.differs(expected, got.after[who, slot]).any()

    @pytest.mark.parametrize(("kind", "world"), CASES)
    def test_a_second_opinion_confirms_every_option(self, kind: str, world: str) -> None:
        """Judged again one by one, by code that shares nothing with the judge."""
        it, got = self.ask(kind, world)
        assert second_opinion(it.problem, got).usable[got.found].all()

    @pytest.mark.parametrize(("kind", "world"), CASES)
    def test_options_are_distinct_and_sorted_by_their_cost(self, kind: str, world: str) -> None:
        """Cheapest first; empty slots last, with cost inf and NaN everywhere."""
        it, got = self.ask(kind, world)
        refused = ~got.accepted
        with np.errstate(invalid="ignore"):  # empty slots cost inf
            rise = np.diff(got.cost[refused], axis=1)
        assert (rise[np.isfinite(got.cost[refused][:, 1:])] >= -1e-12).all()
        empty = ~got.found & refused[:, None]
        assert np.isinf(got.cost[empty]).all()
        assert np.isnan(got.action[empty]).all()
        assert np.isnan(got.after[empty]).all()
        both = got.found[:, 0] & got.found[:, 1]
        assert it.problem.schema.differs(got.after[both, 0], got.after[both, 1]).any(1).all()

    @pytest.mark.parametrize(("kind", "world"), CASES)
    def test_it_finds_something(self, kind: str, world: str) -> None:
        """At least the share of refused people that the method promises on these easy problems."""
        it, got = self.ask(kind, world)
        assert got.found[it.refused, 0].mean() >= self.finds

    @pytest.mark.parametrize(("kind", "world"), CASES)
    def test_shapes_are_those_of_every_signature(self, kind: str, world: str) -> None:
        """n people, k options, d features, the same letters in every array."""
        _, got = self.ask(kind, world)
        with jaxtyped("context"):
            assert isinstance(got.x, People)
            assert isinstance(got.action, Actions)
            assert isinstance(got.after, Actions)
            assert isinstance(got.cost, Costs)
            assert isinstance(got.score, Costs)
            assert isinstance(got.found, FOUND)
            assert isinstance(got.seconds, SECONDS)
        assert got.k == 2

    # -- 4: nobody's row is lost, those accepted are left alone --------------------------------------------

    @pytest.mark.parametrize(("kind", "world"), CASES)
    def test_everybody_keeps_a_row_and_the_accepted_stay_as_they_are(self, kind: str, world: str) -> None:
        """Invariant 4: n in, n out; cost 0 exactly for those whom the model accepts already."""
        it, got = self.ask(kind, world)
        assert got.n == len(it.x)
        np.testing.assert_array_equal(got.x, it.x)
        np.testing.assert_array_equal(got.accepted, ~it.refused)
        assert (~it.refused).any(), "the case holds nobody whom the model accepts, so it shows nothing"
        np.testing.assert_array_equal(got.after[got.accepted, 0], it.x[got.accepted])
        assert np.isnan(got.action[got.accepted]).all()
        assert (got.cost[got.accepted, 0] == 0).all()
        assert (got.cost[got.found] > 0).all()

    # -- 5: a person's answer is their own -----------------------------------------------------------------

    @pytest.mark.parametrize("kind", KINDS)
    def test_the_order_of_people_changes_nothing(self, kind: str) -> None:
        """Invariant 5: half of the people, in another order; fitted anew, the method is the same.

        Kinds of models take turns with the worlds; in every world with every kind, somebody is alone below.
        """
        self._must_support(kind, self.worlds[0])
        turn = self.kinds.index(kind) % len(self.worlds)
        for world in self.worlds if len(self.kinds) == 1 else self.worlds[turn : turn + 1]:
            it, got = self.ask(kind, world)
            half = np.concatenate([np.flatnonzero(it.refused)[::2], np.flatnonzero(~it.refused)[::2]])
            half = np.random.default_rng(1).permutation(half)[::-1]  # a few stay in their order without
            self._same(self.fitted_anew(it.problem).recommend(it.x[half], 2, seed=3), got[half])

    @pytest.mark.parametrize(("kind", "world"), CASES)
    def test_a_person_alone_gets_the_same_answer(self, kind: str, world: str) -> None:
        """Invariant 5, alone."""
        it, got = self.ask(kind, world)
        who = np.flatnonzero(it.refused)[1:2]  # not whom everybody's batch begins with
        self._same(self.fitted(it.problem).recommend(it.x[who], 2, seed=3), got[who])

    def test_the_same_seed_gives_the_same_answers(self) -> None:
        """Twice the same; nothing is kept between calls."""
        it, got = self.ask(self.kinds[0], self.worlds[0])
        method = self.fitted(it.problem)
        method.recommend(it.x[:5], 1, seed=9)
        self._same(method.recommend(it.x, 2, seed=3), got)

    @pytest.mark.parametrize("world", WORLDS)
    def test_it_answers_the_same_in_another_process(self, world: str) -> None:
        """Fitted, pickled and read again: the same bits, and no table of people with it unless it needs one."""
        it, got = self.ask(self.kinds[0], world)
        there = pickle.loads(pickle.dumps(self.fitted(it.problem)))
        self._same(there.recommend(it.x[:7], 2, seed=3), got[:7])
        if not there.table_needed:
            with pytest.raises(ProblemError, match="without its table"):
                there.problem_.require_reference()

    def test_people_who_are_alike_are_searched_once(self) -> None:
        """Equal rows with equal wishes: everybody's own answer, for the work of one."""
        it, got = self.ask(self.kinds[0], self.worlds[0])
        again = np.concatenate([np.arange(got.n), np.arange(got.n)[::-1], np.arange(3)])
        several = self.fitted(it.problem).recommend(it.x[again], 2, seed=3)
        self._same(several, got[again])
        assert several.meta["native_rows"] <= got.meta["native_rows"]

    @staticmethod
    def _same(one: Recourse, other: Recourse) -> None:
        for name in SAME:
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
        assert (one.outcome == other.outcome).all()

    # -- 8: bounded work, reported --------------------------------------------------------------------------

    def test_the_work_is_reported_and_a_small_budget_ends_it(self) -> None:
        """Invariant 8: model rows are counted; less budget never means more work."""
        it, got = self.ask(self.kinds[0], self.worlds[0])
        assert got.meta["native_rows"] >= got.n
        assert got.meta["model_rows"] >= 0
        small = self.fitted(it.problem).recommend(it.x, 2, seed=3, budget=20)
        assert small.n == got.n
        assert small.meta["model_rows"] <= max(got.meta["model_rows"], 1)
        assert it.problem.reached(small.after[small.found])[0].all()

    @pytest.mark.parametrize("looks", [4, 30])
    def test_a_deadline_ends_it_and_what_was_found_by_then_holds(self, looks: int) -> None:
        """On a clock that moves by a second whenever somebody looks: n rows, judged, and no proof that was cut."""
        it, got = self.ask(self.kinds[0], self.worlds[0])
        method, ticks = self.fitted(it.problem), count()
        with clock_of(lambda: float(next(ticks))):
            late = method.recommend(it.x, 2, seed=3, deadline=looks)
        assert late.n == got.n
        assert it.problem.reached(late.after[late.found])[0].all()
        assert second_opinion(it.problem, late).usable[late.found].all()
        none, whole = late.outcome[:, 0] == Outcome.NONE_EXISTS, ~late.cut_short
        assert not (none & ~whole).any()
        assert not (none & got.found[:, 0]).any()
        assert (late.accepted[late.readable] == got.accepted[late.readable]).all()
        self._same(late[np.flatnonzero(whole)], got[np.flatnonzero(whole)])

    # -- 9: no way forward is an answer ---------------------------------------------------------------------

    @pytest.mark.parametrize("kind", KINDS)
    def test_where_nothing_may_change_the_answer_is_that_none_exists(self, kind: str) -> None:
        """Invariant 9: everything frozen; never an exception, never an option."""
        self._must_support(kind, self.worlds[0])
        it = case(kind, self.worlds[0], 0, self.people)
        nothing = Preferences.none(it.problem.schema, len(it.x)).freeze(*it.problem.schema.names)
        got = self.fitted(it.problem).recommend(it.x, 2, preferences=nothing)
        assert not got.found.any()
        assert (got.outcome[it.refused] == Outcome.NONE_EXISTS).all()

    def test_nobody_with_a_way_forward_is_told_that_none_exists(self) -> None:
        """A proof is about everybody's options: for nobody who has one does local search find another."""
        it, got = self.ask(self.kinds[0], self.worlds[0])
        found = _found_by_local_search(self.kinds[0], self.worlds[0], self.people)
        assert not (found & (got.outcome[:, 0] == Outcome.NONE_EXISTS)).any()

    def test_wishes_are_kept(self) -> None:
        """Frozen features are not acted on, limits hold, and at most the wished number of features change."""
        it = case(self.kinds[0], self.worlds[0], 0, self.people)
        schema = it.problem.schema
        wish = Preferences.none(schema, len(it.x)).freeze("savings").at_most(2)
        wish = wish.limit("income", high=6000.0)
        got = self.fitted(it.problem).recommend(it.x, 2, preferences=wish, seed=3)
        who, slot = np.nonzero(got.found)
        action, after = got.action[who, slot], got.after[who, slot]
        assert np.isnan(action[:, schema.index("savings")]).all()
        assert ((~np.isnan(action)).sum(1) <= 2).all()
        income = schema.index("income")
        rose = after[:, income] > got.x[who, income]
        assert (after[rose, income] <= 6000.0).all()

    # -- what it declares -----------------------------------------------------------------------------------

    def test_it_says_what_it_is(self) -> None:
        """Name, summary, source and needs, for tables and papers."""
        kind = type(self.make())
        assert kind.name and kind.summary and kind.citation and int(kind.needs) >= 1
        assert kind.__doc__ and "Shapes:" in kind.__doc__ and "Source:" in kind.__doc__

    @pytest.mark.parametrize("kind", KINDS)
    def test_it_refuses_models_that_it_cannot_use(self, kind: str) -> None:
        """A model that it does not support ends in one clear error, before any work."""
        if kind in self.kinds:
            pytest.skip(f"supported: {kind} models")
        with pytest.raises(UnsupportedModel):
            self.fitted(case(kind, self.worlds[0], 0, self.people).problem)
