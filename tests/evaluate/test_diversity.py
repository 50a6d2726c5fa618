"""Diversity of option sets: section 6 of the evaluation specification."""

import numpy as np
import pytest

from wayforward.evaluate.distance import ReferenceScale
from wayforward.evaluate.diversity import diversity
from wayforward.schema import Feature, Schema

SCHEMA = Schema(
    (
        Feature(name="a", kind="real", low=0, high=10),
        Feature(name="b", kind="real", low=0, high=10),
        Feature(name="c", kind="categorical", levels=("x", "y", "z")),
    )
)
SCALE = ReferenceScale.fit(SCHEMA, np.array([[0, 0, 0], [2, 1, 0], [4, 2, 1.0]]))  # MAD 2 and 1
X = np.array([[0.0, 0.0, 0.0]])


def measure(*options, valid=None):
    rows = np.array([options], dtype=float)
    return diversity(SCHEMA, X, rows, np.ones(rows.shape[:2], bool) if valid is None else valid, SCALE)


def test_diversity_identical_zero():
    got = measure((1, 1, 1), (1, 1, 1))
    assert got["dist"][0] == 0 and got["count"][0] == 0 and got["dpp"][0] == 0
    assert got["set_validity"][0] == 0.5  # a copy is not a second option


def test_values_by_hand():
    got = measure((2, 0, 0), (0, 2, 1))
    dist = (2 / 2 + 2 / 1) / 2 + 1.0
    assert got["dist"][0] == pytest.approx(dist)
    assert got["count"][0] == pytest.approx(1.0)
    assert got["dpp"][0] == pytest.approx(1 - (1 / (1 + dist)) ** 2)
    assert got["set_proximity"][0] == pytest.approx(-((1 + 0) / 2 + (0 + 2) / 2) / 2)
    assert got["set_proximity_categorical"][0] == pytest.approx(0.5)
    assert got["set_sparsity"][0] == pytest.approx(1 - (1 + 2) / 6)


def test_an_empty_slot_costs_validity_and_leaves_the_rest_alone():
    gone = (np.nan,) * 3
    full = measure((2, 0, 0), (0, 2, 1))
    got = measure((2, 0, 0), (0, 2, 1), gone, valid=np.array([[True, True, False]]))
    for name in ("dist", "count", "dpp", "set_proximity", "set_sparsity"):
        assert got[name][0] == pytest.approx(full[name][0]), name
    assert got["set_validity"][0] == pytest.approx(2 / 3)


def test_one_option_has_no_diversity():
    got = measure((2, 0, 0))
    assert np.isnan(got["dist"][0]) and np.isnan(got["dpp"][0]) and got["set_validity"][0] == 1
