"""Answers under a deadline: everybody's decision first, then searches that end where their time does.

Nothing here asks a method to look at the clock. Whoever asks the model is stopped (see `wayforward.deadline`), what the
search had found by then is judged, and the time that the judge takes is kept free.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.deadline import DEADLINE, NOT_IN_TIME, Deadline, OutOfTime, Pace, look, now, until
from wayforward.methods.alike import Alike
from wayforward.problem.best_so_far import BestSoFar, Shared
from wayforward.recourse import Recourse
from wayforward.shapes import Actions, Mask, People, PerPerson, PersonMask

if TYPE_CHECKING:
    from wayforward.methods.base import Budget, Method, Progress
    from wayforward.preferences import Preferences
    from wayforward.problem import Population, Problem
    from wayforward.workers import Kind

_DECIDED = 8192  # people about whose decision the model is asked at once
_CAREFUL = 0.25  # share of the time left that compiled code, which nothing stops, may be expected to take
_STARTING = 10.0  # seconds: in less time, processes that have to be started first answer nobody
_SHORTENING = 0.1  # share of the time that is kept for leaving out what options do not need

Decision = tuple[PersonMask, PerPerson]
Search = Callable[[PersonMask], tuple[Actions, PersonMask]]


@dataclass(frozen=True)
class Turn:
    """What a piece of work may take: when its time is over (on this machine's clock), and what is known of its people.

    Other processes and machines have clocks of their own: there it is what is left of the time.
    """

    end: float
    decision: Decision

    def __getstate__(self) -> dict[str, Any]:
        return {"left": self.end - now(), "sent": time.time(), "decision": self.decision}

    def __setstate__(self, state: dict[str, Any]) -> None:
        gone = max(0.0, time.time() - state["sent"])  # a clock that was set back makes no time
        vars(self).update(end=now() + state["left"] - gone, decision=state["decision"])

    @classmethod
    def running(cls) -> Turn | None:
        """Return the turn that this thread works at, if it has a deadline."""
        return _TURN.get()

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Work at it meanwhile."""
        token = _TURN.set(self)
        try:
            yield
        finally:
            _TURN.reset(token)


_TURN: ContextVar[Turn | None] = ContextVar("turn", default=None)


def everybody_in_time(
    method: Method, people: People, k: int, wishes: Preferences | None, seed: int, limit: Budget,
    deadline: Deadline, progress: Progress | None, workers: int, on: Kind | None,
) -> Recourse:  # fmt: skip
    """Answer people (n, d) who can be read within a deadline.

    Half of the time is for the decisions about people as they are; about whom the model could not be asked by then is
    NOT_ASKED. Nothing else needs so much of it as a rule. Then people are searched for piece by piece: a model that
    cannot be read answers many at once, so all go together; compiled searches, which nothing stops, begin with one
    person and take as many as the time allows by what the ones before took.
    """
    deadline = deadline if deadline.since is not None else replace(deadline, since=now())
    started, end = now(), deadline.end(len(people))
    if workers > 1 and method.workers_on(on) == "processes" and end - started < _STARTING:
        workers = 1
    alike = Alike.of(people, wishes)
    x = people[alike.first]
    with method.problem_.model.counter.of_this_thread() as spent:
        accepted, value = _decided(method.problem_, x, started + (end - started) / 2)
    m, begun = len(accepted), now()
    opaque, pace, done, cuts = not method.problem_.model.has_fast_path, Pace(), 0, [0]

    def pieces() -> Iterator[tuple[Any, ...]]:
        most = method.chunk if workers == 1 else min(method.chunk, max(16, -(-m // (4 * workers))))
        while cuts[-1] < m:
            at, left = cuts[-1], end - now()
            size = most if opaque or left <= 0 else pace.most(_CAREFUL * left, most)
            cuts.append(min(m, at + max(1, size)))
            who = alike.first[at : cuts[-1]]
            over = begun + (end - begun) * cuts[-1] / m if opaque else end
            if deadline.person is not None:
                over = min(over, now() + deadline.person * int(alike.count[at : cuts[-1]].sum()))
            turn = Turn(over, (accepted[at : cuts[-1]], value[at : cuts[-1]]))
            yield people[who], None if wishes is None else wishes.take(who), k, seed, limit, turn

    parts: dict[int, Recourse] = {}
    for i, part in method.answered(pieces(), min(workers, max(m, 1)), on):
        parts[i] = part
        pace.learn(part.n, part.meta["seconds_recommend"])
        done += int(alike.count[cuts[i] : cuts[i + 1]].sum())
        if progress is not None:
            progress(done, len(people))
    if parts:
        got = Recourse.concat([parts[i] for i in sorted(parts)])
    else:
        got = Recourse.of_nobody(method.problem_.schema, k, method.name)
        got.meta.update(method.about(seed, spent, now() - started))
    got.meta.update(deadline=deadline.plain())
    got.meta["native_rows"] += spent.native_rows if parts else 0
    if m < alike.n:
        reasons = dict.fromkeys(range(m, alike.n), NOT_IN_TIME)
        got = got.among(x, reasons, None if wishes is None else wishes.take(alike.first))
        got = replace(got, ended_by=np.where(got.readable, got.ended_by, DEADLINE), problem=method.problem_)
    return alike.everybody(got, people, wishes)


def _decided(problem: Problem, x: People, end: float) -> Decision:
    """Return the decision about the first people of x (n, d): as many as can be asked about in time."""
    parts: list[Decision] = []
    with until(end):
        for at in range(0, len(x), _DECIDED):
            try:
                parts.append(problem.reached(x[at : at + _DECIDED]))
            except OutOfTime as cut:
                if cut.outputs is not None:
                    outputs, labels = cut.outputs
                    bound = problem.bound_target
                    parts.append((bound.reached(outputs, labels), bound.value(outputs)))
                break
    if not parts:
        return np.empty(0, dtype=bool), np.empty(0)
    return np.concatenate([yes for yes, _ in parts]), np.concatenate([value for _, value in parts])


def answered_in_time(
    everyone: Population, turn: Turn, k: int, search: Search, *, wishes: Preferences | None, method: str, prove: bool,
    minimal: bool,
) -> Recourse:  # fmt: skip
    """Search for those who are refused until the time is over, and have judged what was found by then.

    search: (n,) bool, for whom -> actions (n, k', d) and proofs (n,). prove, minimal: as of `Problem.check`, if there
    is time. Proofs are claimed where the search for them came to its end.
    """
    problem, began, left = everyone.problem, now(), max(turn.end - now(), 0.0)
    refused = ~turn.decision[0]
    best = BestSoFar(everyone, k)
    everyone.best = Shared(best, np.arange(everyone.n))
    judging = min(_seconds_to_judge(problem, int(refused.sum()) * best.cost.shape[1]), left / 2)
    cut, late = np.zeros(everyone.n, dtype=bool), turn.end - judging
    check = partial(
        problem.check,
        everyone.x,
        k=k,
        preferences=wishes,
        people=everyone,
        decision=turn.decision,
        method=method,
    )
    try:
        with until(late - _SHORTENING * left):
            look()
            action, proved = search(refused)
    except OutOfTime:
        action, proved = best.action, refused & ~everyone.may.any(1)
        cut = refused & ~proved
    everyone.best = None
    try:
        with until(late):
            look()
            got = check(
                action=action,
                proved=proved,
                prove=prove and not cut.any(),
                minimal=minimal,
                seconds=now() - began,
            )
    except OutOfTime:
        cut = refused & ~proved
        few = _affordable(problem, action, refused, turn.end - now())
        got = check(action=few, proved=proved, seconds=now() - began)
    return replace(got, ended_by=np.where(cut, DEADLINE, "").astype(object))


def _asks(problem: Problem) -> int:
    """How many rows the judge asks about for an option."""
    draws = (
        (problem.confidence.draws if problem.confidence is not None else 1) if problem.world.uncertain else 0
    )
    return 1 + draws


def _seconds_to_judge(problem: Problem, options: int) -> float:
    return float(problem.model.paces[1].seconds(options * _asks(problem)))


def _affordable(problem: Problem, action: Actions, refused: Mask, left: float) -> Actions:
    """Return the actions (n, k', d) that the judge has time for, everybody's cheapest first; NaN for the others."""
    there = ~np.isnan(action).all(2) & refused[:, None]
    wanted = int(there.sum())
    rows = problem.model.paces[1].most(max(left, 0.0), wanted * _asks(problem)) // _asks(problem)
    if rows >= wanted:
        return action
    slot, who = np.nonzero(there.T)
    out = np.full_like(action, np.nan)
    out[who[:rows], slot[:rows]] = action[who[:rows], slot[:rows]]
    return out
