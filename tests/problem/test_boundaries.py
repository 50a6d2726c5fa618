"""Where a comparison may be off by one: equality counts, unknown is neither, limits are met from inside."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neural_network import MLPClassifier

from wayforward.evaluate import row_rules
from wayforward.model import wrap
from wayforward.preferences import Preferences
from wayforward.problem import Confidence, Problem, Target, WithinDelta
from wayforward.schema import Feature, Schema

# -- confidence at equality ----------------------------------------------------------------------------------

LINE = Schema((Feature(name="x", kind="real", low=0, high=1),))


def bound(**target: Any) -> Any:
    """A target bound to two classes, or to a regression."""
    if "interval" in target:
        model = LinearRegression().fit([[0.0], [1.0]], [0.0, 1.0])
    else:
        model, target = LogisticRegression().fit([[0.0], [1.0]], [0, 1]), {"favourable": 1} | target
    return Problem(LINE, model, Target(**target)).bound_target


def draws(yes: int, of: int = 10) -> np.ndarray:
    """(of, 1) bool, the first `yes` of them True."""
    return (np.arange(of) < yes)[:, None]


@pytest.mark.parametrize(
    ("share", "spare", "enough"),
    [(0.8, 0, 8), (0.8, 1, 9), (0.75, 0, 8), (1.0, 0, 10), (1.0, 1, 10), (0.95, 2, 10), (0.1, 0, 1)],
)
def test_a_share_is_met_at_equality_and_not_one_draw_below(share: float, spare: int, enough: int) -> None:
    """ "At least this share": 8 of 10 are 0.8; a spare draw asks for one more, never for more than all."""
    held = [
        bool(Confidence(share).holds(draws(n), draws(n) * 1.0, bound(), spare=spare)[0]) for n in range(11)
    ]
    assert held == [n >= enough for n in range(11)]


@pytest.mark.parametrize(
    ("target", "values"),
    [
        ({}, (0.5, 0.75)),  # mean 0.625, deviation 0.125: 0.5 is left, the model's own bar of two classes
        ({"threshold": 0.25}, (0.25, 0.5)),
        ({"threshold": 0.25, "margin": 0.25}, (0.5, 1.0)),
        ({"margin": 0.25}, (0.75, 1.0)),
        ({"interval": (1.0, None)}, (1.0, 3.0)),  # mean 2, deviation 1
        ({"interval": (None, 3.0)}, (1.0, 3.0)),
        ({"interval": (1.0, 3.0)}, (1.0, 3.0)),
        ({"interval": (0.5, 3.5), "margin": 0.5}, (1.0, 3.0)),
    ],
)
def test_a_lower_bound_is_met_at_equality_and_not_one_step_beyond(target: Any, values: Any) -> None:
    """Mean less one deviation, in numbers that floats hold exactly, touches the bar."""
    yes, ask, to = draws(0), Confidence(gamma=1.0), bound(**target)
    at = np.tile(np.array(values), 5)[:, None]
    assert ask.holds(yes, at, to)[0]
    beyond = [at - 2**-30] if target.get("interval", (0, None))[0] is not None else []
    beyond += [at + 2**-30] if target.get("interval", (0, None))[1] is not None else []
    assert beyond and not any(ask.holds(yes, far, to)[0] for far in beyond)


# -- Kleene's implication ------------------------------------------------------------------------------------

TRUTHS = {True: 1.0, False: -1.0, None: np.nan}  # the value that makes "after.x > 0" so


@pytest.mark.parametrize(("cause", "effect"), list(product(TRUTHS, TRUTHS)))
def test_an_unknown_cause_implies_only_what_is_true_anyway(cause: bool | None, effect: bool | None) -> None:
    """Kleene (1952), section 64: a -> b is (not a) or b; unknown unless one of the two settles it."""
    number = {True: 1.0, False: 0.0, None: 0.5}
    expected = max(1 - number[cause], number[effect])
    schema = Schema(
        tuple(Feature(name=n, kind="real", low=-2, high=2, missing=True) for n in "ab"),
        ("after.a > 0 implies after.b > 0", "if after.a > 0 then after.b > 0"),
    )
    rules, row = schema.compiled_rules, np.array([[TRUTHS[cause], TRUTHS[effect]]])
    assert rules.truth(row, row).tolist() == [[expected] * 2]
    assert rules.holds(row, row).tolist() == [[expected > 0] * 2]
    assert rules.satisfied(row, row).tolist() == [expected > 0]
    assert rules.interval(row, row, row, row).tolist() == [[{1.0: 1, 0.5: 0, 0.0: -1}[expected]] * 2]
    pair = row_rules.BeforeAfter(row[0].tolist(), row[0].tolist(), [4.0, 4.0])
    got = row_rules.truth(rules.conditions[0].body, pair)  # type: ignore[arg-type]
    assert got is {1.0: True, 0.5: None, 0.0: False}[expected]


# -- weights that shift, and intercepts that do not -----------------------------------------------------------

PLANE = Schema(tuple(Feature(name=n, kind="real", low=-2, high=2) for n in "ab"))
RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 2, (200, 2))
ROWS = np.array([[0.0, 0.0], [1.0, -0.5], [-1.5, 2.0]])


def log_odds(weight: np.ndarray, bias: float, delta: float, norm: str, moves: bool) -> np.ndarray:
    """(m,) the least log-odds of any weights within delta, over corners or by Cauchy and Schwarz."""
    if norm == "l2":
        return ROWS @ weight + bias - delta * np.sqrt((ROWS**2).sum(1) + moves)
    corners = [
        ROWS @ (weight + delta * np.array(s[:2])) + bias + moves * delta * s[2]
        for s in product((-1, 1), repeat=3)
    ]
    return np.min(corners, axis=0)


@pytest.mark.parametrize("norm", ["linf", "l2"])
@pytest.mark.parametrize("bias", [True, False])
def test_intercepts_move_only_where_they_may(norm: Any, bias: bool) -> None:
    """Brute force over the corners of the weights; at the origin, fixed intercepts leave the score as it is."""
    model = LogisticRegression().fit(X, (X.sum(1) + 0.3 > 0).astype(int))
    problem = Problem(PLANE, model, Target(1), data=X)
    condition = WithinDelta(0.2, norm, bias=bias).fit(problem)
    expected = log_odds(model.coef_[0], float(model.intercept_[0]), 0.2, norm, bias)
    np.testing.assert_allclose(condition.worst(ROWS), expected, atol=1e-9)
    plain = log_odds(model.coef_[0], float(model.intercept_[0]), 0.0, norm, bias)
    assert (condition.worst(ROWS)[0] == pytest.approx(plain[0])) == (not bias)
    held = condition.holds(problem, ROWS, ROWS, ROWS)
    np.testing.assert_array_equal(held, expected > 0)


@pytest.mark.parametrize("bias", [True, False])
def test_intercepts_of_a_network_move_only_where_they_may(bias: bool) -> None:
    """One hidden layer of one unit: five numbers, of which the least score lies in a corner; the bound is exact."""
    net = MLPClassifier((1,), random_state=0, max_iter=3000, learning_rate_init=0.05, tol=1e-3).fit(
        X, (X.sum(1) > 0).astype(int)
    )
    (first, last), (one, two) = net.coefs_, net.intercepts_
    delta = 0.05
    scores = []
    for s in product((-1, 1), repeat=5):
        hidden = np.maximum(
            ROWS @ (first[:, 0] + delta * np.array(s[:2])) + one[0] + bias * delta * s[2], 0.0
        )
        scores.append(hidden * (last[0, 0] + delta * s[3]) + two[0] + bias * delta * s[4])
    condition = WithinDelta(delta, bias=bias).fit(Problem(PLANE, net, Target(1), data=X))
    np.testing.assert_allclose(condition.worst(ROWS), np.min(scores, axis=0), atol=1e-6)


# -- a lattice inside personal limits ------------------------------------------------------------------------


@given(seed=st.integers(0, 2**32))
def test_snapping_ends_on_the_nearest_point_within_a_persons_limits(seed: int) -> None:
    """Brute force over the lattice; NaN exactly where no point other than the person's own lies within reach."""
    rng = np.random.default_rng(seed)
    step, low = float(rng.choice([0.25, 0.5, 2.0])), float(rng.choice([0.0, 0.1, -3.0]))
    schema = Schema((Feature(name="x", kind="real", low=low, high=low + 10, step=step),))
    model = wrap(lambda r: r[:, 0] > 0, schema, output="label", classes=(False, True))
    points = schema.snap(np.arange(low, low + 10 + step / 2, step)[:, None])[:, 0]
    n = 6
    x = rng.choice(points, n)
    ends = np.sort(
        np.where(rng.random((n, 2)) < 0.3, rng.choice(points, (n, 2)), low + rng.uniform(0, 10, (n, 2))), 1
    )
    wish = Preferences(schema, np.zeros((n, 1), bool), ends[:, :1], ends[:, 1:], np.ones((n, 1)))
    people = Problem(schema, model, Target(True)).population(x[:, None], wish)
    action = low + rng.uniform(-2, 12, n)
    got = people.snap(np.arange(n), action[:, None])[:, 0]
    for i in range(n):
        inside = points[(points >= ends[i, 0] - 1e-8) & (points <= ends[i, 1] + 1e-8)]
        if not (inside != x[i]).any():
            assert np.isnan(got[i])
            continue
        assert got[i] in inside
        aim = np.clip(action[i], *ends[i])
        assert abs(got[i] - aim) == pytest.approx(np.abs(inside - aim).min())


def test_a_limit_between_two_steps_is_met_from_inside() -> None:
    """At most 7.3 in steps of a half is 7, at least 2.7 is 3; a limit on the lattice may be taken."""
    schema = Schema((Feature(name="x", kind="real", low=0, high=10, step=0.5),))
    model = wrap(lambda r: r[:, 0] > 0, schema, output="label", classes=(False, True))
    ends = np.array([[2.7, 7.3], [3.0, 7.0]])
    wish = Preferences(schema, np.zeros((2, 1), bool), ends[:, :1], ends[:, 1:], np.ones((2, 1)))
    people = Problem(schema, model, Target(True)).population(np.array([[5.0], [5.0]]), wish)
    for value, expected in ((9.0, [7.0, 7.0]), (7.3, [7.0, 7.0]), (0.0, [3.0, 3.0]), (2.7, [3.0, 3.0])):
        got = people.snap(np.arange(2), np.full((2, 1), value))
        np.testing.assert_array_equal(got[:, 0], expected)
