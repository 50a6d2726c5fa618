"""lire: never dearer than the nearest accepted row, exact on single trees, and its contract."""

from __future__ import annotations

import numpy as np
import pytest

from wayforward import Problem
from wayforward.methods import method
from wayforward.methods.engines.tree_regions import TreeRegions
from wayforward.testing import MethodContract, case


class TestContract(MethodContract):
    method = "lire"
    kinds = ("forest",)
    finds = 0.9


PUBLISHED = {"complete": False, "shrink": False, "own_rows": False}


def test_three_stumps_whose_every_box_holds_people(three_stumps):
    """F-FOR3 with people on a grid: all boxes are live, so the least l1 distance, 4.5, is found."""
    got = method("lire", **PUBLISHED).fit(three_stumps()).recommend(np.zeros((1, 2)), minimal=False)
    np.testing.assert_allclose(got.after[0, 0], [4.5, 0.0], atol=1e-6)


def test_only_boxes_with_people_count(three_stumps):
    """Without people beyond 4.5 the nearest live box is that of (3, 4): x1 > 2 and x2 > 3."""
    problem = three_stumps()
    rows = problem.reference[(problem.reference <= 4).all(1)]
    few = Problem(problem.schema, problem.model, problem.target, data=rows, cost=problem.cost)
    got = method("lire", **PUBLISHED).fit(few).recommend(np.zeros((1, 2)), minimal=False)
    np.testing.assert_allclose(got.after[0, 0], [2.0, 3.0], atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_it_is_never_dearer_than_the_nearest_row(seed):
    it = case("forest", "independent", seed, 60)
    x = it.x[it.refused]
    rows = method("nearest-observable").fit(it.problem).recommend(x, minimal=False)
    got = method("lire", complete=False, shrink=False).fit(it.problem).recommend(x, minimal=False)
    assert (got.cost[:, 0] <= rows.cost[:, 0] + 1e-9).all()
    assert (got.cost[:, 0] < rows.cost[:, 0] - 1e-3).mean() > 0.5
    exact = method("local-search").fit(it.problem).recommend(x)
    assert (got.cost[:, 0] >= exact.cost[:, 0] - 1e-9).all()


def test_of_a_single_tree_it_is_the_cheapest_there_is():
    from sklearn.pipeline import make_pipeline
    from sklearn.tree import DecisionTreeClassifier

    from wayforward.model.zoo import table_encoder
    from wayforward.schema import Schema
    from wayforward.testing.problems import random_labels, random_people, random_schema

    rng = np.random.default_rng(5)
    schema = Schema(random_schema(rng).features)  # without rules every leaf's nearest point is an option
    past = random_people(schema, 400, rng)
    tree = DecisionTreeClassifier(max_depth=6, min_samples_leaf=5, random_state=0)
    model = make_pipeline(table_encoder(schema, scale=False, impute=False), tree)
    model.fit(schema.decode(past), random_labels(schema, past)[0])
    problem = Problem(schema, model, case("forest").problem.target, data=past)
    flat = problem.model.forest
    regions = TreeRegions(flat, schema)
    assert set(regions.leaf_of(past).ravel()) == set(range(len(flat.value)))  # all leaves hold people
    x = random_people(schema, 60, rng)
    x = x[~problem.reached(x)[0]]
    got = method("lire", **PUBLISHED).fit(problem).recommend(x)
    best = method("local-search").fit(problem).recommend(x)
    np.testing.assert_allclose(got.cost[:, 0], best.cost[:, 0], rtol=1e-9)
