"""The teaching worlds, against the equations that their specification states."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from wayforward.errors import WorldError
from wayforward.world import SCM, LinearWorld
from wayforward.world.chains import chain, favourable
from wayforward.world.graph import CausalGraph

NAMES = ("3-lin", "3-anm", "3-nonadditive")


def by_hand(name, u):
    """The specification, section E11.3, written out again."""
    x1 = u[:, 0]
    if name == "3-lin":
        x2 = -x1 + u[:, 1]
        x3 = 0.5 * (0.1 * x1 + 0.5 * x2) + u[:, 2]
    elif name == "3-anm":
        x2 = 3 / (1 + np.exp(-2 * x1)) - 1 + u[:, 1]
        x3 = -0.5 * (0.1 * x1 + 0.5 * x2**2) + u[:, 2]
    else:
        x2 = 0.25 * (1 + x1**2) * u[:, 1]
        x3 = -1 + (0.25 + 0.1 * (x1**2 + x2**2)) * u[:, 2]
    return np.stack([x1, x2, x3], 1)


def log_density_by_hand(name, x):
    x1, x2, x3 = x.T
    first = 0.5 * stats.norm(-2, 1.5**0.5).pdf(x1) + 0.5 * stats.norm(1, 1).pdf(x1)
    if name == "3-lin":
        rest = stats.norm(-x1, 1).logpdf(x2) + stats.norm(0.05 * x1 + 0.25 * x2, 1).logpdf(x3)
    elif name == "3-anm":
        rest = stats.norm(3 / (1 + np.exp(-2 * x1)) - 1, 0.1**0.5).logpdf(x2)
        rest += stats.norm(-0.05 * x1 - 0.25 * x2**2, 1).logpdf(x3)
    else:
        rest = stats.norm(0, 0.25 * (1 + x1**2)).logpdf(x2)
        rest += stats.norm(-1, 0.25 + 0.1 * (x1**2 + x2**2)).logpdf(x3)
    return np.log(first) + rest


@pytest.mark.parametrize("name", NAMES)
def test_equations_and_densities_of_the_specification(name):
    world = chain(name)
    u = world.sample_noise(500, 0)
    x = world.predict(u)
    np.testing.assert_allclose(x, by_hand(name, u), atol=1e-12)
    np.testing.assert_allclose(world.abduct(x), u, atol=1e-9)
    np.testing.assert_allclose(world.log_density(x), log_density_by_hand(name, x), atol=1e-9)
    assert set(CausalGraph.read(world).edges) == {("x1", "x2"), ("x1", "x3"), ("x2", "x3")}


@pytest.mark.parametrize("name", NAMES)
def test_counterfactuals_keep_the_noise(name):
    world = chain(name)
    u = world.sample_noise(300, 1)
    moved = u.copy()
    moved[:, 0] += 1
    action = np.full((300, 3), np.nan)
    action[:, 0] = moved[:, 0]
    np.testing.assert_allclose(world.consequences(by_hand(name, u), action), by_hand(name, moved), atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_the_same_from_yaml(name, tmp_path):
    world = chain(name)
    world.to_yaml(tmp_path / "chain.yaml")
    back = SCM.from_yaml(tmp_path / "chain.yaml")
    x = world.sample(50, 0)
    np.testing.assert_array_equal(back.sample(50, 0), x)
    np.testing.assert_array_equal(back.log_density(x), world.log_density(x))


def test_the_first_variable_has_two_clusters():
    x1 = chain("3-lin").sample(100_000, 0)[:, 0]
    assert x1.mean() == pytest.approx(-0.5, abs=0.02)
    assert x1.var() == pytest.approx(0.5 * (1.5 + 4) + 0.5 * (1 + 1) - 0.25, abs=0.05)


def test_a_linear_world_learns_the_linear_chain_and_misses_the_others():
    """The point of the three: the error of a linear world, in standard deviations of x3, when x1 moves by 1."""
    errors = {}
    for name in NAMES:
        true = chain(name)
        world = LinearWorld.fit(CausalGraph.read(true), true.sample(5000, 0))
        x = true.sample(1000, 1)
        action = np.full(x.shape, np.nan)
        action[:, 0] = x[:, 0] + 1
        miss = (world.consequences(x, action) - true.consequences(x, action))[:, 1:]
        errors[name] = float((np.sqrt((miss**2).mean(0)) / x[:, 1:].std(0)).max())
    assert errors["3-lin"] < 0.05 < 0.15 < min(errors["3-anm"], errors["3-nonadditive"])


def test_labels_and_names():
    x = chain("3-anm").sample(2000, 0)
    p = favourable(x)
    assert ((p > 0.5) == (x.sum(1) > 0)).all() and 0.2 < p.mean() < 0.8
    with pytest.raises(WorldError, match="3-lin"):
        chain("4-lin")  # type: ignore[arg-type]
