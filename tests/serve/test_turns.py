"""Threads take turns: pages before steps before searches, also in their middle; a thread never waits for itself."""

from __future__ import annotations

import threading

import pytest

from wayforward.deadline import look
from wayforward.lazy import cached_property
from wayforward.serve.turns import Rank, ThreadTurn


def started(turn, acts):
    """Threads that wait for their turn, in this order."""
    threads = [threading.Thread(target=act) for act in acts]
    already = len(turn._waiting)
    for count, thread in enumerate(threads, 1):
        thread.start()
        while len(turn._waiting) < already + count:
            threading.Event().wait(0.001)
    return threads


def test_short_acts_go_before_long_ones_that_came_first():
    turn, done = ThreadTurn(), []

    def act(name):
        if name.startswith("long"):
            with turn.of(Rank.SEARCH):
                done.append(name)
        else:
            with turn, turn, turn.of(Rank.SEARCH):  # once more, in either way, is no waiting
                done.append(name)

    names = ["long 1", "short 1", "long 2", "short 2"]
    with turn:
        threads = started(turn, [lambda name=name: act(name) for name in names])
        assert not done
    for thread in threads:
        thread.join()
    assert done == ["short 1", "short 2", "long 1", "long 2"] and not turn._waiting


def test_a_turn_ends_where_somebody_fails():
    turn = ThreadTurn()
    for held in (lambda: turn, lambda: turn.of(Rank.STEP)):
        with pytest.raises(KeyError), held():
            raise KeyError
    entered = threading.Thread(target=turn.__enter__)
    entered.start()
    entered.join(30)
    assert not entered.is_alive()


def test_a_search_lets_others_in_between_two_questions_and_goes_on_before_later_searches():
    turn, done = ThreadTurn(), []

    def act(rank, name):
        with turn.of(rank):
            done.append(name)
            look()  # as before a question to a model
            done.append(f"{name} again")

    with turn.of(Rank.SEARCH), turn.of(Rank.PAGE):  # the rank that it was taken with is what counts
        done.append("search")
        look()
        assert done == ["search"]  # nobody waits
        acts = [(Rank.SEARCH, "later search"), (Rank.STEP, "step"), (Rank.PAGE, "page")]
        threads = started(turn, [lambda act_=act_: act(*act_) for act_ in acts])
        look()
        done.append("search again")
    for thread in threads:
        thread.join()
    first = ["search", "page", "page again", "step", "step again", "search again"]
    assert done == [*first, "later search", "later search again"] and not turn._waiting


def test_who_asks_outside_of_a_turn_waits_for_nobody():
    turn = ThreadTurn()
    with turn.of(Rank.SEARCH):
        pass
    holder = threading.Thread(target=turn.__enter__)
    holder.start()
    holder.join()
    look()  # the turn is somebody else's for good


def test_whoever_is_let_in_may_work_out_what_the_search_is_working_out():
    """Of two answers the same property: one pauses in the middle of it, and the other must not wait for that."""
    turn, done = ThreadTurn(), []

    class Answer:
        @cached_property
        def margin(self):
            look()
            done.append(threading.current_thread().name)
            return 1.0

    def page():
        with turn:
            assert Answer().margin == 1.0

    with turn.of(Rank.SEARCH):
        (thread,) = started(turn, [page])
        assert Answer().margin == 1.0
    thread.join()
    assert done == [thread.name, threading.main_thread().name]
