"""Proofs that no recourse exists are sound: brute force over small lattices never contradicts one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from wayforward.model import wrap
from wayforward.people import Preferences
from wayforward.problem import Problem, Target
from wayforward.problem.proofs import out_of_reach
from wayforward.schema import Feature, Schema

sklearn = pytest.importorskip("sklearn")


def lattice(schema, free):
    axes = [
        np.arange(schema.low[j], schema.high[j] + 1) if free[j] else np.array([np.nan]) for j in range(schema.d)
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
        [rng.integers(0, 7, 300), rng.integers(0, 7, 300), rng.integers(0, 3, 300), rng.integers(0, 3, 300), rng.integers(0, 10, 300)]
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
    people = problem.population(refused, Preferences.none(schema, len(refused)).freeze("a", who=list(range(0, 60, 3))))
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
    problem = Problem(schema, wrap(lambda r: (r[:, 0] > 2).astype(int), schema, output="label", classes=(0, 1)), Target(1))
    people = problem.population(np.array([[0.0], [2.0]]), Preferences.none(schema, 2).limit("a", high=2))
    assert out_of_reach(people).tolist() == [True, True]
