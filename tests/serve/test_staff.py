"""Operators and approvers: a model in, published by a second person, links out; what is wrong with files is said."""

from __future__ import annotations

import csv
import html
import io
import os
import re
import threading

import pytest

from wayforward.errors import DataError, WayforwardError
from wayforward.serve.projects import Given, ProjectError
from wayforward.serve.services import Services
from wayforward.serve.settings import ServeSettings
from wayforward.serve.start import first_come, prepare
from wayforward.serve.storage.tables import Event

from .conftest import PASSWORD


@pytest.fixture
def database(tmp_path):
    """These tests need no second kind of database."""
    return f"sqlite:///{tmp_path / 'wayforward.db'}"


def files(given, services, id, **other):
    """What an operator sends to add a version: the fitted model of the fixture, from its file."""
    place = services.projects.folder / id
    out = {
        "model": ("model.skops", (place / "model.skops").read_bytes()),
        "schema": ("schema.yaml", given.schema.read_bytes()),
        "train": ("train.csv", given.train.read_bytes()),
    }
    return out | other


def test_two_people_bring_a_model_to_applicants(browser, services, given, model):
    operator, approver = browser().log_in("operator"), browser().log_in("approver")
    operator.get_page("/staff/models")
    sent = {
        "token": operator.value("token"),
        "title": "Another loan",
        "label": "granted",
        "favourable": "1",
        "threshold": "0.6",
    }
    answer = operator.post("/staff/models", data=sent, files=files(given, services, model))
    assert answer.status_code == 200 and "Another loan" in answer.text and "not yet" in answer.text
    approver.get_page("/staff/models")
    path = re.search(r'action="(/staff/models/\w+/publish)"', approver.text)[1]
    id = path.split("/")[3]
    with pytest.raises(ProjectError, match="published"):
        services.cases.make(id, [{"age": 30, "income": 1, "debt": 1, "home": "own"}])
    approver.submit(path)
    trained = services.projects.project(id).problem.retraining._trained
    assert {"searched", "judged"} <= set(trained)  # before the first applicant comes
    written = services.settings.home / "retrained" / id
    assert (
        len(list(written.glob("*.skops"))) == 30 and (written / "done").exists()
    )  # not again at the next start
    people = "age,income,debt,home\n30,1500,900,rent\n61,800,20,own\n"
    operator.get_page("/staff/cases")
    answer = operator.post(
        "/staff/cases",
        data={"token": operator.value("token"), "model": id},
        files={"people": ("people.csv", people)},
    )
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert [row["row"] for row in rows] == ["0", "1"]
    applicant = browser()
    applicant.get_page("/w/" + rows[0]["link"].split("/w/")[1])
    applicant.submit("/case/consent")
    assert "1,500" in applicant.get_page("/case/limits")


def test_whoever_adds_cannot_publish(services, given):
    from wayforward.serve.storage.tables import User

    with services.database.session() as session:
        user = session.query(User).filter_by(name="admin").one()
        other = Given(**{**vars(given), "title": "By the administrator"})
        version = services.projects.add(session, other, user)
        with pytest.raises(ProjectError, match="Somebody else"):
            services.projects.publish(session, version.id, user)


@pytest.mark.parametrize(
    "wrong, said",
    [
        ({"model": ("model.pkl", b"\x80\x04.")}, "no model file that can be read"),
        ({"model": ("model.skops", b"PK\x03\x04 no zip")}, "cannot be read"),
        ({"schema": ("schema.yaml", b"features: [")}, "schema"),
        ({"train": ("train.csv", b"age,income\n1,2\n")}, "no column 'granted'"),
        ({"train": ("../../../etc/passwd", b"a\n1\n")}, ""),
    ],
)
def test_what_is_wrong_with_a_file_is_said(wrong, said, browser, services, given, model):
    operator = browser().log_in("operator")
    operator.get_page("/staff/models")
    sent = {"token": operator.value("token"), "title": "x", "label": "granted", "favourable": "1"}
    answer = operator.post("/staff/models", data=sent, files=files(given, services, model, **wrong))
    assert answer.status_code == 422 and said in html.unescape(answer.text)
    assert not [
        path for path in services.projects.folder.iterdir() if path.name != model
    ]  # nothing is left behind


def test_changed_files_answer_nobody(services, model):
    (services.projects.folder / model / "question.json").write_text("{}")
    services.projects._warm.clear()
    with pytest.raises(ProjectError, match="were changed"):
        services.projects.project(model)


def test_accounts_are_made_and_closed(browser, services):
    admin = browser().log_in("admin")
    admin.get_page("/staff/users")
    assert "at least 12 characters" in admin.submit(
        "/staff/users", 422, name="kim", role="auditor", password="short"
    )
    admin.submit("/staff/users", name="kim", role="auditor", password=PASSWORD)
    kim = browser()
    kim.get_page("/login")
    kim.submit("/login", name="kim", password=PASSWORD)
    kim.get_page("/staff/log")
    assert "The log is whole" in kim.text
    from wayforward.serve.storage.tables import User

    with services.database.session(write=False) as session:
        id = session.query(User).filter_by(name="kim").one().id
    admin.get_page("/staff/users")
    admin.submit(f"/staff/users/{id}/off")
    assert kim.get("/staff/log").status_code == 401


def test_unsafe_deployments_are_named(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    (home / "keys.json").write_text("{}")
    (home / "keys.json").chmod(0o644)
    found = " ".join(
        ServeSettings(
            home=home, public_url="http://plans.example.org", demonstration=True, debug=True
        ).unsafe()
    )
    for word in ("plain HTTP", "demonstration", "Debugging", "chmod 600"):
        assert word in found
    (home / "keys.json").chmod(0o600)
    assert ServeSettings(home=home, public_url="https://plans.example.org").unsafe() == []
    (home / "file").touch()
    nowhere = ServeSettings(home=home / "file" / "inside", public_url="https://plans.example.org")
    assert nowhere.unsafe() == ["Nothing can be stored in 'file', where --home is. Name another folder."]
    with pytest.raises(DataError, match="no web address"):
        ServeSettings(public_url="plans.example.org")


@pytest.mark.parametrize(
    ("places", "wrong"),
    [
        ("127.0.0.1", ""),
        ("", ""),
        ("10.89.0.0/24, 192.0.2.7", ""),
        ("0.0.0.0/0", "0.0.0.0/0"),
        ("::/1", "::/1"),
    ],
)
def test_proxies_that_are_believed_are_few(places, wrong, tmp_path):
    settings = ServeSettings(home=tmp_path, public_url="https://plans.example.org", forwarded_from=places)
    assert [wrong in line for line in settings.unsafe()] == ([True] if wrong else [])


@pytest.mark.parametrize("places", ["*", "proxy", "10.0.0.5/8"])
def test_a_proxy_is_named_by_its_address(places):
    with pytest.raises(DataError, match="no address of a proxy"):
        ServeSettings(forwarded_from=places)


@pytest.mark.parametrize(
    "url, host, wrong",
    [
        ("http://127.0.0.1:8000", "127.0.0.1", ""),
        ("http://localhost:8000", "::1", ""),
        ("http://127.0.0.1:8000", "0.0.0.0", "listens at 0.0.0.0"),
        ("http://localhost:8000", "192.0.2.7", "listens at 192.0.2.7"),
        ("http://plans.example.org", "127.0.0.1", "'http://plans.example.org' is plain HTTP"),
        ("https://plans.example.org", "0.0.0.0", ""),
    ],
)
def test_plain_http_is_judged_by_where_the_server_listens(url, host, wrong, tmp_path):
    found = ServeSettings(home=tmp_path, public_url=url).unsafe(host)
    assert [wrong in line for line in found] == ([True] if wrong else [])


def test_servers_that_start_at_once_prepare_the_folder_once(tmp_path, warm):
    """One set of accounts, one model; nobody breaks down."""
    given, printed, failed = warm[0], [], []

    def start():
        try:
            with first_come(tmp_path / "new"):
                services = Services.at(ServeSettings(home=tmp_path / "new"))
                printed.append(prepare(services, given, False))
            services.database.close()
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=start) for _ in range(3)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not failed and sorted(len(lines) for lines in printed) == [0, 0, 2]
    assert len(list((tmp_path / "new" / "models").iterdir())) == 1


def test_a_broken_key_file_is_not_replaced(tmp_path):
    from wayforward.serve.keys import Keys

    keys = Keys.at(tmp_path)
    assert Keys.at(tmp_path).master == keys.master
    for broken in ("{}", "[" * 100_000, '{"master": 1e999}'):
        (tmp_path / "keys.json").write_text(broken)
        with pytest.raises(WayforwardError, match="backup"):
            Keys.at(tmp_path)
    (tmp_path / "keys.json").unlink()
    for make in (os.mkdir, os.mkfifo):
        make(tmp_path / "keys.json")
        with pytest.raises(WayforwardError, match=r"keys\.json"):
            Keys.at(tmp_path)
        (os.rmdir if make is os.mkdir else os.unlink)(tmp_path / "keys.json")


def test_a_case_at_a_desk_begins_without_a_link_and_the_operator_is_logged_out(browser, services, model):
    operator, auditor = browser().log_in("operator"), browser().log_in("auditor")
    assert f'href="/staff/desk/{model}"' in operator.get_page("/staff/cases")
    auditor.get_page(f"/staff/desk/{model}", 403)
    operator.get_page(f"/staff/desk/{model}")
    assert "f1" in operator.submit(f"/staff/desk/{model}", 422, f0="30", f1="much", f2="1500", f3="0")
    text = operator.submit(f"/staff/desk/{model}", f0="30", f1="1700", f2="1500", f3="0")
    code = re.search(r"\b\w{4}(?:-\w{4}){3}\b", text)[0]
    assert "consent" in operator.get_page("/case")
    operator.get_page("/staff", 401)  # whoever sits here now is the applicant
    one = services.cases.open(services.cases.by_code(code), before_consent=True)
    assert not one.case.own and one.x[0, 1] == 1700
    with services.database.session(write=False) as session:
        line = session.query(Event).filter_by(what="cases made").order_by(Event.id.desc()).first()
        assert line.actor == "operator"
