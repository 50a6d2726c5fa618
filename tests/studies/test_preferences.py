"""What people say is the same for the same seed; the same ranking serves every number of features."""

from __future__ import annotations

import numpy as np
import pytest

from wayforward_studies.icarma.preferences import actionable_names, preferences, two_features
from wayforward_studies.icarma.published import ROWS, IcarmaCase
from wayforward_studies.icarma.setting import IcarmaSetting


def test_the_same_seed_draws_the_same(small: IcarmaSetting) -> None:
    case = IcarmaCase(law="reverse", features=0)
    first, again, other = (preferences(small.schema, case, 50, seed=seed) for seed in (0, 0, 1))
    assert first.to_dict() == again.to_dict() != other.to_dict()


def test_profiles_weigh_the_same_answers(small: IcarmaSetting) -> None:
    """iCARMA, eqs. 4 and 12 (Budde et al., 2026): weights 1, 4, 7, 10 and 1, 2, 5, 10 for four ranks."""
    wishes = {
        p: preferences(small.schema, IcarmaCase(profile=p), 30) for p in ("constant", "linear", "convex")
    }
    acts = small.schema.actionable
    np.testing.assert_array_equal(np.sort(wishes["linear"].weight[:, acts], axis=1)[0], [1, 4, 7, 10])
    np.testing.assert_array_equal(np.sort(wishes["convex"].weight[:, acts], axis=1)[0], [1, 2, 5, 10])
    assert (wishes["constant"].weight == 1).all()
    np.testing.assert_array_equal(wishes["linear"].score, wishes["convex"].score)


def test_fewer_features_are_taken_from_the_same_ranking(small: IcarmaSetting) -> None:
    acts = small.schema.actionable
    can = {
        f: ~preferences(small.schema, IcarmaCase(features=f), 200).frozen[:, acts] for f in (1, 2, 3, 4, 0)
    }
    for few in (1, 2, 3, 4):
        assert (can[few].sum(1) == few).all()
        assert few == 1 or (can[few] >= can[few - 1]).all()
    assert set(can[0].sum(1)) == {1, 2, 3, 4}


@pytest.mark.parametrize("case", sorted({row.case for row in ROWS if row.case.dataset == "loan"}))
def test_every_case_can_be_drawn(small: IcarmaSetting, case: IcarmaCase) -> None:
    wishes = preferences(small.schema, case, 40)
    assert wishes.n == 40 and (~wishes.frozen[:, small.schema.actionable]).any(1).all()


def test_privileged_people_act_on_income_and_savings(small: IcarmaSetting) -> None:
    """iCARMA, appendix C.1 (Budde et al., 2026): the profile ranks one of its pair first."""
    privileged = np.arange(400) % 2 == 0
    wishes = two_features(small.schema, privileged)
    place = {name: small.schema.names.index(name) for name in actionable_names(small.schema)}
    assert ((~wishes.frozen[:, small.schema.actionable]).sum(1) == 2).all()
    first = {name: wishes.score[:, place[name]] == 1 for name in place}
    assert (first["income"] | first["savings"])[privileged].all()
    assert (first["loan_amount"] | first["loan_duration"])[~privileged].all()
