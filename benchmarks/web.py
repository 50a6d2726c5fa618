"""Applicants at the web application, all at once: how long a page takes them, what is lost, what memory it takes.

``python -m benchmarks.web --applicants 50 --pause 10 --turns 6 --model gb`` starts a server of its own on the loopback,
with that model of gmsc and an empty database, lets everybody go from their code to a few replies, and prints JSON:
milliseconds of every request by what it was, errors, accepted answers that were lost, and resident memory. All have
agreed beforehand; limits of rates and of queries a day are off.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import httpx2 as httpx
import numpy as np

MOST_APPLICANTS, MOST_SECONDS = 1000, 900.0


def prepared(home: Path, model: str, n: int) -> tuple[list[str], list[str]]:
    """Put a model of gmsc behind the door; return ids and codes of n refused people who agreed to go on."""
    from wayforward.answers import write_csv
    from wayforward.data import load
    from wayforward.serve.consent import CURRENT
    from wayforward.serve.projects import Given, published
    from wayforward.serve.services import Services
    from wayforward.serve.settings import ServeSettings

    train, test = load("gmsc").split(test=0.3, seed=0)
    schema = train.schema
    columns = {
        **schema.decode(schema.encode(train.frame), like="dict"),
        "good": train.is_favourable.astype(int),
    }
    rows = zip(*(np.asarray(values).tolist() for values in columns.values()), strict=True)
    write_csv([dict(zip(columns, row, strict=True)) for row in rows], home / "train.csv")
    schema.to_yaml(home / "schema.yaml")
    given = Given(
        title="gmsc", model=model, schema=home / "schema.yaml", train=home / "train.csv", label="good",
        favourable=("1",), threshold=0.9,
    )  # fmt: skip
    services = Services.at(ServeSettings(home=home))
    with services.database.session() as session:
        there = published(session)  # where the folder was kept
        id = there[0].id if there else services.projects.add(session, given, None).id
        services.projects.publish(session, id, None)
    x = schema.encode(test.frame)
    refused = x[~services.projects.project(id).problem.reached(x)[0]]
    chosen = refused[np.resize(np.arange(len(refused)), n)]
    made = services.cases.make(id, schema.decode(chosen, like="dict"), by="benchmark")
    for case, _ in made:
        services.cases.consent(case, CURRENT)
    services.database.close()
    return [case for case, _ in made], [code for _, code in made]


def server(home: Path, port: int) -> subprocess.Popen[bytes]:
    """Start the application in a process of its own."""
    code = (
        "import sys, uvicorn, pathlib; from wayforward.serve import ServeSettings, create_app; from wayforward.serve."
        "services import Services; from wayforward.serve.start import warm; from wayforward.serve.process import "
        "begin_process; begin_process(); s = Services.at(ServeSettings(home=pathlib.Path(sys.argv[1]), "
        "queries_per_day=10**9)); s.limits.spend = lambda *_: None; "
        "warm(s); uvicorn.run("
        "create_app(services=s), port=int(sys.argv[2]), log_level='error', access_log=False)"
    )
    return subprocess.Popen([sys.executable, "-c", code, str(home), str(port)])


async def applicant(
    url: str, code: str, turns: int, pause: float, begin: float, seen: dict[str, Any]
) -> None:
    """One person: the link, the limits, the plans, then replies, with a pause before each."""
    async with httpx.AsyncClient(base_url=url, follow_redirects=True, timeout=600) as one:
        text = ""

        async def ask(what: str, path: str, **fields: str) -> None:
            nonlocal text
            hidden = {
                name: m[1]
                for name in ("token", "revision")
                if (m := re.search(f'name="{name}" value="([^"]*)"', text))
            }
            started = time.perf_counter()
            answer = await (
                one.post(path, data=hidden | fields) if fields or what == "limits" else one.get(path)
            )
            seen[what].append(1000 * (time.perf_counter() - started))
            if answer.status_code != 200:
                seen["errors"].append(answer.status_code)
            text = answer.text

        await asyncio.sleep(begin)
        await ask("page", f"/w/{code}")
        for what, path in (("page", "/case/limits"), ("limits", "/case/limits"), ("page", "/case/choices")):
            await asyncio.sleep(pause)
            await ask(what, path)
        for _ in range(turns):
            question = re.search('name="question" value="([^"]*)"', text)
            if question is None:
                break
            await asyncio.sleep(pause)
            before = len(seen["errors"])
            await ask("step", "/case/reply", question=question[1], reply="1")
            seen["accepted"][code] += len(seen["errors"]) == before


def processor(pid: int) -> float:
    """Seconds of processor time so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory(pid: int) -> float:
    """MB resident."""
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) / 1024 if found else float("nan")


def lost(home: Path, accepted: dict[str, int]) -> int:
    """How many replies that the server accepted are not in the database."""
    from wayforward.serve.services import Services
    from wayforward.serve.settings import ServeSettings

    services, gone = Services.at(ServeSettings(home=home)), 0
    for code, count in accepted.items():
        one = services.cases.open(services.cases.by_code(code))
        stored = 0 if one.dialogue is None else one.dialogue.answered - 1  # the limits are the first reply
        gone += max(0, count - stored)
    services.database.close()
    return gone


async def load_test(url: str, codes: list[str], turns: int, pause: float, over: float) -> dict[str, Any]:
    """Let everybody come, spread over so many seconds."""
    seen: dict[str, Any] = defaultdict(list)
    seen["accepted"] = defaultdict(int)
    begins = np.linspace(0, over, len(codes), endpoint=False)
    everybody = (
        applicant(url, code, turns, pause, begin, seen) for code, begin in zip(codes, begins, strict=True)
    )
    await asyncio.wait_for(asyncio.gather(*everybody), MOST_SECONDS)
    return seen


def main() -> None:
    """Run once and print."""
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--applicants", type=int, default=50)
    given.add_argument("--pause", type=float, default=10.0)
    given.add_argument("--over", type=float, help="seconds in which they come; one pause, if left out")
    given.add_argument("--turns", type=int, default=6)
    given.add_argument("--model", choices=("gb", "mlp", "rf"), default="gb")
    given.add_argument("--home", type=Path, help="kept for the next run of the same model")
    at = given.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = at.home or Path(folder)
        home.mkdir(parents=True, exist_ok=True)
        _, codes = prepared(home, at.model, min(at.applicants, MOST_APPLICANTS))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        process = server(home, port)
        try:
            for _ in range(1200):  # models are trained again at the first start
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.5)
            begun, of_begin = time.perf_counter(), processor(process.pid)
            seen = asyncio.run(
                load_test(f"http://127.0.0.1:{port}", codes, at.turns, at.pause, at.over or at.pause)
            )
            resident, spent = memory(process.pid), processor(process.pid) - of_begin
            seconds = time.perf_counter() - begun
        finally:
            process.terminate()
            process.wait()
        times = {
            what: {"n": len(seen[what])}
            | {f"p{p}": round(float(np.percentile(seen[what], p)), 1) for p in (50, 95, 99)}
            for what in ("page", "limits", "step")
            if seen[what]
        }
        requests = sum(one["n"] for one in times.values())
        given_to = {name: value for name, value in vars(at).items() if name != "home"}
        found = {
            "milliseconds": times,
            "errors": len(seen["errors"]),
            "lost": lost(home, seen["accepted"]),
            "resident_mb": round(resident),
            "seconds": round(seconds),
            "processor_ms_per_request": round(1000 * spent / requests, 1),
            "processor_share": round(spent / seconds, 2),
            "machine_load": round(os.getloadavg()[0], 1),
        }
        print(json.dumps(given_to | found, indent=1))


if __name__ == "__main__":
    main()
