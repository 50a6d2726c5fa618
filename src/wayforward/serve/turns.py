"""Threads take turns at one thing: those with something short first, also in the middle of something long."""

from __future__ import annotations

import heapq
import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum

from wayforward.deadline import pausing


class Rank(IntEnum):
    """Who goes first: a page, a step of a dialogue and what it needs, a search for plans."""

    PAGE = 0
    STEP = 1
    SEARCH = 2


class ThreadTurn:
    """A lock that a thread which has it may take again. ``with turn:`` is for pages, ``with turn.of(Rank.SEARCH):`` for
    what takes longer: it waits for those of lesser rank, and lets them in between two questions to a model, where
    nothing that threads share is half done. Of the same rank who came first goes first.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: list[tuple[Rank, int]] = []  # a heap: (rank, number)
        self._numbers = itertools.count()
        self._owner: int | None = None
        self._mine = (Rank.PAGE, 0)  # of the owner
        self._depth = 0

    def _take(self, rank: Rank) -> bool:
        """Return whether the thread did not have it before."""
        with self._changed:
            if first := self._owner != threading.get_ident():
                self._wait((rank, next(self._numbers)))
                self._depth = 0
            self._depth += 1
            return first

    def _wait(self, mine: tuple[Rank, int]) -> None:
        heapq.heappush(self._waiting, mine)
        while self._owner is not None or self._waiting[0] != mine:
            self._changed.wait()
        heapq.heappop(self._waiting)
        self._owner, self._mine = threading.get_ident(), mine

    def _leave(self) -> None:
        with self._changed:
            self._depth -= 1
            if not self._depth:
                self._owner = None
                self._changed.notify_all()

    def _let_others(self) -> None:
        """Let those of lesser rank go first, and go on before all that came later."""
        if not self._waiting or self._waiting[0][0] >= self._mine[0]:  # nearly always: without the lock
            return
        with self._changed:
            if self._owner != threading.get_ident() or self._waiting[0][0] >= self._mine[0]:
                return
            mine, depth, self._owner = self._mine, self._depth, None
            self._changed.notify_all()
            self._wait(mine)
            self._depth = depth

    def __enter__(self) -> None:
        self._take(Rank.PAGE)

    def __exit__(self, *_: object) -> None:
        self._leave()

    @contextmanager
    def of(self, rank: Rank) -> Iterator[None]:
        """Have the turn in the block; who has it already keeps the rank that it was taken with."""
        first = self._take(rank)
        try:
            if first and rank > Rank.PAGE:
                with pausing(self._let_others):
                    yield
            else:
                yield
        finally:
            self._leave()
