"""The judge: what counts as found, in whose eyes, and what is never lost."""

from __future__ import annotations

import numpy as np
import pytest

from wayforward.errors import DataError, ModelError, PreferencesError, ProblemError
from wayforward.evaluate import evaluate_rows
from wayforward.model import wrap
from wayforward.preferences import Preferences
from wayforward.problem import Domain, LpMix, Neighbours, Problem, Target
from wayforward.recourse import Outcome
from wayforward.schema import Feature, Schema
from wayforward.world import SCM

SCHEMA = Schema(
    (
        Feature(name="salary", kind="integer", low=0, high=200_000, unit="USD"),
        Feature(name="savings", kind="integer", low=0, high=200_000, unit="USD"),
        Feature(name="age", kind="integer", low=18, high=90, actionability="immutable"),
        Feature(name="job", kind="categorical", levels=("a", "b", "c")),
    )
)


def lender(rows):
    """Accept when salary + 5 savings reaches 225,000 (Karimi et al. 2021, arXiv:2002.06278)."""
    return (rows[:, 0] + 5 * rows[:, 1] >= 225_000).astype(int)


def problem(schema=SCHEMA, **more):
    return Problem(schema, wrap(lender, schema, output="label", classes=(0, 1)), Target(1), **more)


PERSON = np.array([[75_000.0, 25_000.0, 40.0, 0.0]])


def act(**values):
    action = np.full((1, 1, 4), np.nan)
    for name, value in values.items():
        action[0, 0, SCHEMA.index(name)] = value
    return action


def outcome(it, action, **more):
    return it.check(PERSON, action, **more).outcome[0, 0]


def test_the_loan_example_of_karimi_schoelkopf_and_valera():
    """A raise of 10,000 also saves 3,000: enough together. Without consequences it is not."""
    world = SCM({"salary": "u", "savings": "0.3 * salary + u"})
    got = problem(world=world).check(PERSON, act(salary=85_000))
    assert got.outcome[0, 0] is Outcome.FOUND
    np.testing.assert_allclose(got.after[0, 0], [85_000, 28_000, 40, 0])
    np.testing.assert_allclose(got.cost[0, 0], 10_000 / 200_000)  # the cost of the act, not of what follows
    assert outcome(problem(), act(salary=85_000)) is Outcome.NOT_FOUND
    assert outcome(problem(), act(salary=100_000)) is Outcome.FOUND
    assert outcome(problem(), act(savings=30_000)) is Outcome.FOUND


@pytest.mark.parametrize(
    "action",
    [
        act(savings=30_000, age=41),  # immutable
        act(savings=30_000.5),  # off the lattice
        act(savings=250_000),  # out of bounds
        act(savings=30_000, job=1.5),  # no such level
        act(savings=29_999),  # does not turn the decision
        act(),  # nothing
    ],
)
def test_what_is_not_found(action):
    assert outcome(problem(), action) is Outcome.NOT_FOUND


def test_directions_rules_and_wishes_are_judged():
    schema = SCHEMA.revise(savings={"direction": "decrease"})
    assert outcome(problem(schema), act(savings=30_000)) is Outcome.NOT_FOUND
    ruled = SCHEMA.with_rules("after.savings <= before.savings + 1000")
    assert outcome(problem(ruled), act(savings=30_000)) is Outcome.NOT_FOUND
    assert outcome(problem(ruled), act(salary=100_000)) is Outcome.FOUND
    for wish in (
        Preferences.none(SCHEMA, 1).freeze("savings"),
        Preferences.none(SCHEMA, 1).limit("savings", high=29_000),
        Preferences.none(SCHEMA, 1).forbid("job", "b"),
        Preferences.none(SCHEMA, 1).at_most(1),
    ):
        assert outcome(problem(), act(savings=30_000, job=1), preferences=wish) is Outcome.NOT_FOUND
        assert outcome(problem(), act(savings=30_000, job=1)) is Outcome.FOUND


def test_a_linkage_drags_and_may_lead_out_of_the_schema():
    schema = SCHEMA.with_rules("salary drags savings by 0.3")
    got = problem(schema).check(PERSON, act(salary=85_000))
    assert got.outcome[0, 0] is Outcome.FOUND and got.after[0, 0, 1] == 28_000
    fixed = SCHEMA.revise(savings={"actionability": "immutable"}).with_rules("salary drags savings by 0.3")
    assert outcome(problem(fixed), act(salary=100_000)) is Outcome.NOT_FOUND


def test_plausibility_counts_only_where_the_problem_asks_for_it():
    people = np.column_stack([np.linspace(60_000, 150_000, 60), np.linspace(20_000, 40_000, 60)])
    data = np.column_stack([people.round(), np.full(60, 40.0), np.zeros(60)])
    odd = act(salary=0, savings=200_000)
    assert outcome(problem(data=data), odd) is Outcome.FOUND
    assert outcome(problem(data=data, plausibility=Domain()), odd) is Outcome.FOUND
    assert outcome(problem(data=data, plausibility=Neighbours()), odd) is Outcome.NOT_FOUND


def test_options_are_distinct_sorted_and_cut_to_k():
    costs = [40_000, 31_000, 31_000, 30_000]
    action = np.concatenate([act(savings=v) for v in costs], axis=1)
    got = problem().check(PERSON, action, k=3)
    assert got.action[0, :, 1].tolist() == [30_000, 31_000, 40_000]
    assert (np.diff(got.cost[0]) > 0).all()
    assert problem().check(PERSON, action, k=2).k == 2
    wide = problem().check(PERSON, action[:, :1], k=3)
    assert wide.outcome[0].tolist() == [Outcome.FOUND, Outcome.NOT_FOUND, Outcome.NOT_FOUND]
    assert np.isnan(wide.action[0, 1:]).all() and np.isinf(wide.cost[0, 1:]).all()


def test_setting_a_value_that_is_there_is_no_act_unless_something_else_moves():
    got = problem().check(PERSON, act(savings=30_000, job=0))
    assert np.isnan(got.action[0, 0, 3])
    world = SCM({"salary": "u", "savings": "0.3 * salary + u"})
    held = problem(world=world).check(PERSON, act(salary=100_000, savings=25_000))
    assert held.after[0, 0].tolist() == [100_000, 25_000, 40, 0]


def test_the_accepted_stay_as_they_are():
    rich = np.array([[225_000.0 - 25_000, 30_000, 40, 0]])
    got = problem().check(rich, act(savings=60_000))
    assert got.outcome[0, 0] is Outcome.ACCEPTED and got.cost[0, 0] == 0
    assert got.after[0, 0].tolist() == rich[0].tolist() and np.isnan(got.action[0, 0]).all()


def test_a_proof_does_not_hide_an_option_and_weights_count():
    it = problem()
    assert outcome(it, act(savings=29_000), proved=np.array([True])) is Outcome.NONE_EXISTS
    assert outcome(it, act(savings=30_000), proved=np.array([True])) is Outcome.FOUND
    heavy = Preferences.none(SCHEMA, 1).weigh(savings=3.0)
    got = it.check(PERSON, act(savings=30_000), preferences=heavy)
    np.testing.assert_allclose(got.cost[0, 0], 3 * 5_000 / 200_000)


def test_problems_check_their_parts(unchecked_shapes):
    model = wrap(lender, SCHEMA, output="label", classes=(0, 1))
    with pytest.raises(ProblemError, match="Schema.infer"):
        Problem("schema", model, Target(1))
    with pytest.raises(ProblemError, match="Target\\(favourable=1\\)"):
        Problem(SCHEMA, model, 1)
    with pytest.raises(ProblemError, match="no class 7"):
        Problem(SCHEMA, model, Target(7))
    with pytest.raises(ProblemError, match="another schema"):
        Problem(SCHEMA.drop("job"), model, Target(1))
    with pytest.raises(ProblemError, match="data=train"):
        _ = Problem(SCHEMA, model, Target(1)).reference_accepted
    with pytest.raises(DataError, match="check needs people"):
        problem().check(PERSON, np.zeros((2, 1, 4)))
    with pytest.raises(PreferencesError, match="one row for each person"):
        problem().population(PERSON, Preferences.none(SCHEMA, 2))


@pytest.mark.parametrize("answer", [lambda rows: np.zeros((3, 2)), lambda rows: np.full(len(rows), np.nan)])
def test_a_model_that_answers_nonsense_is_named(answer):
    with pytest.raises(ModelError, match="for each row|nan|NaN|number"):
        it = Problem(SCHEMA, wrap(answer, SCHEMA, classes=(0, 1)), Target(1))
        it.check(PERSON, act(savings=30_000))


def test_cost_and_reach_follow_the_person():
    it = problem(SCHEMA.revise(salary={"direction": "increase"}), cost=LpMix(l0=1, l1=0))
    people = it.population(PERSON, Preferences.none(SCHEMA, 1).limit("savings", high=50_000))
    assert (people.low[0, 0], people.high[0, 1]) == (75_000, 50_000)
    assert people.free[0].tolist() == [True, True, False, True]
    who = np.zeros(1, dtype=np.int64)
    snapped = people.snap(who, np.array([[10_000.0, 70_000.4, 50.0, 1.0]]))
    np.testing.assert_array_equal(snapped, [[75_000.0, 50_000.0, np.nan, 1.0]])
    assert people.cost(who, np.array([[80_000.0, 50_000.0, np.nan, np.nan]]))[0] == 2


def test_missing_values_stay_or_are_filled_by_acting():
    schema = SCHEMA.revise(savings={"missing": True})
    model = wrap(
        lambda rows: (rows[:, 0] + 5 * np.nan_to_num(rows[:, 1]) >= 225_000).astype(int),
        schema,
        output="label",
        classes=(0, 1),
    )
    it = Problem(schema, model, Target(1))
    person = np.array([[75_000.0, np.nan, 40, 0]])
    found = it.check(person, act(savings=30_000))
    assert found.outcome[0, 0] is Outcome.FOUND and np.isfinite(found.cost[0, 0])
    other = it.check(person, np.where(np.isnan(act()), np.nan, 0))
    assert other.outcome[0, 0] is Outcome.NOT_FOUND


def test_a_step_binds_what_people_set_not_what_follows():
    """Pay rises in steps of 250 when somebody asks for it; what a degree brings need not be a multiple of it."""
    schema = Schema(
        (
            Feature(name="years", kind="integer", low=0, high=20),
            Feature(name="pay", kind="real", low=0, high=9000, step=250),
        )
    )
    model = wrap(lambda rows: (rows[:, 1] > 2080).astype(int), schema, output="label", classes=(0, 1))
    world = SCM({"years": "u", "pay": "1000 + 42.2 * years + u"})
    x = np.array([[10.0, 2000.0]])
    problem = Problem(schema, model, Target(favourable=1), data=x, world=world)
    follows = problem.check(x, np.array([[[12.0, np.nan]]]))
    assert follows.found[0, 0]
    np.testing.assert_allclose(follows.after[0, 0], [12.0, 2084.4])
    assert evaluate_rows(x, follows.after, problem, action=follows.action).usable == 1.0
    assert not problem.check(x, np.array([[[np.nan, 2084.4]]])).found.any()


def test_with_another_schema_ranges_are_measured_anew():
    """Nothing that hangs on the schema is left over in the copy."""
    schema = Schema(
        (Feature(name="a", kind="real", low=0, high=9), Feature(name="b", kind="real", low=0, high=1))
    )
    wider = schema.revise(a={"high": 18})
    it = Problem(schema, wrap(lambda rows: rows[:, 1], schema, output="probability"), Target(1))
    np.testing.assert_array_equal(it.range_widths, [9, 1])
    np.testing.assert_array_equal(it.with_(schema=wider).range_widths, [18, 1])
