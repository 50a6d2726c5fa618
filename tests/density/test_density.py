"""Conditional densities: naive sums, all cells together, integrals, people never seen, groups of hardly anybody."""

from __future__ import annotations

import itertools
import math
from functools import lru_cache

import numpy as np
import pytest

from wayforward.density.base import Densities
from wayforward.density.fitting import fit_density
from wayforward.density.kernel import Kernel
from wayforward.errors import DataError, ProblemError
from wayforward.groups import Groups
from wayforward.schema import Feature, Schema
from wayforward.streams import Streams

torch = pytest.importorskip("torch")
KINDS = ("mixture", "kernel", "flow")

MIXED = Schema(
    (
        Feature(name="age", kind="integer", low=18, high=90, actionability="immutable"),
        Feature(name="from", kind="categorical", levels=("n", "s", "e"), actionability="immutable"),
        Feature(name="pay", kind="real", low=0, high=100, missing=True),
        Feature(name="jobs", kind="integer", low=0, high=9),
        Feature(name="home", kind="categorical", levels=("own", "rent", "free"), missing=True),
        Feature(name="debt", kind="binary", levels=(0, 1)),
        Feature(name="rank", kind="ordinal", levels=("low", "middle", "high")),
    )
)


def people(n: int, seed: int = 0) -> tuple[np.ndarray, Groups]:
    """Half of them alike in what may change; some numbers and levels are missing."""
    rng = np.random.default_rng(seed)
    x = np.column_stack(
        [
            rng.integers(18, 90, n),
            rng.integers(0, 3, n),
            rng.lognormal(2, 1, n).clip(0, 100),
            rng.poisson(1.0, n).clip(0, 9),
            rng.integers(0, 3, n),
            rng.integers(0, 2, n),
            rng.integers(0, 3, n),
        ]
    ).astype(float)
    x[rng.random(n) < 0.2, 2] = np.nan
    x[rng.random(n) < 0.2, 4] = np.nan
    x[: n // 2, 2:] = x[rng.integers(0, 4, n // 2), 2:]
    return x, Groups("side", ("left", "right"), rng.integers(0, 2, n))


def naive(density: Kernel, x: np.ndarray, groups: Groups, row: np.ndarray, g: int) -> float:
    """Log of sum_r K(x'_I, r) K(x_f, r) / sum_r K(x'_I, r), one person and one feature at a time."""
    coding, schema = density.coding, density.schema
    own = x[groups.member == g]
    n, z, all_z, here = len(own), coding.scaled(own), coding.scaled(x), coding.scaled(row[None])[0]
    made = [int(density.made[j]) for j in coding.numeric]
    upper, lower = [], []
    for r in range(n):
        part = [0.0, 0.0]  # given, made
        for rank, j in enumerate(coding.numeric):
            if not (density.given[j] or density.made[j]):
                continue
            alike = sum(m == made[rank] for m in made)
            spread = np.nanstd((z if made[rank] else all_z)[:, rank]) if n > 1 else 1.0
            width = (max(spread, 0.1) if n > 1 else 1.0) * n ** (-1 / (alike + 4))
            gap = here[rank] - z[r, rank]
            log = -0.5 * (gap / width) ** 2 - math.log(width * math.sqrt(2 * math.pi))
            if schema.missing[j]:
                a, b = math.isnan(here[rank]), math.isnan(z[r, rank])
                log = (0.0 if a or b else log) + math.log(0.05 if a != b else 0.95)
            part[made[rank]] += log
        for j in coding.level:
            c = int(schema.n_levels[j] + schema.missing[j])
            h = min(0.5 * n ** (-1 / 5), (c - 1) / c)
            same = row[j] == own[r, j] or (math.isnan(row[j]) and math.isnan(own[r, j]))
            part[int(density.made[j])] += math.log(1 - h) if same else math.log(h / (c - 1))
        upper.append(part[0] + part[1])
        lower.append(part[0])
    shift = math.log(density.span[3] / coding.scales["spread"][2])
    if not math.isnan(row[2]):
        s = coding.scales
        unit = s["unit"][1]
        slope = unit + abs(row[2] - s["origin"][1]) if unit > 0 else 1.0
        shift += math.log(density.span[2] / s["spread"][1] / slope)
    assert coding.scales["unit"][2] == 0 or row[3] == 0  # the plain shift of 'jobs' above
    if coding.scales["unit"][2] > 0:
        shift -= math.log(coding.scales["unit"][2])
    return float(np.logaddexp.reduce(upper) - np.logaddexp.reduce(lower)) + shift


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("n", [8, 60])
def test_kernels_equal_a_naive_double_loop(n, compiled, monkeypatch):
    if not compiled:
        monkeypatch.setenv("WAYFORWARD_NO_NUMBA", "1")
    x, groups = people(n)
    density = fit_density("kernel", MIXED, x, groups)
    rows = people(30, seed=1)[0]
    rows[:, 3] = 0
    got = density.log_density(rows)
    want = [[naive(density, x, groups, row, g) for g in range(2)] for row in rows]
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-10)


def test_compiled_kernels_equal_the_plain_ones(monkeypatch):
    """Also far from everybody, where a plain sum of kernels is zero; and draws are the same to the last bit."""
    x, groups = people(400)
    density = fit_density("kernel", MIXED, x, groups)
    near, _ = people(200, seed=1)
    far = near.copy()
    far[:, 2], far[:, 3] = far[:, 2] * 1e6, -4e3
    rows = np.r_[near, far, x]
    draws = density.sample(near, 8, Streams.of(near, 0))
    got = density.log_density(rows)
    assert np.isfinite(got).all()
    assert got.min() < -1000
    monkeypatch.setenv("WAYFORWARD_NO_NUMBA", "1")
    np.testing.assert_allclose(got, density.log_density(rows), rtol=1e-13, atol=1e-10)
    np.testing.assert_array_equal(draws, density.sample(near, 8, Streams.of(near, 0)))


def test_who_is_unlike_everybody_for_good_is_compared_with_the_nearest(monkeypatch):
    """x'_I a billion bandwidths away: what is of x_f must not drown in it, compiled or not."""
    schema = Schema(
        (
            Feature(name="past", kind="real", low=-1e9, high=1e9, actionability="immutable"),
            Feature(name="savings", kind="real", low=-50, high=50),
        )
    )
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.normal(0, 1, 80), rng.normal(0, 5, 80)])
    density = fit_density("kernel", schema, x, Groups.of("g", np.arange(80) % 2))
    rows = np.column_stack([np.full(21, 9e8), np.linspace(-50, 50, 21)])
    got = density.log_density(rows)
    assert np.ptp(got, axis=0).min() > 10
    monkeypatch.setenv("WAYFORWARD_NO_NUMBA", "1")
    np.testing.assert_allclose(density.log_density(rows), got, rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_does_not_depend_on_the_rows_beside_it(kind):
    x, groups = people(300)
    density = fit_density(kind, MIXED, x, groups)
    together, order = density.log_density(x), np.random.default_rng(0).permutation(300)
    np.testing.assert_array_equal(density.log_density(x[order]), together[order])
    np.testing.assert_array_equal(density.log_density(x[:7]), together[:7])
    alone = density.sample(x[5:6], 12, Streams.of(x[5:6], 0))
    np.testing.assert_array_equal(density.sample(x[:9], 12, Streams.of(x[:9], 0))[5:6], alone)


# -- probabilities and densities -------------------------------------------------------------------------------

CELLS = Schema(
    (
        Feature(name="from", kind="categorical", levels=("n", "s", "e", "w"), actionability="immutable"),
        Feature(name="home", kind="categorical", levels=("own", "rent", "free"), missing=True),
        Feature(name="debt", kind="binary", levels=(0, 1)),
        Feature(name="rank", kind="ordinal", levels=("low", "middle", "high")),
    )
)


@pytest.mark.parametrize("kind", KINDS)
def test_all_cells_together_have_probability_one(kind):
    """Every combination of levels, a missing one included, given each origin; nobody seen is from 'w'."""
    rng = np.random.default_rng(0)
    home = rng.integers(0, 4, 200).astype(float)
    home[home == 3] = np.nan
    x = np.column_stack([rng.integers(0, 3, 200), home, rng.integers(0, 2, 200), rng.integers(0, 3, 200)])
    density = fit_density(kind, CELLS, x, Groups("side", ("a", "b"), rng.integers(0, 2, 200)))
    cells = np.array(list(itertools.product((0, 1, 2, np.nan), (0, 1), (0, 1, 2))), dtype=float)
    for origin in range(4):
        log = density.log_density(np.column_stack([np.full(len(cells), float(origin)), cells]))
        np.testing.assert_allclose(np.exp(log).sum(0), 1.0, atol=1e-5)


def _line(n_made: int) -> Schema:
    made = [Feature(name=f"m{i}", kind="real", low=-5, high=5) for i in range(n_made)]
    return Schema((Feature(name="age", kind="real", low=0, high=1, actionability="immutable"), *made))


@lru_cache(maxsize=8)
def _plane(kind: str, n_made: int) -> Densities:
    rng = np.random.default_rng(0)
    given = rng.random(300)
    made = (
        given[:, None] + rng.normal(size=(300, n_made)) @ np.array([[1.0, 0.6], [0.0, 0.8]])[:n_made, :n_made]
    )
    groups = Groups("side", ("a", "b"), rng.integers(0, 2, 300))
    return fit_density(kind, _line(n_made), np.column_stack([given, made]), groups)


@pytest.mark.parametrize("age", [0.5, 40.0])  # 40: nobody like this was seen
@pytest.mark.parametrize("n_made", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_densities_integrate_to_one(kind, n_made, age):
    """Over a wide grid, numbers as shares of their range of 10; correlated numbers, whose mean follows x'_I."""
    density = _plane(kind, n_made)
    step = 0.02 if n_made == 1 else 0.2
    axis = np.arange(-14, 14, step)
    grid = np.stack(np.meshgrid(*[axis] * n_made, indexing="ij"), -1).reshape(-1, n_made)
    log = density.log_density(np.column_stack([np.full(len(grid), age), grid]))
    total = np.exp(log).sum(0) * (step / 10) ** n_made
    np.testing.assert_allclose(total, 1.0, atol=0.01)


@pytest.mark.parametrize("kind", KINDS)
def test_draws_and_densities_are_of_the_same_law(kind):
    """The mean of q / p over draws of p is 1 for any density q: here the other group's, which overlaps."""
    rng = np.random.default_rng(0)
    member = np.repeat([0, 1], 150)
    x = np.column_stack([rng.random(300), rng.normal(size=300) + 0.3 * member])
    density = fit_density(kind, _line(1), x, Groups("side", ("a", "b"), member))
    asker = np.array([[0.5, 0.0]])
    drawn = density.sample(asker, 40_000, Streams.of(asker, 0))[0]
    log = density.log_density(drawn)
    for g in range(2):
        own = log[g::2]
        assert np.exp(own[:, 1 - g] - own[:, g]).mean() == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize("kind", KINDS)
def test_fewer_draws_than_networks(kind):
    """Four sets of networks stand for each of two groups: three draws come from three of the eight."""
    asker = np.array([[0.5, 0.0], [0.2, 1.0]])
    drawn = _plane(kind, 1).sample(asker, 3, Streams.of(asker, 0))
    assert drawn.shape == (2, 3, 2) and np.isfinite(drawn).all()
    assert (drawn[..., 0] == asker[:, None, 0]).all()


# -- hardly anybody, and tables that are not nice ---------------------------------------------------------------


WILD = ("constant", "alike", "one value in a group", "never there", "heavy tails")


def sane(density: Densities, rows: np.ndarray) -> None:
    """Finite densities, draws without a NaN where none may be, and thresholds."""
    assert np.isfinite(density.log_density(rows)).all()
    drawn = density.sample(rows[:5], 24, Streams.of(rows[:5], 0))
    may = density.schema.missing & density.made
    assert np.isfinite(drawn[..., ~may & density.made]).all()
    assert np.isfinite(density.log_density(drawn.reshape(-1, rows.shape[1]))).all()
    assert np.isfinite(density.threshold(rows[:5], 0.3)).all()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("few", [1, 2, 5])
def test_a_group_of_hardly_anybody(few):
    x, _ = people(80)
    groups = Groups("side", ("many", "few"), np.r_[np.zeros(80 - few, int), np.ones(few, int)])
    sane(fit_density("kernel", MIXED, x, groups), x)
    for kind in ("mixture", "flow"):
        with pytest.raises(ProblemError, match=f"'few' of 'side' has {few} accepted.*use density='kernel'"):
            fit_density(kind, MIXED, x, groups)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("kind", "what"),
    [(kind, what) for kind in ("mixture", "kernel") for what in WILD]
    + [("flow", "alike"), ("flow", "heavy tails")],
)
def test_tables_that_are_not_nice(kind, what):
    x, groups = people(60)
    if what == "constant":
        x[:, [0, 3, 5]] = [30, 2, 1]
    elif what == "alike":
        x[:] = x[0]
    elif what == "one value in a group":
        x[groups.member == 0, 2:] = [7.0, 1, 0, 1, 2]
    elif what == "never there":
        x[:, 2] = np.nan
        x[groups.member == 0, 4] = np.nan
    else:
        x[:, 2] = 10.0 ** np.random.default_rng(0).uniform(-3, 9, 60)
    density = fit_density(kind, MIXED, x, groups)
    others = people(40, seed=3)[0]
    others[:, 0] = 1e6  # nobody like this was seen
    sane(density, np.r_[x, others])


def test_one_profile_has_probability_one():
    schema = Schema(
        (
            Feature(name="age", kind="real", low=0, high=1, actionability="immutable"),
            Feature(name="only", kind="categorical", levels=("one",)),
        )
    )
    x = np.column_stack([np.linspace(0, 1, 30), np.zeros(30)])
    density = fit_density("kernel", schema, x, Groups("side", ("a", "b"), np.arange(30) % 2))
    np.testing.assert_allclose(density.log_density(x), 0.0, atol=1e-12)


def test_what_cannot_be_is_told_with_the_column():
    x, groups = people(60)
    x[3, 3] = np.nan
    with pytest.raises(DataError, match="'jobs' is missing for some accepted people.*missing=True"):
        fit_density("kernel", MIXED, x, groups)
    x[3, 3] = np.inf
    with pytest.raises(ProblemError, match="'jobs' is infinite"):
        fit_density("kernel", MIXED, x, groups)


# -- what people who were not learnt from say --------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["mixture", "flow"])
def test_networks_of_few_people_do_not_learn_them_by_heart(kind):
    """Eight independent numbers and levels of 40 people a group: nothing is there to learn but each feature's share."""
    rng = np.random.default_rng(0)
    features = [Feature(name="age", kind="real", low=0, high=1, actionability="immutable")]
    features += [Feature(name=f"n{i}", kind="real", low=-5, high=5) for i in range(4)]
    features += [Feature(name=f"b{i}", kind="binary", levels=(0, 1)) for i in range(4)]

    def draw(n):
        return np.column_stack([rng.random(n), rng.normal(size=(n, 4)), rng.random((n, 4)) < 0.5]).astype(
            float
        )

    x, member = draw(80), np.arange(80) % 2
    density = fit_density(kind, Schema(tuple(features)), x, Groups("side", ("a", "b"), member))
    fresh = draw(2000)
    seen = density.log_density(x)[np.arange(80), member].mean()
    # A normal of deviation 1 in shares of a range of 10, and fair coins.
    true = (math.log(10 / math.sqrt(2 * math.pi)) - 0.5) * 4 - 4 * math.log(2)
    assert density.log_density(fresh).mean(0) == pytest.approx([true, true], abs=1.0)
    assert seen - true < 1.0
