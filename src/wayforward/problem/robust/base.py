"""What a condition is: asked of a score by searches, and of a row by the judge.

A condition lowers the score that a search sees and is asked again by the judge, so that every method obeys it. People
whom the model accepts as they are need nothing, whatever the condition. A proof that no option exists for the plain
problem is one for the robust problem, too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from wayforward.errors import ProblemError, is_list
from wayforward.problem.robust.spelling import Spelling, convert, number
from wayforward.public import public

if TYPE_CHECKING:
    from wayforward.problem.population import Population
    from wayforward.problem.problem import Problem


Again = Callable[[int], Sequence[Any]]  # m -> m models, trained again


@public
@dataclass(frozen=True, eq=False)
class Robust(ABC):
    """A condition on options. `fit` returns a copy that knows a problem; the other methods need one.

    A condition of one's own writes `score` and `holds`. m candidate rows, d features.
    """

    name: ClassVar[str] = ""
    spelling: ClassVar[Spelling | None] = None  # how it is written as text; None: it cannot be

    def fit(self, problem: Problem) -> Self:
        """A copy for this problem. Raises: ProblemError where the condition does not fit the model."""
        return replace(self)

    @abstractmethod
    def score(
        self,
        people: Population,
        who: np.ndarray,
        after: np.ndarray,
        action: np.ndarray | None,
        plain: np.ndarray,
    ) -> np.ndarray:
        """(m,) the score that is left: at most plain (m,), above zero where the condition holds.

        who (m,) whose rows they are, after (m, d), action (m, d) where the caller knows it. By the fast model.
        """

    @abstractmethod
    def holds(
        self, problem: Problem, before: np.ndarray, action: np.ndarray, after: np.ndarray
    ) -> np.ndarray:
        """(m,) bool: the judge's word on rows that are a yes today; all (m, d)."""

    @abstractmethod
    def measure(
        self, problem: Problem, before: np.ndarray, action: np.ndarray, after: np.ndarray
    ) -> np.ndarray:
        """(m,) how robust rows are, in the condition's own unit; more is better."""

    @abstractmethod
    def describe(self) -> str:
        """The condition in English words, by which files know it."""

    def text(self) -> str:
        """The condition in words, in the language in use; in English where it is not translated."""
        return self.describe()

    def with_state(self, **state: Any) -> Self:
        """Return a copy with what fitting found out; this condition stays as it is."""
        other = copy(self)
        for name, value in state.items():
            object.__setattr__(other, name, value)
        return other

    @classmethod
    def from_text(cls, name: str, value: str, settings: dict[str, Any], again: Again | None) -> Robust:
        """Make the condition from its text: what stands behind the colon, and its settings.

        again: trains the model anew, as many times as it is told. Raises: ValueError, ProblemError.
        """
        make: Callable[..., Robust] = cls
        return make(convert(name, name, value, number), **settings)

    def screen(self, people: Population, who: np.ndarray, after: np.ndarray, plain: np.ndarray) -> np.ndarray:
        """(m,) bool: rows likely to hold, where a search may start. As `score`, where that is cheap; no promise."""
        return np.asarray(self.score(people, who, after, None, plain) > people.problem.slack)

    def fingerprint(self, rows: np.ndarray) -> list[Any]:
        """What tells this condition from another, as JSON holds it: name, words, settings. Of a fitted one.

        rows (m, d): some people, where only answers tell one from another.
        """
        settings: dict[str, Any] = {}
        if is_dataclass(self):
            for one in fields(self):
                value = getattr(self, one.name)
                if one.init and isinstance(value, Mapping):
                    settings[one.name] = [[str(key), float(size)] for key, size in sorted(value.items())]
                elif one.init and (value is None or isinstance(value, (str, bool, int, float, np.number))):
                    settings[one.name] = value.item() if isinstance(value, np.number) else value
        return [self.name, self.describe(), settings]

    @staticmethod
    def of(given: Robust | Sequence[Robust] | None) -> Robust | None:
        """None, one condition, or several that must all hold. Raises: ProblemError for anything else."""
        if given is None or isinstance(given, Robust):
            return given
        if is_list(given):
            parts = tuple(given)
            if parts and all(isinstance(part, Robust) for part in parts):
                return parts[0] if len(parts) == 1 else Together(parts)
        raise ProblemError(
            f"robust={given!r} is no condition. Use WithinDelta(0.05), AllModels([...]), UnderNoise(0.05), "
            "Stable(0.5), or a list of them."
        )


def with_robust(problem: Problem, robust: Robust) -> Problem:
    """The same problem with one more condition, for a search inside a method; the problem itself stays as it is."""
    return problem.with_(further=robust)


@dataclass(frozen=True, eq=False)
class Together(Robust):
    """All of several conditions. See `Robust`."""

    name: ClassVar[str] = "together"

    parts: tuple[Robust, ...]

    def fit(self, problem: Problem) -> Self:
        """See `Robust`."""
        return replace(self, parts=tuple(part.fit(problem) for part in self.parts))

    def score(
        self,
        people: Population,
        who: np.ndarray,
        after: np.ndarray,
        action: np.ndarray | None,
        plain: np.ndarray,
    ) -> np.ndarray:
        """See `Robust`."""
        for part in self.parts:
            plain = part.score(people, who, after, action, plain)
        return plain

    def screen(self, people: Population, who: np.ndarray, after: np.ndarray, plain: np.ndarray) -> np.ndarray:
        """See `Robust`."""
        good = np.ones(len(after), dtype=bool)
        for part in self.parts:
            good[good] = part.screen(people, who[good], after[good], plain[good])
        return good

    def holds(
        self, problem: Problem, before: np.ndarray, action: np.ndarray, after: np.ndarray
    ) -> np.ndarray:
        """See `Robust`."""
        good = np.ones(len(after), dtype=bool)
        for part in self.parts:
            good[good] = part.holds(problem, before[good], action[good], after[good])
        return good

    def measure(
        self, problem: Problem, before: np.ndarray, action: np.ndarray, after: np.ndarray
    ) -> np.ndarray:
        """(m,) of the first condition; ask the parts for theirs."""
        return self.parts[0].measure(problem, before, action, after)

    def describe(self) -> str:
        """The conditions in words."""
        return "; ".join(part.describe() for part in self.parts)

    def text(self) -> str:
        """The conditions in words, in the language in use."""
        return "; ".join(part.text() for part in self.parts)

    def fingerprint(self, rows: np.ndarray) -> list[Any]:
        """See `Robust`."""
        return [part.fingerprint(rows) for part in self.parts]
