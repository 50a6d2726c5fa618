"""A million different people, one command: minutes, and the memory of all its processes together.

`python -m benchmarks.million [--people 1000000] [--model mlp] [--on threads] [--workers 2] [--json FILE]` draws
people of gmsc whom the model refuses, moves every value by noise so that they differ, keeps those still refused,
writes them as Parquet and answers them with `wayforward recommend --out`. Peak memory is the largest sum over the
command's processes of what each has for itself and its share of what they have in common (PSS), seen five times a
second; beside it the largest resident set of one process. It is started at a quiet moment: the load is stated.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cells import source_digest

NOISE = 0.02  # of each feature's range
BLOCK = 50_000
LIMIT = 1.5  # GiB


def draw(model: str, people: int, path: Path, seed: int = 0) -> int:
    """Write so many refused people, no two alike; return how many rows differ in the first block."""
    import pyarrow.parquet as pq

    from wayforward.cli.inputs import Inputs

    prepared = Inputs(data="gmsc", model=model, seed=seed).prepare()
    problem, schema = prepared.problem, prepared.problem.schema
    x = np.concatenate([schema.encode(prepared.train), schema.encode(prepared.test)])
    x = x[~problem.reached(x)[0]]
    rng = np.random.default_rng([seed, 1])
    low, high = problem.observed_range
    writer, written, different = None, 0, 0
    while written < people:
        row = x[rng.integers(0, len(x), BLOCK)]
        moved = np.where(schema.has_levels, row, row + rng.normal(0, NOISE, row.shape) * (high - low))
        moved = schema.snap(np.clip(moved, low, high))
        moved = moved[~problem.reached(moved)[0]][: people - written]
        different = different or len(np.unique(moved, axis=0))
        table = schema.decode(moved, like="pyarrow")
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table.cast(writer.schema))
        written += len(moved)
    assert writer is not None
    writer.close()
    return different


def family(pid: int) -> list[int]:
    """Process numbers of a process and of all below it."""
    parents: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parent = int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except (OSError, IndexError, ValueError):
                continue
            parents.setdefault(parent, []).append(int(folder.name))
    found = [pid]
    for one in found:
        found += parents.get(one, [])
    return found


def memory(pid: int, field: str) -> int:
    """KiB of one process: 'Pss' or 'Rss'; 0 where it is gone."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(f"{field}:")), 0)


def watched(command: list[str]) -> dict[str, float]:
    """Run a command to its end; return wall and processor seconds and its peak memory in GiB."""
    before, started = os.times(), time.perf_counter()
    process = subprocess.Popen(command)
    total = single = 0
    while process.poll() is None:
        known = family(process.pid)
        total = max(total, sum(memory(pid, "Pss") for pid in known))
        single = max(single, max(memory(pid, "Rss") for pid in known))
        time.sleep(0.2)
    if process.returncode:
        raise SystemExit(f"the command ended with {process.returncode}")
    after = os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return {
        "seconds": time.perf_counter() - started,
        "processor_seconds": spent,
        "peak_gib": total / 2**20,
        "peak_gib_of_one_process": single / 2**20,
    }


def measure(given: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Draw the people, answer them, count what came out."""
    people, out = folder / "people.parquet", folder / "answers"
    different = draw(given.model, given.people, people)
    command = [
        sys.executable, "-m", "wayforward", "recommend", "--data", "gmsc", "--model", given.model,
        "--people", str(people), "--out", str(out), "--form", "compact",
        "--workers", str(given.workers), "--on", given.on,
        "--rows-per-shard", str(given.rows_per_shard),
    ]  # fmt: skip
    load = os.getloadavg()[0]
    got = watched(command)
    from wayforward.scale import Answers

    counts = Answers.open(out).counts()
    return {
        "source": source_digest(), "when": time.strftime("%Y-%m-%d"), "model": given.model, "people": given.people,
        "different_of_the_first_block": different, "k": 1,
        "workers": given.workers, "on": given.on, "rows_per_shard": given.rows_per_shard, "load_before": load,
        "processors": os.cpu_count(), **got, "minutes": got["seconds"] / 60,
        "milliseconds_a_person": 1000 * got["processor_seconds"] / given.people,
        "within_the_limit": got["peak_gib"] < LIMIT, "outcomes": counts["outcomes"],
        "gib_of_answers": sum(file.stat().st_size for file in out.rglob("*")) / 2**30,
    }  # fmt: skip


def main() -> int:
    """Measure, print, and write as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=1_000_000)
    parser.add_argument("--model", default="mlp")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--on", default="threads", choices=("threads", "processes"))
    parser.add_argument("--rows-per-shard", type=int, default=20_000)
    parser.add_argument("--folder", type=Path, help="where the tables go; left out, a folder that is deleted")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    folder = given.folder or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    try:
        got = measure(given, folder)
    finally:
        if given.folder is None:
            shutil.rmtree(folder, ignore_errors=True)
    text = json.dumps(got, indent=2)
    print(text)
    if given.json is not None:
        given.json.write_text(text + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
