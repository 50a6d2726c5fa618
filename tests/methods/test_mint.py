"""mint on a raise that grows savings, against every set of acts in worlds of lines and tables, and its contract."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import wayforward as wf
from wayforward import Feature, Problem, Schema, Target
from wayforward.problem import LpMix
from wayforward.testing import MethodContract
from wayforward.testing.small_forests import RULES, refused
from wayforward.world import SCM

pytest.importorskip("sklearn")
pytest.importorskip("z3")

from sklearn.compose import ColumnTransformer  # noqa: E402
from sklearn.ensemble import GradientBoostingClassifier  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import OrdinalEncoder  # noqa: E402

PAY = Schema(
    (
        Feature(name="x1", kind="real", low=0, high=150_000),
        Feature(name="x2", kind="real", low=0, high=50_000),
    )
)


class TestContract(MethodContract):
    method = "mint"
    parameters = {"work": 100_000, "precision": 0.05}
    kinds = ("linear", "forest", "network")
    finds = 0.9
    people = 10


@pytest.mark.filterwarnings("ignore")
def test_a_raise_also_grows_savings(linear):
    """F-SCM-1: 85,000 leads to savings of 28,000; as if nothing followed, savings of 30,000 are the cheapest."""
    x = np.array([[75_000.0, 25_000.0]])
    for world, action, after in (
        (SCM({"x1": "u", "x2": "0.3 * x1 + u"}), (85_000.0, np.nan), (85_000.0, 28_000.0)),
        (SCM({"x1": "u", "x2": "u"}), (np.nan, 30_000.0), (75_000.0, 30_000.0)),
    ):
        problem = linear(PAY, -225_000, {"x1": 1, "x2": 5}, x, world=world, cost=LpMix())
        got = wf.recommend(problem, x, "mint", incumbent=False)
        np.testing.assert_allclose(got.action[0, 0], action, rtol=1e-5)
        np.testing.assert_allclose(got.after[0, 0], after, rtol=1e-5)


def test_where_nothing_follows_it_is_mace():
    problem, x = refused("gb", 0, RULES[4])
    one, other = (wf.recommend(problem, x[:4], name, 2, incumbent=False) for name in ("mint", "mace"))
    np.testing.assert_array_equal(one.action, other.action)


SMALL = (
    *(Feature(name=n, kind="integer", low=0, high=4) for n in "ab"),
    Feature(name="rank", kind="ordinal", levels=("low", "mid", "high")),
    Feature(name="c", kind="integer", low=0, high=6),
    Feature(name="old", kind="integer", low=0, high=3, actionability="mutable"),
)
WORLDS = (
    {"a": "u", "b": "0.6 * a + u", "c": "b - 0.5 * a + u", "rank": "u", "old": "0.4 * c + u"},
    {"a": "u", "rank": "u", "b": "2 * (rank == 'high') + (a >= 3) + u", "c": "max(a, b) + u", "old": "abs(c - 2) + u"},
)  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("kind", ["line", "table"])
@pytest.mark.parametrize("model", ["lr", "gb"])
def test_it_finds_what_trying_every_set_of_acts_finds(kind, model, soft):
    """Lines and tabulated mechanisms, rounded; links and rules; held features; all values of all sets of acts."""
    rng = np.random.default_rng([len(kind), len(model), soft])
    rules = (
        ("after.c <= after.a + 4", "at most 3 changes")
        if soft
        else ("a drags old by 0.5", "changed(b) implies after.rank != 'mid'")
    )
    schema = Schema(SMALL, rules=rules)
    table = np.stack([rng.integers(0, top + 1, 300) for top in (4, 4, 2, 6, 3)], 1).astype(float)
    score = table @ rng.normal(size=5) + 2 * np.tanh(table @ rng.normal(size=5))
    y = (score > np.quantile(score, 0.6)).astype(int)
    head = (
        LogisticRegression()
        if model == "lr"
        else GradientBoostingClassifier(n_estimators=6, max_depth=2, random_state=0)
    )
    columns = ColumnTransformer(
        [("rank", OrdinalEncoder(categories=[["low", "mid", "high"]]), ["rank"])], remainder="passthrough"
    )
    fitted = make_pipeline(columns, head).fit(schema.decode(table, like="pandas"), y)
    world = SCM(WORLDS[kind == "table"], soft=("b",) if soft else False)
    problem = Problem(schema, fitted, Target(1), data=table, world=world, cost=LpMix(l0=0.1))
    x = table[~problem.reached(table)[0]][:6]
    got = wf.recommend(problem, x, "mint", incumbent=False)
    people = problem.population(x)
    options = [(np.nan, *range(int(top) + 1)) for top in (4, 4, 2, 6)]
    every = np.array([(*row, np.nan) for row in product(*options)])
    compared = 0
    for i in range(len(x)):
        seen = people.evaluate(np.full(len(every), i), every)
        best = np.where(seen.reached & (seen.cost > 0), seen.cost, np.inf).min()
        assert got.found[i, 0] == np.isfinite(best)
        compared += np.isfinite(best)
        assert (got.outcome[i, 0].name == "NONE_EXISTS") == np.isinf(best)
        if np.isfinite(best):
            assert got.cost[i, 0] == pytest.approx(best, rel=1.1e-3)
    assert compared >= 1


def test_a_smooth_equation_leaves_the_options_of_the_first_search():
    schema = Schema(SMALL[:2])
    table = np.array(list(product(range(5), repeat=2)), dtype=float)
    model = GradientBoostingClassifier(n_estimators=3, random_state=0).fit(
        schema.decode(table, like="pandas"), (table.sum(1) > 5).astype(int)
    )
    world = SCM({"a": "u", "b": "exp(0.2 * a) + u"})
    problem = Problem(schema, model, Target(1), data=table, world=world)
    x = table[~problem.reached(table)[0]]
    one, other = (wf.recommend(problem, x, name) for name in ("mint", "local-search"))
    np.testing.assert_array_equal(one.cost, other.cost)
