"""Equalizing recourse: closed forms of the burden, the plain machine at zero, the gap that is left."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator

from wayforward.errors import DataError
from wayforward.training import EqualizingRecourse, recourse_burden, signed_distance


def people(n: int = 1500, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two groups, the second further spread: X (n, 3), y (n,), group (n,)."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, n)
    x = rng.normal(0, 1, (n, 3))
    x[:, 0] *= np.where(group == 1, 3.0, 1.0)
    y = (x @ [1.0, 1.0, 0.5] + rng.normal(0, 0.5, n) > 0).astype(int)
    return x, y, np.where(group == 1, "wide", "narrow")


def test_the_burden_of_two_normal_groups() -> None:
    """Karimi et al. (2022), section 5: h = sign(x), N(0, 1) and N(0, 10): mean distance .798 and 2.523."""
    z = norm.ppf((np.arange(200_000) + 0.5) / 200_000)
    x = np.concatenate([z, np.sqrt(10) * z])[:, None]
    line = LogisticRegression().fit([[-1.0], [1.0]], [0, 1])
    line.coef_, line.intercept_ = np.array([[7.0]]), np.zeros(1)  # a distance knows no scale of the score
    found = recourse_burden(signed_distance(line, x), np.repeat(["one", "ten"], len(z)))
    assert found["one"] == pytest.approx(np.sqrt(2 / np.pi), abs=1e-3) == pytest.approx(0.798, abs=1e-3)
    assert found["ten"] == pytest.approx(2.523, abs=1e-3)
    nobody = recourse_burden(np.array([1.0, -1.0]), np.array(["a", "b"]))
    assert np.isnan(nobody["a"]) and nobody["b"] == 1
    with pytest.raises(DataError, match="one group a person"):
        recourse_burden(x[:, 0], ["one"])
    with pytest.raises(DataError, match="no single line"):
        signed_distance(object(), x)


def test_without_a_price_it_is_the_plain_machine() -> None:
    """lam=0 and no groups: what LinearSVC finds with squared hinge."""
    x, y, group = people(400)
    plain = LinearSVC(dual=False, C=0.1, intercept_scaling=1e3, tol=1e-10, max_iter=10_000).fit(x, y)
    for found in (
        EqualizingRecourse(lam=0, C=0.1).fit(x, y, groups=group),
        EqualizingRecourse(C=0.1).fit(x, y),
    ):
        np.testing.assert_allclose(found.coef_, plain.coef_, atol=1e-4)
        np.testing.assert_allclose(found.intercept_, plain.intercept_, atol=1e-4)
    weighted = EqualizingRecourse(C=0.1).fit(x, y, sample_weight=np.where(np.arange(400) < 200, 2.0, 0.0))
    half = EqualizingRecourse(C=0.2).fit(x[:200], y[:200])
    np.testing.assert_allclose(weighted.coef_, half.coef_, atol=1e-6)


@pytest.mark.parametrize("tau", [0.0, 0.1, 0.4])
def test_the_gap_that_is_left(tau: float) -> None:
    """At most tau in distance, and never worse than plain; what it costs is a loss that grows as tau falls."""
    x, y, group = people()
    found = EqualizingRecourse(tau=tau).fit(x, y, groups=group)
    burden = recourse_burden(signed_distance(found, x), group)
    assert abs(burden["wide"] - burden["narrow"]) == pytest.approx(found.gap_)
    assert found.plain_gap_ > 0.5
    assert found.gap_ <= max(tau, 0.02) + 1e-9  # the refused are whole people: at 0 a little is left
    assert found.score(x, y) > 0.7


def test_a_price_buys_a_smaller_gap() -> None:
    """The dearer a gap, the smaller it is."""
    x, y, group = people()
    gaps = [EqualizingRecourse(lam=lam).fit(x, y, groups=group).gap_ for lam in (0, 10, 100, np.inf)]
    assert gaps == sorted(gaps, reverse=True) and gaps[-1] < 0.1 * gaps[0]


def test_it_is_an_estimator() -> None:
    """The checks of scikit-learn, and what it refuses."""
    check_estimator(EqualizingRecourse(), on_skip=None)
    x, y, group = people(60)
    with pytest.raises(ValueError, match="holds 3 groups"):
        EqualizingRecourse().fit(x, y, groups=np.arange(60) % 3)
    with pytest.raises(ValueError, match="one group a row"):
        EqualizingRecourse().fit(x, y, groups=group[:5])
    with pytest.raises(ValueError, match="lam=-1"):
        EqualizingRecourse(lam=-1).fit(x, y)
