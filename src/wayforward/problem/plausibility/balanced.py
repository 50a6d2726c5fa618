"""Profiles likely among the accepted of every group."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from wayforward.errors import ProblemError, is_one_of
from wayforward.problem.plausibility.base import (
    Plausibility,
)
from wayforward.public import public
from wayforward.scaling import checked_rows
from wayforward.shapes import Floats

if TYPE_CHECKING:
    from wayforward.density.base import Densities
    from wayforward.groups import Groups
    from wayforward.problem.population import Population
    from wayforward.problem.problem import Problem
    from wayforward.schema import Schema
    from wayforward.shapes import Actions


@public
@dataclass(frozen=True, eq=False)
class Balanced(Plausibility):
    """Likely among the accepted of every group: the product of the groups' densities exceeds beta.

    With it every method gives balanced recourse: people of all groups are led to where all groups have accepted people.
    The densities are those of what can change, given what never does, as in the method `ebr`. groups: `Groups` of the
    reference people, or the name of a feature; None: the one sensitive feature. beta, beta_scale: 'mass', above what a
    share beta of the product's own draws have; 'relative', beta times the greatest product among draws; 'absolute',
    beta with numbers in shares of their ranges. density: 'mixture', 'flow' (extra `torch`), 'kernel', or fitted ones.
    lead: people all of whose options a method ends elsewhere get draws that are likely in all groups, as near as can be
    to what it proposed; False leaves them without an option. Strict unless told otherwise: with strict=False a profile
    that is as balanced as where the person stands will do. device: of the networks, see `device_of`; None: the CPU.
    The score is by how many nats the log product exceeds the threshold.

    Example: ``Problem(..., data=train, plausibility=Balanced("sex", beta=0.3))``.
    Raises: ProblemError for a group without accepted people, DataError for what is no group.
    Source: R. Gao, H. Lakkaraju (2023), On the Impact of Algorithmic Recourse on Social Segregation, ICML, section 5.1.
    """

    name: ClassVar[str] = "balanced"
    groups: Groups | str | None = field(default=None, repr=False)
    beta: float = 0.3
    density: Literal["mixture", "kernel", "flow"] | Densities = "mixture"
    beta_scale: Literal["mass", "relative", "absolute"] = "mass"
    lead: bool = True
    strict: bool = field(default=True, kw_only=True)
    device: str | None = field(default=None, kw_only=True)
    fitted: Densities | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        ok = isinstance(self.beta, (int, float)) and math.isfinite(self.beta) and self.beta >= 0
        if isinstance(self.beta, bool) or not ok or (self.beta_scale == "mass" and self.beta >= 1):
            raise ProblemError(
                f"Balanced has beta={self.beta!r} with beta_scale={self.beta_scale!r}. Give 0 or more, and less than 1 "
                "for 'mass'."
            )
        if not is_one_of(self.beta_scale, ("mass", "relative", "absolute")):
            raise ProblemError(
                f"Balanced has beta_scale={self.beta_scale!r}. Choose one of mass, relative, absolute."
            )
        if isinstance(self.density, str) and self.density not in ("mixture", "kernel", "flow"):
            raise ProblemError(f"Balanced has density={self.density!r}. Choose one of mixture, kernel, flow.")

    @property
    def densities(self) -> Densities | None:
        """See `Plausibility`."""
        return self.fitted

    def describe(self) -> str:
        """The rule in words."""
        between = "" if self.fitted is None else f" ({', '.join(self.fitted.names)})"
        return f"likely among the accepted of every group{between}: beta {self.beta:g}, {self.beta_scale}"

    def fit(
        self, schema: Schema, reference: npt.ArrayLike | None = None, favourable: npt.ArrayLike | None = None
    ) -> Self:
        """A copy with densities of the people of `reference` (N, d) with `favourable` (N,) true; None: all of them.

        What the schema calls immutable is given. Raises: ProblemError, DataError, see the class.
        """
        from wayforward.density.fitting import fit_density
        from wayforward.density.grouping import present_groups, resolve_groups

        if reference is None:
            raise ProblemError(
                "Balanced compares with the accepted people of each group, and there are none. Give data: "
                "Problem(..., data=train)."
            )
        rows = checked_rows(schema, reference, "reference")
        if not isinstance(self.density, str):
            return self._with(schema, self.density)
        groups = present_groups(resolve_groups(self.groups, schema, rows))
        yes = np.ones(len(rows), bool) if favourable is None else np.asarray(favourable, dtype=np.bool_)
        some = np.flatnonzero(yes & (groups.member >= 0))
        return self._with(
            schema,
            fit_density(
                self.density, schema, rows[some], groups.take(some), seed=self.seed, device=self.device
            ),
        )

    def fit_problem(self, problem: Problem) -> Self:
        """A copy with the densities of a problem, which its methods share; what no act can move there is given."""
        from wayforward.problem.learned import problem_density

        if not isinstance(self.density, str):
            return self._with(problem.schema, self.density)
        density = problem_density(problem, self.groups, self.density, seed=self.seed, device=self.device)
        return self._with(problem.schema, density)

    def more_options(self, people: Population, action: Actions, seed: int, *, everybody: bool) -> Floats:
        """See `Plausibility`; with `lead`, people are led to where all groups are likely."""
        if not self.lead or self.fitted is None:
            return action
        from wayforward.problem.plausibility.balanced_search import led

        return led(people, action, self.fitted, seed, everybody=everybody)

    def to_dict(self) -> dict[str, Any]:
        """Parameters for JSON. Raises: ProblemError with labels of its own, which belong to people, not to a file."""
        if self.groups is not None and not isinstance(self.groups, str):
            raise ProblemError(
                "Balanced holds the labels of people, which are not written to a file. Name a feature as groups, or "
                "make it anew from the labels."
            )
        own = super().to_dict()
        del own["parameters"]["device"]  # it says nothing on another machine
        if not isinstance(self.density, str):
            own["parameters"]["density"] = self.density.kind
        return own

    def _with(self, schema: Schema, density: Densities) -> Self:
        return self._with_state(_schema=schema, fitted=density, threshold=0.0)

    def _learn(self, schema: Schema, known: Floats) -> None:
        raise NotImplementedError

    def _score(self, rows: Floats) -> Floats:
        assert self.fitted is not None
        threshold = self.fitted.threshold(rows, self.beta, self.beta_scale)
        return np.asarray(self.fitted.log_product(rows) - threshold)
