"""Kernels that several methods share: giving changes back, and choosing distinct options."""

from __future__ import annotations

import numpy as np
import pytest

from wayforward import Feature, Schema
from wayforward.methods.engines.polish import revert, shrink
from wayforward.problem.batching import ask, distinct_changes, tidy
from wayforward.testing import case


def sampled(kind, world):
    """Valid random actions of one case: people, who (m,), action (m, d)."""
    it = case(kind, world, 0, 40)
    people = it.problem.population(it.x[it.refused])
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(people.n), 200)
    share = rng.random((len(who), people.d))
    wanted = people.low[who] + share * (people.high[who] - people.low[who])
    action = tidy(people, who, np.where(rng.random(wanted.shape) < 0.6, np.round(wanted), np.nan))
    good = ask(people, who, action)[1]
    assert good.sum() > 50
    return people, who[good], action[good]


@pytest.mark.parametrize("kind", ["linear", "forest"])
@pytest.mark.parametrize("world", ["independent", "causal"])
def test_the_polish_keeps_the_decision_and_never_costs_more(kind, world):
    people, who, action = sampled(kind, world)
    for polished in (
        revert(people, who, action, people.parts(who, action)),
        shrink(people, who, action),
    ):
        assert ask(people, who, polished)[1].all()
        assert (people.cost(who, polished) <= people.cost(who, action) + 1e-12).all()
    assert (~np.isnan(revert(people, who, action, people.parts(who, action)))).sum() < (
        ~np.isnan(action)
    ).sum()


def test_after_enough_sweeps_no_change_can_be_given_back():
    people, who, action = sampled("linear", "independent")
    done = revert(people, who, action, people.parts(who, action), sweeps=9)
    for j in range(people.d):
        rows = np.flatnonzero(~np.isnan(done[:, j]) & ((~np.isnan(done)).sum(1) > 1))
        fewer = done[rows].copy()
        fewer[:, j] = np.nan
        assert not ask(people, who[rows], fewer)[1].any()


def test_shrinking_a_single_feature_ends_on_the_boundary(linear):
    schema = Schema(
        (Feature(name="a", kind="real", low=0, high=8), Feature(name="b", kind="integer", low=0, high=8))
    )
    people = linear(schema, -3.3, {"a": 1, "b": 1}).population(np.zeros((2, 2)))
    got = shrink(people, np.array([0, 1]), np.array([[8.0, np.nan], [np.nan, 8.0]]), halvings=30)
    np.testing.assert_allclose(got, [[3.3, np.nan], [np.nan, 4.0]], atol=1e-6)


def test_distinct_options_differ_in_what_they_change_first(linear):
    """Cheapest of each set of changes before second helpings of a set; the order of candidates does not matter."""
    schema = Schema(tuple(Feature(name=n, kind="integer", low=0, high=10) for n in "ab"))
    people = linear(schema, -1, {"a": 1}).population(np.zeros((2, 2)))
    nan = np.nan
    action = np.array([[3, nan], [1, nan], [2, nan], [nan, 7], [1, 1]], dtype=float)
    for order in (np.arange(5), np.arange(5)[::-1]):
        got = distinct_changes(people, np.full(5, 1), action[order], 4)
        np.testing.assert_array_equal(got[1], [[1, nan], [1, 1], [nan, 7], [2, nan]])
        assert np.isnan(got[0]).all()
