"""Law: two extracts, three labels, and no copy of a label among the features."""

from __future__ import annotations

import numpy as np
import pytest

from wayforward.testing import DatasetContract


class TestLawKeepsTheContract(DatasetContract):
    dataset = "law"
    forms = ("", "zfya", "zfya_score", "bar", "bar+missing")


def share(data, name, level):
    j = data.schema.index(name)
    return float(data.y[data.x[:, j] == data.schema.features[j].levels.index(level)].mean())


def test_first_extract(read):
    data = read("law")
    assert data.steps[0].rows == 21_791 and data.n == 21_790  # the one PO row is gone, as in Kusner et al.
    assert data.y.mean() == pytest.approx(0.888, abs=5e-4)
    assert share(data, "race", "Black") == pytest.approx(0.618, abs=5e-4)
    assert share(data, "race", "White") == pytest.approx(0.920, abs=5e-4)
    sex = data.x[:, data.schema.index("sex")]
    assert (sex == 0).sum() + (sex == 1).sum() == 21_790 and abs(int((sex == 0).sum()) - 9_537) <= 1
    counts = {"Asian": 845, "Hispanic": 488, "Mexican": 389, "Puertorican": 110, "Amerindian": 99}
    race = data.x[:, data.schema.index("race")]
    for level, n in counts.items():
        assert abs(int((race == data.schema["race"].levels.index(level)).sum()) - n) <= 1
    assert "sander_index" not in data.schema.names and "sander_index" in data.dropped


def test_first_year_label_leaves_the_bar_result_out(read):
    data = read("law:zfya")
    assert data.y.mean() == pytest.approx(0.533, abs=5e-4)
    assert not {"ZFYA", "first_pf"} & set(data.schema.names)
    score = read("law:zfya_score")
    assert score.task == "regression" and score.y.dtype == np.float64
    assert (score.y.min(), score.y.max()) == (-3.35, 3.48)
    np.testing.assert_array_equal(score.is_favourable, data.y == 1)


def test_other_extract(read):
    data = read("law:bar+missing")
    assert (data.n, int(data.y.sum())) == (22_407, 21_238)
    shares = {"white": 0.966, "asian": 0.922, "other": 0.897, "hisp": 0.875, "black": 0.778}
    for level, expected in shares.items():
        assert share(data, "race1", level) == pytest.approx(expected, abs=5e-4)
    counts = {
        "decile1b": 1_604,
        "decile3": 1_604,
        "zgpa": 1_289,
        "decile1": 1_092,
        "zfygpa": 984,
        "fam_inc": 289,
    }
    counts |= {"tier": 96, "DOB_yr": 50, "fulltime": 34, "race1": 16, "sex": 5, "lsat": 0, "ugpa": 0}
    for name, n in counts.items():
        assert np.isnan(data.x[:, data.schema.index(name)]).sum() == n, name
    assert read("law:bar").n == data.n - np.isnan(data.x).any(axis=1).sum()


def test_no_leak_is_a_feature(read):
    leaks = {
        "bar",
        "bar1",
        "bar2",
        "bar1_yr",
        "bar2_yr",
        "grad",
        "Dropout",
        "dnn_bar_pass_prediction",
        "gpa",
        "age",
    }
    assert not leaks & set(read("law:bar").schema.names)


def test_the_segregation_set(read):
    schema = read("law:segregation").schema
    assert set(np.array(schema.names)[schema.immutable]) == {"sex", "race", "region_first"}
