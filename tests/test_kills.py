"""kill -9 at any moment: the same command afterwards gives the same result, and no half of a file is ever there.

A moment is a step of writing: before a file goes to the disk, before and after it takes its place. In the gate a few of
them; all kinds of work at thirty moments each, by the clock too, where a docstring says so.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals")

HARNESS = """
import os, signal, sys
steps, at = 0, int(sys.argv[1])

def step():
    global steps
    steps += 1
    if steps == at:
        os.kill(os.getpid(), signal.SIGKILL)

def counted(function):
    def call(*given, **more):
        step()
        out = function(*given, **more)
        step()
        return out
    return call

os.replace, os.fsync = counted(os.replace), counted(os.fsync)
"""
SHELL = """
from wayforward.cli.app import app
try:
    app({line!r}.split())
except SystemExit:
    pass
"""


@dataclass(frozen=True)
class Work:
    """What is done, and what is left in the folder in the end: files, compared without the keys that time decides."""

    name: str
    code: str
    result: str
    start: str = ""

    def run(self, folder: Path, at: int = 0, after: float | None = None) -> int:
        """Do it in a process of its own, killed at a step or after some seconds; return its exit code."""
        code = f"{HARNESS}\n{self.code}\nprint('steps', steps)"
        process = subprocess.Popen(
            [sys.executable, "-c", code, str(at)],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        if after is not None:
            time.sleep(after)
            process.kill()
        out, err = process.communicate()
        assert process.returncode in (0, -signal.SIGKILL), err
        (folder / "steps").write_text(out.split()[-1] if process.returncode == 0 else "0")
        return process.returncode

    def outcome(self, folder: Path) -> object:
        """The result, without seconds."""
        text = (folder / self.result).read_text()
        return _timeless(json.loads(text)) if self.result.endswith(".json") else text


def _timeless(value: object) -> object:
    if isinstance(value, dict):
        return {k: _timeless(v) for k, v in value.items() if "second" not in k and k not in ("date", "made")}
    return [_timeless(v) for v in value] if isinstance(value, list) else value


SOCIETY = (
    "rounds: 2\npeople: 200\narrivals: 20\nworld: known\nlender: {capacity: 0.5, retrain: 2}\n"
    "compliance: {kind: willing, error: 0.01}\nsample: 50\n"
)
TRAINING = """
import json
import numpy as np
import wayforward as wf
from wayforward.methods.carma import Carma
from wayforward.testing.problems import case
it = case("network", "independent", 0, 24)
plan = dict(seeds=(1,), epochs=6, batch=64, checkpoint="training.safetensors")
got = Carma(**plan).fit(it.problem).propose(it.x)
open("done.json", "w").write(json.dumps(np.nan_to_num(got.action).tolist()))
"""
STUDY = """
import json
from pathlib import Path
import numpy as np
from wayforward_studies.checkpoints import Checkpoints
kept = Checkpoints(Path("stages"))
first = kept.arrays("draws", 1, lambda: {"x": np.random.default_rng(0).normal(size=50)})
second = kept.arrays("sums", 2, lambda: {"y": first["x"].cumsum()})
open("done.json", "w").write(json.dumps(second["y"].tolist()))
"""
DIALOGUE = """
import json
from pathlib import Path
import numpy as np
import wayforward as wf
from wayforward.people.dialogue import Dialogue
from wayforward.testing.problems import case
it = case("linear", "independent", 0, 24)
got = wf.recommend(it.problem, it.x)
x = it.x[got.found[:, 0].argmax()]
d = (
    Dialogue.load("state.json", it.problem)
    if Path("state.json").exists()
    else Dialogue(it.problem, x, elicitor=None, file="state.json")
)
replies = ["no", "up to 40000", "yes"]
while d.answered < len(replies):
    d.ask()
    d.answer(replies[d.answered])
wish = d.preferences
open("done.json", "w").write(json.dumps([wish.frozen.tolist(), np.nan_to_num(wish.high, posinf=-1).tolist()]))
"""

WORKS = {
    work.name: work
    for work in (
        Work(
            "recommend",
            SHELL.format(
                line="recommend --data loan --model lr --n 24 --k 2 --part 8 --csv done.csv --json n.json"
            ),
            "done.csv",
        ),
        Work("audit", SHELL.format(line="audit --data loan --model lr --n 30 --json done.json"), "done.json"),
        Work(
            "society",
            SHELL.format(line="society my.yaml --checkpoint my.npz --json done.json"),
            "done.json",
            start=SOCIETY,
        ),
        Work("training", TRAINING, "done.json"),
        Work("stages", STUDY, "done.json"),
        Work(
            "replicate",
            SHELL.format(
                line="replicate icarma --table 6 --out out --cache kept --n 12 --seeds 1 --epochs 1"
            ),
            "out/table-6-loan-quick.csv",
        ),
        Work("dialogue", DIALOGUE, "done.json"),
    )
}


def fresh(work: Work, folder: Path) -> Path:
    folder.mkdir()
    if work.start:
        (folder / "my.yaml").write_text(work.start)
    return folder


@pytest.fixture(scope="module")
def wholes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, tuple[object, int, float]]]:
    """Of each kind of work, made when asked for: the result of a whole run, its steps of writing, its seconds."""

    class Runs(dict[str, tuple[object, int, float]]):
        def __missing__(self, name: str) -> tuple[object, int, float]:
            folder = fresh(WORKS[name], tmp_path_factory.mktemp("whole") / name)
            started = time.monotonic()
            assert WORKS[name].run(folder) == 0
            steps = int((folder / "steps").read_text())
            self[name] = WORKS[name].outcome(folder), steps, time.monotonic() - started
            return self[name]

    yield Runs()


def no_half(folder: Path) -> None:
    """What carries the name of a result is whole."""
    for file in folder.rglob("*.json"):
        if not file.name.startswith("."):
            json.loads(file.read_text())
    for file in folder.rglob("*.npz"):
        if ".half" not in file.name and not file.name.startswith("."):
            np.load(file).close()


@pytest.mark.parametrize("name", ["audit", "training", "stages", "dialogue"])
def test_killed_while_it_writes_it_ends_as_if_nothing_had_been(name, wholes, tmp_path: Path) -> None:
    work, (whole, steps, _) = WORKS[name], wholes[name]
    assert steps > 0, "it writes nothing, so that a kill shows nothing"
    rng = np.random.default_rng(sum(map(ord, name)))
    folder = fresh(work, tmp_path / name)
    work.run(folder, int(rng.integers(1, steps + 1)))
    no_half(folder)
    assert work.run(folder) == 0
    assert work.outcome(folder) == whole


@pytest.mark.slow
@pytest.mark.parametrize("name", list(WORKS))
def test_killed_at_thirty_moments(name, wholes, tmp_path: Path) -> None:
    """As published in docs/guide/promises.md: thirty moments, half of them by the clock, each from a fresh start."""
    work, (whole, steps, seconds) = WORKS[name], wholes[name]
    rng = np.random.default_rng(sum(map(ord, name)))
    for turn in range(30):
        folder = fresh(work, tmp_path / f"{name}{turn}")
        if turn % 2:
            work.run(folder, after=float(rng.uniform(0.2, 1.0) * seconds))
        else:
            work.run(folder, int(rng.integers(1, steps + 1)))
        no_half(folder)
        assert work.run(folder) == 0
        assert work.outcome(folder) == whole
