"""Contract tests that a new part inherits, and small random problems to try anything on. Needs pytest."""

from __future__ import annotations

from wayforward.testing.contract import MethodContract
from wayforward.testing.datasets import DatasetContract
from wayforward.testing.elicitors import ElicitorContract
from wayforward.testing.problems import (
    KINDS,
    WORLDS,
    Case,
    case,
    random_model,
    random_people,
    random_schema,
    small_world,
)
from wayforward.testing.summarisers import SummariserContract

__all__ = [
    "KINDS",
    "WORLDS",
    "Case",
    "DatasetContract",
    "ElicitorContract",
    "MethodContract",
    "SummariserContract",
    "case",
    "random_model",
    "random_people",
    "random_schema",
    "small_world",
]
