"""The least change that is worth an effort: nobody is advised to move a feature by less."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wayforward as wf
from wayforward.errors import ProblemError, SchemaError
from wayforward.evaluate import second_opinion
from wayforward.preferences import Preferences
from wayforward.problem import LpMix, Problem, Target
from wayforward.recourse import Outcome
from wayforward.schema import Feature, Schema
from wayforward.testing.problems import case


def money(least=100.0, step=None, **more):
    return Feature(
        name="savings", kind="real", low=0, high=10_000, unit="EUR", step=step, least_change=least, **more
    )


def above(limit):
    """A model that says yes to savings of `limit` and more."""
    return lambda x: (np.asarray(x)[:, 0] >= limit).astype(float)


@pytest.mark.parametrize(
    ("x", "limit", "to"),
    [(1000, 1004, 1100), (1000, 1100, 1100), (1000, 1250, 1250), (9950, 9990, None)],
)
def test_a_plan_goes_as_far_as_it_must_and_by_the_least_change_at_least(x, limit, to):
    """By hand: 1,000 to 1,004 EUR becomes 1,100; 1,250 is farther anyway; there is no room for 100 above 9,950."""
    problem = Problem(Schema((money(),)), above(limit), Target(favourable=1))
    got = wf.recommend(problem, np.array([[float(x)]]))
    if to is None:
        assert not got.found.any()
    else:
        assert got.after[0, 0, 0] == pytest.approx(to, abs=0.5)


def test_who_could_only_move_by_less_is_proved_to_have_no_way_and_has_one_where_every_change_counts():
    schema = Schema((money(step=10.0),))
    x, wish = np.array([[1000.0]]), Preferences.none(schema, 1).limit("savings", high=1090.0)
    for model in (above(1050), wf.wrap(above(1050), schema)):
        got = wf.recommend(Problem(schema, model, Target(favourable=1)), x, preferences=wish)
        assert got.outcome[0, 0] is Outcome.NONE_EXISTS
        every = Problem(schema, model, Target(favourable=1), least_change=None)
        assert wf.recommend(every, x, preferences=wish).after[0, 0, 0] == 1050


def test_the_judge_and_the_second_opinion_refuse_what_is_too_little_and_nothing_else():
    schema = Schema((money(), replace(money(), name="income")))
    problem = Problem(schema, lambda x: np.ones(len(x)) * (x.sum(1) > 2000), Target(favourable=1))
    x = np.array([[1000.0, 1000.0]])
    action = np.array([[[1004.0, np.nan], [np.nan, 1100.0], [1100.0, 1099.0], [900.0, 1101.0]]])
    got = problem.check(x, action, 4)
    np.testing.assert_array_equal(np.sort(got.action[0, got.found[0]], axis=0)[0], [900, 1100])
    assert got.found.sum() == 2
    every = Problem(schema, problem.model, Target(favourable=1), least_change=None)
    told = every.check(x, action, 4)
    assert told.found.all()
    np.testing.assert_array_equal(second_opinion(problem, told).usable.sum(), 2)
    assert second_opinion(every, told).usable.all()


def test_half_of_it_and_more_is_rounded_up_to_it_less_to_none_and_holding_is_no_move():
    stepped = Feature(name="steps", kind="real", low=0, high=10_000, step=30.0, least_change=100.0)
    schema = Schema((money(), stepped))
    problem = Problem(schema, lambda x: np.zeros(len(x)), Target(favourable=1))
    people = problem.population(np.array([[1000.0, 900.0]]))
    told = np.array([[1060.0, 960.0], [1040.0, 930.0], [930.0, 840.0], [1000.0, 900.0], [1500.0, 1020.0]])
    snapped = people.snap(np.zeros(5, dtype=int), told)
    np.testing.assert_array_equal(
        snapped, [[1100, 1020], [np.nan, np.nan], [900, 780], [1000, 900], [1500, 1020]]
    )
    assert not people.too_little(np.zeros(5, dtype=int), snapped).any()


METHODS = (
    "local-search",
    "nearest-observable",
    "nice",
    "growing-spheres",
    "dice",
    "wachter",
    "face",
    "causal-oracle",
)


def meaningful(it):
    """The problem of a case with least changes, in shares of what the features range over."""
    least = {"income": 500.0, "savings": 3000.0, "debt": 1500.0}
    schema = it.problem.schema.revise({name: {"least_change": value} for name, value in least.items()})
    old = it.problem
    return (
        Problem(schema, old.model, old.target, data=old.reference, cost=LpMix(l1=1.0))
        if old.independent
        else old.with_(schema=schema)
    )


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("kind", "world"),
    [("linear", "independent"), ("forest", "independent"), ("network", "independent"), ("forest", "causal")],
)
def test_no_option_of_any_method_moves_a_feature_by_less(method, kind, world):
    it = case(kind, world, 0, 16)
    problem = meaningful(it)
    got = wf.recommend(problem, it.x, method=method, k=2, seed=1)
    moved = np.abs(got.action - got.x[:, None])
    assert not ((moved > 1e-6) & (moved < problem.least_change - 1e-6)).any()
    assert second_opinion(problem, got).usable[got.found].all()
    assert got.found[it.refused, 0].mean() > 0.4


@pytest.mark.parametrize("kind", ["linear", "forest", "network"])
@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 30))
def test_the_compiled_search_is_no_dearer_than_every_single_change(kind, seed):
    """Brute force over single changes of numbers, on both sides of the hole: never cheaper than what was found."""
    it = case(kind, "independent", seed % 3, 12)
    problem = meaningful(it)
    x = it.x[~problem.reached(it.x)[0]][:4]
    people = problem.population(x)
    got = wf.recommend(problem, x)
    for name in ("income", "savings", "debt"):
        j = problem.schema.index(name)
        value = np.linspace(problem.schema.low[j], problem.schema.high[j], 400)
        who = np.repeat(np.arange(len(x)), len(value))
        action = np.full((len(who), people.d), np.nan)
        action[:, j] = np.tile(value, len(x))
        action = people.snap(who, action)
        seen = people.evaluate(who, action)
        cost = np.where(seen.reached & ~np.isnan(action).all(1), seen.cost, np.inf).reshape(len(x), -1).min(1)
        assert (got.cost[:, 0] <= cost + 1e-6).all()


def test_a_schema_checks_it_keeps_it_in_its_file_and_proposes_it():
    with pytest.raises(SchemaError, match="above zero"):
        money(least=0.0)
    with pytest.raises(SchemaError, match="least_change"):
        Feature(name="a", kind="categorical", levels=("x", "y"), least_change=1.0)
    with pytest.raises(ProblemError, match="least_change"):
        Problem(Schema((money(),)), above(1), Target(favourable=1), least_change=5)
    schema = Schema((money(), replace(money(None), name="income")))
    assert Schema.from_yaml(schema.to_yaml()) == schema
    assert "least_change" not in replace(schema, features=schema.features[1:]).to_yaml()
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "savings": np.round(rng.uniform(0, 20_000, 400)),
            "age": np.round(rng.uniform(18, 60, 400)),
            "share": rng.uniform(0, 1, 400),
            "rate": np.round(rng.uniform(0, 90, 400), 1),
            "few": np.repeat([1.5, 2.5], 200),
        }
    )
    # a fiftieth of 10,000 is 200; of 21 years less than a year; of .5 it is .01; of 45 it is .9, so .5
    assert [f.least_change for f in Schema.infer(table).features] == [200, None, 0.01, 0.5, None]


def test_a_few_values_that_many_people_have_are_as_far_apart_as_a_change_must_be():
    sizes = [120.0, 160.0, 200.0, 250.0, 300.0, 400.0]
    plots = pd.DataFrame({"plot": np.repeat(sizes, 20)})
    assert Schema.infer(plots).features[0].least_change == 20.0
    assert "by 20 or more" in repr(Schema.infer(plots))
    assert (
        Schema.infer(pd.DataFrame({"plot": np.repeat(sizes, 19)})).features[0].least_change is None
    )  # there may be more sizes
    assert (
        Schema.infer(pd.DataFrame({"year": np.repeat([1.0, 2.0, 3.0, 8.0], 50)})).features[0].least_change
        is None
    )
