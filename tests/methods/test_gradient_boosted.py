"""gradient-boosted-counterfactuals: a distance of leaves, its matrix from one-hot codes, and its contract."""

from __future__ import annotations

import numpy as np
import pytest

from wayforward.errors import MethodError
from wayforward.methods import method
from wayforward.methods.gradient_boosted import leaf_distance
from wayforward.testing import MethodContract, case

NAME = "gradient-boosted-counterfactuals"


class TestContract(MethodContract):
    method = NAME
    parameters = {"neighbours": 3}
    kinds = ("forest",)
    finds = 0.9
    people = 8


def test_rows_alike_are_0_apart_and_rows_that_every_root_separates_1(three_stumps):
    fitted = method(NAME, weights="equal").fit(three_stumps())
    rows = np.array([[0.0, 0.0], [5.0, 4.0], [3.0, 0.0], [1.9, 3.0]])
    leaves = fitted.trees_.leaf_of(rows)
    got = leaf_distance(leaves, leaves, fitted.weight_)
    expected = [[0, 1, 1 / 3, 0], [1, 0, 2 / 3, 1], [1 / 3, 2 / 3, 0, 1 / 3], [0, 1, 1 / 3, 0]]
    np.testing.assert_allclose(got, expected, atol=1e-12)


@pytest.mark.parametrize("weights", ["equal", "spread"])
def test_the_matrix_is_a_product_of_one_hot_codes(weights):
    it = case("forest", "independent", 0, 40)
    fitted = method(NAME, weights=weights).fit(it.problem)
    leaves = fitted.trees_.leaf_of(it.x)
    code = (leaves[:, :, None] == np.arange(leaves.max() + 1)) * np.sqrt(fitted.weight_)[:, None]
    code = code.reshape(len(leaves), -1)
    np.testing.assert_allclose(leaf_distance(leaves, leaves, fitted.weight_), 1 - code @ code.T, atol=1e-9)
    if weights == "equal":
        np.testing.assert_allclose(fitted.weight_, 1 / leaves.shape[1])


def test_it_returns_the_row_that_shares_most_leaves():
    """As published, against trying every row of the table: the nearest by leaves whose projection is usable."""
    it = case("forest", "independent", 1, 40)
    x = it.x[it.refused][:6]
    fitted = method(NAME, neighbours=1, shrink=False, complete=False).fit(it.problem)
    got = fitted.recommend(x, minimal=False)
    people, zero = it.problem.population(x), np.zeros(len(fitted.rows_), dtype=np.int64)
    far = leaf_distance(fitted.trees_.leaf_of(x), fitted.leaves_, fitted.weight_)
    for i in range(len(x)):
        action = people.snap(zero + i, fitted.rows_)
        action = np.where(it.problem.schema.differs(action, x[i]), action, np.nan)
        usable = people.evaluate(zero + i, action).reached & ~np.isnan(action).all(1)
        best = np.flatnonzero(usable)[np.argmin(far[i][usable])]
        np.testing.assert_array_equal(got.action[i, 0], action[best])


def test_settings_are_checked():
    with pytest.raises(MethodError, match="weights='gain'"):
        method(NAME, weights="gain")
