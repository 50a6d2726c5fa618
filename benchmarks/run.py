"""The benchmark: every peer and every method of ours on every cell, one run, one machine, one thread.

For each cell (data set x classifier) a worker trains the classifier and writes the exchange folder. Then,
for each peer: local-search on the same people, the peer, local-search again, so that the ratio of speeds
comes from the same minutes. Everything is kept in benchmarks/.cache and used again unless settings, scripts
or the library changed; `--fresh` forgets it. Results go to benchmarks/results/*.json and from there into
docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import time
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import environments
from benchmarks.cells import (
    BIG,
    BIG_SECONDS,
    CACHE,
    DATA,
    EXTRA,
    HERE,
    LEAD,
    MODELS,
    ORACLE,
    OURS,
    PEERS,
    RESULTS,
    ROOT,
    SEED,
    WARM,
    N,
    Peer,
    digest,
    source_digest,
)

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
GROWTH = (100, 1_000, 10_000, 100_000)


def one_thread() -> dict[str, str]:
    """The environment of a process that may use one thread."""
    return {**os.environ, **dict.fromkeys(THREADS, "1"), "PYTHONHASHSEED": "0"}


class Worker:
    """Our side in its own process, so that its memory can be read and peers start beside an idle one."""

    def __init__(self, data: str, model: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.ours"],
            cwd=ROOT,
            env=one_thread(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.about = self.ask(do="open", data=data, model=model)

    def ask(self, **command: Any) -> dict[str, Any]:
        """One command, one answer. Raises: RuntimeError if the worker failed or died."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("the worker died; its last words are above")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def run_peer(python: Path, peer: Peer, folder: Path, out: Path) -> dict[str, Any] | None:
    """Run one peer over one exchange folder; None, and words, where it broke down altogether."""
    command = [
        str(python), str(HERE / "peers" / peer.script), str(folder), str(out),
        "--n", str(peer.n),
        "--person-seconds", str(peer.person_seconds), "--cell-seconds", str(peer.cell_seconds),
        *(f"--option={key}={value}" for key, value in peer.options.items()),
    ]  # fmt: skip
    wait = peer.cell_seconds + 4 * peer.person_seconds + 300
    try:
        got = subprocess.run(
            command,
            cwd=HERE / "peers",
            env=one_thread(),
            capture_output=True,
            text=True,
            timeout=wait,
            check=False,
        )
    except subprocess.TimeoutExpired:
        print(f"    {peer.title} did not end within {wait:.0f} s", flush=True)
        return None
    if got.returncode:
        print(
            f"    {peer.title} failed: {(got.stderr.strip().splitlines() or ['no message'])[-1]}", flush=True
        )
        return None
    answer: dict[str, Any] = json.loads(Path(f"{out}.json").read_text())
    return answer


class Bench:
    """One run over the cells."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        self.source = source_digest()
        wanted = [] if arguments.only_big else [p for p in PEERS if self._wanted(p)]
        self.pythons = {peer.name: environments.ensure(peer) for peer in wanted}

    def _wanted(self, peer: Peer) -> bool:
        return not self.arguments.peers or peer.name in self.arguments.peers

    def cell(self, data: str, model: str) -> None:
        """Everything of one cell, from the cache where nothing changed; kept after every step."""
        home = CACHE / f"{data}-{model}"
        if self.arguments.fresh and home.exists():
            shutil.rmtree(home)
        home.mkdir(parents=True, exist_ok=True)
        file = home / "cell.json"
        cell: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
        peers_done = cell.setdefault("peers", {})
        mine = digest(self.source, HERE / "ours.py", DATA[data], N, WARM, SEED)
        extra = data in EXTRA
        peers = [
            p for p in PEERS if model in p.models and self.pythons.get(p.name) and (p.extra or not extra)
        ]

        def stale(peer: Peer) -> bool:
            got = peers_done.get(peer.name, {})
            older = got.get("ours_source") != self.source and not self.arguments.keep_peers
            # People or classifier may change with the library: then a peer's answers are to another question.
            return bool(
                got.get("key") != self._key(peer) or got.get("exchange") != cell.get("exchange") or older
            )

        if cell.get("mine") == mine and not any(map(stale, peers)):
            print(f"{data} {model}: kept", flush=True)
            return
        started = time.perf_counter()
        with Worker(data, model) as worker:
            try:
                about = cell["about"] = worker.about
                print(f"{data} {model}: {about['refused']:,} refused", flush=True)
                cell["exchange"] = worker.ask(do="exchange", folder=str(home / "exchange"))["digest"]
                todo_ours = cell.get("mine") != mine
                if todo_ours:
                    cell["ours"] = {}
                    for name in (*OURS, *((ORACLE,) if model == "lr" else ())):
                        got = self._ours(worker, name, about["n"], 3 if name == LEAD else 1, home)
                        self._report(name, cell["ours"].setdefault(name, got))
                for peer in peers:
                    if stale(peer):
                        peers_done[peer.name] = self._beside(worker, peer, home) | {
                            "exchange": cell["exchange"]
                        }
                        file.write_text(json.dumps(cell, indent=1))
                    elif todo_ours and "score" in peers_done[peer.name]:
                        peers_done[peer.name]["score"] = self._score(worker, peer.name, home)
                    self._report(peer.title, peers_done[peer.name])
                cell["mine"], cell["source"] = mine, self.source
            finally:
                file.write_text(json.dumps(cell, indent=1))
        print(f"{data} {model}: {time.perf_counter() - started:.0f} s", flush=True)

    def _key(self, peer: Peer) -> str:
        scripts = HERE / "peers" / peer.script, HERE / "peers" / "common.py"
        return digest(asdict(peer), peer.requirements, *scripts)

    def _beside(self, worker: Worker, peer: Peer, home: Path) -> dict[str, Any]:
        """local-search, the peer, local-search: the ratio of speeds is made of neighbours in time."""
        python = self.pythons[peer.name]
        assert python is not None
        before = self._speed(worker)
        got = run_peer(python, peer, home / "exchange", home / peer.name)
        about = {
            "key": self._key(peer),
            "ours_source": self.source,
            "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        }
        if got is None:
            return about | {"failed": True}
        return (
            got
            | about
            | {
                "score": self._score(worker, peer.name, home),
                "people_per_second": got["n"] / got["generate_seconds"],
                "ours_people_per_second": median(before + self._speed(worker)),
            }
        )

    def _score(self, worker: Worker, name: str, home: Path) -> dict[str, Any]:
        return worker.ask(do="score", path=str(home / f"{name}.npz"), save=str(home / f"{name}-score.npz"))

    def many(self, data: str, model: str) -> None:
        """Our methods on many people; kept apart from the comparison, method by method."""
        home = CACHE / f"{data}-{model}"
        home.mkdir(parents=True, exist_ok=True)
        file = home / "big.json"
        done: dict[str, Any] = (
            json.loads(file.read_text()) if file.exists() and not self.arguments.fresh else {}
        )
        mine = digest(self.source, HERE / "ours.py", DATA[data], self.arguments.big, SEED)
        todo = [name for name in self.arguments.methods if done.get(name, {}).get("key") != mine]
        if not todo:
            print(f"{data} {model}, many people: kept", flush=True)
            return
        with Worker(data, model) as worker:
            for name in todo:
                n = self.arguments.big
                if name != LEAD:  # as many as fit, judged by a small run
                    first = worker.ask(do="run", method=name, n=worker.about["n"], repeat=1)
                    if "unsupported" in first:
                        continue
                    fits = int(first["n"] / first["seconds"][0] * BIG_SECONDS / 1000) * 1000
                    n = min(n, max(fits, 1000))
                got = self._ours(worker, name, n, 1, home, tag="-big")
                self._report(f"{data} {model} {name}", got)
                done[name] = got | {"key": mine}
                file.write_text(json.dumps(done, indent=1))

    def _speed(self, worker: Worker) -> list[float]:
        got = worker.ask(do="run", method=LEAD, n=worker.about["n"], repeat=3)
        return [got["n"] / s for s in got["seconds"]]

    def _ours(
        self, worker: Worker, name: str, n: int, repeat: int, home: Path, tag: str = ""
    ) -> dict[str, Any]:
        out = home / f"{name}{tag}.npz"
        try:
            got = worker.ask(do="run", method=name, n=n, repeat=repeat, out=str(out))
        except RuntimeError as error:  # a crash of ours is a result too; the page says so
            return {"unsupported": "failed", "why": str(error)}
        if "unsupported" in got:
            return got
        got["score"] = self._score(worker, f"{name}{tag}", home)
        got["people_per_second"] = n / median(got["seconds"])
        return got

    def _report(self, name: str, got: dict[str, Any]) -> None:
        if got.get("failed"):
            print(f"    {name:20s} failed", flush=True)
            return
        if "unsupported" in got:
            print(f"    {name:20s} {got['why'][:120]}", flush=True)
            return
        score = got["score"]
        cost = "-" if score["l1_usable"] is None else f"{score['l1_usable']:.3f}"
        print(
            f"    {name:20s} n {got['n']:6d}  usable {score['usable']:.3f}  L1 {cost:>6s}  "
            f"{got['people_per_second']:9.1f} people/s",
            flush=True,
        )

    def growth(self) -> None:
        """Seconds and memory of local-search against people (gmsc, mlp), each size in a new process."""
        file = CACHE / "growth.json"
        key = digest(self.source, HERE / "ours.py")
        stored = json.loads(file.read_text()) if file.exists() and not self.arguments.fresh else {}
        if stored.get("key") == key:
            print("growth: kept", flush=True)
            return
        points = []
        for n in GROWTH:
            with Worker("gmsc", "mlp") as worker:
                got = worker.ask(do="run", method=LEAD, n=n, repeat=1)
            points.append(
                {
                    "n": n,
                    "distinct_people": got["distinct_people"],
                    "seconds": got["seconds"][0],
                    "wall_seconds": got["wall_seconds"][0],
                    "peak_mb": got["peak_mb"],
                    "model_rows": got["model_rows"],
                }
            )
            print(
                f"growth: {n:7,d} people  {points[-1]['seconds']:8.1f} s  {points[-1]['peak_mb']:7.0f} MB",
                flush=True,
            )
        file.write_text(json.dumps({"key": key, "points": points}, indent=1))


def _machine() -> dict[str, Any]:
    """The machine in general words: no names."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "cores": os.cpu_count(),
        "memory_gib": round(memory),
        "system": platform.system(),
        "architecture": platform.machine(),
        "threads_used": 1,
    }


def main() -> int:
    """Run what is missing, write the results and the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--data", nargs="*", default=list(DATA), choices=list(DATA))
    parser.add_argument("--models", nargs="*", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--peers", nargs="*", default=[], choices=[p.name for p in PEERS])
    parser.add_argument("--big", type=int, default=BIG, help="people for ours alone; 0 leaves it out")
    parser.add_argument("--methods", nargs="*", default=list(OURS), choices=OURS, help="ours, for --big")
    parser.add_argument("--only-big", action="store_true", help="our methods on many people, nothing else")
    parser.add_argument("--no-growth", action="store_true")
    parser.add_argument("--fresh", action="store_true", help="forget what was measured before")
    parser.add_argument(
        "--keep-peers",
        action="store_true",
        help="keep peers' measurements although the library changed (the page marks their speed ratios)",
    )
    parser.add_argument("--no-write", action="store_true", help="measure only; leave results and docs alone")
    parser.add_argument(
        "--render", action="store_true", help="write the page again from the results, measure nothing"
    )
    arguments = parser.parse_args()
    if arguments.render:
        from benchmarks import page

        page.render()
        return 0
    CACHE.mkdir(exist_ok=True)
    bench = Bench(arguments)
    for data in [] if arguments.only_big else arguments.data:
        for model in arguments.models:
            try:
                bench.cell(data, model)
            except RuntimeError as error:
                print(f"{data} {model}: failed: {error}", flush=True)
    for data in arguments.data if arguments.big else []:
        for model in arguments.models if data not in EXTRA else ():
            try:
                bench.many(data, model)
            except RuntimeError as error:
                print(f"{data} {model}, many people: failed: {error}", flush=True)
    if not arguments.no_growth:
        bench.growth()
    if not arguments.no_write:
        from benchmarks import page

        RESULTS.mkdir(exist_ok=True)
        page.write(_machine())
    return 0
