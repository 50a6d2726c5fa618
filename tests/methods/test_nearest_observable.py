"""nearest-observable, and the neighbour kernel that it shares with nice."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wayforward import Feature, Outcome, Schema
from wayforward.errors import MethodError, ProblemError
from wayforward.methods.engines import neighbours
from wayforward.methods.engines.neighbours import NeighbourMetric, Reach, nearest
from wayforward.methods.nearest_observable import NearestObservable
from wayforward.preferences import Preferences
from wayforward.problem import LpMix, MadL1, Mahalanobis, PercentileShift
from wayforward.testing import MethodContract, case


class TestContract(MethodContract):
    method = "nearest-observable"
    finds = 0.9


def brute_force(problem, x, project, k):
    """Costs of the k cheapest usable reference rows of one person, asked one after another."""
    people = problem.population(x[None])
    schema, zero = problem.schema, np.zeros(1, dtype=np.int64)
    costs = []
    for row in np.unique(problem.reference_accepted, axis=0):
        action = people.snap(zero, row[None])
        action = np.where(schema.differs(action, x), action, np.nan)
        there = np.where(np.isnan(action), x, action)
        if np.isnan(action).all() or (not project and schema.differs(there, row).any()):
            continue
        if people.evaluate(zero, action).reached[0]:
            costs.append((people.cost(zero, action)[0], tuple(np.nan_to_num(action[0], nan=-1))))
    return [cost for cost, _ in sorted(set(costs))[:k]]


@pytest.mark.parametrize("project", [True, False])
@pytest.mark.parametrize(
    "cost",
    [LpMix(), LpMix(l1=0, l2=1), LpMix(l0=0.1), MadL1(), PercentileShift(), Mahalanobis()],
    ids=lambda c: c.describe(),
)
@pytest.mark.parametrize("kind", ["linear", "forest"])
def test_it_is_the_nearest_usable_row_of_the_table(kind, cost, project):
    """E7.1 against brute force, whatever the cost, with immutable features, directions and rules."""
    from wayforward import Problem

    it = case(kind, "independent", 0, 40)
    problem = Problem(
        it.problem.schema, it.problem.model, it.problem.target, data=it.problem.reference, cost=cost
    )
    no = np.flatnonzero(it.refused)[:6]
    got = NearestObservable(project=project).fit(problem).recommend(it.x[no], minimal=False)
    for i, x in enumerate(it.x[no]):
        expected = brute_force(problem, x, project, 1)
        assert got.found[i, 0] == (len(expected) > 0)
        if expected:
            assert got.cost[i, 0] == pytest.approx(expected[0], abs=1e-9)


def test_without_projection_an_answer_is_a_row_of_the_table(linear):
    """Rows that differ in the immutable feature, or lie against the direction, are no answers, however near."""
    schema = Schema(
        (
            Feature(name="a", kind="integer", low=0, high=10, direction="increase"),
            Feature(name="b", kind="integer", low=0, high=10),
            Feature(name="c", kind="categorical", levels=("x", "y"), actionability="immutable"),
        )
    )
    table = np.array([[4, 5, 1], [3, 6, 0], [5, 5, 0], [9, 9, 0], [0, 0, 0.0]])
    problem = linear(schema, -8.5, {"a": 1, "b": 1}, table)
    got = NearestObservable(project=False).fit(problem).recommend(np.array([[4, 4, 0.0]]), 3, minimal=False)
    np.testing.assert_array_equal(got.after[0, :2], [[5, 5, 0], [9, 9, 0]])
    assert not got.found[0, 2]
    projected = NearestObservable().fit(problem).recommend(np.array([[4, 4, 0.0]]))
    np.testing.assert_array_equal(projected.after[0, 0], [4, 5, 0])  # as the first row, but in category x


def test_personal_limits_are_part_of_the_projection(linear):
    """The row says 9; the person will go to 4 at most, and 4 suffices."""
    schema = Schema(tuple(Feature(name=n, kind="integer", low=0, high=10) for n in "ab"))
    problem = linear(schema, -3.5, {"a": 1}, np.array([[9, 5], [0, 0.0]]))
    wish = Preferences.none(schema, 1).limit("a", high=4).freeze("b")
    got = NearestObservable().fit(problem).recommend(np.zeros((1, 2)), preferences=wish)
    np.testing.assert_array_equal(got.after[0, 0], [4, 0])


def test_the_last_row_of_a_long_table_is_found(linear):
    """599 near rows fail the rule; the list is widened until the far one is asked."""
    schema = Schema(
        tuple(Feature(name=n, kind="integer", low=0, high=1000) for n in "ab"), ("after.a + after.b >= 1000",)
    )
    data = np.column_stack([np.arange(1, 600), np.zeros(599)])
    problem = linear(schema, -0.5, {"a": 1}, np.vstack([data, [900, 900]]))
    got = NearestObservable().fit(problem).recommend(np.zeros((1, 2)))
    np.testing.assert_array_equal(got.after[0, 0], [900, 900])
    got = NearestObservable(pool=50).fit(problem).recommend(np.zeros((1, 2)), budget=30)
    assert got.outcome[0, 0] in (Outcome.FOUND, Outcome.NOT_FOUND)


def test_it_needs_people_whom_the_model_accepts(linear):
    schema = Schema((Feature(name="a", kind="integer", low=0, high=10),))
    with pytest.raises(ProblemError, match=r"Problem\(\.\.\., data=train\)"):
        NearestObservable().fit(linear(schema, -5, {"a": 1}))
    with pytest.raises(ProblemError, match="accepts nobody"):
        NearestObservable().fit(linear(schema, -5, {"a": 1}, np.zeros((3, 1))))
    with pytest.raises(MethodError, match="pool=0"):
        NearestObservable(pool=0)


# -- the kernel --------------------------------------------------------------------------------------------


def random_reach(rng, n, rows):
    """People and rows over numbers, an ordinal and two categories, with missing values, limits and frozen features."""
    x = np.column_stack([rng.normal(size=(n, 2)), rng.integers(0, 3, n), rng.integers(0, 4, (n, 2))]).astype(
        float
    )
    reference = np.column_stack(
        [rng.normal(size=(rows, 2)).round(1), rng.integers(0, 3, rows), rng.integers(0, 4, (rows, 2))]
    )
    reference = reference.astype(float)
    x[rng.random(x.shape) < 0.05] = np.nan
    reference[rng.random(reference.shape) < 0.05] = np.nan
    low, high = np.full(x.shape, -np.inf), np.full(x.shape, np.inf)
    low[:, 0], high[:, 1] = x[:, 0], rng.normal(size=n)
    level_ok = {2: rng.random((n, 3)) < 0.8, 3: rng.random((n, 4)) < 0.8, 4: rng.random((n, 4)) < 0.8}
    weight = rng.uniform(0.5, 2, x.shape)
    low = np.where(np.isnan(low), -np.inf, low)
    return Reach(x, rng.random(x.shape) < 0.8, low, high, weight, level_ok), reference


METRIC = NeighbourMetric(
    np.array([1.0, 0.5, 0.5, 1.0, 2.0]), np.array([3.0, 2.0, 1.0, 1.0, 2.0]), np.array([0, 0, 0, 1, 1], bool)
)


def slow_distance(reach, row, i, strict):
    """One person, one row, feature after feature, as the module says it."""
    total = 0.0
    for j, value in enumerate(row):
        own, ok = reach.x[i, j], reach.free[i, j]
        if j in reach.level_ok and not np.isnan(value):
            ok = ok and reach.level_ok[j][i, int(value)]
        if strict:
            if own == value or (np.isnan(own) and np.isnan(value)):
                continue
            if not (ok and reach.low[i, j] <= value <= reach.high[i, j]):
                return np.inf
            goal = value
        elif np.isnan(value) or not ok:
            continue
        else:
            goal = min(max(value, reach.low[i, j]), reach.high[i, j])
        if np.isnan(own):
            total += reach.weight[i, j] * METRIC.full[j]
        elif METRIC.categorical[j]:
            total += reach.weight[i, j] * METRIC.scale[j] * (goal != own)
        else:
            total += reach.weight[i, j] * METRIC.scale[j] * abs(goal - own)
    return total


@settings(max_examples=15)
@given(st.integers(0, 10_000), st.booleans())
def test_the_compiled_scan_its_twin_and_the_definition_agree(seed, strict):
    rng = np.random.default_rng(seed)
    reach, reference = random_reach(rng, 6, 40)
    fast = nearest(reach, reference, METRIC, 7, strict=strict)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neighbours, "jit", lambda: None)
        twin = nearest(reach, reference, METRIC, 7, strict=strict)
    np.testing.assert_array_equal(fast[0], twin[0])
    np.testing.assert_array_equal(fast[1], twin[1])
    for i in range(6):
        far = np.array([slow_distance(reach, row, i, strict) for row in reference])
        np.testing.assert_allclose(fast[1][i], np.sort(far)[:7], rtol=1e-12)
        known = fast[0][i] >= 0
        np.testing.assert_allclose(far[fast[0][i][known]], fast[1][i][known], rtol=1e-12)
        assert np.isinf(fast[1][i][~known]).all()
