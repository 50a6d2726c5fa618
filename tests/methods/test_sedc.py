"""sedc: the published fixtures, brute force on small sets, and the sorted prefix of linear scores."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from wayforward import Feature, Preferences, Problem, Schema, Target, recommend, wrap
from wayforward.errors import MethodError
from wayforward.methods import method
from wayforward.methods.engines.edits import _best, _Frontier, _mark
from wayforward.problem.cost import LpMix
from wayforward.testing import MethodContract


class TestSedc(MethodContract):
    method = "sedc"
    parameters = {"reference": "prototype"}
    kinds = ("linear", "forest", "network")
    finds = 0.5
    people = 10


def units(weight, bar, **more):
    """A linear score of present units, w x + bar: the answer that is wanted is that it is not above 0."""
    weight = np.asarray(weight, dtype=float)
    schema = Schema(tuple(Feature(name=f"u{j}", kind="binary", levels=(0, 1)) for j in range(len(weight))))

    def probability(rows):
        return 1 / (1 + np.exp(np.clip(rows @ weight + bar, -30, 30)))

    return Problem(schema, wrap(probability, schema), Target(1), cost=LpMix(l0=1, l1=0), **more)


def sets(got, i=0):
    return [set(np.flatnonzero(~np.isnan(action)).tolist()) for action in got.action[i][got.found[i]]]


@pytest.mark.parametrize(("bar", "first"), [(-4.2, {0}), (-2.0, {0, 1})])
def test_the_fixture_of_the_paper(bar, first):
    """w = (3, 2, 1, .5), everything present: the heaviest unit, then the two heaviest."""
    got = recommend(units((3, 2, 1, 0.5), bar), np.ones((1, 4)), method="sedc", k=2)
    assert sets(got)[0] == first


def test_sets_are_irreducible_and_the_first_is_a_smallest_one():
    """Linear scores beside every subset of up to ten units."""
    rng = np.random.default_rng(0)
    for _ in range(6):
        weight, x = rng.normal(0.4, 1, 10), (rng.random((8, 10)) < 0.8).astype(float)
        bar = -0.4 * np.maximum(x @ np.maximum(weight, 0), 0.1).min()
        it = units(weight, bar)
        got = recommend(it, x, method="sedc", k=3)
        for i in range(len(x)):
            subsets = (np.array(s) for s in itertools.product((0.0, 1.0), repeat=10))
            # what is present goes; nothing is added, for nought is the only reference
            ways = [s for s in subsets if (s <= x[i]).all() and it.reached((x[i] - s)[None])[0][0]]
            if got.accepted[i] or not ways:
                assert not got.found[i].any()
                continue
            assert len(sets(got, i)[0]) == min(int(s.sum()) for s in ways)
            for found in sets(got, i):
                less = [found - {unit} for unit in found]
                rows = np.array([[0.0 if j in s else x[i, j] for j in range(10)] for s in less])
                assert not it.reached(rows)[0].any()
            assert not any(a < b for a, b in itertools.permutations(sets(got, i), 2))


def test_rules_limits_and_the_number_of_units_are_kept():
    it = units((3, 2, 1, 0.5), -2.0)
    x = np.ones((3, 4))
    wish = Preferences.none(it.schema, 3).freeze("u0", who=[0]).at_most(1, who=[1])
    got = recommend(it, x, method="sedc", preferences=wish)
    assert not got.found[0, 0] and not got.found[1, 0] and sets(got, 2) == [{0, 1}]
    assert not recommend(it, x, method="sedc", most=1).found.any()
    with pytest.raises(MethodError, match="reference"):
        method("sedc", reference="nothing")


def test_it_goes_on_from_a_set_that_is_not_the_best():
    """Of four units only the last two together turn the answer, and they look worst at first."""
    schema = Schema(tuple(Feature(name=f"u{j}", kind="binary", levels=(0, 1)) for j in range(4)))

    def probability(rows):
        gone = rows == 0
        return np.where(gone[:, 2] & gone[:, 3], 0.9, 0.1 + 0.05 * gone[:, 0] + 0.04 * gone[:, 1])

    it = Problem(schema, wrap(probability, schema), Target(1))
    got = recommend(it, np.ones((1, 4)), method="sedc", k=2)
    assert sets(got)[0] == {2, 3}
    assert recommend(it, np.ones((1, 4)), method="sedc", expansions=1).found.sum() == 0


def test_the_best_children_are_those_of_a_stable_sort():
    rng = np.random.default_rng(0)
    worth = rng.integers(0, 40, (50, 300)).astype(float)
    worth[worth < 12] = -np.inf
    worth[0] = -np.inf
    for w in (1, 32, 300):
        np.testing.assert_array_equal(_best(worth, w), np.argsort(-worth, axis=1, kind="stable")[:, :w])


def test_a_state_is_known_again_in_whatever_order_it_was_made():
    """Two words in both orders, noughts of both signs; words at other values, and other words, are other states."""
    unit, value = np.array([3, 7, 3, 4, 3]), np.array([0.0, 1.0, -0.0, 0.0, 1.0])
    mark = _mark(unit, value)
    assert mark[0] == mark[2] and len(set(mark.tolist())) == 4
    assert (_mark(unit, np.full(5, np.nan)) == 0).all()
    there = np.full((1, 9), np.nan)
    there[0, [3, 7]] = 0.0, 1.0
    frontier = _Frontier(states=[there], marks=[mark[:1] + mark[1:2]])
    who, again = np.zeros(2, dtype=int), np.repeat(there, 2, axis=0)
    again[1, 7] = np.nan
    assert frontier.expanded(who, again, np.array([mark[1] + mark[0], mark[0]])).tolist() == [True, False]
    assert not frontier.expanded(who, again[::-1], np.repeat(mark[:1] + mark[1:2], 2))[
        0
    ]  # alike is not the same
