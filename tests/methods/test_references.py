"""Accepted reference people as proposals: the same answers however few people are listed at once."""

from __future__ import annotations

import numpy as np
import pytest

import wayforward as wf
from wayforward.methods.engines import references
from wayforward.testing import case


@pytest.mark.parametrize("method", ["nice", "nearest-observable"])
def test_lists_are_made_for_so_many_at_once_as_memory_allows(method, monkeypatch) -> None:
    given = case("forest", "independent", n=24)
    problem, x = given.problem, given.x
    seen: list[int] = []
    listed = references.References._ranked

    def ranked(self: references.References, who: np.ndarray, length: int) -> tuple[np.ndarray, np.ndarray]:
        seen.append(len(who) * length)
        return listed(self, who, length)

    monkeypatch.setattr(references.References, "_ranked", ranked)
    whole = wf.method(method).fit(problem).recommend(x, k=2, seed=0)
    together = max(seen)
    monkeypatch.setattr(references, "_LISTED", 100)
    seen.clear()
    parts = wf.method(method).fit(problem).recommend(x, k=2, seed=0)
    assert max(seen) <= 100 < together
    np.testing.assert_array_equal(parts.action, whole.action)
    np.testing.assert_array_equal(parts.outcome, whole.outcome)
