"""clue: entropy falls on the way; 'clue' explains uncertainty, 'recourse' also turns the decision."""

from __future__ import annotations

import numpy as np
import pytest

from wayforward import Feature, Schema, Target
from wayforward.errors import MethodError, UnsupportedModel
from wayforward.testing import MethodContract, case

torch = pytest.importorskip("torch")

from wayforward.density.generative import Identity  # noqa: E402
from wayforward.methods.clue import Clue  # noqa: E402
from wayforward.methods.engines.latent.search import AdamSteps  # noqa: E402


class TestContract(MethodContract):
    method = "clue"
    parameters = {"steps": 10, "rounds": 2, "epochs": 3}
    finds = 0.6


def plane(d=2, **more):
    return Schema(tuple(Feature(name=f"x{j}", kind="real", low=-50, high=50, **more) for j in range(d)))


def entropy(p):
    return -(p * np.log(p)).sum(1)


def test_entropy_falls_at_every_step_away_from_the_boundary(linear):
    """Logistic f, identity G, no distance: entropy decreases monotonically, on whichever side one stands.

    Source: J. Antoran et al. (2021), Getting a CLUE, arXiv:2006.06848.
    """
    rng = np.random.default_rng(0)
    problem = linear(plane(), 0.0, {"x0": 1.0, "x1": -1.0}, data=rng.normal(size=(50, 2)))
    x = rng.normal(size=(20, 2))
    clue = Clue(mode="clue", lx=0.0, generator=Identity(problem.schema, unit=1.0)).fit(problem)
    seen = []

    class Recorder:
        found = np.zeros(len(x), dtype=bool)

        def __call__(self, lane, who, row):
            seen.append(np.where(np.isnan(row), x[who], row))
            return np.zeros(len(lane), dtype=bool)

    people = problem.population(x)
    state = clue.latent_.start(people, np.arange(len(x)), people.free, 1.0)
    how = AdamSteps(steps=40, rate=0.1, check=1)
    clue.latent_.search(people, state, clue._objective, how, np.full(len(x), 10**6), Recorder())
    sure = np.array([entropy(problem.model.outputs(row)) for row in [x, *seen]])
    assert (np.diff(sure, axis=0) < 0).all()
    side = np.sign(x[:, 0] - x[:, 1])
    assert (np.sign(seen[-1][:, 0] - seen[-1][:, 1]) == side).all()


def test_the_published_mode_seldom_turns_a_decision_and_recourse_does():
    """Sureness alone leads the surely refused further away (CLUE turns few decisions; its authors count under 20 %)."""
    it = case("network", "independent", 0, 40)
    only = Clue(mode="clue", steps=20, epochs=3).fit(it.problem).recommend(it.x)
    ours = Clue(steps=20, epochs=3).fit(it.problem).recommend(it.x)
    assert ours.found[it.refused, 0].mean() > 0.8
    assert only.found[it.refused, 0].mean() < ours.found[it.refused, 0].mean()


def test_a_ball_bounds_how_far_the_code_goes(linear):
    """delta: where the boundary lies outside the ball nothing is found; inside, k options."""
    rng = np.random.default_rng(0)
    problem = linear(plane(), -4.0, {"x0": 1.0, "x1": 1.0}, data=4 * rng.normal(size=(50, 2)))
    x = np.zeros((3, 2))
    identity = Identity(problem.schema, unit=1.0)
    # Half-space x0 + x1 >= 4 is 2.83 away.
    near = Clue(delta=1.0, adopt="all", generator=identity).fit(problem).recommend(x, 2)
    assert not near.found.any()
    far = Clue(delta=3.5, generator=identity).fit(problem).recommend(x, 2)
    assert far.found.all()


def test_terms_that_need_probabilities_are_left_out_or_refused(linear):
    label = case("label", "independent", 0, 24).problem
    with pytest.raises(UnsupportedModel, match="probabilities"):
        Clue(mode="clue", epochs=2).fit(label)
    with pytest.raises(MethodError, match="delta"):
        Clue(delta=0.0)
    with pytest.raises(MethodError, match="mode"):
        Clue(mode="sure")


def test_a_regression_is_led_into_its_interval():
    from sklearn.linear_model import LinearRegression

    import wayforward as wf

    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 2)) * 5
    schema = plane()
    model = wf.wrap(LinearRegression().fit(x, x @ [2.0, 1.0]), schema)
    problem = wf.Problem(schema, model, Target(interval=(20.0, None)), data=x)
    no = x[~problem.reached(x)[0]][:10]
    got = Clue(epochs=10).fit(problem).recommend(no)
    assert got.found[:, 0].mean() > 0.9


def test_categories_ordinals_and_integers_come_back_whole(linear):
    schema = Schema(
        (
            Feature(name="c", kind="categorical", levels=("x", "y", "z")),
            Feature(name="o", kind="ordinal", levels=("l", "m", "h")),
            Feature(name="i", kind="integer", low=0, high=10),
        )
    )
    rng = np.random.default_rng(0)
    data = np.column_stack(
        [rng.integers(0, 3, 300), rng.integers(0, 3, 300), rng.integers(0, 11, 300)]
    ).astype(float)
    problem = linear(schema, -2.3, {"c": [0, 2, 0.5], "o": [0, 0.4, 0.8], "i": 0.1}, data=data)
    x = data[~problem.reached(data)[0]][:40]
    got = Clue(steps=30).fit(problem).recommend(x)
    assert got.found[:, 0].mean() > 0.95
    after = got.after[got.found[:, 0], 0]
    assert (after == np.round(after)).all()
