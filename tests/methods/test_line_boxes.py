"""Branch and bound against a linear score, against all that people may do and thousands of random rows."""

from __future__ import annotations

import numpy as np
import pytest

from wayforward import Preferences, recommend
from wayforward.methods.engines.exact.forest_boxes import End
from wayforward.methods.engines.exact.line_boxes import LineBoxes
from wayforward.model import kernels, train
from wayforward.problem import LpMix, Problem, Target, WithinDelta
from wayforward.schema import Feature, Schema
from wayforward.testing.small_forests import RULES, least_cost, refused, wished

pytest.importorskip("sklearn")
pytestmark = pytest.mark.skipif(kernels.jit() is None, reason="needs numba")

COSTS = {
    "l1": LpMix(l1=1.0),
    "l2": LpMix(l1=0.0, l2=1.0),
    "l0": LpMix(l0=1.0, l1=0.0),
    "mix": LpMix(l0=0.2, l1=0.5, l2_squared=1.0),
}


@pytest.mark.parametrize("lacking", [False, True], ids=["all told", "lacking"])
@pytest.mark.parametrize("number", range(len(RULES)))
def test_it_finds_what_trying_everything_finds(number, lacking):
    """Options, proofs and bounds, with rules and wishes, also where values may be told; however few boxes."""
    for seed in range(2):
        cost = list(COSTS.values())[(number + 2 * seed + lacking) % len(COSTS)]
        problem, x = refused("lr", seed, RULES[number], lacking=lacking, cost=cost)
        people = problem.population(x, wished(problem.schema, x, seed) if seed else None)
        boxes = LineBoxes.of(problem)
        assert boxes is not None and boxes.complete
        got, best = boxes.search(people), least_cost(problem, people)
        found = got.end == End.FOUND
        np.testing.assert_array_equal(found, np.isfinite(best))
        np.testing.assert_array_equal(got.proved, np.isinf(best))
        np.testing.assert_allclose(got.bound[found], best[found], rtol=1e-7)
        action = np.where(problem.schema.differs(got.after, people.x), got.after, np.nan)
        who = np.flatnonzero(found)
        assert problem.reached(got.after[who])[0].all()
        assert people.allowed(who, action[who], got.after[who]).all()
        np.testing.assert_allclose(people.cost(who, action[who]), best[who], rtol=1e-7)
        for cutoff in (np.full(len(x), 1e9), np.where(found, 1.1 * best, 1e9)):
            np.testing.assert_allclose(boxes.least_cost(people, cutoff), np.minimum(best, cutoff), rtol=1e-7)
        for limit in (1, 4):
            few = boxes.search(people, limit=limit)
            assert (few.bound <= best * (1 + 1e-9)).all() and not (few.proved & np.isfinite(best)).any()


@pytest.mark.parametrize("number", range(len(RULES)))
def test_the_worst_of_all_weights_around(number):
    """The same where each weight may move: numbers lose by their distance from the centre, levels by what they add."""
    for seed in range(2):
        cost = list(COSTS.values())[(number + 2 * seed) % len(COSTS)]
        robust = WithinDelta((0.03, 0.1)[seed], bias=seed == 0)
        problem, x = refused("lr", seed, RULES[number], lacking=bool(seed), cost=cost, robust=robust)
        people = problem.population(x, wished(problem.schema, x, seed))
        boxes = LineBoxes.of(problem)
        got, best = boxes.search(people), least_cost(problem, people)
        found = got.end == End.FOUND
        np.testing.assert_array_equal(found, np.isfinite(best))
        np.testing.assert_array_equal(got.proved, np.isinf(best))
        np.testing.assert_allclose(got.bound[found], best[found], rtol=1e-7)
        plain = least_cost(problem.asking_no_more(), people)
        assert (best >= plain).all() and (best[np.isfinite(plain)] > plain[np.isfinite(plain)]).any()
        told = recommend(problem, x, preferences=people.wishes, certify=True)
        np.testing.assert_allclose(told.cost[found, 0], best[found], rtol=1e-7)
        assert (told.gap[found, 0] == 0).all()


def test_other_balls_are_not_part_of_the_search():
    problem, _ = refused("lr", 0, (), robust=WithinDelta(0.03, norm="l2"))
    assert LineBoxes.of(problem) is None


@pytest.mark.parametrize("delta", [0.0, 0.05])
@pytest.mark.parametrize("cost", COSTS)
def test_numbers_without_a_lattice(cost, delta):
    """Every plan is the cheapest possible, proved, with real numbers, rules that couple them, and least changes; none
    of 4,000 random legal rows a person is cheaper."""
    rng = np.random.default_rng(list(COSTS).index(cost))
    schema = Schema(
        (
            Feature(name="a", kind="real", low=0, high=10, least_change=0.5),
            Feature(name="b", kind="real", low=-5, high=5, direction="increase"),
            Feature(name="c", kind="real", low=0, high=1, step=0.05),
            Feature(name="home", kind="categorical", levels=("own", "rent", "free")),
        ),
        rules=("after.a / 10 + after.b / 10 <= 0.9", "if changed(c) then after.home != 'rent'"),
    )
    low, high = [0, -5, 0, 0], [10, 5, 1, 3]
    data = rng.uniform(low, high, (400, 4))
    data[:, 2], data[:, 3] = np.rint(data[:, 2] * 20) / 20, np.floor(data[:, 3])
    total = data[:, 0] / 5 + data[:, 1] / 3 + data[:, 2] + (data[:, 3] == 1)
    fitted = train("lr", schema, data, (total > np.quantile(total, 0.6)).astype(int), seed=0)
    robust = WithinDelta(delta) if delta else None
    problem = Problem(schema, fitted, Target(1), data=data, cost=COSTS[cost], robust=robust)
    x = data[~problem.reached(data)[0]][:12]
    wishes = Preferences.none(schema, len(x)).weigh({"b": 3.0}, who=[1, 3]).at_most(1, who=[2, 4])
    got = recommend(problem, x, preferences=wishes, certify=True)
    assert got.found[:, 0].sum() > 7 and (got.gap[got.found[:, 0], 0] == 0).all()
    people = problem.population(x, wishes)
    who = np.repeat(np.arange(len(x)), 4000)
    way = rng.normal(size=(len(who), 4)) * (rng.random((len(who), 4)) < 0.5) * rng.random((len(who), 1))
    action = people.snap(who, x[who] + schema.span * way)
    seen = people.evaluate(who, np.where(schema.differs(action, x[who]), action, np.nan))
    cost_of = np.where(seen.reached & seen.allowed, seen.cost, np.inf)
    assert np.isfinite(cost_of).any()
    assert (cost_of >= np.where(got.found[:, 0], got.bound[:, 0], np.inf)[who] * (1 - 1e-9)).all()


def test_a_number_without_an_end_is_left_open(linear):
    """Whoever may go anywhere has no proof from the boxes, and no false one."""
    schema = Schema((Feature(name="a", kind="real"), Feature(name="b", kind="real", low=0, high=1)))
    problem = linear(schema, -1.0, {"a": 1e-9, "b": 0.5})
    people = problem.population(np.array([[0.0, 0.0]]))
    got = LineBoxes.of(problem).search(people)
    assert got.end[0] == End.OPEN and not got.proved[0]
    assert np.isnan(LineBoxes.of(problem).least_cost(people, np.array([np.inf])))[0]


def test_a_rule_that_a_plan_breaks_within_rounding(linear):
    """The score asks for a little more of `a` than a rule allows, by about as much as the judge lets pass."""
    schema = Schema(
        tuple(Feature(name=name, kind="real", low=0, high=10) for name in "ab"), rules=("after.a <= 5",)
    )
    for beyond in np.arange(1, 10) * 2.5e-9:
        problem = linear(schema, -5.0 - beyond, {"a": 1.0, "b": 0.5})
        got = recommend(problem, np.array([[1.0, 0.0]]), certify=True)
        assert got.found[0, 0] and got.cost[0, 0] == pytest.approx(0.4, rel=1e-6)
        assert got.bound[0, 0] <= got.cost[0, 0] * (1 + 1e-9)


def test_the_first_option_does_not_hang_on_how_many_where_boxes_run_out(monkeypatch):
    """Who has a plan, but no proof that it is the cheapest, is searched for as if more plans had been asked for."""
    monkeypatch.setattr("wayforward.methods.local_search.cheapest_first._BOXES", 3)
    for number in range(1, len(RULES)):
        problem, x = refused("lr", 0, RULES[number])
        few, more = (recommend(problem, x, k=k).cost[:, 0] for k in (1, 3))
        np.testing.assert_array_equal(few, more)
