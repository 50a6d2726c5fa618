"""Private starts: what an accountant promises, noise of the right size, and nobody's row in what comes out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

import wayforward as wf
from wayforward.density import private
from wayforward.density.private import Accountant, delta_of, mu_of, private_people
from wayforward.errors import ProblemError
from wayforward.problem import Disclosure

SCHEMA = wf.Schema(
    (
        wf.Feature(name="a", kind="real", low=0, high=10),
        wf.Feature(name="b", kind="integer", low=0, high=100),
        wf.Feature(name="job", kind="categorical", levels=("x", "y", "z")),
    )
)


def people(n: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    kind = rng.random(n) < 0.5
    return np.stack(
        [
            np.where(kind, 2, 7) + rng.normal(0, 0.3, n),
            np.where(kind, 80, 20) + rng.integers(-3, 4, n),
            kind * 2.0,
        ],
        1,
    )


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_what_is_promised_is_the_exact_delta_of_the_noise(epsilon: float) -> None:
    """Two Gaussians that lie mu apart: the supremum of P(S) - e^epsilon Q(S) is at a half-line, on a fine grid."""
    mu = mu_of(epsilon, 1e-3)
    assert delta_of(mu, epsilon) == pytest.approx(1e-3)
    at = np.linspace(-20, 20, 400_001)
    worst = (norm.sf(at - mu) - np.exp(epsilon) * norm.sf(at)).max()
    assert worst == pytest.approx(1e-3, rel=1e-4)


def test_releases_add_up_to_one_of_the_whole_budget() -> None:
    """Independent Gaussian releases are one in more dimensions: squares of sensitivity by sigma add."""
    budget = Accountant(1.0, 1e-6)
    parts = [
        (sensitivity / budget.sigma(sensitivity, share)) ** 2
        for sensitivity, share in ((2, 0.25), (0.5, 0.6), (9, 0.15))
    ]
    assert delta_of(float(np.sqrt(sum(parts))), 1.0) == pytest.approx(1e-6, rel=1e-6)
    with pytest.raises(ProblemError, match="of a budget of privacy of which"):
        budget.sigma(1.0, 0.01)


def test_the_whole_budget_is_spent_on_noise_of_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every release of a run, watched: sensitivities as brute force finds them, and together the budget, no more."""
    spent, real = [], Accountant.sigma

    def watched(self: Accountant, sensitivity: float, share: float) -> float:
        spent.append((sensitivity, real(self, sensitivity, share)))
        return spent[-1][1]

    monkeypatch.setattr(Accountant, "sigma", watched)
    private_people(SCHEMA, people(50), 1.0, seed=0)
    assert delta_of(float(np.sqrt(sum((s / noise) ** 2 for s, noise in spent))), 1.0) == pytest.approx(
        1e-6, rel=1e-6
    )
    assert spent[0][0] == np.sqrt(3) and {s for s, _ in spent[1::2]} == {1.0}  # bins, sizes
    (reach,) = {s for s, _ in spent[2::2]}
    edges = [private._edges(0, 10), private._edges(0, 100), np.arange(4) - 0.5]
    ranks = [np.linspace(0, 1, len(e)) for e in edges]
    anybody = np.random.default_rng(0).uniform([0, 0, 0], [10, 100, 3], (2000, 3)) // [1, 1, 1]
    points, _ = private._ranked(
        np.concatenate([anybody, [[10, 100, 2]]]), edges, ranks, np.array([True, True, False])
    )
    assert np.sqrt((points**2).sum(1)).max() == pytest.approx(reach)  # what one person adds to the sums


def test_noise_is_drawn_with_the_standard_deviation_of_the_accountant() -> None:
    """Counts of bins of nobody are noise and nothing else: 30,000 of them."""
    budget, rng = Accountant(1.0, 1e-6), np.random.default_rng(0)
    sigma = budget.sigma(1.0, 1.0)
    assert rng.normal(0, sigma, 30_000).std() == pytest.approx(1 / mu_of(1.0, 1e-6), rel=0.02)


def test_made_up_people_are_like_the_observed_ones() -> None:
    got = private_people(SCHEMA, people(5000), 2.0, n=4000, seed=0)
    assert (got[:, 0] > 4.5).mean() == pytest.approx(0.5, abs=0.1)
    assert got[:, 2].mean() == pytest.approx(1.0, abs=0.15)
    assert np.corrcoef(got[:, 0], got[:, 1])[0, 1] < -0.5
    assert ((got >= SCHEMA.low[None]) | SCHEMA.has_levels).all() and (got[:, 1] == np.round(got[:, 1])).all()
    np.testing.assert_array_equal(got, private_people(SCHEMA, people(5000), 2.0, n=4000, seed=0))
    assert not np.array_equal(
        private_people(SCHEMA, people(99), 2.0), private_people(SCHEMA, people(99), 2.0)
    )


def test_methods_that_copy_people_start_from_made_up_ones() -> None:
    """A model that wants much of a: options are values of made-up people, and no warning is needed."""
    x = people(2000)
    problem = wf.Problem(
        SCHEMA, lambda rows: 1 / (1 + np.exp(5 - rows[:, 0])), wf.Target(1), data=x,
        disclosure=Disclosure(epsilon=1.0, noise_seed=0),
    )  # fmt: skip
    made = problem.require_reference()
    assert not np.array_equal(made[:50], x[:50]) and len(made) == 1000
    refused = x[~problem.reached(x)[0]][:10]
    got = wf.recommend(problem, refused, method="nearest-observable", minimal=False)
    assert got.found[:, 0].all() and "copies_people" not in got.meta
    assert "epsilon 1" in got.meta["disclosure"]
    changed = got.after[:, 0][got.changed[:, 0]]
    assert np.isin(changed, made).all() and not np.isin(got.after[:, 0, 0], x[:, 0]).any()


def test_a_budget_that_is_none_and_bounds_that_are_not_public_are_refused() -> None:
    for budget in (-1, "x", True, float("nan"), 1e9):
        with pytest.raises(ProblemError, match="is no budget of privacy"):
            Disclosure(epsilon=budget)  # type: ignore[arg-type]
    seen = SCHEMA.revise(a={"bounds": "observed"})
    with pytest.raises(ProblemError, match="bounds of 'a' were read off the table"):
        private_people(seen, people(99), 1.0)
    assert private_people(seen, people(99), 1.0, bounds={"a": (0, 20)}).shape == (1000, 3)
