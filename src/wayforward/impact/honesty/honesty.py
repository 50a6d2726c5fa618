"""Are offers the cheapest there are, is anything withheld, would another model as good have offered more, who gains by
misreporting? Numbers for whoever oversees either side (survey of recourse, 5.4.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wayforward.errors import DataError, names_in, require_kind, require_whole
from wayforward.groups import Groups, attributes
from wayforward.impact.audit.gaps import Correction
from wayforward.impact.honesty.exaggeration import Exaggeration, exaggeration
from wayforward.impact.honesty.family import NearEqualModels, family
from wayforward.impact.honesty.offers import Offers, judged, offers
from wayforward.problem import Problem
from wayforward.problem.robust.models import models_in
from wayforward.public import public
from wayforward.recourse import Recourse

METHODS = ("local-search", "growing-spheres")
COSTS = ("l1", "mad", "percentile-total")


@public
@dataclass(frozen=True)
class Honesty:
    """offers: beside what exists. family: under models as good. misreports: what each feature gains, most first."""

    offers: Offers
    family: NearEqualModels
    misreports: tuple[Exaggeration, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "offers": self.offers.to_dict(), "family": self.family.to_dict(),
            "misreports": [one.to_dict() for one in self.misreports],
        }  # fmt: skip


@public
def honesty(
    problem: Problem,
    offered: Recourse,
    *,
    groups: Sequence[Groups] | Groups = (),
    methods: Sequence[str] = METHODS,
    costs: Sequence[str] = COSTS,
    models: Sequence[Any] = (),
    boxes: int = 2000,
    correction: Correction = "holm",
    seed: int = 0,
) -> Honesty:
    """Examine the offers that somebody made to people, by a problem: its model, its limits and its cost.

    offered: answers, as `recommend` returns or `Recourse.load` reads; those of another problem or of a file are judged
    by this one first, and what is no option in it counts as not offered. groups: as of `audit`, over the same people.
    methods: whose options together stand for what exists. costs: other yardsticks for the same offers. models: as good
    as the one in use (`evaluate.robustness.near_best`). boxes: work on a proof for each person; 0: none.

    Example: ``wf.honesty(problem, wf.recommend(problem, refused)).to_dict()``.
    Raises: DataError where nobody is refused, or groups are of other people.
    """
    require_kind(problem, Problem, "problem")
    require_kind(offered, Recourse, "offered")
    offered.require_schema(problem.schema)
    methods, costs = names_in(methods, "methods"), names_in(costs, "costs")
    if not methods:
        raise DataError(f"methods is empty. Name methods that look for other options, such as {METHODS}.")
    models = models_in(models, problem, "models")
    require_whole(boxes=boxes, seed=seed)
    several = attributes(groups, offered.n)
    offered = judged(problem, offered)
    if not offered.refused.any():
        raise DataError(
            "Nobody of these people is refused, so nobody was offered anything. Give other people."
        )
    return Honesty(
        offers(problem, offered, methods, several, costs, boxes=boxes, correction=correction, seed=seed),
        family(problem, offered, models, methods[0], seed),
        tuple(exaggeration(problem, offered.x[np.flatnonzero(offered.refused)])),
    )


__all__ = ["COSTS", "METHODS", "Honesty", "honesty"]
