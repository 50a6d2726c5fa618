"""Strategic recourse: the best response in closed form, plain training where nobody responds, gaming met."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import check_estimator

from wayforward.training import StrategicRecourse


def people(n: int = 2000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Both columns go with the qualification."""
    rng = np.random.default_rng(seed)
    merit = rng.normal(0, 1, n)
    return merit[:, None] + rng.normal(0, 0.5, (n, 2)), (merit > 0).astype(int)


def fixed(*weight: float, **given: object) -> StrategicRecourse:
    """A fitted one with weights of its own and no intercept."""
    x, y = people(50)
    made = StrategicRecourse(**given).fit(x, y)
    made.coef_, made.intercept_ = np.array([weight]), np.zeros(1)
    return made


def test_the_best_response() -> None:
    """S = diag(1, 4), w = (1, 1): from (-1, 0) to (-.8, .8) at .2, on the boundary."""
    model = fixed(1.0, 1.0, improvable=[0, 1], covariance=[1.0, 4.0])
    x = np.array([[-1.0, 0.0], [0.0, 1.0], [-9.0, 0.0]])
    led, cost = model.respond(x)
    np.testing.assert_allclose(led[0], [-0.8, 0.8])
    np.testing.assert_allclose(cost, [0.2, 0, 0])
    np.testing.assert_array_equal(led[1:], x[1:])  # accepted already; too far
    assert model.decision_function(led[:1]) == pytest.approx(0, abs=1e-12)
    np.testing.assert_array_equal(model.after_response(x), [1, 1, 0])
    stays, nothing = model.respond(x, columns=[])
    np.testing.assert_array_equal(stays, x)
    assert not nothing.any()
    np.testing.assert_array_equal(model.after_response(x, columns=[]), model.predict(x))


def test_a_covariance_with_what_stays() -> None:
    """With one of two correlated features frozen, the other is all there is: the cost is that of its own move."""
    s = np.array([[2.0, 1.0], [1.0, 2.0]])
    model = fixed(1.0, 1.0, improvable=[0], covariance=s)
    led, cost = model.respond(np.array([[-1.0, 0.0]]))
    np.testing.assert_allclose(led, [[0.0, 0.0]])
    step = np.array([1.0, 0.0])
    np.testing.assert_allclose(cost, step @ np.linalg.inv(s) @ step)


def test_where_nobody_responds_it_is_logistic_regression() -> None:
    """No kind of features and lam=0."""
    x, y = people(300)
    found, plain = StrategicRecourse(lam=0).fit(x, y), LogisticRegression(tol=1e-8).fit(x, y)
    np.testing.assert_allclose(found.coef_, plain.coef_, atol=1e-4)
    np.testing.assert_allclose(found.intercept_, plain.intercept_, atol=1e-4)


def test_who_expects_gaming_is_right_after_it() -> None:
    """Column 1 is faked at little cost: the plain model is wrong after the response, this one is not."""
    x, y = people()
    spread = [0.25, 4.0]
    ready = StrategicRecourse(lam=0, manipulable=[1], covariance=spread).fit(x, y)
    plain = StrategicRecourse(lam=0, manipulable=[], covariance=spread).fit(x, y)
    share = [(model.after_response(x, [1]) == y).mean() for model in (plain, ready)]
    assert share[1] > share[0] + 0.1 and share[1] > 0.8
    assert share[1] == pytest.approx(plain.score(x, y), abs=0.005)  # as right as if nobody had faked


def test_a_price_on_no_way_to_improve_leads_more_people_there() -> None:
    """The dearer it is, the more of those who should be refused reach a yes by what counts."""
    x, y = people()
    led = [
        StrategicRecourse(lam=lam, improvable=[0], manipulable=[1], covariance=[0.25, 0.25])
        .fit(x, y).after_response(x, [0])[y == 0].mean() for lam in (0, 0.5, 2)
    ]  # fmt: skip
    assert led == sorted(led) and led[-1] > led[0] + 0.1


def test_it_is_an_estimator() -> None:
    """The checks of scikit-learn, and what it refuses."""
    check_estimator(StrategicRecourse(), on_skip=None)
    x, y = people(60)
    with pytest.raises(ValueError, match="no column 2"):
        StrategicRecourse(manipulable=[2]).fit(x, y)
    with pytest.raises(ValueError, match="positive definite"):
        StrategicRecourse(covariance=[1.0, -1.0]).fit(x, y)
    with pytest.raises(ValueError, match="gain=-1"):
        StrategicRecourse(gain=-1).fit(x, y)
