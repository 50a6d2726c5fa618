"""How long advice lasts: rates against direct counts, and what cannot be measured."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr
from sklearn.linear_model import LogisticRegression

import wayforward as wf
from wayforward import Feature, Schema, Target
from wayforward.errors import DataError
from wayforward.evaluate.robustness import near_best, retrained, robustness
from wayforward.problem import AllModels, Problem, UnderNoise

RNG = np.random.default_rng(0)
X = RNG.uniform(size=(500, 3))
Y = (X @ [1.5, -0.5, 1.0] + 0.2 * RNG.normal(size=500) > 1.0).astype(int)
SCHEMA = Schema(tuple(Feature(name=f"x{j}", kind="real", low=-5, high=5) for j in range(3)))
SPAN = 10.0


def fit(x, y, seed):
    return LogisticRegression(C=10).fit(x, y)


@pytest.fixture(scope="module")
def plain():
    return Problem(SCHEMA, fit(X, Y, 0), Target(1), data=X)


@pytest.fixture(scope="module")
def refused(plain):
    return X[~plain.reached(X)[0]][:60]


def test_the_rate_under_noise_is_that_of_the_closed_form(plain, refused):
    """Errors far from the bounds: counted draws and Phi(score / sd) agree, and so does the invalidation rate."""
    got = wf.recommend(plain, refused, method="nearest-observable")  # options at the boundary are all alike
    measured = robustness(got, plain, sigma=0.02, draws=2000)
    at = got.found[:, 0]
    weight = plain.model.wrapped.coef_[0]
    size = np.sqrt((got.acted[at, 0] * (weight * 0.02 * SPAN) ** 2).sum(1))
    score = plain.model.wrapped.decision_function(got.after[at, 0])
    assert measured.noise.value == pytest.approx(ndtr(score / size).mean(), abs=0.01)
    assert measured.invalidation.value == pytest.approx(1 - measured.noise.value)
    assert measured.noise.low < measured.noise.value < measured.noise.high
    assert measured.noise.n == at.sum()


def test_retrained_models_are_counted(plain, refused):
    """Shares by person and by model, and the people to whom all say yes, against a direct count."""
    models = retrained(fit, X, Y, 7, seed=3)
    got = wf.recommend(plain, refused)
    measured = robustness(got, plain, models=models, sigma=None)
    yes = np.array([model.predict(got.after[got.found]) == 1 for model in models])
    assert measured.models.value == pytest.approx(yes.mean())
    assert measured.all_models.value == pytest.approx(yes.all(0).mean())
    np.testing.assert_allclose(measured.by_model, yes.mean(1))
    assert measured.noise.n == 0


def test_robust_problems_last_longer(plain, refused):
    """Asked of models that no search has seen, and with errors that none has drawn."""
    seen, unseen = retrained(fit, X, Y, 8, seed=1), retrained(fit, X, Y, 8, seed=50)
    base = robustness(wf.recommend(plain, refused), plain, models=unseen, sigma=0.02)
    for robust in (AllModels(seen), UnderNoise(0.02)):
        sturdy = Problem(SCHEMA, plain.model, Target(1), data=X, robust=robust)
        measured = robustness(wf.recommend(sturdy, refused), plain, models=unseen, sigma=0.02)
        assert measured.models.value > base.models.value + 0.1
        assert measured.noise.value > base.noise.value
        assert measured.cost.value > base.cost.value


def test_resamples_are_the_same_for_the_same_seed():
    """And differ from one another."""
    one, other = retrained(fit, X, Y, 2, seed=1), retrained(fit, X, Y, 2, seed=1)
    np.testing.assert_array_equal(one[1].coef_, other[1].coef_)
    assert not np.allclose(one[0].coef_, one[1].coef_)


def test_good_models_are_those_near_the_best():
    """A coin does not belong to them."""
    coin = fit(RNG.uniform(size=(500, 3)), RNG.integers(0, 2, 500), 0)
    good = near_best([*retrained(fit, X, Y, 3), coin], SCHEMA, X, Y, within=0.03)
    assert len(good) == 3


def test_nobody_with_an_option_is_nothing_measured(plain, refused):
    """n = 0, NaN, and no error; an option that was not asked for is one."""
    wishes = wf.Preferences.none(SCHEMA, len(refused)).freeze("x0", "x1", "x2")
    got = wf.recommend(plain, refused, preferences=wishes)
    measured = robustness(got, plain)
    assert measured.noise.n == 0
    assert measured.to_dict()["noise"]["value"] is None
    with pytest.raises(DataError, match="no option 3"):
        robustness(got, plain, option=3)
    with pytest.raises(DataError, match="labels"):
        retrained(fit, X, Y[:3])
    with pytest.raises(DataError, match="m=0"):
        retrained(fit, X, Y, 0)
    with pytest.raises(DataError, match="no model"):
        near_best([], SCHEMA, X, Y)


def test_the_table_and_the_delta(plain, refused):
    """One line for each number; for a linear model how far weights may shift, for the plain options next to nothing."""
    measured = robustness(wf.recommend(plain, refused), plain, stable=0.01, draws=50)
    assert "delta" in measured.table()
    assert "stability" in measured.table()
    assert 0 <= measured.delta.value < 0.01  # an exact search may end on the boundary itself
