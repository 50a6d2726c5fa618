"""What an action costs a person: weighted norms, MAD-scaled L1, percentile shifts, Mahalanobis."""

from wayforward.problem.cost.base import Cost, Scales
from wayforward.problem.cost.lp import LpMix
from wayforward.problem.cost.mad import MadL1
from wayforward.problem.cost.mahalanobis import Mahalanobis
from wayforward.problem.cost.percentile import PercentileShift
from wayforward.problem.cost.registry import COSTS, cost_from_dict, cost_named, named_costs, register_cost
from wayforward.problem.cost.squared import SquaredShift

__all__ = [
    "COSTS",
    "Cost",
    "LpMix",
    "MadL1",
    "Mahalanobis",
    "PercentileShift",
    "Scales",
    "SquaredShift",
    "cost_from_dict",
    "cost_named",
    "named_costs",
    "register_cost",
]
