"""Soft acts: what is set is a value that the feature may have and the person allows, and so is where it ends.

Search, proof, judge and second opinion mean the same acts, which are tried here one by one.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wayforward as wf
from wayforward.evaluate import second_opinion
from wayforward.problem.verification import verify

TOP = {"hours": 4, "savings": 10, "rest": 6}


def question(
    step: float | None, sign: int, share: float, least: int, soft: bool = True
) -> tuple[wf.Problem, list[list[float]]]:
    kind = "integer" if step is None else "real"
    schema = wf.Schema(
        [
            wf.Feature(name="hours", kind="integer", low=0, high=TOP["hours"]),
            wf.Feature(name="savings", kind=kind, low=0, high=TOP["savings"], step=step),
            wf.Feature(name="rest", kind="integer", low=0, high=TOP["rest"], actionability="mutable"),
        ]
    )
    world = wf.SCM(
        {"hours": "u", "savings": f"{sign * share} * hours + u", "rest": "6 - hours + u"},
        soft=["savings"] if soft else [],
    )

    def yes(rows: np.ndarray) -> np.ndarray:
        return ((rows[:, 1] >= least) & (rows[:, 0] <= 1)).astype(int)

    model = wf.wrap(yes, schema, output="label", classes=(0, 1))
    sizes = np.arange(0, TOP["savings"] + 1e-9, step or 1).tolist()
    acts = [
        list(pair)
        for pair in itertools.product([np.nan, *range(TOP["hours"] + 1)], [np.nan, *sizes])
        if not np.isnan(pair).all()
    ]
    return wf.Problem(schema, model, wf.Target(1), world=world), acts


def allowed(
    problem: wf.Problem, x: np.ndarray, acts: list[list[float]], most: float
) -> tuple[np.ndarray, np.ndarray]:
    """Every act, and whether it is a plan: set on the step and within limits, ended within bounds and limits, a yes."""
    action = np.array([[*act, np.nan] for act in acts])
    after = problem.world.consequences(np.repeat(x, len(acts), axis=0), action)
    inside = (after[:, 1] >= -1e-9) & (after[:, 1] <= min(most, TOP["savings"]) + 1e-9)
    inside |= after[:, 1] == x[0, 1]
    inside &= (after[:, 2] >= 0) & (after[:, 2] <= TOP["rest"])
    set_ = np.isnan(action[:, 1]) | (action[:, 1] == x[0, 1]) | (action[:, 1] <= most + 1e-9)
    return action, inside & set_ & problem.reached(after)[0]


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from([None, 0.5, 2.0]), st.sampled_from([-1, 1]), st.sampled_from([1, 2]), st.integers(1, 10),
    st.integers(0, 4), st.integers(0, 5), st.sampled_from([10, 6, 4]), st.booleans(),
)  # fmt: skip
def test_found_and_proved_are_what_trying_everything_says(
    step, sign, share, least, hours, steps, most, soft
) -> None:
    problem, acts = question(step, sign, share, least, soft)
    x = np.array([[hours, min(steps * (step or 1), 10), 3.0]])
    wishes = wf.Preferences.none(problem.schema, 1).limit("savings", high=most)
    if problem.reached(x)[0][0]:
        return
    got = wf.recommend(problem, x, preferences=wishes)
    action, good = allowed(problem, x, acts, most)
    assert got.found[0, 0] == good.any()
    assert good.any() or got.outcome[0, 0].name == "NONE_EXISTS"
    checked = [bool(problem.check(x, act[None, None], preferences=wishes).found[0, 0]) for act in action]
    np.testing.assert_array_equal(checked, good)
    assert verify(problem, x, preferences=wishes).counts()["possible"] == int(good.any())
    if good.any():
        opinion = second_opinion(problem, got, wishes)
        assert (opinion.legal & opinion.wishes & opinion.valid & opinion.follows)[0, 0]


@pytest.mark.parametrize("value", [21.0, 15.7])
def test_what_is_set_beyond_a_bound_or_between_two_steps_is_no_plan(value: float) -> None:
    """21 of 20 that end at 12, and 15.7 that end on a step: nobody can be told so, and no search looks there."""
    schema = wf.Schema(
        [
            wf.Feature(name="hours", kind="integer", low=0, high=10),
            wf.Feature(name="savings", kind="real", low=0, high=20, step=1.0),
        ]
    )
    world = wf.SCM({"hours": "u", "savings": f"{1 if value > 20 else -0.3} * hours + u"}, soft=["savings"])
    hours = 1.0 if value > 20 else 9.0
    model = wf.wrap(lambda rows: (rows[:, 1] >= 12).astype(int), schema, output="label", classes=(0, 1))
    problem = wf.Problem(schema, model, wf.Target(1), world=world)
    x, act = np.array([[10.0, 10.0]]), np.array([[[hours, value]]])
    assert problem.reached(problem.consequences(x, act[0]))[0].all()
    assert not problem.check(x, act).found.any()
    good = problem.check(x, np.array([[[10.0, 15.0]]]))
    claimed = replace(good, action=act, after=problem.consequences(x, act[0])[None])
    one, other = (second_opinion(problem, answer) for answer in (good, claimed))
    assert one.legal.all() and other.follows.all() and not other.legal.any()


def test_what_is_set_on_a_step_may_end_between_two() -> None:
    """A step binds what people set."""
    problem, _ = question(1.0, -1, 0.3, 6)
    x, act = np.array([[2.0, 5.0, 3.0]]), np.array([[[1.0, 6.0, np.nan]]])
    got = problem.check(x, act)
    assert got.found.all()
    assert got.after[0, 0, 1] == pytest.approx(6.3)
    opinion = second_opinion(problem, got)
    assert (opinion.legal & opinion.follows & opinion.valid).all()
