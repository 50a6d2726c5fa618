"""Server and workers killed at random moments: is an accepted answer lost, is a job left half done?

``python -m benchmarks.kills --kills 50`` starts a server of its own on the loopback, with a small model and an empty
database. Applicants answer without a pause and a job looks for plans, while the server, the job's process or both are
killed (SIGKILL) at a moment that is drawn, and the server is started again. After each kill: every answer that was
accepted is stored, as it was told; the log's chain holds and the database is sound; the job ends with a plan for
everybody, once, the same as in a run that nobody disturbed. Prints JSON. Silence of a job counts after three seconds.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wayforward.serve.client import Client, ServerProblem

MOST_KILLS, MOST_SECONDS, _PEOPLE, _APPLICANTS = 200, 120.0, 240, 3
_SERVE = (
    "import sys, uvicorn, pathlib; from datetime import timedelta; from wayforward.serve import ServeSettings, "
    "create_app, jobs; from wayforward.serve.services import Services; jobs._SILENT = timedelta(seconds=3); s = "
    "Services.at(ServeSettings(home=pathlib.Path(sys.argv[1]), queries_per_day=10**9, queries_per_case=10**9)); "
    "s.limits.spend = lambda *_: None; uvicorn.run(create_app(services=s), port=int(sys.argv[2]), log_level='critical',"
    " access_log=False)"
)


def prepared(home: Path, people: Path) -> tuple[str, list[tuple[str, str]]]:
    """Put a model behind the door, write a table of people; return its id, and (id, code) of applicants who agreed."""
    from wayforward.answers import write_csv
    from wayforward.data import everyday, load
    from wayforward.serve.consent import CURRENT
    from wayforward.serve.projects import Given
    from wayforward.serve.services import Services
    from wayforward.serve.settings import ServeSettings

    schema, (train, test) = everyday.schema(), load("loan").split(test=0.3, seed=0)

    def rows(x: Any, **more: Any) -> list[dict[str, Any]]:
        columns = {**schema.decode(x, like="dict"), **more}
        return [
            dict(zip(columns, row, strict=True))
            for row in zip(*(v.tolist() for v in columns.values()), strict=True)
        ]

    write_csv(rows(everyday.people(train), **{train.label: train.y}), home / "train.csv")
    schema.to_yaml(home / "schema.yaml")
    given = Given(
        title="loan", model="lr", schema=home / "schema.yaml", train=home / "train.csv", label=train.label,
        favourable=("1",),
    )  # fmt: skip
    services = Services.at(ServeSettings(home=home))
    with services.database.session() as session:
        id = services.projects.add(session, given, None).id
        services.projects.publish(session, id, None)
    x = everyday.people(test)
    refused = x[~services.projects.project(id).problem.reached(x)[0]]
    write_csv(rows(refused[:_PEOPLE]), people)
    made = services.cases.make(id, schema.decode(refused[:_APPLICANTS], like="dict"), by="benchmark")
    for case, _ in made:
        services.cases.consent(case, CURRENT)
    services.database.close()
    return id, made


@dataclass
class Server:
    """The application in a process group of its own."""

    home: Path
    port: int = 0
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> str:
        """Start it, and return its address once it answers."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.process = subprocess.Popen(
            [sys.executable, "-c", _SERVE, str(self.home), str(self.port)], start_new_session=True
        )
        until = time.monotonic() + MOST_SECONDS
        while time.monotonic() < until:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return f"http://127.0.0.1:{self.port}"
            time.sleep(0.1)
        raise RuntimeError("the server did not come up")

    def worker(self) -> int | None:
        """The process of the running job, where there is one."""
        assert self.process is not None
        pid = self.process.pid
        for thread in Path(f"/proc/{pid}/task").glob("*/children"):
            with suppress(OSError):
                for child in thread.read_text().split():
                    return int(child)
        return None

    def kill(self, what: str) -> None:
        """Kill the server, the job's process, or both, and what is left of the group if the server goes."""
        assert self.process is not None
        worker = self.worker()
        if what != "server" and worker is not None:
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)
        if what != "worker":
            self.process.kill()
            self.process.wait()

    def end(self) -> None:
        """End every process of the group."""
        if self.process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


@dataclass
class Person:
    """Somebody who answers without a pause. told: how the case stood after the last accepted act."""

    id: str
    code: str
    url: str = ""
    told: tuple[int, str] = (0, "")
    accepted: int = 0
    over: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Answer until it is over; who gets no answer does not know whether theirs was accepted."""
        at, step = Client(self.url, self.code, timeout=300), 0
        while not self.over.is_set():
            try:
                step += 1
                case = at.case()
                question, revision = case["question"], case["revision"]
                if question is None or step % 9 == 0:
                    case = at.limits({}, revision=revision)
                elif step % 5 == 0:
                    case = at.undo(revision)
                else:
                    case = at.reply(question["id"], "1", revision)
                self.told = stands(at, case)
                self.accepted += 1
            except ServerProblem as problem:
                if problem.status == 0:
                    return  # the server is gone


def stands(applicant: Client, case: dict[str, Any] | None = None) -> tuple[int, str]:
    """(revision, question on the table) of a case, whose id tells how many answers came before."""
    case = applicant.case() if case is None else case
    return case["revision"], "" if case["question"] is None else case["question"]["id"]


def whole(home: Path) -> bool:
    """Does the log's chain hold, and is the database sound?"""
    from sqlalchemy import text

    from wayforward.serve.events import first_broken
    from wayforward.serve.storage.database import Database

    database = Database(f"sqlite:///{home / 'wayforward.db'}", migrate=False)
    with database.session(write=False) as session:
        sound = first_broken(session) is None
        sound = sound and session.execute(text("PRAGMA integrity_check")).scalar() == "ok"
    database.close()
    return sound


def main() -> None:
    """Run once and print."""
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--kills", type=int, default=50)
    given.add_argument("--seed", type=int, default=0)
    at = given.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(vars(at) | killed(Path(folder), min(at.kills, MOST_KILLS), at.seed), indent=1))


def killed(home: Path, kills: int, seed: int) -> dict[str, Any]:
    """Kill so often, and return counts: what was accepted, lost, half done, broken."""
    from wayforward.serve import accounts
    from wayforward.serve.storage.database import Database

    draw, people = random.Random(seed), home / "people.csv"
    model, made = prepared(home, people)
    database = Database(f"sqlite:///{home / 'wayforward.db'}", migrate=False)
    with database.session() as session:
        user = accounts.add_user(session, "operator", "operator", "four words that rhyme")
        acts = ["start and stop jobs", "see jobs", "fetch the results of a job"]
        key = accounts.make_token(session, user, "kills", acts)
    database.close()
    persons = [Person(id, code) for id, code in made]
    counts = {"accepted": 0, "lost": 0, "half_done": 0, "unsound": 0, "jobs": 0, "in_flight": 0}
    what_was = dict.fromkeys(("server", "worker", "both"), 0)
    server = Server(home)
    try:
        url = server.start()
        first = finished(Client(url, key, timeout=300), model, people)
        for _ in range(kills):
            operator = Client(url, key, timeout=300)
            warm = Client(
                url, persons[0].code, timeout=300
            )  # what is worked out once is there before the moment is drawn
            persons[0].told = stands(warm, warm.limits({}))
            persons[0].accepted += 1
            job, began = operator.start_job("plans", model, people)["id"], time.monotonic()
            for one in persons:
                one.url, one.over = url, threading.Event()
            threads = [threading.Thread(target=one.run) for one in persons]
            for thread in threads:
                thread.start()
            time.sleep(draw.uniform(0.3, 6.0))
            what = draw.choice(list(what_was))
            what_was[what] += 1
            server.kill(what)
            for one in persons:
                one.over.set()
            for thread in threads:
                thread.join()
            if what != "worker":
                url = server.start()
            for one in persons:
                now = stands(Client(url, one.code, timeout=300))
                counts["lost"] += now[0] < one.told[0] or (now[0] == one.told[0] and now != one.told)
                counts["in_flight"] += now[0] > one.told[0]
                one.told = now
            counts["half_done"] += finished(Client(url, key, timeout=300), model, people, job) != first
            counts["jobs"] += 1
            counts["unsound"] += not whole(home)
            counts["accepted"] = sum(one.accepted for one in persons)
            print(json.dumps(counts | {"killed": what_was}), file=sys.stderr, flush=True)
            assert time.monotonic() - began < 3 * MOST_SECONDS
    finally:
        server.end()
    return counts | {"killed": what_was}


def finished(operator: Client, model: str, people: Path, job: str = "") -> list[tuple[str, str]]:
    """Wait for a job, or start one; return (person, plan) of its rows, without what hangs on the clock."""
    job = job or operator.start_job("plans", model, people)["id"]
    until = time.monotonic() + MOST_SECONDS
    while time.monotonic() < until:
        state = operator.job(job)["status"]
        if state == "done":
            rows = list(csv.DictReader(operator.answers(job).splitlines()))
            return [(row["person"], row["plan"]) for row in rows]
        if state in ("failed", "stopped"):
            return []
        time.sleep(0.2)
    return []


if __name__ == "__main__":
    main()
