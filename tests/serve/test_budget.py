"""How often a model may be asked: by one case in all, by all cases of a model in a day."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import numpy as np
import pytest

from wayforward.serve import budget
from wayforward.serve.case_store import CaseError
from wayforward.serve.storage.tables import ApplicantCase, now

PERSON = {"age": 30, "income": 1000, "debt": 1500, "home": "rent"}


def case(services, model, by="operator"):
    id = services.cases.make(model, [PERSON], by=by)[0][0]
    services.cases.consent(id, 1)
    return id


def ask(services, id):
    services.cases.what_if(services.cases.open(id), {"income": 2000})


def test_one_case_in_all(browser, code, services):
    services.cases.budget.per_case = 3
    one = browser()
    one.get_page(f"/w/{code}")
    one.get_page("/case/what-if")
    for _ in range(3):
        one.submit("/case/what-if", **{"value-0": "2,000"})
    assert "a person will look at it" in one.submit("/case/what-if", 422, **{"value-0": "2,000"})


def test_all_cases_of_a_model_in_a_day(services, model, monkeypatch):
    services.cases.budget.per_day = 5
    ids = [case(services, model) for _ in range(3)]
    for i in range(5):
        ask(services, ids[i % 3])
    for id in ids:  # another case is no way around it
        with pytest.raises(CaseError, match="come back tomorrow"):
            ask(services, id)
        with pytest.raises(CaseError, match="come back tomorrow"):
            services.cases.plans(services.cases.open(id))
        with pytest.raises(CaseError, match="come back tomorrow"):
            services.cases.limits(id, {})
    with services.database.session(write=False) as session:
        assert sum(one.queries for one in session.query(ApplicantCase)) == 5
    monkeypatch.setattr(budget, "now", lambda: now() + timedelta(days=1))
    ask(services, ids[0])


def test_visitors_do_not_close_the_door_to_those_with_a_letter(services, model, browser):
    services.cases.budget.per_day = 5
    invited = case(services, model)
    for _ in range(2):  # each own row shows an answer: that is counted, too
        services.cases.make(model, [PERSON])
    one = browser()
    one.get_page(f"/try/{model}")
    assert "come back tomorrow" in one.submit(f"/try/{model}", 422, f0="30", f1="1,900", f2="1,500", f3="0")
    for _ in range(5):
        ask(services, invited)


def test_questions_at_once_are_no_way_around_it(services, model):
    """Forty that came at once were answered, as each looked at what was left before any was counted."""
    id = case(services, model)
    services.cases.budget.per_case = 5

    def asked(_):
        try:
            ask(services, id)
        except CaseError:
            return False
        return True

    with ThreadPoolExecutor(12) as pool:
        assert sum(pool.map(asked, range(24))) == 5
    assert services.cases.open(id).queries == 5


def test_a_slider_tells_nothing_of_who_has_its_first_number(services, model):
    """The bars beside a slider begin at a number of one's own choice, and told how many past people have it."""
    project = services.projects.project(model)
    j = project.schema.index("income")
    edges, _ = project._below(j)
    lows = np.linspace(edges[1], edges[-2], 40)
    usual = {low: project.spread("income", low, low, edges[-1]) for low in lows}
    assert any(bar["count"] for bars in usual.values() for bar in bars)
    column = project._columns[j].copy()
    inside = (column > edges[2]) & (column < edges[3])
    project._columns[j] = np.sort(np.where(inside, (edges[2] + edges[3]) / 2, column))  # they earn the same
    assert inside.sum() > 10 and (project._below(j)[0] == edges).all()
    try:
        assert all(project.spread("income", low, low, edges[-1]) == bars for low, bars in usual.items())
    finally:
        project._columns[j] = column


@pytest.mark.parametrize("way", ["receipt", "keep"])
def test_plans_that_were_not_shown_cost_an_answer(services, model, way):
    """Whether a made-up plan holds was told for nothing, as often as somebody asked."""
    id = case(services, model)
    shown = [plan.action for plan in services.cases.plans(services.cases.open(id))]
    spent = services.cases.open(id).queries
    services.cases.budget.per_case = spent + 3

    def asked(action):
        if way == "keep":
            services.cases.keep(id, action)
        else:
            services.cases.receipt(services.cases.open(id), action, "Bank")

    for action in shown:
        asked(action)
    assert shown and services.cases.open(id).queries == spent
    for income in (1900, 1901, 1902):  # too little: it does not hold
        with pytest.raises(CaseError, match="no plan|not hold"):
            asked([None, income, None, None])
    with pytest.raises(CaseError, match="a person will look at it"):
        asked([None, 1903, None, None])
    asked(shown[0])  # their plans stay
    services.cases.keep(id, shown[0])
    assert services.cases.open(id).queries == spent + 3


def test_what_is_shown_twice_is_counted_once(services, model):
    id = case(services, model)
    for _ in range(3):
        services.cases.plans(services.cases.open(id))
    assert services.cases.open(id).queries == budget.COSTS["plans"]
