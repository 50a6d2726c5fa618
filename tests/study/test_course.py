"""Protocols, the way of a participant through one, and what is exported: the three ready-made ones walked through."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from wayforward.errors import DataError, FileFormatError, ReplyError
from wayforward.language import LANGUAGES
from wayforward.study import analyse
from wayforward.study.course import AnswersError, CourseError, ParticipantCourse, Standing
from wayforward.study.items import ChoiceItem, NumberItem, RankingItem, TextItem, sus, sus_score, tlx_score
from wayforward.study.pool import ProfilePool
from wayforward.study.protocol import StudyProtocol, latin_row
from wayforward.study.ready_made import NAMES, ready_made, ready_made_text
from wayforward.study.records import export, ratings_file, tables
from wayforward.study.rehearsal import rehearse

NOW = datetime(2031, 3, 3, 12, tzinfo=UTC)
SMALL = """
format: wayforward-study
version: 1
id: small
title: Small
about: a test
languages: [en]
minutes: 1
seed: 3
arms: {a: {about: one}, b: {about: other, weight: 2}}
block_size: 6
quota: {most: 5, by: town, each: {1: 2}}
checks: {allowed: 0}
consent: "?"
debrief: bye
excluded: no
screening:
  - id: who
    title: You
    items: [{kind: choice, id: town, text: Town, options: [x, y, z], exclude: [3]}]
parts:
  - id: one
    blocks:
      - id: m
        order: random
        screens:
          - {id: s1, title: One, items: [{kind: likert, id: q, text: Q, expect: 4}]}
          - {id: s2, title: Two, arms: [a], items: [{kind: text, id: t, text: T, required: false}]}
  - id: two
    wait_days: 14
    blocks: [{id: n, screens: [{id: s3, title: Three, ready: sus}]}]
""".replace("excluded: no", 'excluded: "no"')


def small(**changes: str) -> StudyProtocol:
    text = SMALL
    for old, new in changes.values():
        assert old in text
        text = text.replace(old, new)
    return StudyProtocol.parse(text)


def admitted(protocol: StudyProtocol, number: int = 0, town: str = "1") -> ParticipantCourse:
    course = ParticipantCourse.begin(protocol)
    course.consent(NOW)
    course.answer("who", {0: [town]}, NOW, 5)
    course.admit(number, number, 0, NOW)
    return course


def to_end(course: ParticipantCourse, now: datetime) -> None:
    while (step := course.step()) is not None:
        course.answer(step.key, {i: ["4"] for i in range(len(step.items))}, now)


@pytest.mark.parametrize("name", NAMES)
def test_ready_made_protocols_are_walked_through(name, tmp_path):
    protocol = ready_made(name)
    states = rehearse(protocol, 12, seed=1)
    finished = [state for state in states.values() if state["standing"] == "finished"]
    assert len(finished) >= 10
    assert set(Counter(state["arm"] for state in finished)) == set(protocol.arms)
    folder = export(protocol, states, tmp_path / "out")
    assert StudyProtocol.read(folder / "protocol.yaml").hash == protocol.hash
    rows = json.loads((folder / "answers.json").read_text())
    assert {row["participant"] for row in rows} == set(states)
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    for table in ("participants", "answers"):
        assert len(pandas.read_parquet(folder / f"{table}.parquet")) == len(
            pandas.read_csv(folder / f"{table}.csv")
        )


@pytest.mark.parametrize("name", NAMES)
def test_whoever_runs_a_ready_made_protocol_reads_of_it_in_every_language(name):
    protocol = ready_made(name)
    for text in (protocol.title, protocol.about, *(arm.about for arm in protocol.arms.values())):
        assert isinstance(text, dict) and set(text) == set(LANGUAGES) and len(set(text.values())) == len(text)


def test_the_published_study_is_rehearsed_and_analysed(tmp_path):
    """From the screening to the statistics: five plans each, one sparsest and one most proximate, in mixed order."""
    pandas = pytest.importorskip("pandas")
    protocol = ready_made("car-loan")
    states = rehearse(protocol, 60, seed=2)
    table = pandas.read_csv(ratings_file(export(protocol, states, tmp_path, ["csv"])))
    served = [state for state in states.values() if "plans" in state]
    assert len(table) == 5 * len(served)
    assert Counter(table.chosen) == {
        "sparsest": len(served),
        "most proximate": len(served),
        "random": 3 * len(served),
    }
    assert table[table.chosen == "sparsest"].plan.nunique() == 5
    for _, five in table.groupby("participant"):
        assert five[five.chosen == "sparsest"].sparsity.item() == five.sparsity.min()
    found = analyse(table, ["action"], ["sparsity"], impossible="impossible")
    assert found.models["action", "sparsity"].n == (table.impossible == 0).sum()
    for state in states.values():
        years = [
            datetime.fromisoformat(state["ended"][part])
            for part in ("profile", "rating")
            if part in state["ended"]
        ]
        assert all(two - one >= timedelta(days=14) for one, two in pairwise(years))


def test_arms_come_in_blocks_and_orders_are_balanced():
    protocol = small()
    for start in range(0, 30, 6):
        assert Counter(protocol.arm(i)[0] for i in range(start, start + 6)) == {"a": 2, "b": 4}
    assert [protocol.arm(i) for i in range(9)] == [small().arm(i) for i in range(9)]
    assert len({tuple(protocol.orders(i)["one/m"]) for i in range(20)}) == 2
    assert protocol.arm(11)[1] == sum(protocol.arm(i)[0] == protocol.arm(11)[0] for i in range(11))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
def test_latin_squares_balance_places_and_neighbours(n):
    """Williams (1949), by counting."""
    rows = [latin_row(n, i) for i in range(n if n % 2 == 0 else 2 * n)]
    for place in range(n):
        assert len(set(Counter(row[place] for row in rows).values())) == 1
    pairs = Counter(pair for row in rows for pair in pairwise(row))
    assert len(pairs) == n * (n - 1) and len(set(pairs.values())) <= 1


def test_the_way_of_one_participant():
    course = admitted(small())
    assert course.standing is Standing.ACTIVE
    first = course.step()
    with pytest.raises(AnswersError) as error:
        course.answer(first.key, {0: ["9"]} if first.key == "s1" else {0: ["x" * 5000]}, NOW)
    assert set(error.value.problems) == {0}
    course.save(first.key, {0: ["half"]})
    resumed = ParticipantCourse(small(), json.loads(json.dumps(course.state)))
    assert resumed.draft(resumed.step()) == {0: ["half"]}
    while resumed.step().part.id == "one":
        resumed.answer(resumed.step().key, {0: ["4"]}, NOW, 1e9)
    assert (
        resumed.waits_until() == NOW + timedelta(days=14) and max(resumed.state["seconds"].values()) == 3600
    )
    with pytest.raises(CourseError, match="not begun"):
        resumed.answer("s3", {i: ["4"] for i in range(10)}, NOW + timedelta(days=13))
    with pytest.raises(CourseError, match="answered already"):
        resumed.answer(first.key, {0: ["4"]}, NOW)
    to_end(resumed, NOW + timedelta(days=15))
    assert resumed.standing is Standing.FINISHED and set(resumed.state["ended"]) == {"one", "two"}


def test_screening_checks_and_quotas_end_it():
    protocol = small()
    out = ParticipantCourse.begin(protocol)
    out.consent(NOW)
    out.answer("who", {0: ["3"]}, NOW)
    assert out.standing is Standing.EXCLUDED and out.state["why"] == "screening: town"
    for taken, alike, town, standing in (
        (5, 0, 2, "full"),
        (4, 2, 1, "full"),
        (4, 2, 2, "active"),
        (1, 1, 1, "active"),
    ):
        course = ParticipantCourse.begin(protocol)
        course.consent(NOW)
        course.answer("who", {0: [str(town)]}, NOW)
        course.admit(taken, taken, alike, NOW)
        assert course.standing == standing, (taken, alike, town)
    inattentive = admitted(protocol)
    while inattentive.step() and inattentive.step().part.id == "one":
        inattentive.answer(inattentive.step().key, {0: ["5"]}, NOW)
    assert inattentive.standing is Standing.EXCLUDED and inattentive.state["failed"] == ["s1.q"]


STRATIFIED = SMALL.replace("block_size: 6", "block_size: 6\nstrata: [town]").replace(
    ", by: town, each: {1: 2}", ""
)


def test_every_stratum_has_blocks_of_its_own():
    protocol, arms = StudyProtocol.parse(STRATIFIED), {}
    for number, (town, place) in enumerate((town, place) for place in range(12) for town in (1, 2)):
        course = ParticipantCourse.begin(protocol)
        course.consent(NOW)
        course.answer("who", {0: [str(town)]}, NOW)
        assert course.stratum == (town,)
        course.admit(number, 0, 0, NOW, place)
        arms.setdefault(town, []).append(course.state["arm"])
    assert arms[1] != arms[2]
    for drawn in arms.values():
        assert [drawn[i : i + 6].count("a") for i in (0, 6)] == [2, 2]
    states = rehearse(StudyProtocol.parse(STRATIFIED.replace("most: 5", "most: 24")), 24, seed=2)
    towns = Counter()
    for state in states.values():
        if "arm" in state and towns[state["answers"]["who"]["town"], "n"] < 6:
            towns[state["answers"]["who"]["town"], "n"] += 1
            towns[state["answers"]["who"]["town"], state["arm"]] += 1
    assert {towns[town, "a"] for town in (1, 2)} == {2}


def test_a_participant_goes_back_within_a_visit():
    course = admitted(small(checks=("checks: {allowed: 0}", "checks: {}")), 0, "1")
    while course.state["arm"] != "a":
        course = admitted(course.protocol, course.state["number"] + 1, "1")
    first = course.step()
    assert course.before() is None
    with pytest.raises(CourseError, match="no page to go back to"):
        course.back(first.key, {})
    wrong = {"s1": {0: ["5"]}, "s2": {0: ["half"]}}
    right = {"s1": {0: ["4"]}, "s2": {0: ["whole"]}}
    course.answer(first.key, wrong[first.key], NOW, 5)
    second = course.step()
    assert course.before().key == first.key
    course.back(second.key, wrong[second.key])
    assert course.step().key == first.key and course.draft(first) == wrong[first.key]
    course.answer(first.key, right[first.key], NOW, 7)
    assert course.draft(course.step()) == wrong[second.key] and course.state["seconds"][first.key] == 12
    course.answer(second.key, right[second.key], NOW)
    assert course.before() is None  # the visit has ended
    assert course.state["failed"] == ["s1.q"]  # a check is failed once, whoever goes back
    assert tables(course.protocol, {"P": course.state})["participants"][0]["went_back"] == 1
    without = admitted(small(back=("debrief: bye", "debrief: bye\nback: false")), 0)
    without.answer(without.step().key, {0: ["4"]}, NOW)
    assert without.before() is None


def test_nobody_goes_back_behind_a_task_or_the_profile():
    for name, key in (("dialogue-or-sliders", "plan-rating"), ("car-loan", "answer")):
        course = ParticipantCourse.begin(ready_made(name), pool=ProfilePool.synthetic(1))
        course.state |= rehearse(course.protocol, 1)["S00001"] if name != "car-loan" else {}
        if name == "car-loan":
            states = rehearse(course.protocol, 1)
            course.state |= next(state for state in states.values() if "arm" in state)
        steps = [step.key for step in course.steps()]
        for later in steps[steps.index(key) :]:
            course.state["answers"].pop(later, None)
        course.state["standing"] = "active"
        assert course.step().key == key and course.before() is None


def test_who_has_too_few_plans_is_not_served():
    protocol = ready_made("car-loan")
    whole = ProfilePool.synthetic(1)
    assert whole.choose([1] * 16, 1, [1]) == whole.choose([1] * 16, 1, [1])
    assert ProfilePool(whole.profile[:4], whole.income[:4]).choose([1] * 16, 1, [1]) is None
    poor = ProfilePool(whole.profile[:5], whole.income[:5] * 0 + 1)
    states = rehearse(protocol, 3, pool=poor)
    assert {state["why"] for state in states.values() if "number" in state} == {"fewer than five plans"}


def test_pools_are_read_strictly():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(
        {**{f"item-{i}": [1] * 7 for i in range(1, 17)}, "income": [1, 2, 3, 4, 5, 21, 21]}
    )
    assert len(ProfilePool.read(table).profile) == 5
    for change, said in (({"income": 22}, "holds '22'"), ({"item-4": 3}, "'item-4' of the pool holds '3'")):
        with pytest.raises(DataError, match=said):
            ProfilePool.read(table.assign(**change))
    with pytest.raises(DataError, match="no column 'item-9'"):
        ProfilePool.read(table.drop(columns="item-9"))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("version: 1", "version: 2", "version"),
        ("minutes: 1", "minutes: soon", "minutes"),
        ("minutes: 1", "minutes: 1\ncolour: red", "colour"),
        ("id: s3", "id: s1", "two are called screen 's1'"),
        ("arms: [a]", "arms: [c]", "there is no arm 'c'"),
        ("expect: 4", "expect: 8", "expect 8 is none"),
        ("by: town", "by: village", "'village' is no choice"),
        ("block_size: 6", "block_size: 4", "no multiple of 3"),
        ("title: Three", "title: {de: Drei}", "a text has no 'en'"),
        ("languages: [en]", "languages: [en, fr]", "a text has no 'fr'"),
        ("ready: sus", "each: plan", "plans"),
        ("ready: sus", "task: dialogue", "vignette"),
        ("block_size: 6", "block_size: 6\nstrata: [q]", "'q' is no choice of one answer"),
        ("block_size: 6", "block_size: 6\nstrata: [town, town]", "two are called stratum 'town'"),
    ],
)
def test_what_does_not_fit_is_named(old, new, said):
    with pytest.raises(FileFormatError, match=said):
        small(one=(old, new))


def test_the_hash_is_of_what_is_meant():
    assert small().hash == small(one=("minutes: 1", "minutes:   1  # short")).hash
    assert small().hash != small(one=("seed: 3", "seed: 4")).hash


@pytest.mark.parametrize(
    ("item", "typed", "value"),
    [
        (
            ChoiceItem(kind="choice", id="c", text="", options=["a", "b"], several=True),
            ["2", "1", "2"],
            [1, 2],
        ),
        (ChoiceItem(kind="choice", id="c", text="", options=["a", "b"]), ["2"], 2),
        (ChoiceItem(kind="choice", id="c", text="", options=["a", "b"]), ["1", "2"], None),
        (ChoiceItem(kind="choice", id="c", text="", options=["a", "b"]), ["²"], None),
        (RankingItem(kind="ranking", id="r", text="", options=["a", "b", "c"]), ["2", "3", "1"], [3, 1, 2]),
        (RankingItem(kind="ranking", id="r", text="", options=["a", "b", "c"]), ["2", "2", "1"], None),
        (NumberItem(kind="number", id="n", text="", low=0, high=9000), ["1,000"], 1000),
        (NumberItem(kind="number", id="n", text="", low=0, high=9), ["nan"], None),
        (NumberItem(kind="number", id="n", text="", low=0, high=9), ["1.5"], None),
        (NumberItem(kind="number", id="n", text="", low=0, high=9, whole=False), ["1.5"], 1.5),
        (TextItem(kind="text", id="t", text="", most=3), ["abcd"], None),
        (TextItem(kind="text", id="t", text="", required=False), [" "], "nothing"),
    ],
)
def test_items_read_what_is_typed(item, typed, value):
    if value is None:
        with pytest.raises(ReplyError):
            item.read(typed)
    else:
        assert item.read(typed) == (None if value == "nothing" else value)


def test_scores_of_questionnaires():
    """By hand: odd items count from 1 up, even ones from 5 down, 2.5 points a step."""
    assert sus_score([5, 4, 2, 1, 2, 3, 2, 4, 5, 4]) == pytest.approx(
        2.5 * (4 + 1 + 1 + 4 + 1 + 2 + 1 + 1 + 4 + 1)
    )
    assert len(sus()) == 10 and tlx_score([11] * 6) == 50


def test_a_spreadsheet_runs_no_answer(tmp_path):
    protocol = small()
    course = admitted(protocol, next(i for i in range(6) if protocol.arm(i)[0] == "a"))
    while course.step().part.id == "one":
        key = course.step().key
        course.answer(key, {0: ["4" if key == "s1" else "=2+2"]}, NOW)
    folder = export(protocol, {"P1": course.state}, tmp_path, ["csv"])
    assert ",'=2+2" in (folder / "answers.csv").read_text()
    assert tables(protocol, {"P1": course.state})["participants"][0]["standing"] == "active"
    with pytest.raises(DataError, match="no plans.csv"):
        ratings_file(folder)
    with pytest.raises(DataError, match="no format 'xls'"):
        export(protocol, {}, tmp_path, ["xls"])


def test_a_name_that_is_not_there_is_named():
    with pytest.raises(DataError, match="Did you mean 'car-loan'"):
        ready_made_text("car-lone")
