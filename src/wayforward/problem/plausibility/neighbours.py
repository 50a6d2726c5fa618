"""Profiles near accepted people."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
import numpy.typing as npt

from wayforward.errors import ProblemError
from wayforward.neighbours import NeighbourIndex
from wayforward.problem.plausibility.base import (
    CALIBRATED,
    Plausibility,
    share_of_one,
    whole,
)
from wayforward.public import public
from wayforward.scaling import thinned
from wayforward.shapes import Floats

if TYPE_CHECKING:
    from wayforward.schema import Schema


@public
@dataclass(frozen=True, eq=False)
class Neighbours(Plausibility):
    """Close to people who were accepted: the mean distance to the k nearest is not unusual among them.

    The score is minus the mean range-scaled L1 distance to the k nearest reference people. The threshold is
    the `quantile` of that distance among the reference people themselves, each measured without themselves.
    More than `most` reference people are thinned. Where fewer than k are left, all of them count.
    """

    name: ClassVar[str] = "neighbours"
    k: int = 5
    quantile: float = 0.95
    most: int = 50_000
    _index: NeighbourIndex | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        whole(self, "k", 1)
        share_of_one(self, "quantile")
        whole(self, "most", 2)

    def describe(self) -> str:
        """The rule in words."""
        return f"as near to {self.k} accepted people as {self.quantile:.0%} of accepted people are"

    def fit(
        self, schema: Schema, reference: npt.ArrayLike | None = None, favourable: npt.ArrayLike | None = None
    ) -> Self:
        """As of every plausibility. Raises: ProblemError also where there are fewer people than `k`."""
        people = 0 if reference is None else len(np.asanyarray(reference))
        if self.k > max(people, Neighbours.k):  # who names no number may come with fewer
            raise ProblemError(
                f"Neighbours(k={self.k}) asks for more people than the {people} of the table. Use a smaller k."
            )
        return super().fit(schema, reference, favourable)

    def _learn(self, schema: Schema, known: Floats) -> None:
        known_rows = known[thinned(len(known), self.most, self.seed)]
        self._set(_index=NeighbourIndex(schema, known_rows, metric="l1"))
        some = thinned(len(known_rows), CALIBRATED, self.seed + 1)
        own = self._mean(known_rows[some], leave_out=some) if len(known_rows) > 1 else np.zeros(1)
        self._set(threshold=-float(np.quantile(own, self.quantile)))

    def _mean(self, rows: Floats, leave_out: npt.NDArray[np.int64] | None = None) -> Floats:
        assert self._index is not None
        k = max(1, min(self.k, self._index.n - (leave_out is not None)))
        return np.asarray(self._index.query(rows, k, leave_out=leave_out).distance.mean(axis=1))

    def _score(self, rows: Floats) -> Floats:
        return -self._mean(rows)
