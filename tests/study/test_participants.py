"""Profiles, distances, the choice of plans, the declared population and simulated ratings of the published study."""

from __future__ import annotations

import numpy as np
import pytest

from wayforward.errors import DataError
from wayforward.study import Gamm, Rater, analyse, power, simulate_study
from wayforward.study.car_loan import INCOME, ITEMS, RANGES, distances, eligible, select
from wayforward.study.participants import ACTION, without_effect
from wayforward.study.population import DISCLOSED, RICH, draw_shown

POSITION = {item.name: i for i, item in enumerate(ITEMS)}
PLAIN = np.ones(16, dtype=int)


def changed(**codes: int) -> np.ndarray:
    out = PLAIN.copy()
    for name, code in codes.items():
        out[POSITION[name.replace("_", " ")]] = code
    return out


@pytest.mark.parametrize(
    ("to", "sparsity", "proximity"),
    [
        (changed(teleworking_hours_per_day=2), 1, 0.167),
        (changed(TOEIC_best_score=2), 1, 0.14),
        (changed(number_of_side_jobs=2), 1, 0.20),
        (changed(service_years=2), 1, 0.20),
        (changed(position=4, working_hours_per_day=2), 2, 0.50),
        (changed(workplace=2), 1, 1.0),
    ],
)  # fmt: skip
def test_distances_are_those_that_the_paper_quotes(to: np.ndarray, sparsity: int, proximity: float) -> None:
    """Tominaga et al. (2024), quoted participants P006, P674, P294, P655, P706."""
    got = distances(PLAIN, to)
    assert got[0] == sparsity and got[1] == pytest.approx(proximity, abs=0.005)


def test_other_ranges_are_other_readings() -> None:
    """P718: one step of working hours is printed as .20, which needs a range of 5."""
    ranges = RANGES.copy()
    ranges[POSITION["working hours per day"]] = 5
    assert distances(PLAIN, changed(working_hours_per_day=2), ranges)[1] == pytest.approx(0.20)


def test_an_ideal_earns_a_third_more_by_midpoints() -> None:
    pool = np.tile(changed(workplace=2), (20, 1))
    codes = np.arange(1, 21)
    least = [int(codes[eligible(PLAIN[None], np.array([c]), pool, codes)[0]].min()) for c in range(1, 10)]
    assert least == [2, 3, 5, 6, 7, 9, 10, 11, 13] and len(INCOME) == 20


@pytest.mark.parametrize("i", range(16))
def test_what_cannot_be_taken_back_never_falls(i: int) -> None:
    before, after = PLAIN.copy(), PLAIN.copy()
    before[i] = 2
    got = eligible(before[None], np.array([1]), after[None], np.array([20]))
    assert got[0, 0] == (not ITEMS[i].up)


def test_nobody_is_shown_their_own_profile() -> None:
    assert not eligible(PLAIN[None], np.array([1]), PLAIN[None], np.array([20])).any()


def test_the_sparsest_and_the_most_proximate_come_first_and_all_five_differ() -> None:
    rng = np.random.default_rng(0)
    x, pool = rng.integers(1, 3, (12, 16)), rng.integers(1, 3, (60, 16))
    allowed = rng.random((12, 60)) < 0.4
    allowed[0] = False
    allowed[0, :4] = True
    plan = select(x, pool, allowed, rng)
    assert (plan[0] == -1).all()
    sparsity, proximity = distances(x[:, None], pool[None])
    for i in range(1, 12):
        assert allowed[i, plan[i]].all() and len(set(plan[i])) == 5
        assert sparsity[i, plan[i, 0]] == sparsity[i, allowed[i]].min()
        left = allowed[i].copy()
        left[plan[i, 0]] = False
        assert proximity[i, plan[i, 1]] == pytest.approx(proximity[i, left].min())
    with pytest.raises(DataError, match="people by pool"):
        select(x, pool, allowed[:3], rng)


def test_the_population_meets_what_the_paper_states() -> None:
    shown = draw_shown(362, np.random.default_rng(0))
    assert len(shown.pool) == DISCLOSED and shown.profile.shape == (362, 16) and shown.plan.min() >= 0
    assert (shown.pool_income >= 13).sum() == pytest.approx(RICH, abs=4 * RICH**0.5)
    assert shown.income.max() <= 9
    sparsity, proximity = distances(shown.profile[:, None], shown.pool[shown.plan])
    assert sparsity.min() == 1 and sparsity.max() >= 10  # quoted: 1 to 12
    assert proximity.min() < 0.2 and proximity.max() > 6  # quoted: .14 to 9.09
    assert all(shown.profile[:, i].max() <= len(item.options) for i, item in enumerate(ITEMS))


def test_a_study_comes_from_its_seed() -> None:
    one, two, other = simulate_study(30, seed=1), simulate_study(30, seed=1), simulate_study(30, seed=2)
    assert all((one[name] == two[name]).all() for name in one)
    assert (one["sparsity"] != other["sparsity"]).any()
    assert set(np.unique(one["action"])) <= set(range(1, 8)) and len(one["plan"]) == 150


def test_raters_without_spread_rate_the_curve() -> None:
    rater = Rater(mean=4, height=2, intercept=0, slope=0, error=0, fall=1)
    x = np.array([[1, 2, 3, 9, 9]])
    curve = np.exp(-(x - 1.0))
    got = rater.rate(x, np.random.default_rng(0))
    np.testing.assert_array_equal(got, np.round(4 + 2 * (curve - curve.mean())))


@pytest.mark.parametrize("field", ["intercept", "slope", "error", "fall"])
def test_a_spread_below_zero_is_named(field: str) -> None:
    with pytest.raises(DataError, match=f"{field}=-1 is no spread"):
        Rater(**{"mean": 3, "height": 0, "intercept": 1, "slope": 1, "error": 1, field: -1})


def test_power_grows_with_the_effect() -> None:
    strong = power(60, Rater(3, 4, 0.5, 0.05, 0.5), studies=3)
    assert strong.share == 1 and strong.interval[0] > 0.4 and strong.edf > 2
    assert power(60, without_effect(ACTION), studies=3, alpha=1e-6).share == 0
    assert power(20, x="proximity", studies=1).participants == 20


@pytest.mark.parametrize("wrong", [{"participants": 5}, {"studies": 0}, {"alpha": 1}, {"x": "cost"}])
def test_impossible_studies_are_named(wrong: dict) -> None:
    with pytest.raises(DataError, match="|".join(f"{v}" for v in wrong.values())):
        power(**{"participants": 20, "studies": 1, **wrong})


@pytest.mark.slow
def test_simulated_studies_are_like_the_published_one() -> None:
    """The acceptance band of the calibration by Tominaga et al. (2024): 20 studies, models 1 and 3 of Table S2."""
    acceptance, action = fitted(20)
    assert flat(acceptance) >= 0.8 and bent(action) >= 0.9
    assert intercept(acceptance) == pytest.approx(3.28, abs=0.15)
    assert intercept(action) == pytest.approx(2.63, abs=0.15)


def test_a_few_simulated_studies_are_like_the_published_one() -> None:
    """The same band, of as many as are quickly fitted."""
    acceptance, action = fitted(3)
    assert flat(acceptance) >= 0.8 and bent(action) >= 0.9
    assert intercept(acceptance) == pytest.approx(3.28, abs=0.15)
    assert intercept(action) == pytest.approx(2.63, abs=0.15)


def fitted(studies: int) -> tuple[list[Gamm], list[Gamm]]:
    """Models of acceptance and of willingness to act on sparsity, of studies with the first seeds."""
    pandas = pytest.importorskip("pandas")
    tables = [pandas.DataFrame(simulate_study(seed=seed)) for seed in range(studies)]
    outcomes = ["acceptance", "action"]
    got = [analyse(table, outcomes, ["sparsity"], impossible="impossible").models for table in tables]
    acceptance, action = ([models[name, "sparsity"] for models in got] for name in outcomes)
    return acceptance, action


def flat(models: list[Gamm]) -> float:
    return float(np.mean([m.curve_term.edf < 2 and m.curve_term.p > 0.05 for m in models]))


def bent(models: list[Gamm]) -> float:
    return float(np.mean([3 <= m.curve_term.edf <= 6 and m.curve_term.p < 0.001 for m in models]))


def intercept(models: list[Gamm]) -> float:
    return float(np.mean([m.intercept[0] for m in models]))
