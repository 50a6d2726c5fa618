"""Adult: both files, with and without the incomplete rows."""

from __future__ import annotations

import numpy as np
import pytest

from wayforward.testing import DatasetContract


class TestAdultKeepsTheContract(DatasetContract):
    dataset = "adult"
    forms = ("", "missing")


def test_rows_of_both_files(read):
    data, everybody = read("adult"), read("adult:missing")
    assert (data.n, everybody.n) == (45_222, 48_842)
    assert [(data.fold == i).sum() for i in (0, 1)] == [30_162, 15_060]
    assert [(everybody.fold == i).sum() for i in (0, 1)] == [32_561, 16_281]


def test_labels_of_both_files_count_the_dot_too(read):
    data = read("adult:missing")
    assert [int(data.y[data.fold == i].sum()) for i in (0, 1)] == [7_841, 3_846]
    train = data.fold == 0
    sex = data.x[:, data.schema.index("sex")]
    assert data.y[train & (sex == 0)].mean() == pytest.approx(0.109, abs=5e-4)
    assert data.y[train & (sex == 1)].mean() == pytest.approx(0.306, abs=5e-4)


def test_missing_values(read):
    data = read("adult:missing")
    for name, counts in {
        "workclass": (1_836, 963),
        "occupation": (1_843, 966),
        "native_country": (583, 274),
    }.items():
        gone = np.isnan(data.x[:, data.schema.index(name)])
        assert [int(gone[data.fold == i].sum()) for i in (0, 1)] == list(counts), name


def test_what_a_census_did_not_ask_stays_missing(read):
    schema = read("adult:missing").schema
    assert {f.missing for f in schema.features} == {False, "stays"}
    x = read("adult:missing").x
    assert (schema.stuck(x) == np.isnan(x)).all()


def test_levels_and_ranges(read):
    data = read("adult")
    assert data.schema["native_country"].n_levels == 41
    assert data.schema["education"].n_levels == 16 and data.schema["education"].direction == "increase"
    assert (
        data.schema["education"].levels[0] == "Preschool"
        and data.schema["education"].levels[-1] == "Doctorate"
    )
    assert "Never-worked" not in data.schema["workclass"].levels
    assert "Never-worked" in read("adult:missing").schema["workclass"].levels
    gain = read("adult:missing")
    column, train = gain.x[:, gain.schema.index("capital_gain")], gain.fold == 0
    assert [(column[train] == 99_999).sum(), (column[~train] == 99_999).sum()] == [159, 85]
    assert (column == 0).mean() == pytest.approx(0.917, abs=1e-3)
    assert not {"fnlwgt", "education_num"} & set(data.schema.names)
    weight = gain.extra["fnlwgt"][train]
    assert (weight.min(), weight.max()) == (12_285, 1_484_705)


@pytest.mark.parametrize(
    ("chosen", "fixed"),
    [
        ("hare", {"age", "sex", "native_country", "race", "relationship"}),
        ("carla", {"age", "sex"}),
        ("pear", {"age", "sex", "native_country", "relationship", "race", "marital_status"}),
    ],
)
def test_the_sets_of_the_papers(read, chosen, fixed):
    schema = read("adult").with_actionability(chosen).schema
    assert set(np.array(schema.names)[schema.immutable]) == fixed
    assert (schema.direction == 0).all()
