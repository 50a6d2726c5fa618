"""Does an option lead to a profile that people have: domain, neighbours, outliers, densities, prototypes, balance."""

from wayforward.problem.plausibility.agreement import agreement
from wayforward.problem.plausibility.balanced import Balanced
from wayforward.problem.plausibility.base import Plausibility
from wayforward.problem.plausibility.domain import Domain
from wayforward.problem.plausibility.isolation import IsolationForest
from wayforward.problem.plausibility.kernel_density import KernelDensity
from wayforward.problem.plausibility.likelihood import AtLeastAsLikely
from wayforward.problem.plausibility.lof import Lof
from wayforward.problem.plausibility.neighbours import Neighbours
from wayforward.problem.plausibility.prototype import Prototype, medoids
from wayforward.problem.plausibility.registry import (
    PLAUSIBILITIES,
    plausibility_from_dict,
    plausibility_named,
    register_plausibility,
)

__all__ = [
    "PLAUSIBILITIES",
    "AtLeastAsLikely",
    "Balanced",
    "Domain",
    "IsolationForest",
    "KernelDensity",
    "Lof",
    "Neighbours",
    "Plausibility",
    "Prototype",
    "agreement",
    "medoids",
    "plausibility_from_dict",
    "plausibility_named",
    "register_plausibility",
]
