"""Profiles near a typical accepted person."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from wayforward.neighbours import NeighbourIndex
from wayforward.problem.plausibility.base import (
    Plausibility,
    share_of_one,
    whole,
)
from wayforward.public import public
from wayforward.scaling import ranges, thinned
from wayforward.shapes import Floats

if TYPE_CHECKING:
    from wayforward.schema import Schema


@public
@dataclass(frozen=True, eq=False)
class Prototype(Plausibility):
    """Close to one of m typical accepted people: medoids under the range-scaled L1 distance.

    The score is minus the distance to the nearest prototype, the threshold the `quantile` of that distance
    among the accepted people. The prototypes are real people of the reference, chosen greedily and then
    improved until none changes; more than `most` reference people are thinned.

    Source: Kaufman & Rousseeuw (1990), Finding Groups in Data, ch. 2 (BUILD); Park & Jun (2009), Expert
    Syst. Appl.
    """

    name: ClassVar[str] = "prototype"
    m: int = 10
    quantile: float = 0.95
    most: int = 2000
    prototypes: Floats | None = field(default=None, init=False, repr=False)  # (m, d) feature units
    _index: NeighbourIndex | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        whole(self, "m", 1)
        share_of_one(self, "quantile")
        whole(self, "most", 2)

    def describe(self) -> str:
        """The rule in words."""
        return f"as near to one of {self.m} typical accepted people as {self.quantile:.0%} of them all are"

    def _learn(self, schema: Schema, known: Floats) -> None:
        known_rows = known[thinned(len(known), self.most, self.seed)]
        scale, _ = ranges(schema, known)
        distance = NeighbourIndex(schema, known_rows, metric="l1", scale=scale).distances(known_rows)
        chosen = medoids(distance, self.m)
        index = NeighbourIndex(schema, known_rows[chosen], metric="l1", scale=scale)
        own = distance[:, chosen].min(axis=1)
        self._set(
            prototypes=known_rows[chosen], _index=index, threshold=-float(np.quantile(own, self.quantile))
        )

    def _score(self, rows: Floats) -> Floats:
        assert self._index is not None
        return -self._index.query(rows, 1).distance[:, 0]


def medoids(distance: Floats, m: int, rounds: int = 20) -> npt.NDArray[np.int64]:
    """Positions of at most m medoids under a symmetric (N, N) distance, ascending; ties go by position.

    The first lies nearest to everybody, each next one lowers the sum of distances most; then every group's
    centre is taken anew until nothing changes. No more medoids are chosen than help.
    """
    nearest = np.full(len(distance), np.inf)
    chosen: list[int] = []
    while len(chosen) < min(m, len(distance)):
        total = np.minimum(distance, nearest[:, None]).sum(axis=0)
        best = int(np.argmin(total))
        if chosen and not total[best] < nearest.sum():
            break
        chosen.append(best)
        nearest = np.minimum(nearest, distance[:, best])
    for _ in range(rounds):
        group = np.argmin(distance[:, chosen], axis=1)
        centres = []
        for g in range(len(chosen)):
            members = np.flatnonzero(group == g)
            centres.append(int(members[np.argmin(distance[np.ix_(members, members)].sum(axis=0))]))
        if centres == chosen:
            break
        chosen = centres
    return np.sort(np.asarray(chosen, dtype=np.int64))
