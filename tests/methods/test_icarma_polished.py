"""icarma-polished: at least as good as brute force, plausible where that is asked for, and what plausibility costs."""

from __future__ import annotations

import numpy as np
import pytest

from wayforward import SCM, Feature, Outcome, Problem, Schema, Target, wrap
from wayforward.errors import MethodError, ProblemError
from wayforward.evaluate.tradeoff import tradeoff
from wayforward.methods.engines.exact.causal_polish import Polish, least_point
from wayforward.methods.icarma_polished import Polished
from wayforward.preferences import Preferences
from wayforward.problem import AtLeastAsLikely, SquaredShift
from wayforward.testing import MethodContract


class TestContract(MethodContract):
    method = "icarma-polished"
    finds = 0.9


# -- a small world -----------------------------------------------------------------------------------------


WORLD = SCM(
    {"skill": "u", "pay": "0.8 * skill + u", "savings": "0.5 * pay + u"},
    noise={"skill": "Normal(0, 1)", "pay": "Normal(0, 0.6)", "savings": "Normal(0, 0.8)"},
)


def small_world(*, strict: bool, bend: float = 0.4, n: int = 24, soft: bool = False):
    """Three numbers in a chain, a yes beyond a bent line, and n people who are refused."""
    schema = Schema(tuple(Feature(name=name, kind="real", low=-4, high=4) for name in WORLD.names))
    world = SCM(
        {e.name: str(e) for e in WORLD.equations}, {k: str(v) for k, v in WORLD.noise.items()}, soft=soft
    )
    data = np.clip(WORLD.sample(800, 0), -4, 4)

    def chance(rows: np.ndarray) -> np.ndarray:
        score = rows[:, 0] + 1.2 * rows[:, 1] + 0.6 * rows[:, 2] - bend * rows[:, 0] * rows[:, 2] - 1.5
        p = 1 / (1 + np.exp(-3 * score))
        return np.stack([1 - p, p], axis=1)

    model = wrap(chance, schema, classes=(0, 1))
    problem = Problem(
        schema, model, Target(1), data=data, world=world, cost=SquaredShift(),
        plausibility=AtLeastAsLikely(world) if strict else None,
    )  # fmt: skip
    x = data[~problem.reached(data)[0]][:n]
    return problem, x


def brute_force(problem: Problem, x: np.ndarray, preferences=None, bins: int = 33) -> np.ndarray:
    """(n,) the least cost over every set of features on a dense grid that also holds the values of today."""
    people = problem.population(x, preferences)
    best = np.full(len(x), np.inf)
    for i in range(len(x)):
        axes = [
            np.r_[np.nan, x[i, j], np.linspace(people.low[i, j], people.high[i, j], bins)]
            if people.free[i, j]
            else np.array([np.nan])
            for j in range(problem.schema.d)
        ]
        action = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, problem.schema.d)
        action = action[~np.isnan(action).all(1)]
        who = np.full(len(action), i)
        seen = people.evaluate(who, action)
        best[i] = np.where(seen.reached, seen.cost, np.inf).min()
    return best


@pytest.fixture(scope="module")
def hard():
    """Everything plausible: the problem, its people, their answers."""
    problem, x = small_world(strict=True)
    return problem, x, Polished().fit(problem).recommend(x)


@pytest.mark.parametrize("strict", [True, False])
def test_nobody_pays_more_than_brute_force_finds(strict):
    """35^3 combinations a person: an answer wherever the grid has one, and no dearer."""
    problem, x = small_world(strict=strict, n=12)
    got = Polished().fit(problem).recommend(x)
    best = brute_force(problem, x)
    assert got.found[np.isfinite(best), 0].all()
    both = got.found[:, 0] & np.isfinite(best)
    assert (got.cost[both, 0] <= best[both] * (1 + 1e-9)).mean() >= 0.95
    assert got.cost[both, 0].mean() < best[both].mean()


def test_nobody_pays_more_in_a_world_of_shifts():
    problem, x = small_world(strict=True, n=6, soft=True)
    got = Polished().fit(problem).recommend(x)
    best = brute_force(problem, x, bins=25)
    both = got.found[:, 0] & np.isfinite(best)
    assert both.sum() >= np.isfinite(best).sum() - 1
    assert got.cost[both, 0].mean() <= best[both].mean()


def test_a_hard_limit_is_never_broken(hard):
    problem, x, got = hard
    assert got.found[:, 0].mean() > 0.8
    density = problem.world.log_density
    assert (density(got.after[got.found[:, 0], 0]) >= density(x[got.found[:, 0]]) - 1e-9).all()


def test_wishes_bind(hard):
    """One feature each, and a limit: nobody acts on another one or beyond."""
    problem, x, _ = hard
    wish = Preferences.none(problem.schema, len(x)).freeze("skill", "savings").limit("pay", high="+1.5", x=x)
    got = Polished().fit(problem).recommend(x, preferences=wish)
    assert np.isnan(got.action[:, 0][:, [0, 2]]).all()
    assert (got.after[got.found[:, 0], 0, 1] <= x[got.found[:, 0], 1] + 1.5 + 1e-9).all()
    best = brute_force(problem, x, wish, bins=401)
    np.testing.assert_array_equal(got.found[:, 0], np.isfinite(best))
    assert (got.cost[got.found[:, 0], 0] <= best[got.found[:, 0]] * (1 + 1e-6)).all()


def test_weights_move_the_work_to_what_is_easy(hard):
    problem, x, plain = hard
    heavy = Preferences.none(problem.schema, len(x)).weigh(pay=10)
    got = Polished().fit(problem).recommend(x, preferences=heavy)
    both = got.found[:, 0] & plain.found[:, 0]

    def effort(recourse):
        return np.nan_to_num(np.abs(recourse.action - x[:, None])[both, 0, 1]).mean()

    assert effort(got) < effort(plain)


def test_holding_a_feature_is_an_act():
    """Pay lifts savings, and savings are bad here: the cheapest plan holds them where they are, for nothing."""
    schema = Schema(tuple(Feature(name=name, kind="real", low=-4, high=4) for name in ("pay", "savings")))
    world = SCM({"pay": "u", "savings": "2 * pay + u"}, {"pay": "Normal(0, 1)", "savings": "Normal(0, 1)"})

    def chance(rows):
        p = 1 / (1 + np.exp(-4 * (rows[:, 0] - rows[:, 1] - 1)))
        return np.stack([1 - p, p], axis=1)

    data = np.clip(world.sample(300, 1), -4, 4)
    problem = Problem(
        schema, wrap(chance, schema, classes=(0, 1)), Target(1), data=data, world=world, cost=SquaredShift()
    )
    x = np.array([[0.0, 0.0]])
    wish = Preferences.none(schema, 1).weigh(savings=100)
    got = Polished().fit(problem).recommend(x, preferences=wish)
    assert got.action[0, 0, 0] == pytest.approx(1.0, abs=0.05)
    assert abs(got.action[0, 0, 1]) < 0.05


def test_options_are_different_ways(hard):
    problem, x, _ = hard
    got = Polished().fit(problem).recommend(x, 3)
    assert got.found[got.found[:, 0]].sum(1).mean() > 2
    three = got.found.all(1)
    assert (np.diff(got.cost[three], axis=1) >= 0).all()


# -- the price of plausibility -----------------------------------------------------------------------------


def test_prices_run_from_the_cheapest_to_the_plausible(hard):
    """Price 0 is the cheapest option whatever it is; an infinite price is the plausible one wherever there is one."""
    strict, x, plausible = hard
    problem, _ = small_world(strict=False)
    free = Polished(plausibility="price", price=0.0).fit(problem).recommend(x, minimal=False)
    dear = Polished(plausibility="price", price=np.inf).fit(problem).recommend(x, minimal=False)
    cheapest = Polished().fit(problem).recommend(x, minimal=False)
    assert free.found[:, 0].all()
    assert dear.found[:, 0].all()
    assert free.cost.mean() <= cheapest.cost.mean() * 1.01
    same = plausible.found[:, 0]
    assert (dear.cost[same, 0] <= plausible.cost[same, 0] * 1.05).all()
    holds = strict.plausibility.holds(x, dear.after[:, 0])
    assert holds[same].all()


def test_nats_have_a_price_too():
    problem, x = small_world(strict=False, n=4)
    strict, _ = small_world(strict=True)
    shortfall = []
    for price in (0.0, 0.01, 10.0):
        got = Polished(plausibility="price", price=price, per="nat").fit(problem).recommend(x)
        assert got.found[:, 0].all()
        lost = strict.world.log_density(x) - strict.world.log_density(got.after[:, 0])
        shortfall.append(np.maximum(lost, 0).mean())
    assert shortfall[0] >= shortfall[1] >= shortfall[2]
    assert shortfall[0] > shortfall[2]


@pytest.fixture(scope="module")
def curve():
    """The whole trade-off of a few people, with the oracle beside it."""
    problem, x = small_world(strict=False, n=16)
    return tradeoff(problem, x, oracle=True, slacks=(0, 1, np.inf))


def test_the_curve_is_monotone_and_joins_both_ends(curve):
    plausibility = [p.plausibility for p in curve.priced]
    cost = [p.cost for p in curve.priced]
    assert (np.diff(plausibility) >= 0).all() and (np.diff(cost) >= -1e-12).all()
    assert {p.validity for p in curve.priced} == {1.0}
    validity = [p.validity for p in curve.limited]
    assert (np.diff(validity) >= 0).all()
    assert curve.hard.plausibility == 1.0
    assert plausibility[-1] == pytest.approx(curve.hard.validity)
    assert curve.conflict == pytest.approx(1 - curve.hard.validity)
    oracle = curve.others["causal-oracle, plausible"]
    assert curve.hard.validity >= oracle.validity
    ours, theirs = curve.hard.cost_beside(oracle)
    assert ours <= theirs
    assert len(curve.rows()) == len(curve.prices) + 3 + 2


def test_the_trade_can_be_drawn(curve):
    pytest.importorskip("matplotlib")
    from wayforward.answers.figure_tradeoff import figure_tradeoff

    figure = figure_tradeoff(curve)
    assert len(figure.axes) == 2
    assert all(ax.get_xlabel() and ax.get_ylabel() and len(ax.lines) == 3 for ax in figure.axes)


def test_settings_that_mean_nothing_are_named():
    problem, x = small_world(strict=True, n=3)
    with pytest.raises(MethodError, match="hard"):
        Polished(plausibility="soft")
    with pytest.raises(MethodError, match="price=-1"):
        Polished(price=-1)
    with pytest.raises(MethodError, match="person"):
        Polished(per="head")
    with pytest.raises(MethodError, match="demands it"):
        Polished(plausibility="price").fit(problem)
    blind = Problem(
        problem.schema, problem.model, Target(1), data=problem.reference,
        world=SCM({"skill": "u", "pay": "skill + u", "savings": "u"}),
    )  # fmt: skip
    with pytest.raises(MethodError, match="density=world"):
        Polished(plausibility="price").fit(blind)
    with pytest.raises(ProblemError, match="must hold 0"):
        tradeoff(small_world(strict=False)[0], x, slacks=(1.0, 2.0))


def test_nothing_to_act_on_is_an_answer():
    problem, x = small_world(strict=True, n=3)
    nothing = Preferences.none(problem.schema, 3).freeze(*problem.schema.names)
    got = Polished().fit(problem).recommend(x, preferences=nothing)
    assert (got.outcome[:, 0] == Outcome.NONE_EXISTS).all()


# -- the engine --------------------------------------------------------------------------------------------


def test_the_shortest_point_meets_both_conditions():
    """Against SciPy's solver on random programs that have a solution."""
    from scipy.optimize import minimize

    rng = np.random.default_rng(0)
    slope = rng.normal(size=(40, 2, 3))
    goal = rng.normal(size=(40, 2))
    low, high = np.full((40, 3), -3.0), np.full((40, 3), 3.0)
    point, _ = least_point(slope, goal, low, high, np.ones((40, 3), bool))
    for i in range(40):
        best = minimize(
            lambda y: y @ y,
            np.zeros(3),
            jac=lambda y: 2 * y,
            constraints=[
                {"type": "ineq", "fun": lambda y, i=i, k=k: slope[i, k] @ y - goal[i, k]} for k in (0, 1)
            ],
            method="SLSQP",
        )
        if best.success and (np.abs(best.x) < 3).all():
            assert (slope[i] @ point[i] >= goal[i] - 1e-6).all()
            assert point[i] @ point[i] <= best.fun * (1 + 1e-5) + 1e-9


def test_work_ends_with_the_budget(hard):
    problem, x, _ = hard
    people = problem.population(x)
    Polished().fit(problem).search(people, np.array([0.0]), budget=None)
    full = people.rows.max()
    people = problem.population(x)
    from wayforward.methods.base import Budget

    work = Polished().fit(problem).search(people, np.array([0.0]), budget=Budget(60))
    assert isinstance(work, Polish)
    assert people.rows.max() <= 75 < full  # the grid asks in lists that may end a little late


# -- the networks as a start -------------------------------------------------------------------------------


def test_networks_are_a_start_and_never_make_it_worse(hard):
    pytest.importorskip("torch")
    from wayforward.methods.icarma import ICarma

    strict, x, plain = hard
    problem, _ = small_world(strict=False)
    network = ICarma(seeds=(0,), epochs=1).fit(problem)
    got = Polished(icarma=network).fit(strict).recommend(x)
    assert (got.found[:, 0] >= plain.found[:, 0]).all()
    both = plain.found[:, 0]
    assert got.cost[both, 0].mean() <= plain.cost[both, 0].mean() * 1.01


# -- published ---------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.published
@pytest.mark.parametrize("features", [4, 3, 2, 1, "random"])
def test_loan_dominates_the_oracle(features, tmp_path):
    """Table 1 of iCARMA, Loan: plausible always, at least as valid as the oracle, no dearer; conflict where it is."""
    pytest.importorskip("torch")
    from wayforward.preferences.sampling import draw_rankings, draw_thresholds
    from wayforward_studies.icarma.setting import loan_setting

    setting = loan_setting(cache=tmp_path)
    problem = setting.problem()
    x = setting.test[~problem.reached(setting.test)[0]][:600]
    rng = np.random.default_rng(0)
    threshold = draw_thresholds(len(x), 4, rng) if features == "random" else features + 1
    ranks = draw_rankings(len(x), 4, rng, threshold=threshold)
    wishes = Preferences.from_rankings(setting.schema, ranks, profile="constant")
    curve = tradeoff(problem, x, wishes, oracle=True, slacks=(0, np.inf))
    oracle = curve.others["causal-oracle, plausible"]
    assert curve.hard.plausibility == 1.0
    assert curve.hard.validity >= oracle.validity
    ours, theirs = curve.hard.cost_beside(oracle)
    assert ours <= theirs
    assert curve.priced[0].validity == 1.0
    published = {
        4: (0.999, 0.886),
        3: (0.995, 0.689),
        2: (0.991, 0.481),
        1: (0.836, 0.258),
        "random": (0.963, 0.6),
    }
    validity, plausibility = published[features]
    priced = curve.priced[curve.prices.index(0.1)]
    assert priced.validity >= validity
    assert priced.plausibility >= plausibility - 0.01
    if features == 1:  # the conflict is real: about three in four people have no plausible way at all
        assert 0.65 < curve.conflict < 0.8
