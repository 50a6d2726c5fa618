"""What the answer about a thing made of units would take to be another: one problem for things of each size."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence, Set
from copy import copy
from dataclasses import replace
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np

from wayforward.deadline import Deadline
from wayforward.errors import DataError, MethodError, ProblemError, is_list, require_switch
from wayforward.methods import Method, recommend
from wayforward.modalities.answers import UnitRecourse
from wayforward.preferences import Preferences
from wayforward.problem import Problem, Target
from wayforward.recourse import Recourse
from wayforward.schema import SchemaWarning
from wayforward.schema.odd_rows import Reasons, unread_note

Answer = TypeVar("Answer", bound=UnitRecourse)


class UnitProblem(ABC, Generic[Answer]):
    """Texts, images, series: whatever has units that can be taken out or replaced.

    A subclass says how things are read and kept (`_content`: as strings, which the carried feature holds), how many
    columns one takes, which problem belongs to a size, and what an answer looks like. things, thing: their name in
    errors, of many and of one. first: the column of the first unit; before it stands the key of the thing.
    """

    things: ClassVar[str] = "things"
    thing: ClassVar[str] = "thing"
    first: int = 1

    def __init__(self, favourable: Any, target: Target | None) -> None:
        if (favourable is None) == (target is None):
            raise ProblemError("Say which answer is wanted: favourable='yes', or a target in its place.")
        self.target = Target(favourable=favourable) if target is None else target
        self._problems: dict[int, Problem] = {}

    # -- what a kind of data says --------------------------------------------------------------------------

    def _each(self, things: Any) -> Sequence[Any]:
        """Return things one by one. Raises: DataError for what is no list of them.

        A table or a dict is none: its names would be taken for things. A set has no order.
        """
        if isinstance(things, (str, bytes)):
            raise DataError(
                f"{self.things} is no list but one string. Give a list of {self.things}: [{self.thing}]."
            )
        named = isinstance(things, (Mapping, Set)) or hasattr(things, "columns")
        if named or not is_list(things):
            raise DataError(f"{self.things} is a {type(things).__name__}. Give a list of {self.things}.")
        return list(things)

    @abstractmethod
    def _content(self, thing: Any) -> str:
        """Check a thing and return what is kept of it. Raises: DataError for an odd one, without its number."""

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
        return self.of_size(self._largest(self._all([thing])))

    def rows(self, things: Any, /) -> np.ndarray:
        """Return things as rows (n, d) of the problem of the largest. Raises: DataError for the first odd one."""
        contents = self._all(things)
        return self._rows(contents, self.of_size(self._largest(contents)))

    def wishes(self, things: Any, /, keep: Any = (), most: int | None = None) -> Preferences | None:
        """Return the wishes in the rows of `rows`: units that stay, and how many may go at most; None without any."""
        return self._wishes(self._all(things), keep, most)

    def recommend(
        self,
        things: Any,
        /,
        method: str | Method = "sedc",
        k: int = 1,
        *,
        keep: Any = (),
        most: int | None = None,
        strict: bool = False,
        **how: Any,
    ) -> Answer:
        """Return for each thing up to k sets of units without which, or with others in their place, the answer is yes.

        keep: units that stay, besides those of the problem. most: units that may go, at most. One that cannot be read
        is kept as NOT_ASKED, with a warning and its reason, and the others go on; strict=True raises instead. how: as
        of `wf.recommend`: seed, budget, deadline, workers, parameters of the method.
        Raises: DataError where none of them can be read; ProblemError; MethodError.
        """
        if "preferences" in how:
            raise ProblemError(
                f"preferences cannot be given for {self.things}. Say keep= and most= in their place."
            )
        require_own(how, self.things)
        require_switch(strict, "strict", MethodError)
        contents, unread = (self._all(things), Reasons()) if strict else self._read(things)
        if unread and len(unread) == len(contents):
            self._all(things)
        there = np.setdiff1d(np.arange(len(contents)), list(unread))
        whole = self._answered([contents[i] for i in there], method, k, keep, most, how)
        if unread:
            warnings.warn(
                unread_note(unread, len(contents), self.thing, self.things), SchemaWarning, stacklevel=2
            )
            x = np.full((len(contents), whole.d), np.nan)
            x[there] = whole.x
            wishes = whole.preferences
            if wishes is not None:
                place = np.zeros(len(contents), dtype=np.int64)
                place[there] = np.arange(len(there))
                wishes = wishes.take(place)
            whole = replace(whole.among(x, unread, wishes), problem=whole.problem)
        return self._answer(contents, whole)

    def _answered(
        self,
        contents: list[str],
        method: str | Method,
        k: int,
        keep: Any,
        most: int | None,
        how: dict[str, Any],
    ) -> Recourse:
        """Answer things that were read, as rows of the problem of the largest."""
        wide = self.of_size(self._largest(contents))
        sizes = np.array([self._size(one) for one in contents])
        time_given = Deadline.of(how.get("deadline"))
        whole_time = None if time_given is None else time_given.begun(len(contents))
        parts, order = [], []
        for size in np.unique(sizes).tolist():
            problem = self.of_size(size)
            at = np.flatnonzero(sizes == size)
            some = [contents[i] for i in at]
            wishes = self._wishes(some, keep, most)
            if whole_time is not None:  # things of all sizes share it
                how["deadline"] = whole_time.part(float((sizes <= size).mean()))
            got = recommend(problem, self._rows(some, problem), method, k, preferences=wishes, **how)
            parts.append(widened(got, wide))
            order.append(at)
        place = np.argsort(np.concatenate(order))
        return replace(Recourse.concat(parts)[place], problem=wide)

    def _all(self, things: Any) -> list[str]:
        """What is kept of things. Raises: DataError for the first odd one."""
        contents, unread = self._read(things)
        for i, reason in unread.items():
            raise DataError(f"{self.thing.capitalize()} {i}: {reason}")
        return contents

    def _read(self, things: Any) -> tuple[list[str], Reasons]:
        """What is kept of things, '' of those that cannot be read, and why they cannot."""
        contents: list[str] = []
        unread = Reasons()
        for i, thing in enumerate(self._each(things)):
            try:
                contents.append(self._content(thing))
            except DataError as error:
                contents.append("")
                unread[i] = str(error)
        return contents, unread

    def _wishes(self, contents: list[str], keep: Any, most: int | None) -> Preferences | None:
        units = [self._fixed_units(one, keep) for one in contents]
        if not any(units) and most is None:
            return None
        schema = self.of_size(self._largest(contents)).schema
        wish = Preferences.none(schema, len(contents))
        frozen = wish.frozen.copy()
        for i, some in enumerate(units):
            frozen[i, [self.first + unit for unit in some]] = True
        wish = replace(wish, frozen=frozen)
        return wish if most is None else wish.at_most(most)

    def copied(self) -> Self:
        """Return a copy that makes problems of its own."""
        other = copy(self)
        other._problems = {}
        return other

    def of_size(self, size: int) -> Problem:
        """Return the problem of things that take so many columns."""
        if size not in self._problems:
            self._problems[size] = self._make(size)
        return self._problems[size]

    def _largest(self, contents: Collection[str]) -> int:
        if not contents:
            raise DataError(f"{self.things} is empty. Give at least one.")
        return max(self._size(one) for one in contents)


def require_own(how: Mapping[str, Any], things: str) -> None:
    """Raises: ProblemError for a problem or rows of people beside those that are made of things."""
    for name in ("problem", "people"):
        if name in how:
            raise ProblemError(
                f"{name} cannot be given here: the problem and its rows are made of {things}, the first argument."
            )


def widened(got: Recourse, problem: Problem) -> Recourse:
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
