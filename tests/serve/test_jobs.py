"""Long work: plans and audits of tables in processes of their own, stopped, killed and taken up again."""

from __future__ import annotations

import csv
import io
import os
import re
import signal
import subprocess
import sys
import time
from datetime import timedelta

import numpy as np
import pytest

from wayforward.answers import write_csv
from wayforward.serve.accounts import Somebody, somebody
from wayforward.serve.jobs import DONE, FAILED, RUNNING, STOPPED, WAITING, JobError, NoSuchJob, Supervisor
from wayforward.serve.permissions import Role
from wayforward.serve.projects import ProjectError
from wayforward.serve.storage.tables import Job, User, now
from wayforward.serve.worker import run

#: What has nothing to do with the kind of database is tried on one.
any_database = pytest.mark.parametrize("database", ["sqlite"], indirect=True)


@pytest.fixture
def people(tmp_path):
    """A table of people, as a file."""
    rng = np.random.default_rng(1)
    rows = [
        {
            "age": int(rng.integers(18, 80)),
            "income": int(rng.integers(500, 4000)),
            "debt": int(rng.integers(0, 5000)),
            "home": "rent",
        }
        for _ in range(120)
    ]
    return write_csv(rows, tmp_path / "people.csv")


def user(services, name="operator"):
    with services.database.session(write=False) as session:
        return somebody(session.query(User).filter_by(name=name).one())


def state(services, id):
    with services.database.session(write=False) as session:
        return session.get(Job, id)


def test_plans_of_a_table(services, model, people, tmp_path):
    id = services.jobs.start("plans", model, {"k": 2}, people, user(services))
    assert services.jobs.claim("one") == id and services.jobs.claim("two") is None
    assert run(services.settings.home, services.database.url, id, "one") == 0
    job = state(services, id)
    assert job.status == DONE and "found" in job.note and job.done == 120
    with services.database.session(write=False) as session:
        file = services.jobs.result(session, id, "plans")
        with pytest.raises(JobError):
            services.jobs.result(session, id, "audit")
    rows = list(csv.DictReader(io.StringIO(file.read_text())))
    assert {int(row["person"]) for row in rows} == set(range(120))
    assert all(row["plan"] for row in rows)


@any_database
def test_an_audit_by_the_features_named(services, model, people):
    id = services.jobs.start("audit", model, {"groups": ["age"]}, people, user(services))
    services.jobs.claim("one")
    run(services.settings.home, services.database.url, id, "one")
    assert state(services, id).status == DONE
    assert "<h1>Audit of recourse: A small loan" in (services.jobs.folder / id / "audit.html").read_text()
    id = services.jobs.start("audit", model, {}, people, user(services))
    services.jobs.claim("one")
    run(services.settings.home, services.database.url, id, "one")
    assert state(services, id).status == FAILED and "sensitive" in state(services, id).note


def test_a_job_that_went_silent_is_taken_up_again_and_ends_once(services, model, people):
    id = services.jobs.start("plans", model, {}, people, user(services))
    assert services.jobs.claim("dead") == id
    with services.database.session() as session:
        session.get(Job, id).beat = now() - timedelta(minutes=1)
    assert services.jobs.claim("next") == id
    assert not services.jobs.beat(id, "dead")  # it wakes up, and is no longer the one
    run(services.settings.home, services.database.url, id, "dead")
    assert state(services, id).status == RUNNING
    run(services.settings.home, services.database.url, id, "next")
    services.jobs.end(id, "dead", FAILED, "too late")
    assert state(services, id).status == DONE


def test_a_job_of_a_killed_process_goes_on_although_the_clock_was_set_back(services, model, people):
    id = services.jobs.start("plans", model, {}, people, user(services))
    assert services.jobs.claim("dead") == id
    with services.database.session() as session:
        session.get(Job, id).beat = now() + timedelta(days=1)
    assert services.jobs.claim("next") == id and services.jobs.claim("third") is None


def test_a_job_that_always_breaks_is_given_up(services, model, people):
    id = services.jobs.start("plans", model, {}, people, user(services))
    for _ in range(3):
        assert services.jobs.claim("one") == id
        with services.database.session() as session:
            session.get(Job, id).beat = now() - timedelta(minutes=1)
    assert services.jobs.claim("one") is None and state(services, id).status == FAILED


def test_stopped_before_and_after_it_began(services, model, people):
    first = services.jobs.start("plans", model, {}, people, user(services))
    services.jobs.stop(first, user(services))
    assert state(services, first).status == STOPPED and services.jobs.claim("one") is None
    second = services.jobs.start("plans", model, {}, people, user(services))
    services.jobs.claim("one")
    services.jobs.stop(second, user(services))
    assert not services.jobs.beat(second, "one")
    with pytest.raises(JobError, match="over"):
        services.jobs.stop(first, user(services))


def test_who_may_not_see_a_job_does_not_stop_it(browser, services, model, people):
    """An auditor reads the number of a job of plans in the log, and stopped it by the page."""
    id = services.jobs.start("plans", model, {}, people, user(services))
    auditor = browser().log_in("auditor")
    auditor.get_page("/staff/jobs")
    answer = auditor.post(f"/staff/jobs/{id}/stop", data={"token": auditor.value("token")})
    assert answer.status_code == 404 and state(services, id).status == WAITING
    with pytest.raises(NoSuchJob):
        services.jobs.stop(id, user(services, "auditor"))


def goes_well(jobs, id):
    jobs.claim("one")
    jobs.end(id, "one", DONE)


def fails(jobs, id):
    jobs.claim("one")
    jobs.end(id, "one", FAILED, "a mistake in the table")


def is_stopped_while_it_waits(jobs, id):
    jobs.stop(id, by=Somebody("operator", Role.OPERATOR, 1))


def is_stopped_while_it_runs(jobs, id):
    jobs.claim("one")
    is_stopped_while_it_waits(jobs, id)
    jobs.end(id, "one", STOPPED)


def is_stopped_and_its_server_killed(jobs, id):
    jobs.claim("one")
    is_stopped_while_it_waits(jobs, id)
    silence(jobs, id)
    assert jobs.claim("next") is None


def breaks_down_again_and_again(jobs, id):
    for _ in range(3):
        jobs.claim("one")
        silence(jobs, id)
    assert jobs.claim("one") is None


def ends_while_its_server_is_killed(jobs, id):
    """The end is in the database, the table still on the disk."""
    jobs.claim("one")
    jobs._delete_people, delete = lambda _: None, jobs._delete_people
    jobs.end(id, "one", DONE)
    jobs._delete_people = delete
    assert jobs.sweep(90) == 0


def silence(jobs, id):
    with jobs.database.session() as session:
        session.get(Job, id).beat = now() - timedelta(minutes=1)


@pytest.mark.parametrize(
    "ending",
    [
        goes_well, fails, is_stopped_while_it_waits, is_stopped_while_it_runs, is_stopped_and_its_server_killed,
        breaks_down_again_and_again, ends_while_its_server_is_killed,
    ],
)  # fmt: skip
def test_the_people_s_table_is_deleted_however_a_job_ends(ending, services, model, people):
    id = services.jobs.start("plans", model, {}, people, user(services))
    place = services.jobs.folder / id
    (place / "answers").mkdir()  # what it was working on holds people, too
    assert list(place.glob("people.*"))
    ending(services.jobs, id)
    assert not list(place.iterdir()) and state(services, id).ended is not None


def test_what_a_killed_server_left_is_swept_and_nothing_else(services, model, people):
    waiting = services.jobs.start("plans", model, {}, people, user(services))
    for name, age in (("orphan", 7200), ("just-now", 0)):
        (services.jobs.folder / name).mkdir()
        os.utime(services.jobs.folder / name, (time.time() - age,) * 2)
    assert services.jobs.sweep(90) == 0
    assert {place.name for place in services.jobs.folder.iterdir()} == {waiting, "just-now"}
    assert list((services.jobs.folder / waiting).glob("people.*"))
    with pytest.raises(ProjectError):
        services.jobs.start("plans", "0" * 64, {}, people, user(services))
    assert {place.name for place in services.jobs.folder.iterdir()} == {waiting, "just-now"}


def test_a_process_killed_in_the_middle_leaves_nothing_half_done(services, model, people):
    """The same answers as without the kill, whenever it comes."""
    id = services.jobs.start("plans", model, {}, people, user(services))
    whole = services.jobs.start("plans", model, {}, people, user(services))
    services.jobs.claim("one")
    for wait in (0.2, 3.0):
        process = subprocess.Popen(
            [sys.executable, "-m", "wayforward.serve.worker", str(services.settings.home), id, "one"],
            stdin=subprocess.PIPE,
        )
        process.stdin.write(services.database.url.encode())
        process.stdin.close()
        time.sleep(wait)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        if state(services, id).status == DONE:
            break
    if state(services, id).status != DONE:
        run(services.settings.home, services.database.url, id, "one")
    assert services.jobs.claim("two") == whole
    run(services.settings.home, services.database.url, whole, "two")
    files = [(services.jobs.folder / one / "answers.csv").read_text() for one in (id, whole)]
    assert files[0] == files[1] and state(services, id).status == DONE


def test_from_the_page_to_the_table(browser, services, model, people):
    operator = browser().log_in("operator")
    operator.get_page("/staff/jobs")
    given = {"token": operator.value("token"), "kind": "plans", "model": model}
    answer = operator.post("/staff/jobs", data=given, files={"people": ("people.csv", people.read_bytes())})
    assert "waiting" in answer.text
    supervisor = Supervisor(services.jobs, services.settings.home)
    supervisor.start()
    for _ in range(240):
        text = operator.get_page("/staff/jobs")
        if "Table of plans" in text:
            break
        time.sleep(0.5)
    supervisor.stop()
    path = re.search(r'href="(/staff/jobs/[^"]+/answers.csv)"', text)[1]
    assert operator.get(path).text.startswith("person,option,outcome")
    auditor = browser().log_in("auditor")
    assert auditor.get(path).status_code == 403 and "plans for people" not in auditor.get_page("/staff/jobs")
    given = {"token": auditor.value("token"), "kind": "plans", "model": model}
    assert auditor.post("/staff/jobs", data=given, files={"people": ("p.csv", b"a\n1")}).status_code == 403


@any_database
def test_the_process_of_a_job_is_spared_torch(services):
    """Its pulse is a second thread, so that what reads models comes before it."""
    code = (
        "import sys; from pathlib import Path; from wayforward.serve.worker import run\n"
        "print(run(Path(sys.argv[1]), sys.argv[2], 'none', 'one'), 'skops.io' in sys.modules, 'torch' in sys.modules)"
    )
    at = (str(services.settings.home), services.database.url)
    said = subprocess.run(
        [sys.executable, "-c", code, *at], capture_output=True, text=True, check=True
    ).stdout
    assert said.split() == ["0", "True", "False"]
