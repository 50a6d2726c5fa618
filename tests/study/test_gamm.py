"""The additive mixed model against R's mgcv, dense algebra, finite differences and known truth."""

from __future__ import annotations

import numpy as np
import pytest

from wayforward.errors import DataError
from wayforward.study import Gamm
from wayforward.study.arrow import Arrow, Rows
from wayforward.study.families import FAMILIES, Ordered
from wayforward.study.smooth import Smooth

from . import reference

RANDOM = ("s(uid)", "s(uid, x)")


def fitted(table: str, family: str, basis: str) -> Gamm:
    data = reference.read(table)
    return Gamm.fit(data[family], data["x"], data["uid"].astype(int), family=family, basis=basis)


def compare(got: Gamm, theirs: dict[str, float]) -> None:
    """Three digits on what the issue asks for; the rest as closely as mgcv's own stopping rule allows."""
    terms = dict(zip(("curve", "uid", "slope"), got.terms, strict=True))
    for name, term in terms.items():
        assert term.edf == pytest.approx(theirs[f"edf_{name}"], rel=1e-3, abs=2e-3), name
    assert got.scale == pytest.approx(theirs["scale"], rel=1e-3)
    for name in ("uid", "slope"):  # a variance that is zero is so in both, to no digit in particular
        assert terms[name].deviation == pytest.approx(theirs[f"deviation_{name}"], rel=5e-3, abs=0.02)
    value, error, _, p = got.intercept
    assert (value, error) == pytest.approx((theirs["intercept"], theirs["error"]), rel=5e-3, abs=1e-4)
    assert p == pytest.approx(theirs["p"], rel=2e-2, abs=1e-6)
    assert got.log_likelihood == pytest.approx(theirs["log_likelihood"], abs=0.05)
    assert terms["curve"].reference == pytest.approx(theirs["reference"], rel=2e-3)
    # mgcv prints the statistic for one sign of an eigenvector, ours is the mean over both.
    assert terms["curve"].statistic == pytest.approx(theirs["statistic"], rel=3e-2, abs=1e-2)
    curve = got.curve(np.linspace(got.x.min(), got.x.max(), 5))
    fit, error = (np.array([theirs[f"{name}_{i}"] for i in range(1, 6)]) for name in ("fit", "se"))
    np.testing.assert_allclose(curve.value, fit, atol=4e-3 * np.ptp(fit) + 1e-4)
    np.testing.assert_allclose((curve.high - curve.low) / 2 / 1.959964, error, rtol=1e-2)
    if got.family == "ordered":
        cuts = Ordered().cuts(got.solution.own)[1:-1]
        np.testing.assert_allclose(cuts, [theirs[f"cut_{i + 1}"] for i in range(len(cuts))], rtol=2e-3)


@pytest.mark.parametrize("case", reference.CASES, ids="-".join)
def test_it_gives_the_numbers_of_mgcv(case: tuple[str, str, str]) -> None:
    """Checked-in fits of mgcv 1.8-41, by REML, on the checked-in answers."""
    compare(fitted(*case), reference.numbers((reference.HERE / f"{'-'.join(case)}.txt").read_text()))


@pytest.mark.slow
@pytest.mark.parametrize("family", ["gaussian", "binomial"])
def test_it_gives_the_numbers_of_mgcv_as_installed(family: str) -> None:
    """The same with R itself, where it is."""
    if why := reference.without_mgcv():
        pytest.skip(why)
    case = ("steps", family, "cubic")
    compare(fitted(*case), reference.numbers(reference.mgcv(*case)))


def test_the_answers_are_those_of_the_seed() -> None:
    for table in reference.TABLES:
        made, kept = reference.answers(table), reference.read(table)
        for name in made:
            np.testing.assert_allclose(kept[name], made[name], atol=1e-6)


@pytest.mark.parametrize("family", list(FAMILIES))
def test_the_slope_of_the_criterion_is_its_derivative(family: str) -> None:
    problem = fitted("wavy", family, "cubic").solution.problem
    own = FAMILIES[family].start(problem.y)[0]
    at, v, step = np.r_[0.3, 1.0, 0.5, own + 0.1], 3, 1e-5
    value = lambda x: problem.at(x[:v], x[v:]).criterion[0]
    slope = [(value(at + d) - value(at - d)) / (2 * step) for d in step * np.eye(len(at))]
    np.testing.assert_allclose(problem.at(at[:v], at[v:]).criterion[1], slope, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("family", list(FAMILIES))
def test_likelihoods_are_what_their_derivatives_say(family: str) -> None:
    rng = np.random.default_rng(0)
    y = {
        "gaussian": rng.normal(size=60),
        "binomial": np.arange(60) % 2.0,
        "ordered": np.arange(60) % 5 + 1.0,
    }[family]
    one, eta, step = FAMILIES[family], rng.normal(0, 2, 60), 1e-6
    own = one.start(y)[0] + 0.2
    at = one.likelihood(y, eta, own)
    up, down = (one.likelihood(y, eta + d, own) for d in (step, -step))
    for value, slope in (("value", "slope"), ("slope", "bend"), ("bend", "twist")):
        difference = (getattr(up, value) - getattr(down, value)) / (2 * step)
        np.testing.assert_allclose(getattr(at, slope), difference, rtol=1e-5, atol=1e-6)
    for t in range(len(own)):
        move = step * np.eye(len(own))[t]
        up, down = (one.likelihood(y, eta, own + d) for d in (move, -move))
        for value in ("value", "slope", "bend"):
            difference = (getattr(up, value) - getattr(down, value)) / (2 * step)
            by_own = getattr(at, f"{value}_by_own".removeprefix("value_"))[:, t]
            np.testing.assert_allclose(by_own, difference, rtol=1e-5, atol=1e-6)


def test_chances_of_all_levels_sum_to_one() -> None:
    eta, own = np.linspace(-30, 30, 13), np.log([0.5, 1.0, 2.0])
    chance = sum(np.exp(Ordered().likelihood(np.full(13, r), eta, own).value) for r in range(1, 6))
    np.testing.assert_allclose(chance, 1)
    mean = sum(r * np.exp(Ordered().likelihood(np.full(13, r), eta, own).value) for r in range(1, 6))
    np.testing.assert_allclose(Ordered().mean(eta, own), mean)


def test_the_arrow_is_the_dense_matrix() -> None:
    rng = np.random.default_rng(1)
    who = np.sort(np.r_[np.arange(7), rng.integers(0, 7, 40)])
    n, p, q, m = len(who), 4, 2, 7
    rows = Rows(
        rng.normal(size=(n, p)), rng.normal(size=(n, q)), np.r_[0, np.flatnonzero(np.diff(who)) + 1], who
    )
    weight, ridge = rng.uniform(0.5, 2, n), (np.r_[0.0, 1, 2, 3], np.r_[0.7, 1.3])
    dense = np.zeros((n, p + m * q))
    dense[:, :p] = rows.shared
    for j in range(q):
        dense[np.arange(n), p + who * q + j] = rows.own[:, j]
    whole = (dense.T * weight) @ dense + np.diag(np.r_[ridge[0], np.tile(ridge[1], m)])
    inverse, arrow = np.linalg.inv(whole), Arrow(rows, weight, ridge)
    assert arrow.log_determinant() == pytest.approx(np.linalg.slogdet(whole)[1])
    right = rng.normal(size=(p + m * q, 3))
    shared, own = arrow.solve((right[:p], right[p:].reshape(m, q, 3)))
    np.testing.assert_allclose(np.r_[shared, own.reshape(-1, 3)], inverse @ right)
    shared, own = arrow.variance()
    np.testing.assert_allclose(np.r_[shared, own.ravel()], np.diag(inverse))
    np.testing.assert_allclose(arrow.row_variance(), np.einsum("ni,ij,nj->n", dense, inverse, dense))


@pytest.mark.parametrize("basis", ["thin-plate", "cubic"])
def test_a_basis_holds_lines_and_bends_cost_what_they_bend(basis: str) -> None:
    x = np.random.default_rng(2).uniform(-3, 9, 80)
    smooth = Smooth.of(x, 8, basis)
    design = smooth.design(x)
    assert design.shape == (80, 7)
    np.testing.assert_allclose(design.mean(0), 0, atol=1e-9)
    np.testing.assert_allclose(np.corrcoef(design[:, 0], x)[0, 1], 1)
    grid = np.linspace(x.min(), x.max(), 40_001)
    bend = np.diff(smooth.design(grid)[:, 1:], 2, axis=0) / (grid[1] - grid[0]) ** 2
    gram = bend.T @ bend * (grid[1] - grid[0])
    np.testing.assert_allclose(gram / gram[0, 0], np.eye(6), atol=2e-2 if basis == "cubic" else 0.3)


def test_a_line_has_one_degree_of_freedom_and_a_flat_one_no_significance() -> None:
    rng = np.random.default_rng(3)
    uid, x = np.repeat(np.arange(50), 6), rng.uniform(0, 1, 300)
    noise = rng.normal(0, 0.5, 50)[uid] + rng.normal(0, 1, 300)
    line, flat = (Gamm.fit(slope * x + noise, x, uid) for slope in (3, 0))
    assert line.terms[0].edf == pytest.approx(1, abs=0.05) and line.terms[0].p < 1e-6
    assert flat.terms[0].p > 0.05
    assert line.terms[1].p < 0.05 and line.terms[2].p > 0.05  # intercepts differ, slopes do not
    assert line.curve([0.1, 0.9]).value == pytest.approx(
        line.intercept[0] + 3 * (np.r_[0.1, 0.9] - x.mean()), abs=0.4
    )


def test_it_finds_the_truth() -> None:
    """Bands cover the true curve at about the stated rate, deviations are near the true ones."""
    covered, deviation = [], []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        uid, x = np.repeat(np.arange(80), 6), rng.uniform(0, 1, 480)
        own = rng.normal(0, [0.6, 0.9], (80, 2))
        truth = lambda x: np.sin(6 * x)
        got = Gamm.fit(truth(x) + own[uid, 0] + own[uid, 1] * x + rng.normal(0, 0.3, 480), x, uid)
        curve = got.curve(points=25)
        gap = truth(curve.x) + own[:, 0].mean() + own[:, 1].mean() * curve.x
        covered.append(((curve.low <= gap + 0.15) & (gap - 0.15 <= curve.high)).mean())
        deviation.append([got.scale**0.5, *(term.deviation for term in got.terms[1:])])
    assert np.mean(covered) > 0.93
    np.testing.assert_allclose(np.mean(deviation, 0), [0.3, 0.6, 0.9], rtol=0.08)


def test_neither_order_nor_names_change_anything() -> None:
    data = reference.read("steps")
    order = np.random.default_rng(4).permutation(len(data["x"]))
    a = fitted("steps", "gaussian", "cubic")
    b = Gamm.fit(
        data["gaussian"][order], data["x"][order], [f"P{u:03.0f}" for u in data["uid"][order]], basis="cubic"
    )
    assert b.aic == pytest.approx(a.aic) and [t.edf for t in b.terms] == pytest.approx(
        [t.edf for t in a.terms]
    )
    assert b.people[:2] == ("P000", "P001")


def test_one_random_effect_is_enough() -> None:
    data = reference.read("steps")
    one = Gamm.fit(data["gaussian"], data["x"], data["uid"], random=RANDOM[:1])
    both = Gamm.fit(data["gaussian"], data["x"], data["uid"])
    assert [term.name for term in one.terms] == ["s(x)", "s(uid)"] and one.effects.shape == (90, 1)
    assert both.reml >= one.reml - 1e-6  # the smaller model lies on the border of the larger


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"family": "poisson"}, "no family 'poisson'"),
        ({"basis": "wavelet"}, "no spline basis 'wavelet'"),
        ({"k": 300}, "k=300"),
        ({"random": ["s(z)"]}, "names no random effects"),
        ({"family": "binomial"}, "both 0 and 1"),
        ({"family": "ordered"}, "without a gap"),
        ({"y": np.ones(48)}, "All 48 answers are 1"),
        ({"y": ["a"] * 48}, "values that are no numbers"),
        ({"x": np.r_[np.nan, np.arange(47.0)]}, "finite numbers"),
        ({"x": np.arange(47.0)}, "48, 47 and 48"),
        ({"uid": np.arange(48)}, "say nothing of how participants differ"),
        ({"uid": np.zeros(48)}, "say nothing of how participants differ"),
    ],
)
def test_mistakes_are_named(given: dict, says: str) -> None:
    rng = np.random.default_rng(5)
    usual = {"y": rng.normal(size=48), "x": rng.uniform(size=48), "uid": np.repeat(np.arange(8), 6)}
    with pytest.raises(DataError, match=says):
        Gamm.fit(**{**usual, **given})


def test_nothing_is_said_beyond_the_data() -> None:
    with pytest.raises(DataError, match="from 1 to 12 only"):
        fitted("steps", "gaussian", "cubic").curve([0.5, 3])
