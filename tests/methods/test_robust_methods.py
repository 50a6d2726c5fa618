"""roar, rbr, probe, trex: what each promises, on every kind of model, and the numbers of their papers."""

from __future__ import annotations

import numpy as np
import pytest

import wayforward as wf
from wayforward import Feature, Schema, Target
from wayforward.errors import MethodError
from wayforward.methods.probe import Probe
from wayforward.methods.rbr import Rbr
from wayforward.methods.roar import Roar, Shifted
from wayforward.problem import Stable, UnderNoise
from wayforward.testing import MethodContract, case


class TestRoar(MethodContract):
    method = "roar"
    parameters = {"rounds": 4, "block": 32, "rho": 0.02}
    people = 16
    finds = 0.7


class TestProbe(MethodContract):
    method = "probe"
    parameters = {"rounds": 4, "block": 32, "sigma": 0.02, "draws": 10}
    people = 16
    finds = 0.7


class TestRbr(MethodContract):
    method = "rbr"
    parameters = {"samples": 60, "steps": 8}
    people = 16
    finds = 0.7


class TestTrex(MethodContract):
    method = "trex"
    kinds = ("linear", "forest", "network")
    parameters = {"draws": 20, "neighbours": 3, "steps": 5, "pool": 300, "tau": 0.4}
    people = 16
    finds = 0.7


def unit(d=2, high=1.0):
    return Schema(tuple(Feature(name=f"x{j}", kind="real", low=0, high=high) for j in range(d)))


def test_the_worst_logit_of_the_paper(linear):
    """arXiv:2102.13620: w = (1, .5), b = -1, rho = .1 at (1, 2): 1 - .1 x 3 = .7; by the length, 1 - .1 x sqrt 5."""
    problem = linear(unit(high=10), -1, {"x0": 1.0, "x1": 0.5})
    row = np.array([[1.0, 2.0]])
    assert Shifted(0.1).fit(problem).measure(problem, row, row, row) == pytest.approx(0.7)
    assert Shifted(0.1, "l2").fit(problem).measure(problem, row, row, row) == pytest.approx(1 - 0.1 * 5**0.5)
    assert Shifted(0.1, bias=True).fit(problem).measure(problem, row, row, row) == pytest.approx(0.6)


def test_roar_ends_at_the_worst_boundary(linear):
    """On one feature: (w - rho) x + b = 0 at the option, and with rho = 0 the plain one."""
    problem = linear(unit(1, high=10), -3, {"x0": 1.0})
    for rho in (0.0, 0.1, 0.4):
        got = Roar(rho=rho).fit(problem).recommend(np.array([[1.0]]))
        assert got.after[0, 0, 0] == pytest.approx(3 / (1 - rho), rel=2e-3)


def test_options_of_roar_survive_random_weights(linear):
    """A thousand models within rho, none of which takes the option back (arXiv:2102.13620)."""
    weight = np.array([1.5, -0.7, 0.4])
    problem = linear(unit(3), -1, dict(zip(("x0", "x1", "x2"), weight, strict=True)))
    x = np.random.default_rng(0).uniform(0, 0.5, size=(30, 3))
    x = x[~problem.reached(x)[0]]
    got = Roar(rho=0.1, otherwise="none").fit(problem).recommend(x)
    assert got.found[:, 0].mean() > 0.9
    others = weight + np.random.default_rng(1).uniform(-0.1, 0.1, size=(1000, 3))
    assert (got.after[got.found] @ others.T - 1 > 0).all()
    plain = wf.recommend(problem, x, method="wachter")
    assert not (plain.after[plain.found] @ others.T - 1 > 0).all()


def test_probe_keeps_its_rate(linear):
    """Exact for a linear score: 1 - Phi(f / (sigma |w|)) is the rate that was asked for (arXiv:2203.06768)."""
    from scipy.special import ndtr

    weight = np.array([2.0, 1.0])
    problem = linear(unit(), -1.2, {"x0": 2.0, "x1": 1.0})
    x = np.random.default_rng(0).uniform(0, 0.3, size=(20, 2))
    got = Probe(sigma=0.1, rate=0.2).fit(problem).recommend(x)
    after = got.after[got.found]
    rate = 1 - ndtr((after @ weight - 1.2) / (0.1 * 5**0.5))
    assert (rate <= 0.2 + 1e-6).all()
    assert rate.max() > 0.19


@pytest.mark.parametrize("kind", ["network", "forest"])
def test_probe_lowers_the_rate_of_other_models(kind):
    """Counted on draws that no search has seen."""
    it = case(kind, "independent", 0, 60)
    plain = wf.recommend(it.problem, it.x, method="wachter")
    ours = Probe(sigma=0.05, rate=0.1).fit(it.problem).recommend(it.x)
    both = np.flatnonzero(ours.found[:, 0] & plain.found[:, 0])
    told = UnderNoise(0.05, on="numbers", draws=500, closed=False).fit(it.problem)
    kept = [
        told.measure(it.problem, r.x[both], r.action[both, 0], r.after[both, 0]).mean() for r in (plain, ours)
    ]
    assert kept[1] > kept[0] + 0.1
    assert kept[1] > 0.8


def test_rbr_climbs_the_worst_odds_within_its_radius():
    """Never dearer than the slack allows, and a yes farther from the boundary than the base (arXiv:2206.10833)."""
    it = case("network", "independent", 0, 60)
    base = wf.recommend(it.problem, it.x)
    ours = Rbr(slack=0.5).fit(it.problem).recommend(it.x)
    both = base.found[:, 0] & ours.found[:, 0]
    assert (both == base.found[:, 0]).all()
    assert (ours.cost[both, 0] <= 1.5 * base.cost[both, 0] + 1e-9).all()
    gain = ours.score[both, 0] - base.score[both, 0]
    assert gain.mean() > 0.02
    same = Rbr(slack=0.0).fit(it.problem).recommend(it.x)
    np.testing.assert_allclose(same.cost[both, 0], base.cost[both, 0], rtol=1e-6)


def test_rbr_slopes_are_those_of_its_odds():
    """The gradient against central differences."""
    rng = np.random.default_rng(0)
    method = Rbr(samples=30)
    where, here = rng.uniform(size=(4, 30, 3)), rng.uniform(size=(4, 3))
    yes = rng.random((4, 30)) < 0.5
    score, slope = method._odds(here, where, yes, ~yes)
    for j in range(3):
        step = np.eye(3)[j] * 1e-6
        up, down = (method._odds(here + s * step, where, yes, ~yes)[0] for s in (1, -1))
        np.testing.assert_allclose(slope[:, j], (up - down) / 2e-6, rtol=1e-4, atol=1e-4)


def test_trex_ends_where_it_is_stable():
    """On trees: stability of the options is tau or more wherever the walk found one, and the base's is not."""
    it = case("forest", "independent", 0, 60)
    trex = wf.method("trex", tau=0.5, sigma=0.02, otherwise="none")
    ours = trex.fit(it.problem).recommend(it.x, minimal=False)
    base = wf.recommend(it.problem, it.x)
    told = Stable(0.5, 0.02, draws=50).fit(it.problem)
    at = ours.found[:, 0]
    assert at.sum() > 0.5 * base.found[:, 0].sum()
    measured = told.measure(it.problem, ours.x[at], ours.action[at, 0], ours.after[at, 0])
    assert (measured >= 0.5 - 1e-12).all()
    also = at & base.found[:, 0]
    before = told.measure(it.problem, base.x[also], base.action[also, 0], base.after[also, 0])
    assert before.min() < 0.5


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("roar", {"rho": -1}),
        ("roar", {"norm": "l7"}),
        ("roar", {"otherwise": "x"}),
        ("probe", {"rate": 1.5}),
        ("probe", {"sigma": -0.1}),
        ("rbr", {"slack": -1}),
        ("rbr", {"radius": 0}),
        ("rbr", {"steps": 0}),
        ("trex", {"neighbours": 0}),
    ],
)
def test_settings_that_make_no_sense_are_named(name, settings):
    """The method, the setting and the value."""
    with pytest.raises(MethodError, match=next(iter(settings))):
        wf.method(name, **settings)


def test_targets_other_than_two_classes_work():
    """A regression has no probability: trex says so."""
    schema = unit()
    problem = wf.Problem(
        schema,
        wf.wrap(lambda x: x.sum(1), schema, task="regression", output="value"),
        Target(interval=(1.2, None)),
        data=np.random.default_rng(0).uniform(size=(100, 2)),
    )
    with pytest.raises(wf.WayforwardError, match="regression"):
        wf.method("trex").fit(problem)
    for name in ("roar", "probe", "rbr"):
        got = wf.recommend(problem, np.array([[0.2, 0.3]]), method=name)
        assert got.found[0, 0]
