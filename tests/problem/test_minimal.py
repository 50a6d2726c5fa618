"""Options without what they do not need: brute force over single acts is the judge."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wayforward as wf
from wayforward.methods.base import Method
from wayforward.problem import Problem, Target, minimal_actions, with_room
from wayforward.schema import Feature, Schema
from wayforward.testing.problems import case
from wayforward.world import SCM

SCHEMA = Schema(tuple(Feature(name=name, kind="real", low=0, high=10) for name in "abc"))


def yes(x):
    """One feature at 5 is enough, and so are two that sum to 6."""
    return ((x >= 5).any(1) | (x[:, 0] + x[:, 1] >= 6)).astype(float)


class Told(Method):
    """Returns the actions that it was told, for everybody."""

    name, summary = "told", "the same for everybody"

    def __init__(self, action):
        self.action = np.asarray(action, dtype=float)

    def _recommend(self, people, k, streams, budget):
        return np.repeat(self.action[None], people.n, axis=0)


def droppable(problem, x, action):
    """(n, k) bool: the judge says yes to the option (n, k, d) without one of its acts, and that is no dearer."""
    i, j, act = np.nonzero(~np.isnan(action))
    trial = action[i, j]
    trial[np.arange(len(act)), act] = np.nan
    whole = problem.check(x[i], action[i, j][:, None], 1)
    less = problem.check(x[i], trial[:, None], 1)
    out = np.zeros(action.shape[:2], dtype=bool)
    np.logical_or.at(out, (i, j), less.found[:, 0] & (less.cost[:, 0] <= whole.cost[:, 0] + 1e-9))
    return out


def test_the_dearest_act_is_dropped_first_and_twice_the_same_leaves_room_for_the_next():
    problem = Problem(SCHEMA, yes, Target(favourable=1))
    nan = np.nan
    told = [[5, 4, nan], [5, nan, 3], [1, 5.5, 6], [nan, nan, 8.5]]
    x = np.zeros((1, 3))
    got = Told(told).fit(problem).recommend(x, 3)
    # 5, 4: the 4 goes; 5, 3: the 3 goes, and it is the same again; 1, 5.5, 6: the 6 goes, then the 1
    np.testing.assert_array_equal(got.action[0], [[5, nan, nan], [nan, 5.5, nan], [nan, nan, 8.5]])
    assert got.meta["n_shortened"] == 3
    as_told = Told(told).fit(problem).recommend(x, 3, minimal=False)
    np.testing.assert_array_equal(as_told.action[0], [told[1], told[3], told[0]])
    assert "n_shortened" not in as_told.meta
    emptied = minimal_actions(problem.population(x), np.array([told]))
    np.testing.assert_array_equal(emptied[0], [[5, nan, nan], [nan] * 3, [nan, 5.5, nan], [nan, nan, 8.5]])


def test_what_the_judge_refuses_stays_as_it_is():
    problem = Problem(SCHEMA, yes, Target(favourable=1))
    told = np.array([[[1.0, 1.0, 1.0], [2.0, 2.0, np.nan]]])
    np.testing.assert_array_equal(minimal_actions(problem.population(np.zeros((1, 3))), told), told)


@pytest.mark.parametrize(("needs", "left"), [(0.5, [7, np.nan, np.nan]), (2.0, [7, 2, np.nan])])
def test_an_act_that_holds_a_cause_in_place_goes_only_where_it_is_not_needed(needs, left):
    """Raising a lowers b; whoever needs b must hold it at 2, else a alone is enough."""

    def model(x):
        return ((x[:, 0] >= 7) & (x[:, 1] >= needs)).astype(float)

    world = SCM({"a": "u", "b": "u - 0.2 * a"})
    problem = Problem(SCHEMA, model, Target(favourable=1), world=world)
    x = np.array([[0.0, 2.0, 0.0]])
    got = Told([[7.0, 2.0, np.nan]]).fit(problem).recommend(x, 1)
    np.testing.assert_array_equal(got.action[0, 0], left)


@pytest.mark.parametrize("kind", ["linear", "forest", "label"])
@pytest.mark.parametrize("world", ["independent", "causal"])
@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 50))
def test_no_act_that_is_left_can_be_dropped_and_nothing_gets_dearer(kind, world, seed):
    it = case(kind, world, 0, 12)
    problem, people = it.problem, it.problem.population(it.x[it.refused])
    rng = np.random.default_rng(seed)
    told = people.low[:, None] + rng.random((people.n, 6, people.d)) * (people.high - people.low)[:, None]
    who = np.repeat(np.arange(people.n), 6)
    told = people.snap(who, told.reshape(-1, people.d))
    told[rng.random(told.shape) < 0.4] = np.nan
    told = told.reshape(people.n, 6, people.d)
    short = minimal_actions(people, told)
    given_ = problem.check(people.x, told, 6)
    checked = problem.check(people.x, short, 6)
    assert (np.isnan(short) | (short == told)).all()
    assert (given_.found.any(1) == checked.found.any(1)).all()
    assert (checked.cost[:, 0] <= given_.cost[:, 0] + 1e-9).all()
    found = checked.found
    assert not (droppable(problem, people.x, checked.action) & found).any()


def test_people_alone_and_together_lose_the_same_acts():
    it = case("forest", "causal", 0, 12)
    method = wf.method("nearest-observable").fit(it.problem)
    x = it.x[it.refused]
    whole = method.recommend(x, 3)
    alone = [method.recommend(x[i : i + 1], 3) for i in range(len(x))]
    np.testing.assert_array_equal(whole.action, np.concatenate([one.action for one in alone]))
    assert whole.meta["n_shortened"] == sum(one.meta["n_shortened"] for one in alone) > 0


def nearly(x):
    """500 of a, or 497 with 3 of b."""
    return ((x[:, 0] >= 500) | ((x[:, 0] >= 497) & (x[:, 1] >= 3))).astype(float)


def test_an_act_goes_that_a_round_number_or_room_made_needless():
    """497.3 and 3 need each other; from 500 on a alone is enough, and with room it goes on to 507 and more."""
    schema = Schema(tuple(Feature(name=name, kind="real", low=0, high=1000) for name in "ab"))
    problem = Problem(schema, nearly, Target(favourable=1))
    told = Told([[497.3, 3.0], [np.nan, np.nan]]).fit(problem)
    got = told.recommend(np.array([[100.0, 0.0]]), 1)
    assert got.acted[0, 0].tolist() == [True, True]
    np.testing.assert_array_equal(got.rounded.action[0, 0], [500, np.nan])
    assert got.rounded.cost[0, 0] == pytest.approx(0.4) and got.rounded.meta["n_shortened"] == 1
    roomy = with_room(got)
    assert roomy.action[0, 0, 0] > 500 and np.isnan(roomy.action[0, 0, 1]) and roomy.margin[0, 0] >= 0.9
    assert np.isnan(roomy.rounded.action[0, 0, 1]) and roomy.rounded.margin[0, 0] >= 0.9
    as_told = told.recommend(got.x, 1, minimal=False)  # as it was published: nothing is left out
    np.testing.assert_array_equal(as_told.rounded.action[0, 0], [500, 3])


@pytest.mark.parametrize("kind", ["linear", "forest"])
@pytest.mark.parametrize("world", ["independent", "causal"])
def test_what_people_are_told_holds_no_act_that_can_be_dropped(kind, world):
    it = case(kind, world, 1, 60)
    got = wf.recommend(it.problem, it.x[it.refused], method="growing-spheres", k=3).rounded
    assert not (droppable(it.problem, got.x, got.action) & got.found).any()


def test_room_is_made_with_one_act_fewer_where_all_acts_would_be_too_dear():
    """490 of a with 50 of b, or 505 of a alone, which is cheaper and was not found."""
    schema = Schema(tuple(Feature(name=name, kind="real", low=0, high=1000) for name in "ab"))
    yes = lambda x: ((x[:, 0] >= 505) | ((x[:, 0] >= 490) & (x[:, 1] >= 50))).astype(float)  # noqa: E731
    got = Told([[490.0, 50.0], [np.nan, np.nan]]).fit(Problem(schema, yes, Target(favourable=1)))
    got = got.recommend(np.array([[100.0, 0.0]]), 1)
    roomy = with_room(got, most=0.0)
    assert roomy.acted[0, 0].tolist() == [True, False] and roomy.margin[0, 0] >= 0.9
    assert 505 < roomy.action[0, 0, 0] < 540 and roomy.meta["room"]["moved"] == 1


def test_room_keeps_no_act_of_which_the_yes_has_no_need():
    """The others go farther instead, or the plan stays as it was; alone or together, it is one."""
    it = case("linear", "independent", 1, 40)
    x = it.x[it.refused]
    got = wf.recommend(it.problem, x, k=1)
    most = 0.1
    roomy = with_room(got, most=most)
    moved = np.flatnonzero(roomy.found[:, 0] & (roomy.cost != got.cost)[:, 0])
    assert not droppable(it.problem, x[moved], roomy.action[moved]).any()
    assert not droppable(it.problem, x[moved], roomy.rounded.action[moved]).any()
    assert len(moved) > 15 and roomy.meta["room"]["moved"] == len(moved)
    assert roomy.acted.sum() < got.acted.sum() - 10
    np.testing.assert_array_equal(with_room(got[moved[0]], most=most).action, roomy.action[[moved[0]]])
