"""What nobody needs any more goes by itself, for good; counts stay, and the log says what went."""

from __future__ import annotations

import os
import time
from datetime import timedelta

import pytest
from fastapi.testclient import TestClient

from wayforward.language import day_text
from wayforward.serve import retention
from wayforward.serve.http.app import create_app
from wayforward.serve.retention import clock_state, sweep
from wayforward.serve.storage.tables import ApplicantCase, Event, Login, now
from wayforward.serve.tallies import DELETED, EXPIRED, MADE, totals


def aged(services, id, days):
    with services.database.session() as session:
        session.get(ApplicantCase, id).seen = now() - timedelta(days=days)


def test_after_the_organisations_days_a_case_goes_and_counts_stay(services, model, code, browser):
    id = services.cases.by_code(code)
    services.cases.make(model, [{"age": 50, "income": 1000, "debt": 10, "home": "own"}], by="operator")
    browser().get_page(f"/w/{code}")  # a session, too
    aged(services, id, 89)
    assert sweep(services) == "0 cases, 0 jobs"
    aged(services, id, 91)
    assert sweep(services) == "1 case, 0 jobs"
    with services.database.session(write=False) as session:
        assert session.get(ApplicantCase, id) is None and session.query(ApplicantCase).count() == 1
        assert not session.query(Login).filter_by(case_id=id).count()
        assert totals(session)[model] == {MADE: 2, EXPIRED: 1}
        assert session.query(Event).order_by(Event.id.desc()).first().subject == "1 case, 0 jobs"


def test_a_visit_by_a_program_is_a_visit(services, code, browser):
    """The endpoints for programs left the clock as it was, and the case went two days after it was asked for."""
    id = services.cases.by_code(code)
    aged(services, id, 89)
    answer = browser().get("/api/v1/case/consent", headers={"Authorization": f"Bearer {code}"})
    assert answer.status_code == 200
    with services.database.session(write=False) as session:
        assert session.get(ApplicantCase, id).seen > now() - timedelta(minutes=5)


def test_deleted_by_a_person_is_counted_once(services, model, code):
    id = services.cases.by_code(code)
    services.cases.delete(id)
    services.cases.delete(id)
    with services.database.session(write=False) as session:
        assert totals(session)[model] == {MADE: 1, DELETED: 1}


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
@pytest.mark.parametrize("how", ["after its time", "by the person"])
def test_the_sealed_key_is_gone_from_the_files(how, services, code, tmp_path):
    id = services.cases.by_code(code)
    case = services.cases.open(id).case

    def found():
        files = b"".join(path.read_bytes() for path in tmp_path.rglob("*.db*"))
        return case.key in files, case.state in files

    services.database.wipe()
    assert found() == (True, True)
    if how == "by the person":
        services.cases.delete(id)
    else:
        aged(services, id, 91)
        sweep(services)
    assert found() == (False, False)


def test_at_the_start_and_every_day(services, code, monkeypatch):
    monkeypatch.setattr(retention, "_EVERY", 0.05)
    aged(services, services.cases.by_code(code), 91)
    left = services.jobs.folder / "left-by-a-kill"
    left.mkdir(parents=True)
    os.utime(left, (time.time() - 7200,) * 2)
    with TestClient(create_app(services=services)):
        with services.database.session(write=False) as session:
            assert session.query(ApplicantCase).count() == 0 and not left.exists()
        for _ in range(100):
            with services.database.session(write=False) as session:
                if (sweeps := session.query(Event).filter_by(what="retention sweep").count()) >= 3:
                    break
            time.sleep(0.05)
    assert sweeps >= 3


def test_operators_see_the_clock(services, model, code, browser):
    operator = browser().log_in("operator")
    assert "No sweep yet." in operator.get_page("/staff/cases")
    sweep(services)
    with services.database.session(write=False) as session:
        due = clock_state(session, 90).next
    text = operator.get_page("/staff/cases")
    assert "after 90 days" in text and "It deleted 0 cases, 0 jobs." in text
    assert f"due on {day_text(due.date())}" in text
    german = browser().log_in("auditor").get("/staff/log", headers={"accept-language": "de"}).text
    assert "0 Fälle, 0 Aufträge" in german and "0 cases" not in german
