"""What the judge asks of an uncertain option, whoever proposes it, and what an answer keeps of it."""

from __future__ import annotations

import numpy as np
import pytest

import wayforward as wf
from wayforward.methods import method
from wayforward.problem import Confidence
from wayforward.schema import Feature, Schema
from wayforward.world import SCM, SubPopulation

NAN = np.nan


def chain():
    return SCM({"x1": "u", "x2": "2 * x1 + u"}, noise={"x1": "Normal(0, 1)", "x2": "Normal(0, 1)"})


def problem(confidence=None, world=None, rules=()):
    schema = Schema(
        (
            Feature(name="x1", kind="real", low=-30, high=30),
            Feature(name="x2", kind="real", low=-30, high=30, actionability="mutable"),
        ),
        rules,
    )
    model = wf.wrap(lambda rows: 1 / (1 + np.exp(-(rows[:, 1] - 3.0))), schema, output="probability")
    world = SubPopulation(chain()) if world is None else world
    return wf.Problem(
        schema,
        model,
        wf.Target(favourable=1),
        data=chain().sample(200, 0),
        world=world,
        confidence=confidence,
    )


X = np.array([[1.0, 2.5], [0.0, -1.0]])


def proposals(*values):
    out = np.full((2, len(values), 2), NAN)
    out[:, :, 0] = values
    return out


def test_the_judge_wants_the_promised_share_of_draws():
    """x1 = 1.6 is expected to do (3.2 >= 3); 95 of 100 need x1 >= 2.3224."""
    for confidence, value in ((None, 1.6), (0.5, 1.6), (0.95, 2.4)):
        got = problem(confidence).check(X, proposals(1.6, 2.4), 1)
        assert got.found[:, 0].all()
        np.testing.assert_allclose(got.action[:, 0, 0], value)
        assert got.chance[:, 0] == pytest.approx({1.6: 0.579, 2.4: 0.9641}[value], abs=0.006)
    assert not problem(0.95).check(X, proposals(1.6, 2.2), 1).found.any()
    assert problem(0.95).check(X, proposals(2.2), 1).outcome[0, 0] is wf.Outcome.NOT_FOUND


def test_the_draws_of_an_option_hang_on_the_person_and_the_act_alone():
    p = problem(0.9)
    whole = p.chance(np.repeat(X, 2, axis=0), proposals(1.7, 2.0).reshape(-1, 2))[0]
    for i in range(4):
        alone = p.chance(X[i // 2][None], proposals(1.7, 2.0).reshape(-1, 2)[i][None])[0]
        assert alone[0] == whole[i]


def test_a_certain_world_keeps_every_promise():
    for confidence in (None, 0.99, Confidence(gamma=3.0)):
        got = problem(confidence, chain()).check(X, proposals(1.3, 2.3), 2)
        assert got.action[0, :, 0].tolist() == [1.3, 2.3]
        assert np.isnan(got.chance).all() and not got.uncertain


@pytest.mark.parametrize(
    "name", ["local-search", "nearest-observable", "nice", "growing-spheres", "probabilistic"]
)
def test_every_method_meets_the_demand(name):
    sure = method(name).fit(problem(0.95)).recommend(X, seed=0)
    plain = method(name).fit(problem()).recommend(X, seed=0)
    assert sure.found[:, 0].all()
    assert (sure.chance[:, 0] >= 0.95).all() and (sure.action[:, 0, 0] >= 2.29).all()
    assert (sure.action[:, 0, 0] < 2.5).all()  # and no more than needed
    assert (plain.chance[:, 0] < 0.7).all()
    certain = method(name).fit(problem(0.95, chain())).recommend(X, seed=0)
    before = method(name).fit(problem(None, chain())).recommend(X, seed=0)
    np.testing.assert_array_equal(certain.action, before.action)
    assert certain.meta["model_rows"] == before.meta["model_rows"]


def test_options_of_one_person_are_all_sure():
    got = wf.recommend(problem(0.9), X, k=3)
    assert (got.chance[got.found] >= 0.9).all()


def test_links_between_features_hold_in_every_draw():
    p = problem(0.9)
    drawn = p.drawn(X, proposals(2.0)[:, 0], 30, np.arange(2, dtype=np.uint64))
    assert drawn.shape == (30, 2, 2) and (drawn[:, :, 0] == 2.0).all()


def test_an_answer_keeps_its_chances(tmp_path):
    got = wf.recommend(problem(0.9), X, k=2)
    for name in ("answer.json", "answer.parquet"):
        again = wf.Recourse.load(got.save(tmp_path / name, exact=True))
        np.testing.assert_array_equal(again.chance, got.chance)
    assert got[1].chance.shape == (1, 2)
    assert "chance" in got.to_frame("dict") and "chance" not in wf.recommend(
        problem(None, chain()), X
    ).to_frame("dict")
    assert "What follows is not certain: it works in about 9" in got.explain(0)
    assert "of 100 cases" in wf.answers.letter(got.problem, got, 0)
    assert got.meta["confidence"] == "succeeds with probability 0.9 or more"


def test_a_lower_bound_on_the_mean_score():
    """E[h] - gamma Std[h] >= 1/2, worked out again from fresh draws."""
    p = problem(Confidence(gamma=1.0, draws=500))
    got = wf.recommend(p, X)
    rng = np.random.default_rng(0)
    h = 1 / (1 + np.exp(-(2 * got.action[0, 0, 0] + rng.normal(size=200_000) - 3)))
    assert h.mean() - h.std() == pytest.approx(0.5, abs=0.01)
