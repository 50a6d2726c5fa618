"""Survival models: what a person would have to change for an event to come later, by curves of when it comes."""

from wayforward.modalities.survival.curves import Cox
from wayforward.modalities.survival.model import SurvivalModel
from wayforward.modalities.survival.problem import SurvivalProblem

__all__ = ["Cox", "SurvivalModel", "SurvivalProblem"]
