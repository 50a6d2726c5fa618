"""Every output of a few people says the same numbers, with units and no raw floats; the linter sees what is wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from benchmarks.lint_outputs import findings

import wayforward as wf
from wayforward.testing import case


def test_outputs_agree() -> None:
    it = case("forest", "causal", n=40)
    refused = it.x[it.refused][:6]
    assert list(findings(it.problem, wf.recommend(it.problem, refused, k=2), 2, ("en", "de"), 2)) == []


def test_the_linter_sees_raw_floats_and_unequal_numbers() -> None:
    it = case("linear", n=40)
    got = wf.recommend(it.problem, it.x[it.refused][:4], k=1)
    action = got.action.copy()
    j = int(np.flatnonzero([f.kind == "real" and f.step is None for f in it.problem.schema.features])[0])
    action[:, 0, j] = got.x[:, j] + 0.123456789
    raw = replace(got, action=action, after=np.where(np.isnan(action), got.after, action), problem=None)
    kinds = {kind for kind, _ in findings(it.problem, raw, letters=0)}
    assert "raw float" in kinds
