"""The measures count everybody who was asked, and say among how many they were counted."""

from __future__ import annotations

import numpy as np
import pytest

from wayforward_studies.icarma.measures import measure, per_person
from wayforward_studies.icarma.published import IcarmaCase
from wayforward_studies.icarma.solvers import IcarmaStudy


def test_denominators(study: IcarmaStudy) -> None:
    x, problem, wishes = study.x, study.problems["true"], study.wishes(IcarmaCase())
    j, i = study.setting.schema.names.index("savings"), study.setting.schema.names.index("income")
    action = np.full(x.shape, np.nan)
    action[:10, j] = 34.0  # far beyond what anybody has: accepted, and less likely
    action[:10, i] = 14.0
    action[10:14, j] = x[10:14, j]  # what they have already: refused as before, exactly as likely
    people = per_person(problem, x, action, wishes)
    found = measure(people)
    assert (found.n, found.validity.n, found.plausibility.n, found.hap.n) == (24, 24, 14, 14)
    assert found.validity.value == pytest.approx(10 / 24)
    assert found.plausibility.value == pytest.approx(4 / 14)
    assert found.reach.value == pytest.approx(14 / 24) and found.both.value == 0
    # the cost of valid ones: the mean over the four features of squared shifts over std times range
    train = study.setting.train
    by_hand = sum(
        (action[:10, c] - x[:10, c]) ** 2 / (train[:, c].std() * np.ptp(train[:, c])) for c in (i, j)
    )
    assert found.cost.value == pytest.approx((by_hand / 4).mean()) and found.cost.n == 10
    assert found.cost.std == pytest.approx((by_hand / 4).std())
    np.testing.assert_allclose(people.after[10:14], people.before[10:14])


def test_hap_counts_the_hardest_feature_that_a_person_can_act_on(study: IcarmaStudy) -> None:
    wishes, x = study.wishes(IcarmaCase(features=2)), study.x
    hardest = np.where(wishes.frozen, -1, wishes.score).argmax(1)
    action = np.full(x.shape, np.nan)
    action[np.arange(24), hardest] = x[np.arange(24), hardest] + 0.1
    assert measure(per_person(study.problems["true"], x, action, wishes)).hap.value == 1.0
    easiest = np.where(wishes.frozen | (wishes.score == 0), np.inf, wishes.score).argmin(1)
    action = np.full(x.shape, np.nan)
    action[np.arange(24), easiest] = x[np.arange(24), easiest] + 0.1
    assert measure(per_person(study.problems["true"], x, action, wishes)).hap.value == 0.0


def test_weights_do_not_enter_the_cost(study: IcarmaStudy) -> None:
    action = study.x.copy()
    action[:, ~study.setting.schema.actionable] = np.nan
    action += 1.0
    one, other = (
        per_person(study.problems["true"], study.x, action, study.wishes(IcarmaCase(profile=p)))
        for p in ("constant", "linear")
    )
    np.testing.assert_array_equal(one.cost, other.cost)
