"""Bounds on cost against a linear score or a network: F-LIN, F-RELU, brute force over every row, and random rows."""

from __future__ import annotations

import numpy as np
import pytest

import wayforward as wf
from wayforward import Feature, Schema, Target
from wayforward.methods.engines.exact.relaxed_boxes import RelaxedBoxes
from wayforward.model import train
from wayforward.model.affine_net import AffineNet, NetBoxes
from wayforward.model.rounding import DOUBLE_UNIT
from wayforward.preferences import Preferences
from wayforward.problem import LpMix, Problem
from wayforward.testing.small_forests import RULES, least_cost, refused, wished

pytest.importorskip("sklearn")

COSTS = {
    "l1": LpMix(l1=1.0),
    "l2": LpMix(l1=0.0, l2=1.0),
    "linf": LpMix(l1=0.0, linf=1.0),
    "l0": LpMix(l0=1.0, l1=0.0),
    "mix": LpMix(l0=0.2, l1=0.5, l2_squared=1.0),
}


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("model", ["lr", "mlp"])
def test_bounds_are_what_trying_everything_finds(model, cost):
    """From nothing, from near, and from the least cost itself: equal to it, and never above it."""
    seed = list(COSTS).index(cost)
    problem, x = refused(model, seed, RULES[seed % len(RULES)], cost=COSTS[cost])
    people = problem.population(x, wished(problem.schema, x, seed))
    best, boxes = least_cost(problem, people), RelaxedBoxes.of(problem)
    for cutoff in (np.full(len(x), 1e9), np.where(np.isfinite(best), 1.1 * best, 1e9)):
        np.testing.assert_allclose(
            boxes.least_cost(people, cutoff, 2000), np.minimum(best, cutoff), rtol=1e-6
        )
    few = boxes.least_cost(people, np.full(len(x), 1e9), 3)
    assert (few <= best * (1 + 1e-9)).all() and (few < best * 0.999).any()


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("model", ["lr", "mlp"])
def test_what_somebody_lacks_is_filled_in_or_stays(model, cost):
    """Bounds for people with missing values that may be told: what trying everything finds, and never above it."""
    seed = list(COSTS).index(cost)
    problem, x = refused(model, seed, RULES[seed % len(RULES)], lacking=True, cost=COSTS[cost])
    people = problem.population(x, wished(problem.schema, x, seed))
    best, boxes = least_cost(problem, people), RelaxedBoxes.of(problem)
    for cutoff in (np.full(len(x), 1e9), np.where(np.isfinite(best), 1.1 * best, 1e9)):
        least, most = boxes.least_cost(people, cutoff, 3000), np.minimum(best, cutoff)
        assert (least <= most * (1 + 1e-9)).all()
        tight = least >= most * (
            1 - 1e-6
        )  # boxes do not see through a rule about a change of what was missing
        assert tight.all() if RULES[seed] is not RULES[4] else tight.mean() > 0.8
    few = boxes.least_cost(people, np.full(len(x), 1e9), 3)
    assert (few <= best * (1 + 1e-9)).all() and np.isfinite(few).any()


@pytest.mark.parametrize("number", range(len(RULES)))
def test_the_row_at_which_a_bound_ends_is_handed_back(number):
    """Everybody's bound is the cost of one of their rows, though other boxes were looked at after it."""
    problem, x = refused("mlp", 0, RULES[number])
    people = problem.population(x)
    least, rows = RelaxedBoxes.of(problem).search(people, np.full(len(x), 1e9), 2000)
    who, place = np.nonzero(~np.isnan(rows).all(2))
    row = people.snap(who, rows[who, place])
    got = people.evaluate(who, np.where(problem.schema.differs(row, x[who]), row, np.nan))
    cost = np.full(len(x), np.inf)
    np.minimum.at(cost, who, np.where(got.reached & got.allowed, got.cost, np.inf))
    np.testing.assert_allclose(cost, least, rtol=1e-6)


def bent(folds, low=-2.0, high=2.0, **more):
    """folds: weights (2, h) of abs-like units; a yes where their sum is .5 or more, on two features."""
    from sklearn.neural_network import MLPClassifier

    schema = Schema(tuple(Feature(name=n, kind="real", low=low, high=high) for n in ("x1", "x2")))
    rng = np.random.default_rng(0)
    data = rng.uniform(low, high, (60, 2))
    net = MLPClassifier((folds.shape[1],), max_iter=1).fit(data, np.arange(60) % 2)
    net.coefs_ = [folds, np.ones((folds.shape[1], 1))]
    net.intercepts_ = [np.zeros(folds.shape[1]), np.array([-0.5])]
    return Problem(schema, net, Target(1), data=data, **more)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("cost", "least"), [("l1", 0.5), ("l2", 0.125**0.5), ("linf", 0.25)])
def test_two_units_that_make_an_absolute_value(cost, least):
    """F-RELU: |x1 - x2| >= .5 from (0, 0); ranges are 4 wide."""
    problem = bent(np.array([[1.0, -1.0], [-1.0, 1.0]]), cost=COSTS[cost])
    people = problem.population(np.zeros((1, 2)))
    got = RelaxedBoxes.of(problem).least_cost(people, np.array([10.0]), 4000)
    assert 4 * got[0] == pytest.approx(least, rel=1e-5) and 4 * got[0] <= least + 1e-8


@pytest.mark.parametrize(
    ("cost", "least"), [("l1", 2.0), ("l2", 16 / 5**0.5 / 4), ("linf", 4 / 3), ("l0", 1.0)]
)
def test_a_line(linear, cost, least):
    """F-LIN: 2 x1 + x2 >= 4 from (0, 0)."""
    schema = Schema(tuple(Feature(name=n, kind="real", low=0, high=10) for n in ("x1", "x2")))
    problem = linear(schema, -4.0, {"x1": 2.0, "x2": 1.0}, cost=COSTS[cost])
    got = RelaxedBoxes.of(problem).least_cost(problem.population(np.zeros((1, 2))), np.array([100.0]), 1000)
    assert (1 if cost == "l0" else 10) * got[0] == pytest.approx(least, rel=1e-6)


@pytest.mark.parametrize("model", ["lr", "mlp"])
@pytest.mark.parametrize("cost", ["l1", "l2", "linf", "mix"])
def test_no_legal_row_is_cheaper(model, cost):
    """Numbers without a step, least changes, levels, weights: 20,000 random legal rows, near and far."""
    rng = np.random.default_rng(list(COSTS).index(cost))
    schema = Schema(
        (
            Feature(name="a", kind="real", low=0, high=10, least_change=0.5),
            Feature(name="b", kind="real", low=-5, high=5, direction="increase"),
            Feature(name="c", kind="real", low=0, high=1, step=0.05),
            Feature(name="home", kind="categorical", levels=("own", "rent", "free")),
        )
    )
    data = np.column_stack(
        [
            rng.uniform(0, 10, 500),
            rng.uniform(-5, 5, 500),
            rng.integers(0, 21, 500) / 20,
            rng.integers(0, 3, 500),
        ]
    )
    bends = np.abs(data[:, 0] - 5) + data[:, 1] * data[:, 2] + (data[:, 3] == 1)
    problem = Problem(
        schema, train(model, schema, data, (bends > np.quantile(bends, 0.7)).astype(int), seed=0), Target(1),
        data=data, cost=COSTS[cost],
    )  # fmt: skip
    x = data[~problem.reached(data)[0]][:8]
    wishes = Preferences.none(schema, len(x)).weigh({"b": 3.0}, who=[1, 3]).at_most(2, who=[2])
    people = problem.population(x, wishes)
    got = wf.recommend(problem, x, preferences=wishes, certify=200)
    assert got.found[:, 0].all() and np.isfinite(got.bound[:, 0]).all()
    who = np.repeat(np.arange(len(x)), 20_000)
    far = got.cost[who, 0] * rng.uniform(0.2, 1.5, len(who))
    step = rng.normal(size=(len(who), 4)) * (rng.random((len(who), 4)) < 0.6)
    action = people.snap(who, x[who] + schema.span * far[:, None] * step)
    seen = people.evaluate(who, np.where(schema.differs(action, x[who]), action, np.nan))
    cost_of = np.where(seen.reached & seen.allowed, seen.cost, np.inf)
    assert np.isfinite(cost_of).sum() > 100
    assert (cost_of >= got.bound[who, 0] * (1 - 1e-9)).all()


def test_the_affine_bound_is_above_the_network():
    problem, _ = refused("mlp", 1, ())
    schema, form = problem.schema, problem.model.dense
    net = AffineNet.of(form, schema.level_columns, None, DOUBLE_UNIT)
    rng = np.random.default_rng(0)
    low = rng.uniform(schema.low, schema.high, (50, schema.d)) * ~schema.has_levels
    high = low + rng.uniform(0, 1, low.shape) * (schema.high - low) * ~schema.has_levels
    ok = rng.random((50, len(schema.level_owner))) < 0.7
    for at in schema.level_columns.values():
        ok[:, at.start] |= ~ok[:, at].any(1)
    base = np.tile(net.base_of(np.zeros((1, schema.d))), (50, 1))
    above = net.above(NetBoxes(low, high, ok, base))
    for _ in range(40):
        row = rng.uniform(low, high)
        total = above.const + (above.slope * row * ~schema.has_levels).sum(1)
        for j, at in schema.level_columns.items():
            row[:, j] = (rng.random(ok[:, at].shape) * ok[:, at]).argmax(1)
            total += above.table[:, at][np.arange(50), row[:, j].astype(int)]
        score = net.margin(base, row)
        np.testing.assert_allclose(score, form.margin(row)[:, 0], atol=1e-9)
        assert (score <= total + 1e-9).all()


@pytest.mark.parametrize("model", ["lr", "mlp"])
def test_who_stands_between_two_steps_is_bounded_at_once(model):
    """A box from where they stand to the next step was split into itself until no more boxes were allowed."""
    schema = Schema(
        (
            Feature(name="a", kind="integer", low=1, high=7, step=2),
            Feature(name="b", kind="integer", low=0, high=9),
        )
    ).with_rules("exactly 1 change")
    rng = np.random.default_rng(0)
    table = np.column_stack([rng.choice([1, 3, 5, 7], 200), rng.integers(0, 10, 200)]).astype(float)
    fitted = train(model, schema, table, (table @ [1.0, 1.0] > 9).astype(int))
    problem = Problem(schema, fitted, Target(1), data=table)
    x = np.array([[2.0, 3.0], [4.0, 1.0], [6.0, 0.0], [2.0, 0.0]])
    people = problem.population(x[~problem.reached(x)[0]])
    acts = [(a, np.nan) for a in (1, 3, 5, 7)] + [(np.nan, b) for b in range(10)]
    best = problem.check(people.x, np.tile(np.array(acts), (people.n, 1, 1)), 1).cost[:, 0]
    assert np.isfinite(best).any()
    found = RelaxedBoxes.of(problem).least_cost(people, np.full(people.n, 1e9), 300)
    np.testing.assert_allclose(found, np.minimum(best, 1e9), rtol=1e-6)
