"""Can offers be trusted, and reports? What was offered beside what exists, other models as good, and misreporting."""

from __future__ import annotations

from wayforward.impact.honesty.exaggeration import Exaggeration, exaggeration
from wayforward.impact.honesty.family import NearEqualModels, family
from wayforward.impact.honesty.honesty import Honesty, honesty
from wayforward.impact.honesty.offers import Offers, Yardstick, offers

__all__ = [
    "Exaggeration",
    "Honesty",
    "NearEqualModels",
    "Offers",
    "Yardstick",
    "exaggeration",
    "family",
    "honesty",
    "offers",
]  # fmt: skip
