"""The applicant's whole way, in a browser without JavaScript and as a program."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from wayforward.answers.receipt import Receipt, Signer
from wayforward.schema import Schema
from wayforward.serve.consent import CURRENT
from wayforward.serve.start import warm, warm_version


def entered(browser, code):
    one = browser()
    one.get_page(f"/w/{code}")
    return one


def test_from_the_code_to_a_signed_plan(browser, fresh_code, services):
    one = browser()
    one.get_page("/")
    text = one.submit("/open", code=fresh_code.lower().replace("-", " "))  # as people type it
    assert "The answer is no for now" in text and "Why" in text
    reasons = text.split('<section aria-labelledby="why">')[1].split("</section>")[0].count("<li>")
    assert ("This alone would have made it a yes" if reasons == 1 else "Each of these alone would") in text
    one.submit("/case/consent")
    text = one.get_page("/case/limits")
    debts = re.findall(r'height="([\d.]+)"', text.split("<svg")[2].split("</svg>")[0])
    assert (
        len(debts) < 10 and "0.0" not in debts
    )  # of 400 people about 120 have less: some of them in every bar
    assert (
        "Your income now: 1,718 EUR/month." in text
        and "&lt;b&gt;&amp;other" in text
        and "<b>&other" not in text
    )
    text = one.submit("/case/limits", **{"can-2": "no", "high-0": "6,000"})
    assert "plan" in text
    action = json.loads(one.value("action"))
    assert action[2] is None or action[0] is None  # what they cannot change is left alone
    one.submit("/case/keep", action=json.dumps(action))
    assert "Kept plan 1" in one.text
    receipt = one.post(
        "/case/receipt", data={"token": one.value("token"), "action": json.dumps(action), "as": "file"}
    )
    found = Receipt.from_dict(receipt.json())
    assert found.holds(services.keys.signer.public_key)
    one.get_page("/verify")
    assert "nothing in it was changed" in one.submit("/verify", text=receipt.text)
    changed = receipt.text.replace('"answer_before": "no"', '"answer_before": "yes"')
    assert "not ours, or it was changed" in one.submit("/verify", text=changed)
    forged = json.dumps(Signer.new().sign(found.content).to_dict())  # a whole receipt by another key
    assert "not ours, or it was changed" in one.submit("/verify", text=forged)
    assert "Ms Roe, room 3" in one.get_page("/case/letter")


def test_plans_are_compared_in_one_table(browser, code, services):
    """Any two: of today, or kept under other limits; what they have in common is said once."""
    one = entered(browser, code)
    one.get_page("/case/limits")
    one.submit("/case/limits", **{"can-1": "no"})
    one.submit("/case/keep", action=one.value("action"))
    kept = services.cases.bookmarks(services.cases.open(services.cases.by_code(code)))[0]
    one.get_page("/case/limits")
    one.submit("/case/limits", **{"can-0": "no"})
    assert "at most 4" in one.get_page(
        "/case/compare?plan=p0&plan=k0", 422
    )  # the kept one breaks today's limits
    one.get_page("/case/limits")
    text = one.submit("/case/limits")
    assert 'name="plan" value="p0"' in text and "Compare plans" in text
    text = one.get_page("/case/compare?plan=p0&plan=k0")
    assert "Plans side by side" in text and kept.name in text and "the least effort of these" in text
    api = browser()
    api.headers["Authorization"] = f"Bearer {code}"
    found = api.get("/api/v1/case/compare", params={"plan": ["p0", "k0"]}).json()
    plans = api.get("/api/v1/case/plans").json()["plans"]
    said = {row["feature"]: row["then"] for row in plans[0]["table"]}
    assert all(said.get(row["feature"], "same") == row["then"][0] for row in found["rows"])
    assert found["names"][1] == kept.name and len(found["effort"]) == len(found["notes"]) == 2
    for wrong in (["p0", "k9"], ["p0", "p0"], ["p0", "x"], ["p0"]):
        assert api.get("/api/v1/case/compare", params={"plan": wrong}).status_code == 422


def test_choices_undo_and_coming_back(browser, code, services):
    one = entered(browser, code)
    one.get_page("/case/limits")
    one.submit("/case/limits")
    first = one.get_page("/case/choices")
    steps = 0
    while (question := one.hidden("question")) and steps < 20:
        one.submit("/case/reply", question=question[1], reply="1")
        steps += 1
    assert 1 <= steps < 20 and "Your plan" in one.text
    one.submit("/case/undo")
    other = entered(browser, code)  # on another day, from another place
    assert other.get_page("/case/choices") and other.hidden("question")
    for _ in range(steps - 1):
        other.submit("/case/undo")
        other.get_page("/case/choices")
    assert re.findall(r'<h2 id="o\d".*?</h2>', other.text) == re.findall(r'<h2 id="o\d".*?</h2>', first)
    other.submit("/case/undo")
    assert "What can you change?" in other.text


def test_a_stale_window_changes_nothing(browser, code):
    one, two = entered(browser, code), entered(browser, code)
    one.get_page("/case/limits")
    two.get_page("/case/limits")
    one.submit("/case/limits", changes="1")
    assert "changed in another window" in two.submit("/case/limits", 409, **{"can-0": "no"})
    assert 'name="changes" inputmode="numeric" size="3" value="1"' in two.get_page("/case/limits")


def test_what_cannot_be_read_is_said_and_kept(browser, code):
    one = entered(browser, code)
    one.get_page("/case/limits")
    text = one.submit("/case/limits", 422, **{"high-0": "plenty", "changes": "2"})
    assert "Income" in text and "plenty" in text and 'value="2"' in text
    assert '<a href="#limit-0">Income' in text and 'id="limit-0-wrong"' in text  # a way to the field
    one.submit("/case/limits")
    one.get_page("/case/choices")
    assert "Please look at this" in one.submit(
        "/case/reply", 422, question=one.value("question"), typed="purple"
    )


def test_what_if_tells_the_model_and_nothing_impossible(browser, code, services):
    one = entered(browser, code)
    one.get_page("/case/what-if")
    assert "would still be no" in one.submit("/case/what-if", **{"value-0": "1,800"})
    assert "would be yes" in one.submit("/case/what-if", **{"value-0": "8,000"})
    assert "Nobody in your place" in one.submit("/case/what-if", **{"value-0": "8,000", "value-1": "9,000"})
    assert "no number" in one.submit("/case/what-if", 422, **{"value-0": "much"})
    assert (
        "From 0 to 9,000" in one.submit("/case/what-if", 422, **{"value-0": "10,000"})
        or "from 0 to 9,000" in one.text
    )


def test_deleted_is_gone(browser, code, services):
    one, id = entered(browser, code), services.cases.by_code(code)
    one.get_page("/case/delete")
    one.submit("/case/delete")
    one.get_page("/case", 401)
    browser().get_page(f"/w/{code}", 404)
    with services.database.session(write=False) as session:
        from wayforward.serve.storage.tables import ApplicantCase, Login

        assert (
            session.get(ApplicantCase, id) is None and not session.query(Login).filter_by(case_id=id).count()
        )


def test_own_numbers_without_a_letter(browser, model):
    one = browser()
    assert "A small loan" in one.get_page("/")
    one.get_page(f"/try/{model}")
    text = one.submit(f"/try/{model}", 422, f0="30", f1="lots", f2="1", f3="0")
    assert "is no number" in text and 'value="30"' in text
    text = one.submit(f"/try/{model}", f0="30", f1="1,900", f2="1,500", f3="0")
    code = re.search(r"<strong>([A-Z2-9-]{19})</strong>", text)[1]
    assert f"http://127.0.0.1:8000/w/{code}" in text
    assert "The answer is no for now" in one.get_page("/case")
    entered(browser, code)


def test_the_same_by_program(browser, code, services):
    api = browser()
    api.headers["Authorization"] = f"Bearer {code}"
    assert api.get("/api/v1/case/decision").json()["accepted"] is False
    names = [entry["feature"] for entry in api.get("/api/v1/case/form").json()]
    assert names == ["income", "debt", "home"]
    state = api.post("/api/v1/case/limits", json={"limits": {"home": False}, "changes": 2}).json()
    plans = api.get("/api/v1/case/plans").json()["plans"]
    assert plans and all(plan["action"][3] is None for plan in plans)
    state = api.post(
        "/api/v1/case/keep", json={"action": plans[0]["action"], "revision": state["revision"]}
    ).json()
    assert state["kept"][0]["steps"] == plans[0]["steps"]
    stale = api.post("/api/v1/case/keep", json={"action": plans[0]["action"], "revision": 0})
    assert stale.status_code == 409 and stale.headers["content-type"] == "application/problem+json"
    if state["question"]:
        given = {"question": state["question"]["id"], "reply": "1"}
        assert api.post("/api/v1/case/reply", json=given).json()["revision"] == state["revision"] + 1
        assert api.post("/api/v1/case/reply", json=given).status_code == 409
        assert api.post("/api/v1/case/undo").status_code == 200
    assert api.post("/api/v1/case/what-if", json={"values": {"income": 8000}}).json()["accepted"] is True
    assert api.post("/api/v1/case/what-if", json={"values": {"age": 40}}).status_code == 422
    receipt = api.post("/api/v1/case/receipt", json={"action": plans[0]["action"]}).json()
    assert api.post("/api/v1/receipts/verify", json=receipt).json()["holds"] is True
    forged = '{"content": {"plan": ["PAID"]}, ' + json.dumps(receipt)[1:]
    told = api.post("/api/v1/receipts/verify", content=forged, headers={"content-type": "application/json"})
    assert told.status_code == 422 and "there twice" in told.text
    assert "Your answer" in api.get("/api/v1/case/letter").json()["text"]
    assert api.delete("/api/v1/case").status_code == 204
    assert api.get("/api/v1/case").status_code == 401


def test_a_plan_of_somebody_else_is_no_plan(browser, code):
    api = browser()
    api.headers["Authorization"] = f"Bearer {code}"
    for action in (
        [None, 1.0, None, None],
        [None] * 4,
        [40.0, None, None, None],
        [None] * 3,
        [None, 9000.5, None, None],
    ):
        assert api.post("/api/v1/case/keep", json={"action": action}).status_code == 422
        assert api.post("/api/v1/case/receipt", json={"action": action}).status_code == 422


def test_several_limits_of_one_thing_are_kept_together(browser, code, services):
    one = entered(browser, code)
    one.get_page("/case/limits")
    one.submit(
        "/case/limits", **{"high-0": "4,000", "hard-0": "very hard", "level-2-1": "on", "hard-2": "easy"}
    )
    stored = services.cases.open(services.cases.by_code(code))
    assert stored.state["limits"]["limits"]["income"] == {"high": 4000, "hard": "very hard"}
    assert (
        stored.preferences.high[0, 1] == 4000
        and stored.preferences.weight[0, 1] > stored.preferences.weight[0, 2]
    )
    text = one.get_page("/case/limits")
    assert 'value="4000"' in text and '<option value="very hard" selected>' in text


@pytest.mark.parametrize(
    "income, debt, home", [(1718, 1500, "rent"), (987, 3333, "rent"), (2111, 2777, "<b>&other")]
)
def test_the_same_numbers_on_every_page_in_the_letter_and_on_the_receipt(income, debt, home, services, model):
    """A plan is rounded once, and a reason is worked out once, before and after somebody says what they can do."""
    cases = services.cases
    id = cases.make(model, [{"age": 44, "income": income, "debt": debt, "home": home}])[0][0]
    cases.consent(id, 1)
    first = cases.decision(cases.open(id))["reasons"]
    assert first
    for limits in ({}, {"home": False}):
        one = cases.limits(id, limits)
        assert cases.decision(one)["reasons"] == first
        letter = cases.letter(one)
        for reason in first:
            assert f"- {reason}" in letter
        for plan in cases.plans(one):
            assert all(f"- {step}" in letter for step in plan.steps)
            before = len(one.state["kept"])
            one = cases.keep(id, plan.action)
            if len(one.state["kept"]) > before:  # not one that was kept under the other limits
                assert cases.bookmarks(one)[-1].steps == plan.steps
            assert cases.receipt(one, plan.action, "The bank").content["plan"] == list(plan.steps)


def test_whom_nothing_helps_is_not_told_that_the_answer_is_a_yes(browser, code, services, monkeypatch):
    """A dialogue that ends before a word was said is a yes only where the model says yes."""
    from wayforward.people.dialogue import Dialogue

    one = entered(browser, code)
    one.get_page("/case/limits")
    monkeypatch.setattr(Dialogue, "ask", lambda self: None)  # as where it was proved that there is no way
    text = one.submit("/case/limits")
    assert "a yes already" not in text
    case = services.cases.open(services.cases.by_code(code))
    assert case.case.revision == 1 and case.dialogue is not None


def test_while_a_model_is_got_ready_a_page_says_so_at_once_and_looks_again(
    browser, code, services, model, monkeypatch
):
    asked = []

    def answers(services, id):
        """In the place of compiling: what somebody sees meanwhile, who can still delete all of it."""
        one = browser()
        asked.append(one.get(f"/w/{code}", headers={"accept-language": "de"}))
        asked.append(one.get("/case/delete"))

    monkeypatch.setattr("wayforward.serve.start._answered_once", answers)
    warm_version(services, model)
    assert asked[0].status_code == 503 and asked[0].headers["refresh"] == "5"
    assert "Das Modell wird vorbereitet" in asked[0].text and 'href="/case"' in asked[0].text
    assert asked[1].status_code == 200
    assert "The answer is no for now" in browser().get_page(f"/w/{code}")
    monkeypatch.setattr("wayforward.serve.start._answered_once", lambda services, id: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        warm(services)
    assert not services.projects.getting_ready  # what failed keeps nobody out


def test_nothing_is_searched_twice_for_the_same_limits(browser, code, services, monkeypatch):
    """Plans hang on the limits alone: choices, the end and coming back search no more, new limits do."""
    from wayforward.serve import cases

    searched = []
    plans_of = cases.plans_of

    def counted(*given):
        searched.append(given)
        return plans_of(*given)

    monkeypatch.setattr(cases, "plans_of", counted)
    one = entered(browser, code)
    one.get_page("/case/limits")
    one.submit("/case/limits")
    first = one.get_page("/case/plans")
    assert len(searched) == 1
    one.get_page("/case/choices")
    while 'name="question"' in one.text:
        one.submit("/case/reply", question=one.value("question"), reply="1")
    case = services.cases.open(services.cases.by_code(code))
    assert case.dialogue.done and services.cases.end(case).how == case.dialogue.ended
    plans = re.compile("<h3.*?</table>", re.S).findall
    assert plans(one.get_page("/case/plans")) == plans(first) and len(searched) == 1
    one.get_page("/case/limits")
    one.submit("/case/limits", **{"can-2": "no"})
    assert len(searched) == 2
    services.cases.delete(case.case.id)
    held = (services.cases._plans, services.cases._texts, services.cases._why, services.cases._held)
    assert not any(place[0] == case.case.id for known in held for place in known)


def test_a_day_by_which_to_be_done_is_asked_for_where_paces_are_known(
    browser, code, services, given, tmp_path
):
    """The page of limits takes months or a day; what no plan can meet is not shown, and what is no day is said."""
    assert "By when" not in entered(browser, code).get_page("/case/limits")
    schema = Schema.from_yaml(given.schema)
    paces = {"income": 100.0, "debt": 200.0, "home": None}
    timed = [replace(one, pace=paces.get(one.name)) for one in schema.features]
    replace(schema, features=tuple(timed)).to_yaml(tmp_path / "timed.yaml")
    with services.database.session() as session:
        id = services.projects.add(session, replace(given, schema=tmp_path / "timed.yaml"), None).id
        services.projects.publish(session, id, None)
    person = {"age": 40, "income": 1700, "debt": 900, "home": "rent"}
    ((case, new),) = services.cases.make(id, [person], by="operator")
    services.cases.consent(case, CURRENT)
    one = entered(browser, new)
    assert "By when do you want to be done?" in one.get_page("/case/limits")
    text = one.submit("/case/limits", 422, within="by Neverday")
    assert "Neverday" in text and 'value="by Neverday"' in text
    one.submit("/case/limits", within="8")
    opened = services.cases.open(case)
    assert opened.preferences.time[0] == 8 and opened.state["limits"]["within"] == 8
    found = services.cases.options(opened)
    assert found.found.any() and (found.months[found.found] <= 8).all()
    assert 'value="8"' in one.get_page("/case/limits")
    api = browser()
    api.headers["Authorization"] = f"Bearer {new}"
    said = api.post("/api/v1/case/limits", json={"within": "within 9 months"}).json()["limits"]
    assert said["within"] == "within 9 months"
    assert services.cases.open(case).preferences.time[0] == 9
