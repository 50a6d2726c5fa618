"""kill -9 at any moment: the same command afterwards gives the same result, and no half of a file is ever there.

A moment is a step of writing: before a file goes to the disk, before and after it takes its place. In the gate a few of
them; all kinds of work at thirty moments each, by the clock too, where a docstring says so.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals")

HARNESS = """
import json, os, signal, sys, time
steps = 0

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

for line in sys.stdin:  # one process for each line, forked from this one, which has imported what they all need
    code, folder, at, after = json.loads(line)
    child = os.fork()
    if not child:
        os.chdir(folder)
        os.dup2(os.open("spoken.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
        os.dup2(1, 2)
        exec(code)
        open("steps", "w").write(str(steps))
        sys.stdout.flush()
        os._exit(0)
    if after:
        time.sleep(after)
        os.kill(child, signal.SIGKILL)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
IMPORTS = """
import importlib, numba, numpy, pandas, scipy.optimize, scipy.spatial, sklearn.ensemble, sklearn.linear_model
import wayforward.impact.audit, wayforward.impact.society, wayforward.people.dialogue, wayforward.testing.problems
import wayforward.cli.app, wayforward.cli.audit, wayforward.cli.recommend, wayforward.cli.society
import wayforward.methods.local_search, wayforward.model.fast, wayforward.model.trees
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
    given: tuple[
        str, ...
    ] = ()  # files of a whole run that are there before, since making them is another kind of work

    def run(self, source: subprocess.Popen[str], folder: Path, at: int = 0, after: float = 0.0) -> int:
        """Do it in a process of its own, killed at a step or after some seconds; return its exit code."""
        assert source.stdin is not None
        assert source.stdout is not None
        source.stdin.write(json.dumps([self.code, str(folder), at, after]) + "\n")
        source.stdin.flush()
        code = int(source.stdout.readline())
        assert code in (0, -signal.SIGKILL), (folder / "spoken.txt").read_text()
        return code

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
    "compliance: {kind: willing, error: 0.01}\nsample: 100\n"
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
            given=("kept/loan-clf-0.safetensors", "kept/loan-flow-0.safetensors"),
        ),
        Work("dialogue", DIALOGUE, "done.json"),
    )
}
# Of a society in which people are still on their way when a round is saved; the figures of promises.md are without.
ON_THEIR_WAY = replace(
    WORKS["society"],
    name="people-on-their-way",
    start=SOCIETY.replace("rounds: 2", "rounds: 3").replace("0.01}", "0.01, delay: [1, 2], leave: 0.05}"),
)
IN_THE_GATE = WORKS | {ON_THEIR_WAY.name: ON_THEIR_WAY}


def fresh(work: Work, folder: Path, whole: Path | None = None) -> Path:
    folder.mkdir()
    if work.start:
        (folder / "my.yaml").write_text(work.start)
    for name in work.given if whole else ():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(whole / name, folder / name)
    return folder


@dataclass
class Whole:
    """A whole run: its folder, its result, its steps of writing, its seconds."""

    folder: Path
    outcome: object
    steps: int
    seconds: float


@pytest.fixture(scope="module")
def source() -> Iterator[subprocess.Popen[str]]:
    """A process that has imported what all works need, and forks one that works for every folder it is told."""
    started = subprocess.Popen(
        [sys.executable, "-c", IMPORTS + HARNESS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    yield started
    started.communicate()


@pytest.fixture(scope="module")
def wholes(source, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Whole]:
    """Of each kind of work a whole run, made when asked for."""

    class Runs(dict[str, Whole]):
        def __missing__(self, name: str) -> Whole:
            work, place = IN_THE_GATE[name], tmp_path_factory.mktemp("whole")
            warm = fresh(work, place / "warm")  # compiled code is on the disk from here on
            work.run(source, warm)
            folder = fresh(work, place / name, warm)
            started = time.monotonic()
            assert work.run(source, folder) == 0
            steps, seconds = int((folder / "steps").read_text()), time.monotonic() - started
            self[name] = Whole(folder, work.outcome(folder), steps, seconds)
            assert self[name].outcome == work.outcome(warm)
            return self[name]

    return Runs()


def no_half(folder: Path) -> None:
    """What carries the name of a result is whole."""
    for file in folder.rglob("*.json"):
        if not file.name.startswith("."):
            json.loads(file.read_text())
    for file in folder.rglob("*.npz"):
        if ".half" not in file.name and not file.name.startswith("."):
            np.load(file).close()


@pytest.mark.parametrize(
    ("name", "kills"),
    [("audit", 1), ("people-on-their-way", 2), ("training", 1), ("stages", 1), ("dialogue", 1)],
)
def test_killed_while_it_writes_it_ends_as_if_nothing_had_been(
    name, kills, source, wholes, tmp_path: Path
) -> None:
    work, whole = IN_THE_GATE[name], wholes[name]
    assert whole.steps > 0, "it writes nothing, so that a kill shows nothing"
    rng = np.random.default_rng(sum(map(ord, name)))
    folder = fresh(work, tmp_path / name)
    for at in rng.integers(1, whole.steps // kills + 1, kills):  # what goes on has fewer steps before it
        assert work.run(source, folder, int(at)) == -signal.SIGKILL
        no_half(folder)
    assert work.run(source, folder) == 0
    assert work.outcome(folder) == whole.outcome


@pytest.mark.slow
@pytest.mark.published
@pytest.mark.parametrize("name", list(WORKS))
def test_killed_at_thirty_moments(name, source, wholes, tmp_path: Path, record_property) -> None:
    """As published in docs/guide/promises.md: thirty moments, half of them by the clock, each from a fresh start.

    Those at a step, fifteen, are killed whatever the clock says; those by the clock may come when all is over. The
    property `killed` of the test (``--junitxml``) says how many really were.
    """
    work, whole = WORKS[name], wholes[name]
    assert whole.steps > 0, "it writes nothing, so that a kill shows nothing"
    rng = np.random.default_rng(sum(map(ord, name)))
    killed = 0
    for turn in range(30):
        folder = fresh(work, tmp_path / f"{name}{turn}", whole.folder)
        if turn % 2:
            code = work.run(source, folder, after=float(rng.uniform(0.02, 1.0) * whole.seconds))
        else:
            code = work.run(source, folder, int(rng.integers(1, whole.steps + 1)))
        killed += code != 0
        no_half(folder)
        assert work.run(source, folder) == 0
        assert work.outcome(folder) == whole.outcome
    record_property("killed", killed)
    assert killed >= 15
