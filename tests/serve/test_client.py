"""The client: its documented example against a server that listens, and a method for every endpoint."""

from __future__ import annotations

import csv
import inspect
import json
import re
import socket
import threading
import time
from pathlib import Path

import pytest
import uvicorn
from fastapi.routing import APIRoute
from typer.testing import CliRunner

from wayforward.cli.app import app
from wayforward.serve import accounts
from wayforward.serve.client import Client, ServerProblem
from wayforward.serve.http import api
from wayforward.serve.http.app import create_app
from wayforward.serve.permissions import Act
from wayforward.serve.storage.tables import User

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "web-client.md"


@pytest.fixture
def database(tmp_path):
    """These tests need no second kind of database."""
    return f"sqlite:///{tmp_path / 'wayforward.db'}"


@pytest.fixture
def url(services):
    """A server that listens on the loopback, in a thread."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config(create_app(services=services), port=port, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join()


def token(services, name, *acts):
    with services.database.session() as session:
        user = session.query(User).filter_by(name=name).one()
        return accounts.make_token(session, user, "test", list(acts))


def test_the_example_of_the_guide(url, services, capsys):
    code = re.search(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)[1]
    exec(code, {"URL": url, "TOKEN": token(services, "operator", Act.SEE_MODELS, Act.MAKE_CASES)})
    assert "income" in capsys.readouterr().out.lower()


def test_models_come_and_jobs_run_by_program(url, services, given, model, tmp_path):
    acts = (Act.SEE_MODELS, Act.ADD_MODEL, Act.RUN_JOBS, Act.SEE_JOBS, Act.FETCH_RESULTS)
    operator = Client(url, token(services, "operator", *acts))
    file = services.projects.folder / model / "model.skops"
    added = operator.add_model(file, given.schema, given.train, label="granted", favourable="1", title="Sent")
    assert added["title"] == "Sent" and added["published"] is None and len(operator.models()) == 2
    with pytest.raises(ServerProblem, match="may not publish") as refused:
        operator.publish(added["id"])
    assert refused.value.status == 403 and refused.value.title == "This is not for you"
    admin = Client(url, token(services, "admin", Act.PUBLISH_MODEL, Act.MANAGE_USERS, Act.SEE_EVENTS))
    assert admin.publish(added["id"])["published"]
    (tmp_path / "people.csv").write_text("age,income,debt,home\n30,1500,900,rent\n61,800,20,own\n")
    job = operator.start_job("plans", added["id"], tmp_path / "people.csv")
    assert operator.job(job["id"])["status"] in ("waiting", "running")
    assert operator.stop_job(job["id"])["status"] in ("stopping", "stopped")
    with pytest.raises(ServerProblem, match="no result"):
        operator.answers(job["id"])
    made = admin.add_user("kim", "auditor", "four words that rhyme")
    with pytest.raises(ServerProblem, match="already") as refused:
        admin.add_user("kim", "auditor", "four words that rhyme")
    assert refused.value.status == 409
    admin.close_user(made["id"])
    log = admin.log()
    assert log["holds"] and log["lines"][0]["what"] == "account closed"
    assert admin.log(before=log["lines"][-1]["id"])["lines"] == []


def test_a_shell_publishes_makes_links_and_keeps_tokens(url, services, given, model, tmp_path, monkeypatch):
    """Acts of a running server by `wayforward remote`; no key is on its command line or in what it says of errors."""
    monkeypatch.setenv("WAYFORWARD_URL", url)

    def shell(key, line, code=0):
        monkeypatch.setenv("WAYFORWARD_TOKEN", key)
        got = CliRunner().invoke(app, ["remote", *line.split()])
        assert got.exit_code == code, got.output
        assert key not in got.output
        return got.output

    acts = (Act.SEE_MODELS, Act.ADD_MODEL, Act.MAKE_CASES, Act.SEE_CASES, Act.HAVE_TOKENS)
    operator, admin = token(services, "operator", *acts), token(services, "admin", Act.PUBLISH_MODEL)
    file = services.projects.folder / model / "model.skops"
    line = f"add-model {file} {given.schema} {given.train} --label granted --favourable 1 --title Sent"
    added = json.loads(shell(operator, line))["id"]
    assert "may not publish" in shell(operator, f"publish {added}", code=2)
    assert json.loads(shell(admin, f"publish {added}"))["published"]
    people, links = tmp_path / "people.csv", tmp_path / "links.csv"
    people.write_text("age,income,debt,home\n30,1500,900,rent\n61,800,20,own\n")
    shell(operator, f"make-cases {added} {people} --out {links}")
    with links.open() as lines:
        codes = [row["code"] for row in csv.DictReader(lines)]
    assert len(codes) == 2 and links.stat().st_mode & 0o077 == 0
    assert json.loads(shell(codes[0], "decision"))["accepted"] is False
    monkeypatch.setenv("WAYFORWARD_TOKEN", operator)
    made = CliRunner().invoke(app, ["remote", "make-token", "desk", Act.SEE_CASES, "--days", "3"])
    kept = json.loads(shell(operator, "tokens"))
    assert {"desk", "test"} == {one["name"] for one in kept}
    assert {one["model"]: one for one in json.loads(shell(made.output.strip(), "cases"))}[added]["cases"] == 2
    desk = next(one["id"] for one in kept if one["name"] == "desk")
    shell(operator, f"revoke {desk}")
    assert [one["name"] for one in json.loads(shell(operator, "tokens"))] == ["test"]


def test_there_is_a_method_for_every_endpoint():
    seen = set()

    class Recording(Client):
        def _ask(self, method, path, body=None, **_):
            seen.add((method, re.sub("PLACE", "{}", path)))
            return [] if path.endswith("/codes") else {"text": "", "token": "", "ed25519": ""}

    client = Recording("http://127.0.0.1")
    for name, method in inspect.getmembers(client, inspect.ismethod):
        if not name.startswith("_"):
            need = [one for one in inspect.signature(method).parameters.values() if one.default is one.empty]
            given = {one.name: {} if "Mapping[str" in one.annotation else "PLACE" for one in need}
            given |= {"people": []} if name == "make_cases" else {}
            method(**given)
    there = {
        (method, re.sub(r"\{\w+\}", "{}", route.path.removeprefix("/api/v1")))
        for router in api.routers()
        for route in router.routes
        if isinstance(route, APIRoute)
        for method in route.methods
    }
    assert seen == there


def test_where_nobody_answers_it_says_so():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        with pytest.raises(ServerProblem, match="does not answer"):
            Client(f"http://127.0.0.1:{free.getsockname()[1]}", timeout=2).open_models()
    with pytest.raises(ServerProblem, match="no web address"):
        Client("plans.example.org")
