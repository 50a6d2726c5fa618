"""Bounds on what follows: every way to write an equation, against many points of a box."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wayforward.rules.ruleset import RuleSet
from wayforward.schema import Feature, Schema
from wayforward.world import SCM

EQUATIONS = (
    "2 * a - 0.5 * b + u",
    "a * b + u",
    "a / (b + 10) + u",
    "b / a + u",
    "exp(0.3 * a) - u",
    "log(a + 4) + u",
    "sqrt(b) * 2 + u",
    "sigmoid(a - b) + u",
    "tanh(a) * b + u",
    "max(a, b, 1) + min(a, 0) + u",
    "abs(a) * 3 + u",
    "2 * (a > 1) + (b == 2) - (a <= b) + u",
    "(1 + a * a) * u",
    "-(a - b) / 3 - (not (a < 0 or b >= 2)) + u",
    "a * (b in {0, 1, 3}) + u",
)


@pytest.mark.parametrize("text", EQUATIONS)
@given(seed=st.integers(0, 1000))
def test_an_equation_stays_within_its_bounds(text: str, seed: int) -> None:
    """For boxes of the two causes, and one person's noise; what is not known is NaN, not wrong."""
    rng = np.random.default_rng(seed)
    world = SCM({"a": "u", "b": "u", "c": text})
    ends = np.sort(np.round(rng.uniform(-3, 4, (2, 2)), int(rng.integers(0, 3))), axis=0)
    x = np.array([[*rng.uniform(0.1, 3, 2), 1.0]])
    low, high = np.append(ends[0], 0.0)[None], np.append(ends[1], 0.0)[None]
    acts = np.array([[True, bool(rng.random() < 0.7), False]])
    rests = ~acts | (rng.random((1, 3)) < 0.3)
    least, most = world.consequence_bounds(x, low, high, acts, rests)
    share = np.concatenate([rng.random((200, 3)), rng.integers(0, 2, (20, 3))])
    action = np.where(acts & ~(rests & (rng.random((220, 3)) < 0.3)), low + share * (high - low), np.nan)
    with np.errstate(all="ignore"):
        after = world.consequences(np.repeat(x, 220, axis=0), np.clip(action, low, high))
    known = ~np.isnan(least) & ~np.isnan(most)
    assert known[0, :2].all()
    inside = (after >= least) & (after <= most)
    assert (inside | ~known).all()


def test_bounds_of_a_line_are_exact() -> None:
    """An additive world of straight lines: nothing is lost but rounding."""
    world = SCM({"a": "u", "b": "2 * a + u", "c": "b - 3 * a + u"})
    one = np.ones((1, 3))
    acts = np.array([[True, False, False]])
    least, most = world.consequence_bounds(one, 0 * one, 2 * one, acts, ~acts)
    np.testing.assert_allclose(least[0], [0, -1, 1 - 2 - 3], atol=1e-9)  # c sees a and b apart
    np.testing.assert_allclose(most[0], [2, 3, 1 + 2 + 3], atol=1e-9)


def test_a_logarithm_that_may_not_exist_is_unknown() -> None:
    world = SCM({"a": "u", "b": "log(a) + u"})
    x, acts = np.array([[2.0, 1.0]]), np.array([[True, False]])
    least, most = world.consequence_bounds(x, x * 0 - 1, x + 1, acts, ~acts)
    assert np.isnan(least[0, 1]) and np.isnan(most[0, 1])
    least, most = world.consequence_bounds(x, x * 0 + 1, x + 1, acts, ~acts)
    assert least[0, 1] < 1 < most[0, 1]


@given(seed=st.integers(0, 1000))
def test_links_stay_within_their_bounds(seed: int) -> None:
    """Amounts, counts and levels, in a chain; what is acted on is dragged nowhere."""
    rng = np.random.default_rng(seed)
    schema = Schema(
        (
            Feature(name="a", kind="real", low=-9, high=9),
            Feature(name="b", kind="integer", low=-9, high=9),
            Feature(name="c", kind="ordinal", levels=("l", "m", "h")),
            Feature(name="d", kind="real", low=-30, high=30),
        )
    )
    texts = [
        f"a drags b by {rng.choice([0.5, -1.5])}",
        "b drags c by 0.5",
        "c drags d by -2",
        "a drags d by 1",
    ]
    rules = RuleSet.parse(texts, schema.features)
    x = np.array([[1.5, 2.0, 1.0, 0.0]])
    low = np.array([[*np.round(rng.uniform(-4, 1, 2)), 0.0, -3.0]])
    high = low + np.array([[*np.round(rng.uniform(0, 4, 2)), rng.integers(0, 3), 1.0]])
    acts = rng.random((1, 4)) < 0.6
    rests = ~acts | (rng.random((1, 4)) < 0.5)
    start = np.where(acts & rests, np.minimum(low, x), np.where(acts, low, x))
    end = np.where(acts & rests, np.maximum(high, x), np.where(acts, high, x))
    least, most = rules.drag_bounds(x, start, end, acts, rests)
    acted = np.broadcast_to(acts, (200, 4)) & ~(rests & (rng.random((200, 4)) < 0.5))
    value = low + rng.random((200, 4)) * (high - low)
    value[:, 1:3] = np.round(value[:, 1:3])
    after = rules.drag(np.repeat(x, 200, axis=0), np.where(acted, value, x), acted)
    assert (after >= least).all() and (after <= most).all()
