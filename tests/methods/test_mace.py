"""mace on three stumps and an absolute value, against brute force over every row, and its contract."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest

import wayforward as wf
from wayforward import Problem, Schema, Target
from wayforward.errors import MissingExtra, ProblemError, UnsupportedModel
from wayforward.methods.engines.exact import smt_search
from wayforward.problem import LpMix, PercentileShift
from wayforward.testing import MethodContract, case
from wayforward.testing.small_forests import EVERY, FEATURES, RULES, least_cost, refused, wished

pytest.importorskip("sklearn")
pytest.importorskip("z3")

L1, L2, PEAK = LpMix(l1=1.0), LpMix(l1=0.0, l2=1.0), LpMix(l1=0.0, linf=1.0)
COUNT, MIX = LpMix(l0=1.0, l1=0.0), LpMix(l0=0.3, l1=0.5, per_feature=True)


class TestContract(MethodContract):
    method = "mace"
    parameters = {"work": 100_000, "precision": 0.05}
    kinds = ("linear", "forest", "network")
    finds = 0.9
    people = 10


@pytest.mark.parametrize("incumbent", [False, True])
@pytest.mark.parametrize(
    ("cost", "least"), [(COUNT, 1.0), (L1, 4.5), (L2, 13**0.5), (PEAK, 3.0)], ids=["l0", "l1", "l2", "linf"]
)
def test_three_stumps(three_stumps, cost, least, incumbent):
    """F-FOR3: 1, 4.5, 3.606, 3; ranges are 10 wide, so that what is counted in them is a tenth."""
    got = wf.recommend(three_stumps(cost=cost), np.zeros((1, 2)), "mace", incumbent=incumbent)
    assert (1 if cost is COUNT else 10) * got.cost[0, 0] == pytest.approx(least, rel=1e-3)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("cost", "least"), [(L1, 0.5), (L2, 0.125**0.5), (PEAK, 0.25)], ids=["l1", "l2", "linf"]
)
def test_two_units_that_make_an_absolute_value(absolute_value, cost, least):
    """F-RELU: .5, .354, .25; ranges are 4 wide."""
    got = wf.recommend(absolute_value(cost), np.zeros((1, 2)), "mace", incumbent=False)
    assert 4 * got.cost[0, 0] == pytest.approx(least, rel=1e-3)


def small_net(seed):
    """A network of four units on the columns of small problems, and people whom it refuses."""
    from sklearn.compose import ColumnTransformer
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    schema, rng = Schema(FEATURES, rules=RULES[seed]), np.random.default_rng(seed)
    y = (np.tanh((EVERY - 1) @ rng.normal(size=(6, 3))) @ rng.normal(size=3) > 0.5).astype(int)
    columns = ColumnTransformer([("levels", OneHotEncoder(), ["home", "rank"])], remainder="passthrough")
    net = make_pipeline(columns, MLPClassifier((4,), max_iter=60, random_state=seed))
    problem = Problem(schema, net.fit(schema.decode(EVERY, like="pandas"), y), Target(1), data=EVERY, cost=L1)
    no = EVERY[~problem.reached(EVERY)[0]]
    return problem, no[rng.choice(len(no), 24)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("model", ["lr", "gb", "net"])
def test_it_finds_what_trying_everything_finds(model, seed):
    """With rules, wishes and each cost, from nothing: the least cost of all 900 rows, or a proof that there is none."""
    cost = (L1, PEAK, MIX)[seed]
    problem, x = small_net(seed) if model == "net" else refused(model, seed, RULES[4 - seed], cost=cost)
    x = x[: 4 if model == "gb" else 10]
    wishes = wished(problem.schema, x, seed)
    got = wf.recommend(problem, x, "mace", preferences=wishes, incumbent=False)
    best = least_cost(problem, problem.population(x, wishes))
    np.testing.assert_allclose(got.cost[:, 0], best, rtol=1.1e-3)
    none = [outcome.name == "NONE_EXISTS" for outcome in got.outcome[:, 0]]
    np.testing.assert_array_equal(none, np.isinf(best))


@pytest.mark.filterwarnings("ignore")
def test_weights_of_large_numbers_are_as_exact_as_of_small_ones():
    """Money in single units, whose weights are small: as cheap as the closed form, to a thousandth."""
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    money = rng.uniform(0, [50_000, 80_000, 20_000], (300, 3))
    months = rng.integers(0, 37, 300)
    x = np.column_stack([money, months]).astype(float)
    y = (money @ [1e-4, 3e-5, 2e-4] - 0.15 * months > 3.5).astype(int)
    schema = Schema.infer(pd.DataFrame(x, columns=["bill", "loan", "paid", "months"]))
    model = LogisticRegression(solver="liblinear").fit(x, y)
    problem = Problem(schema, model, Target(1), data=x, cost=PEAK, least_change=None)
    no = x[~problem.reached(x)[0]][:6]
    got, best = (wf.recommend(problem, no, name) for name in ("mace", "actionable-recourse"))
    assert best.found.all()
    np.testing.assert_allclose(got.cost[:, 0], best.cost[:, 0], rtol=1.1e-3)


def test_it_says_what_it_is_not_for(three_stumps):
    with pytest.raises(UnsupportedModel, match="rectified units"):
        wf.method("mace").fit(case("label", "independent", 0, 8).problem)
    with pytest.raises(ProblemError, match="LpMix"):
        wf.method("mace").fit(three_stumps(cost=PercentileShift()))


def test_without_the_solver_it_says_how_to_get_it(monkeypatch, three_stumps):
    monkeypatch.setitem(sys.modules, "z3", None)
    with pytest.raises(MissingExtra, match=r"wayforward\[smt\]"):
        wf.method("mace").fit(three_stumps())


def test_a_solver_that_fails_or_works_for_too_long_costs_a_proof_and_nothing_else(monkeypatch, three_stumps):
    problem, x = refused("gb", 0, RULES[4])
    whole = wf.recommend(problem, x[:4], "local-search")
    lazy = wf.recommend(problem, x[:4], "mace", work=1)
    monkeypatch.setattr(smt_search.PersonSearch, "cheaper", lambda *_: 1 / 0)
    for got in (lazy, wf.recommend(problem, x[:4], "mace")):
        np.testing.assert_allclose(got.cost, whole.cost)
