"""lime-c, shap-c and shap-counterfactuals: rankings are exact on lines, and what ranks first may explain nothing."""

from __future__ import annotations

import numpy as np
import pytest

from wayforward import Feature, Preferences, Problem, Schema, Target, recommend, wrap
from wayforward.methods.engines.rankings import line_weights, shapley_values
from wayforward.problem.cost import LpMix
from wayforward.streams import Streams
from wayforward.testing import MethodContract


class TestLimeC(MethodContract):
    method = "lime-c"
    parameters = {"reference": "prototype", "samples": 60}
    kinds = ("linear", "forest", "network")
    worlds = ("independent",)
    finds = 0.5
    people = 8


class TestShapC(MethodContract):
    method = "shap-c"
    parameters = {"reference": "prototype", "samples": 60}
    kinds = ("linear", "forest", "network")
    worlds = ("independent",)
    finds = 0.5
    people = 8


class TestShapCounterfactuals(MethodContract):
    method = "shap-counterfactuals"
    parameters = {"reference": "prototype"}
    worlds = ("independent",)
    finds = 0.5
    people = 8


def units(d, probability, **cost):
    schema = Schema(tuple(Feature(name=f"u{j}", kind="binary", levels=(0, 1)) for j in range(d)))
    return Problem(schema, wrap(probability, schema), Target(1), cost=LpMix(**(cost or {"l0": 1, "l1": 0})))


def line(weight, bar):
    return units(len(weight), lambda rows: 1 / (1 + np.exp(np.clip(rows @ weight + bar, -30, 30))))


@pytest.mark.parametrize("name", ["lime-c", "shap-c", "shap-counterfactuals"])
def test_on_a_line_the_set_is_that_of_sedc(name):
    """Twelve units, forty people: the sorted prefix, from a ranking alone."""
    rng = np.random.default_rng(2)
    weight, x = rng.normal(0.5, 1, 12), (rng.random((40, 12)) < 0.8).astype(float)
    it = line(weight, -0.45 * float(np.maximum(x * weight, 0).sum(1).min()))
    more = {"reference": "removed"} if name == "shap-counterfactuals" else {}
    one, two = recommend(it, x, method=name, **more), recommend(it, x, method="sedc")
    assert one.found.sum() > 20
    np.testing.assert_array_equal(np.isnan(one.action), np.isnan(two.action))


def test_both_rankings_are_the_weights_of_a_line():
    rng = np.random.default_rng(3)
    weight, x = rng.normal(0, 1, 8), (rng.random((6, 8)) < 0.7).astype(float)
    people = line(weight, 0.3).population(x)
    value, streams = np.where(x == 1, 0.0, np.nan), Streams.of(x, 0)
    exact = np.where(x == 1, weight, 0.0)
    np.testing.assert_allclose(shapley_values(people, value, streams, 1), exact, atol=1e-9)
    np.testing.assert_allclose(line_weights(people, value, streams, 200), exact, atol=1e-3)


def test_the_feature_with_the_greatest_shapley_value_may_explain_nothing():
    """u0 adds most, yet never across the bar: it takes u1 and u2, and u0 is in no set (Fernandez-Loria et al.)."""

    def probability(rows):
        gone = rows == 0
        return np.where(gone[:, 1] & gone[:, 2], 0.6, np.where(gone[:, 0], 0.4, 0.1))

    it, x = units(3, probability), np.ones((1, 3))
    values = shapley_values(it.population(x), np.zeros((1, 3)), Streams.of(x, 0), 600)[0]
    odds = np.log(np.array([0.1, 0.4, 0.6]) / np.array([0.9, 0.6, 0.4]))
    first = 2 / 3 * (odds[1] - odds[0])  # not where u1 and u2 went before
    np.testing.assert_allclose(values, [first, *[(odds[2] - odds[0] - first) / 2] * 2], atol=0.1)
    assert values.argmax() == 0
    got = recommend(it, x, method="shap-counterfactuals", reference="removed", k=3)
    assert [np.flatnonzero(~np.isnan(a)).tolist() for a in got.action[0][got.found[0]]] == [[1, 2]]
    # the ranking goes through u0; the judge takes it out
    assert np.flatnonzero(~np.isnan(recommend(it, x, method="shap-c").action[0, 0])).tolist() == [1, 2]


def test_costs_decide_which_of_two_features_goes():
    """Either one at its mean does: 6 tenths for a, 4 for b; who finds b twice as hard is given a."""
    schema = Schema(tuple(Feature(name=n, kind="real", low=0, high=10) for n in ("a", "b")))
    model = wrap(lambda rows: 1 / (1 + np.exp(rows.sum(1) - 11.5)), schema)
    it = Problem(schema, model, Target(1), data=np.array([[1.0, 4.0], [3.0, 2.0]]))  # means 2 and 3
    x = np.array([[8.0, 7.0]] * 2)
    wish = Preferences.none(schema, 2).weigh(b=2.0, who=[1])
    got = recommend(it, x, method="shap-counterfactuals", k=2, preferences=wish)
    np.testing.assert_allclose(got.cost, [[0.4, 0.6], [0.6, 0.8]])
    np.testing.assert_array_equal(got.action[:, 0], [[np.nan, 3.0], [2.0, np.nan]])
