"""What the answer about a thing made of units would take to be another: one problem for things of each size."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from wayforward.deadline import Deadline
from wayforward.errors import DataError, ProblemError
from wayforward.methods import Method, recommend
from wayforward.modalities.answers import UnitRecourse
from wayforward.preferences import Preferences
from wayforward.problem import Problem, Target
from wayforward.recourse import Recourse

Answer = TypeVar("Answer", bound=UnitRecourse)


class UnitProblem(ABC, Generic[Answer]):
    """Texts, images, series: whatever has units that can be taken out or replaced.

    A subclass says how things are read and kept (`_read`: as strings, which the carried feature holds), how many
    columns one takes, which problem belongs to a size, and what an answer looks like. things: their name in errors.
    first: the column of the first unit; before it stands the key of the thing.
    """

    things: ClassVar[str] = "things"
    first: int = 1

    def __init__(self, favourable: Any, target: Target | None) -> None:
        if (favourable is None) == (target is None):
            raise ProblemError("Say which answer is wanted: favourable='yes', or a target in its place.")
        self.target = Target(favourable=favourable) if target is None else target
        self._problems: dict[int, Problem] = {}

    # -- what a kind of data says --------------------------------------------------------------------------

    @abstractmethod
    def _read(self, things: Any) -> list[str]:
        """Check things and return what is kept of each. Raises: DataError."""

    @abstractmethod
    def _size(self, content: str) -> int:
        """Columns for units that a thing's row has."""

    @abstractmethod
    def _rows(self, contents: Sequence[str], problem: Problem) -> np.ndarray:
        """(n, d) rows of a problem that is large enough."""

    @abstractmethod
    def _make(self, size: int) -> Problem:
        """The problem of things of a size."""

    @abstractmethod
    def _fixed_units(self, content: str, keep: Any) -> list[int]:
        """The units of a thing that `keep` names, those of the whole problem besides. Raises: ProblemError."""

    @abstractmethod
    def _answer(self, contents: list[str], recourse: Recourse) -> Answer:
        """What is returned."""

    # -- what all have -------------------------------------------------------------------------------------

    def problem(self, thing: Any, /) -> Problem:
        """Return the problem that a thing belongs to: that of things of about as many units."""
        return self._of_size(self._largest(self._read([thing])))

    def rows(self, things: Any, /) -> np.ndarray:
        """Return things as rows (n, d) of the problem of the largest."""
        contents = self._read(things)
        return self._rows(contents, self._of_size(self._largest(contents)))

    def wishes(self, things: Any, /, keep: Any = (), most: int | None = None) -> Preferences | None:
        """Return the wishes in the rows of `rows`: units that stay, and how many may go at most; None without any."""
        return self._wishes(self._read(things), keep, most)

    def recommend(
        self,
        things: Any,
        /,
        method: str | Method = "sedc",
        k: int = 1,
        *,
        keep: Any = (),
        most: int | None = None,
        **how: Any,
    ) -> Answer:
        """Return for each thing up to k sets of units without which, or with others in their place, the answer is yes.

        keep: units that stay, besides those of the problem. most: units that may go, at most. how: as of
        `wf.recommend`: seed, budget, deadline, workers, parameters of the method.
        Raises: DataError for what is no such thing; ProblemError; MethodError.
        """
        contents = self._read(things)
        if "preferences" in how:
            raise ProblemError(
                f"preferences cannot be given for {self.things}. Say keep= and most= in their place."
            )
        wide = self._of_size(self._largest(contents))
        sizes = np.array([self._size(one) for one in contents])
        problems = {int(size): self._of_size(int(size)) for size in np.unique(sizes)}
        time_given = Deadline.of(how.get("deadline"))
        whole_time = None if time_given is None else time_given.begun(len(contents))
        parts, order = [], []
        for size, problem in problems.items():
            at = np.flatnonzero(sizes == size)
            some = [contents[i] for i in at]
            wishes = self._wishes(some, keep, most)
            if whole_time is not None:  # things of all sizes share it
                how["deadline"] = whole_time.part(float((sizes <= size).mean()))
            got = recommend(problem, self._rows(some, problem), method, k, preferences=wishes, **how)
            parts.append(_widened(got, wide))
            order.append(at)
        place = np.argsort(np.concatenate(order))
        whole = replace(Recourse.concat(parts)[place], problem=wide)
        return self._answer(contents, whole)

    def _wishes(self, contents: list[str], keep: Any, most: int | None) -> Preferences | None:
        units = [self._fixed_units(one, keep) for one in contents]
        if not any(units) and most is None:
            return None
        schema = self._of_size(self._largest(contents)).schema
        wish = Preferences.none(schema, len(contents))
        frozen = wish.frozen.copy()
        for i, some in enumerate(units):
            frozen[i, [self.first + unit for unit in some]] = True
        wish = replace(wish, frozen=frozen)
        return wish if most is None else wish.at_most(most)

    def _of_size(self, size: int) -> Problem:
        if size not in self._problems:
            self._problems[size] = self._make(size)
        return self._problems[size]

    def _largest(self, contents: Collection[str]) -> int:
        if not contents:
            raise DataError(f"{self.things} is empty. Give at least one.")
        return max(self._size(one) for one in contents)


def _widened(got: Recourse, problem: Problem) -> Recourse:
    """Return answers about things in the rows of larger ones."""
    schema, more = problem.schema, problem.schema.d - got.d
    if not more:
        return got

    def wide(values: np.ndarray, empty: float) -> np.ndarray:
        return np.pad(values, [(0, 0)] * (values.ndim - 1) + [(0, more)], constant_values=empty)

    after = wide(got.after, 0.0)
    after[np.isnan(got.after).all(2)] = np.nan
    wishes = got.preferences
    if wishes is not None:
        blank = Preferences.none(schema, got.n)
        wishes = replace(
            blank,
            frozen=wide(wishes.frozen, False),
            weight=wide(wishes.weight, 1.0),
            max_changes=wishes.max_changes,
        )
    return replace(
        got, schema=schema, x=wide(got.x, 0.0), action=wide(got.action, np.nan), after=after,
        path=wide(got.path, 0.0), preferences=wishes, problem=problem,
    )  # fmt: skip
