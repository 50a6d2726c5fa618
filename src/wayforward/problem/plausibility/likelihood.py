"""Profiles at least as likely in a world as where the person stands."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from wayforward.errors import ProblemError
from wayforward.problem.plausibility.base import (
    TOLERANCE,
    Plausibility,
)
from wayforward.shapes import Floats, Mask

if TYPE_CHECKING:
    from wayforward.schema import Schema


@dataclass(frozen=True, eq=False)
class AtLeastAsLikely(Plausibility):
    """A profile is plausible for a person if it is at least as likely as where they stand.

    world: whatever tells log-densities: an `SCM`, a `CausalFlow`, any object with `log_density` (and `bind`, if it is
    not bound to the schema yet). slack: how many nats less likely a profile may be. The score of a profile is its
    log-density.

    Source: Budde et al. (2026), iCARMA, section 5.1.
    """

    name: ClassVar[str] = "at-least-as-likely"
    _needs_people: ClassVar[bool] = False
    world: Any = field(default=None, repr=False)
    slack: float = 0.0

    def __post_init__(self) -> None:
        if not hasattr(self.world, "log_density"):
            raise ProblemError(
                f"AtLeastAsLikely has world={self.world!r}, which tells no log-density. Give a causal world that "
                "does: an SCM with a noise for every node, or a CausalFlow."
            )
        if not (isinstance(self.slack, (int, float)) and self.slack >= 0):
            raise ProblemError(
                f"AtLeastAsLikely has slack={self.slack!r}. Give a number of at least 0, in nats."
            )

    def floor(self, x: Floats) -> Floats:
        """See `Plausibility`."""
        return np.asarray(self.score(x) - self.slack)

    @property
    def likelihood_bound(self) -> tuple[Any, float] | None:
        """See `Plausibility`."""
        return self.world, self.slack

    def describe(self) -> str:
        """One sentence that says when a profile is plausible."""
        less = f", or at most {self.slack:g} nats less," if self.slack else ""
        return f"as likely{less} in the causal world as the profile that the person has"

    def holds(self, before: npt.ArrayLike, after: npt.ArrayLike) -> Mask:
        """(...,) bool: the profile `after` (..., d) is at least as likely as `before`; False for an empty slot."""
        a = np.asarray(after, dtype=np.float64)
        b = np.asarray(before, dtype=np.float64)
        b = b[..., None, :] if b.ndim == a.ndim - 1 and b.ndim > 1 else b
        stood = self.score(b)
        return np.asarray(self.score(a) >= stood - self.slack - TOLERANCE * np.abs(stood))

    def to_dict(self) -> dict[str, Any]:
        """Not possible: a world is saved by itself."""
        raise ProblemError(
            "AtLeastAsLikely holds a whole world. Save the world in its own file and name both when you load."
        )

    def _learn(self, schema: Schema, known: Floats) -> None:
        bound = self.world.bind(schema) if hasattr(self.world, "bind") else self.world
        self._set(world=bound, threshold=math.inf)

    def _score(self, rows: Floats) -> Floats:
        return np.asarray(self.world.log_density(rows), dtype=np.float64)
