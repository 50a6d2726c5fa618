"""Contract tests that a new part inherits, and small random problems to try anything on. Needs pytest."""

from __future__ import annotations

from wayforward.testing.conditions import RobustContract
from wayforward.testing.contract import MethodContract
from wayforward.testing.costs import CostContract
from wayforward.testing.datasets import DatasetContract
from wayforward.testing.elicitors import ElicitorContract
from wayforward.testing.metrics import MetricContract
from wayforward.testing.models import ModelContract
from wayforward.testing.plausibilities import PlausibilityContract
from wayforward.testing.problems import (
    KINDS,
    WORLDS,
    Case,
    case,
    random_labels,
    random_model,
    random_people,
    random_schema,
    small_world,
)
from wayforward.testing.summarisers import SummariserContract
from wayforward.testing.worlds import WORLD_SCHEMA, WorldContract, sample_graph, sample_people, sample_world

__all__ = [
    "KINDS",
    "WORLDS",
    "WORLD_SCHEMA",
    "Case",
    "CostContract",
    "DatasetContract",
    "ElicitorContract",
    "MethodContract",
    "MetricContract",
    "ModelContract",
    "PlausibilityContract",
    "RobustContract",
    "SummariserContract",
    "WorldContract",
    "case",
    "random_labels",
    "random_model",
    "random_people",
    "random_schema",
    "sample_graph",
    "sample_people",
    "sample_world",
    "small_world",
]
