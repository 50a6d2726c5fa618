"""cem and the engine of FISTA: closed forms of the linear case, the proximal step, rules of pertinent negatives."""

from __future__ import annotations

import numpy as np
import pytest

import wayforward as wf
from wayforward import Feature, Schema
from wayforward.errors import MethodError
from wayforward.methods.cem import Cem, base_values
from wayforward.methods.engines.gradient.fista import Best, Goal, Net, descend, shrink_to
from wayforward.methods.engines.gradient.slopes import slopes
from wayforward.testing import MethodContract, case


class TestContract(MethodContract):
    method = "cem"
    parameters = {"constants": 4, "steps": 24}
    finds = 0.7


def plane(d=3):
    return Schema(tuple(Feature(name=f"x{j}", kind="real", low=-50, high=50) for j in range(d)))


def solved(problem, x, c, beta, margin, goals=None, steps=4000, rate=0.02):
    """Where FISTA ends, in feature units, before anything is made hard."""
    people = problem.population(x)
    found = slopes(problem, "cem", span=np.ones(problem.schema.d))
    lanes = found.start(people, np.arange(people.n), people.free)
    own = lanes.share.copy()
    net = Net(beta, margin, np.ones(x.shape), found.away(own), () if goals is None else goals(lanes))
    descend(found, people, lanes, net, np.full(len(x), c), Best.none(*x.shape), steps=steps, rate=rate)
    return lanes.move


def test_the_proximal_step_is_the_soft_threshold():
    """x0 = 0, beta = .3: .5, -.2, -.5 become .2, 0, -.2."""
    np.testing.assert_allclose(shrink_to(np.array([0.5, -0.2, -0.5]), 0.3), [0.2, 0.0, -0.2])


@pytest.mark.parametrize("beta", [0.0, 0.5, 2.0])
def test_while_the_hinge_is_active_the_optimum_has_a_closed_form(linear, beta):
    """delta_j = sign(w_j) max(0, (c |w_j| - beta) / 2) as long as the margin is not met."""
    w, c = np.array([1.0, -2.0, 0.5]), 1.5
    problem = linear(plane(), -30, {"x0": w[0], "x1": w[1], "x2": w[2]})
    x = np.random.default_rng(0).normal(size=(4, 3))
    got = solved(problem, x, c, beta, 0.0)
    expected = np.sign(w) * np.maximum(0, (c * np.abs(w) - beta) / 2)
    np.testing.assert_allclose(got, np.broadcast_to(expected, got.shape), atol=2e-3)


def test_where_the_margin_binds_a_multiplier_takes_the_place_of_the_constant(linear):
    """m0 + w . delta = margin, with delta_j = sign(w_j) max(0, (mu |w_j| - beta) / 2)."""
    w, beta, margin = np.array([1.0, -2.0, 0.5]), 0.4, 0.7
    problem = linear(plane(), -4, {"x0": w[0], "x1": w[1], "x2": w[2]})
    x = np.zeros((1, 3))
    got = solved(problem, x, 3.0, beta, margin, steps=3000, rate=0.02)[0]
    mu = np.linspace(0, 10, 200_001)
    delta = np.sign(w) * np.maximum(0, (mu[:, None] * np.abs(w) - beta) / 2)
    best = delta[np.argmax(-4 + delta @ w >= margin)]
    np.testing.assert_allclose(got, best, atol=0.05)


def test_a_goal_alone_draws_by_its_strength(linear):
    """beta = c = 0: x' = (x + theta p) / (1 + theta)."""
    problem = linear(plane(), -4, {"x0": 1.0})
    x, theta, goal = np.random.default_rng(1).normal(size=(3, 3)), 2.0, np.array([4.0, -1.0, 2.0])
    got = x + solved(
        problem, x, 0.0, 0.0, 0.0, lambda lanes: (Goal(theta, goal - x, lanes.share.copy()),), steps=2000
    )
    np.testing.assert_allclose(got, (x + theta * goal) / (1 + theta), atol=1e-3)


def test_without_gradients_the_answers_are_nearly_the_same():
    """Estimated slopes (the published MACEM) and gradients: costs within 5 % on a linear model."""
    it = case("linear", "independent", 0, 40)
    costs = []
    for estimate in (False, True):
        got = wf.recommend(it.problem, it.x[it.refused], method="cem", estimate=estimate)
        assert got.found[:, 0].mean() >= 0.9
        costs.append(got.cost[:, 0])
    both = np.isfinite(costs[0]) & np.isfinite(costs[1])
    assert np.mean(costs[1][both]) == pytest.approx(np.mean(costs[0][both]), rel=0.05)


def test_more_l1_means_fewer_changes():
    """Without polish, so that the objective alone decides."""
    it = case("network", "independent", 0, 80)
    some = it.x[it.refused]
    changed = []
    for beta in (0.0, 2.0):
        got = wf.recommend(it.problem, some, method="cem", beta=beta, shrink=False, complete=False)
        changed.append((~np.isnan(got.action[got.found[:, 0], 0])).sum(1).mean())
    assert changed[1] < changed[0]


def test_pertinent_negatives_only_add():
    """Every changed value is farther from the base value than it was."""
    it = case("linear", "independent", 0, 60)
    got = wf.recommend(it.problem, it.x[it.refused], method="cem", only="add")
    assert got.found.any()
    base, schema = base_values(it.problem), it.problem.schema
    who = np.flatnonzero(got.found[:, 0])
    action, x = got.action[who, 0], got.x[who]
    acted, number = ~np.isnan(action), ~schema.is_categorical
    further = np.abs(action - base) > np.abs(x - base)
    assert further[acted & number].all()
    assert (action != base)[acted & ~number].all()


def test_pertinent_positives_suffice_and_are_minimal():
    """With only these features the decision stays; without any one of them it does not."""
    it = case("forest", "independent", 0, 40)
    method = Cem().fit(it.problem)
    kept = method.pertinent_positives(it.x)
    base = base_values(it.problem)
    yes = it.problem.reached(it.x)[0]
    np.testing.assert_array_equal(it.problem.reached(np.where(kept, it.x, base))[0], yes)
    assert kept.any()
    who, j = np.nonzero(kept)
    less = np.where(kept[who], it.x[who], base)
    less[np.arange(len(who)), j] = base[j]
    assert (it.problem.reached(less)[0] != yes[who]).all()


def test_an_autoencoder_draws_rows_to_where_people_are():
    """With gamma, answers lie nearer to their own reconstruction than without."""
    pytest.importorskip("torch")
    from wayforward.problem.learned import fit_generator

    it = case("network", "independent", 0, 60)
    some = it.x[it.refused]
    generator = fit_generator("cvae", it.problem)
    apart = []
    for gamma in (0.0, 5.0):
        got = wf.recommend(it.problem, some, method="cem", gamma=gamma, shrink=False, complete=False)
        after = got.after[got.found[:, 0], 0]
        made = generator.rows(generator.encode(after), after)
        apart.append(float((np.abs(made - after) / it.problem.schema.span).mean()))
    assert apart[1] < apart[0]


@pytest.mark.parametrize("wrong", [{"steps": 0}, {"beta": -1.0}, {"c": 0.0}, {"only": "some"}])
def test_parameters_out_of_bounds_are_named(wrong):
    """One error each."""
    with pytest.raises(MethodError, match=next(iter(wrong))):
        Cem(**wrong)
