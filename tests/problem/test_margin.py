"""How far beyond the boundary options are, and options that go a little farther."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.stats import norm

import wayforward as wf
from wayforward.answers import letter
from wayforward.errors import ProblemError
from wayforward.problem import Problem, Target
from wayforward.problem.room import with_room
from wayforward.recourse import Recourse
from wayforward.schema import Feature, Schema
from wayforward.testing.problems import case

SCHEMA = Schema(
    (
        Feature(name="savings", kind="real", low=0, high=1000, unit="EUR", least_change=10),
        Feature(name="phone", kind="binary", levels=(0, 1)),
    )
)


def rich(x):
    """Yes from 500 EUR on, or with a phone."""
    x = np.asarray(x)
    return ((x[:, 0] >= 500) | (x[:, 1] == 1)).astype(float)


def problem(**more):
    return Problem(SCHEMA, rich, Target(favourable=1), **more)


def test_it_is_the_share_of_errors_of_half_a_meaningful_step_that_leave_a_yes():
    """Normal errors of 5 EUR: the probability that 500 + beyond + error is 500 or more; 40 even draws of it."""
    beyond = np.array([0.0, 3.0, 8.0, 20.0])
    action = np.full((1, 5, 2), np.nan)
    action[0, :4, 0], action[0, 4, 1] = 500 + beyond, 1
    got = problem().check(np.array([[100.0, 0.0]]), action, 6)
    by_value = dict(
        zip(got.after[0, got.found[0], 0].tolist(), got.margin[0, got.found[0]].tolist(), strict=True)
    )
    for value in beyond:
        assert by_value[500 + value] == pytest.approx(norm.cdf(value / 5), abs=0.05)
    assert by_value[100.0] == 1.0  # a phone is bought or not
    assert np.isnan(got.margin[0, ~got.found[0]]).all()
    assert (got.margin == problem().check(got.x, action, 6).margin).tolist()[0][:5] == [True] * 5


@pytest.mark.parametrize("ending", ["json", "parquet"])
def test_files_and_other_processes_keep_it(tmp_path, ending):
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    it = case("forest", "independent", 0, 12)
    got = wf.recommend(it.problem, it.x, k=2).rounded
    again = Recourse.load(got.save(tmp_path / f"answer.{ending}"))
    np.testing.assert_array_equal(again.margin, got.margin)
    np.testing.assert_array_equal(again[3].margin, got.margin[3:4])
    joined = Recourse.concat([again[:4], again[4:]])
    np.testing.assert_array_equal(joined.margin, got.margin)
    assert np.isnan(
        pickle.loads(pickle.dumps(got)).margin
    ).all()  # without its problem nothing can be worked out
    assert np.isfinite(got.margin[got.found]).all()
    assert ((got.margin[got.found] >= 0) & (got.margin[got.found] <= 1)).all()


@pytest.mark.parametrize(("kind", "world"), [("linear", "independent"), ("forest", "causal")])
def test_a_problem_that_asks_for_a_margin_gets_it_from_every_option(kind, world):
    it = case(kind, world, 0, 16)
    old = it.problem
    plain, sure = wf.recommend(old, it.x), wf.recommend(old.with_(margin=0.9), it.x)
    assert (sure.margin[sure.found] >= 0.9 - 1e-9).all()
    assert (plain.margin[plain.found] < 0.9).any()
    both = plain.found[:, 0] & sure.found[:, 0]
    assert both.sum() >= 0.7 * plain.found[:, 0].sum()
    assert sure.cost[both, 0].mean() >= plain.cost[both, 0].mean()
    asked = problem(margin=0.9)
    assert asked.robust is not None
    assert wf.recommend(asked, np.array([[495.0, 0.0]]), k=2).margin[0, :2].min() >= 0.9
    with pytest.raises(ProblemError, match="margin"):
        problem(margin=1.5)


def test_room_is_made_where_it_costs_little_and_the_price_is_told():
    """400 EUR away 8 EUR more are 2 %; 10 EUR away they would be most of it again."""
    x = np.array([[100.0, 0.0], [489.0, 0.0]])
    action = np.full((2, 1, 2), np.nan)
    action[:, 0, 0] = 500.0
    got = problem().check(x, action, 1)
    roomy = with_room(got)
    assert roomy.margin[0, 0] >= 0.9 > got.margin[0, 0]
    assert roomy.cost[0, 0] <= got.cost[0, 0] * 1.05
    np.testing.assert_array_equal(roomy.action[1], got.action[1])
    assert roomy.meta["room"]["moved"] == 1
    assert 0 < roomy.meta["room"]["price"] <= 0.05
    with pytest.raises(ProblemError, match="Ask again"):
        with_room(pickle.loads(pickle.dumps(got)))


@pytest.mark.parametrize(("kind", "world"), [("linear", "independent"), ("forest", "causal")])
def test_what_has_room_is_still_right(kind, world):
    from wayforward.evaluate import second_opinion

    it = case(kind, world, 0, 16)
    got = wf.recommend(it.problem, it.x, k=2)
    roomy = with_room(got, most=0.2)
    assert (roomy.found == got.found).all()
    assert second_opinion(it.problem, roomy).usable[roomy.found].all()
    assert (roomy.cost[roomy.found] <= got.cost[got.found] * 1.2 + 1e-9).all()
    assert roomy.meta["room"]["moved"] > 0
    changed = (roomy.cost != got.cost) & got.found
    assert (roomy.margin[changed] >= 0.9 - 1e-9).all()


def test_letters_say_how_near_a_plan_is_and_that_it_goes_farther_than_it_must():
    x = np.array([[100.0, 0.0], [400.0, 0.0]])
    action = np.full((2, 2, 2), np.nan)
    action[:, 0, 0], action[:, 1, 1] = 500.0, 1
    roomy = with_room(problem().check(x, action, 2))
    first, second = (letter(roomy.problem, roomy, i, reasons=False) for i in (0, 1))
    off = "if you come out a little off these numbers"
    assert f"I{off[1:]}, it is still a yes in 9 of 10 cases." in first or f"It is still a yes {off}." in first
    assert "more effort, a plan goes a little farther than it must." in first
    assert "Keep to these numbers: if you come out a little off, it is a yes in 5 of 10 cases only." in second
    phone = next(part for part in second.split("Plan ") if "phone" in part.splitlines()[1])
    assert "little off" not in phone.split("Good to know")[0]  # nothing can be
