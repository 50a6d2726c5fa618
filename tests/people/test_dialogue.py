"""A dialogue with one person: what is asked, what is never shown, what is kept, and what comes out."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import wayforward as wf
from wayforward.errors import (
    DataError,
    DialogueError,
    FileFormatError,
    MethodError,
    ModelError,
    ReplyError,
    WayforwardError,
)
from wayforward.language import use_language
from wayforward.people.dialogue import Dialogue
from wayforward.people.dialogue.course import MOST_LIMITS
from wayforward.people.dialogue.lessons import Compared, circle, lessons, reluctance
from wayforward.people.dialogue.plan_by_plan import PlanByPlan
from wayforward.people.dialogue.question import Option
from wayforward.people.dialogue.reply_parts import chosen, several
from wayforward.people.dialogue.setup import PLANS
from wayforward.people.dialogue.state import digest, sealed
from wayforward.people.elicitor import CANNOT_SAY, Elicitor, Kind, Questions, Session, fitted_base
from wayforward.people.elicitors import names
from wayforward.preferences import Preferences
from wayforward.problem import AllModels, Neighbours, UnderNoise, WithinDelta
from wayforward.schema import Feature, Schema
from wayforward.testing.problems import case

NAMES = ("age", "income", "savings", "debt", "education", "housing", "phone")


@dataclass
class Duels(Elicitor):
    """A small elicitor for tests: the base method's plans meet one after another; the winner is offered."""

    name: ClassVar[str] = "duels"
    summary: ClassVar[str] = "for tests"
    base: str = "local-search"
    budget: int = 8

    def fit(self, problem):
        self.problem_ = problem
        self.method_ = wf.method(self.base).fit(problem)
        return self

    def begin(self, x, start=None, *, preferences=None, seed=0):
        return DuelSession(self, x, start, preferences, seed)


class DuelSession(Session):
    def __init__(self, by, x, start, preferences, seed):
        self.by, self.seed = by, seed
        self.people = by.problem_.population(x, preferences)
        self.questions = np.zeros(len(x), dtype=np.int64)
        self.ahead = None if start is None else start[0]
        self._fresh()

    def _fresh(self):
        got = self.by.method_.recommend(self.people.x, 4, preferences=self.people.preferences, seed=self.seed)
        self.others = [row for row, found in zip(got.action[0], got.found[0], strict=True) if found]
        ahead = self.ahead
        if ahead is not None:
            holds = self.by.problem_.check(
                self.people.x, ahead[None, None], preferences=self.people.preferences
            )
            ahead = ahead if holds.found[0, 0] else None
        self.ahead = ahead if ahead is not None or not self.others else self.others.pop(0)
        self.over = self.ahead is None

    @property
    def pending(self):
        rows = [self.ahead, self.others[0]] if self.others and not self.over else [self.ahead]
        kind = Kind.DONE if self.over else Kind.CHOOSE if self.others else Kind.ACCEPT
        if self.over:
            rows = [np.full(self.people.d, np.nan)]
        action = np.stack(rows)[None]
        after = np.stack([self.people.after(np.array([0]), row[None])[0] for row in rows])[None]
        return Questions(np.array([int(kind)]), action, after if kind else np.full_like(after, np.nan))

    def answer(self, reply, wishes=None):
        if self.over:
            return
        self.questions += 1
        if self.others:
            other = self.others.pop(0)
            if reply[0] == 1:
                self.ahead = other
        else:
            self.over = True
        if wishes is not None:
            self.people = self.by.problem_.population(self.people.x, wishes)
            self._fresh()

    @property
    def best(self):
        return np.full((1, self.people.d), np.nan) if self.ahead is None else self.ahead[None]


@lru_cache
def someone(
    kind: str = "linear", world: str = "independent", place: int = 0
) -> tuple[wf.Problem, np.ndarray]:
    it = case(kind, world)
    got = wf.recommend(it.problem, it.x)
    who = np.flatnonzero(got.found[:, 0])
    return it.problem, it.x[who[place]]


@lru_cache
def shared(problem: wf.Problem) -> Duels:
    return Duels().fit(problem)


def started(place: int = 0, kind: str = "linear", world: str = "independent", **more: Any) -> Dialogue:
    problem, x = someone(kind, world, place)
    more.setdefault("elicitor", shared(problem))
    return Dialogue(problem, x, **more)


def limits(d: Dialogue, *replies: str) -> Dialogue:
    """Answer the questionnaire: the replies given, then yes."""
    said = iter(replies)
    while d.ask() is not None and d.ask().stage == "limits":
        d.answer(next(said, "yes"))
    return d


def keeps(d: Dialogue) -> None:
    """Nothing on the screen breaks a limit, and everything on it is a yes."""
    question = d.ask()
    if question is None:
        return
    shown = [o for o in (*question.options, question.plan) if o is not None and o.action is not None]
    for option in shown:
        action = np.array([np.nan if v is None else v for v in option.action])
        got = d.problem.check(d.x[None], action[None, None], preferences=d.preferences)
        assert got.found[0, 0]
        np.testing.assert_array_equal(got.after[0, 0], np.array(option.after, dtype=float))


def test_limits_come_first_one_feature_a_screen_and_become_preferences():
    d = started(place=4)
    said = {"income": ["up to 8000"], "savings": ["3", "30000"], "housing": ["no"]}
    features = []
    while (question := d.ask()).stage == "limits":
        assert question.text.startswith(("Your ", "Up to what could your savings go?"))
        features.append(question.feature)
        d.answer(
            said.get(question.feature, ["yes"]).pop(0) if question.feature in said else "yes", question.id
        )
    schema = d.problem.schema
    may = [schema.names[j] for j in np.flatnonzero(d.problem.population(d.x[None]).may[0])]
    assert len(features) == MOST_LIMITS < len(may)
    asked = list(dict.fromkeys(features))
    assert asked == [name for name in may if name in asked]  # in the order of the schema
    wish = d.preferences
    assert wish.high[0, schema.index("income")] == 8000 and "income" in asked
    assert (wish.high[0, schema.index("savings")] == 30000) == ("savings" in asked)
    assert wish.frozen[0, schema.index("housing")] == ("housing" in asked)
    keeps(d)


def test_a_dialogue_ends_with_a_plan_in_words():
    d = limits(started())
    assert d.ask().kind == "accept" and d.ask().plan.steps
    d.answer("no")
    while d.ask() is not None:
        keeps(d)
        d.answer("1")
    assert d.end.how == "accepted" and d.plan.found[0, 0]
    assert "It was checked" in d.end.show() and d.end.plan.steps[0] in d.export()


@pytest.mark.parametrize("kind", ["forest", "network", "label"])
@pytest.mark.parametrize("world", ["independent", "causal"])
def test_every_kind_of_model_and_world(kind, world):
    d = limits(started(0, kind, world), "no")
    while d.ask() is not None:
        keeps(d)
        d.answer("no" if d.ask().stage == "accept" else "2" if d.ask().kind == "choice" else "no")
    assert d.end.how in ("rejected", "none")


def test_nothing_is_asked_without_an_elicitor_but_plans_one_by_one():
    d = started(elicitor=None, questionnaire=None)
    assert d.ask().stage == "plan"
    first = d.ask().plan.text
    d.answer("no")
    assert d.ask().kind == "accept" and d.ask().plan.text != first
    d.answer("yes")
    assert d.end.how == "accepted" and d.end.plan.text != first


# -- replies -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "reply",
    [
        "2",
        2,
        np.int64(2),
        np.float64(2),
        np.bool_(False),
        "no",
        "No",
        "N",
        " no. ",
        False,
        "never",
        "No, my boss decides that.",
    ],
)
def test_a_no_in_many_ways(reply):
    d = started()
    d.answer(reply)
    assert d.preferences.frozen[0, d.problem.schema.index("income")]


@pytest.mark.parametrize(
    ("reply", "high"),
    [
        ("up to 8,000", 8000),
        ("only up to 8k", 8000),
        ("at most 8000 EUR/month", 8000),
        ("Yes, but only up to 8000", 8000),
        ("I could earn a bit more, up to 8,000", 8000),
        ("maybe, at most up to 8,000 I think", 8000),
    ],
)
def test_a_limit_in_many_ways(reply, high):
    d = started()
    d.answer(reply)
    assert d.preferences.high[0, d.problem.schema.index("income")] == high


def test_relative_limits_count_from_where_the_person_stands():
    d = started()
    j = d.problem.schema.index("income")
    with pytest.raises(ReplyError, match=r"'10%' is a percentage. .* Or count from now: 10% more"):
        d.answer("up to 10%")
    d.answer("up to 10% more")
    np.testing.assert_allclose(d.preferences.high[0, j], 1.1 * d.x[j])
    d.undo()
    d.answer("up to +10%")
    np.testing.assert_allclose(d.preferences.high[0, j], 1.1 * d.x[j])


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ("9", "number from 1 to 3"),
        ("cousins", "'cousins' is none of the answers"),
        (2.5, "2.5 is none of the answers"),
        ("up to lots", "is no number"),
        ("up to 1", "is less"),
        ("down to 0", r"it can only rise. Say how far \(up to"),
        ("cannot fly", "nothing called 'fly'"),
        ({"cannot": "age"}, "That reply is not read"),
        ({"cannot": ["income"]}, "That reply is not read"),
        ({}, "That reply is not read"),
        ("", "none of the answers"),
        (None, "none of the answers"),
        (float("nan"), "none of the answers"),
        (float("inf"), "none of the answers"),
        (10**400, "none of the answers"),
        ([], "none of the answers"),
        (b"1", "none of the answers"),
        ("1" * 5000, "too long"),
        ("up to 1e9", "something after the number"),
        ({"feature": "income", "high": float("nan")}, "no number"),
        ({"feature": "income", "high": 10**400}, "no number"),
        ("housing at most own", "has no order"),
        ({"feature": "income", "high": "much"}, "is no number"),
    ],
)
def test_a_bad_reply_says_what_would_fit_and_changes_nothing(reply, words):
    d = started()
    before = d.to_dict()
    with pytest.raises(ReplyError, match=words):
        d.answer(reply)
    assert d.to_dict() == before


def test_an_answer_to_another_question_is_noticed():
    d = started()
    first = d.ask().id
    d.answer("yes", first)
    before = d.to_dict()
    with pytest.raises(DialogueError, match="was answered before"):
        d.answer("yes", first)
    with pytest.raises(DialogueError, match="was not asked"):
        d.answer("yes", "12-aaaaaaaa")
    assert d.to_dict() == before


def test_what_cannot_be_done_is_said_on_the_way():
    d = limits(started())
    d.answer("no")
    for _ in range(6):
        question = d.ask()
        if question is None:
            break
        shown = [o for o in (*question.options, question.plan) if o is not None and o.action is not None]
        acts = {
            n for o in shown for n, v in zip(d.problem.schema.names, o.action, strict=True) if v is not None
        }
        gone = sorted(acts)[0]
        d.answer(f"I cannot do this: {gone}")
        assert d.preferences.frozen[0, d.problem.schema.index(gone)]
        keeps(d)
        if d.ask() is not None and d.ask().stage == "reconsider":
            break
    assert d.ask().stage == "reconsider"
    d.answer("1")
    assert d.ask().stage in ("plan", "choices", "accept")
    keeps(d)


def test_limits_that_leave_nothing_name_what_would_have_to_give():
    d = limits(started(), *["no"] * 20)
    question = d.ask()
    assert question.stage == "reconsider" and "we are sure of that" in question.text
    assert len(question.options) > 1 and "after all" in question.text and question.options[0].steps
    assert all(option.action is None for option in question.options)
    d.answer("none of them")
    assert d.end.how == "none" and d.end.give and "If you could" in d.end.give[0].text and d.end.give[0].steps
    d.undo()
    d.answer(1)
    keeps(d)
    assert d.ask().plan is not None


def test_somebody_who_rejects_everything_gets_the_best_and_what_would_have_to_give():
    d = limits(started(), "no")
    while d.ask() is not None:
        d.answer("no" if d.ask().stage == "accept" or d.ask().kind == "accept" else "1")
    assert d.end.how == "rejected" and d.end.plan is not None
    assert "That is all right" in d.end.text and "You can ask for a person" in d.end.show()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"today": "2026-11-23"}, r"today='2026-11-23' is no day\. Give datetime\.date"),
        ({"today": datetime(2026, 11, 23)}, "today=.*is no day"),
        ({"until": date(2027, 3, 31)}, r"until=datetime\.date.* is no text"),
        ({"until": None}, "until=None is no text"),
    ],
)
def test_days_are_checked_before_the_first_question(wrong, words):
    with pytest.raises(DialogueError, match=words):
        started(**wrong)


@pytest.mark.parametrize("budget", ["x", -1, 2.5, True])
def test_the_budget_of_plans_one_by_one_is_checked_before_the_first_question(budget):
    problem, x = someone()
    with pytest.raises(MethodError, match="'offers' has budget="):
        Dialogue(problem, x, elicitor=None, budget=budget)


def test_stopping_shows_the_best_so_far():
    d = started()
    d.answer("stop here")
    assert d.done and d.end.how == "stopped" and d.end.plan is not None
    with pytest.raises(DialogueError, match="has ended"):
        d.answer("yes")
    assert d.undo().stage == "limits"


def test_somebody_who_is_accepted_already():
    problem, _ = someone()
    yes = case().x[~case().refused][0]
    d = Dialogue(problem, yes, elicitor=shared(problem))
    assert d.ask() is None and d.end.how == "already" and "yes already" in d.end.text


def test_somebody_for_whom_nothing_exists():
    it = case()
    wish = wf.Preferences.none(it.problem.schema, 1).freeze(*it.problem.schema.names)
    d = Dialogue(it.problem, it.x[it.refused][0], elicitor=shared(it.problem), preferences=wish)
    assert d.ask().stage == "reconsider"
    schema = Schema(
        [Feature(name=n, kind="real", low=0, high=90, actionability="immutable") for n in ("age", "pay")]
    )
    model = wf.wrap(lambda rows: (rows[:, 0] > 50).astype(int), schema, output="label", classes=(0, 1))
    stuck = wf.Problem(schema, model, wf.Target(favourable=1))
    d = Dialogue(stuck, np.array([20.0, 3.0]), elicitor=None)
    assert d.ask() is None and d.end.how == "none" and "not in your hands" in d.end.text


def test_a_contradiction_is_noticed_kindly():
    assert circle([("a", "b"), ("b", "c")], "c", "a")
    assert not circle([("a", "b"), ("b", "c")], "a", "c")
    d = limits(started(place=1))
    d.answer("no")
    c = d._conversation
    plans = c.pending.plans
    c.seen.edges.append((plans[1].name, plans[0].name))
    after = d.answer("1")
    assert "chose the other way round" in after.notes[0] and "That is all right" in after.notes[0]
    assert d.answer("1") is None or not d.ask().notes


@pytest.mark.parametrize("name", names())
def test_every_elicitor_keeps_limits_that_come_on_the_way_and_comes_out_again(name):
    rng = np.random.default_rng(len(name))
    problem, x = someone("forest", "independent", 1)
    d = limits(Dialogue(problem, x, elicitor=name, budget=8, seed=2), "yes", "up to 40000")
    d.answer("no" if d.ask().kind == "accept" else "2")
    for step in range(12):
        keeps(d)
        question = d.ask()
        if question is None:
            break
        reply = "no" if question.kind == "accept" else str(rng.integers(1, len(question.options) + 1))
        d.answer("cannot debt" if step == 1 else reply, question.id)
        assert d.ask() is None or d.ask().stage in ("choices", "accept", "reconsider")
    same(d, Dialogue.from_dict(problem, json.loads(json.dumps(d.to_dict()))))
    assert d.preferences.frozen[0, problem.schema.index("debt")]


def test_an_elicitor_of_ones_own_is_asked_for_again():
    problem, _ = someone()
    d = limits(started())
    with pytest.raises(DialogueError, match="an elicitor of your own, 'duels'"):
        Dialogue.from_dict(problem, d.to_dict())
    with pytest.raises(DialogueError, match="budget=8, and the elicitor given has 3"):
        Dialogue.from_dict(problem, d.to_dict(), elicitor=Duels(budget=3))
    same(d, Dialogue.from_dict(problem, d.to_dict(), elicitor=Duels()))
    with pytest.raises(DialogueError, match="has its own base and budget"):
        Dialogue(problem, d.x, elicitor=Duels(), budget=4)
    other = wf.Problem(problem.schema, _other(problem), wf.Target(favourable=1), data=problem.reference)
    d.continue_with(other)
    assert d._setup.elicitor.problem_ is other and shared(problem).problem_ is problem
    while d.ask() is not None:
        keeps(d)
        d.answer("1")
    assert d.end.plan is not None


def test_the_file_is_for_its_owner_only(tmp_path):
    file = started(elicitor=None).save(tmp_path / "s.json")
    assert file.stat().st_mode & 0o077 == 0


def test_nowhere_to_go_but_up():
    schema = Schema(
        [
            Feature(name="loans", kind="integer", low=0, high=9),
            Feature(name="pay", kind="real", low=0, high=9),
        ]
    )
    model = wf.wrap(lambda rows: (rows[:, 1] > 5).astype(int), schema, output="label", classes=(0, 1))
    d = Dialogue(wf.Problem(schema, model, wf.Target(favourable=1)), np.array([0.0, 3.0]), elicitor=None)
    assert d.ask().text == "Your loans now: 0. Could you raise this?" and len(d.ask().options) == 3


# -- what was learned --------------------------------------------------------------------------------------


def test_lessons_need_choices_that_agree():
    schema, x = case().problem.schema, np.array([30, 1000, 500, 5000, 1, 0, 0, 0, 20.0])
    raises, works = x.copy(), x.copy()
    raises[2], works[1] = 9000, 3000
    one = [Compared(raises, works)]
    assert lessons(schema, x, one) == []
    told = lessons(schema, x, one * 3)
    assert told == ["You would rather raise your savings than your income (all 3 choices between the two)."]
    assert lessons(schema, x, [*one * 2, Compared(works, raises)] * 1) == []
    weight = reluctance(schema, x, one * 3)
    assert weight[1] > 1 > weight[2] and (weight[[0, 3, 4, 5, 6, 7, 8]] == 1).all()


# -- state -------------------------------------------------------------------------------------------------


def same(a: Dialogue, b: Dialogue) -> None:
    assert a.to_dict() == b.to_dict()
    assert (a.ask() is None) == (b.ask() is None)
    if a.ask() is not None:
        assert a.ask() == b.ask()
    else:
        assert a.end == b.end


REPLIES = (
    "1",
    "2",
    "yes",
    "no",
    "3",
    "?",
    "stop here",
    "up to 4000",
    "down to 100",
    "cannot savings",
    "cannot education",
    "debt down to 10",
    "cannot do this: income",
    "undo",
    "resume",
    "phone",
    "1, 2",
    "250",
)


@settings(max_examples=12)
@given(
    place=st.integers(0, 3),
    questionnaire=st.sampled_from(
        ["limits", "yes-no", "ranking", "likert", "limits+likert", "yes-no+ranking", None]
    ),
    replies=st.lists(st.sampled_from(REPLIES), max_size=22),
)
def test_any_replies_keep_the_limits_and_come_out_again(place, questionnaire, replies):
    d = started(place, questionnaire=questionnaire)
    said: list[str] = []
    for reply in replies:
        if reply == "undo":
            if said:
                d.undo()
                said.pop()
        elif reply == "resume":
            again = Dialogue.from_dict(
                d.problem, json.loads(json.dumps(d.to_dict())), elicitor=shared(d.problem)
            )
            same(d, again)
            d = again
        elif d.ask() is not None:
            try:
                d.answer(reply, d.ask().id)
                said.append(reply)
            except ReplyError:
                pass
        keeps(d)
        question = d.ask()
        assert question is None or question.left >= 1
    afresh = started(place, questionnaire=questionnaire)
    for reply in said:
        afresh.answer(reply)
    same(d, afresh)
    assert [entry for _, entry in d.replay()] == [entry["said"] for entry in d._log]
    assert d.end is None or d.end.show()
    assert d.export()


def test_the_state_is_on_disk_before_the_next_question(tmp_path):
    file = tmp_path / "state.json"
    d = started(file=file, elicitor=None)
    for reply in ("no", "yes", "yes"):
        d.answer(reply)
        stored = json.loads(file.read_text())
        assert len(stored["log"]) == d.answered
        same(d, Dialogue.load(file, d.problem, autosave=False))
    d.undo()
    assert len(json.loads(file.read_text())["log"]) == 2
    with pytest.raises(DialogueError, match="is there already"):
        started(file=file)
    assert [p.name for p in tmp_path.iterdir()] == ["state.json"]


def test_of_two_dialogues_on_one_file_none_loses_what_the_other_was_told(tmp_path):
    """Whoever comes second is told so, with nothing changed; loaded again they go on."""
    file = tmp_path / "state.json"
    first = started(file=file, elicitor=None)
    second = Dialogue.load(file, first.problem)
    second.answer("no")
    for late in (lambda: first.answer("yes"), first.undo, lambda: first.continue_with(first.problem)):
        with pytest.raises(DialogueError, match=r"'state\.json' was written by another dialogue since"):
            late()
    assert first.answered == 0 and len(json.loads(file.read_text())["log"]) == 1
    again = Dialogue.load(file, first.problem)
    again.answer("yes")
    with pytest.raises(DialogueError, match="by another dialogue"):
        second.answer("no")
    assert len(json.loads(file.read_text())["log"]) == 2


@pytest.mark.parametrize("seed", range(4))
def test_a_state_that_somebody_made_up_is_refused_by_a_sentence(seed):
    """Whatever stands in it, under a checksum of its own."""
    d = started(elicitor=None)
    for reply in ("no", "yes"):
        d.answer(reply)
    random = np.random.default_rng(seed)
    for _ in range(60):
        content = {key: value for key, value in d.to_dict().items() if key != "checksum"}
        at, key = None, None
        place = content
        while isinstance(place, (dict, list)) and place and (at is None or random.random() < 0.8):
            at, key = (
                place,
                random.choice(list(place)) if isinstance(place, dict) else int(random.integers(len(place))),
            )
            place = place[key]
        at[key] = [None, -1, "x", [], {}, 10**30, 1.5, True][int(random.integers(8))]
        with contextlib.suppress(WayforwardError):
            Dialogue.from_dict(d.problem, sealed(content))


def test_a_state_of_another_problem_says_what_differs(tmp_path):
    d = limits(started(elicitor=None), "no")
    stored, p = d.to_dict(), d.problem
    other = wf.Problem(p.schema, _other(p), wf.Target(favourable=1), data=p.reference)
    with pytest.raises(DialogueError, match=r"the model \(it answers differently for \d+ of 49 people"):
        Dialogue.from_dict(other, stored)
    fewer = wf.Problem(p.schema, p.model, wf.Target(favourable=1), data=p.reference[:100])
    with pytest.raises(DialogueError, match="the table of observed people"):
        Dialogue.from_dict(fewer, stored)
    stricter = wf.Problem(p.schema, p.model, wf.Target(favourable=1, threshold=0.7), data=p.reference)
    with pytest.raises(DialogueError, match="what a yes is"):
        Dialogue.from_dict(stricter, stored)
    schema = p.schema.revise(income={"actionability": "immutable"})
    for changed in ("refuse", "continue"):
        with pytest.raises(DialogueError, match="another 'income'"):
            Dialogue.from_dict(
                wf.Problem(schema, _other(p, schema), wf.Target(favourable=1)), stored, changed=changed
            )


def test_a_state_under_another_demand_to_withstand_says_what_differs():
    """Conditions of the same words are told apart by settings and by what their models say."""
    p, row = someone()

    def under(*robust):
        return wf.Problem(p.schema, p.model, p.target, data=p.reference, robust=list(robust) or None)

    d = Dialogue(under(UnderNoise({"income": 0.02})), row, elicitor=None)
    d.answer("no")
    stored = d.to_dict()
    assert Dialogue.from_dict(under(UnderNoise({"income": 0.02})), stored).answered == 1
    for other, words in (
        ((), "a yes with probability 0.9 .*; now nothing"),
        ((UnderNoise({"savings": 0.02}),), ".*with other settings or models now"),
        ((UnderNoise({"income": 0.02}), WithinDelta(0.1)), ".*; now a yes with .*, and still a yes"),
    ):
        with pytest.raises(DialogueError, match=rf"what a plan must withstand \({words}"):
            Dialogue.from_dict(under(*other), stored)
    models = Dialogue(under(AllModels([p.model])), row, elicitor=None).to_dict()
    assert Dialogue.from_dict(under(AllModels([p.model])), models).answered == 0
    with pytest.raises(DialogueError, match="other settings or models"):
        Dialogue.from_dict(under(AllModels([_other(p)])), models)
    older = started(elicitor=None).to_dict()
    del older["fingerprints"]["robust"]
    older = sealed({key: value for key, value in older.items() if key != "checksum"})
    assert Dialogue.from_dict(p, older).answered == 0
    with pytest.raises(DialogueError, match="nothing; now still a yes"):
        Dialogue.from_dict(under(WithinDelta(0.1)), older)


def test_a_state_under_another_plausibility_says_what_differs():
    """Rules of one name are told apart by their words and their settings."""
    p, row = someone()

    def under(rule):
        return wf.Problem(p.schema, p.model, p.target, data=p.reference, plausibility=rule)

    d = Dialogue(under(Neighbours(k=3)), row, elicitor=None)
    d.answer("no")
    stored = d.to_dict()
    assert Dialogue.from_dict(under(Neighbours(k=3)), stored).answered == 1
    for other, words in (
        (Neighbours(k=5), "as near to 3 .*; now as near to 5"),
        (Neighbours(k=3, strict=True), "as near to 3 .*with other settings now"),
        (None, "neighbours; now None"),
    ):
        with pytest.raises(DialogueError, match=rf"plausibility \({words}"):
            Dialogue.from_dict(under(other), stored)
    older = json.loads(json.dumps(stored))
    del older["fingerprints"]["plausibility settings"]
    older = sealed({key: value for key, value in older.items() if key != "checksum"})
    assert Dialogue.from_dict(under(Neighbours(k=3)), older).answered == 1


def _other(p: wf.Problem, schema: Schema | None = None) -> Any:
    """A model that asks for a little more income than the first one."""
    schema = p.schema if schema is None else schema
    form = p.model.linear

    def probability(rows):
        margin = form.margin(rows)[:, 0] - 0.4 + 0.3 * (rows[:, 1] > 4000)
        yes = 1 / (1 + np.exp(-margin))
        return np.stack([1 - yes, yes], 1)

    return wf.wrap(probability, schema, output="probability", classes=(0, 1))


@pytest.mark.parametrize(
    "breaks", ["a reply", "the row", "the checksum", "the format", "the version", "no JSON", "nothing"]
)
def test_a_file_that_was_tampered_with_is_refused(tmp_path, breaks):
    d = started(elicitor=None)
    d.answer("no")
    file = d.save(tmp_path / "s.json")
    stored = json.loads(file.read_text())
    if breaks == "a reply":
        stored["log"][0]["reply"] = {"code": "yes"}
    elif breaks == "the row":
        stored["x"][1] = 9000.0
    elif breaks == "the checksum":
        stored["checksum"] = "0" * 64
    elif breaks == "the format":
        stored["format"] = "something"
    elif breaks == "the version":
        stored["version"] = 3
    text = "{" if breaks == "no JSON" else json.dumps(stored)
    file.write_text(text) if breaks != "nothing" else file.unlink()
    with pytest.raises((DialogueError, FileFormatError)) as caught:
        Dialogue.load(file, d.problem)
    wanted = {
        "a reply": "checksum",
        "the row": "checksum",
        "the checksum": "checksum",
        "the format": "holds no dialogue",
        "the version": "version 3",
        "no JSON": "cannot be read",
        "nothing": "no file",
    }
    assert wanted[breaks] in str(caught.value)


def test_a_model_that_changed_in_between_loses_nothing():
    d = limits(started(elicitor=None), "yes", "up to 40000")
    d.answer("no")
    seen, wishes, answered = d.ask().plan, d.preferences, d.answered
    other = wf.Problem(d.problem.schema, _other(d.problem), wf.Target(favourable=1), data=d.problem.reference)
    again = Dialogue.from_dict(other, d.to_dict(), changed="continue")
    for now in (again, d):
        if now is d:
            now.continue_with(other)
        question = now.ask()
        assert "was changed in the meantime" in question.notes[0]
        assert now.answered == answered and now.problem is other
        np.testing.assert_array_equal(now.preferences.high, wishes.high)
        keeps(now)
        assert "You said" in now.export() and seen is not None
        with pytest.raises(DialogueError, match="cannot be taken back"):
            now.undo()
        same(now, Dialogue.from_dict(other, now.to_dict()))
        now.answer("yes")
        assert now.end.how == "accepted"


def test_a_model_that_changes_under_the_dialogue_is_noticed():
    schema = Schema(
        [Feature(name="pay", kind="real", low=0, high=10), Feature(name="debt", kind="real", low=0, high=10)]
    )
    bar = [6.0]
    model = wf.wrap(
        lambda rows: (rows[:, 0] - rows[:, 1] > bar[0]).astype(int), schema, output="label", classes=(0, 1)
    )
    problem = wf.Problem(
        schema, model, wf.Target(favourable=1), data=np.random.default_rng(0).uniform(0, 10, (60, 2))
    )
    d = limits(Dialogue(problem, np.array([5.0, 3.0]), elicitor=None))
    shown = d.ask().plan
    bar[0] = 7.0  # the lender asks for more from now on
    question = d.answer("no")
    assert "None of the plans that you saw would be enough" in question.notes[0]
    keeps(d)
    assert question.plan.text != shown.text
    d.answer("yes")
    assert d.end.how == "accepted" and d.answered == 4


def test_limits_on_a_page_are_kept_where_the_model_changes_under_it():
    schema = Schema(
        [Feature(name="pay", kind="real", low=0, high=10), Feature(name="debt", kind="real", low=0, high=10)]
    )
    bar = [3.0]
    model = wf.wrap(
        lambda rows: (rows[:, 0] - rows[:, 1] > bar[0]).astype(int), schema, output="label", classes=(0, 1)
    )
    rows = np.random.default_rng(0).uniform(0, 10, (60, 2))
    problem = wf.Problem(schema, model, wf.Target(favourable=1), data=rows)
    d = Dialogue(problem, np.array([4.0, 2.0]), elicitor=None, questionnaire="page")
    assert d.answer("none").plan is not None
    bar[0] = 7.0
    question = d.answer({"limits": {"debt": False}})
    assert "was changed in the meantime" in question.notes[0]
    assert d.preferences.frozen[0].tolist() == [False, True]
    keeps(d)


def test_a_model_that_fails_for_a_while_loses_nothing(tmp_path):
    schema = Schema(
        [Feature(name="pay", kind="real", low=0, high=10), Feature(name="debt", kind="real", low=0, high=10)]
    )
    calls, fail = [0], [10**9]

    def decide(rows):
        calls[0] += 1
        if calls[0] > fail[0]:
            raise RuntimeError("the service is down")
        return (rows[:, 0] - rows[:, 1] > 6).astype(int)

    model = wf.wrap(decide, schema, output="label", classes=(0, 1))
    problem = wf.Problem(
        schema, model, wf.Target(favourable=1), data=np.random.default_rng(0).uniform(0, 10, (60, 2))
    )
    for more in (1, 2, 3, 5, 8):
        file = tmp_path / f"{more}.json"
        d = limits(Dialogue(problem, np.array([5.0, 3.0]), elicitor=None, file=file), "yes")
        before = d.answered
        fail[0] = calls[0] + more
        try:
            d.answer("no")
        except ModelError:
            with pytest.raises(ModelError):
                d.ask() if d.answered > before else d.answer("no")
        fail[0] = 10**9
        if d.answered == before:  # it failed before the answer was kept
            d.answer("no")
        assert d.answered == before + 1 and d.ask().kind == "accept" and not d.ask().notes
        same(d, Dialogue.load(file, problem, autosave=False))


def test_killed_just_as_the_model_changed_keeps_the_last_limit(tmp_path):
    d = limits(started(elicitor=None), "yes", "up to 40000")
    stored = {}
    write = d._write

    def keep():
        stored.update(d.to_dict())
        d._write = lambda: None

    d._write = keep  # only the first of the two writes reaches the disk
    d.answer("cannot debt")
    assert write is not None and stored["now"]["taken"] == len(stored["log"]) - 1
    other = wf.Problem(d.problem.schema, _other(d.problem), wf.Target(favourable=1), data=d.problem.reference)
    again = Dialogue.from_dict(other, stored, changed="continue")
    assert again.preferences.frozen[0, d.problem.schema.index("debt")]
    same(d, Dialogue.from_dict(d.problem, d.to_dict()))


def test_a_model_that_changes_while_limits_are_asked_keeps_the_limits():
    d = started(elicitor=None)
    d.answer("no")
    other = wf.Problem(d.problem.schema, _other(d.problem), wf.Target(favourable=1), data=d.problem.reference)
    question = d.continue_with(other)
    assert question.feature == "savings" and d.preferences.frozen[0, 1]
    assert "What you told us is kept" in question.notes[0]
    assert d.undo().feature == "income"


KILLED = """
import sys
sys.path.insert(0, {here!r})
from test_dialogue import started
d = started(file={file!r}, elicitor=None)
d.answer("no")
d.answer("up to 40000")
print(d.ask().id, flush=True)
import wayforward.people.dialogue.conversation as c
def hang(self, reply):
    print("hanging", flush=True)
    import time
    time.sleep(60)
c.Conversation.take = hang
d.answer("yes")
"""


def test_killed_in_the_middle_and_resumed(tmp_path):
    """The process dies after an answer came in and before the next question: the answer is there."""
    file = tmp_path / "s.json"
    here = str(Path(__file__).parent)
    run = subprocess.Popen(
        [sys.executable, "-c", KILLED.format(here=here, file=str(file))], stdout=subprocess.PIPE, text=True
    )
    with run:
        assert run.stdout is not None
        first, second = run.stdout.readline().strip(), run.stdout.readline().strip()
        assert second == "hanging"
        os.kill(run.pid, signal.SIGKILL)
    problem, _ = someone()
    d = Dialogue.load(file, problem)
    assert d.answered == 3 and first.startswith("3-")
    same(d, limits_of(("no", "up to 40000", "yes")))


def limits_of(replies: tuple[str, ...]) -> Dialogue:
    d = started(elicitor=None)
    for reply in replies:
        d.answer(reply)
    return d


# -- bad input ---------------------------------------------------------------------------------------------


def test_bad_setups_are_refused():
    problem, x = someone()
    with pytest.raises(MethodError, match="no elicitor 'mind-reader'"):
        Dialogue(problem, x, elicitor="mind-reader")
    with pytest.raises(DialogueError, match="no questionnaire 'riddles'"):
        Dialogue(problem, x, elicitor=None, questionnaire="riddles")
    with pytest.raises(DialogueError, match="asks the same twice"):
        Dialogue(problem, x, elicitor=None, questionnaire="limits+yes-no")
    with pytest.raises(DialogueError, match="seed=0.5 is no seed"):
        Dialogue(problem, x, elicitor=None, seed=0.5)
    with pytest.raises(DataError, match="'income'"):
        Dialogue(problem, np.where(np.arange(9) == 1, np.nan, x), elicitor=None)
    with pytest.raises(DataError, match="one person"):
        Dialogue(problem, np.stack([x, x]), elicitor=None)
    with pytest.raises(DialogueError, match="one person"):
        Dialogue(problem, x, elicitor=None, preferences=wf.Preferences.none(problem.schema, 2))


def test_a_row_with_missing_values_where_the_schema_allows_them():
    schema = Schema(
        [
            Feature(name="pay", kind="real", low=0, high=10, missing=True, unit="EUR"),
            Feature(name="job", kind="categorical", levels=("a", "b", "c"), missing=True),
        ]
    )
    model = wf.wrap(
        lambda rows: (np.nan_to_num(rows[:, 0]) + np.nan_to_num(rows[:, 1]) > 6).astype(int),
        schema,
        output="label",
        classes=(0, 1),
    )
    problem = wf.Problem(
        schema,
        model,
        wf.Target(favourable=1),
        data=np.random.default_rng(0).integers(0, 3, (60, 2)).astype(float),
    )
    d = Dialogue(problem, np.array([np.nan, np.nan]), elicitor=None)
    assert d.ask().text == "Your pay now: not stated. Could you change this?"
    d.answer("at most 9")
    d.answer("yes")
    assert d.ask() is not None
    keeps(d)
    same(d, Dialogue.from_dict(problem, json.loads(json.dumps(d.to_dict()))))


def test_a_table_row_will_do():
    problem, x = someone()
    frame = problem.schema.decode(x[None], like="pandas")
    assert (Dialogue(problem, frame, elicitor=None).x == x).all()


def test_a_step_asks_little_of_the_model():
    """A choice is worked out from plans that were found before; the first plans are the search."""
    d = limits(started())
    asked = []
    while d.ask() is not None:
        before = d.problem.model.counter.rows
        d.answer("no" if d.ask().stage == "accept" or d.ask().kind == "accept" else "1")
        d.ask()
        asked.append(d.problem.model.counter.rows - before)
    assert np.median(asked) <= max(asked) / 4


def test_the_stages_of_plans_are_known():
    assert (
        set(PLANS) == {"first", "pair", "accept", "last", "final", "recall"}
        and CANNOT_SAY == -1
        and PlanByPlan().budget == 5
    )


@pytest.mark.parametrize(
    ("typed", "now", "means"),
    [
        ("37,5", 20.0, 37.5),
        ("0,2", 0.3, 0.2),
        ("2,500", 1770.0, 2500.0),
        ("20.000", 26447.0, 20000.0),
        ("1,234,567.5", 5e5, 1234567.5),
        ("2,5k", 1770.0, 2500.0),
        ("about 25k", 1770.0, 25000.0),
        ("~ two thousand", 1770.0, 2000.0),
        ("roughly +500", 1770.0, 2270.0),
    ],
)
def test_numbers_as_people_type_them(typed, now, means):
    from wayforward.people.dialogue.reply_parts import number

    problem, _ = someone()
    assert number(typed, problem.schema["income"], now) == means


def test_a_limit_said_on_the_way_is_noted():
    d = started()
    d.answer("cannot savings")
    assert d.ask().notes == ("Noted. You cannot change your savings.",)


# -- replies as people type them, pages, plans that are kept -------------------------------------------------


def shares() -> wf.Problem:
    """A yes at pay / 10 + 4 (1 - used) + years / 5 > 6; used is a share, years go from 0 to 20."""
    schema = Schema(
        [
            Feature(name="pay", kind="real", low=0, high=100, unit="EUR"),
            Feature(name="used", kind="real", low=0, high=1, label="share of credit used", direction="decrease"),
            Feature(name="years", kind="integer", low=0, high=20, unit="years", label="years in the job"),
            Feature(name="job", kind="categorical", levels=("craft", "office", "sales"),
                    level_labels=("craft and repair", "office work", "sales")),
        ]
    )  # fmt: skip

    def decide(rows):
        worth = rows[:, 0] / 10 + 4 * (1 - rows[:, 1]) + rows[:, 2] / 5 + (rows[:, 3] == 1)
        return (worth > 6).astype(int)

    model = wf.wrap(decide, schema, output="label", classes=(0, 1))
    rows = np.random.default_rng(0).uniform(size=(80, 4)) * [100, 1, 20, 2.99]
    rows[:, 2:] = np.floor(rows[:, 2:])
    return wf.Problem(schema, model, wf.Target(favourable=1), data=rows)


SHARES = np.array([10.0, 0.8, 2, 0])


@pytest.mark.parametrize("reply", ["25%", "only to 25%", "0,25", "down to 25 percent", "to 0.25", "25 %"])
def test_shares_as_people_type_them(reply):
    d = Dialogue(shares(), SHARES, elicitor=None)
    d.answer("yes")
    assert d.ask().feature == "used"
    d.answer(reply)
    assert d.preferences.low[0, 1] == 0.25


@pytest.mark.parametrize(
    "reply", ["I don't know", "idk", "I'm not sure", "sorry, I really don't know yet", "no idea"]
)
def test_not_knowing_in_many_ways(reply):
    d = started()
    first = d.ask()
    assert d.answer(reply).feature != first.feature
    assert d.replay()[0][1] == "Cannot say." and not d.preferences.frozen.any()


@pytest.mark.parametrize(
    "reply", ["no way", "I can't", "impossible", "I can't change it", "cannot change", "no, I love my job"]
)
def test_a_bare_cannot_is_a_no_to_the_question_on_the_table(reply):
    d = started()
    j = d.problem.schema.index(d.ask().feature)
    d.answer(reply)
    assert d.preferences.frozen[0, j]


def test_a_page_of_which_all_can_change_goes_on():
    d = started(questionnaire="page")
    assert d.ask().stage == "limits"
    question = d.answer("none")
    assert question.stage != "limits" and not d.preferences.frozen[0, d.problem.schema.actionable].any()


@pytest.mark.parametrize(
    "reply",
    ["savings: no", "my savings can't change", "savings stay as they are", "savings cannot be changed"],
)
def test_what_stays_may_stand_before_the_verb(reply):
    j = someone()[0].schema.index("savings")
    for questionnaire in ("page", "limits"):
        d = started(questionnaire=questionnaire)
        d.answer(reply)
        assert d.preferences.frozen[0, j] and d.preferences.frozen[0].sum() == 1


def test_levels_of_a_page_are_limited_by_name_and_a_word_that_is_like_a_name_is_asked_back():
    """On a table never seen before "course only basic" was answered by "No plan changes your course", and "I can't
    move" kept the motive as it is."""
    levels = ("none", "basic", "advanced")
    schema = Schema(
        [
            Feature(name="course", kind="ordinal", levels=levels),
            Feature(name="motive", kind="categorical", levels=("bees", "rest")),
        ]
    )
    model = wf.wrap(lambda x: (x.sum(1) >= 1).astype(int), schema, output="label", classes=(0, 1))
    rows = np.array([[i, j] for i in range(3) for j in range(2)], dtype=float)
    problem = wf.Problem(schema, model, wf.Target(favourable=1), data=rows)
    for reply in ("course only basic", "Course: only up to basic", "course nur bis basic"):
        d = Dialogue(problem, np.zeros(2), elicitor=None, questionnaire="page")
        d.answer(reply)
        assert d.preferences.high[0].tolist() == [1.0, np.inf] and not d.preferences.frozen.any(), reply
    d = Dialogue(problem, np.zeros(2), elicitor=None, questionnaire="page")
    with pytest.raises(ReplyError, match="nothing called 'move' here"):
        d.answer("I can't move")
    d.answer("i cannot change my motiv")
    assert d.preferences.frozen[0].tolist() == [False, True]


def test_a_name_of_several_things_is_asked_back_and_of_nothing_to_change_is_said():
    schema = Schema(
        [
            Feature(name="open", kind="integer", low=0, high=9, label="open loans"),
            Feature(name="home", kind="integer", low=0, high=9, label="home loans", direction="decrease"),
            Feature(name="age", kind="integer", low=18, high=90, actionability="immutable"),
        ]
    )
    model = wf.wrap(lambda x: (x[:, 0] + x[:, 1] <= 6).astype(int), schema, output="label", classes=(0, 1))
    rows = np.random.default_rng(0).integers(0, 9, (60, 3)) + np.array([0.0, 0, 18])
    problem = wf.Problem(schema, model, wf.Target(favourable=1), data=rows)
    d = Dialogue(problem, np.array([5.0, 5, 40]), elicitor=None, questionnaire="page")
    with pytest.raises(ReplyError, match="'loans' may be your open loans, or your home loans. Say which"):
        d.answer("loans: very hard")
    with pytest.raises(ReplyError, match="No plan changes your age"):
        d.answer("age up to 70")
    again = d.answer("open loans: very hard; age up to 70")  # what was read is kept
    assert any("No plan changes your age" in note for note in again.notes)
    assert d.answer("home loans: very hard") is not None


def loan(**more) -> Dialogue:
    """Somebody with a loan over 47 months, who may take another one and has an account of a kind."""
    schema = Schema(
        [
            Feature(name="months", kind="integer", low=4, high=72, unit="months", label="loan duration"),
            Feature(name="account", kind="ordinal", levels=("none", "below 0 DM", "200 DM or more")),
        ]
    )
    model = wf.wrap(
        lambda x: (x[:, 1] * 20 - x[:, 0] >= -20).astype(int), schema, output="label", classes=(0, 1)
    )
    rows = np.stack([np.arange(4, 73), np.arange(69) % 3], axis=1).astype(float)
    problem = wf.Problem(schema, model, wf.Target(favourable=1), data=rows)
    return Dialogue(problem, np.array([47.0, 0.0]), elicitor=None, **more)


@pytest.mark.parametrize(
    ("reply", "low", "high"),
    [
        ("I can only go down", -np.inf, 47),
        ("down only", -np.inf, 47),
        ("36 months", 36, np.inf),
        ("yes but not more than 5 years", -np.inf, 60),
        ("not below 104.4 weeks", 25, np.inf),
        ("yes but not beyond 5 years", -np.inf, 60),
        ("my loan duration can only go down to about 24", 24, np.inf),
        ("no lower than two years", 24, np.inf),
    ],
)
def test_time_units_and_one_way_as_people_type_them(reply, low, high):
    d = loan()
    assert d.ask().feature == "months"
    d.answer(reply)
    assert (d.preferences.low[0, 0], d.preferences.high[0, 0]) == (low, high)


@pytest.mark.parametrize(
    ("replies", "office", "sales"),
    [
        (("only to some", "no"), False, False),
        (("only to some", "none of these"), False, False),
        (("only to some", "all"), True, True),
        (("only to some", "sales or office"), True, True),
        (("only to office work",), True, False),
        (("yes, but only to sales or office",), True, True),
        (("only office work",), True, False),
        (("I could become sales",), False, True),
        (("only to some", "office-work"), True, False),
        (("only to sales, and office",), True, True),
    ],
)
def test_levels_without_an_order_as_people_name_them(replies, office, sales):
    d = Dialogue(shares(), SHARES, elicitor=None)
    for reply in ("yes", "yes", "yes", *replies):
        d.answer(reply)
    assert d.preferences.frozen[0, 3] == (not office and not sales)
    if office or sales:
        assert d.preferences.level_ok(3)[0].tolist()[1:] == [office, sales]
    else:
        assert d.replay()[-1][1] == "None of these."


def test_numbers_that_cannot_be_meant_are_questioned_and_levels_are_named():
    d = loan()
    with pytest.raises(ReplyError, match=r"0.25\? Your loan duration now: 47 months. Type a whole number"):
        d.answer("0,25")
    d.answer("no")
    with pytest.raises(
        ReplyError, match="'24 months' is no account. It can be none, “below 0 DM”, or “200 DM or"
    ):
        d.answer("not more than 24 months")
    assert d.answered == 1


def test_the_last_word_on_how_many_changes_counts():
    d = started()
    d.answer("at most 1 change")
    d.answer("at most 3 changes")
    assert d.preferences.most[0] == 3
    assert d.undo() is not None and d.preferences.most[0] == 1


def test_a_plan_is_not_called_another_one_where_it_is_the_first_or_was_seen():
    d = loan(questionnaire=None)
    assert "This plan would turn the answer into a yes." in d.ask().text
    said = []
    for place in range(8):
        problem, x = someone("linear", "independent", place % 4)
        d = Dialogue(problem, x, questionnaire=None, seed=place)
        seen = set[str]()
        while (question := d.ask()) is not None:
            shown = [o for o in (*question.options, question.plan) if o is not None and o.action is not None]
            if question.stage == "accept" and question.plan is not None:
                said.append(question.text)
                assert ("another plan" in question.text) <= (not seen & {question.plan.action} and bool(seen))
            seen |= {o.action for o in shown}
            d.answer("neither" if question.stage == "choices" else "no")
    assert any("Of the plans that you saw" in text for text in said)


def test_a_part_of_a_levels_name_will_do_and_a_number_of_another_feature_is_questioned():
    d = Dialogue(shares(), SHARES, elicitor=None)
    d.answer("yes")
    d.answer("yes")
    with pytest.raises(ReplyError, match="3,500 years.* can go from 0 years to 20 years"):
        d.answer("up to 3,500")
    d.answer("up to 5")
    d.answer("3")
    d.answer("work")  # the only one with it
    assert d.preferences.levels[3][0].tolist() == [False, True, False]


def test_words_that_fit_several_levels_mean_all_of_them_where_several_may_be_named_and_are_asked_about_elsewhere():
    own = [
        Option(str(i), text)
        for i, text in enumerate(("self-employed, small", "office", "self-employed, large"), 1)
    ]
    assert several("self employed", own, alike=True) == [0, 2]
    assert several("self-employed and office", own, alike=True) == [0, 2, 1]
    with pytest.raises(ReplyError, match=r"may be 1 .*, or 3 .*Say which"):
        several("self employed", own)
    assert chosen("self employed, large", own) == 2


@pytest.mark.parametrize(
    "reply", ["i can't raise my savings", "I cannot lower savings", "I couldn't change my savings"]
)
def test_what_cannot_be_done_is_said_with_a_verb(reply):
    d = started()
    d.answer(reply)
    assert d.preferences.frozen[0, d.problem.schema.index("savings")]


def test_others_are_offered_at_the_end_only_where_some_keep_to_every_limit():
    ends = 0
    for place in range(3):
        problem, x = someone("linear", "independent", place % 4)
        d = Dialogue(problem, x, questionnaire=None, seed=place)
        while (question := d.ask()) is not None:
            if "all our questions" in question.text:
                offered = "others that I saw" in question.options[1].text
                after = d.answer("no")
                ends += 1
                assert offered == (after is not None and "that you saw" in after.text)
            else:
                d.answer("neither" if question.stage == "choices" else "no")
    assert ends


def test_what_does_that_mean_is_answered_above_the_same_question():
    d = Dialogue(shares(), SHARES, elicitor=None)
    before, state = d.ask(), d.to_dict()
    again = d.answer("What does that mean?")
    assert again.id == before.id and "from 0 EUR to 100 EUR" in again.notes[0] and d.to_dict() == state
    limits(d)
    assert "You promise nothing" in d.answer("what is this").notes[0]


def test_at_most_so_many_changes_and_how_hard():
    d = Dialogue(shares(), SHARES, elicitor=None)
    d.answer("at most 1 change")
    d.answer("my pay is very hard")
    assert d.preferences.most[0] == 1 and d.preferences.weight[0, 0] > d.preferences.weight[0, 1]
    limits(d)
    while d.ask() is not None:
        plan = d.ask().plan or d.ask().options[0]
        assert sum(value is not None for value in plan.action) == 1
        d.answer("no")


@pytest.mark.parametrize(
    "reply",
    [
        "1, years in the job up to 5; share of credit used: hard, at most 2 changes",
        {"limits": {"pay": False, "years": "up to 5", "used": "hard", "job": ""}, "changes": 2},
        {"limits": {"pay": "no", "years": {"high": 5}, "used": "hard", "job": True}, "changes": "2"},
        {
            "limits": {"pay": "no", "years": {"high": "up to 5 years"}, "used": "hard"},
            "changes": "at most 2 things",
        },
        {"limits": {"pay": "no", "years": {"high": "bis 5"}, "used": "hard"}, "changes": "two"},
    ],
)
def test_all_limits_on_one_page(reply):
    d = Dialogue(shares(), SHARES, elicitor=None, questionnaire="page")
    question = d.ask()
    assert question.kind == "page" and len(question.options) == 4 == len(d.form())
    d.answer(reply)
    wish = d.preferences
    assert d.ask().stage == "plan" and wish.frozen[0].tolist() == [True, False, False, False]
    assert d.ask().notes[0].startswith("Noted. You cannot change your pay.") and "5 years" in d.ask().notes[0]
    assert wish.high[0, 2] == 5 and wish.most[0] == 2 and wish.weight[0, 1] > 1
    keeps(d)
    same(d, Dialogue.from_dict(d.problem, json.loads(json.dumps(d.to_dict()))))


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ({"limits": {"wage": "no"}}, "Give .* with pay, used, years, job"),
        ({"limits": {"years": "up to 3,500"}}, "Years in the job: 3,500 years"),
        ({"limits": {"job": ["flying"]}}, "Job: 'flying' is none of the answers"),
        ({"limits": {}, "changes": 0}, "0 changes at most"),
        ({"limits": {"years": {"high": "at least 5"}}}, "'at least 5' is no number"),
        ("7", "is none of the answers"),
        ("Marzipan", "'Marzipan' is not read"),
    ],
)
def test_a_page_that_is_not_read_changes_nothing(reply, words):
    d = Dialogue(shares(), SHARES, elicitor=None, questionnaire="page")
    before = d.to_dict()
    with pytest.raises(ReplyError, match=words):
        d.answer(reply)
    assert d.to_dict() == before


def test_what_was_said_of_a_page_may_be_said_again():
    d = Dialogue(shares(), SHARES, elicitor=None, questionnaire="page")
    again = d.answer("pay: no; Marzipan")
    assert again.kind == "page" and d.preferences.frozen[0, 0]
    d.answer("pay: no; years up to 5")
    assert d.ask().stage == "plan" and d.preferences.high[0, 2] == 5


def test_what_was_read_of_a_page_is_kept_and_only_the_rest_is_asked_again():
    d = Dialogue(shares(), SHARES, elicitor=None, questionnaire="page")
    first = d.ask()
    again = d.answer("1, Marzipan; years up to 5")
    assert again.kind == "page" and again.text == first.text
    assert "You cannot change your pay." in again.notes[0] and "'Marzipan' is not read" in again.notes[0]
    assert d.preferences.frozen[0].tolist() == [True, False, False, False] and d.preferences.high[0, 2] == 5
    same(d, Dialogue.from_dict(d.problem, json.loads(json.dumps(d.to_dict()))))
    with use_language("de"):
        assert "„Marzipan“" in d.ask().notes[0]
    assert d.answer("none").stage == "plan" and d.preferences.frozen[0, 0]
    keeps(d)
    d.undo()
    assert d.undo().id == first.id and not d.preferences.frozen.any()


@pytest.mark.parametrize(
    ("reply", "quoted"),
    [
        ("x Flying High", "'Flying High'"),
        ("years up to Tenfold", "'Tenfold'"),
        ("by Friday The 13th", "'Friday The 13th'"),
        ("job: only to Office or Teaching", "'Teaching'"),
        ("years up to 3 Moons", "'3 Moons'"),
    ],
)
def test_a_refusal_quotes_what_was_typed_as_it_was_typed(reply, quoted):
    d = Dialogue(shares(), SHARES, elicitor=None)
    with pytest.raises(ReplyError) as refused:
        d.answer(reply)
    assert quoted in str(refused.value)
    if "Teaching" in reply:  # no numbers of a list that nobody sees
        assert "You can name 'craft and repair', 'office work', or 'sales'." in str(refused.value)


@pytest.mark.parametrize("reply", ["3 up to 5; 1", "3: at most 5, 1", "1, 3 hoechstens 5"])
def test_a_number_of_the_page_may_stand_for_the_name(reply):
    d = Dialogue(shares(), SHARES, elicitor=None, questionnaire="page")
    d.answer(reply)
    assert d.preferences.high[0, 2] == 5 and d.preferences.frozen[0].tolist() == [True, False, False, False]


def test_a_number_where_one_level_ends_and_the_next_begins_is_asked_back():
    levels = ("nothing", "0 to below 200 EUR", "200 EUR or more")
    schema = Schema([Feature(name="account", kind="ordinal", levels=levels, direction="increase")])
    model = wf.wrap(lambda rows: (rows[:, 0] > 0).astype(int), schema, output="label", classes=(0, 1))
    d = Dialogue(wf.Problem(schema, model, wf.Target(1), data=np.array([[0.0], [1], [2]])), np.zeros(1))
    with pytest.raises(ReplyError, match=r"'200 EUR' may be .0 to below 200 EUR., or .200 EUR or more."):
        d.answer("only up to 200 EUR")
    d.answer("only up to 0 to below 200 EUR")
    assert d.preferences.high[0, 0] == 1


class Stretched(Duels):
    """Asks of the first plan with more pay than it takes, and no other, whether it would do."""

    name: ClassVar[str] = "stretched"

    def begin(self, x, start=None, *, preferences=None, seed=0):
        return StretchedSession(self, x, start, preferences, seed)


class StretchedSession(DuelSession):
    def _fresh(self):
        self.over, self.others = False, []
        self.ahead = np.where(np.isnan(self.ahead), np.nan, 90.0)


def test_a_plan_that_asks_for_more_than_one_seen_is_not_shown_alone():
    problem = shares()
    wishes = replace(Preferences.none(problem.schema, 1), frozen=np.array([[False, True, True, True]]))
    d = Dialogue(problem, SHARES, elicitor=Stretched(), questionnaire=None, preferences=wishes)
    first = d.ask()
    assert first.stage == "plan" and first.plan.action[0] < 90
    asked = d.answer("no")
    assert all(plan.action[0] < 90 for plan in (asked.plan, *asked.options) if plan and plan.action)
    assert asked.left == 1  # what was seen is offered again, and nothing was asked in between


def test_a_plan_that_is_kept_or_taken():
    d = limits(Dialogue(shares(), SHARES, elicitor="favourite"))
    question = d.ask()
    assert question.stage == "choices" and len(question.options) in (2, 3)
    assert d.answer("keep 2").options[1].text == "Plan 2 (kept)"
    d.undo()
    assert "(kept)" not in d.ask().options[1].text
    d.answer("keep 2")
    d.answer("take 1")
    assert d.end.how == "accepted" and d.end.plan.action == question.options[0].action
    assert [one.action for one in d.end.marked] == [question.options[1].action]
    assert "The plans that you kept" in d.end.show() and "as it is now" in d.end.show()


def test_a_plan_seen_is_offered_at_the_end_and_what_it_takes_as_it_is_is_said():
    d = limits(Dialogue(shares(), SHARES, elicitor="favourite", budget=2, until="31 March 2027"))
    seen = [option.action for option in d.ask().options]
    while d.ask().stage == "choices" or d.ask().kind == "accept":
        assert d.ask().stage == "choices" or d.ask().plan.action == seen[0]
        d.answer("1" if d.ask().stage == "choices" else "no")
    assert seen[1] in [option.action for option in d.ask().options]
    place = [option.action for option in d.ask().options].index(seen[1])
    d.answer(str(place + 1))
    assert d.end.how == "accepted" and d.end.plan.action == seen[1]
    assert d.end.assumes[-1] == "The plan holds until 31 March 2027."


def test_the_only_plan_seen_is_offered_once_more_as_the_only_one():
    d = Dialogue(shares(), SHARES, questionnaire=None, elicitor=None, budget=1)
    first = d.ask().plan.action
    while d.ask().kind == "accept":
        d.answer("no")
    question = d.ask()
    assert "no other plan" in question.text and [one.text for one in question.options[1:]] == ["No"]
    assert question.options[0].action == first
    d.answer("no")
    assert d.end.how == "rejected"
    d.undo()
    d.answer("yes")
    assert d.end.how == "accepted" and d.end.plan.action == first


def test_a_dead_end_names_the_plan_seen_and_the_limit_that_it_breaks():
    d = limits(Dialogue(shares(), SHARES, elicitor="favourite"))
    d.answer("1")
    for name in ("pay", "used", "years", "job"):
        if d.ask().stage != "reconsider":
            d.answer({"cannot": name})
    question = d.ask()
    assert question.stage == "reconsider" and len(question.options) > 1
    assert all(option.steps for option in question.options[:-1])


def test_a_state_is_taken_up_and_an_answer_taken_back_without_a_search(monkeypatch):
    problem = shares()
    d = limits(Dialogue(problem, SHARES, elicitor="favourite"))
    d.answer("1")
    stored, now, before = json.loads(json.dumps(d.to_dict())), d.ask(), None
    method = type(d._setup.base)
    monkeypatch.setattr(method, "recommend", lambda *a, **k: pytest.fail("it searched"))
    again = Dialogue.from_dict(problem, stored)
    assert again.ask() == now
    before = again.undo()
    monkeypatch.undo()
    assert before.stage == "choices"
    d.undo()
    same(d, again)


def test_a_state_is_taken_up_in_a_new_process_with_no_method_fitted_and_one_question_to_the_model(
    monkeypatch,
):
    d = limits(Dialogue(shares(), SHARES, elicitor="favourite"))
    d.answer("1")
    stored, now = json.loads(json.dumps(d.to_dict())), d.ask()
    other, asked, fitted = shares(), [], []  # as a new process has it: nothing is kept from before
    native, fit = type(other.model).native, type(d._setup.base).fit
    monkeypatch.setattr(type(other.model), "native", lambda *a: asked.append(len(a[1])) or native(*a))
    monkeypatch.setattr(type(other.model), "outputs", lambda *a, **k: pytest.fail("it searched"))
    monkeypatch.setattr(type(d._setup.base), "fit", lambda *a: fitted.append(a) or fit(*a))
    again = Dialogue.from_dict(other, stored)
    assert again.ask() == now
    assert not fitted
    assert len(asked) == 1 and asked[0] <= 49 + len(
        now.options
    )  # is it the same model, and are these still a yes
    monkeypatch.undo()
    again.answer("1")
    assert again._setup.base.problem_ is other


def test_only_numbers_that_are_not_whole_are_rounded_in_fingerprints():
    rows = np.array(
        [[0.1 + 0.2, 3, -0.0], [np.nan, np.inf, 123456789.123], [1e-12 / 3, 2**40 + 1, 999999999]]
    )
    near = np.array([[0.3, 3, 0], [np.nan, np.nan, 123456789], [3.33333333e-13, 1.09951163e12, 999999999]])
    assert digest(rows) == digest(near) == digest(np.asfortranarray(rows))
    assert digest(np.array([0.30001])) != digest(np.array([0.3]))


# -- states --------------------------------------------------------------------------------------------------


class States(RuleBasedStateMachine):
    """A dialogue that is answered, gone back in, put away and taken up again, beside one that is only answered."""

    @initialize(place=st.integers(0, 3), elicitor=st.sampled_from([None, "favourite"]))
    def begin(self, place, elicitor):
        problem, x = someone("linear", "independent", place)
        self.make = lambda: Dialogue(problem, x, elicitor=elicitor, budget=6)
        self.talk, self.said = self.make(), []

    @rule(
        reply=st.sampled_from(
            ("1", "2", "yes", "no", "up to 40000", "cannot debt", "x", "", "back", "[/red]")
        )
    )
    def answer(self, reply):
        if self.talk.ask() is None:
            return
        before = self.talk.to_dict()
        try:
            self.talk.answer(reply)
            self.said.append(reply)
        except ReplyError:
            assert self.talk.to_dict() == before  # what is not understood changes nothing

    @rule()
    def put_away_and_take_up(self):
        again = Dialogue.from_dict(self.talk.problem, json.loads(json.dumps(self.talk.to_dict())))
        same(self.talk, again)
        self.talk = again

    @rule()
    def start_again(self):
        other = self.make()
        for reply in self.said:
            other.answer(reply)
        assert other.ask() == self.talk.ask()

    @invariant()
    def shows_what_holds(self):
        if hasattr(self, "talk"):
            keeps(self.talk)


TestStates = States.TestCase
TestStates.settings = settings(max_examples=5, stateful_step_count=8, deadline=None)


def test_a_copy_of_a_problem_is_asked_with_a_method_of_its_own():
    problem = case("linear", "independent", 1, 8).problem
    fitted, other = fitted_base("local-search", None, problem), problem.asking_no_more()
    assert fitted_base("local-search", None, problem) is fitted and fitted.problem_ is problem
    assert fitted_base("local-search", None, other).problem_ is other
