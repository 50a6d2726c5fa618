"""COMPAS: the usual filter, the screening trap, and a file that still has its personal columns."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

import wayforward.data as datasets
from wayforward.data import files
from wayforward.data.compas import ENTRY, FILE, PERSONAL
from wayforward.data.files import Files, Known
from wayforward.testing import DatasetContract


class TestCompasKeepsTheContract(DatasetContract):
    dataset = "compas"
    forms = ("", "unfiltered", "screened", "score")
    frozen = True


def test_rows_and_label(read):
    data, everybody = read("compas"), read("compas:unfiltered")
    assert (data.n, int(data.y.sum())) == (6_172, 3_363)
    assert (everybody.n, int(everybody.y.sum())) == (7_214, 3_963)


def test_the_screening_trap(read):
    """Barenstein (2019), arXiv:1906.04711: 36.2 % instead of 45.1 %, and 998 people with one label."""
    everybody, screened = read("compas:unfiltered"), read("compas:unfiltered+screened")
    assert screened.n == 6_216 and everybody.n - screened.n == 998
    assert 1 - screened.y.mean() == pytest.approx(0.362, abs=1e-3)  # 36.2 % in the paper, 36.25 % here
    assert 1 - everybody.y.mean() == pytest.approx(0.451, abs=5e-4)
    assert everybody.y.sum() == screened.y.sum(), "everybody who is dropped re-offended"


def test_groups_and_ranges(read):
    data = read("compas:unfiltered")
    race = data.x[:, data.schema.index("race")]
    counts = {"African-American": 3_696, "Caucasian": 2_454, "Hispanic": 637, "Other": 377, "Asian": 32}
    for level, n in {**counts, "Native American": 18}.items():
        assert (race == data.schema["race"].levels.index(level)).sum() == n
    sex = data.x[:, data.schema.index("sex")]
    assert [(sex == i).sum() for i in (0, 1)] == [1_395, 5_819]
    degree = data.x[:, data.schema.index("c_charge_degree")]
    assert [(degree == i).sum() for i in (0, 1)] == [2_548, 4_666]
    highest = {
        "age": 96,
        "juv_fel_count": 20,
        "juv_misd_count": 13,
        "juv_other_count": 17,
        "priors_count": 38,
    }
    for name, high in highest.items():
        assert data.x[:, data.schema.index(name)].max() == high
    assert np.isnan(data.x[:, data.schema.index("length_of_stay")]).sum() == 307
    assert any("206 stays" in note for note in data.notes)


def test_the_score_label_is_that_of_carla(read):
    data = read("compas:score+unfiltered")
    assert int((data.y == 0).sum()) == 1_403
    assert data.y.mean() == pytest.approx(0.81, abs=0.005)


def test_nobody_acts_on_the_past_unless_asked(read):
    assert not read("compas").schema.actionable.any()
    schema = read("compas:benchmark").schema
    assert {schema.names[j]: int(schema.direction[j]) for j in np.flatnonzero(schema.actionable)} == {
        "priors_count": -1,
        "length_of_stay": -1,
    }


def test_a_file_with_personal_columns_reads_the_same(raw_folder, tmp_path, monkeypatch, read):
    """The published file has 53 columns; made-up personal columns stand in for the real ones."""
    rows = files.rows_of(Files("compas", raw_folder, ENTRY.files).read(FILE))
    extra = [name for name in PERSONAL if name not in rows[0]]
    assert len(extra) == 7, "the file here has none of them"
    wide = [[*row, *(extra if i == 0 else [f"made up {i}"] * 7)] for i, row in enumerate(rows)]
    import csv

    with (tmp_path / "compas-scores-two-years.csv").open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(wide)
    content = (tmp_path / "compas-scores-two-years.csv").read_bytes()
    monkeypatch.setitem(ENTRY.files, FILE, Known((hashlib.sha256(content).hexdigest(),), "made here"))
    data = datasets.load("compas", path=tmp_path)
    np.testing.assert_array_equal(data.x, read("compas").x)
    assert not set(data.schema.names) & set(PERSONAL)
    assert "made up" not in data.card()
