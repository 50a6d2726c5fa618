"""nice: the additive fixture, its variants, and what makes it usable."""

from __future__ import annotations

import numpy as np
import pytest

import wayforward as wf
from wayforward import Feature, Outcome, Schema
from wayforward.errors import DataError, MethodError, UnsupportedModel
from wayforward.methods.nice import Nice
from wayforward.testing import MethodContract, case


class TestContract(MethodContract):
    method = "nice"
    kinds = ("linear", "forest", "network")
    finds = 0.9


class TestProximityContract(MethodContract):
    method = "nice"
    parameters = {"reward": "proximity", "polish": True, "neighbours": 3}
    kinds = ("linear", "forest", "network")
    finds = 0.9


def bits(**more):
    return Schema(
        tuple(Feature(name=n, kind="integer", low=0, high=1, **more.get(n, {})) for n in "abcd"),
        more.get("rules", ()),
    )


WEIGHTS = {"a": 0.4, "b": 0.3, "c": 0.2, "d": 0.1}
TABLE = np.array([[1, 1, 1, 1], [0, 0, 0, 0.0]])


@pytest.mark.parametrize("reward", ["sparsity", "proximity", "plausibility"])
def test_the_additive_fixture(linear, reward):
    """E7.2: w = (.4, .3, .2, .1), x = 0000, neighbour 1111, threshold .5 -> (1, 1, 0, 0), the brute-force minimum."""
    problem = linear(bits(), -0.5, WEIGHTS, TABLE)
    got = Nice(reward=reward).fit(problem).recommend(np.zeros((1, 4)))
    np.testing.assert_array_equal(got.after[0, 0], [1, 1, 0, 0])


def test_none_is_the_nearest_neighbour_itself():
    """The variant 'none' equals nearest-observable, whose cost is HEOM's distance where ranges are the schema's."""
    it = case("linear", "independent", 0, 40)
    near = wf.recommend(it.problem, it.x, method="nearest-observable", pool=None)
    span = np.ptp(it.problem.reference, axis=0)
    same = wf.Problem(
        it.problem.schema, it.problem.model, it.problem.target, data=it.problem.reference, cost=ByRange(span)
    )
    near = wf.recommend(same, it.x, method="nearest-observable")
    none = Nice(reward="none").fit(same).recommend(it.x)
    np.testing.assert_array_equal(none.action, near.action)


def ByRange(span):  # noqa: N802
    """The default cost with the ranges that the reference shows."""
    from dataclasses import replace

    from wayforward.problem import LpMix

    class Observed(LpMix):
        def _fit(self, schema, reference):
            fitted = super()._fit(schema, reference)
            scales = fitted.scales
            return replace(fitted, scales=replace(scales, divisor=np.where(scales.categorical, 1.0, span)))

    return Observed()


def test_a_useless_neighbour_is_passed_over(linear):
    """The nearest accepted row is forbidden by a rule; the next is copied from."""
    schema = bits(rules=("after.a == before.a",))
    table = np.array([[1, 1, 0, 0], [1, 1, 1, 1], [0, 1, 1, 1.0], [0, 0, 0, 0]])
    got = Nice().fit(linear(schema, -0.45, WEIGHTS, table)).recommend(np.zeros((1, 4)))
    np.testing.assert_array_equal(got.after[0, 0], [0, 1, 1, 0])


def test_the_published_method_knows_no_immutable_feature(linear):
    """project=False copies a feature that nobody can change, and the judge refuses it; the default does not."""
    schema = bits(a={"actionability": "immutable"})
    problem = linear(schema, -0.45, WEIGHTS, TABLE)
    published = Nice(project=False).fit(problem).recommend(np.zeros((1, 4)))
    assert published.outcome[0, 0] is Outcome.NOT_FOUND
    ours = Nice().fit(problem).recommend(np.zeros((1, 4)))
    np.testing.assert_array_equal(ours.after[0, 0], [0, 1, 1, 0])


def test_justified_neighbours_are_classified_correctly(linear):
    """The nearest accepted row was a mistake of the model; with labels the next is taken."""
    table = np.array([[1, 1, 0, 0], [0, 1, 1, 1], [0, 0, 0, 0.0]])
    problem = linear(bits(), -0.5, WEIGHTS, table)
    x = np.zeros((1, 4))
    plain = Nice(reward="none").fit(problem).recommend(x, minimal=False)
    np.testing.assert_array_equal(plain.after[0, 0], [1, 1, 0, 0])
    justified = Nice(reward="none", labels=[0, 1, 0]).fit(problem).recommend(x, minimal=False)
    np.testing.assert_array_equal(justified.after[0, 0], [0, 1, 1, 1])
    unjustified = (
        Nice(reward="none", labels=[0, 1, 0], justified=False).fit(problem).recommend(x, minimal=False)
    )
    np.testing.assert_array_equal(unjustified.after[0, 0], [1, 1, 0, 0])
    with pytest.raises(DataError, match="labels of shape"):
        Nice(labels=[0, 1]).fit(problem)
    with pytest.raises(DataError, match="no accepted row whose label is favourable"):
        Nice(labels=[0, 0, 0]).fit(problem)


def test_copying_never_costs_more_than_the_neighbour_and_the_polish_never_more_than_copying():
    it = case("network", "independent", 0, 60)
    none, sparse, polished = (
        Nice(**p).fit(it.problem).recommend(it.x, minimal=False)
        for p in ({"reward": "none"}, {}, {"polish": True})
    )
    both = none.found[:, 0]
    assert both.sum() >= 20
    assert (sparse.cost[both, 0] <= none.cost[both, 0] + 1e-9).all()
    assert (polished.cost[both, 0] <= sparse.cost[both, 0] + 1e-9).all()
    assert polished.cost[both, 0].mean() < 0.95 * sparse.cost[both, 0].mean()


def test_everybody_steps_in_lockstep():
    """At most d calls for the copying, whatever the number of people (and a few for finding neighbours)."""
    it = case("linear", "independent", 0, 60)
    method = Nice().fit(it.problem)
    few = method.recommend(it.x[:10]).meta["model_calls"]
    many = method.recommend(np.repeat(it.x, 10, axis=0)).meta["model_calls"]
    d = it.problem.schema.d
    assert few <= d + 8
    assert many <= d + 8


def test_labels_alone_do_not_suffice():
    it = case("label", "independent", 0, 24)
    with pytest.raises(UnsupportedModel, match="'nice' needs a model that offers probability"):
        Nice().fit(it.problem)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"reward": "joy"}, "reward='joy'"),
        ({"scale": "iqr"}, "scale='iqr'"),
        ({"neighbours": 0}, "neighbours=0"),
    ],
)
def test_wrong_parameters_are_named(parameters, message):
    with pytest.raises(MethodError, match=message):
        Nice(**parameters)
