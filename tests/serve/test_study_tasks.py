"""Tasks of studies: a dialogue or limits about a made-up person, on the applicant's engine, without JavaScript."""

from __future__ import annotations

import csv
import io
import json
import re

import pytest

from wayforward.serve.case_store import CaseError, CaseGone
from wayforward.serve.storage.tables import ApplicantCase, Participant
from wayforward.study.protocol import StudyProtocol
from wayforward.study.ready_made import ready_made_text
from wayforward.study.records import tables
from wayforward.study.rehearsal import rehearse

from .test_study_pages import bring, fill, start, tables_of, walk

PERSON = "{age: 34, income: 1700, debt: 1500, home: rent}"


def protocol(person: str = PERSON) -> str:
    """The ready-made protocol about a person of the small model."""
    return re.sub(r"vignette: .*", f"vignette: {person}", ready_made_text("dialogue-or-sliders"))


def to_task(browser, path: str, language: str = "en"):
    one, back = start(browser, path, language)
    one.submit("/study/page", since=one.value("since"), f0="35", f1="1")
    one.submit("/study/page")
    return one, back


def last_pages(one) -> None:
    """The questionnaire after the task, with the attention check answered."""
    one.submit("/study/page", f0="6", f1="5", f2="3")
    walk(one)


def test_both_arms_find_a_plan_and_go_on(browser, services, model):
    text = protocol()
    researcher, path = bring(browser, text)
    arms = []
    for _ in range(4):
        one, _ = to_task(browser, path)
        assert "1,700" in one.text and "arm" not in re.sub(r"<[^>]+>", "", one.text).split()
        dialogue = "/study/task/reply" in one.text
        arms.append(dialogue)
        if dialogue:
            assert one.get("/study/task/what-if").url.path == "/study/task"
            one.get_page("/study")
            one.submit("/study/task/reply", question=one.value("question"), reply="stop here")
        else:
            one.submit("/study/task", **{"can-1": "no", "changes": "1"})
            one.get_page("/study/task/what-if")
            assert "would be yes" in one.submit("/study/task/what-if", **{"value-0": "8000"})
            one.get_page("/study")
        action = re.search(r'name="action" value="(\[[^"]+\])"', one.text)[1]
        finish = re.search(r'action="/study/task/finish">.*?name="revision" value="(\d+)"', one.text)[1]
        one.submit("/study/task/finish", action=action, revision=finish)
        last_pages(one)
        assert "completion" in one.text
    assert sorted(arms) == [False, False, True, True]
    rows = list(csv.DictReader(io.StringIO(tables_of(researcher, text)["tasks.csv"].decode())))
    assert {(row["arm"], row["screen"]) for row in rows} == {
        ("dialogue", "find-dialogue"),
        ("sliders", "find-sliders"),
    }
    for row in rows:
        plan = json.loads(row["plan"])
        assert row["chosen"] == "True" and int(row["changes"]) == len(plan) >= 1 and row["model"] == model
        assert float(row["cost"]) >= float(row["cheapest_cost"]) > 0
        screens, asked = (2, "0") if row["arm"] == "dialogue" else (3, "1")
        assert (int(row["screens"]), row["what_ifs"]) == (screens, asked)
        if row["arm"] == "sliders":
            assert set(plan) <= {"income", "home"} and json.loads(row["limits"])["changes"] == "1"
    with services.database.session(write=False) as session:
        assert session.query(ApplicantCase).filter(ApplicantCase.participant_id.is_not(None)).count() == 0
    whole = StudyProtocol.parse(text)
    rehearsed = tables(whole, rehearse(whole, 4))["tasks"]
    assert {frozenset(row) for row in rehearsed} == {frozenset(rows[0])}  # an analysis can be written before


def test_a_task_is_resumed_taken_back_and_left_without_a_plan(browser, services, model):
    researcher, path = bring(browser, text := protocol())
    while True:
        one, back = to_task(browser, path, "de")
        if "/study/task/reply" in one.text:
            break
    assert 'lang="de"' in one.text
    first = one.value("question")
    one.submit("/study/task/reply", question=first, reply="2")
    other = browser()
    other.get_page(back)
    assert other.value("question") != first
    one.submit("/study/task/reply", 409, question=first, reply="1", revision="0")
    one.submit("/study/task/reply", 409, question=one.value("question"), reply="at most 1 change")
    one.get_page("/study")
    one.submit("/study/task/undo")
    assert one.value("question") == first and "/study/task/undo" not in one.text
    other.get_page("/study")
    one.submit("/study/task/finish", 422, action="[1, 2]", revision=page_revision(one))
    one.submit("/study/task/finish", 422, action="[null, null, null, null]", revision=page_revision(one))
    one.submit("/study/task/finish", action="null", revision=page_revision(one))
    assert other.submit("/study/task/undo") and 'action="/study/page"' in other.text
    row = next(csv.DictReader(io.StringIO(tables_of(researcher, text)["tasks.csv"].decode())))
    assert (row["chosen"], row["plan"], row["undone"]) == ("False", "{}", "1")


def page_revision(one) -> str:
    return re.search(r'action="/study/task/finish">.*?name="revision" value="(\d+)"', one.text)[1]


def test_cases_of_a_task_are_nobodys_and_go_with_the_participation(browser, services, model):
    _, path = bring(browser, protocol())
    one, _ = to_task(browser, path)
    operator = browser().log_in("operator")
    assert re.search(r"A small loan.*?<td[^>]*>0</td>", operator.get_page("/staff/cases"), re.S)
    assert one.get("/case").status_code == 401 and services.cases.expire(0) == 0
    with services.database.session(write=False) as session:
        id = session.query(ApplicantCase).one().id
    one.get_page("/study/withdraw")
    one.submit("/study/withdraw")
    with pytest.raises(CaseGone):
        services.cases.open(id)
    with services.database.session(write=False) as session:
        assert session.query(Participant).count() == 0


@pytest.mark.parametrize(
    "person, why",
    [
        ("{age: 34, income: 8000, debt: 0, home: own}", "yes to this person"),
        ("{age: 34, income: 1700}", "no column"),
        ("{age: 34, income: 1700, debt: 1500, home: tent}", "tent"),
    ],
)
def test_a_made_up_person_whom_no_model_refuses_is_refused(services, model, person, why):
    with pytest.raises(CaseError, match=why):
        services.studies.add(protocol(person), "r")
    with pytest.raises(CaseError, match="no published model 'Another'"):
        services.studies.add(protocol() + "\nmodel: Another\n", "r")
    assert StudyProtocol.parse(protocol() + f"\nmodel: {model}\n").model == model


def test_only_the_page_of_the_arm_takes_answers(browser, services, model):
    _, path = bring(browser, protocol())
    for _ in range(2):
        one, _ = to_task(browser, path)
        token, wrong = one.value("token"), "/study/task"
        if "/study/task/reply" not in one.text:
            wrong = "/study/task/undo"
        before = services.database
        one.post(wrong, data={"token": token, "revision": "0"})
        with before.session(write=False) as session:
            assert {case.revision for case in session.query(ApplicantCase)} == {0}
    assert fill("") == {}


def test_made_up_profiles_cost_an_answer(browser, services, model):
    """Whether one is a plan was told for nothing, in both arms; the plans of the page cost nothing."""
    _, path = bring(browser, protocol())
    arms = set()
    for _ in range(4):
        one, _ = to_task(browser, path)
        dialogue = "/study/task/reply" in one.text
        if dialogue:
            one.submit("/study/task/reply", question=one.value("question"), reply="stop here")
        action = re.search(r'name="action" value="(\[[^"]+\])"', one.text)[1]
        with services.database.session(write=False) as session:
            id, spent = max((case.seen, case.id, case.queries) for case in session.query(ApplicantCase))[1:]
        services.cases.budget.per_case = spent + 3
        for income, why in ((1701, "no plan"), (1702, "no plan"), (1703, "no plan"), (1704, "very often")):
            made_up = f"[null, {income}, null, null]"
            assert why in one.submit("/study/task/finish", 422, action=made_up, revision=page_revision(one))
        assert services.cases.open(id).queries == spent + 3
        # nothing is left to spend, and what was shown costs nothing
        one.submit("/study/task/finish", action=action, revision=page_revision(one))
        services.cases.budget.per_case = 1000
        arms.add(dialogue)
    assert len(arms) == 2


def test_who_has_asked_very_often_goes_on_without_a_plan(browser, services, model):
    _, path = bring(browser, protocol())
    services.cases.budget.per_case = 3
    for _ in range(2):
        one, _ = to_task(browser, path)
        if "/study/task/reply" in one.text:
            continue
        assert "asked the model very often" in one.text
        one.submit("/study/task/finish", action="null", revision=page_revision(one))
        assert 'action="/study/page"' in one.text
