"""latent search: the identity autoencoder gives known solutions; only legal hard rows; a lane's answer is its own."""

from __future__ import annotations

import numpy as np
import pytest

from wayforward import Feature, Schema
from wayforward.preferences import Preferences
from wayforward.testing import case

torch = pytest.importorskip("torch")

from wayforward.density.generative import Identity  # noqa: E402
from wayforward.methods.engines.gradient.slopes import slopes  # noqa: E402
from wayforward.methods.engines.gradient.steps import Loss, run  # noqa: E402
from wayforward.methods.engines.latent.adoption import BestOptions, adopt  # noqa: E402
from wayforward.methods.engines.latent.search import AdamSteps, Latent  # noqa: E402
from wayforward.problem.learned import fit_generator  # noqa: E402


def plane(d=3, **more):
    return Schema(tuple(Feature(name=f"x{j}", kind="real", low=-50, high=50, **more) for j in range(d)))


class Recorder:
    """Keeps every hard row, and never has an option."""

    def __init__(self, m):
        self.found, self.rows, self.lane = np.zeros(m, dtype=bool), [], []

    def __call__(self, lane, who, row):
        self.lane.append(lane.copy())
        self.rows.append(row.copy())
        return np.zeros(len(lane), dtype=bool)


def squared(lam, aim):
    return lambda seen: lam * (aim - seen.score) ** 2 + seen.away


def search(problem, x, objective, *, generator=None, zeroth=None, people=None, block=32, **how):
    """Hard rows (checks, n, d) that everybody comes past, and where the searches end."""
    people = problem.population(x) if people is None else people
    generator = Identity(problem.schema, unit=1.0) if generator is None else generator
    ones = np.ones(problem.schema.d)
    latent = Latent(problem, generator, "revise", span=ones, price=ones, zeroth=zeroth, block=block)
    state = latent.start(people, np.arange(people.n), people.free, 1.0)
    seen = Recorder(people.n)
    how = {"steps": 300, "rate": 0.05, "check": 300} | how
    latent.search(people, state, objective, AdamSteps(**how), np.full(people.n, 10**9), seen)
    return np.array(seen.rows), state


@pytest.mark.parametrize("zeroth", [False, True])
@pytest.mark.parametrize("lam", [0.3, 0.5, 1.0])
def test_an_identity_autoencoder_gives_the_solution_of_wachter(linear, lam, zeroth):
    """Same loss, same distance: only the steepest feature moves, and s - f(x') = 1 / (2 lam |w_j*|).

    Source: Joshi et al. (2019), arXiv:1907.09615: with G = E = id the problem is that of Wachter et al. (2018).
    """
    w, s = np.array([1.0, -2.0, 0.5]), 1.5
    problem = linear(plane(), -2, {"x0": w[0], "x1": w[1], "x2": w[2]})
    x = np.random.default_rng(0).normal(size=(5, 3))
    rows, state = search(problem, x, squared(lam, s), zeroth=zeroth, rate=0.1, steps=1000, check=1000)
    people = problem.population(x)
    descent = slopes(problem, "wachter", span=np.ones(3))
    ways = descent.start(people, np.arange(5), people.free)
    for rate in (0.5, 0.05, 0.005):
        loss = Loss("squared", s, "l1", np.full(5, lam), np.ones((5, 3)))
        run(descent, people, ways, loss, steps=600, rate=rate)
    # Differences over a quarter do not see the kink of the distance any finer than that.
    np.testing.assert_allclose(state.z - x, ways.move, atol=0.25 if zeroth else 0.02)
    got = np.where(np.isnan(rows[-1]), x, rows[-1])
    np.testing.assert_allclose(s - (got @ w - 2), 1 / (2 * lam * 2), atol=0.02)


def test_the_closed_form_on_a_network_is_a_minimum_there_too():
    """On a network the end of the latent search is no worse, by the same objective, than that of the descent in x."""
    it = case("network", "independent", 0, 24)
    problem, x = it.problem, it.x[it.refused][:6]
    real = [j for j, f in enumerate(problem.schema.features) if f.kind == "real"]
    wish = Preferences.none(problem.schema, len(x))
    wish = wish.freeze(*[n for j, n in enumerate(problem.schema.names) if j not in real])
    people = problem.population(x, wish)
    span = problem.schema.span
    latent = Latent(problem, Identity(problem.schema), "revise", span=span, price=np.ones(len(span)), block=8)
    state = latent.start(people, np.arange(people.n), people.free, 1.0)
    how = AdamSteps(steps=400, rate=0.02, check=400)
    latent.search(people, state, squared(5.0, 0.0), how, np.full(people.n, 10**9), Recorder(people.n))
    descent = slopes(problem, "wachter", span=span)
    ways = descent.start(people, np.arange(people.n), people.free)
    loss = Loss("squared", 0.0, "l1", np.full(people.n, 5.0), np.ones(x.shape))
    for rate in (0.05, 0.01):
        run(descent, people, ways, loss, steps=600, rate=rate)

    def total(row):
        score = problem.bound_target.score(problem.model.outputs(row))
        return 5 * score**2 + np.nan_to_num(np.abs(row - x) / span).sum(1)

    generator = latent.generator
    value = generator.decode(torch.as_tensor(state.z), x).value.numpy()
    ours = np.where(people.free, np.clip(value, people.low, people.high), x)
    theirs = np.where(people.free, x + ways.move * span, x)
    assert (total(ours) <= total(theirs) + 0.05 * total(x)).all()
    assert total(ours).sum() < 0.7 * total(x).sum()


def test_a_lane_does_not_depend_on_the_others():
    """Alone, permuted and together: the same bits at every check, for the trained model and without gradients."""
    it = case("network", "independent", 0, 24)
    x = it.x[it.refused]
    generator = fit_generator("vae", it.problem, epochs=3)
    for zeroth in (False, True):
        how = {"generator": generator, "zeroth": zeroth, "steps": 12, "check": 4, "rate": 0.2, "block": 8}
        rows, state = search(it.problem, x, squared(1.0, 1.0), **how)
        order = np.random.default_rng(0).permutation(len(x))
        mixed, other = search(it.problem, x[order], squared(1.0, 1.0), **how)
        np.testing.assert_array_equal(mixed, rows[:, order])
        np.testing.assert_array_equal(other.z, state.z[order])
        alone, _ = search(it.problem, x[3:4], squared(1.0, 1.0), **how)
        np.testing.assert_array_equal(alone[:, 0], rows[:, 3])


@pytest.mark.parametrize("zeroth", [False, True])
def test_every_row_is_one_that_the_person_may_become(zeroth):
    """Decoded rows change everything; what is asked keeps frozen features, directions, limits, steps and levels."""
    it = case("network", "independent", 0, 24)
    problem, x = it.problem, it.x[it.refused]
    schema = problem.schema
    wish = Preferences.none(schema, len(x)).freeze("housing").limit("income", high=6000.0)
    people = problem.population(x, wish)
    generator = fit_generator("vae", problem, epochs=3)
    rows, _ = search(
        problem,
        x,
        squared(10.0, 5.0),
        generator=generator,
        people=people,
        zeroth=zeroth,
        steps=20,
        check=5,
        rate=0.5,
    )
    assert (~np.isnan(rows)).any(2).mean() > 0.9
    who = np.arange(people.n)
    for row in rows:
        same = people.snap(who, row)
        np.testing.assert_array_equal(np.isnan(same), np.isnan(row))
        np.testing.assert_allclose(np.nan_to_num(same), np.nan_to_num(row), rtol=1e-12)
        assert np.isnan(row[:, schema.index("housing")]).all()
        assert not (row[:, schema.index("income")] > np.maximum(6000.0, x[:, schema.index("income")])).any()
        assert not ((row - x) * schema.direction < -1e-9).any()
        assert np.isnan(row[:, ~schema.actionable]).all()


def test_searches_stay_in_their_ball(linear):
    """radius: no lane is farther from where it began, and one that pushes out lies on the edge."""
    problem = linear(plane(), -40, {"x0": 1.0, "x1": 1.0})
    x = np.zeros((3, 3))
    _, state = search(problem, x, squared(1.0, 1.0), radius=0.5, steps=100)
    away = np.linalg.norm(state.z - state.home, axis=1)
    np.testing.assert_allclose(away, 0.5, rtol=1e-9)


def test_only_some_dimensions_move(linear):
    """moves: the others stay exactly where they were, with gradients and without."""
    problem = linear(plane(), -4, {"x0": 1.0, "x1": 1.0})
    for zeroth in (False, True):
        _, state = search(
            problem,
            np.zeros((2, 3)),
            squared(1.0, 1.0),
            zeroth=zeroth,
            moves=np.array([False, True, True]),
            steps=50,
        )
        assert (state.z[:, 0] == 0).all()
        assert (state.z[:, 1] > 0.5).all()


def test_levels_are_hard_going_forward_and_soft_going_back(linear):
    """A category that pays is reached though it starts with no share; one that is not allowed never is."""
    schema = Schema(
        (
            Feature(name="c", kind="categorical", levels=("x", "y", "z")),
            Feature(name="o", kind="ordinal", levels=("l", "m", "h")),
            Feature(name="r", kind="real", low=0, high=10),
        )
    )
    problem = linear(schema, -2, {"c": [0, 1, 3], "o": [0, 0.2, 0.4], "r": 0.01})
    x = np.array([[0.0, 0, 5], [0, 0, 5]])
    rows, _ = search(problem, x, squared(10.0, 1.0), check=10, rate=0.1)
    assert (rows[-1, :, 0] == 2).all()
    wish = Preferences.none(schema, 2).allow("c", "x", "y")
    people = problem.population(x, wish)
    rows, _ = search(problem, x, squared(10.0, 1.0), people=people, check=10, rate=0.1)
    assert (rows[-1, :, 0] == 1).all()
    assert not (rows[:, :, 0] == 2).any()


def test_consequences_are_part_of_what_is_descended(linear):
    """The model reads savings only, which nobody sets: the way leads through the salary."""
    import wayforward as wf

    schema = Schema(
        (
            Feature(name="salary", kind="real", low=0, high=100),
            Feature(name="noise", kind="real", low=0, high=100),
            Feature(name="savings", kind="real", low=0, high=100, actionability="mutable"),
        )
    )
    world = wf.SCM({"salary": "u", "noise": "u", "savings": "0.5 * salary + u"})
    problem = linear(schema, -30, {"savings": 1.0}, world=world)
    rows, _ = search(
        problem, np.array([[20.0, 5.0, 15.0]]), squared(1.0, 2.0), steps=800, rate=0.2, check=800
    )
    np.testing.assert_allclose(rows[-1, 0, 0], 50, rtol=0.1)
    np.testing.assert_allclose(np.nan_to_num(rows[-1, 0, 1], nan=5.0), 5.0, atol=0.05)


def test_only_what_helps_is_adopted(linear):
    """Of a row that changes all three, the one change that turns the decision; a harmful one never."""
    problem = linear(plane(), -4, {"x0": 1.0, "x1": -1.0, "x2": 0.5})
    people = problem.population(np.zeros((2, 3)))
    goal = np.array([[5.0, 3.0, 1.0], [3.0, -0.6, 1.8]])
    got, _, score = adopt(people, np.arange(2), goal, np.full(2, 1000))
    np.testing.assert_array_equal(got[0], [5.0, np.nan, np.nan])
    np.testing.assert_allclose(score, [1.0, 0.5], atol=1e-6)
    assert people.evaluate(np.arange(2), got).reached.all()


def test_a_row_with_too_many_changes_is_adopted_in_part(linear):
    """Nobody may change more than one feature; the decoded row changes three."""
    problem = linear(plane(), -4, {"x0": 1.0, "x1": 1.0, "x2": 0.5})
    wish = Preferences.none(problem.schema, 1).at_most(1)
    people = problem.population(np.zeros((1, 3)), wish)
    best = BestOptions(people, 1, partial=True, cap=np.full(1, 1000))
    best(np.arange(1), np.arange(1), np.array([[5.0, 3.0, 1.0]]))
    np.testing.assert_array_equal(best.action[0], [5.0, np.nan, np.nan])
    whole = BestOptions(people, 1, partial=False, cap=np.full(1, 1000))
    whole(np.arange(1), np.arange(1), np.array([[5.0, 3.0, 1.0]]))
    assert not whole.found.any()


def test_who_finds_nothing_goes_on_by_single_changes(linear):
    """A decoder may stop short of the boundary; who has an option already keeps it."""
    problem = linear(plane(), -4, {"x0": 1.0})
    people = problem.population(np.zeros((2, 3)))
    best = BestOptions(people, 2, partial=True, cap=np.full(2, 1000))
    best(np.arange(2), np.arange(2), np.array([[2.5, np.nan, np.nan], [4.5, np.nan, np.nan]]))
    np.testing.assert_array_equal(best.found, [False, True])
    best.complete(np.arange(2), people.free)
    assert best.found.all()
    assert best.action[0, 0] >= 4
    assert best.action[1, 0] == 4.5
    assert people.evaluate(np.arange(2), best.action).reached.all()
