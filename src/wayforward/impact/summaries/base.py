"""What a summariser is: it learns lines from some people, and the lines say what anybody is to do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar

from wayforward.public import public
from wayforward.shapes import Actions, Ints, Rows

if TYPE_CHECKING:
    from wayforward.problem import Population

Words = tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]  # of each line: for whom, what to do


@public
class Rules(ABC):
    """What a summariser learnt. words: for each line, for whom (conditions, none: everybody) and what to do."""

    words: Words

    @abstractmethod
    def actions(self, people: Population) -> tuple[Actions, Ints]:
        """Return what the lines ask of each person: actions (n, k, d), NaN where left alone, and their lines (n, k).

        An empty slot has line -1. An action is what the line says, exact to the lattice; whoever may not do that gets
        an empty slot or an action that the judge refuses. A person's actions depend on their own row only.
        """

    def how_much(self, line: int, x: Rows, action: Rows) -> str:
        """Return how much a line asks of people it works for, in a sentence; '' where its words say it."""
        return ""


@public
class Summariser(ABC):
    """A way to find lines. Subclasses are dataclasses whose fields are the parameters."""

    name: ClassVar[str]
    summary: ClassVar[str]
    citation: ClassVar[str]

    @property
    def most_lines(self) -> int | None:
        """Lines at most, None for no limit: the parameter `lines` where there is one."""
        most: int | None = getattr(self, "lines", None)
        return most

    @abstractmethod
    def learn(self, people: Population, seed: int) -> Rules:
        """Return lines for refused people; candidates are judged by `Population.evaluate`."""

    def parameters(self) -> dict[str, Any]:
        """Return the settings by name."""
        return {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]
