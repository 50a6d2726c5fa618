"""The contract of elicitors: it takes an honest one, and finds out those that break a promise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from wayforward.errors import MethodError
from wayforward.people.dialogue.plan_by_plan import PlanByPlan
from wayforward.people.elicitors import elicitor, names, register
from wayforward.testing import ElicitorContract, case


class TestPlanByPlan(ElicitorContract):
    elicitor = PlanByPlan(budget=3)


@dataclass
class Hasty(PlanByPlan):
    """Shows plans that fall short of the decision."""

    def begin(self, x, start=None, *, preferences=None, seed=0):
        session = super().begin(x, start, preferences=preferences, seed=seed)
        near = session.people.x[:, None] + 0.01 * (session.plans - session.people.x[:, None])
        session.plans = session.people.problem.schema.snap(near.reshape(-1, x.shape[1])).reshape(near.shape)
        return session


@dataclass
class Deaf(PlanByPlan):
    """Does not hear what somebody cannot do."""

    def begin(self, x, start=None, *, preferences=None, seed=0):
        session = super().begin(x, start, seed=seed)
        hear = session.answer
        session.answer = lambda reply, wishes=None: hear(reply)
        return session


@dataclass
class Herd(PlanByPlan):
    """Shows everybody the plans that suit the number of people."""

    def begin(self, x, start=None, *, preferences=None, seed=0):
        session = super().begin(x, start, preferences=preferences, seed=seed)
        session.plans = np.roll(session.plans, len(x), axis=1)
        return session


@pytest.mark.parametrize(
    ("rogue", "test"),
    [
        (Hasty(), "test_every_plan_that_is_shown_is_usable"),
        (Deaf(), "test_limits_given_before_are_kept"),
        (Deaf(), "test_limits_that_come_with_a_reply_are_kept"),
        (Herd(), "test_questions_depend_on_nobody_else"),
    ],
)
def test_the_contract_finds_out_who_breaks_it(rogue, test):
    class Found(ElicitorContract):
        elicitor = rogue

    with pytest.raises(AssertionError):
        getattr(Found(), test)("linear", "independent")


def test_more_questions_than_the_budget_are_found_out():
    class Found(ElicitorContract):
        elicitor = PlanByPlan(budget=4)
        most = 1

    with pytest.raises(AssertionError, match="more than it may"):
        Found().held("linear", "independent")


def test_an_elicitor_of_another_package_is_made_by_its_name(monkeypatch):
    from wayforward.people import elicitors

    monkeypatch.setattr(elicitors.ELICITORS, "_places", dict(elicitors.ELICITORS._places))
    register("one-by-one", "wayforward.people.dialogue.plan_by_plan:PlanByPlan")
    assert "one-by-one" in names()
    assert elicitor("one-by-one", budget=2) == PlanByPlan(budget=2)
    with pytest.raises(MethodError, match="already"):
        register("hare", "mine:Mine")
    with pytest.raises(MethodError, match="my_package.mine:Mine"):
        register("mine", "mine")


def test_names_of_the_last_release_still_answer_and_warn():
    from wayforward.people import elicitor as module

    for old, new in (("Talk", module.Session), ("Asked", module.Questions)):
        with pytest.warns(DeprecationWarning, match=old):
            assert getattr(module, old) is new
    it = case("linear", "independent", 0, 8)
    session = PlanByPlan(budget=1).fit(it.problem).begin(it.x[it.refused][:1])
    with pytest.warns(DeprecationWarning, match="pending"):
        np.testing.assert_array_equal(session.asked.action, session.pending.action)
