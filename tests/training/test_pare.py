"""PARE: plain at zero, more people with a way, and a threshold that keeps its promise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import check_estimator

from wayforward.errors import DataError
from wayforward.training import PARE, AllowedChanges, recourse_rank


def people(n: int = 1500, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two columns say the same: the first cannot be changed, the second can."""
    rng = np.random.default_rng(seed)
    merit = rng.normal(0, 1, (n, 1))
    x = merit + rng.normal(0, 0.7, (n, 2))
    return x, (merit[:, 0] + rng.normal(0, 0.5, n) > 0.5).astype(int)


def second_only() -> AllowedChanges:
    """The second column moves by .75."""
    free = np.full(2, np.inf)
    return AllowedChanges(np.array([0, -0.75]), np.array([0, 0.75]), -free, free)


@pytest.mark.parametrize(("n", "eps", "k"), [(100, 0.1, 4), (50, 0.1, 1), (100, 0.05, 1), (200, 0.05, 4)])
def test_how_many_may_fall_below_the_threshold(n: int, eps: float, k: int) -> None:
    """k = 4, 1, 1, 4; one more would break the promise."""
    assert recourse_rank(n, eps, 0.05) == k
    assert binom.cdf(k, n, eps) <= 0.05 < binom.cdf(k + 1, n, eps)


def test_too_few_people_promise_nothing() -> None:
    """The error names how many are needed, and that many are enough."""
    with pytest.raises(DataError, match="Give 59 or more"):
        recourse_rank(58, 0.05, 0.05)
    assert recourse_rank(59, 0.05, 0.05) == 0
    with pytest.raises(DataError, match="eps=1.5"):
        recourse_rank(100, 1.5, 0.05)


def test_at_zero_it_is_plain() -> None:
    """lam=0: logistic regression."""
    x, y = people(300)
    found, plain = PARE(lam=0).fit(x, y), LogisticRegression(tol=1e-8).fit(x, y)
    np.testing.assert_allclose(found.coef_, plain.coef_, atol=1e-4)
    np.testing.assert_allclose(found.intercept_, plain.intercept_, atol=1e-4)


def test_more_people_have_a_way_and_the_model_looks_at_what_they_can_change() -> None:
    """The share with recourse grows with its weight, and so does the weight of the column that moves."""
    x, y = people()
    models = [PARE(lam=lam, allowed=second_only()).fit(x, y) for lam in (0, 0.3, 1)]
    share = [(model.reachable_score(x) > 0).mean() for model in models]
    ratio = [model.coef_[0, 1] / np.linalg.norm(model.coef_) for model in models]
    assert share == sorted(share) and share[-1] > share[0] + 0.1
    assert ratio == sorted(ratio) and ratio[-1] > ratio[0]
    assert models[1].score(x, y) > 0.75


def test_the_threshold_keeps_its_promise() -> None:
    """Of 300 draws of 100 calibration people at most about delta lead to a threshold that leaves out more than eps."""
    x, y = people()
    model = PARE(lam=0.3, allowed=second_only()).fit(x, y)
    new, _ = people(20_000, 1)
    refused = new[model.decision_function(new) <= 0]
    before = model.intercept_.copy()
    truth = np.sort(model.reachable_score(refused))
    lost = []
    for seed in range(300):
        some = np.random.default_rng(seed).integers(0, len(refused), 100)
        model.intercept_ = before.copy()
        bar = model.calibrate(refused[some], eps=0.1, delta=0.05).threshold_
        lost.append(np.searchsorted(truth, bar) / len(truth))
    assert np.mean(np.array(lost) > 0.1) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 300)
    assert model.threshold_ < 0
    assert (model.reachable_score(refused[some]) <= 0).sum() <= 4


def test_the_best_change_is_legal() -> None:
    """Boxes end at legal values; a switch goes to a level that is allowed, and only from one that is known."""
    free = np.full(5, np.inf)
    allowed = AllowedChanges(
        np.array([-1.0, 0, 0, 0, 0]), np.array([1.0, 0, 0, 0, 0]), -free, np.array([0.5, *free[1:]]),
        switches=(((2, 3, 4), 1),),
    )  # fmt: skip
    rows = np.array([[0.0, 1, 0, 1, 0], [0.4, 1, 0, 0, 0], [2.0, 1, 1, 0, 0]])
    change = allowed.best(np.array([1.0, 9, 5, 1, 2]), rows)
    np.testing.assert_allclose(change, [[0.5, 0, 0, -1, 1], [0.1, 0, 0, 0, 0], [0, 0, 0, 0, 0]])


def test_a_network() -> None:
    """With hidden units: separates what no line does, and more people have a way than without recourse."""
    pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, (600, 2))
    y = (np.abs(x[:, 0]) + 0.3 * x[:, 1] > 1.2).astype(int)
    plain, led = (
        PARE(lam=lam, allowed=second_only(), hidden=(16,), rate=0.02, epochs=25, random_state=0).fit(x, y)
        for lam in (0, 1)
    )
    assert plain.score(x, y) > 0.93
    assert (led.reachable_score(x) > 0).mean() > (plain.reachable_score(x) > 0).mean() + 0.1
    before = (led.predict(x) == 1).mean()
    assert (led.calibrate(x, 0.1, 0.05).reachable_score(x) <= 0).mean() <= 0.1
    assert (led.predict(x) == 1).mean() > before


def test_it_is_an_estimator() -> None:
    """The checks of scikit-learn, and what it refuses."""
    check_estimator(PARE(), on_skip=None)
    x, y = people(60)
    with pytest.raises(ValueError, match="allowed changes are of 2 columns"):
        PARE(allowed=second_only()).fit(x[:, :1], y)
    with pytest.raises(ValueError, match="lam=-1"):
        PARE(lam=-1).fit(x, y)
