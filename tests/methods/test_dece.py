"""dece: few changes within ranges, and what options say about a subgroup."""

from __future__ import annotations

import numpy as np
import pytest

import wayforward as wf
from wayforward import Feature, Schema
from wayforward.errors import MethodError
from wayforward.methods.dece import Dece, best_split
from wayforward.testing import MethodContract, case

QUICK = {"steps": 16, "least": 8, "rate": 0.1}


class TestContract(MethodContract):
    method = "dece"
    parameters = QUICK
    finds = 0.7


def test_options_change_few_features_within_the_ranges():
    """No option moves more than two features, and what it sets lies within what was allowed."""
    it = case("network", "independent", 0, 60)
    some = it.x[it.refused]
    ranges = {"income": (0, 5000), "housing": ("rent", "own")}
    got = Dece(**QUICK, features=2, ranges=ranges).fit(it.problem).recommend(some, 3)
    action = got.action[got.found]
    assert len(action) > len(some)
    assert (~np.isnan(action)).sum(1).max() <= 2
    income, housing = (action[:, it.problem.schema.index(name)] for name in ranges)
    assert np.nanmax(income) <= 5000
    assert not (housing == 2).any()


def test_nearly_everybody_whom_local_search_serves_with_as_few_changes_is_served():
    """At most two changes each, by both."""
    it = case("forest", "independent", 0, 60)
    some = it.x[it.refused]
    wish = wf.Preferences.none(it.problem.schema, len(some)).at_most(2)
    base = wf.recommend(it.problem, some, preferences=wish)
    got = wf.recommend(it.problem, some, method=Dece(features=2))
    assert (base.found & got.found).sum() >= 0.95 * base.found.sum()


def question(linear):
    """Yes where income is at least 50; age says nothing."""
    schema = Schema(
        (
            Feature(name="age", kind="integer", low=18, high=80, actionability="immutable"),
            Feature(name="income", kind="real", low=0, high=100),
        )
    )
    rng = np.random.default_rng(0)
    x = np.stack([rng.integers(18, 81, 200), rng.uniform(0, 100, 200).round(1)], axis=1)
    return linear(schema, -5, {"income": 0.1}, data=x), x


def test_a_hypothesis_about_a_subgroup_stands_or_falls_by_options_within_it(linear):
    """'Young people under 40 are refused' is supported by all; 'under 90' by none, and the cut mends it."""
    problem, x = question(linear)
    trained = Dece().fit(problem)
    stands = trained.subgroup(x, {"age": (18, 40), "income": (0, 40)})
    assert stands.members == ((x[:, 0] <= 40) & (x[:, 1] <= 40)).sum()
    assert stands.accepted == 0
    assert stands.supported == 1.0
    falls = trained.subgroup(x, {"age": (18, 40), "income": (0, 90)})
    assert falls.supported == 0.0
    assert falls.accepted == ((x[:, 0] <= 40) & (x[:, 1] >= 50) & (x[:, 1] <= 90)).sum()
    j = problem.schema.index("income")
    assert falls.gain[j] == pytest.approx(1.0)
    refused = x[(x[:, 0] <= 40) & (x[:, 1] < 50), 1]
    assert refused.max() < falls.split[j] <= 50.5
    assert falls.low[j] >= 50
    again = trained.subgroup(x, falls.refined("income"))
    assert again.members == len(refused)
    assert again.supported == pytest.approx(1.0)
    assert falls.lines()[0].startswith("income: 50")
    with pytest.raises(MethodError, match="age"):
        falls.refined("age")


def test_the_best_split_is_that_of_trying_all():
    """Information gain by the textbook formula at every value between two neighbours."""
    rng = np.random.default_rng(3)
    one, other = rng.integers(0, 12, 30).astype(float), rng.integers(5, 20, 20).astype(float)

    def bits(p):
        return -sum(q * np.log2(q) for q in (p, 1 - p) if q > 0)

    best = 0.0
    for cut in np.arange(0.5, 20):
        a, b = (one < cut).mean(), (other < cut).mean()
        rest = 0.0
        for share, part in ((a + b, a), (2 - a - b, 1 - a)):
            rest += share / 2 * bits(part / share) if share > 0 else 0.0
        best = max(best, 1 - rest)
    split, gain = best_split(one, other)
    assert gain == pytest.approx(best)
    assert 0 < split < 20


@pytest.mark.parametrize(
    "ranges", [{"nothing": (0, 1)}, {"income": 5}, {"income": (1, "x")}, {"housing": ("tent",)}]
)
def test_ranges_that_are_none_are_named(ranges):
    """By the feature, when the method is fitted."""
    it = case("linear", "independent", 0, 24)
    with pytest.raises(MethodError, match=next(iter(ranges))):
        Dece(ranges=ranges).fit(it.problem)


def test_an_empty_subgroup_is_named(linear):
    """Nobody within the ranges."""
    problem, x = question(linear)
    with pytest.raises(MethodError, match="nobody lies within"):
        Dece().fit(problem).subgroup(x, {"age": (17, 17)})
