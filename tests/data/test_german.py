"""German: the corrected meaning of the codes, by the numbers that show it is the right one."""

from __future__ import annotations

import numpy as np
import pytest

from wayforward.testing import DatasetContract


class TestGermanKeepsTheContract(DatasetContract):
    dataset = "german"


def by_level(data, name):
    column = data.x[:, data.schema.index(name)]
    return [float(data.is_favourable[column == level].mean()) for level in range(data.schema[name].n_levels)]


def count(data, name, level):
    j = data.schema.index(name)
    return int((data.x[:, j] == data.schema.features[j].levels.index(level)).sum())


def test_rows_and_label(read):
    data = read("german")
    assert (data.n, data.d) == (1_000, 20)
    assert data.is_favourable.sum() == 700
    assert set(np.unique(data.y)) == {0, 1}
    assert not np.isnan(data.x).any()


def test_good_shares_rise_with_the_corrected_order(read):
    """Groemping (2019): 'no account' and 'payment delayed' are the worst, not the best."""
    data = read("german")
    assert by_level(data, "checking_status") == pytest.approx([0.51, 0.61, 0.78, 0.88], abs=0.005)
    assert by_level(data, "credit_history") == pytest.approx([0.38, 0.43, 0.68, 0.68, 0.83], abs=0.006)
    assert data.schema["checking_status"].level_text(0) == "no account"
    assert data.schema["credit_history"].level_text(0) == "payment delayed in the past"


def test_the_directions_follow_the_corrected_meaning(read):
    schema = read("german").schema
    for name in ("checking_status", "savings", "employment_since", "installment_rate", "job"):
        assert schema[name].direction == "increase", name
    assert schema["installment_rate"].level_text(3) == "below 20 %"  # code 4 is the smallest burden
    assert schema["foreign_worker"].level_text(0) == "no"


def test_counts_of_codes(read):
    data = read("german")
    assert count(data, "foreign_worker", "A201") == 963
    assert count(data, "personal_status_sex", "A92") == 310
    for name, low, high in (("duration_months", 4, 72), ("credit_amount", 250, 18_424), ("age", 19, 75)):
        column = data.x[:, data.schema.index(name)]
        assert (column.min(), column.max()) == (low, high)
        assert data.schema[name].step == 1
    assert data.schema["credit_amount"].unit == "DM"


def test_a_guarantor_is_the_only_way_to_change_other_debtors(read):
    schema = read("german").schema
    before = read("german").x[:1].copy()
    j = schema.index("other_debtors")
    before[0, j] = 0
    for level, kept in ((0, True), (1, False), (2, True)):
        after = before.copy()
        after[0, j] = level
        assert bool(schema.compiled_rules.satisfied(before, after)[0]) is kept


def test_literature_sets(read):
    assert int(read("german:segregation").schema.actionable.sum()) == 5
    mace = read("german:mace").schema
    assert mace["age"].direction == "increase" and mace["duration_months"].actionability == "immutable"
    assert set(np.array(mace.names)[mace.actionable]) == {"age", "personal_status_sex", "credit_amount"}
