"""Threads take turns at one thing, those with something short before those with something long."""

from __future__ import annotations

import heapq
import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class ThreadTurn:
    """A lock that a thread which has it may take again. ``with turn:`` is for short acts, which go before all that wait
    in ``with turn.patiently():``; otherwise who came first goes first.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: list[tuple[bool, int]] = []  # a heap: (is it long?, number)
        self._numbers = itertools.count()
        self._owner: int | None = None
        self._depth = 0

    def _take(self, long: bool) -> None:
        me = threading.get_ident()
        with self._changed:
            if self._owner != me:
                mine = long, next(self._numbers)
                heapq.heappush(self._waiting, mine)
                while self._owner is not None or self._waiting[0] != mine:
                    self._changed.wait()
                heapq.heappop(self._waiting)
                self._owner = me
            self._depth += 1

    def _leave(self) -> None:
        with self._changed:
            self._depth -= 1
            if not self._depth:
                self._owner = None
                self._changed.notify_all()

    def __enter__(self) -> None:
        self._take(long=False)

    def __exit__(self, *_: object) -> None:
        self._leave()

    @contextmanager
    def patiently(self) -> Iterator[None]:
        """Wait until nobody has something short."""
        self._take(long=True)
        try:
            yield
        finally:
            self._leave()
