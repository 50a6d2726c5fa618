"""Recommenders on graphs: which of a person's own actions keep an item on top."""

from wayforward.modalities.graph.answers import RecommenderRecourse
from wayforward.modalities.graph.graph import ActionGraph
from wayforward.modalities.graph.model import RecommenderModel
from wayforward.modalities.graph.problem import RecommenderProblem

__all__ = ["ActionGraph", "RecommenderModel", "RecommenderProblem", "RecommenderRecourse"]
