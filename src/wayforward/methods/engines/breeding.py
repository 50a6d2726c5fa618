"""What evolutionary methods share as methods: so many people at once as their candidates fit into memory."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from wayforward.methods.base import Budget, Method
from wayforward.shapes import Actions

if TYPE_CHECKING:
    from wayforward.problem import Population
    from wayforward.streams import Streams

_CELLS = 1 << 24  # values of candidates at once: 128 MB an array


class BreedingMethod(Method):
    """A method that breeds a population of candidates for each person; it writes `_bred` and `_width`."""

    chunk: ClassVar[int] = 512

    def _recommend(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        size = max(1, _CELLS // (self._width(people.d) * people.d))
        if people.n <= size:
            return self._bred(people, k, streams, budget)
        parts = []
        for begin in range(0, people.n, size):
            who = np.arange(begin, min(begin + size, people.n))
            some = people.take(who)
            parts.append(self._bred(some, k, streams.take(who), budget))
            people.rows[who] += some.rows
        return np.concatenate(parts)

    @abstractmethod
    def _width(self, d: int) -> int:
        """Return how many candidates of a person with d features are held at once."""

    @abstractmethod
    def _bred(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        """Return proposals (n, k, d), as `Method._recommend` does."""
