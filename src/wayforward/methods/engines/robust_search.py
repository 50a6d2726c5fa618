"""Searches for options that meet one more condition than the problem's, and for plain ones where none does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from wayforward.problem import Population

if TYPE_CHECKING:
    from wayforward.methods.base import Budget, Method
    from wayforward.problem import Problem
    from wayforward.streams import Streams

Otherwise = Literal["plain", "none"]


def same_people(people: Population, twin: Problem) -> Population:
    """Put the same people before another problem; model rows are counted together."""
    some = Population(twin, people.x, people.preferences)
    some.weight, some.plain_weight, some.aim = people.weight, people.plain_weight, people.aim
    some.rows, some.best = people.rows, people.best
    return some


def robust_options(
    method: Method,
    spare: Method | None,
    people: Population,
    k: int,
    streams: Streams,
    budget: Budget,
) -> np.ndarray:
    """Return options (n, k, d) of `method`, fitted to a problem with a condition; of `spare` where it has none."""
    out = method.unjudged_actions(same_people(people, method.problem_), k, streams, budget)
    lost = np.flatnonzero(np.isnan(out).all((1, 2)))
    if spare is not None and lost.size:
        some = people.take(lost)
        plain = spare.unjudged_actions(some, k, streams.take(lost), budget)
        people.rows[lost] += some.rows
        wide = np.full((people.n, max(out.shape[1], plain.shape[1]), people.d), np.nan)
        wide[:, : out.shape[1]] = out
        wide[lost, : plain.shape[1]] = plain
        out = wide
    return out
