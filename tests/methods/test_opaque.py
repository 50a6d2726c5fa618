"""Models that only answer: a stand-in proposes, the model disposes, and little is asked of it."""

from __future__ import annotations

import functools
import pickle
from dataclasses import dataclass

import numpy as np
import pytest

from wayforward.methods import method as make_method
from wayforward.methods.local_search.memory import Memory, _compiled_gaps, _gaps
from wayforward.methods.local_search.sparing import Sparing
from wayforward.model import train, wrap
from wayforward.preferences import Preferences
from wayforward.problem import Problem, Target
from wayforward.recourse import Outcome
from wayforward.schema import Feature, Schema

pytest.importorskip("sklearn")

FEATURES = (
    *(Feature(name=name, kind="real", low=0, high=1) for name in "abc"),
    *(Feature(name=name, kind="integer", low=0, high=50) for name in "de"),
    Feature(name="f", kind="categorical", levels=("x", "y", "z")),
    Feature(name="g", kind="real", low=0, high=1, actionability="immutable"),
)


@functools.cache
def table():
    rng = np.random.default_rng(3)
    x = np.column_stack(
        [rng.random((900, 3)), rng.integers(0, 51, (900, 2)), rng.integers(0, 3, 900), rng.random(900)]
    )
    score = (
        2 * x[:, 0] + x[:, 1] - x[:, 2] * (x[:, 5] == 1) + x[:, 3] / 40 - np.abs(x[:, 4] - 25) / 40 + x[:, 6]
    )
    return x, (score + rng.normal(0, 0.3, 900) > np.quantile(score, 0.6)).astype(int)


@functools.cache
def model_of(kind):
    return wrap(train(kind, Schema(FEATURES), *table(), seed=0), Schema(FEATURES))


@dataclass(frozen=True)
class Shown:
    """A model that shows only what it answers."""

    kind: str
    output: str

    def __call__(self, rows):
        out = model_of(self.kind).outputs(rows)
        return out.argmax(1) if self.output == "label" else out


def problem_of(kind, rules=(), output="probability"):
    """A model that is shown as a plain function, of probabilities or of labels."""
    x, _ = table()
    schema = Schema(FEATURES, rules=rules)
    shown = wrap(Shown(kind, output), schema, output=output, classes=(0, 1), batch_rows=None)
    return Problem(schema, shown, Target(1), data=x)


@functools.cache
def setting(kind, output="probability"):
    """The method, the same without a stand-in, and people who are refused."""
    problem = problem_of(kind, output=output)
    x, _ = table()
    method = make_method("local-search").fit(problem)
    plain = make_method("local-search", sparing=False).fit(problem)
    return method, plain, x[~problem.reached(x)[0]][:12]


@pytest.mark.parametrize(
    ("kind", "output"), [("mlp", "probability"), ("rf", "probability"), ("mlp", "label")]
)
def test_few_rows_and_the_cost_of_many(kind, output):
    method, plain, people = setting(kind, output)
    got, much = method.recommend(people), plain.recommend(people)
    assert got.found[:, 0].all()
    assert much.found[:, 0].all()
    assert got.meta["model_rows"] <= 300 * len(people)
    assert got.meta["model_rows"] < 0.6 * much.meta["model_rows"]
    assert np.median(got.cost[:, 0] / much.cost[:, 0]) <= 1.005
    assert got.cost[:, 0].mean() <= 1.03 * much.cost[:, 0].mean()


def test_an_answer_hangs_on_nobody_else_and_not_on_the_process():
    method, _, people = setting("rf")
    together = method.recommend(people[:6], 3)
    alone = pickle.loads(pickle.dumps(method)).recommend(people[5:6], 3)
    np.testing.assert_array_equal(alone.action[0], together.action[5])
    np.testing.assert_array_equal(method.recommend(people[3:5], 3).action, together.action[3:5])


def test_neither_more_options_nor_less_budget_is_ever_cheaper():
    method, _, people = setting("mlp")
    people = people[:5]
    cost = [method.recommend(people, budget=rows).cost[:, 0] for rows in (5, 20, 60, 150, 20_000)]
    for less, more in zip(cost, cost[1:], strict=False):
        assert (more <= less + 1e-12).all()
    several = method.recommend(people, 3)
    np.testing.assert_array_equal(several.cost[:, 0], cost[-1])
    assert several.found[:, 1].all()


def test_a_linear_model_is_seen_through():
    method, _, people = setting("lr")
    readable = make_method("local-search").fit(
        Problem(Schema(FEATURES), model_of("lr"), Target(1), data=table()[0])
    )
    got, best = method.recommend(people), readable.recommend(people)
    assert method.stand_in_.error < 0.1
    np.testing.assert_allclose(got.cost[:, 0], best.cost[:, 0], rtol=0.01)
    assert got.meta["model_rows"] <= 80 * len(people)


def test_rules_about_several_features_and_wishes_hold():
    problem = problem_of("mlp", rules=("after.a <= after.b",))
    x, _ = table()
    keeps = x[:, 0] <= x[:, 1]
    people = x[~problem.reached(x)[0] & keeps][:10]
    method = make_method("local-search").fit(problem)
    wishes = Preferences.none(problem.schema, len(people)).freeze("b")
    got = method.recommend(people, 2, preferences=wishes)
    found = got.found
    assert found[:, 0].mean() > 0.8
    assert (got.after[found][:, 0] <= got.after[found][:, 1]).all()
    assert np.isnan(got.action[..., 1]).all()
    assert got.meta["model_rows"] < 20_000 * len(people) * 0.5


def test_who_has_no_way_is_searched_for_with_the_whole_budget():
    x, _ = table()
    schema = Schema(FEATURES)
    shown = wrap(lambda rows: (rows[:, 6] > 0.5).astype(float), schema, output="probability", classes=(0, 1))
    problem = Problem(schema, shown, Target(1), data=x)
    people = x[x[:, 6] < 0.5][:2]
    got = make_method("local-search").fit(problem).recommend(people, budget=600)
    assert (got.outcome == Outcome.NOT_FOUND).all()
    assert 600 * 2 <= got.meta["model_rows"] <= 640 * 2


def test_a_model_that_can_be_read_has_no_stand_in():
    problem = Problem(Schema(FEATURES), model_of("rf"), Target(1), data=table()[0])
    assert make_method("local-search").fit(problem).stand_in_ is None
    method, plain, _ = setting("rf")
    assert method.stand_in_ is not None
    assert plain.stand_in_ is None


def test_a_stand_in_is_trained_once_for_a_problem_and_alike_for_the_same_question():
    method, _, people = setting("mlp")
    problem = method.problem_
    assert make_method("local-search").fit(problem).stand_in_ is method.stand_in_
    other = problem.decided_by(problem_of("rf").model, problem.target)  # which shares what was trained
    assert make_method("local-search").fit(other).stand_in_ is not method.stand_in_
    anew = make_method("local-search").fit(problem_of("mlp")).stand_in_
    assert anew is not method.stand_in_
    np.testing.assert_array_equal(anew.score(people), method.stand_in_.score(people))


def test_what_was_asked_about_is_known_and_what_is_far_from_it_is_not():
    method, _, people = setting("mlp")
    population = method.problem_.population(people[:3])
    memory = Memory(method.stand_in_, population)
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(3), 6)
    action = np.full((18, 7), np.nan)
    action[:, :3] = rng.random((18, 3))
    guess, score = memory.guess(who, action), population.score(who, population.after(who, action))
    centre, scale = action[::6], np.ones(3)
    before = memory.corrected(np.arange(3), who, action, guess, centre, scale)
    np.testing.assert_allclose(before[0], guess, atol=1e-9)
    memory.learn(who[::2], action[::2], guess[::2], score[::2])
    assert not memory.unknown(who, action)[::2].any()
    assert memory.unknown(who, action)[1::2].all()
    twice = memory.unknown(np.tile(who, 2), np.tile(action, (2, 1)))
    assert twice[1:18:2].all() and not twice[18:].any(), "the same row again is nothing new"
    mean, spread = memory.corrected(np.arange(3), who, action, guess, centre, scale)
    assert np.abs(mean - score)[::2].max() < 0.1 * max(np.abs(guess - score)[::2].max(), 0.5)
    assert (spread[::2] < spread[1::2].min()).all()


def test_nobody_is_looked_at_again_without_anything_new(monkeypatch):
    """A turn without new proposals only follows one in which something was asked."""
    method, _, x = setting("mlp")
    seen, around, best = [], Sparing._around, Sparing._ask_best

    def proposing(self, who, turn):
        seen.append(("proposing", turn % 2))
        return around(self, who, turn)

    def asking(self, rows):
        before = int(self.people.rows.sum())
        out = best(self, rows)
        seen.append(("asking", int(self.people.rows.sum()) - before))
        return out

    monkeypatch.setattr(Sparing, "_around", proposing)
    monkeypatch.setattr(Sparing, "_ask_best", asking)
    method.recommend(x[:1], 1, seed=0)
    again = [seen[i - 1][1] for i, what in enumerate(seen) if what == ("proposing", 1)]
    assert ("asking", 0) in seen
    assert again
    assert min(again) > 0


def test_errors_are_alike_with_and_without_compiled_code():
    pytest.importorskip("numba")
    rng = np.random.default_rng(0)
    categorical = np.arange(6) > 3
    a, b = rng.random((3, 5, 6)) * (rng.random((3, 5, 6)) < 0.6), rng.random((3, 4, 6))
    a_value, b_value = (rng.integers(0, 2, part.shape).astype(float) for part in (a, b))
    made = []
    for way in (_gaps, _compiled_gaps):
        out = np.zeros((2, 3, 5, 4))
        way(a, a_value, b, b_value, categorical, out[0], out[1])
        made.append(out)
    np.testing.assert_array_equal(*made)
    assert made[0].any()
