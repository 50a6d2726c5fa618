"""fare and efare: tree search beside every order of acts, the policy beside the exact search, the tree beside it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from wayforward import Feature, Problem, Schema, Target, recommend, wrap
from wayforward.errors import MethodError, ProblemError
from wayforward.methods.action_sequences import ActionSequences
from wayforward.methods.efare import Efare
from wayforward.methods.engines.act_policy import PolicyNet, StateCode, Traces, TreeSearch
from wayforward.methods.engines.act_search import ActSearch
from wayforward.methods.fare import Fare
from wayforward.schema.acts import ActModel, PlannedAct
from wayforward.testing import MethodContract

SCHEMA = Schema(tuple(Feature(name=name, kind="integer", low=0, high=9) for name in "abc"))
SMALL = {"learners": 8, "rounds": 1, "simulations": 8, "most": 3, "grid": 2}


class TestFare(MethodContract):
    method = "fare"
    parameters = SMALL
    kinds = ("linear", "forest", "network", "label")
    finds = 0.5
    people = 8


class TestEfare(MethodContract):
    method = "efare"
    parameters = SMALL
    kinds = ("linear", "forest", "network", "label")
    worlds = ("independent",)
    finds = 0.5
    people = 8


def problem(people):
    weight = np.array([1.0, 0.8, 0.6])

    def probability(rows):
        return 1 / (1 + np.exp(-np.clip(rows @ weight - 6.05, -30, 30)))

    return Problem(SCHEMA, wrap(probability, SCHEMA), Target(1), data=people)


ACTS = ActModel(
    [
        PlannedAct("learn", sets={"a": 3}, cost=1, eases={"build": 0.5}),
        PlannedAct("build", sets={"b": 4}, cost=4),
        PlannedAct("move", adds={"c": 3}, needs=("before.a >= 2",), cost=3),
    ],
    SCHEMA,
)


def everybody():
    return np.array(list(itertools.product(range(4), repeat=3)), dtype=float)


def test_tree_search_finds_the_best_of_every_order():
    """Three acts in any order, an even policy, enough simulations: the least that any sequence costs."""
    it = problem(everybody())
    x = everybody()
    x = x[~it.reached(x)[0]]
    search = ActSearch(it.population(x), ACTS, 1, 3, 2)
    code = StateCode(SCHEMA, 3)
    net = PolicyNet(code(search.start()).shape[1], 3, np.random.default_rng(0))
    ends, traces = TreeSearch(search, code, net, 4.0, simulations=40).run(np.random.default_rng(0))
    least = np.full(len(x), np.inf)
    np.minimum.at(least, ends.who, ends.spent)
    exact = ActSearch(it.population(x), ACTS, 1, 3, 2).run(1000, 10_000)
    best = np.full(len(x), np.inf)
    np.minimum.at(best, exact.person, exact.spent)
    np.testing.assert_allclose(least, best)
    assert np.isfinite(best).mean() > 0.5
    np.testing.assert_allclose(traces.visits.sum(1), 1.0)


def test_a_network_learns_what_it_is_shown():
    rng = np.random.default_rng(0)
    state = rng.uniform(size=(400, 3))
    choice = (state[:, 0] > 0.5).astype(int) + (state[:, 1] > 0.5)
    net = PolicyNet(3, 3, rng)
    for _ in range(4):
        net.learn(Traces(state, np.eye(3)[choice], state[:, 2]), rng)
    chance, value = net(state)
    assert (chance.argmax(1) == choice).mean() > 0.9
    assert np.abs(value - state[:, 2]).mean() < 0.12
    np.testing.assert_allclose(np.exp(chance).sum(1), 1.0)


def test_the_policy_serves_whom_the_exact_search_serves_nearly_as_cheaply():
    it = problem(everybody())
    x = everybody()[~it.reached(everybody())[0]]
    exact = recommend(it, x, method=ActionSequences(ACTS, most=3), minimal=False)
    policy = Fare(ACTS, most=3, learners=40, rounds=2).fit(it)
    got = policy.recommend(x, minimal=False)
    both = got.found[:, 0] & exact.found[:, 0]
    assert both.sum() >= 0.95 * exact.found[:, 0].sum()
    assert (got.cost[both, 0] >= exact.cost[both, 0] - 1e-9).mean() > 0.9
    first = {steps.split("\n")[0] for steps in got.steps[got.found[:, 0], 0]}
    assert first <= {"learn", "build", "move"}
    again = Fare(ACTS, most=3, learners=40, rounds=2).fit(it).recommend(x, minimal=False)
    np.testing.assert_array_equal(again.action, got.action)


def test_the_tree_does_what_the_policy_does():
    it = problem(everybody())
    x = everybody()[~it.reached(everybody())[0]]
    tree = Efare(ACTS, most=3, learners=60, rounds=2).fit(it)
    assert tree.fidelity >= 0.95
    lines = tree.rules().split("\n")
    assert any(line.strip().startswith("a <= ") for line in lines)
    assert {line.rsplit(": ", 1)[-1] for line in lines if ": " in line} <= {"learn", "build", "move"}
    policy = Fare(ACTS, most=3, learners=60, rounds=2).fit(it)
    alike = tree.recommend(x).found[:, 0] == policy.recommend(x).found[:, 0]
    assert alike.mean() >= 0.95


def test_it_says_whom_it_needs():
    accepted = np.full((5, 3), 9.0)
    with pytest.raises(ProblemError, match="learns from refused people"):
        Fare(ACTS).fit(problem(accepted))
    with pytest.raises(MethodError, match="beam"):
        Fare(ACTS, beam=0)
