"""GMSC: codes that are no counts, ratios that are no ratios, and the rows that are left."""

from __future__ import annotations

import time

import numpy as np
import pytest

import wayforward.data as datasets
from wayforward.data.gmsc import GRAPH, NAMES
from wayforward.testing import DatasetContract


class TestGmscKeepsTheContract(DatasetContract):
    dataset = "gmsc"
    forms = ("", "missing", "outliers", "clipped")


LATE = [NAMES.index(name) for name in NAMES if "PastDue" in name or "DaysLate" in name]


def rows_after(data, words):
    return next(step.rows for step in data.steps if words in step.what)


def test_rows_and_label(read):
    clipped = read("gmsc:clipped")  # drops nothing but incomplete rows
    assert clipped.steps[0].rows == 150_000
    assert clipped.n == 120_269
    assert 1 - clipped.y.mean() == pytest.approx(0.0695, abs=5e-5)
    everybody = read("gmsc:missing+outliers")
    assert everybody.n == 149_999  # the row with age 0 is gone
    assert (everybody.y == 0).sum() == 10_026


def test_codes_are_no_counts(read):
    data = read("gmsc:missing+outliers")
    late = data.x[:, LATE]
    gone = np.isnan(late)
    assert gone.all(axis=1).sum() == gone.any(axis=1).sum() == 269
    assert 1 - data.y[gone.any(axis=1)].mean() == pytest.approx(0.546, abs=5e-4)
    highest = dict(zip([NAMES[j] for j in LATE], np.nanmax(late, axis=0), strict=True))
    assert sorted(highest.values()) == [11, 13, 17]
    assert read("gmsc:clipped").x[:, LATE].max() == 18  # PEAR's choice


def test_age_zero_is_gone_and_the_oldest_stay(read):
    age = read("gmsc:missing+outliers").x[:, NAMES.index("age")]
    assert age.min() == 21 and age.max() == 109 and (age > 100).sum() == 13


def test_a_debt_ratio_without_an_income_is_missing(read):
    data = read("gmsc:missing+outliers")
    income, debt = (data.x[:, NAMES.index(name)] for name in ("MonthlyIncome", "DebtRatio"))
    assert np.isnan(income).sum() == 29_731
    assert (income == 0).sum() == 1_634 and (income == 1).sum() == 605
    np.testing.assert_array_equal(np.isnan(debt), ~(income > 1))
    assert np.isnan(debt).sum() == 29_731 + 1_634 + 605
    assert np.isnan(data.x[:, NAMES.index("NumberOfDependents")]).sum() == 3_924
    assert np.nanmax(debt) < 500  # of 329,664 in the raw file, where it is an amount


def test_only_what_a_borrower_knows_may_be_told(read):
    """A ratio without an income, and what was only a code, stay missing: no plan asks for them."""
    schema = read("gmsc:missing").schema
    assert {f.name: f.missing for f in schema.features if f.missing} == {
        "MonthlyIncome": "may be told",
        "NumberOfDependents": "may be told",
        "DebtRatio": "stays",
        **{name: "stays" for name in NAMES if "PastDue" in name or "DaysLate" in name},
    }


def test_outliers_go_visibly_and_only_by_default(read):
    kept, default = read("gmsc:outliers"), read("gmsc")
    assert (kept.n, default.n) == (117_890, 117_522)
    assert kept.x[:, 0].max() == 50_708 and default.x[:, 0].max() <= 10
    assert kept.x[:, NAMES.index("MonthlyIncome")].max() == 3_008_750
    assert rows_after(default, "RevolvingUtilizationOfUnsecuredLines above 10") == 117_719
    everybody = read("gmsc:missing+outliers")
    assert (everybody.x[:, 0] > 1).sum() == 3_321 and (everybody.x[:, 0] > 10).sum() == 241


def test_late_payments_are_the_past_unless_asked(read):
    assert read("gmsc").schema.mutable[LATE].all()
    assert (read("gmsc:benchmark").schema.direction[LATE] == -1).all()
    icarma = read("gmsc").with_actionability("icarma").schema
    assert icarma.actionable.sum() == 4 and icarma.immutable.sum() == 2


def test_the_graph_is_that_of_pear():
    assert len(GRAPH) == len(set(GRAPH)) == 19
    assert {name for edge in GRAPH for name in edge} == set(NAMES)


def test_loading_is_quick(read):
    read("gmsc")
    start = time.perf_counter()
    datasets.load("gmsc")
    assert time.perf_counter() - start < 3.0  # about 0.2 s on an idle core
