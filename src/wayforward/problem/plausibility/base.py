"""Does an option lead to a profile that people have: domain, neighbours, LOF, kernel density, prototypes, balance.

A plausibility is fitted on reference people, those the model accepts where that is known. It scores
profiles (higher is more plausible) and says yes or no: a profile holds if its score reaches the threshold,
or if it is at least as plausible as where the person already stands, for nobody is asked to become more
usual than they are. `strict=True` drops that second way. A row's score never depends on the other rows.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from copy import copy
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from wayforward.errors import ProblemError, is_integer
from wayforward.public import public
from wayforward.scaling import checked_rows
from wayforward.shapes import Floats, Mask

if TYPE_CHECKING:
    from wayforward.density.base import Densities
    from wayforward.problem.population import Population
    from wayforward.problem.problem import Problem
    from wayforward.schema import Schema
    from wayforward.shapes import Actions

TOLERANCE = 1e-9  # share of the score below which two are the same
PAIRS_AT_ONCE = 2_000_000  # kernel values kept at once: 16 MiB
CALIBRATED = 2000  # reference people, drawn with the seed, whose own scores set a threshold


@public
@dataclass(frozen=True, eq=False)
class Plausibility(ABC):
    """A score and a yes or no for profiles. `fit` returns a fitted copy; the other methods need one.

    strict: judge by the threshold alone. seed: draws the reference people where there are more than `most`.
    """

    name: ClassVar[str] = ""
    strict: bool = field(default=False, kw_only=True)
    seed: int = field(default=0, kw_only=True)
    threshold: float = field(default=math.nan, init=False)
    _schema: Schema | None = field(default=None, init=False, repr=False)

    # -- for everyone --------------------------------------------------------------------------------------

    def fit(
        self, schema: Schema, reference: npt.ArrayLike | None = None, favourable: npt.ArrayLike | None = None
    ) -> Self:
        """A copy that knows the people of `reference` (N, d) with `favourable` (N,) true; None: all of them.

        Raises: ProblemError if there are no such people, or if the reference does not fit the schema.
        """
        known = np.empty((0, schema.d)) if reference is None else checked_rows(schema, reference, "reference")
        if favourable is not None:
            chosen = np.asarray(favourable, dtype=np.bool_)
            if chosen.shape != (len(known),):
                raise ProblemError(
                    f"favourable has shape {chosen.shape}, the reference {len(known)} rows. Give "
                    f"({len(known)},)."
                )
            known = known[chosen]
        if not len(known) and self._needs_people:
            raise ProblemError(
                f"{type(self).__name__} compares with accepted people, and there are none. Give data in "
                "which the model accepts somebody: Problem(..., data=train)."
            )
        fitted = self._with_state(_schema=schema)
        fitted._learn(schema, known)
        return fitted

    def fit_problem(self, problem: Problem) -> Self:
        """A copy that knows a problem's accepted people, for plausibilities that ask more of it than its table."""
        accepted = None if problem.reference is None else problem.reference_reached
        return self.fit(problem.schema, problem.reference, accepted)

    def at(self, threshold: float) -> Self:
        """A fitted copy that judges strictly, by another threshold."""
        other = copy(self)
        other._set(threshold=threshold, strict=True)
        return other

    def floor(self, x: Floats) -> Floats:
        """(n,) the score that a profile of each person (n, d) must reach to be plausible."""
        own = self.score(x)
        return np.full(len(x), self.threshold) if self.strict else np.minimum(self.threshold, own)

    @property
    def likelihood_bound(self) -> tuple[Any, float] | None:
        """The world whose log-density is bounded by where a person stands, and how many nats less are allowed.

        None for other rules. Searches that know densities part by part use it.
        """
        return None

    @property
    def densities(self) -> Densities | None:
        """The fitted densities of groups that a profile is compared with; None for other rules."""
        return None

    def more_options(self, people: Population, action: Actions, seed: int, *, everybody: bool) -> Floats:
        """Return a method's proposals (n, k, d), with more for people none of whose own is plausible, where it can.

        everybody: also for those who have an option, where another may be cheaper.
        """
        return action

    def score(self, after: npt.ArrayLike) -> Floats:
        """(...,) how plausible each profile (..., d) is, higher is more; NaN for an empty slot (all NaN)."""
        rows, shape = self._rows(after)
        out = np.full(len(rows), np.nan)
        filled = ~np.isnan(rows).all(axis=1)
        if filled.any():
            out[filled] = self._score(rows[filled])
        return out.reshape(shape)

    def holds(self, before: npt.ArrayLike, after: npt.ArrayLike) -> Mask:
        """(...,) bool: the profile `after` (..., d) is plausible for a person who stands at `before`.

        `before` is (..., d), or lacks the option axis: (n, d) goes with (n, k, d). False for an empty slot.
        """
        a = np.asarray(after, dtype=np.float64)
        value = self.score(a)
        good = np.asarray(value >= self.threshold - TOLERANCE * abs(self.threshold))
        if not self.strict:
            b = np.asarray(before, dtype=np.float64)
            b = np.broadcast_to(b[..., None, :] if b.ndim == a.ndim - 1 and b.ndim > 1 else b, a.shape)
            left = ~good & ~np.isnan(value)
            if left.any():
                stood = self.score(b[left])
                good[left] = value[left] >= stood - TOLERANCE * np.abs(stood)
        return good

    @abstractmethod
    def describe(self) -> str:
        """One sentence that says when a profile is plausible."""

    def to_dict(self) -> dict[str, Any]:
        """Parameters for JSON; the fit is repeated from the data. `plausibility_from_dict` reads it back."""
        own = {f.name: getattr(self, f.name) for f in fields(self) if f.init}
        return {"plausibility": self.name, "parameters": own}

    # -- for each plausibility -----------------------------------------------------------------------------

    _needs_people: ClassVar[bool] = True

    @abstractmethod
    def _learn(self, schema: Schema, known: Floats) -> None:
        """Set the fitted state of a fresh copy with `_set`."""

    @abstractmethod
    def _score(self, rows: Floats) -> Floats:
        """(m,) scores of rows that are not empty."""

    def _with_state(self, **state: Any) -> Self:
        """Return a copy with some state; this one stays as it is."""
        other = replace(self)
        other._set(**state)
        return other

    def _set(self, **state: Any) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)

    def _rows(self, after: npt.ArrayLike) -> tuple[Floats, tuple[int, ...]]:
        if self._schema is None:
            raise ProblemError(f"{type(self).__name__} is not fitted. Call fit(schema, reference) first.")
        a = np.asarray(after, dtype=np.float64)
        if a.ndim == 0 or a.shape[-1] != self._schema.d:
            raise ProblemError(
                f"The profiles have shape {a.shape}. Give {self._schema.d} features on the last axis."
            )
        return a.reshape(-1, self._schema.d), a.shape[:-1]


def whole(owner: Plausibility, name: str, least: int) -> None:
    """Check that a setting is a whole number of at least `least`. Raises: ProblemError."""
    value = getattr(owner, name)
    if not is_integer(value) or value < least:
        raise ProblemError(
            f"{type(owner).__name__} has {name}={value!r}. Give a whole number of at least {least}."
        )


def share_of_one(owner: Plausibility, name: str) -> None:
    """Check that a setting is a share above 0, at most 1. Raises: ProblemError."""
    value = getattr(owner, name)
    if not (isinstance(value, (int, float)) and 0 < value <= 1):
        raise ProblemError(f"{type(owner).__name__} has {name}={value!r}. Give a share above 0, at most 1.")
