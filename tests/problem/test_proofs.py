"""Proofs that no recourse exists are sound: brute force over small lattices never contradicts one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from wayforward.model import wrap
from wayforward.preferences import Preferences
from wayforward.problem import Problem, Target
from wayforward.problem.proofs import out_of_reach
from wayforward.schema import Feature, Schema

sklearn = pytest.importorskip("sklearn")


def lattice(schema, free):
    axes = [
        np.arange(schema.low[j], schema.high[j] + 1) if free[j] else np.array([np.nan])
        for j in range(schema.d)
    ]
    return np.array(list(itertools.product(*axes)))


def make(seed, kind):
    rng = np.random.default_rng(seed)
    schema = Schema(
        (
            Feature(name="a", kind="integer", low=0, high=6),
            Feature(name="b", kind="integer", low=0, high=6, direction="increase"),
            Feature(name="c", kind="categorical", levels=("x", "y", "z")),
            Feature(name="d", kind="ordinal", levels=("l", "m", "h"), direction="decrease"),
            Feature(name="e", kind="integer", low=0, high=9, actionability="immutable"),
        ),
        ("after.a + after.b <= 9",) if seed % 2 else (),
    )
    x = np.column_stack(
        [
            rng.integers(0, 7, 300),
            rng.integers(0, 7, 300),
            rng.integers(0, 3, 300),
            rng.integers(0, 3, 300),
            rng.integers(0, 10, 300),
        ]
    ).astype(float)
    score = x @ np.array([0.4, 0.5, 0.3, -0.4, 0.6]) + rng.normal(0, 0.5, 300)
    y = (score > np.quantile(score, 0.75)).astype(int)
    from wayforward.model import train

    return schema, x, train(kind, schema, x, y, seed=seed)


@pytest.mark.parametrize("kind", ["lr", "rf", "mlp", "gb"])
@pytest.mark.parametrize("seed", [0, 1])
def test_proofs_agree_with_brute_force(kind, seed):
    schema, x, pipeline = make(seed, kind)
    problem = Problem(schema, pipeline, Target(1), data=x)
    refused = x[~problem.reached(x)[0]][:60]
    people = problem.population(
        refused, Preferences.none(schema, len(refused)).freeze("a", who=list(range(0, 60, 3)))
    )
    proved = out_of_reach(people)
    exists = np.zeros(len(refused), dtype=bool)
    for i in range(len(refused)):
        actions = lattice(schema, people.free[i])
        who = np.full(len(actions), i)
        after = people.after(who, actions)
        ok = people.allowed(who, actions, after)
        exists[i] = bool(ok.any() and problem.reached(after[ok])[0].any())
    assert not (proved & exists).any()
    assert (proved | exists).mean() > 0.9  # and it settles nearly all of these small cases
    if kind != "mlp":
        assert proved.any()


def test_rules_alone_can_prove_it():
    schema = Schema((Feature(name="a", kind="integer", low=0, high=6),), ("after.a >= before.a + 3",))
    problem = Problem(
        schema, wrap(lambda r: (r[:, 0] > 2).astype(int), schema, output="label", classes=(0, 1)), Target(1)
    )
    people = problem.population(np.array([[0.0], [2.0]]), Preferences.none(schema, 2).limit("a", high=2))
    assert out_of_reach(people).tolist() == [True, True]


def allowed_yes(problem, x, actions):
    """Whether one of the actions (m, d) is a way forward for the person x (1, d), by the judge alone."""
    return bool(problem.check(np.repeat(x, len(actions), axis=0), actions[:, None]).found.any())


def test_standing_between_two_steps_is_not_split_away():
    schema = Schema(
        (
            Feature(name="pay", kind="real", low=0, high=10, step=1),
            Feature(name="years", kind="integer", low=0, high=9),
        )
    )
    rng = np.random.default_rng(0)
    data = np.column_stack([rng.uniform(0, 10, 3000), rng.integers(0, 10, 3000)])
    from sklearn.tree import DecisionTreeClassifier

    y = ((data[:, 0] > 2.2) & (data[:, 0] < 2.8) & (data[:, 1] > 5)).astype(int)
    problem = Problem(schema, DecisionTreeClassifier(random_state=0).fit(data, y), Target(1), data=data)
    for pay in (2.3, 2.5, 2.7):
        x = np.array([[pay, 2.0]])
        assert allowed_yes(problem, x, np.array([[np.nan, 8.0]]))
        assert not out_of_reach(problem.population(x)).any()


def test_a_missing_value_may_stay_missing():
    schema = Schema(
        (
            Feature(name="a", kind="integer", low=0, high=6, missing=True),
            Feature(name="b", kind="integer", low=0, high=9),
        ),
        ("after.a >= 4",),
    )
    decide = wrap(lambda r: (r[:, 1] > 5).astype(int), schema, output="label", classes=(0, 1))
    problem, x = Problem(schema, decide, Target(1)), np.array([[np.nan, 2.0]])
    wish = Preferences.none(schema, 1).limit("a", high=2)
    assert problem.check(x, np.array([[[np.nan, 8.0]]]), preferences=wish).found.all()
    assert not out_of_reach(problem.population(x, wish)).any()


@pytest.mark.parametrize("method", ["local-search", "actionable-recourse"])
@pytest.mark.parametrize("known", [True, False])
def test_nothing_is_proved_beyond_the_range_that_was_seen(known, method):
    from sklearn.linear_model import LogisticRegression

    from wayforward.methods import recommend

    schema = Schema((Feature(name="a", kind="real"), Feature(name="b", kind="integer", low=0, high=9)))
    rng = np.random.default_rng(0)
    data = np.column_stack([rng.uniform(0, 10, 400), rng.integers(0, 10, 400)])
    model = LogisticRegression(C=0.01).fit(data, data[:, 0] > 9.5)
    if not known and method == "actionable-recourse":
        pytest.skip("needs a reference")
    problem = Problem(schema, model, Target(True, threshold=0.95), data=data if known else None)
    x = np.array([[2.0, 2.0]])
    assert allowed_yes(problem, x, np.array([[100.0, np.nan]]))
    wish = Preferences.none(schema, 1).freeze("b")
    for wishes in (None, wish):
        assert recommend(problem, x, method=method, preferences=wishes).outcome[0, 0].name != "NONE_EXISTS"
    assert recommend(problem, x, preferences=wish.limit("a", high=5)).outcome[0, 0].name == "NONE_EXISTS"
