"""Targets: classes, thresholds, many classes, intervals, ties."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wayforward.errors import ProblemError
from wayforward.model.base import LARGEST, Access, Decision
from wayforward.problem import Target
from wayforward.problem.target import BoundTarget

TWO = SimpleNamespace(
    access=Access.PROBABILITY, task="classification", classes=("bad", "good"), decision=LARGEST
)
THREE = SimpleNamespace(access=Access.PROBABILITY, task="classification", classes=(0, 1, 2), decision=LARGEST)
NUMBER = SimpleNamespace(task="regression", classes=())


def test_the_models_own_label_decides_ties():
    bound = Target("good").bind(TWO)
    even = np.array([[0.5, 0.5]])
    assert not bound.reached(even)[0]  # the first class wins a tie
    assert bound.reached(even, np.array([1]))[0]  # unless the model says so
    assert Target("bad").bind(TWO).reached(even)[0]


def test_score_is_the_log_odds_beyond_the_threshold():
    bound = Target("good", threshold=0.8).bind(TWO)
    p = np.array([0.5, 0.8, 0.9])
    outputs = np.stack([1 - p, p], 1)
    expected = np.log(p / (1 - p)) - np.log(0.8 / 0.2)
    np.testing.assert_allclose(bound.score(outputs), expected, atol=1e-12)
    assert bound.reached(outputs).tolist() == [False, True, True]
    assert bound.value(outputs).tolist() == p.tolist()
    assert Target("good", threshold=0.8, margin=0.05).bind(TWO).reached(outputs).tolist() == [
        False,
        False,
        True,
    ]


def test_a_models_own_threshold_is_the_level_that_counts():
    stern = SimpleNamespace(
        access=Access.PROBABILITY, task="classification", classes=("bad", "good"), decision=Decision(0.7, 0.7)
    )
    outputs = np.array([[0.4, 0.6], [0.29, 0.71], [0.24, 0.76]])
    good, bad = Target("good").bind(stern), Target("bad").bind(stern)
    assert good.level == 0.7 and bad.level == pytest.approx(0.3)
    assert (good.score(outputs) > 0).tolist() == good.reached(outputs).tolist() == [False, True, True]
    assert (bad.score(outputs) > 0).tolist() == bad.reached(outputs).tolist() == [True, False, False]
    assert Target("good", margin=0.05).bind(stern).reached(outputs, np.array([0, 1, 1])).tolist() == [
        False,
        False,
        True,
    ]
    assert Target("good", threshold=0.5).bind(stern).reached(outputs).all()
    with pytest.raises(
        ProblemError, match=r"decides for 'good' from a probability of 0\.7; with a margin of 0\.4"
    ):
        Target("good", margin=0.4).bind(stern)


def test_bounds_prove_nothing_of_a_threshold_that_was_found_by_asking():
    low, high = np.array([[0.35, 0.5], [0.35, 0.72]]), np.array([[0.5, 0.65], [0.28, 0.75]])
    for exact in (True, False):
        own = SimpleNamespace(
            access=Access.PROBABILITY,
            task="classification",
            classes=(0, 1),
            decision=Decision(0.7, 0.7, exact=exact),
        )
        assert Target(1).bind(own).surely_missed(low, high).tolist() == [exact, False]
        assert Target(0).bind(own).surely_missed(low, high).tolist() == [False, exact]


def test_several_favourable_classes():
    outputs = np.array([[0.4, 0.35, 0.25], [0.3, 0.3, 0.4], [0.2, 0.5, 0.3]])
    bound = Target([1, 2]).bind(THREE)
    assert bound.reached(outputs).tolist() == [False, True, True]
    assert (bound.score(outputs) > 0).tolist() == [False, True, True]
    assert Target((1, 2), threshold=0.6).bind(THREE).reached(outputs).tolist() == [True, True, True]


@pytest.mark.parametrize("margin", [0.05, 0.07, 0.1, 0.15, 0.2, 0.3])
def test_what_is_exactly_at_a_margin_is_a_yes(margin):
    """Two classes, three classes, a threshold and both edges of an interval; just below each is a no."""
    p = round(0.5 + margin, 12)
    two, three = Target("good", margin=margin).bind(TWO), Target((1, 2), margin=margin).bind(THREE)
    level = Target("good", threshold=0.3, margin=margin).bind(TWO)
    edges = Target(interval=(0.1, 3), margin=margin).bind(NUMBER)
    tie, less = np.array([[1 - p, p]]), np.array([[1 - p + 1e-9, p - 1e-9]])
    q = round(0.3 + margin, 12)
    lead = np.array([[0.3, 0.1, round(0.3 + 2 * margin, 12)]])
    for bound, at, below in (
        (two, tie, less),
        (three, lead, lead - [[0, 0, 1e-9]]),
        (level, np.array([[1 - q, q]]), np.array([[1 - q, q - 1e-9]])),
        (edges, np.array([[round(0.1 + margin, 12)]]), np.array([[0.1 + margin - 1e-9]])),
        (edges, np.array([[round(3 - margin, 12)]]), np.array([[3 - margin + 1e-9]])),
    ):
        assert bound.reached(at)[0] and bound.score(at)[0] >= 0 and not bound.surely_missed(at, at)[0]
        assert (
            not bound.reached(below)[0] and bound.score(below)[0] < 0 and bound.surely_missed(below, below)[0]
        )
    assert two.score(tie)[0] == 0


@given(
    p=st.lists(st.floats(0, 1), min_size=2, max_size=2),
    threshold=st.floats(0.01, 0.99) | st.none(),
    margin=st.sampled_from([0.0, 0.01, 0.1]),
)
def test_score_and_reached_agree_in_sign(p, threshold, margin):
    """Above zero is a yes, below it a no; at zero a threshold and a margin are reached."""
    if threshold is not None and threshold + margin >= 1:
        return
    outputs = np.array([[1 - v, v] for v in (*p, *([] if threshold is None else [threshold]))])
    bound = Target("good", threshold=threshold, margin=margin).bind(TWO)
    score, yes = bound.score(outputs), bound.reached(outputs)
    assert yes[score > 0].all() and not yes[score < 0].any()
    if threshold is not None or margin:
        assert yes[score == 0].all()
    assert not (bound.surely_missed(outputs, outputs) & yes).any()


def test_intervals():
    bound = Target(interval=(10, 20), margin=1).bind(NUMBER)
    assert bound.reached(np.array([[10.5], [11.0], [19.0], [25.0]])).tolist() == [False, True, True, False]
    open_ = Target(interval=(10, None)).bind(NUMBER)
    assert open_.reached(np.array([[9.0], [1e9]])).tolist() == [False, True]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "either favourable"),
        ({"favourable": 1, "interval": (0, 1)}, "either favourable"),
        ({"favourable": 1, "threshold": 1.5}, "not a probability"),
        ({"favourable": 1, "margin": -0.1}, "below zero"),
        ({"favourable": 1, "threshold": 0.9, "margin": 0.2}, "1 or more"),
        ({"favourable": 1, "margin": 0.5}, "less than 0.5"),
        ({"interval": (3, 1)}, "empty"),
        ({"interval": (3, 9), "threshold": 0.5}, "Leave one out"),
    ],
)
def test_targets_check_themselves(arguments, words):
    with pytest.raises(ProblemError) as error:
        Target(**arguments)
    assert words in str(error.value)


def test_targets_that_the_model_cannot_reach():
    with pytest.raises(ProblemError, match="no class 'fine'; its classes are 'bad', 'good'"):
        Target("fine").bind(TWO)
    with pytest.raises(ProblemError, match="Every class"):
        Target(["bad", "good"]).bind(TWO)
    with pytest.raises(ProblemError, match="Use interval"):
        Target(1).bind(NUMBER)
    with pytest.raises(ProblemError, match="needs a regression"):
        Target(interval=(0, 1)).bind(TWO)


def test_bounds_that_prove_a_miss():
    bound = Target("good").bind(TWO)
    low, high = np.array([[0.6, 0.1], [0.4, 0.3]]), np.array([[0.9, 0.4], [0.7, 0.6]])
    assert bound.surely_missed(low, high).tolist() == [True, False]
    assert Target("good", threshold=0.7).bind(TWO).surely_missed(low, high).tolist() == [True, True]
    number = Target(interval=(10, 20)).bind(NUMBER)
    assert number.surely_missed(
        np.array([[0.0], [5.0], [21.0]]), np.array([[9.0], [11.0], [30.0]])
    ).tolist() == [
        True,
        False,
        True,
    ]


@pytest.mark.parametrize("margin", [0.0, 0.1])
@pytest.mark.parametrize("threshold", [None, 0.4])
@pytest.mark.parametrize("c", [2, 3])
def test_turned_is_the_sign_of_the_score(c, threshold, margin):
    rng = np.random.default_rng(c)
    outputs = np.concatenate([rng.dirichlet(np.ones(c), 300), np.full((1, c), 1 / c), np.eye(c)])
    outputs[:20, :2] = (outputs[:20, 0] + outputs[:20, 1])[:, None] / 2
    bound = BoundTarget(Target(1, threshold=threshold, margin=margin), np.array([1]), c)
    np.testing.assert_array_equal(bound.turned(outputs), bound.score(outputs) >= 0)
    span = BoundTarget(Target(interval=(0.3, 0.6), margin=margin), np.array([], dtype=np.int64), 1)
    np.testing.assert_array_equal(span.turned(outputs[:, :1]), span.score(outputs[:, :1]) >= 0)
