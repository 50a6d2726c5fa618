"""What the answer about an array would take to be another: what problems of images and of series have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, TypeVar

import numpy as np

from wayforward.errors import DataError, ProblemError, array_in
from wayforward.modalities.array_answers import ArrayRecourse
from wayforward.modalities.arrays import ArrayUnits, PlainArrays, decode_array, read_array
from wayforward.modalities.problem import UnitProblem
from wayforward.modalities.units import unit_rows
from wayforward.model import wrap
from wayforward.problem import Problem
from wayforward.problem.cost import LpMix
from wayforward.schema import Schema
from wayforward.shapes import Floats

LOOKED_AT = 64  # arrays on which what was read of the model is compared with the model itself

Answer = TypeVar("Answer", bound=ArrayRecourse)


class ArrayProblem(UnitProblem[Answer]):
    """Arrays of one shape. examples: those it was given, as `encode_array` holds them."""

    shape: tuple[int, ...]
    units: ArrayUnits | PlainArrays
    model: Any
    examples: list[str]

    @property
    def distractors(self) -> np.ndarray | None:
        """The arrays (R, *shape) that units may be taken from, where they are taken from others."""
        return getattr(getattr(self.units, "fill", None), "others", None)

    def _each(self, things: Any) -> Any:
        try:
            given = read_array(things)
        except ValueError:  # of several shapes: each is looked at by itself
            return list(things)
        if given.shape == self.shape:
            raise DataError(
                f"{self.things} is one {self.thing}. Give a list of {self.things}: [{self.thing}]."
            )
        if given.shape[1:] != self.shape:
            raise DataError(
                f"{self.things} has shape {given.shape} and type {given.dtype}. Give numbers of shape "
                f"(n, {', '.join(map(str, self.shape))})."
            )
        plain = given.dtype.kind in "biuf" and not np.ma.is_masked(things)
        return given if plain else list(things)

    def _content(self, thing: Any) -> str:
        size = ", ".join(map(str, self.shape))
        try:
            given = read_array(thing)
        except ValueError:
            raise DataError(f"its parts have several lengths. Give numbers of shape ({size}).") from None
        if given.shape != self.shape or given.dtype.kind not in "biuf":
            raise DataError(
                f"it has shape {given.shape} and type {given.dtype}. Give numbers of shape ({size}): cut, pad or "
                "resample it as the model expects it."
            )
        return self._checked(given)

    @abstractmethod
    def _checked(self, given: np.ndarray) -> str:
        """What is kept of numbers of the right shape. Raises: DataError."""

    def _labels(self, labels: Any) -> np.ndarray | None:
        """Return labels (n,) of the examples, None where there are none. Raises: DataError."""
        if labels is None:
            return None
        known = array_in(labels, "labels")
        if known.shape != (len(self.examples),):
            raise DataError(
                f"labels has shape {known.shape}; there are {len(self.examples)} {self.things}. Give one each."
            )
        return known

    def _wanted(self, labels: Any, otherwise: str) -> Floats:
        """Return those of the examples with the wanted answer, which is their label, too, where labels are given.

        otherwise: in errors, what to do where there is none. Raises: DataError, ProblemError.
        """
        good = np.zeros(len(self.examples), dtype=bool)
        sizes = np.array([self._size(one) for one in self.examples])
        for size in np.unique(sizes):
            at = np.flatnonzero(sizes == size)
            problem = self.of_size(int(size))
            good[at] = problem.reached(self._rows([self.examples[i] for i in at], problem))[0]
        known = self._labels(labels)
        if known is not None:
            right = np.isin(known.astype(str), [str(label) for label in self.target.labels])
            if good.any() and not (good & right).any():
                raise ProblemError(
                    f"No label of the {int(good.sum())} {self.things} whose answer is the wanted one says so, too: "
                    f"labels are {', '.join(sorted({repr(label) for label in known.tolist()})[:5])}. Give labels as "
                    "the model names its answers, or leave them out."
                )
            good &= right
        if not good.any():
            raise ProblemError(
                f"Units are taken from {self.things} whose answer is the wanted one, and none of the "
                f"{len(self.examples)} {self.things} has it. Give more {self.things}, or {otherwise}."
            )
        return np.stack([decode_array(self.examples[i]) for i in np.flatnonzero(good)]).astype(np.float64)

    def _replace_from(self, fill: Callable[[np.ndarray], np.ndarray]) -> None:
        """Let units take what another fill says."""
        assert isinstance(self.units, ArrayUnits)
        self.units = replace(self.units, fill=fill)
        self.model = self.model.with_units(self.units)
        self._problems.clear()

    def _rows(self, contents: Sequence[str], problem: Problem) -> np.ndarray:
        if isinstance(self.units, PlainArrays):
            return np.stack([decode_array(one).reshape(-1) for one in contents]).astype(np.float64)
        return unit_rows(contents, [self.units.count(one) for one in contents], problem.schema)

    def _make(self, size: int) -> Problem:
        schema = self._schema(size)
        if isinstance(self.units, PlainArrays):
            rows = np.stack([decode_array(one).reshape(-1) for one in self.examples]).astype(np.float64)
            model = wrap(self.model, schema, verify_on=rows[:LOOKED_AT])
            return Problem(schema, model, self.target, data=rows)
        some = list(islice((one for one in self.examples if self._size(one) <= size), LOOKED_AT))
        counts = [self.units.count(one) for one in some]
        model = wrap(self.model, schema, verify_on=unit_rows(some, counts, schema) if some else None)
        return Problem(schema, model, self.target, cost=LpMix(l0=1.0, l1=0.0))

    @abstractmethod
    def _schema(self, size: int) -> Schema:
        """The schema of arrays of a size."""

    def _units_under(self, content: str, mask: np.ndarray) -> list[int]:
        """Units that have a number where a mask over the first axes is True."""
        if not mask.any():
            return []
        flat = np.repeat(mask.reshape(-1), int(np.prod(self.shape[mask.ndim :])))
        if isinstance(self.units, PlainArrays):
            return [int(unit) for unit in np.flatnonzero(flat)]
        return [int(unit) for unit in np.unique(self.units.parts(content).label[flat])]
