"""Costs: the published worked values of the evaluation specification, section 2."""

import numpy as np
import pytest

from wayforward.evaluate.distance import (
    ReferenceScale,
    changed,
    euclidean_columns,
    mix,
    norms,
    scaled_change,
)
from wayforward.schema import Feature, Schema

UNIT = Schema(tuple(Feature(name=n, kind="real", low=0, high=1) for n in "abc"))
MIXED = Schema(
    (
        Feature(name="pay", kind="real", low=1000, high=3000),
        Feature(name="job", kind="categorical", levels=("a", "b", "c")),
        Feature(name="school", kind="ordinal", levels=("1", "2", "3", "4", "5")),
        Feature(name="debt", kind="real", low=0, high=10, missing=True),
    )
)


def test_cost_vector_example():
    x = np.array([[0.2, 0.6, 0.5]])
    got = norms(UNIT, x, x + [[0.3, -0.4, 0.0]])
    want = {"l0": 2, "l1": 0.7, "l2": 0.5, "l2_squared": 0.25, "linf": 0.4}
    for name, value in want.items():
        assert got[name][0] == pytest.approx(value), name


def test_l2_vs_squared():
    x = np.zeros((1, 3))
    got = norms(UNIT, x, np.array([[0.6, 0.8, 0.0]]))
    assert got["l2"][0] == pytest.approx(1.0) and got["l2_squared"][0] == pytest.approx(1.0)
    got = norms(UNIT, x, np.array([[0.3, 0.4, 0.0]]))
    assert got["l2"][0] == pytest.approx(0.5) and got["l2_squared"][0] == pytest.approx(0.25)


def test_units_drop_out_and_a_category_is_one_and_an_ordinal_step_a_quarter():
    before = np.array([[1000.0, 0, 1, 2.0]])
    after = np.array([[2000.0, 2, 2, 2.0]])
    np.testing.assert_allclose(scaled_change(MIXED, before, after), [[0.5, 1.0, 0.25, 0.0]])
    got = norms(MIXED, before, after)
    assert got["l0"][0] == 3 and got["l1"][0] == pytest.approx(1.75)


def test_column_level_counts_both_columns_of_a_changed_category():
    before, after = np.array([[1000.0, 0, 0, 0.0]]), np.array([[1000.0, 1, 0, 0.0]])
    assert norms(MIXED, before, after)["l0"][0] == 1
    column = norms(MIXED, before, after, level="column")
    assert column["l0"][0] == 2 and column["l1"][0] == 2 and column["l2"][0] == pytest.approx(np.sqrt(2))


def test_a_row_that_was_not_found_has_no_distance_and_no_change():
    before, after = np.array([[1000.0, 0, 0, 0.0]]), np.full((1, 4), np.nan)
    assert all(np.isnan(v[0]) for v in norms(MIXED, before, after).values())
    assert not changed(MIXED, before, after).any()


def test_a_value_that_goes_missing_is_a_whole_step():
    before, after = np.array([[1000.0, 0, 0, 4.0]]), np.array([[1000.0, 0, 0, np.nan]])
    assert norms(MIXED, before, after)["l1"][0] == 1.0
    assert norms(MIXED, after, after)["l1"][0] == 0.0


def test_mix_is_the_survey_equation():
    x, y = np.zeros((1, 3)), np.array([[0.3, 0.4, 0.0]])
    got = mix(UNIT, x, y, alpha=1, beta=10, gamma=100, zeta=1000)
    assert got[0] == pytest.approx(2 + 7 + 50 + 400)
    assert mix(UNIT, x, y, alpha=1, beta=10, per_feature=True)[0] == pytest.approx((2 + 7) / 3)


def test_percentile_shift_values():
    """From .50 to .55 the log shift is .1054, from .90 to .95 it is .6931."""
    schema = Schema((Feature(name="a", kind="real", low=0, high=100),))
    scale = ReferenceScale.fit(schema, np.arange(1, 101, dtype=float)[:, None])
    shift = scale.percentile_shift(np.array([[50.0]]), np.array([[55.0]]), kind="total", log=True)
    assert shift[0] == pytest.approx(0.1054, abs=5e-5)
    shift = scale.percentile_shift(np.array([[90.0]]), np.array([[95.0]]), kind="max", log=True)
    assert shift[0] == pytest.approx(0.6931, abs=5e-5)
    plain = scale.percentile_shift(np.array([[50.0]]), np.array([[55.0]]))
    assert plain[0] == pytest.approx(0.05)


def test_percentile_ends_stay_finite_and_max_and_total_differ():
    scale = ReferenceScale.fit(UNIT, np.random.default_rng(0).random((50, 3)))
    x, y = np.zeros((1, 3)), np.ones((1, 3))
    total = scale.percentile_shift(x, y, kind="total", log=True)[0]
    largest = scale.percentile_shift(x, y, kind="max", log=True)[0]
    assert np.isfinite(total) and total == pytest.approx(3 * largest)
    assert scale.percentile(x)[0, 0] == pytest.approx(0.01)


def test_mad_scales_and_a_mad_of_zero_is_one_and_flagged():
    reference = np.column_stack([[0, 0.1, 0.2, 0.3, 0.4], np.zeros(5), [0, 0, 0, 0, 1]]).astype(float)
    scale = ReferenceScale.fit(UNIT, reference)
    np.testing.assert_allclose(scale.mad, [0.1, 1.0, 1.0])
    assert scale.mad_was_zero.tolist() == [False, True, True]
    assert scale.mad_l1(np.zeros((1, 3)), np.array([[0.2, 0.5, 0.0]]))[0] == pytest.approx(2.5)


def test_carma_cost_divides_by_the_number_of_actionable_features():
    reference = np.array([[0.0, 0, 0], [1.0, 1, 1]])  # std .5, range 1
    scale = ReferenceScale.fit(UNIT, reference)
    action = np.array([[0.5, np.nan, np.nan]])
    # standardised change 1, squared 1, standardised range 2, three actionable features
    assert scale.carma_cost(np.zeros((1, 3)), action)[0] == pytest.approx(1 / 2 / 3)
    weight = np.array([[4.0, 1, 1]])
    assert scale.carma_cost(np.zeros((1, 3)), action, weight)[0] == pytest.approx(4 / 2 / 3)


def test_two_categories_lie_one_apart_in_euclidean_columns():
    rows = np.array([[1000.0, 0, 0, 1.0], [1000.0, 2, 0, 1.0], [3000.0, 0, 0, 1.0]])
    columns = euclidean_columns(MIXED, rows)
    assert np.linalg.norm(columns[0] - columns[1]) == pytest.approx(1.0)
    assert np.linalg.norm(columns[0] - columns[2]) == pytest.approx(1.0)
