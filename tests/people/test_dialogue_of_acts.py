"""A dialogue whose plans are acts one after another: each can be carried out, and an act can be refused."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest

import wayforward as wf
from wayforward.errors import DialogueError, PreferencesError, ReplyError
from wayforward.language import use_language
from wayforward.methods.action_sequences import ActionSequences
from wayforward.methods.engines.act_search import GoalSearch
from wayforward.people.dialogue import Dialogue
from wayforward.preferences import Preferences, on_behalf
from wayforward.schema import Feature, Schema
from wayforward.schema.acts import ActModel, PlannedAct

ACTS = """
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
- name: work abroad
  adds: {income: 1600}
  cost: 9
  months: 3
- name: put money aside
  moves: savings
  by: [100, 10000]
  months: 12
"""
SCHEMA = Schema(
    (
        Feature(name="age", kind="integer", low=18, high=80, actionability="immutable"),
        Feature(name="education", kind="ordinal", levels=("none", "school", "degree"), direction="increase"),
        Feature(name="income", kind="integer", low=0, high=9000, unit="EUR/month"),
        Feature(name="savings", kind="integer", low=0, high=50_000, unit="EUR"),
    )
)
PERSON = np.array([30.0, 1, 2500, 0])


def asked(needed: float = 3.5) -> wf.Problem:
    model = wf.wrap(
        lambda rows: (rows[:, 2] / 1000 + rows[:, 3] / 1e6 > needed).astype(int), SCHEMA, output="label",
        classes=(0, 1),
    )  # fmt: skip
    return wf.Problem(SCHEMA, model, wf.Target(1), data=np.array([PERSON, [40.0, 2, 6000, 9000]]))


def talk(**more) -> Dialogue:
    return Dialogue(asked(), PERSON, **{"acts": ACTS, "questionnaire": None, **more})


def test_each_plan_is_acts_in_order_with_their_time():
    dialogue = talk()
    question = dialogue.ask()
    assert question.plan.steps[1] == "Raise your income from 2,500 to 4,000 EUR/month."
    assert question.plan.follows == (
        "Step by step: 1. get a degree; 2. take the better job.", "This takes about 32 months.",
    )  # fmt: skip
    question = dialogue.answer("no")
    assert question.plan.follows == ("What to do: work abroad.", "This takes about 3 months.")
    dialogue.answer("yes")
    assert dialogue.plan.steps[0, 0] == "work abroad" and dialogue.plan.months[0, 0] == 3
    assert "This takes about 3 months." in dialogue.export()


def test_an_act_that_is_refused_is_in_no_plan():
    """The job needs the degree, so both are gone; with nothing left, each is named as what would have to give."""
    dialogue = talk()
    question = dialogue.answer("I cannot do this: get a degree")
    assert question.notes[0] == "Noted. You cannot do this: get a degree."
    assert question.plan.follows[0] == "What to do: work abroad."
    question = dialogue.answer("can't work abroad")
    assert question.stage == "reconsider"
    assert [option.text for option in question.options[:-1]] == ["Work abroad.", "Get a degree."]
    assert dialogue.preferences.refused.keys() == {"get a degree", "work abroad"}
    question = dialogue.answer("1")
    assert question.plan.follows[0] == "What to do: work abroad."
    assert dialogue.undo().stage == "reconsider"
    dialogue.answer("none")
    assert dialogue.end.limits == ("You cannot do this: get a degree; work abroad.",)


def test_limits_of_features_and_deadlines_hold_for_acts():
    assert talk().answer("cannot change my education").plan.follows[0] == "What to do: work abroad."
    assert talk().answer("within 6 months").plan.follows[0] == "What to do: work abroad."
    assert talk().answer({"cannot": "get a degree"}).plan.follows[0] == "What to do: work abroad."
    assert talk().answer("income at most 4,050").stage == "plan"  # the degree and the job, still
    assert talk(preferences=Preferences.none(SCHEMA, 1).refuse("get a degree")).ask().plan.follows[0] == (
        "What to do: work abroad."
    )


def test_a_state_holds_the_acts(tmp_path):
    dialogue = talk(file=tmp_path / "state.json")
    dialogue.answer("I cannot do this: get a degree")
    json.dumps(dialogue.to_dict(), allow_nan=False)
    again = Dialogue.load(tmp_path / "state.json", asked())
    assert again.ask() == dialogue.ask() and [q.id for q, _ in again.replay()] == [
        q.id for q, _ in dialogue.replay()
    ]
    again.answer("yes")
    assert again.plan.steps[0, 0] == "work abroad"
    on = Dialogue.load(tmp_path / "state.json", asked(4.3), changed="continue")  # no act is enough now
    assert on.ended == "accepted" or on.ask().stage == "reconsider" or on.end.how == "none"


def test_an_act_that_can_go_any_way_is_told_in_round_numbers():
    """An amount that may be anything is rounded; acts of a fixed size lead where they lead."""
    dialogue = Dialogue(
        asked(2.503701), PERSON, acts=ACTS[ACTS.index("- name: put money") :], questionnaire=None
    )
    plan = dialogue.ask().plan
    assert 3701 < plan.action[3] <= 3776 and plan.action[3] % 50 == 0
    assert plan.follows[0] == "What to do: put money aside."
    again = Dialogue.from_dict(dialogue.problem, json.loads(json.dumps(dialogue.to_dict())))
    assert again.ask().plan == plan
    dialogue.answer("yes")
    assert dialogue.plan.action[0, 0, 3] == plan.action[3] and dialogue.plan.steps[0, 0] == "put money aside"


def test_acts_of_which_nobody_knows_how_long_they_take():
    acts = [{"name": "change jobs", "adds": {"income": 1500}}]
    dialogue = talk(acts=acts)
    assert dialogue.ask().plan.follows == ("What to do: change jobs.",)
    json.dumps(dialogue.to_dict(), allow_nan=False)
    with use_language("de"):
        assert dialogue.ask().plan.follows == ("Was zu tun ist: change jobs.",)
    with pytest.raises(ReplyError, match="how long these changes take"):
        dialogue.answer("within 6 months")


def test_in_german_too():
    with use_language("de"):
        dialogue = talk()
        assert dialogue.ask().plan.follows[0].startswith("Schritt für Schritt: 1. get a degree")
        question = dialogue.answer("Das kann ich nicht: get a degree")
        assert question.notes[0] == "Notiert. Das können Sie nicht tun: get a degree."


def test_what_does_not_go_together_is_refused():
    with pytest.raises(DialogueError, match="one after another"):
        talk(elicitor="hare")
    with pytest.raises(DialogueError, match="Leave both out"):
        talk(base="local-search")
    wishes = Preferences.none(SCHEMA, 1).refuse("get a degre")
    method = ActionSequences(ActModel.from_yaml(ACTS, SCHEMA))
    with pytest.raises(PreferencesError, match="Did you mean 'get a degree'"):
        wf.recommend(asked(), PERSON[None], method=method, preferences=wishes)


def test_refused_acts_are_wishes_like_others():
    method = ActionSequences(ActModel.from_yaml(ACTS, SCHEMA))
    people = np.repeat(PERSON[None], 3, axis=0)
    wishes = Preferences.none(SCHEMA, 3).refuse("get a degree", who=[1, 2]).refuse("work abroad", who=[2])
    got = wf.recommend(asked(), people, method=method, preferences=wishes)
    assert got.steps[:, 0].tolist() == ["get a degree\ntake the better job", "work abroad", ""]
    again = Preferences.from_dict(SCHEMA, wishes.to_dict())
    joined = Preferences.concat([Preferences.none(SCHEMA, 1), wishes.take([1, 2])])
    for other in (again, joined):
        assert {act: no.tolist() for act, no in other.refused.items()} == {
            "get a degree": [False, True, True], "work abroad": [False, False, True],
        }  # fmt: skip
    actor = on_behalf(wishes, Preferences.none(SCHEMA, 3).refuse("put money aside"), refusals=False)
    assert {act: no.any() for act, no in actor.refused.items()} == {
        "get a degree": False, "put money aside": True, "work abroad": False,
    }  # fmt: skip


@pytest.mark.parametrize("seed", range(6))
def test_an_end_state_has_the_cheapest_sequence_that_leads_there(seed):
    """Every order of at most three of four acts, carried out plainly; end states nothing leads to have none."""
    rng = np.random.default_rng(seed)
    schema = Schema(tuple(Feature(name=f"x{j}", kind="integer", low=0, high=5) for j in range(3)))
    acts = []
    for a in range(4):
        j, other = rng.choice(3, 2, replace=False)
        amount = int(rng.integers(1, 4))
        change = {"sets": {f"x{j}": amount}} if a % 2 else {"adds": {f"x{j}": amount}}
        needs = (f"before.x{other} >= {rng.integers(0, 3)}",) if rng.random() < 0.6 else ()
        acts.append(PlannedAct(f"act {a}", needs=needs, cost=float(rng.integers(1, 6)), **change))
    known = ActModel(acts, schema)
    cheapest: dict[tuple, float] = {}
    start = np.array([1.0, 0.0, 1.0])
    for length in (1, 2, 3):
        for order in itertools.permutations(range(4), length):
            state, told, spent, fine = start[None].copy(), np.full(3, np.nan), 0.0, True
            for a in order:
                target = known.targets(a, state, np.full(1, np.nan))
                after = np.where(np.isnan(target), state, target)
                fine &= bool(after.max() <= 5) and bool((after != state).any())
                fine &= bool(known.possible(a, state, after)[0])
                told = np.where(np.isnan(target[0]), told, target[0])
                state, spent = after, spent + acts[a].cost
            if fine:
                key = tuple(np.where(np.isnan(told), -1, told))
                cheapest[key] = min(cheapest.get(key, np.inf), spent)
    goals = np.array(list(itertools.product([-1, 0, 1, 2, 3, 4, 5], repeat=3)), dtype=float)
    goals = np.where(goals < 0, np.nan, goals)
    problem = wf.Problem(schema, wf.wrap(lambda rows: np.zeros(len(rows)), schema), wf.Target(1))
    people = problem.population(np.repeat(start[None], len(goals), axis=0))
    found = GoalSearch(people, known, 3, goals).found()
    assert {
        tuple(np.nan_to_num(goals[i], nan=-1)): s for i, s in zip(found.person, found.spent, strict=True)
    } == (cheapest)
