"""The question: target, cost, plausibility, and the problem that holds and judges them together."""

from __future__ import annotations

from wayforward.problem.confidence import Confidence
from wayforward.problem.cost import Cost, LpMix, MadL1, Mahalanobis, PercentileShift, SquaredShift
from wayforward.problem.disclosure import Disclosure, DisclosureWarning
from wayforward.problem.minimal import minimal_actions
from wayforward.problem.plausibility import (
    AtLeastAsLikely,
    Balanced,
    Domain,
    IsolationForest,
    KernelDensity,
    Lof,
    Neighbours,
    Plausibility,
    Prototype,
)
from wayforward.problem.population import Evaluated, Population
from wayforward.problem.problem import Problem
from wayforward.problem.robust import (
    AllModels,
    AllWorlds,
    Drift,
    HiddenCauses,
    Improvement,
    NextModel,
    Retraining,
    Robust,
    Stable,
    UnderNoise,
    WithinDelta,
)
from wayforward.problem.room import as_told, with_room
from wayforward.problem.target import BoundTarget, Target

__all__ = [
    "AllModels",
    "AllWorlds",
    "AtLeastAsLikely",
    "Balanced",
    "BoundTarget",
    "Confidence",
    "Cost",
    "Disclosure",
    "DisclosureWarning",
    "Domain",
    "Drift",
    "Evaluated",
    "HiddenCauses",
    "Improvement",
    "IsolationForest",
    "KernelDensity",
    "Lof",
    "LpMix",
    "MadL1",
    "Mahalanobis",
    "Neighbours",
    "NextModel",
    "PercentileShift",
    "Plausibility",
    "Population",
    "Problem",
    "Prototype",
    "Retraining",
    "Robust",
    "SquaredShift",
    "Stable",
    "Target",
    "UnderNoise",
    "WithinDelta",
    "as_told",
    "minimal_actions",
    "with_room",
]
