"""dice: the determinant, its slopes, sets that differ, sparsity, every model."""

from __future__ import annotations

import numpy as np
import pytest

import wayforward as wf
from wayforward import Feature, Schema
from wayforward.errors import MethodError
from wayforward.methods.dice import Dice, spread_of, yloss
from wayforward.testing import MethodContract, case


class TestContract(MethodContract):
    method = "dice"
    parameters = {"steps": 50, "least": 20, "block": 32}
    finds = 0.7


def square(**more):
    return Schema(tuple(Feature(name=f"x{j}", kind="real", low=0, high=10, **more) for j in range(2)))


def test_the_determinant_of_two_options_at_distance_one():
    """K = [[1.0001, .5], [.5, 1.0001]]: det = 0.75020001 (Mothilal et al. 2020)."""
    z = np.array([[[0.0, 0.0], [0.5, 0.5]]])
    value, _ = spread_of(z, np.ones(2))
    np.testing.assert_allclose(value, 0.75020001, rtol=1e-12)


@pytest.mark.parametrize("kind", ["inverse", "exponential", "average"])
def test_slopes_of_the_spread_are_its_differences(kind):
    rng = np.random.default_rng(0)
    z, weight = rng.random((3, 4, 5)), rng.random(5) + 0.5
    _, slope = spread_of(z, weight, kind)
    for at in np.ndindex(2, 4, 5):
        up, down = z.copy(), z.copy()
        up[at] += 1e-6
        down[at] -= 1e-6
        guess = (spread_of(up, weight, kind)[0] - spread_of(down, weight, kind)[0])[at[0]] / 2e-6
        np.testing.assert_allclose(slope[at], guess, atol=1e-6)


@pytest.mark.parametrize("kind", ["hinge", "squared", "log"])
def test_slopes_of_the_losses_are_their_differences(kind):
    score = np.array([-3.0, -0.2, 0.4, 2.0])
    value, slope = yloss(kind, score)
    guess = (yloss(kind, score + 1e-6)[0] - yloss(kind, score - 1e-6)[0]) / 2e-6
    np.testing.assert_allclose(slope, guess, atol=1e-6)
    assert (np.diff(value) <= 0).all()


def spread(got):
    """Mean distance between the options of each person, in the schema's ranges."""
    after = got.after / got.schema.span
    pair = np.abs(after[:, :, None] - after[:, None]).sum(-1)
    k = after.shape[1]
    return float(np.nansum(pair) / (len(after) * k * (k - 1)))


@pytest.mark.parametrize("likeness", ["inverse", "exponential", "average"])
def test_options_differ_more_with_a_weight_on_diversity(linear, likeness):
    """A linear score in the plane: mean pairwise distance strictly larger with diversity > 0 (Mothilal et al. 2020)."""
    problem = linear(
        square(), -8, {"x0": 1.0, "x1": 1.0}, data=np.random.default_rng(0).random((200, 2)) * 10
    )
    x = np.random.default_rng(1).random((10, 2)) * 3
    with_, without = (
        Dice(diversity=w, likeness=likeness, sparse=False).fit(problem).recommend(x, 3) for w in (1.0, 0.0)
    )
    assert with_.found.all()
    assert spread(with_) > 1.5 * spread(without)


def test_options_of_one_person_differ_in_categories_too(linear):
    schema = Schema(
        (
            Feature(name="c", kind="categorical", levels=("a", "b", "e")),
            Feature(name="r", kind="real", low=0, high=10),
        )
    )
    problem = linear(schema, -1.5, {"c": [0, 2, 3], "r": 0.4}, data=None)
    for categories in ("simplex", "penalty"):
        got = Dice(categories=categories).fit(problem).recommend(np.array([[0.0, 1.0]]), 3)
        assert got.found.all()
        assert len(np.unique(got.after[0], axis=0)) == 3
        assert len(np.unique(got.after[0, :, 0])) > 1


def test_small_moves_of_numbers_go_back(linear):
    """Post-hoc sparsity: what moved less than is usual goes back where the decision allows it."""
    data = np.random.default_rng(0).random((400, 2)) * 10
    problem = linear(square(), -8, {"x0": 1.0, "x1": 0.01}, data=data)
    x = np.full((6, 2), 3.0) + np.arange(6)[:, None] * 0.1
    plain = Dice(sparse=False, shrink=False).fit(problem).recommend(x, 2, minimal=False)
    sparse = Dice(sparse=True, quantile=0.9, shrink=False).fit(problem).recommend(x, 2, minimal=False)
    assert sparse.found.all()
    changes = [(~np.isnan(g.action)).sum(2)[g.found].mean() for g in (plain, sparse)]
    assert changes[1] < changes[0]


@pytest.mark.parametrize("start", ["near", "random"])
@pytest.mark.parametrize("yloss_", ["hinge", "squared", "log"])
def test_every_start_and_loss_finds_the_way(linear, start, yloss_):
    problem = linear(square(), -8, {"x0": 1.0, "x1": 1.0})
    got = Dice(start=start, yloss=yloss_, complete=False).fit(problem).recommend(np.full((3, 2), 2.0), 2)
    assert got.found.all()


@pytest.mark.parametrize("kind", ["forest", "label"])
def test_models_without_gradients_are_asked_about_neighbours(kind):
    it = case(kind, "independent", 0, 30)
    got = Dice(steps=40).fit(it.problem).recommend(it.x, 2)
    assert got.meta["parameters"]["slopes"] == "estimates"
    best = wf.recommend(it.problem, it.x)
    assert got.found[:, 0].sum() >= 0.9 * best.found[:, 0].sum()


def test_one_option_is_kept_small():
    """k=1: no diversity, and what the decision does not need is given back."""
    it = case("linear", "independent", 0, 40)
    got, best = Dice().fit(it.problem).recommend(it.x, 1), wf.recommend(it.problem, it.x)
    both = got.found[:, 0] & best.found[:, 0]
    assert both.sum() >= 0.95 * best.found[:, 0].sum()
    assert got.cost[both, 0].mean() < 1.6 * best.cost[both, 0].mean()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"likeness": "odd"}, "likeness='odd'"),
        ({"yloss": "joy"}, "yloss='joy'"),
        ({"start": "there"}, "start='there'"),
        ({"diversity": -1.0}, "diversity=-1"),
        ({"rate": 0.0}, "rate=0"),
        ({"quantile": 2.0}, "quantile=2"),
    ],
)
def test_wrong_parameters_are_named(parameters, message):
    with pytest.raises(MethodError, match=message):
        Dice(**parameters)


def test_numbers_only_and_a_model_without_slopes():
    """No levels to mix, estimates, and people whose sets settle at different times."""
    rng = np.random.default_rng(0)
    x = rng.random((40, 2)) * 10
    model = wf.wrap(lambda rows: (rows.sum(1) > 13).astype(int), square(), output="label", classes=(0, 1))
    problem = wf.Problem(square(), model, wf.Target(1), data=x)
    got = Dice(steps=60, least=5, tolerance=0.1).fit(problem).recommend(x, 3)
    assert got.found[~got.accepted, 0].all()
