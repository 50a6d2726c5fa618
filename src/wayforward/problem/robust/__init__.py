"""Advice that lasts: further conditions that an option must meet, besides turning today's decision."""

from __future__ import annotations

from wayforward.problem.robust.base import Robust, Together, with_robust
from wayforward.problem.robust.drift import Drift
from wayforward.problem.robust.hidden import HiddenCauses
from wayforward.problem.robust.improvement import Improvement
from wayforward.problem.robust.models import AllModels
from wayforward.problem.robust.next_model import NextModel
from wayforward.problem.robust.noise import Stable, UnderNoise, linear_slope
from wayforward.problem.robust.reading import check, read, register_robust
from wayforward.problem.robust.retraining import Retraining, retrained
from wayforward.problem.robust.weights import WithinDelta
from wayforward.problem.robust.worlds import AllWorlds

__all__ = [
    "AllModels",
    "AllWorlds",
    "Drift",
    "HiddenCauses",
    "Improvement",
    "NextModel",
    "Retraining",
    "Robust",
    "Stable",
    "Together",
    "UnderNoise",
    "WithinDelta",
    "check",
    "linear_slope",
    "read",
    "register_robust",
    "retrained",
    "with_robust",
]
