"""Society over time against closed forms: nothing moves, everybody follows, nobody is lost, the same run again."""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wayforward as wf
from wayforward.errors import DataError, FileFormatError, MethodError, WayforwardError
from wayforward.groups import Groups
from wayforward.impact.segregation import rectangle_world, rectangles, segregation_index
from wayforward.impact.society import (
    Compliance,
    History,
    Scenario,
    Setting,
    Society,
    figure_society,
    setting_of,
    simulate,
)
from wayforward.impact.society.running import ACTING, GRANTED
from wayforward.methods.base import Method
from wayforward.problem import LpMix, Neighbours, UnderNoise
from wayforward.schema import SchemaWarning

KINDS = ("original", "distance", "realistic", "balanced")
WORLD = rectangle_world(1, 1, 0.5, 0.5, side=7)


def above(table: Any) -> np.ndarray:
    """The model of the theorems: yes where y >= 0."""
    return (np.asarray(table, dtype=float)[:, 1] >= 0).astype(int)


@dataclass
class Follow(Method):
    """Recourse of the theorems, as a method."""

    name: ClassVar[str] = "follow"
    summary: ClassVar[str] = ""
    citation: ClassVar[str] = ""
    minimal_ = False  # what everybody does is the theorem's
    kind: str = "distance"

    def _recommend(self, people, k, streams, budget):
        goal = WORLD.follow(people.x[:, :2], self.kind)
        return np.concatenate([goal, np.full((people.n, 1), np.nan)], 1)[:, None]


def rectangle_setting(**more: Any) -> Setting:
    schema = wf.Schema(
        (
            wf.Feature(name="x", kind="real", low=-3, high=4),
            wf.Feature(name="y", kind="real", low=-4, high=4),
            wf.Feature(name="sex", kind="binary", levels=(0, 1), actionability="immutable"),
        )
    )
    rows = np.concatenate(
        [np.c_[p, np.full(len(p), g)] for p, g in zip(WORLD.people("original"), (0, 1, 0, 1), strict=True)]
    )
    problem = wf.Problem(
        schema, wf.wrap(above, schema, output="label", classes=(0, 1)), wf.Target(favourable=1), data=rows
    )
    return Setting(problem, rows, Groups.of("sex", rows, schema), **more)


def index(history: History) -> float:
    """The theorems' index of the people at the end."""
    x, size = history.society.x[:, :2], [len(p) for p in WORLD.people("original")]
    return segregation_index(*np.split(x, np.cumsum(size)[:-1]))


RECTANGLES = Scenario(rounds=2, group="sex", outcome="none", measure=0)


@pytest.mark.parametrize("kind", KINDS)
def test_full_compliance_in_the_rectangle_world_gives_the_theorem_values(kind: str):
    """Gao & Lakkaraju (2023), theorems 4.1 and 5.1: .5616 before, .5811, .6180, .5000 when everybody follows."""
    setting = rectangle_setting()
    got = simulate(RECTANGLES, setting, method=Follow(kind="distance" if kind == "original" else kind))
    if kind == "original":
        got = simulate(replace(RECTANGLES, compliance=Compliance(share=0.0)), setting, method=Follow())
    assert index(got) == pytest.approx(rectangles(1, 1, 0.5, 0.5)[kind], abs=1e-9)
    published = {"original": 0.5616, "distance": 0.5811, "realistic": 0.6180, "balanced": 0.5000}
    assert round(index(got), 4) == published[kind]
    if kind != "original":
        assert got.total("eligible").tolist() == [98, 98] and got.total("returned").tolist() == [0, 98]
        assert (got.society.status == GRANTED).all()
        assert got.figure("success")[1] == 1.0 and got.figure("acceptance")[1] == 1.0


def test_cheapest_advice_in_the_rectangle_world_is_the_distance_based_one():
    """Gao & Lakkaraju (2023), theorem 4.1: local-search leads to the boundary, and the index is .5811."""
    got = simulate(RECTANGLES, rectangle_setting())
    assert index(got) == pytest.approx(0.5811, abs=2e-3)


@pytest.mark.parametrize("part", [0.25, 0.5])
def test_part_of_the_way_is_part_of_the_way(part: float):
    """The highest refused people come from -u to -u (1 - part): the closed form with t = u + a + u (1 - part)."""
    scenario = replace(RECTANGLES, compliance=Compliance(kind="partial", part=part))
    got = simulate(scenario, rectangle_setting(), method=Follow())
    depth = 1.5 + 0.5 * (1 - part)
    assert index(got) == pytest.approx(0.5 + np.hypot(0.5, depth) - depth, abs=1e-9)
    assert got.total("yes").sum() == 0 and got.figure("holds")[1] == 1.0


@pytest.mark.filterwarnings("ignore:Column 'age' of the people")
def test_codes_and_values_beyond_what_was_seen_stay_when_people_act():
    """Nobody touches them; a code of -7 became the lowest number, an age above all that were seen the highest."""
    schema = wf.Schema(
        (
            wf.Feature(name="pay", kind="integer", low=0, high=100),
            wf.Feature(
                name="late", kind="integer", low=0, high=59, special={-7: "never"}, actionability="immutable"
            ),
            wf.Feature(
                name="age", kind="integer", low=18, high=70, bounds="observed", actionability="immutable"
            ),
            wf.Feature(name="sex", kind="binary", levels=(0, 1), actionability="immutable"),
        )
    )
    problem = wf.Problem(schema, wf.wrap(lambda x: x[:, 0] / 100, schema), wf.Target(favourable=1))
    rows = np.array([[20.0, -7, 99, 0], [30, 5, 40, 1]])
    setting = Setting(problem, rows, Groups.of("sex", rows, schema))
    got = simulate(replace(RECTANGLES, compliance=Compliance(delay=(1, 1))), setting)
    assert (got.society.x[:, 0] >= 50).all()
    np.testing.assert_array_equal(got.society.x[:, 1:], rows[:, 1:])


# -- the loan world: everything at once --

BASE = Scenario(
    rounds=3, people=150, model="lr", world="known", measure=0, arrivals=20, seed=3,
    compliance={"kind": "willing", "share": 0.9, "error": 0.02, "delay": [1, 2], "leave": 0.1, "reapply": 0.8},
    lender={"capacity": 0.5, "retrain": 2},
)  # fmt: skip


@pytest.mark.parametrize("sample", [100, 1000])
def test_without_compliance_nothing_moves(sample: int):
    """All dimensions of segregation stay, to the last bit, also where they are measured on a sample."""
    scenario = replace(
        BASE, rounds=4, arrivals=0, measure=1, sample=sample, compliance=Compliance(share=0.0, delay=(1, 2))
    )
    got = simulate(scenario)
    np.testing.assert_array_equal(got.society.x, got.society.setting.x)
    assert got.total("agreed").sum() == 0 and got.total("returned").sum() == 0
    for values in got.segregation.values():
        assert values.shape == (5, 2) and (values == values[0]).all()
    assert np.ptp(got.total("good")) == 0


@settings(max_examples=12, deadline=None)
@given(
    arrivals=st.integers(0, 30),
    capacity=st.one_of(st.none(), st.integers(1, 40), st.floats(0, 0.99)),
    share=st.floats(0, 1),
    leave=st.floats(0, 1),
    reapply=st.floats(0, 1),
    longest=st.integers(1, 3),
    kind=st.sampled_from(["full", "partial", "willing"]),
    every=st.booleans(),
    seed=st.integers(0, 99),
)
def test_nobody_is_lost(arrivals, capacity, share, leave, reapply, longest, kind, every, seed):
    """Stocks add up to everybody who came, and each stock changes by its flows, group by group."""
    scenario = replace(
        RECTANGLES, rounds=4, arrivals=arrivals, seed=seed, advice={"every": every},
        lender={"capacity": capacity},
        compliance={"kind": kind, "share": share, "leave": leave, "reapply": reapply, "delay": [1, longest]},
    )  # fmt: skip
    got = simulate(scenario, rectangle_setting(), method=Follow())
    flow, stock = got.flows, got.stocks
    assert (got.people[0].sum() == 196) and len(got.society) == got.people[-1].sum()
    np.testing.assert_array_equal(np.diff(got.people, axis=0), flow["arrived"])
    np.testing.assert_array_equal(np.diff(stock["granted"], axis=0), flow["given"])
    np.testing.assert_array_equal(np.diff(stock["left"], axis=0), flow["gone"])
    np.testing.assert_array_equal(np.diff(stock["acting"], axis=0), flow["agreed"] - flow["returned"])
    np.testing.assert_array_equal(flow["applied"], flow["eligible"] + flow["refused"])
    np.testing.assert_array_equal(flow["eligible"], flow["given"] + flow["passed_over"])
    for less, more in (
        ("agreed", "served"),
        ("served", "advised"),
        ("yes", "returned"),
        ("returned", "applied"),
    ):
        assert (flow[less] <= flow[more]).all()
    if capacity is not None:
        assert (got.total("given") <= (capacity if capacity >= 1 else capacity * got.total("applied"))).all()


def test_the_best_scores_are_granted_first():
    scenario = replace(BASE, rounds=1, arrivals=0, lender={"capacity": 20})
    got = simulate(scenario)
    _, score = got.society.problem.reached(got.society.setting.x)
    granted = got.society.since >= 0
    assert granted.sum() == 20 and score[granted].min() >= np.sort(score)[-20]


@cache
def base() -> History:
    """The whole run of `BASE`, for tests that compare another with it."""
    return simulate(BASE)


def test_the_same_seed_is_the_same_run_and_another_is_not():
    one, two = base(), simulate(BASE)
    assert one.same(two) and not one.same(simulate(replace(BASE, seed=4)))
    np.testing.assert_array_equal(one.society.x, two.society.x)


def test_a_resumed_run_equals_an_uninterrupted_one(tmp_path: Path):
    """Stopped in every round, retrained models and acting people included; then more rounds than at first."""
    whole = base()
    file = tmp_path / "state.npz"

    class Stop(Exception):
        pass

    def stop(done: int, total: int) -> None:
        raise Stop

    for _ in range(BASE.rounds):
        with pytest.raises(Stop):
            simulate(BASE, checkpoint=file, progress=stop)
    got = simulate(BASE, checkpoint=file)
    assert got.same(whole) and got.models == [0, 0, 1]
    for name in Society._ARRAYS:
        np.testing.assert_array_equal(getattr(got.society, name), getattr(whole.society, name))
    longer = replace(BASE, rounds=4)
    assert simulate(longer, checkpoint=file).same(simulate(longer))


def test_a_checkpoint_of_another_question_is_refused(tmp_path: Path):
    """Another cost, rule, target or demand to withstand gives other advice: its rounds are no part of this run."""
    file, first = tmp_path / "state.npz", rectangle_setting()
    simulate(replace(RECTANGLES, rounds=1), first, method=Follow(), checkpoint=file)
    p = first.problem

    def setting(schema: wf.Schema = p.schema, **more: Any) -> Setting:
        model = wf.wrap(above, schema, output="label", classes=(0, 1))
        return replace(first, problem=wf.Problem(schema, model, p.target, data=p.reference, **more))

    simulate(RECTANGLES, setting(), method=Follow(), checkpoint=file)
    for other in (
        setting(cost=LpMix(l2=1.0)),
        setting(p.schema.with_rules("after.x <= 3")),
        setting(robust=UnderNoise(0.02)),
        setting(plausibility=Neighbours(k=3)),
    ):
        with pytest.raises(FileFormatError, match="another scenario"):
            simulate(replace(RECTANGLES, rounds=3), other, method=Follow(), checkpoint=file)


def test_a_checkpoint_of_another_run_is_refused(tmp_path: Path):
    file = tmp_path / "state.npz"
    simulate(replace(RECTANGLES, rounds=1), rectangle_setting(), method=Follow(), checkpoint=file)
    for other, word in ((replace(RECTANGLES, seed=5), "another"), (replace(RECTANGLES, rounds=0), "beyond")):
        with pytest.raises((FileFormatError, DataError), match=word):
            simulate(other, rectangle_setting(), method=Follow(), checkpoint=file)
    file.write_bytes(b"PK no zip")
    with pytest.raises(FileFormatError, match="does not hold"):
        simulate(RECTANGLES, rectangle_setting(), method=Follow(), checkpoint=file)
    with pytest.raises(FileFormatError, match="npz"):
        simulate(RECTANGLES, rectangle_setting(), checkpoint=tmp_path / "state.pkl")


# -- improvement and gaming --


def test_improvement_is_told_from_gaming():
    """The truth looks at y: who climbs improves. A truth that nobody can move: every yes on return is gamed."""
    improves = simulate(RECTANGLES, rectangle_setting(outcome=lambda x: x[:, 1] >= 0.0), method=Follow())
    assert improves.figure("improvement")[1] == 1.0 and improves.figure("gaming")[1] == 0.0
    assert improves.figure("default", over=True)[0] == 0.0
    games = simulate(RECTANGLES, rectangle_setting(outcome=above(rectangle_setting().x)), method=Follow())
    assert games.figure("improvement")[1] == 0.0 and games.figure("gaming")[1] == 1.0
    assert games.figure("default").tolist() == [0.0, 1.0] and games.figure("default", over=True)[0] == 0.5
    unknown = simulate(RECTANGLES, rectangle_setting(), method=Follow())
    assert np.isnan(unknown.figure("gaming")).all() and np.isnan(unknown.figure("default")).all()


def test_a_lender_who_retrains_breaks_advice_and_one_who_does_not_keeps_it():
    scenario = replace(
        BASE, rounds=5, people=300, arrivals=0, compliance=Compliance(delay=(2, 2)), lender={"retrain": 0}
    )
    stays = simulate(scenario)
    moves = simulate(replace(scenario, lender={"retrain": 1, "learns_from": "everybody", "keep": False}))
    assert stays.figure("holds", over=True)[0] == 1.0 and set(stays.models) == {0}
    assert moves.figure("holds", over=True)[0] < 1.0 and moves.models == [0, 1, 2, 3, 4]


def test_delays_and_errors():
    scenario = replace(RECTANGLES, rounds=5, compliance=Compliance(delay=(2, 3)))
    got = simulate(scenario, rectangle_setting(), method=Follow())
    returned = got.total("returned")
    assert returned[[0, 1]].sum() == 0 and returned[2] > 20 and returned[3] > 20 and returned.sum() == 98
    shaky = replace(RECTANGLES, compliance=Compliance(error=0.05))
    got = simulate(shaky, rectangle_setting(), method=Follow())
    assert 0.3 < got.figure("success")[1] < 0.7  # they aim at the boundary, and half of them fall short
    acting = simulate(replace(scenario, rounds=2), rectangle_setting(), method=Follow())
    assert (acting.society.status == ACTING).sum() == 98


def test_advice_is_a_plan_of_acts_that_takes_its_time(tmp_path: Path):
    """A degree and then the job: 32 months, so three rounds of a year; the acts stand in the scenario's own file."""
    schema = wf.Schema(
        (
            wf.Feature(name="sex", kind="categorical", levels=("f", "m"), actionability="immutable"),
            wf.Feature(name="school", kind="ordinal", levels=("some", "degree"), direction="increase"),
            wf.Feature(name="income", kind="integer", low=0, high=9000, unit="EUR"),
        )
    )
    acts = [
        {"name": "get a degree", "sets": {"school": "degree"}, "cost": 3, "months": 30},
        {
            "name": "take the better job",
            "adds": {"income": 1500},
            "needs": ["before.school == 'degree'"],
            "months": 2,
        },
    ]
    x = np.array([[i % 2, 0, 1200 + i] for i in range(20)], dtype=float)
    model = wf.wrap(lambda rows: (rows[:, 2] > 2500).astype(int), schema, output="label", classes=(0, 1))
    problem = wf.Problem(schema, model, wf.Target(favourable=1), data=np.vstack([x, [[0, 1, 4000]]]))
    scenario = Scenario(
        rounds=5, group="sex", outcome="none", measure=0, compliance={"round_months": 12},
        advice={"method": "action-sequences", "parameters": {"acts": acts}},
    )  # fmt: skip
    scenario.to_yaml(tmp_path / "acts.yaml")
    scenario = Scenario.from_yaml(tmp_path / "acts.yaml")
    setting = Setting(problem, x, Groups.of("sex", x, schema))
    got = simulate(scenario, setting)
    np.testing.assert_array_equal(got.total("agreed"), [20, 0, 0, 0, 0])
    np.testing.assert_array_equal(got.total("returned"), [0, 0, 0, 20, 0])
    np.testing.assert_array_equal(got.society.x[:, 1:], np.column_stack([np.ones(20), x[:, 2] + 1500]))
    now = simulate(replace(scenario, compliance=Compliance()), setting)
    np.testing.assert_array_equal(now.total("returned"), [0, 20, 0, 0, 0])
    assert "round_months" not in now.to_dict()["scenario"]["compliance"]
    with pytest.raises(DataError, match="round_months must be above 0"):
        Compliance(round_months=0)


def test_willingness_falls_fast_and_is_then_flat():
    """Tominaga et al. (2024): action falls with the first changes; ours reads 4.13 and 2.63 of 1 to 7 as 1 and .52."""
    curve = Compliance(kind="willing", share=0.8).willingness(np.array([1.0, 2, 3, 8, 9]))
    assert curve[0] == pytest.approx(0.8) and (np.diff(curve) < 0).all()
    assert curve[0] - curve[1] > 0.2 and curve[3] - curve[4] < 0.001
    assert curve[-1] == pytest.approx(0.8 * 0.52, abs=0.001)
    by_cost = Compliance(kind="willing", by="cost", unit=0.1, floor=0.0).willingness(np.array([0.0, 0.12]))
    np.testing.assert_allclose(by_cost, [1.0, np.exp(-1)])


def test_advice_is_given_once_or_every_round():
    scenario = replace(RECTANGLES, rounds=3, compliance=Compliance(share=0.0))
    assert simulate(scenario, rectangle_setting(), method=Follow()).total("served").tolist() == [98, 0, 0]
    again = replace(scenario, advice={"every": True})
    assert simulate(again, rectangle_setting(), method=Follow()).total("served").tolist() == [98, 98, 98]


def test_what_the_adviser_believes_may_be_wrong():
    """Income feeds savings: advice that knows it leads where it said, advice that does not leads elsewhere."""
    scenario = replace(BASE, rounds=2, arrivals=0, compliance=Compliance(), lender={}, people=300)
    for believed, wrong in (("same", False), ("independent", True)):
        got = simulate(replace(scenario, advice={"world": believed})).society
        came = np.flatnonzero(got.due == 1)
        off = np.abs(got.x[came] - got.goal[came]).max(1) > 1e-6
        assert len(came) > 20 and off.any() == wrong


# -- what is asked of advice --

LASTING = replace(
    BASE, rounds=4, people=200, model="gb", arrivals=0, seed=0, lender={"retrain": 2},
    compliance=Compliance(delay=(1, 2)),
)  # fmt: skip


@cache
def plain_advice() -> History:
    """The run in which nobody asks for advice that lasts."""
    return simulate(LASTING)


@pytest.mark.parametrize(
    "robust", ["noise:0.02,draws=20", pytest.param(["models:3"], marks=pytest.mark.slow)]
)
def test_robust_advice_holds_longer_and_costs_more(robust: Any):
    """A lender who retrains: more of the advice is still a yes when people return; a new model gets new conditions."""
    plain = plain_advice()
    lasts = simulate(replace(LASTING, advice={"robust": robust}))
    assert lasts.figure("holds", over=True)[0] > plain.figure("holds", over=True)[0] + 0.1
    assert lasts.figure("cost")[0] > plain.figure("cost")[0]
    end, start = lasts.society.problem.robust, Society(lasts.scenario, lasts.society.setting).problem.robust
    assert lasts.models[-1] == 1 and end is not start and end.name == start.name
    if robust == ["models:3"]:
        rows = lasts.society.setting.x
        assert (end.votes(rows) != start.votes(rows)).any()  # trained on what the lender has learnt since
    else:
        holds = end.holds(lasts.society.problem, *(rows for rows in advice_of(lasts.society)))
        assert holds.all()


def advice_of(society: Society) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """People who still hold a plan of the model of today: before, action, after."""
    who = np.flatnonzero(np.isfinite(society.cost) & (society.version == society.model_version))
    return society.x[who], society.act[who], society.goal[who]


def test_robust_advice_goes_through_files_and_is_checked(tmp_path: Path):
    demanding = replace(BASE, rounds=2, people=60, advice={"robust": ("models:2", "noise:0.01,draws=20")})
    assert Scenario.from_yaml(demanding.to_yaml()) == demanding
    assert simulate(demanding, checkpoint=tmp_path / "a.npz").same(
        simulate(demanding, checkpoint=tmp_path / "a.npz")
    )
    for wrong, word in (("nose:0.02", "noise"), (["noise:x"], "number"), (3, "robust")):
        with pytest.raises(WayforwardError, match=word):
            Scenario(advice={"robust": wrong})
    with pytest.raises(WayforwardError, match="train"):
        simulate(replace(RECTANGLES, advice={"robust": "models:2"}), rectangle_setting())


def test_balanced_methods_are_given_the_scenarios_groups():
    """Left out: the group that is counted, cut where it is cut; named: what is named."""
    parameters = {"density": "kernel", "proposals": 64, "rounds": 4}
    demanding = replace(
        BASE, rounds=2, people=150, arrivals=0, lender={}, advice={"method": "ebr", "parameters": parameters}
    )
    got = simulate(demanding).society
    assert got.method.groups == "gender" and got.method.density_.names == ("0", "1")
    assert np.isfinite(got.cost).any()
    aged = Society(
        replace(demanding, group="age", cut=(0.0,)), setting_of(replace(demanding, group="age", cut=(0.0,)))
    )
    assert aged.method.groups.names == ("below 0", "0 and above")
    assert len(aged.method.groups) == len(aged.problem.reference)
    named = replace(demanding, advice={"method": "ebr", "parameters": parameters | {"groups": "age"}})
    assert Society(named, setting_of(named)).method.groups == "age"
    setting = rectangle_setting()
    town = replace(setting, groups=Groups.of("town", np.arange(196) % 2))
    for advice in ({"method": "ebr"}, {"balanced": 0.3}):
        with pytest.raises(DataError, match="'town' is no feature"):
            simulate(replace(RECTANGLES, advice=advice), town)


@dataclass
class Counted(Follow):
    """Counts the people it is asked about."""

    n_answered: int = 0

    def _recommend(self, people, k, streams, budget):
        self.n_answered += people.n
        return super()._recommend(people, k, streams, budget)


def test_people_who_are_alike_are_asked_about_once():
    """Newcomers are drawn from those at the start: nobody new is worked out, and everybody has their own answer."""
    scenario = replace(RECTANGLES, rounds=4, arrivals=60, compliance=Compliance(share=0.0))
    stays, some = Counted(), Counted()
    got = simulate(scenario, rectangle_setting(), method=stays)
    assert stays.n_answered == 98 < got.total("served").sum()
    scenario = replace(scenario, compliance=Compliance(share=0.5))  # whoever acts takes the answer along
    got = simulate(scenario, rectangle_setting(), method=some)
    assert 98 < some.n_answered < got.total("served").sum()
    held = np.flatnonzero(np.isfinite(got.society.cost) & (got.society.version == 0))
    goal = WORLD.follow(got.society.x[held, :2], "distance")
    np.testing.assert_allclose(got.society.goal[held, :2], goal)


def test_a_new_model_under_which_nobody_can_be_advised():
    """Said once in words, counted as no plan, and no crash; a method that never fits is a mistake."""

    @dataclass
    class Once(Follow):
        def _fit(self, problem):
            if problem is not setting.problem:
                raise MethodError("there is nothing to go by")

    def train(x, y, seed):
        return wf.wrap(above, setting.problem.schema, output="label", classes=(0, 1))

    x = rectangle_setting().x
    setting = rectangle_setting(
        outcome=lambda rows: rows[:, 1] >= 0, train=train, train_x=x, train_y=above(x)
    )
    scenario = replace(
        RECTANGLES, rounds=4, outcome="known", advice={"every": True}, lender={"retrain": 2},
        compliance=Compliance(share=0.0),
    )  # fmt: skip
    with pytest.warns(SchemaWarning, match="nothing to go by") as caught:
        got = simulate(scenario, setting, method=Once())
    assert len(caught) == 1 and got.total("served").tolist() == [98, 98, 0, 0]
    assert got.total("advised").tolist() == [98] * 4
    with pytest.raises(MethodError):
        simulate(RECTANGLES, rectangle_setting(), method=Once())


def test_a_broken_checkpoint_is_told_and_never_taken(tmp_path: Path):
    """Cut off anywhere, or with a bit turned anywhere: a plain message, or the very same run."""
    file, broken = tmp_path / "state.npz", tmp_path / "broken.npz"
    scenario = replace(RECTANGLES, rounds=2)
    whole = simulate(scenario, rectangle_setting(), method=Follow(), checkpoint=file)
    good, rng = file.read_bytes(), np.random.default_rng(0)
    for turn in range(60):
        data = bytearray(good)
        if turn % 3:
            data[rng.integers(len(data))] ^= 1 << int(rng.integers(8))
        else:
            del data[rng.integers(len(data)) :]
        broken.write_bytes(bytes(data))
        try:
            got = simulate(scenario, rectangle_setting(), method=Follow(), checkpoint=broken)
        except FileFormatError as error:
            assert "broken.npz" in str(error)
        else:
            assert got.same(whole)
    with np.load(file) as held:
        parts = {name: held[name] for name in held.files}
    for name, wrong in (
        ("x", parts["x"][:5]),
        ("due", parts["due"].astype(float)),
        ("act", parts["act"][:, :1]),
    ):
        np.savez(broken, **(parts | {name: wrong}))
        with pytest.raises(FileFormatError, match="do not fit"):
            simulate(scenario, rectangle_setting(), method=Follow(), checkpoint=broken)


@pytest.mark.parametrize("threshold", [1e-9, 1 - 1e-9])
def test_everybody_or_nobody_is_accepted(threshold: float, recwarn: pytest.WarningsRecorder):
    scenario = replace(
        BASE, measure=1, arrivals=0, lender={"threshold": threshold, "retrain": 1, "keep": False}
    )
    got = simulate(scenario)
    assert got.total("given")[0] == (150 if threshold < 0.5 else 0)
    assert str(got) and len(figure_society(got).axes) > 3
    assert not recwarn.list


# -- scenarios and histories as files --


def test_scenarios_and_histories_go_through_files(tmp_path: Path):
    assert Scenario.from_yaml(BASE.to_yaml()) == BASE
    got = simulate(replace(BASE, rounds=1, measure=1))
    back = History.load(got.save(tmp_path / "history.json"))
    assert back.same(got) and len(back.rows()) == 3
    assert "acceptance" in str(back)
    with pytest.raises(DataError, match="Did you mean 'acceptance'"):
        back.figure("aceptance")


@pytest.mark.parametrize(
    ("entry", "word"),
    [
        ({"rounds": -1}, "rounds"),
        ({"rounds": 2.5}, "rounds"),
        ({"people": 1}, "people"),
        ({"roundz": 3}, "Did you mean 'rounds'"),
        ({"outcome": "maybe"}, "outcome"),
        ({"compliance": {"share": 1.5}}, "share"),
        ({"compliance": {"share": float("nan")}}, "share"),
        ({"compliance": {"delay": [3, 1]}}, "delay"),
        ({"compliance": {"delay": 0}}, "delay"),
        ({"compliance": {"fall": 0}}, "fall"),
        ({"lender": {"capacity": 2.5}}, "capacity"),
        ({"lender": {"learns_from": "rumours"}}, "learns_from"),
        ({"advice": {"every": "yes"}}, "every"),
        ({"advice": 3}, "advice"),
        ({"cut": "30"}, "cut"),
        ({"cut": 3}, "cut"),
        ({"cut": ["a"]}, "cut"),
        ({"cut": [float("nan")]}, "cut"),
        ({"cut": None}, "cut"),
        ({"places": None}, "places"),
        ({"seed": 2**70}, "seed"),
        ({"people": 10**12}, "people"),
        ({"compliance": {"delay": [1, 10**30]}}, "delay"),
        ({"compliance": {"unit": float("inf")}}, "unit"),
        ({"lender": {"capacity": float("inf")}}, "capacity"),
        ({"lender": {"capacity": 10**400}}, "capacity"),
        ({"advice": {"balanced": 1.0}}, "balanced"),
        ({"advice": {"parameters": {1: 2}}}, "names"),
    ],
)
def test_a_scenario_checks_itself(entry: dict[str, Any], word: str):
    with pytest.raises(DataError, match=word):
        Scenario.from_dict(entry)


@pytest.mark.parametrize(
    ("parameters", "word"),
    [({"grid": "8"}, "whole number"), ({"grid": [8]}, "grid"), ({"grits": 8}, "grits")],
)
def test_parameters_of_the_method_are_checked(parameters: dict[str, Any], word: str):
    with pytest.raises(WayforwardError, match=word):
        simulate(replace(BASE, people=20, advice={"parameters": parameters}))


@pytest.mark.parametrize(
    "text", ["no such file", "a: [\n", "- 1\n- 2\n", "name: 2020-99-99\n", "a: !!python/name:os\n"]
)
def test_what_is_no_scenario_file(text: str):
    with pytest.raises(FileFormatError):
        Scenario.from_yaml(text)


def test_pieces_that_do_not_fit():
    setting = rectangle_setting()
    with pytest.raises(DataError, match="retrain"):
        simulate(replace(RECTANGLES, lender={"retrain": 1}), setting)
    with pytest.raises(DataError, match="outcomes"):
        rectangle_setting(outcome=np.ones(3))
    with pytest.raises(DataError, match="chance"):
        simulate(RECTANGLES, rectangle_setting(outcome=lambda x: np.full(len(x), 2.0)))

    def in_words(x):
        return np.full(len(x), "good")

    with pytest.raises(DataError, match="outcome function in_words returns.*numbers"):
        simulate(RECTANGLES, rectangle_setting(outcome=in_words))
    with pytest.raises(DataError, match="outcome.*numbers"):
        rectangle_setting(outcome=in_words(setting.x))
    town = replace(setting, groups=Groups.of("town", np.arange(196) % 2))
    assert simulate(replace(RECTANGLES, arrivals=9), town, method=Follow()).people[-1].sum() == 205
    with pytest.raises(DataError, match="arrivals"):
        simulate(replace(RECTANGLES, arrivals=1), replace(town, pool=setting.x))
    with pytest.raises(DataError, match="outcome"):
        simulate(replace(BASE, data="loan", outcome="label"))


def test_a_lender_who_trains_another_model() -> None:
    """`trained_by`: the first model and every later one are what the function gives; people are the same."""
    from wayforward.model import train

    scenario = Scenario(rounds=2, people=60, data="loan", model="lr", group="gender", world="known", outcome="known",
                        lender={"retrain": 1}, measure=0)  # fmt: skip
    first, seen = setting_of(scenario), []

    def fit(x, y, seed):
        seen.append(len(x))
        return train("lr", first.problem.schema, x, 1 - y if len(seen) == 1 else y, seed=seed)

    other = first.trained_by(fit)
    assert len(seen) == 1 and np.array_equal(other.x, first.x)
    before, after = first.problem.reached(first.x)[0], other.problem.reached(first.x)[0]
    assert (before != after).mean() > 0.9  # it was taught the opposite
    simulate(scenario, other)
    assert len(seen) >= 2
    with pytest.raises(DataError, match="train_x"):
        replace(first, train_x=None).trained_by(fit)


def test_a_checkpoint_is_believed_in_nothing_that_it_says_of_its_size(tmp_path: Path):
    """33 KB that declare 10^12 numbers, packed zeros, boxed objects: refused by what the file has, without the memory.

    And numbers that no society has are told of the file, not of the model that would be asked about them.
    """
    file, scenario = tmp_path / "state.npz", replace(RECTANGLES, rounds=2)
    whole = simulate(replace(RECTANGLES, rounds=1), rectangle_setting(), method=Follow(), checkpoint=file)
    assert whole.rounds == 1
    with zipfile.ZipFile(file) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}

    def saved(array: np.ndarray) -> bytes:
        out = io.BytesIO()
        np.save(out, array)
        return out.getvalue()

    head = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }".ljust(117) + b"\n"
    huge = b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head
    x = np.load(io.BytesIO(members["x.npy"]))
    cases = {
        "huge": ({"x.npy": huge}, zipfile.ZIP_STORED, "state of a society"),
        "packed": (
            {"x.npy": members["x.npy"] + bytes(50_000_000)},
            zipfile.ZIP_DEFLATED,
            "state of a society",
        ),
        "longer": ({"x.npy": members["x.npy"] + bytes(8)}, zipfile.ZIP_STORED, "state of a society"),
        "nan": ({"x.npy": saved(np.full_like(x, np.nan))}, zipfile.ZIP_STORED, "'x' values that no society"),
        "group": ({"member.npy": saved(np.full(len(x), 99))}, zipfile.ZIP_STORED, "'member' values"),
        "state": ({"status.npy": saved(np.full(len(x), 9, np.int8))}, zipfile.ZIP_STORED, "'status' values"),
        "columns first": ({"x.npy": saved(np.asfortranarray(x))}, zipfile.ZIP_STORED, ""),
    }
    expected = simulate(scenario, rectangle_setting(), method=Follow())
    for name, (changes, packing, told) in cases.items():
        odd = tmp_path / f"{name}.npz"
        with zipfile.ZipFile(odd, "w", packing) as archive:
            for member, content in (members | changes).items():
                archive.writestr(member, content)
        if told:
            with pytest.raises(FileFormatError, match=told) as error:
                simulate(scenario, rectangle_setting(), method=Follow(), checkpoint=odd)
            assert odd.name in str(error.value)
        else:
            assert simulate(scenario, rectangle_setting(), method=Follow(), checkpoint=odd).same(expected)


def test_two_groups_are_not_called_alike() -> None:
    with pytest.raises(DataError, match="calls two groups 'a'"):
        Scenario(group_names=("a", "a"))
