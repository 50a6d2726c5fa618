"""growing-spheres: radii in high dimension, half-spaces, balls, and what makes it end."""

from __future__ import annotations

import numpy as np
import pytest

from wayforward import Feature, Outcome, Problem, Schema, Target, wrap
from wayforward.errors import MethodError
from wayforward.methods.base import Budget
from wayforward.methods.growing_spheres import GrowingSpheres, SphereSearch, shell_radius
from wayforward.preferences import Preferences
from wayforward.problem.batching import tidy
from wayforward.testing import MethodContract, case
from wayforward.testing.problems import random_model, random_people, random_schema


class TestContract(MethodContract):
    method = "growing-spheres"
    parameters = {"samples": 300}
    finds = 0.8


def cube(d, **more):
    return Schema(tuple(Feature(name=f"x{j}", kind="real", low=0, high=1, **more) for j in range(d)))


def black_box(schema, yes):
    """A problem around a rule (m, d) -> (m,) bool that gives labels only."""
    model = wrap(lambda rows: yes(rows).astype(np.int64), schema, output="label", classes=(0, 1))
    return Problem(schema, model, Target(1))


def first_hits(problem, x, seed=0, **parameters):
    """Distances of the nearest accepted samples, before anything is undone."""
    method = GrowingSpheres(**parameters).fit(problem)
    search = SphereSearch(method, problem.population(x), 1, seed, 10**9)
    while search.advance():
        pass
    return search.far[:, 0]


# -- radii -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 10, 500, 20_000])
def test_radii_do_not_underflow(d):
    """r^(d - 1) on [0.1, 0.2]: r^d itself is 0 in floating point from d = 500 on."""
    share = np.linspace(0.001, 0.999, 999)
    radius = shell_radius(share, np.array(0.1), np.array(0.2), np.array(d))
    assert ((radius >= 0.1) & (radius <= 0.2)).all()
    assert (np.diff(radius) >= 0).all()
    assert radius[0] > 0.1 if d < 1000 else radius[0] > 0.199


@pytest.mark.parametrize(("inner", "outer"), [(0.0, 0.5), (0.3, 0.5)])
def test_radii_are_uniform_in_volume(inner, outer):
    """Share of the shell's volume inside the radius = the quantile."""
    share = np.linspace(0.01, 0.99, 99)
    for d in (1, 3, 8):
        radius = shell_radius(share, np.array(inner), np.array(outer), np.array(d))
        np.testing.assert_allclose((radius**d - inner**d) / (outer**d - inner**d), share, rtol=1e-9)


# -- where the first hit lies ------------------------------------------------------------------------------


@pytest.mark.parametrize("direction", [(1, 0, 0), (1, 1, 0), (2, -1, 1)])
@pytest.mark.parametrize("margin", [0.004, 0.03, 0.35])
def test_half_spaces_are_hit_within_two_shells(direction, margin):
    """E5.1: hit radius in [D / |w|, D / |w| + 2 steps]; zooming in has brought the step to 9/5 of a tenth or less."""
    w = np.array(direction) / np.linalg.norm(direction)
    centre = np.full(3, 0.5)
    problem = black_box(cube(3), lambda rows: (rows - centre) @ w >= margin)
    far = first_hits(problem, centre[None])[0]
    radius = 0.1 * 10.0 ** -np.floor(np.log10(0.1 / margin) + 1e-9) if margin < 0.1 else 0.1
    step = 9 * (radius / 10 if margin < radius else radius) / 5
    assert margin <= far <= margin + 2 * max(step, 1.8 * margin / 10)


@pytest.mark.parametrize("radius", [0.02, 0.2, 0.4])
def test_the_outside_of_a_ball_is_hit_in_its_first_shell(radius):
    centre = np.full(2, 0.5)
    problem = black_box(cube(2), lambda rows: np.linalg.norm(rows - centre, axis=1) >= radius)
    far = first_hits(problem, centre[None])[0]
    assert radius <= far <= radius * 1.1 + 1e-9  # 1000 samples: the nearest lies close to the edge


def test_frozen_features_are_no_dimensions(linear):
    """100 features of which two are free: as quick to hit as in two dimensions, and nothing else moves."""
    schema = cube(100)
    problem = black_box(schema, lambda rows: rows[:, 0] + rows[:, 1] >= 1.2)
    wish = Preferences.none(schema, 1).freeze(*schema.names[2:])
    got = GrowingSpheres(samples=100).fit(problem).recommend(np.full((1, 100), 0.5), preferences=wish)
    assert got.outcome[0, 0] is Outcome.FOUND
    assert np.isnan(got.action[0, 0, 2:]).all()
    assert got.cost[0, 0] < 0.35
    search = SphereSearch(
        GrowingSpheres().fit(problem), problem.population(np.full((1, 100), 0.5), wish), 1, 0, 1000
    )
    assert search.dimension.tolist() == [2]


def test_needless_changes_are_undone():
    """Only x0 decides; the sample moved all ten features."""
    problem = black_box(cube(10), lambda rows: rows[:, 0] >= 0.7)
    got = GrowingSpheres().fit(problem).recommend(np.full((3, 10), 0.5))
    assert ((~np.isnan(got.action[:, 0])).sum(1) == 1).all()
    assert (got.after[:, 0, 0] >= 0.7).all()


def test_categories_move_as_whole_levels():
    """Only one category and a whole number decide; no row between levels is ever shown to the model."""
    schema = Schema(
        (
            Feature(name="c", kind="categorical", levels=("x", "y", "z")),
            Feature(name="i", kind="integer", low=0, high=10),
            Feature(name="b", kind="binary", levels=(0, 1)),
        )
    )

    def yes(rows):
        assert (rows == np.round(rows)).all()
        return (rows[:, 0] == 2) & (rows[:, 1] >= 3)

    got = (
        GrowingSpheres(samples=500).fit(black_box(schema, yes)).recommend(np.array([[0, 1, 0], [1, 9, 1.0]]))
    )
    np.testing.assert_array_equal(got.action[0, 0], [2, 3, np.nan])
    np.testing.assert_array_equal(got.action[1, 0], [2, np.nan, np.nan])


def test_levels_that_a_person_does_not_want_are_not_drawn():
    schema = Schema((Feature(name="c", kind="categorical", levels=tuple("wxyz")),))
    problem = black_box(schema, lambda rows: rows[:, 0] >= 2)
    wish = Preferences.none(schema, 1).forbid("c", "y")
    got = GrowingSpheres(samples=200).fit(problem).recommend(np.zeros((1, 1)), preferences=wish)
    assert got.after[0, 0, 0] == 3


# -- it ends -----------------------------------------------------------------------------------------------


def test_where_nothing_is_accepted_it_ends():
    """The published loop grows for ever; this one stops when every sample is a corner of the box."""
    problem = black_box(cube(4), lambda rows: rows[:, 0] > 2)
    got = GrowingSpheres(samples=50).fit(problem).recommend(np.full((2, 4), 0.5))
    assert (got.outcome == Outcome.NOT_FOUND).all()
    assert got.meta["model_rows"] < 2 * 50 * 40


def test_the_budget_is_kept():
    problem = black_box(cube(4), lambda rows: rows[:, 0] > 2)
    got = GrowingSpheres(samples=50).fit(problem).recommend(np.full((2, 4), 0.5), budget=Budget(120))
    assert got.meta["model_rows"] <= 2 * 120


def test_a_hard_feature_moves_less():
    """Weight 20 on x0: the sample that turns the decision with x1 is nearer."""
    from dataclasses import replace

    schema = cube(2)
    problem = black_box(schema, lambda rows: rows.sum(1) >= 1.3)
    wish = replace(Preferences.none(schema, 1), weight=np.array([[20.0, 1.0]]))
    got = GrowingSpheres().fit(problem).recommend(np.full((1, 2), 0.5), preferences=wish)
    np.testing.assert_allclose(got.after[0, 0], [0.5, 0.8], atol=0.05)


@pytest.mark.parametrize("kind", ["linear", "forest", "label"])
def test_the_last_step_makes_nothing_dearer_and_nobody_lost(kind):
    """The same samples with and without it; without it the nearest row is kept as published."""
    it = case(kind, "independent")
    plain = GrowingSpheres(samples=300, shrink=False).fit(it.problem).recommend(it.x)
    moved = GrowingSpheres(samples=300).fit(it.problem).recommend(it.x)
    np.testing.assert_array_equal(moved.found, plain.found)
    both = plain.found[:, 0]
    assert (moved.cost[both, 0] <= plain.cost[both, 0] + 1e-12).all()
    assert moved.cost[both, 0].mean() < plain.cost[both, 0].mean()


def test_a_hundred_samples_cost_no_more_than_a_thousand_published_ones():
    """On a network, over three seeds: what makes the method ten times as quick does not make it dearer."""
    it = case("network", "independent", 0, 60)
    few, many = GrowingSpheres(), GrowingSpheres(samples=1000, shrink=False)
    cost = {}
    for name, method in (("few", few), ("many", many)):
        answers = [method.fit(it.problem).recommend(it.x[it.refused], seed=seed) for seed in range(3)]
        assert np.mean([a.found.mean() for a in answers]) >= 0.9
        cost[name] = np.mean([a.cost[a.found].mean() for a in answers])
        cost[name + " rows"] = np.mean([a.meta["model_rows"] for a in answers])
    assert cost["few"] <= cost["many"]
    assert cost["few rows"] < 0.25 * cost["many rows"]


@pytest.mark.parametrize("rules", [True, False])
def test_the_short_cut_for_boxes_says_what_the_long_way_says(rules):
    """Where no rule and no world is in the way, snapped rows are shown to the model at once."""
    rng = np.random.default_rng(0)
    schema = random_schema(rng, rules=rules)
    x = random_people(schema, 30, rng)
    problem = Problem(schema, random_model(schema, x, "linear"), Target(favourable=1), data=x)
    people = problem.population(x)
    assert people.box_is_enough is not rules
    search = SphereSearch(GrowingSpheres().fit(problem), people, 1, 0, 10**6)
    who = np.repeat(np.arange(30), 20)
    action = tidy(people, who, rng.uniform(schema.low, schema.high, (600, schema.d)))
    keep = ~np.isnan(action).all(1)
    quick = search._ask(who[keep], action[keep])
    np.testing.assert_array_equal(quick, people.evaluate(who[keep], action[keep]).reached)
    assert quick.any()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"samples": 0}, "samples=0"),
        ({"radius": 0}, "radius=0"),
        ({"zoom": 1}, "zoom=1"),
        ({"shells": 0}, "shells=0"),
    ],
)
def test_wrong_parameters_are_named(parameters, message):
    with pytest.raises(MethodError, match=message):
        GrowingSpheres(**parameters)
