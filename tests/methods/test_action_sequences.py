"""action-sequences: acts that make others possible or cheaper, beside the enumeration of every order."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from wayforward import Feature, Outcome, Problem, Recourse, Schema, Target, recommend, wrap
from wayforward.answers.letters import letter
from wayforward.errors import FileFormatError, MethodError, SchemaError
from wayforward.methods.action_sequences import ActionSequences
from wayforward.preferences import Preferences
from wayforward.problem import with_room
from wayforward.schema.acts import ActModel, PlannedAct
from wayforward.testing import MethodContract

CAREER = """
- name: get a degree
  sets: {education: degree}
  needs: ["before.age <= 50"]
  cost: 3
  months: 30
- name: take the better job
  adds: {income: 1500}
  needs: ["before.education == 'degree'"]
  cost: 1
  months: 2
- name: save
  moves: savings
  by: [100, 10000]
"""
SCHEMA = Schema(
    (
        Feature(name="age", kind="integer", low=18, high=80, actionability="immutable"),
        Feature(name="education", kind="ordinal", levels=("none", "school", "degree"), direction="increase"),
        Feature(name="income", kind="integer", low=0, high=9000, unit="EUR/month"),
        Feature(name="savings", kind="integer", low=0, high=50_000, unit="EUR"),
    )
)


class TestContract(MethodContract):
    method = "action-sequences"
    parameters = {"most": 3}
    finds = 0.5


def problem_of(score, schema=SCHEMA, **more):
    """Accept people whose score is above zero; everybody may ask for the score."""

    def probability(rows):
        return 1 / (1 + np.exp(-np.clip(score(rows), -30, 30)))

    return Problem(schema, wrap(probability, schema), Target(1), **more)


def earns(rows):
    return rows[:, 2] / 1000 - 3.5 + rows[:, 3] / 1e6


def test_a_degree_comes_before_the_promotion():
    """Neither act alone turns the decision, the job needs the degree, and saving is far too little."""
    problem = problem_of(earns)
    people = np.array([[30.0, 1, 2500, 0], [60.0, 1, 2500, 0], [30.0, 2, 2500, 0], [30.0, 0, 1900, 0]])
    got = recommend(problem, people, method=ActionSequences(ActModel.from_yaml(CAREER, SCHEMA)))
    assert got.steps[:, 0].tolist() == ["get a degree\ntake the better job", "", "take the better job", ""]
    assert [o is Outcome.FOUND for o in got.outcome[:, 0]] == [True, False, True, False]
    np.testing.assert_array_equal(got.path[0, 0, :2], [[30, 2, 2500, 0], [30, 2, 4000, 0]])
    assert np.isnan(got.path[0, 0, 2:]).all()
    np.testing.assert_array_equal(got.months[[0, 2], 0], [32, 2])
    alone = recommend(problem, people[:1], method=ActionSequences(ActModel.from_yaml(CAREER, SCHEMA), most=1))
    assert not alone.found.any()


def test_deadlines_limits_and_frozen_features_hold_on_the_way():
    schema = SCHEMA.revise(education={"delay": 12})  # a degree takes longer than other schools
    problem, acts = problem_of(earns, schema), ActModel.from_yaml(CAREER, schema)
    people = np.repeat([[30.0, 1, 2500, 0]], 5, axis=0)
    wishes = Preferences.none(schema, 5).freeze("education", who=[1]).limit("income", high=3900, who=[2])
    wishes = wishes.within(31, who=[3]).within(32, who=[4])
    got = recommend(problem, people, method=ActionSequences(acts), preferences=wishes)
    assert got.found[:, 0].tolist() == [True, False, False, False, True]


def test_what_eases_comes_first():
    """A halves B: in this order both cost 1 + 2 = 3 instead of 5; without the discount every order costs the same."""
    schema = Schema(tuple(Feature(name=name, kind="integer", low=0, high=9) for name in "ab"))
    problem = problem_of(lambda rows: np.minimum(rows[:, 0], rows[:, 1]) - 2.5, schema)
    acts = [
        PlannedAct("learn", sets={"a": 3}, cost=1, eases={"build": 0.5}),
        PlannedAct("build", sets={"b": 3}, cost=4),
    ]
    found = ActionSequences(ActModel(acts, schema))
    assert recommend(problem, np.zeros((1, 2)), method=found).steps[0, 0] == "learn\nbuild"
    turned = [
        PlannedAct("learn", sets={"a": 3}, cost=1),
        PlannedAct("build", sets={"b": 3}, cost=4, eases={"learn": 0.5}),
    ]
    assert recommend(problem, np.zeros((1, 2)), method=ActionSequences(ActModel(turned, schema))).steps[
        0, 0
    ] == ("build\nlearn")


@pytest.mark.parametrize("seed", range(12))
def test_the_cheapest_of_every_order(seed):
    """All sequences of at most three of five acts, each carried out plainly, one person after another."""
    rng = np.random.default_rng(seed)
    schema = Schema(tuple(Feature(name=f"x{j}", kind="integer", low=0, high=6) for j in range(4)))
    acts = []
    for a in range(5):
        j, other = rng.choice(4, 2, replace=False)
        change = (
            {"sets": {f"x{j}": int(rng.integers(1, 7))}}
            if a % 2
            else {"adds": {f"x{j}": int(rng.integers(1, 4))}}
        )
        needs = () if rng.random() < 0.4 else (f"before.x{other} >= {rng.integers(0, 4)}",)
        acts.append(PlannedAct(f"act {a}", needs=needs, cost=float(rng.integers(1, 9)), **change))
    acts = [
        PlannedAct(a.name, sets=a.sets, adds=a.adds, needs=a.needs, cost=a.cost, eases={f"act {i % 5}": 0.5})
        for i, a in enumerate(acts, start=1)
    ]
    weight = rng.normal(size=4) + 0.5
    problem = problem_of(lambda rows: rows @ weight - 5.05, schema)
    people = rng.integers(0, 3, (20, 4)).astype(float)
    people = people[~problem.reached(people)[0]]
    method = ActionSequences(ActModel(acts, schema), most=3)
    got = recommend(problem, people, method=method, minimal=False)
    for i, x in enumerate(people):
        best = min(
            plainly(problem, acts, order, x)
            for r in (1, 2, 3)
            for order in itertools.permutations(range(5), r)
        )
        steps = got.steps[i, 0].split("\n")
        mine = plainly(problem, acts, [int(name[-1]) for name in steps], x) if got.found[i, 0] else np.inf
        assert mine == pytest.approx(best)


def plainly(problem, acts, order, x):
    """What a sequence costs; inf where it cannot be carried out or the answer stays no."""
    state, spent, done = x.copy(), 0.0, []
    for a in order:
        act, now = acts[a], state.copy()
        for name, amount in act.adds.items():
            now[int(name[1])] += amount
        for name, value in act.sets.items():
            now[int(name[1])] = value
        for need in act.needs:
            column, least = need.removeprefix("before.x").split(" >= ")
            if state[int(column)] < int(least):
                return np.inf
        if (now == state).all() or (now > 6).any():
            return np.inf
        factor = np.prod([acts[e].eases.get(act.name, 1.0) for e in done])
        state, spent, done = now, spent + act.cost * factor, [*done, a]
    return spent if problem.reached(state[None])[0][0] else np.inf


def test_how_far_an_act_goes_is_taken_back():
    """A line: the least savings that are enough, whatever the grid."""
    problem = problem_of(lambda rows: rows[:, 3] - 1234.5)
    acts = ActModel(
        [
            PlannedAct("save", moves="savings", by=(100, 5000)),
            PlannedAct("spend", moves="savings", by=(None, -1)),
        ],
        SCHEMA,
    )
    got = recommend(problem, np.array([[30.0, 1, 0, 0], [30, 1, 0, 1200]]), method=ActionSequences(acts))
    np.testing.assert_array_equal(got.action[:, 0, 3], [1235, 1300])


def test_answers_are_those_of_a_person_alone_and_of_files(tmp_path):
    problem, acts = problem_of(earns), ActModel.from_yaml(CAREER, SCHEMA)
    rng = np.random.default_rng(0)
    people = np.stack(
        [
            rng.integers(20, 70, 30),
            rng.integers(0, 3, 30),
            rng.integers(1500, 3400, 30),
            rng.integers(0, 9000, 30),
        ],
        1,
    )
    method = ActionSequences(acts)
    got = recommend(problem, people.astype(float), method=method, k=2)
    for i in range(5):
        one = recommend(problem, people[[i]].astype(float), method=method, k=2)
        np.testing.assert_array_equal(one.action[0], got.action[i])
        assert one.steps[0].tolist() == got.steps[i].tolist()
    for name in ("answers.json", "answers.parquet"):
        got.save(tmp_path / name)
        read = Recourse.load(tmp_path / name)
        assert read.steps.tolist() == got.steps.tolist()
        np.testing.assert_array_equal(read.path, got.path)
    assert ActModel.from_yaml(CAREER, SCHEMA).to_plain() == got.meta["parameters"]["acts"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("- {sets: {education: degree}}", "without a name"),
        ("- {name: a, sets: {educaton: degree}}", "Did you mean 'education'"),
        ("- {name: a, sets: {age: 40}}", "nobody may act on"),
        ("- {name: a, sets: {education: master}}", "to 'master', which is no legal value"),
        ("- {name: a, moves: savings, by: [5, 1]}", "the least and the most"),
        ("- {name: a, moves: savings, cost: -1}", "cost=-1"),
        ("- {name: a}", "changes nothing"),
        ("- {name: a, moves: savings, adds: {savings: 3}}", "in two ways"),
        ("- {name: a, moves: savings, eases: {b: 0.5}}", "is no act"),
        ("- {name: a, moves: savings, cots: 3}", "Did you mean 'cost'"),
        ("- {name: a, moves: savings}\n- {name: a, moves: income}", "Two acts are called"),
        ("- {name: a, moves: savings, needs: 3}", "wrong form"),
        ("3\n", "is no list of acts"),
        ("[]\n", "There are no acts"),
    ],
)
def test_faulty_acts_are_named(text, says):
    with pytest.raises((SchemaError, FileFormatError), match=says):
        ActModel.from_yaml(text + "\n", SCHEMA)


def test_what_is_no_set_of_acts_is_refused():
    with pytest.raises(MethodError, match="Give an ActModel"):
        ActionSequences(acts=["save"])


def test_steps_are_told_in_order_and_in_the_language_in_use(tmp_path):
    problem = problem_of(earns)
    got = recommend(
        problem, np.array([[30.0, 1, 2500, 0]]), method=ActionSequences(ActModel.from_yaml(CAREER, SCHEMA))
    )
    text = got.explain(0)
    assert "Step by step: 1. get a degree; 2. take the better job." in text and "about 32 months" in text
    assert "side by side" not in text
    assert "Schritt für Schritt: 1. get a degree" in got.explain(0, language="de")
    assert "Step by step: 1. get a degree" in letter(problem, got, 0)


def test_what_acts_lead_to_is_not_rounded_beyond_what_they_do():
    """The job pays 1,500 more and no more, and its months are those of the acts."""
    problem = problem_of(earns)
    got = recommend(
        problem, np.array([[30.0, 1, 2511, 0]]), method=ActionSequences(ActModel.from_yaml(CAREER, SCHEMA))
    )
    for told in (got.rounded, with_room(got, most=0.5), with_room(got, most=0.5).rounded):
        np.testing.assert_array_equal(told.action, [[[np.nan, 2, 4011, np.nan]]])
        assert told.months[0, 0] == 32
        np.testing.assert_array_equal(told.path[0, 0, 1], told.after[0, 0])
    assert "to 4,011" in got.explain(0) and "about 32 months" in got.explain(0)


def test_people_alike_with_other_wishes_have_their_own_acts():
    ways = [
        PlannedAct("slow course", sets={"education": "degree"}, cost=1, months=30),
        PlannedAct("fast course", sets={"education": "degree"}, cost=3, months=6),
    ]
    problem, method = problem_of(lambda rows: rows[:, 1] - 1.5), ActionSequences(ActModel(ways, SCHEMA))
    people = np.array([[30.0, 0, 1000, 0]] * 2)
    wishes = replace(Preferences.none(SCHEMA, 2), months=np.array([np.inf, 10.0]))
    got = recommend(problem, people, method=method, preferences=wishes)
    assert got.steps[:, 0].tolist() == ["slow course", "fast course"]
    assert got.months[:, 0].tolist() == [30, 6]


def test_taking_one_act_back_leads_no_later_one_too_far():
    schema = Schema((Feature(name="savings", kind="integer", low=0, high=4000),))
    acts = [PlannedAct(name, moves="savings", by=(1, 500), cost=0.1) for name in ("save", "save more")]
    got = recommend(
        problem_of(lambda rows: rows[:, 0] - 899.5, schema),
        np.array([[0.0], [77.0], [300.0]]),
        method=ActionSequences(ActModel(acts, schema)),
    )
    assert got.found.all()
    steps = np.diff(np.concatenate([got.x[:, None], got.path[:, 0, :2]], axis=1)[:, :, 0], axis=1)
    assert (steps >= 1).all() and (steps <= 500).all()


@pytest.mark.parametrize("ending", ["json", "parquet"])
def test_answers_that_are_judged_again_keep_their_acts(tmp_path, ending):
    problem, people = problem_of(earns), np.array([[30.0, 1, 2511, 0], [30, 2, 2600, 0]])
    method = ActionSequences(ActModel.from_yaml(CAREER, SCHEMA))
    got = recommend(problem, people, method=method, k=2)
    again = Recourse.load(got.save(tmp_path / f"answers.{ending}"), problem=problem)
    assert (
        again.steps.tolist() == got.steps.tolist()
        and again.steps[0, 0] == "get a degree\ntake the better job"
    )
    np.testing.assert_array_equal(again.months[got.found], got.months[got.found])
    np.testing.assert_array_equal(again.path, got.path)
    assert again.explain(0) == got.explain(0)


@pytest.mark.parametrize("seed", range(3))
def test_no_sequence_holds_an_act_that_can_be_left_out(seed):
    """Every option less one of its acts, carried out plainly: it can no longer be done, turns nothing, or is dearer."""
    rng = np.random.default_rng(seed)
    schema = Schema(tuple(Feature(name=name, kind="integer", low=0, high=9) for name in "abc"))
    weight, bar = rng.uniform(0.5, 1.5, 3), rng.uniform(6, 9)
    problem = problem_of(lambda rows: rows @ weight - bar, schema)
    acts = ActModel(
        [
            PlannedAct("a", moves="a", cost=1),
            PlannedAct("b", sets={"b": 8}, needs=["before.a >= 2"], cost=2),
            PlannedAct("c", moves="c", cost=1.5),
        ],
        schema,
    )
    people = rng.integers(0, 3, (6, 3)).astype(float)
    found = ActionSequences(acts).fit(problem)
    padded, left = found.recommend(people, 4, minimal=False), found.recommend(people, 4)

    def spare(got):
        out = 0
        for i, o in zip(*np.nonzero(got.found), strict=True):
            names, set_to = got.steps[i, o].split("\n"), got.action[i, o]
            for name in names if len(names) > 1 else ():
                row, able = people[i].copy(), True
                for other in (other for other in names if other != name):
                    able &= other != "b" or row[0] >= 2
                    row["abc".index(other)] = set_to["abc".index(other)]
                out += able and row @ weight > bar
        return out

    assert left.found[:, 0].all()
    assert spare(padded) > 0 == spare(left)
    again = found.recommend(people, 4, minimal=True)
    np.testing.assert_array_equal(again.steps, left.steps)
