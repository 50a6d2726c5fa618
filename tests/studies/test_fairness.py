"""The case study finds gaps that are there, and none where there are none."""

from __future__ import annotations

import numpy as np
import pytest

from wayforward.evaluate import stats
from wayforward_studies.icarma.fairness import GROUPS, SCENARIOS, Fairness, balanced, checks, privileged


def people(n: int = 1600):
    return balanced(np.random.default_rng(1).integers(0, 2, n).astype(float), np.random.default_rng(0))


def made(effect) -> Fairness:
    """Costs and log-densities around 1 and -10; `effect(scenario, woman, white)` makes them worse."""
    who, rng = people(), np.random.default_rng(2)
    n = len(who.rows)
    worse = {
        s: np.array([effect(s, w, r) for w, r in zip(who.woman, who.white, strict=True)]) for s in SCENARIOS
    }
    return Fairness(
        who,
        {s: 1 + worse[s] + rng.normal(0, 0.2, n) for s in SCENARIOS},
        {s: -10 - worse[s] + rng.normal(0, 0.2, n) for s in SCENARIOS},
        {s: stats.rate(np.ones(n, bool)) for s in SCENARIOS},
        "icarma",
    )


def test_groups_are_balanced() -> None:
    got = people(999)
    assert len({int((got.group == g).sum()) for g in GROUPS}) == 1
    assert len(set(got.rows.tolist())) == len(got.rows)


def test_profiles_follow_their_scenario() -> None:
    """iCARMA, section 5.5 (Budde et al., 2026): half; the top quarter; 90 % of white and 5 % of other people."""
    who, rng = people(40_000), np.random.default_rng(3)
    income = rng.normal(size=len(who.rows))
    assert privileged("random", who, income, rng).mean() == pytest.approx(0.5, abs=0.02)
    by_income = privileged("income", who, income, rng)
    assert by_income.mean() == pytest.approx(0.25, abs=0.01)
    assert income[by_income].min() >= income[~by_income].max()
    by_race = privileged("race", who, income, rng)
    assert by_race[who.white].mean() == pytest.approx(0.9, abs=0.02)
    assert by_race[~who.white].mean() == pytest.approx(0.05, abs=0.02)


def test_the_published_story_is_told() -> None:
    growth = {"baseline": 0.1, "random": 0.2, "income": 0.3, "race": 0.2}
    got = checks(made(lambda s, woman, white: growth[s] * woman + 0.15 * (s == "race" and not white)))
    assert [c.name for c in got if c.holds is not True] == []


def test_another_story_is_not() -> None:
    """Gaps the other way, nothing that grows, a gap between races from the start."""
    got = {
        c.name: c.holds for c in checks(made(lambda s, woman, white: 0.2 * (not woman) + 0.2 * (not white)))
    }
    assert (
        got["existing gap, cost"] is False
        and got["existing gap, density".replace("density", "log-density")] is False
    )
    assert got["amplified: cost, baseline to random"] is None
    assert got["hidden: cost"] is False and got["intersectional: cost"] is False


def test_no_story_at_all_is_undecided() -> None:
    got = {c.name: c.holds for c in checks(made(lambda s, woman, white: 0.0))}
    assert got["existing gap, cost"] is None
