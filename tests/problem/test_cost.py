"""Costs: published numbers, brute force, and what every cost promises."""

from __future__ import annotations

import json
import math
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wayforward.errors import FileFormatError, ProblemError
from wayforward.problem.cost import (
    Cost,
    LpMix,
    MadL1,
    Mahalanobis,
    PercentileShift,
    cost_from_dict,
    cost_named,
    named_costs,
)
from wayforward.schema import Feature, Schema

NAN = math.nan


def number(name: str, low: float | None = 0.0, high: float | None = 100.0, **more: object) -> Feature:
    return Feature(name=name, kind="real", low=low, high=high, **more)  # type: ignore[arg-type]


MIXED = Schema(
    (
        number("income", 0, 5000),
        number("share", 0, 1, missing=True),
        Feature(name="visits", kind="integer", low=0, high=20),
        Feature(name="owner", kind="binary", levels=("no", "yes")),
        Feature(name="school", kind="ordinal", levels=("low", "mid", "high", "top")),
        Feature(name="job", kind="categorical", levels=("a", "b", "c")),
    )
)


def people(n: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    income = np.clip(rng.lognormal(7, 0.6, n), 0, 5000)
    columns = [income, np.clip(income / 5000 + rng.normal(0, 0.1, n), 0, 1), rng.poisson(3, n).clip(0, 20)]
    columns += [rng.integers(0, 2, n), rng.integers(0, 4, n), rng.integers(0, 3, n)]
    x = np.column_stack(columns).astype(float)
    x[rng.random(n) < 0.1, 1] = NAN
    return x


REFERENCE = people(400)
ALL = {
    **named_costs(),
    "mix": LpMix(0.5, 1, 2, 0.25, 0.1),
    "mirror": PercentileShift("total", log=True, mirror=True),
}


@pytest.fixture(params=sorted(ALL))
def cost(request: pytest.FixtureRequest) -> Cost:
    return ALL[request.param].fit(MIXED, REFERENCE)


# -- published numbers -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cost", "expected"),
    [
        (LpMix(l0=1, l1=0), 2.0),
        (LpMix(), 0.7),
        (LpMix(l1=0, l2=1), 0.5),
        (LpMix(l1=0, l2_squared=1), 0.25),
        (LpMix(l1=0, linf=1), 0.4),
        (LpMix(2, 1, 3, 4), 2 * 2 + 0.7 + 3 * 0.5 + 4 * 0.4),
        (LpMix(l0=1, l1=1, per_feature=True), (2 + 0.7) / 3),
    ],
)
def test_the_norms_of_a_known_change(cost: LpMix, expected: float) -> None:
    """delta = (.3, -.4, 0): L0 2, L1 .7, L2 .5, L2 squared .25, L-infinity .4; survey eq. 4."""
    schema = Schema((number("a", 0, 10), number("b", -1, 1), number("c", 0, 1)))
    before, action = np.array([[2.0, 0.5, 0.3]]), np.array([[5.0, -0.3, 0.3]])
    assert cost.fit(schema).total(before, action)[0] == pytest.approx(expected, abs=1e-12)


def test_levels_are_scaled_to_their_steps() -> None:
    before = np.array([1000.0, 0.5, 4, 0, 0, 2])
    action = np.array(
        [[NAN, NAN, NAN, 1, NAN, NAN], [NAN, NAN, NAN, NAN, 2, NAN], [NAN, NAN, NAN, NAN, NAN, 0]]
    )
    np.testing.assert_allclose(LpMix().fit(MIXED).total(before, action), [1, 2 / 3, 1])


def test_mad_scaled_l1_of_wachter() -> None:
    """Survey eq. 3: (0, 1, 2, 3, 14) has median 2 and deviations (2, 1, 0, 1, 12), whose median is 1."""
    schema = Schema((number("a"), number("b"), Feature(name="c", kind="binary", levels=(0, 1))))
    reference = np.array([[0, 0, 0], [1, 10, 0], [2, 20, 0], [3, 30, 0], [14, 40, 1]], dtype=float)
    fitted = MadL1().fit(schema, reference)
    got = fitted.parts(np.array([[2.0, 20.0, 0.0]]), np.array([[5.0, 25.0, 1.0]]))
    np.testing.assert_allclose(got, [[3 / 1, 5 / 10, 1]])
    assert fitted.fallbacks == ()


@pytest.mark.parametrize(("fallback", "divisor"), [("range", 100.0), ("std", 3.0), ("one", 1.0)])
def test_a_deviation_of_zero_is_replaced_and_named(fallback: str, divisor: float) -> None:
    schema = Schema((number("gain"), number("pay")))
    reference = np.column_stack([np.r_[np.zeros(9), 10.0], np.arange(10.0)])
    fitted = MadL1(fallback=fallback).fit(schema, reference)  # type: ignore[arg-type]
    assert fitted.fallbacks == ("gain",)
    assert fitted.total(np.zeros(2), np.array([6.0, NAN])) == pytest.approx(6 / divisor)


@pytest.mark.parametrize(
    ("cost", "move", "expected"),
    [
        (PercentileShift("total", log=True), (50, 55), 0.1054),
        (PercentileShift("total", log=True), (90, 95), 0.6931),
        (PercentileShift("max"), (50, 55), 0.05),
        (PercentileShift("max"), (90, 95), 0.05),
        (PercentileShift("total", log=True), (95, 90), 0.6931),
        (PercentileShift("total", log=True, mirror=True), (95, 90), math.log(0.95 / 0.90)),
    ],
)
def test_the_last_places_are_dear_in_logarithms(
    cost: PercentileShift, move: tuple[float, float], expected: float
) -> None:
    """From the 50th to the 55th percentile is simpler than from the 90th to the 95th (survey 3.1.2)."""
    fitted = cost.fit(Schema((number("grade"),)), np.arange(1.0, 101)[:, None])
    assert fitted.total(np.array([move[0]]), np.array([move[1]])) == pytest.approx(expected, abs=5e-5)


def test_the_fixture_f_mckp() -> None:
    """Uniform on 0..100, x = (50, 20): (65, 35) shifts at most .15; the local cost of (50, 50) is ln 1.6."""
    schema, reference = Schema((number("a"), number("b"))), np.tile(np.arange(1.0, 101)[:, None], 2)
    x = np.array([50.0, 20.0])
    assert PercentileShift("max").fit(schema, reference).total(x, np.array([65.0, 35.0])) == pytest.approx(
        0.15
    )
    assert PercentileShift("total").fit(schema, reference).total(x, np.array([65.0, 35.0])) == pytest.approx(
        0.30
    )
    local = PercentileShift("total", log=True).fit(schema, reference)
    assert local.total(x, np.array([50.0, 50.0])) == pytest.approx(0.4700, abs=5e-5)


def test_logarithms_stay_finite_at_both_ends() -> None:
    fitted = PercentileShift("total", log=True).fit(Schema((number("grade"),)), np.arange(1.0, 101)[:, None])
    ends = math.log((1 - 1 / 200) / (1 / 200))
    assert fitted.total(np.array([0.0]), np.array([100.0])) == pytest.approx(ends)
    assert fitted.total(np.array([100.0]), np.array([0.0])) == pytest.approx(ends)


def test_percentiles_are_exact_at_observed_values_and_linear_between() -> None:
    fitted = PercentileShift("total").fit(Schema((number("a"),)), np.array([[10.0], [10.0], [20.0], [40.0]]))
    x, to = np.array([[10.0], [10.0], [10.0], [5.0]]), np.array([[20.0], [30.0], [40.0], [10.0]])
    np.testing.assert_allclose(fitted.total(x, to), [0.25, 0.375, 0.5, 0.25])
    mid = PercentileShift("total", ties="mid").fit(
        Schema((number("a"),)), np.array([[10.0], [10.0], [20.0], [40.0]])
    )
    assert mid.total(np.array([10.0]), np.array([20.0])) == pytest.approx(0.625 - 0.25)


def test_mahalanobis_of_a_known_covariance() -> None:
    """Unshrunk, it is the root of delta' S^-1 delta with the covariance of the reference."""
    rng = np.random.default_rng(3)
    reference = rng.multivariate_normal([50, 50], [[100, 60], [60, 64]], size=500)
    schema = Schema((number("a", -1e3, 1e3), number("b", -1e3, 1e3)))
    delta = np.array([[3.0, -4.0], [3.0, 4.0], [0.0, 2.0]])
    inverse = np.linalg.inv(np.cov(reference.T, bias=True))
    expected = np.sqrt(np.einsum("mi,ij,mj->m", delta, inverse, delta))
    got = Mahalanobis(shrinkage=0).fit(schema, reference).total(np.full((3, 2), 50.0), 50 + delta)
    np.testing.assert_allclose(got, expected, rtol=1e-9)
    alone = Mahalanobis(shrinkage=1).fit(schema, reference).total(np.full((3, 2), 50.0), 50 + delta)
    np.testing.assert_allclose(
        alone, np.sqrt(np.square(delta / reference.std(axis=0)).sum(axis=1)), rtol=1e-9
    )


def test_mahalanobis_bears_copied_and_constant_columns() -> None:
    schema = Schema((number("a"), number("copy"), number("fixed")))
    a = np.random.default_rng(0).uniform(0, 100, 50)
    fitted = Mahalanobis().fit(schema, np.column_stack([a, a, np.full(50, 7.0)]))
    assert fitted.fallbacks == ("fixed",)
    assert np.isfinite(fitted.total(np.zeros(3), np.array([1.0, 0.0, 1.0])))


def test_two_random_people_are_as_far_apart_in_a_category_as_in_a_number() -> None:
    rng = np.random.default_rng(0)
    schema = Schema((number("a"), Feature(name="c", kind="categorical", levels=("x", "y", "z"))))
    x = np.column_stack([rng.uniform(0, 100, 1500), rng.choice(3, 1500, p=[0.7, 0.2, 0.1])])
    fitted = Mahalanobis(shrinkage=1).fit(schema, x)
    one, other = x[rng.permutation(1500)], x[rng.permutation(1500)]
    square = [np.square(fitted.part(j, one[:, j], other[:, j])).mean() for j in (0, 1)]
    np.testing.assert_allclose(square, [2, 2], rtol=0.1)


def test_a_range_can_come_from_the_reference() -> None:
    schema = Schema((number("open", None, None), number("half", 0, None)))
    fitted = LpMix().fit(schema, np.array([[10.0, 1.0], [30.0, 1.0]]))
    np.testing.assert_allclose(fitted.parts(np.zeros(2), np.array([5.0, 5.0])), [5 / 20, 5])
    assert fitted.fallbacks == ("half",)


# -- promises of every cost --------------------------------------------------------------------------------


def actions(x: np.ndarray, seed: int, share: float = 0.5) -> np.ndarray:
    rng = np.random.default_rng(seed)
    other = people(len(x), seed + 1)
    other[:, 1] = rng.random(len(x))
    return np.where(rng.random(x.shape) < share, other, NAN)


@given(seed=st.integers(0, 1000), name=st.sampled_from(sorted(ALL)))
def test_it_costs_nothing_exactly_if_nothing_changes(seed: int, name: str) -> None:
    cost = ALL[name].fit(MIXED, REFERENCE)
    x = people(20, seed)
    action = actions(x, seed)
    assert (cost.total(x, np.full(x.shape, NAN)) == 0).all()
    assert (cost.total(x, x) == 0).all()  # holding a value is free (a missing one stays missing)
    inside = np.clip(action, np.nanmin(REFERENCE, axis=0), np.nanmax(REFERENCE, axis=0))
    there = np.clip(x, np.nanmin(REFERENCE, axis=0), np.nanmax(REFERENCE, axis=0))
    changed = (~np.isnan(inside) & (np.isnan(there) | (np.abs(inside - there) > 1e-6))).any(axis=1)
    total = cost.total(there, inside)
    assert (total[changed] > 0).all()
    assert (total >= 0).all() and np.isfinite(total).all()


@given(seed=st.integers(0, 1000), name=st.sampled_from(sorted(ALL)))
def test_the_way_back_costs_the_same_where_promised(seed: int, name: str) -> None:
    cost = ALL[name].fit(MIXED, REFERENCE)
    x, y = people(20, seed), people(20, seed + 1)
    x[:, 1] = y[:, 1] = 0.5
    if cost.symmetric:
        np.testing.assert_allclose(cost.total(x, y), cost.total(y, x), rtol=1e-12)
    else:
        assert (cost.total(x, y) != cost.total(y, x)).any()


@given(seed=st.integers(0, 1000), factor=st.floats(0.1, 10), name=st.sampled_from(sorted(ALL)))
def test_weights_scale_the_cost(seed: int, factor: float, name: str) -> None:
    cost = ALL[name].fit(MIXED, REFERENCE)
    x = people(10, seed)
    action = actions(x, seed)
    plain = cost.total(x, action)
    np.testing.assert_allclose(cost.total(x, action, np.full(x.shape, factor)), plain * factor, rtol=1e-9)
    weight = np.random.default_rng(seed).uniform(0.5, 3, x.shape)
    if cost.separable:
        np.testing.assert_allclose(
            cost.total(x, action, weight), (weight * cost.parts(x, action)).sum(axis=1)
        )
    assert (
        cost.total(x, action, weight + 1) >= cost.total(x, action, weight) - 1e-12
    ).all() or name == "mahalanobis"


@given(seed=st.integers(0, 1000), name=st.sampled_from(sorted(ALL)))
def test_a_part_is_the_cost_of_that_change_alone(seed: int, name: str) -> None:
    cost = ALL[name].fit(MIXED, REFERENCE)
    x = people(5, seed)
    action = actions(x, seed, share=0.9)
    parts = cost.parts(x, action)
    for j in range(MIXED.d):
        alone = np.full(x.shape, NAN)
        alone[:, j] = action[:, j]
        np.testing.assert_allclose(cost.total(x, alone), parts[:, j], atol=1e-12)
        np.testing.assert_allclose(cost.part(j, x[:, j], action[:, j]), parts[:, j], atol=1e-12)
    assert (parts[np.isnan(action)] == 0).all()
    total = cost.total(x, action)
    if cost.separable:
        np.testing.assert_allclose(total, parts.sum(axis=1))


@given(
    seed=st.integers(0, 300), factor=st.floats(1e-3, 1e3), name=st.sampled_from(["l1", "l2", "mix", "mad"])
)
def test_another_unit_changes_nothing(seed: int, factor: float, name: str) -> None:
    """Rescaling a feature and its bounds leaves the cost as it was."""
    wide = MIXED.revise(income={"low": 0, "high": 5000 * factor})
    x = people(10, seed)
    action, stretch = actions(x, seed), np.array([factor, 1, 1, 1, 1, 1])
    plain = ALL[name].fit(MIXED, REFERENCE).total(x, action)
    scaled = ALL[name].fit(wide, REFERENCE * stretch).total(x * stretch, action * stretch)
    np.testing.assert_allclose(scaled, plain, rtol=1e-9)


def test_a_row_costs_the_same_alone_and_in_any_batch(cost: Cost) -> None:
    n = 5000  # more than one block
    x = people(n, 5)
    action, weight = actions(x, 6), np.random.default_rng(7).uniform(0.5, 2, x.shape)
    total, parts = cost.total(x, action, weight), cost.parts(x, action)
    order = np.random.default_rng(8).permutation(n)
    np.testing.assert_array_equal(cost.total(x[order], action[order], weight[order]), total[order])
    np.testing.assert_array_equal(cost.total(np.asfortranarray(x), np.asfortranarray(action), weight), total)
    for i in (0, 1, 4095, 4096, n - 1):
        assert cost.total(x[i], action[i], weight[i]) == total[i]
        assert (cost.parts(x[i], action[i]) == parts[i]).all()


def test_options_take_the_people_axis(cost: Cost) -> None:
    x, weight = people(7, 1), np.random.default_rng(0).uniform(0.5, 2, (7, 6))
    action = np.stack([actions(x, seed) for seed in (2, 3, 4)], axis=1)  # (n, k, d)
    total = cost.total(x, action, weight)
    assert total.shape == (7, 3) and cost.parts(x, action).shape == (7, 3, 6)
    for k in range(3):
        np.testing.assert_array_equal(total[:, k], cost.total(x, action[:, k], weight))


def test_a_missing_value_before_counts_as_a_full_change(cost: Cost) -> None:
    x = people(3)
    x[:, 1] = NAN
    action = np.full(x.shape, NAN)
    action[:, 1] = [0.0, 0.4, 1.0]
    total = cost.total(x, action)
    assert (total == total[0]).all() and total[0] > 0
    everything = cost.total(np.where(np.arange(6) == 1, 0.0, x), np.where(np.arange(6) == 1, 1.0, NAN)[None])
    assert total[0] >= everything[0] * (1 - 1e-9)


@given(seed=st.integers(0, 500), name=st.sampled_from(sorted(ALL)))
def test_nothing_affordable_lies_outside_the_reach(seed: int, name: str) -> None:
    cost = ALL[name].fit(MIXED, REFERENCE)
    x = people(30, seed)
    action, weight = actions(x, seed), np.random.default_rng(seed).uniform(0.2, 5, x.shape)
    low, high = cost.reach_for(x, cost.total(x, action, weight), weight)
    assert (np.isnan(action) | ((action >= low) & (action <= high))).all()


@pytest.mark.parametrize("name", [name for name in sorted(ALL) if ALL[name].separable])
def test_the_reach_of_a_separable_cost_is_tight(name: str) -> None:
    cost = ALL[name].fit(MIXED, REFERENCE)
    x = people(40, 2)
    for budget in (0.0, 0.3, 1.2):
        low, high = cost.reach_for(x, np.full(len(x), budget))
        for j in range(MIXED.d):
            grid = np.linspace(MIXED.low[j], MIXED.high[j], 41) if j != 5 else np.arange(3.0)
            price = cost.part(j, x[:, j, None], grid[None, :])
            inside = (grid >= low[:, j, None]) & (grid <= high[:, j, None])
            assert (inside[price <= budget]).all(), MIXED.names[j]
            assert (price[inside] <= budget + 1e-6).all(), MIXED.names[j]


def test_it_survives_json(cost: Cost) -> None:
    back = cost_from_dict(json.loads(json.dumps(cost.to_dict(), allow_nan=False)))
    x = people(50, 9)
    action = actions(x, 9)
    np.testing.assert_array_equal(back.total(x, action), cost.total(x, action))
    assert (
        type(back) is type(cost) and back.describe() == cost.describe() and back.fallbacks == cost.fallbacks
    )
    assert cost.unit and back.unit == cost.unit


def test_a_million_rows_are_quick() -> None:
    schema = Schema(tuple(number(f"f{j}", 0, 1) for j in range(14)))
    rng = np.random.default_rng(0)
    x, action = rng.random((1_000_000, 14)), rng.random((1_000_000, 14))
    fitted = LpMix().fit(schema)
    seconds = []
    for _ in range(3):
        begin = time.perf_counter()
        fitted.total(x, action)
        seconds.append(time.perf_counter() - begin)
    assert min(seconds) < 0.4  # 0.06 on a quiet core; a shared one may be several times slower


# -- errors ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: LpMix(l1=-1), "l1=-1"),
        (lambda: LpMix(l2=math.inf), "l2=inf"),
        (lambda: LpMix(l1=0), "every coefficient at 0"),
        (lambda: MadL1(fallback="two"), "fallback='two'"),  # type: ignore[arg-type]
        (lambda: PercentileShift("mean"), "kind='mean'"),  # type: ignore[arg-type]
        (lambda: PercentileShift(ties="left"), "ties='left'"),  # type: ignore[arg-type]
        (lambda: PercentileShift(categorical=-1), "categorical=-1"),
        (lambda: Mahalanobis(shrinkage=2), "shrinkage=2"),
        (lambda: cost_named("l3"), "no cost 'l3'. Choose one of l0, l1"),
        (lambda: MadL1().fit(MIXED), "data=train"),
        (lambda: LpMix().fit(MIXED, np.zeros((3, 2))), r"shape \(3, 2\), the schema has 6"),
        (lambda: LpMix().fit(MIXED, np.full((1, 6), np.inf)), "'income' is infinite"),
        (lambda: PercentileShift().fit(MIXED, np.full((2, 6), NAN)), "'income' is missing for everyone"),
        (lambda: LpMix().total(np.zeros(6), np.zeros(6)), "not fitted"),
        (lambda: LpMix().fit(MIXED).total(np.zeros(5), np.zeros(5)), "fitted on 6 features"),
        (lambda: LpMix().fit(MIXED).total(np.zeros((3, 6)), np.zeros((2, 6))), "do not go together"),
        (lambda: LpMix().fit(MIXED).total(np.zeros(6), np.zeros(6), np.zeros(6)), "A weight is 0.0"),
    ],
)
def test_the_errors_say_what_to_do(make: object, words: str) -> None:
    with pytest.raises(ProblemError, match=words):
        make()  # type: ignore[operator]


@pytest.mark.parametrize(
    "stored",
    [
        {},
        {"cost": "l7"},
        [],
        {"cost": "lp", "parameters": {"l9": 1}},
        {"cost": "mad", "fitted": {"scales": {}}},
    ],
)
def test_a_broken_file_is_refused(stored: object) -> None:
    with pytest.raises(FileFormatError, match="stored cost"):
        cost_from_dict(stored)  # type: ignore[arg-type]
