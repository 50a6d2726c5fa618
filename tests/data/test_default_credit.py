"""Default credit: undocumented codes, a code that runs backwards, and months that are the past."""

from __future__ import annotations

import numpy as np
import pytest

from wayforward.testing import DatasetContract


class TestDefaultCreditKeepsTheContract(DatasetContract):
    dataset = "default_credit"
    forms = ("", "raw-codes")


def column(data, name):
    return data.x[:, data.schema.index(name)]


def test_rows_and_label(read):
    data = read("default_credit")
    assert (data.n, data.d, int(data.y.sum())) == (30_000, 23, 23_364)
    assert 1 - data.y[column(data, "SEX") == 0].mean() == pytest.approx(0.242, abs=5e-4)
    assert 1 - data.y[column(data, "SEX") == 1].mean() == pytest.approx(0.208, abs=5e-4)


def test_undocumented_codes(read):
    raw, data = read("default_credit:raw-codes"), read("default_credit")
    for code, n in {0: 14, 5: 280, 6: 51}.items():
        assert (column(raw, "EDUCATION") == code).sum() == n
    assert (column(raw, "MARRIAGE") == 0).sum() == 54
    assert (column(data, "EDUCATION") == 0).sum() - (column(raw, "EDUCATION") == 4).sum() == 14 + 280 + 51
    assert data.schema["EDUCATION"].levels == (4, 3, 2, 1), "levels rise with education, the raw code falls"
    assert data.schema["EDUCATION"].direction == "increase"
    texts = [step.what for step in data.steps]
    assert any("345 rows" in text for text in texts) and any("54 rows" in text for text in texts)


def test_payment_status_is_ordinal_not_linear(read):
    data = read("default_credit")
    status = column(data, "PAY_0")
    shares = [1 - data.y[status == i].mean() for i in range(5)]
    assert shares == pytest.approx([0.13, 0.17, 0.13, 0.34, 0.69], abs=0.005)
    assert data.schema["PAY_0"].level_text(2) == "revolving credit"
    for name, n in {"PAY_2": 28, "PAY_3": 4, "PAY_4": 2, "PAY_5": 0, "PAY_6": 0}.items():
        assert (column(data, name) == 3).sum() == n
    assert "PAY_1" not in data.schema.names


def test_ranges(read):
    data = read("default_credit")
    ranges = {"LIMIT_BAL": (10_000, 1_000_000), "AGE": (21, 79), "BILL_AMT1": (-165_580, 964_511)}
    for name, (low, high) in {**ranges, "PAY_AMT1": (0, 873_552)}.items():
        assert (column(data, name).min(), column(data, name).max()) == (low, high)
    for i in range(1, 7):
        assert 590 <= (column(data, f"BILL_AMT{i}") < 0).sum() <= 688


def test_only_the_last_month_moves_by_default(read):
    schema = read("default_credit").schema
    assert set(np.array(schema.names)[schema.actionable]) == {"EDUCATION", "BILL_AMT1", "PAY_AMT1"}
    usual = read("default_credit:benchmark").schema
    assert usual["PAY_0"].direction == "decrease" and usual["PAY_AMT3"].direction == "increase"
    assert usual["PAY_2"].actionability == "mutable"
