"""What people say is drawn once and replayed; the same ranking serves every number of features."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from wayforward_studies.icarma.preferences import actionable_names, preferences, two_features
from wayforward_studies.icarma.published import ROWS, IcarmaCase
from wayforward_studies.icarma.setting import IcarmaSetting


def test_replay_is_identical_and_reads_the_file(small: IcarmaSetting, tmp_path: Path) -> None:
    case = IcarmaCase(law="reverse", features=0)
    first = preferences(small.schema, case, 50, folder=tmp_path)
    (file,) = tmp_path.iterdir()
    content = file.read_text()
    again = preferences(small.schema, case, 50, folder=tmp_path)
    np.testing.assert_array_equal(first.frozen, again.frozen)
    np.testing.assert_array_equal(first.score, again.score)
    np.testing.assert_array_equal(first.weight, again.weight)
    # drawn without a folder, and drawn in another one: the same people say the same
    np.testing.assert_array_equal(preferences(small.schema, case, 50).score, first.score)
    preferences(small.schema, case, 50, folder=tmp_path / "other")
    assert (tmp_path / "other" / file.name).read_text() == content
    other = preferences(small.schema, case, 50, seed=1)
    assert (other.score != first.score).any()
    # what is in the file counts, not the seed
    file.write_text(content.replace("1.0", "2.0", 1))
    assert preferences(small.schema, case, 50, folder=tmp_path).to_dict() != first.to_dict()


def test_profiles_weigh_the_same_answers(small: IcarmaSetting, tmp_path: Path) -> None:
    """iCARMA, eqs. 4 and 12 (Budde et al., 2026): weights 1, 4, 7, 10 and 1, 2, 5, 10 for four ranks."""
    wishes = {
        p: preferences(small.schema, IcarmaCase(profile=p), 30, folder=tmp_path)
        for p in ("constant", "linear", "convex")
    }
    assert len(list(tmp_path.iterdir())) == 1
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
