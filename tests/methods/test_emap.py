"""emap: the learnt perturbation of a linear model points along its weights and serves everybody."""

from __future__ import annotations

import numpy as np
import pytest

import wayforward as wf
from wayforward import Feature, Schema
from wayforward.errors import MethodError, ProblemError
from wayforward.methods.emap import Emap
from wayforward.testing import MethodContract, case

pytest.importorskip("torch")


class TestContract(MethodContract):
    method = "emap"
    parameters = {"epochs": 2, "width": 8, "layers": 1, "most": 60}
    finds = 0.7


WEIGHT = {"x0": 1.0, "x1": -2.0, "x2": 0.5}


def question(linear):
    schema = Schema(tuple(Feature(name=name, kind="real", low=-50, high=50) for name in WEIGHT))
    x = np.random.default_rng(0).normal(size=(400, 3))
    return linear(schema, -2, WEIGHT, data=x), x


def test_on_a_linear_model_the_network_moves_along_its_weights(linear):
    """Squared distance: cosine of proposals and weights above .99, and nearly everybody gets a yes by it alone."""
    problem, x = question(linear)
    some = x[~problem.reached(x)[0]]
    trained = Emap(norm="l2", epochs=60, width=16, batch=64, rate=0.01, valid=0.97).fit(problem)
    move = np.nan_to_num(trained.proposed(some) - some)
    w = np.array(list(WEIGHT.values()))
    cosine = (move @ w) / np.linalg.norm(move, axis=1) / np.linalg.norm(w)
    assert cosine.mean() > 0.99
    assert problem.reached(some + move)[0].mean() > 0.95
    assert trained.served_ > 0.95


def test_nearly_everybody_whom_local_search_serves_is_served():
    """Categories, directions and rules; a forest through its stand-in, a network through itself."""
    for kind in ("network", "forest"):
        it = case(kind, "independent", 0, 60)
        some = it.x[it.refused]
        base = wf.recommend(it.problem, some)
        got = wf.recommend(it.problem, some, method=Emap(epochs=10, width=16, most=300))
        both = base.found[:, 0] & got.found[:, 0]
        assert both.sum() >= 0.95 * base.found[:, 0].sum()
        assert got.cost[both, 0].mean() < 2 * base.cost[both, 0].mean()


def test_frozen_features_stay_though_the_network_never_saw_the_wish():
    """Wishes hold in the one pass and in what follows."""
    it = case("network", "independent", 0, 40)
    some = it.x[it.refused]
    trained = Emap(epochs=2, width=8, most=60).fit(it.problem)
    wish = wf.Preferences.none(it.problem.schema, len(some)).freeze("income")
    got = trained.recommend(some, preferences=wish)
    assert got.found.any()
    assert np.isnan(got.action[:, :, it.problem.schema.index("income")]).all()


def test_training_twice_gives_the_same_network():
    """Weights hang on the seed alone."""
    it = case("network", "independent", 0, 40)
    one, other = (Emap(epochs=2, width=8, most=60).fit(it.problem) for _ in range(2))
    for a, b in zip(one.engine_.net.state(), other.engine_.net.state(), strict=True):
        assert one.engine_.torch.equal(a, b)


def test_a_table_without_refused_people_is_named(linear):
    """Nobody to learn from."""
    schema = Schema((Feature(name="x0", kind="real", low=-50, high=50),))
    problem = linear(schema, 5, {"x0": 1.0}, data=np.ones((20, 1)))
    with pytest.raises(ProblemError, match="nobody to learn from"):
        Emap(epochs=1).fit(problem)


@pytest.mark.parametrize("wrong", [{"valid": 1.0}, {"rate": 0.0}, {"norm": "l0"}, {"epochs": 0}])
def test_parameters_out_of_bounds_are_named(wrong):
    """One error each."""
    with pytest.raises(MethodError, match=next(iter(wrong))):
        Emap(**wrong)
