"""Threads take turns: short acts before long ones, else first come first served; a thread never waits for itself."""

from __future__ import annotations

import threading

import pytest

from wayforward.serve.turns import ThreadTurn


def test_short_acts_go_before_long_ones_that_came_first():
    turn, done = ThreadTurn(), []

    def act(name):
        if name.startswith("long"):
            with turn.patiently():
                done.append(name)
        else:
            with turn, turn, turn.patiently():  # once more, in either way, is no waiting
                done.append(name)

    names = ["long 1", "short 1", "long 2", "short 2"]
    threads = [threading.Thread(target=act, args=(name,)) for name in names]
    with turn:
        for count, thread in enumerate(threads, 1):
            thread.start()
            while len(turn._waiting) < count:
                threading.Event().wait(0.001)
        assert not done
    for thread in threads:
        thread.join()
    assert done == ["short 1", "short 2", "long 1", "long 2"] and not turn._waiting


def test_a_turn_ends_where_somebody_fails():
    turn = ThreadTurn()
    for held in (lambda: turn, turn.patiently):
        with pytest.raises(KeyError), held():
            raise KeyError
    entered = threading.Thread(target=turn.__enter__)
    entered.start()
    entered.join(30)
    assert not entered.is_alive()
