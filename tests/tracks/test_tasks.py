"""Tasks are the same wherever they are built, and judge what their track asks for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from wayforward.errors import DataError
from wayforward.methods import method
from wayforward.problem import Problem
from wayforward.tracks import TASKS, TRACKS, BuiltTask, Task, judge, task


@pytest.fixture(scope="module")
def plain() -> BuiltTask:
    """A contrastive task of few people."""
    return Task("small", "contrastive", "loan", "lr", n=12).build()


def test_every_track_has_a_task_that_ships():
    """Those without the public files can judge on every track but none is left empty."""
    assert set(TRACKS) == {one.track for one in TASKS.values() if one.data == "loan"}


def test_a_name_that_is_none_lists_the_tasks():
    with pytest.raises(DataError, match="loan-lr"):
        task("lone")


def test_the_same_task_has_the_same_digests_with_a_model_from_a_file(plain: BuiltTask, tmp_path: Path):
    """A process that is given the trained classifier asks the very same question."""
    file = tmp_path / "model.skops"
    file.write_bytes(plain.model_file)
    again = plain.task.build(file)
    assert (again.digest, again.model_digest) == (plain.digest, plain.model_digest)
    np.testing.assert_array_equal(again.x, plain.x)


def test_a_changed_person_changes_digest_and_key(plain: BuiltTask):
    other = BuiltTask(plain.task, plain.problem, plain.x + np.eye(12, 7), plain.labels, plain.fitted)
    assert other.digest != plain.digest and other.keys[0] != plain.keys[0] and other.keys[9] == plain.keys[9]


def test_hostile_actions_serve_nobody_and_raise_nothing(plain: BuiltTask):
    """NaN is no action; infinity, values beyond the range, between steps, of fixed features are illegal."""
    d = plain.problem.schema.d
    for value in (np.nan, np.inf, -np.inf, 1e300, -1e300, 0.1234567):
        served, cost = judge(plain, np.full((12, 1, d), value))
        assert not served.any() and np.isnan(cost).all()


def test_other_peoples_rows_serve_nobody(plain: BuiltTask):
    """A whole accepted profile also sets age and gender, which nobody can: illegal for all who have others."""
    seen = plain.problem.reference_accepted
    other = next(row for row in seen if (row[1] != plain.x[:, 1]).all())
    assert not judge(plain, np.tile(other, (12, 1, 1)))[0].any()


def test_answers_of_a_method_are_judged_as_its_own_check_does(plain: BuiltTask):
    got = method("nice").fit(plain.problem).recommend(plain.x, 1, seed=0)
    served, cost = judge(plain, got.action)
    np.testing.assert_array_equal(served, got.found[:, 0])
    np.testing.assert_allclose(cost[served], got.cost[served, 0])


def test_consequential_actions_are_played_out_in_the_world():
    """By the published equations savings follow income; the profile that is judged is where the action leads."""
    ready = Task("small", "consequential", "loan", "lr", n=8).build()
    income = ready.problem.schema.index("income")
    action = np.full((8, 1, 7), np.nan)
    action[:, 0, income] = np.minimum(ready.x[:, income] + 6, ready.problem.schema.high[income])
    led = ready.problem.consequences(ready.x, action[:, 0])
    assert (led[:, 6] > ready.x[:, 6]).any()
    legal = ready.problem.schema.legal(led, acted=~np.isnan(action[:, 0])) | (led == ready.x)
    expected = ready.problem.reached(led)[0] & legal.all(1)
    np.testing.assert_array_equal(judge(ready, action)[0], expected)


def test_wishes_count():
    """Who sets a feature that the person said they cannot is not served by it."""
    ready = Task("small", "personal", "loan", "lr", n=12).build()
    assert ready.wishes is not None
    free = Problem.population(ready.problem, ready.x)
    action = np.full((12, 1, 7), np.nan)
    got = method("local-search").fit(ready.problem).recommend(ready.x, 1, seed=0)  # nobody told it the wishes
    action = got.action
    broken = (~np.isnan(action[:, 0]) & ready.wishes.frozen & free.free).any(1)
    served, _ = judge(ready, action)
    assert broken.any() and not served[broken].any() and served[~broken & got.found[:, 0]].all()
    told = method("local-search").fit(ready.problem).recommend(ready.x, 1, seed=0, preferences=ready.wishes)
    served, cost = judge(ready, told.action)
    np.testing.assert_array_equal(served, told.found[:, 0])
    np.testing.assert_allclose(cost[served], told.cost[served, 0])  # with their own weights
    assert (cost[served] > told.plain_cost[served, 0]).any()


def test_robust_options_are_a_yes_of_every_judge():
    ready = Task("small", "robust", "loan", "lr", n=12).build()
    got = method("local-search").fit(ready.problem).recommend(ready.x, 1, seed=0)
    assert ready.problem.retraining is not None
    votes = ready.problem.retraining.votes(ready.problem, got.after[:, 0])
    served, _ = judge(ready, got.action)
    np.testing.assert_array_equal(served, got.found[:, 0] & votes.all(0))
    assert len(votes) == 5 and not served.all()  # options on the boundary do not last


def test_private_options_set_what_a_crowd_holds():
    """A plan for the problem without the condition sets values of fewer people at once, and then serves nobody."""
    ready = Task("small", "private", "loan", "lr", n=12).build()
    problem = ready.problem
    got = method("nearest-observable").fit(problem.asking_no_more()).recommend(ready.x, 1, seed=0)
    rows, action = problem.schema.round(problem.require_reference()), got.action[:, 0]
    held = np.array([(np.isnan(one) | (rows == one)).all(1).sum() for one in action])
    served, _ = judge(ready, got.action)
    np.testing.assert_array_equal(served, got.found[:, 0] & (held >= 5))
    assert 0 < served.sum() < 12


def test_groups_have_equally_many_people():
    ready = Task("small", "groups", "loan", "lr", groups="gender", n=12).build()
    assert sorted(np.unique(ready.groups, return_counts=True)[1]) == [6, 6]
