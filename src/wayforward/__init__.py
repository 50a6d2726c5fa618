"""wayforward: what a person who was refused can do about it, and why they were refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import wayforward.lazy
from wayforward.version import __version__

# Names are loaded on first use, so that `import wayforward` stays quick and needs no optional library.
_HOME = {
    "Feature": "schema",
    "Schema": "schema",
    "Target": "problem",
    "Problem": "problem",
    "Confidence": "problem",
    "Population": "problem",
    "Retraining": "problem",
    "Preferences": "preferences",
    "Recourse": "recourse",
    "Outcome": "recourse",
    "Independent": "world",
    "LinearWorld": "world",
    "CausalGraph": "world",
    "CausalFlow": "world",
    "SCM": "world",
    "GaussianProcessWorld": "world",
    "SubPopulation": "world",
    "World": "world",
    "wrap": "model",
    "Access": "model",
    "Deadline": "deadline",
    "recommend": "methods",
    "method": "methods",
    "methods_table": "methods",
    "evaluate": "evaluate",
    "evaluate_rows": "evaluate",
    "recheck": "scale.rechecking",
    "report": "answers",
    "recommend_table": "scale",
    "TextProblem": "modalities.text",
    "ImageProblem": "modalities.image",
    "SeriesProblem": "modalities.series",
    "SurvivalProblem": "modalities.survival",
    "RecommenderProblem": "modalities.graph",
    "attack": "impact.disclosure",
    "honesty": "impact.honesty",
    "WayforwardError": "errors",
    "MissingExtra": "errors",
}
_FOLDERS = (
    "answers",
    "data",
    "density",
    "evaluate",
    "groups",
    "impact",
    "methods",
    "modalities",
    "model",
    "people",
    "preferences",
    "problem",
    "rules",
    "scale",
    "training",
    "world",
    "schema",
    "errors",
    "recourse",
)

__all__ = [*_HOME, "datasets", "__version__"]


def __getattr__(name: str) -> Any:
    if name == "datasets":
        return wayforward.lazy.alone("wayforward.data")
    if name in _HOME:
        return getattr(wayforward.lazy.alone(f"wayforward.{_HOME[name]}"), name)
    if name in _FOLDERS:
        return wayforward.lazy.alone(f"wayforward.{name}")
    raise AttributeError(f"module 'wayforward' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)


if TYPE_CHECKING:
    from wayforward import data as datasets
    from wayforward.answers import report
    from wayforward.deadline import Deadline
    from wayforward.errors import MissingExtra, WayforwardError
    from wayforward.evaluate import evaluate, evaluate_rows
    from wayforward.impact.disclosure import attack
    from wayforward.impact.honesty import honesty
    from wayforward.methods import method, methods_table, recommend
    from wayforward.modalities.graph import RecommenderProblem
    from wayforward.modalities.image import ImageProblem
    from wayforward.modalities.series import SeriesProblem
    from wayforward.modalities.survival import SurvivalProblem
    from wayforward.modalities.text import TextProblem
    from wayforward.model import Access, wrap
    from wayforward.preferences import Preferences
    from wayforward.problem import Confidence, Population, Problem, Retraining, Target
    from wayforward.recourse import Outcome, Recourse
    from wayforward.scale import recommend_table
    from wayforward.scale.rechecking import recheck
    from wayforward.schema import Feature, Schema
    from wayforward.world import (
        SCM,
        CausalFlow,
        CausalGraph,
        GaussianProcessWorld,
        Independent,
        LinearWorld,
        SubPopulation,
        World,
    )
