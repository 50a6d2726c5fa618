"""slopes: gradients where there are any, estimates by neighbouring rows elsewhere, with consequences."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from wayforward import SCM, Feature, Schema
from wayforward.errors import UnsupportedModel
from wayforward.methods.engines.gradient.slopes import slopes
from wayforward.methods.engines.gradient.zeroth import sphere, unit_vectors
from wayforward.testing import case


def lanes_of(found, people, seed=0, share=0.3):
    """Lanes somewhere within reach: some features moved, others not."""
    lanes = found.start(people, np.arange(people.n), people.free)
    low, high, _ = found.bounds(people, lanes.who)
    draw = np.random.default_rng(seed).random((2, *low.shape))
    way = np.where(high > 0.05, high, low) * share * draw[0] * (draw[1] < 0.5)
    lanes.move = np.where(lanes.free & ~people.schema.has_levels, way, 0.0)
    return lanes


@pytest.mark.parametrize("both", [True, False])
def test_random_directions_are_unbiased_for_a_linear_function(both):
    """Section 1.4 of the specification: E = w, relative error under 5 % with 20,000 directions (Nesterov 2017)."""
    w = np.array([1.0, -2.0, 0.5, 0.0, 3.0])
    directions = unit_vectors(np.random.default_rng(0).normal(size=(1, 20_000, 5)))
    got = sphere(lambda z: z @ w - 1.0, np.zeros((1, 5)), directions, 1e-2, both=both)[0]
    assert np.linalg.norm(got - w) < 0.05 * np.linalg.norm(w)


@pytest.mark.parametrize("world", ["independent", "causal"])
def test_estimates_agree_with_gradients_of_a_linear_score(world):
    """Numbers and levels, consequences included: a linear score leaves no room for error."""
    pytest.importorskip("torch")
    it = case("linear", world, 0, 24)
    people = it.problem.population(it.x[it.refused])
    true, guess = (slopes(it.problem, "mine", zeroth=z) for z in (False, True))
    assert true.exact and not guess.exact
    lanes = lanes_of(true, people)
    one, two = true(people, lanes), guess(people, lanes)
    np.testing.assert_allclose(two[0], one[0], atol=1e-9)
    number = ~people.schema.has_levels
    if world == "independent":
        np.testing.assert_allclose(two[1][:, number], one[1][:, number], rtol=1e-6, atol=1e-6)
        chosen = np.take_along_axis(one[2], lanes.share.argmax(2)[..., None], axis=2)
        np.testing.assert_allclose(two[2], np.where(two[2] != 0, one[2] - chosen, 0.0), atol=1e-9)
    else:
        close = np.isclose(two[1], one[1], rtol=1e-4, atol=1e-3)
        assert close[lanes.free & number].mean() > 0.9  # the expression of a kink may differ


def test_estimates_of_a_network_are_close_to_its_gradients():
    pytest.importorskip("torch")
    it = case("network", "independent", 0, 24)
    people = it.problem.population(it.x[it.refused])
    true, guess = (slopes(it.problem, "mine", zeroth=z) for z in (False, True))
    lanes = lanes_of(true, people)
    one, two = true(people, lanes), guess(people, lanes)
    smooth = people.schema.names.index("debt"), people.schema.names.index("savings")
    np.testing.assert_allclose(two[1][:, smooth], one[1][:, smooth], atol=0.15)


@pytest.mark.parametrize("kind", ["forest", "label"])
def test_steps_are_seen_in_a_wide_neighbourhood(kind):
    """Piecewise constant models: more income is never estimated to hurt, and somewhere it helps."""
    it = case(kind, "independent", 0, 40)
    people = it.problem.population(it.x[it.refused])
    guess = slopes(it.problem, "mine")
    assert not guess.exact
    lanes = guess.start(people, np.arange(people.n), people.free)
    income = people.schema.index("income")
    slope = np.mean([guess(people, lanes, turn=t)[1][:, income] for t in range(4)], axis=0)
    assert (slope > 0).mean() > 0.2
    assert slope.mean() > 0


def test_many_numbers_are_asked_along_random_directions(linear):
    """Above 50 numeric features: pairs along directions on the sphere, not a pair a feature; the mean is right."""
    d = 60
    schema = Schema(tuple(Feature(name=f"x{j}", kind="real", low=-50, high=50) for j in range(d)))
    w = np.random.default_rng(0).normal(size=d)
    problem = linear(schema, -4, {f"x{j}": w[j] for j in range(d)})
    people = problem.population(np.zeros((2, d)))
    guess = slopes(problem, "mine", zeroth=True, span=np.ones(d))
    lanes = guess.start(people, np.arange(2), people.free)
    turns = [guess(people, lanes, turn=t)[1] for t in range(200)]
    assert people.rows.max() == 200 * (1 + 2 * 64)
    mean = np.mean(turns, axis=0)
    assert (np.linalg.norm(mean - w, axis=1) < 0.15 * np.linalg.norm(w)).all()
    again = guess(people, lanes, turn=3)[1]
    np.testing.assert_array_equal(again, turns[3])


@pytest.mark.parametrize("world", ["independent", "causal"])
def test_a_lane_does_not_feel_the_others(world):
    """Alone and in a batch: the same numbers to the last bit, for estimates and for gradients."""
    for zeroth in (True, False):
        if not zeroth:
            pytest.importorskip("torch")
        it = case("network", world, 0, 24)
        people = it.problem.population(it.x[it.refused])
        found = slopes(it.problem, "mine", zeroth=zeroth)
        lanes = lanes_of(found, people)
        batch = found(people, lanes, turn=2)
        alone = it.problem.population(people.x[3:5])
        part = lanes.take(np.array([3, 4]))
        part.who = np.arange(2)
        for a, b in zip(found(alone, part, turn=2), batch, strict=True):
            np.testing.assert_array_equal(a, b[3:5])


def test_what_follows_counts(linear):
    """The model reads savings only, which follow from the salary: the slope is there before anything moves."""
    schema = Schema(
        (
            Feature(name="salary", kind="real", low=0, high=100),
            Feature(name="savings", kind="real", low=0, high=100, actionability="mutable"),
        )
    )
    world = SCM({"salary": "u", "savings": "0.5 * salary + u"})
    problem = linear(schema, -30, {"savings": 1.0}, world=world)
    people = problem.population(np.array([[20.0, 15.0]]))
    for zeroth in (True, False):
        if not zeroth:
            pytest.importorskip("torch")
        found = slopes(problem, "mine", zeroth=zeroth, span=np.array([100.0, 100.0]))
        score, move, _ = found(people, found.start(people, np.arange(1), people.free))
        np.testing.assert_allclose(score, -15)
        np.testing.assert_allclose(move, [[50.0, 0.0]], atol=1e-6)


def test_a_forest_has_no_gradients_and_says_what_would_do():
    pytest.importorskip("torch")
    it = case("forest", "independent", 0, 24)
    with pytest.raises(UnsupportedModel, match="'mine' needs gradients"):
        slopes(it.problem, "mine", zeroth=False)


@pytest.mark.slow
def test_estimates_need_no_torch():
    """The path by neighbouring rows never imports it."""
    code = (
        "import sys\n"
        "import numpy as np\n"
        "from wayforward.testing import case\n"
        "from wayforward.methods.engines.gradient.slopes import slopes\n"
        "it = case('forest', 'causal', 0, 24)\n"
        "people = it.problem.population(it.x)\n"
        "found = slopes(it.problem, 'mine')\n"
        "found(people, found.start(people, np.arange(people.n), people.free))\n"
        "assert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
