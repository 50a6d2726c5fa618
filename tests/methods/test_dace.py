"""dace: the outlier factor of a published example, everything tried on lattices for each model, and its contract."""

from __future__ import annotations

import numpy as np
import pytest

import wayforward as wf
from wayforward import Feature, Problem, Schema, Target
from wayforward.errors import UnsupportedModel
from wayforward.methods.dace import Isolation, distances, mmd_critic
from wayforward.problem import LpMix
from wayforward.testing import MethodContract, case
from wayforward.testing.small_forests import EVERY, RULES, refused, wished

pytest.importorskip("sklearn")

LINE = Schema((Feature(name="x", kind="real", low=0, high=1),))


class TestContract(MethodContract):
    method = "dace"
    parameters = {"prototypes": 3, "values": 4, "solves": 3, "changes": 2}
    kinds = ("linear", "forest")
    finds = 0.7
    people = 8


def test_the_outlier_factor_of_four_points():
    """F-LOF: reference 0, 1, 3, 7; by scikit-learn's novelty factor of one neighbour, too."""
    from sklearn.neighbors import LocalOutlierFactor

    rows, at = np.array([[0.0], [1], [3], [7]]), np.array([[4.0], [5.5], [20], [0.4]])
    got = Isolation.of(LINE, rows, 1, squared=False)(at)
    np.testing.assert_allclose(got, [1.0, 1.0, 3.25, 1.0], atol=1e-8)
    sklearn = LocalOutlierFactor(n_neighbors=1, novelty=True).fit(rows)
    np.testing.assert_allclose(got, -sklearn.score_samples(at), atol=1e-6)


def test_prototypes_lower_the_discrepancy_the_most():
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.normal(0.2, 0.05, (30, 1)), rng.normal(0.8, 0.05, (30, 1))])
    apart = distances(LINE, rows, rows, squared=True)
    kernel = np.exp(-apart / np.median(apart[apart > 0]))

    def discrepancy(some):
        return kernel.mean() - 2 * kernel[:, some].mean() + kernel[np.ix_(some, some)].mean()

    chosen = mmd_critic(LINE, rows, 4)
    for size in range(1, 5):
        others = [discrepancy([*chosen[: size - 1], r]) for r in range(60) if r not in chosen[: size - 1]]
        assert discrepancy(chosen[:size]) == pytest.approx(min(others), abs=1e-12)
    assert 1 <= (rows[chosen] < 0.5).sum() <= 3


def least(fitted, people, i, rows):
    """The least objective of person i among all rows, worked out in plain terms."""
    yes = rows[people.problem.reached(rows)[0]]
    who = np.full(len(yes), i)
    action = np.where(people.schema.differs(yes, people.x[who]), yes, np.nan)
    good = people.allowed(who, action, yes) & (~np.isnan(action).all(1))
    good &= (~np.isnan(action)).sum(1) <= fitted.changes
    return objective(fitted, people, i, yes[good]).min(initial=np.inf)


def objective(fitted, people, i, rows):
    step = rows - people.x[i]
    flat = people.schema.is_categorical
    step[:, flat] = step[:, flat] != 0
    step = step / fitted.distance_.fitted_scales.divisor * people.weight[i]
    return np.abs(step @ fitted.distance_.root.T).sum(1) + fitted.alpha * fitted.isolation_(rows)


def compare(problem, x, wishes, rows, **settings):
    """The method's objective is that of the best of all rows, person by person; some people have none."""
    fitted = wf.method("dace", **settings).fit(problem)
    people = problem.population(x, wishes)
    got = fitted.recommend(x, preferences=wishes)
    best = np.array([least(fitted, people, i, rows) for i in range(len(x))])
    np.testing.assert_array_equal(got.found[:, 0], np.isfinite(best))
    mine = [objective(fitted, people, i, got.after[i, :1])[0] for i in np.flatnonzero(got.found[:, 0])]
    np.testing.assert_allclose(mine, best[np.isfinite(best)], rtol=1e-6)
    assert len(mine)


@pytest.mark.parametrize(("model", "rule", "squared"), [("lr", 1, False), ("rf", 4, True), ("gb", 3, True)])
def test_it_finds_what_trying_everything_finds(model, rule, squared):
    problem, x = refused(model, int(model == "rf"), RULES[rule])
    wishes = wished(problem.schema, x, rule)
    near = {"alpha": 0.5, "prototypes": 5, "neighbours": 2}
    compare(problem, x[:3], wishes.take(np.arange(3)), EVERY, squared=squared, **near)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("alpha", [0.0, 2.0])
def test_rectified_units_against_trying_everything(alpha):
    """A yes where |x1 - x2| >= 4, by two units."""
    from sklearn.neural_network import MLPClassifier

    schema = Schema(tuple(Feature(name=n, kind="integer", low=-8, high=8) for n in ("x1", "x2")))
    rows = np.array([[a, b] for a in range(-8, 9) for b in range(-8, 9)], dtype=float)
    data = np.random.default_rng(0).integers(-8, 9, (60, 2)).astype(float)
    net = MLPClassifier((2,), max_iter=1).fit(data, np.arange(60) % 2)
    net.coefs_ = [np.array([[1.0, -1.0], [-1.0, 1.0]]), np.ones((2, 1))]
    net.intercepts_ = [np.zeros(2), np.array([-3.5])]
    problem = Problem(schema, net, Target(1), data=data, cost=LpMix(l1=1.0))
    x = rows[~problem.reached(rows)[0]][::11]
    compare(problem, x, None, rows, alpha=alpha, prototypes=6, neighbours=2)


def test_more_weight_on_outliers_never_makes_them_worse():
    problem, x = refused("lr", 0, ())
    last = np.full(3, np.inf)
    for alpha in (0.0, 0.2, 5.0):
        fitted = wf.method("dace", alpha=alpha, prototypes=5, neighbours=2).fit(problem)
        factor = fitted.isolation_(fitted.recommend(x[:3]).after[:, 0])
        assert (factor <= last + 1e-6).all()
        last = factor


def test_it_says_what_it_is_not_for():
    black_box = case("label").problem
    with pytest.raises(UnsupportedModel, match="local-search takes any model"):
        wf.method("dace").fit(black_box)
