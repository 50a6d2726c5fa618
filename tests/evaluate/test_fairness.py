"""Gaps between groups: section 7.1 of the evaluation specification."""

import numpy as np
import pytest

from wayforward.errors import DataError
from wayforward.evaluate.fairness import agreement, as_groups, burden, group_gaps


def test_cost_gap_groups():
    cost = np.array([1.0, 3.0, np.nan, 4.0, 6.0])
    got = group_gaps(cost, np.array(["m", "m", "m", "f", "f"]))
    assert got.largest.value == pytest.approx(3.0) and got.largest_pair == ("f", "m")
    assert got.mean["m"].n == 2  # the person without recourse is left out of the mean and visible in n
    assert got.largest.low <= 3.0 <= got.largest.high


def test_three_groups_give_a_signed_matrix_and_the_largest_gap():
    got = group_gaps(np.array([1.0, 2.0, 4.0]), np.array(["a", "b", "c"]))
    np.testing.assert_allclose(got.matrix(), [[0, -1, -3], [1, 0, -2], [3, 2, 0]])
    assert got.largest_pair == ("c", "a") and got.largest.value == 3
    assert got.pairwise["a"]["c"].low == -got.pairwise["c"]["a"].high


def test_no_gap_is_zero_and_a_group_without_values_is_nan():
    assert group_gaps(np.ones(4), np.array(list("aabb"))).largest.value == 0
    empty = group_gaps(np.array([1.0, np.nan]), np.array(["a", "b"]))
    assert np.isnan(empty.largest.value) and empty.largest_pair is None


def test_burden_by_group_and_for_everybody():
    got = burden(np.array([1.0, 3.0, np.nan]), np.array(["a", "b", "b"]))
    assert (got["everybody"].value, got["a"].value, got["b"].value, got["b"].n) == (2.0, 1.0, 3.0, 1)


def test_labels_must_match_people_and_a_missing_label_is_a_group():
    with pytest.raises(DataError, match="2 labels for 3 people"):
        as_groups(["a", "b"], 3)
    assert as_groups(["a", None, float("nan")], 3).tolist() == ["a", "(not stated)", "(not stated)"]


def test_agreement_of_features_acted_on():
    got = agreement(np.array([[1, 0], [1, 1], [0, 0]], bool), np.array(["a", "a", "a"]))
    np.testing.assert_allclose(got["a"], [1.0, 0.5])
