"""What is promised in an uncertain world holds in the true one, for whoever searches."""

from __future__ import annotations

import numpy as np
import pytest

import wayforward as wf
from wayforward.problem import Confidence
from wayforward.schema import Feature, Schema
from wayforward.world import GaussianProcessWorld, SubPopulation


def numbers(*names, low, high, mutable):
    return Schema(
        tuple(
            Feature(
                name=name,
                kind="real",
                low=low,
                high=high,
                actionability="mutable" if name in mutable else "actionable",
            )
            for name in names
        )
    )


def three_anm(n, seed):
    """(n, 3) people of the additive three-variable world of the paper's experiments."""
    rng = np.random.default_rng(seed)
    first = rng.random(n) < 0.5
    x1 = np.where(first, rng.normal(-2, np.sqrt(1.5), n), rng.normal(1, 1, n))
    return follow(x1, rng.normal(0, np.sqrt(0.1), n), rng.normal(0, 1, n))


def follow(x1, u2, u3, x2=None, x3=None):
    x2 = 3 / (1 + np.exp(-2 * x1)) - 1 + u2 if x2 is None else x2
    x3 = -0.5 * (0.1 * x1 + 0.5 * x2**2) + u3 if x3 is None else x3
    return np.stack([x1, x2, x3], axis=-1)


SCHEMA = numbers("x1", "x2", "x3", low=-15, high=15, mutable=("x3",))
MODEL = wf.wrap(
    lambda r: 1 / (1 + np.exp(-(0.8 * r[:, 0] + r[:, 1] - r[:, 2] - 1.5))), SCHEMA, output="probability"
)


def learned(seed):
    return GaussianProcessWorld.fit(
        [("x1", "x2"), ("x1", "x3"), ("x2", "x3")],
        three_anm(300, seed),
        SCHEMA,
        most=200,
        tune=120,
        seed=seed,
    )


def asking(world, confidence):
    return wf.Problem(
        SCHEMA, MODEL, wf.Target(favourable=1), data=three_anm(150, 1), world=world, confidence=confidence
    )


def refused(problem, count, seed):
    people = three_anm(100, seed)
    return people[~problem.reached(people)[0]][:count]


def successes(problem, x, action, fresh):
    """(len(x),) share of success in the true world: with the person's own noise, or with fresh noise where it moves."""
    told = ~np.isnan(action)
    x1 = np.where(told[:, 0], action[:, 0], x[:, 0])
    share = np.zeros(len(x))
    for seed in range(fresh or 1):
        rng = np.random.default_rng(seed)
        u2 = x[:, 1] - follow(x[:, 0], 0, 0)[:, 1]
        u3 = x[:, 2] - follow(x[:, 0], 0, 0, x2=x[:, 1])[:, 2]
        if fresh:
            u2 = np.where(told[:, 0], rng.normal(0, np.sqrt(0.1), len(x)), u2)
            u3 = np.where(told[:, 0] | told[:, 1], rng.normal(0, 1, len(x)), u3)
        x2 = np.where(told[:, 1], action[:, 1], follow(x1, u2, 0)[:, 1])
        share += problem.reached(follow(x1, 0, u3, x2=x2))[0]
    return share / (fresh or 1)


@pytest.fixture(scope="module")
def worlds():
    return [learned(seed) for seed in range(10, 15)]


@pytest.mark.parametrize(
    ("kind", "method"), [("person", "local-search"), ("people like this", "probabilistic")]
)
def test_the_promised_share_succeeds_in_the_true_world(worlds, method, kind):
    """3-anm of Karimi et al. (2020). What a fit gets wrong it gets wrong for many, so several fits are averaged and
    the error is that between fits. A world that knows no doubt keeps the promise for two in three."""
    asked, shares, found = 0.95, [], []
    for seed, world in enumerate(worlds if kind == "person" else worlds[:3]):
        problem = asking(world if kind == "person" else SubPopulation(world), Confidence(asked, draws=100))
        people = refused(problem, 8, 100 + seed)
        got = wf.recommend(problem, people, method=method, seed=0)
        there = got.found[:, 0]
        found.append(there.mean())
        fresh = 0 if kind == "person" else 100
        shares.append(successes(problem, people[there], got.action[there, 0], fresh).mean())
    assert np.mean(found) > 0.9
    error = np.std(shares, ddof=1) / np.sqrt(len(shares))
    assert np.mean(shares) >= asked - 3 * max(error, 1e-3), shares
    assert np.mean(shares) > 0.85


@pytest.mark.slow
def test_the_promised_share_over_many_fits():
    """25 tables of 300 people of Karimi et al. (2020), 20 of the refused each: within three errors over the fits."""
    shares = {"person": [], "people like this": []}
    for seed in range(25):
        world = learned(100 + seed)
        for kind, found in shares.items():
            problem = asking(world if kind == "person" else SubPopulation(world), Confidence(0.95))
            people = refused(problem, 20, 200 + seed)
            got = wf.recommend(problem, people, seed=0)
            there = got.found[:, 0]
            fresh = 0 if kind == "person" else 200
            found.append(successes(problem, people[there], got.action[there, 0], fresh).mean())
    for kind, found in shares.items():
        assert np.mean(found) >= 0.95 - 3 * np.std(found, ddof=1) / 5, (kind, np.mean(found))


def test_a_persons_options_and_chances_do_not_depend_on_who_else_asks(worlds):
    problem = asking(worlds[0], Confidence(0.9, draws=40))
    people = refused(problem, 3, 3)
    for method in ("probabilistic", "nice"):
        whole = wf.recommend(problem, people, method=method, seed=0)
        some = [2, 0]
        alone = wf.recommend(problem, people[some], method=method, seed=0)
        for name in ("action", "after", "cost", "chance"):
            np.testing.assert_array_equal(getattr(alone, name), getattr(whole, name)[some], err_msg=name)


def test_more_confidence_costs_more(worlds):
    cost = []
    for share in (0.6, 0.95):
        problem = asking(worlds[0], Confidence(share, draws=100))
        cost.append(wf.recommend(problem, refused(problem, 5, 4), method="probabilistic").cost[:, 0])
    assert (cost[1] - cost[0] > -0.01).all()
    assert cost[1].mean() > cost[0].mean()
