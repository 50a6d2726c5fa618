"""actionable-recourse against published numbers, closed forms and brute force."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wayforward as wf
from wayforward import Feature, Outcome, Problem, Schema, Target
from wayforward.errors import MethodError, ProblemError, UnsupportedModel
from wayforward.methods.actionable_recourse import ActionableRecourse
from wayforward.methods.engines.exact import selection
from wayforward.preferences import Preferences
from wayforward.problem import LpMix, MadL1, Mahalanobis, PercentileShift
from wayforward.testing import MethodContract, case


class TestContract(MethodContract):
    method = "actionable-recourse"
    kinds = ("linear",)
    finds = 0.9


def plane(**more):
    """Two real features from 0 to 10."""
    return Schema(
        tuple(Feature(name=name, kind="real", low=0, high=10, **more.get(name, {})) for name in ("a", "b")),
        more.get("rules", ()),
    )


def answer(problem, x, k=1, preferences=None, **parameters):
    return (
        ActionableRecourse(**parameters)
        .fit(problem)
        .recommend(np.atleast_2d(np.asarray(x, dtype=float)), k, preferences=preferences, minimal=False)
    )


# -- published numbers and closed forms --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cost", "after", "value"),
    [
        (LpMix(), (2, 0), 2.0),
        (LpMix(l1=0, l2=1), (1.6, 0.8), 1.7888543819998317),
        (LpMix(l1=0, linf=1), (4 / 3, 4 / 3), 4 / 3),
    ],
)
def test_the_linear_fixture_has_its_closed_forms(linear, cost, after, value):
    """F-LIN: w = (2, 1), b = -4, x = (0, 0); distances D / max|w|, D / ||w||_2, D / ||w||_1 (E1.9)."""
    got = answer(linear(plane(), -4, {"a": 2, "b": 1}, cost=cost), [0, 0])
    assert got.outcome[0, 0] is Outcome.FOUND
    np.testing.assert_allclose(got.after[0, 0], after, atol=1e-7)
    assert got.cost[0, 0] * 10 == pytest.approx(value, abs=1e-7)


def test_the_linear_fixture_changes_one_feature_at_least(linear):
    got = answer(linear(plane(), -4, {"a": 2, "b": 1}, cost=LpMix(l0=1, l1=0)), [0, 0])
    assert got.cost[0, 0] == 1


def test_where_a_tie_is_a_no_the_boundary_is_passed_by_a_hair(linear):
    """scikit-learn's own decision at log-odds 0 is class 0, so the infimum is not attained."""
    got = answer(linear(plane(), -4, {"a": 2, "b": 1}, target=Target(1)), [0, 0])
    assert got.outcome[0, 0] is Outcome.FOUND
    assert 2 < got.after[0, 0, 0] < 2 + 1e-6


def test_the_integer_grid_of_the_paper_example(linear):
    """E1.1 (a): w = (2, 1), b = -4, integer grid 0..5, l1 -> a = (2, 0), cost 2."""
    schema = Schema(tuple(Feature(name=name, kind="integer", low=0, high=5) for name in "ab"))
    got = answer(linear(schema, -4, {"a": 2, "b": 1}), [0, 0])
    np.testing.assert_array_equal(got.action[0, 0], [2, np.nan])
    assert got.cost[0, 0] * 5 == pytest.approx(2)


UNIFORM = np.column_stack([np.arange(1.0, 101.0)] * 2)  # Q(v) = v / 100


@pytest.mark.parametrize("kind", ["integer", "real"])
@pytest.mark.parametrize(
    ("cost", "preset", "after", "value"),
    [
        (PercentileShift(kind="max"), "problem", (65, 35), 0.15),
        (PercentileShift(kind="total", log=True), "problem", (50, 50), np.log(1.6)),
        (LpMix(), "max", (65, 35), 0.3),
        (LpMix(), "local", (50, 50), 0.3),
    ],
)
def test_percentile_shifts_of_the_paper(linear, kind, cost, preset, after, value):
    """F-MCKP, E1.1 (b): uniform CDF on 0..100, x = (50, 20), w = (1, 1), deficit 30: max .15, local ln 1.6."""
    schema = Schema(tuple(Feature(name=name, kind=kind, low=0, high=100) for name in "ab"))
    problem = linear(schema, -100, {"a": 1, "b": 1}, UNIFORM, cost=cost)
    got = answer(problem, [50, 20], cost=preset)
    np.testing.assert_allclose(got.after[0, 0], after, atol=1e-6)
    assert got.cost[0, 0] == pytest.approx(value, abs=1e-7)


def test_a_category_is_swapped_whole(linear):
    """E1.1 (c): w = (3, -1, ..., -1), b = -1: from any other category the optimum is category 0."""
    schema = Schema((Feature(name="job", kind="categorical", levels=tuple("abcde")),))
    problem = linear(schema, -1, {"job": [3, -1, -1, -1, -1]})
    got = answer(problem, [[1], [2], [3], [4]])
    np.testing.assert_array_equal(got.after[:, 0, 0], 0)
    assert (got.score[:, 0] > 0.5).all()


def test_a_box_binds_and_the_next_feature_takes_over(linear):
    """Fractional knapsack: a is worth more, but ends at 1.5; b brings the missing 1."""
    schema = plane()
    wish = Preferences.none(schema, 1).limit("a", high=1.5)
    got = answer(linear(schema, -4, {"a": 2, "b": 1}), [0, 0], preferences=wish)
    np.testing.assert_allclose(got.after[0, 0], [1.5, 1.0], atol=1e-9)


@settings(max_examples=30)
@given(st.integers(0, 10_000))
def test_the_euclidean_closed_form_meets_its_optimality_conditions(seed):
    """Box + L2: step_j = min(room_j, t w_j / c_j^2) for one t, and the plane is met (water-filling)."""
    from wayforward.methods.engines.exact.selection import water_filling

    rng = np.random.default_rng(seed)
    slope, effort = rng.uniform(0.1, 3, (4, 5)), rng.uniform(0.2, 4, (4, 5))
    room = rng.uniform(0, 2, (4, 5)) * (rng.random((4, 5)) < 0.8)
    need = rng.uniform(0.05, 1.2, 4) * (slope * room).sum(1)
    step, found = water_filling(slope, effort, room, need)
    np.testing.assert_array_equal(found, (slope * room).sum(1) >= need * (1 - 1e-12))
    for i in np.flatnonzero(found):
        assert (slope[i] * step[i]).sum() == pytest.approx(need[i], rel=1e-9)
        inner = (step[i] > 0) & (step[i] < room[i] * (1 - 1e-9))
        ratio = step[i] * effort[i] ** 2 / slope[i]
        if inner.any():
            np.testing.assert_allclose(ratio[inner], ratio[inner][0], rtol=1e-9)
            assert (ratio[~inner & (room[i] > 0)] <= ratio[inner][0] * (1 + 1e-9)).all()


# -- brute force -------------------------------------------------------------------------------------------

RULES = (
    "at most 2 changes",
    "after.i + after.o <= 4",
    "after.c == 'y' implies after.i >= 2",
    "after.o >= before.o",
    "changed(b) implies changed(i)",
    "after.i * after.o <= 3",  # not linear: cut off option by option
    "abs(change.i) + abs(change.o) <= 3",
)


def small_schema(direction, immutable, rules):
    def who(name):
        return {"actionability": "immutable"} if immutable == name else {}

    return Schema(
        (
            Feature(name="i", kind="integer", low=0, high=4, direction=direction, **who("i")),
            Feature(name="o", kind="ordinal", levels=("l", "m", "h"), **who("o")),
            Feature(name="c", kind="categorical", levels=("x", "y", "z"), **who("c")),
            Feature(name="b", kind="binary", levels=(0, 1), **who("b")),
            Feature(name="s", kind="real", low=0, high=1, step=0.25, **who("s")),
        ),
        rules,
    )


def brute_force(problem, x, preferences=None, useful=None):
    """Cost of the cheapest valid action for each set of changed features, cheapest first.

    useful (d,): features of which only moves that gain score count, as in the paper's grids.
    """
    people = problem.population(x[None], preferences)
    schema = problem.schema
    choices = []
    for j in range(schema.d):
        values = schema.low[j] + (schema.step[j]) * np.arange(int(round(schema.span[j] / schema.step[j])) + 1)
        values = np.arange(schema.n_levels[j]) if schema.has_levels[j] else values
        values = values[values != x[j]].astype(float)
        if useful is not None and useful[j]:
            rows = np.tile(x, (len(values), 1))
            rows[:, j] = values
            margin = problem.model.linear.margin(np.vstack([x, rows]))[:, 0]
            values = values[margin[1:] > margin[0] + 1e-12]
        choices.append([np.nan, *values] if people.free[0, j] else [np.nan])
    rows = np.array(list(product(*choices)), dtype=float)
    who = np.zeros(len(rows), dtype=np.int64)
    after = people.after(who, rows)
    good = people.allowed(who, rows, after) & problem.reached(after)[0] & people.plausible(who, after)
    best = {}
    for row, cost in zip(rows[good], people.cost(who[good], rows[good]), strict=True):
        changed = tuple(~np.isnan(row))
        best[changed] = min(best.get(changed, np.inf), cost)
    return np.sort(list(best.values()))


COSTS = {
    "l1": LpMix(),
    "l1+l0": LpMix(l0=0.25, l1=1),
    "squared": LpMix(l1=0, l2_squared=1),
    "l2": LpMix(l1=0, l2=1),
    "linf": LpMix(l1=0, linf=1),
    "l1+linf": LpMix(l1=0.5, linf=1),
    "mad": MadL1(),
    "percentile": PercentileShift(kind="total"),
    "percentile-max": PercentileShift(kind="max"),
}


@settings(max_examples=20)
@given(
    seed=st.integers(0, 10_000),
    cost=st.sampled_from(sorted(COSTS)),
    direction=st.sampled_from(["any", "increase", "decrease"]),
    immutable=st.sampled_from([None, "i", "c"]),
    rules=st.lists(st.sampled_from(RULES), max_size=2, unique=True),
    most=st.sampled_from([None, 1, 2]),
    weights=st.booleans(),
)
def test_options_are_those_of_brute_force_in_order(
    linear_model, seed, cost, direction, immutable, rules, most, weights
):
    """Three options with distinct sets of changes cost what brute force finds; NONE_EXISTS where it finds none."""
    rng = np.random.default_rng(seed)
    try:
        schema = small_schema(direction, immutable, tuple(rules))
    except wf.errors.RuleError:
        return  # the rules contradict each other
    data = np.column_stack(
        [rng.integers(0, n, 40) for n in (5, 3, 3, 2)] + [rng.integers(0, 5, 40) / 4]
    ).astype(float)
    coefficients = {
        "i": rng.integers(-4, 5) / 4,
        "o": rng.integers(-4, 5, 3) / 2,
        "c": rng.integers(-4, 5, 3) / 2,
        "b": rng.integers(-4, 5, 2) / 2,
        "s": rng.integers(-4, 5) / 1.0,
    }
    model = linear_model(schema, rng.integers(-12, 0) / 4, coefficients)
    problem = Problem(schema, model, Target(1, threshold=0.5), data=data, cost=COSTS[cost])
    x = data[:3]
    if problem.reached(x)[0].all():
        return
    wish = Preferences.none(schema, len(x))
    if most is not None:
        wish = wish.at_most(most)
    if weights:
        from dataclasses import replace

        wish = replace(wish, weight=rng.integers(1, 5, (len(x), schema.d)).astype(float))
    got = answer(problem, x, k=3, preferences=wish)
    ruled = np.zeros(schema.d, dtype=bool)
    for rule in schema.compiled_rules.conditions:
        ruled[[schema.index(name) for name in rule.features]] = True
    for i in range(len(x)):
        if got.accepted[i]:
            continue
        expected = brute_force(problem, x[i], wish.take(np.array([i])), ~ruled)[:3]
        np.testing.assert_allclose(got.cost[i][got.found[i]], expected, atol=1e-9)
        assert (got.outcome[i, 0] is Outcome.NONE_EXISTS) == (len(expected) == 0)


@settings(max_examples=15)
@given(st.integers(0, 10_000))
def test_everybody_at_once_agrees_with_one_program_a_person(seed):
    """The bound of the relaxation never lies: where it claims the optimum, the program finds the same cost."""

    rng = np.random.default_rng(seed)
    n, d, v = 5, 4, 5
    cost = np.where(rng.random((n, d, v)) < 0.8, rng.integers(1, 30, (n, d, v)) / 10, np.inf)
    menu = selection.Menu(
        value=np.broadcast_to(np.arange(1.0, v + 1), (n, d, v)),
        gain=np.where(np.isfinite(cost), rng.integers(0, 20, (1, n, d, v)) / 4, 0.0),
        cost=cost,
        peak=np.where(np.isfinite(cost), cost, 0.0),
        start=np.zeros((n, d, 2)),
        step=np.ones((n, d, 2)),
        count=np.where(rng.random((n, d, 2)) < 0.3, rng.integers(0, 80, (n, d, 2)), -1.0),
        whole=rng.random(d) < 0.5,
        run_gain=rng.uniform(0, 0.2, (1, n, d, 2, 2)),
        run_cost=rng.uniform(0, 0.1, (n, d, 2, 2)),
        run_peak=rng.uniform(0, 0.1, (n, d, 2, 2)),
        need=rng.uniform(0.5, 12, (1, n)),
        most=np.full(n, d),
    )
    reachable = selection.reachable(menu)
    for solver, objective, total in (
        (selection.cheapest_sum, "sum", 1),
        (selection.cheapest_peak, "peak", 2),
    ):
        many = selection.in_chunks(menu, solver)
        assert not many.found[~reachable].any()
        values = menu.totals(many.pick)
        for i in range(n):
            one = menu.take(np.array([i]))
            alone = selection.solve(selection.Program(one, np.zeros(d), objective))
            assert (alone.column is not None) == bool(reachable[i])
            if alone.column is None:
                continue
            best = one.totals(selection.Pick(alone.column[None], alone.amount[None]))[total][0]
            if many.found[i]:
                assert values[0][0, i] >= menu.need[0, i] - 1e-9
                assert values[total][i] >= best - 1e-6
            if many.optimal[i]:
                assert values[total][i] == pytest.approx(best, rel=1e-6, abs=1e-7)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_what_a_person_is_chosen_does_not_depend_on_the_others(seed):
    """Every search for everybody at once ends for each by themselves: the same bits alone and among others."""
    rng = np.random.default_rng(seed)
    n, d, v = int(rng.integers(2, 9)), int(rng.integers(1, 7)), int(rng.integers(1, 30))
    cost = np.where(
        rng.random((n, d, v)) < 0.2, np.inf, rng.integers(1, 40, (n, d, v)) / 40 * rng.uniform(0.5, 2)
    )
    shape = (n, d, 2)
    menu = selection.Menu(
        value=rng.uniform(0, 1, (n, d, v)),
        gain=rng.uniform(-0.2, 1, (1, n, d, v)).round(int(rng.integers(1, 16))),
        cost=cost,
        peak=np.where(np.isfinite(cost), cost, 0.0),
        start=np.zeros(shape),
        step=np.ones(shape),
        count=np.where(rng.random(shape) < 0.3, rng.integers(0, 80, shape), -1.0),
        whole=rng.random(d) < 0.5,
        run_gain=rng.uniform(0, 0.05, (1, *shape, 2)),
        run_cost=rng.uniform(0, 0.05, (*shape, 2)),
        run_peak=rng.uniform(0, 0.05, (*shape, 2)),
        need=rng.uniform(0.1, 1, (1, n)) * d,
        most=rng.integers(1, d + 1, n),
    )
    for solver in (selection.cheapest_sum, selection.cheapest_peak):
        many = solver(menu)
        for i in range(n):
            alone = solver(menu.take(np.array([i])))
            for mine, among in (
                (alone.pick.column, many.pick.column),
                (alone.pick.amount, many.pick.amount),
                (alone.found, many.found),
                (alone.optimal, many.optimal),
            ):
                np.testing.assert_array_equal(mine[0], among[i])


# -- rules, limits, proofs ---------------------------------------------------------------------------------


def test_a_linear_rule_on_real_features_enters_the_program(linear):
    """after.a <= 1 + before.b: a ends at 1 and b brings the missing 2 (total 3), a vertex that no grid holds."""
    schema = plane(rules=("after.a <= 1 + before.b",))
    got = answer(linear(schema, -4, {"a": 2, "b": 1}), [0, 0])
    np.testing.assert_allclose(got.after[0, 0], [1, 2], atol=1e-6)


def test_a_disjunction_on_real_features_enters_the_program(linear):
    """Beyond a = 1 the rule asks b >= 5: cheaper is a = 1, b = 2 (3) than a = 0, b = 4 (4) or b = 5."""
    schema = plane(rules=("after.a > 1 implies after.b >= 5",))
    got = answer(linear(schema, -4, {"a": 2, "b": 1}), [0, 0])
    np.testing.assert_allclose(got.after[0, 0], [1, 2], atol=1e-6)


def test_rules_that_leave_nothing_are_a_proof(linear):
    schema = plane(rules=("2 * after.a + after.b <= 3",))
    got = answer(linear(schema, -4, {"a": 2, "b": 1}), [[0, 0], [1, 1]], k=2)
    assert (got.outcome == Outcome.NONE_EXISTS).all()


def test_a_score_out_of_reach_is_a_proof(linear):
    got = answer(linear(plane(), -31, {"a": 2, "b": 1}), [0, 0])
    assert got.outcome[0, 0] is Outcome.NONE_EXISTS
    assert answer(linear(plane(), -30, {"a": 2, "b": 1}), [0, 0]).cost[0, 0] == pytest.approx(2.0)


def test_nothing_is_claimed_where_a_grid_stands_for_real_values(linear):
    """Only a sliver around (1.6, 0.8) keeps a^2 + b^2 <= 3.2001 with 2 a + b >= 4; a coarse grid misses it."""
    schema = plane(rules=("after.a * after.a + after.b * after.b <= 3.2001",))
    got = answer(linear(schema, -4, {"a": 2, "b": 1}), [0, 0], grid=10, solves=60)
    assert got.outcome[0, 0] is Outcome.NOT_FOUND


def test_an_implausible_optimum_is_passed_over(linear):
    """The cheapest change is far from all accepted people; the cheapest plausible one is found."""
    from wayforward.problem import Neighbours

    schema = Schema(tuple(Feature(name=n, kind="integer", low=0, high=5) for n in "ab"))
    data = np.array([[0, 0], [1, 1], [0, 5], [0, 4], [0, 4], [1, 4], [0, 5]], dtype=float)
    problem = linear(schema, -4, {"a": 2, "b": 1}, data, plausibility=Neighbours(k=1))
    got, plain = answer(problem, [0, 0]), answer(linear(schema, -4, {"a": 2, "b": 1}), [0, 0])
    np.testing.assert_array_equal(plain.after[0, 0], [2, 0])
    assert got.cost[0, 0] == pytest.approx(brute_force(problem, np.zeros(2))[0])
    assert got.cost[0, 0] > plain.cost[0, 0]


def test_adding_a_rule_never_makes_it_cheaper():
    it = case("linear", "independent", 1, 40)
    free = Problem(
        Schema(it.problem.schema.features),
        it.problem.model.wrapped,
        it.problem.target,
        data=it.problem.reference,
    )
    ruled, loose = answer(it.problem, it.x), answer(free, it.x)
    both = ruled.found[:, 0] & loose.found[:, 0]
    assert both.sum() >= 10
    assert (loose.cost[both, 0] <= ruled.cost[both, 0] + 1e-9).all()
    assert not (ruled.found[:, 0] & ~loose.found[:, 0]).any()


@pytest.mark.parametrize("method", ["local-search", "nice", "nearest-observable"])
def test_no_heuristic_is_cheaper(method):
    """Property 3 of the catalogue: exact cost <= every heuristic's cost."""
    it = case("linear", "independent", 2, 40)
    exact = answer(it.problem, it.x)
    other = wf.recommend(it.problem, it.x, method=method)
    both = exact.found[:, 0] & other.found[:, 0]
    assert both.sum() >= 10
    assert (exact.cost[both, 0] <= other.cost[both, 0] + 1e-7).all()
    assert not (other.found[:, 0] & ~exact.found[:, 0]).any()


def test_a_long_lattice_is_one_run(linear):
    """100,001 values and a start off the lattice: exact by hand."""
    schema = Schema(
        (
            Feature(name="a", kind="real", low=0, high=50_000, step=0.5),
            Feature(name="b", kind="integer", low=0, high=1_000_000),
        )
    )
    got = answer(linear(schema, -37.3, {"a": 1, "b": 1}), [12.3, 0])
    np.testing.assert_allclose(got.after[0, 0], [12.3, 25])  # 25 millionths of b's range; a: 25.2 / 50,000
    got = answer(linear(schema, -37.3, {"a": 1}), [12.3, 0])
    np.testing.assert_allclose(got.after[0, 0], [37.5, 0])


# -- options -----------------------------------------------------------------------------------------------


def four(linear, **more):
    schema = Schema(tuple(Feature(name=n, kind="integer", low=0, high=5) for n in "abcd"))
    return linear(schema, -4, {"a": 2, "b": 1, "c": 1, "d": 4}, **more)


def changed(got):
    return [set(np.flatnonzero(~np.isnan(a))) for a in got.action[0][got.found[0]]]


def test_exclusive_options_share_no_feature(linear):
    sets = changed(answer(four(linear), [0, 0, 0, 0], k=4, options="exclusive"))
    assert sets == [{3}, {0}, {1}, {2}] or sets == [{3}, {0}, {2}, {1}]


def test_different_options_contain_no_earlier_one(linear):
    sets = changed(answer(four(linear), [0, 0, 0, 0], k=5, options="different"))
    assert len(sets) == 4  # {a, b}, for example, contains {a}
    assert not any(one < other for one in sets for other in sets)


def test_exact_options_may_repeat_a_set_of_changes(linear):
    got = answer(four(linear), [0, 0, 0, 0], k=3, options="exact")
    np.testing.assert_allclose(got.cost[0] * 5, [1, 2, 2])
    assert changed(got)[0] == {3}


def test_euclidean_options_leave_out_features_in_order_of_cost(linear):
    """D / ||w_S||_2 over subsets: {a, b}: 4/sqrt 5, {a}: 2, {b}: 4."""
    got = answer(linear(plane(), -4, {"a": 2, "b": 1}, cost=LpMix(l1=0, l2=1)), [0, 0], k=4)
    np.testing.assert_allclose(got.cost[0, :3] * 10, [4 / np.sqrt(5), 2, 4], atol=1e-6)
    assert not got.found[0, 3]


def test_workers_change_nothing():
    it = case("linear", "independent", 3, 24)
    one, two = answer(it.problem, it.x, k=2), answer(it.problem, it.x, k=2, workers=2)
    np.testing.assert_array_equal(one.action, two.action)


# -- other targets -----------------------------------------------------------------------------------------


def test_a_threshold_is_its_logit(linear):
    """P >= 0.7 needs log-odds ln(7/3)."""
    got = answer(linear(plane(), -4, {"a": 2, "b": 1}, target=Target(1, threshold=0.7)), [0, 0])
    np.testing.assert_allclose(got.after[0, 0], [(4 + np.log(7 / 3)) / 2, 0], atol=1e-6)


def test_the_unfavourable_class_can_be_wanted(linear):
    got = answer(linear(plane(), -4, {"a": 2, "b": 1}, target=Target(0, threshold=0.5)), [5, 5])
    np.testing.assert_allclose(got.after[0, 0], [0, 4], atol=1e-6)  # down by 11: all of a, then b


def test_a_regression_interval_has_two_sides():
    """2 a + b in [4, 5] with steps of 3 on a and 1 on b: a = 0, b = 4 costs 0.4; a = 3 overshoots."""
    from sklearn.linear_model import LinearRegression

    schema = Schema(
        (
            Feature(name="a", kind="real", low=0, high=9, step=3),
            Feature(name="b", kind="integer", low=0, high=10),
        )
    )
    frame = schema.decode(np.array([[0, 0], [3, 0], [0, 1.0]]), like="pandas")
    model = LinearRegression().fit(frame, [0.0, 6.0, 1.0])
    got = answer(Problem(schema, model, Target(interval=(4, 5))), [0, 0])
    np.testing.assert_array_equal(got.after[0, 0], [0, 4])


def test_one_class_among_three():
    """Two margins must turn at once; brute force over the lattice is the judge."""
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    schema = Schema(tuple(Feature(name=n, kind="integer", low=0, high=6) for n in "abc"))
    data = rng.integers(0, 7, (300, 3)).astype(float)
    y = np.argmax(np.column_stack([data[:, 0], data[:, 1], data[:, 2]]) + rng.normal(0, 1, (300, 3)), axis=1)
    model = LogisticRegression(max_iter=500).fit(schema.decode(data, like="pandas"), y)
    problem = Problem(schema, model, Target(2), data=data)
    x = data[:25]
    got = answer(problem, x)
    for i in np.flatnonzero(~got.accepted):
        assert got.cost[i, 0] == pytest.approx(brute_force(problem, x[i])[0], abs=1e-9)


# -- worlds ------------------------------------------------------------------------------------------------


def test_a_raise_that_feeds_savings_can_be_smaller(linear):
    """F-SCM-1: h = x1 + 5 x2 - 225000, x2 = 0.3 x1 + u, x = (75000, 25000): do(x1 = 85000) suffices."""
    schema = Schema(
        (
            Feature(name="salary", kind="real", low=0, high=200_000),
            Feature(name="savings", kind="real", low=0, high=200_000, actionability="mutable"),
        )
    )
    world = wf.SCM({"salary": "u", "savings": "0.3 * salary + u"})
    problem = linear(schema, -2.25, {"salary": 1e-5, "savings": 5e-5}, world=world)
    got = answer(problem, [75_000, 25_000])
    np.testing.assert_allclose(got.after[0, 0], [85_000, 28_000], rtol=1e-3)


# -- errors ------------------------------------------------------------------------------------------------


def test_a_forest_is_refused_with_methods_that_fit():
    it = case("forest", "independent", 0, 24)
    with pytest.raises(UnsupportedModel, match="needs a linear model.*local-search"):
        ActionableRecourse().fit(it.problem)


def test_targets_that_are_not_linear_are_refused():
    from sklearn.linear_model import LogisticRegression

    schema = Schema((Feature(name="a", kind="integer", low=0, high=6),))
    data = np.arange(7.0)[:, None]
    model = LogisticRegression().fit(schema.decode(data, like="pandas"), [0, 0, 1, 1, 2, 2, 2])
    with pytest.raises(ProblemError, match="one favourable class without threshold"):
        ActionableRecourse().fit(Problem(schema, model, Target(2, threshold=0.6)))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"cost": "cheap"}, "cost='cheap'"),
        ({"options": "any"}, "options='any'"),
        ({"grid": 0}, "grid=0"),
        ({"workers": 0}, "workers=0"),
    ],
)
def test_wrong_parameters_are_named(parameters, message):
    with pytest.raises(MethodError, match=message):
        ActionableRecourse(**parameters)


def test_a_cost_that_is_no_sum_is_ranked_by_its_parts_and_still_proved(linear):
    data = np.random.default_rng(0).uniform(0, 10, (50, 2))
    got = answer(linear(plane(), -4, {"a": 2, "b": 1}, data, cost=Mahalanobis()), [0, 0])
    assert got.found[0, 0]
    got = answer(linear(plane(), -31, {"a": 2, "b": 1}, data, cost=Mahalanobis()), [0, 0])
    assert got.outcome[0, 0] is Outcome.NONE_EXISTS
