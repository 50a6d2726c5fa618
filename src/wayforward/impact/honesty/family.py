"""Models that are as good as the one in use: whose recourse hangs on the choice, and was the choice a dear one?

Sources: C. Marx, F. Calmon, B. Ustun (2020), Predictive multiplicity in classification, ICML; M. Pawelczyk, K.
Broelemann, G. Kasneci (2020), On counterfactual explanations under predictive multiplicity, UAI.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wayforward.evaluate.stats import NOTHING, Estimate
from wayforward.impact.audit.gaps import plain_number
from wayforward.impact.privacy import FEWEST, mean_of_enough, rate_of_enough, rounded
from wayforward.methods import recommend
from wayforward.model import wrap
from wayforward.problem import Problem
from wayforward.public import public
from wayforward.recourse import Recourse


@public
@dataclass(frozen=True)
class NearEqualModels:
    """Refused people under models that are as good. refusal: share whom some of these models accept as they are.

    option: share of offers that some of them refuse. spread: mean of the dearest cost over the cheapest one, less one,
    over people whom all of them refuse and give an option. cost: mean cost of these people under the model in use, and
    under each of the others, in two digits; rank: so many of the others are cheaper for them. Of fewer than three
    people nothing is told: no values, NaN and None.
    """

    models: int
    refusal: Estimate
    option: Estimate
    spread: Estimate
    cost: float
    costs: tuple[float, ...]
    rank: int | None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            **vars(self), "costs": [plain_number(v) for v in self.costs], "cost": plain_number(self.cost),
            **{name: getattr(self, name).to_dict() for name in ("refusal", "option", "spread")},
        }  # fmt: skip


@public
def family(
    problem: Problem, offered: Recourse, models: Sequence[Any], method: str = "local-search", seed: int = 0
) -> NearEqualModels:
    """Ask each model of a family about the same refused people, their offers, and the cheapest option under it.

    models: anything that `wf.wrap` takes, as good as the problem's own (see `evaluate.robustness.near_best`).
    """
    offered.require_schema(problem.schema)
    offered = offered if offered.problem is problem else offered.judged_by(problem)
    if not len(models):
        return NearEqualModels(0, NOTHING, NOTHING, NOTHING, float("nan"), (), 0)
    at = np.flatnonzero(offered.refused)
    x, wishes = offered.x[at], None if offered.preferences is None else offered.preferences.take(at)
    held = np.flatnonzero(offered.found[at, 0])
    accepted, holds, cost = [], [], []
    for model in models:
        other = problem.decided_by(wrap(model, problem.schema), problem.target)
        accepted.append(other.reached(x)[0])
        holds.append(other.reached(offered.after[at[held], 0])[0])
        cost.append(recommend(other, x, method, 1, preferences=wishes, seed=seed).cost[:, 0])
    own = recommend(problem, x, method, 1, preferences=wishes, seed=seed).cost[:, 0]
    every = np.stack([own, *cost])  # (models + 1, n)
    served = np.isfinite(every).all(0) & (every > 0).all(0)
    enough = served.sum() >= FEWEST
    means = every[:, served].mean(1) if enough else np.full(len(every), np.nan)
    ratio = np.where(served, every.max(0) / np.where(every.min(0) > 0, every.min(0), 1.0) - 1, np.nan)
    return NearEqualModels(
        len(models), rate_of_enough(np.asarray(np.stack(accepted).any(0))),
        rate_of_enough(np.asarray(~np.stack(holds).all(0))),
        # Not to the last digit: less the mean over all who have a plan it would be what a few of them pay.
        mean_of_enough(ratio, seed), rounded(float(means[0])), tuple(rounded(float(v)) for v in means[1:]),
        int((means[1:] < means[0]).sum()) if enough else None,
    )  # fmt: skip


__all__ = ["NearEqualModels", "family"]
