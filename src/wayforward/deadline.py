"""Deadlines: how many seconds a search may take, and the clock that stops it between two calls of the model.

A search never looks at the clock: whoever asks the model does (`in_time`), and `OutOfTime` ends the search there. Calls
are cut into blocks of rows that fit into the time that is left, by what calls of that model have taken so far.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from wayforward.errors import MethodError, is_real, shown

DEADLINE = "deadline"  # as `Recourse.ended_by` says it
NOT_IN_TIME = (
    "The time given was over before the model was asked about this person. Ask again with more time."
)
_LONGEST = 100 * 366 * 86_400.0  # seconds: a century; clocks and solvers count no farther than some
_GROWTH = 16  # a call has at most so many times the rows of the largest one seen: its time is a guess
_SOURCE: list[Callable[[], float]] = [time.monotonic]  # tests put a clock of their own here


def now() -> float:
    """Seconds on a clock that nobody sets back."""
    return _SOURCE[-1]()


@contextmanager
def clock_of(source: Callable[[], float]) -> Iterator[None]:
    """Read another clock meanwhile, such as one that a test moves."""
    _SOURCE.append(source)
    try:
        yield
    finally:
        _SOURCE.remove(source)


class OutOfTime(BaseException):
    """The deadline is near; outputs: what the model said of the first rows of the call that it ended, or None.

    No `Exception`, so that nobody who keeps an error of a model apart takes it for one.
    """

    def __init__(self, outputs: tuple[np.ndarray, ...] | None = None) -> None:
        super().__init__()
        self.outputs = outputs


@dataclass(frozen=True)
class Deadline:
    """How long a search may take, in seconds. person: for each person; who is searched for together shares it.
    total: for everybody together. What is prepared before anybody is searched for (`fit`) does not count.

    Example: ``wf.recommend(problem, people, deadline=wf.Deadline(person=0.5, total=60))``; a number is the total.
    """

    person: float | None = None
    total: float | None = None
    since: float | None = field(default=None, repr=False)  # when it began to run; None: as soon as it is used

    def __post_init__(self) -> None:
        for name in ("person", "total"):
            value = getattr(self, name)
            if value is None:
                continue
            if not is_real(value):
                raise MethodError(
                    f"deadline: {name}={shown(value)} is no number of seconds. Give one, such as 60."
                )
            if value > _LONGEST:
                raise MethodError(
                    f"deadline: {name}={shown(value)} seconds are more than a century. Give fewer, or leave it out."
                )
            if not value > 0:
                raise MethodError(
                    f"deadline: {name}={shown(value)} leaves no time. Give more than 0 seconds, or leave it out."
                )
        if self.person is None and self.total is None:
            raise MethodError(
                "A deadline without seconds ends nothing. Give wf.Deadline(person=0.5), wf.Deadline(total=60) or both."
            )

    @classmethod
    def of(cls, given: Any) -> Deadline | None:
        """Return what was given: a deadline, or seconds in all, or None. Raises: MethodError."""
        return given if given is None or isinstance(given, cls) else cls(total=given)

    def begun(self, n: int) -> Self:
        """The same for n people whose time runs from now on, whatever is asked about them."""
        if self.since is not None:
            return self
        return replace(self, person=None, total=self.seconds(n), since=now())

    def part(self, share: float) -> Self:
        """Return the time, which runs, of what should have come to its end when this share of it is over."""
        return replace(self, total=max(share * self.seconds(1), 1e-9))

    def seconds(self, n: int) -> float:
        """Seconds for n people; a hundred years at most."""
        each = math.inf if self.person is None else float(self.person) * n
        return min(each, math.inf if self.total is None else float(self.total), _LONGEST)

    def end(self, n: int) -> float:
        """When the time of n people is over."""
        return (now() if self.since is None else self.since) + self.seconds(n)

    def plain(self) -> dict[str, float]:
        """Its seconds, as plain data."""
        return {
            name: float(value) for name in ("person", "total") if (value := getattr(self, name)) is not None
        }


class Pace:
    """How long calls of a model take by their number of rows, from the calls so far."""

    def __init__(self) -> None:
        self.seen: dict[int, tuple[int, float]] = {}  # by size class, the last call: rows, seconds

    def learn(self, rows: int, seconds: float) -> None:
        """Take note of a call."""
        self.seen[rows.bit_length()] = rows, seconds

    def seconds(self, rows: int) -> float:
        """Expect that a call takes so long; 0 where nothing is known."""
        if not self.seen or rows < 1:
            return 0.0
        size, took = self._line()
        if rows <= size[-1]:
            return float(np.interp(rows, size, took))
        return float(took[-1] + self._slope(size, took) * (rows - size[-1]))

    def most(self, seconds: float, wanted: int) -> int:
        """Rows, at most those wanted, that a call can be expected to answer in so many seconds."""
        if not self.seen:
            return 1
        size, took = self._line()
        wanted = min(wanted, int(size[-1]) * _GROWTH)
        if self.seconds(wanted) <= seconds:
            return wanted
        low, high = 0, wanted  # a call of `low` rows fits, one of `high` does not
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.seconds(middle) <= seconds else (low, middle)
        return low

    def _line(self) -> tuple[np.ndarray, np.ndarray]:
        size, took = np.array(sorted(dict(self.seen).values()), dtype=np.float64).T
        return size, np.maximum.accumulate(took)

    @staticmethod
    def _slope(size: np.ndarray, took: np.ndarray) -> float:
        if len(size) == 1:  # all of it may be the rows'
            return float(took[0] / size[0])
        return float((took[-1] - took[-2]) / (size[-1] - size[-2]))


_END: ContextVar[float] = ContextVar("deadline", default=math.inf)


@contextmanager
def until(end: float) -> Iterator[None]:
    """End the block with `OutOfTime` where the model is asked later than that, or could not answer by then."""
    token = _END.set(min(end, _END.get()))
    try:
        yield
    finally:
        _END.reset(token)


_PAUSE: ContextVar[Callable[[], None] | None] = ContextVar("pause", default=None)


@contextmanager
def pausing(pause: Callable[[], None]) -> Iterator[None]:
    """Call `pause` before each question to a model in the block: it may wait there, and let other threads work."""
    token = _PAUSE.set(pause)
    try:
        yield
    finally:
        _PAUSE.reset(token)


def pauses() -> bool:
    """Whether somebody said how others are let in, so that a long piece of work is better done in short ones."""
    return _PAUSE.get() is not None


def pause_here() -> None:
    """Let others work, where somebody said how (`pausing`)."""
    pause = _PAUSE.get()
    if pause is not None:
        pause()


def look() -> None:
    """Raise OutOfTime if it is too late; for loops that ask no model."""
    pause_here()
    end = _END.get()
    if end < math.inf and now() >= end:
        raise OutOfTime


def left() -> float:
    """Seconds until the deadline; inf where there is none. For solvers that keep a clock of their own."""
    end = _END.get()
    return end if end == math.inf else max(end - now(), 0.0)


def in_time(
    ask: Callable[[np.ndarray], tuple[np.ndarray, ...]], x: np.ndarray, pace: Pace
) -> tuple[np.ndarray, ...]:
    """Ask about rows (m, d), each of which has a result of its own; where there is a deadline, in blocks that fit.

    Raises: OutOfTime with the results so far.
    """
    end = _END.get()
    if end == math.inf:
        return _timed(ask, x, pace)
    parts: list[tuple[np.ndarray, ...]] = []
    done = 0
    while done < len(x):
        left = end - now()
        rows = pace.most(left, len(x) - done) if left > 0 else 0
        if rows < 1:
            raise OutOfTime(_joined(parts) if parts else None)
        parts.append(_timed(ask, x[done : done + rows], pace))
        done += rows
    return _joined(parts)


def _timed(
    ask: Callable[[np.ndarray], tuple[np.ndarray, ...]], x: np.ndarray, pace: Pace
) -> tuple[np.ndarray, ...]:
    started = now()
    out = ask(x)
    pace.learn(len(x), now() - started)
    return out


def _joined(parts: list[tuple[np.ndarray, ...]]) -> tuple[np.ndarray, ...]:
    if len(parts) == 1:
        return parts[0]
    return tuple(np.concatenate(column) for column in zip(*parts, strict=True))
