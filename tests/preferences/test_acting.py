"""Recourse that somebody seeks for somebody else: whose cost counts, whose constraints hold."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import wayforward as wf
from wayforward.errors import PreferencesError
from wayforward.preferences import Preferences, on_behalf

SCHEMA = wf.Schema([
    wf.Feature(name="therapy", kind="real", low=0, high=100),
    wf.Feature(name="diet", kind="real", low=0, high=100),
    wf.Feature(name="home", kind="categorical", levels=("own", "care", "family")),
])  # fmt: skip
X = np.array([[20.0, 20.0, 0.0]])
NONE = Preferences.none(SCHEMA, 1)


def problem() -> wf.Problem:
    """2 x therapy + diet must reach 90, from 60."""
    model = LogisticRegression().fit(np.eye(2, 3), [0, 1])
    model.coef_, model.intercept_ = np.array([[2.0, 1.0, 0.0]]), np.array([-90.0])
    return wf.Problem(SCHEMA, model, wf.Target(favourable=1))


@pytest.mark.parametrize("share", [0.0, 0.2, 0.3, 0.5, 1.0])
def test_whose_cost_counts_decides_what_is_done(share: float):
    """Therapy costs the subject 9 and the actor 1, diet the other way round: a point of score costs
    (9 - 8 share) / 2 by therapy and 1 + 8 share by diet, so that therapy is cheaper from a share of 7 / 24 on."""
    subject, actor = NONE.weigh(therapy=9, diet=1), NONE.weigh(therapy=1, diet=9)
    got = wf.recommend(problem(), X, preferences=on_behalf(subject, actor, share=share))
    therapy = share > 7 / 24
    assert np.isnan(got.action[0, 0]).tolist() == [not therapy, therapy, True]
    cost = 15 * (9 - 8 * share) / 100 if therapy else 30 * (1 + 8 * share) / 100
    assert got.cost[0, 0] == pytest.approx(cost, rel=1e-3)


def test_both_sides_constraints_hold():
    """The actor cannot do therapy, the subject wants a diet up to 40: nothing is left; up to 60, and 50 is found."""
    for most, found in ((40, False), (60, True)):
        both = on_behalf(NONE.limit("diet", high=most), NONE.freeze("therapy"))
        got = wf.recommend(problem(), X, preferences=both)
        assert got.found[0, 0] == found
    assert got.after[0, 0, 1] == pytest.approx(50, abs=1e-3)


def test_a_refusal_holds_and_an_inability_ends_with_the_actor():
    subject = NONE.freeze("therapy")
    assert on_behalf(subject, NONE).frozen[0].tolist() == [True, False, False]
    assert not on_behalf(subject, NONE, refusals=False).frozen.any()


def test_limits_that_leave_no_value_freeze_and_stop_nobody_else():
    two = Preferences.none(SCHEMA, 2)
    subject = two.limit("diet", high=np.array([30.0, 80.0])).allow("home", "own")
    actor = two.limit("diet", low=np.array([40.0, 40.0])).allow("home", "care", "family")
    both = on_behalf(subject, actor)
    assert both.frozen[:, 1].tolist() == [True, False] and both.frozen[:, 2].all()
    assert (both.low[1, 1], both.high[1, 1], both.high[0, 1]) == (40, 80, 30)
    np.testing.assert_array_equal(both.level_ok(2), subject.level_ok(2))


def test_what_it_refuses():
    for share in (-0.1, 1.1, "half", np.nan):
        with pytest.raises(PreferencesError, match="share"):
            on_behalf(NONE, NONE, share=share)
    with pytest.raises(PreferencesError, match="same people"):
        on_behalf(NONE, Preferences.none(SCHEMA, 2))
    with pytest.raises(PreferencesError, match="actor"):
        on_behalf(NONE, None)
