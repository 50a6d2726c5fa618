"""Studies by the API and by the command: a program brings one with its pool, takes part, and fetches the answers."""

from __future__ import annotations

import csv
import io
import json

import pytest
from typer.testing import CliRunner

from wayforward.answers import write_csv
from wayforward.cli.app import app
from wayforward.errors import DataError, FileFormatError
from wayforward.serve import accounts
from wayforward.serve.case_store import CaseError
from wayforward.serve.permissions import Act
from wayforward.serve.storage.tables import Event, Participant, StudyRow, User
from wayforward.study.pool import ProfilePool
from wayforward.study.ready_made import ready_made_text

from .test_study_tasks import protocol

BY_TABLE = ready_made_text("car-loan").replace("pool: synthetic", "pool: table")


def pool_rows(n: int = 40) -> list[dict[str, int]]:
    """Profiles of people who earn much and work as long as the other."""
    same = {f"item-{i}": 1 for i in range(1, 17)}
    return [same | {"item-8": 1 + i % 7, "item-9": 1 + i // 7, "income": 20} for i in range(n)]


@pytest.fixture
def researcher(browser, services):
    """A program with a token of a researcher."""
    with services.database.session() as session:
        user = session.query(User).filter_by(name="researcher").one()
        token = accounts.make_token(session, user, "studies", [Act.RUN_STUDIES])
    one = browser()
    one.headers["Authorization"] = f"Bearer {token}"
    return one


def opened(researcher, text: str, **more) -> dict:
    made = researcher.post("/api/v1/studies", json={"protocol": text, **more})
    assert made.status_code == 201, made.text
    return researcher.post(f"/api/v1/studies/{made.json()['id']}/open").json()


def joined(browser, study: dict, language: str = "en"):
    one = browser()
    answer = one.post(
        "/api/v1/studies/join", json={"link": study["link"].split("/")[-1], "language": language}
    )
    assert answer.status_code == 201
    one.headers["Authorization"] = f"Bearer {answer.json()['code']}"
    return one, answer.json()


def send(one, path: str, status: int = 200, **body) -> dict:
    answer = one.post(f"/api/v1/participation/{path}", json=body)
    assert answer.status_code == status, answer.text
    return answer.json()


def answers_to(page: dict) -> list[list[str]]:
    """Something to every item; of options the last one."""
    found = []
    for item in page["items"]:
        options = [str(i + 1) for i in range(len(item.get("options", ())))]
        typed = {
            "ranking": options,
            "choice": options[-1:],
            "number": ["35"],
            "text": ["mine"],
            "likert": ["3"],
        }
        found.append(typed[item["kind"]])
    return found


def test_a_program_takes_part_from_consent_to_the_code(browser, researcher, services):
    study = opened(researcher, ready_made_text("point-or-region"))
    one, now = joined(browser, study, "de")
    assert now["standing"] == "consent" and "Diese Studie" in now["text"] and now["page"] is None
    now = send(one, "consent", revision=now["revision"])
    assert now["page"]["items"][0]["unit"] == "Jahre"
    saved = send(one, "answers", revision=now["revision"], answers=[["4"]], later=True)
    assert saved["page"]["draft"] == {"0": ["4"]}
    wrong = send(one, "answers", 422, revision=saved["revision"], answers=[["4"]])
    assert "answers[0]" in wrong["detail"]
    send(one, "answers", 409, revision=now["revision"], answers=[["40"]])
    now = one.get("/api/v1/participation").json()
    now = send(one, "answers", revision=now["revision"], answers=[["40"]])
    send(one, "back", 422, revision=now["revision"])  # the screening is over
    now = send(one, "answers", revision=now["revision"], answers=answers_to(now["page"]))
    assert now["page"]["can_go_back"]
    now = send(one, "back", revision=now["revision"], answers=[["2"]])
    assert now["page"]["draft"]["0"] == ["3"]
    while now["page"] is not None:
        seen = json.dumps(now["page"])
        assert not any(secret in seen for secret in ("region", "expect", "exclude", '"id"', "-point"))
        now = send(one, "answers", revision=now["revision"], answers=answers_to(now["page"]), seconds=3)
    assert now["standing"] == "finished" and now["completion_code"]
    assert researcher.get(f"/api/v1/studies/{study['id']}/codes").json() == [now["completion_code"]]
    for nothing in ("nothing", "x" * 200):
        assert researcher.get(f"/api/v1/studies/{nothing}/codes").status_code == 404
    with services.database.session(write=False) as session:
        assert {one.subject for one in session.query(Event).filter_by(what="completion codes fetched")} == {
            study["id"]
        }
    found = researcher.get(f"/api/v1/studies/{study['id']}/export").json()
    assert found["about"]["participants"] == 1 and len(found["answers"]) == 11
    assert now["completion_code"] not in json.dumps(found)
    assert one.delete("/api/v1/participation").status_code == 204
    assert one.get("/api/v1/participation").status_code == 401
    with services.database.session(write=False) as session:
        assert session.query(Participant).count() == 0


def test_the_acts_of_a_researcher(browser, researcher):
    assert researcher.get("/api/v1/studies").json() == []
    text = ready_made_text("car-loan")
    study = opened(researcher, text)
    assert (study["name"], study["open"], study["most"], study["standing"]) == ("car-loan", True, 362, {})
    assert researcher.post("/api/v1/studies", json={"protocol": text}).status_code == 422
    wrong = researcher.post("/api/v1/studies", json={"protocol": text.replace("most: 362", "most: 0")})
    assert wrong.status_code == 422 and "quota.most" in wrong.json()["detail"]
    whole = researcher.get(f"/api/v1/studies/{study['id']}").json()
    assert whole["protocol"]["seed"] == 2023 and whole["link"] == study["link"]
    page = researcher.get(f"/api/v1/studies/{study['id']}/preview")
    assert page.headers["content-type"].startswith("text/html") and study["id"] in page.text
    assert researcher.get(f"/api/v1/studies/{study['id']}/preview?language=fr").status_code == 422
    closed = researcher.post(f"/api/v1/studies/{study['id']}/close").json()
    assert (closed["open"], closed["link"]) == (False, None)
    join = {"link": study["link"].split("/")[-1]}
    assert browser().post("/api/v1/studies/join", json=join).status_code == 404
    for path in ("", "/preview", "/export"):
        assert researcher.get(f"/api/v1/studies/{'9' * 64}{path}").status_code == 404
    assert researcher.post("/api/v1/studies", json={"protocol": 1, "more": 2}).status_code == 422


def test_a_program_does_a_task(browser, researcher, model):
    study = opened(researcher, protocol())
    seen = set()
    for _ in range(4):
        one, now = joined(browser, study)
        now = send(one, "consent", revision=now["revision"])
        now = send(one, "answers", revision=now["revision"], answers=[["35"], ["1"]])
        now = send(one, "answers", revision=now["revision"], answers=[])
        assert now["page"]["is_task"]
        send(one, "answers", 422, revision=now["revision"], answers=[])
        task = one.get("/api/v1/participation/task").json()
        assert task["person"]["income"] == "1,700 EUR/month"
        if "question" in task:
            question, other = task["question"]["id"], "what-if"
            task = send(one, "task/reply", revision=0, question=question, reply="2")
            task = send(one, "task/undo", revision=task["revision"])
            assert task["question"]["id"] == question
            task = send(one, "task/reply", revision=task["revision"], question=question, reply="stop here")
            send(one, "task/what-if", 422, values={"income": 8000})
        else:
            other = "reply"
            send(one, "task/reply", 422, revision=0, question="x", reply="1")
            assert send(one, "task/what-if", values={"income": 8000})["accepted"]
            task = send(one, "task/limits", revision=0, limits={"debt": False}, changes=1)
            assert all(plan["action"][2] is None for plan in task["plans"])
        seen.add(other)
        action = task["plans"][0]["action"]
        send(one, "task/finish", 422, revision=now["revision"], action=[None] * 4)
        after = send(one, "task/finish", revision=now["revision"], action=action)
        assert not after["page"]["is_task"]
        send(one, "task/finish", 422, revision=after["revision"], action=action)
    assert len(seen) == 2


def test_plans_come_from_a_pool_that_was_brought(browser, researcher, services, tmp_path):
    rows = pool_rows()
    with pytest.raises(CaseError, match="Add the pool"):
        services.studies.add(BY_TABLE, "r")
    with pytest.raises(CaseError, match="takes no pool"):
        services.studies.add(
            ready_made_text("car-loan"),
            "r",
            ProfilePool.read({name: [row[name] for row in rows] for name in rows[0]}),
        )
    wrong = researcher.post(
        "/api/v1/studies", json={"protocol": BY_TABLE, "pool": [*rows, rows[0] | {"item-4": 3}]}
    )
    assert wrong.status_code == 422 and "'item-4' of the pool holds '3' in row 40" in wrong.json()["detail"]
    write_csv(rows, tmp_path / "pool.csv")
    page = browser().log_in("researcher")
    pool = (tmp_path / "pool.csv").read_bytes()
    for content, status, said in (
        (b"item-1\n1\n", 422, "no column"),
        (b"\xff\xfe", 422, ""),
        (pool, 200, "Closed"),
    ):
        page.get_page("/staff/studies")
        files = {"protocol": ("p.yaml", BY_TABLE.encode()), "pool": ("pool.csv", content)}
        answer = page.post("/staff/studies", data={"token": page.value("token")}, files=files)
        assert answer.status_code == status and said in answer.text
    study = opened_again(researcher)
    services.studies._held.clear()
    one, now = joined(browser, study)
    now = send(one, "consent", revision=now["revision"])
    typed = [["40"], ["1"], ["1"], ["3"], ["1"], ["8"]]
    now = send(one, "answers", revision=now["revision"], answers=typed)
    now = send(one, "answers", revision=now["revision"], answers=[["1"]] * 16)
    with services.database.session(write=False) as session:
        person, row = session.query(Participant).one(), session.query(StudyRow).one()
    plans = services.studies.open(person.id).course.state["plans"]
    brought = {tuple(row[f"item-{i}"] for i in range(1, 17)) for row in rows}
    assert len(plans) == 5 and all(tuple(plan["to"]) in brought for plan in plans)
    assert plans != [] and bytes([1] * 16 + [20]) not in row.pool
    about = researcher.get(f"/api/v1/studies/{study['id']}/export").json()["about"]
    assert about["pool_profiles"] == 40 and len(about["pool_sha256"]) == 64


def opened_again(researcher) -> dict:
    id = researcher.get("/api/v1/studies").json()[0]["id"]
    return researcher.post(f"/api/v1/studies/{id}/open").json()


def test_pools_are_bounded(monkeypatch, tmp_path):
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    rows = pool_rows()
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    parquet.write_table(arrow.table(columns), tmp_path / "pool.parquet")
    whole = ProfilePool.read_file(tmp_path / "pool.parquet")
    assert whole.hash == ProfilePool.from_bytes(whole.to_bytes()).hash == ProfilePool.read(columns).hash
    with pytest.raises(DataError, match="39 values, another one 40"):
        ProfilePool.read(columns | {"item-3": columns["item-3"][:-1]})
    with pytest.raises(DataError, match="'True' in row 0"):
        ProfilePool.read(columns | {"item-3": [True, *columns["item-3"][1:]]})
    monkeypatch.setattr("wayforward.study.pool.MOST_PROFILES", 39)
    with pytest.raises(DataError, match="40 rows"):
        ProfilePool.read_file(tmp_path / "pool.parquet")
    with pytest.raises(DataError, match="40 rows"):
        ProfilePool.read(columns)
    (tmp_path / "pool.parquet").write_bytes(b"PAR1 and nothing more")
    with pytest.raises(FileFormatError, match="PARQUET"):
        ProfilePool.read_file(tmp_path / "pool.parquet")


def test_the_command_writes_an_export(services, tmp_path):
    home, out = services.settings.home, tmp_path / "out"
    command = ["study", "export", str(home), "--out", str(out), "--database", services.settings.database_url]
    assert "No study fits" in CliRunner().invoke(app, command).output.replace("\n", " ")
    for name in ("point-or-region", "car-loan"):
        id = services.studies.add(ready_made_text(name), "r")
    services.studies.switch(id, True, "r")
    link = next(row.link for row, _, _ in services.studies.rows() if row.open)
    services.studies.enrol(link, "en")
    assert "More than one" in CliRunner().invoke(app, command).output
    done = CliRunner().invoke(app, [*command, "--study", "car-loan"])
    assert done.exit_code == 0, done.output
    assert json.loads((out / "about.json").read_text())["protocol_sha256"] == id
    assert [
        row["standing"] for row in csv.DictReader(io.StringIO((out / "participants.csv").read_text()))
    ] == ["consent"]
    missing = CliRunner().invoke(app, ["study", "export", str(tmp_path / "x"), "--out", str(out)])
    assert missing.exit_code != 0 and not (tmp_path / "x").exists()
