"""probabilistic: the contract, and the fixtures of the paper's two targets."""

import numpy as np
import pytest

import wayforward as wf
from wayforward.errors import MethodError, ProblemError
from wayforward.problem import Confidence, LpMix
from wayforward.schema import Feature, Schema
from wayforward.testing import MethodContract
from wayforward.world import SCM, SubPopulation


class TestProbabilistic(MethodContract):
    method = "probabilistic"
    parameters = {"most_acts": 2, "refine": 1, "beam": 3}
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
