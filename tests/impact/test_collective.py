"""Recourse that people seek together, against closed forms."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import wayforward as wf
from wayforward.errors import DataError, SchemaError
from wayforward.impact.collective import act_together

SCHEMA = wf.Schema([
    wf.Feature(name="income", kind="real", low=0, high=100),
    wf.Feature(name="rent", kind="real", low=0, high=50, actionability="mutable"),
    wf.Feature(name="law", kind="categorical", levels=("old", "new"), actionability="immutable"),
])  # fmt: skip
GAPS = np.array([2.0, 5.0, 10.0, 20.0, 30.0])
X = np.stack([50 - GAPS, np.full(5, 30.0), np.zeros(5)], axis=1)


def problem(world: object = None) -> wf.Problem:
    """Income less rent must be 20: from a rent of 30, people lack their gap."""
    model = LogisticRegression().fit(np.eye(2, 3), [0, 1])
    model.coef_, model.intercept_ = np.array([[1.0, -1.0, 0.0]]), np.array([-20.0])
    return wf.Problem(SCHEMA, model, wf.Target(favourable=1), world=world)


@pytest.mark.parametrize("price", [0.0, 0.05, 0.3, 0.35, 0.4])
def test_savings_members_and_the_fewest_are_those_of_the_closed_form(price: float):
    """A rent of 22 saves min(gap, 8) of a range of 100; groups by brute force over all of them."""
    got = act_together(problem(), X, {"rent": 22.0}, price)
    saving = np.minimum(GAPS, 8) / 100
    np.testing.assert_allclose(got.alone, GAPS / 100, atol=1e-4)
    np.testing.assert_allclose(got.saving, saving, atol=1e-4)
    hold = [
        group
        for m in range(1, 6)
        for group in itertools.combinations(range(5), m)
        if all(saving[i] >= price / m - 1e-6 for i in group)
    ]
    assert got.members.sum() == max(map(len, hold), default=0)
    assert got.fewest == min(map(len, hold), default=None)
    if hold:
        assert set(np.flatnonzero(got.members)) == set(max(hold, key=len))
        assert got.share == pytest.approx(price / got.members.sum())
    assert (got.riders == (~got.members & (saving > 0))).all()


def test_a_change_may_open_a_way_for_who_had_none():
    """An income of 100 at most is not enough for a gap of 60 + 50 ... : with the lower rent it is."""
    x = np.array([[10.0, 50.0, 0.0]])
    shut = wf.Problem(
        wf.Schema([wf.Feature(name="income", kind="real", low=0, high=60), *SCHEMA.features[1:]]),
        problem().model.wrapped, wf.Target(favourable=1),
    )  # fmt: skip
    got = act_together(shut, x, {"rent": 30.0}, price=9.0)
    assert got.opened.all() and got.members.all() and got.together[0] == pytest.approx(40 / 60, rel=1e-3)
    assert "opens a way for 1" in got.describe()


def test_what_hangs_on_the_context_follows():
    """A new law lowers the rent by 8 in a causal world."""
    world = wf.SCM(
        {"income": "u", "law": "u", "rent": "u - 8 * (law == 'new')"}, {"law": "Categorical(0.5, 0.5)"}
    )
    got = act_together(problem(world), X, {"law": "new"}, 0.1)
    np.testing.assert_allclose(got.saving, np.minimum(GAPS, 8) / 100, atol=1e-4)


def test_a_change_that_helps_nobody_has_no_members():
    got = act_together(problem(), X, {"rent": 40.0}, 0.0)
    assert not got.members.any() and got.fewest is None and np.isnan(got.share)
    assert "No group" in got.describe()


def test_what_it_refuses():
    for change, why in (
        ({"income": 5.0}, "alone"),
        ({}, "change"),
        ({"rent": 99.0}, "0 to 50"),
        ({"law": "x"}, "old"),
    ):
        with pytest.raises(DataError, match=why):
            act_together(problem(), X, change, 1.0)
    with pytest.raises(SchemaError, match="'wage'"):
        act_together(problem(), X, {"wage": 1.0}, 1.0)
    with pytest.raises(DataError, match="price"):
        act_together(problem(), X, {"rent": 1.0}, -1.0)
