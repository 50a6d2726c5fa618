"""What balance costs: the share of people served, and the cost, against how balanced recourse must be."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.errors import ProblemError
from wayforward.public import public

if TYPE_CHECKING:
    from wayforward.density.base import Densities, Kind, Scale
    from wayforward.groups import Groups
    from wayforward.methods import Method
    from wayforward.preferences import Preferences
    from wayforward.problem import Problem
    from wayforward.recourse import Recourse

BETAS = (0.1, 0.3, 0.5, 0.7)


@public
@dataclass(frozen=True)
class BalancePoint:
    """One beta. found: share of the refused people with an option; cost: mean of their cheapest ones (NaN: nobody).

    found_by, cost_by (g,): the same for each group of those people, NaN for a group with nobody. recourse: the answers,
    one row for every refused person.
    """

    beta: float
    people: int
    found: float
    cost: float
    found_by: np.ndarray
    cost_by: np.ndarray
    recourse: Recourse

    @property
    def gap(self) -> float:
        """Greatest difference between two groups' mean costs."""
        known = self.cost_by[~np.isnan(self.cost_by)]
        return float(np.ptp(known)) if len(known) > 1 else float("nan")


@public
@dataclass(frozen=True)
class BalanceCurve:
    """Points in order of beta, the first (beta 0) without any demand. names (g,) of the groups."""

    method: str
    scale: str
    names: tuple[str, ...]
    points: tuple[BalancePoint, ...]

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each beta: beta, people, found, cost, gap, then found and cost of each group."""
        out = []
        for p in self.points:
            row: dict[str, Any] = {
                "beta": p.beta, "people": p.people, "found": p.found, "cost": p.cost, "gap": p.gap
            }  # fmt: skip
            for i, name in enumerate(self.names):
                row |= {f"found {name}": float(p.found_by[i]), f"cost {name}": float(p.cost_by[i])}
            out.append(row)
        return out


@public
def balance_curve(
    problem: Problem,
    x: Any,
    groups: Groups | str,
    *,
    method: str | Method = "local-search",
    of: Groups | None = None,
    betas: Sequence[float] = BETAS,
    scale: Scale = "mass",
    density: Kind | Densities = "mixture",
    preferences: Preferences | None = None,
    seed: int = 0,
    **parameters: Any,
) -> BalanceCurve:
    """Run any method at several betas: what share is served, at what cost, in each group.

    problem: without a plausibility. x: a table or (n, d); people whom the model accepts are left out. groups: of the
    problem's table, or the name of a feature; where they are labels, `of` gives those of x. Densities are fitted once.
    Example: ``balance_curve(problem, refused, "sex").rows()``.
    Raises: ProblemError, if the problem has a plausibility already or the model accepts everybody; as `Balanced`.
    """
    from wayforward.errors import DataError
    from wayforward.groups import Groups
    from wayforward.methods import method as named
    from wayforward.problem import Balanced
    from wayforward.problem.learned import problem_density

    if problem.plausibility is not None:
        raise ProblemError(
            f"The problem asks for a plausibility already ({problem.plausibility.describe()}). Leave it out here."
        )
    rows = problem.schema.encode(x)
    ask = np.flatnonzero(~problem.reached(rows)[0])
    if not ask.size:
        raise ProblemError("The model accepts every one of these people, so there is no recourse to balance.")
    fitted = problem_density(problem, groups, density, seed=seed) if isinstance(density, str) else density
    if of is None:
        if not isinstance(groups, str):
            raise DataError(
                "The groups are labels of the problem's table. Give those of x as well: of=Groups."
            )
        of = Groups.of(groups, rows, problem.schema)
    if len(of) != len(rows):
        raise DataError(f"of= has labels for {len(of)} people; there are {len(rows)} in x. Give one each.")
    own, wishes = of.take(ask), None if preferences is None else preferences.take(ask)
    points = []
    for beta in sorted({0.0, *(float(b) for b in betas)}):
        balanced = copy.copy(problem)  # the same table, model and caches; only the demand is another
        if beta > 0:
            demand = Balanced(groups, beta, fitted, scale, seed=seed)
            balanced.plausibility = demand.fit_problem(balanced)
        how = named(method, **parameters) if isinstance(method, str) else copy.copy(method)
        got = how.fit(balanced).recommend(rows[ask], preferences=wishes, seed=seed)
        points.append(_point(beta, got, own))
    return BalanceCurve(how.name, scale, own.names, tuple(points))


def _point(beta: float, got: Recourse, own: Groups) -> BalancePoint:
    found = got.found[:, 0]
    inside = [own.mask(i) for i in range(own.n_groups)]
    return BalancePoint(
        beta,
        got.n,
        float(found.mean()),
        _mean(got.cost[found, 0]),
        np.array([_mean(found[some]) for some in inside]),
        np.array([_mean(got.cost[some & found, 0]) for some in inside]),
        got,
    )


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else float("nan")
