"""Segregation before and after everybody follows the advice: everything about it under one name.

`places` and `segregation` measure one population, `before_after` compares two, `segregation_index` and `rectangles`
check the theorems. The parts: `dimensions`, `change`, `index`, `pairs` and `figures`.
"""

from wayforward.impact.segregation.change import Change, before_after, before_after_each, compliant
from wayforward.impact.segregation.dimensions import (
    DIMENSIONS,
    PUBLISHED,
    Areas,
    Segregation,
    each_group,
    land,
    places,
    segregation,
)
from wayforward.impact.segregation.index import (
    RectangleWorld,
    cost_bound,
    cost_of_region,
    rectangle_world,
    rectangles,
    segregation_index,
)
from wayforward.impact.segregation.pairs import hausdorff
from wayforward.lazy import face

__all__ = [
    "DIMENSIONS",
    "PUBLISHED",
    "Areas",
    "Change",
    "RectangleWorld",
    "Segregation",
    "before_after",
    "before_after_each",
    "compliant",
    "cost_bound",
    "cost_of_region",
    "each_group",
    "figure_segregation",
    "hausdorff",
    "land",
    "places",
    "rectangle_world",
    "rectangles",
    "segregation",
    "segregation_index",
]

__getattr__ = face(__name__, {"figure_segregation": "figures"})
