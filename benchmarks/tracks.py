"""Peers on the leaderboard: `python -m benchmarks.tracks`, for the contrastive tasks and the peers that are installed.

A peer answers in its own environment from an exchange folder, as in the comparison of speeds. The profiles that it
returns become rows, handed in like anybody's: the library judges them.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks import environments
from benchmarks.cells import CHECK, HERE, PEERS, VENVS, WARM, Peer, digest
from benchmarks.ours import Cell
from benchmarks.run import run_peer
from wayforward.tracks import TASKS, BuiltTask, Store, Submission, submit
from wayforward.tracks.rows import write_answers

ENTRIES = HERE / "entries"
SECONDS = 3_600.0  # of a task: people who were not asked in time would count as not served
# dice-ml's genetic search is not among them: it takes 2 to 10 processor seconds a person.
ASKED = tuple(peer for peer in PEERS if peer.name != "dice-genetic")


class TaskCell(Cell):
    """A task of the leaderboard in the place of a cell of the comparison."""

    def __init__(self, ready: BuiltTask) -> None:
        self.problem, self.schema, self.pipeline = ready.problem, ready.problem.schema, ready.fitted
        self.train_x, self.train_y = ready.problem.require_reference(), ready.labels
        warm = self.train_x[~self.problem.reference_reached][:WARM]  # none of those measured
        self.refused = np.concatenate([ready.x, warm])
        self.check = self.train_x[:CHECK]

    @property
    def n(self) -> int:
        """All people of the task."""
        return len(self.refused) - WARM


def installed(peer: Peer) -> Path | None:
    """The python of a peer's environment as it is wanted now; None where it was not built."""
    folder = VENVS / peer.venv
    python, stamp = folder / "bin" / "python", folder / ".requirements"
    ready = python.exists() and stamp.exists() and stamp.read_text() == digest(peer.requirements)
    return python if ready else None


def answer(peer: Peer, python: Path, ready: BuiltTask, store: Store) -> None:
    """Ask a peer about a task and keep the judged entry."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        TaskCell(ready).exchange(folder / "exchange")
        if run_peer(python, peer, folder / "exchange", folder / "out") is None:
            return
        with np.load(folder / "out.npz", allow_pickle=False) as rows:
            after = np.full(ready.x.shape, np.nan)
            after[: len(rows["after"])] = rows["after"]
        moved = ready.problem.schema.differs(after, ready.x) & ~np.isnan(after)
        write_answers(
            ready, np.where(moved, after, np.nan)[:, None], folder / "rows" / f"{ready.task.name}.parquet"
        )
        entry = submit(Submission.of(str(folder / "rows"), peer.name), ready)
        assert entry is not None
        store.add(entry)
        print(f"{peer.title} on {ready.task.name}: {entry.serves().mean():.0%} served. {entry.why}")


def main() -> int:
    """Ask every installed peer about every contrastive task that takes it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tracks", description=__doc__)
    parser.add_argument("--entries", type=Path, default=ENTRIES)
    parser.add_argument("--install", action="store_true", help="build the environments of peers first")
    arguments = parser.parse_args()
    store = Store(arguments.entries)
    found = [(peer, environments.ensure(peer) if arguments.install else installed(peer)) for peer in ASKED]
    for peer, python in found:
        if python is None:
            print(f"left out: {peer.title} is not installed (--install)")
    for one in (task for task in TASKS.values() if task.track == "contrastive" and not task.absent):
        ready: BuiltTask | None = None
        for peer, python in found:
            if python is not None and one.model in peer.models:
                ready = ready or one.build()
                store.note(ready)
                answer(replace(peer, n=len(ready.x), cell_seconds=SECONDS), python, ready, store)
    return 0


if __name__ == "__main__":
    sys.exit(main())
