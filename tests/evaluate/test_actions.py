"""Limits, redundancy, hard actions and closeness to a wish: section 5 of the evaluation specification."""

import numpy as np
import pytest

from wayforward.evaluate import actions
from wayforward.schema import Feature, Schema

UNIT = Schema(tuple(Feature(name=n, kind="real", low=0, high=1) for n in "ab"))
GUARDED = Schema(
    (
        Feature(name="age", kind="integer", low=18, high=90, actionability="immutable"),
        Feature(name="race", kind="categorical", levels=("x", "y", "z"), actionability="immutable"),
        Feature(name="pay", kind="real", low=0, high=100, direction="increase"),
        Feature(name="health", kind="real", low=0, high=1, actionability="mutable"),
    )
)
NONE = np.nan


def test_redundancy_example():
    """Factual [0, 0], counterfactual [1, 1], model x1 > .5: the second change is superfluous."""
    got = actions.redundancy(UNIT, np.zeros((1, 2)), np.ones((1, 2)), lambda rows: rows[:, 0] > 0.5)
    assert got.tolist() == [1.0]


def test_redundancy_batched_equals_loop():
    rng = np.random.default_rng(0)
    schema = Schema(tuple(Feature(name=f"f{j}", kind="real", low=0, high=1) for j in range(6)))
    before, after = rng.random((40, 6)), rng.random((40, 6))
    after[rng.random((40, 6)) < 0.4] = before[0, 0]
    after[:, 2] = before[:, 2]
    weight = rng.normal(size=6)

    def reached(rows):
        return rows @ weight > 0.2

    want = []
    for x, c in zip(before, after, strict=True):
        spare = 0
        for j in range(6):
            if abs(x[j] - c[j]) > 1e-5:
                back = c.copy()
                back[j] = x[j]
                spare += bool(reached(back[None])[0])
        want.append(spare)
    for chunk in (7, 100_000):
        got = actions.redundancy(schema, before, after, reached, chunk=chunk)
        assert got.tolist() == want


def test_redundancy_with_acts_works_out_what_follows_anew():
    """Acting on a raises b as well: taking the act on a back takes its consequence back too."""

    def consequences(before, action):
        after = np.where(np.isnan(action), before, action)
        after[:, 1] = np.where(
            np.isnan(action[:, 1]), before[:, 1] + after[:, 0] - before[:, 0], action[:, 1]
        )
        return after

    before, action = np.zeros((1, 2)), np.array([[1.0, 1.0]])
    after = consequences(before, action)
    reached = lambda rows: rows[:, 1] > 0.5  # noqa: E731
    got = actions.redundancy(UNIT, before, after, reached, action=action, consequences=consequences)
    assert got.tolist() == [2.0]  # either act alone suffices
    with pytest.raises(ValueError, match="both action and consequences"):
        actions.redundancy(UNIT, before, after, reached, action=action)


def test_violations_block_level():
    """A changed race is one violation, not one per one-hot column; direction and range stand apart."""
    before = np.array([[30.0, 0, 50, 0.5]])
    after = np.array([[31.0, 2, 40, 1.5]])
    got = actions.violations(GUARDED, before, after)
    assert {k: v[0] for k, v in got.items()} == {"immutables": 2, "direction": 1, "range": 1}


def test_violations_of_an_act_on_what_only_follows():
    before = np.array([[30.0, 0, 50, 0.5]])
    action = np.array([[NONE, NONE, NONE, 0.8]])
    after = np.array([[30.0, 0, 50, 0.8]])
    assert actions.violations(GUARDED, before, after, action)["acted"][0] == 1


def test_a_row_not_found_has_no_violations_and_no_redundancy_value():
    gone = np.full((1, 4), NONE)
    before = np.array([[30.0, 0, 50, 0.5]])
    assert all(np.isnan(v[0]) for v in actions.violations(GUARDED, before, gone).values())
    assert np.isnan(actions.redundancy(GUARDED, before, gone, lambda r: np.ones(len(r), bool))[0])


def test_unknown_levels_fractions_and_infinities_are_out_of_domain():
    rows = np.array([[30.5, 0, 50, 0.5], [30, 3, 50, 0.5], [30, -1, 50, 0.5], [30, 0, np.inf, NONE]])
    want = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1]]
    assert actions.out_of_domain(GUARDED, rows).astype(int).tolist() == want


def test_hap_single_feature_is_one():
    action = np.array([[0.5, NONE], [0.2, NONE]])
    may_act = np.array([[True, False], [True, False]])
    got = actions.hard_action(action, np.array([[1.0, 9.0], [3.0, 9.0]]), may_act)
    assert got.tolist() == [1.0, 1.0]


def test_hap_compares_with_the_hardest_thing_the_person_could_act_on_and_ties_count():
    score = np.array([[1.0, 5.0], [5.0, 5.0], [1.0, 5.0]])
    action = np.array([[0.5, NONE], [0.5, NONE], [NONE, NONE]])
    got = actions.hard_action(action, score, np.ones((3, 2), bool))
    np.testing.assert_array_equal(got, [0.0, 1.0, NONE])
    got = actions.hard_action(action, score, np.ones((3, 2), bool), absolute=1.0)
    np.testing.assert_array_equal(got, [1.0, 1.0, NONE])


def test_gtd_parallel_zero():
    x = np.zeros((3, 2))
    after = np.array([[0.2, 0.2], [0.0, 0.0], [0.3, -0.0]])
    wanted = np.array([[0.4, 0.4], [0.4, 0.4], [0.0, 0.4]])
    gtp, gtd = actions.ground_truth(UNIT, x, after, wanted)
    np.testing.assert_allclose(gtd, [0.0, 1.0, 1.0], atol=1e-12)
    assert gtp[0] == pytest.approx(np.hypot(0.2, 0.2))


def test_optimality_gap_needs_both():
    got = actions.optimality_gap(np.array([1.2, np.inf, 2.0, 0.0]), np.array([1.0, 1.0, np.nan, 0.0]))
    np.testing.assert_allclose(got, [0.2, NONE, NONE, 0.0])


def test_regret_is_the_extra_cost_in_the_persons_own_terms():
    np.testing.assert_allclose(actions.regret(np.array([3.0, np.inf]), np.array([2.0, 1.0])), [1.0, NONE])


def test_acted_and_changed_downstream():
    before = np.array([[30.0, 0, 50, 0.5]])
    action = np.array([[NONE, NONE, 60.0, NONE]])
    after = np.array([[30.0, 0, 60, 0.7]])
    acted, downstream = actions.acted_and_changed(GUARDED, before, action, after)
    assert (acted[0], downstream[0]) == (1, 1)


def test_nobody_asked_is_not_the_hardest():
    """NaN scores are features that nobody asked about; without any score there is no hap."""
    action = np.array([[1.0, np.nan], [1.0, np.nan], [1.0, np.nan]])
    score = np.array([[2.0, np.nan], [np.nan, 1.0], [np.nan, np.nan]])
    got = actions.hard_action(action, score, np.ones((3, 2), dtype=bool))
    np.testing.assert_array_equal(got, [1.0, 0.0, np.nan])


def test_a_code_that_is_a_state_is_within_the_domain():
    """-7 says that there was none; it is no number below the bounds."""
    schema = Schema((Feature(name="late", kind="integer", low=0, high=59, special={-7: "never"}),))
    assert actions.out_of_domain(schema, np.array([[-7.0], [3.0], [-8.0]]))[:, 0].tolist() == [
        False,
        False,
        True,
    ]
