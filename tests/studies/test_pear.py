"""The study of PEAR, end to end on a few people."""

from __future__ import annotations

import json

import numpy as np
import pytest

from wayforward.data import available
from wayforward.errors import DataError
from wayforward_studies.pear.run import SETTINGS, PearReplication, PearRequest, RegretCurve, checked

pytestmark = pytest.mark.skipif(not available("gmsc"), reason="the raw file of gmsc is not on this machine")


@pytest.mark.slow
def test_a_small_study_writes_its_page_and_goes_on_from_stored_stages(tmp_path, monkeypatch):
    """Regret never rises above what it was by much, and the second run asks nobody."""
    monkeypatch.setattr("wayforward_studies.pear.run.SETTINGS", SETTINGS[:1])
    monkeypatch.setattr("wayforward_studies.pear.run.checked", lambda curves: [])
    request = PearRequest(datasets=("gmsc",), n=8, seeds=1, budget=2, out=tmp_path / "out", cache=tmp_path)
    page = PearReplication(request).page("regret")
    lines = page.rows
    assert [line["questions"] for line in lines] == [0, 1, 2]
    assert all(line["regret"] >= -1e-9 for line in lines)
    assert {file.name for file in (tmp_path / "out").iterdir()} == set(page.files)
    assert json.loads((tmp_path / "out" / "regret-quick.json").read_text())["paper"] == "pear"
    monkeypatch.setattr(PearReplication, "_measure", lambda *_: pytest.fail("asked again"))
    assert PearReplication(request).page("regret").rows == lines


def test_findings_are_read_off_the_curves():
    """Falling curves are as published, rising ones are not, equal ones undecided."""
    rng = np.random.default_rng(0)

    def curves(first: float, last: float) -> list[RegretCurve]:
        regret = np.linspace(first, last, 11) + rng.normal(0, 0.01, (200, 11))
        return [RegretCurve("gmsc", setting, regret, np.ones(200), np.ones(200), 0.0) for setting in SETTINGS]

    for first, last, verdict in (
        (1.0, 0.1, "as published"),
        (0.1, 1.0, "not as published"),
        (0.5, 0.5, "undecided"),
    ):
        assert next(checked(curves(first, last))).verdict == verdict


@pytest.mark.parametrize("wrong", [{"datasets": ("law",)}, {"n": 0}, {"seeds": 0}])
def test_what_cannot_be_measured_is_refused(wrong):
    """By name."""
    with pytest.raises(DataError):
        PearRequest(**wrong)
