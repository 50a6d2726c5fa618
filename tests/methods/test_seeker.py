"""The compiled search: as good as the search in batches and as brute force, and a person's answer is their own."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from wayforward.cli.inputs import Inputs
from wayforward.deadline import pausing
from wayforward.errors import DataError
from wayforward.methods import method as make_method
from wayforward.methods.local_search.domination import goes_farther
from wayforward.model import kernels, train, wrap
from wayforward.preferences import Preferences
from wayforward.problem import LpMix, MadL1, Problem, SquaredShift, Target
from wayforward.schema import Feature, Schema

pytest.importorskip("sklearn")
pytestmark = pytest.mark.skipif(kernels.jit() is None, reason="needs numba")


@pytest.fixture(autouse=True)
def nothing_is_listed(monkeypatch):
    """People of a small lattice are searched like everybody else."""
    monkeypatch.setattr(
        "wayforward.methods.local_search.may_be_listed", lambda people: np.zeros(people.n, dtype=bool)
    )


SCHEMA = Schema(
    (
        Feature(name="a", kind="integer", low=0, high=7),
        Feature(name="b", kind="integer", low=0, high=7, direction="increase"),
        Feature(name="c", kind="categorical", levels=("x", "y", "z")),
        Feature(name="d", kind="ordinal", levels=("l", "m", "h")),
        Feature(name="e", kind="integer", low=0, high=9, actionability="immutable"),
        Feature(name="f", kind="integer", low=0, high=5, missing=True),
    )
)


def lattice(kind, seed, target=None, **more):
    """A model on a small lattice, with missing values, and whom it refuses."""
    rng = np.random.default_rng(seed)
    x = np.column_stack([rng.integers(0, n, 400) for n in (8, 8, 3, 3, 10, 6)]).astype(float)
    score = x @ rng.normal(0, 0.5, 6) + 0.15 * x[:, 0] * (x[:, 2] == 1) - 0.1 * (x[:, 1] - 4) ** 2
    x[rng.random(400) < 0.15, 5] = np.nan
    y = (score > np.quantile(score, 0.65)).astype(int)
    problem = Problem(SCHEMA, train(kind, SCHEMA, x, y, seed=seed), target or Target(1), data=x, **more)
    return problem, x[~problem.reached(x)[0]]


def every_option(problem, people, i):
    """All that a person may do, and whether it is a yes by the model itself; in order of cost."""
    axes = []
    for j in range(problem.schema.d):
        inside = np.arange(problem.schema.low[j], problem.schema.high[j] + 1)
        axes.append(np.r_[np.nan, inside] if people.free[i, j] else [np.nan])
    action = np.array(list(itertools.product(*axes)))
    who = np.full(len(action), i)
    after = people.after(who, action)
    good = people.allowed(who, action, after)
    good &= problem.schema.differs(after, people.x[i]).any(1)
    action, after, who = action[good], after[good], who[good]
    cost = people.cost(who, action)
    order = np.argsort(cost, kind="stable")
    return action[order], cost[order], problem.reached(after[order])[0]


@pytest.mark.parametrize("kind", ["lr", "mlp", "rf", "gb"])
def test_as_cheap_as_brute_force_and_never_dearer_than_in_batches(kind):
    problem, x = lattice(kind, 5)
    x = x[:40]
    method = make_method("local-search").fit(problem)
    assert method.seeker_ is not None
    got = method.recommend(x, 3)
    batches = make_method("local-search", compiled=False).fit(problem).recommend(x, 1)
    people = problem.population(x)
    exact = 0
    for i in range(len(x)):
        action, cost, yes = every_option(problem, people, i)
        assert got.found[i, 0] == yes.any()
        if not yes.any():
            continue
        exact += got.cost[i, 0] <= cost[yes][0] + 1e-9
        # every slot for which there is an option that another one does not outdo is filled
        taken = got.action[i][got.found[i]]
        if len(taken) < 3:
            each = np.full(int(yes.sum()), i)
            taken = np.broadcast_to(taken, (len(each), *taken.shape))
            assert goes_farther(people, each, taken, action[yes]).all()
    assert exact >= 0.95 * got.found[:, 0].sum()
    both = got.found[:, 0] & batches.found[:, 0]
    assert (got.found[:, 0] >= batches.found[:, 0]).all()
    assert got.cost[both, 0].mean() <= batches.cost[both, 0].mean() * 1.002


@pytest.mark.parametrize("kind", ["rf", "gb"])
def test_a_score_exactly_at_the_threshold_is_decided_by_the_model(kind):
    """Thresholds at scores that rows attain: nobody is left without an answer who has one."""
    plain, x = lattice(kind, 3)
    attained = np.unique(plain.reached(x)[1])
    problem = Problem(SCHEMA, plain.model, Target(1, threshold=float(attained[-3])), data=plain.reference)
    x = x[~problem.reached(x)[0]][:25]
    got = make_method("local-search").fit(problem).recommend(x)
    people = problem.population(x)
    for i in range(len(x)):
        _, cost, yes = every_option(problem, people, i)
        assert got.found[i, 0] == yes.any()
        if yes.any():
            assert got.cost[i, 0] <= cost[yes][0] * 1.1 + 1e-9


@pytest.mark.parametrize(
    "cost", [LpMix(l0=0.3, l1=1.0), LpMix(l1=0.2, l2_squared=1.0), MadL1(), SquaredShift()]
)
def test_every_sum_of_steps_is_followed(cost):
    problem, x = lattice("gb", 2, cost=cost)
    x = x[:25]
    method = make_method("local-search").fit(problem)
    assert method.seeker_ is not None
    got = method.recommend(x)
    people = problem.population(x)
    best = [every_option(problem, people, i) for i in range(len(x))]
    best = np.array([cost[yes][0] if yes.any() else np.inf for _, cost, yes in best])
    assert (got.found[:, 0] == np.isfinite(best)).all()
    assert (got.cost[:, 0] <= best + 1e-9).mean() >= 0.9
    found = np.isfinite(best)
    assert got.cost[found, 0].mean() <= best[found].mean() * 1.02


KINDS = ("gb", "lr", "mlp", "rf") if kernels.jit() is not None else ()


@lru_cache
def searched(kind):
    """A problem, whom it refuses, and local search fitted to it: when it is first wanted, not when tests are found."""
    problem, x = lattice(kind, 7)
    return problem, x, make_method("local-search").fit(problem)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    kind=st.sampled_from(KINDS),
    seed=st.integers(0, 10_000),
    k=st.integers(1, 3),
    most=st.integers(1, 6),
    budget=st.sampled_from([3, 40, 400, 20_000]),
)
def test_an_answer_is_the_persons_own_and_within_their_wishes(kind, seed, k, most, budget):
    problem, x, method = searched(kind)
    rng = np.random.default_rng(seed)
    x = x[rng.permutation(len(x))[:6]]
    low = np.where(rng.random(x.shape) < 0.2, np.nan_to_num(x) - 1, -np.inf)
    high = np.where(rng.random(x.shape) < 0.2, np.nan_to_num(x) + 2, np.inf)
    low, high = np.where(SCHEMA.has_levels, -np.inf, low), np.where(SCHEMA.has_levels, np.inf, high)
    wish = replace(
        Preferences.none(SCHEMA, len(x)).at_most(most),
        frozen=rng.random(x.shape) < 0.2,
        low=low,
        high=high,
        weight=rng.choice([0.5, 1.0, 3.0], x.shape),
    )
    got = method.recommend(x, k, preferences=wish, budget=budget)
    assert (got.acted.sum(2) <= most).all() and not (got.acted & wish.frozen[:, None]).any()
    inside = (got.after >= wish.low[:, None] - 1e-9) & (got.after <= wish.high[:, None] + 1e-9)
    assert (inside | ~got.acted).all()
    order = rng.permutation(len(x))
    turned = method.recommend(
        x[order], k, preferences=wish.take(order), budget=budget, workers=2, on="threads"
    )
    np.testing.assert_array_equal(turned.action, got.action[order])
    one = method.recommend(x, 1, preferences=wish, budget=budget)
    np.testing.assert_array_equal(one.action[:, 0], got.action[:, 0])
    more = method.recommend(x, 1, preferences=wish, budget=4 * budget)
    assert (more.cost[:, 0] <= one.cost[:, 0] + 1e-9).all()


@pytest.mark.parametrize("kind", ["mlp", "gb"])
def test_others_are_let_in_every_two_people_and_nobodys_answer_changes(kind):
    problem, x, method = searched(kind)
    x = x[:9]
    people, between = problem.population(x), []
    alone = method.seeker_.options(people, 2, 400)
    with pausing(lambda: between.append(1)):
        np.testing.assert_array_equal(method.seeker_.options(problem.population(x), 2, 400), alone)
    assert len(between) >= 5


def test_what_is_not_one_score_goes_to_the_search_in_batches():
    """Three classes without a threshold, a model of labels, a rule over two features: no seeker, the same answers."""
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.integers(0, n, 300) for n in (8, 8, 3, 3, 10, 6)]).astype(float)
    y = np.digitize(x[:, 0] + x[:, 1], [5, 9])
    several = Problem(SCHEMA, train("rf", SCHEMA, x, y, seed=0), Target(2), data=x)
    labels = wrap(lambda r: (r[:, 0] > 4).astype(int), SCHEMA, output="label", classes=(0, 1))
    ruled = SCHEMA.with_rules("after.a * after.b <= 40")
    two = train("lr", ruled, x, (y > 0).astype(int), seed=0)
    for problem in (
        several,
        Problem(SCHEMA, labels, Target(1), data=x),
        Problem(ruled, two, Target(1), data=x),
    ):
        method = make_method("local-search").fit(problem)
        assert method.seeker_ is None or not method.seeker_.judges
        refused = x[~problem.reached(x)[0]][:5]
        assert method.recommend(refused).found[:, 0].all()


@pytest.mark.parametrize("kind", ["lr", "gb"])
def test_a_rule_that_couples_features_is_kept_and_costs_no_more_than_in_lockstep(kind, monkeypatch):
    """Who has a compiled answer that keeps the rule has it at once; the others are mended from it."""
    plain, _ = lattice(kind, 4)
    schema = SCHEMA.with_rules("after.a + 2 * after.b <= 14")
    problem = Problem(schema, wrap(plain.model.wrapped, schema), Target(1), data=plain.reference)
    x = plain.reference[~problem.reached(plain.reference)[0]][:60]
    method = make_method("local-search").fit(problem)
    assert method.seeker_.judges == (kind == "lr")
    monkeypatch.setattr(
        "wayforward.methods.local_search.lockstep.may_be_listed",
        lambda people: np.zeros(people.n, dtype=bool),
    )
    got, three = (method.recommend(x, k) for k in (1, 3))
    slow = make_method("local-search", compiled=False).fit(problem).recommend(x)
    assert (got.found[:, 0] >= slow.found[:, 0]).all()
    both = slow.found[:, 0]
    assert (got.cost[both, 0] <= slow.cost[both, 0] * 1.02 + 1e-9).all()
    assert got.cost[both, 0].mean() <= slow.cost[both, 0].mean() + 1e-9
    np.testing.assert_allclose(three.cost[:, 0], got.cost[:, 0], rtol=1e-12)
    assert (three.found.sum(1) >= got.found.sum(1)).all() and three.found[:, 1].any()


@pytest.mark.parametrize("kind", ["lr", "mlp"])
@pytest.mark.parametrize(
    "rule", ["after.a + 2 * after.b <= 14", "after.b <= after.a + 1", "after.f - before.f <= 1"]
)
def test_sums_below_a_bound_are_kept_inside_the_search_of_a_net(kind, rule):
    """Whoever breaks the rule by now must mend it; a missing value hangs on nothing. Brute force beside."""
    plain, _ = lattice(kind, 4)
    problem = Problem(
        SCHEMA.with_rules(rule), wrap(plain.model.wrapped, SCHEMA), Target(1), data=plain.reference
    )
    x = plain.reference[~problem.reached(plain.reference)[0]][:30]
    method = make_method("local-search").fit(problem)
    assert method.seeker_ is not None and method.seeker_.judges
    got = method.recommend(x)
    people, exact = problem.population(x), 0
    for i in range(len(x)):
        _, cost, yes = every_option(problem, people, i)
        assert got.found[i, 0] == yes.any()
        exact += yes.any() and got.cost[i, 0] <= cost[yes][0] + 1e-9
    assert exact >= 0.95 * got.found[:, 0].sum() > 0


def test_plans_under_a_net_are_next_to_proven_optima():
    """Changes that are weighed against each other: going farther in one saves more in another."""
    try:
        prepared = Inputs(data="default_credit", model="mlp", seed=0).prepare()
    except (DataError, FileNotFoundError):
        pytest.skip("the file of default_credit is absent")
    problem = prepared.problem
    x = problem.schema.encode(prepared.test)
    x = x[~problem.reached(x)[0]][60:130]
    got = make_method("local-search").fit(problem).recommend(x)
    least = make_method("relu-milp").fit(problem).recommend(x)
    gap = got.cost[:, 0] / least.cost[:, 0] - 1
    assert gap.mean() <= 0.002
    assert (gap > 0.01).sum() <= 3


def test_a_rule_about_one_feature_with_levels_is_within_the_compiled_search():
    schema = SCHEMA.with_rules("after.c == before.c or after.c == 'z'")
    plain, _ = lattice("gb", 4)
    problem = Problem(schema, wrap(plain.model.wrapped, schema), Target(1), data=plain.reference)
    x = plain.reference[~problem.reached(plain.reference)[0]][:30]
    method = make_method("local-search").fit(problem)
    assert method.seeker_ is not None
    got = method.recommend(x)
    people = problem.population(x)
    for i in range(len(x)):
        _, cost, yes = every_option(problem, people, i)
        assert got.found[i, 0] == yes.any()
        if yes.any():
            assert got.cost[i, 0] <= cost[yes][0] * 1.1 + 1e-9


def test_real_numbers_reach_the_boundary_of_a_linear_score():
    """max(0, 1.5 - x1 - 2 x2) with both from 0 to 1: the cheapest is x2 alone."""
    schema = Schema(tuple(Feature(name=n, kind="real", low=0, high=1) for n in ("p", "q")))
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression().fit([[0, 0], [1, 1], [0, 1], [1, 0]], [0, 1, 1, 0])
    model.coef_, model.intercept_ = np.array([[1.0, 2.0]]), np.array([-1.5])
    problem = Problem(schema, model, Target(1), data=np.array([[0.5, 0.9]]))
    x = np.array([[0.1, 0.2], [0.0, 0.0]])
    got = make_method("local-search").fit(problem).recommend(x)
    np.testing.assert_allclose(got.cost[:, 0], (1.5 - x[:, 0] - 2 * x[:, 1]) / 2, atol=2e-6)
    assert (got.after[:, 0, 0] == x[:, 0]).all()


def coupled(seed, kind):
    """People, a model and two rules over several numbers of them, none of which the compiled search knows."""
    rng = np.random.default_rng(seed)
    n = 300
    x = np.column_stack(
        [
            rng.gamma(4, 3, n).round(2) + 1,
            rng.gamma(1.5, 12, n).round(1),
            rng.gamma(1, 10, n).round(2),
            rng.integers(0, 10, n),
            rng.integers(8, 20, n),
        ]
    )
    features = [Feature(name=name, kind="real", low=0, high=200) for name in ("income", "savings", "debt")]
    features += [Feature(name=name, kind="integer", low=0, high=20) for name in ("lo", "hi")]
    rules = ("abs(change.savings) + abs(change.debt) <= 12", "after.lo <= after.hi")
    schema = Schema(tuple(features), rules)
    score = x @ (rng.normal(size=5) / x.std(0))
    model = train(kind, schema, x, (score > np.quantile(score, 0.8)).astype(int), seed=0)
    problem = Problem(schema, model, Target(1), data=x)
    return problem, x[~problem.reached(x)[0]][:15]


@pytest.mark.parametrize("kind", ["lr", "rf"])
def test_neither_budget_nor_options_make_an_answer_dearer_where_rules_couple_features(kind):
    """Found once is found with more; the first option is the same with k of 1 and of 3. Budgets: of what is proposed,
    for the step after it may leave more out of a poorer proposal."""
    for seed in (1, 5):
        problem, people = coupled(seed, kind)
        method = make_method("local-search").fit(problem)
        little, much = (
            [method.recommend(people, budget=budget, minimal=False).cost[:, 0] for budget in budgets]
            for budgets in ((50, 500, 5_000), (20_000, 60_000))
        )
        for less, more in (*itertools.pairwise(little), *itertools.pairwise(much)):
            assert (more <= less + 1e-9).all()
        # with all of the default budget somebody may be served by another search
        assert np.isfinite(much[0])[np.isfinite(little[-1])].all()
        both = np.isfinite(little[-1])
        assert much[0][both].mean() <= little[-1][both].mean()
        one, three = method.recommend(people), method.recommend(people, 3)
        np.testing.assert_allclose(three.cost[:, 0], one.cost[:, 0], rtol=1e-12)
        slow = make_method("local-search", compiled=False).fit(problem).recommend(people)
        assert (one.found[:, 0] >= slow.found[:, 0]).all()
        assert one.found[:, 0].sum() >= 0.8 * len(people)


def test_plans_of_many_changes_for_which_boxes_run_out_are_rebuilt(monkeypatch):
    """Whom a forest refuses by far has a plan of many changes, which single ones no longer make cheaper."""
    rng = np.random.default_rng(0)
    quality = rng.normal(size=1500)
    data = np.round(np.exp(2 + 0.8 * (0.55 * quality[:, None] + rng.normal(0, 0.84, (1500, 14)))))
    schema = Schema(tuple(Feature(name=f"f{j}", kind="integer", low=0, high=300) for j in range(14)))
    labels = (quality + rng.normal(0, 0.5, 1500) > 0).astype(int)
    problem = Problem(schema, train("rf", schema, data, labels, seed=0), Target(1), data=data)
    x = data[np.argsort(quality)[:25]]
    people, each = problem.population(x), np.arange(25)
    method = make_method("local-search").fit(problem)
    before, now = (
        people.cost(each, method.seeker_.options(people, 1, 20_000, far=np.full(25, far))[:, 0])
        for far in (False, True)
    )
    assert (now <= before + 1e-9).all()
    assert (now < 0.99 * before).sum() > 2
    monkeypatch.setattr("wayforward.methods.local_search.cheapest_first._BOXES", 1)
    got = method.recommend(x, 1, seed=0)
    np.testing.assert_allclose(got.cost[:, 0], now, rtol=1e-9)
    alone = method.recommend(x[:1], 1, seed=0)
    np.testing.assert_array_equal(alone.action[0], got.action[0])
