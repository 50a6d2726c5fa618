"""Peers on the leaderboard: the exchange folder of a task, and profiles that become judged rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks.cells import PEERS

from benchmarks import tracks
from wayforward.methods import method
from wayforward.tracks import Store, Task


def test_a_peer_reads_the_task_and_its_profiles_are_judged(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """A peer that answers as `nice` does, for all but the last person, serves just those; the model agrees there."""
    from benchmarks.peers import common

    ready = Task("loan-lr", "contrastive", "loan", "lr", n=12).build()
    got = method("nice").fit(ready.problem).recommend(ready.x, 1, seed=0)

    def answer(python: Path, peer: object, folder: Path, out: Path) -> dict[str, int]:
        there = common.Task(folder)
        np.testing.assert_array_equal(there.people, ready.x)
        assert there.model.agreement()["decisions_differ"] == 0
        assert len(there.warm) == tracks.WARM and not (there.warm[:, None] == ready.x).all(2).any()
        np.savez_compressed(f"{out}.npz", after=got.after[:-1, 0])
        return {}

    monkeypatch.setattr(tracks, "run_peer", answer)
    store = Store(tmp_path)
    store.note(ready)
    tracks.answer(PEERS[0], tmp_path, ready, store)
    (entry,), notes = store.entries()
    expected = got.found[:, 0].copy()
    expected[-1] = False
    assert entry.name == PEERS[0].name and not notes
    np.testing.assert_array_equal(entry.serves(), expected)


def test_a_peer_that_is_not_installed_is_left_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(tracks, "VENVS", tmp_path)
    assert all(tracks.installed(peer) is None for peer in PEERS)
