"""probabilistic: the contract, the fixtures of the paper's two targets, and the promise in the true world."""

import numpy as np
import pytest

import wayforward as wf
from wayforward.errors import MethodError, ProblemError
from wayforward.problem import Confidence, LpMix
from wayforward.schema import Feature, Schema
from wayforward.testing import MethodContract
from wayforward.world import SCM, GaussianProcessWorld, SubPopulation


class TestProbabilistic(MethodContract):
    method = "probabilistic"
    parameters = {"most_acts": 2, "refine": 1}
    finds = 0.5


def numbers(*names, low=-1e6, high=1e6, mutable=(), immutable=()):
    kind = dict.fromkeys(mutable, "mutable") | dict.fromkeys(immutable, "immutable")
    return Schema(
        tuple(
            Feature(name=name, kind="real", low=low, high=high, actionability=kind.get(name, "actionable"))
            for name in names
        )
    )


# -- F-SCM-1: Karimi, Schoelkopf & Valera (2021), figure 1 ------------------------------------------------


def loan(world, **more):
    schema = numbers("salary", "savings", low=0, high=300_000)

    def score(rows):
        return rows[:, 0] + 5 * rows[:, 1] - 225_000

    model = wf.wrap(lambda rows: (score(rows) >= -1e-6).astype(int), schema, output="label", classes=(0, 1))
    return wf.Problem(schema, model, wf.Target(favourable=1), world=world, cost=LpMix(l1=1.0), **more)


@pytest.mark.parametrize(
    ("world", "salary", "savings"),
    [(SCM({"salary": "u", "savings": "0.3 * salary + u"}), 85_000, 28_000), (None, 100_000, 25_000)],
)
def test_a_raise_that_feeds_savings_can_be_smaller(world, salary, savings):
    x = np.array([[75_000.0, 25_000.0]])
    wish = wf.Preferences.none(loan(world).schema, 1).freeze("savings")
    got = wf.recommend(loan(world), x, method="probabilistic", preferences=wish)
    np.testing.assert_allclose(got.after[0, 0], [salary, savings], rtol=1e-4)
    assert np.isnan(got.chance).all()  # this world is certain


def test_without_a_world_savings_alone_must_reach_30_000():
    x = np.array([[75_000.0, 25_000.0]])
    wish = wf.Preferences.none(loan(None).schema, 1).freeze("salary")
    got = wf.recommend(loan(None), x, method="probabilistic", preferences=wish)
    np.testing.assert_allclose(got.after[0, 0], [75_000, 30_000], rtol=1e-4)


# -- F-SCM-2: the two targets of Karimi, von Kuegelgen, Schoelkopf & Valera (2020) ------------------------


def chain():
    return SCM({"x1": "u", "x2": "2 * x1 + u"}, noise={"x1": "Normal(0, 1)", "x2": "Normal(0, 1)"})


def pass_mark(world, **more):
    schema = numbers("x1", "x2", low=-30, high=30, mutable=("x2",))
    model = wf.wrap(lambda rows: (rows[:, 1] >= 3).astype(int), schema, output="label", classes=(0, 1))
    return wf.Problem(schema, model, wf.Target(favourable=1), world=world, **more)


@pytest.mark.parametrize(
    ("world", "confidence", "expected"),
    [
        (chain(), None, 1.25),
        (chain(), 0.95, 1.25),  # a certain world keeps every promise
        (SubPopulation(chain()), None, 1.5),
        (SubPopulation(chain()), Confidence(0.95, draws=1000), 2.3224),
    ],
)
@pytest.mark.parametrize("method", ["probabilistic", "local-search", "growing-spheres"])
def test_the_two_targets_of_the_paper(world, confidence, expected, method):
    problem = pass_mark(world, confidence=confidence)
    got = wf.recommend(problem, np.array([[1.0, 2.5]]), method=method)
    assert got.action[0, 0, 0] == pytest.approx(expected, abs=0.01)
    if confidence is not None and world is not None and problem.demanding:
        assert 0.95 <= got.chance[0, 0] < 0.96


def test_a_lower_confidence_bound_on_the_score():
    """E[h] - gamma Std[h] >= 1/2: with h = Phi-like steps of a label, mean p, sqrt(p (1 - p)) its deviation."""
    problem = pass_mark(SubPopulation(chain()), confidence=Confidence(gamma=1.0, draws=1000))
    got = wf.recommend(problem, np.array([[1.0, 2.5]]), method="probabilistic")
    p = got.chance[0, 0]
    assert p - np.sqrt(p * (1 - p)) >= 0.5
    assert p == pytest.approx(0.5 + 0.5 / np.sqrt(2), abs=0.01)  # the root of p - sqrt(p (1 - p)) = 1/2


# -- the promise, kept in the true world -------------------------------------------------------------------


def three_anm(n, seed, soft=None):
    """The additive three-variable world of the paper's experiments; causes for one row each."""
    rng = np.random.default_rng(seed)
    first = rng.random(n) < 0.5
    x1 = np.where(first, rng.normal(-2, np.sqrt(1.5), n), rng.normal(1, 1, n))
    return follow(x1, rng.normal(0, np.sqrt(0.1), n), rng.normal(0, 1, n))


def follow(x1, u2, u3, x2=None, x3=None):
    x2 = 3 / (1 + np.exp(-2 * x1)) - 1 + u2 if x2 is None else x2
    x3 = -0.5 * (0.1 * x1 + 0.5 * x2**2) + u3 if x3 is None else x3
    return np.stack([x1, x2, x3], axis=-1)


@pytest.fixture(scope="module")
def anm():
    schema = numbers("x1", "x2", "x3", low=-15, high=15, mutable=("x3",))
    data = three_anm(800, 1)
    world = GaussianProcessWorld.fit(
        [("x1", "x2"), ("x1", "x3"), ("x2", "x3")], data, schema, most=150, tune=100
    )
    model = wf.wrap(
        lambda r: 1 / (1 + np.exp(-(0.8 * r[:, 0] + r[:, 1] - r[:, 2] - 1.5))), schema, output="probability"
    )
    return schema, data, world, model


@pytest.mark.parametrize("method", ["probabilistic", "local-search"])
@pytest.mark.parametrize("kind", ["person", "people like this"])
def test_the_promised_share_succeeds_in_the_true_world(anm, method, kind):
    """Individual: the person's true noise stays. Sub-population: what is moved takes fresh noise."""
    schema, data, world, model = anm
    asked = 0.9
    problem = wf.Problem(
        schema,
        model,
        wf.Target(favourable=1),
        data=data,
        world=world if kind == "person" else SubPopulation(world),
        confidence=Confidence(asked, draws=100),
    )
    people = three_anm(400, 2)
    people = people[~problem.reached(people)[0]][:30]
    got = wf.recommend(problem, people, method=method, seed=0)
    found = got.found[:, 0]
    assert found.mean() > 0.9
    x, act = people[found], got.action[found, 0]
    told = ~np.isnan(act)
    x1 = np.where(told[:, 0], act[:, 0], x[:, 0])
    shares = []
    for seed in range(1 if kind == "person" else 100):
        rng = np.random.default_rng(seed)
        u2 = x[:, 1] - follow(x[:, 0], 0, 0)[:, 1]
        u3 = x[:, 2] - follow(x[:, 0], 0, 0, x2=x[:, 1])[:, 2]
        if kind != "person":
            moves = told[:, 0]
            u2 = np.where(moves, rng.normal(0, np.sqrt(0.1), len(x)), u2)
            u3 = np.where(moves | told[:, 1], rng.normal(0, 1, len(x)), u3)
        x2 = np.where(told[:, 1], act[:, 1], follow(x1, u2, 0)[:, 1])
        shares.append(problem.reached(follow(x1, 0, u3, x2=x2))[0].mean())
    error = 3 * np.sqrt(asked * (1 - asked) / found.sum())
    assert np.mean(shares) >= asked - error


def test_a_persons_options_and_chances_do_not_depend_on_who_else_asks(anm):
    schema, data, world, model = anm
    problem = wf.Problem(
        schema, model, wf.Target(favourable=1), data=data, world=world, confidence=Confidence(0.9, draws=50)
    )
    people = three_anm(200, 3)
    people = people[~problem.reached(people)[0]][:4]
    for method in ("probabilistic", "local-search"):
        whole = wf.recommend(problem, people, method=method, k=2, seed=0)
        for some in ([2], [3, 0]):
            alone = wf.recommend(problem, people[some], method=method, k=2, seed=0)
            for name in ("action", "after", "cost", "chance"):
                np.testing.assert_array_equal(getattr(alone, name), getattr(whole, name)[some], err_msg=name)


def test_more_confidence_costs_more(anm):
    schema, data, world, model = anm
    people = three_anm(200, 4)
    cost = []
    for share in (0.6, 0.95):
        problem = wf.Problem(
            schema,
            model,
            wf.Target(favourable=1),
            data=data,
            world=world,
            confidence=Confidence(share, draws=100),
        )
        refused = people[~problem.reached(people)[0]][:6]
        cost.append(wf.recommend(problem, refused, method="probabilistic").cost[:, 0])
    assert (np.diff(np.stack(cost), axis=0) > -0.01).all()
    assert np.mean(cost[1]) > np.mean(cost[0])


# -- bad input ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [0.0, 1.5, "high", float("nan"), True])
def test_a_confidence_that_is_no_probability_is_refused(wrong):
    with pytest.raises(ProblemError, match="share"):
        pass_mark(chain(), confidence=wrong)


def test_too_few_draws_and_empty_demands_are_refused():
    with pytest.raises(ProblemError, match="draws"):
        Confidence(0.9, draws=3)
    with pytest.raises(ProblemError, match="share"):
        Confidence()
    with pytest.raises(ProblemError, match="gamma"):
        Confidence(gamma=-1.0)


def test_parameters_out_of_range_are_refused():
    for name in ("most_acts", "samples", "beam"):
        with pytest.raises(MethodError, match=name):
            wf.method("probabilistic", **{name: 0})
