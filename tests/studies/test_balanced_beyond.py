"""Balance as an option, people who do not follow, many groups and limits: measured rightly, written, resumed."""

from __future__ import annotations

import json

import numpy as np
import pytest

from wayforward.data import available
from wayforward.density.grouping import revealing
from wayforward.errors import DataError
from wayforward.groups import Groups
from wayforward.impact.segregation import Areas, places, segregation
from wayforward.impact.society.scenario import Compliance
from wayforward.methods import local_search
from wayforward.schema import Feature, Schema
from wayforward_studies.balanced import beyond, beyond_measures, beyond_pages, beyond_people
from wayforward_studies.balanced.beyond import BeyondReplication, BeyondRequest
from wayforward_studies.balanced.beyond_measures import SHARES, AtBeta
from wayforward_studies.balanced.beyond_results import BeyondResult
from wayforward_studies.balanced.published import INDICES
from wayforward_studies.balanced.setting import study

pytest.importorskip("torch")


@pytest.fixture(scope="module")
def plane():
    """The synthetic set with 100 people a centre."""
    return study("synthetic", 0, 400)


def test_balance_is_found_paid_for_and_judged_apart_from_the_method(plane):
    """Asked for .3 everybody's option is likely in both groups; plainly hardly anybody's is, and it costs less."""
    bare = beyond_measures.option(plane, AtBeta("local-search"))
    balanced = beyond_measures.option(plane, AtBeta("local-search", 0.3))
    assert bare["in balance"] < 0.1 < 0.95 < balanced["in balance"] == balanced["usable"]
    assert bare["cost"] < balanced["cost"]
    assert bare["broken"] == balanced["broken"] == 0
    assert bare["worse"] == len(beyond_measures.worse({n: bare[f"origin {n}"] for n in INDICES}, bare))


def test_a_search_for_the_least_cost_is_shown_balanced_places_that_it_missed(plane):
    """A dear option gives way to a draw that costs a tenth less; one that is nearly as cheap as can be stays."""
    from wayforward.problem import Population
    from wayforward.problem.plausibility.balanced_search import led

    problem = AtBeta("local-search", 0.01).problem(plane)
    people = Population(problem, plane.x[~plane.problem.reached(plane.x)[0]][:40])
    cheap = AtBeta("local-search", 0.01).made(plane).fit(problem).recommend(people.x, seed=0).action[:, :1]
    far = np.full_like(cheap, np.nan)
    far[..., 0], far[..., 1] = 0.5, 0.8
    options = [led(people, action, problem.plausibility.fitted, 0, everybody=True) for action in (cheap, far)]
    new = [~np.isnan(found[:, 1:]).all(2) for found in options]
    assert new[0].mean() < 0.1 and not np.array_equal(options[0], options[1])
    good = people.problem.plausibility.score(np.nan_to_num(people.after(np.arange(40), far[:, 0]))) >= 0
    assert good.all() and new[1].any(1).mean() > 0.5
    who, slot = np.nonzero(new[1])
    here = people.cost(who, options[1][who, slot + 1])
    assert (here < 0.9 * people.cost(who, far[who, 0])).all()


def test_who_is_led_nowhere_is_asked_without_proofs(plane, monkeypatch):
    """The same options; no proof is looked for, and the method that was given still looks for them."""
    problem = AtBeta("local-search", 0.3).problem(plane, lead=False)
    made = AtBeta("local-search", 0.3).made(plane).fit(problem)
    some = plane.x[~problem.reached(plane.x)[0]][:20]
    proved = made.recommend(some, seed=0)
    looked = []
    check = type(problem).check
    monkeypatch.setattr(type(problem), "check", lambda *a, **b: looked.append(b["prove"]) or check(*a, **b))
    prove = local_search.settled
    monkeypatch.setattr(local_search, "settled", lambda people: looked.append(True) or prove(people))
    found = beyond_measures.unproved(made).recommend(some, seed=0)
    before = len(looked)
    made.recommend(some[:1], seed=0)
    assert before and not any(looked[:before])
    assert "_prove" not in vars(type(made))
    np.testing.assert_array_equal(found.action, proved.action)


def test_networks_learn_balance_and_the_rest_is_led(plane):
    """Without being asked, next to nobody is sent to a balanced place; asked, the networks send many there."""
    bare = beyond_measures.option(plane, AtBeta("carma"))
    balanced = beyond_measures.option(plane, AtBeta("carma", 0.1))
    assert bare["in balance"] < 0.05
    assert balanced["alone"] > 0.3
    assert balanced["found"] >= 0.95 and balanced["alone"] <= balanced["found"]


def test_ebr_is_not_asked_twice(plane):
    """Its beta is its own; the problem stays as it is."""
    assert AtBeta("ebr", 0.1).problem(plane) is plane.problem
    assert AtBeta("ebr", 0.1).made(plane).beta == 0.1
    problem = AtBeta("nice", 0.1).problem(plane, lead=False)
    assert problem.plausibility.beta == 0.1 and not problem.plausibility.lead
    assert plane.problem.plausibility is None


def test_nobody_and_everybody_are_the_ends_of_the_way(plane):
    """Share 0 is the population before, share 1 the one in which all have moved; more people follow at more."""
    way = AtBeta("local-search")
    got = beyond_measures.followed(plane, way)
    before, after = (plane.indices(x) for x in (plane.x, beyond_measures.advise(plane, way).after()))
    for name in INDICES:
        assert got[f"0 {name}"] == pytest.approx(before[name])
        assert got[f"1 {name}"] == pytest.approx(after[name])
    took = [got[f"{s:g} took"] for s in SHARES]
    assert took[0] == 0 and took[-1] == 1 and took == sorted(took)
    advice = beyond_measures.advise(plane, way).recourse
    changes = (~np.isnan(advice.action[advice.found[:, 0], 0])).sum(1)
    willing = Compliance(kind="willing").willingness(changes.astype(np.float64))
    assert got["willing took"] == pytest.approx(willing.mean(), abs=0.1)


def test_each_of_three_groups_is_compared_with_all_others():
    """The same as two groups, of which one is everybody else, on the same areas."""
    it = beyond_people.three(0, 120)
    assert it.groups.sizes.tolist() == [40, 40, 40] and len(it.x) == 120
    here = places(it.schema, it.x, keep=it.keep)
    areas = Areas.fit(here, seed=0)
    for g, name in enumerate(it.groups.names):
        two = Groups("two", ("others", "one"), (it.groups.member == g).astype(np.int64))
        want = segregation(here, two, group="one", areas=areas)
        got = it.indices(it.x, name)
        assert got == pytest.approx({index: getattr(want, index) for index in INDICES})
    out = beyond_measures.grouped(it, AtBeta("local-search"))
    refused = ~it.problem.reached(it.x)[0]
    assert [out[f"{name} | refused"] for name in "LMR"] == [
        float((refused & (it.groups.member == g)).sum()) for g in range(3)
    ]


def test_attributes_that_were_crossed_are_given_to_no_group():
    """Sex and race would ask women's density about men; a region that all groups live in is given as ever."""
    levels = [Feature(name=n, kind="binary", levels=(0, 1)) for n in ("sex", "race", "region")]
    x = np.array([[s, r, t] for s in (0, 1) for r in (0, 1) for t in (0, 1)], dtype=np.float64)
    groups = Groups("sex and race", ("a", "b", "c", "d"), (2 * x[:, 0] + x[:, 1]).astype(np.int64))
    given = np.ones(3, dtype=bool)
    assert revealing(groups, Schema(tuple(levels)), x, given).tolist() == [True, True, False]


def test_limits_are_drawn_for_everybody_and_broken_ones_are_counted(plane):
    """Balanced options stay inside; options that were made without looking at the limits do not, and it is seen."""
    it = beyond_people.ruled(plane)
    assert it.problem.model is plane.problem.model
    wishes = beyond_people.wished(it)
    way = AtBeta("local-search", 0.3)
    advice = beyond_measures.advise(it, way, wishes)
    some = advice.recourse.found[:, 0]
    x, after = it.x[advice.refused][some], advice.recourse.after[some, 0]
    assert 0 < some.mean() < 1
    moved = after - x
    assert not (moved[wishes.frozen[some]] != 0).any()
    assert ((after >= wishes.low[some] - 1e-9) & (after <= wishes.high[some] + 1e-9))[moved != 0].all()
    assert (np.abs(moved[:, 0]) <= moved[:, 1] + 1e-9).all()  # the rule
    assert beyond_measures.judged(advice, wishes)["broken"] == 0
    careless = beyond_measures.judged(beyond_measures.advise(plane, way), wishes)
    assert careless["broken"] > 0


def line(measure, values, setting="synthetic", method=AtBeta("local-search")):  # noqa: B008
    """A line of the page of compliance whose index `measure` takes these values over the shares."""
    one = {}
    for s, value in zip(SHARES, values, strict=True):
        one |= {f"{s:g} {name}": value if name == measure else 0.5 for name in INDICES}
        one[f"{s:g} took"] = s
    one |= {"willing took": 0.6, "refused": 10.0}
    each = tuple({**one} for _ in range(3))
    return BeyondResult(setting, method, "", one, dict.fromkeys(one, 0.0), each)


def test_findings_tell_a_straight_way_from_a_detour():
    """Atkinson that falls evenly; one that first rises above both ends; one that falls with the first tenth."""
    straight = beyond_pages.checks("compliance", [line("atkinson", [0.6 - 0.2 * s for s in SHARES])])
    assert [check.holds for check in straight] == [True] * len(straight)
    detour = [0.6, 0.65, *([0.6] * 8), 0.4]
    found = {c.name: c for c in beyond_pages.checks("compliance", [line("atkinson", detour)])}
    assert found["the way is straight"].holds is False
    divides = found["a share divides more than nobody and than everybody"]
    assert divides.holds is False and "0.0500" in divides.measured and "at 0.1" in divides.measured
    assert found["half of the people, atkinson"].holds is False
    early = [0.6, *([0.4] * 10)]
    found = {c.name: c for c in beyond_pages.checks("compliance", [line("atkinson", early)])}
    assert found["half of the people, atkinson"].holds is True
    assert found["a share divides more than nobody and than everybody"].holds is True


def test_pages_are_written_and_go_on_from_stored_stages(tmp_path, monkeypatch):
    """Every page of a small look, named so; the second run asks nobody."""
    few = {page: (AtBeta("local-search"), AtBeta("local-search", 0.3)) for page in beyond.PAGES}
    monkeypatch.setattr(beyond, "_METHODS_OF", few)
    options = {"extras": beyond.PAGES, "datasets": ("synthetic", "synthetic-3"), "n": 100, "seeds": 1}
    request = BeyondRequest(**options, out=tmp_path / "out", cache=tmp_path)
    work = BeyondReplication(request)
    pages = [work.page(name) for name in request.pages]
    assert {file.name for file in (tmp_path / "out").iterdir()} == {f for page in pages for f in page.files}
    assert all("quick" in f for page in pages for f in page.files)
    data = json.loads((tmp_path / "out" / "limits-quick.json").read_text())
    assert data["provenance"]["n"] == 100
    assert {row["part"] for row in data["lines"]} == set(beyond.LIMITS)
    assert {c["name"]: c["verdict"] for c in data["findings"]}["broken"] == "met"
    for name in ("option", "followed", "grouped", "limited"):
        monkeypatch.setattr(beyond_measures, name, lambda *_: pytest.fail("asked again"))
    again = BeyondReplication(request)
    assert [again.page(name).rows for name in request.pages] == [page.rows for page in pages]


@pytest.mark.skipif(not available("compas"), reason="the raw file of compas is not on this machine")
def test_labels_of_many_groups_belong_to_the_people_that_a_seed_draws():
    """Races agree with the two groups of the paper, and crossing keeps both attributes."""
    two, races = study("compas-race", 1, 500), beyond_people.races(1, 500)
    np.testing.assert_array_equal(races.groups.mask("African-American"), two.groups.member == 1)
    assert set(races.groups.names) >= {"Caucasian", "Hispanic", "Other"} and races.groups.sizes.sum() == 500
    crossed = beyond_people.crossed(1, 500).groups
    np.testing.assert_array_equal(crossed.member % 2, two.groups.member)
    sex = study("compas-sex", 1, 500)
    np.testing.assert_array_equal(crossed.member // 2, sex.groups.member)


@pytest.mark.parametrize(
    "wrong",
    [
        {"extras": ("weather",)},
        {"datasets": ("loan",)},
        {"extras": ("groups",), "datasets": ("law-race",)},
        {"n": 3},
        {"seeds": 0},
    ],
)
def test_what_cannot_be_measured_is_refused(wrong):
    """By name."""
    with pytest.raises(DataError):
        BeyondRequest(**wrong)
