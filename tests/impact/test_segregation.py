"""Segregation of one population: each index against a naive double loop, its bounds and what it must not notice."""

from __future__ import annotations

import itertools
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wayforward as wf
from wayforward.data import available
from wayforward.errors import DataError
from wayforward.groups import Groups
from wayforward.impact.segregation import (
    DIMENSIONS,
    Areas,
    each_group,
    hausdorff,
    land,
    pairs,
    places,
    segregation,
)
from wayforward.schema import Feature, Schema, SchemaWarning
from wayforward.testing.problems import case


def town(seed: int, n: int = 40, e: int = 3, *, grid: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Places (n, e) and labels of two groups; grid: many people at equal distances."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 3, (n, e)).astype(float) / 2 if grid else rng.normal(size=(n, e))
    label = np.where(rng.random(n) < 0.4, "few", "many")
    label[:2], label[2:4] = "few", "many"
    return x + (label == "few")[:, None] * (0.0 if grid else 0.5), label


def naive(x: np.ndarray, few: np.ndarray, areas: Areas, *, radius: float | None = None) -> dict[str, float]:
    """Every dimension by plain loops over people, as the definitions read."""
    n, m = len(x), int(few.sum())
    far = [[float(np.sqrt(((a - b) ** 2).sum())) for b in x] for a in x]
    ours, theirs = np.flatnonzero(few), np.flatnonzero(~few)
    within = [far[i][j] for i, j in itertools.combinations(ours, 2)]
    eps = float(np.quantile(within, 0.2)) if radius is None else radius
    central = 0
    for i in ours:
        around = [j for j in range(n) if far[i][j] <= eps + 1e-9]
        central += sum(few[j] for j in around) / len(around) > 0.5
    closeness = sum(np.exp(-far[i][j]) for i in ours for j in theirs) / (m * (n - m))
    area = [int(np.argmin([((p - c) ** 2).sum() for c in areas.centre])) for p in x]
    share, inner, met, delta = m / n, 0.0, 0.0, 0.0
    for i in range(len(areas)):
        here = [j for j in range(n) if area[j] == i]
        mine = sum(few[j] for j in here)
        delta += abs(mine / m - areas.land[i]) / 2
        if here:
            p = mine / len(here)
            inner += (1 - p) ** 0.5 * p**0.5 * len(here) / (n * share)
            met += mine / m * (1 - p)
    return {
        "centralization": central / n,
        "atkinson": 1 - share / (1 - share) * abs(inner) ** 2,
        "proximity": closeness,
        "exposure": met,
        "concentration": delta,
        "radius": eps,
    }


@pytest.mark.parametrize("grid", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_every_dimension_equals_a_double_loop(seed: int, grid: bool) -> None:
    """Also where most distances are tied and people stand in the same place."""
    x, label = town(seed, grid=grid)
    areas = Areas.fit(x, 6, seed=seed)
    got = segregation(x, Groups.of("size", label), group="few", areas=areas)
    want = naive(x, label == "few", areas)
    for name, value in want.items():
        assert getattr(got, name) == pytest.approx(value, abs=1e-9), name
    minority = segregation(x, Groups.of("size", label), group="few", areas=areas, denominator="minority")
    assert minority.centralization == pytest.approx(want["centralization"] * len(x) / got.members)
    fixed = segregation(x, Groups.of("size", label), group="few", areas=areas, radius=0.7)
    want = naive(x, label == "few", areas, radius=0.7)
    assert fixed.centralization == pytest.approx(want["centralization"])


def test_tiles_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many tiles, several passes of the histogram and several collected parts give what one array gives."""
    x, label = town(1, 150, 2)
    y, _ = town(2, 90, 2)
    far = np.sqrt(((x[:, None] - y[None]) ** 2).sum(-1))
    own = np.sqrt(((x[:, None] - x[None]) ** 2).sum(-1))
    monkeypatch.setattr(pairs, "_ROWS", 16)
    monkeypatch.setattr(pairs, "_COLUMNS", 32)
    monkeypatch.setattr(pairs, "_KEEP", 40)
    monkeypatch.setattr(pairs, "_BINS", 16)
    assert pairs.mean_of_pairs(x, y) == pytest.approx(far.mean(), rel=1e-12)
    assert pairs.mean_of_pairs(x, y, "closeness") == pytest.approx(np.exp(-far).mean(), rel=1e-12)
    upper = own[np.triu_indices(len(x), 1)]
    for q in (0.0, 0.2, 0.5, 0.987, 1.0):
        assert pairs.quantile_of_pairs(x, q) == pytest.approx(np.quantile(upper, q), rel=1e-12)
        tied = np.round(x)
        ties = np.sqrt(((tied[:, None] - tied[None]) ** 2).sum(-1))[np.triu_indices(len(x), 1)]
        assert pairs.quantile_of_pairs(tied, q) == pytest.approx(np.quantile(ties, q), abs=1e-12)
    want = (own <= 0.5).sum(1) > (far <= 0.5).sum(1)
    np.testing.assert_array_equal(pairs.same_around(x, y, 0.5), want)


def test_all_people_in_one_place() -> None:
    """No distance at all: everybody is everybody's neighbour."""
    x = np.full((9, 2), 3.0)
    got = segregation(x, Groups.of("size", ["few"] * 4 + ["many"] * 5))
    assert (got.centralization, got.atkinson, got.proximity, got.radius) == (0.0, 0.0, 1.0, 0.0)
    assert got.exposure == pytest.approx(5 / 9)
    assert got.space == 1.0
    assert pairs.quantile_of_pairs(np.zeros((1, 2)), 0.2) != pairs.quantile_of_pairs(np.zeros((1, 2)), 0.2)


def test_synthetic_origin_row() -> None:
    """Gao & Lakkaraju (2023), Table 1, origin: .4803 / .9496 / .6409, the mean of five draws within .01.

    Centralization with the whole population as denominator: with the group's own size it would be twice that.
    """
    centre = [(0.325, 0.685), (0.675, 0.685), (0.325, 0.315), (0.675, 0.315)]
    sex = Groups.of("sex", np.repeat(["M", "F", "M", "F"], 200))
    rows = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        x = np.concatenate([rng.normal(c, 0.1, (200, 2)) for c in centre])
        got = segregation(x, sex, seed=seed)
        rows.append([got.centralization, got.atkinson, got.proximity])
        assert segregation(x, sex, denominator="minority").centralization > 0.9
    np.testing.assert_allclose(np.mean(rows, 0), [0.4803, 0.9496, 0.6409], atol=0.01)


def test_atkinson_is_0_even_and_1_separated() -> None:
    """The same share in every area, and no area with both groups; exposure and isolation at their ends, too."""
    spots = np.repeat(np.arange(6.0) * 10, 20)[:, None]
    even = segregation(spots, Groups.of("size", np.tile(["few", "many", "many", "many"], 30)))
    assert even.atkinson == pytest.approx(0.0, abs=1e-12)
    assert even.exposure == pytest.approx(0.75)
    assert even.correlation_ratio == pytest.approx(0.0, abs=1e-12)
    assert even.space == pytest.approx(1.0)
    apart = segregation(spots, Groups.of("size", np.where(spots[:, 0] < 15, "few", "many")))
    assert apart.atkinson == pytest.approx(1.0)
    assert (apart.exposure, apart.isolation) == (0.0, 1.0)
    assert apart.correlation_ratio == pytest.approx(1.0)
    assert apart.centralization == pytest.approx(40 / 120)
    assert apart.concentration > even.concentration
    assert apart.space < 1


def test_concentration_is_the_share_that_would_have_to_move() -> None:
    """Two areas of equal land, 3 of 4 of the group in one: a quarter has to move."""
    x = np.array([[0.0], [0.1], [0.2], [1.0], [0.0], [1.0]])
    groups = Groups.of("size", ["few", "few", "few", "few", "many", "many"])
    got = segregation(x, groups, group="few", areas=Areas(np.array([[0.0], [1.0]]), np.array([0.5, 0.5])))
    assert got.concentration == pytest.approx(0.25)


towns = st.builds(town, st.integers(0, 10_000), st.integers(12, 60), st.integers(1, 4), grid=st.booleans())


def index_values(x: np.ndarray, label: np.ndarray, areas: Areas, group: str = "few") -> np.ndarray:
    got = segregation(x, Groups.of("size", label), group=group, areas=areas, radius=0.6)
    return np.array([getattr(got, name) for name in DIMENSIONS])


@settings(max_examples=40)
@given(towns, st.floats(-50, 50))
def test_bounds_and_translation(it: tuple[np.ndarray, np.ndarray], shift: float) -> None:
    """Every dimension lies in [0, 1] and does not notice where the origin is, nor the order of people."""
    x, label = it
    areas = Areas.fit(x, 5)
    got = index_values(x, label, areas)
    assert ((got >= 0) & (got <= 1)).all()
    moved = index_values(x + shift, label, Areas(areas.centre + shift, areas.land))
    tied = len(np.unique(x)) <= 3  # people halfway between two centres may be counted to either
    np.testing.assert_allclose(moved[2] if tied else moved, got[2] if tied else got, rtol=1e-9, atol=1e-12)
    order = np.random.default_rng(0).permutation(len(x))
    np.testing.assert_allclose(index_values(x[order], label[order], areas), got, rtol=1e-12, atol=1e-12)


@settings(max_examples=40)
@given(towns, st.integers(2, 3))
def test_duplicates_change_no_index_of_shares(it: tuple[np.ndarray, np.ndarray], times: int) -> None:
    """A population in which everybody stands several times is as segregated."""
    x, label = it
    areas = Areas.fit(x, 5)
    again = index_values(np.tile(x, (times, 1)), np.tile(label, times), areas)
    np.testing.assert_allclose(again, index_values(x, label, areas), rtol=1e-9, atol=1e-12)


@settings(max_examples=40)
@given(towns)
def test_symmetric_labels(it: tuple[np.ndarray, np.ndarray]) -> None:
    """Atkinson with beta .5 and proximity treat both sides alike; both exposures add up by the groups' sizes."""
    x, label = it
    areas = Areas.fit(x, 5)
    few, many = (index_values(x, label, areas, group) for group in ("few", "many"))
    np.testing.assert_allclose(few[[1, 2]], many[[1, 2]], rtol=1e-9, atol=1e-12)
    sizes = [(label == "few").sum(), (label == "many").sum()]
    assert few[3] * sizes[0] == pytest.approx(many[3] * sizes[1])  # a meeting has two sides


def test_hausdorff_finite_sets() -> None:
    """The farthest nearest neighbour, in whichever direction is worse."""
    x, y = np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([[0.0, 0.0], [4.0, 4.0]])
    assert hausdorff(x, y) == pytest.approx(5.0)
    assert hausdorff(y, x) == pytest.approx(5.0)
    assert hausdorff(x, x) == 0.0
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(30, 3)), rng.normal(size=(20, 3))
    far = np.sqrt(((a[:, None] - b[None]) ** 2).sum(-1))
    assert hausdorff(a, b) == pytest.approx(max(far.min(1).max(), far.min(0).max()))


def test_places_leave_the_attribute_out_and_span_the_people() -> None:
    """Numbers span 0 to 1 over `like`; other levels lie one apart; a missing value has a column."""
    schema = Schema(
        (
            Feature(name="income", kind="real", low=0, high=1000, unit="EUR/month", missing=True),
            Feature(name="home", kind="categorical", levels=("rent", "own", "free")),
            Feature(name="sex", kind="binary", levels=("f", "m")),
        )
    )
    x = np.array([[100.0, 0, 0], [300.0, 1, 1], [np.nan, 2, 1]])
    got = places(schema, x, ["sex"], like=x)
    assert got.shape == (3, 5)
    np.testing.assert_allclose(got[:, 0], [0, 1, 0.5])
    np.testing.assert_array_equal(got[:, 1], [0, 0, 1])
    np.testing.assert_allclose(got[:, 2:], np.eye(3) / np.sqrt(2))
    far = np.sqrt(((got[:, None] - got[None]) ** 2).sum(-1))
    assert far[0, 1] == pytest.approx(np.sqrt(2))
    np.testing.assert_allclose(places(schema, x, keep=["income"])[:2, 0], [0.1, 0.3])
    np.testing.assert_allclose(places(schema, [[500.0, 0, 0]], keep=["income"], like=x)[:, 0], 2.0)
    assert np.isfinite(land(schema, x, ["sex"])).all()
    with pytest.raises(DataError, match="no feature 'race'"):
        places(schema, x, ["race"])
    with pytest.raises(DataError, match="No feature is left"):
        places(schema, x, ["sex", "home", "income"])
    with pytest.raises(DataError, match="3 features"):
        places(schema, x[:, :2])


def test_land_is_even_over_every_feature() -> None:
    """Each level as often as each other; numbers from least to largest."""
    it = case("linear", "independent", 0, 200)
    schema = it.problem.schema
    got = land(schema, it.x, n=1024)
    spread = got[:, 0]
    assert spread.min() >= 0 and spread.max() <= 1
    assert spread.mean() == pytest.approx(0.5, abs=0.02)
    housing = places(schema, it.x, keep=["housing"]).shape[1]
    assert housing == 3
    shares = (land(schema, it.x, keep=["housing"], n=1024) > 0).mean(0)
    np.testing.assert_allclose(shares, 1 / 3, atol=0.01)


def test_areas_stay_where_they_are() -> None:
    """At most one area a place; nearest centre; land adds up to one."""
    x = np.repeat(np.eye(3), 5, axis=0)
    areas = Areas.fit(x, 30)
    assert len(areas) == 3
    assert areas.land.sum() == pytest.approx(1.0)
    np.testing.assert_array_equal(areas.of(areas.centre + 0.1), [0, 1, 2])
    line = Areas.fit(np.array([[0.0], [1.0]]))
    np.testing.assert_allclose(np.sort(line.land), [0.5, 0.5], atol=0.01)
    with pytest.raises(DataError, match="k=0 is no whole number"):
        Areas.fit(x, 0)


def test_more_than_two_groups() -> None:
    """One against the rest, or every pair; empty groups are left out; unlabelled people belong to no side."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(90, 2))
    member = np.repeat([0, 1, 3, -1], [20, 30, 30, 10])
    groups = Groups("region", ("north", "south", "none", "west"), member)
    rest = each_group(x, groups)
    assert list(rest) == ["north", "south", "west"]
    assert (rest["north"].members, rest["north"].others) == (20, 60)
    assert rest["north"].against == "the rest"
    pair = each_group(x, groups, versus="each other")
    assert list(pair) == ["north | south", "north | west", "south | west"]
    labelled, west = member >= 0, member == 3
    one = naive(x[labelled], west[labelled], rest["west"].areas)
    two = naive(x[west | (member == 0)], (member == 0)[west | (member == 0)], rest["west"].areas)
    for name in DIMENSIONS:
        assert getattr(rest["west"], name) == pytest.approx(one[name], abs=1e-9)
        assert getattr(pair["north | west"], name) == pytest.approx(two[name], abs=1e-9)
    with pytest.raises(DataError, match="each other"):
        each_group(x, groups, versus="all")  # type: ignore[arg-type]
    two_groups = Groups.of("sex", np.repeat(["f", "m"], 45))
    assert len(each_group(x, two_groups)) == 1


def test_a_group_of_one_is_left_out_of_comparisons_with_a_warning() -> None:
    """Others are compared; with nobody left to compare it is an error."""
    x = np.random.default_rng(0).normal(size=(30, 2))
    groups = Groups("zone", ("a", "b", "c", "d"), np.repeat([0, 1, 2], [1, 9, 20]))
    with pytest.warns(SchemaWarning, match="single person in a,"):
        assert list(each_group(x, groups)) == ["b", "c"]
    with pytest.warns(SchemaWarning), pytest.raises(DataError, match="fewer than two groups"):
        each_group(x[:10], groups.take(np.arange(10)), versus="each other")


def test_bad_groups_are_told_by_name() -> None:
    """A group of one, an empty one, itself, an unknown one, other people, a quantity."""
    x = np.random.default_rng(0).normal(size=(30, 2))
    groups = Groups("zone", ("a", "b", "c", "d"), np.repeat([0, 1, 2], [1, 9, 20]))
    for how, words in (
        ({"group": "a"}, "'a' of 'zone' has 1 people"),
        ({"group": "d"}, "'d' of 'zone' has 0 people"),
        ({"group": "b", "against": "a"}, "'a' of 'zone' has 1"),
        ({"group": "b", "against": "b"}, "with itself"),
        ({"group": "x"}, "no group 'x'"),
        ({"group": "b", "denominator": "all"}, "no denominator"),
        ({"group": "b", "beta": 1.0}, "beta"),
        ({"group": "b", "radius": -1.0}, "radius"),
        ({"group": "b", "sample": 10}, "too little"),
        ({"group": "b", "areas": Areas.fit(np.zeros((3, 5)))}, "5 columns"),
    ):
        with pytest.raises(DataError, match=words):
            segregation(x, groups, **how)
    with pytest.raises(DataError, match="20 people and there are 30"):
        segregation(x, groups.take(np.arange(20)))
    with pytest.raises(DataError, match="missing or infinite"):
        segregation(np.where(x > 1, np.nan, x), groups)
    with pytest.raises(DataError, match="Places are rows"):
        segregation(x[:, 0], groups)
    with pytest.raises(DataError, match="no dimension 'gini'"):
        segregation(x, groups, group="b").interval("gini")


def test_a_sample_states_its_error() -> None:
    """The exact value lies within four stated errors; what needs no pairs stays exact."""
    x, label = town(5, 3000, 3)
    groups = Groups.of("size", label)
    areas = Areas.fit(x, 8)
    exact = segregation(x, groups, areas=areas)
    near = segregation(x, groups, areas=areas, sample=600)
    assert set(near.error) == {"centralization", "proximity"}
    assert exact.error == {}
    for name in ("centralization", "proximity"):
        assert 0 < near.error[name] < 0.05
        assert abs(getattr(near, name) - getattr(exact, name)) < 4 * near.error[name] + 0.005
    for name in ("atkinson", "exposure", "concentration"):
        assert getattr(near, name) == getattr(exact, name)
    assert near.to_dict()["error"] == near.error
    again = segregation(x, groups, areas=areas, sample=600)
    assert again.proximity == near.proximity


def test_intervals_hold_the_value_and_shrink_with_people() -> None:
    """Few against many people, and resamples of fewer people than there are against all of them."""
    wide, narrow = [], []
    for size, widths in ((150, wide), (1200, narrow)):
        x, label = town(7, size, 2)
        got = segregation(x, Groups.of("size", label), areas=Areas.fit(x, 6))
        for name, estimate in got.intervals(resamples=60).items():
            assert estimate.low <= estimate.value <= estimate.high
            assert estimate.low >= 0 and estimate.high <= 1
            widths.append(estimate.high - estimate.low)
            assert name in DIMENSIONS
    ratio = np.array(wide) / np.array(narrow)
    assert (ratio > 1.5).all() and (ratio < 5).all()  # about the root of 8
    fewer = got.intervals(resamples=60, people=400)
    for name, width in zip(DIMENSIONS, narrow, strict=True):
        assert fewer[name].high - fewer[name].low == pytest.approx(width, rel=0.6)
    assert got.interval("atkinson", resamples=60) == got.intervals(resamples=60)["atkinson"]
    with pytest.raises(DataError, match="two resamples"):
        got.intervals(resamples=1)


MEASURE = """
import sys, time
from pathlib import Path
import numpy as np
from wayforward.groups import Groups
from wayforward.impact.segregation import segregation
rng = np.random.default_rng(0)
n = int(sys.argv[1])
x, member = rng.random((n, 10)), (rng.random(n) < 0.1).astype(np.int64)
start = time.perf_counter()
segregation(x, Groups("g", ("a", "b"), member), sample=eval(sys.argv[2]))
seconds = time.perf_counter() - start
# Not ru_maxrss, which begins with what the process had that started this one.
most = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
print(seconds, int(most.split()[1]) / 2**20)
"""


@pytest.mark.parametrize(
    "n, sample",
    [
        (20_000, None),  # all their distances at once would be 3 GiB
        (50_000, 4000),
        pytest.param(100_000, None, marks=[pytest.mark.slow, pytest.mark.published]),
    ],
)
def test_many_people_within_two_gib(n: int, sample: int | None) -> None:
    """All pairs in tiles, or samples: memory and time of a process of its own."""
    got = subprocess.run(
        [sys.executable, "-c", MEASURE, str(n), str(sample)], capture_output=True, text=True, check=True
    )
    seconds, gib = (float(part) for part in got.stdout.split())
    assert gib < 2
    assert seconds < 500


@pytest.mark.slow
@pytest.mark.skipif(
    not (available("compas") and available("law")), reason="the raw files are not on this machine"
)
def test_origin_rows_of_real_data() -> None:
    """Gao & Lakkaraju (2023), Table 6, origin: COMPAS race .2947/.0709/.6236 and sex .0020/.0581/.6371,
    Law race .0288/.2512.

    Places of what people can change only, with COMPAS's two-year recidivism among it: so the published ones were made.
    """
    compas, law = wf.datasets.load("compas"), wf.datasets.load("law")
    schema = compas.schema
    point = places(schema, compas.x, keep=["priors_count", "length_of_stay"], like=compas.x)
    point = np.column_stack([point, np.asarray(compas.y, dtype=float)])
    black = compas.x[:, schema.index("race")] == schema["race"].levels.index("African-American")
    race = Groups("race", ("other", "African-American"), black.astype(np.int64))
    got = segregation(point, race)
    assert got.centralization == pytest.approx(0.2947, abs=0.02)
    assert got.atkinson == pytest.approx(0.0709, abs=0.005)
    assert got.proximity == pytest.approx(0.6236, abs=0.002)
    got = segregation(point, Groups.of("sex", compas.x, schema))
    assert got.centralization == pytest.approx(0.0020, abs=0.003)
    assert got.atkinson == pytest.approx(0.0581, abs=0.01)
    assert got.proximity == pytest.approx(0.6371, abs=0.002)
    x = law.x[np.random.default_rng(0).choice(law.n, 10_000, replace=False)]
    white = x[:, law.schema.index("race")] == law.schema["race"].levels.index("White")
    point = places(law.schema, x, keep=["LSAT", "UGPA", "ZFYA"], like=x)
    got = segregation(point, Groups("race", ("other", "White"), white.astype(np.int64)))
    assert got.centralization == pytest.approx(0.0288, abs=0.005)
    assert got.atkinson == pytest.approx(0.2512, abs=0.02)


@pytest.mark.parametrize("swap", [(0, 1), (1, 2), (0, 2)])
def test_arguments_in_another_order_are_named(swap):
    it = case("linear")
    given = [it.problem, it.x, wf.recommend(it.problem, it.x)]
    given[swap[0]], given[swap[1]] = given[swap[1]], given[swap[0]]
    with pytest.raises(DataError):
        wf.impact.segregation.before_after(*given, it.problem.schema.names[0])
