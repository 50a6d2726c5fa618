"""wachter: closed forms of the linear case, hard rows only, causal gradients."""

from __future__ import annotations

import numpy as np
import pytest

import wayforward as wf
from wayforward import Feature, Outcome, Schema, Target
from wayforward.errors import MethodError, UnsupportedModel
from wayforward.methods.engines.gradient.slopes import Gradients, slopes
from wayforward.methods.engines.gradient.steps import Loss, run
from wayforward.methods.wachter import Wachter
from wayforward.testing import MethodContract, case

torch = pytest.importorskip("torch")


class TestContract(MethodContract):
    method = "wachter"
    parameters = {"rounds": 6, "block": 32}
    finds = 0.7


def plane(d=3, **more):
    return Schema(tuple(Feature(name=f"x{j}", kind="real", low=-50, high=50, **more) for j in range(d)))


def descend(problem, x, *, compiled=True, **loss):
    """Where one descent ends, before anything is made hard: moves in feature units."""
    people = problem.population(x)
    span = np.ones(problem.schema.d)
    found = slopes(problem, "wachter", span=span)
    if not compiled:
        found = Gradients(problem, "wachter", device=None, span=span, block=16)
    lanes = found.start(people, np.arange(people.n), people.free)
    n, d = x.shape
    loss = Loss(weight=np.full(n, loss.pop("lam")), price=np.ones((n, d)), **loss)
    for rate in (0.5, 0.05, 0.005):
        run(found, people, lanes, loss, steps=600 if compiled else 200, rate=rate)
    return lanes.move


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("lam", [0.1, 1.0, 10.0])
def test_squared_distance_has_its_closed_form(linear, lam, compiled):
    """x' = x + w (s - f(x)) / (|w|^2 + 1 / lam) for squared loss on the logit and squared L2 distance."""
    w, s = np.array([1.0, -2.0, 0.5]), 1.5
    problem = linear(plane(), -4, {"x0": w[0], "x1": w[1], "x2": w[2]})
    x = np.random.default_rng(0).normal(size=(5, 3))
    got = descend(problem, x, compiled=compiled, lam=lam, ell="squared", aim=s, norm="l2")
    f = x @ w - 4
    np.testing.assert_allclose(got, w * (s - f)[:, None] / (w @ w + 1 / lam), atol=2e-3)


@pytest.mark.parametrize("lam", [0.5, 2.0, 50.0])
def test_absolute_distance_moves_the_steepest_feature_alone(linear, lam):
    """Only j* = argmax |w_j| moves, and s - f(x') = 1 / (2 lam |w_j*|); the others stay exactly where they are."""
    w, s = np.array([1.0, -2.0, 0.5]), 1.5
    problem = linear(plane(), -4, {"x0": w[0], "x1": w[1], "x2": w[2]})
    x = np.random.default_rng(0).normal(size=(5, 3))
    got = descend(problem, x, lam=lam, ell="squared", aim=s, norm="l1")
    assert (got[:, [0, 2]] == 0).all()
    np.testing.assert_allclose(s - ((x + got) @ w - 4), 1 / (2 * lam * 2), atol=2e-3)


def test_too_dear_to_move_stays(linear):
    """lam so small that 2 lam D |w| < 1: nothing is worth its price."""
    problem = linear(plane(), -4, {"x0": 1.0})
    assert (descend(problem, np.zeros((2, 3)), lam=0.05, ell="squared", aim=0.0, norm="l1") == 0).all()


@pytest.mark.parametrize("kind", ["linear", "network"])
def test_it_is_close_to_the_best_that_is_known(kind):
    """Mean cost within a quarter of local-search's on those that both solve."""
    it = case(kind, "independent", 0, 60)
    ours, best = Wachter().fit(it.problem).recommend(it.x), wf.recommend(it.problem, it.x)
    both = ours.found[:, 0] & best.found[:, 0]
    assert both.sum() > 0.7 * best.found[:, 0].sum()
    assert ours.cost[both, 0].mean() < 1.25 * best.cost[both, 0].mean()


@pytest.mark.parametrize("loss", ["logit", "squared", "hinge", "probability"])
@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_every_loss_and_norm_finds_the_way(linear, loss, norm):
    problem = linear(plane(), -4, {"x0": 1.0, "x1": 0.5})
    got = Wachter(loss=loss, norm=norm, lam=50.0).fit(problem).recommend(np.zeros((3, 3)))
    assert got.found[:, 0].all()


def test_categories_are_relaxed_and_come_back_whole(linear):
    schema = Schema(
        (
            Feature(name="c", kind="categorical", levels=("x", "y", "z")),
            Feature(name="o", kind="ordinal", levels=("l", "m", "h")),
            Feature(name="r", kind="real", low=0, high=10),
        )
    )
    problem = linear(schema, -1, {"c": [0, 3, 0], "o": [0, 0.2, 0.4], "r": 0.01})
    got = Wachter().fit(problem).recommend(np.array([[0, 0, 5], [2, 1, 0.0]]))
    np.testing.assert_array_equal(got.after[:, 0, 0], 1)
    np.testing.assert_array_equal(np.isnan(got.action[:, 0]), [[False, True, True]] * 2)


def test_overwriting_afterwards_loses_decisions(linear):
    """The published method moves the immutable feature and puts it back: the decision is lost. Projection keeps it."""
    schema = Schema(
        (
            Feature(name="x0", kind="real", low=-50, high=50, actionability="immutable"),
            Feature(name="x1", kind="real", low=-50, high=50),
        )
    )
    problem = linear(schema, -4, {"x0": 2.0, "x1": 1.0})
    published = Wachter(immutables="overwrite_after").fit(problem).recommend(np.zeros((2, 2)))
    assert (published.outcome == Outcome.NOT_FOUND).all()
    ours = Wachter().fit(problem).recommend(np.zeros((2, 2)))
    np.testing.assert_allclose(ours.after[:, 0, 1], 4, atol=5e-3)


def test_gradients_run_through_the_consequences(linear):
    """F-SCM-1: h = x1 + 5 x2 - 225000, x2 = 0.3 x1 + u, x = (75000, 25000): do(x1 = 85000) suffices."""
    schema = Schema(
        (
            Feature(name="salary", kind="real", low=0, high=200_000),
            Feature(name="savings", kind="real", low=0, high=200_000, actionability="mutable"),
        )
    )
    weights = {"salary": 1e-5, "savings": 5e-5}
    world = wf.SCM({"salary": "u", "savings": "0.3 * salary + u"})
    got = Wachter().fit(linear(schema, -2.25, weights, world=world)).recommend(np.array([[75_000, 25_000.0]]))
    np.testing.assert_allclose(got.after[0, 0], [85_000, 28_000], rtol=1e-3)
    alone = Wachter().fit(linear(schema, -2.25, weights)).recommend(np.array([[75_000, 25_000.0]]))
    np.testing.assert_allclose(alone.after[0, 0], [100_000, 25_000], rtol=1e-3)


def test_an_effect_through_others_is_seen_before_anything_moves(linear):
    """The model reads savings only, which nobody sets: the way leads through the salary."""
    schema = Schema(
        (
            Feature(name="salary", kind="real", low=0, high=100),
            Feature(name="noise", kind="real", low=0, high=100),
            Feature(name="savings", kind="real", low=0, high=100, actionability="mutable"),
        )
    )
    world = wf.SCM({"salary": "u", "noise": "u", "savings": "0.5 * salary + u"})
    got = (
        Wachter()
        .fit(linear(schema, -30, {"savings": 1.0}, world=world))
        .recommend(np.array([[20.0, 5.0, 15.0]]))
    )
    np.testing.assert_allclose(got.after[0, 0], [50, 5, 30], rtol=1e-3)


def test_a_regression_interval_is_aimed_at_in_its_own_unit():
    from sklearn.linear_model import LinearRegression

    schema = plane(2)
    frame = schema.decode(np.array([[0, 0], [1, 0], [0, 1.0]]), like="pandas")
    model = LinearRegression().fit(frame, [0.0, 3000.0, 1000.0])
    problem = wf.Problem(schema, model, Target(interval=(50_000, 60_000)))
    got = Wachter().fit(problem).recommend(np.zeros((1, 2)))
    np.testing.assert_allclose(got.after[0, 0], [50 / 3, 0], rtol=1e-3)


def test_one_class_among_three():
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    schema = plane(3)
    data = rng.normal(size=(300, 3))
    model = LogisticRegression().fit(schema.decode(data, like="pandas"), data.argmax(1))
    problem = wf.Problem(schema, model, Target(2))
    got = Wachter().fit(problem).recommend(data[:40])
    assert (got.found[:, 0] | got.accepted).all()
    exact = wf.recommend(problem, data[:40], method="actionable-recourse")
    no = got.found[:, 0]
    assert (got.cost[no, 0] >= exact.cost[no, 0] - 1e-9).all()
    assert got.cost[no, 0].mean() < 1.2 * exact.cost[no, 0].mean()


def test_random_starts_never_make_it_worse():
    it = case("network", "independent", 1, 30)
    one, many = (Wachter(restarts=r, rounds=6).fit(it.problem).recommend(it.x) for r in (0, 2))
    both = one.found[:, 0]
    assert many.found[both, 0].all()
    assert (many.cost[both, 0] <= one.cost[both, 0] + 1e-9).all()


@pytest.mark.parametrize("world", ["independent", "causal"])
@pytest.mark.parametrize("kind", ["forest", "label"])
def test_models_without_gradients_are_asked_about_neighbours(kind, world):
    """Found for nearly all whom local-search finds something for, and the answer says where the slopes came from."""
    it = case(kind, world, 0, 60)
    ours, best = Wachter().fit(it.problem).recommend(it.x), wf.recommend(it.problem, it.x)
    assert ours.meta["parameters"]["slopes"] == "estimates"
    both = ours.found[:, 0] & best.found[:, 0]
    assert both.sum() >= 0.95 * best.found[:, 0].sum()
    assert ours.cost[both, 0].mean() < 1.5 * best.cost[both, 0].mean()


def test_estimates_of_a_network_lead_nearly_as_far_as_gradients():
    it = case("network", "independent", 0, 60)
    pure, guess = (Wachter(estimate=e).fit(it.problem).recommend(it.x) for e in (None, True))
    assert pure.meta["parameters"]["slopes"] == "gradients"
    assert guess.meta["parameters"]["slopes"] == "estimates"
    both = pure.found[:, 0] & guess.found[:, 0]
    assert both.sum() >= 0.95 * pure.found[:, 0].sum()
    np.testing.assert_allclose(guess.cost[both, 0].mean(), pure.cost[both, 0].mean(), rtol=0.1)


def test_gradients_can_be_insisted_on():
    it = case("forest", "independent", 0, 24)
    with pytest.raises(UnsupportedModel, match="needs gradients.*local-search"):
        Wachter(estimate=False).fit(it.problem)


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("ell", ["logit", "squared", "hinge", "probability"])
def test_compiled_steps_are_the_same_steps(norm, ell):
    """The compiled descent and the one by torch gradients end at the same place, levels included."""
    it = case("network", "independent", 0, 24)
    people = it.problem.population(it.x[it.refused])
    ways = []
    for found in (
        slopes(it.problem, "mine"),
        Gradients(it.problem, "mine", device=None, span=it.problem.schema.span),
    ):
        lanes = found.start(people, np.arange(people.n), people.free)
        found.span = it.problem.schema.span
        n, d = people.x.shape
        run(found, people, lanes, Loss(ell, 0.1, norm, np.full(n, 2.0), np.ones((n, d))), steps=12, rate=0.05)
        ways.append(lanes)
    assert type(found).__name__ == "Gradients"
    np.testing.assert_allclose(ways[0].move, ways[1].move, atol=1e-9)
    np.testing.assert_allclose(ways[0].share, ways[1].share, atol=1e-9)
    assert (ways[0].move != 0).any() and (ways[0].share != np.round(ways[0].share)).any()


def test_compiled_gradients_are_those_of_torch():
    for kind in ("linear", "network"):
        it = case(kind, "independent", 0, 24)
        people = it.problem.population(it.x[it.refused])
        span = it.problem.schema.span
        ours, torch_ = (
            slopes(it.problem, "mine", span=span),
            Gradients(it.problem, "mine", device=None, span=span),
        )
        assert type(ours).__name__ == "Compiled"
        lanes = ours.start(people, np.arange(people.n), people.free)
        lanes.move += 0.01 * lanes.free * ~people.schema.has_levels
        for a, b in zip(ours(people, lanes), torch_(people, lanes), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-9)


def test_completion_finds_a_way_where_the_slope_leads_nowhere(linear_model):
    """A step that no slope announces, far away: the descent alone misses it, completion does not."""
    from wayforward.model import wrap

    schema = Schema(
        (
            Feature(name="count", kind="integer", low=0, high=10),
            Feature(name="other", kind="integer", low=0, high=10),
        )
    )

    def decide(rows):
        return ((rows[:, 0] >= 7) & (rows[:, 1] <= 4)).astype(int)

    problem = wf.Problem(schema, wrap(decide, schema, output="label", classes=(0, 1)), Target(1))
    x = np.array([[0.0, 2.0], [3.0, 4.0]])
    got = Wachter().fit(problem).recommend(x)
    np.testing.assert_array_equal(got.after[:, 0], [[7, 2], [7, 4]])
    assert not Wachter(complete=False).fit(problem).recommend(x[:1]).found.any()


@pytest.mark.gpu
def test_the_answers_on_a_gpu_are_as_good():
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    it = case("network", "independent", 0, 60)
    here, there = (Wachter(device=d).fit(it.problem).recommend(it.x) for d in ("cpu", "cuda"))
    both = here.found[:, 0] & there.found[:, 0]
    assert both.sum() >= 0.95 * here.found[:, 0].sum()
    np.testing.assert_allclose(there.cost[both, 0].mean(), here.cost[both, 0].mean(), rtol=0.02)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"norm": "l7"}, "norm='l7'"),
        ({"loss": "joy"}, "loss='joy'"),
        ({"rounds": 0}, "rounds=0"),
        ({"lam": 0.0}, "lam=0"),
        ({"restarts": -1}, "restarts=-1"),
    ],
)
def test_wrong_parameters_are_named(parameters, message):
    with pytest.raises(MethodError, match=message):
        Wachter(**parameters)
