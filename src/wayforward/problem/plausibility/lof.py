"""Profiles no more isolated than accepted people: the local outlier factor."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from wayforward.errors import ProblemError
from wayforward.neighbours import NeighbourIndex
from wayforward.problem.plausibility.base import (
    Plausibility,
    whole,
)
from wayforward.public import public
from wayforward.scaling import thinned
from wayforward.shapes import Floats

if TYPE_CHECKING:
    from wayforward.schema import Schema


@public
@dataclass(frozen=True, eq=False)
class Lof(Plausibility):
    """No local outlier: as densely surrounded as its neighbours are (novelty local outlier factor).

    The score is minus the factor, about -1 for a profile like its neighbours; the threshold is minus
    `limit`. Distances are range-scaled L2 with 1 for another category. More than `most` reference people
    are thinned.

    Source: Breunig, Kriegel, Ng & Sander (2000), SIGMOD; the limit of 1.5 is theirs and scikit-learn's.
    """

    name: ClassVar[str] = "lof"
    k: int = 20
    limit: float = 1.5
    most: int = 20_000
    _index: NeighbourIndex | None = field(default=None, init=False, repr=False)
    _reach: Floats | None = field(default=None, init=False, repr=False)  # (R,) distance to the k-th neighbour
    _dense: Floats | None = field(default=None, init=False, repr=False)  # (R,) local reachability density

    def __post_init__(self) -> None:
        whole(self, "k", 1)
        whole(self, "most", 3)
        if not self.limit > 0:
            raise ProblemError(
                f"Lof has limit={self.limit!r}. Give a factor above 0; 1 is like the neighbours."
            )

    def describe(self) -> str:
        """The rule in words."""
        return f"a local outlier factor of at most {self.limit:g} among accepted people"

    def _learn(self, schema: Schema, known: Floats) -> None:
        if len(known) < 2:
            raise ProblemError(
                f"Lof needs at least 2 accepted people and has {len(known)}. Use Domain, or give more data."
            )
        known_rows = known[thinned(len(known), self.most, self.seed)]
        index = NeighbourIndex(schema, known_rows, metric="l2")
        near = index.query(known_rows, min(self.k, len(known_rows) - 1), leave_out=np.arange(len(known_rows)))
        self._set(_index=index, _reach=near.distance[:, -1], threshold=-float(self.limit))
        self._set(_dense=self._density(near.distance, near.row))

    def _density(self, distance: Floats, row: npt.NDArray[np.int64]) -> Floats:
        assert self._reach is not None
        reached = np.maximum(distance, self._reach[row])
        return np.asarray(1 / (reached.mean(axis=1) + 1e-10))  # as scikit-learn: copies have a finite density

    def _score(self, rows: Floats) -> Floats:
        assert self._index is not None and self._dense is not None
        near = self._index.query(rows, min(self.k, self._index.n - 1))
        return -np.asarray(self._dense[near.row].mean(axis=1) / self._density(near.distance, near.row))
