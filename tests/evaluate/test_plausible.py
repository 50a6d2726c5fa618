"""Plausibility scores at the ends of their range, and their denominators."""

import numpy as np
import pytest

from wayforward.evaluate.plausible import Reference, at_least_as_likely, log_density_of
from wayforward.schema import Feature, Schema

UNIT = Schema(tuple(Feature(name=n, kind="real", low=0, high=1) for n in "ab"))
GONE = np.full((1, 2), np.nan)


def reference(seed=0):
    """Refused people around (.2, .2), accepted people around (.8, .8)."""
    rng = np.random.default_rng(seed)
    x = np.concatenate([rng.normal(0.2, 0.04, (100, 2)), rng.normal(0.8, 0.04, (100, 2))]).clip(0, 1)
    return Reference(UNIT, x, np.arange(200) >= 100)


def test_ynn_bounds():
    """1 when every neighbour is predicted favourable, 0 when none is."""
    got = reference().yNN(np.array([[0.8, 0.8], [0.2, 0.2], GONE[0]]))
    np.testing.assert_array_equal(got, [1.0, 0.0, np.nan])


def test_ynn_compares_with_the_decision_about_the_row_itself():
    got = reference().yNN(np.array([[0.2, 0.2]]), favourable=np.array([False]))
    assert got.tolist() == [1.0]


def test_lof_and_isolation_tell_an_outlier_from_a_neighbour():
    rows = np.array([[0.8, 0.8], [0.8, 0.3], GONE[0]])
    lof, odd = reference().lof(rows), reference().isolation(rows)
    assert lof[0] == pytest.approx(1.0, abs=0.2) and lof[1] > 3
    assert odd[0] < odd[1]
    assert np.isnan(lof[2]) and np.isnan(odd[2])


def test_connected_needs_a_chain_to_somebody_rightly_accepted():
    known = reference()
    rows = np.array([[0.8, 0.8], [0.5, 0.5], GONE[0]])
    np.testing.assert_array_equal(known.connected(rows), [1.0, 0.0, np.nan])
    nobody_rightly = Reference(UNIT, known.x, known.favourable, correct=np.zeros(200, bool))
    assert nobody_rightly.connected(rows)[0] == 0.0


def test_nearest_favourable_is_the_distance_to_the_nearest_accepted_person():
    known = Reference(UNIT, np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([False, True]))
    assert known.nearest_favourable(np.array([[0.0, 0.0]]))[0] == pytest.approx(1.0)


def test_plausibility_denominator():
    """People without a recommendation are left out of the density criterion, not counted as implausible."""

    class Bump:
        def log_density(self, x):
            return -((x - 0.5) ** 2).sum(-1)

    before = np.array([[0.2, 0.2], [0.5, 0.5], [0.2, 0.2]])
    after = np.array([[0.4, 0.4], [0.9, 0.9], [np.nan, np.nan]])
    holds, gain = at_least_as_likely(Bump(), before, after)
    np.testing.assert_array_equal(holds, [1.0, 0.0, np.nan])
    assert gain[0] > 0 > gain[1]


def test_any_density_object_serves():
    from sklearn.neighbors import KernelDensity

    rows = np.array([[0.5, 0.5], [np.nan, np.nan]])
    kde = KernelDensity().fit(np.random.default_rng(0).random((20, 2)))
    got = log_density_of(kde, rows)
    assert np.isfinite(got[0]) and np.isnan(got[1])
    assert log_density_of(lambda x: x.sum(-1), rows)[0] == 1.0


def test_a_large_reference_is_subsampled_with_a_seed():
    x = np.random.default_rng(0).random((500, 2))
    one, two = (Reference(UNIT, x, x[:, 0] > 0.5, most=100, seed=s) for s in (1, 1))
    assert len(one.x) == 100 and np.array_equal(one.x, two.x)
    assert np.array_equal(one.favourable, one.x[:, 0] > 0.5)
