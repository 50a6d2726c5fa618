"""ceml: closed forms, solvers and grids on lines, prototypes and Gaussian classes; ellipsoids; and its contract."""

from __future__ import annotations

import numpy as np
import pytest

from wayforward import Feature, Problem, Schema, Target
from wayforward.methods import method
from wayforward.methods.engines.convex import Conditions, cost_of, least_change
from wayforward.problem import LpMix, MadL1
from wayforward.testing import MethodContract

pytest.importorskip("sklearn")
from sklearn.base import BaseEstimator, ClassifierMixin  # noqa: E402

PLANE = Schema(tuple(Feature(name=n, kind="real", low=-4, high=4) for n in "ab"))


class TestContract(MethodContract):
    method = "ceml"
    kinds = ("linear",)
    finds = 0.8
    people = 16


def lines(rng, m, count, f):
    slope = rng.normal(size=(m, count, f))
    return Conditions(rng.normal(size=(m, count)) - 1, slope, np.zeros((count, f, f)))


def test_one_line_has_a_closed_form():
    """By squares: along the slope; by sizes: the feature with the most score for its weight, then the next."""
    one = Conditions(np.array([[-4.0]]), np.array([[[2.0, 1.0]]]), np.zeros((1, 2, 2)))
    weight, wide, inner = np.ones((1, 2)), np.full((1, 2), 10.0), np.zeros((1, 2))
    near, met = least_change(one, weight, -wide, wide, "l2", inner)
    np.testing.assert_allclose(near, [[1.6, 0.8]], atol=1e-6)
    few, _ = least_change(one, weight, -wide, wide, "l1", inner)
    np.testing.assert_allclose(few, [[2.0, 0.0]], atol=1e-4)
    both, _ = least_change(one, weight, -wide, np.array([[1.5, 10.0]]), "l1", inner)
    np.testing.assert_allclose(both, [[1.5, 1.0]], atol=1e-4)
    assert met.all()
    assert not least_change(one, weight, -wide, np.array([[1.0, 1.0]]), "l2", inner)[1].any()


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("count", [1, 3])
def test_several_lines_as_a_solver_has_it(norm, count):
    from scipy.optimize import linprog, minimize

    rng = np.random.default_rng(count)
    some, weight = lines(rng, 25, count, 4), rng.uniform(0.5, 2, (25, 4))
    low, high = np.full((25, 4), -3.0), np.full((25, 4), 2.0)
    got, met = least_change(some, weight, low, high, norm, np.zeros((25, 4)))
    compared = 0
    for i in range(25):
        value, slope = some.value[i], some.slope[i]
        exact = linprog(
            np.tile(weight[i], 2), -np.hstack([slope, -slope]), value, bounds=[(0, 2)] * 4 + [(0, 3)] * 4
        )
        if norm == "l2" and exact.success:
            exact = minimize(
                lambda u, w: ((w * u) ** 2).sum(), np.zeros(4), args=(weight[i],), bounds=[(-3, 2)] * 4,
                constraints={"type": "ineq", "fun": lambda u, v, s: v + s @ u, "args": (value, slope)},
            )  # fmt: skip
        if met[i]:
            assert cost_of(got[[i]], weight[[i]], norm)[0] == pytest.approx(exact.fun, rel=2e-3, abs=1e-4)
            compared += 1
        elif count == 1:
            assert not exact.success
    assert compared >= 15


@pytest.mark.parametrize("omega", [None, [[1.0, 0.5], [0.0, 0.3]]])
def test_several_prototypes_of_a_class_and_a_metric_against_a_fine_grid(omega):
    rng = np.random.default_rng(2)
    net = Nearest(rng.uniform(-3, 3, (6, 2)), [0, 1, 2, 0, 1, 2], omega).fit(None, None)
    x = rng.uniform(-4, 4, (200, 2)).round(3)
    problem = Problem(PLANE, net, Target((1, 2)), data=x, cost=MadL1(), least_change=None)
    people = x[~problem.reached(x)[0]][:15]
    got = method("ceml").fit(problem).recommend(people)
    axis = np.linspace(-4, 4, 321)
    grid = np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2)
    grid = grid[problem.reached(grid)[0]]
    unit = 1 / np.asarray(problem.cost.fitted_scales.divisor)
    least = (np.abs(grid - people[:, None]) * unit).sum(2).min(1)
    assert got.found.all()
    np.testing.assert_allclose(got.cost[:, 0], least, atol=2 * 0.0125 * unit.sum())


class Nearest(ClassifierMixin, BaseEstimator):
    """A classifier with prototypes, as packages of learning vector quantisation have it."""

    def __init__(self, prototypes, labels, omega=None):
        self.prototypes, self.labels, self.omega = prototypes, labels, omega

    def fit(self, x, y):
        self.prototypes_, self.prototypes_labels_ = np.asarray(self.prototypes), np.asarray(self.labels)
        self.classes_, self.n_features_in_ = np.unique(self.labels), 2
        if self.omega is not None:
            self.omega_ = np.asarray(self.omega)
        return self

    def decision_function(self, x):
        apart = np.asarray(x, dtype=float)[:, None] - self.prototypes_
        far = ((apart @ getattr(self, "omega_", np.eye(2)).T) ** 2).sum(2)
        return -np.stack([far[:, self.prototypes_labels_ == c].min(1) for c in self.classes_], axis=1)

    def predict(self, x):
        return self.classes_[self.decision_function(x).argmax(1)]


def centroids(points, labels):
    from sklearn.neighbors import NearestCentroid

    return NearestCentroid().fit(points, labels)


def test_between_two_prototypes_the_answer_is_the_projection_on_their_bisector():
    data = np.array([[-2.5, -1.5], [-1.5, -2.5], [1.5, 2.5], [2.5, 1.5]])  # deviations 2 and 2
    problem = Problem(
        PLANE,
        centroids(data, [0, 0, 1, 1]),
        Target(1),
        data=data,
        cost=LpMix(l1=0.0, l2=1.0),
        least_change=None,
    )
    x = np.array([[-3.0, 1.0], [-1.0, -2.0], [0.0, -3.5]])
    got = method("ceml", norm="l2").fit(problem).recommend(x)
    way = np.array([4.0, 4.0])
    foot = x - (x @ way)[:, None] / (way @ way) * way
    assert got.found.all()
    np.testing.assert_allclose(got.after[:, 0], foot, atol=1e-3)


def gaussians(kind, rng):
    from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
    from sklearn.naive_bayes import GaussianNB
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    x = np.concatenate(
        [rng.normal([-1, 0], [0.6, 1.5], (150, 2)), rng.normal([1, 0.5], [1.0, 0.5], (150, 2))]
    )
    x = x.clip(-4, 4)
    head = GaussianNB() if kind == "gnb" else QuadraticDiscriminantAnalysis()
    return make_pipeline(StandardScaler(), head).fit(x, np.arange(300) // 150), x


@pytest.mark.parametrize("kind", ["gnb", "qda"])
@pytest.mark.parametrize("threshold", [None, 0.8])
def test_gaussian_classes_against_a_fine_grid(kind, threshold):
    model, x = gaussians(kind, np.random.default_rng(0))
    problem = Problem(PLANE, model, Target(1, threshold=threshold), data=x, cost=MadL1(), least_change=None)
    people = x[~problem.reached(x)[0]][:20]
    got = method("ceml").fit(problem).recommend(people)
    assert got.found.all()
    alone = [method("ceml").fit(problem).recommend(people[[i]]).after[0, 0] for i in (0, 7)]
    np.testing.assert_array_equal(alone, got.after[[0, 7], 0])
    axis = np.linspace(-4, 4, 321)
    grid = np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2)
    grid = grid[problem.reached(grid)[0]]
    unit = 1 / np.asarray(problem.cost.fitted_scales.divisor)
    least = (np.abs(grid - people[:, None]) * unit).sum(2).min(1)
    assert (got.cost[:, 0] <= least * 1.02 + 1e-6).mean() >= 0.9
    assert (got.cost[:, 0] >= least - 2 * 0.0125 * unit.sum() - 1e-6).all()  # half a cell each way


def test_plausible_options_lie_where_half_of_the_accepted_are():
    model, x = gaussians("qda", np.random.default_rng(1))
    problem = Problem(PLANE, model, Target(1), data=x, cost=MadL1(), least_change=None)
    people = x[~problem.reached(x)[0]][:25]
    anywhere = method("ceml").fit(problem).recommend(people)
    dense = method("ceml", plausible=True, components=2).fit(problem)
    got, near = dense.recommend(people), dense.near_
    assert got.found[:, 0].mean() > 0.9
    there = got.found[:, 0]
    apart = got.after[there, :1] - near.centre
    far = np.einsum("ncf,cfg,ncg->nc", apart, near.inverse, apart)
    assert (far <= near.radius * (1 + 1e-6)).any(1).all()
    assert (got.cost[there, 0] >= anywhere.cost[there, 0] * 0.98).all()
    accepted = problem.reference_accepted
    inside = np.einsum(
        "ncf,cfg,ncg->nc", accepted[:, None] - near.centre, near.inverse, accepted[:, None] - near.centre
    )
    assert 0.5 <= (inside <= near.radius).any(1).mean() < 0.9
    assert ((got.cost[there, 0] - anywhere.cost[there, 0]) > 1e-3).mean() > 0.5
