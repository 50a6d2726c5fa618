"""The client: its documented example against a server that listens, and a method for every endpoint."""

from __future__ import annotations

import inspect
import re
import socket
import threading
import time
from pathlib import Path

import pytest
import uvicorn
from fastapi.routing import APIRoute

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
