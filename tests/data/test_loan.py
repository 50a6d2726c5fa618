"""Loan follows the published equations: drawn moments, released tensors, label rule."""

from __future__ import annotations

import numpy as np
import pytest

from wayforward.data.loan import GRAPH, NAMES, decision, equations, sample
from wayforward.testing import DatasetContract


class TestLoanKeepsTheContract(DatasetContract):
    dataset = "loan"
    forms = ("", "karimi", "recourse", "clf", "causal_estimator")


def test_the_moments_are_the_published_ones():
    """Means and deviations of 1e5 draws (non-linear Loan SCM of CARMA, FAccT 2024)."""
    x, _ = sample(100_000, seed=1)
    mean = [0.5, 0.0, -0.06, 0.03, 0.03, 0.50, -2.1]
    deviation = [0.5, 11.1, 0.137, 2.77, 4.54, 2.51, 5.57]
    rounding = np.array([0.005, 0.05, 0.005, 0.005, 0.005, 0.005, 0.05])
    error = 4 * np.array(deviation) / np.sqrt(len(x)) + rounding
    assert (np.abs(x.mean(0) - mean) < error).all(), x.mean(0)
    np.testing.assert_allclose(x.std(0), deviation, rtol=0.02)
    assert decision(x).mean() == pytest.approx(0.525, abs=0.006)


@pytest.mark.parametrize(
    ("folder", "n", "shares"),
    [
        ("recourse", (10_000, 5_000, 5_000), (0.524, 0.535, 0.525)),
        ("clf", (10_000, 5_000, 5_000), (0.531, 0.516, 0.514)),
    ],
)
def test_released_rows_follow_equations_and_label_rule(read, folder, n, shares):
    data = read(f"loan:{folder}")
    np.testing.assert_allclose(equations(data.extra["noise"]), data.x, atol=2e-5)  # the tensors are float32
    np.testing.assert_array_equal(decision(data.x), data.y)
    for split in range(3):
        part = data.fold == split
        assert part.sum() == n[split]
        assert data.y[part].mean() == pytest.approx(shares[split], abs=5e-4)
    for group, low, high in ((0, 0.33, 0.36), (1, 0.69, 0.72)):
        assert low - 0.005 <= data.y[data.x[:, 0] == group].mean() <= high + 0.005


def test_the_older_labels_are_recomputed(read):
    """The folder causal_estimator was released with another rule; about a third of its labels differ."""
    data = read("loan:causal_estimator")
    assert data.n == 25_000
    np.testing.assert_allclose(equations(data.extra["noise"]), data.x, atol=2e-5)
    np.testing.assert_array_equal(decision(data.x), data.y)
    amount, duration, income, savings = data.x[:, 3:].T
    older = -amount - duration + income + savings + income * savings >= 0
    for split, share in enumerate((0.503, 0.502, 0.496)):
        assert older[data.fold == split].mean() == pytest.approx(share, abs=5e-4)
    changed = int((older != data.y).sum())
    assert 0.25 < changed / data.n < 0.40
    assert any(f"{changed:,} of 25,000" in note for note in data.notes)


def test_the_drawn_rows_carry_their_noise(read):
    data = read("loan")
    np.testing.assert_array_equal(equations(data.extra["noise"]), data.x)
    assert {name for edge in GRAPH for name in edge} == set(NAMES)


@pytest.mark.parametrize("variant", ["carma", "karimi"])
def test_the_world_is_the_one_that_the_rows_come_from(read, variant):
    """The same noise gives the same people in the world, and the world gives the noise back."""
    data = read("loan" if variant == "carma" else "loan:karimi").take(np.arange(200))
    world = data.world
    nothing = np.full_like(data.x, np.nan)
    np.testing.assert_allclose(world.abduct(data.x), data.extra["noise"], atol=1e-9)
    np.testing.assert_allclose(world.predict(data.extra["noise"], nothing), data.x, atol=1e-9)
    action = nothing.copy()
    action[:, 5] = np.maximum(data.x[:, 5], 0) + 2
    after = world.consequences(data.x, action)
    raised = action[:, 5] - np.maximum(data.x[:, 5], 0)
    np.testing.assert_allclose(after[:, 6] - data.x[:, 6], 1.5 * raised, atol=1e-9)
    np.testing.assert_allclose(after[:, :5], data.x[:, :5], atol=1e-9)


def test_the_label_is_the_one_of_the_world(read):
    from wayforward.world.loan import granted, label

    np.testing.assert_array_equal(label(read("loan").x), read("loan").y)
    data = read("loan:karimi")
    chance = granted(data.x, "karimi")
    for low, high in ((0.0, 0.2), (0.4, 0.6), (0.8, 1.0)):
        part = (chance >= low) & (chance <= high)
        error = 4 * np.sqrt(0.25 / part.sum())
        assert data.y[part].mean() == pytest.approx(chance[part].mean(), abs=error)


def test_other_tables_have_no_known_world(read):
    assert read("german").world is None
