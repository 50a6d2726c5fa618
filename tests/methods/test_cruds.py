"""cruds: draws of the label's subspace, filtered and ranked; descents in it; a code that says nothing of the label."""

from __future__ import annotations

import numpy as np
import pytest

from wayforward import Feature, Schema
from wayforward.errors import MethodError
from wayforward.testing import MethodContract, case

torch = pytest.importorskip("torch")

from wayforward.density.generative import Identity  # noqa: E402
from wayforward.methods.cruds import Cruds  # noqa: E402


class TestContract(MethodContract):
    method = "cruds"
    parameters = {"samples": 60, "epochs": 3}
    finds = 0.6


class TestOptimising(MethodContract):
    method = "cruds"
    parameters = {"mode": "optimise", "steps": 5, "rounds": 2, "epochs": 2}
    worlds = ("independent",)
    finds = 0.5


def toy(linear, n=2000):
    """Two numbers, the first of which decides."""
    schema = Schema(tuple(Feature(name=f"x{j}", kind="real", low=-6, high=6) for j in range(2)))
    data = np.random.default_rng(0).normal(size=(n, 2)).clip(-6, 6)
    return linear(schema, 0.0, {"x0": 4.0, "x1": 0.0}, data=data), data


def test_only_what_decides_changes(linear):
    """The label hangs on x0: draws of w change x0 across the boundary and leave x1 about where it is.

    Source: M. Downs et al. (2020), CRUDS: z holds what the label does not change.
    """
    problem, data = toy(linear)
    x = data[data[:, 0] < -0.5][:50]
    method = Cruds(adopt="all", latent=1).fit(problem)
    got = method.recommend(x)
    assert got.found[:, 0].mean() > 0.95
    done = got.found[:, 0]
    assert (got.after[done, 0, 0] > 0).all()
    moved = np.abs(np.where(np.isnan(got.action), x[:, None], got.action) - x[:, None])[done, 0]
    assert np.median(moved[:, 1]) < 0.5 * np.median(moved[:, 0])


def test_samples_are_ranked_by_changes_and_then_by_cost():
    """With adopt='all' and kept=1 no other draw of a person changes fewer features, or as many for less."""
    it = case("network", "independent", 0, 24)
    method = Cruds(samples=40, kept=1, widen=0, adopt="all", epochs=3).fit(it.problem)
    people = it.problem.population(it.x[it.refused])
    got = method.recommend(people.x, seed=3, minimal=False)
    latent = method.latent_
    steps = method.steps_of(3)
    z = np.where(np.arange(steps.shape[1]) >= latent.generator.n_z, 0.0, latent.encode(people.x))
    rows = latent.around(people, np.arange(people.n), z, steps)
    who = np.repeat(np.arange(people.n), 40)
    seen = people.evaluate(who, rows.reshape(-1, people.d))
    acted = (~np.isnan(rows)).sum(2)
    rank = np.where(seen.reached.reshape(-1, 40), acted * 1e6 + seen.cost.reshape(-1, 40), np.inf).min(1)
    assert (got.found[:, 0] == np.isfinite(rank)).all()
    done = got.found[:, 0]
    mine = (~np.isnan(got.action[done, 0])).sum(1) * 1e6 + got.cost[done, 0]
    np.testing.assert_allclose(mine, rank[done], rtol=1e-9)


def test_categories_ordinals_and_integers_come_back_whole(linear):
    schema = Schema(
        (
            Feature(name="c", kind="categorical", levels=("x", "y", "z")),
            Feature(name="o", kind="ordinal", levels=("l", "m", "h"), direction="increase"),
            Feature(name="i", kind="integer", low=0, high=10),
            Feature(name="age", kind="integer", low=0, high=10, actionability="immutable"),
        )
    )
    rng = np.random.default_rng(0)
    data = np.column_stack(
        [rng.integers(0, 3, 300), rng.integers(0, 3, 300), rng.integers(0, 11, 300), rng.integers(0, 11, 300)]
    ).astype(float)
    problem = linear(schema, -2.3, {"c": [0, 2, 0.5], "o": [0, 0.4, 0.8], "i": 0.1}, data=data)
    x = data[~problem.reached(data)[0]][:40]
    for mode in ("sample", "optimise"):
        got = Cruds(mode=mode, steps=30).fit(problem).recommend(x)
        assert got.found[:, 0].mean() > 0.95
        after = got.after[got.found[:, 0], 0]
        assert (after == np.round(after)).all()
        assert (after[:, 1] >= x[got.found[:, 0], 1]).all()
        np.testing.assert_array_equal(after[:, 3], x[got.found[:, 0], 3])


def test_a_budget_bounds_the_draws():
    it = case("linear", "independent", 0, 24)
    method = Cruds(epochs=3).fit(it.problem)
    x = it.x[it.refused]
    few = method.recommend(x, budget=30)
    assert few.meta["model_rows"] <= method.recommend(x).meta["model_rows"] / 2


def test_it_says_what_it_cannot_use(linear):
    problem, _ = toy(linear, 50)
    with pytest.raises(MethodError, match="subspace"):
        Cruds(generator=Identity(problem.schema)).fit(problem)
    for wrong in ({"samples": 0}, {"kept": 0}, {"mode": "guess"}, {"lam": -1.0}):
        with pytest.raises(MethodError, match=next(iter(wrong))):
            Cruds(**wrong)
